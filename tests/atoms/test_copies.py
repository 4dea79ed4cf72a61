"""Copy atoms and tiled copies: who moves what, data through every kind of atom on the simulator, what is refused."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutelite as cl
from cutelite import CompileError, Layout, Tensor, TmaTensor
from cutelite.ir.types import SCALARS
from cutelite.ops import memory
from tests.pieces import barriers
from tests.places import Place

NUMPY = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "i8": np.int8,
    "f64": np.float64,
    "u8": np.uint8,
}
M, N, K = cl.dims("M N:16 K")


def tiled(op: Any, dtype: Any, threads: Layout, values: Layout) -> cl.TiledCopy:
    return cl.make_tiled_copy_tv(cl.make_copy_atom(op, dtype), threads, values)


# The algebra of partitions.

WARP_MMA = cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32), (2, 2, 1), (None, 32, None))
TILED = {
    "rows": tiled(cl.CopyUniversalOp(128), cl.f16, Layout((8, 4), (4, 1)), Layout((1, 8))),
    "columns": tiled(cl.CopyUniversalOp(32), cl.f32, Layout((4, 8)), Layout((4, 1))),
    "blocks": tiled(cl.CopyUniversalOp(64), cl.f32, Layout((4, 8), (8, 1)), Layout((2, 4), (4, 1))),
    "ldmatrix A": cl.make_tiled_copy_A(cl.make_copy_atom(cl.LdMatrix8x8x16bOp(), cl.f16), WARP_MMA),
    "ldmatrix B": cl.make_tiled_copy_B(cl.make_copy_atom(cl.LdMatrix8x8x16bOp(num_matrices=2), cl.f16), WARP_MMA),
    "stmatrix C": cl.make_tiled_copy_C(cl.make_copy_atom(cl.StMatrix8x8x16bOp(), cl.f16), WARP_MMA),
}


def held(copy: cl.TiledCopy, side: Layout, extents: tuple[int, int]) -> list[list[int]]:
    threads, values, rests = copy.thread_layout(Layout(extents), side)
    whole = cl.make_layout(values, *rests)
    return [[threads(t) + whole(v) for v in range(whole.size)] for t in range(copy.size)]


@pytest.mark.parametrize("name", TILED)
def test_source_and_target_together_move_every_element(name: str) -> None:
    """The threads' targets cover the tile, and so do their sources; where operands are shared, evenly often."""
    copy = TILED[name]
    extents = tuple(2 * extent for extent in copy.tiler)
    for side in (copy.atom.layout_src_tv, copy.atom.layout_dst_tv):
        elements = [element for own in held(copy, side, extents) for element in own]
        counts = np.bincount(elements, minlength=extents[0] * extents[1])
        assert set(counts.tolist()) == {len(elements) // len(counts)}


EXTENTS = st.sampled_from([1, 2, 4, 8])


@given(st.tuples(EXTENTS, EXTENTS), st.tuples(EXTENTS, EXTENTS), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_tile_is_dealt_out_once(threads: Any, values: Any, thr_rows: bool, val_rows: bool) -> None:
    """Whatever the thread and value layouts: every element of several tiles has one owner, values in their order."""
    thr = Layout(threads, (threads[1], 1) if thr_rows else (1, threads[0]))
    val = Layout(values, (values[1], 1) if val_rows else (1, values[0]))
    copy = tiled(cl.CopyUniversalOp(), cl.f32, thr, val)
    extents = tuple(2 * extent for extent in copy.tiler)
    own = held(copy, copy.atom.layout_src_tv, extents)
    assert sorted(element for elements in own for element in elements) == list(range(extents[0] * extents[1]))
    for i, j in ((i, j) for i in range(threads[0]) for j in range(threads[1])):
        block = {(i * values[0] + v, j * values[1] + w): val(v, w) for v in range(values[0]) for w in range(values[1])}
        elements = own[thr(i, j)][: values[0] * values[1]]
        assert all(elements[order] == row + column * extents[0] for (row, column), order in block.items())


@pytest.mark.parametrize("name", ["ldmatrix A", "ldmatrix B"])
def test_matrix_targets_are_the_fragments_of_the_mma(name: str) -> None:
    """What a thread gets by ldmatrix is what the MMA wants of it, in its order."""
    copy, operand = TILED[name], name[-1]
    layout, extents, _ = WARP_MMA.tile_tv(operand)
    for thread, own in enumerate(held(copy, copy.atom.layout_dst_tv, extents)):
        assert own == [layout(thread, v) for v in range(layout[1].size)]


# Data, moved.


def through_shared(first: cl.TiledCopy, second: cl.TiledCopy, layout: Any, dtype: Any, tile: Any) -> Any:
    """Global to shared memory by one copy, and on by another."""

    @cl.kernel(block=first.size)
    def kernel(a: Tensor[dtype, (M, N)], b: Tensor[dtype, (M, N)]) -> None:
        where = cl.block_idx.x, cl.block_idx.y
        source, target = cl.local_tile(a, tile, where), cl.local_tile(b, tile, where)
        buffer = cl.shared(dtype, layout)
        one, two = first.get_slice(cl.thread_idx.x), second.get_slice(cl.thread_idx.x)
        cl.copy(first, one.partition_S(source), one.partition_D(buffer))
        cl.cp_async_wait_all()
        cl.syncthreads()
        cl.copy(second, two.partition_S(buffer), two.partition_D(target))

    return kernel


CASES = [
    ("f16", cl.CopyUniversalOp(128), cl.CopyUniversalOp(128), (8, 4), (1, 8), "swizzled"),
    ("bf16", cl.CopyG2SOp(128), cl.CopyUniversalOp(64, cache="cs"), (8, 4), (1, 8), "swizzled"),
    ("f32", cl.CopyG2SOp(32, cache="ca"), cl.CopyUniversalOp(32, evict="evict_first"), (8, 4), (2, 2), "padded"),
    ("f32", cl.CopyUniversalOp(64, cache="nc"), cl.CopyUniversalOp(128, cache="wt"), (8, 4), (1, 4), "plain"),
    ("i8", cl.CopyG2SOp(128), cl.CopyUniversalOp(8), (16, 2), (1, 16), "swizzled"),
    ("f64", cl.CopyUniversalOp(), cl.CopyUniversalOp(128), (8, 4), (1, 2), "plain"),
]


@pytest.mark.parametrize(("name", "first", "second", "threads", "values", "how"), CASES)
def test_data_arrives(place: Place, name: str, first: Any, second: Any, threads: Any, values: Any, how: str) -> None:
    dtype, tile = SCALARS[name], (16, 64)
    layout = {
        "plain": Layout(tile, (64, 1)),
        "padded": Layout(tile, (68, 1)),
        "swizzled": cl.make_smem_layout(dtype, tile),
    }[how]
    order = Layout(threads, (threads[1], 1))
    one, two = (tiled(op, dtype, order, Layout(values, (values[1], 1))) for op in (first, second))
    a = (np.arange(32 * 128) % 100).reshape(32, 128).astype(NUMPY[name])
    b = np.zeros_like(a)
    place(through_shared(one, two, layout, dtype, tile)[(2, 2), 32], a, b)
    np.testing.assert_array_equal(a, b)


WIDTHS = [8, 16, 32, 64, 128]
HINTS = [
    *(("load", cache, "") for cache in memory.LOAD_CACHES if cache),
    *(("store", cache, "") for cache in memory.STORE_CACHES if cache),
    *((way, "", evict) for way in ("load", "store") for evict in memory.EVICTIONS if evict),
]


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize(("way", "cache", "evict"), HINTS)
def test_hints(place: Place, way: str, cache: str, evict: str, bits: int, request: pytest.FixtureRequest) -> None:
    """Every width with every cache operator and eviction priority of a load or a store, which PTX then has.

    The simulator, which has no caches, runs one width of each.
    """
    hinted, plain = cl.CopyUniversalOp(bits, cache, evict), cl.CopyUniversalOp(bits)
    each = bits // 8
    dealt = Layout((4, 8), (8, 1)), Layout((1, each))
    get = tiled(hinted if way == "load" else plain, cl.u8, *dealt)
    put = tiled(plain if way == "load" else hinted, cl.u8, *dealt)
    shape = (8, 16 * each)

    @cl.kernel(block=32)
    def kernel(a: Tensor[cl.u8, shape], b: Tensor[cl.u8, shape]) -> None:
        mine, other = get.get_slice(cl.thread_idx.x), put.get_slice(cl.thread_idx.x)
        source = mine.partition_S(a)
        held = cl.make_fragment_like(source)
        cl.copy(get, source, held)
        cl.copy(put, held, other.partition_D(b))

    turn = HINTS.index((way, cache, evict)) % len(WIDTHS)
    if "gpu" in request.node.name or bits == WIDTHS[turn]:
        a = (np.arange(8 * 16 * each) % 251).reshape(shape).astype(np.uint8)
        b = np.zeros_like(a)
        place(kernel[1, 32], a, b)
        np.testing.assert_array_equal(a, b)
    ptx = kernel.compile(shape, shape, arch="sm_90a").ptx
    wanted = {"load": "ld.global", "store": "st.global"}[way]
    assert any(wanted in line and (cache or evict) in line for line in ptx.splitlines())


@pytest.mark.parametrize("each", ["instruction", "element"])
@pytest.mark.parametrize("op", [cl.CopyG2SOp(128), cl.CopyG2SOp(128, zero_fill=False), cl.CopyUniversalOp(128)])
def test_predicates(place: Place, op: Any, each: str) -> None:
    """Rows beyond the end are not read; cp.async writes zeros for them, others leave the target as it was."""
    rows = tiled(op, cl.f16, Layout((8, 4), (4, 1)), Layout((1, 8)))

    @cl.kernel(block=32)
    def kernel(a: Tensor[cl.f16, (M, 32)], b: Tensor[cl.f16, (32, 32)]) -> None:
        buffer = cl.shared(cl.f16, (32, 32))
        for i in range(cl.thread_idx.x, 32 * 32, 32):
            buffer[i] = 5.0
        cl.syncthreads()
        mine = rows.get_slice(cl.thread_idx.x)
        source = mine.partition_S(cl.local_tile(a, (32, 32), (0, 0)))
        where = mine.partition_S(cl.local_tile(cl.coordinates(a), (32, 32), (0, 0)))
        rows_here = source.shape[1]
        if each == "instruction":
            inside = cl.make_rmem_tensor(cl.boolean, (rows_here,))
            for i in cl.static_range(rows_here):
                inside[i] = cl.elem_less(where[0, i, 0], a.shape)
        else:  # an element of the fragment has one, which an instruction's share
            inside = cl.make_rmem_tensor(cl.boolean, Layout((8, rows_here), (0, 1)))
            for i in cl.static_range(rows_here):
                inside[0, i] = cl.elem_less(where[0, i, 0], a.shape)
        cl.copy(rows, source, mine.partition_D(buffer), pred=inside)
        cl.cp_async_wait_all()
        cl.syncthreads()
        cl.copy(mine.partition_S(buffer), mine.partition_D(b))

    a, b = np.arange(19 * 32).reshape(19, 32).astype(np.float16), np.zeros((32, 32), np.float16)
    place(kernel[1, 32], a, b)
    np.testing.assert_array_equal(b[:19], a)
    assert (b[19:] == (0 if getattr(op, "zero_fill", False) else 5)).all()


def test_copies_go_on_from_others(place: Place) -> None:
    """Registers that ldmatrix filled are stored as they lie, and stmatrix stores what plain loads brought for it."""
    load = cl.make_tiled_copy_C(cl.make_copy_atom(cl.LdMatrix8x8x16bOp(), cl.f16), WARP_MMA)
    pairs = cl.make_tiled_copy_D(cl.make_copy_atom(cl.CopyUniversalOp(32), cl.f16), load)
    store = cl.make_tiled_copy_C(cl.make_copy_atom(cl.StMatrix8x8x16bOp(), cl.f16), WARP_MMA)
    fetch = cl.make_tiled_copy_S(cl.make_copy_atom(cl.CopyUniversalOp(32), cl.f16), store)

    @cl.kernel(block=128)
    def kernel(a: Tensor[cl.f16, (64, 64)], b: Tensor[cl.f16, (64, 64)], c: Tensor[cl.f16, (64, 64)]) -> None:
        t = cl.thread_idx.x
        tile = cl.shared(cl.f16, cl.make_smem_layout(cl.f16, (64, 64)))
        for i in range(t, 64 * 64, 128):
            tile[i] = a[i]
        cl.syncthreads()
        held = cl.make_fragment_like(load.get_slice(t).partition_D(tile))
        cl.copy(load, load.get_slice(t).partition_S(tile), held)
        cl.copy(pairs, held, pairs.get_slice(t).partition_D(b))
        cl.syncthreads()
        got = cl.make_fragment_like(fetch.get_slice(t).partition_S(b))
        cl.copy(fetch, fetch.get_slice(t).partition_S(b), got)
        cl.copy(store, got, store.get_slice(t).partition_D(tile))
        cl.syncthreads()
        for i in range(t, 64 * 64, 128):
            c[i] = tile[i]

    a = np.arange(4096).reshape(64, 64).astype(np.float16)
    b, c = np.zeros_like(a), np.zeros_like(a)
    place(kernel[1, 128], a, b, c)
    np.testing.assert_array_equal(b, a)
    np.testing.assert_array_equal(c, a)


def test_stmatrix_writes_what_ldmatrix_reads(place: Place) -> None:
    load = cl.make_tiled_copy_C(cl.make_copy_atom(cl.LdMatrix8x8x16bOp(), cl.f16), WARP_MMA)
    store = cl.make_tiled_copy_C(cl.make_copy_atom(cl.StMatrix8x8x16bOp(transpose=True), cl.f16), WARP_MMA)

    @cl.kernel(block=128)
    def kernel(a: Tensor[cl.f16, (64, 64)], b: Tensor[cl.f16, (64, 64)]) -> None:
        t = cl.thread_idx.x
        first = cl.shared(cl.f16, cl.make_smem_layout(cl.f16, (64, 64)))
        second = cl.shared(cl.f16, cl.make_smem_layout(cl.f16, (64, 64), "MN"))
        for i in range(t, 64 * 64, 128):
            first[i] = a[i]
        cl.syncthreads()
        fragment = cl.make_rmem_tensor(cl.f16, Layout(WARP_MMA.partition_shape_C((64, 64))))
        cl.copy(load, load.get_slice(t).partition_S(first), load.retile(fragment))
        cl.copy(store, store.retile(fragment), store.get_slice(t).partition_D(second))
        cl.syncthreads()
        for i in range(t, 64 * 64, 128):
            b[i] = second[i]

    a, b = np.arange(4096).reshape(64, 64).astype(np.float16), np.zeros((64, 64), np.float16)
    place(kernel[1, 128], a, b)
    np.testing.assert_array_equal(a, b)


def test_tiles_by_tma_and_in_bulk(place: Place) -> None:
    """TMA load, multicast to itself, store and reduction; a bulk copy there and back."""
    load = cl.make_copy_atom(cl.CopyBulkTensorTileG2SOp(cache="evict_first"), cl.f32)
    spread = cl.make_copy_atom(cl.CopyBulkTensorTileG2SMulticastOp(), cl.f32)
    store = cl.make_copy_atom(cl.CopyBulkTensorTileS2GOp(), cl.f32)
    add = cl.make_copy_atom(cl.CopyReduceBulkTensorTileS2GOp("add"), cl.f32)
    bulk_in, bulk_out = cl.make_copy_atom(cl.CopyBulkG2SOp(), cl.f32), cl.make_copy_atom(cl.CopyBulkS2GOp(), cl.f32)

    @cl.kernel(block=32, cluster=1)
    def kernel(
        a: TmaTensor[cl.f32, (M, N), (16, 32)], b: TmaTensor[cl.f32, (M, N), (16, 32)], row: Tensor[cl.f32, (2, 64)]
    ) -> None:
        one, two = cl.tma_shared(a), cl.tma_shared(a)
        line = cl.shared(cl.f32, (64,))
        bars = barriers(1)
        where = cl.block_idx.x, cl.block_idx.y
        if cl.thread_idx.x == 0:
            bars[0].arrive_expect_tx(2 * a.tile_bytes + line.nbytes)
            source = cl.local_tile(cl.coordinates(a), (16, 32), where)
            cl.copy(load, source, one, barrier=bars[0])
            cl.copy(spread, source, two, barrier=bars[0], multicast=1)
            cl.copy(bulk_in, row[0, None], line, barrier=bars[0])
            bars[0].wait(0)
            target = cl.local_tile(cl.coordinates(b), (16, 32), where)
            cl.copy(store, one, target)
            cl.cp_async_bulk_commit_group()
            cl.cp_async_bulk_wait_group(0)
            cl.copy(add, two, target)
            if cl.block_idx.x + cl.block_idx.y == 0:
                cl.copy(bulk_out, line, row[1, None])
            cl.cp_async_bulk_commit_group()
            cl.cp_async_bulk_wait_group(0)

    a, b = np.arange(24 * 80).reshape(24, 80).astype(np.float32), np.zeros((24, 80), np.float32)
    row = np.stack([np.arange(64), np.zeros(64)]).astype(np.float32)
    place(kernel[(2, 3), 32], a, b, row)
    np.testing.assert_array_equal(b, 2 * a)
    np.testing.assert_array_equal(row[1], row[0])


def test_without_an_atom(place: Place) -> None:
    @cl.kernel(block=4)
    def kernel(a: Tensor[cl.f16, (M, N)], b: Tensor[cl.f16, (N, K)]) -> None:
        part = cl.local_tile(a, (4, 8), (cl.thread_idx.x, 0))
        buffer = cl.shared(cl.f16, Layout((4, 4, 8), (36, 8, 1)))[cl.thread_idx.x, None, None]
        cl.copy(part, buffer)
        registers = cl.make_rmem_tensor(cl.f16, Layout((4, 8), (8, 1)))
        cl.copy(buffer, registers)
        transposed = cl.local_tile(b, (8, 4), (0, cl.thread_idx.x))
        cl.copy(registers, cl.select(transposed, (1, 0)))

    a = np.arange(16 * 16).reshape(16, 16).astype(np.float16)
    b = np.zeros((16, 16), np.float16)
    place(kernel[1, 4], a, b)
    np.testing.assert_array_equal(b[:8], a.T[:8])
    assert not b[8:].any()


PREDICATES = {
    "for each run": Layout((4,)),
    "shared along rows": Layout((8, 4), (0, 1)),
    "shared along columns": Layout((8, 4), (1, 0)),
    "for each element": Layout((8, 4)),
    "in pairs": Layout((2, 4, 4), (0, 1, 4)),
    "across modes": Layout((4, 8), (0, 1)),
    "for all": None,
}


@pytest.mark.parametrize("name", PREDICATES)
def test_predicates_without_an_atom(place: Place, name: str) -> None:
    """Four rows of eight elements: what a predicate is about is copied, and nothing else."""
    layout = PREDICATES[name]
    count = 1 if layout is None else cl.cosize(layout)

    @cl.kernel(block=1)
    def kernel(
        a: Tensor[cl.f16, (4, 8)], b: Tensor[cl.f16, (4, 8)], c: Tensor[cl.f16, (8, 4)], said: Tensor[cl.i32, (count,)]
    ) -> None:
        if layout is None:
            inside = said[0] != 0
        else:
            inside = cl.make_rmem_tensor(cl.boolean, layout)
            flat = cl.with_layout(inside, Layout((count,)))
            for i in cl.static_range(count):
                flat[i] = said[i] != 0
        source, target = cl.select(a, (1, 0)), cl.select(b, (1, 0))
        held = cl.make_rmem_tensor(cl.f16, Layout((8, 4)))
        held.fill(7.0)
        cl.copy(source, held, pred=inside)
        cl.copy(source, target, pred=inside)
        cl.copy(held, c)

    said = (np.random.default_rng(len(name)).random(count) < 0.5).astype(np.int32)
    a = np.arange(32).reshape(4, 8).astype(np.float16)
    b, c = np.full((4, 8), 99, np.float16), np.zeros((8, 4), np.float16)
    place(kernel[1, 1], a, b, c, said)
    whole = Layout((8, 4), (0, 0)) if layout is None else layout if layout.rank > 1 else Layout((8, 4), (0, 1))
    wanted = np.array([said[whole(i)] for i in range(32)]).reshape(4, 8) != 0
    np.testing.assert_array_equal(b, np.where(wanted, a, 99))
    np.testing.assert_array_equal(c.T, np.where(wanted, a, 7))


def predicated(layout: Layout) -> str:
    """The PTX of a copy of four rows of 16 bytes, under predicates of that layout."""
    count = cl.cosize(layout)

    @cl.kernel(block=1)
    def kernel(a: Tensor[cl.f16, (4, 8)], b: Tensor[cl.f16, (4, 8)], said: Tensor[cl.boolean, (4, 8)]) -> None:
        inside = cl.make_rmem_tensor(cl.boolean, layout)
        for i in cl.static_range(count):
            cl.with_layout(inside, Layout((count,)))[i] = said[i]
        cl.copy(cl.select(a, (1, 0)), cl.select(b, (1, 0)), pred=inside)

    return kernel.compile((4, 8), (4, 8), (4, 8), arch="sm_90a").ptx


def test_predicated_copies_stay_wide() -> None:
    """One access of 16 bytes for each of four predicates, and the explanation says so."""
    runs, elements = predicated(Layout((8, 4), (0, 1))), predicated(Layout((8, 4)))
    assert runs.count("ld.global.v4") == runs.count("st.global.v4") == 4
    assert elements.count("st.global.v") == 0
    shared = explanation(Layout((8, 4)), cl.f16, Layout((8, 4), (0, 1)))
    assert "4 predicates, each for 8 elements, of which it\n" in shared
    assert "reads 1 x 16 bytes; the widest there is" in shared
    single = explanation(Layout((8, 4)), cl.f16, Layout((8, 4)))
    assert "32 predicates, each for 1 elements" in single
    assert "a predicate with stride 0 along a mode is shared" in single


def test_explanations() -> None:
    texts = {}
    for name, layout, elem in (
        ("wide", Layout((4, 8), (8, 1)), cl.f16),
        ("short rows", Layout((4, 2), (16, 1)), cl.f16),
        ("swizzled", cl.make_smem_layout(cl.f16, (8, 64)), cl.f16),
    ):
        texts[name] = explanation(layout, elem)
    assert "reads 4 x 16 bytes; the widest there is" in texts["wide"]
    assert "reads 4 x 4 bytes; 2 elements are contiguous in (4,2):(16,1)" in texts["short rows"]
    assert "reads 64 x 16 bytes" in texts["swizzled"]
    assert "writes registers" in texts["wide"]


def explanation(layout: Any, elem: Any, predicate: Any = None) -> str:
    @cl.kernel(block=32)
    def kernel(a: Tensor[cl.f16, (M,)]) -> None:
        buffer = cl.shared(elem, layout)
        inside = None if predicate is None else cl.make_rmem_tensor(cl.boolean, predicate)
        told = cl.explain_copy(buffer, cl.make_rmem_tensor_like(buffer), inside)
        cl.assert_(buffer.space == "rmem", told)  # noqa: PT009

    with pytest.raises(CompileError) as caught:
        kernel.compile((8,), arch="sm_90a")
    return str(caught.value)


def test_atoms_that_there_are_not() -> None:
    for make, text in (
        (lambda: cl.make_copy_atom(cl.CopyUniversalOp(24), cl.i8), "moves 24 bits"),
        (lambda: cl.make_copy_atom(cl.CopyUniversalOp(16), cl.f32), "moves 16 bits"),
        (lambda: cl.make_copy_atom(cl.CopyG2SOp(16), cl.f16), "copies 32, 64 or 128 bits, not 16"),
        (lambda: cl.make_copy_atom(cl.LdMatrix8x8x16bOp(True), cl.i8), "transposes elements of 16 bits"),
        (lambda: cl.make_copy_atom(cl.LdMatrix8x8x16bOp(num_matrices=3), cl.f16), "1, 2 or 4 matrices"),
        (lambda: tiled(cl.CopyUniversalOp(128), cl.f16, Layout(32), Layout(4)), "needs a multiple of 8"),
        (lambda: tiled(cl.CopyBulkG2SOp(), cl.f16, Layout(32), Layout(4)), "moves whole tiles"),
        (lambda: cl.make_tiled_copy_B(cl.make_copy_atom(cl.LdMatrix8x8x16bOp(), cl.f16), NARROW), "has 4 values of B"),
    ):
        with pytest.raises(CompileError, match=text):
            make()


NARROW = cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32), (2, 2, 1))
