"""c = a @ b.T in bf16 on Blackwell, with tensor memory, pipelines. No card has run it: simulated, checked, assembled.

As many blocks as there are SMs take tiles in turn. One thread loads tiles of A and B by TMA into a ring; one thread
multiplies them by tcgen05 into one of two accumulators in tensor memory; a warpgroup reads the other one into
registers, row by row, puts it into shared memory, and one thread stores it by TMA. So the products of a tile overlap
with the results of the previous one. Any M, N, K that TMA takes (N and K multiples of 8): elements beyond the edges
read as zeros and are not written.

hopper_gemm_tiled.py is the same for Hopper: docs/blackwell.md has the two side by side.
"""

from typing import Any

import cutelite as cl
from common import check, poisoned, random, to_numpy
from cutelite import Constexpr, Smem, TmaTensor, bf16

M, N, K = cl.dims("M N:8 K")

BM, BN, BK = 128, 256, 64
STAGES = 4
PIECE = 64  # columns of results that go through shared memory together
EPILOGUE = 128  # threads: the first warpgroup
PRODUCER, MULTIPLIER = 4, 5  # the numbers of the other two warps
THREADS = EPILOGUE + 64


class Storage(cl.SharedStorage):
    a: Smem[bf16, cl.make_smem_layout(bf16, (BM, BK, STAGES))]
    b: Smem[bf16, cl.make_smem_layout(bf16, (BN, BK, STAGES))]
    c: Smem[bf16, cl.make_smem_layout(bf16, (BM, PIECE, 2))]


@cl.kernel(block=THREADS, arch="sm_100a")
def gemm(
    a: TmaTensor[bf16, (M, K), (BM, BK)],
    b: TmaTensor[bf16, (N, K), (BN, BK)],
    c: TmaTensor[bf16, (M, N), (BM, PIECE)],
    dynamic: Constexpr[bool] = False,
) -> None:
    storage = Storage.allocate()
    loads = cl.PipelineTmaUmma.create(STAGES, a.tile_bytes + b.tile_bytes, sync=False)
    sums = cl.PipelineUmmaAsync.create(2, EPILOGUE, sync=False)
    counts = cl.ceil_div(M, BM), cl.ceil_div(N, BN)
    tiles: cl.ClcTileScheduler | cl.StaticPersistentTileScheduler
    if dynamic:  # by launch control: all three roles take tiles from one scheduler
        tiles = cl.ClcTileScheduler.create(counts, 2 + EPILOGUE, swizzle=8, sync=False)
    else:
        tiles = cl.StaticPersistentTileScheduler.create(counts, swizzle=8)
    warp = cl.make_warp_uniform(cl.thread_idx.x // 32)
    with cl.TmemAllocator.create(2 * BN) as tmem:
        acc = tmem.tensor(BM, BN, stages=2)
        if warp == PRODUCER:
            if cl.elect_one():
                produce(a, b, storage, loads, tiles.fetching())
        elif warp == MULTIPLIER:
            if cl.elect_one():
                multiply(acc, storage, loads, sums, tiles)
        else:
            finish(c, acc, storage, sums, tiles)


def produce(a: Any, b: Any, storage: Any, loads: Any, tiles: Any) -> None:
    """Fill the ring, tile after tile. Who: one thread."""
    state = loads.producer_state()
    while tiles.is_valid():
        m, n, _ = tiles.coordinate()
        for k in range(cl.ceil_div(K, BK)):
            state = loads.load(state, (a, storage.a, (m * BM, k * BK)), (b, storage.b, (n * BN, k * BK)))
        tiles = tiles.advance()


def multiply(acc: Any, storage: Any, loads: Any, sums: Any, tiles: Any) -> None:
    """Start the products of each tile, into the two accumulators alternately. Who: one thread."""
    state, out = loads.consumer_state(), sums.producer_state()
    while tiles.is_valid():
        sums.producer_acquire(out)
        for k in range(cl.ceil_div(K, BK)):
            loads.consumer_wait(state)
            s = state.index
            cl.tcgen05.mma(
                acc[None, None, out.index], storage.a[None, None, s], storage.b[None, None, s], accumulate=k > 0
            )
            loads.consumer_release(state)
            state = state.advance()
        sums.producer_commit(out)
        out = out.advance()
        tiles = tiles.advance()


def finish(c: Any, acc: Any, storage: Any, sums: Any, tiles: Any, rank: Any = 0, rows: int = BM) -> None:
    """A warpgroup: write the results, a row to each thread, in pieces of some columns; of `rows` those of this rank."""
    out = cl.RowRing.create(storage.c, cl.thread_idx.x, cl.NamedBarrier(1, EPILOGUE))
    state = sums.consumer_state()
    while tiles.is_valid():
        m, n, _ = tiles.coordinate()
        sums.consumer_wait(state)
        tile = acc[None, None, state.index]
        for i in cl.static_range(BN // PIECE):
            piece = cl.tcgen05.wait_load(cl.tcgen05.load(tile.tile((BM, PIECE), (0, i))))
            if i == BN // PIECE - 1:
                sums.consumer_release(state)
            out.acquire()
            out.put(i, piece.to(bf16))
            out.send(i, c, at=(m * rows + rank * BM, n * BN + i * PIECE))
        state = state.advance()
        tiles = tiles.advance()
    out.tail()


def main(m: int = 200, n: int = 520, k: int = 136, blocks: int = 148, dynamic: bool = False) -> None:
    a, b = random(m, k, dtype="bfloat16", seed=1, sm=100), random(n, k, dtype="bfloat16", seed=2, sm=100)
    c = poisoned(m, n, dtype="bfloat16", sm=100)
    tiles = -(-m // BM) * -(-n // BN)
    gemm[tiles if dynamic else min(blocks, tiles), THREADS](a, b, c, dynamic)
    check(f"gemm {m} x {n} x {k}", c, to_numpy(a) @ to_numpy(b).T, 5e-3)


if __name__ == "__main__":
    main()
