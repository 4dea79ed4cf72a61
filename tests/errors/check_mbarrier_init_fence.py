import numpy as np

import cutelite as cl
from cutelite import Tensor, TmaTensor, f32


@cl.kernel(block=32)
def load(x: TmaTensor[f32, (8, 32), (8, 32)], y: Tensor[f32, (8, 32)]) -> None:
    tile, full = cl.tma_shared(x), cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        full[0].init(1)
    cl.syncthreads()
    if cl.thread_idx.x == 0:
        full[0].arrive_expect_tx(x.tile_bytes)
        cl.tma_load(x, tile, at=(0, 0), barrier=full[0])
    full[0].wait(0)
    for row in cl.static_range(8):
        y[row, cl.thread_idx.x] = tile[row, cl.thread_idx.x]


load.check(1, None, np.ones((8, 32), np.float32), np.zeros((8, 32), np.float32)).raise_if_wrong()
