import numpy as np

import cutelite as cl
from cutelite import Tensor, i32

N = cl.dims("N")


@cl.kernel(block=32, cluster=2)
def swap(y: Tensor[i32, (N,)]) -> None:
    row = cl.shared(i32, (32,))
    row[cl.thread_idx.x] = cl.thread_idx.x
    cl.cluster_sync()
    other = cl.mapa(row, 1 - cl.block_rank_in_cluster())
    y[cl.block_idx.x * 32 + cl.thread_idx.x] = other[cl.thread_idx.x]


swap.check(2, None, np.zeros(64, np.int32), seeds=[0]).raise_if_wrong()
