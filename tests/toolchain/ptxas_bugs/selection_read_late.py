"""One of -3 and -6 is chosen before the loop; behind it is the predicate that the loop has written."""

import re

from tests.toolchain.ptxas_bugs.frames import OF_NUMBERS

REWRITTEN = {
    "setp.eq.s32 %p1, %r1, 0; setp.eq.s32 %p2|%p1, %r2, 0; @!%p2 selp.b32 %r3, 1, %r1, %p1;": (
        "setp.ne.b32 was0, bit0, 0; @!%p2 selp.b32 %r3, 1, %r1, was0; }"
    ),
}
UNCHANGED = [
    "setp.eq.s32 %p1, %r1, 0; and.pred %p2, %p1, %p3; selp.b32 %r3, 1, %r1, %p2;",
    "mov.pred %p1, %p2; setp.ge.s32 %p1, %r1, 0; @%p1 bra $out; selp.b32 %r3, 1, %r1, %p2; $out:",
]
REPRODUCERS = [
    OF_NUMBERS.replace(
        "...",
        """\
ld.global.b32 %r1, [%rd1];
	ld.global.b32 %r2, [%rd1+4];
	setp.gt.s32 %p2, %r1, 3;
	mov.pred %p1, 0;
	@%p2 bra $first;
	ld.global.b32 %r3, [%rd1+8];
	setp.ne.b32 %p1, %r3, 0;
$first:
	selp.b16 %rs1, 3, 0, %p1;
	setp.gt.s32 %p3, %r2, 1;
	mov.b32 %r3, 0;
$again:
	.pragma "nounroll";
	setp.ge.s32 %p4, %r3, %r1;
	@%p4 bra $done;
	st.volatile.global.b32 [%rd1+16], %r3;
	add.s32 %r3, %r3, 1;
	mov.pred %p1, %p3;
	bra.uni $again;
$done:
	add.s16 %rs2, %rs1, -6;
	st.global.b16 [%rd1], %rs2;
	selp.b16 %rs3, 1, 0, %p1;
	st.global.b16 [%rd1+4], %rs3;""",
    )
]


def shows(sass: str) -> bool:
    before = re.findall(r"@!?(P\d) \S+ R\d+, .*-0x6 ;", sass)
    behind = re.findall(r"SEL R\d+, RZ, 0x1, !(P\d) ;", sass)
    return before == behind != []
