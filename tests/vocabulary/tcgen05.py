"""Tensor memory, and the products whose accumulators lie there."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from cutelite.ir.types import InFlight, Ptr, Tensor, Vec, f16, f32, i32, u16, u32, u64
from cutelite.layout import Layout
from cutelite.ops import tcgen05
from cutelite.ops.swizzles import SWIZZLES
from cutelite.ops.tcgen05_layouts import COPIES, SHAPES, UNPACKED, accumulator_layout
from tests.vocabulary import row
from tests.vocabulary.places import BAR, GMEM, REMOTE, SMEM, TILE
from tests.vocabulary.row import Form, of

Row = partial(row.Row, alone=True, tested="tests/blackwell/test_tcgen05.py")
SCALES = "tests/blackwell/test_scales.py"
TMEM = Ptr("tmem", 4)


def accumulator(m: int, n: int, elem: Any = f32, cta_group: int = 1, ws: bool = False, sparse: bool = False) -> Tensor:
    return Tensor(elem, "tmem", accumulator_layout(m, n, elem, cta_group, ws, sparse), elem.bytes)


def reductions() -> Iterator[Form]:
    for shape, split in (("32x32b", 0), ("16x32bx2", 16)):
        for repeats in (2, 4, 8, 16, 32, 64, 128):
            yield of(TMEM, shape, repeats, split=split, kind="min")
        for kind in ("min", "max"):
            yield of(TMEM, shape, 2, split=split, kind=kind, elem=u32)
            yield of(TMEM, shape, 2, split=split, kind=kind, elem=i32)
            yield of(TMEM, shape, 2, split=split, kind=kind, abs=True)
            yield of(TMEM, shape, 4, split=split, kind=kind, nan=True)
            yield of(TMEM, shape, 4, split=split, kind=kind, abs=True, nan=True)


def transfers(store: bool) -> Iterator[Form]:
    for name, shape in SHAPES.items():
        split = 16 if name == "16x32bx2" else 0
        repeats = 1
        while repeats <= shape.most:
            held = shape.registers * repeats
            more: dict[str, Any] = {"a": Vec(f32, held)} if store else {}
            yield of(TMEM, name, repeats, split=split, **more)
            more = {"a": Vec(f16, 2 * held)} if store else {"elem": f16}
            yield of(TMEM, name, repeats, True, split=split, **more)
            repeats *= 2


ROWS = [
    Row(
        tcgen05.Alloc,
        "cl.tcgen05.alloc",
        [of(SMEM, columns, group) for columns in (32, 64, 128, 256, 512) for group in (1, 2)],
        refuses=[
            (of(GMEM, 32), "must be in this block's shared memory"),
            (of(SMEM, 96), "`columns` of .* is \\d+, but must"),
            (of(SMEM, 32, 3), "`cta_group` of .* is 3, but must"),
        ],
    ),
    Row(
        tcgen05.Dealloc,
        "cl.tcgen05.dealloc",
        [of(TMEM, 32), of(TMEM, 512, 2)],
        refuses=[(of(SMEM, 32), "must be in tensor memory"), (of(TMEM, 16), "`columns` of .* is \\d+, but must")],
    ),
    Row(tcgen05.RelinquishAllocPermit, "cl.tcgen05.relinquish_alloc_permit", [of(1), of(2)]),
    Row(
        tcgen05.TmemTensor,
        "cl.tcgen05.tensor",
        [of(u32, accumulator(128, 64))],
        refuses=[
            (of(i32, accumulator(128, 64)), "must be u32"),
            (of(u32, accumulator(128, 1024)), "reaches over 1024 columns; tensor memory has 512"),
            (of(u32, replace(accumulator(128, 8), layout=Layout((256, 8), (1 << 16, 1)))), "reaches lane 255"),
            (of(u32, TILE), "is not in tensor memory"),
        ],
    ),
    Row(
        tcgen05.Descriptor,
        "",
        [of(TILE)],
        refuses=[
            (of(replace(TILE, layout=Layout((64, 64), (72, 1)))), "tcgen05.mma cannot read this tile: row 1 lies")
        ],
    ),
    Row(
        tcgen05.DeepDescriptor,
        "cl.tcgen05.mma_scaled",
        [of(TILE)],
        tested=SCALES,
        refuses=[
            (of(replace(TILE, layout=Layout((64, 64), (72, 1)))), "tcgen05.mma cannot read this tile: row 1 lies"),
            (of(replace(TILE, layout=Layout((64, 32), (32, 1)), swizzle=SWIZZLES["64B"])), "a swizzle of 128 bytes"),
        ],
    ),
    Row(
        tcgen05.PlainDescriptor,
        "cl.tcgen05.copy_scales",
        [of(SMEM)],
        tested=SCALES,
        refuses=[(of(GMEM), "must be in this block's")],
    ),
    Row(
        tcgen05.Copy,
        "cl.tcgen05.copy",
        [of(TMEM, u64, shape, group, packed) for shape in COPIES for group in (1, 2) for packed in UNPACKED],
        tested=SCALES,
        refuses=[
            (of(SMEM, u64), "must be in tensor memory"),
            (of(TMEM, u64, "8x8b"), "`shape` of .* is '8x8b', but must"),
            (of(TMEM, u64, "4x256b", 1, "b5"), "`packed` of .* is 'b5', but must"),
        ],
    ),
    Row(
        tcgen05.Shift,
        "cl.tcgen05.shift",
        [of(TMEM), of(TMEM, 2)],
        tested="tests/blackwell/test_variants.py",
        refuses=[(of(SMEM), "must be in tensor memory"), (of(TMEM, 3), "`cta_group` of .* is 3, but must")],
    ),
    Row(
        tcgen05.Start,
        "cl.tcgen05.mma",
        [of(accumulator(128, 64))],
        refuses=[(of(f32), "takes an address for `d`, not f32"), (of(SMEM), "must be in tensor memory")],
    ),
    Row(
        tcgen05.Finish,
        "cl.tcgen05.wait_commit",
        [of(InFlight(accumulator(128, 64)))],
        refuses=[(of(InFlight(Vec(f32, 32))), "takes an accumulator in flight, not inflight<vec<f32,32>>")],
    ),
    Row(
        tcgen05.Commit,
        "cl.tcgen05.commit",
        [of(BAR), of(BAR, u16), of(BAR, u16, 2), of(BAR, None, 2)],
        refuses=[(of(REMOTE), "must be in this block's shared memory"), (of(BAR, u32), "must be u16")],
    ),
    Row(tcgen05.FenceBefore, "cl.tcgen05.fence_before_thread_sync", [of()], tested="tests/blackwell/test_checks.py"),
    Row(tcgen05.FenceAfter, "cl.tcgen05.fence_after_thread_sync", [of()], tested="tests/blackwell/test_checks.py"),
    Row(
        tcgen05.WaitLoad,
        "cl.tcgen05.wait_load",
        [of(), of((InFlight(Vec(f32, 32)), InFlight(Vec(f16, 16))))],
        refuses=[(of((Vec(f32, 32),)), "takes results of tcgen05.ld in flight, not vec<f32,32>")],
    ),
    Row(tcgen05.WaitStore, "cl.tcgen05.wait_store", [of()]),
    Row(
        tcgen05.Load,
        "cl.tcgen05.load",
        list(transfers(store=False)),
        refuses=[
            (of(SMEM), "must be in tensor memory"),
            (of(TMEM, "8x8b"), "'8x8b' is none of 32x32b"),
            (of(TMEM, "32x32b", 3), "a power of two times, 1 to 128"),
            (of(TMEM, "16x256b", 64), "a power of two times, 1 to 32"),
            (of(TMEM, "32x32b", 4, split=2), "is not in two parts"),
            (of(TMEM, elem=u64), "registers of 32 bits hold no u64"),
        ],
    ),
    Row(
        tcgen05.LoadReduced,
        "cl.tcgen05.load_reduced",
        list(reductions()),
        tested="tests/blackwell/test_variants.py",
        refuses=[
            (of(TMEM, "16x64b", 2), "loads with a reduction are of 32x32b and 16x32bx2"),
            (of(TMEM, "32x32b", 1), "repeated at least 2 times"),
            (of(TMEM, "32x32b", 2, True), "of 32 bits to a column"),
            (of(TMEM, "32x32b", 2, elem=f16), "`elem` of .* is f16, but must"),
            (of(TMEM, "32x32b", 2, kind="add"), "`kind` of .* is 'add', but must"),
            (of(TMEM, "32x32b", 2, elem=u32, abs=True), "`abs` and `nan` are for f32, not u32"),
        ],
    ),
    Row(
        tcgen05.Store,
        "cl.tcgen05.store",
        list(transfers(store=True)),
        refuses=[
            (of(TMEM, a=f32), "takes a vector in registers, not f32"),
            (of(TMEM, "32x32b", 4, a=Vec(f32, 8)), "does not fill the 4 registers of 32x32b.x4"),
        ],
    ),
]
