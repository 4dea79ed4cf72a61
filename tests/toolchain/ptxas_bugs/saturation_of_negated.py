"""0 and a negated number: minus -2**31 is not 2**31 - 1, which the machine code would have to hold."""

from tests.toolchain.ptxas_bugs.frames import OF_NUMBERS

REWRITTEN = {
    "add.sat.s32 \t%r3, %r1, %r2;": "add.s32 sum, a, b; xor.b32 c, sum, a; xor.b32 d, sum, b;",
    "sub.sat.s32 %r3, %r1, -7;": "mov.b32 b, -7; sub.s32 sum, a, b; xor.b32 c, sum, a; xor.b32 d, a, b;",
    "add.sat.s32 %r3, 5, %r2;": "mov.b32 a, 5",
}
UNCHANGED = ["add.s32 %r3, %r1, %r2;"]
REPRODUCERS = [
    OF_NUMBERS.replace(
        "...", "ld.global.b32 %r1, [%rd1]; neg.s32 %r2, %r1; add.sat.s32 %r3, 0, %r2; st.global.b32 [%rd1], %r3;"
    )
]


def shows(sass: str) -> bool:
    return "0x7fffffff" in sass
