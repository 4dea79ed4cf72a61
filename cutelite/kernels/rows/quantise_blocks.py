"""Quantise rows in blocks of 128 elements.

A thread has elements of the same columns of eight rows, unless there are few. The scales of these rows, which lie
together where a GEMM takes scales from, leave as a whole sector of memory.
"""

# mypy: disable-error-code="valid-type, attr-defined, index, type-arg, operator, arg-type, misc, name-defined"
# (kernels here are made for a dtype, which annotations cannot express for a type checker)

from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32
from cutelite.kernels.rows.gates import functions
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.plan import ACCESS, follow, pitches
from cutelite.lib.row_ends import between, store_beside
from cutelite.lib.row_words import widened
from cutelite.target.targets import REGISTERS, WARP
from cutelite.tuples import NamedTuple

M, N, G = cl.dims("M N G")  # rows, columns, blocks of a row
ROWS = 8  # of a tile: their scales, 4 bytes each, are a sector
FEW = 256  # rows below which a tile has one, so that there are more tiles


class Shape(NamedTuple):
    """The shape of a tile: the threads of its block, the columns that they have, and the rows."""

    threads: int
    columns: int
    rows: int

    @staticmethod
    def of(dtype: Any, m: int, n: int, threads: int | None = None) -> "Shape":
        """Return the shape for `m` rows of `n` elements: of a width that divides a row, if there is one."""
        wide: int = ACCESS // dtype.bytes
        most = min(256, max(WARP, 1 << (-(-n // wide) - 1).bit_length()))
        some = [each for each in (256, 128, 64, WARP) if each <= most]
        threads = threads or next((each for each in some if n % (each * wide) == 0), most)
        return Shape(threads, threads * wide, ROWS if m >= FEW else 1)

    def blocks(self, m: int, n: int) -> int:
        """Return how many blocks a matrix needs."""
        return -(-m // self.rows) * -(-n // self.columns)


@cache
def build(dtype: Any, narrow: Narrow, activation: str | None, vector: int, out_vector: int, shape: Shape) -> Any:
    """Make the kernel that computes q and scales of x, or of activation(x) * up."""
    (P, Q), (R,) = pitches("P Q", vector), pitches("R", out_vector)
    wide = ACCESS // dtype.bytes
    blocks = REGISTERS // (128 if activation else 64 if vector == wide else 80) // shape.threads
    lanes = narrow.block // wide  # that share a scale

    @cl.kernel(block=shape.threads, min_blocks=blocks)
    def quantised(
        x: Tensor[dtype, (M, N), (P, 1)],
        up: Tensor[dtype, (M, N), (Q, 1)] | None,
        q: Tensor[narrow.dtype, (M, N), (R, 1)],
        scales: Tensor[f32, (M, G), (None, None)],
    ) -> None:
        arrays, lane = (x,) if up is None else (x, up), cl.thread_idx.x % lanes

        def place(block: Any) -> tuple[Any, Any, Any]:
            across = cl.ceil_div(N, shape.columns)
            first, column = block // across * shape.rows, block % across * shape.columns
            return first, column, (first + shape.rows <= M) & (column + shape.columns <= N)

        def ask(block: Any) -> None:
            first, column, whole = place(block)
            if whole:
                for i in cl.static_range(shape.rows):
                    for each in arrays:
                        cl.RowTile(column, None, wide, 1).ask_for(each[first + i, None])

        gated = None if up is None else functions(activation, dtype == f32)[2]

        def work(first: Any, tile: Any, rows: int) -> None:
            held = [cl.make_rmem_tensor(dtype, (wide, rows)) for _ in arrays]
            for i in cl.static_range(rows):
                for each, v in zip(arrays, held, strict=True):
                    v[None, i].store(loaded(tile, each[first + i, None], vector))
            kept = cl.make_rmem_tensor(dtype if up is None else f32, (wide, rows))
            tops = cl.make_rmem_tensor(f32, (rows,))
            for i in cl.static_range(rows):
                here = [v[None, i].load() for v in held]
                kept[None, i].store(here[0] if up is None else gated(*map(widened, here)))
                tops[i] = greatest(kept[None, i])
            found = cl.warp_reduce(tops.load(), "max", width=lanes)
            block = tile.first(0) // narrow.block
            if lane < rows and block < scales.shape[1]:
                scales[first + lane, block] = narrow.scale(chosen(found, lane))
            for i in cl.static_range(rows):
                some = widened(kept[None, i].load()) * narrow.factor(found[i])
                store(tile, some.to(narrow.dtype), q[first + i, None], out_vector)

        follow(ask, blocks)
        first, column, whole = place(cl.block_idx.x)
        if vector < wide:  # each warp for itself
            whole = covered(x, first, shape.rows, column + cl.thread_idx.x // WARP * (WARP * wide), WARP * wide)
        if whole:
            work(first, cl.RowTile(column, None, wide, 1), shape.rows)
        else:
            for row in range(first, min(first + shape.rows, M)):
                work(row, cl.RowTile(column, N, wide, 1), 1)

    return quantised


def covered(x: Any, first: Any, rows: int, column: Any, columns: int) -> Any:
    """Tell whether a part of a matrix lies within it, and so do the vectors of memory that cover it."""
    (m, n), wide = x.shape, ACCESS // x.dtype.bytes
    begun, goes_on = (first > 0) | (column > 0), (first + rows < m) | (column + columns + wide <= n)
    return (first + rows <= m) & (column + columns <= n) & begun & goes_on


def loaded(tile: Any, row: Any, vector: int) -> Any:
    """Return this thread's vector of a tile; rows begin at multiples of `vector` elements."""
    anywhere = tile.end is None and vector < tile.vector
    return between(row, tile.first(0), tile.vector) if anywhere else tile.load(row).reshape((tile.vector,))


def store(tile: Any, v: Any, row: Any, vector: int) -> None:
    """Write this thread's vector of a tile, of which a warp has neighbouring ones; `vector` as for `loaded`."""
    if tile.end is None and vector < tile.vector:
        store_beside(v, row, tile.first(0))
    else:
        tile.store(v.reshape((tile.vector, 1)), row)


def greatest(t: Any) -> Any:
    """Return the greatest magnitude of a tensor in registers, as f32: by pairs, which narrow elements are kept in."""
    found = abs(t.tile((2,), (0,)).load())
    for i in cl.static_range(1, t.shape[0] // 2):
        found = max(found, abs(t.tile((2,), (i,)).load()))
    return widened(found).reduce("max")


def chosen(v: Any, i: Any) -> Any:
    """Return element `i`, a run-time number, of a vector of a power of two."""
    some = [v[k] for k in range(v.n)]
    bit = 1
    while len(some) > 1:
        some = [cl.where(i & bit, b, a) for a, b in zip(some[::2], some[1::2], strict=True)]
        bit *= 2
    return some[0]
