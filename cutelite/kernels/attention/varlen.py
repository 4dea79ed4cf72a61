"""`attention_varlen` on arrays: attention within sequences of any lengths that lie one after the other."""

from __future__ import annotations

from typing import Any

from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import (
    HALVES,
    Arguments,
    ArrayError,
    check_underived,
    in_words_of_caller,
    instance,
    is_torch,
)
from cutelite.kernels.arrays import code_of, dtype_of, empty
from cutelite.kernels.attention.call import Mod, Window, check_heads, in_graph, launch, positive, seen
from cutelite.kernels.attention.model import Config, chosen
from cutelite.kernels.attention.scores import BOX, MASK_MOD, ROWS, SCORE_MOD, Problem
from cutelite.kernels.functions import lifted, settled
from cutelite.kernels.lent import takes_jax
from cutelite.kernels.planning import planned, planned_whole


@planned_whole("score_mod", "mask_mod", taken=in_graph)
@in_words_of_caller
@takes_jax(traced="attention.on_jax.attention_varlen")
def attention_varlen(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any = None, out: Any = None, *,
    causal: bool | str = False, window: Window = (None, None), softcap: float | None = None, scale: float | None = None,
    score_mod: Mod | None = None, mask_mod: Mod | None = None, sinks: Any = None, return_lse: bool = False,
    config: Config | None = None,
) -> Any:  # fmt: skip
    """Attention of each of several sequences to itself, or to another; `attention` explains the other parameters.

    q             (TQ, H, D): the queries of all sequences
    k, v          (TK, HK, D) and (TK, HK, DV)
    out           (TQ, H, DV)
    cu_seqlens_q  (N + 1,) i32, 0 and ascending: the start of the queries of each sequence, and the end of the last one.
                  Sequences may be empty. Rows behind the last one are not written; what ends beyond TQ ends there
    cu_seqlens_k  the same for keys; None: `cu_seqlens_q`
    score_mod, mask_mod  `b` is the number of the sequence; the indices count from its start
    return_lse    also return (H, TQ) f32
    Errors        ValueError for shapes that do not fit. Starts that descend are reported in the simulator, and on a GPU
                  with assertions; without, results are wrong
    """
    cu_seqlens_k = cu_seqlens_q if cu_seqlens_k is None else cu_seqlens_k
    if is_torch(q):
        from cutelite.kernels.attention import operators

        q, k, v = operators.under_autocast(q, k, v)
        if out is not None:
            check_underived(q=q, k=k, v=v, sinks=sinks)
        mods = score_mod, mask_mod
        if (out is None or not return_lse) and operators.wanted(q, k, v, mods, sinks=sinks):
            how = operators.how_of(causal, window, softcap, scale, "bshd")
            found = operators.attend((q, k, v, cu_seqlens_q, cu_seqlens_k), how, mods, out=out, sinks=sinks)
            return found if return_lse else found[0]
    return attend_varlen(
        q, k, v, cu_seqlens_q, cu_seqlens_k, out, causal=causal, window=window, softcap=softcap, scale=scale,
        score_mod=score_mod, mask_mod=mask_mod, sinks=sinks, return_lse=return_lse, config=config,
    )  # fmt: skip


@untraced
@planned
@in_words_of_caller
def attend_varlen(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, out: Any = None, *, causal: bool | str = False,
    window: Window = (None, None), softcap: float | None = None, scale: float | None = None,
    score_mod: Mod | None = None, mask_mod: Mod | None = None, sinks: Any = None, return_lse: bool = False,
    config: Config | None = None,
) -> Any:  # fmt: skip
    """Compute `attention_varlen`; torch's arrays are real ones, and nothing is remembered for derivatives."""
    given = Arguments()
    for name, x, modes in ("q", q, "TQ H D"), ("k", k, "TK HK D"), ("v", v, "TK HK DV"):
        given.array(name, x, HALVES if x is q else "q", modes, rows=True)
    check_starts(given, cu_seqlens_q, cu_seqlens_k)
    if sinks is not None:
        given.array("sinks", sinks, "f32", "H", dense=True)
    (total, heads, dim), (total_k, kv_heads, dim_v) = q.shape, v.shape
    check_heads(heads, kv_heads, dim, dim_v)
    scale = dim**-0.5 if scale is None else positive("scale", scale)
    out = given.result(out, q, "q", "TQ H DV", apart={"q": q, "k": k, "v": v})
    lse = empty(q, (heads, total), "f32")
    sees = seen(causal, window, 1)
    arrays: list[Any] = []
    mod, softcap = settled(lifted(score_mod, arrays), "score_mod", SCORE_MOD), positive("softcap", softcap)
    if 0 not in lse.shape and not left_out():
        mods, dtype = (mod, settled(lifted(mask_mod, arrays), "mask_mod", MASK_MOD)), dtype_of(code_of(q))
        problem = Problem(dtype, dim, dim_v, *sees.ends, *mods, ragged=True, softcap=softcap)
        config = instance("config", config, Config) or chosen(-(-dim // BOX) * BOX)
        tiles = (total // (ROWS * config.groups) + cu_seqlens_q.shape[0] - 1) * heads
        numbers = problem.factor(scale), *sees.far, 1
        by_head = [x.reshape((1, *x.shape)).swapaxes(1, 2) for x in (q, k, v, out)]
        if total_k == 0:
            out[...], lse[...] = 0, -float("inf") if sinks is None else sinks[:, None]
        else:
            starts, sums = (by_head[3], cu_seqlens_q, cu_seqlens_k), lse.reshape((1, *lse.shape))
            launch(config, problem, tiles, by_head, sums, sinks, numbers, starts, arrays=arrays)
    return (out, lse) if return_lse else out


def check_starts(given: Arguments, of_queries: Any, of_keys: Any) -> None:
    """Check where sequences start. Errors: those of `Arguments`; `ArrayError` for no end."""
    given.array("cu_seqlens_q", of_queries, "i32", "N+1", dense=True)
    given.array("cu_seqlens_k", of_keys, "i32", "N+1", dense=True)
    if of_queries.shape[0] < 2:
        shape = tuple(of_queries.shape)
        raise ArrayError(f"cu_seqlens_q has shape {shape}, but must have a number for each sequence, and one more")
