"""Packed arithmetic on pairs of f32: as on each number by itself, in four roundings, with subnormal ones or 0."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, f32


@cl.kernel(block=32, arch="sm_100a")
def packed(
    a: Tensor[f32, (32, 2)], b: Tensor[f32, (32, 2)], d: Tensor[f32, (4, 32, 2)], ftz: Constexpr[bool],
    rounding: Constexpr[Any],
) -> None:  # fmt: skip
    i = cl.thread_idx.x
    x, y = a[i, None].load(), b[i, None].load()
    d[0, i, None].store(cl.add_packed_f32x2(x, y, ftz=ftz, rounding=rounding))
    d[1, i, None].store(cl.sub_packed_f32x2(x, y, ftz=ftz, rounding=rounding))
    d[2, i, None].store(cl.mul_packed_f32x2(x, y, ftz=ftz, rounding=rounding))
    d[3, i, None].store(cl.fma_packed_f32x2(x, y, x, ftz=ftz, rounding=rounding))


def rounded(exact: Fraction, near: Any, rounding: str) -> Any:
    """The f32 on the side of a fraction that is asked for, from one that is next to it."""
    if rounding == "rn" or Fraction(float(near)) == exact:
        return near
    up = rounding == "rp" or (rounding == "rz" and exact < 0)
    if (Fraction(float(near)) > exact) == up:
        return near
    return np.nextafter(near, np.float32(np.inf if up else -np.inf))


def by_hand(a: Any, b: Any, ftz: bool, rounding: str) -> Any:
    """Each number by fractions, from what is next to it."""

    def flush(x: Any) -> Any:
        return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(0, x), x) if ftz else x

    x, y = flush(a), flush(b)
    terms = (x, y), (x, -y), (x, x), (x * y, x)  # what is added; of products nothing
    found = np.zeros((4, *x.shape), np.float32)
    for at in np.ndindex(*x.shape):
        p, q = float(x[at]), float(y[at])
        exact = [Fraction(p) + Fraction(q), Fraction(p) - Fraction(q), Fraction(p) * Fraction(q)]
        exact.append(exact[2] + Fraction(p))
        near = [np.float32(p + q), np.float32(p - q), np.float32(p * q), np.float32(np.longdouble(p) * q + p)]
        for i, value in enumerate(exact):
            found[(i, *at)] = rounded(value, near[i], rounding)
            opposite = np.signbit(terms[i][0][at]) != np.signbit(terms[i][1][at])
            if value == 0 and rounding == "rm" and opposite:
                found[(i, *at)] = -0.0
    return flush(found)


@pytest.mark.usefixtures("on_cards")
@pytest.mark.parametrize(("ftz", "rounding"), [(False, "rn"), (True, "rn"), (False, "rz"), (False, "rm"), (True, "rp")])
def test_pairs_are_two_numbers(ftz: bool, rounding: str) -> None:
    draw = np.random.default_rng(3)
    a, b = (draw.integers(-99, 99, (32, 2)).astype(np.float32) * np.float32(0.37) for _ in range(2))
    a[:8] *= np.float32(1e-40)  # subnormal, and products that are
    b[8:12] *= np.float32(1e-38)
    a[12:16] = b[12:16]  # differences of 0
    d = np.full((4, 32, 2), np.nan, np.float32)
    packed[1, 32](a, b, d, ftz, rounding)
    wanted = by_hand(a, b, ftz, rounding)
    np.testing.assert_array_equal(d, wanted)
    np.testing.assert_array_equal(np.signbit(d), np.signbit(wanted))
