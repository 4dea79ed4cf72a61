"""Quantise rows of an array or of a gate to 8 bits, and transpose matrices while casting or quantising them.

q, scale = quantise(x)                            # a scale for each row: x is near q * scale
q, scale = quantise(x, Narrow(block=128))         # for each 128 elements of a row, as DeepSeek's GEMMs take them
q, scale = quantise(gate, up=up)                  # of silu(gate) * up
t = transposed(x, "f16")                          # cast and transposed
q, scale = transposed(x, Narrow(block=128))       # of columns
"""

# mypy: disable-error-code="valid-type, attr-defined, index, type-arg, operator, arg-type, misc, name-defined"
# (kernels here are made for a dtype and a length, which annotations cannot express for a type checker)

import math
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.kernels.arguments import instance, is_array, one_of, results, underived
from cutelite.kernels.arrays import empty
from cutelite.kernels.rows.arrays import RESULTS, Rows
from cutelite.kernels.rows.gates import ACTIVATIONS, functions
from cutelite.kernels.rows.narrow import LONG, Narrow
from cutelite.kernels.rows.plan import ACCESS, MOST_BLOCKS, Plan, after, follow, pitches, plan, plan_apart, plan_norm
from cutelite.lib.row_words import widened

M, N, G = cl.dims("M N G")  # rows, columns, scales
KEPT = 32  # elements that a thread keeps until the greatest of their row is known


@cache
def build(dtype: Any, n: int, narrow: Narrow, activation: str | None, p: Plan) -> Any:
    """Make the kernel that computes q and scales of x, or of activation(x) * up."""
    P, Q = p.pitches("P Q")
    R = cl.Dim("R", math.gcd(n, p.vector))

    @cl.kernel(**p.options)
    def quantised(
        x: Tensor[dtype, (M, n), (P, 1)],
        up: Tensor[dtype, (M, n), (Q, 1)] | None,
        q: Tensor[narrow.dtype, (M, n), (R, 1)],
        scales: Tensor[f32, (M, G), (None, None)],
        counter: Tensor[i32, (1,)] | None,
    ) -> None:
        arrays = (x,) if up is None else (x, up)
        _team, part = p.team(n, *arrays, granule=narrow.block)
        keeps = not p.loops and part.vector * part.pieces <= KEPT
        stream = cl.RowStream.create(part, arrays, packed=not keeps, counter=counter, **p.stream)

        def value(some: Any, parts: Any) -> Any:
            v, *more = (widened(each.of(some)) for each in parts)
            return functions(activation, dtype == f32)[2](v, *more) if more else v

        def written(row: Any, some: Any, v: Any, top: Any = None) -> None:
            some.store(narrow.quantised(some, v, scales[row, None], top), q[row, None])

        def write(row: Any, top: Any, parts: Any) -> None:
            pieces = part.pieces if keeps else 1
            stream.walk(None, lambda _, some: written(row, some, value(some, parts), top), last=True, pieces=pieces)

        def first(row: Any, _: Any, *parts: Any) -> Any:
            if keeps:
                v = value(part.vectors, parts)
                return abs(v).reduce("max"), v
            look = lambda top, some: max(top, abs(value(some, parts)).reduce("max"))  # noqa: E731
            return stream.walk(f32(0), look), None

        def last(row: Any, _: Any, v: Any, top: Any, *parts: Any) -> None:
            if keeps:
                written(row, part.vectors, v, top)
            else:
                write(row, top, parts)

        if narrow.block == 1:
            stream.each_reduced(first, last, "max")
        else:
            stream.each(lambda row, _, *parts: write(row, None, parts))

    return quantised


class Quantised(NamedTuple):
    """Quantised numbers, and the scales to multiply them by.

    q      8-bit numbers, of the shape of the original
    scale  (..., 1) or (..., ceil(n / 128)), f32
    """

    q: Any
    scale: Any


@underived()
def quantise(
    x: Any, narrow: Narrow | None = None, *, up: Any = None, activation: str = "silu", out: Any = None,
    how: Plan | None = None,
) -> Quantised:  # fmt: skip
    """Quantise rows of x, or of activation(x) * up.

    x, up   (..., n), of one dtype: bf16, f16 or f32
    narrow  the dtype, and which elements share a scale; default: e4m3, a scale for each row
    activation  'silu', 'gelu', 'gelu_tanh' or 'relu', where there is `up`
    out     q and scales to write to, row-major without gaps; by default new ones, scales of a matrix column-major
    how     the `Plan`: which threads work on a row; default: by its length
    Errors  `cl.ArgumentError` for arrays that do not fit
    """
    narrow, rows = instance("narrow", narrow, Narrow) or Narrow(), Rows(x, "x")
    one_of("activation", activation, ACTIVATIONS)
    more = None if up is None else Rows(up, "up").like(rows, "up")
    if out is None:
        q, scale = empty(x, tuple(x.shape), narrow.dtype.name), narrow.scales(x)
    else:
        shape, count = tuple(x.shape), -(-rows.n // narrow.block) if narrow.block > 1 else 1
        wanted = {"q": (shape, narrow.dtype.name), "scale": ((*shape[:-1], count), "f32")}
        q, scale = results(out, wanted, x=x, up=up)
    aligned = math.gcd(*(each.vector for each in (rows, more, Rows(q, "q", kinds=RESULTS)) if each is not None))
    wide, each = ACCESS // rows.dtype.bytes, 32 if more is None else 16
    if narrow.block > 1:
        chosen = plan_apart(rows.n, wide, each)
    elif rows.n > LONG and more is None and aligned == wide:
        chosen = plan_norm(rows.n, wide, rows.dtype.bytes, 1, most=MOST_BLOCKS)
    else:
        chosen = plan(rows.n, wide, each)
    p = replace(instance("how", how, Plan) or replace(chosen, lead=1), aligned=aligned)
    kernel = build(rows.dtype, rows.n, narrow, None if more is None else activation, p)
    kernel[p.launch(rows)](
        rows.matrix,
        None if more is None else more.matrix,
        q.reshape((rows.m, rows.n)),
        scale if len(x.shape) == 2 else scale.reshape((rows.m, int(scale.shape[-1]))),
        p.counter(rows),
    )
    return Quantised(q, scale)


TILE_M, STRIP = 128, 16  # rows of a block's tile; rows of a thread, in two columns
STRIPS = TILE_M // STRIP
LINE = 128  # bytes that a prefetch brings


def tile_of(dtype: Any) -> tuple[int, int]:
    """Return how many columns a block's tile has, whose rows are 256 bytes, and the threads of the block."""
    columns: int = 256 // dtype.bytes
    return columns, columns // 2 * STRIPS


@cache
def transposing(dtype: Any, to: Any, vector: int, out_vector: int, narrow: Narrow | None, each: int = 1) -> Any:
    """Make the kernel that writes columns as rows; with `narrow` quantised in blocks of 128.

    each  scales of neighbouring columns that one access writes, 1 or 2: with 2 no sector is written in parts
    """
    S = cl.Dim("S", each, min=0)
    (P,), (Q,) = pitches("P", vector), pitches("Q", out_vector)
    (tile_n, threads), out_wide = tile_of(dtype), ACCESS // to.bytes
    pairs, held = tile_n // 2, 1536 if to.bytes < dtype.bytes else 1024  # threads of a multiprocessor
    pitch = TILE_M + out_wide
    # even columns, then odd ones: neighbouring threads, which have neighbouring pairs of columns, use different banks
    apart = cl.make_layout(((2, pairs), TILE_M), stride=((pairs * pitch, pitch), 1))

    @cl.kernel(block=threads, min_blocks=held // threads)
    def columns(
        x: Tensor[dtype, (M, N), (P, 1)],
        y: Tensor[to, (N, M), (Q, 1)],
        scales: Tensor[f32, (N, G), (1, S)] | None,
    ) -> None:
        first, column, t = cl.block_idx.x * TILE_M, cl.block_idx.y * tile_n, cl.thread_idx.x
        whole = (first + TILE_M <= M) & (column + tile_n <= N)
        follow(lambda _: ask_for(x, first, column, tile_n, whole), held // threads if to.bytes < dtype.bytes else None)
        tile, made = cl.shared(dtype, (TILE_M, tile_n), align=16), cl.shared(to, apart, align=16)
        bring(x, tile, first, column, whole)
        cl.syncthreads()
        pair, strip = t % pairs, t // pairs

        def both(i: int) -> Any:
            return widened(tile[strip * STRIP + i, None].tile((2,), (pair,)).load())

        factors = cl.full((2,), 1, f32)
        if narrow is not None:
            tops, top = cl.shared(f32, (STRIPS, tile_n), align=16), abs(both(0))
            for i in cl.static_range(1, STRIP):
                top = max(top, abs(both(i)))
            tops[strip, None].tile((2,), (pair,)).store(top)
            cl.syncthreads()
            for i in cl.static_range(STRIPS):
                top = max(top, tops[i, None].tile((2,), (pair,)).load())
            factors = 1.0 / narrow.scale(top)
            if strip == 0:
                there = cl.RowTile(column + pair * 2, N, each, 2 // each, threads=1)
                there.store(narrow.scale(top).reshape(there.shape), scales[None, cl.block_idx.x])
        v = cl.make_rmem_tensor(f32, (2, STRIP))
        for i in cl.static_range(STRIP):
            v[None, i].store(both(i) * factors)
        for i in cl.static_range(2):
            made[pair * 2 + i, None].tile((STRIP,), (strip,)).store(v[i, None].load().to(to))
        cl.syncthreads()
        hand_over(made, y, first, column, TILE_M * tile_n // (threads * out_wide), whole)

    return columns


def ask_for(x: Any, first: Any, column: Any, tile_n: int, whole: Any) -> None:
    """Let a tile of a matrix, if it is `whole`, come to L2."""
    line = LINE // x.dtype.bytes  # elements
    for at in range(cl.thread_idx.x, TILE_M * tile_n // line if whole else 0, cl.block_dim.x):
        cl.prefetch(x, (first + at * line // tile_n, column + at * line % tile_n))


def bring(x: Any, tile: Any, first: Any, column: Any, whole: Any) -> None:
    """Copy a tile of a matrix that begins at row `first` and `column` to shared memory; elements beyond it become 0.

    whole  all of the tile lies within the matrix
    """
    (m, n), wide, t, tile_n = x.shape, ACCESS // x.dtype.bytes, cl.thread_idx.x, tile.shape[1]
    row, begin = t * wide // tile_n, t * wide % tile_n  # a tile of rows is a multiple of what the block loads
    step = cl.block_dim.x * wide // tile_n  # rows that the block loads at once
    if whole:
        held = cl.make_rmem_tensor(x.dtype, (wide, TILE_M // step))
        for i in cl.static_range(TILE_M // step):
            held[None, i].store(x[first + row + i * step, None].tile((wide,), ((column + begin) // wide,)).load())
        for i in cl.static_range(TILE_M // step):
            tile[row + i * step, None].tile((wide,), (begin // wide,)).store(held[None, i].load())
    else:
        for here in range(row, TILE_M, step):
            some = cl.make_rmem_tensor(x.dtype, (wide,))
            cl.clear(some)
            if first + here < m:
                there = cl.RowTile(column + begin, n, wide, 1, threads=1)
                some.store(there.load(x[first + here, None]).reshape((wide,)))
            tile[here, None].tile((wide,), (begin // wide,)).store(some.load())


def hand_over(made: Any, y: Any, first: Any, column: Any, stores: int, whole: Any) -> None:
    """Write a tile that is transposed, `made`, by `stores` accesses of each thread; the rest is as for `bring`."""
    (n, m), wide, t, threads = y.shape, ACCESS // y.dtype.bytes, cl.thread_idx.x, cl.block_dim.x
    each = TILE_M // wide  # threads for a row
    for i in cl.static_range(stores):
        row, begin = (i * threads + t) // each, (i * threads + t) % each * wide
        part = made[row, None].tile((wide,), (begin // wide,)).load()
        if whole:
            y[column + row, None].tile((wide,), ((first + begin) // wide,)).store(part)
        elif column + row < n:
            cl.RowTile(first + begin, m, wide, 1, threads=1).store(part.reshape((wide, 1)), y[column + row, None])


@underived()
def transposed(x: Any, to: str | Narrow) -> Any:
    """Transpose a matrix while casting it, or quantising it in blocks of 128 along its columns.

    x       (m, n), bf16, f16 or f32
    to      a code such as 'bf16' or 'e4m3', or ``Narrow(block=128)``
    Gives   (n, m); of a `Narrow` a `Quantised`, with scales (n, ceil(m / 128)), column-major
    Errors  `cl.ArgumentError` for other arrays and dtypes
    """
    is_array("x", x)
    narrow = to if isinstance(to, Narrow) else None
    if narrow is None:
        one_of("to", to, RESULTS)
    kind = to.dtype if isinstance(to, Narrow) else RESULTS.get(to)
    if kind is None or len(x.shape) != 2 or (narrow and narrow.block != TILE_M):
        raise cl.ArgumentError(f"x is {tuple(x.shape)}, of which {to!r} cannot be the transposed")
    rows = Rows(x, "x", most=None)
    y = empty(x, (rows.n, rows.m), kind.name)
    scale = None if narrow is None else narrow.scales(y)
    if rows.m * rows.n:
        aligned = Rows(y, "y", most=None, kinds=RESULTS).vector
        kernel = transposing(rows.dtype, kind, rows.vector, aligned, narrow, math.gcd(2, rows.n))
        columns, threads = tile_of(rows.dtype)
        kernel[after((-(-rows.m // TILE_M), -(-rows.n // columns)), threads)](rows.matrix, y, scale)
    return y if narrow is None else Quantised(y, scale)
