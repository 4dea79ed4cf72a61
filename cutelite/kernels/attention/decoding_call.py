"""`decode` on arrays: attention of few queries to a cache of keys and values."""

from __future__ import annotations

from typing import Any

import cutelite as cl
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import HALVES, Arguments, ArrayError, as_flag, as_number, instance, is_torch, underived
from cutelite.kernels.arrays import clusters_at_once, code_of, dtype_of, empty, flags
from cutelite.kernels.attention import combining
from cutelite.kernels.attention.call import Mod, Seen, Window, check_heads, positive, seen
from cutelite.kernels.attention.decoding import THREADS, Plan, build, chosen
from cutelite.kernels.attention.parts import Config, keys_of_block
from cutelite.kernels.attention.scores import MASK_MOD, ROWS, SCORE_MOD, Problem
from cutelite.kernels.attention.splitting import CLUSTERS, HEADS, Split, Work, fastest
from cutelite.kernels.functions import lifted, settled
from cutelite.kernels.lent import takes_jax
from cutelite.kernels.planning import planned, planned_whole

MOST_KEYS = (1 << 31) - 512
"""Keys of a sequence: the ends of blocks, and of parts, are numbers of 32 bits too."""


@planned_whole()
@underived()
@takes_jax(traced="attention.on_jax.decode")
def decode(
    q: Any, k: Any, v: Any, out: Any = None, *, lengths: Any = None, starts: Any = None, table: Any = None,
    causal: bool | str = True, window: Window = (None, None), softcap: float | None = None, scale: float | None = None,
    score_mod: Mod | None = None, mask_mod: Mod | None = None, sinks: Any = None, return_lse: bool = False,
    splits: int | None = None, config: Config | None = None, early: bool = False,
) -> Any:  # fmt: skip
    """Attention of few queries to a cache of keys and values; `attention` explains the other parameters.

    q        (B, SQ, H, D): one query of each sequence, or several; all are behind its earlier keys
    k, v     (B, SK, HK, D) and (B, SK, HK, DV): sequences in one piece; with `table` (PAGES, PAGE, HK, D) and (PAGES,
             PAGE, HK, DV): pages of any size, of which multiples of 4 are read fastest
    out      (B, SQ, H, DV)
    lengths  (B,) i32: keys of each sequence, those of the queries included: from 0 to SK, or SLOTS * PAGE, and what is
             beyond counts as these; None: as many
    starts   (B,) i32: the first key of each sequence, as of padding in front; None: 0. What is before it must be finite
    table    (B, SLOTS) i32: the pages of each sequence, one after the other. Entries behind its last page, and of pages
             before `starts` or the window, may be anything. Others that are no page's are reported in the simulator,
             and on a GPU with assertions; without, they count as pages of zeros
    score_mod, mask_mod  `q_idx` is the query's number, from 0 to SQ - 1, and `kv_idx` the key's place in the sequence,
             from 0 on also with `starts`. A query's own place is ``lengths[b] - SQ + q_idx``
    causal   True: the last query sees all keys of its sequence, the one before all but the last, and so on; False
    early    keys of the cache but those of the queries, `lengths`, `starts` and `table` are complete before the kernel
             ahead begins, and any that still runs then: they are loaded at once. So it is from a model's second layer
             on, if only each layer's own keys are new
    splits   the most parts that the keys of a sequence are split into; None: as many as are predicted to be fastest
    Memory   4 bytes for each element of `out` and each split, while it runs; of equal shares 128 KB a multiprocessor
    Arrays   as of `attention`, but for gradients, of which there are none; within JAX's transforms `starts`, functions,
             `splits`, `config` and `early` are refused
    Errors   ValueError for shapes that do not fit; `cutelite.ArgumentError` for strides that TMA refuses
    """
    if is_torch(q):
        from cutelite.kernels.attention import operators

        q, k, v = operators.under_autocast(q, k, v)
        (left, right, _), splits = seen(causal, window, 0), as_count("splits", splits)
        plain = (score_mod, mask_mod, config) == (None,) * 3 and not right
        if plain and operators.fits_operator(out, return_lse, q, k, v, lengths, starts, table, sinks):
            given = q, k, v, lengths, table, sinks, operators.aligned(causal), left, softcap, scale
            if out is not None:
                operators.decode.into(*given, out, starts, splits, early)
                return out
            found = operators.decode(*given, starts, splits, early)
            return found if return_lse else found[0]
    return attend_decode(
        q, k, v, out, lengths=lengths, starts=starts, table=table, causal=causal, window=window, softcap=softcap,
        scale=scale, score_mod=score_mod, mask_mod=mask_mod, sinks=sinks, return_lse=return_lse, splits=splits,
        config=config, early=early,
    )  # fmt: skip


@untraced
@planned
def attend_decode(
    q: Any, k: Any, v: Any, out: Any = None, *, lengths: Any = None, starts: Any = None, table: Any = None,
    causal: bool | str = True, window: Window = (None, None), softcap: float | None = None, scale: float | None = None,
    score_mod: Mod | None = None, mask_mod: Mod | None = None, sinks: Any = None, return_lse: bool = False,
    splits: int | None = None, config: Config | None = None, early: bool = False,
) -> Any:  # fmt: skip
    """Compute `decode`, for arrays that hold data."""
    given, pieces = Arguments(), "B SK" if table is None else "PAGES PAGE"
    given.array("q", q, HALVES, "B SQ H D", rows=True)
    given.array("k", k, "q", f"{pieces} HK D", rows=True)
    given.array("v", v, "q", f"{pieces} HK DV", rows=True)
    check_cache(given, lengths, table)
    if starts is not None:
        given.array("starts", starts, "i32", "B")
    if sinks is not None:
        given.array("sinks", sinks, "f32", "H", dense=True)
    (batch, sq, heads, dim), (pages, page, kv_heads, dim_v) = q.shape, v.shape
    check_heads(heads, kv_heads, dim, dim_v)
    scale = dim**-0.5 if scale is None else positive("scale", scale)
    out = given.result(out, q, "q", "B SQ H DV", apart={"q": q, "k": k, "v": v})
    lse = empty(q, (batch, heads, sq), "f32")
    splits = as_count("splits", splits)
    keys = room_for(pages, page, table)
    sees = seen(causal, window, 1)
    softcap = positive("softcap", softcap)
    if 0 in lse.shape or left_out():
        return (out, lse) if return_lse else out
    if keys == 0:
        out[...], lse[...] = 0, -float("inf") if sinks is None else sinks[:, None]
        return (out, lse) if return_lse else out
    dtype, arrays = dtype_of(code_of(q)), list[Any]()
    mod = settled(lifted(score_mod, arrays), "score_mod", SCORE_MOD)
    mask = settled(lifted(mask_mod, arrays), "mask_mod", MASK_MOD)
    problem = Problem(dtype, dim, dim_v, *sees.ends, mod, mask, softcap=softcap)
    asked = instance("config", config, Config)
    config = asked or chosen(dim)
    together = heads // kv_heads
    tiles = -(-sq * together // ROWS) * kv_heads * batch
    block = keys_of_block(config.columns, 0 if table is None else page)
    low = None if sees.left is None or not sees.offset else sees.left + sq  # keys before the end that a query may see
    most = keys if low is None else min(keys, low)
    count, alike = -(-most // block), lengths is starts is None or batch == 1
    split = Split(splits) if splits else picked(q, v, most, tiles, count, config.beside, alike)
    if asked is None and split.blocks(tiles) <= clusters_at_once(1, q):
        config = chosen(dim, lone=True)
    plan = Plan(config, problem, together, 0 if table is None else page, split.cluster, as_flag("early", early))
    if split.even:
        rest = out, lse, lengths, starts, table, sinks, problem.factor(scale), sees.far, tuple(arrays)
        attend_shares(plan, split, q, k, v, *rest)
        return (out, lse) if return_lse else out
    splits = nonempty(count, split.parts)
    through_memory = splits > 1 and not split.cluster
    kernel = build(config, problem, together, plan.page, through_memory, split.cluster, early=plan.early)
    more = lengths, starts, table, sinks, problem.factor(scale), *sees.far, tuple(arrays)
    grid = cl.Launch((tiles, splits), THREADS, pdl=True, cluster=(1, splits) if split.cluster else None)
    to = room(out, lse, splits) if through_memory else (out, lse)
    kernel[grid](q, k.swapaxes(1, 2), v.swapaxes(1, 2), *to, *more)
    if through_memory:
        combine(*to, out, lse, lengths, sinks, keys, sees, block, starts)
    return (out, lse) if return_lse else out


def attend_shares(
    plan: Plan, split: Split, q: Any, k: Any, v: Any, out: Any, lse: Any, lengths: Any, starts: Any, table: Any,
    sinks: Any, factor: float, places: tuple[int, ...], arrays: tuple[Any, ...],
) -> None:  # fmt: skip
    """Launch the kernel by equal shares.

    factor   of products
    places   what says which keys a query sees, as `OfParts.seen` takes it
    """
    sq, dim_v = q.shape[1], plan.problem.dim_v
    kernel = build(plan.config, plan.problem, plan.together, plan.page, False, even=True, early=plan.early)
    ranks, count = min(ROWS, sq * plan.together), split.parts
    parts, sums = empty(q, (2 * count, ranks, dim_v), "f32"), empty(q, (2 * count, ranks), "f32")
    rest = lengths, starts, table, sinks, factor, *places, arrays, (parts, sums, flags(q, count))
    grid = cl.Launch((split.even, count // split.even), THREADS, pdl=True)
    kernel[grid](q, k.swapaxes(1, 2), v.swapaxes(1, 2), out, lse, *rest)


def picked(q: Any, v: Any, keys: int, tiles: int, blocks: int, beside: int, alike: bool) -> Split:
    """Return the split of sequences of `keys` keys that is predicted to be the fastest; `splitting` has the others."""
    (batch, sq, heads, dim), (*_, kv_heads, dim_v) = q.shape, v.shape
    read, outputs = 2 * batch * keys * kv_heads * (dim + dim_v), batch * heads * sq * dim_v
    numbers = HEADS[min(known for known in HEADS if known >= dim)]
    runs = tuple(clusters_at_once(size, q) for size in (1, *CLUSTERS))
    return fastest(Work(tiles, blocks, dim + dim_v, outputs, read, beside, kv_heads), numbers, runs, alike)


def as_count(name: str, number: Any) -> int | None:
    """Return a number of things, at least one, or None."""
    return None if number is None else int(as_number(name, number, whole=True, least=1))


def nonempty(blocks: int, splits: int) -> int:
    """Return how many of up to `splits` parts, all but the last one equal, a sequence of `blocks` fills."""
    return -(-blocks // -(-blocks // min(splits, combining.MOST_SPLITS)))


def room(out: Any, lse: Any, splits: int) -> tuple[Any, Any]:
    """Return new arrays for parts of `out` and `lse`."""
    *rows, dim = out.shape
    return empty(out, (*rows, splits, dim), "f32"), empty(out, (*lse.shape, splits), "f32")


def combine(
    parts: Any, sums: Any, out: Any, lse: Any, lengths: Any, sinks: Any, keys: int, sees: Seen, columns: int,
    starts: Any = None,
) -> None:  # fmt: skip
    """Launch the kernel of `combining.of_rows`, which explains the parameters.

    It starts while the kernel that computes parts still runs.
    """
    batch, sq, heads, dim = out.shape
    sharing, warps, grid = combining.chosen(batch * sq * heads, dim, parts.shape[3], clusters_at_once(1, out))
    kernel = combining.of_rows(dtype_of(code_of(out)), dim, columns, sees.left is not None, sharing, warps)
    kernel[grid](parts, sums, out, lse, lengths, starts, sinks, keys, *sees.far[:2])


def check_cache(given: Arguments, lengths: Any, table: Any) -> None:
    """Check what says where the keys of sequences are: `decode` has its parameters. Errors: those of `Arguments`."""
    if lengths is not None:
        given.array("lengths", lengths, "i32", "B")
    if table is not None:
        given.array("table", table, "i32", "B SLOTS")


def room_for(pages: int, page: int, table: Any) -> int:
    """Return how many keys a sequence may have, in a cache of this shape."""
    keys = page if table is None else int(page * table.shape[1] * (pages > 0))
    if keys > MOST_KEYS:
        raise ArrayError(f"a sequence has room for {keys} keys: {MOST_KEYS} are possible")
    return keys
