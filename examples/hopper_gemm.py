"""c = a @ b.T in bf16 on Hopper: TMA fills a ring of four stages, two warpgroups multiply with wgmma.

One warp of the first warpgroup only starts copies; each of the other two warpgroups owns 64 rows of the
128 x 256 tile. A stage's `full` barrier counts the bytes TMA brings, its `empty` barrier the two consumers.
Results are stored through shared memory by TMA. Any M, N, K that TMA takes (N and K multiples of 8): elements beyond
the edges read as zeros and are not written, since rows of C are whole units of TMA.

hopper_gemm_tiled.py is the one to read first; this one shows what its pipelines and tiled MMAs do.
"""

from typing import Any

import cutelite as cl
from common import check, poisoned, random, to_numpy
from cutelite import Layout, PipelineState, TmaTensor, bf16

M, N, K = cl.dims("M N:8 K")

BM, BN, BK = 128, 256, 64
STAGES = 4
CONSUMERS = BM // 64
THREADS = 128 * (1 + CONSUMERS)

C_LAYOUT = Layout((CONSUMERS, 64, (64, BN // 64)), (64 * BN, 64, (1, 64 * 64)))  # a consumer's rows, 64 columns a box


@cl.kernel(block=THREADS)
def gemm(
    a: TmaTensor[bf16, (M, K), (BM, BK)],
    b: TmaTensor[bf16, (N, K), (BN, BK)],
    c: TmaTensor[bf16, (M, N), (64, 64)],
) -> None:
    a_ring, b_ring = cl.tma_shared(a, STAGES), cl.tma_shared(b, STAGES)
    full, empty = cl.shared(cl.mbarrier, (STAGES,)), cl.shared(cl.mbarrier, (STAGES,))
    if cl.thread_idx.x == 0:
        for s in cl.static_range(STAGES):
            full[s].init(1)
            empty[s].init(CONSUMERS)
        cl.fence_mbarrier_init()
    cl.syncthreads()

    warpgroup = cl.thread_idx.x // 128
    row, column = cl.block_idx.y * BM, cl.block_idx.x * BN
    steps = cl.ceil_div(K, BK)
    # No `setmaxnreg`, which hopper_gemm_tiled.py shows: of three warpgroups each has 168 registers a thread, and a
    # consumer needs 154.
    if warpgroup == 0:
        if cl.thread_idx.x == 0:
            produce(a, b, a_ring, b_ring, full, empty, row, column, steps)
    else:
        consume(a_ring, b_ring, full, empty, c, row + (warpgroup - 1) * 64, column, warpgroup - 1, steps)


def produce(a: Any, b: Any, a_ring: Any, b_ring: Any, full: Any, empty: Any, row: Any, column: Any, steps: Any) -> None:
    """Fill the stages, each as soon as the consumers have emptied it. Who: one thread."""
    stage = PipelineState.producer(STAGES)
    for step in range(steps):
        s = stage.index
        empty[s].wait(stage.phase)
        full[s].arrive_expect_tx(a.tile_bytes + b.tile_bytes)
        cl.tma_load(a, a_ring[s, None, None], at=(row, step * BK), barrier=full[s])
        cl.tma_load(b, b_ring[s, None, None], at=(column, step * BK), barrier=full[s])
        stage = stage.advance()


def consume(
    a_ring: Any, b_ring: Any, full: Any, empty: Any, c: Any, row: Any, column: Any, half: Any, steps: Any
) -> None:
    """Multiply the stages as they arrive, then write 64 x 256 results. Who: a warpgroup."""
    acc = cl.wgmma.undefined(BN)  # the first product overwrites it: K >= 1, or it is no TmaTensor
    stage = PipelineState.consumer(STAGES)
    for step in range(steps):
        s = stage.index
        full[s].wait(stage.phase)
        a_tile = a_ring[s, None, None].tile((64, BK), (half, 0))
        acc = cl.wgmma.mma_async(a_tile, b_ring[s, None, None], acc, accumulate=step > 0)
        cl.wgmma.commit_group()
        acc = cl.wgmma.wait_group(0, acc)
        if cl.thread_idx.x % 128 == 0:
            empty[s].arrive()
        stage = stage.advance()
    cl.barrier_sync(1, 128 * CONSUMERS)  # everyone has read the last stage: its memory may be used for results
    c_tile = a_ring.view(C_LAYOUT)[half, None, None]
    cl.wgmma.store(c_tile, acc.to(bf16))
    cl.fence_proxy_async("shared::cta")
    cl.barrier_sync(2 + half, 128)
    if cl.thread_idx.x % 128 == 0:
        cl.tma_store(c_tile, c, at=(row, column))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


def main(m: int = 200, n: int = 264, k: int = 136) -> None:
    a, b = random(m, k, dtype="bfloat16", seed=1), random(n, k, dtype="bfloat16", seed=2)
    c = poisoned(m, n, dtype="bfloat16")
    gemm[(-(-n // BN), -(-m // BM)), THREADS](a, b, c)
    check(f"gemm {m} x {n} x {k}", c, to_numpy(a) @ to_numpy(b).T, 5e-3)


if __name__ == "__main__":
    main()
