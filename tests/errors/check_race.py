import numpy as np

import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel(block=64)
def rotate(x: Tensor[f32, (N,)], y: Tensor[f32, (N,)]) -> None:
    row = cl.shared(f32, (64,))
    t = cl.thread_idx.x
    row[t] = x[t]
    y[t] = row[(t + 1) % 64]


rotate.check(1, None, np.ones(64, np.float32), np.zeros(64, np.float32)).raise_if_wrong()
