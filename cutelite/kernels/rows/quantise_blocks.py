"""Quantise rows in blocks of 128 elements.

A thread has elements of the same columns of eight rows, unless there are few. The scales of these rows, which lie
together where a GEMM takes scales from, leave as a whole sector of memory.
"""

from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32
from cutelite.kernels.rows.gates import functions
from cutelite.kernels.rows.narrow import LONG, Narrow
from cutelite.kernels.rows.plan import ACCESS, follow, pitches
from cutelite.lib.row_ends import between, store_beside
from cutelite.lib.row_words import widened
from cutelite.lib.row_wrapped import Wrapped
from cutelite.target.targets import REGISTERS, WARP
from cutelite.tuples import NamedTuple

M, N, G = cl.dims("M N G")  # rows, columns, blocks of a row
ROWS = 8  # of a tile: their scales, 4 bytes each, are a sector
FEW = 256  # rows below which a tile has one, so that there are more tiles
SEVEN = 7 * WARP  # threads of tiles of long rows that begin anywhere: 256 are 3 to 5% slower on an H200
SPARE = 1.07  # wide tiles, whose warps share ends, may cover so much more than others


class Shape(NamedTuple):
    """The shape of a tile: threads of its block, columns that they have, rows, and whether it has all of a row."""

    threads: int
    columns: int
    rows: int
    whole: bool

    @staticmethod
    def of(dtype: Any, m: int, n: int, threads: int | None = None) -> "Shape":
        """Return the shape for `m` rows of `n` elements: of a width that divides a row, or nearly."""
        wide: int = ACCESS // dtype.bytes
        most = min(256, max(WARP, 1 << (-(-n // wide) - 1).bit_length()))
        covering = {each: -(-n // (each * wide)) * each for each in range(most, 0, -WARP)}  # threads of a row's tiles
        some = [each for each, total in covering.items() if total <= SPARE * min(covering.values())]
        whole = (each for each in (256, 128, 64, WARP) if each <= most and n % (each * wide) == 0)
        best = SEVEN if SEVEN in some and n > LONG // 2 and n % wide else some[0]
        threads = threads or next(whole, best)
        return Shape(threads, threads * wide, ROWS if m >= FEW else 1, threads * wide >= n)

    def blocks(self, m: int, n: int) -> int:
        """Return how many blocks a matrix needs."""
        return -(-m // self.rows) * -(-n // self.columns)


@cache
def build(
    dtype: Any, narrow: Narrow, activation: str | None, vector: int, out_vector: int, wrapped: bool, shape: Shape
) -> Any:
    """Make the kernel that computes q and scales of x, or of activation(x) * up.

    wrapped  rows have a vector or more, and begin anywhere, but in all arrays as far into one; nothing is written
             between rows of x or up
    """
    (P, Q), (R,) = pitches("P Q", vector), pitches("R", out_vector)
    wide = ACCESS // dtype.bytes
    # where a row of parts has several tiles, more blocks, of fewer registers, are slower
    few = vector == wide or (wrapped and shape.whole)
    blocks = REGISTERS // (128 if activation else 64 if few else 80) // shape.threads
    lanes = narrow.block // wide  # that share a scale

    @cl.kernel(block=shape.threads, min_blocks=blocks)
    def quantised(
        x: Tensor[dtype, (M, N), (P, 1)],
        up: Tensor[dtype, (M, N), (Q, 1)] | None,
        q: Tensor[narrow.dtype, (M, N), (R, 1)],
        scales: Tensor[f32, (M, G), (None, None)],
    ) -> None:
        arrays = (x,) if up is None else (x, up)

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

        def work(first: Any, part: Any) -> None:
            write_part(narrow, gated, part, first, arrays, q, scales)

        follow(ask, blocks)
        first, column, whole = place(cl.block_idx.x)
        warp = column + cl.thread_idx.x // WARP * (WARP * wide)
        if wrapped:
            whole = within(x, first, shape.rows, column, shape.columns)
        elif vector < wide:  # each warp for itself
            whole = within(x, first, shape.rows, warp, WARP * wide) & (warp + WARP * wide <= N)
        if whole:
            wraps = Wrapped(shape.rows, warp, wide, lanes, N, shape.threads // WARP)
            work(first, wraps if wrapped else Straight(shape.rows, warp, wide, None, (vector, out_vector)))
        else:
            for row in range(first, min(first + shape.rows, M)):
                work(row, Straight(1, warp, wide, N, (vector, out_vector)))

    return quantised


def write_part(narrow: Narrow, gated: Any, part: Any, first: Any, arrays: Any, q: Any, scales: Any) -> None:
    """Quantise a `part` of rows from `first` on, of x or, if `gated` is not None, of ``gated(x, up)``."""
    lanes = narrow.block // part.width
    rows = [cl.domain_offset((first, 0), each) for each in (*arrays, q)]  # neighbours share an address
    held = [part.load(lambda i, each=each: each[i, None]) for each in rows[:-1]]
    kept = [v[0] if gated is None else gated(*map(widened, v)) for v in zip(*held, strict=True)]
    top = own_greatest([greatest(v) for v in kept], part.rows, lanes)
    row, block = cl.thread_idx.x % lanes, (part.column + cl.thread_idx.x % WARP * part.width) // narrow.block
    if row < part.rows and block < scales.shape[1]:
        scales[first + row, block] = narrow.scale(top)
    factor = narrow.factor(top)
    factors = [cl.shuffle(factor, i, width=lanes) for i in range(part.rows)]
    factors += [factor] * (len(kept) - part.rows)
    made = [(widened(v) * by).to(narrow.dtype) for v, by in zip(kept, factors, strict=True)]
    part.store(made, lambda i: rows[-1][i, None])


def within(x: Any, first: Any, rows: int, column: Any, columns: int) -> Any:
    """Tell whether vectors of memory that have elements of a part of some rows lie within a matrix."""
    (m, n), wide = x.shape, ACCESS // x.dtype.bytes
    begun, goes_on = (first > 0) | (column > 0), (first + rows < m) | (column + columns + wide <= n)
    return (first + rows <= m) & begun & goes_on


class Straight(NamedTuple):
    """A warp's part of neighbouring rows, of which each lane has a vector. Fields and methods are as of `Wrapped`.

    end      None: the part lies within the rows, and so do vectors that cover it
    vectors  rows of what is read, and of what is written, begin at multiples of so many elements
    """

    rows: int
    column: Any
    width: int
    end: Any
    vectors: tuple[int, int]

    @property
    def tile(self) -> Any:
        """This lane's part of a row."""
        return cl.RowTile(self.column + cl.thread_idx.x % WARP * self.width, self.end, self.width, 1, threads=1)

    def load(self, row: Any) -> list[Any]:
        """Return this lane's vectors, with 0 for what lies beyond the end."""
        if self.end is None and self.vectors[0] < self.width:
            return [between(row(i), self.tile.begin, self.width) for i in range(self.rows)]
        return [self.tile.load(row(i)).reshape((self.width,)) for i in range(self.rows)]

    def store(self, made: list[Any], row: Any) -> None:
        """Write this lane's vectors."""
        for i, v in enumerate(made):
            if self.end is None and self.vectors[1] < self.width:
                store_beside(v, row(i), self.tile.begin)
            else:
                self.tile.store(v.reshape((self.width, 1)), row(i))


def greatest(v: Any) -> Any:
    """Return the greatest magnitude of a vector, as f32: by pairs, which narrow elements are kept in."""
    found = abs(v[:2])
    for i in cl.static_range(2, v.n, 2):
        found = max(found, abs(v[i : i + 2]))
    return widened(found).reduce("max")


def own_greatest(tops: list[Any], rows: int, lanes: int) -> Any:
    """Return the greatest, over some lanes, of the row of this lane's number modulo `rows`, a power of two.

    tops  one of each row, and more of this lane's
    """
    tops, more, bit, lane = tops[:rows], tops[rows:], rows // 2, cl.thread_idx.x
    while bit:
        upper = (lane & bit) > 0
        sent = [cl.where(upper, *pair) for pair in zip(tops[:bit], tops[bit:], strict=True)]
        kept = [cl.where(upper, *pair) for pair in zip(tops[bit:], tops[:bit], strict=True)]
        tops, bit = [max(a, cl.shuffle_xor(b, bit)) for a, b in zip(kept, sent, strict=True)], bit // 2
    top = max([*tops, *more])
    while rows < lanes:
        top, rows = max(top, cl.shuffle_xor(top, rows)), 2 * rows
    return top
