"""cp.async and bulk copies in the simulator, on kernels."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f32, i32, u32
from cutelite.sim import SimError
from tests.places import Place

P, T = cl.dims("P T")


@cl.kernel(block=64)
def staged(src: Tensor[f32, (T, 256)], out: Tensor[f32, (T, 256)], n: i32) -> None:
    """Rows through shared memory, two groups of cp.async ahead; what lies behind `n` elements becomes zero."""
    rows = cl.shared(f32, (3, 256))
    mine = cl.thread_idx.x * 4
    for t in cl.static_range(2):
        fetch(src, rows, t, mine, n)
    for t in range(T):
        cl.cp_async_wait_group(1)
        cl.syncthreads()
        neighbour = (mine + 4) % 256
        for j in cl.static_range(4):
            out[t, neighbour + j] = rows[t % 3, neighbour + j]
        if t + 2 < T:
            fetch(src, rows, t + 2, mine, n)
        else:
            cl.cp_async_commit_group()


def fetch(src: Any, rows: Any, t: Any, mine: Any, n: Any) -> None:
    left = min(max(n - mine, 0), 4)
    four = (1, 4)
    cl.cp_async(rows.tile(four, (t % 3, mine // 4)), src.tile(four, (t, mine // 4)), src_bytes=left * 4)
    cl.cp_async_commit_group()


@pytest.mark.parametrize("n", [256, 250, 3, 0])
def test_groups_of_cp_async(n: int, scheduled: Place) -> None:
    source = np.random.default_rng(0).standard_normal((7, 256), np.float32)
    out = np.full_like(source, np.nan)
    scheduled(staged[1, 64], source, out, n)
    expected = source.copy()
    expected[:, n:] = 0
    assert (out == expected).all()


@cl.kernel(block=64)
def told(src: Tensor[u32, (64,)], out: Tensor[u32, (64,)], noinc: cl.Constexpr[bool]) -> None:
    """Copies of 4 bytes a thread that arrive on an mbarrier when they are complete."""
    row, bar = cl.shared(u32, (64,)), cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        bar[0].init(64)
    cl.syncthreads()
    cl.cp_async(row.at(cl.thread_idx.x), src.at(cl.thread_idx.x), 4)
    bar[0].arrive_after_copies(noinc=noinc)
    if not noinc:
        bar[0].arrive()
    bar[0].wait(0)
    out[cl.thread_idx.x] = row[63 - cl.thread_idx.x]


@pytest.mark.parametrize("noinc", [False, True])
def test_copies_that_arrive(noinc: bool, scheduled: Place) -> None:
    source, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    scheduled(told[1, 64], source, out, noinc)
    assert (out == source[::-1]).all()


@cl.kernel(block=32)
def bulk(src: Tensor[f32, (P,)], out: Tensor[f32, (P,)], total: Tensor[f32, (64,)]) -> None:
    """A range in, out, and added into another."""
    row, bar = cl.shared(f32, (64,), align=128), cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        bar[0].init(1)
        cl.fence_mbarrier_init()
        cl.cp_async_bulk_prefetch(src, 256)
        bar[0].arrive_expect_tx(row.nbytes)
        policy = cl.createpolicy("evict_first", 0.5)
        cl.cp_async_bulk(row, src.tile((64,), (cl.block_idx.x,)), 256, barrier=bar[0], cache=policy)
        bar[0].wait(0)
        cl.cp_async_bulk(out.tile((64,), (cl.block_idx.x,)), row, 256, cache="evict_last")
        cl.cp_reduce_async_bulk(total, row, 256, "add")
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


def test_bulk_copies(scheduled: Place) -> None:
    source = np.arange(256, dtype=np.float32)
    out, total = np.zeros_like(source), np.ones(64, np.float32)
    scheduled(bulk[4, 32], source, out, total)
    assert (out == source).all()
    assert (total == 1 + source.reshape(4, 64).sum(0)).all()


@cl.kernel(block=32)
def uneven(src: Tensor[f32, (P,)], n: i32) -> None:
    row, bar = cl.shared(f32, (64,), align=128), cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        bar[0].init(1)
        cl.cp_async_bulk(row, src, n, barrier=bar[0])


@pytest.mark.parametrize("n", [0, 24, -16])
def test_a_bulk_copy_is_a_multiple_of_16_bytes(n: int) -> None:
    with pytest.raises(SimError, match="positive multiple of 16 bytes"):
        uneven[1, 32](np.zeros(64, np.float32), n)


@cl.kernel(block=32)
def misaligned(src: Tensor[f32, (P,)]) -> None:
    row = cl.shared(f32, (64,))
    cl.cp_async(row.at(1), src.at(0), 16)


def test_alignment_is_checked_when_compiling() -> None:
    with pytest.raises(cl.CompileError, match=r"`dst` of cp.async must be a multiple of 16 bytes, but is known .* 4"):
        misaligned.compile(arch="sm_90a")


@cl.kernel(block=32)
def late(out: Tensor[f32, (P,)]) -> None:
    cl.cp_async(out, out, 16)


def test_the_direction_is_checked_when_compiling() -> None:
    with pytest.raises(cl.CompileError, match=r"is in global memory, but must be in this block's"):
        late.compile(arch="sm_90a")
