"""Rows quantised by token and by block, of arrays, gates and norms; matrices cast and transposed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.rows import norm, quantise_blocks
from cutelite.kernels.rows.elementwise import elementwise
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.plan import Plan
from cutelite.kernels.rows.quantise import quantise
from cutelite.kernels.rows.transpose import transposed
from tests.kernels.test_rows import BF16, normed, random
from tests.pairs import in_pairs, some

pytestmark = pytest.mark.usefixtures("everywhere")

Array = np.ndarray[Any, Any]
NARROWS = [Narrow(), Narrow(block=128), Narrow(cl.e5m2)]
HALF_STEP = {"e4m3": 1 / 16, "e5m2": 1 / 8}


def near(q: Array, scale: Array, exact: Array, narrow: Narrow, slack: float = 0.0) -> None:
    """Each number is the nearest of 8 bits, and each group's greatest magnitude the largest of these."""
    m, n = int(np.prod(exact.shape[:-1])), exact.shape[-1]
    size = n if narrow.block == 1 else narrow.block
    wide, flat = q.astype(np.float64).reshape(m, n), exact.reshape(m, n)
    scales = np.repeat(scale.reshape(m, -1).astype(np.float64), size, 1)[:, :n]
    assert scale.shape[:-1] == exact.shape[:-1]
    tops = np.stack([np.abs(flat[:, i : i + size]).max(1) for i in range(0, n, size)], 1)
    largest = 448 if narrow.dtype == cl.e4m3 else 57344
    np.testing.assert_allclose(scale.reshape(m, -1), np.maximum(tops, 1e-30) / largest, rtol=1e-5 + slack)
    step = HALF_STEP[narrow.dtype.name]
    bound = np.maximum(np.abs(flat) * step, scales * 2.0**-9) * 1.001 + slack * np.abs(flat).max()
    assert (np.abs(wide * scales - flat) <= bound).all()


@pytest.mark.parametrize(
    ("how", "residual"),
    [
        (None, False),
        (Plan(32, 1, 2, 8, 1, held=False, rows=2), False),
        (Plan(64, 1, 1, 8, 1, stages=1), True),
        (Plan(32, 1, 2, 8, 1, ahead=1), True),
    ],
    ids=str,
)
def test_elements_times_weights_need_not_fit_f32(how: Plan | None, residual: bool) -> None:
    x, w = random((3, 512), BF16), (random((512,), np.float32, 1) * 1e20).astype(BF16)
    x[1], x[2] = (
        x[1].astype(np.float32) * 1e38,
        x[2].astype(np.float32) * 1e17,
    )  # squares that f32 does not hold, and does
    made = norm.rms_norm(x, w, residual=np.zeros_like(x) if residual else None, narrow=Narrow(), how=how)
    wide = x.astype(np.float64)
    exact = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6) * w.astype(np.float64)
    exact[1] = 0  # as torch has it
    near(made.y, made.scale, exact, Narrow(), 1e-5)


@pytest.mark.parametrize(
    ("shape", "dtype", "narrow"),
    some(
        (
            (*of, narrow)
            for of in (((3, 1), BF16), ((3, 77), np.float32), ((5, 2, 300), BF16), ((4, 1024), np.float16))
            for narrow in NARROWS
        ),
        2,
    ),
)
def test_rows(shape: tuple[int, ...], dtype: Any, narrow: Narrow) -> None:
    x, up = random(shape, dtype, scale=3), random(shape, dtype, 1)
    x.reshape(-1, shape[-1])[1] = 0
    near(*quantise(x, narrow), x.astype(np.float64), narrow)
    wide = x.astype(np.float64)
    near(*quantise(x, narrow, up=up), wide / (1 + np.exp(-wide)) * up.astype(np.float64), narrow, 2e-6)


@pytest.mark.parametrize("narrow", NARROWS[:2], ids=str)
@pytest.mark.parametrize(("n", "pitch"), [(520, 521), (520, 528), (1000, 1000)])
def test_pitches_and_clusters(narrow: Narrow, n: int, pitch: int, checked: Callable[[int], None]) -> None:
    checked(1)
    x = random((3, pitch), BF16)[:, :n]
    near(*quantise(x, narrow, how=Plan(32, 1, 4, 8, 1)), x.astype(np.float64), narrow)


@pytest.mark.parametrize(("narrow", "n", "center"), in_pairs(NARROWS[:2], (77, 1024), (False, True)))
def test_norms_that_quantise(narrow: Narrow, n: int, center: bool) -> None:
    x, residual = random((4, n), BF16), random((4, n), BF16, 1)
    w = random((n,), BF16, 2)
    made = (norm.layer_norm if center else norm.rms_norm)(x, w, residual=residual, eps=1e-5, narrow=narrow)
    s = x.astype(np.float64) + residual.astype(np.float64)
    near(made.y, made.scale, normed(s, center, 1e-5)[0] * w.astype(np.float64), narrow, 1e-6)
    np.testing.assert_allclose(made.total.astype(float), s, rtol=1e-2)
    far = random((4, n), np.float32) + np.float32(20)  # what lies behind the row is not 0 without its mean
    made = (norm.layer_norm if center else norm.rms_norm)(far, eps=1e-5, narrow=narrow)
    near(made.y, made.scale, normed(far.astype(np.float64), center, 1e-5)[0], narrow, 2e-5)


@pytest.mark.parametrize(
    "how",
    [
        Plan(32, 1, 2, 8, 3, moved=True),
        Plan(32, 2, 1, 8, 2, lead=1 << 20),
        Plan(32, 1, 2, 8, 3, stages=2),
        Plan(32, 1, 1, 8, 2, stages=1, outside=False),
    ],
    ids=["moved", "asked", "outside", "held"],
)
def test_norms_that_quantise_rows_that_begin_anywhere(how: Plan, checked: Callable[[int], None]) -> None:
    checked(1)
    x, w = random((11, 307), BF16), random((307,), BF16, 2)
    how = replace(how, shifted=True, around=True)
    made = norm.rms_norm(x, w, eps=1e-5, narrow=Narrow(), offset=1.0, how=how)
    near(made.y, made.scale, normed(x.astype(np.float64), False, 1e-5)[0] * (1 + w.astype(np.float64)), Narrow(), 1e-6)


@pytest.mark.parametrize("how", [Plan(32, 1, 2, 8, 1, stages=1), Plan(64, 1, 1, 8, 1, stages=2)], ids=str)
def test_rows_that_are_copied_ahead(how: Plan, checked: Callable[[int], None]) -> None:
    checked(1)
    x, w = random((7, 1024), BF16), random((1024,), BF16, 2)
    wide = x.astype(np.float64)
    near(*quantise(x, how=how), wide, Narrow())
    for center in (False, True):
        made = (norm.layer_norm if center else norm.rms_norm)(x, w, eps=1e-5, narrow=Narrow(), how=how)
        near(made.y, made.scale, normed(wide, center, 1e-5)[0] * w.astype(np.float64), Narrow(), 1e-6)


def test_plans_whose_warps_have_rows_in_part() -> None:
    """Several rows of a warp: each team reduces for itself, and would have a scale of what it has of a block."""
    x, w = random((20, 64), BF16), random((64,), BF16, 2)
    made = norm.rms_norm(x, w, eps=1e-5, narrow=Narrow(), how=Plan(8, 16, 1, 8, 2))
    near(made.y, made.scale, normed(x.astype(np.float64), False, 1e-5)[0] * w.astype(np.float64), Narrow(), 1e-6)
    with pytest.raises(cl.ArgumentError, match="no warp has a block of 128 then"):
        norm.rms_norm(x, w, narrow=Narrow(block=128), how=Plan(8, 16, 1, 8, 2))
    with pytest.raises(cl.ArgumentError, match="one row after the other are whole warps"):
        norm.rms_norm(x, w, how=Plan(8, 16, 1, 8, 2, early=True))


def test_rows_that_nothing_holds() -> None:
    how = Plan(32, 1, 1, 8, 1, outside=True)
    x, up = random((2, 1000), BF16), random((2, 1000), BF16, 1)
    wide = x.astype(np.float64)
    near(*quantise(x, how=how), wide, Narrow())
    near(*quantise(x, up=up, how=how), wide / (1 + np.exp(-wide)) * up.astype(np.float64), Narrow(), 2e-6)


@pytest.mark.parametrize(
    ("dtype", "m", "n"),
    [(BF16, 10, 400), (np.float32, 10, 400), (np.float32, 18, 141), (BF16, 18, 515), (BF16, 18, 511), (BF16, 18, 801)],
)
def test_eight_rows_together(
    dtype: Any, m: int, n: int, monkeypatch: pytest.MonkeyPatch, checked: Callable[[int], None]
) -> None:
    checked(1)
    monkeypatch.setattr(quantise_blocks, "FEW", 8)
    x, up = random((m, n), dtype), random((m, n), dtype, 1)
    x[::2] *= dtype(64)  # so that an element of the row before or behind would show in a scale
    wide, narrow, how = x.astype(np.float64), Narrow(block=128), Plan(64, 1, 1, 8, 1)
    near(*quantise(x, narrow, how=how), wide, narrow)
    near(*quantise(x, narrow, up=up, how=how), wide / (1 + np.exp(-wide)) * up.astype(np.float64), narrow, 2e-6)


def test_values_that_are_not_finite() -> None:
    x = np.array([[np.nan, 1, 2, -4], [np.inf, 1, 2, 3]], np.float32)
    q, scale = quantise(x)
    np.testing.assert_array_equal(np.isnan(q.astype(float)), [[True, False, False, False], [True] + [False] * 3])
    np.testing.assert_allclose(q[0, 1:].astype(float) * scale[0], [1, 2, -4])
    assert np.isinf(scale[1])


@pytest.mark.parametrize("major", ["rows", "columns"])
def test_transposed_matrices_go_where_they_are_wanted(major: str) -> None:
    x = random((150, 37), BF16)
    room = np.full((37, 160), 7, np.float16)
    assert transposed(x, "f16", out=room[:, 3:153]) is not None
    np.testing.assert_array_equal(room[:, 3:153], x.T.astype(np.float16))
    assert (room[:, [0, 1, 2, *range(153, 160)]] == 7).all()
    right, scales = transposed(x, Narrow(block=128)), np.zeros((2, 37), np.float32)
    scale = scales.T if major == "columns" else np.zeros((37, 2), np.float32)
    q = np.zeros((37, 150), right.q.dtype)
    transposed(x, Narrow(block=128), out=(q, scale))
    np.testing.assert_array_equal(q.view(np.uint8), right.q.view(np.uint8))
    np.testing.assert_array_equal(scale, right.scale)
    with pytest.raises(cl.ArgumentError, match=r"out\[1\], the scale, has shape \(2, 37\), but must be \(37, 2\)"):
        transposed(x, Narrow(block=128), out=(q, scales))
    square = random((8, 8), np.float32)
    with pytest.raises(cl.ArgumentError, match="out lies where x does"):
        transposed(square, "f32", out=square)


@pytest.mark.parametrize(("shape", "dtype"), [((1, 1), BF16), ((131, 267), BF16), ((5, 71), np.float32)])
def test_matrices_are_transposed(shape: tuple[int, int], dtype: Any) -> None:
    x = random(shape, dtype)
    np.testing.assert_array_equal(transposed(x, "f16"), x.T.astype(np.float16))
    np.testing.assert_array_equal(
        transposed(x, "e4m3").astype(float), x.T.astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(float)
    )
    narrow = Narrow(block=128)
    q, scale = transposed(x, narrow)
    near(q, scale, x.T.astype(np.float64), narrow, 1e-6)


def test_rows_of_transposed_matrices_begin_with_whole_vectors() -> None:
    for (m, to), pitch in {
        (1, "f32"): 4,
        (131, "bf16"): 136,
        (131, "e4m3"): 144,
        (1025, "bf16"): 1088,
        (1000, "e4m3"): 1024,
    }.items():
        y = transposed(random((m, 5), BF16), to)
        assert (y.shape, y.strides[0]) == ((5, m), pitch * y.itemsize)
    assert transposed(random((256, 5), BF16), "e4m3").flags.c_contiguous


def test_matrices_between_other_numbers_are_transposed() -> None:
    x = random((1 + 128 * 128,), BF16)[1:].reshape((128, 128))  # no word reaches out of it
    np.testing.assert_array_equal(transposed(x, "bf16"), x.T)


@pytest.mark.parametrize(
    ("dtype", "m", "n", "pitch", "begin"),
    some(
        (
            (dtype, *of)
            for dtype in (BF16, np.float32)
            for of in ((130, 265, 265, 0), (130, 140, 140, 4), (128, 136, 143, 7), (129, 9, 9, 3), (128, 144, 144, 0),
                       (130, 132, 136, 8), (257, 72, 79, 7))
        ),
        2,
    ),
)  # fmt: skip
def test_transposed_rows_begin_anywhere(
    dtype: Any, m: int, n: int, pitch: int, begin: int, checked: Callable[[int], None]
) -> None:
    """Rows of all places in a vector, with NaN around the matrix and between rows, which no scale may know of."""
    checked(1)
    memory = np.full(begin + m * pitch + 16, np.nan, np.float32).astype(dtype)
    x = np.ndarray((m, n), dtype, memory, begin * memory.itemsize, (pitch * memory.itemsize, memory.itemsize))
    x[:] = random((m, n), dtype)
    np.testing.assert_array_equal(transposed(x, "f32"), x.T.astype(np.float32))
    q, scale = transposed(x, Narrow(block=128))
    near(q, scale, x.T.astype(np.float64), Narrow(block=128), 1e-6)


@pytest.mark.parametrize("pitch", [0, 1, 5])
def test_transposed_rows_that_share_memory(pitch: int, checked: Callable[[int], None]) -> None:
    """The first ones, whose vectors of memory may begin before it, by element."""
    checked(1)
    memory = random((1 + 139 * pitch + 19,), BF16)
    x = np.ndarray((140, 19), BF16, memory, 2, (2 * pitch, 2))
    np.testing.assert_array_equal(transposed(x, "f16"), x.T.astype(np.float16))
    q, scale = transposed(x, Narrow(block=128))
    near(q, scale, x.T.astype(np.float64), Narrow(block=128), 1e-6)


def test_no_rows() -> None:
    x = np.zeros((0, 2, 300), np.float32)
    for narrow, scales in ((Narrow(), 1), (Narrow(block=128), 3)):
        assert quantise(x, narrow).scale.shape == norm.rms_norm(x, narrow=narrow).scale.shape == (0, 2, scales)


def test_casts(checked: Callable[[int], None]) -> None:
    checked(1)
    x = random((3, 77), BF16)
    narrow, wide = elementwise(lambda v: (v, v), (x,), dtypes=("e4m3", "f32"))
    np.testing.assert_array_equal(wide, x.astype(np.float32))
    np.testing.assert_array_equal(narrow.astype(float), x.astype(ml_dtypes.float8_e4m3fn).astype(float))
    transposed(x, "e5m2")


def test_what_is_refused() -> None:
    with pytest.raises(cl.ArgumentError, match="e5m2, in blocks of 128 or by row"):
        Narrow(block=64)
    with pytest.raises(cl.ArgumentError, match=r"block is 128\.0, but must be a whole number"):
        Narrow(cl.e4m3, 128.0)  # type: ignore[arg-type]
