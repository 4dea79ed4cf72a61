"""`Chunk`: the part of a GEMM's A that a user's function turns into the operand: scales, normalises or dequantises.

def dequantised(chunk, scales):
    return chunk.values * chunk.by_row(scales)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.ir.types import f32, i32
from cutelite.lang.algebra import local_tile
from cutelite.lang.emit import mistake
from cutelite.lang.given import tensor_of
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import make_rmem_tensor
from cutelite.lang.values import where
from cutelite.layout import make_layout
from cutelite.records import dataclass

QUAD, STEP = 4, 16  # threads that hold a row; columns of an instruction


@dataclass(frozen=True)
class Prepare:
    """A function that computes elements of A from those in memory. It is called once per `Chunk`, with the `tensors`.

    ``function(chunk, *tensors)`` returns a vector as long as ``chunk.values``, in the same order. The numbers are then
    rounded to the dtype of B.

    tensors  further tensors that it reads: of rank 1 or 2 in global memory, contiguous along the last mode
    within   the GEMM calls the function, and nothing of A's size is written; False: a kernel ahead of it does, and
             writes A
    """

    function: Callable[..., Any]
    tensors: tuple[Any, ...] = ()
    within: bool = True


@dataclass(frozen=True)
class Chunk:
    """64 rows of A by some columns along K, held by one warpgroup. All of its 128 threads call the function.

    values   this thread's elements, a vector of f32 in the order of wgmma's A in registers: two neighbours of a row,
             two of the row eight below, the same eight columns further, and so on
    row      row in A of the chunk's first element; `column` likewise
    shape    rows and columns of A. Elements outside are zeros, and the function's results for them are not used
    thread   the index of this thread in the warpgroup
    """

    values: Any
    row: Any
    column: Any
    shape: tuple[Any, Any]
    thread: Any

    @property
    def steps(self) -> int:
        """Instructions along K."""
        return len(self.values) // 8

    @property
    def columns(self) -> int:
        """Columns along K."""
        return STEP * self.steps

    @property
    def place(self) -> tuple[Any, Any]:
        """Row and column in the chunk of this thread's first element."""
        lane = self.thread % 32
        return self.thread // 32 * 16 + lane // QUAD, lane % QUAD * 2

    def by_row(self, tensor: Any, every: int | None = None) -> Any:
        """Return, for each of this thread's elements, the number that `tensor` has for the element's row, f32.

        tensor  (rows,); with `every`, (rows, ceil(columns / every)): a number for each run of `every` columns
        every   a multiple of the chunk's columns
        Errors  `chunk-rows` for another `every`
        """
        if every is not None and every % self.columns:
            text = f"with a number for each {every} columns, a chunk of {self.columns} columns may need several a row"
            raise mistake("chunk-rows", text, help="let `every` be a multiple of the chunk's columns")
        held = make_rmem_tensor(tensor_of("by_row", tensor, 1 if every is None else 2).dtype, (2,))
        for i in static_range(2):
            row = min(self.row + self.place[0] + 8 * i, self.shape[0] - 1)
            held[i] = tensor[row] if every is None else tensor[row, self.column // every]
        return self._flat(held, (0, 1, 0))

    def by_column(self, tensor: Any) -> Any:
        """Return, for each of this thread's elements, the number that a tensor (columns,) has for its column, f32."""
        groups, tensor = 2 * self.steps, tensor_of("by_column", tensor, 1)
        held = make_rmem_tensor(tensor.dtype, make_layout((2, groups)))
        for j in static_range(groups):
            held[None, j].store(local_tile(tensor, (2,), (self._across(j) // 2,)).load())
        return self._flat(held, (1, 0, 2))

    def by_element(self, tensor: Any) -> Any:
        """Return this thread's elements of a tensor (rows, columns), f32."""
        groups, tensor = 2 * self.steps, tensor_of("by_element", tensor, 2)
        held = make_rmem_tensor(tensor.dtype, make_layout((2, 2, groups)))
        for j in static_range(groups):
            for i in static_range(2):
                row = min(self.row + self.place[0] + 8 * i, self.shape[0] - 1)
                held[None, i, j].store(local_tile(tensor[row, None], (2,), (self._across(j) // 2,)).load())
        return self._flat(held, (1, 2, 4))

    def inside(self, x: Any) -> Any:
        """Return `x` with zeros in the columns beyond A's end."""
        held = make_rmem_tensor(i32, make_layout((2, 2 * self.steps)))
        for j in static_range(2 * self.steps):
            for i in static_range(2):
                held[i, j] = self.column + 8 * j + self.place[1] + i
        return where(self._flat(held, (1, 0, 2), i32) < self.shape[1], x, 0.0)

    def _across(self, j: int) -> Any:
        """Return the column of pair `j` of a row, but never one beyond A's last pair."""
        return min(self.column + 8 * j + self.place[1], self.shape[1] - 2)

    def _flat(self, held: Any, stride: tuple[int, ...], dtype: Any = f32) -> Any:
        """Return a vector of this thread's elements: `held`, read with these strides for pairs, rows, column groups."""
        whole = held.view(make_layout((2, 2, 2 * self.steps), stride=stride)).load()
        return whole.reshape((len(self.values),)).to(dtype)
