"""`Chunk`: the part of a GEMM's A that a user's function turns into the operand: scales, normalises or dequantises.

def dequantised(chunk, scales):
    return chunk.values * chunk.by_row(scales)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.ir.types import i32
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import make_rmem_tensor
from cutelite.lang.values import where
from cutelite.layout import make_layout
from cutelite.lib.piece import Part, place_of
from cutelite.records import dataclass


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
class Chunk(Part):
    """64 rows of A by some columns along K, held by one warpgroup. All of its 128 threads call the function.

    values   this thread's elements, a vector of f32 in the order of a `Part`
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
    def columns(self) -> int:
        return 2 * len(self.values)

    @property
    def place(self) -> tuple[Any, Any]:
        return place_of(self.thread)

    def inside(self, x: Any) -> Any:
        """Return `x` with zeros in the columns beyond A's end."""
        groups = self.columns // 8
        held = make_rmem_tensor(i32, make_layout((2, groups)))
        for j in static_range(groups):
            for i in static_range(2):
                held[i, j] = self.column + 8 * j + self.place[1] + i
        return where(self.spread(held, (1, 0, 2), i32) < self.shape[1], x, 0.0)
