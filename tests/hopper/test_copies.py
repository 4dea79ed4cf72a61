"""cp.async and bulk copies in the simulator, on kernels."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f32, i32, u8, u16, u32, u64
from cutelite.sim import SimError
from tests.pieces import barriers
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
    row, bar = cl.shared(f32, (64,), align=128), barriers(1)
    if cl.thread_idx.x == 0:
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
def by_policies(src: Tensor[f32, (P,)], out: Tensor[f32, (P,)], property: u64) -> None:
    """A range in by one policy, out by another."""
    row, bar = cl.shared(f32, (64,), align=128), barriers(1)
    if cl.thread_idx.x == 0:
        bar[0].arrive_expect_tx(row.nbytes)
        first = cl.createpolicy_range(src, 128, P * 4, "evict_last", "evict_first")
        cl.cp_async_bulk(row, src, 256, barrier=bar[0], cache=first)
        bar[0].wait(0)
        cl.cp_async_bulk(out, row, 256, cache=cl.createpolicy_cvt(property))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


def test_policies_change_no_result(scheduled: Place) -> None:
    source = np.arange(64, dtype=np.float32)
    out = np.zeros_like(source)
    scheduled(by_policies[1, 32], source, out, 0x1000000000000000)
    assert (out == source).all()


@cl.kernel(block=32)
def too_many(src: Tensor[f32, (P,)], primary: u32) -> None:
    row = cl.shared(f32, (4,), align=16)
    cl.cp_async(row, src, policy=cl.createpolicy_range(src, primary, 128, "evict_last"))


def test_a_policy_has_no_more_primary_bytes_than_bytes() -> None:
    with pytest.raises(SimError, match="is above total_size"):
        too_many[1, 32](np.zeros(64, np.float32), 129)


@cl.kernel(block=32)
def masked(src: Tensor[u8, (64,)], out: Tensor[u8, (64,)], mask: u16) -> None:
    """The bytes of each 16 that a mask names, out of shared memory."""
    row = cl.shared(u8, (64,), align=16)
    for i in range(cl.thread_idx.x, 64, 32):
        row[i] = src[i]
    cl.fence_proxy_async("shared::cta")
    cl.syncwarp()
    if cl.thread_idx.x == 0:
        cl.cp_async_bulk(out, row, 64, mask=mask)
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


@pytest.mark.parametrize("mask", [0, 0x8001, 0xFFFF, 0x0F0A])
def test_some_bytes_of_each_16(mask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_ARCH", "sm_100")
    source, out = np.arange(1, 65, dtype=np.uint8), np.zeros(64, np.uint8)
    masked[1, 32](source, out, mask)
    taken = np.tile(mask >> np.arange(16) & 1, 4).astype(bool)
    assert (out == np.where(taken, source, 0)).all()
    assert not masked.check(1, 32, source, out, mask, seeds=2).kinds


def test_a_mask_of_bytes_needs_blackwell() -> None:
    with pytest.raises(cl.CompileError, match="needs a GPU with cp_mask, which sm_90a lacks"):
        masked.compile((64,), (64,), 1, arch="sm_90a")


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
    with pytest.raises(cl.CompileError, match=r"`dst` of cp.async must be a multiple of 16 bytes, but .* of 4"):
        misaligned.compile(arch="sm_90a")


@cl.kernel(block=32)
def late(out: Tensor[f32, (P,)]) -> None:
    cl.cp_async(out, out, 16)


def test_the_direction_is_checked_when_compiling() -> None:
    with pytest.raises(cl.CompileError, match=r"is in global memory, but must be in this block's"):
        late.compile(arch="sm_90a")
