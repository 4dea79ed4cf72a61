"""``//``, ``%`` and ``divmod`` of floats are CPython's, bit by bit."""

import itertools
import math
from typing import Any, TypeVar

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor
from tests.places import Place

N = cl.dims("N")
T = TypeVar("T", cl.f16, cl.bf16, cl.f32, cl.f64)
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
NUMBERS = (
    *(0.0, -0.0, 1.0, -1.0, 0.1, -0.1, -0.3, 3.0, 2.5, -7.0, 1e8, -1e8, 16777217.0, 65504.0, 1e-5, 1e30, 1e300),
    *(1e-40, 1e-300, 5e-324, math.inf, -math.inf, math.nan),
)


@cl.kernel
def divided(a: Tensor[T, (N,)], b: Tensor[T, (N,)], over: Tensor[T, (2, N)], rest: Tensor[T, (2, N)]) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        over[0, i], rest[0, i] = a[i] // b[i], a[i] % b[i]
        over[1, i], rest[1, i] = divmod(a[i] * a[i], b[i])  # a product that must not fuse with a difference


def by_python(x: float, y: float) -> tuple[float, float]:
    if y == 0:
        with np.errstate(all="ignore"):
            return float(np.float64(x) / np.float64(y)), math.nan
    return divmod(x, y)


@pytest.mark.parametrize("name", DTYPES)
def test_as_python_divides(place: Place, name: str) -> None:
    dtype: Any = DTYPES[name]
    draw = np.random.default_rng(5)
    with np.errstate(all="ignore"):
        pairs = np.array(list(itertools.product(NUMBERS, NUMBERS))).astype(dtype)
        wild = np.frombuffer(draw.bytes(600 * pairs.itemsize), dtype).reshape(300, 2)
        usual = (draw.normal(size=(300, 2)) * 10 ** draw.uniform(-3, 3, (300, 2))).astype(dtype)
        a, b = np.concatenate([pairs, wild, usual]).T.copy()
        over, rest = np.zeros((2, len(a)), dtype), np.zeros((2, len(a)), dtype)
        place(divided[-(-len(a) // 128), 128], a, b, over, rest)
        for row, dividend in enumerate((a, (a * a).astype(dtype))):
            right = [by_python(float(x), float(y)) for x, y in zip(dividend, b, strict=True)]
            for found, expected in zip((over, rest), np.array(right).T.astype(dtype), strict=True):
                got = found[row]
                same = (got == expected) & (np.signbit(got) == np.signbit(expected))
                at = np.flatnonzero(~same & ~(np.isnan(got) & np.isnan(expected)))[:3]
                assert not len(at), (dividend[at], b[at], got[at], expected[at])
