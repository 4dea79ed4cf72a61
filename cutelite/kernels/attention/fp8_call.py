"""`attention_fp8` on arrays: the forward pass of attention in e4m3."""

from __future__ import annotations

from typing import Any

import cutelite as cl
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import ArrayError, instance, is_torch, underived
from cutelite.kernels.arrays import clusters_at_once, counter, empty
from cutelite.kernels.attention.call import Window, band_of, checked, positive, seen
from cutelite.kernels.attention.fp8 import SCALED, build, picked
from cutelite.kernels.attention.model import Config, Work
from cutelite.kernels.attention.scores import LN2, ROWS, Problem
from cutelite.kernels.lent import takes_jax
from cutelite.kernels.planning import planned, planned_whole

DIMS = range(16, 129, 16)


@planned_whole()
@underived()
@takes_jax(traced="attention.on_jax.attention_fp8")
def attention_fp8(
    q: Any, k: Any, v: Any, q_scale: Any, k_scale: Any, v_scale: Any, out: Any = None, *, causal: bool | str = False,
    window: Window = (None, None), scale: float | None = None, return_lse: bool = False, layout: str = "bshd",
    config: Config | None = None,
) -> Any:  # fmt: skip
    """Attention of ``q * q_scale`` to ``k * k_scale`` and ``v * v_scale``; `attention` explains the other parameters.

    q, k, v  as of `attention`, in e4m3. D and DV are multiples of 16 up to 128, DV at most D; strides of 16 bytes
    q_scale  (B, H) f32, positive: of each head of each sequence; or (B, H, blocks): of each block of 128 queries of it
    k_scale  (B, HK) f32, positive, and v_scale (B, HK) f32, not negative; or (B, HK, blocks): of each block of 128 keys
    out      bf16
    Digits   powers are rounded to e4m3 too, 3 bits of mantissa: about 3% of the output's standard deviation in all
    Arrays   as of `attention`, but for gradients, of which there are none
    Errors   ValueError for shapes that do not fit; `cutelite.ArgumentError` for strides that TMA refuses
    """
    if is_torch(q):
        from cutelite.kernels.attention import operators

        left, right, _ = seen(causal, window, 0)
        arrays = q, k, v, q_scale, k_scale, v_scale
        if config is None and operators.fits_operator(out, return_lse, *arrays):
            given = *arrays, operators.aligned(causal), left, right, scale, layout
            if out is not None:
                operators.attention_fp8.into(*given, out)
                return out
            found = operators.attention_fp8(*given)
            return found if return_lse else found[0]
    return attend_fp8(
        q, k, v, q_scale, k_scale, v_scale, out, causal=causal, window=window, scale=scale, return_lse=return_lse,
        layout=layout, config=config,
    )  # fmt: skip


@untraced
@planned
def attend_fp8(
    q: Any, k: Any, v: Any, q_scale: Any, k_scale: Any, v_scale: Any, out: Any = None, *, causal: bool | str = False,
    window: Window = (None, None), scale: float | None = None, return_lse: bool = False, layout: str = "bshd",
    config: Config | None = None,
) -> Any:  # fmt: skip
    """Compute `attention_fp8`, for arrays that hold data."""
    given, out, by_head = checked(q, k, v, out, None, layout, "e4m3", "bf16", DIMS)
    scales, along = (q_scale, k_scale, v_scale), 1 if layout == "bshd" else 2
    by_block = any(getattr(x, "ndim", 0) == 3 for x in scales)
    for name, x, heads, of in zip(("q_scale", "k_scale", "v_scale"), scales, ("H", "HK", "HK"), (q, k, k), strict=True):
        blocks = (-(-of.shape[along] // SCALED),) if getattr(x, "ndim", 0) == 3 else ()
        given.array(name, x, "f32", ("B", heads, *blocks), dense=True, why=f", of blocks of {SCALED}" if blocks else "")
    (batch, heads, sq, dim), (_, _, sk, dim_v) = by_head[0].shape, by_head[2].shape
    scale = dim**-0.5 if scale is None else positive("scale", scale)
    lse = empty(q, (batch, heads, sq), "f32")
    sees = seen(causal, window, sk - sq)
    if 0 not in lse.shape and not left_out():
        if sk == 0:
            out[...], lse[...] = 0, -float("inf")
        else:
            problem = Problem(cl.e4m3, dim, dim_v, *sees.ends)
            multiprocessors = clusters_at_once(1, q)
            work = Work(sq, sk, heads * batch, sees.offset, sees.left, sees.right)
            config = instance("config", config, Config) or picked(work, by_block, multiprocessors)
            if by_block and SCALED % config.columns:
                raise ArrayError(f"a block of {config.columns} keys may have two scales, of {SCALED} keys each")
            tiles = -(-sq // (ROWS * config.groups)) * heads * batch
            numbers = scale / LN2, *sees.far, band_of(sk * (dim + dim_v), batch * heads)
            if by_block:
                scales = tuple(x if x.ndim == 3 else x[..., None] for x in scales)
            build(config, problem, by_block)[min(tiles, multiprocessors)](*by_head, lse, *scales, counter(q), *numbers)
    return (out, lse) if return_lse else out
