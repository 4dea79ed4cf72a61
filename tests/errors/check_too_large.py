import numpy as np

import cutelite as cl
from cutelite import Tensor, u8

N = cl.dims("N")


@cl.kernel(block=64)
def clear(y: Tensor[u8, (N,)]) -> None:
    y[cl.block_idx.x * 64 + cl.thread_idx.x] = cl.u8(0)


clear.check(1, None, np.zeros(5 << 30, np.uint8))
