import numpy as np

import cutelite as cl
from cutelite import Tensor, f32


class Storage(cl.SharedStorage):
    data: cl.Smem[f32, (64,)]
    full: cl.Smem[cl.mbarrier, (3,)]


@cl.kernel
def kernel(a: Tensor[f32, (64,)]) -> None:
    storage = Storage.allocate()
    if cl.thread_idx.x == 0:
        storage.full[2].init(1)
    cl.syncthreads()
    storage.full[2].wait(0)
    a[cl.thread_idx.x] = storage.data[cl.thread_idx.x]


kernel.check(1, 64, np.zeros(64, np.float32), seeds=1).raise_if_wrong()
