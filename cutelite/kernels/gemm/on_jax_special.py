"""Special GEMMs within `jax.jit`, `jax.grad` and `jax.vmap`: groups, fp8 with block scales, weights of 4 and 8 bits.

The functions of `grouped`, `fp8_block` and `mixed` call these for traced arrays.

In    arrays of JAX, traced or not. Out: arrays of JAX; those of groups have derivatives
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from cutelite.interop.jax import derived
from cutelite.kernels.arrays import code_of
from cutelite.kernels.gemm import fp8_block, mixed, on_jax
from cutelite.kernels.gemm import grouped as groups
from cutelite.kernels.gemm.arrays import DEFAULTS
from cutelite.kernels.jax_calls import computed, no_gradient, shaped


@derived(keep=lambda made, *given: given)
def grouped(a: Any, b: Any, ends: Any) -> Any:
    """Rows behind the last end may be any."""
    return _rows(a, b, ends, groups.rows_of_groups)


@derived(keep=lambda made, *given: given)
def padded(a: Any, b: Any, counts: Any) -> Any:
    """Rows behind those of a group may be any."""
    return _rows(a, b, counts, groups.padded_groups)


def _rows(a: Any, b: Any, ends: Any, function: Any, turned: bool = False) -> Any:
    """Multiply rows of groups, or padded groups; `turned`: by matrices whose modes are exchanged."""

    def result() -> Any:
        return shaped((*a.shape[:-1], b.shape[2 if turned else 1]), DEFAULTS.get(code_of(a)) or a.dtype)

    return computed(_of_rows, result, {"a": a, "b": b, "ends": ends}, function=function, turned=turned)


def _of_rows(a: Any, b: Any, ends: Any, function: Any, turned: bool, out: Any = None) -> None:
    function(a, b.swapaxes(1, 2) if turned else b, ends, out)


def _of_groups(x: Any, ends: Any) -> Any:
    """Return rows with zeros in those that belong to no group."""
    last = ends[-1] if x.ndim == 2 else ends[:, None]
    return jnp.where((jnp.arange(x.shape[-2]) < last)[..., None], x, 0)


def _by_8(x: Any) -> Any:
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % 8)])


def _differentiate(kept: Any, gradient: Any) -> tuple[Any, ...]:
    a, b, ends = kept
    function = groups.rows_of_groups if a.ndim == 2 else groups.padded_groups
    of_a = _of_groups(_rows(gradient, _by_8(b), ends, function, turned=True)[..., : a.shape[-1]], ends)
    if a.ndim == 2:
        of_b = along_k(gradient, _by_8(a), ends)[..., : a.shape[-1]]
    else:
        of_b = on_jax.turned_product(_of_groups(gradient, ends), _of_groups(a, ends))
    return of_a, of_b.astype(b.dtype), no_gradient(ends)


grouped.derive(_differentiate)
padded.derive(_differentiate)


@derived(keep=lambda made, *given: given)
def along_k(a: Any, b: Any, ends: Any) -> Any:
    """The result is in f32."""

    def result() -> Any:
        return shaped((ends.shape[0], a.shape[1], b.shape[1]))

    return computed(groups.groups_along_k, result, {"a": a, "b": b, "ends": ends})


def _differentiate_along_k(kept: Any, gradient: Any) -> tuple[Any, ...]:
    a, b, ends = kept
    narrow = gradient.astype(a.dtype)
    of_a, of_b = (_rows(x, narrow, ends, groups.rows_of_groups, turned) for x, turned in ((b, False), (a, True)))
    return _of_groups(of_a, ends), _of_groups(of_b, ends), no_gradient(ends)


along_k.derive(_differentiate_along_k)


def scaled_blocks(a: Any, b: Any, scale_a: Any, scale_b: Any) -> Any:
    arrays = {"a": a, "b": b, "scale_a": scale_a, "scale_b": scale_b}
    return computed(fp8_block.multiply, lambda: shaped((a.shape[0], b.shape[0]), "bf16"), arrays)


def narrow(x: Any, w: Any, kind: str, n: int | None = None) -> Any:
    def result() -> Any:
        return shaped((x.shape[0], w.shape[0] * mixed.ROWS if n is None else n), x.dtype)

    return computed(mixed.multiply, result, {"x": x, "w": w}, kind=kind, n=n)
