"""Locks that somebody does not respect: a schedule holds up who has one."""

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, i32
from tests.check.slips import assert_caught


@cl.kernel(block=32)
def locked(lock: Tensor[i32, (2,)], held: Tensor[i32, (1,)], how: Constexpr[str], slip: Constexpr[str]) -> None:
    """One thread of each block adds to a number under a lock, for a while."""
    if cl.thread_idx.x == 0:
        if how == "ticket":
            mine = cl.atomic_add(lock, 0, 1)
            if slip != "anyway":
                while cl.load_acquire(lock, 1) != mine:
                    pass
        elif how == "exchange":
            got = cl.atomic_exch(lock, 0, 1)
            if slip != "anyway":
                while got != 0:
                    got = cl.atomic_exch(lock, 0, 1)
            cl.fence("gpu")
        else:
            got = cl.atomic_cas(lock, 0, 0, 1, semantic="acquire")
            if slip != "anyway":
                while got != 0:
                    got = cl.atomic_cas(lock, 0, 0, 1, semantic="acquire")
        for _ in cl.static_range(4):
            held[0] = held[0] * 2 + 1
        if how == "ticket":
            cl.store_release(lock, 1, mine + 1)
        else:
            cl.store_release(lock, 0, 0)


@pytest.mark.parametrize("how", ["compare and swap", "exchange", "ticket"])
def test_a_lock_that_is_taken_anyway(how: str) -> None:
    def found(slip: str) -> set[str]:
        arrays = np.zeros(2, np.int32), np.zeros(1, np.int32)
        return set(locked.check(3, 32, *arrays, how, slip).kinds)

    assert not found("")
    assert "race" in found("anyway")


@cl.kernel(block=32)
def counted_down(
    parts: Tensor[i32, (16,)], count: Tensor[i32, (1,)], out: Tensor[i32, (1,)], slip: Constexpr[str]
) -> None:
    """Sixteen blocks write their parts; the last one at the counter adds them up."""
    b = cl.block_idx.x
    if cl.thread_idx.x == 0:
        parts[b] = b + 1
        if slip != "no fence of one" or b != 5:
            cl.fence("cta" if slip == "a fence of the block" else "gpu")
        if cl.atomic_add(count, 0, 1) == 15:
            if slip != "no fence behind":
                cl.fence()
            total = i32(0)
            for n in range(16):
                total += parts[n]
            out[0] = total


@pytest.mark.parametrize("slip", ["no fence of one", "a fence of the block", "no fence behind"])
def test_many_blocks_at_one_counter(slip: str) -> None:
    arrays = tuple(np.zeros(n, np.int32) for n in (16, 1, 1))
    assert_caught(counted_down, 16, arrays, slip, "race", ("total += parts[n]",))
