"""Cluster launch control: clusters that are cancelled do not run, and whoever cancelled one does its work."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, i32, u64
from cutelite.sim import SimError
from tests.pieces import barriers

M, N = cl.dims("M N")


@cl.kernel(block=64, arch="sm_100a")
def steal(c: Tensor[i32, (M, 4)], slip: Constexpr[str]) -> None:
    """Each block adds 1 for its place of a grid in three modes, and for those of the blocks that it cancels."""
    response, done = cl.shared(u64, (2,), align=16), barriers(1)
    cl.syncthreads()
    x, y, z, phase, more = i32(cl.block_idx.x), i32(cl.block_idx.y), i32(cl.block_idx.z), i32(0), i32(1)
    while more != 0:
        place = x + i32(cl.grid_dim.x) * (y + i32(cl.grid_dim.y) * z)
        if cl.thread_idx.x == 0:
            done[0].arrive_expect_tx(16)
            cl.clusterlaunchcontrol_try_cancel(response, done[0])
            for i, each in enumerate((1, x, y, z)):
                cl.atomic_add(c, (place, i), each)
        if slip != "wait":
            done[0].wait(phase)
        held = response.load()
        canceled = cl.clusterlaunchcontrol_is_canceled(held)
        more = cl.where(canceled, 1, 0)
        if canceled or slip == "ask":
            x = i32(cl.clusterlaunchcontrol_get_first_ctaid(held, "x"))
            y = i32(cl.clusterlaunchcontrol_get_first_ctaid(held, "y"))
            z = i32(cl.clusterlaunchcontrol_get_first_ctaid(held, "z"))
        elif slip == "again" and cl.thread_idx.x == 0:
            cl.clusterlaunchcontrol_try_cancel(response, done[0])
        phase = phase ^ 1
        if slip != "barrier":
            cl.syncthreads()


GRID = (3, 2, 2)


def places() -> Any:
    x, y, z = GRID
    rows = [(1, i, j, k) for k in range(z) for j in range(y) for i in range(x)]
    return np.array(rows, np.int32)


@pytest.mark.usefixtures("on_cards")
def test_every_block_runs_or_is_cancelled_once() -> None:
    c = np.zeros((12, 4), np.int32)
    steal[GRID, 64](c, "")
    np.testing.assert_array_equal(c, places())


def test_the_checker_finds_nothing() -> None:
    report = steal.check(GRID, 64, np.zeros((12, 4), np.int32), "", seeds=6, notes=False)
    assert not report.findings, str(report)
    report = tiles_of.check(30, 96, np.zeros((3, 5), np.int32), 2, cluster=2, seeds=6, notes=False)
    assert not report.findings, str(report)


@pytest.mark.parametrize("slip", ["wait", "barrier"])
def test_a_response_is_read_between_its_barrier_and_the_next_request(slip: str) -> None:
    assert steal.check(GRID, 64, np.zeros((12, 4), np.int32), slip, seeds=6, notes=False).findings


@pytest.mark.parametrize(
    ("slip", "words"), [("again", "after one that failed is undefined"), ("ask", "no cluster was cancelled")]
)
def test_a_request_that_failed_is_the_last_and_names_no_block(slip: str, words: str) -> None:
    with pytest.raises(SimError, match=words):
        steal[GRID, 64](np.zeros((12, 4), np.int32), slip)


@cl.kernel(block=96, arch="sm_100a")
def tiles_of(c: Tensor[i32, (M, N)], blocks: Constexpr[int]) -> None:
    """Warps walk by themselves: one thread requests, a thread and a warp follow and count each tile."""
    tiles = cl.ClcTileScheduler.create((M, N), 34 * blocks, swizzle=2, blocks=blocks)
    warp = cl.thread_idx.x // 32
    if warp == 0:
        if cl.thread_idx.x == 0:
            tiles = tiles.fetching()
            while tiles.is_valid():
                tiles = tiles.advance()
    elif warp == 1:
        if cl.thread_idx.x == 32:
            count(c, tiles, True)
    else:
        count(c, tiles, cl.thread_idx.x == 64)


def count(c: Any, tiles: Any, mine: Any) -> None:
    while tiles.is_valid():
        m, n, _ = tiles.coordinate()
        if mine:
            cl.atomic_add(c, (m, n), 1)
        tiles = tiles.advance()


@pytest.mark.usefixtures("on_cards")
@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_the_scheduler_gives_each_tile_to_one_cluster(blocks: int) -> None:
    c = np.zeros((3, 5), np.int32)
    tiles_of[cl.Launch(15 * blocks, 96, cluster=blocks if blocks > 1 else None)](c, blocks)
    assert (c == 2 * blocks).all()
