"""A loop on the GPU that is left early: its variables become parameters of the header and of the exit."""

import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def reduction(x: Tensor[f32, (N,)], out: Tensor[f32, (1,)]) -> None:
    total = 0
    for i in range(cl.thread_idx.x, N, 128):
        if x[i] < 0:
            break
        if x[i] > 100:
            continue
        total += x[i]
    else:
        total = total * 2
    out[0] = total
