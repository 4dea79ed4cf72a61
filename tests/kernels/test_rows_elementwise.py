"""Functions of elements, activations and gates against float64: shapes, pitches, dtypes, hard values, derivatives."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.rows.elementwise import elementwise, scale
from cutelite.kernels.rows.gates import ACTIVATIONS, activated, activated_backward, gated, gated_backward
from tests.kernels.test_rows import BF16, close, random
from tests.pairs import in_pairs

pytestmark = pytest.mark.usefixtures("everywhere")

Array = np.ndarray[Any, Any]
SHAPES = [(1,), (7,), (3, 1000), (2, 3, 77)]
erf = np.vectorize(math.erf)
ROOT = math.sqrt(2 / math.pi)
EXACT: dict[str, Any] = {
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(ROOT * (x + 0.044715 * x**3))),
    "relu": lambda x: np.where(x < 0, 0, x),
}


def slope(function: Any, x: Array) -> Array:
    """The derivative in float64, by differences around x."""
    h = 1e-6
    found: Array = (function(x + h) - function(x - h)) / (2 * h)
    return found


@pytest.mark.parametrize(
    ("activation", "dtype", "shape"), in_pairs(list(ACTIVATIONS), (np.float32, np.float16, BF16), SHAPES)
)
def test_activations_and_gates_and_their_gradients(activation: str, dtype: Any, shape: tuple[int, ...]) -> None:
    f = EXACT[activation]
    x, up, dy = (random(shape, dtype, i, scale=2) for i in range(3))
    wide, u, g = (each.astype(np.float64) for each in (x, up, dy))
    close(activated(x, activation), f(wide), dtype)
    close(activated_backward(dy, x, activation), g * slope(f, wide), dtype)
    close(gated(x, up, activation), f(wide) * u, dtype)
    of_gate, of_up = gated_backward(dy, x, up, activation)
    close(of_gate, g * u * slope(f, wide), dtype)
    close(of_up, g * f(wide), dtype)


def test_the_derivative_of_relu_is_what_torch_has_it() -> None:
    x = np.array([-np.inf, -1, -0.0, 0, 1, np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(activated_backward(np.ones_like(x), x, "relu"), [0, 0, 0, 0, 1, 1, 1])
    for hard in (np.nan, np.inf):
        exact = [0, 0, 0, 0, hard, hard, hard]
        np.testing.assert_array_equal(activated_backward(np.full_like(x, hard), x, "relu"), exact)
        np.testing.assert_array_equal(gated_backward(np.ones_like(x), x, np.full_like(x, hard), "relu")[0], exact)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [np.float32, BF16])
def test_hard_values_are_what_the_formulas_give(activation: str, dtype: Any) -> None:
    x = np.array([0, -0.0, 30, -30, 88, -88, 200, -200, 3e38, -3e38, np.inf, -np.inf, np.nan], dtype)
    with np.errstate(all="ignore"):
        exact = EXACT[activation](x.astype(np.float32)).astype(np.float64)
    found = activated(x, activation).astype(np.float64)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    np.testing.assert_allclose(
        found, exact, rtol=1e-2 if dtype == BF16 else 1e-5, atol=1e-20 if dtype == BF16 else 1e-6
    )


@pytest.mark.parametrize("start", [0, 1])
def test_halves_of_one_array_in_place(start: int) -> None:
    both = random((5, 83), BF16)
    before = both.copy()
    gate, up = both[:, start : start + 40], both[:, start + 40 : start + 80]
    dy = random((5, 40), BF16, 1)
    wide, u, g = (each.astype(np.float64) for each in (gate, up, dy))
    found = gated_backward(dy, gate, up, out=(gate, up))
    assert found[0] is gate
    close(gate, g * u * slope(EXACT["silu"], wide), BF16)
    close(up, g * EXACT["silu"](wide), BF16)
    np.testing.assert_array_equal(both[:, :start], before[:, :start])
    np.testing.assert_array_equal(both[:, start + 80 :], before[:, start + 80 :])


def test_dtypes_meet_and_several_results_come(checked: Callable[[int], None]) -> None:
    checked(1)
    a, b = random((3, 2500), np.float32), random((3, 2500), BF16, 1)
    total, product = elementwise(lambda x, y: (x + y, x * y), (a, b), dtypes=("f32", "f16"))
    np.testing.assert_array_equal(total, a + b.astype(np.float32))
    np.testing.assert_array_equal(product, (a * b.astype(np.float32)).astype(np.float16))


def test_nothing_is_launched_for_nothing() -> None:
    assert activated(np.zeros((0, 5), np.float32), "silu").shape == (0, 5)
    assert activated(np.zeros((5, 0), np.float32), "silu").shape == (5, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, BF16])
@pytest.mark.parametrize("factor", [1.0, -0.37, 0.0, math.nan])
def test_scaling_in_place(dtype: Any, factor: float) -> None:
    for seed, shape in enumerate([(1,), (0,), (3, 4097), (1025, 7)]):
        x = random(shape, dtype, seed)
        x.reshape(-1)[:1] = math.inf
        before = x.copy()
        scale(x, np.array([factor], np.float32))
        with np.errstate(all="ignore"):
            expected = (before.astype(np.float32) * np.float32(factor)).astype(dtype)
        np.testing.assert_array_equal(x.astype(np.float64), expected.astype(np.float64))


def test_calls_that_are_wrong_are_refused_by_the_arguments_names() -> None:
    x = np.ones((2, 8), np.float32)
    wrong: list[tuple[Any, Any, dict[str, Any], str]] = [
        (abs, x, {}, "inputs must be a tuple of one to 4, not ndarray"),
        (abs, (), {}, "inputs must be"),
        (abs, (x,), {"out": x}, "out must be a tuple of one to 3"),
        (abs, (x,), {"dtypes": ("f64",)}, "dtypes is 'f64', but must be one of"),
        (3, (x,), {}, r"function is 3, but must be a function of \(a\)"),
        (abs, (x,), {"names": "x"}, "names must be a tuple of texts, not 'x'"),
        (abs, (x,), {"names": ("x", "y", "z")}, "names has 3, but there are 1 inputs and 1 results"),
        (abs, (x,), {"names": ("x", "y"), "out": (x[:1],)}, r"y is \(1, 8\), but must be \(2, 8\), as x"),
        (lambda a, b: a, (x,), {}, r"function must be a function of \(a\)"),
        (
            lambda a: None,
            (x,),
            {},
            r"`function` gives None, but must give a vector\n +--> .*test_rows_elementwise.py",
        ),
        (lambda a: (a, a), (x,), {}, "but must give a vector"),
    ]
    for function, inputs, how, text in wrong:
        with pytest.raises((ValueError, cl.ArgumentError, cl.CompileError), match=text):
            elementwise(function, inputs, **how)
