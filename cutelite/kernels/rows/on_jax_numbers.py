"""Embeddings, choices and 8 bits within `jax.jit`, `jax.grad` and `jax.vmap`.

In    arrays of JAX, traced or not. Out: such arrays. Columns are int32: JAX has 64 bits only where it is told so
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from cutelite.interop.jax import copied, derived, host_call, into
from cutelite.kernels.arguments import as_number
from cutelite.kernels.lent import check_call
from cutelite.kernels.rows import embedding as tables
from cutelite.kernels.rows import quantise as by_8_bits
from cutelite.kernels.rows import select
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.on_jax import BROADCAST, no_gradient, whole


def embedding(table: Any, places: Any, *, padding: int = -1) -> Any:
    """`embedding` of this room; `padding`: the number of a row that gets no gradient, or -1."""
    check_call(_checked_embedding, {"padding": padding}, table=table, places=places)
    narrow = places.dtype not in (jnp.int32, jnp.int64)
    return _embedding(table, places.astype(jnp.int32) if narrow else places, padding)


def _checked_embedding(places: Any, **given: Any) -> None:
    tables.embedding(places=whole("places", places), **given)


@derived(2)
def _embedding(table: Any, places: Any, padding: int) -> Any:
    out = jax.ShapeDtypeStruct((*places.shape, table.shape[1]), table.dtype)
    return host_call(into(tables.embedding), out, vmap_method="sequential")(table, places)


def _keep_embedding(table: Any, places: Any, padding: int) -> tuple[Any, Any]:
    return _embedding(table, places, padding), (jnp.zeros((len(table), 0), table.dtype), places)


def _differentiate_embedding(padding: int, kept: Any, dy: Any) -> tuple[Any, Any]:
    none, places = kept
    out = jax.ShapeDtypeStruct((len(none), dy.shape[-1]), none.dtype)
    options = {"words": len(none), "padding": padding}
    run = host_call(copied(tables.embedding_backward), out, vmap_method="sequential", **options)
    return run(dy, places), no_gradient(places)


_embedding.defvjp(_keep_embedding, _differentiate_embedding)


def top_k(x: Any, k: int) -> tuple[Any, Any]:
    """`top_k` of this room: values, and columns as int32."""
    check_call(select.top_k, {"k": k}, x=x)
    return _top_k(x, k)  # type: ignore[no-any-return]


@derived(1)
def _top_k(x: Any, k: int) -> tuple[Any, Any]:
    shape = *x.shape[:-1], k
    results = [jax.ShapeDtypeStruct(shape, x.dtype), jax.ShapeDtypeStruct(shape, jnp.int32)]
    return tuple(host_call(copied(select.top_k), results, vmap_method=BROADCAST, k=k)(x))


def _keep_top_k(x: Any, k: int) -> tuple[Any, Any]:
    values, columns = _top_k(x, k)
    return (values, columns), (columns, jnp.zeros((0, x.shape[-1]), x.dtype))


def _differentiate_top_k(k: int, kept: Any, gradients: Any) -> tuple[Any]:
    columns, none = kept
    zeros = jnp.zeros((*columns.shape[:-1], none.shape[1]), none.dtype)
    return (jnp.put_along_axis(zeros, columns, gradients[0], -1, inplace=False),)


_top_k.defvjp(_keep_top_k, _differentiate_top_k)


def quantise(x: Any, *, block: int = 1, up: Any = None, activation: str = "silu") -> tuple[Any, Any]:
    """`quantise` of this room, without a derivative: e4m3, and a scale for each row (`block` 1) or `block` elements."""
    how = {"narrow": Narrow(block=as_number("block", block, whole=True, least=1)), "activation": activation}
    check_call(by_8_bits.quantise, how, x=x, up=up)
    count = 1 if block == 1 else -(-x.shape[-1] // block)
    results = [
        jax.ShapeDtypeStruct(x.shape, jnp.float8_e4m3fn), jax.ShapeDtypeStruct((*x.shape[:-1], count), jnp.float32)
    ]  # fmt: skip
    run = host_call(_run_quantise, results, vmap_method="sequential", block=block, activation=activation)
    return tuple(run(x, up))


@into
def _run_quantise(x: Any, up: Any, block: int, **how: Any) -> None:
    by_8_bits.quantise(x, Narrow(block=block), up=up, **how)
