"""`cl.value_and_derivative` against differences of the same function in NumPy's float64."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Tensor, f32

N = cl.dims("N")


def values_and_slopes(function: Callable[..., Any], x: Any, *more: Any) -> tuple[Any, Any]:
    """By a kernel, four elements a thread."""

    @cl.kernel(block=len(x) // 4)
    def kernel(x: Tensor[f32, (N,), cl.align(16)], y: Tensor[f32, (N,)], slope: Tensor[f32, (N,)]) -> None:
        t = cl.thread_idx.x
        value, derivative = cl.value_and_derivative(function, x.tile(4, t).load(), *more)
        y.tile(4, t).store(value)
        slope.tile(4, t).store(cl.full((4,), derivative, f32) if isinstance(derivative, float) else derivative)

    y, slope = np.zeros_like(x), np.zeros_like(x)
    kernel[1](x, y, slope)
    return y, slope


POSITIVE = np.array([0.4, 0.5, 0.7, 0.9, 1.3, 2.0, 2.9, 4.1], np.float32)
ANY = np.array([-2.2, -1.1, -0.7, -0.2, 0.3, 0.4, 0.8, 1.9], np.float32)
SMALL = ANY / 3


def polynomial(x: Any) -> Any:
    return 3.0 - x * x * 2.0 + x**3 / 4.0 - (1.0 - x) * (x + x) - -x


def quotient(x: Any) -> Any:
    return (2.0 * x + 1.0) / (x * x + 1.0) + 5.0 / (x + 9.0) + x / 3.0


def choices(x: Any) -> Any:
    y = cl.where(x > 0.5, x * x, cl.where(x < -1.0, -3.0, x))
    return max(y, -0.5 * x) + min(x, 0.35) + abs(x) * 2.0


def capped(x: Any) -> Any:
    return cl.math.tanh(x * 0.25) * 4.0 + 1.0


def loops(x: Any) -> Any:
    total = x
    for i in cl.static_range(3):
        total = total * x + i
    return total


def nothing(x: Any) -> Any:
    return cl.math.floor(x) + 1.0


MATHS = {
    "positive": ["sqrt", "rsqrt", "rcp", "cbrt", "log", "log2", "log10", "log1p", "rcbrt", "lgamma", "tgamma"],
    "any": [
        "exp",
        "exp2",
        "expm1",
        "sin",
        "cos",
        "tan",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "erf",
        "erfc",
        "sinpi",
        "cospi",
        "exp10",
        "erfcx",
        "normcdf",
    ],
    "small": ["asin", "acos", "atanh"],
}
CASES: list[Any] = [(f, ANY) for f in (polynomial, quotient, choices, capped, loops, nothing)]
CASES += [(getattr(cl.math, name), {"positive": POSITIVE, "any": ANY, "small": SMALL}[kind])
          for kind, names in MATHS.items() for name in names]  # fmt: skip
CASES += [
    (lambda x: cl.math.acosh(x + 1.5), POSITIVE),
    (lambda x: cl.math.pow(x, 2.5) + 2.0**x + x**1.5, POSITIVE),
    (lambda x: cl.math.normcdfinv(x / 5.0) + cl.math.erfcinv(x / 3.0) + cl.math.fdim(x, 1.0), POSITIVE),
    (lambda x: cl.math.rhypot(x, 2.0) + cl.math.hypot(x, 1.0, x * 0.5), ANY),
    (lambda x: cl.math.hypot(x, 2.0) + cl.math.atan2(x, x * x + 1.0), ANY),
    (lambda x: x // 0.59 + 7.0 // (x + 9.05) + x % 0.59 + (x + 9.05) % (x * 0.5 + 4.0) + 9.0 % (x + 9.1), ANY),
    (lambda x: cl.math.fmod(x, 0.59) + cl.math.fmod(9.0, x + 9.1), ANY),
    (lambda x: cl.math.remainder(x, 0.67) + cl.math.remainder(9.0, x + 9.1) + cl.math.remquo(8.0, x + 9.1)[0], ANY),
    (
        lambda x: cl.math.sincos(x)[0] * cl.math.sincos(x)[1] + sum(cl.math.sincospi(x * 0.3)),
        SMALL,
    ),
    (
        lambda x: (
            cl.math.ldexp(x, 3) + sum(cl.math.modf(x * 0.71)) + cl.math.frexp(x * 1.15)[0] * cl.math.frexp(x * 1.15)[1]
        ),
        POSITIVE,
    ),
    (lambda x: cl.math.fma(x, x + 1.0, x * 3.0), ANY),
    (lambda x: cl.math.fabs(x) + cl.math.saturate(x) + cl.math.maximum(x, 0.5) * cl.math.minimum(1.0, x), ANY),
    (lambda x: cl.math.fdividef(x, x + 7.0) + cl.math.exp(x * 0.1, fast=True), ANY),
]


@pytest.mark.parametrize(("function", "x"), CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_against_differences(function: Callable[..., Any], x: Any) -> None:
    """Derivatives are differences of the values that the kernel computes itself."""
    step = np.float32(2.0**-6)
    y, slope = values_and_slopes(function, x)
    ahead, behind = (values_and_slopes(function, x + sign * step)[0].astype(np.float64) for sign in (1, -1))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=4e-3, atol=2e-3)
    assert y.any()


def test_captured_numbers_and_more_arguments_are_constant() -> None:
    bias = 2.0
    y, slope = values_and_slopes(lambda x, more: x * bias + more, ANY, 3.0)
    np.testing.assert_allclose(y, ANY * 2 + 3)
    assert (slope == 2.0).all()


def test_what_has_no_derivative_is_told() -> None:
    with pytest.raises(CompileError, match=r"cl\.math\.digamma has no derivative"):
        values_and_slopes(lambda x: cl.math.digamma(x), ANY)
    _, slope = values_and_slopes(lambda x: cl.math.fmod(1.0, x), np.full_like(ANY, 0.1))
    assert (slope == -9.0).all(), "0.1 as an f32 goes into 1 nine times, though the quotient rounds to 10"
    assert math.isfinite(values_and_slopes(lambda x: 1.0, ANY)[1].sum())
    with pytest.raises(CompileError, match="the function gives None, which is no number"):
        values_and_slopes(lambda x: None, ANY)


@pytest.mark.parametrize("dtype", [f32, cl.f64], ids=str)
def test_numbers_have_derivatives_of_their_type_and_magnitudes_none_at_0(dtype: Any) -> None:
    def function(x: Any) -> Any:
        with_sign = cl.math.copysign(x, -0.5) + cl.math.fdim(x, -1.0)
        bounded = cl.math.saturate(x) * 4.0 + cl.math.minimum(x, 2.0) * 8.0 + cl.where(x > 2.0, x * 16.0, 0.5)
        return cl.math.fabs(x) + abs(x) + with_sign + bounded

    @cl.kernel(block=5)
    def kernel(x: Tensor[dtype, (5,)], slope: Tensor[dtype, (5,)]) -> None:
        slope[cl.thread_idx.x] = cl.value_and_derivative(function, x[cl.thread_idx.x])[1]

    x = np.array([-2, -0.5, 0, 0.75, 3], np.float32 if dtype == f32 else np.float64)
    slope = np.zeros_like(x)
    kernel[1](x, slope)
    assert slope.tolist() == [-2 + 1 + 8, -2 + 1 + 1 + 8, 1 + 4 + 8, 2 - 1 + 1 + 4 + 8, 2 - 1 + 1 + 16]


def test_builtins_of_numbers_with_derivatives() -> None:
    @cl.kernel(block=8)
    def kernel(x: Tensor[f32, (8,)], y: Tensor[f32, (8,)], slope: Tensor[f32, (8,)]) -> None:
        i = cl.thread_idx.x
        y[i], slope[i] = cl.value_and_derivative(
            lambda v: round(v) * v + f32(v) + float(v) * 2 + cl.f16(v) + int(v) * v + sum(divmod(v, 0.5)), x[i]
        )
        over, _ = cl.value_and_derivative(lambda v: v / 0.0, x[i])
        y[i] = y[i] if cl.math.isinf(over) else 0.0

    y, slope = np.zeros_like(ANY), np.zeros_like(ANY)
    kernel[1](ANY, y, slope)
    rounded, whole = np.rint(ANY), np.trunc(ANY)
    half = ANY.astype(np.float16).astype(np.float32)
    expected = rounded * ANY + ANY + ANY * 2 + half + whole * ANY + ANY // 0.5 + ANY % 0.5
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    np.testing.assert_allclose(slope, rounded + 1 + 2 + 1 + whole + 1, rtol=1e-6)


def test_vectors_are_rounded() -> None:
    @cl.kernel(block=2)
    def kernel(x: Tensor[f32, (8,), cl.align(16)], y: Tensor[cl.i32, (8,), cl.align(16)]) -> None:
        v = x.tile(4, cl.thread_idx.x)
        y.tile(4, cl.thread_idx.x).store(round(v.load()))
        v.store(round(v.load(), 0))

    x, y = ANY.copy(), np.zeros(8, np.int32)
    kernel[1](x, y)
    np.testing.assert_array_equal(x, np.rint(ANY))
    np.testing.assert_array_equal(y, np.rint(ANY))
    with pytest.raises(CompileError, match=r"round\(\) takes a number, not "):
        cl.kernel(block=1)(_rounds_a_tensor).compile()


def _rounds_a_tensor(x: Tensor[f32, (8,)]) -> None:
    x[0] = round(x)


def of_paths(x: Any, n: Any) -> Any:
    y = x * 0.1
    if n > 1:
        y = x * 0.3
    return y + x * 2 if n > 4 else y


def of_many_returns(x: Any, n: Any) -> Any:
    if n < 1:
        return x * x
    if n > 2:
        return x * 0.7
    return x + 1


def of_loops(x: Any, n: Any) -> Any:
    y, z = x, x * 0.1
    for _ in range(n):
        y, z = y * x, z + x * 0.3
    return y + z


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (lambda x, n: (x > 0) * x, lambda x: 1),
        (lambda x, n: x * n, lambda x: 3),
        (lambda x, n: x / n - x * N + N / x, lambda x: 1 / 3 - 7 - 7 / x**2),
        (of_paths, lambda x: 0.3),
        (of_many_returns, lambda x: 0.7),
        (of_loops, lambda x: 4 * x**3 + 1),
    ],
)
@pytest.mark.parametrize("dtype", [f32, cl.f64])
def test_known_derivatives_become_numbers_of_their_type(function: Any, slope: Any, dtype: Any) -> None:
    @cl.kernel(block=1)
    def kernel(x: Tensor[dtype, (4,), cl.align(16)], n: cl.i32, _: Tensor[f32, (N,)], out: Tensor[dtype, (3,)]) -> None:
        _, vectors = cl.value_and_derivative(function, x.tile(2, 0).load().reshape((1, 2)), n)
        one = cl.ones((3, 2), dtype) * vectors  # of the shape of the argument
        out[0], out[1] = one[0], one[5]
        _, out[2] = cl.value_and_derivative(function, x[1], n)

    x = np.array([0.6, 1.3, 0, 0], np.float32 if dtype == f32 else np.float64)
    out = np.zeros(3, x.dtype)
    kernel[1](x, 3, np.zeros(7, np.float32), out)
    expected = slope(x.astype(np.float64)[[0, 1, 1]]) * np.ones(3)
    np.testing.assert_allclose(out, expected, rtol=1e-5 if dtype == f32 else 1e-14)
