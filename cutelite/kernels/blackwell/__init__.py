"""Kernels for Blackwell. No card has run them: they are simulated, checked and assembled (docs/blackwell.md).

gemm      GEMMs: the kernel       configs         what one is made for        call    GEMMs on arrays
fp8_block fp8 with scales in f32: what differs from gemm
attention the kernel              attention_call  attention on arrays
"""
