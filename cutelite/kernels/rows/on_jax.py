"""Kernels of rows within `jax.jit`, `jax.grad` and `jax.vmap`: softmax, norms, cross entropy, gates, rotary embedding.

In    arrays of JAX, traced or not, and constants, as torch's operators of these names take them
Out   such arrays; derivatives come from the kernels for them. Means, deviations and sums of exponentials have none, and
      add nothing to gradients
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from cutelite.interop.jax import derived
from cutelite.kernels.jax_calls import BROADCAST, computed, like, no_gradient, shaped
from cutelite.kernels.rows import cross_entropy as entropy
from cutelite.kernels.rows import gates, norm
from cutelite.kernels.rows import rope as rotary
from cutelite.kernels.rows import softmax as soft
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.on_jax_numbers import quantised

# Softmax.


@derived(1, keep=lambda y, *_: y)
def softmax(x: Any, log: bool) -> Any:
    return computed(soft.log_softmax if log else soft.softmax, like(x), {"x": x}, method=BROADCAST)


def softmax_backward(dy: Any, y: Any, log: bool) -> Any:
    return computed(soft.softmax_backward, like(y), {"dy": dy, "y": y}, method=BROADCAST, log=log)


softmax.derive(lambda log, y, dy: (softmax_backward(dy, y, log),))


# Norms.


def _of_norm(made: Any, x: Any, weight: Any, bias: Any, residual: Any, *_: Any) -> tuple[Any, ...]:
    """Return what the derivative of `norm_forward` needs."""
    kinds = (None if each is None else jnp.zeros(0, each.dtype) for each in (bias, residual))
    return made[1], weight, *made[2:], *kinds


@derived(4, 5, 6, keep=_of_norm)
def norm_forward(x: Any, weight: Any, bias: Any, residual: Any, eps: float, offset: float, center: bool) -> Any:
    """Return the result, x + residual or x, means (None without `center`), and the inverse deviations."""
    return _normed(x, weight, bias, residual, center, eps=eps, offset=offset)[:4]


def norm_narrow(
    x: Any, weight: Any, bias: Any, residual: Any, eps: float, offset: float, center: bool, narrow: Narrow
) -> norm.Normed:
    """A norm that is quantised, which torch has no operator for."""
    return _normed(x, weight, bias, residual, center, eps=eps, offset=offset, narrow=narrow)


def _normed(x: Any, weight: Any, bias: Any, residual: Any, center: bool, **how: Any) -> norm.Normed:
    def results() -> list[Any]:
        rows, (y, scales) = shaped(x.shape[:-1]), quantised(x, how["narrow"]) if "narrow" in how else (like(x), None)
        return [y, like(residual), rows if center else None, rows, scales]

    arrays = {"x": x, "weight": weight, "bias": bias, "residual": residual}
    y, total, *more = computed(norm.layer_norm if center else norm.rms_norm, results, arrays, copies=True, **how)
    return norm.Normed(y, x if total is None else total, *more)


def norm_backward(
    dy: Any, total: Any, weight: Any, mean: Any, rstd: Any, add: Any, bias: bool, offset: float, kind: Any = None
) -> Any:
    """Return the gradients of x, weight and bias; `kind`: an array of the bias's dtype."""
    like_bias = weight if weight is not None else total if kind is None else kind
    results = [like(total), like(weight), shaped(total.shape[-1:], like_bias.dtype) if bias else None]
    arrays = {"dy": dy, "total": total, "weight": weight, "mean": mean, "rstd": rstd, "add": add}
    return computed(_norm_gradients, results, arrays, copies=True, bias=bias, offset=offset)


def _norm_gradients(total: Any, mean: Any, rstd: Any, **given: Any) -> norm.Gradients:
    return norm.norm_backward(normed=norm.Normed(None, total, mean, rstd), **given)


def _differentiate_norm(eps: float, offset: float, center: bool, kept: Any, gradients: Any) -> tuple[Any, ...]:
    total, weight, mean, rstd, kind, residual = kept
    add = None if residual is None else gradients[1]
    dx, dw, db = norm_backward(gradients[0], total, weight, mean, rstd, add, kind is not None, offset, kind)
    return dx, dw, None if kind is None else db.astype(kind.dtype), None if residual is None else dx


norm_forward.derive(_differentiate_norm)


# Cross entropy.


@derived(2, 3, 4, keep=lambda made, x, target, *_: (x, target, made[1]))
def cross_entropy(x: Any, target: Any, smoothing: float, z: float, ignore: int) -> Any:
    """Return each row's loss and log of the sum of exponentials, of which only the loss has a derivative."""

    def results() -> list[Any]:
        return [shaped(x.shape[:-1])] * 2

    arrays, how = {"x": x, "target": target}, {"smoothing": smoothing, "z": z, "ignore": ignore}
    return computed(entropy.cross_entropy, results, arrays, method=BROADCAST, whole="target", **how)  # type: ignore[arg-type]


def cross_entropy_backward(
    gradient: Any, x: Any, target: Any, lse: Any, smoothing: float, z: float, ignore: int, part: bool = False
) -> Any:
    arrays = {"gradient": gradient, "x": x, "target": target, "lse": lse}
    how: dict[str, Any] = {"smoothing": smoothing, "z": z, "ignore": ignore, "part": part}
    return computed(entropy.cross_entropy_backward, like(x), arrays, method=BROADCAST, whole="target", **how)


def _differentiate_entropy(smoothing: float, z: float, ignore: int, kept: Any, gradients: Any) -> tuple[Any, Any]:
    x, target, lse = kept
    return cross_entropy_backward(gradients[0], x, target, lse, smoothing, z, ignore), no_gradient(target)


cross_entropy.derive(_differentiate_entropy)


# Activations and gates.


@derived(1, keep=lambda made, x, _: x)
def activated(x: Any, activation: str) -> Any:
    return computed(gates.activated, like(x), {"x": x}, method=BROADCAST, activation=activation)


def activated_backward(dy: Any, x: Any, activation: str) -> Any:
    return computed(gates.activated_backward, like(x), {"dy": dy, "x": x}, method=BROADCAST, activation=activation)


activated.derive(lambda activation, x, dy: (activated_backward(dy, x, activation),))


@derived(2, keep=lambda made, gate, up, _: (gate, up))
def gated(gate: Any, up: Any, activation: str) -> Any:
    return computed(gates.gated, like(gate), {"gate": gate, "up": up}, method=BROADCAST, activation=activation)


def gated_backward(dy: Any, gate: Any, up: Any, activation: str) -> Any:
    arrays = {"dy": dy, "gate": gate, "up": up}
    results = [like(gate), like(up)]
    return computed(gates.gated_backward, results, arrays, method=BROADCAST, activation=activation)


gated.derive(lambda activation, kept, dy: gated_backward(dy, kept[0], kept[1], activation))


# Rotary embedding.


@derived(5, 6, keep=lambda made, q, k, *angles: angles[:3])
def rope(q: Any, k: Any, cosines: Any, sines: Any, positions: Any, interleaved: bool, inverse: bool) -> Any:
    """Angles get no gradient."""
    arrays = {"q": q, "k": k, "cosines": cosines, "sines": sines, "positions": positions}
    return computed(rotary.rope, [like(q), like(k)], arrays, interleaved=interleaved, inverse=inverse)


def _differentiate_rope(interleaved: bool, inverse: bool, angles: tuple[Any, ...], gradients: Any) -> tuple[Any, ...]:
    cosines, sines, positions = angles
    none = jnp.zeros_like(cosines), jnp.zeros_like(sines), no_gradient(positions)
    return *rope(*gradients, *angles, interleaved, not inverse), *none


rope.derive(_differentiate_rope)
