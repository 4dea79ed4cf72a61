"""-1 is added where the negated predicate holds, and that predicate is stored: both must be read alike."""

import re

from tests.toolchain.ptxas_bugs.frames import OF_NUMBERS

REWRITTEN = {"not.pred \t%p1, %p1;": "setp.ne.b32 %p1, no, 0;"}
UNCHANGED = ["not.pred %p2, %p1;"]
REPRODUCERS = [
    OF_NUMBERS.replace(
        "...",
        """\
ld.global.b16 %rs4, [%rd1];
	ld.global.b8 %rs1, [%rd1+8];
	ld.global.b32 %r3, [%rd1+4];
	setp.ne.b16 %p4, %rs1, 0;
$first:
	.pragma "nounroll";
	setp.eq.b32 %p1, %r3, 0;
	@%p1 bra $behind;
	add.s32 %r3, %r3, -1;
	mov.pred %p4, -1;
	bra.uni $first;
$behind:
	setp.eq.b16 %p2, %rs4, 0;
	@%p2 bra $done;
	not.pred %p4, %p4;
	mov.b32 %r4, 1;
	selp.b16 %rs2, -1, 0, %p4;
$second:
	.pragma "nounroll";
	setp.eq.b32 %p3, %r4, 0;
	@%p3 bra $done;
	sub.s16 %rs4, %rs2, %rs4;
	add.s32 %r4, %r4, -1;
	bra.uni $second;
$done:
	st.global.b16 [%rd1], %rs4;
	selp.b16 %rs3, 1, 0, %p4;
	st.global.b8 [%rd1+8], %rs3;""",
    )
]


def shows(sass: str) -> bool:
    stored = re.findall(r"SEL R\d+, RZ, 0x1, !(P\d) ;", sass)
    without_the_one = re.findall(r"@(P\d) IMAD\.MOV", sass)
    return stored == without_the_one != []
