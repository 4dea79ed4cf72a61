"""A branch by a predicate and one that is known: ptxas branches by what was written since, and drops a comparison."""

from tests.toolchain.ptxas_bugs.frames import OF_NUMBERS

REWRITTEN = {
    "mov.pred %p1, 0; setp.eq.s32 %p1, %r1, 0;\n\tor.pred \t%p2, %p3, %p1;": (
        "selp.b32 bit0, 1, 0, %p1; setp.ne.b32 was0, bit0, 0; or.pred \t%p2, %p3, was0; }"
    ),
    "and.pred %p1, %p2, %p3; xor.pred %p2, %p1, %p1; mov.pred %p1, %p3; mov.pred %p2, %p3; and.pred %p3, %p2, %p1;": (
        "setp.ne.b32 was1, bit1, 0; and.pred %p3, was1, was0; }"
    ),
    "mov.pred %p1, 0; not.pred %p1, %p2; setp.lt.and.s32 %p3, %r1, 0, %p1;": "setp.lt.and.s32 %p3, %r1, 0, was0; }",
}
UNCHANGED = ["setp.eq.s32 %p1, %r1, 0; or.pred %p2, %p1, %p3;"]
REPRODUCERS = [
    OF_NUMBERS.replace(
        "...",
        f"""\
ld.global.b32 %r1, [%rd1];
	ld.global.b32 %r2, [%rd1+4];
	setp.ne.b32 %p1, %r2, 0;
$again:
	.pragma "nounroll";
	setp.eq.b32 %p2, %r1, 0;
	@%p2 bra $done;
	add.s32 %r1, %r1, -1;
	mov.pred %p4, {known};
	{word}.pred %p3, %p1, %p4;
	mov.pred %p1, -1;
	@%p3 bra $again;
	setp.lt.u32 %p1, %r1, %r2;
	bra.uni $again;
$done:
	selp.b32 %r3, 1, 0, %p1;
	st.global.b32 [%rd1], %r3;""",
    )
    for word, known in (("or", 0), ("and", -1), ("xor", 0))
]


def shows(sass: str) -> bool:
    return "ISETP.LT.U32" not in sass
