"""Embeddings, choices, sorts, sums, counts and 8 bits within `jax.jit`, `jax.grad` and `jax.vmap`.

In    arrays of JAX, traced or not, and constants, as torch's operators of these names take them
Out   such arrays. Columns are int32: JAX has 64 bits only where it is told so
"""

from __future__ import annotations

from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from cutelite.interop.jax import copied, derived, host_call, into
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
from cutelite.kernels.rows.on_jax import BROADCAST, IN_ORDER, check_whole, like, named, no_gradient


def embedding(table: Any, places: Any, *, padding: int) -> Any:
    check_whole("places", tables.embedding, {"padding": padding}, table=table, places=places)
    return _embedding(table, of_32_bits(places), padding)


def of_32_bits(places: Any) -> Any:
    """Return places, those of widths that kernels do not take as int32."""
    return places if places.dtype in (jnp.int32, jnp.int64) else places.astype(jnp.int32)


@derived(2, keep=lambda made, table, places, _: (jnp.zeros((len(table), 0), table.dtype), places))
def _embedding(table: Any, places: Any, padding: int) -> Any:
    out = jax.ShapeDtypeStruct((*places.shape, table.shape[1]), table.dtype)
    return host_call(into(tables.embedding), out, vmap_method=IN_ORDER)(table, places)


def _differentiate_embedding(padding: int, kept: Any, dy: Any) -> tuple[Any, Any]:
    none, places = kept
    return _table_gradient(dy, places, len(none), padding).astype(none.dtype), no_gradient(places)


def embedding_backward(dy: Any, places: Any, words: int, padding: int) -> Any:
    check_whole("places", tables.embedding_backward, {"words": words, "padding": padding}, places=places, dy=dy)
    return _table_gradient(dy, places, words, padding)


def _table_gradient(dy: Any, places: Any, words: int, padding: int) -> Any:
    out = jax.ShapeDtypeStruct((words, dy.shape[-1]), dy.dtype)
    options = {"words": words, "padding": padding}
    run = host_call(copied(tables.embedding_backward), out, vmap_method=IN_ORDER, **options)
    return run(dy, of_32_bits(places))


_embedding.derive(_differentiate_embedding)


def top_k(x: Any, k: int) -> tuple[Any, Any]:
    """Values, and columns as int32."""
    check_call(select.top_k, {"k": k}, x=x)
    return _picked(x, select.top_k, (*x.shape[:-1], k), BROADCAST, (("k", k),))  # type: ignore[no-any-return]


def argmax(x: Any) -> tuple[Any, Any]:
    """Values, and columns as int32."""
    check_call(select.argmax, {}, x=x)
    return _picked(x, select.argmax, x.shape[:-1], BROADCAST, ())  # type: ignore[no-any-return]


def sort_with(x: Any, values: Any, *, descending: bool) -> tuple[Any, Any]:
    """Keys, and the `values` in their order, or the places where keys were as int32."""
    check_call(sorting.sort, {"descending": descending}, x=x, values=values)
    keys, places = _picked(x, sorting.sort, x.shape, IN_ORDER, (("descending", descending),))
    return keys, places if values is None else jnp.asarray(values)[places]


@derived(1, 2, 3, 4, keep=lambda made, x, *_: (made[1], jnp.zeros((0, *x.shape), x.dtype)))
def _picked(x: Any, function: Any, shape: tuple[int, ...], method: str, constants: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return what `function` gives, of a shape each: elements of x, and their places along the last mode as int32."""
    results = [jax.ShapeDtypeStruct(shape, x.dtype), jax.ShapeDtypeStruct(shape, jnp.int32)]
    return tuple(host_call(copied(function), results, vmap_method=method, **dict(constants))(x))


def _differentiate_picked(*given: Any) -> tuple[Any]:
    (places, none), (dy, _) = given[-2:]
    zeros = jnp.zeros(none.shape[1:], none.dtype)
    if not jnp.issubdtype(zeros.dtype, jnp.floating):
        return (no_gradient(zeros),)
    if places.ndim < zeros.ndim:
        places, dy = places[..., None], dy[..., None]
    return (jnp.put_along_axis(zeros, places, dy, -1, inplace=False),)


_picked.derive(_differentiate_picked)


def sample(x: Any, chances: Any, *, temperature: float, top_k: int, top_p: float) -> Any:
    """Columns as int32, which have no derivative."""
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    check_call(sampling.sample, options, x=x, chances=chances)
    columns = jax.ShapeDtypeStruct(x.shape[:-1], jnp.int32)
    run = host_call(copied(sampling.sample), columns, vmap_method=BROADCAST, **options)
    return run(*map(jax.lax.stop_gradient, (x, chances)))


def histogram(x: Any, bins: int, low: float, high: float) -> Any:
    """Counts, which have no derivative."""
    options = {"bins": bins, "low": low, "high": high}
    check_call(counts.histogram, options, x=x)
    out = jax.ShapeDtypeStruct((bins,), jnp.int32)
    run = host_call(into(counts.histogram), out, vmap_method=IN_ORDER, **options)
    return run(jax.lax.stop_gradient(x))


def cumsum(x: Any) -> Any:
    check_call(scan.cumsum, {}, x=x)
    return _cumsum(x)


@derived(keep=lambda *_: None)
def _cumsum(x: Any) -> Any:
    return host_call(into(scan.cumsum), like(x), vmap_method=BROADCAST)(x)


def _differentiate_cumsum(_: None, dy: Any) -> tuple[Any]:
    return (no_gradient(dy) if dy.dtype == jax.dtypes.float0 else jnp.flip(_cumsum(jnp.flip(dy, -1)), -1),)


_cumsum.derive(_differentiate_cumsum)


def reduced(x: Any, operation: str, mode: int | None) -> Any:
    """Equal extremes share the gradient equally."""
    check_call(reductions.reduced, {"operation": operation, "mode": mode}, x=x)
    return _reduced(x, operation, mode)


def _of_reduced(y: Any, x: Any, operation: str, _: Any) -> tuple[Any, Any]:
    """Return what the derivative of `_reduced` needs."""
    return (x, y) if operation in ("max", "min") else (jnp.zeros((0, *x.shape), x.dtype), None)


@derived(1, 2, keep=_of_reduced)
def _reduced(x: Any, operation: str, mode: int | None) -> Any:
    out = jax.ShapeDtypeStruct(() if mode is None else (x.shape[1 - mode % 2],), x.dtype)
    return host_call(into(reductions.reduced), out, vmap_method=IN_ORDER, operation=operation, mode=mode)(x)


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


_reduced.derive(_differentiate_reduced)


def quantise(x: Any, *, block: int, up: Any, activation: str, dtype: str) -> tuple[Any, Any]:
    """8 bits, which have no derivative, and a scale for each row (`block` 1) or `block` elements."""
    narrow = Narrow(RESULTS[dtype], block)
    check_call(by_8_bits.quantise, {"narrow": narrow, "activation": activation}, x=x, up=up)
    scales = jax.ShapeDtypeStruct((*x.shape[:-1], narrow.count(x.shape[-1])), jnp.float32)
    results = [jax.ShapeDtypeStruct(x.shape, named(dtype)), scales]
    run = host_call(_run_quantise, results, vmap_method=IN_ORDER, narrow=narrow, activation=activation)
    return tuple(run(x, up))


@into
def _run_quantise(x: Any, up: Any, **how: Any) -> None:
    by_8_bits.quantise(x, up=up, **how)
