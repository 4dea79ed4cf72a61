"""Blocks of a cluster: each other's shared memory, their barrier, multicast, and blocks that leave too early."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import i32, sim
from cutelite.ir.function import Function
from cutelite.sim import SimError
from tests.sim import strict
from tests.sim.kernels import SEEDS, each_seed, errors, failure, ints, kernel, traced


def me() -> Any:
    """The thread's number in the grid."""
    return cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x


def exchanging(before: bool = True, after: bool = True, size: int = 2) -> Function:
    """Each block reads the next one's shared memory, with a barrier of the cluster before and after it."""

    def body(out: Any) -> None:
        tile = cl.shared(i32, (64,))
        tile[cl.thread_idx.x] = me()
        if before:
            cl.cluster_sync()
        other = (cl.block_rank_in_cluster() + 1) % cl.blocks_in_cluster()
        x = cl.mapa(tile, other)[cl.thread_idx.x]
        if after:
            cl.cluster_sync()
        out[me()] = x

    return traced(body, cluster=size)


def test_read_a_neighbours_shared_memory() -> None:
    i = np.arange(8 * 64)
    block = i // 64
    expected = (block // 4 * 4 + (block + 1) % 4) * 64 + i % 64
    np.testing.assert_array_equal(each_seed(exchanging(size=4), 8), expected)


def test_a_block_that_leaves_while_others_read_it() -> None:
    assert {error.code for error in errors(exchanging(after=False), 2)} == {"exited-block"}


def test_a_missing_cluster_barrier() -> None:
    assert {error.code for error in errors(exchanging(before=False), 2)} == {"uninitialised"}


def test_outside_of_the_cluster() -> None:
    function = kernel("""
      %tile = smem.alloc type=tensor<i32,smem,64:1,16>
      %theirs = mapa p=%tile, rank=%c1
      %p = tensor.ptr t=%theirs, coord=(%c0), align=4
      %next_block = const value=16777216, type=i32
      %q = ptr.add p=%p, bytes=%next_block, align=4
      %x = ld p=%q, type=i32
      ret
    """, cluster=(2, 1, 1))  # fmt: skip
    assert failure(function, grid=2).code == "out-of-bounds"


def arrive_twice() -> None:
    cl.cluster_arrive()
    cl.cluster_arrive()


@pytest.mark.parametrize(
    ("body", "says"), [(arrive_twice, "a second arrival"), (cl.cluster_wait, "without an arrival")]
)
def test_misuse_of_the_cluster_barrier(body: Callable[[], None], says: str) -> None:
    with pytest.raises(SimError, match=says):
        sim.run(traced(lambda out: body(), cluster=2), 2, [np.zeros(4096, np.int32)])


def test_a_block_that_does_not_come_to_the_cluster_barrier() -> None:
    def body(out: Any) -> None:
        bar = cl.shared(cl.mbarrier, (1,))
        if cl.block_rank_in_cluster() == 0:
            if cl.thread_idx.x == 0:
                bar[0].init(65)
            cl.syncthreads()
            bar[0].wait(0)
        cl.cluster_sync()

    function = traced(body, cluster=2)
    for seed in range(4):
        error = failure(function, seed, 2)
        assert error.code == "deadlock"
        assert "cluster barrier: 64 of 128 threads arrived" in str(error)
        assert "block (1, 0, 0)" in str(error)


def test_arrivals_from_other_blocks() -> None:
    def body(out: Any) -> None:
        bar = cl.shared(cl.mbarrier, (1,))
        if cl.thread_idx.x == 0:
            bar[0].init(128)
            cl.fence_mbarrier_init()
        cl.cluster_sync()
        for rank in (0, 1):
            bar[0].remote(rank).arrive()
        bar[0].wait(0)
        out[me()] = cl.thread_idx.x

    np.testing.assert_array_equal(each_seed(traced(body, cluster=2), 4), np.tile(np.arange(64), 4))


def multicast(mask: int) -> Function:
    """The first block brings 256 bytes to the blocks of `mask`, and each waits for them."""

    def body(out: Any, a: Any) -> None:
        tile, bar = cl.shared(i32, (64,), align=128), cl.shared(cl.mbarrier, (1,))
        if cl.thread_idx.x == 0:
            bar[0].init(1)
            cl.fence_mbarrier_init()
            bar[0].arrive_expect_tx(256)
        cl.cluster_sync()
        if cl.thread_idx.x + cl.block_rank_in_cluster() == 0:
            cl.cp_async_bulk(tile, a, 256, barrier=bar[0], multicast=mask)
        bar[0].wait(0)
        out[me()] = tile[cl.thread_idx.x]

    return traced(body, cluster=2, a=ints(64))


def test_multicast() -> None:
    function, a = multicast(0b11), np.arange(64, dtype=np.int32) * 7
    for seed in SEEDS:
        out = np.full(4096, -1, np.int32)
        strict.run(function, 4, [out, a], seed=seed)
        np.testing.assert_array_equal(out[:256], np.tile(a, 4))


def test_multicast_that_leaves_a_block_out() -> None:
    error = failure(multicast(0b01), grid=2, args=[np.full(4096, -1, np.int32), np.arange(64, dtype=np.int32)])
    assert error.code == "deadlock"
    assert "256 bytes are missing" in str(error)


def test_special_registers() -> None:
    def body(out: Any) -> None:
        block, cluster, within = cl.block_idx, cl.cluster_idx, cl.block_in_cluster
        digits = cluster.y, cluster.x, within.y, within.x, cl.block_rank_in_cluster(), cl.blocks_in_cluster()
        number = 0
        for digit in digits:
            number = number * 10 + digit
        out[block.y * cl.grid_dim.x + block.x] = number

    function = traced(body, block=1)
    function.attrs["cluster"] = (2, 2, 1)
    out = np.full(4096, -1, np.int32)
    strict.run(function, (4, 4), [out])
    expected = [
        (y // 2) * 10**5 + (x // 2) * 10**4 + (y % 2) * 1000 + (x % 2) * 100 + (x % 2 + 2 * (y % 2)) * 10 + 4
        for y in range(4)
        for x in range(4)
    ]
    np.testing.assert_array_equal(out[:16], expected)
