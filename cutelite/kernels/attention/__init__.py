"""Attention on Hopper: the softmax of products of queries with keys, times values.

call.py            `attention` on arrays, and its reference in float64
forward.py         its kernel: TMA, wgmma, softmax in registers
backward_call.py   `attention_backward` on arrays
backward.py        its kernels
operators.py       both as operators of torch

    from cutelite.kernels.attention import attention

    o = attention(q, k, v, causal=True)
"""

from cutelite.kernels.attention.backward_call import attention_backward
from cutelite.kernels.attention.call import attention, reference
from cutelite.kernels.attention.decoding_call import decode

__all__ = ["attention", "attention_backward", "decode", "reference"]
