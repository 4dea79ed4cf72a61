"""Rows: the elements of a row distributed over the threads of a team, and their loads and stores.

    team = cl.Team.create(threads=256)
    part = cl.RowPartition(team, n, vector=8)
    v = part.load(x[row, None], fill=-math.inf).to(f32)      # this thread's elements, and `fill` beyond the row
    total = team.reduce(v.reduce("sum"))
    part.store((v / total).to(bf16), y[row, None])

The row is cut into vectors of a few elements. Vector i of a block goes to thread i modulo the number of threads, so
that neighbouring lanes access neighbouring memory: 16 bytes each where layout and alignment allow. With a cluster, each
block has a contiguous part of the row.
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import i32
from cutelite.lang.cp_async import cp_async_bulk_prefetch
from cutelite.lang.emit import mistake
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import make_rmem_tensor
from cutelite.lang.whole import fill as fill_tensor
from cutelite.layout import make_layout
from cutelite.lib.reduce import Team
from cutelite.lib.row_words import Packed
from cutelite.records import dataclass

COPIED = 16  # bytes; sizes of bulk copies are multiples of this


@dataclass(frozen=True)
class RowPartition:
    """The distribution of a row over a team: each thread has `pieces` vectors of `vector` neighbouring elements.

    team     the threads: `Team`
    n        the number of elements of a row, known at compile time
    vector   neighbouring elements that go to one thread; for the fewest accesses as many as 16 bytes hold, if the rows
             are aligned to 16 bytes
    granule  the part of each block of a cluster begins at a multiple of `granule` elements; a multiple of `vector`
    """

    team: Team
    n: int
    vector: int
    granule: int = 1

    @property
    def chunk(self) -> int:
        """The number of elements of a block, a multiple of `vector` and `granule`; the last blocks may have fewer."""
        unit = max(self.vector, self.granule)
        return -(-self.n // (self.team.cluster * unit)) * unit

    @property
    def pieces(self) -> int:
        """The number of vectors of a thread."""
        return -(-self.chunk // (self.vector * self.team.threads))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of a thread's part."""
        return self.vector, self.pieces

    def first(self, piece: Any) -> Any:
        """Return the column of the first element of one of this thread's vectors."""
        return self.team.rank * self.chunk + self.team.lane * self.vector + piece * self.team.threads * self.vector

    def number(self, piece: Any, begin: Any = 0) -> Any:
        """Return the number, in the memory whose first element is column `begin`, of one of this thread's vectors.

        What is known at compile time is added last: then all of a thread's accesses share an address.
        """
        return (self.first(0) - begin) // self.vector + piece * self.team.threads

    def has(self, column: Any) -> Any:
        """Return whether an element of a row is one of this thread's."""
        lane = column % self.chunk // self.vector % self.team.threads
        return (lane == self.team.lane) & (column // self.chunk == self.team.rank)

    def ask_for(self, row: Any) -> None:
        """Prefetch this block's part of `row`, in global memory, into L2 by one request, if 16 bytes divide it.

        Memory is faster when it is read in the order of addresses than in the order of warps.

        Who   the team: one thread of it asks
        """
        begin, bytes = self.team.rank * self.chunk, row.dtype.bytes
        there = row.tile((self.vector,), (begin // self.vector,))
        fits = there.value.type.align % COPIED == 0 and self.vector * bytes % COPIED == self.n % self.vector == 0
        if fits and self.team.lane == 0 and begin < self.end():
            cp_async_bulk_prefetch(there, (self.end() - begin) * bytes)

    def piece(self, number: int) -> RowVectors:
        """Return one of this thread's vectors of a row."""
        return RowVectors(self, number, 1, self.inside(number))

    def columns(self) -> Any:
        """Return the columns of this thread's elements: a vector of i32 of shape (vector, pieces)."""
        return self.vectors.columns()

    @property
    def vectors(self) -> RowVectors:
        """All of this thread's vectors of a row."""
        return RowVectors(self, 0, self.pieces, self.whole)

    @property
    def whole(self) -> bool:
        """True where every element of every thread's part is within the row."""
        return self.inside(self.pieces - 1)

    def inside(self, piece: int) -> bool:
        """Return whether vector `piece` of every thread lies within the row and within its block's part."""
        last = self.n - (self.team.cluster - 1) * self.chunk  # elements of the block that has the fewest
        return (piece + 1) * self.team.threads * self.vector <= min(self.chunk, last)

    def end(self) -> Any:
        """Return the column after this block's last one."""
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
        """Return this thread's elements of `row`, a tensor of n elements, with `fill` for elements beyond it.

        Who   each thread of the team for itself
        """
        check_row(row, self.n)
        return self.read(row, fill, 0)

    def read(self, memory: Any, fill: Any, begin: Any, some: RowVectors | None = None) -> Any:
        """Return this thread's elements from `memory`, whose first element is column `begin` of the row.

        some   which of the thread's vectors to read; default: all
        """
        some = self.vectors if some is None else some
        held = make_rmem_tensor(memory.dtype, make_layout((self.vector, some.pieces)))
        if not some.whole:
            fill_tensor(held, fill)
        for i in static_range(some.pieces):
            self.move(memory, held, some.start + i, begin, into=False, place=i, whole=some.whole)
        return held.load()

    def walk(self, state: Any, step: Any, *, pieces: int = 1, loop: bool = False) -> Any:
        """Go through this thread's vectors of a row, a few at a time, in order.

        step    ``step(state, some)`` returns the state after `some`, a `RowVectors`
        pieces  how many vectors `some` has. The last step may have vectors beyond the row
        loop    go through the vectors that lie within the row in a run-time loop, so that the code of long rows is
                short. Otherwise all steps are unrolled, and `some.start` is known at compile time
        Result  the last state
        Who     each thread of the team for itself
        """
        whole = sum(self.inside(i) for i in range(self.pieces)) // pieces * pieces if loop else 0
        for start in range(0, whole, pieces) if whole > pieces else static_range(0, whole, pieces):
            state = step(state, RowVectors(self, start, pieces, True))
        for start in static_range(whole, self.pieces, pieces):
            state = step(state, RowVectors(self, start, pieces, self.inside(start + pieces - 1)))
        return state

    def fold(self, row: Any, state: Any, step: Any, *, pieces: int = 4, fill: Any = 0) -> Any:
        """Go through this thread's elements of `row`, a few vectors at a time: the row need not fit into registers.

        step    ``step(state, v, some)`` returns the state after `v`, elements of shape (vector, pieces) with `fill`
                beyond the row; `some` is the `RowVectors` that they were loaded from
        pieces  how many vectors are loaded together
        Result  the last state
        Who     each thread of the team for itself
        """
        return self.walk(state, lambda state, some: step(state, some.load(row, fill), some), pieces=pieces, loop=True)

    def store(self, v: Any, row: Any) -> None:
        """Write this thread's elements `v`, of shape (vector, pieces), to `row`, a tensor of n elements.

        Who   each thread of the team for itself
        """
        check_row(row, self.n)
        held = make_rmem_tensor(row.dtype, make_layout(self.shape))
        held.store(v)
        for i in static_range(self.pieces):
            self.move(row, held, i, 0, into=True)

    def move(
        self, memory: Any, held: Any, piece: Any, begin: Any, into: bool, place: int | None = None, whole: bool = False
    ) -> None:
        """Copy vector `piece`, as far as it lies within the row, between memory and column `place` of `held`.

        begin  the column of the row that is the first element of `memory`
        into   True: to memory; False: to the registers `held`
        place  default: `piece`
        whole  the whole vector lies within the row; otherwise `piece` must be known at compile time
        """
        first, place = self.first(piece), piece if place is None else place
        if whole or self.inside(piece):
            copy_vector(memory, held, self.number(piece, begin), self.vector, place, into)
        elif self.n % self.vector == 0:
            if first < self.end():
                copy_vector(memory, held, self.number(piece, begin), self.vector, place, into)
        elif first + self.vector <= self.end():
            copy_vector(memory, held, self.number(piece, begin), self.vector, place, into)
        else:
            copy_elements(memory, held, first - begin, self.end() - begin, self.vector, place, into)


@dataclass(frozen=True)
class RowVectors:
    """Consecutive vectors of a thread's part of a row: what a step of `RowPartition.walk` works on.

    Where `whole` is False, `start` is known at compile time.

    part    how the row is distributed
    start   the number of the first vector
    pieces  the number of vectors
    whole   whether all of them are within the row
    """

    part: RowPartition
    start: Any
    pieces: int
    whole: bool

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the vectors."""
        return self.part.vector, self.pieces

    def columns(self) -> Any:
        """Return the columns of the elements: a vector of i32 of shape (vector, pieces)."""
        vector = self.part.vector
        found = make_rmem_tensor(i32, make_layout(self.shape))
        for i in static_range(self.pieces):
            for j in static_range(vector):
                found[j, i] = self.part.first(self.start + i) + j
        return found.load()

    def load(self, row: Any, fill: Any = 0) -> Any:
        """Return these elements of `row`, a tensor of n elements: (vector, pieces), with `fill` for those beyond it.

        Who   each thread of the team for itself
        """
        check_row(row, self.part.n)
        return self.part.read(row, fill, 0, self)

    def store(self, v: Any, row: Any) -> None:
        """Write the elements `v`, of shape (vector, pieces), to `row`.

        Who   each thread of the team for itself
        """
        held = make_rmem_tensor(row.dtype, make_layout(self.shape))
        held.store(v)
        for i in static_range(self.pieces):
            self.part.move(row, held, self.start + i, 0, into=True, place=i, whole=self.whole)

    def keep(self, v: Any, fill: Any = 0) -> Any:
        """Replace the elements of `v`, of shape (vector, pieces), that are beyond the row by `fill`."""
        if self.whole:
            return v
        held = make_rmem_tensor(v.dtype, make_layout(self.shape))
        held.store(v)
        for i in static_range(self.pieces):
            for j in static_range(self.part.vector):
                beyond = self.part.first(self.start + i) + j >= self.part.end()
                held[j, i] = fill if beyond else held[j, i]
        return held.load()


@dataclass(frozen=True)
class RowPart:
    """A thread's part of a row: in registers, in shared memory, or in global memory.

    part     how the row is distributed
    held     the elements in registers, (vector, pieces); or this block's part of the row in shared memory; or the row
             in global memory
    fill     the value of elements beyond the row
    outside  whether `held` is in memory, from which each access reads anew
    begin    the column of the row that is the first element of this memory
    """

    part: RowPartition
    held: Any
    fill: Any = 0
    outside: bool = False
    begin: Any = 0

    def load(self) -> Any:
        """Return all elements, a vector of shape (vector, pieces)."""
        return self.of(self.part.vectors)

    def piece(self, number: int) -> Any:
        """Return one of the vectors, of shape (vector, 1)."""
        return self.of(self.part.piece(number))

    def of(self, some: RowVectors) -> Any:
        """Return the elements of the vectors `some`, of shape (vector, pieces)."""
        if self.outside:
            return self.part.read(self.held, self.fill, self.begin, some)
        if isinstance(self.held, Packed):
            return self.held.of(some)
        if some.pieces == self.part.pieces:
            return self.held
        held = make_rmem_tensor(self.held.dtype, make_layout(some.shape))
        for i in static_range(some.pieces):
            held[None, i].store(self.held[None, some.start + i].reshape((self.part.vector,)))
        return held.load()


def copy_vector(row: Any, held: Any, number: Any, width: int, piece: int, into: bool) -> None:
    """Copy a whole vector, the one of this number, between `row` and column `piece` of `held`; `into`: to the row."""
    there = row.tile((width,), (number,))
    if into:
        there.store(held[None, piece].load())
    else:
        held[None, piece].store(there.load())


def copy_elements(row: Any, held: Any, first: Any, end: Any, width: int, piece: int, into: bool) -> None:
    """Copy the elements of a vector that lie before `end`, as `copy_vector` does."""
    for j in static_range(width):
        if first + j < end:
            if into:
                row[first + j] = held[j, piece]
            else:
                held[j, piece] = row[first + j]


def check_row(row: Any, n: int) -> None:
    """Check that a tensor is a row of `n` elements. Errors: `row`."""
    if row.shape not in ((n,), n):
        raise mistake("row", f"a row of {n} elements is needed here, not a tensor of shape {row.shape}")
