"""The checker's rules for tensor memory: a ring of two accumulators, with one thing left out at a time."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, bf16, f32
from cutelite.ops.swizzles import SWIZZLES

TILES, STAGES = 3, 2


@cl.kernel(block=160, arch="sm_100a")
def ring(c: Tensor[f32, (TILES, 128, 16)], without: Constexpr[str]) -> None:
    """A thread multiplies ones by ones, tile after tile; a warpgroup reads the sums and says when it has."""
    a = cl.shared(bf16, cl.make_layout((128, 16), stride=(16, 1)), swizzle=SWIZZLES["32B"], align=1024)
    b = cl.shared(bf16, cl.make_layout((16, 16), stride=(16, 1)), swizzle=SWIZZLES["32B"], align=1024)
    full, empty = cl.shared(cl.mbarrier, (STAGES,)), cl.shared(cl.mbarrier, (STAGES,))
    t = cl.thread_idx.x
    if t == 0:
        for s in cl.static_range(STAGES):
            full[s].init(1)
            empty[s].init(4)
        cl.fence_mbarrier_init()
    if t < 128:
        for k in cl.static_range(16):
            a[t, k] = 1.0
            b[t % 16, k] = 1.0
    if without != "proxy fence":
        cl.fence_proxy_async("shared::cta")
    tmem = cl.TmemAllocator.create(32)
    acc = tmem.tensor(128, 16, stages=STAGES)
    if t == 128:
        multiply(a, b, acc, full, empty, without)
    if t < 128:
        read(c, acc, full, empty, without)
    if without == "barrier before free":
        if t // 32 == 0:
            cl.tcgen05.dealloc(tmem.view(cl.tcgen05.lanes_layout(1, 1)), 32)
    else:
        tmem.free()


def multiply(a: Any, b: Any, acc: Any, full: Any, empty: Any, without: str) -> None:
    state = cl.PipelineState.producer(STAGES)
    for _ in cl.static_range(TILES):
        if without != "wait for empty":
            empty[state.index].wait(state.phase)
        if without != "fence after empty":
            cl.tcgen05.fence_after_thread_sync()
        cl.tcgen05.mma(acc[None, None, state.index], a, b, accumulate=False)
        if without == "commit":
            full[state.index].arrive()
        else:
            cl.tcgen05.commit(full[state.index])
        state = state.advance()


def read(c: Any, acc: Any, full: Any, empty: Any, without: str) -> None:
    t, state = cl.thread_idx.x, cl.PipelineState.consumer(STAGES)
    for i in cl.static_range(TILES):
        if without != "wait for full":
            full[state.index].wait(state.phase)
        if without != "fence after full":
            cl.tcgen05.fence_after_thread_sync()
        mine = cl.tcgen05.load(acc[None, None, state.index])
        if without != "wait for loads":
            mine = cl.tcgen05.wait_load(mine)
        if without != "fence before empty":
            cl.tcgen05.fence_before_thread_sync()
        cl.syncwarp()
        if t % 32 == 0:
            empty[state.index].arrive()
        if without == "wait for loads":
            mine = cl.tcgen05.wait_load(mine)
        for j in cl.static_range(16):
            c[i, t, j] = mine[j]
        state = state.advance()


@pytest.mark.usefixtures("on_cards")
def test_the_ring_is_right_and_clean() -> None:
    c = np.zeros((TILES, 128, 16), np.float32)
    ring[1, 160](c, "")
    assert (c == 16).all()
    report = ring.check(1, 160, c, "", seeds=8, notes=False)
    assert not report.findings, str(report)


@pytest.mark.parametrize(
    ("without", "kind", "line"),
    [
        ("proxy fence", "proxy-fence", "mma"),
        ("wait for empty", "race", "mma"),
        ("fence after empty", "race", "mma"),
        ("commit", "race|uninitialised", "load"),
        ("wait for full", "race|uninitialised", "load"),
        ("fence after full", "race", "load"),
        ("wait for loads", "race", "mma"),
        ("fence before empty", "race", "mma"),
        ("barrier before free", "race", "dealloc"),
    ],
)
def test_what_is_left_out_is_found_at_its_line(without: str, kind: str, line: str) -> None:
    c = np.zeros((TILES, 128, 16), np.float32)
    report = ring.check(1, 160, c, without)
    kinds = {finding.kind for finding in report.findings}
    assert kinds & set(kind.split("|")), f"{without}: {report}"
    assert line in str(report), str(report)
