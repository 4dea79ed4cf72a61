"""TMA through mbarriers: every fence, wait and arrival of a ring of stages counts."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, PipelineState, Tensor, TmaTensor, f32
from tests.check.slips import assert_caught, report
from tests.pieces import barriers

M, K, T = cl.dims("M K T")
STAGES = 2


@cl.kernel(block=64)
def ring(src: TmaTensor[f32, (M, 32), (8, 32)], out: Tensor[f32, (M, 32)], slip: Constexpr[str]) -> None:
    """Warp 0 brings tiles of 8 rows into a ring; warp 1 copies them out."""
    tiles = cl.tma_shared(src, STAGES)
    full, empty = cl.shared(cl.mbarrier, (STAGES,)), cl.shared(cl.mbarrier, (STAGES,))
    if cl.thread_idx.x == 0:
        for s in cl.static_range(STAGES):
            full[s].init(1)
            empty[s].init({"too few arrivals": 31, "too many arrivals": 33}.get(slip, 32))
        if slip != "init fence":
            cl.fence_mbarrier_init()
    if slip != "init barrier":
        cl.syncthreads()
    if cl.thread_idx.x < 32:
        if cl.thread_idx.x == 0:
            produce(src, tiles, full, empty, slip)
    else:
        consume(tiles, full, empty, out, slip)


def produce(src: Any, tiles: Any, full: Any, empty: Any, slip: str) -> None:
    state = PipelineState.producer(STAGES)
    for t in range(M // 8):
        s = state.index
        if slip != "empty wait":
            empty[s].wait(state.phase if slip != "empty parity" else 1 - state.phase)
        if slip == "expect too little":
            full[s].arrive_expect_tx(src.tile_bytes - 16)
        elif slip == "expect too much":
            full[s].arrive_expect_tx(src.tile_bytes + 16)
        elif slip == "no expect":
            full[s].arrive()
        else:
            full[s].arrive_expect_tx(src.tile_bytes)
        cl.tma_load(src, tiles[s, None, None], at=(t * 8, 0), barrier=full[s])
        state = state.advance()


def consume(tiles: Any, full: Any, empty: Any, out: Any, slip: str) -> None:
    state = PipelineState.consumer(STAGES)
    lane = cl.thread_idx.x - 32
    for t in range(M // 8):
        s = state.index
        if slip == "early arrival":
            empty[s].arrive()
        if slip != "full wait":
            full[s].wait(state.phase if slip != "full parity" else 1 - state.phase)
        for row in cl.static_range(8):
            out[t * 8 + row, lane] = tiles[s if slip != "stage" else (s + 1) % STAGES, row, lane]
        if slip not in ("early arrival", "empty arrival"):
            empty[s].arrive()
        state = state.advance()


ROWS = np.arange(48 * 32, dtype=np.float32).reshape(48, 32)
READ, LOAD = "tiles[s if slip", "cl.tma_load("


@pytest.mark.parametrize(
    ("slip", "kind", "lines"),
    [
        ("init fence", "mbarrier-init-fence", (LOAD, "full[s].init(1)", "fence_mbarrier_init")),
        ("too few arrivals", "race", (LOAD, READ)),
    ],
)
def test_each_slip_is_found_whatever_the_schedule(slip: str, kind: str, lines: tuple[str, ...]) -> None:
    assert_caught(ring, 1, (ROWS, np.zeros_like(ROWS)), slip, kind, lines)


@pytest.mark.parametrize(
    ("slip", "kinds"),
    [
        ("init barrier", {"mbarrier-init", "mbarrier"}),
        ("empty wait", {"race", "mbarrier"}),
        ("early arrival", {"race", "deadlock", "mbarrier"}),
        ("full wait", {"race", "uninitialised"}),
        ("full parity", {"race", "uninitialised", "deadlock"}),
        ("empty parity", {"race", "deadlock", "mbarrier"}),
        ("stage", {"race"}),
        ("expect too little", {"race", "mbarrier-tx", "deadlock", "mbarrier", "uninitialised"}),
        ("expect too much", {"deadlock"}),
        ("no expect", {"race", "deadlock", "mbarrier-tx", "mbarrier", "uninitialised"}),
        ("empty arrival", {"deadlock"}),
        ("too many arrivals", {"deadlock"}),
    ],
)
def test_each_slip_is_found_under_every_schedule(slip: str, kinds: set[str]) -> None:
    for seed in range(4):
        found = report(ring, 1, (ROWS, np.zeros_like(ROWS)), slip, [seed])
        assert found.kinds & kinds, f"{slip} under seed {seed}: {found}"


def test_a_deadlock_tells_who_should_arrive() -> None:
    found = report(ring, 1, (ROWS, np.zeros_like(ROWS)), "empty arrival", [0])
    (deadlock,) = (finding for finding in found.findings if finding.kind == "deadlock")
    assert "wait for mbarrier" in str(deadlock)
    assert "nobody has arrived on empty[0]" in str(deadlock)
    assert "empty[s].wait(" in str(deadlock)


@cl.kernel(block=64)
def store(out: TmaTensor[f32, (8, 32), (8, 32)], again: TmaTensor[f32, (8, 32), (8, 32)], slip: Constexpr[str]) -> None:
    """All threads write a tile, one stores it by TMA, all write it anew, one stores that."""
    tile = cl.tma_shared(out)
    t = cl.thread_idx.x
    for i in cl.static_range(4):
        tile[(t + i * 64) // 32, t % 32] = cl.f32(t)
    if slip != "proxy fence" and slip != "fence after":
        cl.fence_proxy_async("shared::cta" if slip != "global fence" else "global")
    if slip != "barrier":
        cl.syncthreads()
    if slip == "fence after":  # the issuing thread's fence, after the barrier, is on the way as well
        cl.fence_proxy_async("shared::cta")
    if t == 0:
        cl.tma_store(tile, out, at=(0, 0))
        if slip != "commit":
            cl.cp_async_bulk_commit_group()
        if slip != "read wait":
            cl.cp_async_bulk_wait_group(0, read=True)
    cl.syncthreads()
    for i in cl.static_range(4):
        tile[(t + i * 64) // 32, t % 32] = cl.f32(2 * t)
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    if t == 0:
        cl.tma_store(tile, again, at=(0, 0))
        cl.cp_async_bulk_commit_group()
        if slip != "last wait":
            cl.cp_async_bulk_wait_group(0, read=True)


TILE = np.zeros((8, 32), np.float32)


@pytest.mark.parametrize(
    ("slip", "kind"),
    [
        ("proxy fence", "proxy-fence"),
        ("global fence", "proxy-fence"),
        ("barrier", "race"),
        ("commit", "race"),
        ("read wait", "race"),
    ],
)
def test_stores(slip: str, kind: str) -> None:
    assert_caught(store, 1, (TILE, TILE.copy()), slip, kind)


def test_a_block_waits_for_its_stores() -> None:
    for seed in range(4):
        assert report(store, 1, (TILE, TILE.copy()), "last wait", [seed]).kinds & {"exit-pending", "exited-block"}


def test_a_fence_of_the_thread_that_starts_the_store_will_do() -> None:
    assert report(store, 1, (TILE, TILE.copy()), "fence after")


@cl.kernel(block=128)
def product(
    a: TmaTensor[cl.bf16, (64, 64), (64, 64)],
    b: TmaTensor[cl.bf16, (64, 64), (64, 64)],
    out: Tensor[f32, (64, 64)],
    slip: Constexpr[str],
) -> None:
    """TMA and one thread's stores bring operands of wgmma, whose buffers are then used for something else."""
    left, right, full = cl.tma_shared(a), cl.tma_shared(b), barriers(1)
    cl.syncthreads()
    if cl.thread_idx.x == 0:
        full[0].arrive_expect_tx(a.tile_bytes + b.tile_bytes)
        cl.tma_load(a, left, at=(0, 0), barrier=full[0])
        cl.tma_load(b, right, at=(0, 0), barrier=full[0])
    full[0].wait(0)
    left[cl.thread_idx.x % 64, 0] = cl.bf16(1.0)
    if slip != "proxy fence":
        cl.fence_proxy_async("shared::cta")
    if slip != "barrier":
        cl.syncthreads()
    acc = cl.wgmma.mma_async(left, right, cl.wgmma.zeros_accumulator(64))
    if slip != "commit":
        cl.wgmma.commit_group()
    if slip == "wait":
        left[0, 0] = cl.bf16(0.0)
    done = cl.wgmma.wait_group(0, acc)
    cl.syncthreads()
    left[cl.thread_idx.x % 64, 1] = cl.bf16(0.0)
    cl.wgmma.partition(out).store(done)


@pytest.mark.parametrize(("slip", "kind"), [("proxy fence", "proxy-fence"), ("barrier", "race"), ("wait", "race")])
def test_operands_of_wgmma(slip: str, kind: str) -> None:
    ones = np.ones((64, 64), ml_dtypes.bfloat16)
    assert_caught(product, 1, (ones, ones.copy(), np.zeros((64, 64), np.float32)), slip, kind, ("left[",))


def test_an_accumulator_whose_group_was_not_closed() -> None:
    """Under seed 1 the product is done at once; that no wait has retired it counts."""
    ones = np.ones((64, 64), ml_dtypes.bfloat16)
    assert_caught(product, 1, (ones, ones.copy(), np.zeros((64, 64), np.float32)), "commit", "in-flight")
