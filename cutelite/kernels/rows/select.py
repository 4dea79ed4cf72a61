"""The greatest elements of rows: argmax and top-k. Rows may have any length (`ranked.py`)."""

from functools import cache, partial
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32, i64, u32, u64
from cutelite.kernels.arguments import as_number, in_words_of_caller, results
from cutelite.kernels.arrays import empty, flags
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import Access, Rows, derived, flat
from cutelite.kernels.rows.keys import ALL, ordered
from cutelite.kernels.rows.plan import ACCESS, Plan, pitches
from cutelite.kernels.rows.plans import plan_fold
from cutelite.kernels.rows.ranked import CANDIDATES, Row, alone, at_least, bounded, rank
from cutelite.kernels.rows.reduce import ACCESSES, BLOCKS, THREADS, last
from cutelite.tuples import NamedTuple

M, N, S, G = cl.dims("M N S G")  # rows, columns, parts of a row, rows or more
MOST_K = 2048  # of the greatest elements, which are sorted in shared memory


class Best(NamedTuple):
    """The greatest key, and the first column that has it."""

    key: u32
    column: i32


def better(a: Best, b: Best) -> Best:
    """Return the greater of two; of equal ones the first."""
    if b.key > a.key or (b.key == a.key and b.column < a.column):
        return b
    return a


@cache
def greatest(dtype: Any, n: int, p: Plan) -> Any:
    """Make the kernel that finds the greatest element of each row, and its column."""
    (P,) = p.pitches("P")

    @cl.kernel(**p.options)
    def argmax(x: Tensor[dtype, (M, n), (P, 1)], values: Tensor[dtype, (M,)], columns: Tensor[i64, (M,)]) -> None:
        team, part = p.team(n)
        number = team.number()
        row = min(number, M - 1)  # teams of a warp reduce together

        def step(best: Best, v: Any, some: Any) -> Best:
            keys = some.keep(ordered(v.to(f32)), u32(0))
            top = keys.reduce("max")
            if top > best.key:
                return Best(top, cl.where(keys == top, some.columns(), i32(n)).reduce("min"))
            return best

        part.turn_to(x[row, None], row == 0, row == M - 1)
        best = part.fold(x[row, None], Best(u32(0), i32(n)), step)
        team.ready()
        best = team.reduce(best, better)
        if number < M and team.lane == 0 and team.rank == 0:
            columns[row] = best.column.to(i64)
            values[row] = x[row, best.column]

    return argmax


@cache
def greatest_of_parts(dtype: Any, aligned: int) -> Any:
    """Make the kernel that finds the greatest of each row in parts: of each its key, and below it ALL less its column.

    Who is the last of a row to have its part finds the greatest of all.
    """
    (P,), vector = pitches("P", aligned), ACCESS // dtype.bytes
    size = THREADS * ACCESSES * vector

    @cl.kernel(block=THREADS, min_blocks=BLOCKS)
    def argmax(
        x: Tensor[dtype, (M, N), (P, 1)], values: Tensor[dtype, (M,)], columns: Tensor[i64, (M,)],
        found: Tensor[u64, (M, S)], arrived: Tensor[i32, (G,)],
    ) -> None:  # fmt: skip
        team, row, part = cl.Team.create(reductions=2), cl.block_idx.x // S, cl.block_idx.x % S
        best = Best(u32(0), i32(0))
        for at in range(part, cl.ceil_div(N, size), S):
            tile = cl.RowTile(at * size, N, vector, ACCESSES)
            keys = ordered(tile.load(x[row, None]).to(f32))
            if tile.begin + size > N:
                keys = cl.where(tile.columns() < N, keys, u32(0))
            top = keys.reduce("max")
            if top > best.key:
                best = Best(top, cl.where(keys == top, tile.columns(), N).reduce("min").to(i32))
        best = team.reduce(best, better)
        if cl.thread_idx.x == 0:
            found[row, part] = (best.key.to(u64) << 32) | (ALL - best.column.to(u64))
        if last(arrived, row, S):
            all = u64(0)
            for i in range(cl.thread_idx.x, S, THREADS):
                all = max(all, found[row, i])
            all = team.reduce(all, "max")
            if cl.thread_idx.x == 0:
                column = (ALL - (all & ALL)).to(i64)
                columns[row], values[row] = column, x[row, column]

    return argmax


class Found(NamedTuple):
    """Elements of each row, of its dtype, and their columns, int64."""

    value: Any
    column: Any


@planned
@in_words_of_caller
def argmax(x: Any, *, out: Any = None, how: Plan | None = None) -> Found:
    """Find the greatest element of each row, and the first column that has it. NaN is the greatest.

    x       (..., n), bf16, f16 or f32
    out     two arrays to write to, of the results' shapes and dtypes, without gaps; by default new ones
    how     the `Plan`: which threads work on a row; default: by its length
    Gives   (...) each
    Errors  `cl.ArgumentError` for arrays that do not fit
    """
    if (made := derived(x, out=out)) is not None:
        return Found(*made.argmax(x))
    rows, leading = Rows(x, "x"), tuple(x.shape[:-1])
    if rows.n == 0:
        raise cl.ArgumentError(f"x has shape {tuple(x.shape)}: there is no greatest of no elements")
    values, columns = results(out, {"value": (leading, rows.dtype.name), "column": (leading, "i64")}, x=x)
    size, made = THREADS * ACCESSES * ACCESS // rows.dtype.bytes, (flat(values, rows.m), flat(columns, rows.m))
    if how is None and rows.n > 2 * size and 0 < rows.m < rows.at_once(1):
        parts = min(-(-rows.n // size), BLOCKS * rows.at_once(1) // rows.m)
        greatest_of_parts(rows.dtype, rows.vector)[rows.m * parts, THREADS](
            rows.matrix, *made, empty(x, (rows.m, parts), "u64"), flags(x, rows.m)
        )
        return Found(values, columns)
    p = Access.of([rows]).plan(how, plan_fold, any_size=True).only()
    greatest(rows.dtype, rows.n, p)[p.launch(rows)](rows.matrix, *made)
    return Found(values, columns)


@cache
def tops(dtype: Any, n: int, k: int, p: Plan) -> Any:
    """Make the kernel that finds the k greatest elements of each row in descending order, and their columns.

    Of elements equal to the k-th those in the first columns are taken.
    """
    (P,) = p.pitches("P")
    size = max(CANDIDATES, k if k > bounded(p) else 2 * k)

    @cl.kernel(**p.options)
    def top_k(x: Tensor[dtype, (M, n), (P, 1)], values: Tensor[dtype, (M, k)], columns: Tensor[i64, (M, k)]) -> None:
        r, room, count = Row.of(p, x), cl.shared(u64, (size,)), i32(size + 1)
        row, team, lane = r.number, r.team, r.team.lane
        if k <= bounded(p):
            count = r.collect(room, at_least(r.bound(k)))
        if count > size:
            r.collect_exactly(room, k)
            count = i32(k)
        if team.rank > 0:
            for i in range(lane, count, p.threads):
                room[i] = r.first(room)[i]
            r.own.sync()
        for i in range(team.rank * p.threads + lane, count, p.threads * p.cluster):
            mine = room[i]
            place = rank(room, count, mine)
            if place < k:
                column = (ALL - (mine & ALL)).to(i64)
                columns[row, place] = column
                values[row, place] = x[row, column]
        team.leave()

    return top_k


@planned
@in_words_of_caller
def top_k(x: Any, k: int, *, out: Any = None, how: Plan | None = None) -> Found:
    """Find the k greatest elements of each row, in descending order; of equal ones those in the first columns.

    x       (..., n), bf16, f16 or f32; NaN is the greatest
    k       0 to the smaller of n and 2048
    out     two arrays to write to, of the results' shapes and dtypes, without gaps; by default new ones
    how     the `Plan`: which threads work on a row; default: by its length
    Gives   (..., k) each
    Errors  `cl.ArgumentError` for other arrays and k
    """
    if (made := derived(x, out=out)) is not None:
        return Found(*made.top_k(x, k))
    rows, leading = Rows(x, "x"), tuple(x.shape[:-1])
    k = as_number("k", k, whole=True)
    if not 0 <= k <= min(rows.n, MOST_K):
        most = min(rows.n, MOST_K)
        raise cl.ArgumentError(f"k is {k}, for x with rows of {rows.n} elements: it must be from 0 to {most}")
    shape = (*leading, k)
    values, columns = results(out, {"value": (shape, rows.dtype.name), "column": (shape, "i64")}, x=x)
    if not k:
        return Found(values, columns)
    p = Access.of([rows]).plan(how, partial(rows.planned, alone, rows.m)).only()
    kernel = tops(rows.dtype, rows.n, k, p)
    kernel[rows.m * p.cluster, p.block](rows.matrix, values.reshape((rows.m, k)), columns.reshape((rows.m, k)))
    return Found(values, columns)
