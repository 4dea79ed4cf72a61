"""Named dims, special registers, one branch."""

import cutelite as cl
from cutelite import Tensor, f32

M, N = cl.dims("M N")


@cl.kernel
def add(a: Tensor[f32, (M, N)], b: Tensor[f32, (M, N)], c: Tensor[f32, (M, N)]) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < c.size:
        c[i] = a[i] + b[i]
