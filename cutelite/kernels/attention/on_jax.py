"""Attention within `jax.jit`, `jax.grad` and `jax.vmap`: a call through XLA's interface for foreign functions.

`attention` comes here by itself for arrays of JAX, traced or not. `score_mod` and `mask_mod` are compiled in, and
`score_mod` is differentiated by the score, as for tensors of torch.
"""

from __future__ import annotations

from typing import Any

from cutelite.interop.jax import derived
from cutelite.kernels.arguments import Misfit
from cutelite.kernels.attention import backward_call, call, decoding_call
from cutelite.kernels.attention.scores import MASK_MOD, SCORE_MOD
from cutelite.kernels.functions import lifted, settled
from cutelite.kernels.jax_calls import computed, like, shaped
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
    return _attention(q, k, v, how)  # type: ignore[no-any-return]


@derived(3, keep=lambda made, q, k, v, _: (q, k, v, *made))
def _attention(q: Any, k: Any, v: Any, how: How) -> tuple[Any, Any]:
    def results() -> list[Any]:
        heads, length = (2, 1) if how.layout == "bshd" else (1, 2)
        return [shaped((*q.shape[:3], v.shape[3]), q.dtype), shaped((q.shape[0], q.shape[heads], q.shape[length]))]

    return computed(_with_lse, results, {"q": q, "k": k, "v": v}, function=call.attend, **how._asdict())  # type: ignore[no-any-return]


def _with_lse(function: Any, out: Any = None, **given: Any) -> None:
    """Call a function that writes its result to `out`, and gives the logsumexp, which is copied to the second."""
    _, lse = function(**given, out=None if out is None else out[0], return_lse=True)
    if out is not None:
        out[1][...] = lse


def _differentiate(how: How, kept: Any, gradients: Any) -> tuple[Any, ...]:
    names = "q", "k", "v", "o", "lse", "do", "dlse"
    named = dict(zip(names, (*kept, *gradients), strict=True))
    return computed(backward_call.attention_backward, [*map(like, kept[:3])], named, **how._asdict())  # type: ignore[no-any-return]


_attention.derive(_differentiate)


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
