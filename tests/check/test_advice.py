"""Reports of mistakes that people make: found under every schedule, at their line, with what to do."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, TmaTensor, bf16, f32, i32
from tests.check.slips import report
from tests.pieces import barriers


def assert_told(kernel: Any, grid: int, arrays: tuple[Any, ...], slip: str, kind: str, line: str, advice: str) -> None:
    """Under each of three schedules the slip is found as `kind`, at a line with this text, with this advice."""
    for seed in (0, 1, 2):
        found = report(kernel, grid, arrays, slip, [seed])
        told = [finding for finding in found.findings if finding.kind == kind and line in str(finding)]
        assert told and advice in told[0].help, f"{slip} under seed {seed}: {found}"


def assert_right(kernel: Any, grid: int, arrays: tuple[Any, ...], slip: str = "") -> None:
    found = report(kernel, grid, arrays, slip, 3)
    assert found, f"an alarm: {found}"


@cl.kernel(block=96)
def meeting(out: Tensor[i32, (96,)], slip: Constexpr[str]) -> None:
    """A warp hands numbers over to the next one, at a barrier of both."""
    t, row = cl.thread_idx.x, cl.shared(i32, (96,))
    row[t] = t
    number = 0 if slip == "of all" else 1
    if t < 32:
        cl.barrier_arrive(number, 96 if slip == "too many" else 64)
        if slip == "again":
            cl.barrier_arrive(1, 64)
    elif t < 64:
        cl.barrier_sync(number, 96 if slip == "too many" else 64)
        out[t] = row[t - 32]
    elif slip == "a third":
        cl.barrier_arrive(1, 64)
    cl.syncthreads()
    if slip == "later" and t >= 32:
        cl.barrier_sync(1, 64)


@pytest.mark.parametrize("slip", ["", "later"])
def test_a_barrier_of_some_warps_is_right(slip: str) -> None:
    assert_right(meeting, 1, (np.zeros(96, np.int32),), slip)


@pytest.mark.parametrize(
    ("slip", "kind", "line", "advice"),
    [
        ("too many", "deadlock", "cl.barrier_sync(number, 96", "number of threads that do, which is 64 here"),
        ("a third", "barrier-phase", "cl.barrier_", "use another barrier"),
    ],
)
def test_threads_that_a_barrier_counts(slip: str, kind: str, line: str, advice: str) -> None:
    assert_told(meeting, 1, (np.zeros(96, np.int32),), slip, kind, line, advice)


@pytest.mark.parametrize("slip", ["again", "of all"])
def test_arrivals_that_may_count_in_the_generation_before(slip: str) -> None:
    for seed in range(4):
        found = report(meeting, 1, (np.zeros(96, np.int32),), slip, [seed])
        assert found.kinds & {"barrier", "barrier-phase"}, found


@cl.kernel(block=96)
def turns(out: Tensor[i32, (96,)], slip: Constexpr[str]) -> None:
    """Warps take turns, each told by the one before; a warp only arrives at the barrier of the next."""
    t = cl.thread_idx.x
    warp, row = t // 32, cl.shared(i32, (32,))
    if warp == 0:
        row[t % 32] = 0
    if warp == 2:
        cl.barrier_arrive(1, 64)
    for _ in range(3):
        if slip != "no turn" or warp != 1:
            cl.barrier_sync(1 + warp, 64)
        row[t % 32] = row[t % 32] + 1
        cl.barrier_arrive(1 + (warp + 1) % 3, 64)
    if warp == 0:
        cl.barrier_sync(1, 64)
        out[t] = row[t]


def test_turns_by_barriers() -> None:
    assert_right(turns, 1, (np.zeros(96, np.int32),))
    assert_told(
        turns, 1, (np.zeros(96, np.int32),), "no turn", "barrier-phase", "cl.barrier_arrive(", "wait at this one"
    )


@cl.kernel(block=32, cluster=2)
def shared_tile(src: TmaTensor[f32, (8, 32), (8, 32)], out: Tensor[f32, (2, 8, 32)], slip: Constexpr[str]) -> None:
    """One block brings a tile for both."""
    tile, full = cl.tma_shared(src), barriers(1)
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    if t == 0:
        if slip == "twice":
            full[0].arrive_expect_tx(2 * src.tile_bytes)
        elif slip != "one" or rank == 0:
            full[0].arrive_expect_tx(src.tile_bytes)
    cl.cluster_sync()
    if t == 0 and rank == 0:
        cl.tma_load(src, tile, at=(0, 0), barrier=full[0], multicast=0b01 if slip == "mask" else 0b11)
    full[0].wait(0)
    for row in cl.static_range(8):
        out[rank, row, t] = tile[row, t]
    cl.cluster_sync()


@pytest.mark.parametrize(
    ("slip", "advice"),
    [
        ("", ""),
        ("one", "in each block that it brings them to"),
        ("twice", "no more"),
        ("mask", "the blocks of its mask"),
    ],
)
def test_bytes_of_a_multicast(slip: str, advice: str) -> None:
    arrays = np.ones((8, 32), np.float32), np.zeros((2, 8, 32), np.float32)
    if not slip:
        assert_right(shared_tile, 2, arrays)
    else:
        assert_told(shared_tile, 2, arrays, slip, "deadlock", "full[0].wait(0)", advice)


@cl.kernel(block=32)
def stored(out: TmaTensor[f32, (32, 32), (8, 32)], slip: Constexpr[str]) -> None:
    """A warp writes one tile after the other, each of which TMA stores, to the same shared memory."""
    tile, t = cl.tma_shared(out), cl.thread_idx.x
    for i in range(4):
        waits = 1 if slip == "by another thread" else 0
        if slip != "no wait" and t == waits:
            cl.cp_async_bulk_wait_group(1 if slip == "one left" else 0, read=True)
        cl.syncwarp()
        for row in cl.static_range(8):
            tile[row, t] = f32(i)
        cl.fence_proxy_async("shared::cta")
        if slip != "no barrier":
            cl.syncwarp()
        if t == 0:
            cl.tma_store(tile, out, at=(i * 8, 0))
            if slip != "no commit":
                cl.cp_async_bulk_commit_group()
    if t == 0:
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


@pytest.mark.parametrize(
    ("slip", "advice"),
    [
        ("no wait", "wait for the end of the asynchronous read"),
        ("by another thread", "wait for the end of the asynchronous read"),
        ("no commit", "wait for the end of the asynchronous read"),
        ("one left", "wait for the end of the asynchronous read"),
        ("no barrier", "a barrier of who writes and who starts it"),
    ],
)
def test_a_tile_that_is_stored_and_written_again(slip: str, advice: str) -> None:
    arrays = (np.zeros((32, 32), np.float32),)
    assert_told(stored, 1, arrays, slip, "race", "cl.tma_store(", advice)


def test_a_tile_that_has_been_stored_before_it_is_written_again() -> None:
    assert_right(stored, 1, (np.zeros((32, 32), np.float32),))


@cl.kernel(block=32)
def matrices(out: Tensor[f32, (32, 8)], slip: Constexpr[str]) -> None:
    """A warp stores four matrices of 8 x 8, and reads them again."""
    tile, t = cl.shared(bf16, (32, 8), align=128), cl.thread_idx.x
    held = cl.make_rmem_tensor(bf16, (8,))
    for i in cl.static_range(8):
        held[i] = f32(t * 8 + i).to(bf16)
    cl.stmatrix(tile.at(t if slip != "overlap" else t % 8, 0), held.load())
    if slip != "no barrier":
        cl.syncwarp()
    for column in cl.static_range(8):
        out[t, column] = tile[t ^ 1, column].to(f32)


def test_matrices_have_places_of_their_own() -> None:
    arrays = (np.zeros((32, 8), np.float32),)
    assert_right(matrices, 1, arrays)
    assert_told(matrices, 1, arrays, "overlap", "race", "cl.stmatrix(", "give each its own place")
    assert_told(matrices, 1, arrays, "no barrier", "race", "tile[t ^ 1, column]", "put a barrier between them")


@cl.kernel(block=64)
def behind(w: Tensor[i32, (64,)], x: Tensor[i32, (64,)], out: Tensor[i32, (64,)]) -> None:
    """A thread reads both arrays, and waits for the kernel ahead."""
    t = cl.thread_idx.x
    total = w[t] + x[t]
    cl.griddepcontrol_wait()
    out[t] = total


def test_what_is_read_ahead_is_noted() -> None:
    arrays = np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros(64, np.int32)
    found = behind.check(1, 64, *arrays, seeds=2)
    told = {note.name: note for note in found.notes if note.kind == "grid-dependency"}
    assert found and set(told) == {"w", "x"}
    assert "untouched=" in told["x"].help and "x[t]" in str(told["x"])
    assert behind.check(1, 64, *arrays, seeds=1, untouched=["w"]).kinds == {"grid-dependency"}
    assert not behind.check(1, 64, *arrays, seeds=1, untouched=["w", "x"]).notes


@cl.kernel(block=32, cluster=2)
def filled(src: TmaTensor[f32, (16, 32), (8, 32)], out: Tensor[f32, (2, 16, 32)], slip: Constexpr[str]) -> None:
    """Each block brings a tile for both, and one phase counts them."""
    tiles, full = cl.tma_shared(src, 2), barriers(1)
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    if t == 0:
        full[0].arrive_expect_tx(2 * src.tile_bytes)
    cl.cluster_sync()
    if t == 0:
        place = 0 if slip == "one place" else rank
        cl.tma_load(src, tiles[place, None, None], at=(rank * 8, 0), barrier=full[0], multicast=0b11)
    full[0].wait(0)
    for row in cl.static_range(16 if slip == "" else 8):
        out[rank, row, t] = tiles[row // 8, row % 8, t]
    cl.cluster_sync()


def test_copies_of_one_phase_have_places_of_their_own() -> None:
    arrays = np.arange(512, dtype=np.float32).reshape(16, 32), np.zeros((2, 16, 32), np.float32)
    assert_right(filled, 2, arrays)
    assert_told(filled, 2, arrays, "one place", "race", "cl.tma_load(", "one phase of an mbarrier")


@cl.kernel(block=32, cluster=2)
def posted(out: Tensor[i32, (2, 32)], slip: Constexpr[str]) -> None:
    """Each block sends the other one a number from each thread."""
    got, bar = cl.shared(i32, (32,), align=128), barriers(1)
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    got[t] = 0
    if t == 0:
        bar[0].arrive_expect_tx(256 if slip == "twice" else 128)
    cl.cluster_sync()
    there = cl.mapa(got, rank if slip == "to itself" else 1 - rank)
    told = bar[0].remote(rank if slip in ("at home", "to itself") else 1 - rank)
    cl.st_async(there.at(t // 2 if slip == "one place" else t), t, told)
    if slip == "twice":
        cl.st_async(there.at(t ^ 1), t, told)
    bar[0].wait(0, cluster=True)
    out[rank, t] = got[t]
    cl.cluster_sync()


@pytest.mark.parametrize(
    ("slip", "kind", "advice"),
    [
        ("one place", "race", "one phase of an mbarrier"),
        ("twice", "race", "one phase of an mbarrier"),
        ("at home", "mbarrier", "count them where they come"),
        ("to itself", "own-block", "an ordinary store or atomic, before an arrival"),
    ],
)
def test_numbers_that_are_sent(slip: str, kind: str, advice: str) -> None:
    arrays = (np.zeros((2, 32), np.int32),)
    assert_right(posted, 2, arrays)
    assert_told(posted, 2, arrays, slip, kind, "cl.st_async(", advice)


@cl.kernel(block=32)
def gathered(src: Tensor[i32, (32,)], out: Tensor[i32, (32,)], slip: Constexpr[str]) -> None:
    """Threads copy numbers, two to each place; by a slip different ones."""
    t, row = cl.thread_idx.x, cl.shared(i32, (32,))
    row[t] = 0
    cl.syncwarp()
    cl.cp_async(row.at(t // 2), src.at(t if slip == "differ" else t // 2), 4)
    cl.cp_async_commit_group()
    cl.cp_async_wait_group(0)
    cl.syncwarp()
    out[t] = row[t]


def test_copies_of_one_instruction_have_places_of_their_own() -> None:
    arrays = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    assert_right(gathered, 1, arrays)
    assert_told(gathered, 1, arrays, "differ", "race", "cl.cp_async(", "give each its own place")


@cl.kernel(block=64)
def reread(data: Tensor[i32, (64,)], out: Tensor[i32, (64,)], slip: Constexpr[str]) -> None:
    """Threads write numbers, and read those of others behind a barrier."""
    t = cl.thread_idx.x
    if slip != "only read":
        data[t] = t
    cl.syncthreads()
    out[t] = data[63 - t] if slip == "" else data.load(63 - t, cache="nc")


def test_loads_that_are_not_coherent() -> None:
    arrays = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    assert_right(reread, 1, arrays)
    assert_right(reread, 1, arrays, "only read")
    assert_told(reread, 1, arrays, "by nc", "non-coherent", "data.load(63 - t", "leave out")


@cl.kernel(block=32)
def exchanged(src: Tensor[i32, (32,)], out: Tensor[i32, (32,)], slip: Constexpr[str]) -> None:
    """A thread copies numbers out of shared memory, then others in."""
    t, row, full = cl.thread_idx.x, cl.shared(i32, (32,), align=128), barriers(1)
    row[t] = t
    cl.fence_proxy_async("shared::cta")
    cl.syncwarp()
    if t == 0:
        cl.cp_async_bulk(out, row, 128)
        cl.cp_async_bulk_commit_group()
        if slip != "no wait":
            cl.cp_async_bulk_wait_group(0, read=True)
        full[0].arrive_expect_tx(128)
        cl.cp_async_bulk(row, src, 128, barrier=full[0])
        cl.cp_async_bulk_wait_group(0)
    cl.syncwarp()
    full[0].wait(0)
    out[t] = out[t] + row[t]


def test_a_copy_over_what_another_still_reads() -> None:
    arrays = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    assert_right(exchanged, 1, arrays)
    assert_told(
        exchanged, 1, arrays, "no wait", "race", "cl.cp_async_bulk(row, src", "the asynchronous read must be over"
    )


@cl.kernel(block=32)
def elected(src: TmaTensor[f32, (8, 32), (8, 32)], out: TmaTensor[f32, (8, 32), (8, 32)], slip: Constexpr[str]) -> None:
    """One thread brings a tile and stores it, and the same one, or by a slip lane 0, waits until it has been read."""
    tile, bar, t = cl.tma_shared(out), barriers(1), cl.thread_idx.x
    cl.syncwarp()
    if cl.elect_one():
        bar[0].arrive_expect_tx(src.tile_bytes)
        cl.tma_load(src, tile, at=(0, 0), barrier=bar[0])
    bar[0].wait(0)
    if cl.elect_one():
        cl.tma_store(tile, out, at=(0, 0))
        cl.cp_async_bulk_commit_group()
    if t == 0 if slip else cl.elect_one():
        cl.cp_async_bulk_wait_group(0, read=True)
    cl.syncwarp()
    tile[0, t] = 0.0


def test_another_lane_than_the_first_may_be_elected() -> None:
    arrays = np.zeros((8, 32), np.float32), np.zeros((8, 32), np.float32)
    assert_right(elected, 1, arrays)
    assert "race" in report(elected, 1, arrays, "lane 0 waits", [1]).kinds  # and not where lane 0 is elected
