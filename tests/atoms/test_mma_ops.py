"""mma.sync, ldmatrix, stmatrix and movmatrix against NumPy, on random matrices; of every form."""

# mypy: disable-error-code="valid-type, attr-defined, index, type-arg, var-annotated, arg-type"
# (kernels here are made for dtypes and shapes that a test chooses, which no annotation can say to a checker)

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import SCALARS
from cutelite.lang.matrix import ldmatrix, mma_sync, movmatrix, stmatrix
from cutelite.ops import ldmatrix as matrix_ops
from cutelite.ops import mma
from cutelite.ops.wgmma_layouts import places
from tests.places import Place

M, N, K = cl.dims("M N K")
A, B, D = TypeVar("A"), TypeVar("B"), TypeVar("D")

DTYPES = {name: numpy_dtype(elem) for name, elem in SCALARS.items()}
CASES = [(a, b, d, k, form.m) for a, form in mma.every_form() for b in form.b for d in form.d for k in form.k]


@cl.kernel(block=64)
def multiply(
    a: Tensor[A, (M, K)], b: Tensor[B, (N, K)], c: Tensor[D, (M, N)], out: Tensor[D, (2, M, N)], how: Constexpr[tuple]
) -> None:
    """Each of two warps multiplies, by the layouts; `how` is (type of A, type of B, k, saturate, m)."""
    elem_a, elem_b, k, saturate, m = how
    lane = cl.lane_idx()
    form: Any = mma.form_of(elem_a.name, m)
    parts = []
    for source, elem, layout, rows in (
        (a, elem_a, mma.operand_a(elem_a, k, m), form.m),
        (b, elem_b, mma.operand_b(elem_b, k), form.n),
        (c, c.dtype, mma.accumulator(form.m), form.m),
    ):
        held = cl.make_rmem_tensor(elem, (mma.registers(layout),))
        for v in cl.static_range(mma.registers(layout)):
            index = layout(lane, v)
            held[v] = source.recast(elem)[index % rows, index // rows]
        parts.append(held.load())
    d = mma_sync(*parts, k=k, saturate=saturate)
    layout = mma.accumulator(form.m)
    for v in cl.static_range(mma.registers(layout)):
        index = layout(lane, v)
        out[cl.thread_idx.x // 32, index % form.m, index // form.m] = d[v]


def random(rng: np.random.Generator, name: str, *shape: int) -> Any:
    """Small integers: every product and sum of them is exact in every type."""
    low, high = (0, 8) if name == "u8" else (-8, 8)
    return rng.integers(low, high, shape).astype(DTYPES[name])


@pytest.mark.parametrize(("a", "b", "d", "k", "m"), CASES)
def test_multiplies(place: Place, a: str, b: str, d: str, k: int, m: int) -> None:
    form = mma.form_of(a, m)
    assert form is not None
    rng = np.random.default_rng(k)
    x, y, z = random(rng, a, form.m, k), random(rng, b, form.n, k), random(rng, d, form.m, form.n)
    out = np.zeros((2, form.m, form.n), DTYPES[d])
    place(multiply[1, 64], x, y, z, out, (SCALARS[a], SCALARS[b], k, False, m))
    expected = x.astype(np.float64) @ y.astype(np.float64).T + z.astype(np.float64)
    np.testing.assert_array_equal(out.astype(np.float64), np.stack([expected, expected]))


@pytest.mark.parametrize("saturate", [False, True])
def test_integers_wrap_or_saturate(place: Place, saturate: bool) -> None:
    x, y = np.full((16, 16), 127, np.int8), np.full((8, 16), 127, np.int8)
    z = np.full((16, 8), 2**31 - 5, np.int32)
    out = np.zeros((2, 16, 8), np.int32)
    place(multiply[1, 64], x, y, z, out, (SCALARS["i8"], SCALARS["i8"], 16, saturate, 16))
    exact = 2**31 - 5 + 16 * 127 * 127
    assert (out == (2**31 - 1 if saturate else exact - 2**32)).all()


def test_f32_sums_round_once(place: Place) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((16, 16)).astype(np.float16), rng.standard_normal((8, 16)).astype(np.float16)
    z = rng.standard_normal((16, 8)).astype(np.float32)
    out = np.zeros((2, 16, 8), np.float32)
    place(multiply[1, 64], x, y, z, out, (SCALARS["f16"], SCALARS["f16"], 16, False, 16))
    exact = x.astype(np.float64) @ y.astype(np.float64).T + z
    np.testing.assert_allclose(out[1], exact, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "m", "k"), [(name, form.m, k) for name, form in mma.every_form() for k in form.k])
def test_layouts_are_bijections(name: str, m: int, k: int) -> None:
    """Every element of an operand is held by exactly one thread."""
    form, elem = mma.form_of(name, m), SCALARS[name]
    assert form is not None
    for layout, size in (
        (mma.operand_a(elem, k, m), form.m * k),
        (mma.operand_b(elem, k), form.n * k),
        (mma.accumulator(form.m), form.m * form.n),
    ):
        assert sorted(places(layout).reshape(-1).tolist()) == list(range(size))


def test_layouts_are_those_of_the_isa() -> None:
    """Rows and columns by the formulas under the figures (PTX ISA, m16n8k16 with 16-bit, m16n8k32 with 8-bit types)."""
    a, c = mma.operand_a(SCALARS["f16"], 16), mma.accumulator(16)
    b = mma.operand_b(SCALARS["i8"], 32)
    for t in range(32):
        group, member = t >> 2, t % 4
        for i in range(8):
            row = group if i < 2 or 4 <= i < 6 else group + 8
            column = member * 2 + (i & 1) + (0 if i < 4 else 8)
            assert a(t, i) == row + 16 * column
        for i in range(4):
            assert c(t, i) == (group if i < 2 else group + 8) + 16 * (member * 2 + (i & 1))
        for i in range(8):
            assert b(t, i) == group + 8 * (member * 4 + (i & 3) + (0 if i < 4 else 16))


def expected_fragments(rows: Any, count: int, transpose: bool) -> Any:
    """What each of 32 threads gets of matrices of 8 rows of 16 bytes: (32, values), by the words of the PTX ISA."""
    matrices = rows[: 8 * count].reshape(count, 8, -1)
    if transpose:
        matrices = matrices.transpose(0, 2, 1)
    each = 4 // rows.dtype.itemsize
    return np.array(
        [[matrices[j, t // 4, t % 4 * each + e] for j in range(count) for e in range(each)] for t in range(32)]
    )


MATRICES = [
    (name, count, transpose)
    for name in ("f16", "bf16", "i8", "f32", "tf32")
    for count in matrix_ops.COUNTS
    for transpose in (False, True)
    if not transpose or name in ("f16", "bf16")
]


@pytest.mark.parametrize(("name", "count", "transpose"), MATRICES)
def test_ldmatrix(place: Place, name: str, count: int, transpose: bool) -> None:
    dtype, size = DTYPES[name], np.dtype(DTYPES[name]).itemsize
    rows = (np.arange(32 * 16 // size).reshape(32, -1) % 120).astype(dtype)
    values = 4 // size * count
    out = np.zeros((2, 32, values), dtype)
    kernel = matrix_kernel(name, count, transpose)
    place(kernel[1, 64], rows, out)
    expected = expected_fragments(rows, count, transpose)
    for warp in range(2):
        np.testing.assert_array_equal(out[warp], expected)


def matrix_kernel(name: str, count: int, transpose: bool) -> Any:
    """Loads matrices with ldmatrix, stores them with stmatrix elsewhere and loads them again."""
    elem = SCALARS[name]
    per_row, values = 16 // elem.bytes, 4 // elem.bytes * count

    @cl.kernel(block=64)
    def through(src: Tensor[elem, (32, per_row)], out: Tensor[elem, (2, 32, values)]) -> None:
        tile, other = cl.shared(elem, (2, 32, 2 * per_row)), cl.shared(elem, (2, 32, 3 * per_row))
        warp, lane = cl.thread_idx.x // 32, cl.lane_idx()
        for i in cl.static_range(per_row):
            tile[warp, lane, i] = src[lane, i]
        cl.syncwarp()
        got = ldmatrix(tile[warp, lane, None], count, transpose=transpose)
        stmatrix(other[warp, lane, None], got, transpose=transpose)
        cl.syncwarp()
        again = ldmatrix(other[warp, lane, None], count, transpose=transpose)
        for i in cl.static_range(values):
            out[warp, lane, i] = again[i]

    return through


def test_movmatrix(place: Place) -> None:
    @cl.kernel(block=32)
    def transposed(src: Tensor[cl.f16, (8, 8)], out: Tensor[cl.f16, (8, 8)]) -> None:
        lane = cl.lane_idx()
        row, column = lane // 4, lane % 4 * 2
        pair = cl.make_rmem_tensor(cl.f16, (2,))
        pair[0], pair[1] = src[row, column], src[row, column + 1]
        moved = movmatrix(pair.load())
        out[row, column], out[row, column + 1] = moved[0], moved[1]

    src, out = np.arange(64).reshape(8, 8).astype(np.float16), np.zeros((8, 8), np.float16)
    place(transposed[1, 32], src, out)
    np.testing.assert_array_equal(out, src.T)
