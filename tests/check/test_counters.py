"""Plain accesses of a counter behind atomic updates of it: who has updated it last is ordered after all updates.

PTX ISA, causality order: an update that another one observes, itself or through updates in between, precedes all that
the other one precedes. Neither needs to acquire or release for this.
"""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, f32, i32
from cutelite.sim import CheckReport

N = cl.dims("N")
BLOCKS = 5


@cl.kernel(block=32)
def counted(x: Tensor[f32, (N,)], count: Tensor[i32, (2,)], out: Tensor[f32, (1,)], slip: Constexpr[str] = "") -> None:
    """The last block sums what all wrote, and sets their counter to 0 for the next launch, as CUDA's samples do."""
    if cl.thread_idx.x == 0:
        x[cl.block_idx.x] = f32(cl.block_idx.x)
        if slip == "looks before":
            cl.load_relaxed(count, 0)
        cl.fence()
        if slip == "looks":
            cl.load_relaxed(count, 0)
        before = cl.atomic_add(count, 0, 1)
        if slip == "first" and before == 0:
            count[0] = 1
        if slip == "store" and before == 2:
            cl.store_relaxed(count, 0, 3)
        if before == cl.grid_dim.x - 1:
            if slip != "unfenced":
                cl.fence()
            total = f32(0)
            for i in range(N):
                total += x[i]
            out[0] = total
            if slip != "other":
                count[0] = 0
        if slip == "other" and cl.block_idx.x == 0:
            count[0] = 0


def check(slip: str) -> CheckReport:
    count = np.zeros(2, np.int32)
    return counted.check(BLOCKS, None, np.zeros(BLOCKS, np.float32), count, np.zeros(1, np.float32), slip, notes=False)


@pytest.mark.parametrize("slip", ["", "looks before"])
def test_the_last_block_may_reset_the_counter_by_a_plain_store(slip: str) -> None:
    assert check(slip), check(slip)


@pytest.mark.parametrize("slip", ["first", "other", "unfenced", "store", "looks"])
def test_who_does_not_come_behind_all_accesses_may_not(slip: str) -> None:
    assert check(slip).kinds == {"race"}, check(slip)


@cl.kernel(block=64)
def tickets(count: Tensor[i32, (1,)], who: Constexpr[str]) -> None:
    """Each thread takes a ticket, and one of them resets the counter."""
    before = cl.atomic_add(count, 0, 1)
    most = cl.grid_dim.x * 64 - 1
    if before == (most if who == "last" else most - 1):
        count[0] = 0


def run(who: str, **said: Any) -> CheckReport:
    return tickets.check(3, None, np.zeros(1, np.int32), who, notes=False, **said)


def test_the_thread_with_the_last_ticket_comes_behind_the_others_of_its_warp_too() -> None:
    assert run("last"), run("last")
    assert run("last but one").kinds == {"race"}


@cl.kernel(block=64)
def of_two_scopes(
    x: Tensor[f32, (N,)], count: Tensor[i32, (2,)], out: Tensor[f32, (1,)], slip: Constexpr[str] = ""
) -> None:
    """A counter of the grid, beside updates that only the threads of a block take for atomic."""
    t, mine, before = cl.thread_idx.x, cl.shared(i32, 1), cl.shared(i32, 1)
    if t == 0:
        mine[0] = 0
    cl.syncthreads()
    cl.atomic_add(mine, 0, 1, scope="cta")
    cl.syncthreads()
    if t == 0:
        x[cl.block_idx.x] = f32(mine[0])
        cl.fence()
        before[0] = cl.atomic_add(count, 0, 1, scope="cta" if slip == "narrow" else "gpu")
        cl.fence()
    cl.syncthreads()
    if before[0] == cl.grid_dim.x - 1:
        if t < N:
            cl.atomic_add(out, 0, x[t])
        if t == 0:
            count[0] = 0


def test_scopes_of_other_updates_do_not_matter() -> None:
    arrays = np.zeros(BLOCKS, np.float32), np.zeros(2, np.int32), np.zeros(1, np.float32)
    found = of_two_scopes.check(BLOCKS, None, *arrays, notes=False)
    assert found, found
    wrong = of_two_scopes.check(BLOCKS, None, *arrays, "narrow", notes=False)
    assert "nothing orders an atomic update and an atomic update" in str(wrong)
    assert "nothing orders a write and an atomic update" in str(wrong)  # which observes none of another block


@cl.kernel(block=32)
def in_shared_memory(out: Tensor[i32, (N,)], scope: Constexpr[str]) -> None:
    """The same in a block, with updates of the block's scope beside the counter of the grid."""
    count = cl.shared(i32, 1)
    if cl.thread_idx.x == 0:
        count[0] = 0
    cl.syncthreads()
    before = cl.atomic_add(count, 0, 1, scope=scope)  # type: ignore[arg-type]
    if before == 31:
        out[cl.block_idx.x] = count[0]
        count[0] = 0


@pytest.mark.parametrize("scope", ["cta", "gpu"])
def test_counters_in_shared_memory_are_counters_too(scope: str) -> None:
    found = in_shared_memory.check(2, None, np.zeros(2, np.int32), scope, notes=False)
    assert found, found
