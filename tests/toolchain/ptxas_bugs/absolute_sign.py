"""A choice by the sign of an absolute value: nothing is compared, for the answer is taken to be known."""

from tests.toolchain.ptxas_bugs.frames import OF_NUMBERS

REWRITTEN = {
    "abs.s32 \t%r2, %r1;": "min.u32 %r2, %r1, minus;",
    "abs.s64 %rd1, %rd1;": "min.u64 %rd1, %rd1, minus;",
}
UNCHANGED = ["abs.f64 %fd2, %fd1;"]
REPRODUCERS = [
    OF_NUMBERS.replace(
        "...",
        f"ld.global.b{bits} {r}2, [%rd1]; abs.s{bits} {r}3, {r}2; setp.lt.s{bits} %p1, {r}3, 0; "
        "selp.b32 %r1, 7, 9, %p1; st.global.b32 [%rd1], %r1;",
    )
    for bits, r in ((32, "%r"), (64, "%rd"))
]


def shows(sass: str) -> bool:
    return "ISETP" not in sass
