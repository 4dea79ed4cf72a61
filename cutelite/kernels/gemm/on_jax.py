"""The GEMM within `jax.jit`, `jax.grad` and `jax.vmap`: a call through XLA's interface for foreign functions.

`gemm` calls this module for arrays that JAX traces. Forward and backward are three GEMMs in all, which read operands of
either major: no operand is transposed first.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import jax.numpy as jnp

from cutelite.interop.jax import derived
from cutelite.kernels.arguments import Misfit
from cutelite.kernels.arrays import code_of
from cutelite.kernels.gemm import arrays, call
from cutelite.kernels.gemm.configs import Config
from cutelite.kernels.jax_calls import BROADCAST, IN_ORDER, computed, shaped
from cutelite.tuples import NamedTuple


class How(NamedTuple):
    """The constants of a call. `turned`: the operands whose last two modes are exchanged."""

    alpha: float = 1.0
    beta: float = 0.0
    activation: Callable[[Any], Any] | str | None = None
    precision: str | None = None
    turned: tuple[bool, bool] = (False, False)


def gemm(
    a: Any, b: Any, c: Any = None, bias: Any = None, alpha: float = 1.0, beta: float = 0.0, activation: Any = None,
    precision: str | None = None, config: Any = None,
) -> Any:  # fmt: skip
    """``activation(alpha * (a @ b) + beta * c + bias)``, as `cutelite.kernels.gemm.gemm` has it.

    Errors  ValueError for shapes that do not fit, a configuration, and for a gradient through an activation other than
            'relu'
    """
    if isinstance(config, Config):
        raise Misfit("within JAX's transforms a GEMM has no configuration")
    return _multiply(a, b, c, bias, How(alpha, beta, call.function_of("activation", activation), precision))


def _product(a: Any, b: Any, c: Any, bias: Any, how: How) -> Any:
    def result() -> Any:
        left, right = (
            shaped((*x.shape[:-2], x.shape[-1], x.shape[-2]) if turned else x.shape, x.dtype)
            for x, turned in zip((a, b), how.turned, strict=True)
        )
        return shaped(arrays.result_shape(left, right), arrays.DEFAULTS.get(code_of(a)) or a.dtype)

    method = BROADCAST if all(getattr(x, "ndim", 0) == 2 for x in (a, b)) and bias is None else IN_ORDER
    named = {"a": a, "b": b, "c": c, "bias": bias}
    return computed(_gemm, result, named, method=method, **how._asdict())


def _gemm(a: Any, b: Any, turned: tuple[bool, bool], **given: Any) -> None:
    a, b = (x.swapaxes(-1, -2) if turned else x for x, turned in zip((a, b), turned, strict=True))
    call.gemm(a, b, **given)


_multiply = derived(4)(_product)


def _forward(a: Any, b: Any, c: Any, bias: Any, how: How) -> tuple[Any, Any]:
    if how.activation not in (None, call.relu):
        raise Misfit("activation= is a function, of which no derivative is known: apply it to the result")
    out = _product(a, b, c, bias, how)
    kinds = [None if x is None else jnp.zeros(0, x.dtype) for x in (c, bias)]
    return out, (a, b, out if how.activation else None, *kinds)


def _backward(how: How, kept: Any, grad: Any) -> tuple[Any, ...]:
    a, b, positive, c, bias = kept
    grad = grad if positive is None else jnp.where(positive > 0, grad, 0)
    plain = How(alpha=how.alpha, precision=how.precision)
    of_a = _summed(_multiply(grad, b, None, None, plain._replace(turned=(False, True))), a)
    rows, columns = a, grad
    if b.ndim == 2:
        rows, columns = (x.reshape(prod(x.shape[:-1]), x.shape[-1]) for x in (a, grad))
    of_b = _summed(_multiply(rows, columns, None, None, plain._replace(turned=(True, False))), b)
    of_c = None if c is None else (grad * how.beta).astype(c.dtype)
    across = tuple(range(grad.ndim - 1))
    of_bias = None if bias is None else grad.astype(jnp.float32).sum(across).astype(bias.dtype)
    return of_a.astype(a.dtype), of_b.astype(b.dtype), of_c, of_bias


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
    return _multiply(a, b, None, None, How(turned=(True, False)))
