"""The greatest or smallest of three numbers, of which the second one is negated."""

import re

from tests.toolchain.ptxas_bugs.frames import OF_NUMBERS

REWRITTEN = {
    "neg.s32 \t%r3, %r1;\n\tmax.s32 \t%r4, %r2, %r3;": "max.s32 \t%r4, %r3, %r2;",
    "sub.s32 %r3, 0, %r1; mov.b32 %r2, %r3; @!%p1 min.s32 %r4, 7, %r2;": "@!%p1 min.s32 %r4, %r2, 7;",
    "mul.lo.s32 %r3, %r1, -1; neg.s32 %r2, %r1; max.relu.s32 %r4, %r2, %r3;": (
        "prmt.b32 same, %r3, %r3, 0x3210; max.relu.s32 %r4, %r2, same; }"
    ),
}
UNCHANGED = [
    "neg.s32 %r3, %r1; max.s32 %r4, %r3, %r2; min.s32 %r4, %r3, 5;",
    "neg.s32 %r3, %r1; max.u32 %r4, %r2, %r3;",
    "sub.s32 %r3, %r2, %r1; mul.lo.s32 %r3, %r1, -10; max.s32 %r4, %r2, %r3;",
]
LOADS = "".join(f"ld.global.b32 %r{i}, [%rd1+{4 * i}]; " for i in (1, 2, 3))
REPRODUCERS = [
    OF_NUMBERS.replace(
        "...",
        f"{LOADS} {made} {word}.s32 %r5, %r1, %r4; {word}.s32 %r5, %r5, %r3; st.global.b32 [%rd1], %r5;",
    )
    for word in ("min", "max")
    for made in ("neg.s32 %r4, %r2;", "mul.lo.s32 %r4, %r2, -1;")
]


def shows(sass: str) -> bool:
    """Tell whether nothing is negated."""
    return "VIMNMX3" in sass and re.search(r"-\|?R\d+", sass) is None
