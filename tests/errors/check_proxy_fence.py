import numpy as np

import cutelite as cl
from cutelite import TmaTensor, f32


@cl.kernel(block=32)
def store(out: TmaTensor[f32, (8, 32), (8, 32)]) -> None:
    tile = cl.tma_shared(out)
    for row in cl.static_range(8):
        tile[row, cl.thread_idx.x] = 1.0
    cl.syncthreads()
    if cl.thread_idx.x == 0:
        cl.tma_store(tile, out, at=(0, 0))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


store.check(1, None, np.zeros((8, 32), np.float32)).raise_if_wrong()
