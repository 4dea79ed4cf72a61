"""Threads among themselves: barriers, warps, atomics, scopes, cp.async, blocks."""

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, f32, i32
from tests.check.slips import assert_caught, report

N, M = cl.dims("N M")


@cl.kernel(block=64)
def reverse(x: Tensor[i32, (N,)], out: Tensor[i32, (N,)], slip: Constexpr[str]) -> None:
    row = cl.shared(i32, (64,))
    t, first = cl.thread_idx.x, cl.block_idx.x * 64
    for i in cl.static_range(2):
        row[t] = x[first + t] + i
        if slip != "barrier":
            cl.syncthreads()
        out[first + 63 - t] = row[63 - t] if slip != "own" else row[t]
        if slip != "second barrier":
            cl.syncthreads()


def test_barriers_order_the_threads_of_a_block() -> None:
    arrays = np.arange(128, dtype=np.int32), np.zeros(128, np.int32)
    assert_caught(reverse, 2, arrays, "barrier", "race", ("row[63 - t]", "row[t] = "))
    assert_caught(reverse, 2, arrays, "second barrier", "race", ("row[63 - t]", "row[t] = "))


def test_both_sides_of_a_race_are_told() -> None:
    found = report(reverse, 1, (np.arange(64, dtype=np.int32), np.zeros(64, np.int32)), "second barrier", [0])
    race = found.findings[0]
    assert (race.space, race.name, race.bytes) == ("smem", "row", (0, 255))
    assert race.span is not None and race.other is not None and race.span != race.other
    assert {side.what for side in race.sides} == {"write", "earlier read"}
    assert len(race.sides[0].threads) == 64
    assert race.lines == (race.span.line, race.other.line)


@cl.kernel(block=64)
def in_warp(out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    row = cl.shared(i32, (64,))
    t = cl.thread_idx.x
    row[t] = t
    if slip == "of the other warp":
        cl.syncwarp()
        out[t] = row[63 - t]
        return
    if slip != "syncwarp":
        cl.syncwarp()
    out[t] = row[t ^ 1]


def test_syncwarp_orders_the_lanes_of_a_warp() -> None:
    assert_caught(in_warp, 1, (np.zeros(64, np.int32),), "syncwarp", "race")
    assert_caught(in_warp, 1, (np.zeros(64, np.int32),), "of the other warp", "race")


@cl.kernel(block=96)
def handed_over(out: Tensor[i32, (32,)], slip: Constexpr[str]) -> None:
    """Warp 0 hands a row to warp 1 by a named barrier, at which it does not wait; warp 2 has one of its own."""
    row = cl.shared(i32, (32,))
    warp, lane = cl.thread_idx.x // 32, cl.thread_idx.x % 32
    if warp == 0:
        if slip == "arrival before":
            cl.barrier_arrive(1, 64)
        row[lane] = lane
        if slip != "arrival before":
            cl.barrier_arrive(1 if slip != "another barrier" else 2, 64)
    elif warp == 1:
        cl.barrier_sync(1 if slip != "another barrier" else 3, 64)
        out[lane] = row[31 - lane]
    elif slip == "another barrier":
        cl.barrier_sync(2, 64)
        cl.barrier_arrive(3, 64)


def test_named_barriers() -> None:
    assert_caught(handed_over, 1, (np.zeros(32, np.int32),), "arrival before", "race")
    assert report(handed_over, 1, (np.zeros(32, np.int32),), "another barrier"), "an order through warp 2 is one"


@cl.kernel(block=32)
def flag(data: Tensor[i32, (64,)], ready: Tensor[i32, (1,)], out: Tensor[i32, (32,)], slip: Constexpr[str]) -> None:
    """Block 0 publishes data by a flag, block 1 waits for it."""
    t = cl.thread_idx.x
    if cl.block_idx.x == 0:
        data[t] = t
        cl.syncwarp()
        if t == 0:
            if slip == "fences" or slip == "fence of the block":
                cl.fence("gpu" if slip == "fences" else "cta")
                cl.atomic_exch(ready, 0, 1)
            elif slip.startswith("update"):  # which gives no old value
                if slip == "update":
                    cl.fence("gpu")
                cl.red(ready, 0, "add", 1)
            elif slip == "relaxed store":
                cl.store_relaxed(ready, 0, 1)
            elif slip == "plain store":
                ready[0] = 1
            else:
                cl.store_release(ready, 0, 1, scope="gpu" if slip != "scope" else "cta")
    else:
        if slip.startswith(("fence", "update")):
            while cl.load_volatile(ready, 0) == 0:
                pass
            cl.fence("gpu")
        elif slip == "relaxed load":
            while cl.load_relaxed(ready, 0) == 0:
                pass
        else:
            while cl.load_acquire(ready, 0) == 0:
                pass
        out[t] = data[31 - t]


@pytest.mark.parametrize(
    "slip", ["relaxed store", "plain store", "relaxed load", "scope", "fence of the block", "update without fence"]
)
def test_flags_between_blocks(slip: str) -> None:
    arrays = np.zeros(64, np.int32), np.zeros(1, np.int32), np.zeros(32, np.int32)
    assert_caught(flag, 2, arrays, slip, "race")


@pytest.mark.parametrize("slip", ["fences", "update"])
def test_fences_around_relaxed_accesses_are_an_order(slip: str) -> None:
    assert report(flag, 2, (np.zeros(64, np.int32), np.zeros(1, np.int32), np.zeros(32, np.int32)), slip)


@cl.kernel(block=64)
def count(x: Tensor[i32, (N,)], bins: Tensor[i32, (8,)], slip: Constexpr[str]) -> None:
    local = cl.shared(i32, (8,))
    t = cl.thread_idx.x
    if t < 8:
        local[t] = 0
    if slip != "after clearing":
        cl.syncthreads()
    if slip == "no atomic":
        local[x[cl.block_idx.x * 64 + t] % 8] = local[x[cl.block_idx.x * 64 + t] % 8] + 1
    else:
        cl.atomic_add(local, x[cl.block_idx.x * 64 + t] % 8, 1, scope="cta")
    if slip != "before reading":
        cl.syncthreads()
    if t < 8:
        if slip == "plain sum":
            bins[t] = bins[t] + local[t]
        else:
            cl.atomic_add(bins, t, local[t])


@pytest.mark.parametrize("slip", ["after clearing", "before reading", "no atomic", "plain sum"])
def test_atomics_do_not_race_with_each_other_but_with_others(slip: str) -> None:
    x = np.random.default_rng(0).integers(0, 8, 128).astype(np.int32)
    assert_caught(count, 2, (x, np.zeros(8, np.int32)), slip, "race")


@cl.kernel(block=64)
def same(out: Tensor[i32, (4,)], slip: Constexpr[str]) -> None:
    """All threads write to one place."""
    out[0] = 7 if slip == "" else cl.thread_idx.x // 32


def test_threads_may_write_the_same_value() -> None:
    assert_caught(same, 2, (np.zeros(4, np.int32),), "differ", "race")


@cl.kernel(block=64)
def fetched(src: Tensor[f32, (256,)], out: Tensor[f32, (256,)], slip: Constexpr[str]) -> None:
    """Each thread brings 16 bytes by cp.async, and reads what its neighbour brought."""
    row = cl.shared(f32, (256,))
    mine, four = cl.thread_idx.x, (4,)
    cl.cp_async(row.tile(four, (mine,)), src.tile(four, (mine,)))
    if slip != "commit":
        cl.cp_async_commit_group()
    if slip != "wait":
        cl.cp_async_wait_group(0 if slip != "count" else 1)
    if slip != "barrier":
        cl.syncthreads()
    for j in cl.static_range(4):
        out[mine * 4 + j] = row[(mine + 1) % 64 * 4 + j]


@pytest.mark.parametrize("slip", ["commit", "wait", "count", "barrier"])
def test_groups_of_cp_async(slip: str) -> None:
    arrays = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    right = report(fetched, 1, arrays, "")
    assert right, right
    for seed in range(4):
        found = report(fetched, 1, arrays, slip, [seed])
        assert found.kinds == {"race"}, found


@cl.kernel(block=64)
def overlapping(out: Tensor[i32, (N,)], slip: Constexpr[str]) -> None:
    out[cl.block_idx.x * (64 if slip == "" else 63) + cl.thread_idx.x] = cl.block_idx.x


def test_blocks_that_write_to_the_same_place() -> None:
    assert_caught(overlapping, 3, (np.zeros(192, np.int32),), "overlap", "race")


@cl.kernel(block=64)
def gathered(x: Tensor[i32, (N,)], out: Tensor[i32, (N,)], rounds: i32, slip: Constexpr[str]) -> None:
    """Everybody reads everything, round after round, after which one writes."""
    row = cl.shared(i32, (64,))
    t = cl.thread_idx.x
    row[t] = x[t]
    cl.syncthreads()
    total = cl.i32(0)
    for i in range(rounds):
        total = total + row[(t * 7 + i) % 64] + row[i % 64]
        cl.syncthreads()
    if slip == "read after":
        total = total + row[0]
    out[t] = total
    if t == 3:
        row[0] = total


def test_many_readers_are_all_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutelite.sim.checker.shadow.MOST_SETS", 16)  # so that sets are collected all the time
    arrays = np.arange(64, dtype=np.int32), np.zeros(64, np.int32), 200
    assert_caught(gathered, 1, arrays, "read after", "race", ("row[0] = total", "total + row[0]"))


def test_threads_of_blocks_that_have_exited_are_named() -> None:
    (race,) = report(overlapping, 2, (np.zeros(128, np.int32),), "overlap", [0]).findings
    assert {block for block, _ in race.threads} == {(0, 0, 0), (1, 0, 0)}
    assert race.space == "gmem" and race.name == "out" and race.bytes == (63 * 4, 63 * 4 + 3)


@cl.kernel(block=32)
def in_order(x: Tensor[f32, (32, 4)], out: Tensor[f32, (32,)]) -> None:
    """Each thread writes four numbers to one place: the last one stays."""
    row, t = cl.shared(f32, cl.make_layout((32, 4), stride=(1, 0))), cl.thread_idx.x
    row.tile((1, 4), (t, 0)).store(x.tile((1, 4), (t, 0)).load())
    cl.syncwarp()
    out[t] = row[31 - t, 0]


def test_a_thread_writes_to_one_place_in_order() -> None:
    x = np.arange(128, dtype=np.float32).reshape(32, 4)
    found = in_order.check(1, None, x, np.zeros(32, np.float32), seeds=2, notes=False)
    assert found, str(found)
