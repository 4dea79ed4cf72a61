"""Strong accesses of the same bytes: atomic for each other if they are of one size and by one proxy."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, TmaTensor, f32, i32, i64
from cutelite.sim import CheckReport

SEEDS = (0, 1, 2, 3)


def sized(kernel: Any, grid: int, slip: str) -> CheckReport:
    """A check with the same 16 bytes as numbers of 8 and of 4 bytes."""
    wide = np.zeros(2, np.int64)
    report: CheckReport = kernel.check(grid, None, wide, wide.view(np.int32), slip, seeds=SEEDS, notes=False)
    return report


@cl.kernel(block=32)
def two_sizes(wide: Tensor[i64, (2,)], halves: Tensor[i32, (4,)], slip: Constexpr[str]) -> None:
    """Two blocks update, or look at, one number of 8 bytes; one of them by a slip no more than half of it."""
    t = cl.thread_idx.x
    if t == 0:
        if cl.block_idx.x == 0:
            cl.atomic_add(wide, 0, 1)
        elif slip == "update":
            cl.atomic_add(halves, 1, 1)
        elif slip == "exchange":
            cl.atomic_cas(halves, 0, 0, 5)
        elif slip == "store":
            cl.store_relaxed(halves, 1, 7)
        elif slip == "load":
            cl.load_relaxed(halves, 0)
        elif slip == "volatile":
            cl.load_volatile(halves, 0)
        elif slip == "elsewhere":
            cl.atomic_add(halves, 2, 1)
        else:
            cl.atomic_add(wide, 0, 1)


@pytest.mark.parametrize("slip", ["update", "exchange", "store", "load", "volatile"])
def test_accesses_of_two_sizes_race(slip: str) -> None:
    found = sized(two_sizes, 2, slip)
    assert found.kinds == {"race"}
    assert "of 4 and 8 bytes" in str(found) or "of 8 and 4 bytes" in str(found)


@pytest.mark.parametrize("slip", ["", "elsewhere"])
def test_accesses_of_one_size_or_to_other_bytes_do_not(slip: str) -> None:
    assert sized(two_sizes, 2, slip), sized(two_sizes, 2, slip)


@cl.kernel(block=64)
def in_turn(wide: Tensor[i64, (2,)], halves: Tensor[i32, (4,)], slip: Constexpr[str]) -> None:
    """One warp updates halves, then the other one the whole. The first halves are of one size with each other."""
    t = cl.thread_idx.x
    if t < 32:
        cl.atomic_add(halves, t % 2, 1)
    if slip != "no barrier":
        cl.syncthreads()
    if t >= 32:
        cl.atomic_add(wide, 0, 1)


def test_accesses_of_two_sizes_in_an_order_do_not_race() -> None:
    assert sized(in_turn, 1, ""), sized(in_turn, 1, "")
    assert sized(in_turn, 1, "no barrier").kinds == {"race"}


@cl.kernel(block=96)
def behind_another(wide: Tensor[i64, (2,)], halves: Tensor[i32, (4,)], slip: Constexpr[str]) -> None:
    """The first warp's half and the last warp's whole race, though the second warp's whole comes in between."""
    warp, lane = cl.thread_idx.x // 32, cl.thread_idx.x % 32
    if warp == 0 and lane == 0:
        cl.atomic_add(halves, 0, 1)
    if warp < 2:
        cl.barrier_sync(1, 64)
    if warp == 1 and lane == 0:
        cl.atomic_add(wide, 0, 1)
    if slip == "whole" and warp == 2 and lane == 0:
        cl.atomic_add(wide, 0, 1)


def test_an_access_of_one_size_does_not_hide_an_earlier_one_of_another() -> None:
    assert sized(behind_another, 1, ""), sized(behind_another, 1, "")
    assert sized(behind_another, 1, "whole").kinds == {"race"}


def summed(grid: int, slip: str) -> CheckReport:
    total = np.zeros((8, 32), np.float32)
    report: CheckReport = by_both.check(grid, None, total, total, slip, seeds=SEEDS, notes=False)
    return report


@cl.kernel(block=64)
def by_both(total: TmaTensor[f32, (8, 32), (8, 32)], sums: Tensor[f32, (8, 32)], slip: Constexpr[str]) -> None:
    """A block adds to the same numbers by threads, then by TMA, then by threads again."""
    t = cl.thread_idx.x
    tile = cl.tma_shared(total)
    for i in cl.static_range(4):
        tile[i * 2 + t // 32, t % 32] = cl.f32(1.0)
    if slip != "by TMA alone":
        cl.atomic_add(sums, (t // 32, t % 32), 1.0)
    if slip == "fence of shared memory":
        cl.fence_proxy_async("shared::cta")
    else:
        cl.fence_proxy_async()
    if slip != "no barrier":
        cl.syncthreads()
    if t == 0:
        if slip == "no barrier":
            cl.fence_proxy_async()
        cl.tma_reduce(tile, total, "add", at=(0, 0))
        cl.cp_async_bulk_commit_group()
        if slip == "reads alone":
            cl.cp_async_bulk_wait_group(0, read=True)
        else:
            cl.cp_async_bulk_wait_group(0)
    cl.syncthreads()
    if slip != "by TMA alone":
        cl.atomic_add(sums, (t // 32, t % 32), 1.0)


def test_threads_and_tma_add_to_the_same_numbers_in_an_order() -> None:
    assert summed(1, ""), summed(1, "")
    assert summed(2, "by TMA alone"), summed(2, "by TMA alone")


def test_sums_by_threads_and_by_tma_need_a_proxy_fence() -> None:
    assert summed(1, "fence of shared memory").kinds == {"proxy-fence"}


@pytest.mark.parametrize(("blocks", "slip"), [(1, "reads alone"), (2, ""), (1, "no barrier")])
def test_sums_by_threads_and_by_tma_race_without_an_order(blocks: int, slip: str) -> None:
    found = summed(blocks, slip)
    assert "race" in found.kinds
    assert "one proxy" in str(found) or slip == "no barrier"
