"""Low bits of a float, stored."""

import re

from tests.toolchain.ptxas_bugs.frames import OF_NUMBERS

REWRITTEN = {
    "add.f64 \t%rd2, %rd1, %rd1;\n\tst.global.b16 \t[%rd3+2], %rd2;": (
        "mov.b64 low, %rd2; st.global.b16 \t[%rd3+2], low; }"
    ),
    "selp.f32 %r2, %r1, %r1, %p1; @%p1 st.shared::cta.b8 [%r3], %r2;": "low, %r2; @%p1 st.shared::cta.b8 [%r3], low; }",
    "fma.rn.bf16 %rs2, %rs1, %rs1, %rs1; st.global.b8 [%rd1], %rs2;": "mov.b16 low, %rs2; st.global.b8 [%rd1], low; }",
}
UNCHANGED = [
    "add.f32 %r2, %r1, %r1; st.global.b32 [%rd1], %r2; add.s32 %r3, %r1, %r1; st.global.b16 [%rd1], %r3;",
    "add.f64 %rd2, %rd1, %rd1; st.global.b64 [%rd3], %rd2; add.f32 %r1, %r2, %r3; st.global.b8 [%rd1], %rs1;",
]
REPRODUCERS = [
    OF_NUMBERS.replace("...", f"{load} {made} st.global.{t} [%rd1], {register};")
    for load, made, register, ts in (
        ("ld.global.b64 %rd2, [%rd1];", "add.f64 %rd2, %rd2, %rd2;", "%rd2", ("b8", "b16", "b32")),
        ("ld.global.b32 %r1, [%rd1];", "add.f32 %r1, %r1, %r1;", "%r1", ("b8", "b16")),
        ("ld.global.b16 %rs1, [%rd1];", "add.f16 %rs1, %rs1, %rs1;", "%rs1", ("b8",)),
    )
    for t in ts
]


def shows(sass: str) -> bool:
    return re.search(r"\bF2IP?\.", sass) is not None
