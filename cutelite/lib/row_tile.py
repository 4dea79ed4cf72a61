"""Tiles of rows whose length may be known at run time only: a contiguous part, distributed over a block's threads."""

from __future__ import annotations

from typing import Any

from cutelite.lang.cp_async import cp_async_bulk_prefetch
from cutelite.lang.index import block_dim, thread_idx
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import make_rmem_tensor, make_tensor
from cutelite.lang.whole import fill as fill_tensor
from cutelite.layout import make_layout
from cutelite.lib.row_ends import COPIED, copy_elements, copy_vector
from cutelite.records import dataclass


@dataclass(frozen=True)
class RowTile:
    """A contiguous part of a row, distributed over the threads of a block. The row's length may be a run-time number.

    begin    the column of the tile's first element, a multiple of `vector`
    end      the column after the row's last one; None where the tile is known to lie within the row
    vector   neighbouring elements that go to one thread
    pieces   vectors of each thread; vector i lies i * threads vectors after vector 0
    threads  the number of threads that share the tile, neighbours of which the first one's number is a multiple of it;
             default: all of the block. 1: this thread has all of it
    """

    begin: Any
    end: Any
    vector: int
    pieces: int
    threads: int | None = None

    @property
    def size(self) -> Any:
        """The number of elements of the tile."""
        return self.team * self.vector * self.pieces

    @property
    def team(self) -> Any:
        """The number of threads that share the tile."""
        return block_dim.x if self.threads is None else self.threads

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of a thread's part."""
        return self.vector, self.pieces

    @property
    def lane(self) -> Any:
        """The number of this thread among those that share the tile."""
        return thread_idx.x if self.threads is None else 0 if self.threads == 1 else thread_idx.x % self.threads

    def first(self, piece: int) -> Any:
        """Return the column of the first element of one of this thread's vectors."""
        return self.begin + self.lane * self.vector + piece * self.team * self.vector

    def vectors(self, row: Any) -> Any:
        """Return this thread's elements of `row`, (vector, pieces): all have one address, and a distance from it."""
        first = row.tile((self.vector,), (self.first(0) // self.vector,))
        (step,) = row.layout.stride if isinstance(row.layout.stride, tuple) else (row.layout.stride,)
        return make_tensor(first, make_layout(self.shape, stride=(step, self.team * self.vector * step)))

    def columns(self) -> Any:
        """Return the columns of this thread's elements: a vector of shape (vector, pieces), of the type of `begin`."""
        found = make_rmem_tensor(self.first(0).dtype, make_layout(self.shape))
        for i in static_range(self.pieces):
            for j in static_range(self.vector):
                found[j, i] = self.first(i) + j
        return found.load()

    def ask_for(self, row: Any) -> None:
        """Prefetch the tile of `row`, in global memory, into L2 by one request.

        It does nothing for a tile that reaches beyond the row or is no multiple of 16 bytes.

        Who   all threads that share the tile: one of them asks
        """
        there, bytes = row.tile((self.vector,), (self.begin // self.vector,)), self.size * row.dtype.bytes
        fits = self.end is None and there.value.type.align % COPIED == self.vector * row.dtype.bytes % COPIED == 0
        if fits and self.lane == 0:
            cp_async_bulk_prefetch(there, bytes)

    def load(self, row: Any, fill: Any = 0) -> Any:
        """Return this thread's elements of `row`: (vector, pieces), with `fill` for elements beyond it.

        Who   each thread for itself
        """
        held = make_rmem_tensor(row.dtype, make_layout(self.shape))
        if self.end is None or self.begin + self.size <= self.end:
            mine = self.vectors(row)
            for i in static_range(self.pieces):
                held[None, i].store(mine[None, i].load())
        else:
            fill_tensor(held, fill)
            self.move_what_is_there(row, held, into=False)
        return held.load()

    def store(self, v: Any, row: Any) -> None:
        """Write this thread's elements `v`, of shape (vector, pieces), to `row`.

        Who   each thread for itself
        """
        held = make_rmem_tensor(row.dtype, make_layout(self.shape))
        held.store(v)
        if self.end is None or (self.pieces > 1 and self.begin + self.size <= self.end):
            mine = self.vectors(row)
            for i in static_range(self.pieces):
                mine[None, i].store(held[None, i].load())
        else:
            self.move_what_is_there(row, held, into=True)

    def move_what_is_there(self, row: Any, held: Any, into: bool) -> None:
        """Copy the elements that lie within the row between memory and registers."""
        for i in static_range(self.pieces):
            first = self.first(i)
            if first + self.vector <= self.end:
                copy_vector(row, held, first // self.vector, self.vector, i, into)
            else:
                copy_elements(row, held, first, self.end, self.vector, i, into)
