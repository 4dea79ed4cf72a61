import numpy as np

import cutelite as cl
from cutelite import Tensor, TmaTensor, f32


@cl.kernel(block=64)
def walk(x: TmaTensor[f32, (32, 32), (8, 32)], y: Tensor[f32, (32, 32)]) -> None:
    tiles, full = cl.tma_shared(x, 4), cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        full[0].init(1)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    for i in range(4):
        if cl.thread_idx.x == 0:
            full[0].arrive_expect_tx(x.tile_bytes)
            cl.tma_load(x, tiles[i, None, None], at=(i * 8, 0), barrier=full[0])
        full[0].wait(i & 1)
        for row in cl.static_range(4):
            half = cl.thread_idx.x // 32
            y[i * 8 + half * 4 + row, cl.lane_idx()] = tiles[i, half * 4 + row, cl.lane_idx()]


walk.check(1, None, np.ones((32, 32), np.float32), np.zeros((32, 32), np.float32), seeds=1).raise_if_wrong()
