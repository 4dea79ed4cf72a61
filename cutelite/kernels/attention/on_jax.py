"""Attention within `jax.jit`, `jax.grad` and `jax.vmap`: a call through XLA's interface for foreign functions.

`attention` comes here by itself for arrays of JAX, traced or not. `score_mod` and `mask_mod` are compiled in, and
`score_mod` is differentiated by the score, as for tensors of torch.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from cutelite.interop.jax import derived, host_call
from cutelite.kernels.arguments import Misfit
from cutelite.kernels.attention import backward_call, call, decoding_call
from cutelite.kernels.attention.scores import MASK_MOD, SCORE_MOD
from cutelite.kernels.functions import lifted, settled
from cutelite.kernels.lent import check_call
from cutelite.tuples import NamedTuple


class How(NamedTuple):
    """The arguments of `attention` besides arrays; all can be hashed."""

    causal: bool | str
    window: call.Window
    softcap: float | None
    scale: float | None
    score_mod: call.Mod | None
    mask_mod: call.Mod | None
    layout: str


def attention(q: Any, k: Any, v: Any, how: How) -> tuple[Any, Any]:
    """Return output and logsumexp.

    Errors  those of `attention`, and ValueError for functions that captured arrays
    """
    captured = list[Any]()
    call.seen(how.causal, how.window, 0)
    mods = settled(how.score_mod, "score_mod", SCORE_MOD), settled(how.mask_mod, "mask_mod", MASK_MOD)
    for mod in mods:
        lifted(mod, captured)
    if captured:
        raise Misfit("for arrays of JAX functions capture no arrays: XLA would not know of them")
    left, right = how.window
    how = how._replace(window=(left, right), score_mod=mods[0], mask_mod=mods[1])
    check_call(call.attend, how._asdict(), q=q, k=k, v=v)
    return _attention(q, k, v, how)  # type: ignore[no-any-return]


@derived(3, keep=lambda made, q, k, v, _: (q, k, v, *made))
def _attention(q: Any, k: Any, v: Any, how: How) -> tuple[Any, Any]:
    heads, length = (2, 1) if how.layout == "bshd" else (1, 2)
    out = jax.ShapeDtypeStruct((*q.shape[:3], v.shape[3]), q.dtype)
    lse = jax.ShapeDtypeStruct((q.shape[0], q.shape[heads], q.shape[length]), jnp.float32)
    return tuple(host_call(_run, [out, lse], vmap_method="sequential", how=how)(q, k, v))


def _run(inputs: list[Any], outputs: list[Any], how: How) -> None:
    (q, k, v), (out, sums) = inputs, outputs
    _, lse = call.attend(q, k, v, out, return_lse=True, **how._asdict())
    sums[...] = lse


def _run_backward(inputs: list[Any], outputs: list[Any], how: How) -> None:
    do, q, k, v, out, lse, dlse = inputs
    backward_call.attention_backward(do, q, k, v, out, lse, tuple(outputs), dlse=dlse, **how._asdict())


def _differentiate(how: How, kept: Any, gradients: Any) -> tuple[Any, ...]:
    results = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in kept[:3]]
    run = host_call(_run_backward, results, vmap_method="sequential", how=how)
    return tuple(run(gradients[0], *kept, gradients[1]))


_attention.derive(_differentiate)


def decode(
    q: Any, k: Any, v: Any, *, lengths: Any = None, table: Any = None, causal: bool | str = True,
    scale: float | None = None, softcap: float | None = None, window: call.Window = (None, None),
    return_lse: bool = False,
) -> Any:  # fmt: skip
    """`decode` of traced arrays; there is no derivative."""
    options = {"causal": causal, "scale": scale, "softcap": softcap, "window": window}
    check_call(decoding_call.decode, options, q=q, k=k, v=v, lengths=lengths, table=table)
    out = jax.ShapeDtypeStruct((*q.shape[:3], v.shape[3]), q.dtype)
    lse = jax.ShapeDtypeStruct((q.shape[0], q.shape[2], q.shape[1]), jnp.float32)
    found = host_call(_run_decode, [out, lse], vmap_method="sequential", **options)(q, k, v, lengths, table)
    return tuple(found) if return_lse else found[0]


def _run_decode(inputs: list[Any], outputs: list[Any], **how: Any) -> None:
    q, k, v, lengths, table = inputs
    _, lse = decoding_call.decode(q, k, v, outputs[0], lengths=lengths, table=table, return_lse=True, **how)
    outputs[1][...] = lse
