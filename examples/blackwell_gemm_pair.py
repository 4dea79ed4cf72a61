"""c = a @ b.T in bf16 on Blackwell, by pairs of blocks. No card has run it: simulated, checked, assembled.

As blackwell_gemm.py, but two blocks of a cluster multiply together: of a 256 x 256 tile each block loads half of A and
half of B, so that it loads half as much as it would alone. One thread of the even block starts the
products of both; each block reads and stores its own 128 rows. Copies of both blocks count their bytes on the even
block's barriers, and commits tell both.
"""

from typing import Any

import cutelite as cl
from blackwell_gemm import EPILOGUE, MULTIPLIER, PIECE, PRODUCER, THREADS, finish
from common import check, poisoned, random, to_numpy
from cutelite import Smem, TmaTensor, bf16

M, N, K = cl.dims("M N:8 K")

BM, BN, BK = 256, 256, 64  # the tile of a pair
STAGES = 6


class Storage(cl.SharedStorage):
    a: Smem[bf16, cl.make_smem_layout(bf16, (BM // 2, BK, STAGES))]
    b: Smem[bf16, cl.make_smem_layout(bf16, (BN // 2, BK, STAGES))]
    c: Smem[bf16, cl.make_smem_layout(bf16, (BM // 2, PIECE, 2))]


@cl.kernel(block=THREADS, cluster=2, arch="sm_100a")
def gemm(
    a: TmaTensor[bf16, (M, K), (BM // 2, BK)],
    b: TmaTensor[bf16, (N, K), (BN // 2, BK)],
    c: TmaTensor[bf16, (M, N), (BM // 2, PIECE)],
) -> None:
    storage = Storage.allocate()
    loads = cl.PipelineTmaUmma.create(STAGES, a.tile_bytes + b.tile_bytes, cta_group=2, mask=3, sync=False)
    sums = cl.PipelineUmmaAsync.create(2, EPILOGUE, cta_group=2, mask=3, sync=False)
    tiles = cl.StaticPersistentTileScheduler.create((cl.ceil_div(M, BM), cl.ceil_div(N, BN)), swizzle=8, cluster=True)
    warp, rank = cl.make_warp_uniform(cl.thread_idx.x // 32), cl.block_rank_in_cluster()
    with cl.TmemAllocator.create(2 * BN, cta_group=2) as tmem:
        acc = tmem.tensor(BM // 2, BN, stages=2)
        if warp == PRODUCER:
            if cl.elect_one():
                produce(a, b, storage, loads, tiles, rank)
        elif warp == MULTIPLIER:
            if cl.elect_one() and rank == 0:
                multiply(acc, storage, loads, sums, tiles)
        else:
            finish(c, acc, storage, sums, tiles, rank, BM)


def produce(a: Any, b: Any, storage: Any, loads: Any, tiles: Any, rank: Any) -> None:
    """Fill the ring with this block's halves. Who: one thread of each block."""
    state = loads.producer_state()
    while tiles.is_valid():
        m, n, _ = tiles.coordinate()
        row, column = m * BM + rank * (BM // 2), n * BN + rank * (BN // 2)
        for k in range(cl.ceil_div(K, BK)):
            loads.producer_acquire(state)
            s, full = state.index, loads.barrier(state)
            cl.tma_load(a, storage.a[None, None, s], at=(row, k * BK), barrier=full, pair=True)
            cl.tma_load(b, storage.b[None, None, s], at=(column, k * BK), barrier=full, pair=True)
            state = state.advance()
        tiles = tiles.advance()


def multiply(acc: Any, storage: Any, loads: Any, sums: Any, tiles: Any) -> None:
    """Start the products of each tile. Who: one thread of the pair."""
    state, out = loads.consumer_state(), sums.producer_state()
    while tiles.is_valid():
        sums.producer_acquire(out)
        for k in range(cl.ceil_div(K, BK)):
            loads.consumer_wait(state)
            left, right = storage.a[None, None, state.index], storage.b[None, None, state.index]
            cl.tcgen05.mma(acc[None, None, out.index], left, right, accumulate=k > 0, cta_group=2)
            loads.consumer_release(state)
            state = state.advance()
        sums.producer_commit(out)
        out, tiles = out.advance(), tiles.advance()


def main(m: int = 300, n: int = 520, k: int = 136, blocks: int = 148) -> None:
    a, b = random(m, k, dtype="bfloat16", seed=1, sm=100), random(n, k, dtype="bfloat16", seed=2, sm=100)
    c = poisoned(m, n, dtype="bfloat16", sm=100)
    gemm[min(blocks, 2 * -(-m // BM) * -(-n // BN)), THREADS](a, b, c)
    check(f"gemm {m} x {n} x {k}", c, to_numpy(a) @ to_numpy(b).T, 5e-3)


if __name__ == "__main__":
    main()
