"""Kernels for Blackwell. No card has run them: they are simulated, checked and assembled (docs/blackwell.md).

gemm      GEMMs: the kernel       configs         what one is made for        call    GEMMs on arrays
attention the kernel              attention_call  attention on arrays
"""
