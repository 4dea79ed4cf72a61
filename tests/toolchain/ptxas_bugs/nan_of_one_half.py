"""A packed `max.NaN` or `max.xorsign.abs`, and a `max` that is not packed of one of its halves."""

import re

from tests.toolchain.ptxas_bugs.frames import OF_NUMBERS

PAIRS = "mov.b32 first, {%rs1, %rs1}; mov.b32 second, {%rs2, %rs2};"
REWRITTEN = {
    "max.NaN.f16x2 \t%r1, %r2, %r3;\n\tmov.b32 \t{%rs1, _}, %r1;\n\tmax.f16 \t%rs3, %rs1, %rs2;": (
        f"{PAIRS} max.f16x2 first, first, second; mov.b32 {{one, _}}, first; mov.b16 %rs3, one; }}"
    ),
    "min.NaN.xorsign.abs.bf16x2 %r1, %r2, %r3; mov.b32 {_, %rs2}, %r1; @!%p2 min.bf16 %rs3, %rs1, %rs2;": (
        f"{PAIRS} min.bf16x2 first, first, second; mov.b32 {{one, _}}, first; @!%p2 mov.b16 %rs3, one; }}"
    ),
    "max.ftz.xorsign.abs.f16x2 %r1, %r2, %r3; cvt.u16.u32 %rs1, %r1; max.ftz.f16 %rs3, %rs1, %rs2;": (
        "max.ftz.f16x2 first, first, second;"
    ),
}
UNCHANGED = [
    "max.f16x2 %r1, %r2, %r3; mov.b32 {%rs1, _}, %r1; max.f16 %rs3, %rs1, %rs2;",
    "max.NaN.f16x2 %r1, %r2, %r3; mov.b32 {%rs1, _}, %r1; max.NaN.f16 %rs3, %rs1, %rs2;",
    "max.NaN.f16x2 %r1, %r2, %r3; max.f16x2 %r1, %r1, %r3;",
    "max.NaN.f16x2 %r1, %r2, %r3; max.f16 %rs3, %rs1, %rs2;",
    "max.NaN.f16 %rs1, %rs1, %rs2; max.f16 %rs3, %rs1, %rs2;",
]
LOADS = "ld.global.b32 %r1, [%rd1]; ld.global.b32 %r2, [%rd1+4]; ld.global.b16 %rs3, [%rd1+8];"
REPRODUCERS = [
    OF_NUMBERS.replace(
        "...",
        f"{LOADS} {word}.{which}.{t}x2 %r3, %r1, %r2; mov.b32 {halves}, %r3; {word}.{t} %rs4, {operands}; "
        "st.global.b16 [%rd1], %rs4;",
    )
    for word, which, t in (("max", "NaN", "f16"), ("min", "NaN.xorsign.abs", "bf16"), ("max", "xorsign.abs", "f16"))
    for halves, operands in (("{%rs1, _}", "%rs1, %rs3"), ("{_, %rs1}", "%rs3, %rs1"), ("{%rs1, %rs2}", "%rs2, %rs1"))
]


def shows(sass: str) -> bool:
    """Tell whether one instruction takes three numbers, in kernels whose two instructions must differ."""
    return re.search(r"VHMNMX\S* R", sass) is not None
