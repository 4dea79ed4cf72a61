"""Barriers of a CTA, ops that warps execute together, and what is said when not all of their threads come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cutelite import sim
from cutelite.ir.function import Function
from cutelite.sim import SimError
from tests.sim.kernels import each_seed, kernel

T = np.arange(64)


def failure(function: Function, seed: int = 0, grid: int = 1, **options: Any) -> SimError:
    with pytest.raises(SimError) as caught:
        sim.run(function, grid, [np.zeros(4096, np.int32)], seed=seed, **options)
    return caught.value


ROUNDS = """
  %buffer = smem.alloc type=tensor<i32,smem,64:1,16>
  tensor.store t=%buffer, coord=(%tid), a=%tid
  bar.sync
  br to=^head(%c0)
^head(%k: i32):
  %rounds = const value=5, type=i32
  %next_tid = add a=%tid, b=%c1
  %neighbour = mod a=%next_tid, b=%width
  %x = tensor.load t=%buffer, coord=(%neighbour)
  bar.sync
  tensor.store t=%buffer, coord=(%tid), a=%x
  bar.sync
  %next = add a=%k, b=%c1
  %more = cmp predicate="lt", a=%next, b=%rounds
  cond_br cond=%more, then=^head(%next), other=^done
^done:
  %y = tensor.load t=%buffer, coord=(%tid)
  tensor.store t=%out, coord=(%i), a=%y
  ret
"""


def test_rotate_through_shared_memory() -> None:
    np.testing.assert_array_equal(each_seed(kernel(ROUNDS), 2), np.tile((T + 5) % 64, 2))


def test_a_missing_barrier_shows_under_some_schedule() -> None:
    """Without the second barrier of the loop a value may be read after it was replaced, or before."""
    first, _, rest = ROUNDS.rpartition("  bar.sync\n")
    function = kernel(first + rest)
    results = set()
    for seed in range(12):
        out = np.zeros(4096, np.int32)
        sim.run(function, 1, [out], seed=seed)
        results.add(tuple(out[:64].tolist()))
    assert len(results) > 1


def test_exited_threads_are_not_waited_for() -> None:
    function = kernel("""
      %five = const value=5, type=i32
      %gone = cmp predicate="lt", a=%tid, b=%five
      cond_br cond=%gone, then=^out, other=^stay
    ^out:
      ret
    ^stay:
      bar.sync
      tensor.store t=%out, coord=(%i), a=%tid
      bar.sync
      ret
    """)
    np.testing.assert_array_equal(each_seed(function), np.where(T < 5, -1, T))


def test_a_warp_that_exits_late_completes_the_barrier() -> None:
    function = kernel("""
      %size = const value=32, type=i32
      %upper = cmp predicate="ge", a=%tid, b=%size
      cond_br cond=%upper, then=^work(%c0), other=^wait
    ^work(%k: i32):
      %next = add a=%k, b=%c1
      %more = cmp predicate="lt", a=%next, b=%tid
      cond_br cond=%more, then=^work(%next), other=^out
    ^out:
      ret
    ^wait:
      bar.sync
      tensor.store t=%out, coord=(%i), a=%tid
      ret
    """)
    np.testing.assert_array_equal(each_seed(function), np.where(T < 32, T, -1))


def test_named_barriers_hand_over_between_warps() -> None:
    """Warp 1 fills, warp 0 reads: arrive and sync on barrier 1, for 64 threads."""
    function = kernel("""
      %buffer = smem.alloc type=tensor<i32,smem,32:1,16>
      %size = const value=32, type=i32
      %upper = cmp predicate="ge", a=%tid, b=%size
      cond_br cond=%upper, then=^fill, other=^read
    ^fill:
      tensor.store t=%buffer, coord=(%lane), a=%tid
      bar.arrive id=1, count=64
      ret
    ^read:
      bar.sync id=1, count=64
      %x = tensor.load t=%buffer, coord=(%lane)
      tensor.store t=%out, coord=(%i), a=%x
      ret
    """)
    np.testing.assert_array_equal(each_seed(function), np.where(T < 32, T + 32, -1))


def test_barriers_with_numbers_known_at_run_time() -> None:
    """Each pair of warps has a barrier of its own."""
    function = kernel(
        """
      %buffer = smem.alloc type=tensor<i32,smem,128:1,16>
      %size = const value=64, type=i32
      %pair = floordiv a=%tid, b=%size
      %number = add a=%pair, b=%c1
      %thirty_two = const value=32, type=i32
      %partner = xor a=%tid, b=%thirty_two
      tensor.store t=%buffer, coord=(%tid), a=%tid
      bar.sync number=%number, count=64
      %x = tensor.load t=%buffer, coord=(%partner)
      tensor.store t=%out, coord=(%i), a=%x
      ret
        """,
        block=128,
    )
    np.testing.assert_array_equal(each_seed(function), np.arange(128) ^ 32)


@pytest.mark.parametrize(("operation", "expected"), [("popc", 21), ("and", 0), ("or", 1)])
def test_reduction_at_a_barrier(operation: str, expected: int) -> None:
    to_i32 = "" if operation == "popc" else "  %n = select cond=%r, a=%c1, b=%c0\n"
    function = kernel(
        """
      %rest = mod a=%tid, b=%c3
      %holds = cmp predicate="eq", a=%rest, b=%c2
      %{} = bar.red operation="{}", a=%holds
    {}
      tensor.store t=%out, coord=(%i), a=%n
      ret
        """.format("n" if operation == "popc" else "r", operation, to_i32)
    )
    assert set(each_seed(function).tolist()) == {expected}


def test_deadlock_names_all_who_wait() -> None:
    function = kernel(
        """
      %size = const value=32, type=i32
      %upper = cmp predicate="ge", a=%tid, b=%size
      cond_br cond=%upper, then=^a, other=^b
    ^a:
      bar.sync id=1, count=64
      br to=^done
    ^b:
      bar.sync id=2, count=64
      br to=^done
    ^done:
      ret
        """,
        name="crossed",
    )
    for seed in range(4):
        error = failure(function, seed)
        assert error.code == "deadlock"
        text = str(error)
        assert "a deadlock: no thread can go on" in text
        assert "threads 0-31 (warp 0) wait for barrier 2: 32 of 64 threads arrived" in text
        assert "threads 32-63 (warp 1) wait for barrier 1: 32 of 64 threads arrived" in text
        assert "kernel `crossed`" in text
        assert f"schedule of seed {seed}" in text


@pytest.mark.parametrize(("body", "says"), [
    ("  bar.sync id=3, count=32\n", "64 threads arrived, but 32 take part"),
    ("  bar.sync id=3, count=96\n", "for 96 threads in a block of 64"),
])  # fmt: skip
def test_misuse(body: str, says: str) -> None:
    error = failure(kernel(body + "  ret\n"))
    assert error.code == "barrier"
    assert says in str(error)


def test_counts_that_disagree() -> None:
    function = kernel(
        """
      %size = const value=32, type=i32
      %upper = cmp predicate="ge", a=%tid, b=%size
      cond_br cond=%upper, then=^a, other=^b
    ^a:
      bar.sync id=1, count=96
      ret
    ^b:
      bar.sync id=1, count=64
      ret
        """,
        block=96,
    )
    error = failure(function)
    assert error.code == "barrier"
    assert "elsewhere" in str(error)


DIVERGENT = """
  %half = const value=16, type=i32
  %low = cmp predicate="lt", a=%lane, b=%half
  cond_br cond=%low, then=^a, other=^b
^a:
  {a}
  br to=^done
^b:
  {b}
  br to=^done
^done:
  ret
"""


@pytest.mark.parametrize(("a", "b"), [("bar.sync", ""), ("bar.sync", "bar.sync")])
def test_aligned_ops_are_executed_by_whole_warps(a: str, b: str) -> None:
    for seed in range(4):
        error = failure(kernel(DIVERGENT.format(a=a, b=b)), seed)
        assert error.code == "divergence"
        assert error.op is not None
        assert error.op.name == "bar.sync"


def test_unaligned_barriers_may_be_reached_apart() -> None:
    function = kernel(DIVERGENT.format(a="bar.sync aligned=False", b="bar.sync aligned=False"))
    each_seed(function)


def test_members_choose_who_takes_part() -> None:
    """The two halves of each warp shuffle apart, at different times."""
    function = kernel("""
      %half = const value=16, type=i32
      %low = cmp predicate="lt", a=%lane, b=%half
      %m_low = const value=65535, type=u32
      %m_high = const value=4294901760, type=u32
      cond_br cond=%low, then=^a, other=^b
    ^a:
      %x = shfl.sync a=%tid, lane=%c1, members=%m_low, mode="bfly"
      br to=^done(%x)
    ^b:
      %y = shfl.sync a=%tid, lane=%c2, members=%m_high, mode="bfly"
      br to=^done(%y)
    ^done(%z: i32):
      tensor.store t=%out, coord=(%i), a=%z
      ret
    """)
    np.testing.assert_array_equal(each_seed(function), np.where(T % 32 < 16, T ^ 1, T ^ 2))


def test_halves_at_the_same_op() -> None:
    """One op, executed by lanes with different masks: two groups."""
    function = kernel("""
      %half = const value=16, type=i32
      %low = cmp predicate="lt", a=%lane, b=%half
      %m_low = const value=65535, type=u32
      %m_high = const value=4294901760, type=u32
      %m = select cond=%low, a=%m_low, b=%m_high
      %n = vote.sync.ballot a=%low, members=%m
      %r = popc a=%n
      tensor.store t=%out, coord=(%i), a=%r
      ret
    """)
    np.testing.assert_array_equal(each_seed(function), np.where(T % 32 < 16, 16, 0))


def test_lanes_that_never_come() -> None:
    function = kernel(DIVERGENT.format(a='%x = shfl.sync a=%tid, lane=%c1, members=%all, mode="bfly"', b="bar.sync"))
    error = failure(function)
    assert error.code == "divergence"


def test_not_a_member() -> None:
    function = kernel("""
      %m = const value=65535, type=u32
      %x = shfl.sync a=%tid, lane=%c1, members=%m, mode="bfly"
      ret
    """)
    error = failure(function)
    assert error.code == "members"
    assert error.threads[0] == (16, 0, 0)


@pytest.mark.parametrize("block", [1, 31, 40, 64, 128])
def test_warp_sum_in_blocks_of_any_size(block: int) -> None:
    """Lanes beyond the end of the block take no part."""
    function = kernel("""
      %n = redux.sync a=%tid, members=%all, operation="add"
      tensor.store t=%out, coord=(%i), a=%n
      ret
    """, block=block)  # fmt: skip
    t = np.arange(block)
    np.testing.assert_array_equal(each_seed(function), [t[t // 32 == w // 32].sum() for w in t])


def test_warpgroups_are_complete() -> None:
    whole = kernel("  wgmma.commit_group\n  ret\n", block=256)
    each_seed(whole)
    error = failure(kernel("  wgmma.commit_group\n  ret\n", block=192))
    assert error.code == "divergence"
    assert "64 threads of warpgroup 1" in str(error)


def test_a_warp_that_misses_a_warpgroup_op() -> None:
    function = kernel(
        """
      %third = const value=96, type=i32
      %go = cmp predicate="lt", a=%tid, b=%third
      cond_br cond=%go, then=^a, other=^done
    ^a:
      wgmma.commit_group
      br to=^done
    ^done:
      bar.sync
      ret
        """,
        block=128,
    )
    for seed in range(4):
        error = failure(function, seed)
        assert error.code == "divergence"
        assert "wgmma.commit_group" in str(error)


def test_setmaxnreg_waits_for_registers() -> None:
    """384 threads start with 168 registers each: 232 for two warpgroups needs 40 in the third."""
    text = """
      %size = const value=128, type=i32
      %group = floordiv a=%tid, b=%size
      %is_first = cmp predicate="eq", a=%group, b=%c0
      cond_br cond=%is_first, then=^less, other=^more
    ^less:
      setmaxnreg.dec count={}
      br to=^done
    ^more:
      setmaxnreg.inc count=232
      br to=^done
    ^done:
      tensor.store t=%out, coord=(%i), a=%group
      ret
    """
    np.testing.assert_array_equal(each_seed(kernel(text.format(40), block=384)), np.arange(384) // 128)
    error = failure(kernel(text.format(48), block=384))
    assert error.code == "deadlock"
    assert "registers" in str(error)


def test_warpgroups_go_on_one_by_one() -> None:
    """There are registers for one of two warpgroups that ask at once; it gives them back for the other."""
    function = kernel(
        """
      %size = const value=128, type=i32
      %group = floordiv a=%tid, b=%size
      %is_first = cmp predicate="eq", a=%group, b=%c0
      cond_br cond=%is_first, then=^less, other=^more
    ^less:
      setmaxnreg.dec count=104
      br to=^done
    ^more:
      setmaxnreg.inc count=232
      setmaxnreg.dec count=168
      br to=^done
    ^done:
      tensor.store t=%out, coord=(%i), a=%group
      ret
        """,
        block=384,
    )
    np.testing.assert_array_equal(each_seed(function), np.arange(384) // 128)


def test_the_warps_of_a_warpgroup_take_turns_as_one_or_apart() -> None:
    """Ops count once for threads that execute them together: of 8 warps, all, each warpgroup, or each warp."""

    def times(instruction: str, seed: int) -> float:
        function = kernel(f"{instruction}\n tensor.store t=%out, coord=(%i), a=%lane\n ret", block=256)
        each, together = (sim.run(function, 1, [np.zeros(4096, np.int32)], seed=s).ops for s in (seed, 0))
        return each / together

    assert (times("", 1), times("wgmma.commit_group", 1)) == (8, 2)
    assert {1, 2, 8} <= {times("wgmma.commit_group", seed) for seed in range(4, 16)}
