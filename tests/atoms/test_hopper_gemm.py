"""Whole products through TMA, wgmma and pipelines: major modes, several boxes to a tile, groups left in flight."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, TmaTensor, bf16, f32
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import SCALARS
from tests.pieces import barriers
from tests.places import Place

M, N, K = cl.dims("M N K")
LOAD = cl.make_copy_atom(cl.CopyBulkTensorTileG2SOp(), bf16)


def integers(*shape: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("majors", ["KK", "KN", "MK", "MN"])
def test_operands_of_every_major_mode(place: Place, majors: str, depth: int) -> None:
    """Tiles come in boxes of 64 contiguous elements: along K, or along M or N of the transposed tensor."""
    bm, bn, stages = 128, 128, 2
    mma = cl.make_tiled_mma(cl.WarpgroupMmaOp(bf16, f32, n=bn), (2, 1, 1))
    a_k, b_k = majors[0] == "K", majors[1] == "K"
    shape_a, box_a = ((M, K), (bm, 64)) if a_k else ((K, M), (depth, 64))
    shape_b, box_b = ((N, K), (bn, 64)) if b_k else ((K, N), (depth, 64))

    @cl.kernel(block=256)
    def gemm(a: TmaTensor[bf16, shape_a, box_a], b: TmaTensor[bf16, shape_b, box_b], c: Tensor[f32, (M, N)]) -> None:
        ring_a = cl.shared(bf16, cl.make_smem_layout(bf16, (bm, depth, stages), "K" if a_k else "MN"))
        ring_b = cl.shared(bf16, cl.make_smem_layout(bf16, (bn, depth, stages), "K" if b_k else "MN"))
        pipe = cl.PipelineTmaAsync.create(stages, (bm + bn) * depth * 2, consumers=256)
        steps = cl.ceil_div(K, depth)
        state, ahead = pipe.consumer_state(), pipe.producer_state()
        m, n = cl.block_idx.x, cl.block_idx.y
        mine = mma.get_slice(cl.thread_idx.x)
        left, right = mine.partition_A(ring_a), mine.partition_B(ring_b)
        tile = cl.local_tile(c, (bm, bn), (m, n))
        acc = mma.make_fragment_C(mine.partition_C(tile))
        for k in range(steps):
            if cl.thread_idx.x == 0:
                pipe.producer_acquire(ahead)
                fill(a, ring_a[None, None, ahead.index], (bm, depth), (m, k), a_k, pipe.barrier(ahead))
                fill(b, ring_b[None, None, ahead.index], (bn, depth), (n, k), b_k, pipe.barrier(ahead))
            ahead = ahead.advance()
            pipe.consumer_wait(state)
            s = state.index
            acc = cl.gemm(mma, acc, left[None, None, None, s], right[None, None, None, s]).wait()
            pipe.consumer_release(state)
            state = state.advance()
        mine.partition_C(tile).store(acc.load())

    def fill(source: Any, target: Any, tile: Any, where: Any, k_major: bool, barrier: Any) -> None:
        if not k_major:
            tile, where, target = (tile[1], tile[0]), (where[1], where[0]), cl.select(target, (1, 0))
        cl.copy(LOAD, cl.local_tile(cl.coordinates(source), tile, where), target, barrier=barrier)

    x, y = integers(128, 256, seed=1), integers(256, 256, seed=2)
    c = np.zeros((128, 256), np.float32)
    place(gemm[(1, 2), 256], x if a_k else x.T.copy(), y if b_k else y.T.copy(), c)
    np.testing.assert_array_equal(c, x.astype(np.float32) @ y.astype(np.float32).T)


def test_a_group_stays_in_flight(scheduled: Place) -> None:
    """The next tile is issued before the one before is waited for; a buffer is released once its group is retired."""
    tile, stages = 64, 3
    mma = cl.make_tiled_mma(cl.WarpgroupMmaOp(bf16, f32, n=64))

    @cl.kernel(block=128)
    def gemm(a: Tensor[bf16, (64, K)], b: Tensor[bf16, (64, K)], c: Tensor[f32, (64, 64)]) -> None:
        ring_a, ring_b = (cl.shared(bf16, cl.make_smem_layout(bf16, (64, tile, stages))) for _ in range(2))
        t = cl.thread_idx.x
        mine = mma.get_slice(t)
        left, right = mine.partition_A(ring_a), mine.partition_B(ring_b)
        acc = mma.make_fragment_C(mma.partition_shape_C((64, 64)))
        for k in range(K // tile):
            s = k % stages
            for i in range(t, 64 * tile, 128):
                ring_a[i % 64, i // 64, s] = a[i % 64, k * tile + i // 64]
                ring_b[i % 64, i // 64, s] = b[i % 64, k * tile + i // 64]
            cl.fence_proxy_async()
            cl.syncthreads()
            acc = cl.gemm(mma, acc, left[None, None, None, s], right[None, None, None, s], accumulate=k > 0)
            acc = acc.keep(1)
        mine.partition_C(c).store(acc.wait().load())

    a, b = integers(64, 320, seed=3), integers(64, 320, seed=4)
    c = np.zeros((64, 64), np.float32)
    scheduled(gemm[1, 128], a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


def test_a_product_from_registers(place: Place) -> None:
    """(a @ b.T) converted, and multiplied again from registers: what attention does with its probabilities."""
    first = cl.make_tiled_mma(cl.WarpgroupMmaOp(bf16, f32, n=64))
    second = cl.make_tiled_mma(cl.WarpgroupMmaOp(bf16, f32, n=64, a_source="rmem"))

    @cl.kernel(block=128)
    def kernel(a: Tensor[bf16, (64, 64)], b: Tensor[bf16, (64, 64)], c: Tensor[f32, (64, 64)]) -> None:
        tiles = [cl.shared(bf16, cl.make_smem_layout(bf16, (64, 64))) for _ in range(2)]
        t = cl.thread_idx.x
        for source, tile in zip((a, b), tiles, strict=True):
            for i in range(t, 64 * 64, 128):
                tile[i] = source[i]
        cl.fence_proxy_async()
        cl.syncthreads()
        mine, again = first.get_slice(t), second.get_slice(t)
        shape = first.partition_shape_C((64, 64))
        scores = cl.gemm(first, first.make_fragment_C(shape), mine.partition_A(tiles[0]), mine.partition_B(tiles[1]))
        weights = second.make_fragment_A(second.partition_shape_A((64, 64)))
        weights.store((scores.wait().load() * 0.25).to(bf16))
        total = cl.gemm(second, second.make_fragment_C(shape), weights, again.partition_B(tiles[1]))
        again.partition_C(c).store(total.wait().load())

    a, b = integers(64, 64, seed=5), np.eye(64).astype(ml_dtypes.bfloat16) * 4
    c = np.zeros((64, 64), np.float32)
    place(kernel[1, 128], a, b, c)
    np.testing.assert_array_equal(c, 4 * a.astype(np.float32))


def test_accumulators_are_scaled_and_reduced_by_rows(place: Place) -> None:
    """What attention needs between two products: the greatest of each row, and the rows rescaled."""
    mma = cl.make_tiled_mma(cl.WarpgroupMmaOp(bf16, f32, n=32))

    @cl.kernel(block=128)
    def kernel(a: Tensor[bf16, (128, 64)], b: Tensor[bf16, (64, 64)], c: Tensor[f32, (128, 64)]) -> None:
        tiles = (
            cl.shared(bf16, cl.make_smem_layout(bf16, (128, 64))),
            cl.shared(bf16, cl.make_smem_layout(bf16, (64, 64))),
        )
        t = cl.thread_idx.x
        for source, tile in zip((a, b), tiles, strict=True):
            for i in range(t, source.size, 128):
                tile[i] = source[i]
        cl.fence_proxy_async()
        cl.syncthreads()
        mine = mma.get_slice(t)
        acc = mma.make_fragment_C(mma.partition_shape_C((128, 64)))
        acc = cl.gemm(mma, acc, mine.partition_A(tiles[0]), mine.partition_B(tiles[1])).wait()
        scores = acc.load()
        spread = scores.reshape((2, 2, 4, 2, 2))  # neighbours, rows 8 apart, every 8 columns; along M, along N
        greatest = spread.reduce("max", (0, 2, 4))
        for distance in (1, 2):
            greatest = cl.where(
                cl.shuffle_xor(greatest, distance) > greatest, cl.shuffle_xor(greatest, distance), greatest
            )
        acc = acc.store(spread - greatest.reshape((1, 2, 1, 2, 1)))
        mine.partition_C(c).store(acc.load())

    a, b = integers(128, 64, seed=6), integers(64, 64, seed=7)
    c = np.zeros((128, 64), np.float32)
    place(kernel[1, 128], a, b, c)
    product = a.astype(np.float32) @ b.astype(np.float32).T
    np.testing.assert_array_equal(c, product - product.max(axis=1, keepdims=True))


def test_blocks_send_each_other_tiles(place: Place) -> None:
    """A bulk copy into the next block's shared memory, counted on that block's barrier."""
    send = cl.make_copy_atom(cl.CopyBulkS2DsmemOp(), f32)

    @cl.kernel(block=32, cluster=4)
    def kernel(out: Tensor[f32, (4, 64)]) -> None:
        mine, theirs = cl.shared(f32, (64,)), cl.shared(f32, (64,))
        bars = barriers(1)
        rank = cl.block_rank_in_cluster()
        following = (rank + 1) % 4
        for i in range(cl.thread_idx.x, 64, 32):
            mine[i] = rank * 100.0 + i
        if cl.thread_idx.x == 0:
            bars[0].arrive_expect_tx(mine.nbytes)
        cl.fence_proxy_async()
        cl.cluster_sync()
        if cl.thread_idx.x == 0:
            cl.copy(send, mine, cl.mapa(theirs, following), barrier=bars[0].remote(following))
        bars[0].wait(0)
        for i in range(cl.thread_idx.x, 64, 32):
            out[rank, i] = theirs[i]
        cl.cluster_sync()

    out = np.zeros((4, 64), np.float32)
    place(kernel[4, 32], out)
    expected = (np.arange(4) + 3)[:, None] % 4 * 100.0 + np.arange(64)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("name", "bits"), [("f32", 32), ("f32", 128), ("f16", 64), ("i8", 32), ("f64", 128), ("u64", 0), ("bf16", 128)]
)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_registers_go_to_the_next_block(scheduled: Place, name: str, bits: int, asynchronous: bool) -> None:
    """By st.async, counted on that block's barrier, or by ordinary stores and a barrier of the cluster."""
    dtype = SCALARS[name]
    op = cl.CopyDsmemStoreOp(bits) if asynchronous else cl.CopyUniversalOp(bits)
    each = (bits or dtype.bits) // dtype.bits
    send = cl.make_tiled_copy_tv(cl.make_copy_atom(op, dtype), cl.Layout((2, 16), (16, 1)), cl.Layout((1, each)))
    shape = (4, 16 * each)

    @cl.kernel(block=32, cluster=2)
    def kernel(a: Tensor[dtype, (2, *shape)], out: Tensor[dtype, (2, *shape)]) -> None:
        inbox, bars = cl.shared(dtype, shape), barriers(1)  # type: ignore[arg-type, var-annotated]
        rank, mine = cl.block_rank_in_cluster(), send.get_slice(cl.thread_idx.x)
        if cl.thread_idx.x == 0 and asynchronous:
            bars[0].arrive_expect_tx(inbox.nbytes)
        cl.cluster_sync()
        source = mine.partition_S(a[rank, None, None])
        held = cl.make_fragment_like(source)
        cl.copy(source, held)
        there = mine.partition_D(cl.mapa(inbox, 1 - rank))
        if asynchronous:
            cl.copy(send, held, there, barrier=bars[0].remote(1 - rank))
            bars[0].wait(0, cluster=True)
        else:
            cl.copy(send, held, there)
            cl.cluster_sync()
        cl.copy(mine.partition_S(inbox), mine.partition_D(out[rank, None, None]))
        cl.cluster_sync()

    a = (np.arange(8 * 16 * each) % 120).reshape(2, *shape).astype(numpy_dtype(dtype))
    out = np.zeros_like(a)
    scheduled(kernel[2, 32], a, out)
    np.testing.assert_array_equal(out, a[::-1])
