"""A high half, widened, less a number: IMAD.HI with the negated number loses a carry where that is 0."""

from tests.toolchain.ptxas_bugs.frames import OF_NUMBERS

REWRITTEN = {
    "mul.hi.u32 %r3, %r1, -1717986919; cvt.u64.u32 %rd1, %r3;": "mul.wide.u32 product, %r1, -1717986919;",
    "mul.hi.s32 %r3, %r1, %r2; mov.b64 %rd1, {%r3, %r2};": "mul.wide.s32 product, %r1, %r2;",
}
UNCHANGED = ["mul.hi.u32 %r2, %r1, 3; cvt.u64.u32 %rd1, %r1;"]
REPRODUCERS = [
    OF_NUMBERS.replace(
        "...",
        "ld.global.b32 %r1, [%rd1]; ld.global.b64 %rd2, [%rd1+8]; mul.hi.u32 %r2, %r1, -1717986919; "
        "cvt.u64.u32 %rd3, %r2; sub.s64 %rd4, %rd3, %rd2; st.global.b64 [%rd1], %rd4;",
    )
]


def shows(sass: str) -> bool:
    return "IMAD.HI" in sass
