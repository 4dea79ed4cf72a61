"""c = a @ b.T in bf16 with a 2:4 sparse `a`: half of it is never stored, loaded or multiplied.

The host keeps two of every four neighbours in a row of `a`, and metadata that says which (`wgmma.compress_sparse`). One
thread loads the kept elements, and tiles of `b`, by TMA; two warpgroups read their words of metadata from global memory
and multiply by sparse wgmma, which covers twice the extent along K. M in tiles, K in steps of 128; any N of 8.
"""

from typing import Any

import numpy as np

import cutelite as cl
from common import array, check, poisoned, to_numpy
from cutelite import Smem, Tensor, TmaTensor, bf16, f32, u32

M, N, P = cl.dims("M:128 N:8 P:64")  # P: kept elements of a row of `a`, half of K

BM, BN, BK = 128, 256, 128
WORDS = BK // 64  # words of metadata, for each thread and step
STAGES = 2
CONSUMERS = 256  # threads
THREADS = 128 + CONSUMERS

MMA = cl.make_tiled_mma(cl.WarpgroupMmaOp(bf16, f32, n=BN, sparse=True), (2, 1, 1))
LOAD = cl.make_copy_atom(cl.CopyBulkTensorTileG2SOp(), bf16)
STORE = cl.make_copy_atom(cl.CopyBulkTensorTileS2GOp(), bf16)
TO_SHARED = cl.make_tiled_copy_C(cl.make_copy_atom(cl.StMatrix8x8x16bOp(num_matrices=4), bf16), MMA)


class Storage(cl.SharedStorage):
    a: Smem[bf16, cl.make_smem_layout(bf16, (BM, BK // 2, STAGES))]
    b: Smem[bf16, cl.make_smem_layout(bf16, (BN, BK, STAGES))]
    c: Smem[bf16, cl.make_smem_layout(bf16, (BM, BN))]


@cl.kernel(block=THREADS)
def gemm(
    a: TmaTensor[bf16, (M, P), (BM, 64)],
    words: Tensor[u32, (M // 64, P // 32, 128)],
    b: TmaTensor[bf16, (N, 2 * P), (BN, 64)],
    c: TmaTensor[bf16, (M, N), (BM, 64)],
) -> None:
    storage = Storage.allocate()
    pipe = cl.PipelineTmaAsync.create(STAGES, BM * BK + BN * BK * 2, CONSUMERS)
    producer, consumer = pipe.make_participants()
    m, n = cl.block_idx.x, cl.block_idx.y
    if cl.thread_idx.x < 128:
        cl.setmaxnreg_dec(40)
        if cl.thread_idx.x == 0:
            from_a = cl.local_tile(cl.coordinates(a), (BM, BK // 2), (m, None))
            from_b = cl.local_tile(cl.coordinates(b), (BN, BK), (n, None))
            for k in range(2 * P // BK):
                slot, producer = producer.acquire_and_advance()
                cl.copy(LOAD, from_a[None, None, k], storage.a[None, None, slot.index], barrier=slot.barrier)
                cl.copy(LOAD, from_b[None, None, k], storage.b[None, None, slot.index], barrier=slot.barrier)
    else:
        cl.setmaxnreg_inc(232)
        tile = cl.local_tile(words, (BM // 64, WORDS, 128), (m, None, 0))
        consume(tile, storage, consumer, cl.local_tile(cl.coordinates(c), (BM, BN), (m, n)), cl.thread_idx.x - 128)


def consume(words: Any, storage: Any, consumer: Any, target: Any, t: Any) -> None:
    """Multiply the stages, and write the tile of results. Who: two warpgroups."""
    mine, put, together = MMA.get_slice(t), TO_SHARED.get_slice(t), cl.NamedBarrier(1, CONSUMERS)
    left, right = mine.partition_A(storage.a), mine.partition_B(storage.b)
    shape = MMA.partition_shape_C((BM, BN))
    acc = MMA.make_fragment_C(shape)
    for k in range(2 * P // BK):
        own = mine.partition_E(words[None, None, None, k])
        metadata = MMA.make_fragment_E(own)
        cl.copy(own, metadata)
        slot, consumer = consumer.wait_and_advance()
        s = slot.index
        acc = cl.gemm(MMA, acc, left[None, None, None, s], right[None, None, None, s], metadata=metadata).wait()
        slot.release()
    results = cl.make_rmem_tensor(bf16, cl.make_layout(shape))
    results.store(acc.load().to(bf16))
    cl.copy(TO_SHARED, put.retile(results), put.partition_D(storage.c))
    cl.fence_proxy_async("shared::cta")
    together.sync()
    if t == 0:
        cl.copy(STORE, storage.c, target)
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


def pruned(m: int, k: int) -> Any:
    """Return normal random numbers, of which the two smaller of every four neighbours in a row are zero."""
    fours = np.random.default_rng(1).standard_normal((m, k // 4, 4), dtype=np.float32)
    small = np.argsort(np.abs(fours), axis=2)[..., :2]
    np.put_along_axis(fours, small, 0, axis=2)
    return fours.reshape(m, k)


def main(m: int = 128, n: int = 200, k: int = 256) -> None:
    dense = to_numpy(array(pruned(m, k), "bfloat16"))
    values, words = cl.wgmma.compress_sparse(dense, bf16)
    b = array(np.random.default_rng(2).standard_normal((n, k), dtype=np.float32), "bfloat16")
    c = poisoned(m, n, dtype="bfloat16")
    gemm[(m // BM, -(-n // BN)), THREADS](array(values, "bfloat16"), array(words, "uint32"), b, c)
    check(f"sparse gemm {m} x {n} x {k}", c, dense @ to_numpy(b).T, 5e-3)


if __name__ == "__main__":
    main()
