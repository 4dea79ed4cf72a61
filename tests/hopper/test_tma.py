"""TMA in the simulator, on kernels: where each byte of a tile lands, edges, ranks, stores and reductions."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Layout, Tensor, TmaTensor, bf16, f32, i32, u16
from cutelite.sim.error import SimError
from tests.hopper.test_wgmma_layouts import swizzled
from tests.pieces import barriers
from tests.places import Place

M, K, P = cl.dims("M K P")


def dumper(tile: Any, length: int) -> Any:
    """A kernel that loads one box at (row, column) and writes out the shared memory as it lies there."""

    @cl.kernel(block=32)
    def dump(src: tile, out: Tensor[u16, (length,)], row: i32, column: i32) -> None:
        box, full = cl.tma_shared(src), barriers(1)
        raw = cl.make_tensor(box.ptr, Layout(out.size, 1), u16)
        for i in range(cl.thread_idx.x, raw.size, 32):
            raw[i] = cl.u16(0)
        cl.fence_proxy_async()
        cl.syncthreads()
        if cl.elect_one():
            full[0].arrive_expect_tx(src.tile_bytes)
            cl.tma_load(src, box, at=(row, column), barrier=full[0])
        full[0].wait(0)
        for i in range(cl.thread_idx.x, raw.size, 32):
            out[i] = raw[i]

    return dump


BOXES = [
    (TmaTensor[u16, (M, K), (16, 64), "128B"], (16, 64), 128),
    (TmaTensor[u16, (M, K), (32, 32), "64B"], (32, 32), 64),
    (TmaTensor[u16, (M, K), (8, 16), "32B"], (8, 16), 32),
    (TmaTensor[u16, (M, K), (8, 32), "128B"], (8, 32), 128),  # rows lie 128 bytes apart all the same
    (TmaTensor[u16, (M, K), (4, 128), "none"], (4, 128), 16),
]


@pytest.mark.parametrize(("tile", "box", "span"), BOXES, ids=[str(box) for _, box, _ in BOXES])
@pytest.mark.parametrize(("row", "column"), [(0, 0), (8, 64), (40, 48), (-3, 80), (64, 8), (500, 504)])
def test_every_element_lands_where_it_should(
    place: Place, tile: Any, box: Any, span: int, row: int, column: int
) -> None:
    """Coordinates as values: a wrong place shows as a permutation. Outside of the tensor there are zeros."""
    shape, pitch = (48, 88), max(box[1], span // 2)
    source = (np.arange(shape[0])[:, None] * 128 + np.arange(shape[1]) + 1).astype(np.uint16)
    out = np.full(box[0] * pitch, 0xFFFF, np.uint16)
    place(dumper(tile, len(out))[1, 32], source, out, row, column)
    for i in range(box[0]):
        for j in range(box[1]):
            r, c = row + i, column + j
            inside = 0 <= r < shape[0] and 0 <= c < shape[1]
            assert out[swizzled((i * pitch + j) * 2, span) // 2] == (source[r, c] if inside else 0)


def copier(tile: Any, coords: int) -> Any:
    """A kernel that copies a box by TMA from `src` to `dst`, at other coordinates."""

    @cl.kernel(block=32)
    def copy(src: tile, dst: tile, start: i32, end: i32) -> None:
        if cl.thread_idx.x == 0:
            at = (*(start,) * (coords - 1), start * 4)
            cl.prefetch_tensormap(src)
            cl.tma_prefetch(src, at=at, cache="evict_last")
            move(src, at, dst, (end,) * coords)

    return copy


def move(src: Any, at: Any, dst: Any, to: Any, reduces: bool = False) -> None:
    """One thread: copy the box of `src` at these coordinates to those of `dst`, or add it to what is there."""
    box, full = cl.tma_shared(src), cl.shared(cl.mbarrier, (1,))
    full[0].init(1)
    cl.fence_mbarrier_init()
    full[0].arrive_expect_tx(box.nbytes)
    cl.tma_load(src, box, at=at, barrier=full[0], cache="evict_first")
    full[0].wait(0)
    if reduces:
        cl.tma_reduce(box, dst, "add", at=to)
    else:
        cl.tma_store(box, dst, at=to)
    cl.cp_async_bulk_commit_group()
    cl.cp_async_bulk_wait_group(0)


RANKS = [
    (TmaTensor[f32, (M,), (32,)], (32,), (40,)),
    (TmaTensor[f32, (M, K), (4, 8)], (4, 8), (9, 20)),
    (TmaTensor[f32, (3, M, K), (2, 4, 8)], (2, 4, 8), (3, 9, 20)),
    (TmaTensor[f32, (3, 4, M, K), (1, 2, 4, 8)], (1, 2, 4, 8), (3, 4, 9, 20)),
    (TmaTensor[f32, (2, 3, 4, M, K), (2, 1, 2, 4, 8)], (2, 1, 2, 4, 8), (2, 3, 4, 9, 20)),
]


@pytest.mark.parametrize(("tile", "box", "shape"), RANKS, ids=[f"{len(box)}d" for _, box, _ in RANKS])
def test_all_ranks_there_and_back(tile: Any, box: Any, shape: Any, scheduled: Place) -> None:
    source = np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
    result = np.zeros(shape, np.float32)
    scheduled(copier(tile, len(box))[1, 32], source, result, 1, 0)
    expected = np.zeros(shape, np.float32)
    moved = np.zeros(box, np.float32)
    there = source[(*(slice(1, 1 + b) for b in box[:-1]), slice(4, 4 + box[-1]))]
    moved[tuple(slice(0, n) for n in there.shape)] = there
    seen = tuple(slice(0, min(b, n)) for b, n in zip(box, shape, strict=True))
    expected[seen] = moved[seen]
    assert (result == expected).all()


@cl.kernel(block=128)
def epilogue(dst: TmaTensor[f32, (M, K), (32, 32)], total: TmaTensor[f32, (32, 32), (32, 32)]) -> None:
    """Ordinary stores, a fence, and two copies out of shared memory that 16 blocks make, the second adding up."""
    tile = cl.tma_shared(dst)
    x, y = cl.block_idx.x, cl.block_idx.y
    for i in range(cl.thread_idx.x, tile.size, 128):
        row, column = i // 32, i % 32
        tile[row, column] = cl.f32(1000 * (y * 32 + row) + x * 32 + column)
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    if cl.thread_idx.x == 0:
        cl.tma_store(tile, dst, at=(y * 32, x * 32))
        cl.cp_async_bulk_commit_group()
        cl.tma_reduce(tile, total, "add", at=(0, 0))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(1, read=True)
        cl.cp_async_bulk_wait_group(0)


def test_stores_stop_at_the_edge_and_reductions_add_up(scheduled: Place) -> None:
    out, total = np.full((100, 72), -1, np.float32), np.ones((32, 32), np.float32)
    scheduled(epilogue[(3, 4), 128], out, total)
    full = 1000.0 * np.arange(128)[:, None] + np.arange(96)
    assert (out == full[:100, :72]).all()
    tiles = full.reshape(4, 32, 3, 32).sum(axis=(0, 2))
    assert (total == tiles + 1).all()


def placer(dtype: Any, columns: int, reduces: bool) -> Any:
    """A kernel that stores a tile of (4, columns) by TMA at (row, column) of `dst`, or adds it to what is there."""

    source = TmaTensor[dtype, (4, columns), (4, columns), "none"]
    target = TmaTensor[dtype, (M, K), (4, columns), "none", (None, 1)]

    @cl.kernel(block=32)
    def place_tile(src: source, dst: target, row: i32, column: i32) -> None:
        if cl.thread_idx.x == 0:
            move(src, (0, 0), dst, (row, column), reduces)

    return place_tile


ENDS = [
    *((cl.u8, "uint8", n, False) for n in (1, 15, 16, 21, 32, 37)),  # bytes are not reduced
    *((cl.bf16, "bfloat16", n, reduces) for n in (1, 7, 8, 11, 20) for reduces in (False, True)),
    *((cl.f32, "float32", n, reduces) for n in (1, 2, 3, 4, 7, 11) for reduces in (False, True)),
]


@pytest.mark.parametrize(
    ("dtype", "name", "n", "reduces"), ENDS, ids=[f"{name}-{n}-{'added' if r else 'stored'}" for _, name, n, r in ENDS]
)
@pytest.mark.parametrize("chunk", [0, 1])
def test_the_last_16_bytes_of_a_row_are_written(
    place: Place, dtype: Any, name: str, n: int, reduces: bool, chunk: int
) -> None:
    """A tile two chunks of 16 bytes wide, in a tensor of `n` columns of an array four chunks wide.

    Rows outside of the tensor, and chunks in which it has no column, stay as they are.
    """
    import ml_dtypes

    unit, rows = 16 // dtype.bytes, 3
    kind = getattr(ml_dtypes, name, None) or np.dtype(name)
    whole = np.full((6, 4 * unit), 99, kind)
    tile = np.arange(8 * unit).reshape(4, 2 * unit).astype(kind)
    place(placer(dtype, 2 * unit, reduces)[1, 32], tile, whole[:rows, :n], 1, chunk * unit)
    expected = np.full((6, 4 * unit), 99, kind)
    for i in range(4):
        for j in range(2 * unit):
            row, column = 1 + i, chunk * unit + j
            if row < rows and column < -(-n // unit) * unit:
                expected[row, column] = tile[i, j] + (99 if reduces else 0)
    assert (whole == expected).all()


@pytest.mark.parametrize("reduces", [False, True])
@pytest.mark.parametrize("to", [(-1, 0), (0, -4)])
def test_stores_at_negative_coordinates(to: tuple[int, int], reduces: bool) -> None:
    """An illegal instruction on an H200, and so not run there."""
    with pytest.raises(SimError, match=r"a TMA store or reduction at \(") as caught:
        placer(f32, 8, reduces)[1, 32](np.ones((4, 8), np.float32), np.zeros((8, 16), np.float32), *to)
    assert caught.value.code == "out-of-bounds"


@cl.kernel(block=32)
def wide(src: TmaTensor[bf16, (M, K), (16, 64)], out: Tensor[bf16, (32, 128)]) -> None:
    """A tile of four boxes: one call starts four copies, and the tile's own layout says where each goes."""
    tile = cl.shared(bf16, Layout((32, (64, 2)), (64, (1, 2048))), swizzle=cl.Swizzle(3, 4, 3))
    full = barriers(1)
    if cl.thread_idx.x == 0:
        full[0].arrive_expect_tx(tile.nbytes)
        cl.tma_load(src, tile, at=(16, 64), barrier=full[0])
    cl.syncthreads()
    full[0].wait(0)
    for i in range(cl.thread_idx.x, 32 * 128, 32):
        out[i // 128, i % 128] = tile[i // 128, i % 128]


def test_a_tile_of_several_boxes(scheduled: Place) -> None:
    import ml_dtypes

    source = np.random.default_rng(0).integers(-128, 128, (64, 256)).astype(ml_dtypes.bfloat16)
    out = np.zeros((32, 128), ml_dtypes.bfloat16)
    scheduled(wide[1, 32], source, out)
    assert (out == source[16:48, 64:192]).all()


@cl.kernel(block=32)
def wrong_tile(src: TmaTensor[bf16, (M, K), (16, 64)]) -> None:
    tile, full = cl.shared(bf16, (24, 64), swizzle=cl.Swizzle(3, 4, 3)), cl.shared(cl.mbarrier, (1,))
    cl.tma_load(src, tile, at=(0, 0), barrier=full[0])


@cl.kernel(block=32)
def too_few_coordinates(src: TmaTensor[bf16, (M, K), (16, 64)]) -> None:
    full = cl.shared(cl.mbarrier, (1,))
    cl.tma_load(src, cl.tma_shared(src), at=0, barrier=full[0])


@cl.kernel(block=32)
def no_barrier(src: TmaTensor[bf16, (M, K), (16, 64)]) -> None:
    full = cl.shared(cl.mbarrier, (1,))
    cl.tma_load(src, cl.tma_shared(src), at=(0, 0), barrier=full)


@cl.kernel(block=32)
def above_the_first_row(dst: TmaTensor[bf16, (M, K), (16, 64)]) -> None:
    cl.tma_store(cl.tma_shared(dst), dst, at=(-16, 0))


MISTAKES = [
    (above_the_first_row, "coordinate", "a coordinate of a TMA store is -16: only loads take negative ones"),
    (wrong_tile, "tile-mismatch", r"the tile is \(24, 64\), but the TMA tensor moves boxes of \(16, 64\)"),
    (too_few_coordinates, "coordinate", "1 coordinates into a TMA tensor of 2 modes"),
    (no_barrier, "mbarrier", "an mbarrier is needed here"),
]


@pytest.mark.parametrize(("kernel", "code", "words"), MISTAKES, ids=[k.__name__ for k, _, _ in MISTAKES])
def test_mistakes_are_told_at_the_line(kernel: Any, code: str, words: str) -> None:
    with pytest.raises(cl.CompileError, match=words) as caught:
        kernel.compile(arch="sm_90a")
    assert caught.value.diagnostic.code == code
    assert caught.value.span is not None


TWO = Layout(((8, 8), (64, 2)), ((64, 512), (1, 4096)))
"""64 rows of 128 u16 as two boxes of 64 columns, each swizzled by 128 bytes."""
SEVERAL = {
    "64 x 128": TWO,
    "1 x 64 x 128": Layout((1, *TWO.shape), (0, *TWO.stride)),
    "64 x 1 x 128": Layout((TWO.shape[0], 1, TWO.shape[1]), (TWO.stride[0], 0, TWO.stride[1])),
    "1 x 64 x 1 x 128": Layout((1, TWO.shape[0], 1, TWO.shape[1]), (0, TWO.stride[0], 0, TWO.stride[1])),
    "2 x 64 x 64": Layout((2, 64, 64), (4096, 64, 1)),
}
BATCH, SEQUENCE, HEADS = cl.dims("BATCH, SEQUENCE, HEADS")


@pytest.mark.parametrize("name", SEVERAL)
def test_boxes_with_an_extent_of_1_in_the_middle(name: str, place: Place) -> None:
    """A tile of several boxes may lack the modes in which a box has one element, wherever they are."""
    layout = SEVERAL[name]
    Qkv = TmaTensor[u16, (BATCH, SEQUENCE, HEADS, 128), (1, 64, 1, 64)]

    @cl.kernel(block=32)
    def copy(source: Qkv, out: Qkv) -> None:
        tile = cl.shared(u16, layout, swizzle=cl.Swizzle(3, 4, 3), align=1024)
        full = barriers(1)
        cl.syncthreads()
        at = (cl.block_idx.y, cl.block_idx.x * 64, cl.block_idx.z, 0)
        if cl.elect_one():
            full[0].arrive_expect_tx(tile.nbytes)
            cl.tma_load(source, tile, at=at, barrier=full[0])
        full[0].wait(0)
        if cl.elect_one():
            cl.tma_store(tile, out, at=at)
            cl.cp_async_bulk_commit_group()
            cl.cp_async_bulk_wait_group(0)

    shape = (2, 70, 3, 128)
    source = np.arange(2 * 70 * 3 * 128).astype(np.uint16).reshape(shape)
    out = np.zeros_like(source)
    batches, columns = (1, 64) if name.startswith("2 x") else (2, 128)
    place(copy[(2, batches, 3), 32], source, out)
    assert (out[..., :columns] == source[..., :columns]).all()


@pytest.mark.parametrize(("columns", "bits"), [(64, 3), (32, 2), (16, 1)])
@pytest.mark.parametrize("rows", [1, 2])
def test_boxes_begin_anywhere_in_a_swizzled_tile(rows: int, columns: int, bits: int, place: Place) -> None:
    """A swizzle goes by addresses: boxes move to and from places where its pattern does not begin, of 128 bytes."""
    rows *= 64 // columns
    Source = TmaTensor[u16, (48, columns), (rows, columns)]

    @cl.kernel(block=32)
    def copy(source: Source, read: Tensor[u16, (48, columns)], stored: Source) -> None:
        tile = cl.shared(u16, Layout((48, columns), (columns, 1)), swizzle=cl.Swizzle(bits, 4, 3), align=1024)
        full = barriers(1)
        cl.syncthreads()
        if cl.elect_one():
            full[0].arrive_expect_tx(tile.nbytes)
            for i in cl.static_range(48 // rows):
                box = cl.local_tile(tile, (rows, columns), (i, 0))
                cl.tma_load(source, box, at=(48 - rows - i * rows, 0), barrier=full[0])
        full[0].wait(0)
        for i in cl.static_range(48 * columns // 32):
            at = i * 32 + cl.thread_idx.x
            read[at // columns, at % columns] = tile[at // columns, at % columns]
        if cl.elect_one():
            for i in cl.static_range(48 // rows):
                cl.tma_store(cl.local_tile(tile, (rows, columns), (i, 0)), stored, at=(48 - rows - i * rows, 0))
            cl.cp_async_bulk_commit_group()
            cl.cp_async_bulk_wait_group(0)

    source = np.arange(48 * columns).astype(np.uint16).reshape(48, columns)
    read, stored = np.zeros_like(source), np.zeros_like(source)
    place(copy[1, 32], source, read, stored)
    assert (read == source.reshape(-1, rows, columns)[::-1].reshape(source.shape)).all()
    assert (stored == source).all()
