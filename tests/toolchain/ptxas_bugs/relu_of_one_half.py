"""Two instructions of 16 bits that become one, of which only one ends in a `max` with 0."""

import re

from tests.toolchain.ptxas_bugs.frames import OF_NUMBERS

WIDE = "cvt.s32.s16 w, %rs2; max.s32 w, w, 0; cvt.u16.u32 %rs3, w; }"
REWRITTEN = {
    "min.s16 \t%rs2, %rs1, 127;\n\tmax.s16 \t%rs3, %rs2, 0;": WIDE,
    "max.s16 %rs2,%rs1,-5; @!%p2 max.s16 %rs3, 0, %rs2;": "max.s32 w, w, 0; @!%p2 cvt.u16.u32 %rs3, w; }",
    "min.s16x2 %r1, %r2, %r3; mov.b32 {_, %rs2}, %r1; max.s16 %rs3, %rs2, 0;": WIDE,
}
UNCHANGED = [
    "max.s16 %rs3, %rs1, 0; min.s16 %rs2, %rs3, 127;",
    "min.s16 %rs2, %rs1, 127; max.s16 %rs3, %rs2, 1;",
    "min.s32 %r2, %r1, 127; max.s32 %r3, %r2, 0;",
]
FLOATS = "ld.global.b32 %r1, [%rd1+8]; add.f16x2 %r2, %r1, %r1; st.global.b32 [%rd1+8], %r2;"
PLAIN, RELU = "min.s16 %rs1, %rs1, -5;", "min.s16 %rs2, %rs2, 127; max.s16 %rs2, %rs2, 0;"
REPRODUCERS = [
    OF_NUMBERS.replace(
        "...",
        f"{FLOATS} ld.global.b16 %rs1, [%rd1]; ld.global.b16 %rs2, [%rd1+2]; {first} {second} "
        "st.global.b16 [%rd1+16], %rs1; st.global.b16 [%rd1+32], %rs2;",
    )
    for first, second in ((PLAIN, RELU), (RELU, PLAIN))
]


def shows(sass: str) -> bool:
    """Tell whether both are in one instruction, and no `max` with 0 of one of them follows."""
    return re.search(r"VIMNMX\.S16x2", sass) is not None and re.search(r"VIMNMX R\d+, RZ", sass) is None
