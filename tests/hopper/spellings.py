"""One instance of every spelling that the Hopper ops have: what is assembled, printed and checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cutelite.ir.types import (
    InFlight,
    Ptr,
    Scalar,
    Tensor,
    TensorMap,
    Type,
    Vec,
    bf16,
    boolean,
    e4m3,
    e5m2,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    mbarrier,
    tf32,
    u8,
    u16,
    u32,
    u64,
)
from cutelite.layout import Layout
from cutelite.ops import cluster, cp_async, registers, tma, wgmma
from cutelite.ops import mbarrier as bar
from cutelite.ops.swizzles import SWIZZLES
from cutelite.ops.wgmma_layouts import FORMS
from cutelite.ops.wgmma_sparse import words_for
from tests.spelled import Spelling

SMEM, GMEM, REMOTE = Ptr("smem", 128), Ptr("gmem", 128), Ptr("cluster", 128)
BAR = Tensor(mbarrier, "smem", Layout(1, 1), 8)
TILE = Tensor(bf16, "smem", Layout((64, 64), (64, 1)), 1024, SWIZZLES["128B"])


def tensor_map(rank: int, elem: Scalar = bf16) -> TensorMap:
    box = (1,) * (rank - 2) + (64, 64) if rank > 1 else (64,)
    shape = (256,) * rank
    return TensorMap(elem, Layout(shape, tuple(256**i for i in reversed(range(rank)))), box, "128B")


def tile(rank: int, elem: Scalar = bf16) -> Tensor:
    layout = Layout((64, 64), (64, 1)) if rank > 1 else Layout(64, 1)
    return Tensor(elem, "smem", layout, 1024, SWIZZLES["128B"])


def spellings() -> Iterator[Spelling]:
    yield from _copies()
    yield from _barriers()
    yield from _tma()
    yield from _wgmma()
    yield from _cluster()


def _copies() -> Iterator[Spelling]:
    asyn, bulk = cp_async.CpAsync, cp_async.CpAsyncBulk
    for size in (4, 8, 16):
        yield Spelling(f"cp.async {size}", (SMEM, GMEM), lambda d, s, n=size: asyn(d, s, n))
    yield Spelling("cp.async cg fill", (SMEM, GMEM, i32), lambda d, s, n: asyn(d, s, 16, "cg", src_bytes=n))
    yield Spelling(
        "cp.async all",
        (SMEM, GMEM, i32, u64),
        lambda d, s, n, p: asyn(d, s, 16, "cg", 256, src_bytes=n, policy=p),
    )
    yield Spelling("cp.async.commit_group", (), cp_async.CpAsyncCommitGroup)
    yield Spelling("cp.async.wait_group", (), lambda: cp_async.CpAsyncWaitGroup(3))
    yield Spelling("cp.async.wait_all", (), cp_async.CpAsyncWaitAll)
    for noinc in (False, True):
        make = lambda b, n=noinc: cp_async.CpAsyncMbarrierArrive(b, n)  # noqa: E731
        yield Spelling(f"cp.async.mbarrier.arrive {noinc}", (BAR,), make)
    yield Spelling("bulk load", (SMEM, GMEM, i32, BAR), lambda d, s, n, b: bulk(d, s, n, b))
    yield Spelling(
        "bulk multicast",
        (SMEM, GMEM, i32, BAR, u16, u64),
        lambda d, s, n, b, m, p: bulk(d, s, n, b, m, p),
    )
    yield Spelling("bulk remote", (REMOTE, SMEM, u32, REMOTE), lambda d, s, n, b: bulk(d, s, n, b))
    yield Spelling("bulk store", (GMEM, SMEM, u32), lambda d, s, n: bulk(d, s, n))
    yield Spelling("bulk store policy", (GMEM, SMEM, u32, u64), lambda d, s, n, p: bulk(d, s, n, policy=p))
    for kind, elems in cp_async.REDUCTIONS.items():
        for name in elems:
            elem = next(e for e in (u32, i32, u64, i64, f16, bf16, f32, f64) if e.name == name)
            reduce = lambda d, s, n, k=kind, e=elem: cp_async.CpReduceAsyncBulk(k, e, d, s, n)  # noqa: E731
            yield Spelling(f"bulk reduce {kind} {name}", (GMEM, SMEM, u32), reduce)
    yield Spelling("bulk prefetch", (GMEM, u32, u64), lambda s, n, p: cp_async.CpAsyncBulkPrefetch(s, n, policy=p))
    yield Spelling("bulk commit", (), cp_async.CpAsyncBulkCommitGroup)
    yield Spelling("bulk wait", (), lambda: cp_async.CpAsyncBulkWaitGroup(1))
    yield Spelling("bulk wait read", (), lambda: cp_async.CpAsyncBulkWaitGroup(0, read=True))
    for primary in cp_async.PRIORITIES:
        yield Spelling(f"createpolicy {primary}", (), lambda p=primary: cp_async.CreatePolicy(p, 0.5, "evict_first"))


def _barriers() -> Iterator[Spelling]:
    yield Spelling("mbarrier.init", (BAR, i32), bar.Init)
    yield Spelling("mbarrier.inval", (BAR,), bar.Inval)
    yield Spelling("mbarrier.arrive", (BAR,), bar.Arrive)
    yield Spelling("mbarrier.arrive remote", (REMOTE,), bar.Arrive)
    yield Spelling("mbarrier.arrive remote count", (REMOTE, i32), bar.Arrive)
    for reach in ("cta", "cluster"):
        for relaxed in (False, True):
            how = {"reach": reach, "relaxed": relaxed}
            name = f"{reach} {'relaxed' if relaxed else ''}"
            for cls in (bar.Arrive, bar.ArriveDrop, bar.ArriveExpectTx):
                yield Spelling(f"{cls.name} {name}", (BAR, u32), lambda b, n, c=cls, h=how: c(b, n, **h))
            for form in (bar.TestWait, bar.TryWait, bar.Wait):
                for phase in (i32, u64):
                    wait = lambda b, p, c=form, h=how: c(b, p, **h)  # noqa: E731
                    yield Spelling(f"{form.name} {phase} {name}", (BAR, phase), wait)
    yield Spelling("mbarrier.arrive.expect_tx remote", (REMOTE, i32), bar.ArriveExpectTx)
    yield Spelling("mbarrier.arrive.noComplete", (BAR, i32), bar.ArriveNoComplete)
    for where in (BAR, REMOTE):
        yield Spelling(f"mbarrier.expect_tx {where}", (where, i32), bar.ExpectTx)
        yield Spelling(f"mbarrier.complete_tx {where}", (where, i32), bar.CompleteTx)
    yield Spelling("mbarrier.try_wait hint", (BAR, i32, u32), lambda b, p, h: bar.TryWait(b, p, hint_ns=h))
    yield Spelling("mbarrier.pending_count", (u64,), bar.PendingCount)
    yield Spelling("fence.mbarrier_init", (), bar.FenceMbarrierInit)


def _tma() -> Iterator[Spelling]:
    for rank in range(1, 6):
        types = (tensor_map(rank), *(i32,) * rank, tile(rank), u64)
        g2s = lambda m, *x, n=rank: tma.TensorG2S(m, x[:n], x[n], x[n + 2], policy=x[n + 1])  # noqa: E731
        yield Spelling(f"g2s {rank}d", (*types, BAR), g2s)
        cast = lambda m, *x, n=rank: tma.TensorG2S(m, x[:n], x[n], x[n + 2], x[n + 3])  # noqa: E731
        yield Spelling(f"g2s {rank}d multicast", (*types, BAR, u16), cast)
        s2g = lambda m, *x, n=rank: tma.TensorS2G(m, x[:n], x[n])  # noqa: E731
        yield Spelling(f"s2g {rank}d", types, s2g)
        s2g_policy = lambda m, *x, n=rank: tma.TensorS2G(m, x[:n], x[n], policy=x[n + 1])  # noqa: E731
        yield Spelling(f"s2g {rank}d policy", types, s2g_policy)
        fetch = lambda m, *x, n=rank: tma.TensorPrefetch(m, x[:n], policy=x[n + 1])  # noqa: E731
        yield Spelling(f"prefetch {rank}d", types, fetch)
    for kind in cp_async.REDUCTIONS:
        types = (tensor_map(2, u32), i32, i32, Tensor(u32, "smem", Layout((64, 64), (64, 1)), 1024, TILE.swizzle))
        yield Spelling(f"reduce {kind}", types, lambda m, i, j, s, k=kind: tma.TensorReduce(m, (i, j), k, s))
    yield Spelling("prefetch.tensormap", (tensor_map(2),), tma.PrefetchTensormap)
    for space in tma.PROXY_SPACES:
        yield Spelling(f"fence.proxy.async {space}", (), lambda s=space: tma.FenceProxyAsync(s))
    for reach in ("cta", "cluster", "gpu", "sys"):
        yield Spelling(f"fence.proxy.tensormap release {reach}", (), lambda r=reach: tma.FenceProxyTensormap(reach=r))
        fence = lambda m, r=reach: tma.FenceProxyTensormap(m, r)  # noqa: E731
        yield Spelling(f"fence.proxy.tensormap acquire {reach}", (tensor_map(2),), fence)


def _wgmma() -> Iterator[Spelling]:
    elems = {e.name: e for e in (f16, bf16, tf32, e4m3, e5m2, i8, u8, f32, i32)}
    for name, form in FORMS.items():
        for other in form.b:
            for d in form.d:
                kinds: dict[str, Any] = {"elem_a": elems[name], "elem_b": elems[other], "elem_d": elems[d]}
                yield _mma(f"{name} {other} {d}", 16, **kinds)
                yield _mma(f"{name} {other} {d} rs", 8, registers=True, **kinds)
                yield _sparse(f"{name} {other} {d}", 16, **kinds)
                yield _sparse(f"{name} {other} {d} rs", 8, registers=True, **kinds)
    types: dict[str, Any] = {"elem_a": bf16, "elem_b": bf16}
    for n in range(8, 257, 8):
        yield _mma(f"n {n}", n, **types)
        yield _sparse(f"n {n}", n, **types)
    yield _mma("major", 64, a_major="MN", b_major="MN", **types)
    yield _mma("rs major", 64, registers=True, b_major="MN", **types)
    yield _mma("negated", 64, scale_a=-1, scale_b=-1, **types)
    yield _mma("fenced", 64, fence=True, **types)
    yield _mma("saturating", 48, saturate=True, elem_a=i8, elem_b=i8, elem_d=i32)
    steps = ((0, 0), (32, 32), (64, 2048), (96, 4096))
    yield _mma("steps", 128, steps=steps, **types)
    yield _mma("rs steps", 128, registers=True, steps=steps, fence=True, **types)
    yield _sparse("major", 64, a_major="MN", b_major="MN", **types)
    yield _sparse("variants", 64, scale_a=-1, fence=True, **types)
    yield _sparse("saturating", 48, saturate=True, elem_a=i8, elem_b=i8, elem_d=i32)
    yield _sparse("steps", 128, steps=(*steps, (128, 64)), **types)
    yield Spelling("wgmma.fence", (), wgmma.Fence)
    acc = Vec(f32, 32)
    fence = lambda a, b, c: wgmma.Fence((a, b, c))  # noqa: E731
    yield Spelling("wgmma.fence values", (acc, InFlight(acc), Vec(bf16, 8)), fence)
    yield Spelling("wgmma.commit_group", (), wgmma.CommitGroup)
    yield Spelling("wgmma.wait_group", (), lambda: wgmma.WaitGroup(1))
    wait = lambda a, b, c: wgmma.WaitGroup(0, (a, c), (b,))  # noqa: E731
    yield Spelling("wgmma.wait_group values", (InFlight(acc), InFlight(Vec(i32, 16)), InFlight(Vec(f16, 16))), wait)
    yield Spelling("wgmma.fence_operand", (acc, Vec(bf16, 8)), lambda a, b: wgmma.FenceOperand((a, b)))
    yield Spelling("wgmma.fence_operand, not held", (acc,), lambda a: wgmma.FenceOperand((a,), False))
    yield Spelling("wgmma.descriptor", (TILE,), wgmma.Descriptor)


def _mma(name: str, n: int, registers: bool = False, **fields: Any) -> Spelling:
    elem_a, elem_d = fields["elem_a"], fields.get("elem_d", f32)
    acc = Vec(elem_d, n // 2)
    steps = fields.get("steps", ((0, 0),))
    a: Type = Vec(elem_a, 16 // elem_a.bytes * len(steps)) if registers else u64
    fence = bool(fields.pop("fence", registers))
    d: Type = acc if fence else InFlight(acc)
    make = lambda d, a, b, p: wgmma.MmaAsync(d, a, b, p, n=n, fence=fence, **fields)  # noqa: E731
    return Spelling(f"wgmma.mma_async {name}", (d, a, u64, boolean), make)


def _sparse(name: str, n: int, **fields: Any) -> Spelling:
    dense = _mma(name, n, **fields)
    known = {key: value for key, value in fields.items() if key not in ("registers", "fence")}
    fence = not isinstance(dense.types[0], InFlight)
    words = Vec(u32, words_for(fields["elem_a"], len(fields.get("steps", ((0, 0),)))))
    make = lambda d, a, b, p, m: wgmma.MmaAsyncSp(d, a, b, p, n=n, fence=fence, meta=m, **known)  # noqa: E731
    return Spelling(f"wgmma.mma_async.sp {name}", (*dense.types, words), make)


def _cluster() -> Iterator[Spelling]:
    for relaxed in (False, True):
        yield Spelling(f"barrier.cluster.arrive {relaxed}", (), lambda r=relaxed: cluster.ClusterArrive(r))
    yield Spelling("barrier.cluster.wait", (), cluster.ClusterWait)
    yield Spelling("mapa", (SMEM, i32), cluster.Mapa)
    yield Spelling("mapa tensor", (TILE, i32), cluster.Mapa)
    yield Spelling("getctarank", (SMEM,), cluster.Getctarank)
    for t in (u32, f32, i64, f64, Vec(f32, 2), Vec(u32, 4), Vec(f64, 2)):
        yield Spelling(f"st.async {t}", (REMOTE, t, REMOTE), cluster.StAsync)
    for kind, elems in cluster.RED_ASYNC.items():
        for name in elems:
            elem = next(e for e in (u32, i32, u64, i64) if e.name == name)
            red = lambda p, a, b, k=kind: cluster.RedAsync(k, p, a, b)  # noqa: E731
            yield Spelling(f"red.async {kind} {name}", (REMOTE, elem, REMOTE), red)
    yield Spelling("griddepcontrol.wait", (), cluster.GridWait)
    yield Spelling("griddepcontrol.launch_dependents", (), cluster.LaunchDependents)
    yield Spelling("setmaxnreg.inc", (), lambda: registers.SetMaxNRegInc(240))
    yield Spelling("setmaxnreg.dec", (), lambda: registers.SetMaxNRegDec(24))
    yield Spelling("elect.sync", (u32,), registers.Elect)
