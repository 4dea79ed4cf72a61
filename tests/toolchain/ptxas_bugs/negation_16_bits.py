"""The result is widened: it has to be cut to 16 bits first."""

import re

from tests.toolchain.ptxas_bugs.frames import OF_NUMBERS

REWRITTEN = {"neg.s16 \t%rs2, %rs1;": "neg.s32", "abs.s16 %rs2, %rs1;": "abs.s32"}
UNCHANGED = ["neg.s32 %r2, %r1;", "neg.f16 %rs2, %rs1;", "add.s16 %rs2, %rs1, 1;"]
REPRODUCERS = [
    OF_NUMBERS.replace(
        "...", f"ld.global.b16 %rs1, [%rd1]; {word} %rs2, %rs1; cvt.s32.s16 %r2, %rs2; st.global.b32 [%rd1], %r2;"
    )
    for word in ("neg.s16", "abs.s16")
]


def shows(sass: str) -> bool:
    return re.search(r"PRMT .*(?:IADD3|IMAD\.MOV|IABS).*PRMT ", sass, re.DOTALL) is None
