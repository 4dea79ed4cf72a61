"""Clusters: each other's shared memory, what blocks bring for each other, and blocks that exit too early."""

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, PipelineState, Tensor, TmaTensor, f32, i32
from tests.check.slips import assert_caught, report
from tests.pieces import barriers

N, M = cl.dims("N M")


@cl.kernel(block=32, cluster=2)
def exchanged(out: Tensor[i32, (N,)], slip: Constexpr[str]) -> None:
    """Each block reads what the other one wrote into its own shared memory."""
    mine = cl.shared(i32, (32,))
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    mine[t] = cl.block_idx.x * 32 + t
    if slip == "relaxed":
        cl.cluster_arrive(relaxed=True)
        cl.cluster_wait()
    elif slip == "of the block":
        cl.syncthreads()
    else:
        cl.cluster_sync()
    out[cl.block_idx.x * 32 + t] = cl.mapa(mine, 1 - rank)[31 - t]
    if slip != "exit":
        cl.cluster_sync()


@pytest.mark.parametrize(("slip", "kind"), [("relaxed", "race"), ("exit", "exit-pending")])
def test_shared_memory_of_others(slip: str, kind: str) -> None:
    right = report(exchanged, 4, (np.zeros(128, np.int32),), "")
    assert right, right
    kinds = set().union(*(report(exchanged, 4, (np.zeros(128, np.int32),), slip, [s]).kinds for s in range(4)))
    assert kind in kinds or "exited-block" in kinds
    for seed in range(4):
        assert report(exchanged, 4, (np.zeros(128, np.int32),), slip, [seed]).kinds & {kind, "exited-block"}


def test_a_barrier_of_the_block_does_not_do_for_the_cluster() -> None:
    for seed in range(4):
        found = report(exchanged, 4, (np.zeros(128, np.int32),), "of the block", [seed])
        assert found.kinds & {"race", "uninitialised", "exited-block"}, found


@cl.kernel(block=32, cluster=2)
def multicast(src: TmaTensor[f32, (8, 32), (8, 32)], out: Tensor[f32, (2, 8, 32)], slip: Constexpr[str]) -> None:
    """Block 0 brings a tile into both."""
    tile, full = cl.tma_shared(src), cl.shared(cl.mbarrier, (1,))
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    if t == 0:
        full[0].init(1)
        if slip != "init fence":
            cl.fence_mbarrier_init()
    if slip == "init barrier":
        cl.syncthreads()
    else:
        cl.cluster_arrive(relaxed=True)
        cl.cluster_wait()
    if t == 0:
        full[0].arrive_expect_tx(src.tile_bytes)
        if rank == 0:
            cl.tma_load(src, tile, at=(0, 0), barrier=full[0], multicast=0b11)
    if slip != "wait" or rank == 0:
        full[0].wait(0)
        for row in cl.static_range(8):
            out[cl.block_idx.x, row, t] = tile[row, t]


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(256, dtype=np.float32).reshape(8, 32), np.zeros((2, 8, 32), np.float32)


@pytest.mark.parametrize(
    ("slip", "kinds"),
    [
        ("init fence", {"mbarrier-init-fence", "mbarrier-init"}),
        ("init barrier", {"mbarrier-init", "mbarrier", "mbarrier-init-fence"}),
        ("wait", {"exit-pending", "exited-block"}),
    ],
)
def test_multicast(slip: str, kinds: set[str]) -> None:
    right = report(multicast, 2, arrays(), "")
    assert right, right
    for seed in range(4):
        found = report(multicast, 2, arrays(), slip, [seed])
        assert found.kinds & kinds, f"{slip} under seed {seed}: {found}"


@cl.kernel(block=32, cluster=2)
def sent(out: Tensor[i32, (N,)], slip: Constexpr[str]) -> None:
    """Ordinary stores into the other block, told to it by an arrival on its mbarrier."""
    inbox, bar = cl.shared(i32, (32,)), barriers(32)
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    cl.cluster_sync()
    cl.mapa(inbox, 1 - rank)[t] = cl.block_idx.x * 32 + t
    bar[0].remote(1 - rank).arrive(cluster=True, relaxed=slip == "relaxed arrival")
    bar[0].wait(0, cluster=slip != "wait of the block")
    out[cl.block_idx.x * 32 + t] = inbox[31 - t]
    cl.cluster_sync()


@pytest.mark.parametrize("slip", ["relaxed arrival", "wait of the block"])
def test_arrivals_from_other_blocks(slip: str) -> None:
    assert_caught(sent, 2, (np.zeros(64, np.int32),), slip, "race")


@cl.kernel(block=32, cluster=2)
def told(out: Tensor[i32, (N,)], slip: Constexpr[str]) -> None:
    """Each block arrives at the other one's mbarrier, which waits for that before it ends."""
    bar = barriers(32)
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    cl.cluster_sync()
    bar[0].remote(1 - rank).arrive(cluster=True, relaxed=slip != "release")
    if slip != "tail":
        bar[0].wait(0)
    out[cl.block_idx.x * 32 + t] = t


@pytest.mark.parametrize("slip", ["", "release"])
def test_who_has_seen_a_phase_knows_of_its_arrivals(slip: str) -> None:
    found = report(told, 4, (np.zeros(128, np.int32),), slip)
    assert found, found


def test_a_block_waits_for_arrivals_of_others() -> None:
    for seed in range(4):
        found = report(told, 4, (np.zeros(128, np.int32),), "tail", [seed])
        assert found.kinds & {"exit-pending", "exited-block"}, found


@cl.kernel(block=64, cluster=4)
def crossed(
    a: TmaTensor[f32, (M, 32), (8, 32)],
    b: TmaTensor[f32, (M, 32), (8, 32)],
    out: Tensor[f32, (4, M, 2, 32)],
    slip: Constexpr[str],
) -> None:
    """Four blocks in a square: those of a row share what they bring of A, those of a column what they bring of B."""
    rows, columns = (cl.shared(f32, cl.make_smem_layout(f32, (16, 32, 2))) for _ in range(2))
    left, right = cl.OperandTile.create(a, 16, (2, 2), 0), cl.OperandTile.create(b, 16, (2, 2), 1)
    peers = (0, 1, 2, 3) if slip == "all" else cl.multicast_peers((2, 2))
    pipe = cl.PipelineTmaAsync.create(2, 2 * 16 * 128, consumers=32, peers=peers)
    rank, steps = cl.block_rank_in_cluster(), M // 16
    if cl.thread_idx.x == 0:
        state = pipe.producer_state()
        for i in range(steps):
            pipe.producer_acquire(state)
            left.load(rows[None, None, state.index], (), i * 16, 0, pipe.barrier(state))
            right.load(columns[None, None, state.index], (), i * 16, 0, pipe.barrier(state))
            state = state.advance()
        pipe.producer_tail(state)
    elif cl.thread_idx.x >= 32:
        state = pipe.consumer_state()
        for i in range(steps):
            pipe.consumer_wait(state)
            for r in cl.static_range(16):
                out[rank, i * 16 + r, 0, cl.lane_idx()] = rows[r, cl.lane_idx(), state.index]
                out[rank, i * 16 + r, 1, cl.lane_idx()] = columns[r, cl.lane_idx(), state.index]
            pipe.consumer_release(state)
            state = state.advance()


def test_blocks_release_to_those_that_share_with_them() -> None:
    a, b = (np.random.default_rng(seed).random((80, 32), np.float32) for seed in range(2))
    out = np.zeros((4, 80, 2, 32), np.float32)
    for seed in range(4):
        right = report(crossed, 4, (a, b, out), "", [seed])
        assert right, right
        assert report(crossed, 4, (a, b, out), "all", [seed]).kinds == {"mbarrier-phase"}
    crossed[4, 64](a, b, out, "")
    for rank in range(4):
        np.testing.assert_array_equal(out[rank, :, 0], a)
        np.testing.assert_array_equal(out[rank, :, 1], b)


@cl.kernel(block=64, cluster=2)
def halves(src: TmaTensor[f32, (M, 32), (4, 32)], out: Tensor[f32, (2, M, 32)], slip: Constexpr[str]) -> None:
    """Each block brings half of each tile into both, through a ring of two stages; a warp of each copies tiles out."""
    tiles, full, empty = cl.tma_shared(src, 4), cl.shared(cl.mbarrier, (2,)), cl.shared(cl.mbarrier, (2,))
    lane, rank = cl.thread_idx.x % 32, cl.block_rank_in_cluster()
    if cl.thread_idx.x == 0:
        for s in cl.static_range(2):
            full[s].init(1)
            empty[s].init(1 if slip == "own consumers alone" else 2)
        cl.fence_mbarrier_init()
    if slip == "met in the block":
        cl.syncthreads()
    else:
        cl.cluster_sync()
    steps = M // 8 - rank if slip in ("fewer steps", "fewer steps, without the last barrier") else M // 8
    if cl.thread_idx.x == 0:
        state = PipelineState.producer(2)
        for n in range(steps):
            at = state.index
            if slip != "one does not wait" or rank == 0:
                empty[at].wait(state.phase)
            few = slip == "half the bytes" or (slip == "half the bytes of one" and rank == 1)
            full[at].arrive_expect_tx(src.tile_bytes * (1 if few else 2))
            mask = 1 << rank if slip == "brought to one" else 0b11
            half = tiles[at * 2 + rank, None, None]
            cl.tma_load(src, half, at=(n * 8 + rank * 4, 0), barrier=full[at], multicast=mask)
            state = state.advance()
    elif cl.thread_idx.x >= 32:
        state = PipelineState.consumer(2)
        for n in range(steps):
            at = state.index
            if slip != "one tile left out" or rank == 0 or n != 1:
                full[at].wait(state.phase)
            for row in cl.static_range(8):
                out[rank, n * 8 + row, lane] = tiles[at * 2 + row // 4, row % 4, lane]
            cl.syncwarp()
            if slip == "released at home":
                if lane == 0:
                    empty[at].arrive(2)
            elif slip == "released to the other":
                if lane == 0:
                    empty[at].remote(1 - rank).arrive(2)
            elif slip == "own consumers alone":
                if lane == 0:
                    empty[at].arrive()
            elif lane < 2:
                empty[at].remote(lane).arrive(cluster=True)
            state = state.advance()
    if "last barrier" not in slip:
        cl.cluster_sync()


@pytest.mark.parametrize(
    ("slip", "kinds"),
    [
        ("", set()),
        ("met in the block", {"block-not-started"}),
        ("own consumers alone", {"race", "mbarrier-phase"}),
        ("released at home", {"race", "mbarrier-phase"}),
        ("released to the other", {"race", "mbarrier-phase"}),
        ("one does not wait", {"mbarrier", "mbarrier-phase"}),
        ("half the bytes", {"mbarrier-phase"}),
        ("half the bytes of one", {"race", "mbarrier-phase"}),
        ("brought to one", {"deadlock"}),
        ("one tile left out", {"race", "mbarrier-phase"}),
        ("fewer steps", {"deadlock"}),
        ("fewer steps, without the last barrier", {"exit-pending", "exited-block"}),
        ("without the last barrier", {"exit-pending", "exited-block"}),
    ],
)
def test_tiles_that_two_blocks_share(slip: str, kinds: set[str]) -> None:
    arrays = np.arange(1024, dtype=np.float32).reshape(32, 32), np.zeros((2, 32, 32), np.float32)
    for seed in (0, 1):
        found = report(halves, 2, arrays, slip, [seed])
        assert found.kinds & kinds or not (slip or found.kinds), f"{slip} under seed {seed}: {found}"


@cl.kernel(block=32, cluster=2)
def dealt(
    src: Tensor[i32, (4, 32)], word: Tensor[i32, (1,)], out: Tensor[i32, (2, 4, 32)], slip: Constexpr[str]
) -> None:
    """Blocks share rows that a counter deals out, half of each loaded by each block."""
    rows, row, lane = cl.shared(i32, (32,)), cl.shared(i32, (1,)), cl.thread_idx.x
    rank = cl.block_rank_in_cluster()
    for _ in range(2):
        if lane == 0 and slip == "each takes its own":
            row[0] = cl.atomic_add(word, 0, 1) // 2
        elif lane == 0 and rank == 0:
            row[0] = cl.atomic_add(word, 0, 1)
        cl.cluster_sync()
        at = row[0] if slip else cl.mapa(row, 0)[0]
        cl.mapa(rows, lane // 16)[rank * 16 + lane % 16] = src[at, rank * 16 + lane % 16]
        cl.cluster_sync()
        out[rank, at, lane] = rows[lane]
        cl.cluster_sync()


@pytest.mark.parametrize("slip", ["", "each takes its own"])
def test_results_that_depend_on_who_comes_first(slip: str) -> None:
    arrays = np.arange(128, dtype=np.int32).reshape(4, 32), np.zeros(1, np.int32), np.zeros((2, 4, 32), np.int32)
    kinds = {"schedule-dependent"} if slip else set()
    noted = dealt.check(4, None, *(array.copy() for array in arrays), slip, notes=False)
    assert noted, noted
    assert {note.kind for note in noted.notes} == kinds
    assert dealt.check(4, None, *(array.copy() for array in arrays), slip, ordered=("out",)).kinds == kinds
