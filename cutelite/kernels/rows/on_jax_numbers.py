"""Embeddings, choices, sorts, sums, counts and 8 bits within `jax.jit`, `jax.grad` and `jax.vmap`.

In    arrays of JAX, traced or not, and constants, as torch's operators of these names take them
Out   such arrays. Columns are int32: JAX has 64 bits only where it is told so
"""

from __future__ import annotations

from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from cutelite.interop.jax import derived
from cutelite.kernels.jax_calls import BROADCAST, IN_ORDER, computed, like, no_gradient, shaped
from cutelite.kernels.lent import check_call
from cutelite.kernels.rows import embedding as tables
from cutelite.kernels.rows import histogram as counts
from cutelite.kernels.rows import quantise as by_8_bits
from cutelite.kernels.rows import reduce as reductions
from cutelite.kernels.rows import sample as sampling
from cutelite.kernels.rows import scan, select
from cutelite.kernels.rows import sort as sorting
from cutelite.kernels.rows.arrays import RESULTS
from cutelite.kernels.rows.narrow import Narrow


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


def quantised(x: Any, narrow: Narrow) -> list[Any]:
    """Describe the codes and scales of quantised rows."""
    return [shaped(x.shape, narrow.dtype.name), shaped((*x.shape[:-1], narrow.count(x.shape[-1])))]
