"""Threads that poll: those that poll in vain are told at once, and what they go on with is what came with the value."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, i32, sim
from cutelite.sim import SimError
from tests.check.slips import assert_caught, report
from tests.pieces import barriers

N = cl.dims("N")


@cl.kernel(block=64)
def stuck(flags: Tensor[i32, (4,)], out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    """Threads look for what comes only without a slip."""
    bar, t = barriers(1), cl.thread_idx.x
    cl.syncthreads()
    if t == 0 and slip == "":
        bar[0].arrive()
    if slip == "a test":
        while not bar[0].test_wait(0):
            pass
    elif slip == "a test that sleeps":
        while not bar[0].try_wait(0):
            cl.nanosleep(20)
    elif slip == "a load":
        while cl.load_acquire(flags, 1) == 0:
            pass
    elif slip == "an ordinary load":
        while flags[1] == 0:
            pass
    elif slip == "an exchange":
        while cl.atomic_cas(flags, 2, 1, 0) == 0:
            pass
    elif slip == "one lane":
        if t % 32 == 0:
            while cl.load_relaxed(flags, 1) == 0:
                pass
        cl.syncwarp()
    elif slip == "one warp":
        if t < 32:
            while cl.load_relaxed(flags, 1) == 0:
                pass
        cl.syncthreads()
    elif slip == "a count":
        tries = cl.i32(0)
        while cl.load_relaxed(flags, 1) == 0:
            tries = tries + 1
        out[t] = tries
    else:
        bar[0].wait(0)
    out[t] = t


IN_VAIN = {
    "a test": "bar[0].test_wait(0)",
    "a test that sleeps": "bar[0].try_wait(0)",
    "a load": "cl.load_acquire(flags, 1)",
    "an ordinary load": "while flags[1]",
    "an exchange": "cl.atomic_cas(",
    "one lane": "cl.load_relaxed(flags, 1)",
    "one warp": "cl.load_relaxed(flags, 1)",
}


@pytest.mark.parametrize(("slip", "line"), IN_VAIN.items())
def test_who_spins_for_good_is_told_at_the_line(slip: str, line: str) -> None:
    arrays = (np.zeros(4, np.int32), np.zeros(64, np.int32))
    assert_caught(stuck, 1, arrays, slip, "deadlock", (line, "nobody is left to change"))
    found = report(stuck, 1, arrays, slip, range(4))
    assert found.kinds == {"deadlock"}, found
    assert found.ops < 4 * 20_000


def test_spins_that_count_end_as_well() -> None:
    found = report(stuck, 1, (np.zeros(4, np.int32), np.zeros(64, np.int32)), "a count", [0])
    assert found.kinds == {"deadlock"} and found.ops < 400_000
    assert "cl.load_relaxed(flags, 1)" in str(found)


def test_a_launch_in_the_simulator_tells_it_too() -> None:
    with pytest.raises(SimError, match="the threads that can go on spin"):
        stuck[1, 64](np.zeros(4, np.int32), np.zeros(64, np.int32), "a load")


def test_a_deadlock_by_tests_tells_who_arrives() -> None:
    found = report(stuck, 1, (np.zeros(4, np.int32), np.zeros(64, np.int32)), "a test", [0])
    assert "mbarrier bar[0]: 0 phases are complete" in str(found)


@cl.kernel(block=32)
def chained(out: Tensor[i32, (N,)], turn: Tensor[i32, (1,)], slip: Constexpr[str]) -> None:
    """Each block waits for the one behind it, so that all of the grid has to be there."""
    b = cl.block_idx.x
    if slip == "one too many" or b < cl.grid_dim.x - 1:
        while cl.load_acquire(turn, 0) != cl.grid_dim.x - 1 - b:
            pass
    out[b * 32 + cl.thread_idx.x] = b
    cl.syncwarp()
    if cl.thread_idx.x == 0:
        cl.store_release(turn, 0, cl.grid_dim.x - b)


def test_a_block_may_wait_for_later_ones() -> None:
    arrays = (np.zeros(5 * 32, np.int32), np.zeros(1, np.int32))
    assert report(chained, 5, arrays, ""), report(chained, 5, arrays, "")


@cl.kernel(block=64)
def in_turn(turn: Tensor[i32, (1,)], out: Tensor[i32, (N,)]) -> None:
    """Blocks wait for their turn, which nobody passes on."""
    if cl.thread_idx.x == 0:
        while cl.load_acquire(turn, 0) != cl.block_idx.x:
            pass
    cl.syncthreads()
    out[cl.block_idx.x] = 1


@pytest.mark.parametrize("blocks", [3, 9, 17, 24])
def test_any_number_of_blocks_that_spin_is_told_soon(blocks: int) -> None:
    """Whatever the rhythm of their turns: with 8 and 16, half of them were never looked at."""
    function = in_turn.compile((1,), (blocks,), arch="sm_90a").build.front
    with pytest.raises(SimError, match="the threads that can go on spin"):
        sim.run(
            function, blocks, [np.zeros(1, np.int32), np.zeros(blocks, np.int32)], dims={"N": blocks}, max_ops=50_000
        )


@cl.kernel(block=64)
def searching(x: Tensor[i32, (N,)], out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    """A long search that writes nothing until its end."""
    at = cl.i32(0)
    while x[at] != cl.thread_idx.x:
        at = (at + 7) % N
    out[cl.thread_idx.x] = at


def test_a_long_search_is_no_spin() -> None:
    x = np.full(4001, -1, np.int32)
    x[:64] = np.arange(64)
    assert report(searching, 1, (x, np.zeros(64, np.int32)), "", [0, 1])


@cl.kernel(block=32)
def queue(
    slots: Tensor[i32, (2, 32)], ends: Tensor[i32, (2,)], out: Tensor[i32, (N, 32)], slip: Constexpr[str]
) -> None:
    """Block 0 puts rows into a queue of two in global memory, block 1 takes them out; each polls the other's count."""
    t = cl.thread_idx.x
    if cl.block_idx.x == 0:
        for i in range(N):
            if slip != "room":
                poll(ends, 1, i - (1 if slip != "one too many" else 2), slip == "relaxed room")
            slots[i % 2, t] = i + t
            cl.syncwarp()
            if t == 0:
                tell(ends, 0, i + 1, slip == "relaxed row")
    else:
        for i in range(N):
            if slip != "row":
                poll(ends, 0, i + (1 if slip != "one too few" else 0), slip == "relaxed row seen")
            out[i, t] = slots[i % 2, 31 - t]
            if slip != "warp":
                cl.syncwarp()
            if t == 0:
                tell(ends, 1, i + 1, slip == "relaxed room told")


def poll(ends: Any, which: int, least: Any, relaxed: bool) -> None:
    if relaxed:
        while cl.load_relaxed(ends, which) < least:
            pass
    else:
        while cl.load_acquire(ends, which) < least:
            pass


def tell(ends: Any, which: int, count: Any, relaxed: bool) -> None:
    if relaxed:
        cl.store_relaxed(ends, which, count)
    else:
        cl.store_release(ends, which, count)


QUEUE = (np.zeros((2, 32), np.int32), np.zeros(2, np.int32), np.zeros((6, 32), np.int32))


def test_a_queue_in_global_memory_is_right() -> None:
    assert report(queue, 2, QUEUE, ""), report(queue, 2, QUEUE, "")


@pytest.mark.parametrize(
    "slip",
    ["room", "one too many", "row", "one too few", "warp", "relaxed room", "relaxed row", "relaxed row seen",
     "relaxed room told"],
)  # fmt: skip
def test_slips_of_a_queue_are_found_whatever_block_runs_first(slip: str) -> None:
    """Under a schedule in which all that is read has been written long before, too: loads may see older values."""
    for seed in (1, 2):
        assert "race" in report(queue, 2, QUEUE, slip, [seed]).kinds, seed


@cl.kernel(block=32)
def locked(lock: Tensor[i32, (2,)], total: Tensor[i32, (1,)], slip: Constexpr[str]) -> None:
    """Each block adds to a number by turns, which tickets give out."""
    if cl.thread_idx.x == 0:
        mine = cl.atomic_add(lock, 0, 1)
        if slip != "turn":
            while cl.load_acquire(lock, 1) < mine:
                pass
        total[0] = total[0] + cl.block_idx.x
        if slip == "relaxed":
            cl.store_relaxed(lock, 1, mine + 1)
        else:
            cl.store_release(lock, 1, mine + 1 if slip != "too far" else mine + 2)


@pytest.mark.parametrize("slip", ["turn", "relaxed", "too far"])
def test_tickets(slip: str) -> None:
    arrays = (np.zeros(2, np.int32), np.zeros(1, np.int32))
    assert report(locked, 4, arrays, ""), report(locked, 4, arrays, "")
    assert "race" in report(locked, 4, arrays, slip, range(4)).kinds


@cl.kernel(block=32)
def guarded(lock: Tensor[i32, (1,)], total: Tensor[i32, (1,)], slip: Constexpr[str]) -> None:
    """Each block adds to a number while it holds a lock."""
    if cl.thread_idx.x == 0:
        held = cl.atomic_cas(lock, 0, 0, 1, semantic="acquire" if slip != "relaxed" else "relaxed")
        if slip != "not held":
            while held != 0:
                held = cl.atomic_cas(lock, 0, 0, 1, semantic="acquire" if slip != "relaxed" else "relaxed")
        total[0] = total[0] + cl.block_idx.x
        cl.atomic_exch(lock, 0, 0, semantic="release" if slip != "relaxed release" else "relaxed")
        if slip == "behind":
            total[0] = total[0] + 1


@pytest.mark.parametrize("slip", ["not held", "relaxed", "relaxed release", "behind"])
def test_locks(slip: str) -> None:
    """Also one that nobody heeds, though each block comes to it after the one before has let it go."""
    arrays = (np.zeros(1, np.int32), np.zeros(1, np.int32))
    assert report(guarded, 3, arrays, ""), report(guarded, 3, arrays, "")
    assert "race" in report(guarded, 3, arrays, slip, range(4)).kinds
