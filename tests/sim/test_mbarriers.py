"""mbarriers: phases, parities, transaction counts, states; and every misuse that the PTX ISA forbids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutelite import sim
from cutelite.ir.function import Function
from cutelite.sim import SimError
from cutelite.sim.mbarrier import MAX_COUNT, Word
from tests.sim.kernels import each_seed, kernel, outputs

T = np.arange(64)


@given(st.integers(0, 1), st.integers(0, MAX_COUNT), st.integers(0, MAX_COUNT), st.integers(-MAX_COUNT, MAX_COUNT))
def test_words_round_trip(parity: int, expected: int, pending: int, tx: int) -> None:
    word = Word(parity, expected, pending, tx)
    assert Word.read(word.bits()) == word
    assert word.bits() < 1 << 62


INIT = """
  %bar = smem.alloc type=tensor<mbarrier,smem,4:1,8>
  %p = tensor.ptr t=%bar, coord=(%c0), align=8
  %is_first = cmp predicate="eq", a=%tid, b=%c0
  cond_br cond=%is_first, then=^init, other=^begin
^init:
  mbarrier.init bar=%p, count=%count
  br to=^begin
^begin:
  bar.sync
"""


def with_barrier(body: str, count: str = "const value=64, type=i32", **options: Any) -> Function:
    return kernel(f"  %count = {count}\n{INIT}{body}", **options)


def failure(function: Function, seed: int = 0, **options: Any) -> SimError:
    with pytest.raises(SimError) as caught:
        sim.run(function, 1, [np.zeros(4096, np.int32)], seed=seed, **options)
    return caught.value


def test_phases_of_a_loop() -> None:
    """Six rounds through one barrier, its parity turning each time; values move through shared memory."""
    function = with_barrier("""
      %buffer = smem.alloc type=tensor<i32,smem,128:1,16>
      br to=^head(%c0, %tid)
    ^head(%k: i32, %x: i32):
      %parity = and a=%k, b=%c1
      %half = mul a=%parity, b=%width
      %mine = add a=%half, b=%tid
      tensor.store t=%buffer, coord=(%mine), a=%x
      %state = mbarrier.arrive bar=%p
      mbarrier.wait bar=%p, phase=%parity
      %next_tid = add a=%tid, b=%c1
      %neighbour = mod a=%next_tid, b=%width
      %theirs = add a=%half, b=%neighbour
      %y = tensor.load t=%buffer, coord=(%theirs)
      %next = add a=%k, b=%c1
      %six = const value=6, type=i32
      %more = cmp predicate="lt", a=%next, b=%six
      cond_br cond=%more, then=^head(%next, %y), other=^done
    ^done:
      tensor.store t=%out, coord=(%i), a=%y
      ret
    """)
    np.testing.assert_array_equal(each_seed(function), (T + 6) % 64)


def test_a_fresh_barrier_has_completed_its_phase_of_parity_one() -> None:
    function = with_barrier("""
      %before = mbarrier.test_wait bar=%p, phase=%c1
      %not_yet = mbarrier.test_wait bar=%p, phase=%c0
      %a = select cond=%before, a=%c1, b=%c0
      %b = select cond=%not_yet, a=%c2, b=%c0
      %r = add a=%a, b=%b
      tensor.store t=%out, coord=(%i), a=%r
      ret
    """)
    assert set(each_seed(function).tolist()) == {1}


def test_states_count_down() -> None:
    """The state that an arrival returns is the one before it: each thread sees another pending count."""
    function = with_barrier("""
      %state = mbarrier.arrive bar=%p
      %left = mbarrier.pending_count state=%state
      %n = bitcast a=%left, type=i32
      tensor.store t=%out, coord=(%i), a=%n
      ret
    """)
    for seed in range(6):
        assert sorted(outputs(function, seed=seed).tolist()) == list(range(1, 65))


def test_producer_and_consumers() -> None:
    """Warp 0 fills a buffer 8 times, warp 1 reads it: full and empty barriers of one stage."""
    function = kernel("""
      %bars = smem.alloc type=tensor<mbarrier,smem,2:1,8>
      %full = tensor.ptr t=%bars, coord=(%c0), align=8
      %empty = tensor.ptr t=%bars, coord=(%c1), align=8
      %buffer = smem.alloc type=tensor<i32,smem,32:1,16>
      %size = const value=32, type=i32
      %eight = const value=8, type=i32
      %is_first = cmp predicate="eq", a=%tid, b=%c0
      cond_br cond=%is_first, then=^init, other=^begin
    ^init:
      mbarrier.init bar=%full, count=%size
      mbarrier.init bar=%empty, count=%size
      br to=^begin
    ^begin:
      bar.sync
      %consumer = cmp predicate="ge", a=%tid, b=%size
      cond_br cond=%consumer, then=^consume(%c0, %c0), other=^produce(%c0)
    ^produce(%k: i32):
      %turned = xor a=%k, b=%c1
      %phase = and a=%turned, b=%c1
      mbarrier.wait bar=%empty, phase=%phase
      %x = mul a=%k, b=%lane
      tensor.store t=%buffer, coord=(%lane), a=%x
      %s = mbarrier.arrive bar=%full
      %next = add a=%k, b=%c1
      %more = cmp predicate="lt", a=%next, b=%eight
      cond_br cond=%more, then=^produce(%next), other=^done
    ^consume(%j: i32, %sum: i32):
      %parity = and a=%j, b=%c1
      mbarrier.wait bar=%full, phase=%parity
      %y = tensor.load t=%buffer, coord=(%lane)
      %sum_next = add a=%sum, b=%y
      %s2 = mbarrier.arrive bar=%empty
      %j_next = add a=%j, b=%c1
      %again = cmp predicate="lt", a=%j_next, b=%eight
      cond_br cond=%again, then=^consume(%j_next, %sum_next), other=^write
    ^write:
      tensor.store t=%out, coord=(%i), a=%sum_next
      br to=^done
    ^done:
      ret
    """)
    np.testing.assert_array_equal(each_seed(function), np.where(T >= 32, 28 * (T % 32), -1))


def test_each_lane_waits_for_a_barrier_of_its_own() -> None:
    """Lane n waits for barrier n, which only lane n + 1 arrives at before it waits: they go on one by one."""
    function = kernel(
        """
      %bars = smem.alloc type=tensor<mbarrier,smem,33:1,8>
      %base = tensor.ptr t=%bars, coord=(%c0), align=8
      %eight = const value=8, type=i32
      %offset = mul a=%tid, b=%eight
      %mine = ptr.add p=%base, bytes=%offset, align=8
      %next = ptr.add p=%mine, bytes=%eight, align=8
      mbarrier.init bar=%mine, count=%c1
      bar.sync
      %is_first = cmp predicate="eq", a=%tid, b=%c0
      cond_br cond=%is_first, then=^free, other=^wait
    ^free:
      br to=^go
    ^wait:
      mbarrier.wait bar=%mine, phase=%c0
      br to=^go
    ^go:
      %last = const value=31, type=i32
      %is_last = cmp predicate="eq", a=%tid, b=%last
      cond_br cond=%is_last, then=^done, other=^pass
    ^pass:
      %s = mbarrier.arrive bar=%next
      br to=^done
    ^done:
      tensor.store t=%out, coord=(%i), a=%tid
      ret
        """,
        block=32,
    )
    np.testing.assert_array_equal(each_seed(function), np.arange(32))


def test_transactions_hold_a_phase_open() -> None:
    function = with_barrier(
        """
      cond_br cond=%is_first, then=^expect, other=^wait
    ^expect:
      %bytes = const value=96, type=u32
      %s = mbarrier.arrive.expect_tx bar=%p, bytes=%bytes
      %third = const value=32, type=u32
      mbarrier.complete_tx bar=%p, bytes=%third
      mbarrier.complete_tx bar=%p, bytes=%third
      %early = mbarrier.test_wait bar=%p, phase=%c0
      %e = select cond=%early, a=%c1, b=%c0
      tensor.store t=%out, coord=(%i), a=%e
      mbarrier.complete_tx bar=%p, bytes=%third
      br to=^done
    ^wait:
      mbarrier.wait bar=%p, phase=%c0
      tensor.store t=%out, coord=(%i), a=%tid
      br to=^done
    ^done:
      ret
        """,
        count="const value=1, type=i32",
    )
    np.testing.assert_array_equal(each_seed(function), T)


def test_bytes_may_come_before_they_are_expected() -> None:
    """complete_tx first: the count is negative for a while, and the phase stays open through the pending arrival."""
    function = with_barrier(
        """
      cond_br cond=%is_first, then=^go, other=^wait
    ^go:
      %bytes = const value=96, type=u32
      mbarrier.complete_tx bar=%p, bytes=%bytes
      %s = mbarrier.arrive.expect_tx bar=%p, bytes=%bytes
      br to=^wait
    ^wait:
      mbarrier.wait bar=%p, phase=%c0
      tensor.store t=%out, coord=(%i), a=%tid
      ret
        """,
        count="const value=1, type=i32",
    )
    np.testing.assert_array_equal(each_seed(function), T)


def test_deadlock_says_what_is_missing() -> None:
    function = with_barrier("  mbarrier.wait bar=%p, phase=%c0\n  ret\n")
    for seed in range(4):
        error = failure(function, seed)
        assert error.code == "deadlock"
        assert "mbarrier bar[0]: phase of parity 0; 64 of 64 arrivals and 0 bytes are missing" in str(error)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("mbarrier.init bar=%p, count=%c1", "initialised again while live"),
        ("%far = ptr.add p=%p, bytes=%eight, align=8\n%s = mbarrier.arrive bar=%far", "no live mbarrier"),
        ("mbarrier.inval bar=%p\n%s = mbarrier.arrive bar=%p", "no live mbarrier"),
        ("%s = mbarrier.arrive bar=%p, count=%many", "gets 65 arrivals, but its phase expects 64 more"),
        ("%s = mbarrier.arrive bar=%p, count=%c0", "0 arrivals at once"),
        ("mbarrier.expect_tx bar=%p, bytes=%huge", "transaction count"),
        ("mbarrier.complete_tx bar=%p, bytes=%huge", "transaction count"),
        ("mbarrier.expect_tx bar=%p, bytes=%none", "-16 bytes: they are counted from 0 on"),
        ("%s = mbarrier.arrive.expect_tx bar=%p, bytes=%none", "-16 bytes"),
    ],
)
def test_misuse(body: str, says: str) -> None:
    lines = "\n".join(f"      {line}" for line in body.split("\n"))
    function = with_barrier(f"""
      %many = const value=65, type=i32
      %eight = const value=8, type=i32
      %huge = const value=1048577, type=u32
      %none = const value=-16, type=i32
      cond_br cond=%is_first, then=^go, other=^done
    ^go:
{lines}
      br to=^done
    ^done:
      ret
    """)
    error = failure(function)
    assert error.code == "mbarrier"
    assert says in str(error)
    assert error.threads == ((0, 0, 0),)


def test_counts_that_init_refuses() -> None:
    for count in (0, -1, 1 << 20):
        error = failure(with_barrier("  ret\n", count=f"const value={count}, type=i32"))
        assert error.code == "mbarrier"


def test_ordinary_accesses_of_a_barrier() -> None:
    for access in ("%x = ld p=%p, type=i32", "st p=%p, a=%tid"):
        error = failure(with_barrier(f"  {access}\n  ret\n"))
        assert error.code == "mbarrier-bytes"
        assert error.place is not None
        assert error.place.name == "bar"


def test_memory_of_an_invalidated_barrier_can_be_used() -> None:
    function = with_barrier("""
      cond_br cond=%is_first, then=^go, other=^done
    ^go:
      mbarrier.inval bar=%p
      st p=%p, a=%c3
      %x = ld p=%p, type=i32
      tensor.store t=%out, coord=(%i), a=%x
      br to=^done
    ^done:
      ret
    """)
    assert each_seed(function)[0] == 3


def test_over_arrival_by_many_threads() -> None:
    """63 are expected, 64 come: the last one opens the next phase, and may not be one too many of the first."""
    function = with_barrier("  %s = mbarrier.arrive bar=%p\n  ret\n", count="const value=63, type=i32")
    each = outputs(function)
    assert (each == -1).all()
    function = with_barrier(
        "  %two = const value=2, type=i32\n  %s = mbarrier.arrive bar=%p, count=%two\n  ret\n",
        count="const value=63, type=i32",
    )
    assert failure(function).code == "mbarrier"


def test_arrive_drop() -> None:
    """The first thread drops out of the later phases."""
    function = with_barrier("""
      cond_br cond=%is_first, then=^drop, other=^stay
    ^drop:
      %s = mbarrier.arrive_drop bar=%p
      ret
    ^stay:
      %s1 = mbarrier.arrive bar=%p
      mbarrier.wait bar=%p, phase=%c0
      %s2 = mbarrier.arrive bar=%p
      mbarrier.wait bar=%p, phase=%c1
      tensor.store t=%out, coord=(%i), a=%tid
      ret
    """)
    np.testing.assert_array_equal(each_seed(function), np.where(T == 0, -1, T))
