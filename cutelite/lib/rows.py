"""Rows: the elements of a row dealt out to the threads of a team, in registers and in memory.

    team = cl.Team.create(threads=256)
    part = cl.RowPartition(team, n, vector=8)
    v = part.load(x[row, None], fill=-math.inf).to(f32)      # this thread's elements, and `fill` beyond the row
    total = team.reduce(v.reduce("sum"))
    part.store((v / total).to(bf16), y[row, None])

The row is cut into vectors of a few elements, and these go around: vector i of a block to thread i modulo the team. So
neighbours in a warp access neighbours in memory, 16 bytes each where layout and alignment allow. Blocks of a cluster
have consecutive parts of the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutelite.ir.types import i32
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import make_rmem_tensor
from cutelite.lang.values import mistake
from cutelite.lang.whole import fill as fill_tensor
from cutelite.layout import make_layout
from cutelite.lib.reduce import Team


@dataclass(frozen=True)
class RowPartition:
    """The part of a row that each thread of a team has: a vector of shape (vector, pieces).

    team    the threads: `Team`
    n       elements of a row, known at compile time
    vector  neighbouring elements that go to one thread: as many as 16 bytes hold, where rows are aligned so
    """

    team: Team
    n: int
    vector: int

    @property
    def chunk(self) -> int:
        """The elements of a block, a multiple of `vector`; the last block may have fewer."""
        return -(-self.n // (self.team.cluster * self.vector)) * self.vector

    @property
    def pieces(self) -> int:
        """The vectors of a thread."""
        return -(-self.chunk // (self.vector * self.team.threads))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of a thread's part."""
        return self.vector, self.pieces

    def first(self, piece: int) -> Any:
        """The column of the first element of one of this thread's vectors."""
        return self.team.rank * self.chunk + (piece * self.team.threads + self.team.lane) * self.vector

    def columns(self) -> Any:
        """The columns of this thread's elements: a vector of i32 of shape (vector, pieces)."""
        found = make_rmem_tensor(i32, make_layout(self.shape))
        for i in static_range(self.pieces):
            for j in static_range(self.vector):
                found[j, i] = self.first(i) + j
        return found.load()

    @property
    def whole(self) -> bool:
        """Say whether every element of every thread's part is within the row."""
        return self.inside(self.pieces - 1)

    def inside(self, piece: int) -> bool:
        """Say whether the vectors of this number are within the row, and within the block's part, in all threads."""
        if (piece + 1) * self.team.threads * self.vector > self.chunk:
            return False
        return self.chunk * self.team.cluster <= self.n or (
            self.team.cluster == 1 and (piece + 1) * self.team.threads * self.vector <= self.n
        )

    def end(self) -> Any:
        """The column behind the last one of this block."""
        last = self.team.cluster * self.chunk
        if self.team.cluster == 1:
            return self.n
        behind = (self.team.rank + 1) * self.chunk
        return behind if last == self.n else min(behind, self.n)

    def keep(self, v: Any, fill: Any = 0) -> Any:
        """Replace the elements of `v`, of shape (vector, pieces), that are beyond the row by `fill`."""
        if self.whole:
            return v
        held = make_rmem_tensor(v.dtype, make_layout(self.shape))
        held.store(v)
        for i in static_range(self.pieces):
            for j in static_range(self.vector):
                if not self.inside(i):
                    held[j, i] = held[j, i] if self.first(i) + j < self.end() else fill
        return held.load()

    def load(self, row: Any, fill: Any = 0) -> Any:
        """Read this thread's elements of `row`, a tensor of n elements; the vector has `fill` beyond it.

        Who   each thread of the team for itself
        """
        check_row(row, self.n)
        held = make_rmem_tensor(row.dtype, make_layout(self.shape))
        if not self.whole:
            fill_tensor(held, fill)
        for i in static_range(self.pieces):
            self.move(row, held, i, into=False)
        return held.load()

    def store(self, v: Any, row: Any) -> None:
        """Write this thread's elements `v`, of shape (vector, pieces), to `row`, a tensor of n elements.

        Who   each thread of the team for itself
        """
        check_row(row, self.n)
        held = make_rmem_tensor(row.dtype, make_layout(self.shape))
        held.store(v)
        for i in static_range(self.pieces):
            self.move(row, held, i, into=True)

    def move(self, row: Any, held: Any, piece: int, into: bool) -> None:
        """Copy one vector between memory and registers, as much of it as lies within the row."""
        first = self.first(piece)
        if self.inside(piece):
            copy_vector(row, held, first, self.vector, piece, into)
        elif self.n % self.vector == 0:
            if first < self.end():
                copy_vector(row, held, first, self.vector, piece, into)
        elif first + self.vector <= self.end():
            copy_vector(row, held, first, self.vector, piece, into)
        else:
            for j in static_range(self.vector):
                if first + j < self.end():
                    if into:
                        row[first + j] = held[j, piece]
                    else:
                        held[j, piece] = row[first + j]


def copy_vector(row: Any, held: Any, first: Any, width: int, piece: int, into: bool) -> None:
    """Copy a whole vector."""
    there = row.tile((width,), (first // width,))
    if into:
        there.store(held[None, piece].load())
    else:
        held[None, piece].store(there.load())


def check_row(row: Any, n: int) -> None:
    """Refuse a tensor that is no row of `n` elements."""
    if row.shape not in ((n,), n):
        raise mistake("row", f"a row of {n} elements is needed here, not a tensor of shape {row.shape}")
