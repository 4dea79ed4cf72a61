"""What ptxas computes otherwise than it says is written in other instructions, that assemble."""

from __future__ import annotations

import pytest

from cutelite.target import Target
from cutelite.toolchain import to_cubin
from cutelite.toolchain.mended import mended

PTX = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel()
{{
	.reg .b16 %rs<4>;
	.reg .b32 %r<4>;
	.reg .pred %p<4>;
	{0}
	ret;
}}
"""

CASES = {
    "neg.s16 \t%rs2, %rs1;": "neg.s32",
    "abs.s16 %rs2, %rs1;": "abs.s32",
    "add.sat.s32 \t%r3, %r1, %r2;": "cvt.sat.s32.s64 %r3",
    "sub.sat.s32 %r3, %r1, -7;": "mov.b64 b, -7",
    "add.sat.s32 %r3, 5, %r2;": "mov.b64 a, 5",
    "not.pred \t%p1, %p1;": "setp.ne.b32 %p1, no, 0;",
}


@pytest.mark.parametrize("line", CASES)
def test_they_are_written_otherwise(line: str, ptxas: str, hopper: Target) -> None:
    text = mended(PTX.format(line))
    assert line not in text and CASES[line] in text
    assert to_cubin(text, hopper, assembler="ptxas").image


@pytest.mark.parametrize(
    "line",
    ["neg.s32 %r2, %r1;", "abs.s64 %rd2, %rd1;", "add.s16 %rs2, %rs1, 1;", "neg.f16 %h2, %h1;", "not.pred %p2, %p1;"],
)
def test_others_stay(line: str) -> None:
    assert mended(PTX.format(line)) == PTX.format(line)
