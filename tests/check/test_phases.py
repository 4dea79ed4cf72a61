"""Waits and arrivals on an mbarrier mean one phase by order, whatever the schedule at hand makes of them."""

import numpy as np

import cutelite as cl
from cutelite import Constexpr, Tensor, TmaTensor, f32, i32
from tests.check.slips import assert_caught, report
from tests.pieces import barriers

N = cl.dims("N")


@cl.kernel(block=64)
def rounds(out: Tensor[i32, (N,)], slip: Constexpr[str]) -> None:
    """In each round one thread arrives, all wait for that, and meet before the next round."""
    bar, t = barriers(1), cl.thread_idx.x
    cl.syncthreads()
    for i in range(4):
        if t == 0:
            bar[0].arrive()
        if t < 32 or i & 1 == 1 or "leave out" not in slip:
            bar[0].wait(i & 1)
        if "do not meet" not in slip:
            cl.syncthreads()
    out[t] = t


OUT = (np.zeros(64, np.int32),)


def test_a_wait_is_over_before_the_next_phase_completes() -> None:
    lines = ("bar[0].wait(i & 1)", "the completion, by mbarrier.arrive", "may miss its phase of the mbarrier")
    assert_caught(rounds, 1, OUT, "do not meet", "mbarrier-phase", lines)


def test_a_wait_may_leave_out_phases_that_its_thread_knows_to_be_complete() -> None:
    found = report(rounds, 1, OUT, "leave out")
    assert found, found


def test_a_wait_that_leaves_out_a_phase_may_take_the_one_before_for_its_own() -> None:
    found = report(rounds, 1, OUT, "leave out, do not meet", [0])
    assert "may take an earlier phase of the mbarrier for its own" in str(found)


@cl.kernel(block=64)
def meetings(out: Tensor[i32, (N,)], slip: Constexpr[str]) -> None:
    """A thread of each warp arrives in every round, and both warps wait for both."""
    bar, t = barriers(2), cl.thread_idx.x
    cl.syncthreads()
    for i in range(3):
        cl.syncwarp()
        if cl.lane_idx() == 0:
            bar[0].arrive()
        if t >= 32 or slip != "first warp does not wait":
            bar[0].wait(i & 1)
    out[t] = t


def test_an_arrival_is_after_the_phase_before() -> None:
    lines = ("bar[0].arrive()", "may count in an earlier phase")
    assert_caught(meetings, 1, OUT, "first warp does not wait", "mbarrier-phase", lines)


@cl.kernel(block=64)
def alone(out: Tensor[i32, (N,)], slip: Constexpr[str]) -> None:
    """One thread completes three phases by itself, and then all wait for the last one."""
    bar, t = barriers(1), cl.thread_idx.x
    cl.syncthreads()
    if t == 0:
        for _ in range(3):
            bar[0].arrive()
    if slip != "do not meet":
        cl.syncthreads()
    bar[0].wait(0)
    out[t] = t


def test_who_makes_all_arrivals_knows_that_the_phase_is_complete() -> None:
    assert_caught(alone, 1, OUT, "do not meet", "mbarrier-phase", ("bar[0].wait(0)",))


@cl.kernel(block=64)
def handed(out: Tensor[i32, (N,)], slip: Constexpr[str]) -> None:
    """Warp 0 fills a buffer time after time, warp 1 empties it."""
    buffer, bars, t = cl.shared(i32, (32,)), cl.shared(cl.mbarrier, (2,)), cl.thread_idx.x
    full, empty = bars[0], bars[1]
    if t == 0:
        full.init(1)
        empty.init(1)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    for i in range(4):
        if t < 32:
            empty.wait(1 - (i & 1))
            buffer[t] = i + t
            cl.syncwarp()
            if t == 0:
                full.arrive()
        else:
            full.wait(i & 1)
            out[t - 32] = buffer[63 - t]
            cl.syncwarp()
            if t == 32:
                empty.arrive(relaxed=slip == "relaxed")


def test_a_relaxed_arrival_orders_no_loads() -> None:
    lines = ("buffer[t] = i + t", "the earlier read")
    assert_caught(handed, 1, (np.zeros(32, np.int32),), "relaxed", "race", lines)


@cl.kernel(block=32)
def refilled(src: TmaTensor[f32, (8, 32), (8, 32)], out: Tensor[f32, (8, 32)], slip: Constexpr[str]) -> None:
    """One thread brings two tiles and sees by relaxed waits that they have come: it may end, but not reuse a place."""
    tiles, full, t = cl.tma_shared(src, stages=2), barriers(1), cl.thread_idx.x
    if t == 0:
        for i in cl.static_range(2):
            full[0].arrive_expect_tx(src.tile_bytes)
            cl.tma_load(src, tiles[0 if slip == "one place" else i, None, None], at=(0, 0), barrier=full[0])
            if slip != "no wait" or i == 0:
                full[0].wait(i, relaxed=True)
        if slip == "read":
            out[0, 0] = tiles[0, 0, 0]


def test_a_relaxed_wait_orders_nothing_behind_the_copies_but_the_end_of_the_block() -> None:
    arrays = np.ones((8, 32), np.float32), np.zeros((8, 32), np.float32)
    assert_caught(refilled, 1, arrays, "read", "race", ("tiles[0, 0, 0]",))
    assert_caught(refilled, 1, arrays, "one place", "race", ("cl.tma_load(src",))
    for seed in (0, 1):
        assert report(refilled, 1, arrays, "no wait", [seed]).kinds & {"exit-pending", "exited-block"}


@cl.kernel(block=64)
def elected(out: Tensor[i32, (N,)], slip: Constexpr[str]) -> None:
    """As `rounds`, but each warp has one of its threads say that all of it have waited: who is elected, or thread 0."""
    bars, t = cl.shared(cl.mbarrier, (2,)), cl.thread_idx.x
    full, empty = bars[0], bars[1]
    if t == 0:
        full.init(1)
        empty.init(2)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    for i in range(4):
        if t == 0:
            empty.wait(1 - (i & 1))
            full.arrive()
        full.wait(i & 1)
        if cl.lane_idx() == 0 if slip == "not elected" else cl.elect_one():
            empty.arrive()
    out[t] = t


def test_a_warp_that_comes_together_has_waited() -> None:
    assert_caught(elected, 1, OUT, "not elected", "mbarrier-phase", ("full.wait(i & 1)",))
