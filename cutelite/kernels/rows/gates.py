"""Activations, gates such as SwiGLU, and their derivatives.

    gated(gate, up, "silu") = silu(gate) * up            SwiGLU; "gelu" or "gelu_tanh": GeGLU; "relu": ReGLU
    activated(x, "gelu")    = gelu(x)

    silu(x) = x / (1 + exp(-x))        gelu(x) = x * (1 + erf(x / sqrt(2))) / 2
    gelu_tanh(x) = x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))) / 2

Each is a function of elements (`elementwise.py`): inputs are read once, and no intermediate result is stored.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import cutelite as cl
from cutelite.kernels.arguments import in_words_of_caller, is_array, one_of, underived
from cutelite.kernels.arrays import code_of
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import derived
from cutelite.kernels.rows.elementwise import elementwise
from cutelite.kernels.rows.softmax import power

ROOT, CUBIC = math.sqrt(2 / math.pi), 0.044715  # constants of gelu_tanh
LOG2_E = math.log2(math.e)


def sigmoid(x: Any, exact: bool) -> Any:
    """Return 1 / (1 + exp(-x))."""
    e = 1.0 + power(-x, exact)
    return 1.0 / e if exact else cl.math.rcp(e, fast=True)


def silu(x: Any, exact: bool) -> tuple[Any, Any]:
    """Return silu(x) and its derivative."""
    s = sigmoid(x, exact)
    return x * s, s * (1.0 + x * (1.0 - s))


TAIL = -2.826553, 1.46020879, 0.404681717, 0.608780439, -0.952584705, 0.305441014
"""Coefficients of ``log2(below(-x) / t) + x * x * LOG2_E / 2`` in t = 1 / (1 + x / sqrt(8)): x >= 0, within 3e-5."""


def below(x: Any, exact: bool) -> Any:
    """Return the probability that a standard normal variable is below x; for 16-bit results within 2**-15 of it."""
    if exact:
        return 0.5 + 0.5 * cl.math.erf(x * math.sqrt(0.5))
    t = cl.math.rcp(1.0 + abs(x) * math.sqrt(0.125), fast=True)
    power_of_two = t * TAIL[5] + TAIL[4]
    for factor in reversed(TAIL[:4]):
        power_of_two = power_of_two * t + factor
    beyond = t * cl.math.exp2(power_of_two - x * x * (0.5 * LOG2_E), fast=True)
    return cl.where(x < 0.0, beyond, 1.0 - beyond)


def gelu(x: Any, exact: bool) -> tuple[Any, Any]:
    """Return gelu(x) and its derivative."""
    share = below(x, exact)
    return x * share, share + x * power(x * x * -0.5, exact) * (1 / math.sqrt(2 * math.pi))


def gelu_tanh(x: Any, exact: bool) -> tuple[Any, Any]:
    """Return gelu_tanh(x) and its derivative: (1 + tanh(u)) / 2 is the sigmoid of 2u."""
    square = x * x
    s = sigmoid(x * (2 * ROOT + 2 * ROOT * CUBIC * square), exact)
    return x * s, s + x * s * (1.0 - s) * (2 * ROOT + 6 * ROOT * CUBIC * square)


def relu(x: Any, exact: bool) -> tuple[Any, Any]:
    """Return max(x, 0), NaN for NaN, and its derivative, 1 for NaN as in torch."""
    return cl.where(x < 0.0, 0.0, x), 1.0 - (x <= 0.0).to(cl.f32)


ACTIVATIONS: dict[str, Callable[[Any, bool], tuple[Any, Any]]] = {
    "silu": silu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "relu": relu,
}


@cache
def functions(activation: str, exact: bool) -> tuple[Callable[..., Any], ...]:
    """Return functions of elements: the activation, its derivative, the gate, and the gate's derivatives."""
    both = ACTIVATIONS[activation]

    def times(dy: Any, slope: Any) -> Any:  # where relu is flat nothing is left of NaN and inf either, as in torch
        return cl.where(slope == 0.0, 0.0, dy) if activation == "relu" else dy * slope

    def gate_gradients(dy: Any, gate: Any, up: Any) -> tuple[Any, Any]:
        value, slope = both(gate, exact)
        return times(dy * up, slope), dy * value

    return (
        lambda x: both(x, exact)[0],
        lambda dy, x: times(dy, both(x, exact)[1]),
        lambda gate, up: both(gate, exact)[0] * up,
        gate_gradients,
    )


@planned
@in_words_of_caller
def activated(x: Any, activation: str, *, out: Any = None) -> Any:
    """Compute an activation of every element.

    x           bf16, f16 or f32, of any shape
    activation  'silu', 'gelu', 'gelu_tanh' or 'relu'
    out         where to write; may be x
    Errors      `cl.ArgumentError` for other arrays and activations
    """
    if (made := derived(x, out=out)) is not None:
        return made.activated(x, activation)
    return elementwise(
        functions(one_of("activation", activation, ACTIVATIONS), exactly(x))[0],
        (x,),
        out=out if out is None else (out,),
        names=("x",),
    )[0]


@planned
@underived()
def activated_backward(dy: Any, x: Any, activation: str, *, out: Any = None) -> Any:
    """Compute the gradient of x from the gradient dy of ``activated(x, activation)``. `out` may be dy or x."""
    if (made := derived(dy, x, out=out)) is not None:
        return made.activated_backward(dy, x, activation)
    both = out if out is None else (out,)
    return elementwise(
        functions(one_of("activation", activation, ACTIVATIONS), exactly(x))[1], (dy, x), out=both, names=("dy", "x")
    )[0]


@planned
@in_words_of_caller
def gated(gate: Any, up: Any, activation: str = "silu", *, out: Any = None) -> Any:
    """Compute ``activation(gate) * up``.

    gate, up  of one shape; they may be the two halves of one array's last mode
    out       where to write; may be gate or up
    Errors    `cl.ArgumentError` for arrays that do not fit
    """
    if (made := derived(gate, up, out=out)) is not None:
        return made.gated(gate, up, activation)
    both = out if out is None else (out,)
    return elementwise(
        functions(one_of("activation", activation, ACTIVATIONS), exactly(gate))[2],
        (gate, up),
        out=both,
        names=("gate", "up"),
    )[0]


@planned
@underived()
def gated_backward(dy: Any, gate: Any, up: Any, activation: str = "silu", *, out: Any = None) -> tuple[Any, Any]:
    """Compute the gradients of gate and up from the gradient dy of ``gated(gate, up, activation)``.

    out     where to write the two; may be gate and up, or the two halves of one array's last mode
    Errors  `cl.ArgumentError` for arrays that do not fit
    """
    if (made := derived(dy, gate, up, out=out)) is not None:
        found = made.gated_backward(dy, gate, up, activation)
        return found[0], found[1]
    for name, each in (("gate", gate), ("up", up)):
        is_array(name, each)
    kinds: dict[str, Any] = {} if out is not None else {"dtypes": (code_of(gate), code_of(up))}
    kinds["names"] = "dy", "gate", "up"
    one_of("activation", activation, ACTIVATIONS)
    blocks = 8 if activation in ("silu", "relu") else None  # these need few registers
    found = elementwise(functions(activation, exactly(gate))[3], (dy, gate, up), out=out, blocks=blocks, **kinds)
    return found[0], found[1]


def exactly(x: Any) -> bool:
    """Tell whether functions have to be accurate to the last bits: for f32."""
    return hasattr(x, "dtype") and code_of(x) == "f32"
