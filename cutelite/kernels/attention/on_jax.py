"""Attention within `jax.jit`, `jax.grad` and `jax.vmap`: a call through XLA's interface for foreign functions.

`attention` and `attention_varlen` come here by themselves for arrays that JAX traces. `score_mod` and `mask_mod` are
compiled in, and `score_mod` is differentiated by the score, and by arrays that it captured where JAX asks for it, as
for tensors of torch.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from cutelite.interop.jax import derived
from cutelite.kernels.attention import backward_call, blocks, call, decoding_call, fp8_call, latent_call, varlen
from cutelite.kernels.attention.scores import MASK_MOD, SCORE_MOD
from cutelite.kernels.functions import captured_types, lifted, settled
from cutelite.kernels.jax_calls import computed, like, no_gradient, shaped
from cutelite.lang.tables import Captured, replaced
from cutelite.tuples import NamedTuple


class How(NamedTuple):
    """The arguments of `attention` besides arrays; all can be hashed.

    score_mod, mask_mod  have `Captured` in place of arrays
    blocks               sizes of blocks and lengths of a block mask, whose `mask_mod` this is
    learned              numbers of those by which `score_mod` is differentiated
    """

    causal: bool | str
    window: call.Window
    softcap: float | None
    scale: float | None
    score_mod: call.Mod | None
    mask_mod: call.Mod | None
    layout: str
    blocks: tuple[tuple[int, int], tuple[int, int]] | None = None
    learned: tuple[int, ...] = ()

    def given(self, mask: tuple[Any, ...], captured: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
        """Return the arguments of `call.attend` besides arrays, with functions that captured these; and these so.

        mask  the arrays of a block mask
        """
        kinds, named = captured_types(self.score_mod, self.mask_mod), self._asdict()
        arrays = [x if kind.ndim else x.reshape(()) for x, kind in zip(captured.values(), kinds, strict=True)]
        del named["learned"], named["blocks"]
        for name in ("score_mod", "mask_mod"):
            named[name] = replaced(named[name], lambda x: arrays[x.index] if isinstance(x, Captured) else x)
        if self.blocks is not None:
            order, counts, spans = mask
            (block, lengths), mod = self.blocks, named.pop("mask_mod")
            named["block_mask"] = blocks.BlockMask(order, counts, spans, block, mod, lengths)
        return named, arrays


def attention(
    q: Any, k: Any, v: Any, how: How, sinks: Any = None, starts: tuple[Any, ...] = (None, None), block_mask: Any = None
) -> tuple[Any, Any]:  # fmt: skip
    """Return output and logsumexp. Arrays that functions captured, and those of a block mask, are operands.

    starts  of queries and of keys, where sequences of any lengths lie one after the other
    Errors  those of `attention` and `attention_varlen`
    """
    order = counts = spans = None
    if block_mask is not None and getattr(q, "ndim", 0) == getattr(k, "ndim", 0) == 4:  # else `attention` refuses them
        call.check_alone(how.causal, how.window, how.mask_mod)
        call.modes_of(how.layout)
        (batch, sq, heads, _), sk = q.shape, k.shape[1]
        if how.layout == "bhsd":
            sq, heads, sk = heads, sq, k.shape[2]
        found = blocks.block_mask_of(blocks.of_numpy(block_mask, (sq, sk)), (batch, heads, sq, sk))
        how = how._replace(mask_mod=found.mask_mod, blocks=(found.block, found.lengths))
        order, counts, spans = map(jnp.asarray, (found.order, found.counts, found.spans))
    captured = list[Any]()
    call.seen(how.causal, how.window, 0)
    score_mod = settled(lifted(how.score_mod, captured), "score_mod", SCORE_MOD)
    mask_mod = settled(lifted(how.mask_mod, captured), "mask_mod", MASK_MOD)
    left, right = how.window
    how = how._replace(window=(left, right), score_mod=score_mod, mask_mod=mask_mod)
    beside = Beside(sinks, starts[0], starts[1], order, counts, spans)
    return _attention(q, k, v, beside, tuple(map(jnp.asarray, captured)), how)  # type: ignore[no-any-return]


def attention_varlen(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any = None, *, causal: bool | str = False,
    window: call.Window = (None, None), softcap: float | None = None, scale: float | None = None,
    score_mod: call.Mod | None = None, mask_mod: call.Mod | None = None, sinks: Any = None, return_lse: bool = False,
) -> Any:  # fmt: skip
    """`attention_varlen` of traced arrays."""
    starts = cu_seqlens_q, cu_seqlens_q if cu_seqlens_k is None else cu_seqlens_k
    found = attention(q, k, v, How(causal, window, softcap, scale, score_mod, mask_mod, "bshd"), sinks, starts)
    return found if return_lse else found[0]


class Beside(NamedTuple):
    """Arrays beside q, k and v, or None: scores of sinks, where sequences start, and those of a `BlockMask`."""

    sinks: Any
    cu_seqlens_q: Any
    cu_seqlens_k: Any
    order: Any
    counts: Any
    spans: Any


def _kept(made: Any, q: Any, k: Any, v: Any, beside: Any, captured: tuple[Any, ...], how: How) -> tuple[Any, ...]:
    """Return what the derivative needs: of arrays that functions captured those that are learned, and the others."""
    arrays = Beside(*(None if x is None else x.value for x in beside))
    learned = {x.index for x in captured_types(how.score_mod) if captured[x.index].perturbed}
    both: tuple[dict[int, Any], ...] = {}, {}
    for i, x in enumerate(captured):
        both[i not in learned][i] = x.value
    return q.value, k.value, v.value, *made, arrays, *both


@derived(5, keep=_kept)
def _attention(q: Any, k: Any, v: Any, beside: Beside, captured: tuple[Any, ...], how: How) -> tuple[Any, Any]:
    arrays = {"q": q, "k": k, "v": v} | beside._asdict() | _named(captured)
    return computed(_attend, lambda: _results(q, v.shape[-1], how.layout), arrays, how=how)  # type: ignore[no-any-return]


def _results(q: Any, columns: int, layout: str = "bshd", kind: Any = None) -> list[Any]:
    """Describe output and logsumexp. `columns` of the output, whose dtype is `kind`, or that of q."""
    *batch, rows, heads = q.shape[:-1]
    if layout == "bhsd":
        rows, heads = heads, rows
    return [shaped((*q.shape[:-1], columns), kind or q.dtype), shaped((*batch, heads, rows))]


def _named(captured: tuple[Any, ...]) -> dict[str, Any]:
    return {f"captured_{i}": x for i, x in enumerate(captured)}


def _attend(
    q: Any, k: Any, v: Any, how: How, sinks: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, order: Any, counts: Any,
    spans: Any, out: Any = None, **captured: Any,
) -> None:  # fmt: skip
    named = how.given((order, counts, spans), captured)[0] | {"q": q, "k": k, "v": v, "sinks": sinks}
    if cu_seqlens_q is None:
        _with_lse(call.attend, out, **named)
        return
    del named["layout"]
    _with_lse(varlen.attend_varlen, out, **named, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)


def _with_lse(function: Any, out: Any = None, **given: Any) -> None:
    """Call a function that writes its result to `out`, and gives the logsumexp, which is copied to the second."""
    _, lse = function(**given, out=None if out is None else out[0], return_lse=True)
    if out is not None:
        out[1][...] = lse


def _attend_backward(
    do: Any, dlse: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, how: How, cu_seqlens_q: Any, cu_seqlens_k: Any,
    order: Any, counts: Any, spans: Any, out: Any = None, **captured: Any,
) -> None:  # fmt: skip
    named, arrays = how.given((order, counts, spans), captured)
    named["captured"] = tuple(arrays[i] for i in how.learned)
    named |= {"dlse": dlse, "out": None if out is None else out[:3]}
    if cu_seqlens_q is None:
        found = backward_call.attention_backward(do, q, k, v, o, lse, **named)
    else:
        del named["layout"]
        found = backward_call.attention_varlen_backward(do, q, k, v, o, lse, cu_seqlens_q, cu_seqlens_k, **named)
    for gradient, made in zip(() if out is None else out[3:], found[3:], strict=False):
        gradient[...] = made.reshape(gradient.shape)


def _differentiate(how: How, kept: Any, gradients: Any) -> tuple[Any, ...]:
    q, k, v, o, lse, beside, learned, others = kept
    do, dlse = (None if isinstance(x, jax.custom_derivatives.SymbolicZero) else x for x in gradients)
    do, captured, more = jnp.zeros_like(o) if do is None else do, learned | others, beside._asdict()
    sinks, named = more.pop("sinks"), {"q": q, "k": k, "v": v, "o": o, "lse": lse, "do": do, "dlse": dlse}
    named |= more | _named(tuple(captured[i] for i in range(len(captured))))
    results = [like(x) for x in (q, k, v, *learned.values())]
    found = computed(_attend_backward, results, named, how=how._replace(learned=tuple(learned)))
    of_captured = dict(zip(learned, found[3:], strict=True))
    of_sinks = None if sinks is None else _of_sinks(do, dlse, o, lse, sinks, beside.cu_seqlens_q, how.layout)
    of_beside = Beside(of_sinks, *map(no_gradient, more.values()))
    return *found[:3], of_beside, tuple(of_captured.get(i) for i in range(len(captured)))


def _of_sinks(do: Any, dlse: Any, o: Any, lse: Any, sinks: Any, starts: Any, layout: str) -> Any:
    """Return the gradient of sinks, (H,): a sink is a key of which the row's logsumexp knows, with a value of zeros."""
    along = (do.astype(jnp.float32) * o.astype(jnp.float32)).sum(-1)  # of all of a row's keys together
    shares = jnp.where(lse == -jnp.inf, 0.0, jnp.exp(sinks[:, None] - lse))  # as a sink is that is not there
    each = shares * ((0.0 if dlse is None else dlse) - (along.swapaxes(-1, -2) if layout == "bshd" else along))
    if starts is not None:  # behind the last sequence nothing was written
        each = jnp.where(jnp.arange(lse.shape[-1]) < starts[-1], each, 0.0)
    return each.sum(-1).reshape(-1, len(sinks)).sum(0)


_attention.derive(_differentiate, symbolic_zeros=True)


def _computed(function: Any, results: Any, arrays: dict[str, Any], return_lse: bool, **how: Any) -> Any:
    """Return the output of a function without a derivative, or both of its results."""
    found = computed(_with_lse, results, arrays, function=function, **how)
    return found if return_lse else found[0]


def decode(
    q: Any, k: Any, v: Any, *, lengths: Any = None, table: Any = None, causal: bool | str = True,
    scale: float | None = None, softcap: float | None = None, window: call.Window = (None, None),
    sinks: Any = None, return_lse: bool = False,
) -> Any:  # fmt: skip
    """`decode` of traced arrays; there is no derivative."""
    named = {"q": q, "k": k, "v": v, "lengths": lengths, "table": table, "sinks": sinks}
    how: dict[str, Any] = {
        "causal": causal,
        "scale": scale,
        "softcap": softcap,
        "window": window,
        "return_lse": return_lse,
    }
    return _computed(decoding_call.decode, lambda: _results(q, v.shape[3]), named, **how)


def decode_latent(
    q: Any, latents: Any, *, dim_v: int = 512, lengths: Any = None, table: Any = None, causal: bool | str = True,
    scale: float | None = None, return_lse: bool = False, splits: int | None = None,
) -> Any:  # fmt: skip
    """`decode_latent` of traced arrays; there is no derivative."""
    named = {"q": q, "latents": latents, "lengths": lengths, "table": table}
    how: dict[str, Any] = {"dim_v": dim_v, "causal": causal, "scale": scale, "splits": splits, "return_lse": return_lse}
    return _computed(latent_call.decode_latent, lambda: _results(q, dim_v), named, **how)


def attention_fp8(
    q: Any, k: Any, v: Any, q_scale: Any, k_scale: Any, v_scale: Any, *, causal: bool | str = False,
    window: call.Window = (None, None), scale: float | None = None, return_lse: bool = False, layout: str = "bshd",
) -> Any:  # fmt: skip
    """`attention_fp8` of traced arrays; there is no derivative."""
    named = {"q": q, "k": k, "v": v, "q_scale": q_scale, "k_scale": k_scale, "v_scale": v_scale}
    how: dict[str, Any] = {
        "causal": causal,
        "window": window,
        "scale": scale,
        "layout": layout,
        "return_lse": return_lse,
    }
    return _computed(fp8_call.attention_fp8, lambda: _results(q, v.shape[3], layout, "bf16"), named, **how)
