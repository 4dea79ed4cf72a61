"""Sums, means, and extremes of whole arrays and along either mode of a matrix; the same in every run.

Rows: some threads go through each, as few as have a tile of it. Columns: each block has some of them, and a part of the
rows; a second launch combines the parts, always in the same order. A whole array is one row in parts.
"""

import math
from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32
from cutelite.kernels.arguments import as_number, in_words_of_caller, is_array, one_of, results
from cutelite.kernels.arrays import empty
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import Rows, countable, derived
from cutelite.kernels.rows.keys import number, ordered
from cutelite.kernels.rows.plan import ACCESS, pitches, sharing
from cutelite.target.targets import WARP

M, N, S = cl.dims("M N S")  # rows, columns, parts
THREADS, ACCESSES, BLOCKS = 256, 4, 4  # of a block; accesses of 16 bytes of a thread; blocks of a multiprocessor
DEEP, FEW = 8, 2  # rows that a thread of such a block loads together; blocks of a multiprocessor
OPERATIONS = ("sum", "mean", "max", "min")


def prepared(v: Any, operation: str) -> Any:
    """Return elements in the form that is combined: for extremes, integers of the same order, NaN the greatest."""
    if operation in ("sum", "mean"):
        return v.to(f32)
    return ordered(v.to(f32) if operation == "max" else -v.to(f32))


def finished(x: Any, operation: str, count: Any) -> Any:
    """Return the result for `count` elements that have been combined."""
    if operation in ("sum", "mean"):
        return x / cl.f32(count) if operation == "mean" else x
    return number(x) if operation == "max" else -number(x)


def combination(operation: str) -> tuple[str, str, Any]:
    """Return the names by which vectors and threads are combined, and the neutral number."""
    return ("sum", "add", f32) if operation in ("sum", "mean") else ("max", "max", cl.u32)


@cache
def of_rows(dtype: Any, to: Any, operation: str, aligned: int, threads: int) -> Any:
    """Make the kernel that combines each part of each row, by so many threads: (rows, parts)."""
    (P,), vector = pitches("P", aligned), ACCESS // dtype.bytes
    inner, outer, kind = combination(operation)
    size = threads * ACCESSES * vector

    @cl.kernel(block=THREADS, min_blocks=BLOCKS)
    def rows(x: Tensor[dtype, (M, N), (P, 1)], out: Tensor[to, (M, S)], total: cl.i64) -> None:
        team = cl.Team.create(threads, reductions=1)
        number, found = team.number(), cl.full((ACCESSES,), 0, kind)
        row, part = min(number // S, M - 1), number % S
        for at in range(part, cl.ceil_div(N, size), S):
            tile = cl.RowTile(at * size, N, vector, ACCESSES, threads)
            v = prepared(tile.load(x[row, None]), operation)
            if tile.begin + size > N:
                v = cl.where(tile.columns() < N, v, kind(0))
            v = v.reduce(inner, 0)
            found = found + v if inner == "sum" else max(found, v)
        whole = team.reduce(found.reduce(inner), outer)
        if team.lane == 0 and number < M * S:
            out[row, part] = finished(whole, operation, total).to(to)

    return rows


@cache
def of_columns(dtype: Any, to: Any, operation: str, aligned: int, across: int) -> Any:
    """Make the kernel that combines each column of a part of the rows: (parts, columns).

    across  threads side by side, of a warp; those one under the other have rows
    """
    (P,), vector = pitches("P", aligned), ACCESS // dtype.bytes
    (inner, _, kind), group = combination(operation), THREADS // across

    def both(a: Any, b: Any) -> Any:
        return a + b if inner == "sum" else max(a, b)

    @cl.kernel(block=THREADS, min_blocks=FEW)
    def columns(x: Tensor[dtype, (M, N), (P, 1)], out: Tensor[to, (S, N)], total: cl.i64) -> None:
        t, lane = cl.thread_idx.x, cl.thread_idx.x % across
        tile = cl.RowTile((cl.block_idx.x * across + lane) * vector, N, vector, 1, threads=1)
        found = cl.full((vector,), 0, kind)
        for at in range(cl.block_idx.y * group * DEEP + t // across, M, S * group * DEEP):
            held = [tile.load(x[min(at + i * group, M - 1), None]) for i in cl.static_range(DEEP)]
            for i in cl.static_range(DEEP):
                v = prepared(held[i].reshape((vector,)), operation)
                found = both(found, v if i == 0 else cl.where(at + i * group < M, v, cl.full((vector,), 0, kind)))
        bit = across
        while bit < WARP:
            found, bit = both(found, cl.shuffle_xor(found, bit)), 2 * bit
        sums = cl.shared(kind, (THREADS // WARP, across, vector))
        if t % WARP < across:
            sums[t // WARP, lane, None].store(found)
        cl.syncthreads()
        if t < across:
            for i in cl.static_range(1, THREADS // WARP):
                found = both(found, sums[i, lane, None].load())
            tile.store(finished(found, operation, total).to(to).reshape((vector, 1)), out[cl.block_idx.y, None])

    return columns


@in_words_of_caller
@planned
def reduced(x: Any, operation: str = "sum", mode: int | None = None, *, out: Any = None) -> Any:
    """Combine the elements of a matrix along one mode, or of any array.

    x          bf16, f16 or f32, of any shape; computed in f32
    operation  'sum', 'mean', 'max' or 'min'; NaN gives NaN
    mode       None: all elements, a result of shape (); of a matrix (m, n): 0 gives (n,), 1 or -1 gives (m,)
    out        where to write, of the result's shape, without gaps; by default a new array
    Gives      of the dtype of x
    Errors     `cl.ArgumentError` for other arrays and operations; for extremes of nothing
    """
    is_array("x", x)
    one_of("operation", operation, OPERATIONS)
    mode = None if mode is None else as_number("mode", mode, whole=True)
    if mode not in (None, 0, 1, -1) or (mode is not None and len(x.shape) != 2):
        raise cl.ArgumentError(
            f"there is no {operation!r} of mode {mode} of x, of shape {tuple(x.shape)}: "
            "mode is None, or 0, 1 or -1 of a matrix; reshape x to one"
        )
    if (made := derived(x, out=out)) is not None:
        return made.reduced(x, operation, mode)
    rows = Rows(x if x.shape else x.reshape((1,)), "x", most=None)
    if mode is None:
        rows = Rows(rows.matrix.reshape((1, rows.m * rows.n)), "x", most=None)
    if mode not in (None, 0):
        countable("x", rows.m)
    count = rows.m if mode == 0 else rows.n
    kept = rows.n if mode == 0 else rows.m
    (out,) = results(out, {"result": (() if mode is None else (kept,), rows.dtype.name)}, x=x)
    if not count and operation in ("max", "min"):
        raise cl.ArgumentError(f"there is no {operation} of no elements")
    if kept and not count:
        out[...] = 0 if operation == "sum" else math.nan
    elif kept:
        (by_columns if mode == 0 else by_rows)(rows, out, operation, count)
    return out


def by_rows(rows: Rows, out: Any, operation: str, count: int) -> None:
    """Combine each row, in parts where there are few rows."""
    vector = ACCESS // rows.dtype.bytes
    threads = sharing(rows.n, ACCESSES * vector, THREADS)
    parts = max(1, min(-(-rows.n // (THREADS * ACCESSES * vector)), BLOCKS * rows.at_once(1) // rows.m))
    found = out.reshape((rows.m, 1)) if parts == 1 else empty(out, (rows.m, parts), "f32")
    to, first = (rows.dtype, operation) if parts == 1 else (f32, "sum" if operation == "mean" else operation)
    kernel = of_rows(rows.dtype, to, first, rows.vector, threads)
    kernel[-(-rows.m * parts * threads // THREADS), THREADS](rows.matrix, found, count)
    if parts > 1:
        last = of_rows(f32, rows.dtype, operation, Rows(found, "", most=None).vector, THREADS)
        last[rows.m, THREADS](found, out.reshape((rows.m, 1)), count)


def by_columns(rows: Rows, out: Any, operation: str, count: int) -> None:
    """Combine each column, in parts where there are few columns."""
    vector = ACCESS // rows.dtype.bytes
    across = sharing(rows.n, vector, WARP)
    wide, high = -(-rows.n // (across * vector)), THREADS // across * DEEP
    parts = max(1, min(-(-rows.m // high), FEW * rows.at_once(1) // wide))
    found = out.reshape((1, rows.n)) if parts == 1 else empty(out, (parts, rows.n), "f32")
    to, first = (rows.dtype, operation) if parts == 1 else (f32, "sum" if operation == "mean" else operation)
    of_columns(rows.dtype, to, first, rows.vector, across)[(wide, parts), THREADS](rows.matrix, found, count)
    if parts > 1:
        across = sharing(rows.n, ACCESS // f32.bytes, WARP)
        last = of_columns(f32, rows.dtype, operation, Rows(found, "", most=None).vector, across)
        last[(-(-rows.n // (across * 4)), 1), THREADS](found, out.reshape((1, rows.n)), count)
