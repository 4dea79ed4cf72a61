"""`Piece`: the part of a GEMM's tile that an epilogue function is called with, and its ways to read and to store.

def residual(piece, bias, other):
    piece.result(piece.sums + piece.by_column(bias) + piece.by_element(other))
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from cutelite.ir.types import f32
from cutelite.lang.algebra import local_tile
from cutelite.lang.emit import describe, mistake
from cutelite.lang.given import mistake_of, tensor_of
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import make_rmem_tensor
from cutelite.lang.tma import fence_proxy_async
from cutelite.lang.values import Scalar, Vector, full
from cutelite.layout import known_divisor, make_layout
from cutelite.lib.reduce import warp_reduce
from cutelite.records import dataclass

ROWS, QUAD, GROUP = 64, 4, 128  # rows of a piece; threads that have a row; threads of a warpgroup
STORE = 16  # bytes that a thread stores at once


@dataclass(frozen=True)
class Finish:
    """A function that computes results from a GEMM's sums. It is called once per `Piece` of a tile.

    ``function(piece, *tensors)`` stores the results by ``piece.result``, and other outputs by ``piece.store`` and
    ``piece.put_rows``.

    ahead    a function of the same arguments that is called before the products of a tile, when a piece has no sums
             yet. `function` gets its result after the piece: what it loads is there when the sums are
    tensors  further tensors that it reads and writes: of rank 1 or 2 in global memory, contiguous along the last mode
    columns  the number of columns of a piece
    paired   two neighbouring columns of the product make one column of the result
    halves   B's columns are two halves: a piece has `columns` / 2 of each, `sums` and `others`
    apart    with `halves`: halves of each 2 * `apart` columns, such as heads; 0: of all. The column of a piece counts
             those of first halves
    shape    rows and columns of the product, as the kernel knows them; with `halves`, columns of a half
    plain    the results as a plain tensor in global memory, given where rows or columns behind the product's belong to
             something else: a piece that reaches into those is stored row by row, not by TMA
    """

    function: Callable[..., Any]
    tensors: tuple[Any, ...] = ()
    columns: int = 64
    paired: bool = False
    shape: tuple[Any, Any] = (0, 0)
    plain: Any = None
    halves: bool = False
    apart: int = 0
    ahead: Callable[..., Any] | None = None

    def begin(self, piece: Any) -> tuple[Any, ...]:
        """Return what `function` takes between the piece and the tensors: (the result of `ahead`,), or ()."""
        return () if self.ahead is None else (self.ahead(piece, *self.tensors),)

    def make(self, piece: Any, begun: tuple[Any, ...]) -> None:
        """Call `function` with a piece and with what `begin` returned. Errors: `finish` if it returns numbers."""
        returned = self.function(piece, *begun, *self.tensors)
        if hasattr(returned, "dtype") or isinstance(returned, int | float):
            text = f"the function for `finish` returns {describe(returned)}, which is stored nowhere"
            raise mistake_of(self.function, "finish", text, "it stores its results by `piece.result(x)`")


def at_once(most: int, tensor: Any, column: Any) -> int:
    """Return how many elements of a row are accessed at once, at most `most`: a divisor of where they begin.

    tensor  whose columns and rows' distance are multiples of what is known of the distance (`kinds_of`)
    column  of the first element: None for a multiple of `most`
    """
    known = gcd(most, known_divisor(tensor.stride[0]))
    if column is None:
        return known
    if not isinstance(column, Scalar):
        return gcd(known, known_divisor(column))
    return 1


def place_of(thread: Any) -> tuple[Any, Any]:
    """Return row and column of a thread's first number in wgmma's accumulators, and in its A in registers."""
    lane = thread % 32
    return thread // 32 * 16 + lane // QUAD, lane % QUAD * 2


class Part:
    """64 rows by some columns of a matrix in registers of one warpgroup: what a `Piece` and a `Chunk` are.

    A thread's numbers are a vector in the order of wgmma: two neighbours of a row, two of the row eight below, the same
    eight columns further, and so on.

    row, column  of the matrix, at which it begins
    shape        rows and columns of the matrix
    """

    row: Any
    column: Any
    shape: tuple[Any, Any]

    @property
    def columns(self) -> int:
        """The number of columns."""
        raise NotImplementedError

    @property
    def place(self) -> tuple[Any, Any]:
        """Row and column of this thread's first number, from those at which this begins."""
        raise NotImplementedError

    def by_row(self, tensor: Any, every: int | None = None) -> Any:
        """Return, for each of this thread's numbers, the one that `tensor` has for its row, f32.

        tensor  (rows,); with `every`, (rows, ceil(columns / every)): a number for each run of `every` columns
        every   a multiple of `columns`
        Errors  `part-rows` for another `every`
        """
        held = make_rmem_tensor(self.of_rows_in(tensor, every).dtype, (2,))
        for i in static_range(2):
            row = min(self.row + self.place[0] + 8 * i, self.shape[0] - 1)
            held[i] = tensor[row] if every is None else tensor[row, self.run(every)]
        return self.spread(held, (0, 1, 0))

    def of_rows_in(self, tensor: Any, every: int | None) -> Any:
        """Return the tensor that `by_row` gets, checked."""
        if every is not None and (every < 1 or every % self.columns):
            text = f"with a number for each {every} columns, {self.columns} columns may need several a row"
            raise mistake("part-rows", text, help=f"let `every` be a multiple of {self.columns}")
        return tensor_of("by_row", tensor, 1 if every is None else 2)

    def run(self, every: int) -> Any:
        """Return the index of this run of `every` columns; of one behind the matrix the last one."""
        return min(self.column, self.shape[1] - 1) // every

    def by_column(self, tensor: Any) -> Any:
        """Return, for each of this thread's numbers, the one that a tensor (columns,) has for its column, f32."""
        right, groups = self.place[1], self.columns // 8
        held = make_rmem_tensor(tensor_of("by_column", tensor, 1).dtype, make_layout((2, groups)))
        for j in static_range(groups):
            column = min(self.column + 8 * j + right, self.shape[1] - 2)
            held[None, j].store(local_tile(tensor, (2,), (column // 2,)).load())
        return self.spread(held, (1, 0, 2))

    def by_element(self, tensor: Any, column: Any = None) -> Any:
        """Return, for each of this thread's numbers, the element of a tensor (rows, columns) at the same place, f32.

        column  the tensor's column that belongs to the first one; default: the same number as in the matrix. Neighbours
                are loaded together if it is known to be even, as `cl.dim(at, 8)` is
        """
        (down, right), groups, tensor = self.place, self.columns // 8, tensor_of("by_element", tensor, 2)
        start, unit = self.column if column is None else column, at_once(2, tensor, column)
        held = make_rmem_tensor(tensor.dtype, make_layout((2, 2, groups)))
        units = held.view(make_layout((unit, 2 // unit, 2, groups)))
        for j in static_range(groups):
            for i in static_range(2):
                row = min(self.row + down + 8 * i, self.shape[0] - 1)
                for k in static_range(0, 2, unit):
                    across = min(start + 8 * j + right + k, tensor.shape[1] - unit)
                    units[None, k // unit, i, j].store(local_tile(tensor[row, None], (unit,), (across // unit,)).load())
        return self.spread(held, (1, 2, 4))

    def spread(self, held: Any, stride: tuple[int, ...], dtype: Any = f32) -> Any:
        """Return a vector in this order of `held`, with these strides for pairs, rows and eights of columns."""
        whole = held.view(make_layout((2, 2, self.columns // 8), stride=stride)).load()
        return whole.reshape((self.columns // 2,)).to(dtype)


@dataclass(frozen=True)
class Piece(Part):
    """64 rows by some columns of sums, held by one warpgroup. All of its 128 threads call the function.

    sums     this thread's sums, a vector of f32 in the order of a `Part`
    row      row in the product of the piece's first element; `column` and `batch` likewise
    shape    rows and columns of the product, or of its halves. Sums outside have no meaning, and are never stored
    ring     a `ResultRing`, in the results' dtype
    d        TMA tensor of results; `plain` is that of `Finish`
    paired   results have half as many columns as sums
    others   of a product whose columns are two halves, the sums of the second half; `sums` are those of the first
    number   the index of the ring's buffer that the results go through
    """

    HIGH = ROWS  # of a piece

    sums: Any
    row: Any
    column: Any
    batch: tuple[Any, ...]
    shape: tuple[Any, Any]
    ring: Any
    d: Any
    paired: bool = False
    plain: Any = None
    others: Any = None
    number: int = 0

    @property
    def columns(self) -> int:
        """The number of columns of sums."""
        return 2 * len(self.sums)

    @property
    def wide(self) -> int:
        """The number of columns of results."""
        return self.columns // (2 if self.paired else 1)

    @property
    def place(self) -> tuple[Any, Any]:
        return place_of(self.ring.thread)

    @property
    def own_column(self) -> Any:
        """The column of the results for the piece's first column."""
        return self.column // 2 if self.paired else self.column

    @property
    def left(self) -> Any:
        """The number of columns of results from the piece's first one on that the product has: a multiple of 8."""
        return (self.shape[1] // 2 if self.paired else self.shape[1]) - self.own_column

    def pairs(self, x: Any) -> tuple[Any, Any]:
        """Split `x` into its even and its odd columns: two vectors of half the length."""
        held = make_rmem_tensor(x.dtype, make_layout((2, len(x) // 2)))
        held.store(x)
        return held[0, None].load(), held[1, None].load()

    def joined(self, even: Any, odd: Any) -> Any:
        """The converse of `pairs`."""
        held = make_rmem_tensor(even.dtype, make_layout((2, len(even))))
        held[0, None].store(even)
        held[1, None].store(odd)
        return held.load()

    def halves(self, x: Any) -> tuple[Any, Any]:
        """Split `x` into the left and the right half of the piece: two vectors of half the length."""
        return x[: len(x) // 2], x[len(x) // 2 :]

    def beside(self, left: Any, right: Any) -> Any:
        """The converse of `halves`."""
        held = make_rmem_tensor(left.dtype, make_layout((len(left), 2)))
        held[None, 0].store(left)
        held[None, 1].store(right)
        return held.load()

    def of_rows(self, x: Any, combine: str = "add") -> Any:
        """Return, for each of this thread's elements, the sum ('add') or the maximum ('max') of its row of the piece.

        Columns outside the product count as 0: for 'max', numbers must not be negative. Take absolute values.

        Who     all threads of the warpgroup
        Errors  `piece-rows` for another `combine`
        """
        if combine not in ("add", "sum", "max"):
            raise mistake("piece-rows", f"of_rows combines by 'add' or 'max', not {combine!r}")
        right, groups = self.place[1], self.columns // 8
        held, found = make_rmem_tensor(f32, make_layout((2, 2, groups))), make_rmem_tensor(f32, (2,))
        held.store(x.to(f32))
        for i in static_range(2):
            total: Any = f32(0.0)
            for j in static_range(groups):
                pair = held[None, i, j].load()
                one = max(pair[0], pair[1]) if combine == "max" else pair[0] + pair[1]
                inside = f32(0.0)
                if self.column + 8 * j + right < self.shape[1]:
                    inside = one
                total = max(total, inside) if combine == "max" else total + inside
            found[i] = warp_reduce(total, combine, width=QUAD)
        return self.spread(found, (0, 1, 0))

    def put_rows(self, tensor: Any, x: Any) -> None:
        """Store a number for each row, from `of_rows`, to a tensor (rows, ceil(columns / columns of a piece))."""
        (down, right), tensor = self.place, tensor_of("put_rows", tensor, 2)
        for i in static_range(2):
            row = self.row + down + 8 * i
            if right == 0 and row < self.shape[0] and self.column < self.shape[1]:
                tensor[row, self.column // self.columns] = x[2 * i].to(tensor.dtype)

    def result(self, x: Any, column: Any = None) -> None:
        """Store results by TMA. `x` is in the order of the sums or of `pairs`.

        column  the column of the results for the first column; default: that of the sums in the product
        Who     all threads of the warpgroup
        """
        self._through(x)
        start = self.own_column if column is None else column
        if self.plain is None or (
            self.row + self.HIGH <= self.shape[0]
            and (self.wide <= self.left or start + self.left >= self.plain.shape[1])
        ):
            self.ring.send(self.number, self.d, (*self.batch, self.row, start))
        else:
            self._by_rows(self.plain, column, None)

    def store(self, x: Any, target: Any, column: Any = None, rows: Any = None) -> None:
        """Store results to another tensor, 16 bytes a thread.

        target  (rows, columns) in the results' dtype, at best rows a multiple of 16 bytes apart, and a multiple of 16
                bytes of columns. Nothing outside it is written
        column  the target's column that belongs to the piece's first one; default: the same number as in the product.
                16 bytes are stored at once if it is known to be a multiple, as `cl.dim(at, 8)` is for bf16
        rows    a tensor (rows of the product,) of i32: for each row, the target's row; a negative one is not stored
        Who     all threads of the warpgroup
        Errors  `piece-dtype` for a target of another dtype
        """
        if tensor_of("store", target, 2).dtype != self.ring.dtype:
            raise mistake("piece-dtype", f"results are {self.ring.dtype}, and the tensor they go to is {target.dtype}")
        self._through(x)
        self._by_rows(target, column, rows)

    def check_results(self, x: Any) -> None:
        """Check what is stored: a vector of so many numbers. Errors: `piece-results`."""
        each = len(self.sums) // (2 if self.paired else 1)
        if not isinstance(x, Vector) or len(x) != each:
            known = "the halves of `piece.pairs` are" if self.paired else "`piece.sums` is"
            text = f"results of a piece are a vector of {each} numbers, as {known}, not {describe(x)}"
            raise mistake("piece-results", text)

    def _by_rows(self, target: Any, column: Any, rows: Any) -> None:
        """Store the buffer to global memory, each row by neighbouring threads."""
        each = min(STORE // self.ring.dtype.bytes, 8)  # the product has all of them, or none
        start, unit = self.own_column if column is None else column, at_once(each, target, column)
        units, held = self.wide // each, self.ring.buffer(self.number)
        across, high = self.ring.thread % units * each, GROUP // units
        for i in static_range(-(-self.HIGH // high)):
            down = self.ring.thread // units + i * high
            inside = across < self.left and start + across < target.shape[1]
            if down < self.HIGH and self.row + down < self.shape[0] and inside:
                row = self.row + down if rows is None else rows[self.row + down]
                if row >= 0 and row < target.shape[0]:
                    part = local_tile(held[down, None], (each,), (across // each,)).load()
                    store_units(part, target[row, None], start + across, unit)

    def _through(self, x: Any) -> None:
        """Wait until the buffer is free, and write the results to it. Errors: `piece-results` for other numbers."""
        self.check_results(x)
        self.ring.acquire()
        if not self.paired:
            self.ring.put(self.number, x.to(self.ring.dtype))
            return
        (down, right), held = self.place, make_rmem_tensor(self.ring.dtype, make_layout((2, self.columns // 8)))
        held.store(x.to(self.ring.dtype))
        buffer = self.ring.buffer(self.number)
        for j in static_range(self.columns // 8):
            for i in static_range(2):
                buffer[down + 8 * i, 4 * j + right // 2] = held[i, j]
        fence_proxy_async("shared::cta")
        self.ring.group.sync()


def store_units(part: Any, row: Any, start: Any, unit: int) -> None:
    """Store the vector `part` to a row from `start` on, `unit` elements at once; nothing of it beyond the row's end."""
    for k in static_range(0, len(part), unit):
        if k == 0 or start + k < row.shape[0]:
            local_tile(row, (unit,), ((start + k) // unit,)).store(part if unit == len(part) else part[k : k + unit])


WIDE = 8  # elements that a thread loads at once


@dataclass(frozen=True)
class RowPiece(Piece):
    """A `Piece` of 128 rows, one for each thread of the warpgroup: what 32x32b loads of tensor memory give.

    sums  this thread's row
    ring  a `RowRing`; with several buffers, the function stores its results once
    """

    HIGH = GROUP

    @property
    def columns(self) -> int:
        return len(self.sums)

    @property
    def place(self) -> tuple[Any, Any]:
        return self.ring.thread, 0

    def by_column(self, tensor: Any) -> Any:
        return self._row(tensor_of("by_column", tensor, 1), self.column, WIDE).to(f32)

    def by_row(self, tensor: Any, every: int | None = None) -> Any:
        tensor, row = self.of_rows_in(tensor, every), min(self.row + self.ring.thread, self.shape[0] - 1)
        one = tensor[row] if every is None else tensor[row, self.run(every)]
        return full((self.columns,), one.to(f32), f32)

    def by_element(self, tensor: Any, column: Any = None) -> Any:
        row = min(self.row + self.ring.thread, self.shape[0] - 1)
        start, tensor = self.column if column is None else column, tensor_of("by_element", tensor, 2)
        return self._row(tensor[row, None], start, at_once(WIDE, tensor, column)).to(f32)

    def _row(self, row: Any, start: Any, unit: int) -> Any:
        """Return elements of a row from `start` on, loaded `unit` at once. Beyond its end, its last ones stand in."""
        held = make_rmem_tensor(row.dtype, make_layout((unit, self.columns // unit)))
        for j in static_range(self.columns // unit):
            at = min(start + j * unit, row.shape[0] - unit)
            held[None, j].store(local_tile(row, (unit,), (at // unit,)).load())
        return held.view(make_layout(self.columns)).load()

    def of_rows(self, x: Any, combine: str = "add") -> Any:
        if combine not in ("add", "sum", "max"):
            raise mistake("piece-rows", f"of_rows combines by 'add' or 'max', not {combine!r}")
        held = make_rmem_tensor(f32, make_layout(len(x)))
        held.store(x.to(f32))
        for j in static_range(len(x)):
            if self.column + j >= self.shape[1]:
                held[j] = f32(0.0)
        return full((len(x),), held.load().reduce("max" if combine == "max" else "sum"), f32)

    def put_rows(self, tensor: Any, x: Any) -> None:
        row = self.row + self.ring.thread
        if row < self.shape[0] and self.column < self.shape[1]:
            tensor_of("put_rows", tensor, 2)[row, self.column // self.columns] = x[0].to(tensor.dtype)

    def _through(self, x: Any) -> None:
        self.check_results(x)
        self.ring.acquire()
        self.ring.put(self.number, x.to(self.ring.dtype))
