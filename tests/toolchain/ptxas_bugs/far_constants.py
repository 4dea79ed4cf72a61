"""Two constants of 64 bits added to one number: the high word of the first sum is left out."""

import re

FAR, FARTHER = -4611685949707845632, -4611685949707845600
REWRITTEN = {
    f"add.s64 \t%rd2, %rd1, {FAR};\n\tadd.s64 \t%rd3, %rd1, {FARTHER};": "add.s64 \t%rd3, %rd2, 32;",
    f"add.s64 \t%rd2, %rd1, {FAR};\n\tmov.b64 \t%rd5, %rd2;\n\tadd.s64 \t%rd3, %rd1, {FAR - 2};": "%rd3, %rd2, -2;",
}
UNCHANGED = [
    f"add.s64 \t%rd2, %rd1, {FAR};\n\tadd.s64 \t%rd3, %rd2, {FARTHER};",
    f"add.s64 \t%rd2, %rd1, {FAR};\n\tmov.b64 \t%rd1, %rd5;\n\tadd.s64 \t%rd3, %rd1, {FARTHER};",
    f"add.s64 \t%rd2, %rd1, {FAR};\n\tmov.b64 \t%rd2, %rd5;\n\tadd.s64 \t%rd3, %rd1, {FARTHER};",
    f"add.s64 \t%rd2, %rd1, {FAR};\n$L__1:\n\tadd.s64 \t%rd3, %rd1, {FARTHER};",
    f"add.s64 \t%rd2, %rd1, {FAR};\n\tadd.s64 \t%rd3, %rd1, {-FAR};",
    f"@%p1 add.s64 \t%rd2, %rd1, {FAR};\n\tadd.s64 \t%rd3, %rd1, {FARTHER};",
    "add.s64 \t%rd2, %rd1, 64;\n\tadd.s64 \t%rd3, %rd1, 96;",
]
FRAME = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 16 out, .param .u32 stage)
.reqntid 128
{
.shared .align 1024 .b8 smem[8192];
.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<2>;
ld.param.u64 %rd10, [out]; cvta.to.global.u64 %rd10, %rd10; ld.param.u32 %r1, [stage];
mov.u32 %r2, smem; add.s32 %r2, %r2, 4096; shr.u32 %r3, %r2, 4; and.b32 %r3, %r3, 16320; cvt.u64.u32 %rd11, %r3;
mul.wide.s32 %rd12, %r1, 64; add.s64 %rd1, %rd12, %rd11;
mov.u32 %r4, smem; shr.u32 %r4, %r4, 4; and.b32 %r4, %r4, 16320; cvt.u64.u32 %rd13, %r4;
mul.wide.s32 %rd14, %r1, 128; add.s64 %rd15, %rd14, %rd13; add.s64 %rd4, %rd15, -4611685949707845632;
	...
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%r5, %r6, %r7, %r8}, %rd4, %rd2, 0;
wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%r9, %r10, %r11, %r12}, %rd4, %rd3, 0;
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
st.global.v4.b32 [%rd10], {%r5, %r6, %r7, %r8}; st.global.v4.b32 [%rd10+16], {%r9, %r10, %r11, %r12};
ret;
}
"""
REPRODUCERS = [FRAME.replace("...", next(iter(REWRITTEN)))]


def shows(sass: str) -> bool:
    return re.search(r"UIADD3 UR\d+, UR\d+, 0x10000,", sass) is not None  # without a carry for the high word
