"""mbarriers: phases, parities, transaction counts, states; and every misuse that the PTX ISA forbids.

`tests/hopper/test_mbarriers.py` has rings of buffers, and what one thread sees of arrivals, counts and tests.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cutelite as cl
from cutelite import i32
from cutelite.ir.function import Function
from cutelite.ops.mbarrier import MAX_COUNT
from cutelite.sim.mbarrier import Word
from tests.sim.kernels import each_seed, failure, kernel, outputs, traced

T = np.arange(64)


@given(st.integers(0, 1), st.integers(0, MAX_COUNT), st.integers(0, MAX_COUNT), st.integers(-MAX_COUNT, MAX_COUNT))
def test_words_round_trip(parity: int, expected: int, pending: int, tx: int) -> None:
    word = Word(parity, expected, pending, tx)
    assert Word.read(word.bits()) == word
    assert word.bits() < 1 << 62


def with_barrier(then: Callable[..., None], count: int = 64, **options: Any) -> Function:
    """A kernel that makes a barrier of four for `count` arrivals, and calls ``then(out, bar, t)``."""

    def body(out: Any) -> None:
        bar, t = cl.shared(cl.mbarrier, (4,)), cl.thread_idx.x
        if t == 0:
            bar[0].init(cl.i32(count))
        cl.syncthreads()
        then(out, bar[0], t)

    return traced(body, **options)


def test_phases_of_a_loop() -> None:
    """Six rounds through one barrier, its parity turning each time; values move through shared memory."""

    def then(out: Any, bar: Any, t: Any) -> None:
        buffer, x = cl.shared(i32, (2, 64)), t
        for k in range(6):
            buffer[k % 2, t] = x
            bar.arrive()
            bar.wait(k % 2)
            x = buffer[k % 2, (t + 1) % 64]
        out[t] = x

    np.testing.assert_array_equal(each_seed(with_barrier(then)), (T + 6) % 64)


def test_states_count_down() -> None:
    """The state that an arrival returns is the one before it: each thread sees another pending count."""

    def then(out: Any, bar: Any, t: Any) -> None:
        out[t] = cl.i32(cl.mbarrier_pending_count(bar.arrive()))

    for seed in range(6):
        assert sorted(outputs(with_barrier(then), seed=seed).tolist()) == list(range(1, 65))


def test_each_lane_waits_for_a_barrier_of_its_own() -> None:
    """Lane n waits for barrier n, which only lane n - 1 arrives at after it has waited: they go on one by one."""

    def body(out: Any) -> None:
        bars, t = cl.shared(cl.mbarrier, (32,)), cl.thread_idx.x
        bars[t].init(1)
        cl.syncthreads()
        if t != 0:
            bars[t].wait(0)
        if t != 31:
            bars[t + 1].arrive()
        out[t] = t

    np.testing.assert_array_equal(each_seed(traced(body, block=32)), np.arange(32))


@pytest.mark.parametrize("expected_first", [True, False])
def test_transactions_hold_a_phase_open(expected_first: bool) -> None:
    """Bytes that come before they are expected too: the count is negative then, and an arrival is pending."""

    def then(out: Any, bar: Any, t: Any) -> None:
        if t == 0:
            if expected_first:
                bar.arrive_expect_tx(96)
                bar.complete_tx(32)
                out[0] = cl.i32(bar.test_wait(0))
                bar.complete_tx(64)
            else:
                bar.complete_tx(96)
                out[0] = cl.i32(bar.test_wait(0))
                bar.arrive_expect_tx(96)
        else:
            bar.wait(0)
            out[t] = t

    np.testing.assert_array_equal(each_seed(with_barrier(then, count=1)), T)


def test_deadlock_says_what_is_missing() -> None:
    function = with_barrier(lambda out, bar, t: bar.wait(0))
    for seed in range(4):
        error = failure(function, seed)
        assert error.code == "deadlock"
        assert "mbarrier bar[0]: phase of parity 0; 64 of 64 arrivals and 0 bytes are missing" in str(error)


@pytest.mark.parametrize(
    ("misused", "says"),
    [
        (lambda bar: bar.arrive(cl.i32(65)), "gets 65 arrivals, but its phase expects 64 more"),
        (lambda bar: bar.arrive(cl.i32(0)), "0 arrivals at once"),
        (lambda bar: bar.expect_tx(cl.i32(1 << 20)), "transaction count"),
        (lambda bar: bar.complete_tx(cl.i32(1 << 20)), "transaction count"),
        (lambda bar: bar.expect_tx(cl.i32(-16)), "-16 bytes: they are counted from 0 on"),
        (lambda bar: bar.arrive_expect_tx(cl.i32(-16)), "-16 bytes"),
    ],
)
def test_misuse(misused: Callable[[Any], Any], says: str) -> None:
    def then(out: Any, bar: Any, t: Any) -> None:
        if t == 0:
            misused(bar)

    error = failure(with_barrier(then))
    assert error.code == "mbarrier"
    assert says in str(error)
    assert error.threads == ((0, 0, 0),)


@pytest.mark.parametrize("count", [0, -1, 1 << 20])
def test_counts_that_init_refuses(count: int) -> None:
    assert failure(with_barrier(lambda out, bar, t: None, count=count)).code == "mbarrier"


LIVE = """
  %bar = smem.alloc type=tensor<mbarrier,smem,4:1,8>
  %p = tensor.ptr t=%bar, coord=(%c0), align=8
  mbarrier.init bar=%p, count=%c1
"""


@pytest.mark.parametrize("access", ["%x = ld p=%p, type=i32", "st p=%p, a=%tid"])
def test_ordinary_accesses_of_a_barrier(access: str) -> None:
    error = failure(kernel(f"{LIVE}  {access}\n  ret\n", block=1))
    assert error.code == "mbarrier-bytes"
    assert error.place is not None
    assert error.place.name == "bar"


def test_memory_of_an_invalidated_barrier_can_be_used() -> None:
    use = "mbarrier.inval bar=%p\n  st p=%p, a=%c3\n  %x = ld p=%p, type=i32"
    function = kernel(f"{LIVE}  {use}\n  tensor.store t=%out, coord=(%i), a=%x\n  ret\n", block=1)
    assert each_seed(function).tolist() == [3]


def test_over_arrival_by_many_threads() -> None:
    """63 are expected, 64 come: the last one opens the next phase, and may not be one too many of the first."""
    assert (outputs(with_barrier(lambda out, bar, t: bar.arrive(), count=63)) == -1).all()
    assert failure(with_barrier(lambda out, bar, t: bar.arrive(2), count=63)).code == "mbarrier"


def test_arrive_drop() -> None:
    """The first thread drops out of the later phases."""

    def then(out: Any, bar: Any, t: Any) -> None:
        if t == 0:
            bar.arrive_drop()
        else:
            bar.arrive()
            bar.wait(0)
            bar.arrive()
            bar.wait(1)
            out[t] = t

    np.testing.assert_array_equal(each_seed(with_barrier(then)), np.where(T == 0, -1, T))
