"""`attention_backward` on arrays: checks, workspaces and launches."""

from __future__ import annotations

from typing import Any

import cutelite as cl
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.attention.backward import build
from cutelite.kernels.attention.backward_plan import Config, Plan, chosen
from cutelite.kernels.attention.call import FAR, LAYOUTS, Mod, Window, capped_mod, seen
from cutelite.kernels.attention.scores import BOX, GROUP, ROWS, Problem
from cutelite.kernels.functions import settled

MOST = 128
"""The greatest head dim with a derivative."""
IN_L2 = 24 * 2**20
"""Bytes of queries, output gradients and sums that concurrent thread blocks should share in L2."""


@untraced
def attention_backward(
    do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, out: Any = None, *, dlse: Any = None, causal: bool | str = False,
    window: Window = (None, None), softcap: float | None = None, scale: float | None = None,
    score_mod: Mod | None = None, mask_mod: Mod | None = None, layout: str = "bshd", deterministic: bool = False,
    config: Config | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return dq, dk and dv, the gradients of q, k and v, from the gradient of ``attention(q, k, v, ...)``.

    do, o           the gradient of the output, and the output, of its shape and dtype
    lse, dlse       (B, H, SQ) f32: the logsumexp from ``return_lse=True``, and its gradient if it was used
    out             three arrays for the results; made where they are not given
    causal ...      the same arguments as of `attention`
    score_mod       is differentiated by the score (`cl.derived` lists what it may compute); captured values get no
                    gradient
    deterministic   add up dq in the order of keys, so that equal inputs give equal bits
    config          None: the one that was measured best for this head dim
    Arrays          of torch and CuPy on a GPU; of NumPy in the simulator; any strides that TMA takes
    Memory          4 bytes for each element of q, padded to blocks of queries, while it runs
    Errors          ValueError for shapes that do not fit and head dims above 128; `cutelite.ArgumentError` for strides
                    that TMA refuses
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout is one of {', '.join(map(repr, LAYOUTS))}, not {layout!r}")
    out = tuple(empty(x, tuple(x.shape)) for x in (q, k, v)) if out is None else out
    by_head = [x.swapaxes(1, 2) if layout == "bshd" else x for x in (q, k, v, do, o, *out)]
    (batch, heads, sq, dim), (_, kv_heads, sk, _) = by_head[0].shape, by_head[1].shape
    wanted: dict[str, tuple[Any, ...]] = dict.fromkeys(("q", "do", "o", "dq"), (batch, heads, sq, dim))
    wanted |= dict.fromkeys(("k", "v", "dk", "dv"), (batch, kv_heads, sk, dim)) | {"lse": (batch, heads, sq)}
    for name, x in zip(("q", "k", "v", "do", "o", "dq", "dk", "dv", "lse"), (*by_head, lse), strict=True):
        if tuple(x.shape) != wanted[name] or kv_heads == 0 or heads % kv_heads:
            raise ValueError(f"{name} is {tuple(x.shape)}, but with q and k must be {wanted[name]}, by head")
    if dim % 8 or not 8 <= dim <= MOST:
        raise ValueError(f"head dims with a derivative are multiples of 8 up to {MOST}, one for q and v; not {dim}")
    scale = dim**-0.5 if scale is None else scale
    left, right, offset = seen(causal, window, sk - sq)
    mod = capped_mod(softcap, score_mod)
    config = config or chosen(-(-dim // BOX) * BOX, left is not None or right is not None)
    problem = Problem(getattr(cl, code_of(q)), dim, dim, left is not None, right is not None, mod, settled(mask_mod))
    plan, blocks = Plan(config, problem), -(-sq // config.rows)
    if left_out():
        return tuple(out)
    if 0 in (batch, sq, sk):
        for x in out:
            x[...] = 0
        return tuple(out)
    tq, tk, tv, tdo, to, tdq, tdk, tdv = by_head
    base = empty(lse, (batch, heads, blocks, 2 * config.rows))
    sums = empty(lse, (batch, heads, blocks, config.groups, plan.columns * ROWS))
    turns = empty(lse, (batch, heads, blocks, config.groups), "i32") if deterministic else None
    band = max(1, IN_L2 // (sq * dim * 8 * heads // kv_heads))
    band = min(1 << (band.bit_length() - 1), batch * kv_heads)
    ends = tuple(FAR if x is None else x for x in (left, right))
    kernels = build(config, problem, deterministic)
    kernels.prepare[(blocks, heads, batch), 256](to, tdo, lse, dlse, base, sums, turns, offset, ends[0])
    tiles = -(-sk // plan.keys) * kv_heads * batch
    kernels.gradients[tiles](tq, tk, tv, tdo, base, sums, turns, tdk, tdv, scale, offset, *ends, band)
    kernels.finish[(blocks, heads, batch), GROUP * config.groups](tdq, sums, scale)
    return tuple(out)
