"""`cumsum`: the sums of a row's elements up to each, in one pass, for rows of any length.

A block has a tile of a row, and finds the sum before it by look-back (`cutelite.lib.scan`); or several short rows. Few
rows of up to `LARGE` tiles are shared by clusters, whose blocks tell each other their sums.
"""

import sys
import warnings
from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32, i64
from cutelite.kernels.arguments import in_words_of_caller, result_like
from cutelite.kernels.arrays import flags, zeros
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import DTYPES, WHOLE, Rows, countable, derived
from cutelite.kernels.rows.plan import ACCESS, LARGE, LEAD, MOST_BLOCKS, MULTIPROCESSORS, pitches, sharing
from cutelite.kernels.rows.reduce import last
from cutelite.target.targets import WARP
from cutelite.tuples import NamedTuple

M, N, S = cl.dims("M N S:2")  # rows, columns, halves of words of state
TILE = 32 << 10  # bytes of a tile
EACH, SUMS = 32, 4  # elements of a thread, whose sums registers hold; those of so many vectors are scanned together
HELD = 1024  # threads of a multiprocessor
LEAST = 8 << 10  # bytes of a row for each of the blocks that share it as a cluster
KEPT = 2048  # halves of words that are kept from launch to launch; more are cleared before


class Part(NamedTuple):
    """A division of rows among threads.

    threads  of a tile
    pieces   vectors of each
    block    threads of a block
    cluster  blocks that have a row, a tile each; 1: a block has one tile, or several rows
    """

    threads: int
    pieces: int
    block: int
    cluster: int


@cache
def build(dtype: Any, aligned: int, out_aligned: int, part: Part, kept: bool) -> Any:
    """Make the kernel: vectors of a thread are summed up, then those of threads, of pieces, and of tiles.

    part  a block has several rows that are no longer than a tile, or a tile
    kept  states are zeros at the end, too
    """
    (P,), (Q,) = pitches("P", aligned), pitches("Q", out_aligned)
    vector, kind = ACCESS // dtype.bytes, i32 if dtype == i32 else f32
    threads, pieces, block, cluster = part
    size, few = threads * pieces * vector, min(pieces, SUMS)

    @cl.kernel(block=block, min_blocks=HELD // block, cluster=cluster)
    def cumulative(
        x: Tensor[dtype, (M, N), (P, 1)], y: Tensor[dtype, (M, N), (Q, 1)],
        words: Tensor[i32, (S,), cl.align(8)] | None,
    ) -> None:  # fmt: skip
        team = cl.Team.create(threads, reductions=pieces // few)
        blocks = team if cluster == 1 else cl.Team.create(threads, cluster=cluster, reductions=1)
        alone, share = words is None, cl.shared(kind, (1,))
        states = None if words is None else words.recast(i64)
        tiles = 1 if alone else cl.ceil_div(N, size)
        number = blocks.number() if alone else cl.next_tile(states)
        later = number + LEAD // TILE
        if team.teams == cluster == 1 and (later // tiles < M) & ((later % tiles + 1) * size <= N):
            cl.RowTile(later % tiles * size, None, vector, pieces).ask_for(x[later // tiles, None])
        row, at = (number, blocks.rank) if alone else (number // tiles, number % tiles)
        tile = cl.RowTile(at * size, N, vector, pieces, threads)
        v = tile.load(x[row if team.teams == 1 else min(row, M - 1), None]).to(kind)
        upto, sums = cl.make_rmem_tensor(kind, tile.shape), cl.make_rmem_tensor(kind, (pieces,))
        for i in cl.static_range(pieces):
            total = kind(0)
            for j in cl.static_range(vector):
                total = total + v[j, i]
                upto[j, i] = total
            sums[i] = total
        whole, lower = kind(0), kind(0)
        for start in cl.static_range(0, pieces, few):
            before, all = team.scan(sums.load()[start : start + few], cl.full((few,), 0, kind))
            for i in cl.static_range(few):
                sums[start + i], whole = before[i] + whole, whole + all[i]
        if cluster > 1:
            blocks.ready()
            lower, _ = blocks.scan(cl.where(team.lane == threads - 1, whole, kind(0)), kind(0))
        elif not alone:
            if cl.thread_idx.x < WARP:
                found = cl.look_back(states, number, whole, kind(0), first=row * tiles)
                if cl.thread_idx.x == 0:
                    share[0] = found
            cl.syncthreads()
            lower = share[0]
        for i in cl.static_range(pieces):
            before = lower + sums[i]
            upto[None, i].store(upto[None, i].load() + before)
        if team.teams == 1 or row < M:
            tile.store(upto.load().to(dtype), y[row, None])
        if kept and last(words, S - 4, cl.grid_dim.x):
            for i in range(cl.thread_idx.x, S // 2, block):
                states[i] = i64(0)

    return cumulative


def parted(dtype: Any, m: int, n: int, most: int = LARGE) -> Part:
    """Return which threads have how much of m rows of n elements; `most`: blocks of a cluster."""
    vector, block = ACCESS // dtype.bytes, TILE // dtype.bytes // EACH
    cluster = sharing(n * dtype.bytes, LEAST, most) if n else 1
    each = -(-n // cluster)
    if cluster > 1 and m * cluster <= MULTIPROCESSORS and each * dtype.bytes <= TILE:
        threads = max(WARP, sharing(each, 2 * vector, HELD // 2))
        return Part(threads, max(2, sharing(each, threads * vector, EACH // vector)), threads, cluster)
    return Part(sharing(n, EACH, block), EACH // vector, block, 1)


def check_order(x: Any) -> None:
    """Refuse a tensor of floats where torch wants what is the same in every run. Errors: RuntimeError."""
    torch = sys.modules.get("torch")
    strict = torch is not None and torch.are_deterministic_algorithms_enabled() and isinstance(x, torch.Tensor)
    if strict and x.is_floating_point():
        text = "cumsum of so many and long rows adds up floats in an order that differs from run to run"
        if not torch.is_deterministic_algorithms_warn_only_enabled():  # type: ignore[union-attr]
            raise RuntimeError(text)
        warnings.warn(text, stacklevel=2)


@planned
@in_words_of_caller
def cumsum(x: Any, *, out: Any = None) -> Any:
    """Compute, for each element, the sum of its row up to it.

    x       (..., n), bf16, f16 or f32, summed up in f32, or i32
    out     where to write; may be x
    Errors  `cl.ArgumentError` for other arrays. RuntimeError, as in torch, where `torch.use_deterministic_algorithms`
            is on, for floats in rows of more than 32 KB: these are added in an order that differs from run to run, but
            for few rows of up to 512 KB
    """
    if (made := derived(x, out=out)) is not None:
        return made.cumsum(x)
    rows = Rows(x, "x", most=None, kinds=DTYPES | WHOLE)
    part = parted(rows.dtype, rows.m, rows.n)
    if part.cluster == LARGE and not rows.at_once(LARGE):
        part = parted(rows.dtype, rows.m, rows.n, MOST_BLOCKS)
    tiles = 1 if part.cluster > 1 else -(-rows.n // (part.threads * EACH))
    if tiles > 1:
        check_order(x)
    countable("x", rows.m * tiles)
    y = result_like(x, out)
    results = Rows(y, "out", most=None, kinds=DTYPES | WHOLE, written=True).like(rows, "out")
    results.over("out", x=None if out is None else rows)
    if rows.m * tiles:
        words = 2 * (rows.m * tiles + 2)  # of tiles, of those that have ended, and of those that have begun
        kept = tiles > 1 and words <= KEPT
        states = flags(x, words) if kept else zeros(x, (words,), "i32") if tiles > 1 else None
        kernel = build(rows.dtype, rows.vector, results.vector, part, kept)
        grid = part.cluster * -(-rows.m * tiles * part.threads // part.block)
        kernel[grid, part.block](rows.matrix, results.matrix, states)
    return y
