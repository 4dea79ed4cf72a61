"""Attention within `jax.jit`, `jax.grad` and `jax.vmap`: a call through XLA's interface for foreign functions.

`attention` comes here by itself for arrays of JAX, traced or not. `score_mod` and `mask_mod` are compiled in, and
`score_mod` is differentiated by the score, and by arrays that it captured where JAX asks for it, as for tensors of
torch.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from cutelite.interop.jax import derived
from cutelite.kernels.attention import backward_call, call, decoding_call
from cutelite.kernels.attention.scores import MASK_MOD, SCORE_MOD
from cutelite.kernels.functions import captured_types, lifted, settled
from cutelite.kernels.jax_calls import computed, like, shaped
from cutelite.lang.tables import Captured, replaced
from cutelite.tuples import NamedTuple


class How(NamedTuple):
    """The arguments of `attention` besides arrays; all can be hashed.

    score_mod, mask_mod  have `Captured` in place of arrays
    learned              numbers of those by which `score_mod` is differentiated
    """

    causal: bool | str
    window: call.Window
    softcap: float | None
    scale: float | None
    score_mod: call.Mod | None
    mask_mod: call.Mod | None
    layout: str
    learned: tuple[int, ...] = ()

    def given(self, captured: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
        """Return the arguments of `call.attend` besides arrays, with functions that captured these; and these so."""
        kinds, named = captured_types(self.score_mod, self.mask_mod), self._asdict()
        arrays = [x if kind.ndim else x.reshape(()) for x, kind in zip(captured.values(), kinds, strict=True)]
        del named["learned"]
        for name in ("score_mod", "mask_mod"):
            named[name] = replaced(named[name], lambda x: arrays[x.index] if isinstance(x, Captured) else x)
        return named, arrays


def attention(q: Any, k: Any, v: Any, how: How) -> tuple[Any, Any]:
    """Return output and logsumexp. Arrays that functions captured are operands.

    Errors  those of `attention`
    """
    captured = list[Any]()
    call.seen(how.causal, how.window, 0)
    score_mod = settled(lifted(how.score_mod, captured), "score_mod", SCORE_MOD)
    mask_mod = settled(lifted(how.mask_mod, captured), "mask_mod", MASK_MOD)
    left, right = how.window
    how = how._replace(window=(left, right), score_mod=score_mod, mask_mod=mask_mod)
    return _attention(q, k, v, tuple(map(jnp.asarray, captured)), how)  # type: ignore[no-any-return]


def _kept(made: Any, q: Any, k: Any, v: Any, captured: tuple[Any, ...], how: How) -> tuple[Any, ...]:
    """Return what the derivative needs: of arrays that functions captured those that are learned, and the others."""
    learned = {x.index for x in captured_types(how.score_mod) if captured[x.index].perturbed}
    both: tuple[dict[int, Any], ...] = {}, {}
    for i, x in enumerate(captured):
        both[i not in learned][i] = x.value
    return q.value, k.value, v.value, *made, *both


@derived(4, keep=_kept)
def _attention(q: Any, k: Any, v: Any, captured: tuple[Any, ...], how: How) -> tuple[Any, Any]:
    def results() -> list[Any]:
        heads, length = (2, 1) if how.layout == "bshd" else (1, 2)
        return [shaped((*q.shape[:3], v.shape[3]), q.dtype), shaped((q.shape[0], q.shape[heads], q.shape[length]))]

    return computed(_attend, results, {"q": q, "k": k, "v": v} | _named(captured), how=how)  # type: ignore[no-any-return]


def _named(captured: tuple[Any, ...]) -> dict[str, Any]:
    return {f"captured_{i}": x for i, x in enumerate(captured)}


def _attend(q: Any, k: Any, v: Any, how: How, out: Any = None, **captured: Any) -> None:
    named, _ = how.given(captured)
    _with_lse(call.attend, out, q=q, k=k, v=v, **named)


def _with_lse(function: Any, out: Any = None, **given: Any) -> None:
    """Call a function that writes its result to `out`, and gives the logsumexp, which is copied to the second."""
    _, lse = function(**given, out=None if out is None else out[0], return_lse=True)
    if out is not None:
        out[1][...] = lse


def _attend_backward(
    do: Any, dlse: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, how: How, out: Any = None, **captured: Any
) -> None:
    named, arrays = how.given(captured)
    named["captured"] = tuple(arrays[i] for i in how.learned)
    own = None if out is None else out[:3]
    found = backward_call.attention_backward(do, q, k, v, o, lse, own, dlse=dlse, **named)
    for gradient, made in zip(() if out is None else out[3:], found[3:], strict=False):
        gradient[...] = made.reshape(gradient.shape)


def _differentiate(how: How, kept: Any, gradients: Any) -> tuple[Any, ...]:
    *given, learned, others = kept
    do, dlse = (None if isinstance(x, jax.custom_derivatives.SymbolicZero) else x for x in gradients)
    captured, (q, k, v, o, lse) = learned | others, given
    named = {"q": q, "k": k, "v": v, "o": o, "lse": lse, "do": jnp.zeros_like(o) if do is None else do, "dlse": dlse}
    named |= _named(tuple(captured[i] for i in range(len(captured))))
    results = [like(x) for x in (q, k, v, *learned.values())]
    found = computed(_attend_backward, results, named, how=how._replace(learned=tuple(learned)))
    of_captured = dict(zip(learned, found[3:], strict=True))
    return *found[:3], tuple(of_captured.get(i) for i in range(len(captured)))


_attention.derive(_differentiate, symbolic_zeros=True)


def decode(
    q: Any, k: Any, v: Any, *, lengths: Any = None, table: Any = None, causal: bool | str = True,
    scale: float | None = None, softcap: float | None = None, window: call.Window = (None, None),
    return_lse: bool = False,
) -> Any:  # fmt: skip
    """`decode` of traced arrays; there is no derivative."""

    def results() -> list[Any]:
        return [shaped((*q.shape[:3], v.shape[3]), q.dtype), shaped((q.shape[0], q.shape[2], q.shape[1]))]

    named = {"q": q, "k": k, "v": v, "lengths": lengths, "table": table}
    how: dict[str, Any] = {"causal": causal, "scale": scale, "softcap": softcap, "window": window}
    found = computed(_with_lse, results, named, function=decoding_call.decode, **how)
    return found if return_lse else found[0]
