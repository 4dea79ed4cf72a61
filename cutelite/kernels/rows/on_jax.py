"""Kernels of rows within `jax.jit`, `jax.grad` and `jax.vmap`, under the names of torch's operators.

In    arrays of JAX, traced or not, and constants, as torch's operators of these names take them
Out   such arrays; derivatives come from the kernels for them. Means, deviations and sums of exponentials have none, and
      add nothing to gradients. Columns are int32: JAX has 64 bits only where it is told so
"""

from __future__ import annotations

from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from cutelite.interop.jax import derived
from cutelite.kernels.arguments import Misfit
from cutelite.kernels.jax_calls import BROADCAST, IN_ORDER, computed, like, no_gradient, shaped
from cutelite.kernels.lent import check_call
from cutelite.kernels.rows import cross_entropy as entropy
from cutelite.kernels.rows import embedding as tables
from cutelite.kernels.rows import gates, norm, scan, select
from cutelite.kernels.rows import histogram as counts
from cutelite.kernels.rows import quantise as by_8_bits
from cutelite.kernels.rows import reduce as reductions
from cutelite.kernels.rows import rope as rotary
from cutelite.kernels.rows import sample as sampling
from cutelite.kernels.rows import softmax as soft
from cutelite.kernels.rows import sort as sorting
from cutelite.kernels.rows.arrays import RESULTS
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.on_jax_elements import elementwise as elementwise
from cutelite.kernels.rows.on_jax_elements import made_with_gradients as made_with_gradients
from cutelite.kernels.rows.on_jax_elements import quantised, transposed
from cutelite.kernels.rows.on_jax_elements import rope_tables as rope_tables

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


# Embeddings.


@derived(2, keep=lambda made, table, places, _: (jnp.zeros((len(table), 0), table.dtype), places))
def embedding(table: Any, places: Any, padding: int) -> Any:
    def rows() -> Any:
        return shaped((*places.shape, table.shape[1]), table.dtype)

    return computed(tables.embedding, rows, {"table": table, "places": of_32_bits(places)}, padding=padding)


def of_32_bits(places: Any) -> Any:
    """Return places, whole numbers of widths that kernels do not take as int32."""
    kind = getattr(places, "dtype", jnp.int32)
    taken = kind in (jnp.int32, jnp.int64) or not jnp.issubdtype(kind, jnp.integer)
    return places if taken else places.astype(jnp.int32)


def _differentiate_embedding(padding: int, kept: Any, dy: Any) -> tuple[Any, Any]:
    none, places = kept
    return embedding_backward(dy, places, len(none), padding).astype(none.dtype), no_gradient(places)


def embedding_backward(dy: Any, places: Any, words: int, padding: int) -> Any:
    def gradient() -> Any:
        return shaped((words, dy.shape[-1]), dy.dtype)

    arrays = {"dy": dy, "places": of_32_bits(places)}
    return computed(tables.embedding_backward, gradient, arrays, copies=True, words=words, padding=padding)


embedding.derive(_differentiate_embedding)


# Elements of x, and their places along the last mode as int32.


def _of_places(made: Any, x: Any, *_: Any) -> tuple[Any, Any]:
    return made[1], jnp.zeros((0, *x.shape), x.dtype)


@derived(1, keep=_of_places)
def top_k(x: Any, k: int) -> Any:
    return _picked(select.top_k, x, (*x.shape[:-1], k), BROADCAST, k=k)


@derived(keep=_of_places)
def argmax(x: Any) -> Any:
    return _picked(select.argmax, x, x.shape[:-1], BROADCAST)


@derived(1, keep=_of_places)
def _sort(x: Any, descending: bool) -> Any:
    return _picked(sorting.sort, x, x.shape, IN_ORDER, descending=descending)


def sort_with(x: Any, values: Any, descending: bool) -> tuple[Any, Any]:
    """Keys, and the `values` in their order, or the places where keys were as int32."""
    check_call(sorting.sort, {"descending": descending}, x=x, values=values)
    keys, places = _sort(x, descending)
    return keys, places if values is None else jnp.asarray(values)[places]


def _picked(function: Any, x: Any, shape: tuple[int, ...], method: str, **constants: Any) -> Any:
    def results() -> Any:
        return [shaped(shape, x.dtype), shaped(shape, "i32")]

    return computed(function, results, {"x": x}, method=method, copies=True, **constants)


def _differentiate_picked(*given: Any) -> tuple[Any]:
    (places, none), (dy, _) = given[-2:]
    zeros = jnp.zeros(none.shape[1:], none.dtype)
    if not jnp.issubdtype(zeros.dtype, jnp.floating):
        return (no_gradient(zeros),)
    if places.ndim < zeros.ndim:
        places, dy = places[..., None], dy[..., None]
    return (jnp.put_along_axis(zeros, places, dy, -1, inplace=False),)


for each in top_k, argmax, _sort:
    each.derive(_differentiate_picked)


def sample(x: Any, chances: Any, temperature: float, top_k: int, top_p: float) -> Any:
    """Columns as int32, which have no derivative."""
    arrays = {"x": jax.lax.stop_gradient(x), "chances": jax.lax.stop_gradient(chances)}
    how: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    return computed(sampling.sample, lambda: shaped(x.shape[:-1], "i32"), arrays, method=BROADCAST, copies=True, **how)


def histogram(x: Any, bins: int, low: float, high: float) -> Any:
    """Counts, which have no derivative."""
    x = jax.lax.stop_gradient(x)
    return computed(counts.histogram, lambda: shaped((bins,), "i32"), {"x": x}, bins=bins, low=low, high=high)


@derived(keep=lambda *_: None)
def cumsum(x: Any) -> Any:
    return computed(scan.cumsum, like(x), {"x": x}, method=BROADCAST)


def _differentiate_cumsum(_: None, dy: Any) -> tuple[Any]:
    return (no_gradient(dy) if dy.dtype == jax.dtypes.float0 else jnp.flip(cumsum(jnp.flip(dy, -1)), -1),)


cumsum.derive(_differentiate_cumsum)


def _of_reduced(y: Any, x: Any, operation: str, _: Any) -> tuple[Any, Any]:
    """Return what the derivative of `reduced` needs."""
    return (x, y) if operation in ("max", "min") else (jnp.zeros((0, *x.shape), x.dtype), None)


@derived(1, 2, keep=_of_reduced)
def reduced(x: Any, operation: str, mode: int | None) -> Any:
    """Equal extremes share the gradient equally."""
    out = shaped(() if mode is None else x.shape[1 - mode % 2 : 2 - mode % 2], x.dtype)
    return computed(reductions.reduced, out, {"x": x}, operation=operation, mode=mode)


def _differentiate_reduced(operation: str, mode: int | None, kept: Any, dy: Any) -> tuple[Any]:
    x, y = kept
    shape, mine, count = x.shape, True, 1
    if y is None:
        shape = x.shape[1:]
        if operation == "mean":
            count = prod(shape) if mode is None else shape[mode]
    else:
        mine = x == _spread(y, shape, mode)
        count = mine.sum(mode)
    return (mine * _spread((dy.astype(jnp.float32) / count).astype(x.dtype), shape, mode),)


def _spread(y: Any, shape: tuple[int, ...], mode: int | None) -> Any:
    """Return an array of a shape whose elements along a mode, or all of them, are those of y."""
    return jnp.broadcast_to(y if mode is None else jnp.expand_dims(y, mode), shape)


reduced.derive(_differentiate_reduced)


def quantise(x: Any, block: int, up: Any, activation: str, dtype: str) -> Any:
    """8 bits, which have no derivative, and a scale for each row (`block` 1) or `block` elements."""
    narrow, arrays = Narrow(RESULTS[dtype], block), {"x": x, "up": up}
    return computed(by_8_bits.quantise, lambda: quantised(x, narrow), arrays, narrow=narrow, activation=activation)


# What is called otherwise there.


def rope_append(*given: Any) -> Any:
    raise Misfit(
        "keys, values and length are changed, and JAX's arrays are never written: call rope_append of "
        "cutelite.kernels.rows.on_jax_elements, which gives them anew"
    )


def transposed_blocks(x: Any, dtype: str) -> Any:
    return transposed(x, Narrow(RESULTS[dtype], 128))
