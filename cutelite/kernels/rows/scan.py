"""`cumsum`: the sums of a row's elements up to each, in one pass, for rows of any length.

A block has a tile of a row, and finds the sum before it by look-back (`cutelite.lib.scan`); or several short rows.
"""

import sys
import warnings
from functools import cache, wraps
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32, i64
from cutelite.dispatch.mistakes import around_users_code
from cutelite.kernels.arguments import in_words_of_caller, result_like
from cutelite.kernels.arrays import flags, zeros
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import DTYPES, WHOLE, Rows, countable, derived
from cutelite.kernels.rows.plan import ACCESS, LEAD, pitches, sharing
from cutelite.kernels.rows.reduce import last
from cutelite.target.targets import WARP

M, N, S = cl.dims("M N S:2")  # rows, columns, halves of words of state
TILE = 32 << 10  # bytes of a tile
EACH = 32  # elements of a thread, whose sums registers hold
HELD = 1024  # threads of a multiprocessor
KEPT = 2048  # halves of words that are kept from launch to launch; more are cleared before


@cache
def build(dtype: Any, aligned: int, out_aligned: int, threads: int, kept: bool) -> Any:
    """Make the kernel: vectors of a thread are summed up, then those of threads, of pieces, and of tiles.

    threads  of a tile; a block has several rows that are no longer, or a tile
    kept     states are zeros at the end, too
    """
    (P,), (Q,) = pitches("P", aligned), pitches("Q", out_aligned)
    vector, kind, block = ACCESS // dtype.bytes, i32 if dtype == i32 else f32, threads_of(dtype)
    size, pieces = threads * EACH, EACH // vector

    @cl.kernel(block=block, min_blocks=HELD // block)
    def cumulative(
        x: Tensor[dtype, (M, N), (P, 1)], y: Tensor[dtype, (M, N), (Q, 1)],
        words: Tensor[i32, (S,), cl.align(8)] | None,
    ) -> None:  # fmt: skip
        team = cl.Team.create(threads, reductions=2)
        alone, share = words is None, cl.shared(kind, (1,))
        states = None if words is None else words.recast(i64)
        tiles = 1 if alone else cl.ceil_div(N, size)
        number = team.number() if alone else cl.next_tile(states)
        later = number + LEAD // TILE
        if team.teams == 1 and (later // tiles < M) & ((later % tiles + 1) * size <= N):
            cl.RowTile(later % tiles * size, None, vector, pieces).ask_for(x[later // tiles, None])
        row, at = number // tiles, number % tiles
        tile = cl.RowTile(at * size, N, vector, pieces, threads)
        v = tile.load(x[row if team.teams == 1 else min(row, M - 1), None]).to(kind)
        upto, sums = cl.make_rmem_tensor(kind, tile.shape), cl.make_rmem_tensor(kind, (pieces,))
        for i in cl.static_range(pieces):
            total = kind(0)
            for j in cl.static_range(vector):
                total = total + v[j, i]
                upto[j, i] = total
            sums[i] = total
        whole, half = kind(0), pieces // 2
        for start in (0, half):
            before, all = team.scan(sums.load()[start : start + half], cl.full((half,), 0, kind))
            for i in cl.static_range(half):
                sums[start + i], whole = before[i] + whole, whole + all[i]
        if not alone:
            if cl.thread_idx.x < WARP:
                found = cl.look_back(states, number, whole, kind(0), first=row * tiles)
                if cl.thread_idx.x == 0:
                    share[0] = found
            cl.syncthreads()
        for i in cl.static_range(pieces):
            before = sums[i] if alone else share[0] + sums[i]
            upto[None, i].store(upto[None, i].load() + before)
        if team.teams == 1 or row < M:
            tile.store(upto.load().to(dtype), y[row, None])
        if kept and last(words, S - 4, cl.grid_dim.x):
            for i in range(cl.thread_idx.x, S // 2, block):
                states[i] = i64(0)

    return cumulative


def threads_of(dtype: Any) -> int:
    """Return the number of threads of a block."""
    threads: int = TILE // dtype.bytes // EACH
    return threads


def in_order(function: Any) -> Any:
    """Decorator of `cumsum`: refuse long rows where torch wants what is the same in every run, planned or not."""

    @wraps(function)
    def call(x: Any, *, out: Any = None) -> Any:
        torch = sys.modules.get("torch")
        strict = torch is not None and torch.are_deterministic_algorithms_enabled() and isinstance(x, torch.Tensor)
        if strict and x.is_floating_point() and x.shape[-1:].numel() * x.element_size() > TILE:
            text = "cumsum of rows of more than 32 KB adds up floats in an order that differs from run to run"
            if not torch.is_deterministic_algorithms_warn_only_enabled():  # type: ignore[union-attr]
                raise RuntimeError(text)
            warnings.warn(text, stacklevel=2)
        return function(x, out=out)

    return around_users_code(call)


@in_order
@planned
@in_words_of_caller
def cumsum(x: Any, *, out: Any = None) -> Any:
    """Compute, for each element, the sum of its row up to it.

    x       (..., n), bf16, f16 or f32, summed up in f32, or i32
    out     where to write; may be x
    Errors  RuntimeError, as in torch, where `torch.use_deterministic_algorithms` is on, for floats in rows of more than
            32 KB: these are added in an order that differs from run to run
    """
    if (made := derived(x, out=out)) is not None:
        return made.cumsum(x)
    rows = Rows(x, "x", most=None, kinds=DTYPES | WHOLE)
    block = threads_of(rows.dtype)
    threads = sharing(rows.n, EACH, block)
    tiles = -(-rows.n // (threads * EACH))
    countable("x", rows.m * tiles)
    y = result_like(x, out)
    results = Rows(y, "out", most=None, kinds=DTYPES | WHOLE, written=True).like(rows, "out")
    results.over("out", x=None if out is None else rows)
    if rows.m * tiles:
        words = 2 * (rows.m * tiles + 2)  # of tiles, of those that have ended, and of those that have begun
        kept = tiles > 1 and words <= KEPT
        states = flags(x, words) if kept else zeros(x, (words,), "i32") if tiles > 1 else None
        kernel = build(rows.dtype, rows.vector, results.vector, threads, kept)
        kernel[-(-rows.m * tiles * threads // block), block](rows.matrix, results.matrix, states)
    return y
