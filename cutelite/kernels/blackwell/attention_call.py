"""Attention for Blackwell on arrays. No card has run it: simulated, checked, assembled (docs/blackwell.md)."""

from __future__ import annotations

from typing import Any

from cutelite.dispatch.divert import left_out
from cutelite.kernels.arguments import ArrayError, instance, underived
from cutelite.kernels.arrays import code_of, dtype_of, empty
from cutelite.kernels.attention.call import Mod, Window, band_of, checked, positive, seen
from cutelite.kernels.attention.scores import MASK_MOD, SCORE_MOD, Problem
from cutelite.kernels.blackwell.attention import ROWS, THREADS, TILES, Config, build
from cutelite.kernels.blackwell.call import check_card
from cutelite.kernels.functions import lifted, settled

MOST = 128
"""The greatest head dim: scores and sums of two tiles fill tensor memory."""


@underived()
def attention(
    q: Any, k: Any, v: Any, out: Any = None, *, causal: bool | str = False, window: Window = (None, None),
    softcap: float | None = None, scale: float | None = None, score_mod: Mod | None = None, mask_mod: Mod | None = None,
    sinks: Any = None, return_lse: bool = False, layout: str = "bshd", config: Config | None = None,
) -> Any:  # fmt: skip
    """``softmax(scale * q @ k.T) @ v`` for each head by tcgen05; with `return_lse`, also the logsumexp of the scores.

    Arguments are those of `cutelite.kernels.attention.call.attention`: (B, S, H, D), D up to 128, of bf16 or f16.

    config  how many blocks of keys are held, and whether maxima are guessed
    Arrays  of torch and CuPy on a GPU with tensor memory; of NumPy in the simulator
    Errors  ValueError for shapes that do not fit; `cl.ArgumentError` for strides that TMA refuses, and for another GPU
    """
    _, out, by_head = checked(q, k, v, out, sinks, layout)
    check_card(out)
    (batch, heads, sq, dim), (_, _, sk, dim_v) = by_head[0].shape, by_head[2].shape
    if dim > MOST:
        raise ArrayError(f"q has heads of {dim}, and these kernels take up to {MOST}")
    scale = dim**-0.5 if scale is None else positive("scale", scale)
    sees = seen(causal, window, sk - sq)
    lse = empty(q, (batch, heads, sq), "f32")
    arrays: list[Any] = []
    mod = settled(lifted(score_mod, arrays), "score_mod", SCORE_MOD)
    mask = settled(lifted(mask_mod, arrays), "mask_mod", MASK_MOD)
    softcap = positive("softcap", softcap)
    if 0 not in lse.shape and not left_out():
        if sk == 0:
            out[...], lse[...] = 0, -float("inf") if sinks is None else sinks[:, None]
        else:
            problem = Problem(dtype_of(code_of(q)), dim, dim_v, *sees.ends, mod, mask, softcap=softcap)
            numbers = problem.factor(scale), *sees.far, band_of(sk * (dim + dim_v) * 2, batch * heads)
            blocks = -(-sq // (TILES * ROWS)) * heads * batch
            build(instance("config", config, Config) or Config(), problem)[blocks, THREADS](
                *by_head, lse, sinks, *numbers, tuple(arrays)
            )
    return (out, lse) if return_lse else out
