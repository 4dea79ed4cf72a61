"""Tensor memory, and the products whose accumulators lie there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from cutelite.ir.types import (
    SCALARS,
    InFlight,
    Ptr,
    Tensor,
    Type,
    Vec,
    bf16,
    boolean,
    e4m3,
    f16,
    f32,
    i8,
    i32,
    u16,
    u32,
    u64,
)
from cutelite.layout import Layout
from cutelite.ops import tcgen05
from cutelite.ops.tcgen05_layouts import COPIES, KINDS, SCALED_KINDS, SHAPES, accumulator_layout, kind_of
from tests.vocabulary import row
from tests.vocabulary.places import BAR, GMEM, REMOTE, SMEM, TILE
from tests.vocabulary.row import Form, of

Row = partial(row.Row, alone=True, tested="tests/blackwell/test_tcgen05.py")
SCALES = "tests/blackwell/test_scales.py"
TMEM = Ptr("tmem", 4)
BF16: dict[str, Any] = {"elem_a": bf16, "elem_b": bf16}
STEPS = ((0, 0), (32, 32), (64, 2048), (96, 4096))


def accumulator(m: int, n: int, elem: Any = f32, cta_group: int = 1) -> Tensor:
    return Tensor(elem, "tmem", accumulator_layout(m, n, elem, cta_group), elem.bytes)


def product(m: int, n: int, a: Type = u64, **fields: Any) -> Form:
    d = accumulator(m, n, fields.get("elem_d", f32), fields.get("cta_group", 1))
    return of(d, a, u64, boolean, m=m, n=n, **fields)


def products() -> Iterator[Form]:
    for kind in KINDS.values():
        for a in kind.ab:
            for b in kind.ab:
                for d in kind.d:
                    types = {"elem_a": SCALARS[a], "elem_b": SCALARS[b], "elem_d": SCALARS[d]}
                    if kind_of(*types.values()):
                        yield product(128, 64, **types)
                        yield product(64, 32, a=TMEM, **types)
    for n in (8, 16, 24, 32, 64, 256):
        yield product(64, n, **BF16)
        if n % 16 == 0:
            yield product(128, n, **BF16)
        if n % 32 == 0:
            yield product(128, n, cta_group=2, **BF16)
            yield product(256, n, cta_group=2, **BF16)
    yield product(128, 64, a_major="MN", b_major="MN", **BF16)
    yield product(128, 64, negate_a=True, negate_b=True, **BF16)
    yield product(128, 64, saturate=True, elem_a=i8, elem_b=i8, elem_d=i32)
    yield product(128, 64, steps=STEPS, **BF16)
    yield product(128, 64, a=TMEM, steps=((0, 0), (8, 32)), **BF16)
    yield product(128, 64, mask=(u32,) * 4, **BF16)
    yield product(256, 64, mask=(u32,) * 8, cta_group=2, steps=STEPS, **BF16)
    for collector in ("fill", "use", "lastuse", "discard"):
        yield product(128, 64, collector=collector, **BF16)


def refused(words: str, *types: Type, **fields: Any) -> tuple[Form, str]:
    types = (*types, *(accumulator(128, 64), u64, u64, boolean)[len(types) :])
    return of(*types, **{"m": 128, "n": 64, **BF16, **fields}), words


def scaled() -> Iterator[Form]:
    for name, kind in SCALED_KINDS.items():
        types = [SCALARS["u8"]] if kind.packed else [SCALARS[t] for t in kind.ab]
        for block, scale in ((block, scale) for block, found in kind.scales.items() for scale in found):
            for elem in types:
                how: dict[str, Any] = {"scaled": name, "block": block, "scale": scale, "steps": STEPS}
                yield product(128, 64, elem_a=elem, elem_b=types[0], scale_a=TMEM, scale_b=TMEM, **how)
    yield product(128, 256, elem_a=e4m3, elem_b=e4m3, scale_a=TMEM, scale_b=TMEM, a_major="K", negate_a=True)


def scaled_refused(words: str, **fields: Any) -> tuple[Form, str]:
    how: dict[str, Any] = {"m": 128, "n": 64, "elem_a": e4m3, "elem_b": e4m3, **fields}
    return of(accumulator(128, 64), u64, u64, boolean, scale_a=TMEM, scale_b=TMEM, **how), words


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
            (of(SMEM, 96), "there are allocations of 32, 64, 128, 256, 512"),
            (of(SMEM, 32, 3), "cta_group is 1, or 2 for a pair"),
        ],
    ),
    Row(
        tcgen05.Dealloc,
        "cl.tcgen05.dealloc",
        [of(TMEM, 32), of(TMEM, 512, 2)],
        refuses=[(of(SMEM, 32), "must be in tensor memory"), (of(TMEM, 16), "there are allocations of 32")],
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
        tcgen05.Mma,
        "cl.tcgen05.mma",
        list(products()),
        refuses=[
            refused("tcgen05.mma does not multiply f32 times bf16 into f32", elem_a=f32),
            refused("does not multiply bf16 times f16 into f32", elem_b=f16),
            refused("does not multiply bf16 times bf16 into f16", elem_d=f16),
            refused("M is 96; with cta_group::1 it is 64 or 128", m=96),
            refused("M is 64; with cta_group::2 it is 128 or 256", m=64, cta_group=2),
            refused("N is 24; for M = 128 of kind::f16 it is a multiple of 16, from 16 to 256", n=24),
            refused("N is 48; for M = 256 of kind::f16 it is a multiple of 32", m=256, n=48, cta_group=2),
            refused("the accumulator is .*, but must be f32 in tensor memory", accumulator(128, 32)),
            refused("the accumulator is .*, but must be f32 in tensor memory", Vec(f32, 64)),
            refused("`a` of tcgen05.mma is in .*, but must be in tensor memory", accumulator(128, 64), SMEM),
            refused("A in tensor memory has no major mode but K", accumulator(128, 64), TMEM, a_major="MN"),
            refused("B is i32, but must be a descriptor", accumulator(128, 64), u64, i32),
            refused("accumulate is i32, not bool", accumulator(128, 64), u64, u64, i32),
            refused("tf32 operands must be K-major", elem_a=SCALARS["tf32"], elem_b=SCALARS["tf32"], b_major="MN"),
            refused("`saturate` is for integers", saturate=True),
            refused("are not pairs of multiples of 16 bytes", steps=((8, 0),)),
            refused("in shared memory multiples of 16 bytes", steps=((0, 8),)),
            refused("a mask of lanes is 4 words of u32", mask=(u32,) * 8),
            refused("'keep' is none of fill, use", collector="keep"),
        ],
    ),
    Row(
        tcgen05.MmaScaled,
        "cl.tcgen05.mma_scaled",
        list(scaled()),
        tested=SCALES,
        refuses=[
            scaled_refused("'mxf6' is none of mxf8f6f4, mxf4, mxf4nvf4", scaled="mxf6"),
            scaled_refused("kind::mxf8f6f4 multiplies e4m3 and e5m2 into f32", elem_a=bf16),
            scaled_refused("kind::mxf4 multiplies u8 into f32", scaled="mxf4"),
            scaled_refused("blocks of 16 scaled by ue8m0: kind::mxf8f6f4 has those of 32 by ue8m0", block=16),
            scaled_refused("are of 128 rows of one block here, not of 64", m=64),
            scaled_refused("N is 24; for M = 128 of kind::mxf8f6f4 it is a multiple of 16", n=24),
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
        [of(TMEM, u64, shape, group) for shape in COPIES for group in (1, 2)],
        tested=SCALES,
        refuses=[(of(SMEM, u64), "must be in tensor memory"), (of(TMEM, u64, "8x8b"), "'8x8b' is none of 128x256b")],
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
    Row(tcgen05.FenceBefore, "cl.tcgen05.fence_before_thread_sync", [of()]),
    Row(tcgen05.FenceAfter, "cl.tcgen05.fence_after_thread_sync", [of()]),
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
        tcgen05.Store,
        "cl.tcgen05.store",
        list(transfers(store=True)),
        refuses=[
            (of(TMEM, a=f32), "takes a vector in registers, not f32"),
            (of(TMEM, "32x32b", 4, a=Vec(f32, 8)), "does not fill the 4 registers of 32x32b.x4"),
        ],
    ),
]
