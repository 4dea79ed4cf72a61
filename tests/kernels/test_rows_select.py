"""Argmax, top-k and sampling: equal elements, NaN, infinities, every dtype and pitch, and chances that decide."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.rows.plan import Plan
from cutelite.kernels.rows.sample import sample
from cutelite.kernels.rows.select import argmax, top_k
from tests.kernels.test_rows import BF16, DTYPES, random

pytestmark = pytest.mark.usefixtures("everywhere")

Array = np.ndarray[Any, Any]


def best(x: Array, k: int) -> Array:
    """Columns of the k greatest of each row: NaN first, then by value, then by column."""
    wide = x.astype(np.float64).reshape(-1, x.shape[-1])
    rank = np.where(np.isnan(wide), np.inf, np.minimum(wide, 1e300))
    order = [
        sorted(range(len(r)), key=lambda i: (not np.isnan(w[i]), -r[i], i))[:k] for r, w in zip(rank, wide, strict=True)
    ]
    return np.array(order, np.int64).reshape(*x.shape[:-1], k)


def hard(shape: tuple[int, ...], dtype: Any) -> Array:
    """Rows with many equal elements, zeros of both signs, infinities and NaN."""
    x = np.round(random(shape, np.float32) * 3)
    x[0].flat[:3] = [-0.0, 0.0, -0.0]
    x[-1].flat[-2:] = [np.inf, -np.inf]
    if shape[0] > 2:
        x[1] = -np.inf
        x[2].flat[shape[-1] // 2] = np.nan
    return x.astype(dtype)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [*(((4, 37), dtype) for dtype in DTYPES), ((2, 1), np.float32), ((3, 1, 300), BF16), ((3, 9001), np.float32)],
)
def test_the_greatest(shape: tuple[int, ...], dtype: Any) -> None:
    x = random(shape, dtype) if shape[-1] < 3 else hard(shape, dtype)
    found = argmax(x)
    columns = best(x, 1)
    np.testing.assert_array_equal(found.column, columns[..., 0])
    np.testing.assert_array_equal(found.value.astype(float), np.take_along_axis(x, columns, -1)[..., 0].astype(float))
    for k in {1, min(7, shape[-1])} if dtype == np.float32 else {min(7, shape[-1])}:
        found, columns = top_k(x, k), best(x, k)
        np.testing.assert_array_equal(found.column, columns)
        np.testing.assert_array_equal(found.value.astype(float), np.take_along_axis(x, columns, -1).astype(float))


def test_clusters_pitches_and_races(checked: Callable[[int], None]) -> None:
    checked(1)
    x = hard((3, 527), BF16)[:, :520]
    np.testing.assert_array_equal(argmax(x, how=Plan(32, 1, 4, 1, 1)).column, best(x, 1)[..., 0])
    np.testing.assert_array_equal(top_k(x[:1], 5, how=Plan(64, 1, 1, 1, 1)).column, best(x[:1], 5))
    for k in (5, 90):  # of each thread's greatest, and of equal elements
        np.testing.assert_array_equal(top_k(x[:1, :200], k, how=Plan(32, 1, 2, 1, 1)).column, best(x[:1, :200], k))
    y, chances = random((1, 200), BF16), np.array([0.999], np.float32)
    assert sample(y, chances, top_p=0.7, how=Plan(32, 1, 2, 1, 1)) == chosen(y[0], 0.999, 1.0, 0, 0.7)[0]


@pytest.mark.parametrize(("k", "cluster"), [(5, 1), (100, 4)])  # by the greatest of each thread, and by digits
def test_more_equal_elements_than_are_ranked(k: int, cluster: int) -> None:
    x, how = np.zeros((2, 1500), BF16), Plan(128 // cluster, 1, cluster, 4, 1)
    x[0, 700:] = 1
    x[1, [30, 900]] = 2, np.nan
    found = top_k(x, k, how=how)
    np.testing.assert_array_equal(found.column, best(x, k))
    x[1, 900] = 3
    for share in (0.5, 1.0):
        columns = sample(x, np.array([0.999, 0.5], np.float32), top_k=k, top_p=share, how=how)
        assert columns.tolist() == [chosen(x[0], 0.999, 1.0, k, share)[0], chosen(x[1], 0.5, 1.0, k, share)[0]]


def chosen(row: Array, chance: float, temperature: float, k: int, share: float) -> tuple[int, float]:
    """The column in float64, and how far the chance is from those of its neighbours."""
    wide = row.astype(np.float64)
    e = np.exp((wide - np.max(wide)) / temperature)
    e[wide < np.sort(wide)[::-1][k - 1 if k else -1]] = 0
    order = np.argsort(-wide, kind="stable")
    before = np.cumsum(e[order]) - e[order]
    e[wide < np.min(wide[order][before < share * e.sum()])] = 0
    upto = np.cumsum(e) / e.sum()
    return int(np.searchsorted(upto, chance, side="right")), float(np.abs(upto - chance).min())


@pytest.mark.parametrize(
    ("k", "share", "dtype"), [(0, 1.0, np.float32), (5, 1.0, BF16), (0, 0.7, BF16), (20, 0.5, np.float32)]
)
def test_samples(k: int, share: float, dtype: Any) -> None:
    x = random((6, 77), dtype, k, scale=2)
    chances = np.random.default_rng(k).random(6).astype(np.float32)
    chances[:2] = 0, np.float32(1 - 2**-24)
    found = sample(x, chances, temperature=0.8, top_k=k, top_p=share)
    for row, chance, column in zip(x, chances, found, strict=True):
        exact, margin = chosen(row, float(chance), 0.8, k, share)
        assert column == exact or margin < 1e-5


def test_rows_without_a_choice() -> None:
    x = np.full((2, 9), -np.inf, np.float32)
    x[0, 4] = 1
    assert sample(x, np.array([0.99, 0.5], np.float32)).tolist()[0] == 4
    few, chances = random((3, 7), np.float32), np.array([0.1, 0.5, 0.9], np.float32)
    for share in (1.0, 0.6):
        found = sample(few, chances, top_k=12, top_p=share)  # more than there are
        np.testing.assert_array_equal(found, sample(few, chances, top_p=share))


def test_what_is_refused() -> None:
    x = random((2, 9), np.float32)
    with pytest.raises(cl.ArgumentError, match="k is 10, for x with rows of 9"):
        top_k(x, 10)
    with pytest.raises(cl.ArgumentError, match="temperature is 0"):
        sample(x, np.zeros(2, np.float32), temperature=0)


@pytest.mark.parametrize("n", [1, 9, 100, 256])
def test_short_rows_share_a_warp(n: int, checked: Callable[[int], None]) -> None:
    checked(1)
    x = np.round(random((130, n), BF16).astype(np.float32) * 3).astype(BF16)
    found = argmax(x)
    np.testing.assert_array_equal(found.column, x.astype(np.float32).argmax(-1))
    np.testing.assert_array_equal(found.value.astype(np.float32), x.astype(np.float32).max(-1))
