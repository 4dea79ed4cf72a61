"""Barriers of a CTA, ops that warps execute together, and what is said when not all of their threads come.

`tests/ops/test_ops_together.py` has what goes well: barriers by name and by number, arrivals, reductions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import i32, sim
from cutelite.ir.function import Function
from tests.sim.kernels import each_seed, failure, kernel, outputs, traced

T = np.arange(64)


def rotating(second: bool) -> Function:
    """Numbers go round among the threads of a block, 5 places; `second`: with the second barrier of the loop."""

    def body(out: Any) -> None:
        t, buffer = cl.thread_idx.x, cl.shared(i32, (64,))
        buffer[t] = t
        cl.syncthreads()
        for _ in range(cl.i32(5)):
            x = buffer[(t + 1) % 64]
            cl.syncthreads()
            buffer[t] = x
            if second:
                cl.syncthreads()
        out[cl.block_idx.x * 64 + t] = buffer[t]

    return traced(body)


def test_rotate_through_shared_memory() -> None:
    np.testing.assert_array_equal(each_seed(rotating(True), 2), np.tile((T + 5) % 64, 2))


def test_a_missing_barrier_shows_under_some_schedule() -> None:
    """Without the second barrier of the loop a value may be read after it was replaced, or before."""
    function = rotating(False)
    assert len({tuple(outputs(function, seed=seed).tolist()) for seed in range(12)}) > 1


def test_exited_threads_are_not_waited_for() -> None:
    def body(out: Any) -> None:
        if cl.thread_idx.x < 5:
            return
        cl.syncthreads()
        out[cl.thread_idx.x] = cl.thread_idx.x
        cl.syncthreads()

    np.testing.assert_array_equal(each_seed(traced(body)), np.where(T < 5, -1, T))


def test_a_warp_that_exits_late_completes_the_barrier() -> None:
    def body(out: Any) -> None:
        t, n = cl.thread_idx.x, 0
        if t >= 32:
            for k in range(t):
                n += k
        else:
            cl.syncthreads()
            out[t] = t

    np.testing.assert_array_equal(each_seed(traced(body)), np.where(T < 32, T, -1))


def parted(count: int, low: Callable[[], Any], high: Callable[[], Any], by: str = "thread", **how: Any) -> Function:
    """A kernel whose first `count` threads of the block, or lanes of each warp, execute `low`, the others `high`."""

    def crossed(out: Any) -> None:
        if (cl.thread_idx.x if by == "thread" else cl.lane_idx()) < count:
            low()
        else:
            high()
        out[cl.thread_idx.x] = 0  # where they meet

    return traced(crossed, **how)


def test_deadlock_names_all_who_wait() -> None:
    function = parted(32, lambda: cl.barrier_sync(2, 64), lambda: cl.barrier_sync(1, 64))
    for seed in range(4):
        error = failure(function, seed)
        assert error.code == "deadlock"
        text = str(error)
        assert "a deadlock: no thread can go on" in text
        assert "threads 0-31 (warp 0) wait for barrier 2: 32 of 64 threads arrived" in text
        assert "threads 32-63 (warp 1) wait for barrier 1: 32 of 64 threads arrived" in text
        assert "kernel `crossed`" in text
        assert f"schedule of seed {seed}" in text


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (traced(lambda out: cl.barrier_sync(3, 32)), "64 threads arrived, but 32 take part"),
        (kernel("  bar.sync id=3, count=96\n  ret\n"), "for 96 threads in a block of 64"),
        (parted(32, lambda: cl.barrier_sync(1, 64), lambda: cl.barrier_sync(1, 96), block=96), "elsewhere"),
    ],
    ids=["too few", "too many", "counts that disagree"],
)
def test_misuse(function: Function, says: str) -> None:
    error = failure(function)
    assert error.code == "barrier"
    assert says in str(error)


def nothing() -> None:
    pass


@pytest.mark.parametrize("other", [nothing, cl.syncthreads])
def test_aligned_ops_are_executed_by_whole_warps(other: Any) -> None:
    for seed in range(4):
        error = failure(parted(16, cl.syncthreads, other, by="lane"), seed)
        assert error.code == "divergence"
        assert error.op is not None
        assert error.op.name == "bar.sync"


def test_unaligned_barriers_may_be_reached_apart() -> None:
    each_seed(
        kernel("""
      %half = const value=16, type=i32
      %low = cmp predicate="lt", a=%lane, b=%half
      cond_br cond=%low, then=^a, other=^b
    ^a:
      bar.sync aligned=False
      br to=^done
    ^b:
      bar.sync aligned=False
      br to=^done
    ^done:
      ret
    """)
    )


LOW, HIGH = 0xFFFF, 0xFFFF0000
"""The two halves of a warp."""


def test_members_choose_who_takes_part() -> None:
    """The two halves of each warp shuffle apart, at different times."""

    def body(out: Any) -> None:
        t = cl.thread_idx.x
        if cl.lane_idx() < 16:
            out[t] = cl.shuffle_xor(t, 1, members=LOW)
        else:
            out[t] = cl.shuffle_xor(t, 2, members=HIGH)

    np.testing.assert_array_equal(each_seed(traced(body)), np.where(T % 32 < 16, T ^ 1, T ^ 2))


def test_halves_at_the_same_op() -> None:
    """One op, executed by lanes with different masks: two groups."""

    def body(out: Any) -> None:
        low = cl.lane_idx() < 16
        out[cl.thread_idx.x] = cl.popc(cl.ballot(low, members=cl.where(low, cl.u32(LOW), cl.u32(HIGH))))

    np.testing.assert_array_equal(each_seed(traced(body)), np.where(T % 32 < 16, 16, 0))


def test_lanes_that_never_come() -> None:
    function = parted(16, lambda: cl.shuffle_xor(cl.thread_idx.x, 1), cl.syncthreads, by="lane")
    assert failure(function).code == "divergence"


def test_not_a_member() -> None:
    def body(out: Any) -> None:
        out[0] = cl.shuffle_xor(cl.thread_idx.x, 1, members=LOW)

    error = failure(traced(body))
    assert error.code == "members"
    assert error.threads[0] == (16, 0, 0)


@pytest.mark.parametrize("block", [1, 31, 40, 64, 128])
def test_warp_sum_in_blocks_of_any_size(block: int) -> None:
    """Lanes beyond the end of the block take no part."""

    def body(out: Any) -> None:
        out[cl.thread_idx.x] = cl.redux(cl.thread_idx.x, "add")

    t = np.arange(block)
    np.testing.assert_array_equal(each_seed(traced(body, block=block)), [t[t // 32 == w // 32].sum() for w in t])


def test_warpgroups_are_complete() -> None:
    each_seed(traced(lambda out: cl.wgmma.commit_group(), block=256))
    error = failure(traced(lambda out: cl.wgmma.commit_group(), block=192))
    assert error.code == "divergence"
    assert "64 threads of warpgroup 1" in str(error)


def test_a_warp_that_misses_a_warpgroup_op() -> None:
    for seed in range(4):
        error = failure(parted(96, cl.wgmma.commit_group, cl.syncthreads, block=128), seed)
        assert error.code == "divergence"
        assert "wgmma.commit_group" in str(error)


def registers(less: int, *more: int) -> Function:
    """A kernel of three warpgroups: the first goes down to `less` registers, the others up to 232, and then down."""

    def body(out: Any) -> None:
        group = cl.thread_idx.x // 128
        if group == 0:
            cl.setmaxnreg_dec(less)
        else:
            cl.setmaxnreg_inc(232)
            for count in more:
                cl.setmaxnreg_dec(count)
        out[cl.thread_idx.x] = group

    return traced(body, block=384)


@pytest.mark.parametrize("counts", [(40,), (104, 168)])
def test_setmaxnreg_waits_for_registers(counts: tuple[int, ...]) -> None:
    """384 threads start with 168 registers each: 232 for two warpgroups needs 40 in the third.

    With 104 there, there are registers for one of two that ask at once; it gives them back for the other.
    """
    np.testing.assert_array_equal(each_seed(registers(*counts)), np.arange(384) // 128)


def test_registers_that_nobody_gives_back() -> None:
    error = failure(registers(48))
    assert error.code == "deadlock"
    assert "registers" in str(error)


def test_the_warps_of_a_warpgroup_take_turns_as_one_or_apart() -> None:
    """Ops count once for threads that execute them together: of 8 warps, all, each warpgroup, or each warp."""

    def times(instruction: str, seed: int) -> float:
        function = kernel(f"{instruction}\n tensor.store t=%out, coord=(%i), a=%lane\n ret", block=256)
        each, together = (sim.run(function, 1, [np.zeros(4096, np.int32)], seed=s).ops for s in (seed, 0))
        return each / together

    assert (times("", 1), times("wgmma.commit_group", 1)) == (8, 2)
    assert {1, 2, 8} <= {times("wgmma.commit_group", seed) for seed in range(4, 16)}
