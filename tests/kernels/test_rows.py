"""Kernels of rows against float64: lengths, pitches, dtypes, and values that softmax and norms find hard."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.dispatch.divert import diverted
from cutelite.kernels.rows import cross_entropy as entropy
from cutelite.kernels.rows import norm, select
from cutelite.kernels.rows import softmax as soft
from cutelite.kernels.rows.arrays import Rows
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.plan import Plan
from cutelite.kernels.rows.plans import (
    MOST,
    plan,
    plan_apart,
    plan_fold,
    plan_light,
    plan_loss,
    plan_norm,
    plan_norm_ends,
    plan_residual,
    plan_softmax,
    plan_token,
    plan_two,
)
from cutelite.kernels.rows.plans_sums import plan_sums
from cutelite.kernels.rows.quantise import quantise
from cutelite.toolchain import find
from tests.pairs import in_pairs, some

pytestmark = pytest.mark.usefixtures("everywhere")

Array = np.ndarray[Any, Any]
BF16 = ml_dtypes.bfloat16
SHAPES = [(3, 1), (3, 7), (2, 2, 256), (3, 1000), (1, 33000)]  # the last by a cluster
DTYPES = [np.float32, np.float16, BF16]
ROUNDING = {np.float32: 3e-6, np.float16: 1e-3, BF16: 8e-3}


def random(shape: tuple[int, ...], dtype: Any, seed: int = 0, scale: float = 1.0) -> Array:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def close(found: Array, exact: Array, dtype: Any) -> None:
    """The error, relative to the greatest value, is rounding's."""
    assert found.shape == exact.shape
    bound = ROUNDING[dtype] * float(np.abs(exact).max()) + 1e-6
    np.testing.assert_array_less(np.abs(found.astype(np.float64) - exact), bound)


def softmaxed(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    exact: Array = e / e.sum(-1, keepdims=True)
    return exact


@pytest.mark.parametrize(
    ("shape", "dtype"),
    some([*((shape, dtype) for dtype in (np.float32, BF16) for shape in SHAPES), (SHAPES[1], np.float16)], 2),
)
def test_softmax_and_its_gradient(shape: tuple[int, ...], dtype: Any) -> None:
    x, dy = random(shape, dtype, scale=3), random(shape, dtype, 1)
    exact = softmaxed(x.astype(np.float64))
    y, logs = soft.softmax(x), soft.log_softmax(x)
    close(y, exact, dtype)
    close(logs, np.log(exact), dtype)
    g, p = dy.astype(np.float64), y.astype(np.float64)
    close(soft.softmax_backward(dy, y), p * (g - (p * g).sum(-1, keepdims=True)), dtype)
    through = np.exp(logs.astype(np.float64))
    close(soft.softmax_backward(dy, logs, log=True), g - through * g.sum(-1, keepdims=True), dtype)


def test_softmax_of_hard_rows() -> None:
    inf, nan = np.inf, np.nan
    x = np.array(
        [[0, -inf, 1, -inf], [-inf] * 4, [inf, 0, 0, 0], [nan, 0, 1, 2], [3e38, -3e38, 3e38, 0], [-3e38] * 4],
        np.float32,
    )
    with np.errstate(invalid="ignore", over="ignore"):
        wide = x.astype(np.float64)
        np.testing.assert_allclose(soft.softmax(x), softmaxed(wide), rtol=1e-6)
        less = (wide - wide.max(-1, keepdims=True))[[0, 4, 5]]
        exact = (less - np.log(np.exp(less).sum(-1, keepdims=True))).astype(np.float32)  # -6e38 is -inf
    logs = soft.log_softmax(x)
    np.testing.assert_allclose(logs[[0, 4, 5]], exact, rtol=1e-6)
    assert np.isnan(logs[[1, 2, 3]]).any(-1).all()


@pytest.mark.parametrize("how", [None, Plan(128, 1, 1, 1, 1), Plan(32, 1, 1, 1, 1)])
def test_softmax_of_hard_rows_of_16_bits(how: Plan | None) -> None:
    x = np.random.default_rng(0).standard_normal((7, 100)) * np.array([1, 1e38, 1e5, 1e9, 30, 1, 1])[:, None]
    x[1, :9], x[2] = 3e38, x[2] + 1e6
    x[4, 50:], x[5], x[6, 7] = -np.inf, -3e38, np.nan
    for dtype in (BF16, np.float16):
        with np.errstate(over="ignore", invalid="ignore"):
            y = (x if dtype == BF16 else np.clip(x, -6e4, 6e4)).astype(dtype)
            exact = softmaxed(y.astype(np.float64))
        found = soft.softmax(y, how=how).astype(np.float64)
        np.testing.assert_allclose(found, exact, rtol=6e-3 if dtype == BF16 else 1e-3, atol=1e-6)


def normed(s: Array, center: bool, eps: float) -> tuple[Array, Array, Array]:
    """xhat, mean and rstd of rows, in float64."""
    mean = s.mean(-1, keepdims=True) if center else np.zeros_like(s[..., :1])
    rstd = 1 / np.sqrt(np.square(s - mean).mean(-1, keepdims=True) + eps)
    return (s - mean) * rstd, mean, rstd


@pytest.mark.parametrize(
    ("shape", "dtype", "center"),
    [
        *in_pairs(SHAPES[1:-1], (np.float32, BF16), (False, True)),
        ((3, 16500), BF16, True),
    ],
)
def test_norms_with_residual_and_their_gradients(shape: tuple[int, ...], dtype: Any, center: bool) -> None:
    x, residual, dy, add = (random(shape, dtype, seed) for seed in range(4))
    w, b = (random(shape[-1:], dtype, seed) for seed in (4, 5))
    made = (norm.layer_norm if center else norm.rms_norm)(x, w, bias=b, residual=residual, eps=1e-5, offset=1.0)
    s = x.astype(np.float64) + residual.astype(np.float64)
    close(made.total, s, dtype)
    xhat, mean, rstd = normed(s, center, 1e-5)
    close(made.y, xhat * (1 + w.astype(np.float64)) + b.astype(np.float64), dtype)
    np.testing.assert_allclose(made.rstd, rstd[..., 0], rtol=1e-5)
    if center:
        np.testing.assert_allclose(made.mean, mean[..., 0], atol=1e-5)
    xhat, _, rstd = normed(made.total.astype(np.float64), center, 1e-5)
    found = norm.norm_backward(dy, made, w, bias=True, add=add, offset=1.0)
    d = dy.astype(np.float64)
    g = d * (1 + w.astype(np.float64))
    inner = xhat * (g * xhat).mean(-1, keepdims=True) + (g.mean(-1, keepdims=True) if center else 0)
    rows = tuple(range(len(shape) - 1))
    close(found.x, (g - inner) * rstd + add.astype(np.float64), dtype)
    close(found.weight, (d * xhat).sum(rows), dtype)
    close(found.bias, d.sum(rows), dtype)


@pytest.mark.parametrize("residual", [False, True])
def test_the_variance_does_not_cancel(residual: bool) -> None:
    x = random((4, 37), np.float32) + np.float32(3000)
    made = norm.layer_norm(x, residual=np.zeros_like(x) if residual else None)
    xhat, _, _ = normed(x.astype(np.float64), True, 1e-5)
    np.testing.assert_allclose(made.y, xhat, rtol=2e-6, atol=1.5e-4)  # half an ulp of the mean is 1.2e-4


@pytest.mark.parametrize("dtype", [np.float32, BF16])
def test_rows_whose_squares_f32_does_not_hold(dtype: Any) -> None:
    x = np.zeros((4, 40), np.float32)
    x[0], x[1, 7], x[2], x[3] = 3e38, 3e38, 3e38 * (-1) ** np.arange(40), 3e38 * (-1) ** (np.arange(40) // 20)
    x = x.astype(dtype)
    made = norm.layer_norm(x, bias=np.ones(40, dtype))
    assert (made.y == 1).all() and (made.rstd == 0).all()
    np.testing.assert_allclose(made.mean, x.astype(np.float64).mean(-1), rtol=1e-5, atol=1e32)
    made = norm.layer_norm(np.full((1, 11), np.finfo(np.float32).max))  # the mean is rounded up
    assert (made.y == 0).all() and np.isfinite(made.mean).all()


@pytest.mark.parametrize("dtype", [np.float32, BF16, np.float16])
def test_nothing_is_left_of_equal_elements(dtype: Any) -> None:
    x = np.repeat(np.array([[-7.3], [3e4], [6e4 if dtype == np.float16 else 3e38]]).astype(dtype), 72, 1)
    w, dy = random((72,), dtype, 1), random((3, 72), dtype, 2)
    made = norm.layer_norm(x, w)
    assert (made.y == 0).all()
    dx, dw, db = norm.norm_backward(dy, made, w, bias=True)
    g = dy.astype(np.float64) * w.astype(np.float64)
    close(dx, (g - g.mean(-1, keepdims=True)) * made.rstd[:, None], dtype)
    assert (dw == 0).all()
    close(db, dy.astype(np.float64).sum(0), dtype)


SHIFTED = [
    Plan(64, 1, 1, 8, 1),
    Plan(32, 2, 1, 1, 1, rows=2),
    Plan(64, 1, 2, 8, 1, stages=1),
    Plan(32, 1, 1, 8, 1, early=True),
    Plan(32, 1, 2, 8, 1, outside=True),
]


@pytest.mark.parametrize(("how", "dtype"), list(zip(SHIFTED, (BF16, np.float16) * 3, strict=False)), ids=str)
def test_rows_far_from_zero_are_gone_through_again(how: Plan, dtype: Any, checked: Callable[[int], None]) -> None:
    checked(1)
    x = np.random.default_rng(0).standard_normal((6, 200))
    x += np.array([0, 100, 1.9, -5000, 0, 2.1])[:, None]
    x[4] = 3e19 + 2e17 * x[4] if dtype == BF16 else 3e4 + 100 * x[4]  # the squares of bf16 come to inf
    x = x.astype(dtype)
    made = norm.layer_norm(x, how=how)
    xhat, mean, rstd = normed(x.astype(np.float64), True, 1e-5)
    close(made.y, xhat, dtype)
    np.testing.assert_allclose(made.mean, mean[:, 0], rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(made.rstd, rstd[:, 0], rtol=1e-5)


def test_norms_without_weight_and_gradients_without_weights() -> None:
    x, dy = random((5, 96), np.float32), random((5, 96), np.float32, 1)
    made = norm.rms_norm(x, eps=0.0)
    xhat, _, rstd = normed(x.astype(np.float64), False, 0.0)
    close(made.y, xhat, np.float32)
    found = norm.norm_backward(dy, made)
    close(found.x, (dy - xhat * (dy * xhat).mean(-1, keepdims=True)) * rstd, np.float32)
    assert found.weight is None
    assert found.bias is None


@pytest.mark.parametrize(("shape", "dtype", "more"), in_pairs(SHAPES, (np.float32, BF16), ((0.0, 0.0), (0.1, 1e-3))))
def test_cross_entropy_and_its_gradient(shape: tuple[int, ...], dtype: Any, more: tuple[float, float]) -> None:
    smoothing, z = more
    x, n = random(shape, dtype, scale=2), shape[-1]
    target = np.random.default_rng(1).integers(0, n, shape[:-1])
    target.flat[0] = -100
    made = entropy.cross_entropy(x, target, smoothing=smoothing, z=z)
    wide = x.astype(np.float64)
    lse = np.log(np.exp(wide).sum(-1))
    hit = np.zeros(shape)
    np.put_along_axis(hit, np.maximum(target, 0)[..., None], 1, -1)
    counts = target != -100
    loss = lse - (1 - smoothing) * (wide * hit).sum(-1) - smoothing * wide.mean(-1) + z * lse * lse
    np.testing.assert_allclose(made.loss, loss * counts, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(made.lse, lse, rtol=1e-5, atol=1e-6)
    g = np.random.default_rng(2).standard_normal(shape[:-1]).astype(np.float32)
    exact = (1 + 2 * z * lse)[..., None] * np.exp(wide - lse[..., None]) - (1 - smoothing) * hit - smoothing / n
    exact *= (g * counts)[..., None]
    close(entropy.cross_entropy_backward(g, x, target, made.lse, smoothing=smoothing, z=z), exact, dtype)
    again = entropy.cross_entropy_gradient(g, x, target, out=x, smoothing=smoothing, z=z)  # in place
    close(x, exact, dtype)
    for one, other in zip(again, made, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("far", [0.0, 3000.0])
def test_gradients_of_a_part_of_each_row(far: float) -> None:
    """By the lse of whole rows, also where it is so far from zero that a whole row's sum would correct it."""
    x = (random((5, 96), np.float32, scale=2) + far).astype(BF16)
    target, g = np.array([3, 40, 95, 47, -1]), np.linspace(1, 2, 5, dtype=np.float32)
    lse = np.log(np.exp(x.astype(np.float64) - far).sum(-1)) + far
    whole = (np.exp(x.astype(np.float64) - lse[:, None]) - np.eye(96)[target] * (target >= 0)[:, None]) * g[:, None]
    for columns in slice(0, 48), slice(48, 96):
        here = (target >= columns.start) & (target < columns.stop)
        its = np.where(here, target - columns.start, -1)
        part = np.ascontiguousarray(x[:, columns])
        found = entropy.cross_entropy_backward(g, part, its, lse.astype(np.float32), ignore=-2, part=True)
        close(found, whole[:, columns], BF16)


@pytest.mark.parametrize("far", [0.0, 3000.0])
def test_gradients_of_rows_that_several_blocks_share(far: float) -> None:
    """Where they are no cluster, far from zero each block reads the whole row, which none may have written by then."""
    x = (random((3, 200), np.float32, scale=2) + far).astype(BF16)
    target, g, how = np.array([3, 199, -100]), np.linspace(1, 2, 3, dtype=np.float32), Plan(32, 1, 3, 8, 1)
    wide = x.astype(np.float64) - far
    lse = np.log(np.exp(wide).sum(-1))
    exact = (np.exp(wide - lse[:, None]) - np.eye(200)[target]) * (g * (target >= 0))[:, None]
    given = g, x, target, (lse + far).astype(np.float32)
    close(entropy.cross_entropy_backward(*given, how=how), exact, BF16)
    close(entropy.cross_entropy_backward(*given, out=x, how=how), exact, BF16)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_losses_of_logits_that_are_far_from_zero(smoothing: float) -> None:
    x = random((3, 70), np.float32) + np.array([[1e4], [-3e5], [0]], np.float32)
    x[2] = np.where(np.arange(70) % 2, 1e36, -1e36)
    target, g, n = np.array([5, 6, 7]), np.ones(3, np.float32), 70
    wide = x.astype(np.float64)
    apart = wide - wide.max(-1, keepdims=True)
    log = apart - np.log(np.exp(apart).sum(-1, keepdims=True))
    exact = -(1 - smoothing) * log[range(3), target] - smoothing * log.mean(-1)
    np.testing.assert_allclose(entropy.cross_entropy(x, target, smoothing=smoothing).loss, exact, rtol=1e-6)
    hit = np.zeros((3, n))
    hit[range(3), target] = 1
    dx = np.exp(log) - (1 - smoothing) * hit - smoothing / n
    lse = entropy.cross_entropy(x, target).lse
    close(entropy.cross_entropy_backward(g, x, target, lse, smoothing=smoothing), dx, np.float32)
    made = entropy.cross_entropy_gradient(g, x, target, out=x, smoothing=smoothing)
    np.testing.assert_allclose(made.loss, exact, rtol=1e-6)
    close(x, dx, np.float32)


@pytest.mark.parametrize("pitch", [40, 41, 48])
@pytest.mark.parametrize("start", [0, 1])
def test_rows_of_any_pitch_and_alignment(pitch: int, start: int) -> None:
    whole = random((6, pitch), BF16, scale=3)
    x = whole[:, start : start + 37]
    before = whole.copy()
    out = np.full((6, pitch), 7, BF16)
    soft.softmax(x, out=out[:, start : start + 37])
    close(out[:, start : start + 37], softmaxed(x.astype(np.float64)), BF16)
    assert (out[:, :start] == 7).all()
    assert (out[:, start + 37 :] == 7).all()
    np.testing.assert_array_equal(whole, before)


COVERED = [
    Plan(32, 1, 1, 8, 1, shifted=True, moved=True, aside=True),
    Plan(32, 1, 4, 8, 1, shifted=True, taken=True, lead=1 << 20),
    Plan(64, 1, 2, 8, 1, shifted=True, outside=True, moved=True),
    Plan(32, 1, 4, 8, 1, shifted=True, early=True),
    Plan(32, 1, 1, 8, 1, shifted=True, moved=True, ends=1),
    Plan(32, 1, 1, 8, 1, shifted=True, moved=True, ends=2),
    Plan(64, 1, 2, 8, 1, shifted=True, taken=True, moved=True, ends=2),
    Plan(16, 2, 1, 8, 1, shifted=True, alike=False, ends=1),
    Plan(32, 2, 1, 8, 1, shifted=True, alike=False),
]
PLACED = zip(COVERED, (0, 3, 6, 5, 1, 3, 5, 7, 1), (0, 0, 2, 7, 0, 2, 0, 3, 0), strict=True)


@pytest.mark.parametrize(("how", "start", "gap"), some(PLACED, 2), ids=str)
def test_rows_that_begin_anywhere(how: Plan, start: int, gap: int, checked: Callable[[int], None]) -> None:
    checked(1)
    m, n = 4, 517
    x, y = (np.full(start + m * (n + gap), 7, BF16)[start:].reshape((m, n + gap))[:, :n] for _ in range(2))
    x[...] = random((m, n), BF16, scale=3)
    w, b, exact = random((n,), BF16, 1), random((n,), BF16, 2), softmaxed(x.astype(np.float64))
    apart = replace(how, around=how.alike)
    soft.softmax(x if how.alike else np.hstack([x, x])[:, :n], out=y, how=apart)
    close(y, exact, BF16)
    if not gap:
        xhat, _, _ = normed(x.astype(np.float64), True, 1e-5)
        norm.layer_norm(x, w, b, out=y, how=apart)
        close(y, xhat * w.astype(np.float64) + b.astype(np.float64), BF16)
    target, g = np.arange(m) * 170, random((m,), np.float32)
    if how.cluster == 1:
        loss = entropy.cross_entropy(x, target, smoothing=0.5, how=replace(how, alike=True)).loss
        mean = np.log(exact).mean(-1)
        np.testing.assert_allclose(loss, -(np.log(exact[np.arange(m), target]) + mean) / 2, rtol=1e-4)
    made = entropy.cross_entropy_gradient(g, x, target, out=x, how=how)  # in place, beside rows of other blocks
    np.testing.assert_allclose(made.loss, -np.log(exact[np.arange(m), target]), rtol=1e-4)
    exact[np.arange(m), target] -= 1
    close(x, exact * g[:, None], BF16)
    for each in (x, y):
        each[...] = 7
        np.testing.assert_array_equal(each.base, 7)  # nothing is written around the rows


@pytest.mark.parametrize(
    ("how", "dtype"),
    some([
        (Plan(32, 1, 4, 4, 2, stages=3, shared_sums=1, shifted=True, kinds=8, abreast=True), np.float32),
        (Plan(32, 1, 4, 4, 5, stages=2, shared_sums=1, shifted=True, planes=True), np.float32),
        (Plan(32, 1, 2, 8, 4, stages=2, overlap=True, shifted=True), BF16),
        (Plan(32, 1, 2, 8, 2, stages=2, shifted=True, planes=True), BF16),
        (Plan(64, 1, 1, 8, 2, stages=2, shifted=True, planes=True), BF16),
        (Plan(64, 1, 1, 8, 2, stages=3, shared_sums=1, shifted=True, planes=True, around=True), BF16),
        (Plan(32, 1, 1, 8, 5, stages=2, shared_sums=1, shifted=True, ends=1), BF16),
        (Plan(32, 1, 1, 4, 5, stages=3, shared_sums=2, shifted=True, ends=2), np.float32),
        (Plan(32, 1, 2, 8, 2, stages=2, shared_sums=1, shifted=True, ends=2), BF16),
        (Plan(32, 1, 4, 4, 5, stages=2, shared_sums=1, shifted=True, ends=1), np.float32),
        (Plan(32, 1, 4, 4, 5, stages=4, shared_sums=1, shifted=True, ends=2, pairs=True), np.float32),
        (Plan(32, 1, 4, 4, 5, stages=4, shared_sums=1, shifted=True, ends=2, pairs=True, kinds=2), np.float32),
        (Plan(32, 1, 2, 8, 2, stages=2, shared_sums=1, shifted=True, ends=2, kinds=4, abreast=True), BF16),
    ], 2),
)  # fmt: skip
def test_gradients_of_rows_that_begin_anywhere(how: Plan, dtype: Any, checked: Callable[[int], None]) -> None:
    checked(1)
    m, n = 11, 356 if how.overlap or (how.ends and how.cluster > 1) else 357  # rows of one kind are few apart
    n -= 5 * how.around  # rows begin with sectors
    x, dy, w = random((m, n), dtype), random((m, n), dtype, 1), random((n,), dtype, 2)
    xhat, mean, rstd = normed(x.astype(np.float64), not how.overlap, 1e-5)
    mean, rstd = mean[:, 0].astype(np.float32), rstd[:, 0].astype(np.float32)
    made = norm.Normed(None, x, None if how.overlap else mean, rstd)
    found, d = norm.norm_backward(dy, made, w, bias=not how.overlap, how=how), dy.astype(np.float64)
    g = d * w.astype(np.float64)
    inner = xhat * (g * xhat).mean(-1, keepdims=True) + (0 if how.overlap else g.mean(-1, keepdims=True))
    close(found.x, (g - inner) * rstd[:, None], dtype)
    close(found.weight, (d * xhat).sum(0), dtype)
    if not how.overlap:
        close(found.bias, d.sum(0), dtype)
    add = random((m, n), dtype, 3)
    ahead = norm.norm_backward(dy, made, w, bias=not how.overlap, add=add, how=replace(how, added=True))
    close(ahead.x, (g - inner) * rstd[:, None] + add.astype(np.float64), dtype)
    np.testing.assert_array_equal(ahead.weight, found.weight)


def test_a_stage_that_had_the_last_row_is_copied_to_again_where_rows_are_in_the_order_of_kinds(
    checked: Callable[[int], None],
) -> None:
    checked(1)
    m, n = 135, 1124  # the last row is of the third kind of four, and its team has rows of the fourth later
    how = Plan(32, 1, 4, 8, 1, stages=2, shared_sums=1, shifted=True, ends=2, kinds=4)
    x, dy, w = random((m, n), BF16), random((m, n), BF16, 1), random((n,), BF16, 2)
    xhat, mean, rstd = normed(x.astype(np.float64), True, 1e-5)
    made = norm.Normed(None, x, mean[:, 0].astype(np.float32), rstd[:, 0].astype(np.float32))
    found, d = norm.norm_backward(dy, made, w, bias=True, how=how), dy.astype(np.float64)
    close(found.weight, (d * xhat).sum(0), BF16)
    close(found.bias, d.sum(0), BF16)


@pytest.mark.parametrize(("n", "ends"), some(product((263, 271, 272), (0, 1, 2)), 2))
def test_nothing_is_read_beside_rows_that_begin_otherwise_than_results(n: int, ends: int) -> None:
    x, w = random((1 + 8 * n,), BF16)[1:].reshape((8, n)), random((n,), BF16, 1)
    y = norm.rms_norm(x, w, how=Plan(32, 1, 1, 8, 1, shifted=True, alike=False, ends=ends)).y
    close(y, normed(x.astype(np.float64), False, 1e-6)[0] * w.astype(np.float64), BF16)


def test_nothing_is_read_behind_weights_of_vectors_that_end_with_a_row() -> None:
    x, dy, w, rstd = random((8, 263), BF16), random((8, 263), BF16, 1), random((263,), BF16, 2), np.ones(8, np.float32)
    found = norm.norm_backward(
        dy, norm.Normed(None, x, None, rstd), w, how=Plan(32, 1, 1, 8, 8, stages=2, shifted=True, ends=1)
    )
    close(found.weight, (dy.astype(np.float64) * x.astype(np.float64)).sum(0), BF16)


@pytest.mark.skipif(find.ptxas() is None, reason="needs ptxas")
def test_kernels_are_compiled_for_arrays_of_more_than_2_to_the_30_elements() -> None:
    x, compiled = random((48, 263), BF16), []

    def to(kernel: Any, launch: Any, args: Any, _: Any) -> None:
        compiled.append(kernel.compile(*args, arch="sm_90a", wide_dims=True))

    with diverted(to):
        quantise(x, Narrow(block=128))
        how = Plan(32, 1, 1, 8, 5, stages=2, shifted=True, ends=1, kinds=16)
        norm.norm_backward(x, norm.Normed(None, x, None, x[:, 0].astype(np.float32)), x[0], how=how)
    assert len(compiled) == 3


@pytest.mark.skipif(find.ptxas() is None, reason="needs ptxas")
def test_norms_of_f32_have_registers_for_their_rows() -> None:
    spilled = []
    with diverted(lambda kernel, launch, args, _: spilled.append(kernel.compile(*args, arch="sm_90a").spills)):
        for n in (1024, 8192):
            x = np.zeros((8, n), np.float32)
            norm.layer_norm(x, x[0], x[0])
            norm.rms_norm(x, x[0])
    assert spilled == [0] * 4


def test_sums_of_each_kind_have_a_row_for_each_of_its_teams() -> None:
    for kinds in (2, 8, 16):
        for teams in (1, 3, 7, 15, 16, 31, 66):
            for rows in (*range(teams, 150), 1023, 2047, 6710):
                shares = [rows // teams + (team < rows % teams) for team in range(teams)]
                team_of = np.repeat(np.arange(teams), shares)  # of rows in the order of kinds
                ends = np.cumsum([len(range(kind, rows, kinds)) for kind in range(min(kinds, rows))])
                found = [len(set(each)) for each in np.split(team_of, ends[:-1])]
                last = max((count - 1) * kinds + kind for kind, count in enumerate(found))
                assert last < norm.groups_of(kinds, rows, teams) <= rows, (kinds, teams, rows)


def test_rows_amid_sectors_are_copied_from_sectors_on() -> None:
    many = 13_000  # so many have plans that fewer do not
    for n, base, amid in ((2056, 0, True), (2048, 8, True), (2048, 0, False), (2064, 0, False)):
        x = np.empty(many * n + 64, BF16)
        x = x[base:][: many * n].reshape((many, n))
        p, _ = norm.plan_of_sums(Rows(x, "x"), (Rows(x, "x"), Rows(x, "x"), None), None, 2)
        assert p.shifted == amid
        assert p.kinds == 1


def test_no_word_of_rows_that_begin_anywhere_reaches_out_of_their_array() -> None:
    x = random((1 + 2 * 512,), BF16)[1:].reshape((2, 512))
    close(soft.softmax(x, how=COVERED[-1]), softmaxed(x.astype(np.float64)), BF16)


def test_bulk_copies_of_rows_that_begin_anywhere(checked: Callable[[int], None]) -> None:
    checked(1)
    dy, y, out = (np.zeros(3 + 6 * 261, BF16)[3:].reshape((6, 261)) for _ in range(3))
    dy[...], y[...] = random((6, 261), BF16), random((6, 261), BF16, 1)
    soft.softmax_backward(dy, y, out=out, how=Plan(32, 1, 4, 8, 1, stages=1, shifted=True))
    g, p = dy.astype(np.float64), y.astype(np.float64)
    close(out, p * (g - (p * g).sum(-1, keepdims=True)), BF16)


def test_a_plan_for_rows_that_begin_anywhere_is_for_arrays_that_lie_alike() -> None:
    x = random((3, 300), BF16)
    with pytest.raises(cl.ArgumentError, match=r"how.shifted is for arrays whose rows all begin as far into 16 bytes"):
        soft.softmax(x, out=np.zeros((3, 301), BF16)[:, :300], how=COVERED[0])
    with pytest.raises(cl.ArgumentError, match=r"how.around is for arrays that are apart"):
        soft.softmax(x, out=x, how=replace(COVERED[0], around=True))
    with pytest.raises(cl.ArgumentError, match=r"how.moved is for rows that are shifted"):
        norm.rms_norm(x, x[0], how=replace(COVERED[0], shifted=False))
    with pytest.raises(cl.ArgumentError, match=r"how.ends is for rows that are shifted, of teams of 16 threads"):
        soft.softmax(x, how=Plan(8, 4, 1, 8, 1, shifted=True, ends=1))
    y, how = random((3, 301), BF16), Plan(32, 1, 1, 8, 1, stages=1, shifted=True, kinds=2)
    made = norm.Normed(None, y.copy(), None, np.ones(3, np.float32))
    with pytest.raises(cl.ArgumentError, match=r"how.kinds is 2, but rows that begin alike are 16 apart"):
        norm.norm_backward(y, made, how=how)
    with pytest.raises(cl.CompileError, match="bulk copies bring no rows that lie otherwise"):
        soft.softmax(x, how=Plan(32, 1, 1, 8, 1, stages=1, shifted=True, alike=False))


@pytest.mark.parametrize("steps", [(-1, 1), (1, -1), (-1, -1), (-2, 1)])
def test_rows_and_columns_in_reverse(steps: tuple[int, int]) -> None:
    x = random((6, 40), np.float32)[:: steps[0], :: steps[1]]
    close(soft.softmax(x), softmaxed(x.astype(np.float64)), np.float32)
    same = norm.rms_norm(x.copy(), x[0].copy(), residual=x.copy())
    assert all(np.array_equal(a, b) for a, b in zip(norm.rms_norm(x, x[0], residual=x)[:2], same[:2], strict=True))
    with pytest.raises(cl.ArgumentError, match="out has rows with gaps, or not evenly apart"):
        soft.softmax(x, out=x)


def test_columns_that_are_far_apart_are_copied() -> None:
    x = random((64, 5), np.float32).T
    close(soft.softmax(x), softmaxed(x.astype(np.float64)), np.float32)


@pytest.mark.parametrize("rows", [0, 1, 9])
def test_any_number_of_rows(rows: int) -> None:
    x = random((rows, 64), np.float32)
    y = soft.softmax(x)
    assert y.shape == x.shape
    found = norm.norm_backward(x, norm.layer_norm(x, x[:1].sum(0)), x[:1].sum(0), bias=True)
    assert found.x.shape == x.shape
    np.testing.assert_allclose(found.bias, x.sum(0), rtol=1e-5, atol=1e-5)
    if rows:
        close(y, softmaxed(x.astype(np.float64)), np.float32)


def with_more(choose: Any, *more: int) -> Any:
    return lambda n, vector: choose(n, vector, *more)


def of_odd_rows(n: int, vector: int, sums: int, **more: bool) -> Plan:
    """The plan for gradients of rows that begin anywhere."""
    covered = -(-(n + 2 * vector - 1) // vector) * vector
    return plan_sums(covered, vector, sums, shifted=True, whole=n // vector * vector, **more)


@pytest.mark.parametrize(("sums", "added"), [(1, False), (2, False), (1, True)])
def test_rows_on_their_way_and_sums_fit_into_shared_memory(sums: int, added: bool) -> None:
    for n in [*range(257, 4000, 61), *range(4000, 262_144, 977)]:
        aligned = plan_sums(n // 8 * 8, 8, sums, added=added)
        for p, whole in ((of_odd_rows(n, 8, sums, added=added), 0), (aligned, n // 8 * 8)):
            if p.stages:
                part = -(-(whole or n + 40) // p.cluster)
                places = p.threads * 8 * -(-part // (p.threads * 8))
                bytes = 2 * part * p.stages * (2 + p.added) + 4 * places * (p.shared_sums + p.planes) + 1024
                bytes += 2 * part * p.added  # of weights
                assert bytes * p.blocks < 228 * 1024, (n, p)


@pytest.mark.parametrize(
    "choose",
    [
        *(plan, plan_fold, plan_light, plan_two, plan_softmax, plan_token, with_more(plan_norm, 3)),
        *(
            with_more(plan_norm, 2),
            with_more(plan_sums, 1),
            with_more(plan_sums, 2),
            with_more(plan_sums, 1, 8, True),
            lambda n, vector: plan_sums(n, vector, 1, added=True),
            with_more(plan_residual, True, True),
        ),
        *(lambda n, vector, light=light: plan_norm_ends(n, vector, light) for light in (True, False)),
        *(lambda n, vector, sums=sums: of_odd_rows(n, vector, sums) for sums in (1, 2)),
    ],
)
def test_plans_hold_every_length(choose: Any) -> None:
    lengths = [
        1,
        2,
        31,
        33,
        1000,
        1024,
        4097,
        8192,
        8193,
        16384,
        50257,
        131072,
        152064,
        200_000,
        MOST,
        MOST + 1,
        1 << 24,
    ]
    for n in [*lengths, *range(3000, MOST, 9973)]:
        for vector in (1, 8):
            p: Plan = choose(n, vector)
            assert p.block <= 1024
            assert p.cluster <= 16
            assert p.block % 32 == 0
            assert p.blocks * p.block <= 2048


def test_blocks_that_are_no_cluster_hold_every_length() -> None:
    for n in [8193, 50_257, 151_936, MOST + 1, 1 << 24]:
        for vector in (8, 1):
            p = plan_apart(n, vector)
            assert p.block * p.blocks <= 2048
            assert p.block * p.cluster * 32 >= n > p.block * (p.cluster - 1)


@pytest.mark.parametrize(
    "choose", [with_more(plan_norm, 2), with_more(plan_norm, 3), with_more(plan_softmax, True), plan_light]
)
def test_rows_between_powers_of_two_have_as_many_elements_under_way(choose: Any) -> None:
    """A multiprocessor works on 32,768 elements and more at powers of two."""
    for n in range(4104, MOST, 1000):
        p: Plan = choose(n, 8)
        assert p.blocks * p.teams * -(-n // p.cluster) > 24_000


@pytest.mark.parametrize("sums", [1, 2])
@pytest.mark.parametrize("most", [8, 16])
def test_sums_over_rows_fit_into_shared_memory(sums: int, most: int) -> None:
    for n in [1024, 5120, 8184, 8192, 16384, 20_000, 50257, 65536, 131072, 160_000, 200_000, MOST - 1, MOST]:
        for vector in (8, 1):
            p = plan_sums(n, vector, sums, most)
            row = -(-n // p.cluster)
            assert p.stages * 4 * row + p.shared_sums * p.teams * row * 4 <= 227_000 // (p.blocks if p.stages else 1)
            assert p.cluster <= most


@pytest.mark.parametrize(
    ("choose", "more"),
    [(plan_sums, (1,)), (plan_softmax, (True,)), (plan_loss, ()), (plan_residual, (True, True)), (plan_norm, (2,))],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_plans_need_no_cluster_that_the_gpu_lacks(
    choose: Any, more: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Rows(np.zeros((1, 8), np.float32), "x")
    assert rows.planned(choose, MOST // 2, 8, *more).cluster == 16
    monkeypatch.setattr("cutelite.kernels.rows.arrays.clusters_at_once", lambda blocks, *_: 9 if blocks <= 8 else 0)
    assert rows.planned(choose, MOST // 2, 8, *more).cluster == 8


def test_what_is_refused() -> None:
    for p in (Plan(32, 1, 1, 4, 1, ahead=2), Plan(32, 2, 1, 4, 1, stages=1), Plan(32, 1, 8, 4, 1, stages=1)):
        with pytest.raises(cl.CompileError, match="row-stream"):
            soft.softmax(random((4, 68), np.float32), how=p)


@pytest.mark.parametrize("n", [2080, 2084])
def test_threads_with_long_parts_of_rows(n: int) -> None:
    p, x, w = Plan(32, 1, 1, 8, 1, held=False), random((2, n), BF16), random((n,), BF16, 2)
    wide, scale = x.astype(np.float64), w.astype(np.float64)
    aligned = replace(p, vector=4) if n % 8 else p
    close(soft.softmax(x, how=aligned), softmaxed(wide), BF16)
    close(norm.rms_norm(x, w, how=aligned).y, normed(wide, False, 1e-6)[0] * scale, BF16)
    p = replace(aligned, held=True, aside=True) if p is aligned else aligned
    close(norm.layer_norm(x, w, w, how=p).y, normed(wide, True, 1e-5)[0] * scale + scale, BF16)


AHEAD = [
    Plan(32, 1, 2, 4, 1, stages=2, lead=1),
    Plan(64, 1, 1, 4, 1, stages=1),
    Plan(64, 1, 2, 4, 1, 3),
    Plan(64, 1, 1, 4, 1, ahead=1),
    Plan(32, 1, 2, 4, 1, ahead=2),
    Plan(32, 1, 2, 4, 1, stages=3, outside=False),
    Plan(32, 2, 1, 4, 1, early=True, lead=1),
]


@pytest.mark.parametrize(
    ("p", "n", "dtype"),
    some([*((p, 500, np.float32) for p in AHEAD), (replace(AHEAD[0], vector=8), 1024, BF16)], 2),  # copies of 16 bytes
    ids=str,
)
def test_rows_that_are_copied_ahead(p: Plan, n: int, dtype: Any, checked: Callable[[int], None]) -> None:
    checked(1)
    x = random((7, n), dtype)
    wide = x.astype(np.float64)
    exact = softmaxed(wide)
    close(soft.softmax(x, how=p), exact, dtype)
    target = np.array([0, 5, -100, n - 1, 7, 8, 9])
    lse = np.log(np.exp(wide).sum(-1))
    loss = (lse - wide[range(7), target % n]) * (target >= 0)
    np.testing.assert_allclose(entropy.cross_entropy(x, target, how=replace(p, stages=0)).loss, loss, rtol=1e-5)
    if p.ahead is not None:
        g, dx = random((7,), np.float32, 4), x.copy()
        entropy.cross_entropy_gradient(g, dx, target, out=dx, how=replace(p, ahead=0))
        hit = (np.arange(n) == target[:, None]).astype(float)
        close(dx, (exact - hit) * (g * (target >= 0))[:, None], dtype)
    close(
        norm.rms_norm(x, random((n,), dtype, 2), residual=x, how=p).y,
        normed(2 * wide, False, 1e-6)[0] * random((n,), dtype, 2).astype(np.float64),
        dtype,
    )
    w, dy = random((n,), dtype, 2), random((7, n), dtype, 3)
    p = replace(p, held=False)
    made = norm.layer_norm(x, w, w, how=p)
    xhat, _, rstd = normed(wide, True, 1e-5)
    close(made.y, xhat * w.astype(np.float64) + w.astype(np.float64), dtype)
    p = replace(p, shared_sums=1, overlap=p.stages in (1, 3), pairs=p.stages == 2)
    found = norm.norm_backward(dy, made, w, add=x, how=p)
    d = dy.astype(np.float64)
    g = d * w.astype(np.float64)
    inner = xhat * (g * xhat).mean(-1, keepdims=True) + g.mean(-1, keepdims=True)
    close(found.x, (g - inner) * rstd + wide, dtype)
    close(found.weight, (d * xhat).sum(0), dtype)


@pytest.mark.parametrize("p", [Plan(32, 1, 1, 8, 1, stages=1), Plan(32, 1, 2, 8, 1, ahead=1)], ids=str)
def test_rows_that_are_copied_ahead_from_arrays_of_any_size(p: Plan) -> None:
    ptx = soft.forward(cl.bf16, 2048, p, False).compile(wide_dims=True).ptx
    assert len(set(re.findall(r"st\.global\.v4[^[]*\[(%\w+)", ptx))) == 1  # a thread's vectors share an address


@pytest.mark.parametrize(
    "p",
    [
        Plan(32, 1, 2, 4, 1, stages=1),
        Plan(32, 1, 1, 4, 1, stages=2),
        Plan(32, 2, 1, 4, 1, ahead=1),
        Plan(32, 1, 2, 4, 1, taken=True),
        Plan(64, 2, 2, 4, 1, taken=True),
        Plan(32, 2, 1, 4, 1, taken=True),
    ],
    ids=str,
)
def test_each_row_is_taken_once_and_the_counter_is_cleared(p: Plan) -> None:
    x, counter = random((15, 128), np.float32), np.zeros(1, np.int32)
    y = np.full_like(x, np.nan)
    kernel = soft.forward(cl.f32, 128, p, False)
    for rows, blocks in ((15, p.cluster), (11, 2 * p.cluster), (3, 40)):
        kernel[blocks, p.block](x[:rows], y[:rows], counter)
        close(y[:rows], softmaxed(x[:rows].astype(np.float64)), np.float32)
        assert counter[0] == 0


@pytest.mark.parametrize("center", [False, True])
def test_rows_that_are_normed_together(center: bool, checked: Callable[[int], None]) -> None:
    checked(1)
    x, w, how = random((3, 200), BF16), random((200,), BF16, 1), Plan(32, 1, 2, 4, 1, held=False, rows=2)
    if center:
        made = norm.layer_norm(x, w, w, how=how)
        y = made.y.astype(np.float64)
    else:
        made = norm.rms_norm(x, w, bias=w, narrow=Narrow(), how=how)
        y = made.y.astype(np.float64) * made.scale
    xhat, _, rstd = normed(x.astype(np.float64), center, 1e-5 if center else 1e-6)
    assert np.abs(y - (xhat + 1) * w.astype(np.float64)).max() < (0.04 if center else 0.4)
    np.testing.assert_allclose(made.rstd, rstd[..., 0], rtol=1e-5)


def test_rows_together_come_but_once() -> None:
    with pytest.raises(cl.CompileError, match="row-stream"):
        norm.rms_norm(random((3, 200), BF16), how=Plan(32, 1, 1, 4, 1, early=True, rows=2))


def test_rows_are_taken_or_come_ahead() -> None:
    with pytest.raises(cl.CompileError, match="row-stream"):
        norm.rms_norm(random((3, 200), BF16), how=Plan(32, 1, 1, 4, 1, early=True, taken=True))
    with pytest.raises(cl.CompileError, match="row-stream"):
        norm.rms_norm(random((3, 200), BF16), how=Plan(32, 2, 1, 4, 1, apart=100))


def test_a_plan_by_which_a_kernel_has_no_rows_ahead() -> None:
    x, how = random((9, 64), np.float32), Plan(32, 1, 1, 4, 1, stages=2)
    for call in (lambda: entropy.cross_entropy(x, np.arange(9), how=how), lambda: select.argmax(x, how=how)):
        with pytest.raises(cl.ArgumentError, match=r"how.stages is 2"):
            call()


def test_several_rows_together_are_refused_where_a_team_works_on_one() -> None:
    x, how, ones = random((9, 64), np.float32), Plan(32, 1, 1, 4, 1, rows=2), np.ones(9, np.float32)
    calls: tuple[Callable[[], Any], ...] = (
        lambda: soft.softmax(x, how=how),
        lambda: soft.softmax_backward(x, x, how=how),
        lambda: norm.norm_backward(x, norm.Normed(x, x, None, ones), how=how),
        lambda: entropy.cross_entropy_gradient(ones, x, np.arange(9), out=x.copy(), how=how),
        lambda: quantise(x, how=how),
        lambda: select.argmax(x, how=how),
    )
    for call in calls:
        with pytest.raises(cl.ArgumentError, match=r"how.rows is 2, but a team of this kernel works on one row"):
            call()


def test_rows_longer_than_a_cluster_holds() -> None:
    x = random((1, MOST + 1), np.float32)
    close(soft.softmax(x), softmaxed(x.astype(np.float64)), np.float32)


@pytest.mark.parametrize(("n", "dtype"), some([(1000, BF16), (1028, np.float32)], 2))
def test_rows_that_nothing_holds(n: int, dtype: Any) -> None:
    how = Plan(32, 1, 2, 8 if dtype == BF16 else 4, 1, outside=True)
    x, dy, w, b = (
        random((2, n), dtype, scale=2),
        random((2, n), dtype, 1),
        random((n,), dtype, 2),
        random((n,), dtype, 3),
    )
    wide, g, scale = (each.astype(np.float64) for each in (x, dy, w))
    exact = softmaxed(wide)
    y = soft.softmax(x, how=how)
    close(y, exact, dtype)
    p = y.astype(np.float64)
    close(soft.softmax_backward(dy, y, how=how), p * (g - (p * g).sum(-1, keepdims=True)), dtype)
    target, ones = np.array([n - 1, 7]), np.ones(2, np.float32)
    made = entropy.cross_entropy(x, target, how=how)
    np.testing.assert_allclose(made.loss, np.log(np.exp(wide).sum(-1)) - wide[[0, 1], target], rtol=1e-5)
    exact[[0, 1], target] -= 1
    close(entropy.cross_entropy_backward(ones, x, target, made.lse, how=how), exact, dtype)
    layer = norm.layer_norm(x, w, b, residual=dy, how=how)
    xhat, _, rstd = normed(layer.total.astype(np.float64), True, 1e-5)
    close(layer.y, xhat * scale + b.astype(np.float64), dtype)
    found = norm.norm_backward(dy, layer, w, bias=True, add=x, how=how)
    gw = g * scale
    inner = xhat * (gw * xhat).mean(-1, keepdims=True) + gw.mean(-1, keepdims=True)
    close(found.x, (gw - inner) * rstd + wide, dtype)
    close(found.weight, (g * xhat).sum(0), dtype)
    close(found.bias, g.sum(0), dtype)
    for narrow in (Narrow(), Narrow(block=128)):
        whole = norm.rms_norm(x, w, eps=1e-6, narrow=narrow, how=how)
        factor = np.repeat(whole.scale, -(-n // whole.scale.shape[1]) if narrow.block == 1 else 128, 1)[:, :n]
        root = normed(wide, False, 1e-6)[0] * scale
        np.testing.assert_array_less(np.abs(whole.y.astype(np.float32) * factor - root), factor * 16.1)
        _, scales = quantise(x, narrow, how=how)
        parts = np.abs(np.pad(wide, ((0, 0), (0, -n % 128)))).reshape(2, -1, 128).max(-1)
        exact = parts if narrow.block == 128 else parts.max(-1, keepdims=True)
        np.testing.assert_allclose(scales, exact / 448, rtol=1e-5)


def in_place(how: Plan) -> None:
    """Softmax over its argument, which no request to L2 reads."""
    x = random((5, 520), BF16)
    exact = softmaxed(x.astype(np.float64))
    soft.softmax(x, out=x, how=how)
    close(x, exact, BF16)


def gradients_of_layer_norm(how: Plan) -> None:
    """Gradients of x, weight and bias; g is kept in registers, and in large clusters loads go ahead of sums."""
    x, dy, w = (random(shape, np.float32, seed) for seed, shape in enumerate(((2, 2056), (2, 2056), (2056,))))
    wide, d = x.astype(np.float64), dy.astype(np.float64)
    g = d * w
    xhat, mean, rstd = normed(wide, True, 1e-5)
    moments = [each[:, 0].astype(np.float32) for each in (mean, rstd)]
    found = norm.norm_backward(dy, norm.Normed(None, x, *moments), w, bias=True, how=how)
    inner = xhat * (g * xhat).mean(-1, keepdims=True) + g.mean(-1, keepdims=True)
    for made, exact in zip(found, ((g - inner) * rstd, (d * xhat).sum(0), d.sum(0)), strict=True):
        close(made, exact, np.float32)


CHECKED: dict[str, Any] = {
    "softmax in place, by a cluster that asks for rows": lambda: in_place(Plan(32, 1, 2, 8, 1, lead=2 * 1040)),
    "layer norm by teams": lambda: norm.layer_norm(
        random((3, 72), np.float32), *random((2, 72), np.float32), how=Plan(64, 2, 1, 4, 1, aside=True)
    ),
    "layer norm by two teams of a cluster, which share weights": lambda: norm.layer_norm(
        random((5, 264), BF16), *random((2, 264), BF16), how=Plan(64, 2, 2, 8, 1, taken=True, soon=True)
    ),
    "layer norm of a sum, weights by a bulk copy": lambda: norm.layer_norm(
        random((5, 264), BF16),
        *random((2, 264), BF16),
        residual=random((5, 264), BF16, 1),
        how=Plan(64, 2, 2, 8, 1, taken=True, bulk=True, apart=100),
    ),
    "cross entropy in a cluster": lambda: entropy.cross_entropy(
        random((2, 264), np.float32), np.array([3, 200]), how=Plan(32, 1, 4, 4, 1)
    ),
    "gradients of a norm": lambda: norm.norm_backward(
        random((5, 520), BF16, 1),
        norm.Normed(None, random((5, 520), BF16), None, np.ones(5, np.float32)),
        random((520,), BF16, 2),
        how=Plan(64, 1, 2, 8, 1, shared_sums=1, lead=1),
    ),
    "gradients in a cluster of 16": lambda: gradients_of_layer_norm(Plan(32, 1, 16, 4, 1, stages=2, shared_sums=1)),
}


@pytest.mark.parametrize("name", CHECKED)
def test_no_race(name: str, checked: Callable[[int], None]) -> None:
    checked(1)
    CHECKED[name]()


def test_operators_of_torch() -> None:
    torch = pytest.importorskip("torch")
    from cutelite.kernels.rows import operators as made

    torch.manual_seed(0)
    on = {"device": "cuda" if torch.cuda.is_available() else "cpu"}
    x, w, b, r = (torch.randn(*shape, **on, requires_grad=True) for shape in ((2, 3, 40), (40,), (40,), (2, 3, 40)))
    target = torch.randint(0, 40, (2, 3), **on)
    layer = torch.nn.functional.layer_norm
    losses = torch.nn.functional.cross_entropy
    cases: list[tuple[Any, tuple[Any, ...], Any, tuple[Any, ...]]] = [
        (made.softmax, (x, False), lambda x: x.softmax(-1), (x,)),
        (made.softmax, (x, True), lambda x: x.log_softmax(-1), (x,)),
        (made.norm_forward, (x, w, b, r, 1e-5, 0.0, True), lambda x, w, b, r: layer(x + r, (40,), w, b), (x, w, b, r)),
        (made.cross_entropy, (x, target, 0.1, 0.0, -100),
         lambda x: losses(x.flatten(0, 1), target.flatten(), reduction="none", label_smoothing=0.1).view(2, 3), (x,)),
    ]  # fmt: skip
    for operator, args, reference, inputs in cases:
        torch.library.opcheck(operator, args)
        found = operator(*args)
        found = found[0] if isinstance(found, tuple) else found
        wide = [each.detach().double().requires_grad_() for each in inputs]
        exact = reference(*wide)
        torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-5)
        gradient = torch.randn_like(found)
        pairs = zip(
            torch.autograd.grad(found, inputs, gradient),
            torch.autograd.grad(exact, wide, gradient.double()),
            strict=True,
        )
        for mine, theirs in pairs:
            torch.testing.assert_close(mine.double(), theirs, rtol=1e-4, atol=1e-5)
