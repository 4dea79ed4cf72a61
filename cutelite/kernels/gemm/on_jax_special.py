"""Special GEMMs within `jax.jit`, `jax.grad` and `jax.vmap`: groups, fp8 with block scales, weights of 4 and 8 bits.

The functions of `grouped`, `fp8_block` and `mixed` call these for traced arrays.

In    arrays of JAX, traced or not. Out: arrays of JAX; those of groups have derivatives
      On a GPU torch must be installed (`cutelite.interop.jax.host_call`); on the CPU kernels are simulated
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from cutelite.interop.jax import derived, host_call, into
from cutelite.kernels.arrays import code_of
from cutelite.kernels.gemm import fp8_block, mixed, on_jax
from cutelite.kernels.gemm import grouped as groups
from cutelite.kernels.gemm.arrays import DEFAULTS
from cutelite.kernels.lent import check_call
from cutelite.kernels.rows.on_jax import no_gradient


def grouped(a: Any, b: Any, ends: Any) -> Any:
    """Rows behind the last end may be any."""
    check_call(groups.rows_of_groups, {}, a=a, b=b, ends=ends)
    return _product(a, b, ends)


def padded(a: Any, b: Any, counts: Any) -> Any:
    """Rows behind those of a group may be any."""
    check_call(groups.padded_groups, {}, a=a, b=b, counts=counts)
    return _product(a, b, counts)


@derived(keep=lambda made, *given: given)
def _product(a: Any, b: Any, ends: Any) -> Any:
    return _rows(a, b, ends, False)


def _run_rows(inputs: list[Any], outputs: list[Any], turned: bool) -> None:
    a, b, ends = inputs
    function = groups.rows_of_groups if a.ndim == 2 else groups.padded_groups
    function(a, b.swapaxes(1, 2) if turned else b, ends, outputs[0])


def _rows(a: Any, b: Any, ends: Any, turned: bool) -> Any:
    """Multiply rows of groups, or padded groups; `turned`: by matrices whose modes are exchanged."""
    dtype = jnp.bfloat16 if DEFAULTS.get(code_of(a)) else a.dtype
    out = jax.ShapeDtypeStruct((*a.shape[:-1], b.shape[2 if turned else 1]), dtype)
    return host_call(_run_rows, out, vmap_method="sequential", turned=turned)(a, b, ends)


def _of_groups(x: Any, ends: Any) -> Any:
    """Return rows with zeros in those that belong to no group."""
    last = ends[-1] if x.ndim == 2 else ends[:, None]
    return jnp.where((jnp.arange(x.shape[-2]) < last)[..., None], x, 0)


def _by_8(x: Any) -> Any:
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % 8)])


def _differentiate(kept: Any, gradient: Any) -> tuple[Any, ...]:
    a, b, ends = kept
    of_a = _of_groups(_rows(gradient, _by_8(b), ends, True)[..., : a.shape[-1]], ends)
    if a.ndim == 2:
        of_b = _along_k(gradient, _by_8(a), ends)[..., : a.shape[-1]]
    else:
        of_b = on_jax.turned_product(_of_groups(gradient, ends), _of_groups(a, ends))
    return of_a, of_b.astype(b.dtype), no_gradient(ends)


_product.derive(_differentiate)


def along_k(a: Any, b: Any, ends: Any) -> Any:
    """The result is in f32."""
    check_call(groups.groups_along_k, {}, a=a, b=b, ends=ends)
    return _along_k(a, b, ends)


@derived(keep=lambda made, *given: given)
def _along_k(a: Any, b: Any, ends: Any) -> Any:
    out = jax.ShapeDtypeStruct((ends.shape[0], a.shape[1], b.shape[1]), jnp.float32)
    return host_call(into(groups.groups_along_k), out, vmap_method="sequential")(a, b, ends)


def _differentiate_along_k(kept: Any, gradient: Any) -> tuple[Any, ...]:
    a, b, ends = kept
    narrow = gradient.astype(a.dtype)
    of_a, of_b = _rows(b, narrow, ends, False), _rows(a, narrow, ends, True)
    return _of_groups(of_a, ends), _of_groups(of_b, ends), no_gradient(ends)


_along_k.derive(_differentiate_along_k)


def scaled_blocks(a: Any, b: Any, scale_a: Any, scale_b: Any) -> Any:
    check_call(fp8_block.multiply, {}, a=a, b=b, scale_a=scale_a, scale_b=scale_b)
    out = jax.ShapeDtypeStruct((a.shape[0], b.shape[0]), jnp.bfloat16)
    return host_call(into(fp8_block.multiply), out, vmap_method="sequential")(a, b, scale_a, scale_b)


def narrow(x: Any, w: Any, kind: str, n: int | None = None) -> Any:
    check_call(mixed.multiply, {"kind": kind, "n": n}, x=x, w=w)
    out = jax.ShapeDtypeStruct((x.shape[0], w.shape[0] * mixed.ROWS if n is None else n), x.dtype)
    return host_call(into(mixed.multiply), out, vmap_method="sequential", kind=kind)(x, w)
