"""Attention on Hopper: the softmax of products of queries with keys, times values.

call.py            `attention` on arrays, and its reference in float64
varlen.py          `attention_varlen` on arrays: sequences of any lengths, without padding
forward.py         their kernel: TMA, wgmma, softmax in registers
here.py            facts that its threads share, the place of a warpgroup, and the writing of results
tiles.py           its tiles: their places, and the keys they see
powers.py          its step from products to powers  gaps.py            its rows and keys that are not there
scores.py          score functions and masks, applied to a fragment of scores
relative.py        those that go by the distance of key and query alone: computed once for each
joined.py          softmax of scores with such terms in their exponents
blocks.py          block masks
decoding_call.py   `decode` on arrays: few queries, and a cache of keys and values
decoding.py        its kernel                     parts.py           what a block of threads loads, and where rows go
combining.py       the kernel that combines parts gathering.py       the same in the shared memory of a cluster
fp8_call.py        `attention_fp8` on arrays: the forward pass in e4m3
fp8.py             its kernel
sequences.py       the blocks of keys that each sequence's queries see, and how parts divide them
shares.py          equal shares of all sequences' keys for blocks of threads, and their combination
latent_call.py     `decode_latent` on arrays: the same of latents (MLA)
latent.py          its kernel                     splitting.py       a model of time that picks the number of parts
backward_call.py   `attention_backward` and `attention_varlen_backward` on arrays
backward.py        the algorithm, the kernel that multiplies, its loads and its steps: read it first
backward_scores.py a block of scores: probabilities after functions and masks, gradients
backward_worker.py what the steps of all forms do alike: operands, sums, results
backward_wide.py   its form for wide heads        backward_outer.py  the kernels before and after the products
learned.py         gradients of arrays that a function captured
backward_plan.py   configurations                 backward_tiles.py  tiles: places, and the queries that see them
model.py           the forward kernel's configurations, and its time, by which one is picked
capped.py          softmax of capped scores          plans.py           what the plans of all these kernels share
operators.py       `attention` and its derivative as operators of torch
flops.py           their floating-point operations, as torch counts them
on_jax.py          `attention` and its derivative, and `decode`, within JAX's transforms

    from cutelite.kernels.attention import attention

    o = attention(q, k, v, causal=True)
"""

from cutelite.kernels.attention.backward_call import attention_backward, attention_varlen_backward
from cutelite.kernels.attention.blocks import BlockMask, create_block_mask
from cutelite.kernels.attention.call import attention, reference
from cutelite.kernels.attention.decoding_call import decode
from cutelite.kernels.attention.fp8_call import attention_fp8
from cutelite.kernels.attention.latent_call import decode_latent
from cutelite.kernels.attention.varlen import attention_varlen

__all__ = [
    "BlockMask",
    "attention",
    "attention_backward",
    "attention_fp8",
    "attention_varlen",
    "attention_varlen_backward",
    "create_block_mask",
    "decode",
    "decode_latent",
    "reference",
]
