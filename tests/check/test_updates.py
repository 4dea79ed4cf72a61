"""Updates whose order shows in the result: a check is told which arguments have them in one order."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, f32, i32

PARTS = np.array([1.0, 2.0**-24, 1e-9], np.float32)  # whose sums depend on the order


@cl.kernel(block=32)
def added(parts: Tensor[f32, (3,)], total: Tensor[f32, (1,)], turn: Tensor[i32, (1,)], slip: Constexpr[str]) -> None:
    """Each block adds its part when its turn comes; by a slip, when it likes."""
    block = cl.block_idx.x
    if cl.thread_idx.x == 0:
        if slip == "first come":  # an order, and another one each time
            while cl.atomic_cas(turn, 0, 0, 1, semantic="acquire") != 0:
                cl.nanosleep(20)
        elif slip != "no turns":
            while cl.load_acquire(turn, 0) != block:
                cl.nanosleep(20)
        if slip == "maximum":
            cl.atomic_max(total, 0, parts[block])
        else:
            cl.atomic_add(total, 0, parts[block])
        if slip == "first come":
            cl.store_release(turn, 0, 0)
        elif slip == "relaxed":
            cl.store_relaxed(turn, 0, block + 1)
        else:
            cl.store_release(turn, 0, block + 1)


def check(slip: str, *ordered: str) -> Any:
    arrays = PARTS, np.zeros(1, np.float32), np.zeros(1, np.int32)
    return added.check(3, None, *arrays, slip, ordered=ordered, notes=False)


@pytest.mark.parametrize("slip", ["no turns", "relaxed"])
def test_sums_that_nothing_orders(slip: str) -> None:
    assert check(slip), check(slip)  # no race: they are atomic
    found = check(slip, "total")
    assert found.kinds == {"update-order"}
    assert "nothing orders one of them before the other" in str(found)


def test_sums_in_an_order_that_the_schedule_chooses() -> None:
    found = check("first come", "total")
    assert found.kinds == {"update-order"}
    assert "in another order than in the first schedule" in str(found)


def test_sums_in_one_order() -> None:
    assert check("", "total"), check("", "total")


def test_updates_that_commute_need_no_order() -> None:
    assert check("maximum", "total"), check("maximum", "total")


def test_a_name_that_is_no_argument() -> None:
    with pytest.raises(ValueError, match="sums is no argument of added"):
        check("", "sums")


@cl.kernel(block=32)
def by_copies(total: Tensor[f32, (4,), cl.align(16)], turn: Tensor[i32, (1,)], slip: Constexpr[str]) -> None:
    """Each block adds four numbers by a bulk reduction when its turn comes."""
    part = cl.shared(f32, 4, align=16)
    block = cl.block_idx.x
    if cl.thread_idx.x == 0:
        for i in cl.static_range(4):
            part[i] = f32(block + i)
        cl.fence_proxy_async("shared::cta")
        while cl.load_acquire(turn, 0) != block:
            cl.nanosleep(20)
        cl.fence_proxy_async("global")
        cl.cp_reduce_async_bulk(total, part, 16, "add")
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0, read=slip == "reads")
        cl.fence_proxy_async("global")
        cl.store_release(turn, 0, block + 1)
        cl.cp_async_bulk_wait_group(0)


@pytest.mark.parametrize("slip", ["", "reads"])
def test_bulk_reductions_are_over_when_their_group_is_not_when_it_has_read(slip: str) -> None:
    arrays = np.zeros(4, np.float32), np.zeros(1, np.int32)
    found = by_copies.check(2, None, *arrays, slip, ordered=["total"], notes=False)
    assert found.kinds == ({"update-order"} if slip else set()), found
