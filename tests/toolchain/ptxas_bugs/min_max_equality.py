"""Comparison with the second operand, a constant: the predicate of VIMNMX is about the first one."""

import re

from tests.toolchain.ptxas_bugs.frames import OF_NUMBERS

REWRITTEN = {
    "max.s16 \t%rs2, %rs1, 0;\n\tsetp.eq.b16 \t%p1, %rs2, 0;": ".pred differ; setp.ne.b16 \tdiffer|%p1, %rs2, 0; }",
    "min.u16 %rs2, %rs1, 3; @!%p2 setp.eq.s16 %p1, -3, %rs2;": "differ; @!%p2 setp.ne.s16 differ|%p1, -3, %rs2;",
    "min.s16 %rs2,%rs1,3; cvt.s32.s16 %r1, %rs2; setp.eq.s32 %p1,%r1,3;": "setp.ne.s32 differ|%p1, %r1, 3;",
    "max.relu.s16x2 %r1, %r2, %r3; mov.b32 {_, %rs1}, %r1; mov.b16 %rs2, %rs1; setp.eq.u16 %p1, %rs2, %rs3;": (
        "setp.ne.u16 differ|%p1, %rs2, %rs3;"
    ),
}
UNCHANGED = [
    "max.s16 %rs2, %rs1, 0; setp.eq.s16 %p1, %rs1, 0; setp.ne.s16 %p1, %rs2, 0;",
    "max.s32 %r2, %r1, 0; setp.eq.s32 %p1, %r2, 0;",
]
REPRODUCERS = [
    OF_NUMBERS.replace(
        "...",
        f"ld.global.b16 %rs1, [%rd1]; {word}16 %rs2, %rs1, 3; setp.eq.s16 %p1, %rs2, 3; "
        "selp.b16 %rs3, 7, 9, %p1; st.global.b16 [%rd1], %rs3;",
    )
    for word in ("min.s", "min.u", "max.s", "max.u")
]


def shows(sass: str) -> bool:
    return re.search(r"VIMNMX\.\S+ R\d+, P\d", sass) is not None
