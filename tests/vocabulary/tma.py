"""Copies of tiles by tensor maps, and fences between proxies."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cutelite.ir.types import Tensor, f32, i32, i64, u16, u32, u64
from cutelite.layout import Layout
from cutelite.ops import cp_async, tma
from tests.vocabulary import row
from tests.vocabulary.places import BAR, GMEM, MAP, REMOTE, TILE, tensor_map, tile
from tests.vocabulary.row import of

Row = partial(row.Row, alone=True, tested="tests/hopper/test_tma.py")
RANKS = range(1, 6)
U32_TILE = Tensor(u32, "smem", Layout((64, 64), (64, 1)), 1024, TILE.swizzle)
REACHES = ("cta", "cluster", "gpu", "sys")
PAIR = (i32, i32)

ROWS = [
    Row(
        tma.TensorG2S,
        "cl.tma_load",
        [
            of(tensor_map(rank), (i32,) * rank, tile(rank), BAR, *more)
            for rank in RANKS
            for more in ((None, u64), (u16,))
        ]
        + [
            of(tensor_map(2), (i32, i32), tile(2), bar, None, policy, True)
            for bar in (BAR, REMOTE)
            for policy in (None, u64)
        ],
        refuses=[
            (of(MAP, (i32,), TILE, BAR), "1 coordinates into a tensor of 2 modes"),
            (of(MAP, (i64, i64), TILE, BAR), "a TMA coordinate is an i32, not i64"),
            (of(TILE, PAIR, TILE, BAR), "takes a TMA descriptor, not tensor"),
            (of(MAP, PAIR, replace(TILE, swizzle=None), BAR), "swizzled by None, but the tensor map by 128B"),
            (of(MAP, PAIR, replace(TILE, elem=f32), BAR), "the tile holds f32, the tensor bf16"),
            *(
                (of(MAP, PAIR, replace(TILE, layout=layout), BAR), r"TMA moves a row-major box of \(64, 64\)")
                for layout in (Layout((64, 64), (1, 64)), Layout((32, 64), (64, 1)))
            ),
            (of(MAP, PAIR, replace(TILE, align=512), BAR), "must be a multiple of 1024 bytes"),
        ],
    ),
    Row(
        tma.TensorS2G,
        "cl.tma_store",
        [of(tensor_map(rank), (i32,) * rank, tile(rank), policy) for rank in RANKS for policy in (None, u64)],
    ),
    Row(
        tma.TensorReduce,
        "cl.tma_reduce",
        [of(tensor_map(2, u32), PAIR, kind, U32_TILE) for kind in cp_async.REDUCTIONS],
        refuses=[(of(MAP, PAIR, "and", TILE), "a bulk and does not take bf16")],
    ),
    Row(tma.TensorPrefetch, "cl.tma_prefetch", [of(tensor_map(rank), (i32,) * rank, u64) for rank in RANKS]),
    Row(tma.PrefetchTensormap, "cl.prefetch_tensormap", [of(tensor_map(2))]),
    Row(
        tma.FenceProxyAsync,
        "cl.fence_proxy_async",
        [of(space) for space in tma.PROXY_SPACES],
        refuses=[(of("shared"), "'shared' is none of")],
    ),
    Row(
        tma.FenceProxyTensormap,
        "",
        [form for reach in REACHES for form in (of(reach=reach), of(tensor_map(2), reach), of(GMEM, reach))],
    ),
]
