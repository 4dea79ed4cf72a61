"""Transpose matrices while casting or quantising them.

t = transposed(x, "f16")                          # cast and transposed
q, scale = transposed(x, Narrow(block=128))       # quantised, columns of x in blocks of 128
"""

import math
from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, u32
from cutelite.kernels.arguments import Misfit, in_words_of_caller, is_array, needs_gradient, one_of, results
from cutelite.kernels.arrays import empty
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import DTYPES, RESULTS, Rows, derived
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.plan import ACCESS, after, follow, pitches
from cutelite.kernels.rows.quantise import Quantised
from cutelite.lang.bits import funnel_right
from cutelite.lang.words import unpack
from cutelite.layout.access import LINE_BYTES
from cutelite.lib.row_words import widened
from cutelite.target.targets import WARP
from cutelite.tuples import NamedTuple

M, N, G = cl.dims("M N G")  # rows, columns, scales
TILE_M, STRIP = 128, 16  # rows of a block's tile; rows of a thread, in two columns
STRIPS = TILE_M // STRIP
ROW = 256  # bytes of a tile's row
MANY = 16  # lines of memory, or sectors: a result's rows that have as many are whole ones apart
ACROSS = ROW // ACCESS  # threads that load a row
UNIT = 32  # bytes, a sector: what covers rows that begin anywhere begins and ends with whole ones
NARROW = 1.04  # tiles that cover so much more than rows have narrow ones, which take nearly as long as others
MOST_Y = 65_535  # blocks of a grid along y


def tile_of(dtype: Any) -> tuple[int, int]:
    """Return how many columns a block's tile has, and the threads of the block."""
    columns: int = ROW // dtype.bytes
    return columns, columns // 2 * STRIPS


@cache
def transposing(
    dtype: Any, to: Any, vector: int, out_vector: int, narrow: Narrow | None, each: int, across: bool
) -> Any:
    """Make the kernel that writes columns as rows; with `narrow` quantised in blocks of 128.

    each    scales of neighbouring columns that one access writes, 1 or 2: with 2 no sector is written in parts
    across  tiles of a row follow each other, so that narrow ones, at rows' ends, are worked on beside others
    """
    beside = (1, cl.Dim("S", each, min=0)) if each == 2 else (None, None)
    (P,), (Q,) = pitches("P", vector), pitches("Q", out_vector)
    (tile_n, threads), wide, out_wide = tile_of(dtype), ACCESS // dtype.bytes, ACCESS // to.bytes
    pairs, held = tile_n // 2, 1536 if to.bytes < dtype.bytes else 1024  # threads of a multiprocessor
    pitch, aligned = TILE_M + out_wide, vector == wide
    # even columns, then odd ones: neighbouring threads, which have neighbouring pairs of columns, use different banks
    woven = cl.make_layout(((2, pairs), TILE_M), stride=((pairs * pitch, pitch), 1))
    groups = threads // WARP if aligned else STRIPS  # of threads, which have the greatest of all columns of some rows

    @cl.kernel(block=threads, min_blocks=held // threads)
    def columns(
        x: Tensor[dtype, (M, N), (P, 1)],
        y: Tensor[to, (N, M), (Q, 1)],
        scales: Tensor[f32, (N, G), beside] | None,
    ) -> None:
        down, over = cl.block_idx.x, cl.grid_dim.y - 1 - cl.block_idx.y  # narrow tiles first: nobody waits for them
        if across:
            down, over = cl.block_idx.y, cl.block_idx.x
        first, column, t = down * TILE_M, over * tile_n, cl.thread_idx.x
        whole = (first + TILE_M <= M) & (column + tile_n <= N)
        follow(lambda _: ask_for(x, first, column, tile_n, whole), held // threads if to.bytes < dtype.bytes else None)
        tile = cl.shared(dtype, (TILE_M, tile_n if aligned else tile_n + UNIT // dtype.bytes), align=16)
        made = cl.shared(to, woven, align=16)
        tops = None if narrow is None else cl.shared(dtype, (groups, tile_n), align=16)
        source = Tile(x, tile, first, column, tile_n)
        source.bring(whole)
        if aligned and narrow is not None:
            source.write_greatest(tops)
        cl.syncthreads()
        pair, strip, factors = t % pairs, t // pairs, cl.full((2,), 1, f32)
        both = source.pairs(pair, strip)
        if narrow is not None:
            if not aligned:
                tops[strip, None].tile((2,), (pair,)).store(greatest_of(both))
                cl.syncthreads()
            top = tops[0, None].tile((2,), (pair,)).load()
            for i in cl.static_range(1, groups):
                top = max(top, tops[i, None].tile((2,), (pair,)).load())
            scale = narrow.scale(widened(top))
            factors = 1.0 / scale
        v = cl.make_rmem_tensor(f32, (2, STRIP))
        for i in cl.static_range(STRIP):
            v[None, i].store(widened(both(i)) * factors)
        for i in cl.static_range(2):
            made[pair * 2 + i, None].tile((STRIP,), (strip,)).store(v[i, None].load().to(to))
        cl.syncthreads()
        hand_over(made, y, first, column, TILE_M * tile_n // (threads * out_wide), whole)
        if narrow is not None and strip == 0:  # nobody waits for these
            there = cl.RowTile(column + pair * 2, N, each, 2 // each, threads=1)
            there.store(scale.reshape(there.shape), scales[None, down])

    return columns


def greatest_of(both: Any) -> Any:
    """Return the greatest magnitudes of the pairs of a strip."""
    found = abs(both(0))
    for i in cl.static_range(1, STRIP):
        found = max(found, abs(both(i)))
    return found


def ask_for(x: Any, first: Any, column: Any, tile_n: int, whole: Any) -> None:
    """Let a tile of a matrix, if it is `whole`, come to L2."""
    line = LINE_BYTES // x.dtype.bytes  # elements
    for at in range(cl.thread_idx.x, TILE_M * tile_n // line if whole else 0, cl.block_dim.x):
        cl.prefetch(x, (first + at * line // tile_n, column + at * line % tile_n))


class Tile(NamedTuple):
    """A tile of a matrix that a block brings to shared memory.

    x       the matrix
    memory  (TILE_M, columns) in shared memory; where rows begin anywhere, with room for a vector more of each
    first   the tile's first row
    column  and column
    n       its columns
    """

    x: Any
    memory: Any
    first: Any
    column: Any
    n: int

    @property
    def wide(self) -> int:
        """Elements of an access."""
        return ACCESS // self.x.dtype.bytes  # type: ignore[no-any-return]

    def bring(self, whole: Any) -> None:
        """Bring the vectors of memory that cover each row's part, as they lie; elements beyond the matrix become 0.

        whole  all of the tile lies within the matrix
        """
        t, step, wide, more = cl.thread_idx.x, cl.block_dim.x // ACROSS, self.wide, UNIT // ACCESS
        row, number = t // ACROSS, t % ACROSS
        if self.shifts:  # more vectors of each row, and none before the matrix
            within = (self.column > 0) | ((self.first > 0) & (self.x.layout.stride[0] > 0))
            whole = whole & within & (self.column + self.n + self.unit <= self.x.shape[1])
        if whole:
            there = self.there(row)
            for i in cl.static_range(TILE_M // step):
                cl.cp_async(self.vector(row + i * step, number), there[i, None].tile((wide,), (number,)))
            if self.shifts and t < more * TILE_M:
                there, number = self.there(t // more)[0, None], ACROSS + t % more
                cl.cp_async(self.vector(t // more, number), there.tile((wide,), (number,)))
        else:
            for i in cl.static_range(TILE_M // step):
                self.copy(row + i * step, number)
            if self.shifts and t < more * TILE_M:
                self.copy(t // more, ACROSS + t % more)
        cl.cp_async_commit_group()
        cl.cp_async_wait_group(0)

    def write_greatest(self, tops: Any) -> None:
        """Write the greatest magnitudes of what each warp has brought, where rows are whole vectors."""
        t, step = cl.thread_idx.x, cl.block_dim.x // ACROSS
        found = abs(self.vector(t // ACROSS, t % ACROSS).load())
        for i in cl.static_range(1, TILE_M // step):
            found = max(found, abs(self.vector(t // ACROSS + i * step, t % ACROSS).load()))
        found = max(found, cl.shuffle_xor(found, ACROSS))  # of the warp's two rows at a time
        if t % WARP < ACROSS:
            tops[t // WARP, None].tile((self.wide,), (t % ACROSS,)).store(found)

    def copy(self, row: Any, number: Any) -> None:
        """Start the copy of a vector, with zeros from the row's end on; one that begins before the matrix is copied."""
        (m, n), here, wide = self.x.shape, self.first + row, self.wide
        begin, place = self.column + number * wide - self.lead(row), self.vector(row, number)
        count = cl.where(here < m, min(max(n - begin, 0), wide), 0)
        if self.shifts and (begin < 0) & (min(here, self.unit) * min(self.x.layout.stride[0], self.unit) < self.unit):
            for j in cl.static_range(wide):
                v = self.x.dtype(0)
                if (begin + j >= 0) & (j < count):
                    v = self.x[here, begin + j]
                place[j] = v
        else:
            there = self.there(row)[0, None].tile((wide,), (number,))
            cl.cp_async(place, there, src_bytes=count * self.x.dtype.bytes)

    @property
    def unit(self) -> int:
        """Elements of a sector."""
        return UNIT // self.x.dtype.bytes  # type: ignore[no-any-return]

    @property
    def shifts(self) -> bool:
        """Tell whether rows begin anywhere."""
        return self.memory.shape[1] > self.n  # type: ignore[no-any-return]

    def vector(self, row: Any, number: Any) -> Any:
        """Return a vector of a row in shared memory."""
        return self.memory[row, None].tile((self.wide,), (number,))

    def there(self, row: Any) -> Any:
        """Return the vectors in the matrix that cover a row's part, and those of this thread's rows behind it."""
        step, line = cl.block_dim.x // ACROSS, self.x[self.first + row, None]
        shape, stride = (TILE_M // step, self.memory.shape[1]), (step * self.x.layout.stride[0], 1)
        if self.shifts:  # rows so far apart begin as far into a sector
            cover, _ = cl.aligned_down(cl.domain_offset((self.column,), line), UNIT)
        else:
            cover = line.tile((self.n,), (self.column // self.n,))
        return cl.make_tensor(cover, cl.make_layout(shape, stride=stride))

    def lead(self, row: Any) -> Any:
        """Return how many elements of what covers a row's part lie before it."""
        if not self.shifts:
            return 0
        _, lead = cl.aligned_down(cl.domain_offset((self.column,), self.x[self.first, None]), UNIT)
        return (lead + row * (self.x.layout.stride[0] % self.unit)) % self.unit

    def pairs(self, pair: Any, strip: Any) -> Any:
        """Return ``both(i)``: the elements of two neighbouring columns in row i of a strip."""
        first, vector = strip * STRIP, cl.full((2,), 0, self.x.dtype)
        if not self.shifts:
            return lambda i: self.memory[first + i, None].tile((2,), (pair,)).load()
        each, pitch = 4 // self.x.dtype.bytes, self.x.layout.stride[0] % self.unit
        leads = [(self.lead(first) + i * pitch) % self.unit for i in range(self.unit)]  # then they are these again

        def words(i: int) -> tuple[Any, Any]:
            place = cl.make_tensor(self.memory[first + i, None], cl.make_layout((self.memory.shape[1] // each,)), u32)
            at = pair * (2 // each) + leads[i % self.unit] // each
            return place[at], place[at + 1]

        if each == 1:
            return lambda i: unpack(cl.vector(*words(i)), vector)
        held = [funnel_right(*words(i), leads[i % self.unit] % 2 * 16) for i in range(STRIP)]
        return lambda i: unpack(cl.vector(held[i]), vector)


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
    """Return how far apart rows of `m` elements of a result begin: whole lines of memory, sectors, or accesses.

    L2 writes a sector in parts more slowly; and other kernels read such rows by whole vectors, or by TMA.
    """
    lines, sectors = m * bytes // LINE_BYTES, m * bytes // UNIT
    unit = (LINE_BYTES if lines >= MANY else UNIT if sectors >= MANY else ACCESS) // bytes
    return -(-m // unit) * unit


def room(x: Any, kind: Any) -> Any:
    """Return an array for the transposed of x, of a dtype."""
    m, n = x.shape
    return empty(x, (n, apart(m, kind.bytes)), kind.name)[:, :m]


@planned
@in_words_of_caller
def transposed(x: Any, to: str | Narrow, *, out: Any = None) -> Any:
    """Transpose a matrix while casting it, or quantising it in blocks of 128 along its columns.

    x       (m, n), bf16, f16 or f32
    to      a code such as 'bf16' or 'e4m3', or ``Narrow(block=128)``. What 8 bits do not hold, and inf, becomes their
            greatest number, where torch's casts give NaN or inf
    out     where to write, of the shape and dtype of what is given, its rows any way apart; two arrays of a `Narrow`
    Gives   (n, m), with rows a multiple of 16 bytes apart, of 32 or 128 where they are long: so there may be gaps
            between them. Of a `Narrow` a `Quantised`, with scales (n, ceil(m / 128)), column-major
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
            wanted["scale"] = (rows.n, narrow.count(rows.m)), "f32"
        made = [*results(out, wanted, tuple(wanted), x=x), None]
    y, scale = made[:2]
    if rows.m * rows.n:
        aligned = Rows(y, "out", most=None, kinds=RESULTS, written=True).vector
        each = math.gcd(2, rows.n) if out is None else 1
        columns, threads = tile_of(rows.dtype)
        tiles = -(-rows.m // TILE_M), -(-rows.n // columns)
        across = tiles[1] * columns > NARROW * rows.n and tiles[0] <= MOST_Y
        kernel = transposing(rows.dtype, kind, rows.vector, aligned, narrow, each, across)
        kernel[after(tiles[::-1] if across else tiles, threads)](rows.matrix, y, scale)
    return y if narrow is None else Quantised(y, scale)
