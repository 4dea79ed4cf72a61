"""What ptxas takes for instructions that never overflow is written in others, that assemble."""

from __future__ import annotations

import pytest

from cutelite.target import Target
from cutelite.toolchain import to_cubin
from cutelite.toolchain.wrapping import wrapping

PTX = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel()
{{
	.reg .b16 %rs<4>;
	.reg .b32 %r<4>;
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
}


@pytest.mark.parametrize("line", CASES)
def test_they_are_written_wider(line: str, ptxas: str, hopper: Target) -> None:
    text = wrapping(PTX.format(line))
    assert line not in text and CASES[line] in text
    assert to_cubin(text, hopper, assembler="ptxas").image


@pytest.mark.parametrize(
    "line", ["neg.s32 %r2, %r1;", "abs.s64 %rd2, %rd1;", "add.s16 %rs2, %rs1, 1;", "neg.f16 %h2, %h1;"]
)
def test_others_stay(line: str) -> None:
    assert wrapping(PTX.format(line)) == PTX.format(line)
