"""What ptxas computes otherwise than it says is written in other instructions, that assemble."""

from __future__ import annotations

import re

import pytest

from cutelite.target import Target
from cutelite.toolchain import disassemble, to_cubin
from cutelite.toolchain.mended import mended

PTX = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel()
{{
	.reg .b16 %rs<4>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.reg .pred %p<4>;
	{0}
	ret;
}}
"""

CASES = {
    "neg.s16 \t%rs2, %rs1;": "neg.s32",
    "abs.s16 %rs2, %rs1;": "abs.s32",
    "abs.s32 \t%r2, %r1;": "min.u32 %r2, %r1, minus;",
    "abs.s64 %rd1, %rd1;": "min.u64 %rd1, %rd1, minus;",
    "add.sat.s32 \t%r3, %r1, %r2;": "add.s32 sum, a, b; xor.b32 c, sum, a; xor.b32 d, sum, b;",
    "sub.sat.s32 %r3, %r1, -7;": "mov.b32 b, -7; sub.s32 sum, a, b; xor.b32 c, sum, a; xor.b32 d, a, b;",
    "add.sat.s32 %r3, 5, %r2;": "mov.b32 a, 5",
    "max.s16 \t%rs2, %rs1, 0;\n\tsetp.eq.b16 \t%p1, %rs2, 0;": ".pred differ; setp.ne.b16 \tdiffer|%p1, %rs2, 0; }",
    "min.u16 %rs2, %rs1, 3; @!%p2 setp.eq.s16 %p1, -3, %rs2;": "differ; @!%p2 setp.ne.s16 differ|%p1, -3, %rs2;",
    "min.s16 %rs2,%rs1,3; cvt.s32.s16 %r1, %rs2; setp.eq.s32 %p1,%r1,3;": "setp.ne.s32 differ|%p1, %r1, 3;",
    "max.relu.s16x2 %r1, %r2, %r3; mov.b32 {_, %rs1}, %r1; mov.b16 %rs2, %rs1; setp.eq.u16 %p1, %rs2, %rs3;": (
        "setp.ne.u16 differ|%p1, %rs2, %rs3;"
    ),
    "lop3.b32 %r3, %r1, %r2, %r1, 29;": "lop3.b32 %r3, %r1, %r2, 0, 15;",
    "lop3.b32 %r3, %r1, %r1, %r2, 150;": "lop3.b32 %r3, %r1, %r2, 0, 204;",
    "lop3.b32 %r3, %r1, %r2, %r2, 232;": "lop3.b32 %r3, %r1, %r2, 0, 204;",
    "lop3.b32 %r3, %r1, %r1, %r1, 1;": "not.b32 %r3, %r1;",
    "lop3.b32 %r3, %r1, %r1, %r1, 128;": "mov.b32 %r3, %r1;",
    "lop3.b32 %r3, %r1, %r1, %r1, 129;": "mov.b32 %r3, -1;",
    "lop3.b32 %r3, %r1, %r1, %r1, 24;": "mov.b32 %r3, 0;",
    "mul.hi.u32 %r3, %r1, -1717986919; cvt.u64.u32 %rd1, %r3;": "mul.wide.u32 product, %r1, -1717986919;",
    "mul.hi.s32 %r3, %r1, %r2; mov.b64 %rd1, {%r3, %r2};": "mul.wide.s32 product, %r1, %r2;",
    "not.pred \t%p1, %p1;": "setp.ne.b32 %p1, no, 0;",
    "mov.pred %p1, 0; setp.eq.s32 %p1, %r1, 0;\n\tor.pred \t%p2, %p3, %p1;": (
        "selp.b32 bit0, 1, 0, %p1; setp.ne.b32 was0, bit0, 0; or.pred \t%p2, %p3, was0; }"
    ),
    "setp.eq.s32 %p1, %r1, 0; setp.eq.s32 %p2|%p1, %r2, 0; @!%p2 selp.b32 %r3, 1, %r1, %p1;": (
        "setp.ne.b32 was0, bit0, 0; @!%p2 selp.b32 %r3, 1, %r1, was0; }"
    ),
    "and.pred %p1, %p2, %p3; xor.pred %p2, %p1, %p1; mov.pred %p1, %p3; mov.pred %p2, %p3; and.pred %p3, %p2, %p1;": (
        "setp.ne.b32 was1, bit1, 0; and.pred %p3, was1, was0; }"
    ),
    "mov.pred %p1, 0; not.pred %p1, %p2; setp.lt.and.s32 %p3, %r1, 0, %p1;": "setp.lt.and.s32 %p3, %r1, 0, was0; }",
}


@pytest.mark.parametrize("line", CASES)
def test_they_are_written_otherwise(line: str, ptxas: str, hopper: Target) -> None:
    text = mended(PTX.format(line))
    assert line not in text and CASES[line] in text
    assert to_cubin(text, hopper, assembler="ptxas").image


@pytest.mark.parametrize(
    "line",
    [
        "neg.s32 %r2, %r1;",
        "abs.f64 %fd2, %fd1;",
        "add.s16 %rs2, %rs1, 1;",
        "neg.f16 %h2, %h1;",
        "not.pred %p2, %p1;",
        "max.s16 %rs2, %rs1, 0; setp.eq.s16 %p1, %rs1, 0; setp.ne.s16 %p1, %rs2, 0;",
        "max.s32 %r2, %r1, 0; setp.eq.s32 %p1, %r2, 0;",
        "lop3.b32 %r4, %r1, %r2, %r3, 29;",
        "mul.hi.u32 %r2, %r1, 3; cvt.u64.u32 %rd1, %r1;",
        "setp.eq.s32 %p1, %r1, 0; and.pred %p2, %p1, %p3; selp.b32 %r3, 1, %r1, %p2;",
        "mov.pred %p1, %p2; setp.ge.s32 %p1, %r1, 0; @%p1 bra $out; selp.b32 %r3, 1, %r1, %p2; $out:",
    ],
)
def test_others_stay(line: str) -> None:
    assert mended(PTX.format(line)) == PTX.format(line)


OF_A_NUMBER = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 p)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<5>;
	ld.param.b64 %rd1, [p];
	ld.global.b32 %r1, [%rd1];
"""

SUM = (
    OF_A_NUMBER
    + """\
	neg.s32 %r2, %r1;
	add.sat.s32 %r3, 0, %r2;
	st.global.b32 [%rd1], %r3;
	ret;
}
"""
)


def test_zero_and_a_negated_number_is_that_number(ptxas: str, nvdisasm: str, hopper: Target) -> None:
    """As said, 13.0.88 and 13.5.37 make 0x7fffffff of -0x80000000."""
    sass = disassemble(to_cubin(mended(SUM), hopper, assembler="ptxas").image)
    assert sass is not None
    assert "0x7fffffff" not in sass


CHOSEN = (
    OF_A_NUMBER
    + """\
	.reg .pred %p<6>;
	.reg .b16 %rs<4>;
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
	st.global.b16 [%rd1+4], %rs3;
	ret;
}
"""
)


def test_a_number_is_chosen_by_the_predicate_of_before(ptxas: str, nvdisasm: str, hopper: Target) -> None:
    """13.0.88 chooses one of -3 and -6 behind the loop, by the predicate that the loop has written."""
    sass = disassemble(to_cubin(mended(CHOSEN), hopper, assembler="ptxas").image) or ""
    (before,) = re.findall(r"@!(P\d) \S+ R\d+, .*-0x6 ;", sass)
    (behind,) = re.findall(r"SEL R\d+, RZ, 0x1, !(P\d) ;", sass)
    assert before != behind


KNOWN = (
    OF_A_NUMBER
    + """\
	.reg .pred %p<6>;
	ld.global.b32 %r2, [%rd1+4];
	setp.ne.b32 %p1, %r2, 0;
$again:
	.pragma "nounroll";
	setp.eq.b32 %p2, %r1, 0;
	@%p2 bra $done;
	add.s32 %r1, %r1, -1;
	{0} %p3, %p1, %p4;
	mov.pred %p1, -1;
	@%p3 bra $again;
	setp.lt.u32 %p1, %r1, %r2;
	bra.uni $again;
$done:
	selp.b32 %r3, 1, 0, %p1;
	st.global.b32 [%rd1], %r3;
	ret;
}
"""
)


@pytest.mark.parametrize(
    "known", ["mov.pred %p4, 0; or.pred", "mov.pred %p4, -1; and.pred", "mov.pred %p4, 0; xor.pred"]
)
def test_a_predicate_is_that_of_before(known: str, ptxas: str, nvdisasm: str, hopper: Target) -> None:
    """13.0.88 and 13.5.37 branch by the predicate that was written since, and leave out the comparison behind."""
    known = KNOWN.replace("{0}", known)
    before, after = (
        disassemble(to_cubin(ptx, hopper, assembler="ptxas").image) or "" for ptx in (known, mended(known))
    )
    assert "ISETP.LT.U32" not in before
    assert "ISETP.LT.U32" in after


COMPARED = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 p)
{{
	.reg .b16 %rs<4>;
	.reg .b64 %rd<4>;
	.reg .pred %p<4>;
	ld.param.b64 %rd1, [p];
	ld.global.b16 %rs1, [%rd1];
	{0}.{1}16 %rs2, %rs1, 3;
	setp.eq.s16 %p1, %rs2, {2};
	selp.b16 %rs3, 7, 9, %p1;
	st.global.b16 [%rd1], %rs3;
	ret;
}}
"""


@pytest.mark.parametrize("sign", ["s", "u"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_which_of_two_is_least_or_most_is_compared(
    name: str, sign: str, ptxas: str, nvdisasm: str, hopper: Target
) -> None:
    """13.0.88 makes the same code of both, of a predicate that says which operand was taken."""

    def compared(ptx: str) -> str:
        (line,) = [line for line in (disassemble(to_cubin(ptx, hopper).image) or "").splitlines() if "VIMNMX" in line]
        return line

    with_first, with_second = COMPARED.format(name, sign, "%rs1"), COMPARED.format(name, sign, "3")
    assert re.search(r"VIMNMX\.\w+ R\d+, P\d", compared(with_first))
    for ptx in (with_first, with_second):
        assert re.search(r"VIMNMX\.\w+ R\d+, R", compared(mended(ptx)))


DIFFERENCE = (
    OF_A_NUMBER
    + """\
	ld.global.b64 %rd2, [%rd1+8];
	mul.hi.u32 %r2, %r1, -1717986919;
	cvt.u64.u32 %rd3, %r2;
	sub.s64 %rd4, %rd3, %rd2;
	st.global.b64 [%rd1], %rd4;
	ret;
}
"""
)


def test_the_high_half_of_a_product_is_subtracted_from_alone(ptxas: str, nvdisasm: str, hopper: Target) -> None:
    """13.0.88 and 13.5.37 add the negated number as they multiply, and lose a carry where it is 0."""
    sass = [disassemble(to_cubin(text, hopper).image) or "" for text in (DIFFERENCE, mended(DIFFERENCE))]
    assert "IMAD.HI.U32" in sass[0]
    assert "IMAD.HI" not in sass[1] and "-0x66666667" in sass[1]


LOOP = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 p, .param .u32 n)
{{
	.reg .pred %p<4>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	ld.param.b64 %rd1, [p];
	ld.param.b32 %r1, [n];
	mov.u32 %r2, %tid.x;
	mul.wide.u32 %rd2, %r2, 8;
	add.s64 %rd1, %rd1, %rd2;
	ld.global.b64 %rd3, [%rd1];
	ld.global.b32 %r3, [%rd1];
	setp.ne.b32 %p3, %r3, 5;
	setp.lt.s32 %p1, %r1, 1;
	@%p1 bra $done;
$again:
	.pragma "nounroll";
	{0}
	add.s32 %r1, %r1, -1;
	setp.ne.b32 %p2, %r1, 0;
	@%p2 bra $again;
$done:
	st.global.b64 [%rd1], %rd3;
	ret;
}}
"""

SPINNING = [
    "red.relaxed.gpu.shared::cta.add.f32 [%r3], %r3;",
    "atom.shared.add.f32 %r4, [%r3+16], %r3;",
    "red.relaxed.gpu.shared::cta.add.noftz.f16x2 [%r3], %r3;",
    "red.release.cta.shared.add.noftz.bf16x2 [%r3], %r3;",
    "red.relaxed.gpu.shared::cta.add.f64 [%r3], %rd3;",
    "red.relaxed.gpu.shared::cta.add.u64 [%r3], %rd3;",
    "atom.relaxed.gpu.shared::cta.min.s64 %rd3, [%r3], %rd3;",
    "red.relaxed.gpu.shared::cta.max.u64 [%r3], %rd3;",
    "red.relaxed.gpu.shared::cta.xor.b64 [%r3], %rd3;",
    "@%p3 red.relaxed.gpu.shared::cta.add.f32 [%r3], %r3;",
    "@!%p3 red.relaxed.gpu.shared::cta.max.s64 [%r3], %rd3;",
]


@pytest.mark.parametrize("line", SPINNING)
def test_a_loop_of_ptxas_has_a_head_of_its_own(line: str, ptxas: str, nvdisasm: str, hopper: Target) -> None:
    text = mended(LOOP.format(line))
    sass = disassemble(to_cubin(text, hopper, assembler="ptxas").image)
    assert sass is not None
    assert "SPIN" in sass
    assert not shared_heads(sass)


def test_without_a_guard_they_share_one(ptxas: str, nvdisasm: str, hopper: Target) -> None:
    """If this fails, the ptxas that runs here may not need the guard."""
    sass = disassemble(to_cubin(LOOP.format(SPINNING[0]), hopper, assembler="ptxas").image)
    assert sass is not None
    assert shared_heads(sass)


def shared_heads(sass: str) -> list[str]:
    """Labels before a compare and swap to which two branches behind it go back."""
    lines = sass.splitlines()
    labels = {line.strip()[:-1]: i for i, line in enumerate(lines) if line.strip().endswith(":")}
    branches = [(i, found[1]) for i, line in enumerate(lines) if (found := re.search(r"BRA.*\((\.L\w+)\)", line))]
    heads = []
    for i, line in enumerate(lines):
        if "SPIN" in line:
            head = next(label for at, label in branches if at > i and labels[label] < i)
            heads += [head] * (sum(label == head and at > i for at, label in branches) > 1)
    return heads


@pytest.mark.parametrize(
    "line",
    [
        "red.relaxed.gpu.shared::cta.add.u32 [%r3], %r3;",
        "red.relaxed.gpu.shared::cluster.add.f32 [%r3], %r3;",
        "red.relaxed.gpu.global.add.f32 [%rd1], %r3;",
        "atom.relaxed.gpu.shared::cta.exch.b64 %rd3, [%r3], %rd3;",
        "atom.relaxed.gpu.shared::cta.cas.b64 %rd3, [%r3], %rd3, %rd3;",
    ],
)
def test_other_updates_stay(line: str) -> None:
    assert mended(LOOP.format(line)) == LOOP.format(line)


def test_updates_outside_of_loops_stay() -> None:
    text = PTX.format("red.relaxed.gpu.shared::cta.add.f32 [%r1], %r2; bra $out; $out:")
    assert mended(text) == text
