"""Functions that calls of rows with arrays of JAX go to, under the names of the operators that torch has for them.

In    arrays of JAX, traced or not, and the constants of torch's operators. Out: such arrays, with derivatives where
      `on_jax` and its like have them. Other results, as means and sums of exponentials, add nothing to gradients
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from cutelite.interop.jax import copied, host_call
from cutelite.kernels.arguments import Misfit
from cutelite.kernels.lent import check_call
from cutelite.kernels.rows import cross_entropy as entropy
from cutelite.kernels.rows import embedding as tables
from cutelite.kernels.rows import gates, norm, on_jax, on_jax_numbers
from cutelite.kernels.rows import softmax as soft
from cutelite.kernels.rows.arrays import RESULTS
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.on_jax import IN_ORDER, activated, gated, rope, softmax
from cutelite.kernels.rows.on_jax_elements import elementwise, made_with_gradients, rope_tables, transposed
from cutelite.kernels.rows.on_jax_numbers import (
    argmax,
    cumsum,
    embedding,
    histogram,
    quantise,
    reduced,
    sample,
    top_k,
)
from cutelite.kernels.rows.on_jax_numbers import sort as sort_with

__all__ = (
    "activated", "argmax", "cumsum", "elementwise", "embedding", "gated", "histogram", "made_with_gradients",
    "quantise", "reduced", "rope", "rope_tables", "sample", "softmax", "sort_with", "top_k", "transposed",
)  # fmt: skip
fixed = jax.lax.stop_gradient


def softmax_backward(dy: Any, y: Any, log: bool) -> Any:
    check_call(soft.softmax_backward, {"log": log}, dy=dy, y=y)
    return on_jax.softmax_gradient(dy, y, log)


def norm_forward(
    x: Any, weight: Any, bias: Any, residual: Any, eps: float, offset: float, center: bool
) -> tuple[Any, ...]:
    function, how = norm.layer_norm if center else norm.rms_norm, {"eps": eps, "offset": offset}
    check_call(function, how, x=x, weight=weight, bias=bias, residual=residual)
    y, total, mean, rstd = on_jax.normed(x, weight, bias, residual, eps, offset, center)
    return y, total, fixed(mean), fixed(rstd)


def norm_narrow(
    x: Any, weight: Any, bias: Any, residual: Any, eps: float, offset: float, center: bool, narrow: Narrow
) -> norm.Normed:
    """A norm that is quantised, which torch has no operator for."""
    function, how = norm.layer_norm if center else norm.rms_norm, {"eps": eps, "offset": offset, "narrow": narrow}
    check_call(function, how, x=x, weight=weight, bias=bias, residual=residual)
    rows = jax.ShapeDtypeStruct(x.shape[:-1], jnp.float32)
    scales = jax.ShapeDtypeStruct((*x.shape[:-1], narrow.count(x.shape[-1])), "f4")
    codes = jax.ShapeDtypeStruct(x.shape, on_jax.named(narrow.dtype.name))
    results = codes, None if residual is None else on_jax.like(x), rows if center else None, rows, scales
    run = host_call(_run_narrow, results, vmap_method=IN_ORDER, center=center, **how)
    y, total, mean, rstd, scale = run(x, weight, bias, residual)
    return norm.Normed(y, x if total is None else total, mean, rstd, scale)


@copied
def _run_narrow(x: Any, weight: Any, bias: Any, residual: Any, **how: Any) -> Any:
    return norm.apply(x, weight, residual, bias, **how)


def norm_backward(
    dy: Any, total: Any, weight: Any, mean: Any, rstd: Any, add: Any, bias: bool, offset: float
) -> tuple[Any, Any, Any]:
    how: dict[str, Any] = {"bias": bias, "offset": offset}
    check_call(_checked_norm, how, dy=dy, total=total, weight=weight, mean=mean, rstd=rstd, add=add)
    return tuple(on_jax.norm_gradients(dy, total, weight, mean, rstd, add, **how))


def _checked_norm(total: Any, mean: Any, rstd: Any, **given: Any) -> None:
    norm.norm_backward(normed=norm.Normed(None, total, mean, rstd), **given)


def cross_entropy(x: Any, target: Any, smoothing: float, z: float, ignore: int) -> tuple[Any, Any]:
    on_jax.check_entropy(x, target, smoothing, z, ignore)
    loss, lse = on_jax.losses(x, target, smoothing, z, ignore)
    return loss, fixed(lse)


def cross_entropy_backward(
    gradient: Any, x: Any, target: Any, lse: Any, smoothing: float, z: float, ignore: int, part: bool
) -> Any:
    how: dict[str, Any] = {"smoothing": smoothing, "z": z, "ignore": ignore, "part": part}
    arrays = {"gradient": gradient, "x": x, "target": target, "lse": lse}
    on_jax.check_whole("target", entropy.cross_entropy_backward, how, **arrays)
    return on_jax.loss_gradient(gradient, x, target, lse, **how)


def activated_backward(dy: Any, x: Any, activation: str) -> Any:
    check_call(gates.activated_backward, {"activation": activation}, dy=dy, x=x)
    return on_jax.gate_gradients(activation, (x,), dy)[0][0]


def gated_backward(dy: Any, gate: Any, up: Any, activation: str) -> Any:
    check_call(gates.gated_backward, {"activation": activation}, dy=dy, gate=gate, up=up)
    return on_jax.gate_gradients(activation, (gate, up), dy)[0]


def rope_append(*given: Any) -> Any:
    raise Misfit(
        "keys, values and length are changed, and JAX's arrays are never written: call rope_append of "
        "cutelite.kernels.rows.on_jax_elements, which gives them anew"
    )


def embedding_backward(dy: Any, places: Any, words: int, padding: int) -> Any:
    how = {"words": words, "padding": padding}
    on_jax.check_whole("places", tables.embedding_backward, how, places=places, dy=dy)
    return on_jax_numbers.table_gradient(dy, places, words, padding)


def transposed_blocks(x: Any, dtype: str) -> tuple[Any, Any]:
    return transposed(x, Narrow(RESULTS[dtype], 128))  # type: ignore[no-any-return]
