"""A kernel for `launch.py`'s second process: in a file of its own, for the first process compiles the same one."""

from __future__ import annotations

import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel(block=256)
def double(x: Tensor[f32, (N,)], y: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        y[i] = x[i] * 2.0
