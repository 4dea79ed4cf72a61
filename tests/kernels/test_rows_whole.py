"""Scans, sorts, histograms, reductions, and tables by number: lengths around tiles, hard values, dtypes, races."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.rows import reduce, scan, select
from cutelite.kernels.rows.embedding import AHEAD, PART, embedding, embedding_backward
from cutelite.kernels.rows.histogram import IN_SHARED, histogram
from cutelite.kernels.rows.reduce import OPERATIONS, reduced
from cutelite.kernels.rows.scan import cumsum
from cutelite.kernels.rows.select import argmax
from cutelite.kernels.rows.sort import moving, sort
from cutelite.toolchain import find
from tests.kernels.test_rows import BF16, close, random
from tests.pairs import some

pytestmark = pytest.mark.usefixtures("everywhere")

Array = np.ndarray[Any, Any]


def whole(shape: Any, most: int, seed: int = 0, dtype: Any = np.int32) -> Array:
    made: Array = np.random.default_rng(seed).integers(-most, most, shape).astype(dtype)
    return made


@pytest.mark.parametrize(("shape", "dtype"), [((3, 77), np.float32), ((2, 9000), np.float32), ((1, 20000), BF16)])
def test_sums_up_to_each(shape: tuple[int, ...], dtype: Any) -> None:
    x = random(shape, dtype)
    close(cumsum(x), np.cumsum(x.astype(np.float64), -1), dtype)


@pytest.mark.parametrize(("m", "n"), [(601, 1), (517, 2), (300, 3), (70, 40), (5, 1000), (3, 2500)])
def test_short_rows_share_blocks(m: int, n: int, checked: Callable[[int], None]) -> None:
    checked(1)
    x = random((m, n), np.float32)
    wide = x.astype(np.float64)
    close(cumsum(x), np.cumsum(wide, -1), np.float32)
    for mode in (0, 1):
        close(np.asarray(reduced(x, "sum", mode)), wide.sum(mode), np.float32)
        np.testing.assert_array_equal(reduced(x, "min", mode), x.min(mode))


def test_sums_of_whole_numbers_in_place(checked: Callable[[int], None]) -> None:
    x = whole((1, 150_001), 9)[:, :150_000]  # more tiles than a warp looks back to at once
    exact = np.cumsum(x, -1)
    assert cumsum(x, out=x) is x
    np.testing.assert_array_equal(x, exact)
    checked(1)
    small = whole((2, 4500), 9)
    np.testing.assert_array_equal(cumsum(small), np.cumsum(small, -1))
    assert cumsum(small[:0]).shape == (0, 4500)


@pytest.mark.parametrize(("n", "descending"), [(1, False), (256, True), (257, True), (5000, False)])
def test_sorted_with_places(n: int, descending: bool) -> None:
    x = whole(n, 40)
    found = sort(x, descending=descending)
    places = np.argsort(-x if descending else x, kind="stable")
    np.testing.assert_array_equal(found.values, places)
    np.testing.assert_array_equal(found.keys, x[places])


@pytest.mark.parametrize(("n", "dtype"), some(product((600, 1025), (np.float32, BF16, np.int64)), 2))
def test_keys_of_one_block(n: int, dtype: Any, checked: Callable[[int], None]) -> None:
    checked(1)
    x = whole(n, 300).astype(dtype)
    places = np.argsort(x.astype(np.float64), kind="stable")
    found = sort(x, places)
    np.testing.assert_array_equal(found.keys, x[places])
    np.testing.assert_array_equal(found.values, places[places])


@pytest.mark.skipif(find.ptxas() is None, reason="needs ptxas")
@pytest.mark.parametrize(("key", "value"), [(cl.i32, None), (cl.f32, cl.f32), (cl.bf16, cl.bf16), (cl.i64, None)])
def test_what_moves_keys_spills_nothing(key: Any, value: Any) -> None:
    held = None if value is None else (4096,)
    kernel = moving(key, value, value or cl.i64, 8, True, cl.i32)
    compiled = kernel.compile((4096,), held, (256,), (257,), (4096,), (4096,), arch="sm_90a")
    assert (compiled.spills, compiled.warnings) == (0, [])


@pytest.mark.parametrize("n", [70, 270])
@pytest.mark.parametrize("dtype", [np.float32, BF16, np.float16, np.int64])
def test_sorted_by_key(dtype: Any, n: int, checked: Callable[[int], None]) -> None:
    if dtype == BF16:
        checked(1)
    x = whole(n, 1 << 40, dtype=np.int64) if dtype == np.int64 else np.round(random((n,), np.float32) * 4).astype(dtype)
    if dtype != np.int64:
        x[:6] = [np.nan, np.inf, -np.inf, -0.0, 0.0, -0.0]
    values = np.arange(n, dtype=np.float32)
    places = np.argsort(x.astype(np.float64) if dtype != np.int64 else x, kind="stable")
    found = sort(x, values)
    np.testing.assert_array_equal(found.values, places)
    np.testing.assert_array_equal(found.keys.astype(np.float64), x[places].astype(np.float64))


@pytest.mark.parametrize("dtype", [np.float32, BF16])
def test_histograms(dtype: Any, checked: Callable[[int], None]) -> None:
    x = random((3, 3001), dtype)
    x.flat[:4] = [np.nan, np.inf, -1, 2]
    exact = np.histogram(x.astype(np.float32)[np.isfinite(x.astype(np.float32))], 24, (-1, 2))[0]
    np.testing.assert_array_equal(histogram(x, 24, -1.0, 2.0), exact)
    checked(1)
    numbers = whole(999, 20, dtype=np.int64)
    np.testing.assert_array_equal(
        histogram(numbers, 13), np.bincount(numbers[(numbers >= 0) & (numbers < 13)], minlength=13)
    )
    for kind, bins in ((np.uint8, 256), (np.int32, IN_SHARED + 1)):
        numbers = np.abs(whole(999, bins + 20)).astype(kind)
        np.testing.assert_array_equal(histogram(numbers, bins), np.bincount(numbers[numbers < bins], minlength=bins))
    for low, high in ((0.1, 0.3), (0.1, 0.7)):  # where the last bin ends, places round up, and down
        ends = np.array([low, high], np.float32)
        beyond = np.nextafter(ends, np.array([-9, 9], np.float32))
        np.testing.assert_array_equal(histogram(np.concatenate([ends, beyond]), 7, low, high), [1, 0, 0, 0, 0, 0, 1])


@pytest.mark.parametrize(
    ("operation", "dtype"), list(zip(OPERATIONS, [np.float32, BF16, np.float32, BF16], strict=True))
)
def test_reductions(operation: str, dtype: Any) -> None:
    x = random((37, 150), dtype)
    wide = x.astype(np.float64)
    for mode in (None, 0, 1):
        exact = np.asarray(getattr(np, operation)(wide, axis=mode))
        close(np.asarray(reduced(x, operation, mode)), exact, dtype)
    x[3, 5] = np.nan
    assert np.isnan(reduced(x, operation).astype(float))
    for mode in (0, 1):
        assert np.isnan(reduced(x, operation, mode).astype(float)).sum() == 1


def test_reductions_of_much_of_little_and_of_nothing(checked: Callable[[int], None]) -> None:
    x = np.ones((2, 20_000), np.float32)
    assert reduced(x) == 40_000
    np.testing.assert_array_equal(reduced(x, "mean", 1), [1, 1])
    assert reduced(x[:0]) == 0
    assert np.isnan(reduced(x[:0], "mean"))
    with pytest.raises(cl.ArgumentError, match="no max of no elements"):
        reduced(x[:0], "max")
    with pytest.raises(cl.ArgumentError, match="operation is 'median', but must be one of 'sum', 'mean', 'max', 'min'"):
        reduced(x, "median")
    checked(1)
    reduced(x[:, :300], "min", 0)
    reduced(x[:, :300].copy(), "max")


def test_numbers_that_launches_share_are_zero_again(
    monkeypatch: pytest.MonkeyPatch, checked: Callable[[int], None]
) -> None:
    checked(1)
    shared = np.zeros(2048, np.int32)
    for module in (reduce, scan, select):
        monkeypatch.setattr(module, "flags", lambda like, count: shared)
    monkeypatch.setattr(scan, "MULTIPROCESSORS", 0)  # else clusters sum up few rows
    x = whole((2, 20_000), 9, dtype=np.float32)
    for _ in range(2):
        assert reduced(x, "max") == x.max()
        np.testing.assert_array_equal(reduced(x, "sum", 1), x.sum(1))
        np.testing.assert_array_equal(reduced(x.reshape(5000, 8), "sum", 0), x.reshape(5000, 8).sum(0))
        np.testing.assert_array_equal(cumsum(x), np.cumsum(x, -1))
        np.testing.assert_array_equal(argmax(x).column, x.argmax(-1))
        assert not shared.any()


@pytest.mark.parametrize(("n", "m", "dtype"), [(3, 47, BF16), (40, 7, np.float32), (1030, 7, BF16)])
def test_tables_and_their_gradients(dtype: Any, n: int, m: int) -> None:
    table, places = random((11, n), dtype), np.random.default_rng(0).integers(0, 11, (3, m))
    np.testing.assert_array_equal(embedding(table, places), table[places])
    dy = random((3, m, n), dtype, 1)
    exact = np.zeros((11, n))
    np.add.at(exact, places.reshape(-1), dy.astype(np.float64).reshape(-1, n))
    close(embedding_backward(dy, places, 11), exact, dtype)
    exact[4] = 0
    close(embedding_backward(dy, places.astype(np.int32), 11, padding=4), exact, dtype)
    exact[places[0, :2]] = 0  # rows of no others, or of others that are left out too
    places = np.where(np.isin(places, places[0, :2]), places + np.array([[2**32], [-(2**32)], [2**40]]), places)
    close(embedding_backward(dy, places, 11, padding=4), exact, dtype)


@pytest.mark.parametrize("n", [3, 40])
def test_runs_that_go_on_in_several_parts(n: int, checked: Callable[[int], None]) -> None:
    checked(1)
    places = np.repeat([5, 0, 2, -1, 3], [PART + 1, (AHEAD + 3) * PART, 2 * PART - 1, 7, 3])
    dy, exact = random((len(places), n), np.float32), np.zeros((6, n))
    np.add.at(exact, places[places >= 0], dy[places >= 0].astype(np.float64))
    close(embedding_backward(dy, places, 6), exact, np.float32)
    exact[0] = 0
    close(embedding_backward(dy, places, 6, padding=0), exact, np.float32)


def test_places_outside_of_the_table() -> None:
    table, places = random((4, 8), np.float32), np.array([-1, 2, 4, 0])
    np.testing.assert_array_equal(embedding(table, places), np.where([[0], [1], [0], [1]], table[[0, 2, 0, 0]], 0))
    exact = np.zeros((4, 8))
    exact[2], exact[0] = 1, 1
    np.testing.assert_array_equal(embedding_backward(np.ones((4, 8), np.float32), places, 4), exact)
    with pytest.raises(cl.ArgumentError, match="places are float32"):
        embedding(table, places.astype(np.float32))
    with pytest.raises(cl.ArgumentError, match="cannot be sorted"):
        sort(np.zeros((2, 2), np.float32))


def test_more_rows_than_numbers_of_32_bits() -> None:
    tall = np.lib.stride_tricks.as_strided(np.zeros(1, np.float16), (2**31, 1), (0, 2))
    places = np.broadcast_to(np.int32(0), (2**31,))
    calls: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
        (reduced, (tall, "sum", 1)), (cumsum, (tall,)), (embedding, (np.zeros((2, 4), np.float32), places))
    )  # fmt: skip
    for function, given in calls:
        with pytest.raises(cl.ArgumentError, match="2147483648 rows"):
            function(*given)
