"""A loop around an update that becomes a loop: two branches back to one label before the compare and swap."""

import re

FRAME = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 p, .param .u32 n)
{
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
	...
	add.s32 %r1, %r1, -1;
	setp.ne.b32 %p2, %r1, 0;
	@%p2 bra $again;
$done:
	st.global.b64 [%rd1], %rd3;
	ret;
}
"""

SPINNING = [
    "red.relaxed.gpu.shared::cta.add.f32 [%r3], %r3;",
    "atom.shared.add.f32 %r4, [%r3+16], %r3;",
    "red.relaxed.gpu.shared::cta.add.noftz.f16x2 [%r3], %r3;",
    "red.release.cta.shared.add.noftz.bf16x2 [%r3], %r3;",
    "red.relaxed.gpu.shared::cta.add.f64 [%r3], %rd3;",
    "red.relaxed.gpu.shared::cta.add.u64 [%r3], %rd3;",
    "red.relaxed.gpu.shared::cta.xor.b64 [%r3], %rd3;",
]
"""Each becomes a loop whose head is that of the loop around."""
OTHERS = [
    "atom.relaxed.gpu.shared::cta.min.s64 %rd3, [%r3], %rd3;",
    "red.relaxed.gpu.shared::cta.max.u64 [%r3], %rd3;",
    "@%p3 red.relaxed.gpu.shared::cta.add.f32 [%r3], %r3;",
    "@!%p3 red.relaxed.gpu.shared::cta.max.s64 [%r3], %rd3;",
]
"""Become loops too, with something before their heads."""

REWRITTEN = {line: "@any_lane " + line[line.find("%p3 ") + 4 if "%p3 " in line else 0 :] for line in SPINNING + OTHERS}
UNCHANGED = [
    "red.relaxed.gpu.shared::cta.add.u32 [%r3], %r3;",
    "red.relaxed.gpu.shared::cluster.add.f32 [%r3], %r3;",
    "red.relaxed.gpu.global.add.f32 [%rd1], %r3;",
    "atom.relaxed.gpu.shared::cta.exch.b64 %rd3, [%r3], %rd3;",
    "atom.relaxed.gpu.shared::cta.cas.b64 %rd3, [%r3], %rd3, %rd3;",
]
REPRODUCERS = [FRAME.replace("...", line) for line in SPINNING]


def shows(sass: str) -> bool:
    lines = sass.splitlines()
    labels = {line.strip()[:-1]: i for i, line in enumerate(lines) if line.strip().endswith(":")}
    branches = [(i, found[1]) for i, line in enumerate(lines) if (found := re.search(r"BRA.*\((\.L\w+)\)", line))]
    for i, line in enumerate(lines):
        if "SPIN" in line:
            head = next(label for at, label in branches if at > i and labels[label] < i)
            if sum(label == head and at > i for at, label in branches) > 1:
                return True
    return False
