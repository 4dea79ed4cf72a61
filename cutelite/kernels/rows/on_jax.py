"""Kernels of rows within `jax.jit`, `jax.grad` and `jax.vmap`: softmax, norms, cross entropy, gates, rotary embedding.

In    arrays of JAX, traced or not, and constants, as torch's operators of these names take them
Out   such arrays; derivatives come from the kernels for them. Means, deviations and sums of exponentials have none, and
      add nothing to gradients
      On a GPU torch must be installed (`cutelite.interop.jax.host_call`); on the CPU kernels are simulated
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from cutelite.interop.jax import copied, derived, host_call, into
from cutelite.kernels.arguments import Misfit, is_array
from cutelite.kernels.lent import check_call, widened
from cutelite.kernels.rows import cross_entropy as entropy
from cutelite.kernels.rows import gates, norm
from cutelite.kernels.rows import rope as rotary
from cutelite.kernels.rows import softmax as soft
from cutelite.kernels.rows.narrow import Narrow
from cutelite_rt.dtype import DTYPES

BROADCAST, IN_ORDER = "broadcast_all", "sequential"
"""How `jax.vmap` calls a function: once for all of a batch, or for one after the other."""
fixed = jax.lax.stop_gradient


def like(x: Any) -> Any:
    """Describe a result of the shape and dtype of an array."""
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def named(code: str) -> Any:
    """Return JAX's dtype of a code such as 'e4m3'."""
    return jnp.dtype(DTYPES[code].numpy)


# Softmax.


def softmax(x: Any, log: bool) -> Any:
    check_call(soft.log_softmax if log else soft.softmax, {}, x=x)
    return _softmax(x, log)


@derived(1, keep=lambda y, *_: y)
def _softmax(x: Any, log: bool) -> Any:
    return host_call(into(soft.apply), like(x), vmap_method=BROADCAST, log=log, how=None)(x)


def softmax_backward(dy: Any, y: Any, log: bool) -> Any:
    check_call(soft.softmax_backward, {"log": log}, dy=dy, y=y)
    return _softmax_gradient(dy, y, log)


def _softmax_gradient(dy: Any, y: Any, log: bool) -> Any:
    return host_call(into(soft.softmax_backward), like(y), vmap_method=BROADCAST, log=log)(dy, y)


_softmax.derive(lambda log, y, dy: (_softmax_gradient(dy, y, log),))


# Norms.


def norm_forward(
    x: Any, weight: Any, bias: Any, residual: Any, eps: float, offset: float, center: bool
) -> tuple[Any, ...]:
    function, how = norm.layer_norm if center else norm.rms_norm, {"eps": eps, "offset": offset}
    check_call(function, how, x=x, weight=weight, bias=bias, residual=residual)
    y, total, mean, rstd = _normed(x, weight, bias, residual, eps, offset, center)
    return y, total, fixed(mean), fixed(rstd)


def _of_norm(made: Any, x: Any, weight: Any, bias: Any, residual: Any, *_: Any) -> tuple[Any, ...]:
    """Return what the derivative of `_normed` needs."""
    return (
        made[1],
        weight,
        *made[2:],
        *(None if each is None else jnp.zeros(0, each.dtype) for each in (bias, residual)),
    )


@derived(4, 5, 6, keep=_of_norm)
def _normed(x: Any, weight: Any, bias: Any, residual: Any, eps: float, offset: float, center: bool) -> Any:
    """Return the result, x + residual or x, means (None without `center`), and the inverse deviations."""
    rows = jax.ShapeDtypeStruct(x.shape[:-1], jnp.float32)
    results = like(x), None if residual is None else like(x), rows if center else None, rows
    options = {"eps": eps, "offset": offset, "center": center}
    run = host_call(_run_norm, results, vmap_method=IN_ORDER, **options)
    y, total, mean, rstd = run(x, weight, bias, residual)
    return y, x if total is None else total, mean, rstd


@copied
def _run_norm(x: Any, weight: Any, bias: Any, residual: Any, **how: Any) -> Any:
    return norm.apply(x, weight, residual, bias, **how)[:4]


def _differentiate_norm(eps: float, offset: float, center: bool, kept: Any, gradients: Any) -> tuple[Any, ...]:
    total, weight, mean, rstd, kind, residual = kept
    dy, dtotal = gradients[:2]
    of_bias = kind is not None
    dx, dw, db = _norm_gradients(
        dy, total, weight, mean, rstd, None if residual is None else dtotal, of_bias, offset, kind
    )
    return dx, dw, None if kind is None else db.astype(kind.dtype), None if residual is None else dx


def norm_backward(
    dy: Any, total: Any, weight: Any, mean: Any, rstd: Any, add: Any, bias: bool, offset: float
) -> tuple[Any, Any, Any]:
    how: dict[str, Any] = {"bias": bias, "offset": offset}
    check_call(_checked_gradients, how, dy=dy, total=total, weight=weight, mean=mean, rstd=rstd, add=add)
    return tuple(_norm_gradients(dy, total, weight, mean, rstd, add, **how))


def _checked_gradients(total: Any, mean: Any, rstd: Any, **given: Any) -> None:
    norm.norm_backward(normed=norm.Normed(None, total, mean, rstd), **given)


def _norm_gradients(
    dy: Any, total: Any, weight: Any, mean: Any, rstd: Any, add: Any, bias: bool, offset: float, kind: Any = None
) -> Any:
    """Return the gradients of x, weight and bias; `kind`: an array of the bias's dtype."""
    of_bias = None
    if bias:
        like_bias = weight if weight is not None else total if kind is None else kind
        of_bias = jax.ShapeDtypeStruct(total.shape[-1:], like_bias.dtype)
    results = like(total), None if weight is None else like(weight), of_bias
    run = host_call(_run_norm_backward, results, vmap_method=IN_ORDER, offset=offset, bias=bias)
    return run(dy, total, weight, mean, rstd, add)


@copied
def _run_norm_backward(dy: Any, total: Any, weight: Any, mean: Any, rstd: Any, add: Any, **how: Any) -> Any:
    return norm.norm_backward(dy, norm.Normed(None, total, mean, rstd), weight, add=add, **how)


_normed.derive(_differentiate_norm)


def norm_narrow(
    x: Any, weight: Any, bias: Any, residual: Any, eps: float, offset: float, center: bool, narrow: Narrow
) -> norm.Normed:
    """A norm that is quantised, which torch has no operator for."""
    function, how = norm.layer_norm if center else norm.rms_norm, {"eps": eps, "offset": offset, "narrow": narrow}
    check_call(function, how, x=x, weight=weight, bias=bias, residual=residual)
    rows = jax.ShapeDtypeStruct(x.shape[:-1], jnp.float32)
    scales = jax.ShapeDtypeStruct((*x.shape[:-1], narrow.count(x.shape[-1])), "f4")
    codes = jax.ShapeDtypeStruct(x.shape, named(narrow.dtype.name))
    results = codes, None if residual is None else like(x), rows if center else None, rows, scales
    run = host_call(_run_narrow, results, vmap_method=IN_ORDER, center=center, **how)
    y, total, mean, rstd, scale = run(x, weight, bias, residual)
    return norm.Normed(y, x if total is None else total, mean, rstd, scale)


@copied
def _run_narrow(x: Any, weight: Any, bias: Any, residual: Any, **how: Any) -> Any:
    return norm.apply(x, weight, residual, bias, **how)


# Cross entropy.


def cross_entropy(x: Any, target: Any, smoothing: float, z: float, ignore: int) -> tuple[Any, Any]:
    """Targets are whole numbers of any width."""
    how = {"smoothing": smoothing, "z": z, "ignore": ignore}
    check_whole("target", entropy.cross_entropy, how, x=x, target=target)
    loss, lse = _losses(x, target, smoothing, z, ignore)
    return loss, fixed(lse)


def cross_entropy_backward(
    gradient: Any, x: Any, target: Any, lse: Any, smoothing: float, z: float, ignore: int, part: bool
) -> Any:
    how: dict[str, Any] = {"smoothing": smoothing, "z": z, "ignore": ignore, "part": part}
    check_whole("target", entropy.cross_entropy_backward, how, gradient=gradient, x=x, target=target, lse=lse)
    return _loss_gradient(gradient, x, target, lse, **how)


@derived(2, 3, 4, keep=lambda made, x, target, *_: (x, target, made[1]))
def _losses(x: Any, target: Any, smoothing: float, z: float, ignore: int) -> Any:
    """Return each row's loss and log of the sum of exponentials, of which only the loss has a derivative."""
    rows = jax.ShapeDtypeStruct(x.shape[:-1], jnp.float32)
    options = {"smoothing": smoothing, "z": z, "ignore": ignore}
    return tuple(host_call(_run_entropy, [rows, rows], vmap_method=BROADCAST, **options)(x, target))


@into
def _run_entropy(x: Any, target: Any, **how: Any) -> None:
    entropy.cross_entropy(x, widened(target), **how)


@into
def _run_entropy_backward(gradient: Any, x: Any, target: Any, lse: Any, **how: Any) -> None:
    entropy.cross_entropy_backward(gradient, x, widened(target), lse, **how)


def _differentiate_entropy(smoothing: float, z: float, ignore: int, kept: Any, gradients: Any) -> tuple[Any, Any]:
    x, target, lse = kept
    return _loss_gradient(gradients[0], x, target, lse, smoothing, z, ignore), no_gradient(target)


def _loss_gradient(
    gradient: Any, x: Any, target: Any, lse: Any, smoothing: float, z: float, ignore: int, part: bool = False
) -> Any:
    options = {"smoothing": smoothing, "z": z, "ignore": ignore, "part": part}
    return host_call(_run_entropy_backward, like(x), vmap_method=BROADCAST, **options)(gradient, x, target, lse)


_losses.derive(_differentiate_entropy)


def check_whole(name: str, function: Callable[..., Any], constants: dict[str, Any], **arrays: Any) -> None:
    """Refuse what a function refuses, and for its argument `name` what holds no whole numbers, of any width."""
    check_call(of_whole(name, function), constants, **arrays)


@functools.cache  # one for each: calls that are checked are remembered by their functions
def of_whole(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def checked(**given: Any) -> None:
        x = given[name]
        is_array(name, x)
        if x.dtype.kind not in "iu":
            raise Misfit(f"{name} has dtype {x.dtype}, but must be of whole numbers")
        function(**given | {name: widened(x)})

    return checked


# Activations and gates.


def activated(x: Any, activation: str) -> Any:
    check_call(gates.activated, {"activation": activation}, x=x)
    return _elements((x,), activation)


def activated_backward(dy: Any, x: Any, activation: str) -> Any:
    check_call(gates.activated_backward, {"activation": activation}, dy=dy, x=x)
    return _gate_gradients(activation, (x,), dy)[0][0]


def gated(gate: Any, up: Any, activation: str) -> Any:
    check_call(gates.gated, {"activation": activation}, gate=gate, up=up)
    return _elements((gate, up), activation)


def gated_backward(dy: Any, gate: Any, up: Any, activation: str) -> Any:
    check_call(gates.gated_backward, {"activation": activation}, dy=dy, gate=gate, up=up)
    return _gate_gradients(activation, (gate, up), dy)[0]


@derived(1, keep=lambda made, arrays, _: arrays)
def _elements(arrays: tuple[Any, ...], activation: str) -> Any:
    run = into(gates.activated if len(arrays) == 1 else gates.gated)
    return host_call(run, like(arrays[0]), vmap_method=BROADCAST, activation=activation)(*arrays)


def _gate_gradients(activation: str, arrays: tuple[Any, ...], dy: Any) -> tuple[Any]:
    run, results = into(gates.activated_backward if len(arrays) == 1 else gates.gated_backward), map(like, arrays)
    return (tuple(host_call(run, [*results], vmap_method=BROADCAST, activation=activation)(dy, *arrays)),)


_elements.derive(_gate_gradients)


# Rotary embedding.


def rope(
    q: Any, k: Any, cosines: Any, sines: Any, positions: Any, *, interleaved: bool, inverse: bool
) -> tuple[Any, Any]:
    """Angles get no gradient."""
    options = {"interleaved": interleaved, "inverse": inverse}
    check_call(rotary.rope, options, q=q, k=k, cosines=cosines, sines=sines, positions=positions)
    return _rope((q, k), (cosines, sines, positions), interleaved, inverse)  # type: ignore[no-any-return]


@derived(2, 3, keep=lambda made, turned, angles, *_: angles)
def _rope(turned: tuple[Any, Any], angles: tuple[Any, ...], interleaved: bool, inverse: bool) -> Any:
    options = {"interleaved": interleaved, "inverse": inverse}
    results = [None if x is None else like(x) for x in turned]
    run = host_call(into(rotary.rope), results, vmap_method=IN_ORDER, **options)
    return tuple(run(*turned, *angles))


def _differentiate_rope(interleaved: bool, inverse: bool, angles: tuple[Any, ...], gradients: Any) -> tuple[Any, Any]:
    cosines, sines, positions = angles
    none = jnp.zeros_like(cosines), jnp.zeros_like(sines), None if positions is None else no_gradient(positions)
    return _rope(tuple(gradients), angles, interleaved, not inverse), none


_rope.derive(_differentiate_rope)


def no_gradient(x: Any) -> Any:
    """Return the gradient of whole numbers."""
    return np.zeros(x.shape, jax.dtypes.float0)
