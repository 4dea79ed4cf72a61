"""Protocols on mbarriers in the simulator: rings of buffers, arrivals, phases; and what their mistakes lead to."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import PipelineState, Tensor, TmaTensor, f32, i32, u32
from cutelite.sim import SimError
from tests.places import Place

M, K, P, T = cl.dims("M K P T")
STAGES = 3


@cl.kernel(block=96)
def ring(src: TmaTensor[f32, (M, K), (16, 32)], out: Tensor[f32, (T, 16, 32)]) -> None:
    """One warp loads tiles down the rows of `src`, two warps write them out; three buffers go round."""
    tiles = cl.tma_shared(src, STAGES)
    full, empty = cl.shared(cl.mbarrier, (STAGES,)), cl.shared(cl.mbarrier, (STAGES,))
    if cl.thread_idx.x == 0:
        for s in cl.static_range(STAGES):
            full[s].init(1)
            empty[s].init(64)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    if cl.warp_idx() == 0:
        if cl.elect_one():
            state = PipelineState.producer(STAGES)
            for t in range(T):
                empty[state.index].wait(state.phase)
                full[state.index].arrive_expect_tx(src.tile_bytes)
                cl.tma_load(src, tiles[state.index, None, None], at=(t * 16, 0), barrier=full[state.index])
                state = state.advance()
    else:
        state = PipelineState.consumer(STAGES)
        for t in range(T):
            full[state.index].wait(state.phase)
            for i in range(cl.thread_idx.x - 32, 512, 64):
                out[t, i // 32, i % 32] = tiles[state.index, i // 32, i % 32]
            empty[state.index].arrive()
            state = state.advance()


@pytest.mark.parametrize("tiles", [1, 2, 3, 4, 8])
def test_a_ring_of_buffers(tiles: int, scheduled: Place) -> None:
    source = np.arange(16 * tiles * 32, dtype=np.float32).reshape(16 * tiles, 32)
    out = np.zeros((tiles, 16, 32), np.float32)
    scheduled(ring[1, 96], source, out)
    assert (out.reshape(source.shape) == source).all()


@cl.kernel(block=128)
def phases(out: Tensor[i32, (8, 4)]) -> None:
    """What arrivals, counts, states and tests say, looked at by one thread."""
    bars = cl.shared(cl.mbarrier, (2,))
    if cl.thread_idx.x == 0:
        bars[0].init(3)
        bars[1].init(1)
        out[0, 0] = cl.i32(bars[0].test_wait(0))
        out[0, 1] = cl.i32(bars[0].test_wait(1))
        state = bars[0].arrive(2)
        out[1, 0] = cl.i32(cl.mbarrier_pending_count(state))
        out[1, 1] = cl.i32(bars[0].test_wait(state))
        second = bars[0].arrive()
        out[2, 0] = cl.i32(cl.mbarrier_pending_count(second))
        out[2, 1] = cl.i32(bars[0].test_wait(state))
        out[2, 2] = cl.i32(bars[0].test_wait(0))
        out[2, 3] = cl.i32(bars[0].try_wait(1, hint_ns=100))
        bars[1].expect_tx(64)
        bars[1].arrive()
        out[3, 0] = cl.i32(bars[1].test_wait(0))
        bars[1].complete_tx(48)
        out[3, 1] = cl.i32(bars[1].test_wait(0))
        bars[1].complete_tx(16)
        out[3, 2] = cl.i32(bars[1].test_wait(0))
        bars[1].wait(0)
        bars[1].inval()
        bars[1].init(2)
        out[4, 0] = cl.i32(bars[1].test_wait(0))
        bars[1].arrive_drop()
        bars[1].arrive()
        out[4, 1] = cl.i32(bars[1].test_wait(0))
        bars[1].arrive()
        out[4, 2] = cl.i32(bars[1].test_wait(1))


def test_arrivals_and_phases(place: Place) -> None:
    out = np.full((8, 4), -1, np.int32)
    place(phases[1, 128], out)
    assert out[0, :2].tolist() == [0, 1]
    assert out[1, :2].tolist() == [3, 0]
    assert out[2].tolist() == [1, 1, 1, 0]
    assert out[3, :3].tolist() == [0, 0, 1]
    assert out[4, :3].tolist() == [0, 1, 1]


@cl.kernel(block=128)
def polling(out: Tensor[u32, (128,)]) -> None:
    """Warps wait for one another with try_wait in a loop of their own."""
    bar, turn = cl.shared(cl.mbarrier, (4,)), cl.shared(u32, (128,))
    warp = cl.warp_idx()
    if cl.thread_idx.x == 0:
        for w in cl.static_range(4):
            bar[w].init(32)
    cl.syncthreads()
    if warp > 0:
        done = bar[warp - 1].try_wait(0)
        while not done:
            done = bar[warp - 1].try_wait(0)
        turn[cl.thread_idx.x] = turn[cl.thread_idx.x - 32] + 1
    else:
        turn[cl.thread_idx.x] = cl.u32(cl.thread_idx.x)
    bar[warp].arrive()
    out[cl.thread_idx.x] = turn[cl.thread_idx.x]


def test_polling(scheduled: Place) -> None:
    out = np.zeros(128, np.uint32)
    scheduled(polling[1, 128], out)
    assert out.tolist() == [i % 32 + i // 32 for i in range(128)]


def started(body: Any) -> Any:
    """A kernel that initialises two barriers for one arrival each, and then does `body`."""

    @cl.kernel(block=32)
    def kernel(src: TmaTensor[f32, (M, K), (8, 32)]) -> None:
        tile, bars = cl.tma_shared(src), cl.shared(cl.mbarrier, (2,))
        if cl.thread_idx.x == 0:
            bars[0].init(1)
            cl.fence_mbarrier_init()
        cl.syncthreads()
        if cl.thread_idx.x == 0:
            body(src, tile, bars)

    return kernel


def never_arrives(src: Any, tile: Any, bars: Any) -> None:
    cl.tma_load(src, tile, at=(0, 0), barrier=bars[0])
    bars[0].wait(0)


def expects_too_much(src: Any, tile: Any, bars: Any) -> None:
    bars[0].arrive_expect_tx(src.tile_bytes + 16)
    cl.tma_load(src, tile, at=(0, 0), barrier=bars[0])
    bars[0].wait(0)


def waits_for_the_wrong_parity(src: Any, tile: Any, bars: Any) -> None:
    bars[0].arrive_expect_tx(src.tile_bytes)
    cl.tma_load(src, tile, at=(0, 0), barrier=bars[0])
    bars[0].wait(0)
    bars[0].wait(1)
    bars[0].wait(0)
    bars[0].wait(1)


def never_initialised(src: Any, tile: Any, bars: Any) -> None:
    bars[1].arrive()


def arrives_too_often(src: Any, tile: Any, bars: Any) -> None:
    bars[0].arrive(2)


def initialised_twice(src: Any, tile: Any, bars: Any) -> None:
    bars[0].init(1)


def used_after_its_end(src: Any, tile: Any, bars: Any) -> None:
    bars[0].inval()
    bars[0].wait(0)


def parity_out_of_range(src: Any, tile: Any, bars: Any) -> None:
    bars[0].wait(cl.thread_idx.x + 2)


MISTAKES = [
    (never_arrives, "1 of 1 arrivals are missing, and 1024 bytes came unexpected"),
    (expects_too_much, "0 of 1 arrivals and 16 bytes are missing"),
    (waits_for_the_wrong_parity, "phase of parity 1"),
    (never_initialised, "no live mbarrier"),
    (arrives_too_often, "gets 2 arrivals, but its phase expects 1 more"),
    (initialised_twice, "initialised again while live"),
    (used_after_its_end, "no live mbarrier"),
    (parity_out_of_range, "the parity of a phase is 0 or 1"),
]


@pytest.mark.parametrize(("body", "words"), MISTAKES, ids=[body.__name__ for body, _ in MISTAKES])
def test_mistakes_are_reported(body: Any, words: str) -> None:
    with pytest.raises(SimError, match=words):
        started(body)[1, 32](np.zeros((8, 32), np.float32))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda bar, row, out: bar.wait(2), "0 or 1, not 2"),
        (lambda bar, row, out: bar.init(1 << 20), "arrivals .* from 1 to 1048575, not 1048576"),
        (lambda bar, row, out: bar.arrive(0), "arrivals .* from 1 to 1048575, not 0"),
        (lambda bar, row, out: bar.arrive_drop(-1), "from 1 to 1048575, not -1"),
        (lambda bar, row, out: bar.arrive_expect_tx(1 << 20), "bytes .* from 0 to 1048575, not 1048576"),
        (lambda bar, row, out: bar.expect_tx(-16), "from 0 to 1048575, not -16"),
        (lambda bar, row, out: bar.complete_tx(-16), "from 0 to 1048575, not -16"),
        (lambda bar, row, out: bar.remote(2).arrive(), "a cluster of 2 has no block of rank 2"),
        (lambda bar, row, out: cl.mapa(row, -1), "a cluster of 2 has no block of rank -1"),
        (lambda bar, row, out: cl.cp_async(row, out, 4, src_bytes=5), "`src_bytes` is from 0 to 4, not 5"),
        (lambda bar, row, out: cl.createpolicy_range(out, 100, 50, "evict_last"), "from 1 to 50, not 100"),
        (lambda bar, row, out: cl.st_async(cl.mapa(row, 1), cl.i32(1), bar.remote(1)), "f32 is needed here, not i32"),
        (lambda bar, row, out: cl.cp_reduce_async_bulk(out, row.recast(cl.u32), 16, "add"), "of u32, and `dst` of f32"),
    ],
)
def test_constants_are_checked_when_compiling(body: Any, words: str) -> None:
    @cl.kernel(block=32, cluster=2)
    def kernel(out: Tensor[f32, (P,), cl.align(16)]) -> None:
        body(cl.shared(cl.mbarrier, (1,))[0], cl.shared(f32, 4, align=16), out)

    with pytest.raises(cl.CompileError, match=words):
        kernel.compile(arch="sm_90a")


def test_pipeline_state_of_constants() -> None:
    """Outside of a run-time loop it stays a compile-time value."""
    state = PipelineState.producer(2)
    seen = []
    for _ in range(5):
        seen.append((state.index, state.phase))
        state = state.advance()
    assert seen == [(0, 1), (1, 1), (0, 0), (1, 0), (0, 1)]
