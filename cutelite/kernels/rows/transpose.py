"""Transpose matrices while casting or quantising them.

t = transposed(x, "f16")                          # cast and transposed
q, scale = transposed(x, Narrow(block=128))       # quantised, columns of x in blocks of 128
"""

import math
from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32
from cutelite.kernels.arguments import Misfit, in_words_of_caller, is_array, needs_gradient, one_of, results
from cutelite.kernels.arrays import empty
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import DTYPES, RESULTS, Rows, derived
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.plan import ACCESS, after, follow, pitches
from cutelite.kernels.rows.quantise import Quantised
from cutelite.layout.access import LINE_BYTES
from cutelite.lib.row_ends import between
from cutelite.lib.row_words import widened
from cutelite.target.targets import WARP

M, N, G = cl.dims("M N G")  # rows, columns, scales
TILE_M, STRIP = 128, 16  # rows of a block's tile; rows of a thread, in two columns
STRIPS = TILE_M // STRIP
ROW = 256  # bytes of a tile's row
MANY_LINES = 16  # of memory: a result's rows that have as many are whole ones apart
ACROSS = ROW // ACCESS  # threads that load a row


def tile_of(dtype: Any) -> tuple[int, int]:
    """Return how many columns a block's tile has, and the threads of the block."""
    columns: int = ROW // dtype.bytes
    return columns, columns // 2 * STRIPS


@cache
def transposing(dtype: Any, to: Any, vector: int, out_vector: int, narrow: Narrow | None, each: int) -> Any:
    """Make the kernel that writes columns as rows; with `narrow` quantised in blocks of 128.

    each  scales of neighbouring columns that one access writes, 1 or 2: with 2 no sector is written in parts
    """
    beside = (1, cl.Dim("S", each, min=0)) if each == 2 else (None, None)
    (P,), (Q,) = pitches("P", vector), pitches("Q", out_vector)
    (tile_n, threads), wide, out_wide = tile_of(dtype), ACCESS // dtype.bytes, ACCESS // to.bytes
    pairs, held = tile_n // 2, 1536 if to.bytes < dtype.bytes else 1024  # threads of a multiprocessor
    pitch, loading = TILE_M + out_wide, between if to.bytes == dtype.bytes else cl.neighbours  # fewer registers
    # even columns, then odd ones: neighbouring threads, which have neighbouring pairs of columns, use different banks
    woven = cl.make_layout(((2, pairs), TILE_M), stride=((pairs * pitch, pitch), 1))

    @cl.kernel(block=threads, min_blocks=held // threads)
    def columns(
        x: Tensor[dtype, (M, N), (P, 1)],
        y: Tensor[to, (N, M), (Q, 1)],
        scales: Tensor[f32, (N, G), beside] | None,
    ) -> None:
        first, column, t = cl.block_idx.x * TILE_M, cl.block_idx.y * tile_n, cl.thread_idx.x
        whole = (first + TILE_M <= M) & (column + tile_n <= N)
        follow(lambda _: ask_for(x, first, column, tile_n, whole), held // threads if to.bytes < dtype.bytes else None)
        at_start, at_end = (first == 0) & (column == 0), (first + TILE_M == M) & (column + tile_n + wide > N)
        inner = whole & (not (at_start | at_end)) if vector < wide else whole  # in corners a vector may reach out
        tile, made = cl.shared(dtype, (TILE_M, tile_n), align=16), cl.shared(to, woven, align=16)
        greatest = bring(x, tile, first, column, inner, loading if vector < wide else None)
        if narrow is not None:
            tops = cl.shared(dtype, (threads // WARP, tile_n), align=16)
            greatest = max(greatest, cl.shuffle_xor(greatest, ACROSS))  # of the warp's two rows at a time
            if t % WARP < ACROSS:
                tops[t // WARP, None].tile((wide,), (t % ACROSS,)).store(greatest)
        cl.syncthreads()
        pair, strip = t % pairs, t // pairs

        def both(i: int) -> Any:
            return widened(tile[strip * STRIP + i, None].tile((2,), (pair,)).load())

        factors = cl.full((2,), 1, f32)
        if narrow is not None:
            top = tops[0, None].tile((2,), (pair,)).load()
            for i in cl.static_range(1, tops.shape[0]):
                top = max(top, tops[i, None].tile((2,), (pair,)).load())
            scale = narrow.scale(widened(top))
            factors = 1.0 / scale
        v = cl.make_rmem_tensor(f32, (2, STRIP))
        for i in cl.static_range(STRIP):
            v[None, i].store(both(i) * factors)
        for i in cl.static_range(2):
            made[pair * 2 + i, None].tile((STRIP,), (strip,)).store(v[i, None].load().to(to))
        cl.syncthreads()
        hand_over(made, y, first, column, TILE_M * tile_n // (threads * out_wide), whole)
        if narrow is not None and strip == 0:  # nobody waits for these
            there = cl.RowTile(column + pair * 2, N, each, 2 // each, threads=1)
            there.store(scale.reshape(there.shape), scales[None, cl.block_idx.x])

    return columns


def ask_for(x: Any, first: Any, column: Any, tile_n: int, whole: Any) -> None:
    """Let a tile of a matrix, if it is `whole`, come to L2."""
    line = LINE_BYTES // x.dtype.bytes  # elements
    for at in range(cl.thread_idx.x, TILE_M * tile_n // line if whole else 0, cl.block_dim.x):
        cl.prefetch(x, (first + at * line // tile_n, column + at * line % tile_n))


def bring(x: Any, tile: Any, first: Any, column: Any, whole: Any, loading: Any) -> Any:
    """Copy a tile of a matrix that begins at row `first` and `column` to shared memory; elements beyond it become 0.

    whole    all of the tile lies within the matrix
    loading  what loads a vector where rows begin anywhere; None where they do not
    Gives  the greatest magnitudes of what this thread copies, all of it in the same columns
    """
    (m, n), wide, t, tile_n = x.shape, ACCESS // x.dtype.bytes, cl.thread_idx.x, tile.shape[1]
    row, begin = t * wide // tile_n, t * wide % tile_n  # a tile of rows is a multiple of what the block loads
    step = cl.block_dim.x * wide // tile_n  # rows that the block loads at once
    greatest = cl.make_rmem_tensor(x.dtype, (wide,))
    cl.clear(greatest)

    def keep(here: Any, v: Any) -> None:
        tile[here, None].tile((wide,), (begin // wide,)).store(v)
        greatest.store(max(greatest.load(), abs(v)))

    if whole:
        held = cl.make_rmem_tensor(x.dtype, (wide, TILE_M // step))
        for i in cl.static_range(TILE_M // step):
            line = x[first + row + i * step, None]
            if loading is not None:
                held[None, i].store(loading(line, column + begin, wide))
            else:
                held[None, i].store(line.tile((wide,), ((column + begin) // wide,)).load())
        for i in cl.static_range(TILE_M // step):
            keep(row + i * step, held[None, i].load())
    else:
        for here in range(row, TILE_M, step):
            some = cl.make_rmem_tensor(x.dtype, (wide,))
            cl.clear(some)
            if first + here < m:
                there = cl.RowTile(column + begin, n, wide, 1, threads=1)
                some.store(there.load(x[first + here, None]).reshape((wide,)))
            keep(here, some.load())
    return greatest.load()


def hand_over(made: Any, y: Any, first: Any, column: Any, stores: int, whole: Any) -> None:
    """Write a tile that is transposed, `made`, by `stores` accesses of each thread; the rest is as for `bring`."""
    (n, m), wide, t, threads = y.shape, ACCESS // y.dtype.bytes, cl.thread_idx.x, cl.block_dim.x
    each = TILE_M // wide  # threads for a row
    for i in cl.static_range(stores):
        row, number = (i * threads + t) // each, (i * threads + t) % each
        part = made[row, None].tile((wide,), (number,))
        if whole:
            y[column + row, None].tile((wide,), (first // wide + number,)).store(part.load())
        elif column + row < n:
            tile = cl.RowTile(first + number * wide, m, wide, 1, threads=1)
            tile.store(part.load().reshape((wide, 1)), y[column + row, None])


def apart(m: int, bytes: int) -> int:
    """Return how far apart rows of `m` elements of a result begin: whole lines of memory, of short ones whole accesses.

    L2 writes a sector in parts more slowly; and other kernels read such rows by whole vectors, or by TMA.
    """
    unit = (LINE_BYTES if m * bytes >= MANY_LINES * LINE_BYTES else ACCESS) // bytes
    return -(-m // unit) * unit


def room(x: Any, kind: Any) -> Any:
    """Return an array for the transposed of x, of a dtype."""
    m, n = x.shape
    return empty(x, (n, apart(m, kind.bytes)), kind.name)[:, :m]


@in_words_of_caller
@planned
def transposed(x: Any, to: str | Narrow, *, out: Any = None) -> Any:
    """Transpose a matrix while casting it, or quantising it in blocks of 128 along its columns.

    x       (m, n), bf16, f16 or f32
    to      a code such as 'bf16' or 'e4m3', or ``Narrow(block=128)``. What 8 bits do not hold, and inf, becomes their
            greatest number, where torch's casts give NaN or inf
    out     where to write, of the shape and dtype of what is given, its rows any way apart; two arrays of a `Narrow`
    Gives   (n, m), with rows a multiple of 16 bytes apart, of 128 where they are long: so there may be gaps between
            them. Of a `Narrow` a `Quantised`, with scales (n, ceil(m / 128)), column-major
    Errors  `cl.ArgumentError` for other arrays and dtypes
    """
    narrow: Narrow | None = to if isinstance(to, Narrow) else None
    if narrow is None:
        one_of("to", to, RESULTS)
    elif narrow.block != TILE_M:
        raise cl.ArgumentError(f"columns are quantised in blocks of {TILE_M}: to is {to!r}")
    if (narrow is not None or to not in DTYPES) and needs_gradient(x):
        raise Misfit(f"to={to!r} has no derivative, and x needs a gradient: detach it")
    if (made := derived(x, out=out)) is not None:
        return Quantised(*made.transposed_blocks(x, narrow.dtype.name)) if narrow else made.transposed(x, to)
    is_array("x", x)
    if len(x.shape) != 2:
        raise cl.ArgumentError(f"x has shape {tuple(x.shape)}, but must be a matrix")
    rows = Rows(x, "x", most=None)
    kind = RESULTS[to] if narrow is None else narrow.dtype
    if out is None:
        made = [room(x, kind), None if narrow is None else narrow.scales(x.T)]
    else:
        wanted: dict[str, Any] = {"transposed": ((rows.n, rows.m), kind.name)}
        if narrow is not None:
            wanted["scale"] = (rows.n, -(-rows.m // TILE_M)), "f32"
        made = [*results(out, wanted, tuple(wanted), x=x), None]
    y, scale = made[:2]
    if rows.m * rows.n:
        aligned = Rows(y, "out", most=None, kinds=RESULTS, written=True).vector
        each = math.gcd(2, rows.n) if out is None else 1
        kernel = transposing(rows.dtype, kind, rows.vector, aligned, narrow, each)
        columns, threads = tile_of(rows.dtype)
        kernel[after((-(-rows.m // TILE_M), -(-rows.n // columns)), threads)](rows.matrix, y, scale)
    return y if narrow is None else Quantised(y, scale)
