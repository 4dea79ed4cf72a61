"""What the Hopper ops refuse, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from cutelite.ir.function import Value
from cutelite.ir.op import REGISTRY, Op
from cutelite.ir.types import (
    InFlight,
    Ptr,
    Tensor,
    TensorMap,
    Type,
    Vec,
    bf16,
    boolean,
    e4m3,
    f16,
    f32,
    i8,
    i32,
    i64,
    mbarrier,
    u8,
    u16,
    u64,
)
from cutelite.ir.verifier import verify
from cutelite.layout import Layout
from cutelite.ops import cluster, cp_async, registers, tma, wgmma
from cutelite.ops import mbarrier as bar
from cutelite.ops.swizzles import SWIZZLES
from tests.hopper.spellings import spellings
from tests.spelled import Spelling

SMEM, GMEM, REMOTE = Ptr("smem", 16), Ptr("gmem", 16), Ptr("cluster", 16)
BAR = Tensor(mbarrier, "smem", Layout(1, 1), 8)
MAP = TensorMap(bf16, Layout((512, 512), (512, 1)), (64, 64), "128B")
TILE = Tensor(bf16, "smem", Layout((64, 64), (64, 1)), 1024, SWIZZLES["128B"])
ACC = Vec(f32, 64)


def mma(**fields: object) -> Callable[..., Op]:
    given = {"n": 128, "elem_a": bf16, "elem_b": bf16, **fields}
    return lambda d, a, b, p: wgmma.MmaAsync(d, a, b, p, **given)


WRONG: list[tuple[Callable[..., Op], tuple[Type, ...], str]] = [
    (lambda d, s: cp_async.CpAsync(d, s, 12), (SMEM, GMEM), "copies 4, 8 or 16 bytes, not 12"),
    (lambda d, s: cp_async.CpAsync(d, s, 8, "cg"), (SMEM, GMEM), "cp.async.cg copies 16 bytes, not 8"),
    (lambda d, s: cp_async.CpAsync(d, s, 16), (Ptr("smem", 8), GMEM), "a multiple of 16 bytes, but is known .* of 8"),
    (lambda d, s: cp_async.CpAsync(d, s, 16), (GMEM, SMEM), "in global memory, but must be in this block's shared"),
    (lambda d, s: cp_async.CpAsync(d, s, 4, prefetch=32), (SMEM, GMEM), "0, 64, 128 or 256 bytes, not 32"),
    (lambda: cp_async.CpAsyncWaitGroup(-1), (), "from 0 on, not -1"),
    (lambda: cp_async.CreatePolicy("evict"), (), "'evict' is none of"),
    (lambda: cp_async.CreatePolicy("evict_last", 1.5), (), "the fraction is 1.5"),
    (lambda d, s, n: cp_async.CpAsyncBulk(d, s, n), (SMEM, GMEM, i32), "needs an mbarrier"),
    (lambda d, s, n, b: cp_async.CpAsyncBulk(d, s, n, b), (GMEM, SMEM, i32, BAR), "ends in a bulk group"),
    (lambda d, s, n: cp_async.CpAsyncBulk(d, s, n), (GMEM, GMEM, i32), "cannot copy from ptr<gmem,16> to ptr<gmem,16>"),
    (lambda d, s, n, b: cp_async.CpAsyncBulk(d, s, n, b), (REMOTE, SMEM, i32, BAR), "must be in the cluster's shared"),
    (
        lambda d, s, n: cp_async.CpReduceAsyncBulk("min", f32, d, s, n),
        (GMEM, SMEM, i32),
        "a bulk min does not take f32",
    ),
    (lambda b, n: bar.Init(b, n), (SMEM, f32), "`count` of mbarrier.init is f32, but must be i32 or u32"),
    (lambda b, n: bar.Init(b, n), (Ptr("smem", 4), i32), "a multiple of 8 bytes, but is known to be one of 4"),
    (lambda b, n: bar.Init(b, n), (replace(BAR, elem=u64), i32), "a tensor of u64, but must be one of mbarrier"),
    (lambda b, n: bar.Init(b, n), (REMOTE, i32), "in the cluster's shared memory, but must be in this block's"),
    (lambda b, p: bar.Wait(b, p), (BAR, boolean), "`phase` of mbarrier.wait is bool"),
    (lambda b, p: bar.Wait(b, p, "gpu"), (BAR, i32), "within the 'cta' or the 'cluster', not 'gpu'"),
    (lambda m, i, d, b: tma.TensorG2S(m, (i,), d, b), (MAP, i32, TILE, BAR), "1 coordinates into a tensor of 2 modes"),
    (lambda m, i, d, b: tma.TensorG2S(m, (i, i), d, b), (MAP, i64, TILE, BAR), "a TMA coordinate is an i32, not i64"),
    (lambda m, i, d, b: tma.TensorG2S(m, (i, i), d, b), (TILE, i32, TILE, BAR), "takes a TMA descriptor, not tensor"),
    (
        lambda m, i, d, b: tma.TensorG2S(m, (i, i), d, b),
        (MAP, i32, replace(TILE, swizzle=None), BAR),
        "swizzled by None, but the tensor map by 128B",
    ),
    (
        lambda m, i, d, b: tma.TensorG2S(m, (i, i), d, b),
        (MAP, i32, replace(TILE, elem=f32), BAR),
        "the tile holds f32, the tensor bf16",
    ),
    (
        lambda m, i, d, b: tma.TensorG2S(m, (i, i), d, b),
        (MAP, i32, replace(TILE, layout=Layout((64, 64), (1, 64))), BAR),
        r"TMA moves a row-major box of \(64, 64\)",
    ),
    (
        lambda m, i, d, b: tma.TensorG2S(m, (i, i), d, b),
        (MAP, i32, replace(TILE, layout=Layout((32, 64), (64, 1))), BAR),
        r"TMA moves a row-major box of \(64, 64\)",
    ),
    (
        lambda m, i, d, b: tma.TensorG2S(m, (i, i), d, b),
        (MAP, i32, replace(TILE, align=512), BAR),
        "must be a multiple of 1024 bytes",
    ),
    (
        lambda m, i, s: tma.TensorReduce(m, (i, i), "and", s),
        (MAP, i32, TILE),
        "a bulk and does not take bf16",
    ),
    (lambda: tma.FenceProxyAsync("shared"), (), "'shared' is none of"),
    (mma(n=100), (ACC, u64, u64, boolean), "n is 100; wgmma on bf16 takes a multiple of 8, from 8 to 256"),
    (mma(n=40, elem_a=i8, elem_b=i8, elem_d=i32), (ACC, u64, u64, boolean), "a multiple of 8 up to 32 and of 16 above"),
    (mma(elem_a=f32), (ACC, u64, u64, boolean), "wgmma does not multiply f32 times bf16 into f32"),
    (mma(elem_b=f16), (ACC, u64, u64, boolean), "wgmma does not multiply bf16 times f16 into f32"),
    (mma(elem_d=f16), (ACC, u64, u64, boolean), "wgmma does not multiply bf16 times bf16 into f16"),
    (mma(), (ACC, u64, u64, boolean), "needs a fence before it"),
    (mma(), (InFlight(Vec(f32, 32)), u64, u64, boolean), "must be vec<f32,64> for n = 128"),
    (mma(), (InFlight(ACC), Vec(bf16, 8), u64, boolean), "A was written by ordinary code"),
    (mma(fence=True), (ACC, Vec(bf16, 4), u64, boolean), "must be a descriptor .* or vec<bf16,8> in registers"),
    (mma(), (InFlight(ACC), u64, i32, boolean), "B is i32, but must be a descriptor"),
    (mma(), (InFlight(ACC), u64, u64, i32), "accumulate is i32, not bool"),
    (mma(elem_a=e4m3, elem_b=e4m3, b_major="MN"), (InFlight(ACC), u64, u64, boolean), "e4m3 operands must be K-major"),
    (mma(scale_a=2), (InFlight(ACC), u64, u64, boolean), "scale_a is 2; bf16 takes 1 or -1"),
    (
        mma(elem_a=u8, elem_b=i8, elem_d=i32, scale_b=-1),
        (InFlight(Vec(i32, 64)), u64, u64, boolean),
        "scale_b is -1; u8 takes 1",
    ),
    (mma(saturate=True), (InFlight(ACC), u64, u64, boolean), "only integers saturate, not f32"),
    (mma(steps=((0, 8),)), (InFlight(ACC), u64, u64, boolean), "are not pairs of multiples of 16 bytes"),
    (mma(steps=()), (InFlight(ACC), u64, u64, boolean), "are not pairs of multiples of 16 bytes"),
    (lambda t: wgmma.Descriptor(t), (GMEM,), "must be in this block's shared memory"),
    (
        lambda t: wgmma.Descriptor(t),
        (replace(TILE, layout=Layout((64, 64), (72, 1))),),
        "wgmma cannot read this tile: row 1 lies 144 bytes",
    ),
    (lambda v: wgmma.Fence((v,)), (f32,), "takes vectors in registers, not f32"),
    (lambda v: wgmma.WaitGroup(0, (v,)), (ACC,), "takes accumulators in flight, not vec<f32,64>"),
    (lambda: wgmma.WaitGroup(8), (), "takes 0 to 7 groups, not 8"),
    (lambda v: wgmma.FenceOperand((v,)), (f32,), "takes vectors of whole registers, not f32"),
    (lambda p, r: cluster.Mapa(p, r), (REMOTE, i32), "must be in this block's shared memory"),
    (lambda p, a, b: cluster.StAsync(p, a, b), (REMOTE, f16, REMOTE), "takes 32 or 64 bits, .* not f16"),
    (
        lambda p, a, b: cluster.StAsync(p, a, b),
        (REMOTE, Vec(u64, 4), REMOTE),
        "16 bytes at most, and vec<u64,4> has 32",
    ),
    (lambda p, a, b: cluster.StAsync(p, a, b), (SMEM, f32, REMOTE), "must be in the cluster's shared memory"),
    (lambda p, a, b: cluster.RedAsync("min", p, a, b), (REMOTE, u64, REMOTE), "red.async min takes u32, i32, not u64"),
    (lambda: registers.SetMaxNRegInc(100), (), "a multiple of 8 from 24 to 256, not 100"),
    (lambda: registers.SetMaxNRegDec(16), (), "a multiple of 8 from 24 to 256, not 16"),
]


@pytest.mark.parametrize(("make", "types", "words"), WRONG, ids=[words[:40] for _, _, words in WRONG])
def test_refused(make: Callable[..., Op], types: tuple[Type, ...], words: str) -> None:
    problems = list(make(*map(Value, types)).verify())
    assert problems, "nothing was found wrong"
    with pytest.raises(ValueError, match=words):
        raise ValueError(problems[0].message)


def test_a_multicast_store_makes_no_sense() -> None:
    values = map(Value, (REMOTE, SMEM, i32, REMOTE, u16))
    d, s, n, b, m = values
    assert "can be multicast" in next(iter(cp_async.CpAsyncBulk(d, s, n, b, m).verify())).message


MODULES = (cp_async, bar, tma, wgmma, cluster, registers)


def ops() -> list[type[Op]]:
    """Every op that these modules declare."""
    names = {module.__name__ for module in MODULES}
    return [cls for cls in REGISTRY.values() if cls.__module__ in names]


@pytest.mark.parametrize("cls", ops(), ids=lambda cls: cls.name)
def test_declared_in_full(cls: type[Op]) -> None:
    """Documented, with its source, what it needs of the GPU, a spelling, and a meaning in the simulator."""
    assert cls.__doc__
    assert "PTX ISA" in cls.source
    assert cls.feature
    assert cls.simulate is not Op.simulate
    assert cls.ptx is not Op.ptx or cls.llvm is not Op.llvm
    assert any(isinstance(s.make(*map(Value, s.types)), cls) for s in SPELLINGS)


SPELLINGS: list[Spelling] = list(spellings())


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda s: s.name)
def test_every_spelling_verifies(spelling: Spelling) -> None:
    verify(spelling.function())
