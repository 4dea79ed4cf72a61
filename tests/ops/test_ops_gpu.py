"""A GPU against the simulator: the same bits where arithmetic is exact, the stated bounds where it is not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import (
    Scalar,
    Type,
    Vec,
    e4m3,
    f16,
    f32,
    f64,
)
from cutelite.lang import math
from cutelite.lang.convert import convert
from cutelite.lang.emit import emit as emit_here
from cutelite.lang.straight import evaluate
from cutelite.ops import math as math_ops
from tests.ops.kernels import run_gpu
from tests.ops.test_lang_math import BINARY, UNARY

pytestmark = [pytest.mark.sm(90), pytest.mark.filterwarnings("ignore::RuntimeWarning")]
RANDOM = np.random.default_rng(0)
BLOCK = 256


def on_gpu(body: Callable[..., Any], result: Scalar, *columns: Any) -> Any:
    """`body` of each row of the columns."""
    out = np.zeros(len(columns[0]), numpy_dtype(result))

    def kernel(*tensors: Any) -> None:
        i = cl.block_idx.x * BLOCK + cl.thread_idx.x
        tensors[-1][i] = body(*(t[i] for t in tensors[:-1]))

    run_gpu(kernel, *columns, out, block=BLOCK, grid=len(out) // BLOCK)
    return out


def sample(t: Scalar, count: int = 1 << 18) -> Any:
    """Any bits; for floats half of them of moderate size, and the special ones."""
    dtype = numpy_dtype(t)
    random = RANDOM.integers(0, np.iinfo(f"u{t.bytes}").max, count, f"u{t.bytes}", endpoint=True).view(dtype)
    if t.is_float:
        random[: count // 2] = RANDOM.normal(0, 4, count // 2).astype(dtype)
        special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, 2.5, 1e-40]).astype(dtype)
        random[: len(special)] = special
    return random


def assert_same(got: Any, expected: Any, *given: Any) -> None:
    """Bit by bit, but a NaN is a NaN."""
    unsigned = f"u{got.itemsize}"
    nan = (
        np.isnan(got.astype(np.float64)) & np.isnan(expected.astype(np.float64))
        if got.dtype.kind not in "iub"
        else False
    )
    wrong = np.flatnonzero((got.view(unsigned) != expected.view(unsigned)) & ~np.asarray(nan))
    assert not len(wrong), [(*(x[i] for x in given), got[i], expected[i]) for i in wrong[:5]]


@pytest.mark.parametrize("t", [f32, f64], ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_accurate_functions_give_the_simulators_bits(name: str, t: Scalar) -> None:
    function, x = getattr(math, name), sample(t)
    assert_same(on_gpu(function, t, x), evaluate(function, (t,), x), x)


@pytest.mark.parametrize("t", [f32, f64], ids=str)
@pytest.mark.parametrize("name", [*BINARY, "remainder", "minimum", "maximum"])
def test_accurate_functions_of_two_arguments_too(name: str, t: Scalar) -> None:
    function, x, y = getattr(math, name), sample(t), RANDOM.permutation(sample(t))
    if name in ("fmod", "remainder"):  # their loops are as long as the quotient has bits
        x, y = x[:4096], y[:4096]
    assert_same(on_gpu(function, t, x, y), evaluate(function, (t, t), x, y), x, y)


def test_what_assemblers_dropped() -> None:
    """The sign of a remainder of -0.0 that was selected, and an `and` of half a register whose other half is empty."""
    x = sample(f32)[:4096]

    def remainder(a: Any) -> Any:
        return math.remainder(cl.where(a > 1.0, cl.f32(3634.5), cl.f32(-0.0)), math.trunc(a))

    def narrow(a: Any) -> Any:
        return convert(convert(abs(convert(a, f16, saturate=True)), e4m3), f32)

    for body in (remainder, narrow):
        assert_same(on_gpu(body, f32, x), evaluate(body, (f32,), x), x)


FAST: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "exp": lambda x, y: (2 + 1.2 * x, 0),
    "log": lambda x, y: (3, 2.0**-21.4),
    "log10": lambda x, y: (3, 2.0**-23),
    "tan": lambda x, y: (3, 2.0**-20.4 * (1 + np.abs(y)) * np.sqrt(1 + y**2)),
    "pow": lambda x, y: (4 + 3.5 * 1.75 * np.maximum(1, np.abs(np.log2(x))), 0),
}
"""How far a fast function of `x` may be from the truth `y`: in ulp, and in absolute terms on top."""


@pytest.mark.parametrize("name", FAST)
def test_fast_functions_keep_their_bounds(name: str) -> None:
    x = RANDOM.uniform(0.05, 2 * np.pi if name == "tan" else 20, 1 << 18).astype(np.float32)
    if name == "tan":
        x[np.abs(np.cos(x.astype(np.float64))) < 2.0**-20] = 1.0  # so near to a pole the divisor may be rounded to zero
    wide = x.astype(np.float64)
    if name == "pow":
        got, truth = on_gpu(lambda a: math.pow(a, 1.75, fast=True), f32, x), wide**1.75
    else:
        got, truth = on_gpu(lambda a: getattr(math, name)(a, fast=True), f32, x), UNARY[name][0](wide)
    ulps, absolute = FAST[name](wide, truth)
    allowed = ulps * np.spacing(np.abs(truth).astype(np.float32)) + absolute
    worst = int(np.argmax(np.abs(got - truth) / allowed))
    assert abs(got[worst] - truth[worst]) <= allowed[worst], (x[worst], got[worst], truth[worst])


@pytest.mark.parametrize("op", [math_ops.Ex2Approx, math_ops.TanhApprox], ids=lambda op: op.name)
def test_half_precision_approximations(op: type[Any]) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    got = on_gpu(lambda a: emit_here(op(a.value)), f16, x).astype(np.float64)
    truth = (np.exp2 if op is math_ops.Ex2Approx else np.tanh)(x.astype(np.float64))
    allowed = 2.0**-9.9 * truth + 2.0**-24 if op is math_ops.Ex2Approx else 2.0**-10.987
    inside = np.isfinite(x) & (np.abs(truth) < 65504)
    assert (np.abs(got - truth) <= allowed)[inside].all()


def test_small_floats_in_vectors() -> None:
    x = RANDOM.uniform(0, 4, 1 << 10).astype(np.float16)
    out = np.zeros_like(x)

    def kernel(x: Any, out: Any) -> None:
        tile = cl.block_idx.x * 32 + cl.thread_idx.x
        v = x.tile(4, tile).load()
        out.tile(4, tile).store(math.sqrt(v) * v + math.exp2(v))

    def same(v: Any) -> Any:
        return math.sqrt(v) * v + math.exp2(v)

    types: tuple[Type, ...] = (Vec(f16, 4),)
    run_gpu(kernel, x, out, grid=len(x) // 128)
    expected = evaluate(same, types, x.reshape(-1, 4)).ravel()
    assert (np.abs(out.astype(float) - expected.astype(float)) <= np.spacing(expected)).all()  # `*` and `+` may fuse
