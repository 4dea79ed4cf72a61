"""Sums, means, and extremes of whole arrays and along either mode of a matrix, in one launch; the same in every run.

Rows: some threads go through each, as few as have a tile of it. Columns: each block has some of them, and a part of the
rows. The block that is the last of a row, or of some columns, to have its part combines all parts, always in the same
order. A whole array is one row in parts.
"""

import math
from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32, i64
from cutelite.kernels.arguments import as_number, in_words_of_caller, is_array, one_of, results
from cutelite.kernels.arrays import empty, flags
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import Rows, countable, derived, flat
from cutelite.kernels.rows.keys import number, ordered
from cutelite.kernels.rows.plan import ACCESS, pitches, sharing
from cutelite.target.targets import WARP

M, N, S, G = cl.dims("M N S G")  # rows, columns, parts, groups of blocks
THREADS, ACCESSES, BLOCKS = 256, 4, 4  # of a block; accesses of 16 bytes of a thread; blocks of a multiprocessor
DEEP = 4  # rows that a thread of a block for columns loads together
ROUNDS = 3  # of as many blocks as run at once: as few threads, down to a warp, share a row as make so many
OPERATIONS = ("sum", "mean", "max", "min")


def combination(operation: str) -> tuple[str, Any]:
    """Return the name by which vectors and threads are combined, and the dtype of what is combined; 0 is neutral."""
    return ("sum", f32) if operation in ("sum", "mean") else ("max", cl.u32)


def prepared(v: Any, operation: str) -> Any:
    """Return elements in the form that is combined: for extremes, integers of the same order, NaN the greatest."""
    if operation in ("sum", "mean"):
        return v.to(f32)
    return ordered(v.to(f32) if operation == "max" else -v.to(f32))


def both(a: Any, b: Any) -> Any:
    """Return two of these combined."""
    return a + b if a.dtype == f32 else max(a, b)


def finished(x: Any, operation: str, count: Any) -> Any:
    """Return the result for `count` elements that have been combined."""
    if operation in ("sum", "mean"):
        return x / cl.f32(count) if operation == "mean" else x
    return number(x) if operation == "max" else -number(x)


def last(arrived: Any, number: Any, count: Any) -> Any:
    """Tell whether this block is the last of some to come here; then it sees what their first threads have written.

    arrived  i32 in global memory: a number for each group of blocks, 0 before the launch and after it
    number   of this block's group;  count  of its blocks
    Who      the whole block; if others than the first thread have written, a barrier lies behind that
    """
    before = cl.shared(i32, (1,))
    if cl.thread_idx.x == 0:
        before[0] = cl.atomic_add(arrived, number, 1, semantic="acq_rel")
        if before[0] == count - 1:
            arrived[number] = 0
    cl.syncthreads()
    return before[0] == count - 1


@cache
def of_rows(dtype: Any, operation: str, aligned: int, threads: int, kept: int) -> Any:
    """Make the kernel that combines each row, by so many threads, or in `parts` by a block each.

    kept  how many sums a row has, which its elements belong to by turns: a divisor of a vector's elements
    """
    (P,), vector = pitches("P", aligned), ACCESS // dtype.bytes
    (name, kind), size = combination(operation), threads * ACCESSES * vector

    def held(v: Any) -> Any:
        return v.reshape((kept, vector // kept * ACCESSES)).reduce(name, 1)

    @cl.kernel(block=THREADS, min_blocks=BLOCKS)
    def rows(
        x: Tensor[dtype, (M, N), (P, 1)], out: Tensor[dtype, (M, kept)], parts: Tensor[kind, (M, S, kept)] | None,
        arrived: Tensor[i32, (G,)] | None, total: i64,
    ) -> None:  # fmt: skip
        team = cl.Team.create(threads, reductions=2)
        count = 1 if parts is None else parts.shape[1]
        number, found = team.number(), cl.full((kept,), 0, kind)
        row, part = min(number // count, M - 1), number % count
        for at in range(part, cl.ceil_div(N, size), count):
            tile = cl.RowTile(at * size, N, vector, ACCESSES, threads)
            v = prepared(tile.load(x[row, None]), operation)
            if tile.begin + size > N:
                v = cl.where(tile.columns() < N, v, kind(0))
            found = both(found, held(v))
        whole, ends = team.reduce(found, name), number < M
        if parts is not None:
            if team.lane == 0:
                parts[row, part, None].store(whole)
            ends, some = last(arrived, row, count), cl.full((kept,), 0, kind)
            if ends:
                for i in range(team.lane, count, threads):
                    some = both(some, parts[row, i, None].load())
                whole = team.reduce(some, name)
        if ends & (team.lane == 0):
            out[row, None].store(finished(whole, operation, total).to(dtype))

    return rows


@cache
def of_short_rows(dtype: Any, operation: str, n: int) -> Any:
    """Make the kernel that combines rows of `n` elements without gaps, of which a vector has several."""
    vector, name = ACCESS // dtype.bytes, combination(operation)[0]

    @cl.kernel(block=THREADS)
    def rows(x: Tensor[dtype, (N,)], out: Tensor[dtype, (M,)]) -> None:
        first = i64(cl.block_idx.x) * (THREADS * ACCESSES * vector)
        tile = cl.RowTile(first, N, vector, ACCESSES, THREADS)
        made = cl.RowTile(first // n, M, vector // n, ACCESSES, THREADS)
        v = prepared(tile.load(x), operation).reshape((n, vector // n, ACCESSES)).reduce(name, 0)
        made.store(finished(v, operation, n).to(dtype), out)

    return rows


@cache
def of_columns(dtype: Any, operation: str, aligned: int, across: int) -> Any:
    """Make the kernel that combines each column, or in `parts`, each of some rows, by a block each.

    across  threads side by side, of a warp; those one under the other have rows
    """
    (P,), vector = pitches("P", aligned), ACCESS // dtype.bytes
    (W,) = pitches("W", vector)
    (_, kind), group = combination(operation), THREADS // across

    def down(found: Any, sums: Any) -> Any:
        """Combine what threads one under the other have, for the first of them; sums: shared memory, for warps."""
        t, bit = cl.thread_idx.x, across
        while bit < WARP:
            found, bit = both(found, cl.shuffle_xor(found, bit)), 2 * bit
        if t % WARP < across:
            sums[t // WARP, t % across, None].store(found)
        cl.syncthreads()
        if t < across:
            for i in cl.static_range(1, THREADS // WARP):
                found = both(found, sums[i, t, None].load())
        return found

    @cl.kernel(block=THREADS, min_blocks=BLOCKS)
    def columns(
        x: Tensor[dtype, (M, N), (P, 1)], out: Tensor[dtype, (N,)], parts: Tensor[kind, (S, W)] | None,
        arrived: Tensor[i32, (G,)] | None, total: i64,
    ) -> None:  # fmt: skip
        t, lane, none = cl.thread_idx.x, cl.thread_idx.x % across, cl.full((vector,), 0, kind)
        mine, part = cl.block_idx.x * across + lane, cl.block_idx.y
        tile, sums = cl.RowTile(mine * vector, N, vector, 1, 1), cl.shared(kind, (THREADS // WARP, across, vector))
        first, step, found = part * group * DEEP + t // across, cl.grid_dim.y * group * DEEP, none
        for at in range(first, M, step):
            held = [tile.load(x[min(at + i * group, M - 1), None]) for i in cl.static_range(DEEP)]
            for i in cl.static_range(DEEP):
                v = prepared(held[i].reshape((vector,)), operation)
                found = both(found, v if i == 0 else cl.where(at + i * group < M, v, none))
        found, ends = down(found, sums), cl.boolean(True)
        if parts is not None:
            if t < across:
                parts[part, None].tile((vector,), (mine,)).store(found)
            cl.syncthreads()
            ends, found = last(arrived, cl.block_idx.x, cl.grid_dim.y), none
            if ends:
                for i in range(t // across, cl.grid_dim.y, group):
                    found = both(found, parts[i, None].tile((vector,), (mine,)).load())
                found = down(found, sums)
        if ends & (t < across):
            tile.store(finished(found, operation, total).to(dtype).reshape((vector, 1)), out)

    return columns


@planned
@in_words_of_caller
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
        rows = whole(rows)
    elif mode:
        countable("x", rows.m)
    count = rows.m if mode == 0 else rows.n
    kept = rows.n if mode == 0 else rows.m
    (out,) = results(out, {"result": (() if mode is None else (kept,), rows.dtype.name)}, x=x)
    if not count and operation in ("max", "min"):
        raise cl.ArgumentError(f"there is no {operation} of no elements")
    if kept and not count:
        out[...] = 0 if operation == "sum" else math.nan
    elif kept:
        packed = ACCESS // rows.dtype.bytes % rows.n == 0 and (rows.m < 2 or rows.view.strides[0] == rows.n)
        if mode is None or not packed:
            (by_columns if mode == 0 else by_rows)(rows, out, operation, count)
        elif mode == 0:
            by_rows(whole(rows), out, operation, count, rows.n)
        else:
            tiles = -(-rows.m * rows.n * rows.dtype.bytes // (THREADS * ACCESSES * ACCESS))
            of_short_rows(rows.dtype, operation, rows.n)[tiles, THREADS](flat(rows.matrix, rows.m * rows.n), out)
    return out


def whole(rows: Rows) -> Rows:
    """Return all elements as one row."""
    return Rows(rows.matrix.reshape((1, rows.m * rows.n)), "x", most=None)


def by_rows(rows: Rows, out: Any, operation: str, count: int, kept: int = 1) -> None:
    """Combine each row: few ones in parts, many by a warp or less each; kept: as for `of_rows`."""
    each, at_once = ACCESSES * ACCESS // rows.dtype.bytes, BLOCKS * rows.at_once(1)
    threads = sharing(rows.n, each, max(WARP, sharing(ROUNDS * at_once * THREADS, rows.m, THREADS)))
    several = max(1, min(-(-rows.n // (THREADS * each)), at_once // rows.m))
    given = parts(out, operation, (rows.m, several, kept), rows.m) if several > 1 else (None, None)
    kernel = of_rows(rows.dtype, operation, rows.vector, threads, kept)
    grid, made = -(-rows.m * several * threads // THREADS), out.reshape((rows.m, kept))
    kernel[grid, THREADS](rows.matrix, made, *given, count)


def by_columns(rows: Rows, out: Any, operation: str, count: int) -> None:
    """Combine each column, in parts where there are few columns."""
    vector = ACCESS // rows.dtype.bytes
    across = sharing(rows.n, vector, WARP)
    wide, high = -(-rows.n // (across * vector)), THREADS // across * DEEP
    several = max(1, min(-(-rows.m // high), BLOCKS * rows.at_once(1) // wide))
    given = parts(out, operation, (several, wide * across * vector), wide) if several > 1 else (None, None)
    kernel = of_columns(rows.dtype, operation, rows.vector, across)
    kernel[(wide, several), THREADS](rows.matrix, out, *given, count)


def parts(like: Any, operation: str, shape: tuple[int, ...], groups: int) -> tuple[Any, Any]:
    """Return arrays for parts, and for how many of each group have come."""
    return empty(like, shape, combination(operation)[1].name), flags(like, groups)
