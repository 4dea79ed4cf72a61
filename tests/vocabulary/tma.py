"""Copies of tiles by tensor maps, and fences between proxies."""

from dataclasses import replace
from functools import partial

from cutelite.ir.types import Tensor, TensorMap, bf16, f32, i32, i64, u16, u32, u64
from cutelite.layout import Layout
from cutelite.ops import cp_async, tma
from tests.vocabulary import row
from tests.vocabulary.places import BAR, GMEM, MAP, REMOTE, TILE, tensor_map, tile
from tests.vocabulary.row import of

Row = partial(row.Row, alone=True, tested="tests/hopper/test_tma.py")
RANKS = range(1, 6)
I64_TILE = Tensor(i64, "smem", Layout((64, 64), (64, 1)), 1024, TILE.swizzle)
U32_TILE = Tensor(u32, "smem", Layout((64, 64), (64, 1)), 1024, TILE.swizzle)
ROWS_MAP, ROWS_TILE = replace(MAP, box=(1, 64)), replace(TILE, layout=Layout((4, 64), (64, 1)))
REACHES = ("cta", "cluster", "gpu", "sys")
PAIR = (i32, i32)

PIXELS = replace(TILE, layout=Layout((32, 64), (64, 1)))


def images(modes: int) -> TensorMap:
    """Return the tensor map of rows of 32 pixels, with 64 channels each, under a filter of 3."""
    strides = *(64 * 20**i for i in reversed(range(modes - 1))), 1
    layout = Layout((4, *(20,) * (modes - 2), 64), strides)
    return TensorMap(bf16, layout, (32, 64), "128B", corners=(-1,) * 2 * (modes - 2))


def inner(modes: int) -> TensorMap:
    """Return the same with corners that stores take."""
    return replace(images(modes), corners=(0,) * (modes - 2) + (-2,) * (modes - 2))


def one_row(modes: int, wide: str = "w") -> TensorMap:
    """Return the tensor map of pixels along one row of images: 32 of them, or 128."""
    return replace(images(modes), box=(128 if wide == "w128" else 32, 64), corners=(-1, -1), wide=wide)


def with_halo(pixels: int) -> Tensor:
    return replace(TILE, layout=Layout((pixels, 64), (64, 1)))


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
        ]
        + [of(tensor_map(2), (i32, i32), tile(2), bar, u16, u64, True) for bar in (BAR, REMOTE)],
        refuses=[
            (of(MAP, (i32,), TILE, BAR), "1 coordinates into a tensor of 2 modes"),
            (of(MAP, (i64, i64), TILE, BAR), "a TMA coordinate is an i32, not i64"),
            (of(TILE, PAIR, TILE, BAR), "takes a TMA descriptor, not tensor"),
            (of(images(4), PAIR, PIXELS, BAR), "moves boxes, and the map is for pixels"),
            (of(MAP, PAIR, replace(TILE, swizzle=None), BAR), "swizzle is none, but the tensor map's is 128B"),
            (of(MAP, PAIR, replace(TILE, elem=f32), BAR), "the tile holds f32, the tensor bf16"),
            *(
                (of(MAP, PAIR, replace(TILE, layout=layout), BAR), r"TMA moves a row-major box of \(64, 64\)")
                for layout in (Layout((64, 64), (1, 64)), Layout((32, 64), (64, 1)))
            ),
            (of(MAP, PAIR, replace(TILE, align=64), BAR), "must be a multiple of 128 bytes"),
        ],
    ),
    Row(
        tma.TensorS2G,
        "cl.tma_store",
        [of(tensor_map(rank), (i32,) * rank, tile(rank), policy) for rank in RANKS for policy in (None, u64)],
    ),
    Row(
        tma.TensorGather4,
        "cl.tma_gather4",
        [
            of(ROWS_MAP, (i32,) * 5, ROWS_TILE, bar, mask, policy, pair)
            for bar, mask, pair in ((BAR, None, False), (BAR, u16, False), (REMOTE, None, True), (REMOTE, u16, True))
            for policy in (None, u64)
        ],
        tested="tests/blackwell/test_tma.py",
        refuses=[
            (of(MAP, (i32,) * 5, ROWS_TILE, BAR), r"takes a matrix by boxes of one row, not by \(64, 64\)"),
            (of(ROWS_MAP, (i32,) * 4, ROWS_TILE, BAR), "a column and four rows are needed"),
            (of(ROWS_MAP, (i32,) * 5, TILE, BAR), r"TMA moves a row-major box of \(4, 64\)"),
            (of(ROWS_MAP, (i32,) * 5, ROWS_TILE, REMOTE), "must be in this block's shared memory"),
        ],
    ),
    Row(
        tma.TensorScatter4,
        "cl.tma_scatter4",
        [of(ROWS_MAP, (i32,) * 5, ROWS_TILE, policy) for policy in (None, u64)],
        tested="tests/blackwell/test_tma.py",
    ),
    Row(
        tma.TensorGather4Prefetch,
        "cl.tma_gather4_prefetch",
        [of(ROWS_MAP, (i32,) * 5, policy) for policy in (None, u64)],
        tested="tests/blackwell/test_tma.py",
    ),
    Row(
        tma.TensorIm2col,
        "cl.tma_im2col",
        [
            of(images(modes), (i32,) * modes, (u16,) * (modes - 2), PIXELS, bar, mask, policy, pair)
            for modes, bar, mask, pair in (
                (3, BAR, None, False),
                (4, BAR, u16, False),
                (5, BAR, None, False),
                (4, REMOTE, u16, True),
            )
            for policy in (None, u64)
        ],
        tested="tests/hopper/test_im2col.py",
        refuses=[
            (of(MAP, PAIR, (), TILE, BAR), "takes an im2col map, not tensormap"),
            (of(images(4), (i32,) * 3, (u16,) * 2, PIXELS, BAR), "3 coordinates into a tensor of 4 modes"),
            (of(images(4), (i32,) * 4, (i32,) * 2, PIXELS, BAR), "2 offsets of u16 are needed"),
            (of(images(4), (i32,) * 4, (u16,) * 2, TILE, BAR), r"TMA moves a row-major box of \(32, 64\)"),
        ],
    ),
    Row(
        tma.TensorIm2colW,
        "cl.tma_im2col_w",
        [
            *(
                of(one_row(n), (i32,) * n, u16, 2, with_halo(34), BAR, None, policy)
                for n in (3, 4)
                for policy in (None, u64)
            ),
            of(one_row(4, "w128"), (i32,) * 4, u16, 2, with_halo(136), BAR, u16),
            of(one_row(5, "w128"), (i32,) * 5, u16, 0, with_halo(128), REMOTE, u16, u64, True),
        ],
        tested="tests/blackwell/test_tma.py",
        refuses=[
            (of(images(4), (i32,) * 4, u16, 0, PIXELS, BAR), "takes an im2col map of one row of images, not"),
            (of(one_row(4), (i32,) * 4, i32, 0, PIXELS, BAR), "must be u16"),
            (of(one_row(4), (i32,) * 4, u16, -1, PIXELS, BAR), "`halo` of .* is -1, but must"),
            (of(one_row(4), (i32,) * 4, u16, 2, PIXELS, BAR), r"TMA moves a row-major box of \(34, 64\)"),
        ],
    ),
    Row(
        tma.TensorIm2colWPrefetch,
        "cl.tma_im2col_w_prefetch",
        [of(one_row(4, wide), (i32,) * 4, u16, 2, u64) for wide in ("w", "w128")],
        tested="tests/blackwell/test_tma.py",
    ),
    Row(
        tma.TensorIm2colStore,
        "cl.tma_im2col_store",
        [of(inner(modes), (i32,) * modes, PIXELS, policy) for modes in (3, 4, 5) for policy in (None, u64)],
        tested="tests/hopper/test_im2col.py",
    ),
    Row(
        tma.TensorIm2colReduce,
        "cl.tma_im2col_reduce",
        [
            of(inner(modes), (i32,) * modes, kind, PIXELS, policy)
            for modes, kind in ((3, "add"), (4, "min"), (5, "max"))
            for policy in (None, u64)
        ],
        tested="tests/hopper/test_im2col.py",
        refuses=[
            (of(inner(4), (i32,) * 4, "and", PIXELS), "a bulk and does not take bf16"),
            (of(images(4), (i32,) * 4, "add", PIXELS), "lower corners below 0 are for loads alone"),
            (of(MAP, PAIR, "add", TILE), "takes an im2col map, not tensormap"),
        ],
    ),
    Row(
        tma.TensorIm2colPrefetch,
        "cl.tma_im2col_prefetch",
        [of(images(modes), (i32,) * modes, (u16,) * (modes - 2), u64) for modes in (3, 4, 5)],
        tested="tests/hopper/test_im2col.py",
        refuses=[(of(images(4), (i32,) * 4, (u16,)), "2 offsets of u16 are needed")],
    ),
    Row(
        tma.TensorReduce,
        "cl.tma_reduce",
        [of(tensor_map(2, u32), PAIR, kind, U32_TILE) for kind in cp_async.REDUCTIONS],
        refuses=[
            (of(MAP, PAIR, "and", TILE), "a bulk and does not take bf16"),
            (of(tensor_map(2, i64), PAIR, "add", I64_TILE), "a bulk add does not take i64"),
        ],
    ),
    Row(tma.TensorPrefetch, "cl.tma_prefetch", [of(tensor_map(rank), (i32,) * rank, u64) for rank in RANKS]),
    Row(tma.PrefetchTensormap, "cl.prefetch_tensormap", [of(tensor_map(2))]),
    Row(
        tma.FenceProxyAsync,
        "cl.fence_proxy_async",
        [of(space) for space in tma.PROXY_SPACES],
        refuses=[(of("shared"), "`space` of .* is 'shared', but must")],
    ),
    Row(
        tma.FenceProxyTensormap,
        "",
        [form for reach in REACHES for form in (of(reach=reach), of(tensor_map(2), reach), of(GMEM, reach))],
    ),
]
