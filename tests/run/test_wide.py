"""Tensors of 2**31 elements and more: every way of making a view, and the indices of threads that reach so far.

The memory is NumPy's zeros, which the operating system provides page by page as it is touched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Layout, Tensor, i8, i32, i64
from cutelite.ops.index import Dim as DimOp
from cutelite.sim import SimError

Array = Any
M, N = cl.dims("M N")
ROWS, WORDS = 2**30 + 8, 2**28 + 8  # of 4 elements: beyond 2**32 bytes either way
ROW = 2**30 + 5

View = Callable[[Any, Any], Any]
"""From a tensor and a row, known at run time, to element 1 of the row."""


def by_partition(t: Any, row: Any) -> Any:
    return cl.local_partition(t, Layout((8, 2)), 8 + row % 8)[row // 8, 0]


def by_tiled_copy(t: Any, row: Any) -> Any:
    tiled = cl.make_tiled_copy_tv(cl.make_copy_atom(cl.CopyUniversalOp(), i8), Layout((2, 4), (4, 1)), Layout((1, 1)))
    return tiled.get_slice(4 * (row % 2) + 1).partition_S(t)[0, row // 2, 0]


def by_copy(t: Any, row: Any) -> Any:
    line = cl.make_rmem_tensor(i8, 4)
    cl.copy(t[row, None], line)
    return line[1]


def by_part(t: Any, row: Any) -> Any:
    return cl.local_tile(cl.domain_offset((row - row % 8, 0), t), (4, 4), ((row % 8) // 4, 0))[row % 4, 1]


WAYS: dict[str, View] = {
    "element": lambda t, row: t[row, 1],
    "flat": lambda t, row: t[row + cl.i64(t.shape[0])],
    "row": lambda t, row: t[row, None][1],
    "column": lambda t, row: t[None, 1][row],
    "domain_offset": lambda t, row: cl.domain_offset((row, 0), t)[0, 1],
    "two domain_offsets": lambda t, row: cl.domain_offset((1, 0), cl.domain_offset((row - 1, 1), t))[0, 0],
    "tile": lambda t, row: t.tile((8, 4), (row // 8, 0))[row % 8, 1],
    "local_tile": lambda t, row: cl.local_tile(t, (8, 4), (row // 8, None))[row % 8, 1, 0],
    "local_partition": by_partition,
    "flat_divide": lambda t, row: cl.flat_divide(t, (8, 4))[row % 8, 1, row // 8, 0],
    "zipped_divide": lambda t, row: cl.zipped_divide(t, (8, 4))[(row % 8, 1), (row // 8, 0)],
    "logical_divide": lambda t, row: cl.logical_divide(t, (8, 4))[(row % 8, None), 1][row // 8],
    "tiled_divide": lambda t, row: cl.tiled_divide(t, (8, 4))[(row % 8, 1), None, 0][row // 8],
    "group_modes": lambda t, row: cl.group_modes(t, 0, 2)[((row, 1),)],
    "view": lambda t, row: t.view(Layout((t.shape[0], 2, 2), (4, 2, 1)))[row, 0, None][1],
    "load": lambda t, row: t.load((row, 1)),
    "at": lambda t, row: cl.make_tensor(t.at(row, 1), 1, i8)[0],
    "vector": lambda t, row: cl.local_tile(t, (1, 4), (row, 0)).load()[1],
    "copy": by_copy,
    "tiled copy": by_tiled_copy,
    "view of a view": by_part,
    "known row": lambda t, row: t[ROW, None][1] if isinstance(t.shape[0], int) else t[row, 1],
}


@cl.kernel
def of_static(t: Tensor[i8, (ROWS, 4)], out: Tensor[i8, (N,)], row: i32, way: cl.Constexpr[Any]) -> None:
    out[0] = way(t, row)


@cl.kernel
def of_dims(t: Tensor[i8, (M, 4)], out: Tensor[i8, (N,)], row: i32, way: cl.Constexpr[Any]) -> None:
    out[0] = way(t, row)


@pytest.fixture(scope="module")
def memory() -> Array:
    made = np.zeros((ROWS, 4), np.int8)
    made[ROW] = [11, 22, 33, 44]
    return made


@pytest.mark.parametrize("kernel", [of_static, of_dims], ids=["static", "dims"])
@pytest.mark.parametrize("way", WAYS)
def test_a_view_starts_where_its_coordinates_lead(memory: Array, way: str, kernel: Any) -> None:
    out = np.zeros(1, np.int8)
    kernel[1, 1](memory, out, ROW, WAYS[way])
    assert out[0] == 22


@cl.kernel
def accesses(t: Tensor[i32, (WORDS, 4)], out: Tensor[i32, (8,)], row: i32) -> None:
    cl.atomic_add(t, (row, 1), 100)
    cl.atomic_add(cl.domain_offset((row, 0), t), (0, 2), 100)
    tile = cl.shared(i32, (2, 4))
    cl.cp_async(tile.at(0, 0), t.at(row, 0), 16)
    cl.copy(cl.make_copy_atom(cl.CopyG2SOp(), i32), t[row, None], tile[1, None])
    cl.cp_async_wait_all()
    cl.local_tile(t, (1, 4), (row + 1, 0)).store(cl.local_tile(t, (1, 4), (row, 0)).load())
    cl.recast_tensor(t, i64)[row + 2, 0] = i64(2**32 + 7)
    for i in cl.static_range(4):
        out[i], out[4 + i] = tile[0, i], tile[1, i]


def test_what_takes_addresses_takes_those_beyond_4_gigabytes() -> None:
    words, out, row = np.zeros((WORDS, 4), np.int32), np.zeros(8, np.int32), 2**28 + 2
    words[row] = [1, 2, 3, 4]
    accesses[1, 1](words, out, row)
    assert out.tolist() == [1, 102, 103, 4] * 2
    assert words[row + 1].tolist() == [1, 102, 103, 4]
    assert words[row + 2].tolist() == [7, 1, 0, 0]


# Indices of threads.

TILE = 2**28


@cl.kernel
def of_threads(x: Tensor[i8, (N,)], last: Tensor[i64, (1,)]) -> None:
    i = cl.block_idx.x * TILE + cl.thread_idx.x
    if i < N:
        x[i] += 1
        cl.atomic_max(last, 0, i64(i))


@cl.kernel
def of_threads_static(x: Tensor[i8, (2**32 + 8,)], last: Tensor[i64, (1,)]) -> None:
    i = cl.block_idx.x * TILE + cl.thread_idx.x
    if i < 2**32 + 8:
        x[i] += 1
        cl.atomic_max(last, 0, i64(i))


@cl.kernel
def of_strides(x: Tensor[i8, (N,)], last: Tensor[i64, (1,)]) -> None:
    i = cl.block_idx.x * TILE + cl.thread_idx.x
    while i < N:
        x[i] += 1
        cl.atomic_max(last, 0, i64(i))
        i += cl.grid_dim.x * TILE


@cl.kernel
def of_ranges(x: Tensor[i8, (N,)], last: Tensor[i64, (1,)]) -> None:
    for i in range(cl.block_idx.x * TILE + cl.thread_idx.x, N, cl.grid_dim.x * TILE):
        x[i] += 1
        cl.atomic_max(last, 0, i64(i))


@cl.kernel
def of_coordinates(x: Tensor[i8, (N,)], last: Tensor[i64, (1,)]) -> None:
    for block in range(17):
        place = cl.local_tile(cl.make_identity_tensor(x.shape), (TILE,), (block,))[cl.thread_idx.x]
        if cl.elem_less(place, x.shape):
            x[place[0]] += 1
            cl.atomic_max(last, 0, i64(place[0]))


@pytest.mark.parametrize(
    ("kernel", "blocks"),
    [(of_threads, 17), (of_threads_static, 17), (of_strides, 2), (of_ranges, 2), (of_coordinates, 1)],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_the_indices_of_threads_reach_as_far_as_extents(kernel: Any, blocks: int) -> None:
    x, last = np.zeros(2**32 + 8, np.int8), np.zeros(1, np.int64)
    kernel[blocks, 16](x, last)
    assert last[0] == 2**32 + 7
    assert all(x[at : at + 16].tolist() == [1] * 16 for at in range(0, 2**32, TILE))
    assert x[2**32 :].tolist() == [1] * 8


@cl.kernel
def of_products(x: Tensor[i8, (M, N)], last: Tensor[i64, (1,)]) -> None:
    line = x.view(Layout(M * N, 1))
    i = cl.block_idx.x * TILE + cl.thread_idx.x
    while i < M * N:
        line[i] += 1
        cl.atomic_max(last, 0, i64(i))
        i += cl.grid_dim.x * TILE


def test_the_elements_of_an_array_count_where_its_extents_are_small() -> None:
    x, last = np.zeros((2**16, 2**16), np.int8), np.zeros(1, np.int64)
    of_products[3, 16](x, last)
    assert last[0] == 2**32 - TILE + 15
    assert x.reshape(-1)[::TILE].tolist() == [1] * 16


@cl.kernel
def kinds(x: Tensor[i8, (N,)], out: Tensor[i32, (3,)]) -> None:
    out[0], out[1] = cl.block_idx.x, cl.grid_dim.x  # each fits by itself, whatever the launch
    out[2] = 64 if isinstance(cl.block_idx.x, i64) else 32


def test_small_launches_count_in_32_bits() -> None:
    out = np.zeros(3, np.int32)
    kinds[2, 1](np.zeros(8, np.int8), out)
    assert out[1:].tolist() == [2, 32]
    kinds[2, 1](np.zeros(2**31, np.int8), out)
    assert out[1:].tolist() == [2, 64]


@pytest.mark.parametrize(
    ("grid", "block", "wide"),
    [(2**23, 256, True), (2**22, 256, False), (2**21, 1024, True), ((1, 2**15), (1, 1024), False)],
)
def test_a_launch_is_wide_by_its_grid_as_well(grid: Any, block: Any, wide: bool) -> None:
    checked = kinds._checked(cl.Launch(grid, block), (np.zeros(8, np.int8), np.zeros(3, np.int32)), {})
    assert checked is not None and checked.spec.wide is wide


def test_code_for_wide_launches_ahead_of_them() -> None:
    assert not any("wide" in kinds.compile(shape, (3,), block=1).function.attrs for shape in ((8,), (2**30,)))
    assert "wide" in kinds.compile((2**31,), (3,), block=1).function.attrs
    assert "wide" in kinds.compile(block=1, wide_dims=True).function.attrs
    assert "wide" in of_products.compile((2**16, 2**16), (1,), block=1).function.attrs
    assert "wide" in of_threads_static.compile(block=1).function.attrs


K, EMPTY = cl.dims("K"), cl.Dim("EMPTY", min=0)
Expression = Callable[[], Any]

IN_32_BITS: dict[str, tuple[Any, Expression]] = {
    "the elements": ((M, N), lambda: M * N),
    "the last element": ((M, N), lambda: M * N - 1),
    "rows of them": ((M, N, K), lambda: N * M),
    "tiles": ((M, N), lambda: cl.ceil_div(M * N, 256)),
    "elements by rows": ((M, N), lambda: M * N // K),
    "a part": ((M, 4, N), lambda: 3 * M * N),
    "a square": ((M, M), lambda: M * M),
    "an expression as extent": ((M, N, K + 1), lambda: M * N),
}
IN_64_BITS: dict[str, tuple[Any, Expression]] = {
    "more than the elements": ((M, N), lambda: 2 * M * N),
    "another product": ((M, N), lambda: M * K),
    "a square of one": ((M, N), lambda: M * M),
    "an extent that may be 0": ((M, N, EMPTY), lambda: M * N),
}


def type_of(shape: Any, expression: Expression, wide: bool = False) -> str:
    """The type of an expression over dims in a kernel of a tensor of that shape."""

    @cl.kernel
    def kernel(x: Tensor[i8, shape], rows: Tensor[i8, (K,)], out: Tensor[i64, (1,)]) -> None:
        out[0] = cl.i64(expression() + cl.i32(0))

    (found,) = (op for op in kernel.compile(block=1, wide_dims=wide).function.ops() if isinstance(op, DimOp))
    return str(found.type)


@pytest.mark.parametrize(("shape", "expression"), IN_32_BITS.values(), ids=IN_32_BITS)
def test_no_product_of_extents_of_a_tensor_needs_64_bits(shape: Any, expression: Expression) -> None:
    assert type_of(shape, expression) == "i32"
    assert type_of(shape, expression, wide=True) == "i64"


@pytest.mark.parametrize(("shape", "expression"), IN_64_BITS.values(), ids=IN_64_BITS)
def test_products_that_no_tensor_bounds_have_64_bits(shape: Any, expression: Expression) -> None:
    assert type_of(shape, expression) == "i64"


# Errors.


def failing(body: Any, *args: Any) -> str:
    with pytest.raises(CompileError) as caught:
        body[1, 1](*args)
    return str(caught.value)


def test_an_i64_is_told_by_the_product_of_dims_that_made_it() -> None:
    @cl.kernel
    def stored(x: Tensor[i8, (M,)], y: Tensor[i8, (N,)], out: Tensor[i32, (1,)]) -> None:
        step = M * N
        place = cl.thread_idx.x + step
        out[0] = place * 2

    @cl.kernel
    def merged(x: Tensor[i8, (M,)], y: Tensor[i8, (N,)], out: Tensor[i32, (1,)]) -> None:
        place = cl.thread_idx.x
        if x[0] > y[0]:
            place = place + M * N
        out[0] = place

    arrays = np.zeros(2, np.int8), np.zeros(3, np.int8), np.zeros(1, np.int32)
    assert "an i64, since `M*N` in line" in failing(stored, *arrays)
    assert "a run-time i64 (an i64, since `M*N` in line" in failing(merged, *arrays)


def test_an_i64_is_told_by_the_wide_launch_that_made_it() -> None:
    @cl.kernel
    def stored(x: Tensor[i8, (N,)], out: Tensor[i32, (1,)]) -> None:
        out[0] = cl.block_idx.x * 2

    stored[1, 1](np.zeros(8, np.int8), np.zeros(1, np.int32))
    wide = np.zeros(2**31, np.int8), np.zeros(1, np.int32)
    assert "is one in a launch of this size" in failing(stored, *wide)


@pytest.mark.parametrize(("dtype", "axis"), [(cl.i8, cl.thread_idx), (cl.f32, cl.block_idx), (cl.u32, cl.block_idx)])
def test_only_the_i64_of_a_block_index_is_taken_for_an_i32(dtype: Any, axis: Any) -> None:
    @cl.kernel
    def stored(x: Tensor[i8, (N,)], out: Tensor[i32, (1,)]) -> None:
        out[0] = dtype(axis.x)

    assert f"i32 is needed here, not {dtype}" in failing(stored, np.zeros(8, np.int8), np.zeros(1, np.int32))


def test_a_launch_is_not_blamed_for_an_i64_that_u32_and_i32_meet_in() -> None:
    @cl.kernel
    def stored(x: Tensor[i8, (N,)], out: Tensor[cl.u32, (1,)]) -> None:
        out[0] = out[0] + cl.thread_idx.x

    assert "launch of this size" not in failing(stored, np.zeros(8, np.int8), np.zeros(1, np.uint32))


@cl.kernel
def viewed(x: Tensor[i8, (M, N)], out: Tensor[i8, (4,)]) -> None:
    out[0] = x.view(Layout(M * N, 1))[N]
    out[1] = x[0, None].view(Layout((N // 2, 2), (2, 1)))[1, 1]
    out[2] = x[1, None].view(Layout(8, 1))[7]
    out[3] = x[1, None].view(Layout(N, 1), cl.u8)[1].to(i8)


def test_a_view_of_a_row_ends_where_the_row_does() -> None:
    out = np.zeros(4, np.int8)
    viewed[1, 1](np.arange(27, dtype=np.int8).reshape(3, 9), out)
    assert out.tolist() == [9, 3, 16, 10]
    with pytest.raises(SimError, match=r"the view 8:1 of i8 reaches 8 elements, but \(N\):\(1\) of i8 has 7"):
        viewed[1, 1](np.zeros((3, 7), np.int8), out)

    @cl.kernel
    def longer(x: Tensor[i8, (M, N)]) -> None:
        x[0, None].view(Layout(N + 1, 1))[0] = 1

    @cl.kernel
    def wider(x: Tensor[i8, (M, 8)]) -> None:
        x[0, None].view(Layout(3, 1), i32)[0] = 1

    assert "reaches N+1 elements, but (N):(1) has N" in failing(longer, np.zeros((2, 8), np.int8))
    assert "reaches 3 elements, but (8):(1) has 8 of i8" in failing(wider, np.zeros((2, 8), np.int8))
