"""Pipelines, orders and schedulers of the library, in the simulator under several schedules."""

# mypy: disable-error-code="valid-type, attr-defined, index, type-arg, var-annotated, arg-type, call-arg"
# (kernels here are made for shapes that a test chooses, which no annotation can say to a checker)

import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, TmaTensor, i32
from tests.places import Place

M, N, K, STEPS = cl.dims("M N K STEPS")


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("kind", ["threads", "cp.async"])
def test_producers_and_consumers(scheduled: Place, kind: str, stages: int) -> None:
    """Two warps fill buffers, one empties them: nothing is lost, read too early, or overwritten."""

    @cl.kernel(block=96)
    def kernel(a: Tensor[cl.i32, (M, 64)], out: Tensor[cl.i32, (M, 64)]) -> None:
        ring = cl.shared(cl.i32, (stages, 64))
        if kind == "threads":
            pipe: Any = cl.PipelineAsync.create(stages, producers=64, consumers=32)
        else:
            pipe = cl.PipelineCpAsync.create(stages, producers=64, consumers=32)
        t = cl.thread_idx.x
        if t < 64:
            state = pipe.producer_state()
            for i in range(a.shape[0]):
                pipe.producer_acquire(state)
                if kind == "threads":
                    ring[state.index, t] = a[i, t]
                else:
                    cl.cp_async(ring.at(state.index, t), a.at(i, t), 4)
                pipe.producer_commit(state)
                state = state.advance()
            pipe.producer_tail(state)
        else:
            state = pipe.consumer_state()
            for i in range(a.shape[0]):
                seen = pipe.consumer_try_wait(state) if kind == "threads" else pipe.consumer_test_wait(state)
                pipe.consumer_wait(state, seen)
                for half in cl.static_range(2):
                    out[i, half * 32 + cl.lane_idx()] = ring[state.index, half * 32 + cl.lane_idx()]
                pipe.consumer_release(state)
                state = state.advance()

    a = np.arange(11 * 64, dtype=np.int32).reshape(11, 64)
    out = np.zeros_like(a)
    scheduled(kernel[1, 96], a, out)
    np.testing.assert_array_equal(out, a)


@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_tma_with_multicast(scheduled: Place, blocks: int) -> None:
    """Each block of a cluster loads its share of a tile for all; every block sees every tile."""
    rows = 8 * blocks

    @cl.kernel(block=64, cluster=blocks)
    def kernel(a: TmaTensor[cl.i32, (M, 32), (8, 32)], out: Tensor[cl.i32, (blocks, M, 32)]) -> None:
        ring = cl.shared(cl.i32, cl.make_smem_layout(cl.i32, (rows, 32, 2)))
        peers = tuple(range(blocks)) if blocks > 1 else ()
        pipe = cl.PipelineTmaAsync.create(2, rows * 32 * 4, consumers=32, peers=peers)
        rank = cl.block_rank_in_cluster()
        steps = a.shape[0] // rows
        atom = cl.CopyBulkTensorTileG2SMulticastOp() if blocks > 1 else cl.CopyBulkTensorTileG2SOp()
        load = cl.make_copy_atom(atom, cl.i32)
        if cl.thread_idx.x == 0:
            state = pipe.producer_state()
            for i in range(steps):
                pipe.producer_acquire(state)
                source = cl.local_tile(cl.coordinates(a), (8, 32), (i * blocks + rank, 0))
                target = cl.local_tile(ring[None, None, state.index], (8, 32), (rank, 0))
                mask = cl.multicast_mask(peers) if blocks > 1 else None
                cl.copy(load, source, target, barrier=pipe.barrier(state), multicast=mask)
                state = state.advance()
            pipe.producer_tail(state)
        elif cl.thread_idx.x >= 32:
            state = pipe.consumer_state()
            for i in range(steps):
                pipe.consumer_wait(state)
                for r in cl.static_range(rows):
                    out[rank, i * rows + r, cl.lane_idx()] = ring[r, cl.lane_idx(), state.index]
                pipe.consumer_release(state)
                state = state.advance()

    a = np.arange(5 * rows * 32, dtype=np.int32).reshape(-1, 32)
    out = np.zeros((blocks, *a.shape), np.int32)
    scheduled(kernel[blocks, 64], a, out)
    for rank in range(blocks):
        np.testing.assert_array_equal(out[rank], a)


@pytest.mark.parametrize("blocks", [1, 2])
def test_tiles_for_wgmma_and_numbers_for_loads(scheduled: Place, blocks: int) -> None:
    """They come with one barrier, and are given back in two steps: ``reads="both"``, with fewer buffers than steps.

    Blocks of a cluster have rows of A and numbers of their own, and load B for each other.
    """
    tile = cl.make_smem_layout(cl.bf16, (64, 64, 2))

    @cl.kernel(block=256, cluster=(blocks, 1, 1) if blocks > 1 else None)
    def kernel(
        a: TmaTensor[cl.bf16, (64 * blocks, K), (64, 64)],
        b: TmaTensor[cl.bf16, (64, K), (64 // blocks, 64)],
        scale: TmaTensor[cl.f32, (STEPS, 64 * blocks), (1, 64)],
        out: Tensor[cl.f32, (64 * blocks, 64)],
    ) -> None:
        left, right = cl.shared(cl.bf16, tile), cl.shared(cl.bf16, tile)
        scales = cl.shared(cl.f32, (2, 64), align=128)
        peers = cl.multicast_peers((blocks, 1))
        pipe = cl.PipelineTmaAsync.create(2, 2 * 64 * 64 * 2 + 64 * 4, 128, peers, reads="both")
        row = cl.block_idx.x * 64
        if cl.thread_idx.x == 0:
            state, shared = pipe.producer_state(), cl.OperandTile.create(b, 64, (blocks, 1), 1)
            for k in range(STEPS):
                pipe.producer_acquire(state)
                full = pipe.barrier(state)
                cl.tma_load(a, left[None, None, state.index], at=(row, k * 64), barrier=full)
                shared.load(right[None, None, state.index], (), 0, k * 64, full)
                cl.tma_load(scale, scales.tile((1, 64), (state.index, 0)), at=(k, row), barrier=full)
                state = state.advance()
            pipe.producer_tail(state)
        elif cl.thread_idx.x >= 128:
            state, places = pipe.consumer_state(), cl.wgmma.coordinates(64)
            sums = cl.full((32,), 0.0, cl.f32)
            for _ in range(STEPS):
                pipe.consumer_wait(state)
                zeros = cl.wgmma.zeros_accumulator(64)
                flying = cl.wgmma.mma_async(left[None, None, state.index], right[None, None, state.index], zeros)
                cl.wgmma.commit_group()
                upper, lower = scales[state.index, places[0][0]], scales[state.index, places[2][0]]
                pipe.consumer_loaded(state)
                acc = cl.wgmma.wait_group(0, flying)
                pipe.consumer_release(state)
                of_rows = cl.make_rmem_tensor(cl.f32, (32,))
                for i in cl.static_range(32):
                    of_rows[i] = upper if i % 4 < 2 else lower
                sums, state = cl.math.fma(acc, of_rows.load(), sums), state.advance()
            for i in cl.static_range(32):
                out[row + places[i][0], places[i][1]] = sums[i]

    numbers = np.random.default_rng(1)
    a, b = (numbers.integers(-4, 5, (rows, 5 * 64)).astype(ml_dtypes.bfloat16) for rows in (64 * blocks, 64))
    scale = numbers.integers(1, 5, (5, 64 * blocks)).astype(np.float32)
    out = np.zeros((64 * blocks, 64), np.float32)
    scheduled(kernel[blocks, 256], a, b, scale, out)
    parts = a.astype(np.float32).reshape(-1, 5, 64) * scale.T[:, :, None]
    np.testing.assert_array_equal(out, parts.reshape(64 * blocks, -1) @ b.astype(np.float32).T)


@pytest.mark.parametrize("kind", ["threads", "cp.async", "TMA"])
def test_participants_carry_their_state(scheduled: Place, kind: str) -> None:
    """Through a run-time loop with a `continue`; a buffer is released while the next one is already waited for."""
    source = TmaTensor[cl.i32, (M, 32), (1, 32), "none"] if kind == "TMA" else Tensor[cl.i32, (M, 32)]

    @cl.kernel(block=64)
    def kernel(a: source, out: Tensor[cl.i32, (M, 32)]) -> None:
        ring = cl.shared(cl.i32, (3, 32), align=128)
        if kind == "threads":
            pipe: Any = cl.PipelineAsync.create(3, producers=32, consumers=32)
        elif kind == "cp.async":
            pipe = cl.PipelineCpAsync.create(3, producers=32, consumers=32)
        else:
            pipe = cl.PipelineTmaAsync.create(3, 128, consumers=32)
        producer, consumer = pipe.make_participants()
        lane = cl.lane_idx()
        if cl.thread_idx.x < 32:
            if kind != "TMA" or lane == 0:
                for i in range(a.shape[0]):
                    slot, producer = producer.acquire_and_advance(producer.try_acquire())
                    if kind == "threads":
                        ring[slot.index, lane] = a[i, lane]
                    elif kind == "cp.async":
                        cl.cp_async(ring.at(slot.index, lane), a.at(i, lane), 4)
                    else:
                        cl.tma_load(a, ring.tile((1, 32), (slot.index, 0)), at=(i, 0), barrier=slot.barrier)
                    slot.commit()
                producer.tail()
        else:
            before, consumer = consumer.wait_and_advance()
            for i in range(1, a.shape[0]):
                slot, consumer = consumer.wait_and_advance(consumer.try_wait())
                out[i - 1, lane] = ring[before.index, lane]
                before.release()
                before = slot
                if i % 2 == 0:
                    continue
                out[i, lane] = -1
            out[a.shape[0] - 1, lane] = ring[before.index, lane]
            before.release()

    a = np.arange(11 * 32, dtype=np.int32).reshape(11, 32)
    out = np.zeros_like(a)
    scheduled(kernel[1, 64], a, out)
    np.testing.assert_array_equal(out, a)


def test_groups_take_turns(scheduled: Place) -> None:
    """At each of two places the groups come by 0, 1, 2, 0, 1, 2, ...; each counts how many came before it."""

    @cl.kernel(block=96)
    def kernel(out: Tensor[cl.i32, (2, M)]) -> None:
        group = cl.thread_idx.x // 32
        order = cl.PipelineOrder.create(depth=2, groups=3, group=group, threads=32)
        counts = cl.shared(cl.i32, (2,))
        if cl.thread_idx.x == 0:
            counts.fill(0)
        cl.syncthreads()
        for _ in range(4):
            for place in cl.static_range(2):
                order.wait()
                if cl.lane_idx() == 0:
                    out[place, counts[place]] = group
                    counts[place] = counts[place] + 1
                order = order.arrive()

    out = np.full((2, 12), -1, np.int32)
    scheduled(kernel[1, 96], out)
    assert out.tolist() == [[0, 1, 2] * 4] * 2


def test_named_barriers(place: Place) -> None:
    @cl.kernel(block=128)
    def kernel(out: Tensor[cl.i32, (64,)]) -> None:
        buffer = cl.shared(cl.i32, (64,))
        together = cl.NamedBarrier(2, 64)
        t = cl.thread_idx.x
        if t < 64:
            buffer[t] = t
            together.sync()
            out[t] = buffer[63 - t]

    out = np.zeros(64, np.int32)
    place(kernel[1, 128], out)
    np.testing.assert_array_equal(out, 63 - np.arange(64))


@pytest.mark.parametrize("raster", ["M", "N"])
@pytest.mark.parametrize("swizzle", [1, 2, 8])
@pytest.mark.parametrize("tiles", [(1, 1), (5, 7), (8, 3, 2)])
def test_every_tile_is_taken_once(place: Place, tiles: tuple[int, ...], swizzle: int, raster: str) -> None:
    batches = tiles[2] if len(tiles) > 2 else 1

    @cl.kernel(block=1)
    def kernel(taken: Tensor[cl.i32, (batches, M, N)], when: Tensor[cl.i32, (batches, M, N)]) -> None:
        counts = (taken.shape[1], taken.shape[2], batches) if batches > 1 else (taken.shape[1], taken.shape[2])
        scheduler = cl.StaticPersistentTileScheduler.create(counts, swizzle, raster)
        while scheduler.is_valid():
            m, n, batch = scheduler.coordinate()
            cl.atomic_add(taken, (batch, m, n), 1)
            when[batch, m, n] = scheduler.index
            scheduler = scheduler.advance()

    taken, when = (np.zeros((batches, *tiles[:2]), np.int32) for _ in range(2))
    place(kernel[4, 1], taken, when)
    assert (taken == 1).all()
    along = when[0] if raster == "M" else when[0].T
    width = min(swizzle, along.shape[1])
    first = np.sort(along[:, :width].ravel())
    np.testing.assert_array_equal(first, np.arange(along.shape[0] * width))


@pytest.mark.parametrize("tiles", [(1, 1), (1, 6), (9, 1), (5, 7), (8, 8), (3, 16), (20, 11), (4, 6, 2)])
def test_a_hilbert_curve_goes_from_tile_to_neighbour(place: Place, tiles: tuple[int, ...]) -> None:
    @cl.kernel(block=1)
    def kernel(taken: Tensor[cl.i32, (M, N)]) -> None:
        scheduler = cl.StaticPersistentTileScheduler.create(tiles, raster="hilbert")
        while scheduler.is_valid():
            m, n, batch = scheduler.coordinate()
            taken[scheduler.index, 0], taken[scheduler.index, 1], taken[scheduler.index, 2] = m, n, i32(batch)
            scheduler = scheduler.advance()

    taken = np.full((math.prod(tiles), 3), -1, np.int32)
    place(kernel[3, 1], taken)
    batches = tiles[2] if len(tiles) > 2 else 1
    every = itertools.product(range(tiles[0]), range(tiles[1]), range(batches))
    assert sorted(map(tuple, taken.tolist())) == sorted(every)
    for walk in taken.reshape(batches, -1, 3):
        steps = np.abs(np.diff(walk[:, :2], axis=0)).sum(axis=1)
        assert (steps == 1).sum() >= len(steps) - 1  # one diagonal, where both sides are odd


@pytest.mark.parametrize(("dtype", "shape"), [("bf16", (64, 64, 2)), ("e4m3", (16, 128, 1)), ("f32", (4, 3, 1))])
def test_a_block_clears_a_tensor(place: Place, dtype: str, shape: tuple[int, ...]) -> None:
    kind = getattr(cl, dtype)

    @cl.kernel(block=(24, 2))
    def kernel(out: Tensor[cl.u8, (N,)]) -> None:
        layout = cl.make_smem_layout(kind, shape) if shape[1] * kind.bytes == 128 else cl.make_layout(shape)
        held = cl.shared(kind, layout, align=1024)
        bytes = held.view(cl.make_layout(held.nbytes), cl.u8)
        for i in range(cl.linear_thread_idx(), held.nbytes, 48):
            bytes[i] = cl.u8(7)
        cl.syncthreads()
        cl.cooperative_clear(held)
        cl.syncthreads()
        for i in range(cl.linear_thread_idx(), held.nbytes, 48):
            out[i] = bytes[i]

    out = np.ones(math.prod(shape) * kind.bytes, np.uint8)
    place(kernel[1, (24, 2)], out)
    assert not out.any()


def test_the_number_of_the_warpgroup(place: Place) -> None:
    @cl.kernel(block=(128, 3))
    def kernel(out: Tensor[cl.i32, (384,)]) -> None:
        out[cl.linear_thread_idx()] = 10 * cl.warpgroup_idx() + cl.make_warp_uniform(cl.thread_idx.y)

    out = np.zeros(384, np.int32)
    place(kernel[1, (128, 3)], out)
    np.testing.assert_array_equal(out, np.arange(384) // 128 * 11)
