"""The GEMM within `jax.jit`, `jax.grad` and `jax.vmap`: a call through XLA's interface for foreign functions.

`gemm` calls this module for arrays that JAX traces. Forward and backward are three GEMMs in all, which read operands of
either major: no operand is transposed first. A fourth one computes again what a function for `activation=` or `gate=`
was applied to.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from cutelite.interop.jax import derived
from cutelite.kernels.arguments import Misfit
from cutelite.kernels.arrays import code_of
from cutelite.kernels.gemm import arrays, call
from cutelite.kernels.gemm.configs import Config
from cutelite.kernels.jax_calls import BROADCAST, IN_ORDER, computed, shaped
from cutelite.kernels.rows.on_jax_elements import elementwise
from cutelite.tuples import NamedTuple


class How(NamedTuple):
    """The constants of a call. `turned`: the operands whose last two modes are exchanged."""

    alpha: float = 1.0
    beta: float = 0.0
    activation: Callable[[Any], Any] | None = None
    precision: str | None = None
    gate: Callable[[Any], Any] | None = None
    turned: tuple[bool, bool] = (False, False)


def gemm(
    a: Any, b: Any, c: Any = None, bias: Any = None, alpha: float = 1.0, beta: float = 0.0, activation: Any = None,
    precision: str | None = None, config: Any = None, gate: Any = None, scale_a: Any = None, scale_b: Any = None,
) -> Any:  # fmt: skip
    """``activation(alpha * (a @ b) + beta * c + bias)``, as `cutelite.kernels.gemm.gemm` has it, or that of a gate.

    Errors  ValueError for shapes that do not fit, for a configuration, and for a derivative where there are scales
    """
    if isinstance(config, Config):
        raise Misfit("within JAX's transforms a GEMM has no configuration")
    functions = call.function_of("activation", activation), call.function_of("gate", gate)
    how = How(alpha, beta, functions[0], precision, functions[1])
    return _multiply(a, b, c, bias, how, None if scale_a is scale_b is None else (scale_a, scale_b))


def _product(a: Any, b: Any, c: Any, bias: Any, how: How, scales: Any = None) -> Any:
    def result() -> Any:
        left, right = (
            shaped((*x.shape[:-2], x.shape[-1], x.shape[-2]) if turned else x.shape, x.dtype)
            for x, turned in zip((a, b), how.turned, strict=True)
        )
        *rows, columns = arrays.result_shape(left, right)
        kind = arrays.DEFAULTS.get(code_of(a)) or a.dtype
        return shaped((*rows, columns if how.gate is None else columns // 2), kind)

    batches = all(getattr(x, "ndim", 0) == 2 for x in (a, b)) and bias is scales is None
    method, (scale_a, scale_b) = BROADCAST if batches else IN_ORDER, scales or (None, None)
    named = {"a": a, "b": b, "c": c, "bias": bias, "scale_a": scale_a, "scale_b": scale_b}
    return computed(_gemm, result, named, method=method, **how._asdict())


def _gemm(a: Any, b: Any, turned: tuple[bool, bool], **given: Any) -> None:
    a, b = (x.swapaxes(-1, -2) if turned else x for x, turned in zip((a, b), turned, strict=True))
    call.gemm(a, b, **given)


_multiply = derived(4)(_product)


def _forward(a: Any, b: Any, c: Any, bias: Any, how: How, scales: Any) -> tuple[Any, Any]:
    if scales is not None:
        raise Misfit("there is no derivative through scales: multiply what needs a gradient by them")
    out = _product(a, b, c, bias, how)
    relu = out if how.activation is call.relu else None
    if how.gate is None and how.activation in (None, call.relu):  # of these only the dtypes are needed
        c, bias = (None if x is None else jnp.zeros(0, x.dtype) for x in (c, bias))
    return out, (a, b, relu, c, bias)


def _of_product(how: How, a: Any, b: Any, c: Any, bias: Any, grad: Any) -> Any:
    """Return the gradient of what a function was applied to."""
    activation, gate = how.activation, how.gate
    product = _product(a, b, c, bias, how._replace(activation=None, gate=None))
    if activation is not None:
        return jax.vjp(lambda x: elementwise(activation, (x,))[0], product)[1](grad)[0]
    assert gate is not None
    x, up = jnp.split(product, 2, -1)
    return jnp.concatenate(jax.vjp(lambda *both: elementwise(call.gating(gate), both)[0], x, up)[1](grad), -1)


def _backward(how: How, kept: Any, grad: Any) -> tuple[Any, ...]:
    a, b, positive, c, bias = kept
    if positive is not None:
        grad = jnp.where(positive > 0, grad, 0)
    elif how.activation is not None or how.gate is not None:
        grad = _of_product(how, a, b, c, bias, grad)
    plain = How(alpha=how.alpha, precision=how.precision)
    of_a = _summed(_multiply(grad, b, None, None, plain._replace(turned=(False, True)), None), a)
    rows, columns = a, grad
    if b.ndim == 2:
        rows, columns = (x.reshape(prod(x.shape[:-1]), x.shape[-1]) for x in (a, grad))
    of_b = _summed(_multiply(rows, columns, None, None, plain._replace(turned=(True, False)), None), b)
    of_c = None if c is None else (grad * how.beta).astype(c.dtype)
    across = tuple(range(grad.ndim - 1))
    of_bias = None if bias is None else grad.astype(jnp.float32).sum(across).astype(bias.dtype)
    return of_a.astype(a.dtype), of_b.astype(b.dtype), of_c, of_bias, None


def _summed(gradient: Any, operand: Any) -> Any:
    """Return the gradient of an operand whose batches were broadcast: the sum over these, in f32."""
    if gradient.shape == operand.shape:
        return gradient
    more = gradient.ndim - operand.ndim
    stretched = [i for i, n in enumerate(operand.shape) if n == 1 and gradient.shape[i + more] > 1]
    total = gradient.astype(jnp.float32).sum((*range(more), *(i + more for i in stretched)), keepdims=False)
    return total.reshape(operand.shape).astype(gradient.dtype)


_multiply.defvjp(_forward, _backward)


def turned_product(a: Any, b: Any) -> Any:
    """Return ``a.mT @ b``, without a copy of `a`."""
    return _multiply(a, b, None, None, How(turned=(True, False)), None)
