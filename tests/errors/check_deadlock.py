import numpy as np

import cutelite as cl
from cutelite import Tensor, i32

N = cl.dims("N")


@cl.kernel(block=64)
def wait(y: Tensor[i32, (N,)]) -> None:
    done = cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        done[0].init(64)
    cl.syncthreads()
    if cl.thread_idx.x < 32:
        done[0].arrive()
    done[0].wait(0)
    y[cl.thread_idx.x] = 1


wait.check(1, None, np.zeros(64, np.int32), seeds=1).raise_if_wrong()
