"""The hardware's mathematics: what it means, exactly where it is exact, within its bounds where it is not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import Scalar, Vec, bf16, f16, f32, f64
from cutelite.lang.emit import emit as emit_here
from cutelite.lang.straight import evaluate
from cutelite.ops import math as ops
from cutelite.ops import trig

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
FLOATS = (f16, bf16, f32, f64)
RANDOM = np.random.default_rng(0)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3e38, 2.0**24)


def floats(t: Scalar, count: int = 3000) -> Any:
    """Special numbers, and any bits."""
    dtype = numpy_dtype(t)
    bits = f"u{dtype.itemsize}"
    random = RANDOM.integers(0, np.iinfo(bits).max, count, bits, endpoint=True).view(dtype)
    return np.concatenate([np.array(SPECIAL).astype(dtype), random])


def apply(op: Callable[..., Any], t: Scalar, *columns: Any) -> Any:
    return evaluate(lambda *xs: emit_here(op(*(x.value for x in xs))), (t,) * len(columns), *columns)


def same(a: Any, b: Any) -> bool:
    """Equal, signs of zero included; NaN is NaN."""
    nan = np.isnan(a.astype(np.float64))
    other = np.isnan(b.astype(np.float64))
    signs = np.array_equal(np.signbit(a[~nan]), np.signbit(b[~nan]))
    return np.array_equal(nan, other) and np.array_equal(a[~nan], b[~nan]) and signs


def test_flushing_takes_subnormals_as_zero() -> None:
    a = np.array([1e-40, -1e-40, 1.0, -130.0], np.float32)

    def flushing(op: type[Any]) -> Any:
        return apply(lambda x: op(x, ftz=True), f32, a)

    assert flushing(ops.RcpApprox).tolist() == [np.inf, -np.inf, 1, np.float32(1 / -130)]
    assert flushing(ops.Ex2Approx)[3] == 0 and apply(ops.Ex2Approx, f32, a)[3] == np.float32(2.0**-130)
    assert np.signbit(flushing(ops.SqrtApprox)[1])


def test_div_approx_gives_up_on_large_divisors() -> None:
    a, b = (np.array(x, np.float32) for x in ([1, np.inf, 1, 1], [2.0**127, 2.0**127, 3, np.inf]))
    full = apply(ops.DivApprox, f32, a, b)
    assert full.tolist() == [2.0**-127, np.inf, np.float32(1 / 3), 0]
    quick = apply(lambda x, y: ops.DivApprox(x, y, full=False), f32, a, b)
    assert quick[0] == 0 and np.isnan(quick[1]) and quick[2] == np.float32(1 / 3)


def pi_to(bits: int) -> int:
    """floor(pi * 2**bits), or one less, by Machin's formula."""

    def arctan_of_inverse(n: int) -> int:
        power = total = (1 << bits + 32) // n
        k, sign = 3, -1
        while power:
            power //= n * n
            total += sign * (power // k)
            k, sign = k + 2, -sign
        return total

    return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239)) >> 32


@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_angles_are_reduced_whatever_their_size(t: Scalar) -> None:
    bits = 2400
    half_pi = pi_to(bits) >> 1
    a = floats(t, 1500)
    multiples = (RANDOM.integers(1, 40000, 500) * (np.pi / 2)).astype(a.dtype)
    a = np.concatenate([a[np.isfinite(a)], multiples, -multiples])
    rest, quotient = evaluate(lambda x: emit_here(trig.TrigReduce(x.value)), (t,), a)
    for x, r, q in zip(a.tolist(), rest.tolist(), quotient.tolist(), strict=True):
        top, bottom = x.as_integer_ratio()
        exact = (top << bits) // bottom
        turns = (2 * exact + half_pi) // (2 * half_pi)
        if turns & 3 != q & 3:  # in the middle between two multiples either will do
            turns += 1 if (turns + 1) & 3 == q & 3 else -1
        true_rest = (exact - turns * half_pi) / (1 << bits)
        assert abs(true_rest) < 0.7855
        assert abs(r - true_rest) <= 2 * np.spacing(a.dtype.type(max(abs(true_rest), 1e-300)))
    endless = np.array([np.inf, -np.inf, np.nan]).astype(a.dtype)
    r, _ = evaluate(lambda x: emit_here(trig.TrigReduce(x.value)), (t,), endless)
    assert np.isnan(r).all()


def test_vectors_go_element_by_element() -> None:
    a = RANDOM.uniform(0, 9, (10, 4)).astype(np.float32)
    assert np.array_equal(evaluate(lambda x: emit_here(ops.Sqrt(x.value)), (Vec(f32, 4),), a), np.sqrt(a))
    rest, quotient = evaluate(lambda x: emit_here(trig.TrigReduce(x.value)), (Vec(f32, 4),), a * 1e9)
    assert rest.shape == quotient.shape == (10, 4)
