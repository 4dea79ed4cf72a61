"""`attention_backward` on arrays: checks, workspaces and launches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cutelite as cl
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import HALVES, Arguments, Misfit, contiguous, instance, is_array, results, underived
from cutelite.kernels.arrays import clusters_at_once, code_of, counter, dtype_of, empty, zeros
from cutelite.kernels.attention.backward import gradients
from cutelite.kernels.attention.backward_outer import finish, prepare
from cutelite.kernels.attention.backward_plan import WORKERS, Config, Plan, banded, parted
from cutelite.kernels.attention.backward_tiles import Starts
from cutelite.kernels.attention.blocks import block_mask_of, with_mask_by_function
from cutelite.kernels.attention.call import Mod, Window, check_alone, check_heads, modes_of, positive, seen
from cutelite.kernels.attention.scores import GROUP, MASK_MOD, ROWS, SCORE_MOD, Problem
from cutelite.kernels.attention.tiles import Given
from cutelite.kernels.attention.varlen import check_starts
from cutelite.kernels.functions import captured_types, lifted, plain, settled
from cutelite.kernels.lent import takes_jax
from cutelite.kernels.planning import planned, planned_alone


@untraced
@underived()
@takes_jax()
@with_mask_by_function
@planned
def attention_backward(
    do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, out: Any = None, *, dlse: Any = None, causal: bool | str = False,
    window: Window = (None, None), softcap: float | None = None, scale: float | None = None,
    score_mod: Mod | None = None, mask_mod: Mod | None = None, block_mask: Any = None, layout: str = "bshd",
    deterministic: bool = False, captured: tuple[Any, ...] = (), config: Config | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Return dq, dk and dv, the gradients of q, k and v, from the gradient of ``attention(q, k, v, ...)``.

    do, o           the gradient of the output, and the output, of its shape and dtype
    lse, dlse       (B, H, SQ) f32: the logsumexp from ``return_lse=True``, and its gradient if it was used
    out             three arrays for the results; made where they are not given
    causal ...      the same arguments as of `attention`
    score_mod       is differentiated by the score (`cl.value_and_derivative` lists what it may compute)
    block_mask      of `create_block_mask`, ours or torch's: its `mask_mod` is applied to all blocks of queries between
                    the first and the last that see a tile's keys; if `deterministic`, to all blocks
    deterministic   add up dq in the order of keys, so that equal inputs give equal bits
    captured        arrays of floats that `score_mod` captured, whose gradients follow dk and dv: f32, in any order
    config          None: the one that was measured best for such a problem
    Arrays          of torch and CuPy on a GPU; of NumPy in the simulator; any strides that TMA takes. JAX's, but not
                    within its transforms, where `jax.grad` of `attention` computes the same
    Memory          while it runs, 4 bytes for each element of q and up to 64 for each of its rows, padded to blocks;
                    with few tiles and several heads of q for one of k also up to 8 for each element of k and v and
                    each head of q
    Errors          ValueError for shapes that do not fit; `cutelite.ArgumentError` for strides that TMA refuses
    """
    _, arrays = checked(modes_of(layout), (q, k, v, do, o), "B H SQ", (lse, dlse), out)
    by_head = [x.swapaxes(1, 2) if layout == "bshd" else x for x in arrays]
    spans: Any = (None, None)
    if block_mask is not None:
        check_alone(causal, window, mask_mod)
        mask = block_mask_of(block_mask, (*by_head[0].shape[:3], by_head[1].shape[2]))
        mask_mod, spans = mask.mask_mod, (None, None) if deterministic else (mask.block, mask.spans)
    mods = softcap, score_mod, mask_mod
    how = causal, window, scale, mods, deterministic, captured, config
    return *arrays[5:], *differentiate(by_head, lse, dlse, *how, Starts(None, None), *spans)


@planned_alone()
def attention_varlen_backward(
    do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, cu_seqlens_q: Any, cu_seqlens_k: Any = None, out: Any = None, *,
    dlse: Any = None, causal: bool | str = False, window: Window = (None, None), softcap: float | None = None,
    scale: float | None = None, score_mod: Mod | None = None, mask_mod: Mod | None = None, deterministic: bool = False,
    captured: tuple[Any, ...] = (), config: Config | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Return dq, dk and dv from the gradient of ``attention_varlen(q, k, v, ...)``: see `attention_backward`.

    q, do, o                    (TQ, H, D); k and v (TK, HK, D)
    lse, dlse                   (H, TQ) f32
    cu_seqlens_q, cu_seqlens_k  the same arguments as of `attention_varlen`. Rows behind the last sequence become 0
    """
    cu_seqlens_k = cu_seqlens_q if cu_seqlens_k is None else cu_seqlens_k
    modes = "TQ H D", "TK HK D", "TK HK DV", "TQ H DV"
    given, arrays = checked(modes, (q, k, v, do, o), "H TQ", (lse, dlse), out)
    check_starts(given, cu_seqlens_q, cu_seqlens_k)
    by_head = [x.reshape((1, *x.shape)).swapaxes(1, 2) for x in arrays]
    lse, dlse = (None if x is None else x.reshape((1, *x.shape)) for x in (lse, dlse))
    how = causal, window, scale, (softcap, score_mod, mask_mod), deterministic, captured, config
    return *arrays[5:], *differentiate(by_head, lse, dlse, *how, Starts(cu_seqlens_q, cu_seqlens_k))


def checked(
    modes: tuple[str, ...], arrays: tuple[Any, ...], of_sums: str, sums: tuple[Any, Any], out: Any
) -> tuple[Arguments, list[Any]]:
    """Check the arrays of a call; return what is known of them, and them with the results, made where `out` is None.

    arrays   q, k, v, do and o; `modes`: of q, k, v and the output
    sums     logsumexps and their gradient, or None, whose modes are `of_sums`
    """
    given, read = Arguments(), dict(zip(("q", "k", "v", "do", "o"), arrays, strict=True))
    for (name, x), mode in zip(read.items(), (*modes, modes[3]), strict=True):
        given.array(name, x, HALVES if name == "q" else "q", mode, rows=True)
    for name, x in zip(("lse", "dlse"), sums, strict=True):
        if x is not None or name == "lse":
            given.array(name, x, "f32", of_sums)
            read[name] = x
    wanted = {f"d{name}": (tuple(read[name].shape), code_of(read["q"])) for name in "qkv"}
    return given, [*arrays, *results(out, wanted, tuple(wanted), **read)]


def differentiate(
    by_head: list[Any], lse: Any, dlse: Any, causal: bool | str, window: Window, scale: float | None,
    mods: tuple[Any, ...], deterministic: bool, learned: tuple[Any, ...], config: Config | None, starts: Starts,
    blocks: tuple[int, int] | None = None, spans: Any = None,
) -> list[Any]:  # fmt: skip
    """Launch the kernels for q, k, v, do, o, dq, dk and dv, which are (B, heads, length, D).

    Return the gradients of `learned`, arrays that `score_mod` captured.

    mods            softcap, `score_mod` and `mask_mod`
    blocks, spans   of a block mask: the sizes of its blocks, and where it has some
    """
    for x in instance("captured", learned, tuple, needed=True):
        is_array("captured", x)
    captured = [plain(x) for x in learned]
    softcap, score_mod, mask_mod = mods
    score_mod = settled(lifted(score_mod, captured, learned), "score_mod", SCORE_MOD)
    mask_mod = settled(lifted(mask_mod, captured), "mask_mod", MASK_MOD)
    (batch, heads, sq, dim), (_, kv_heads, sk, dim_v) = by_head[0].shape, by_head[2].shape
    check_heads(heads, kv_heads, dim, dim_v)
    scale = dim**-0.5 if scale is None else positive("scale", scale)
    softcap = positive("softcap", softcap)
    ragged = starts.queries is not None
    sees, dtype = seen(causal, window, 1 if ragged else sk - sq), dtype_of(code_of(by_head[0]))
    problem = Problem(dtype, dim, dim_v, *sees.ends, score_mod, mask_mod, ragged, blocks, softcap)
    config = instance("config", config, Config)
    sums = summed(score_mod, learned, captured, deterministic)
    found = [x if of.ndim else x.reshape(()) for x, of in zip(sums, learned, strict=False)]
    if left_out():
        return found
    if 0 in (batch, heads, sq, sk):
        for x in by_head[5:]:
            x[...] = 0
        return found
    functions = tuple(captured), spans, sums
    launch(Plan.of(problem, config), by_head, lse, dlse, (scale, *sees.far), bool(deterministic), starts, functions)
    return found


def summed(score_mod: Any, learned: tuple[Any, ...], captured: list[Any], deterministic: bool) -> tuple[Any, ...]:
    """Return zeros for the gradients of `learned`, and None for the rest of what functions captured.

    Errors  `Misfit` for what `score_mod` did not capture, and for results that are to be the same bits each time
    """
    if not learned:
        return ()
    if deterministic:
        raise Misfit("gradients of arrays that functions captured are added up in any order: none are deterministic")
    known = {x.index for x in captured_types(score_mod) if x.learned}
    for i, x in enumerate(learned):
        if i not in known:
            raise Misfit(f"captured[{i}] is no array that score_mod captured")
        if not dtype_of(code_of(x)).is_float:
            raise Misfit(f"captured[{i}] has dtype {x.dtype}, and has no gradient: leave it out")
    made = [zeros(x, tuple(x.shape), "f32") for x in captured[: len(learned)]]
    return *made, *[None] * (len(captured) - len(learned))


def launch(
    plan: Plan, by_head: list[Any], lse: Any, dlse: Any, numbers: tuple[float, int, int, int], deterministic: bool,
    starts: Starts, functions: tuple[Any, ...],
) -> None:  # fmt: skip
    """Launch the kernels.

    numbers    `tiles.Given`, but for `band`
    functions  the arrays that they captured, spans of a block mask, and the sums of gradients of the former
    """
    q, k, v, do, o, dq, dk, dv = by_head
    (batch, heads, sq, dim), (_, kv_heads, sk, _), (_, rows, columns) = q.shape, k.shape, plan.of_rows
    group, parts, at_once, arrays = heads // kv_heads, 1, clusters_at_once(1, q), (None, None, None)
    blocks, tiles = -(-sq // plan.config.rows), -(-sk // plan.keys)
    if plan.problem.ragged:
        count, arrays = starts.queries.shape[0] - 1, (dq, dk, dv)
        blocks, tiles = sq // plan.config.rows + count, sk // plan.keys + count
    else:
        parts = parted(tiles * batch * kv_heads, group, blocks * group, at_once, plan.problem.causal)
        plan = replace(plan, split=parts > 1)
    given = Given(*numbers, banded(dim, sq, group // parts, batch * kv_heads * parts))
    base = empty(lse, (batch, heads, blocks * rows, columns), "bf16" if plan.extended else "f32")
    sums = empty(lse, (batch, heads, blocks, plan.count, plan.columns * ROWS))
    turns = empty(lse, (batch, heads, blocks, plan.adders), "i32") if deterministic else None
    of_parts: tuple[Any, ...] = (None, None)
    if plan.split:
        shape = batch, kv_heads * parts, tiles
        of_parts = tuple(empty(lse, (*shape, plan.pieces(n), plan.keys * n // plan.pieces(n))) for n in plan.dims)
    lse, dlse = contiguous(lse), None if dlse is None else contiguous(dlse)
    grid, threads, scales = blocks * heads * batch, WORKERS * GROUP, (given.scale * 2.0**-plan.lift, 2.0**-plan.lift)
    prepare(plan)[grid, 256](o, do, lse, dlse, base, sums, turns, given, starts, sk)
    gradients(plan)[cl.Launch(min(tiles * kv_heads * parts * batch, at_once), plan.threads, pdl=True)](
        q, k, v, do, base, sums, turns, counter(q), (dk, dv), given, starts, arrays[1:], of_parts, *functions
    )
    finish(plan, 2)[cl.Launch(grid, threads, pdl=True)](dq, sums, scales[0], arrays[0], starts)
    if plan.split:
        for which, (grad, part, scale) in enumerate(zip((dk, dv), of_parts, scales, strict=True)):
            finish(plan, which)[cl.Launch(tiles * kv_heads * batch, threads, pdl=True)](grad, part, scale, None, starts)
