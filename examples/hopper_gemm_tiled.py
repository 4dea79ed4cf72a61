"""c = a @ b.T in bf16 on Hopper, with tiled MMAs, copy atoms and pipelines; the epilogue by stmatrix and TMA.

As many blocks as there are SMs take tiles in turn. One thread loads tiles of A and B by TMA into a ring; two
warpgroups multiply them by wgmma, put the results into shared memory by stmatrix, and one thread stores these by TMA
while the next tile is multiplied. Any M, N, K that TMA takes (N and K multiples of 8): elements beyond the edges
read as zeros and are not written.

Of the Hopper GEMMs among the examples, read this one first: hopper_gemm.py does the same without pipelines and tiled
MMAs, every barrier by hand, and gemm.py calls the library's, which is built as this one is.
"""

from typing import Any

import cutelite as cl
from common import check, poisoned, random, to_numpy
from cutelite import Smem, TmaTensor, bf16, f32

M, N, K = cl.dims("M N:8 K")

BM, BN, BK = 128, 256, 64
STAGES = 3
CONSUMERS = 256  # threads
THREADS = 128 + CONSUMERS

MMA = cl.make_tiled_mma(cl.WarpgroupMmaOp(bf16, f32, n=BN), (2, 1, 1))
LOAD = cl.make_copy_atom(cl.CopyBulkTensorTileG2SOp(), bf16)
STORE = cl.make_copy_atom(cl.CopyBulkTensorTileS2GOp(), bf16)
TO_SHARED = cl.make_tiled_copy_C(cl.make_copy_atom(cl.StMatrix8x8x16bOp(num_matrices=4), bf16), MMA)


class Storage(cl.SharedStorage):
    a: Smem[bf16, cl.make_smem_layout(bf16, (BM, BK, STAGES))]
    b: Smem[bf16, cl.make_smem_layout(bf16, (BN, BK, STAGES))]
    c: Smem[bf16, cl.make_smem_layout(bf16, (BM, BN))]


@cl.kernel(block=THREADS)
def gemm(
    a: TmaTensor[bf16, (M, K), (BM, BK)],
    b: TmaTensor[bf16, (N, K), (BN, BK)],
    c: TmaTensor[bf16, (M, N), (BM, 64)],
) -> None:
    storage = Storage.allocate()
    pipe = cl.PipelineTmaAsync.create(STAGES, a.tile_bytes + b.tile_bytes, CONSUMERS)
    tiles = cl.StaticPersistentTileScheduler.create((cl.ceil_div(M, BM), cl.ceil_div(N, BN)), swizzle=8)
    if cl.thread_idx.x < 128:
        cl.setmaxnreg_dec(40)
        if cl.thread_idx.x == 0:
            produce(a, b, storage, pipe, tiles)
    else:
        cl.setmaxnreg_inc(232)
        consume(c, storage, pipe, tiles, cl.thread_idx.x - 128)


def produce(a: Any, b: Any, storage: Any, pipe: Any, tiles: Any) -> None:
    """Fill the ring, tile after tile. Who: one thread."""
    state = pipe.producer_state()
    while tiles.is_valid():
        m, n, _ = tiles.coordinate()
        from_a = cl.local_tile(cl.coordinates(a), (BM, BK), (m, None))
        from_b = cl.local_tile(cl.coordinates(b), (BN, BK), (n, None))
        for k in range(cl.ceil_div(K, BK)):
            pipe.producer_acquire(state)
            full = pipe.barrier(state)
            cl.copy(LOAD, from_a[None, None, k], storage.a[None, None, state.index], barrier=full)
            cl.copy(LOAD, from_b[None, None, k], storage.b[None, None, state.index], barrier=full)
            state = state.advance()
        tiles = tiles.advance()


def consume(c: Any, storage: Any, pipe: Any, tiles: Any, t: Any) -> None:
    """Multiply the stages, and write tiles of results. Who: two warpgroups."""
    mine, put = MMA.get_slice(t), TO_SHARED.get_slice(t)
    together, out = cl.NamedBarrier(1, CONSUMERS), cl.PipelineTmaStore.create(stages=1)
    left, right = mine.partition_A(storage.a), mine.partition_B(storage.b)
    shape = MMA.partition_shape_C((BM, BN))
    state = pipe.consumer_state()
    while tiles.is_valid():
        acc = MMA.make_fragment_C(shape)
        for _ in range(cl.ceil_div(K, BK)):
            pipe.consumer_wait(state)
            s = state.index
            acc = cl.gemm(MMA, acc, left[None, None, None, s], right[None, None, None, s]).wait()
            pipe.consumer_release(state)
            state = state.advance()
        results = cl.make_rmem_tensor(bf16, cl.make_layout(shape))
        results.store(acc.load().to(bf16))
        if t == 0:
            out.producer_acquire()  # the previous tile has left shared memory
        together.sync()
        cl.copy(TO_SHARED, put.retile(results), put.partition_D(storage.c))
        cl.fence_proxy_async("shared::cta")
        together.sync()
        if t == 0:
            m, n, _ = tiles.coordinate()
            cl.copy(STORE, storage.c, cl.local_tile(cl.coordinates(c), (BM, BN), (m, n)))
            out.producer_commit()
        tiles = tiles.advance()
    if t == 0:
        out.producer_tail()


def main(m: int = 200, n: int = 520, k: int = 136, blocks: int = 132) -> None:
    a, b = random(m, k, dtype="bfloat16", seed=1), random(n, k, dtype="bfloat16", seed=2)
    c = poisoned(m, n, dtype="bfloat16")
    gemm[min(blocks, -(-m // BM) * -(-n // BN)), THREADS](a, b, c)
    check(f"gemm {m} x {n} x {k}", c, to_numpy(a) @ to_numpy(b).T, 5e-3)


if __name__ == "__main__":
    main()
