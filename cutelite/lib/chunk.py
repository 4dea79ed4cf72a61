"""The chunk of A that a function gets which computes a GEMM's operand: by scaling, normalising or dequantising.

def dequantised(chunk, scales):
    return chunk.values * chunk.by_row(scales)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cutelite.ir.types import f32, i32
from cutelite.lang.algebra import local_tile
from cutelite.lang.emit import mistake
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import make_rmem_tensor
from cutelite.lang.values import where
from cutelite.layout import make_layout

QUAD, STEP = 4, 16  # threads that hold a row; columns of an instruction


@dataclass(frozen=True)
class Prepare:
    """A function that computes elements of A from those in memory: ``function(chunk, *tensors)``, for each `Chunk`.

    It returns a vector of as many numbers as ``chunk.values`` has, in their order. They are rounded to the dtype of B.

    tensors  further tensors that it reads: of rank 1 or 2 in global memory, contiguous along the last mode
    """

    function: Callable[..., Any]
    tensors: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Chunk:
    """64 rows of A and some columns along K: those of a warpgroup, with whose 128 threads the function is called.

    values   this thread's elements, a vector of f32 in the order of wgmma's A in registers: two neighbours of a row,
             two of the row eight below, the same eight columns further, and so on
    row      of the first element in A; `column` likewise
    shape    rows and columns of A. Elements beyond them are zeros, and what the function makes of these is not used
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
        """Return the number of its row for each of this thread's elements, f32.

        tensor  (rows,); with `every` (rows, ceil(columns / every)): one for `every` columns, a multiple of `columns`
        """
        if every is not None and every % self.columns:
            text = f"a chunk has {self.columns} columns, of which a number for each {every} may be several"
            raise mistake("chunk-rows", text, help="a multiple of the chunk's columns")
        held = make_rmem_tensor(tensor.dtype, (2,))
        for i in static_range(2):
            row = min(self.row + self.place[0] + 8 * i, self.shape[0] - 1)
            held[i] = tensor[row] if every is None else tensor[row, self.column // every]
        return self._flat(held, (0, 1, 0))

    def by_column(self, tensor: Any) -> Any:
        """Return the number of its column, from a tensor (columns,), for each of this thread's elements, f32."""
        groups = 2 * self.steps
        held = make_rmem_tensor(tensor.dtype, make_layout((2, groups)))
        for j in static_range(groups):
            held[None, j].store(local_tile(tensor, (2,), (self._across(j) // 2,)).load())
        return self._flat(held, (1, 0, 2))

    def by_element(self, tensor: Any) -> Any:
        """Return this thread's elements of a tensor (rows, columns), f32."""
        groups = 2 * self.steps
        held = make_rmem_tensor(tensor.dtype, make_layout((2, 2, groups)))
        for j in static_range(groups):
            for i in static_range(2):
                row = min(self.row + self.place[0] + 8 * i, self.shape[0] - 1)
                held[None, i, j].store(local_tile(tensor[row, None], (2,), (self._across(j) // 2,)).load())
        return self._flat(held, (1, 2, 4))

    def inside(self, x: Any) -> Any:
        """Return the same numbers, with 0 for columns beyond A's end."""
        held = make_rmem_tensor(i32, make_layout((2, 2 * self.steps)))
        for j in static_range(2 * self.steps):
            for i in static_range(2):
                held[i, j] = self.column + 8 * j + self.place[1] + i
        return where(self._flat(held, (1, 0, 2), i32) < self.shape[1], x, 0.0)

    def _across(self, j: int) -> Any:
        """The column of pair `j` of a row, or the last pair's."""
        return min(self.column + 8 * j + self.place[1], self.shape[1] - 2)

    def _flat(self, held: Any, stride: tuple[int, ...], dtype: Any = f32) -> Any:
        """A number for each of this thread's elements, of those held for pairs, rows and groups of eight columns."""
        whole = held.view(make_layout((2, 2, 2 * self.steps), stride=stride)).load()
        return whole.reshape((len(self.values),)).to(dtype)
