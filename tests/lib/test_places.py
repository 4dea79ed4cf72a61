"""`places`: indices of a fragment that become floats."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.lang.places import Places, places
from cutelite.lang.tables import Table


def affine(q: Any, k: Any) -> Any:
    return (k - q) * 0.25 + 1.0


def around(q: Any, k: Any) -> Any:
    return 4.0 / (1 + abs(q - k)) - 2 * k * 0.5


def whole(q: Any, k: Any) -> Any:
    return cl.where((q // 3 == k // 3) | (k % 5 < 2) | (k <= q - 4), (q * k + 7 - k).to(f32), -k / 2)


def negative(q: Any, k: Any) -> Any:
    return -(k - 3) * -2 + (2.5 - q) * 2 + (10 - k - q) / (k + q + 1) + abs(-k * 1.0)


@pytest.mark.parametrize("function", [affine, around, whole, negative])
def test_indices_that_become_floats(function: Callable[..., Any]) -> None:
    """As a conversion of each does, on queries 5 and 13 from `base` on and keys in pairs every 8."""
    keys = tuple(i // 2 * 8 + i % 2 for i in range(8))

    @cl.kernel(block=1)
    def kernel(base: i32, out: Tensor[f32, (2, 2, 4)]) -> None:
        found = function(places(base + 5, (0, 8), (1, 2, 1)), places(base, keys, (2, 1, 4)))
        for i in cl.static_range(16):
            out[i % 2, i // 2 % 2, i // 4] = found[i % 2, i // 2 % 2, i // 4]

    for base in (0, 1000):
        out = np.zeros((2, 2, 4), np.float32)
        kernel[1](base, out)
        q, k = np.array([5, 13]).reshape(1, 2, 1) + base, np.array(keys).reshape(4, 2).T.reshape(2, 1, 4) + base
        want = by_numpy(function, q, k)
        np.testing.assert_allclose(out, np.broadcast_to(want, out.shape), rtol=1e-6)


def by_numpy(function: Callable[..., Any], q: Any, k: Any) -> Any:
    if function is whole:
        return np.where((q // 3 == k // 3) | (k % 5 < 2) | (k <= q - 4), q * k + 7.0 - k, -k / 2)
    return function(q, k)


def test_run_time_scalars_keep_indices_linear() -> None:
    """On either side, floats or not; added to numbers without a vector of their own."""
    keys = tuple(i // 2 * 8 + i % 2 for i in range(8))

    @cl.kernel(block=1)
    def kernel(base: i32, slope: f32, out: Tensor[f32, (16,)]) -> None:
        query, key = places(base + 5, (0, 8), (1, 2, 1)), places(base, keys, (2, 1, 4))
        for i, found in enumerate((slope * (key - query) * base, (key - query) * 0.5 * base * slope * 2.0)):
            assert isinstance(found, Places)
            sums = found.onto(cl.full((2, 2, 4), 1.0 + i, f32)).reshape((16,))
            for j in cl.static_range(16):
                out[j] = sums[j] if i == 0 else out[j] - sums[j]

    out = np.zeros(16, np.float32)
    kernel[1](3, 0.25, out)
    np.testing.assert_allclose(out, -1.0, rtol=1e-6)


@cl.kernel(block=1)
def looked_up(
    numbers: Tensor[f32, (cl.dims("N"),)], base: i32, out: Tensor[f32, (2, 2, 4)], ends: cl.Constexpr[bool] = False
) -> None:
    keys = tuple(i // 2 * 8 + i % 2 for i in range(8))
    found = Table(numbers, ends=ends)[places(base, keys, (2, 1, 4)) - places(base + 5, (0, 8), (1, 2, 1))]
    for i in cl.static_range(16):
        out[i % 2, i // 2 % 2, i // 4] = found[i % 2, i // 2 % 2, i // 4]


def test_equal_differences_are_looked_up_once() -> None:
    """In a table whose indices below 0 count from its end."""
    numbers, out = np.arange(100, dtype=np.float32), np.zeros((2, 2, 4), np.float32)
    looked_up[1](numbers, 7, out)
    q, k = np.array([5, 13]).reshape(1, 2, 1), np.array([0, 1, 8, 9, 16, 17, 24, 25]).reshape(4, 2).T.reshape(2, 1, 4)
    np.testing.assert_array_equal(out, numbers[k - q])
    looked_up[1](numbers[:18], 7, out, True)
    np.testing.assert_array_equal(out, numbers[:18][np.minimum(k - q, 17)])
    ptx = looked_up.compile((100,), 0, (2, 2, 4), arch="sm_90a").ptx
    assert ptx.count("ld.global") == 10, "of 16 differences"
