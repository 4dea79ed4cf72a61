"""`decode_latent` on arrays: attention of few queries to a cache of latents, DeepSeek's absorbed form."""

from __future__ import annotations

from typing import Any

import cutelite as cl
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import HALVES, Arguments, ArrayError, as_number, instance, is_torch, underived
from cutelite.kernels.arrays import clusters_at_once, code_of, dtype_of, empty
from cutelite.kernels.attention.call import positive, seen
from cutelite.kernels.attention.decoding_call import as_count, check_cache, combine, nonempty, room, room_for
from cutelite.kernels.attention.latent import CHOSEN, THREADS, build
from cutelite.kernels.attention.parts import Config, keys_of_block
from cutelite.kernels.attention.scores import LN2, ROWS, Problem
from cutelite.kernels.attention.splitting import LATENTS, Work, fastest
from cutelite.kernels.lent import takes_jax
from cutelite.kernels.planning import planned, planned_whole


@planned_whole()
@underived()
@takes_jax(traced="attention.on_jax.decode_latent")
def decode_latent(
    q: Any, latents: Any, out: Any = None, *, dim_v: int = 512, lengths: Any = None, table: Any = None,
    causal: bool | str = True, scale: float | None = None, return_lse: bool = False, splits: int | None = None,
    config: Config | None = None,
) -> Any:  # fmt: skip
    """``softmax(scale * q @ c.T) @ c[:, :dim_v]`` for each head, of latents `c` that all heads share.

    q        (B, SQ, H, D): queries times what keys are made of, and behind them the part with a rotary embedding
    latents  (B, SK, D); with `table` (PAGES, PAGE, D): pages of any size. D a multiple of 8, up to 576
    out      (B, SQ, H, dim_v), to be multiplied with what values are made of
    dim_v    columns of a latent that are its value: a multiple of 128 up to 512
    scale    default: ``D ** -0.5``; of a model, that of its heads: DeepSeek's is ``192 ** -0.5``
    Others   as of `decode`
    Errors   ValueError for shapes that do not fit; `cutelite.ArgumentError` for strides that TMA refuses
    """
    if is_torch(q):
        from cutelite.kernels.attention import operators

        q, latents = operators.under_autocast(q, latents)
        seen(causal, (None, None), 0)
        splits = as_count("splits", splits)
        if config is None and operators.fits_operator(out, return_lse, q, latents, lengths, table):
            given = q, latents, lengths, table, dim_v, operators.aligned(causal), scale
            if out is not None:
                operators.decode_latent.into(*given, out, splits)
                return out
            found = operators.decode_latent(*given, splits)
            return found if return_lse else found[0]
    return attend_latent(
        q, latents, out, dim_v=dim_v, lengths=lengths, table=table, causal=causal, scale=scale, return_lse=return_lse,
        splits=splits, config=config,
    )  # fmt: skip


@untraced
@planned
def attend_latent(
    q: Any, latents: Any, out: Any = None, *, dim_v: int = 512, lengths: Any = None, table: Any = None,
    causal: bool | str = True, scale: float | None = None, return_lse: bool = False, splits: int | None = None,
    config: Config | None = None,
) -> Any:  # fmt: skip
    """Compute `decode_latent`, for arrays that hold data."""
    given = Arguments()
    given.array("q", q, HALVES, "B SQ H D", rows=True)
    given.array("latents", latents, "q", "B SK D" if table is None else "PAGES PAGE D", rows=True)
    check_cache(given, lengths, table)
    (batch, sq, heads, dim), (pages, page, _) = q.shape, latents.shape
    dim_v = as_number("dim_v", dim_v, whole=True)
    splits = as_count("splits", splits)
    if dim % 8 or not dim_v <= dim <= 576:
        raise ArrayError(f"q and latents have vectors of {dim}: a multiple of 8 from dim_v, {dim_v}, to 576")
    if dim_v % 128 or not 128 <= dim_v <= 512:
        raise ArrayError(f"dim_v is a multiple of 128 up to 512, not {dim_v}")
    scale = dim**-0.5 if scale is None else positive("scale", scale)
    out = given.result(out, q, "q", ("B", "SQ", "H", dim_v), apart={"q": q, "latents": latents})
    lse = empty(q, (batch, heads, sq), "f32")
    keys = room_for(pages, page, table)
    sees = seen(causal, (None, None), 1)
    if 0 in lse.shape or left_out():
        return (out, lse) if return_lse else out
    if keys == 0:
        out[...], lse[...] = 0, -float("inf")
        return (out, lse) if return_lse else out
    problem = Problem(dtype_of(code_of(q)), dim, dim_v, *sees.ends)
    config = instance("config", config, Config) or CHOSEN
    block = keys_of_block(config.columns, 0 if table is None else page)
    tiles, count = -(-sq * heads // ROWS) * batch, -(-keys // block)
    if splits is None:
        work = Work(tiles, count, dim + dim_v, batch * heads * sq * dim_v, 2 * batch * keys * dim, 1)
        splits = fastest(work, LATENTS, (clusters_at_once(1, q),)).parts
    splits = nonempty(count, splits)
    kernel = build(config, problem, heads, 0 if table is None else page, splits > 1)
    cache = latents.reshape((pages, page, 1, dim)).swapaxes(1, 2)
    to = room(out, lse, splits) if splits > 1 else (out, lse)
    kernel[cl.Launch((tiles, splits), THREADS)](q, cache, *to, lengths, table, scale / LN2, *sees.far)
    if splits > 1:
        combine(*to, out, lse, lengths, None, keys, sees, block)
    return (out, lse) if return_lse else out
