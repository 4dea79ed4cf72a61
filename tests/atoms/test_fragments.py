"""Vectors with a shape, coordinate tensors, and the algebra on tensors, on the simulator against NumPy."""

import re
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Layout, Tensor
from tests.places import Place, simulator

M, N = cl.dims("M N")
SHAPE = (4, 3, 5)


def on_fragment(
    place: Place, body: Any, shape: tuple[int, ...], result: tuple[int, ...], dtype: Any = cl.f32
) -> np.ndarray:
    """What `body` makes of a fragment that holds 0, 1, 2, ... in colexicographic order, as an array in that order."""
    count, length = int(np.prod(shape)), int(np.prod(result))
    flat = Layout((count,))

    @cl.kernel(block=1)
    def kernel(a: Tensor[cl.f32, (count,)], out: Tensor[dtype, (length,)]) -> None:
        fragment = cl.make_rmem_tensor(cl.f32, Layout(shape))
        cl.copy(cl.with_layout(a, flat), cl.with_layout(fragment, flat))
        made = body(fragment.load())
        if isinstance(made, cl.Vector):
            cl.with_layout(out, Layout((length,))).store(made)
        else:
            out[0] = made

    a = np.arange(count, dtype=np.float32)
    out = np.zeros(length, {"f32": np.float32, "bool": bool, "f16": np.float16}[dtype.name])
    place(kernel[1, 1], a, out)
    return out.reshape(result, order="F")


VALUES = np.arange(60, dtype=np.float32).reshape(SHAPE, order="F")


@pytest.mark.parametrize("modes", [(0,), (1,), (2,), (0, 2), (1, 0), (0, 1, 2)])
@pytest.mark.parametrize("operation", ["sum", "max", "min"])
def test_reduces_over_modes(place: Place, operation: str, modes: tuple[int, ...]) -> None:
    kept = tuple(extent for mode, extent in enumerate(SHAPE) if mode not in modes) or (1,)
    got = on_fragment(place, lambda v: v.reduce(operation, modes), SHAPE, kept)
    np.testing.assert_array_equal(got, getattr(np, operation)(VALUES, axis=modes).reshape(kept))


def test_reduces_to_a_scalar(place: Place) -> None:
    assert on_fragment(place, lambda v: v.reduce("sum"), SHAPE, (1,))[0] == VALUES.sum()
    assert on_fragment(place, lambda v: (v + 1.0)[0:7].reduce("mul"), SHAPE, (1,))[0] == 5040
    assert on_fragment(place, lambda v: v.reduce("max", init=100.0), SHAPE, (1,))[0] == 100
    assert on_fragment(place, lambda v: (v < 60.0).reduce("all"), SHAPE, (1,), cl.boolean)[0]
    assert not on_fragment(place, lambda v: (v < 0.0).reduce("any"), SHAPE, (1,), cl.boolean)[0]


def test_a_reduction_is_a_balanced_tree() -> None:
    @cl.kernel(block=1)
    def kernel(a: Tensor[cl.f32, (64,)], out: Tensor[cl.f32, (1,)]) -> None:
        out[0] = a.load().reduce("sum")

    text = kernel.compile((64,), (1,), arch="sm_90a").ir
    assert str(text).count(" = add ") <= 6


def test_shapes_survive_operators_mathematics_and_loops(place: Place) -> None:
    def body(v: Any) -> Any:
        total = v * 0.0
        for _ in range(cl.thread_idx.x + 2):
            total = total + cl.math.sqrt(v * v)
        return cl.where(total > 10.0, total, 0.0).reduce("sum", (0, 1))

    doubled = 2 * VALUES
    np.testing.assert_array_equal(
        on_fragment(place, body, SHAPE, (5,)), np.where(doubled > 10, doubled, 0).sum(axis=(0, 1))
    )


def test_reshapes_and_broadcasts(place: Place) -> None:
    def normalised(v: Any) -> Any:
        return v - v.reduce("max", (1,)).reshape((4, 1, 5)).broadcast_to(SHAPE)

    np.testing.assert_array_equal(
        on_fragment(place, normalised, SHAPE, SHAPE), VALUES - VALUES.max(axis=1, keepdims=True)
    )

    def implicitly(v: Any) -> Any:
        return v.reduce("max", (1,)).reshape((4, 1, 5)) - v

    np.testing.assert_array_equal(
        on_fragment(place, implicitly, SHAPE, SHAPE), VALUES.max(axis=1, keepdims=True) - VALUES
    )
    outer = on_fragment(
        place, lambda v: v.reduce("sum", (1, 2)) * v.reduce("min", (0, 1)).reshape((1, 5)), SHAPE, (4, 5)
    )
    np.testing.assert_array_equal(outer, np.outer(VALUES.sum(axis=(1, 2)), VALUES.min(axis=(0, 1))))
    assert on_fragment(place, lambda v: v[2, 1, 3], SHAPE, (1,))[0] == VALUES[2, 1, 3]
    assert (on_fragment(place, lambda v: cl.full((2, 3), 7.0, cl.f32), SHAPE, (2, 3)) == 7).all()
    assert (on_fragment(place, lambda v: v + cl.full_like(v, 1.0), SHAPE, SHAPE) == VALUES + 1).all()


def test_parts_of_vectors(place: Place) -> None:
    np.testing.assert_array_equal(on_fragment(place, lambda v: v[None, 1, 2], SHAPE, (4,)), VALUES[:, 1, 2])
    np.testing.assert_array_equal(on_fragment(place, lambda v: v[2, :, None], SHAPE, (3, 5)), VALUES[2])
    nested = on_fragment(place, lambda v: v.reshape(((2, 2), 3, 5))[(1, None), None, 4], SHAPE, (2, 3))
    np.testing.assert_array_equal(nested, VALUES[1::2, :, 4])


def test_masks(place: Place) -> None:
    """Comparisons, their combinations and their negation, chosen by, all on whole fragments."""

    def body(v: Any) -> Any:
        odd = v.to(cl.i32) & 1 == 1
        return cl.where(~((v > 40.0) | odd) ^ (v == 3.0), v, cl.full_like(v, -1.0))

    wanted = ~((VALUES > 40) | (VALUES % 2 == 1)) ^ (VALUES == 3)
    np.testing.assert_array_equal(on_fragment(place, body, SHAPE, SHAPE), np.where(wanted, VALUES, -1))


def test_conditions_are_broadcast(place: Place) -> None:
    """To what they choose from, and numbers and smaller vectors to them."""

    def body(v: Any) -> Any:
        rows = v[None, 0, 0].reshape((4, 1, 1))
        return cl.where(rows > 1.0, v, -1.0) + cl.where(v > 20.0, rows, v[5]) + cl.where(v > 30.0, 0.5, v[7])

    rows = VALUES[:, :1, :1]
    wanted = np.where(rows > 1, VALUES, -1) + np.where(VALUES > 20, rows, 5) + np.where(VALUES > 30, 0.5, 7)
    np.testing.assert_array_equal(on_fragment(place, body, SHAPE, SHAPE), wanted)


WHOLE: dict[str, tuple[Any, list[str]]] = {
    "arithmetic": (lambda v: v * 2.0 + v / 3.0, ["mul", "div", "add"]),
    "comparison and choice": (lambda v: cl.where(v < 3.0, v, -v), ["cmp", "neg", "select"]),
    "conversion": (lambda v: v.to(cl.f16).to(cl.f32), ["cvt", "cvt"]),
}


@pytest.mark.parametrize("name", WHOLE)
def test_an_operation_on_a_fragment_is_one_op(name: str) -> None:
    body, ops = WHOLE[name]

    @cl.kernel(block=1)
    def kernel(a: Tensor[cl.f32, (64,)], out: Tensor[cl.f32, (64,)]) -> None:
        out.store(body(a.load()))

    text = str(kernel.compile((64,), (64,), arch="sm_90a").ir)
    emitted = [line.split("=", 1)[1].split()[0] for line in text.splitlines() if " = " in line]
    assert [op for op in emitted if op in ops] == ops
    assert all(f"{op} " in text for op in ops)


def test_converts_whole_fragments(place: Place) -> None:
    np.testing.assert_array_equal(
        on_fragment(place, lambda v: v.to(cl.f16), SHAPE, SHAPE, cl.f16), VALUES.astype(np.float16)
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (lambda v: v.reduce("mean"), "'mean' is none of sum"),
        (lambda v: v.reduce("sum", (3,)), "are not all modes of a vector of shape (4, 3, 5)"),
        (lambda v: v.reduce("all"), "a all is not for f32"),
        (lambda v: v.reshape((7, 8)), "60 elements cannot have the shape (7, 8), of 56"),
        (lambda v: v.broadcast_to((4, 6, 5)), "mode 1 of (4, 3, 5) is 3, neither 1 nor the 6"),
        (lambda v: v.reshape((1, 60)) * v.reshape((60,)), "(1, 60) and (60,) would combine all pairs"),
        (lambda v: v + v.reduce("sum", (0,)), "shapes (4, 3, 5) and (3, 5) cannot be combined"),
        (lambda v: v[1, 2], "2 indices into a vector of 3 modes"),
        (lambda v: v[4, 0, 0], "is no coordinate"),
    ],
)
def test_refusals(body: Any, text: str) -> None:
    with pytest.raises(CompileError) as caught:
        on_fragment(simulator, body, SHAPE, (1,))
    assert text in str(caught.value)


# Tensors.


def test_the_algebra_gives_views(place: Place) -> None:
    """Each view of a (16, 24) tensor writes its thread's number; who owns what is what the layout functions say."""

    @cl.kernel(block=8)
    def kernel(a: Tensor[cl.i32, (M, N)], b: Tensor[cl.i32, (M, N)], c: Tensor[cl.i32, (16, 24)]) -> None:
        t = cl.thread_idx.x
        own = cl.local_partition(cl.local_tile(a, (16, 24), (0, 0)), Layout((2, 4), (4, 1)), t)
        own.fill(t)
        divided = cl.zipped_divide(b, tiler=(8, 12))
        tile = cl.slice_(divided, (None, (t // 2 % 2, t % 2)))
        tile.fill(t % 4)
        if cl.max_common_vector(c, cl.composition(lhs=c, rhs=cl.make_layout((16, 24)))) != 384:
            t = t + 100  # which shows below
        grouped = cl.group_modes(cl.flat_divide(target=c, tiler=(4, 6)), begin=0, end=2)
        inner = cl.domain_offset((0, t % 4, t // 4), grouped)
        inner[None, 0, 0].fill(t)

    a, b, c = (np.full((16, 24), -1, np.int32) for _ in range(3))
    place(kernel[1, 8], a, b, c)
    rows, columns = np.indices((16, 24))
    np.testing.assert_array_equal(a, rows % 2 * 4 + columns % 4)
    assert set(np.unique(b)) == {0, 1, 2, 3}
    assert (b[:8, :12] == 0).all() and (b[8:, 12:] == 3).all()
    expected = np.where((rows // 4 < 4) & (columns // 6 < 2), rows // 4 + 4 * (columns // 6), -1)
    np.testing.assert_array_equal(c, expected)


def test_slices_with_nested_and_runtime_coordinates(place: Place) -> None:
    """Of a divided tensor, in all three memories and of coordinates: (2, 3) by (4, 2) modes of a (6, 8) matrix."""
    nested = Layout(((2, 3), (4, 2)))

    @cl.kernel(block=1)
    def kernel(a: Tensor[cl.i32, (M, N)], out: Tensor[cl.i32, (4, 8)]) -> None:
        i = cl.thread_idx.x + 1  # 1, known at run time only
        divided = cl.logical_divide(a, (2, 4))
        shared, held = cl.shared(cl.i32, nested), cl.make_rmem_tensor(cl.i32, nested)
        cl.copy(cl.local_tile(divided, (6, 8), (0, 0)), shared)
        cl.copy(shared, held)
        places = cl.logical_divide(cl.make_identity_tensor((6, 8)), (2, 4))
        for row, t in enumerate((divided, shared)):
            out[row, 0] = t[(i, 2), (3, i)]
            out[row, 1] = t[(i, 2), 5]
            out[row, 2] = t[(None, i), (2, None)][1, 1]
            out[row, 3] = t[None, (None, i)][(1, 1), 2]
            out[row, 4] = t[5, ...][6]
            out[row, 5] = t[3, (i, None)][1]
            t[(i, 2), (3, None)][i] = 1000 + row
            out[row, 6] = t[5, 7]
            out[row, 7] = cl.flat_divide(t, (2, 4))[..., i].ndim
        for column, (r, c) in enumerate((((1, 2), (3, 1)), ((1, 2), 5), ((0, 1), (2, 0)), (3, (1, 1)))):
            out[2, column] = held[r, c]
            at = places[(r[0] * i, r[1]) if isinstance(r, tuple) else r, c]
            out[3, column] = at[0] * 8 + at[1]
        out[2, 4] = held[(1, None), (3, None)][2, 1]
        at = places[(None, i), (2, None)][1, 1]
        out[3, 4] = at[0] * 8 + at[1]

    a, out = np.arange(48, dtype=np.int32).reshape(6, 8), np.zeros((4, 8), np.int32)
    place(kernel[1, 1], a, out)
    seen = [47, 45, 30, 30, 46, 29]
    assert out[:2].tolist() == [[*seen, 1000, 3], [*seen, 1001, 3]]
    assert out[2, :5].tolist() == [*out[3, :4].tolist(), 47] == [47, 45, 18, 29, 47]
    assert out[3, 4] == 30


def test_coordinates_say_where_elements_belong(place: Place) -> None:
    """Partitioned like the tensor, a coordinate tensor gives each element's place; with it edges are predicated."""
    copy = cl.make_tiled_copy_tv(
        cl.make_copy_atom(cl.CopyUniversalOp(), cl.i32), Layout((4, 8), (8, 1)), Layout((2, 1))
    )

    @cl.kernel(block=32)
    def kernel(a: Tensor[cl.i32, (M, N)]) -> None:
        where = cl.block_idx.x, cl.block_idx.y
        mine = copy.get_slice(cl.thread_idx.x)
        part = mine.partition_D(cl.local_tile(a, (16, 16), where))
        coords = mine.partition_D(cl.local_tile(cl.make_identity_tensor(a.shape), (16, 16), where))
        for i in cl.static_range(cl.size(part)):
            if cl.elem_less(coords[i], a.shape):
                part[i] = coords[i][0] * 100 + coords[i][1]

    a = np.full((19, 37), -1, np.int32)
    place(kernel[(2, 3), 32], a)
    rows, columns = np.indices(a.shape)
    np.testing.assert_array_equal(a, rows * 100 + columns)


def test_swizzled_views(place: Place) -> None:
    """Memory made without a swizzle, seen through one by a pointer and by a view: both find what the other wrote."""
    layout = cl.make_smem_layout(cl.f16, (16, 64))

    @cl.kernel(block=32)
    def kernel(a: Tensor[cl.f16, (16, 64)], out: Tensor[cl.f16, (2, 16, 64)]) -> None:
        raw = cl.shared(cl.f16, (16, 64), align=1024)
        seen, other = cl.make_tensor(raw.ptr, layout, cl.f16), raw.view(layout)
        for i in range(cl.thread_idx.x, 1024, 32):
            seen[i] = a[i]
        cl.syncthreads()
        for i in range(cl.thread_idx.x, 1024, 32):
            out[0, None, None][i] = other[i]
            out[1, None, None][i] = raw[i]

    a, out = np.arange(1024).reshape(16, 64).astype(np.float16), np.zeros((2, 16, 64), np.float16)
    place(kernel[1, 32], a, out)
    np.testing.assert_array_equal(out[0], a)
    chunks = a.reshape(16, 8, 8)
    expected = [[chunks[row, chunk ^ row % 8] for chunk in range(8)] for row in range(16)]
    np.testing.assert_array_equal(out[1].reshape(16, 8, 8), expected)


def test_fill_clear_axpby(place: Place) -> None:
    @cl.kernel(block=1)
    def kernel(x: Tensor[cl.f16, (8,)], y: Tensor[cl.f32, (8,)]) -> None:
        cl.axpby(2.0, x, 0.5, y)
        cl.fill(x, 3.0)
        cl.clear(cl.local_tile(x, (4,), (1,)))

    x, y = np.arange(8).astype(np.float16), np.full(8, 10, np.float32)
    place(kernel[1, 1], x, y)
    np.testing.assert_array_equal(y, 2 * np.arange(8) + 5)
    np.testing.assert_array_equal(x, [3] * 4 + [0] * 4)


def test_shared_storage(place: Place) -> None:
    class Storage(cl.SharedStorage):
        tile: cl.Smem[cl.i32, (4, 32)]
        bars: cl.Smem[cl.mbarrier, (2,)]
        wide: cl.Smem[cl.f16, cl.make_smem_layout(cl.f16, (8, 64)), 1024]

    @cl.kernel(block=32)
    def kernel(out: Tensor[cl.i32, (4, 32)]) -> None:
        storage = Storage.allocate()
        cl.local_partition(storage.tile, Layout((1, 32)), cl.thread_idx.x).fill(cl.thread_idx.x)
        cl.syncthreads()
        out[0, cl.thread_idx.x] = storage.tile[3, 31 - cl.thread_idx.x]
        storage.wide.fill(1.0)

    out = np.zeros((4, 32), np.int32)
    place(kernel[1, 32], out)
    np.testing.assert_array_equal(out[0], 31 - np.arange(32))
    built = kernel.compile((4, 32), arch="sm_90a")
    assert built.shared_memory >= 4 * 32 * 4 + 16 + 8 * 64 * 2


def test_shared_storage_of_names_that_strings_do_not_know() -> None:
    class Storage(cl.SharedStorage):
        tile: "cl.Smem[cl.i32, (nowhere, 32)]"  # noqa: F821

    @cl.kernel(block=32)
    def kernel() -> None:
        Storage.allocate()

    with pytest.raises(CompileError, match="an annotation of Storage cannot be evaluated: name 'nowhere' is not def"):
        kernel.compile()


def test_vectors_are_joined_and_made_of_numbers(place: Place) -> None:
    def joined(v: Any) -> Any:
        mixed = cl.vector(1, 2.5, 3), cl.vector(1, v[0].to(cl.i64), 3), cl.vector(True, v[0] > 0)
        if tuple(made.dtype for made in mixed) != (cl.f32, cl.i64, cl.boolean):
            raise TypeError
        return cl.vector(v[0:2], 7, v[5], cl.vector(v[1] * 2, dtype=cl.i32))

    assert on_fragment(place, joined, SHAPE, (5,)).tolist() == [0, 1, 7, 5, 2]
    halves = on_fragment(place, lambda v: cl.vector(*v[0:3], 0.5, dtype=cl.f16), SHAPE, (4,), cl.f16)
    assert halves.tolist() == [0, 1, 2, 0.5]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda v: cl.vector(), "a vector is made of numbers and vectors, not of nothing"),
        (lambda v: cl.vector(v, "x"), "not of a run-time vec<f32,60>, 'x'"),
        (lambda v: cl.vector(1.5, dtype=cl.i32), "the literal 1.5 does not fit i32"),
        (lambda v: cl.vector(v.to(cl.i64), v.to(cl.u64)), "no integer type holds both i64 and u64"),
    ],
)
def test_what_vectors_are_not_made_of(place: Place, made: Any, text: str) -> None:
    with pytest.raises(CompileError, match=re.escape(text)):
        on_fragment(place, made, SHAPE, (1,))
