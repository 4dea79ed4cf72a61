"""Rows: the elements of a row distributed over the threads of a team, and their loads and stores.

    team = cl.Team.create(threads=256)
    part = cl.RowPartition(team, n, vector=8)
    v = part.load(x[row, None], fill=-math.inf).to(f32)      # this thread's elements, and `fill` beyond the row
    total = team.reduce(v.reduce("sum"))
    part.store((v / total).to(bf16), y[row, None])

The row is cut into vectors of a few elements. Vector i of a block goes to thread i modulo the number of threads, so
that neighbouring lanes access neighbouring memory: 16 bytes each where layout and alignment allow. With a cluster, each
block has a contiguous part of the row.

Rows that begin anywhere (`RowPartition.shift`) are covered by aligned vectors: the first begins where the sector of
memory does that has the row's first element. So that element's vector and the last one are of the row in parts, and
accessed by elements there; blocks and warps share no sector.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from cutelite.ir.types import i32
from cutelite.lang.algebra import aligned_down
from cutelite.lang.cp_async import cp_async_bulk_prefetch
from cutelite.lang.emit import mistake
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import make_rmem_tensor, make_tensor
from cutelite.lang.values import full, maximum, minimum, where
from cutelite.lang.whole import fill as fill_tensor
from cutelite.layout import make_layout
from cutelite.lib.reduce import WARP, Team
from cutelite.lib.row_ends import COPIED, between, copy_elements, copy_vector, kept_within, neighbours, store_some
from cutelite.lib.row_words import Packed
from cutelite.records import dataclass


@cache  # the words of a row ask for it hundreds of times a kernel
def _chunk(n: int, unit: int, granule: int, cluster: int, aligned: bool) -> int:
    """Return the elements of each of the blocks that share a row, and what its first `unit` has before it."""
    block = max(unit, granule)
    return -(-(n if aligned else n + unit - 1) // (cluster * block)) * block


SECTOR = 2  # vectors: what memory reads and writes at once, 32 bytes where a vector has 16


@dataclass(frozen=True)
class RowPartition:
    """The distribution of a row over a team: each thread has `pieces` vectors of `vector` neighbouring elements.

    team     the threads: `Team`
    n        the number of elements of a row, known at compile time
    vector   neighbouring elements that go to one thread; for the fewest accesses as many as 16 bytes hold, if the rows
             are aligned to 16 bytes
    granule  the part of each block of a cluster begins at a multiple of `granule` elements; a multiple of `vector`
    shift    None: each row begins where a vector of memory does. Otherwise rows begin anywhere, and (3,) i32 in
             registers has how many elements lie between the current row's first one and the sector's that it is in, and
             from and up to where vectors lie within its array: `turn_to` makes a row the current one. Blocks and
             threads then share the vectors that cover the row, from the sector's first on
    steady   all rows that a team works on begin as far into a sector as its first one
    around   what lies around a row within its array may be read, as nobody writes there: vectors at the ends of a row,
             if it has as many elements as one, are then loaded as a whole. Where they are not, threads wait for their
             elements before other loads
    unit     1: rows that begin anywhere are covered from the first element's vector on, not from its sector
    ends     rows that begin anywhere: nobody has vectors that lie within a row in part. Vectors begin and end where
             memory does by so many vectors: 1, or `SECTOR`. Of the elements beside these, fewer than twice as many
             vectors', threads of the first and of the last block have one each: `RowEnds`. 0: there are no such

    Memory of a row is `alike` where its first element lies as far into a vector as the current row's. So are a kernel's
    arrays whose rows are the same number of elements apart, modulo a vector. Vectors of weights are not. Either they
    come as `copies`, (vector, whole vectors that cover a row): copy i has `SECTOR` - 1 vectors and i elements before
    the first, so that some copy lies as the current row does. Or they are loaded by two vectors or by pairs of
    elements, and shifted.
    """

    team: Team
    n: int
    vector: int
    granule: int = 1
    shift: Any = None
    steady: bool = False
    around: bool = False
    unit: int = SECTOR
    ends: int = 0

    @property
    def covered(self) -> int:
        """The most elements of a row and of what its first sector has before it; with `ends` those of vectors."""
        if self.ends:
            return self.n // self.between * self.between
        return self.n if self.shift is None else self.n + self.sector - 1

    @property
    def sector(self) -> int:
        """The number of elements of a sector, or of what takes its place."""
        return self.unit * self.vector

    @property
    def between(self) -> int:
        """With `ends`: the number of elements that the part of a row between its ends is a multiple of."""
        return self.ends * self.vector

    @property
    def least(self) -> int:
        """The number of elements of a row, or the fewest between its ends."""
        return (self.n - self.between + 1) // self.between * self.between if self.ends else self.n

    @property
    def chunk(self) -> int:
        """The number of elements of a block, a multiple of `vector` and `granule`; the last blocks may have fewer."""
        if self.ends:
            return _chunk(self.covered, self.between, self.granule, self.team.cluster, True)
        unit = 1 if self.shift is None else self.unit
        return _chunk(self.n, self.vector * unit, self.granule, self.team.cluster, self.shift is None)

    @property
    def pieces(self) -> int:
        """The number of vectors of a thread."""
        return -(-self.chunk // (self.vector * self.team.threads))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of a thread's part."""
        return self.vector, self.pieces

    @property
    def lead(self) -> Any:
        """The number of elements that the current row's first sector has before it; below 0 those before a vector."""
        return 0 if self.shift is None else self.shift[0]

    def turn_to(self, row: Any, first: Any = True, last: Any = True) -> None:
        """Make `row`, in memory, the current one; it is the `first` or `last` of its array, or may be."""
        if self.ends:
            each = self.between
            head = (each - aligned_down(row, each * row.dtype.bytes)[1]) % each
            self.shift[0], self.shift[1] = 0 - head, (self.n - head) // each * each
            self.shift[2] = aligned_down(row, self.sector * row.dtype.bytes)[1]
        elif self.shift is not None:
            lead = aligned_down(row, self.sector * row.dtype.bytes)[1]
            self.shift[0] = lead
            self.shift[1] = where(first, lead, lead // self.vector * self.vector)
            self.shift[2] = lead + self.n + where(last, 0, self.vector - 1)

    def cover(self, row: Any, lead: Any = None) -> Any:
        """Return the memory of a row, `alike`, from as far before it as its first sector, or as `lead` if given."""
        if self.shift is None:
            return row
        before = (self.lead if lead is None else lead) // self.vector
        first = aligned_down(row, self.vector * row.dtype.bytes)[0].tile((self.vector,), (0 - before,))
        return make_tensor(first, make_layout((self.covered,)))

    def place(self, piece: Any) -> Any:
        """Return where one of this thread's vectors begins, in elements from the row's first sector on."""
        return self.team.rank * self.chunk + self.team.lane * self.vector + piece * self.team.threads * self.vector

    def first(self, piece: Any) -> Any:
        """Return the column of the first element of one of this thread's vectors; below 0 before the row."""
        return self.place(piece) - self.lead

    def number(self, piece: Any, begin: Any = 0) -> Any:
        """Return the number, in memory that begins at `begin`, of one of this thread's vectors.

        What is known at compile time is added last: then all of a thread's accesses share an address.
        """
        return (self.place(0) - begin) // self.vector + piece * self.team.threads

    def has(self, column: Any) -> Any:
        """Return whether an element of a row is one of this thread's."""
        place = column + self.lead
        if self.ends:
            own, beside = RowEnds(self), (place < 0) | (place >= self.shift[1])
            return where(beside, own.mine & (own.column == column), self.vector_has(place))
        return self.vector_has(place)

    def vector_has(self, place: Any) -> Any:
        """Return whether one of this thread's vectors has an element, by where it is from the first vector on."""
        lane = place % self.chunk // self.vector % self.team.threads
        return (lane == self.team.lane) & (place // self.chunk == self.team.rank)

    def ask_for(self, row: Any) -> None:
        """Prefetch this block's part of `row`, in global memory, into L2 by one request, if 16 bytes divide it.

        Memory is faster when it is read in the order of addresses than in the order of warps.

        Who   the team: one thread of it asks
        """
        begin, bytes = self.team.rank * self.chunk, row.dtype.bytes
        if self.shift is None:
            there = row.tile((self.vector,), (begin // self.vector,))
            fits, end = self.n % self.vector == 0, self.end()
        else:  # whole vectors of this row, which need not be the current one
            cover, lead = aligned_down(row, self.sector * bytes)
            fits, end = True, minimum(begin + self.chunk, (lead + self.n) // self.vector * self.vector)
            begin = maximum(begin, (lead + self.vector - 1) // self.vector * self.vector)
            there = cover.tile((self.vector,), (begin // self.vector,))
        fits = fits and there.value.type.align % COPIED == self.vector * bytes % COPIED == 0
        if fits and self.team.lane == 0 and begin < end:
            cp_async_bulk_prefetch(there, (end - begin) * bytes)

    def piece(self, number: int) -> RowVectors:
        """Return one of this thread's vectors of a row."""
        return self.some(number, 1)

    def some(self, start: int, pieces: int) -> RowVectors:
        """Return consecutive ones of this thread's vectors of a row."""
        return RowVectors(self, start, pieces, self.inside(start) and self.inside(start + pieces - 1))

    def columns(self) -> Any:
        """Return the columns of this thread's elements: a vector of i32 of shape (vector, pieces)."""
        return self.vectors.columns()

    @property
    def vectors(self) -> RowVectors:
        """All of this thread's vectors of a row."""
        return self.some(0, self.pieces)

    @property
    def steps(self) -> tuple[RowVectors | RowEnds, ...]:
        """All of a thread's vectors of a row, and its `RowEnds` if there are such."""
        return (self.vectors, RowEnds(self)) if self.ends else (self.vectors,)

    @property
    def whole(self) -> bool:
        """True where every element of every thread's part is within the row."""
        return self.vectors.whole

    def inside(self, piece: int) -> bool:
        """Return whether vector `piece` of every thread lies within the row and within its block's part."""
        return self.begun(piece) and self.ends_behind(piece)

    def begun(self, piece: int) -> bool:
        """Return whether vector `piece` of no thread begins before the row."""
        return self.shift is None or self.ends > 0 or piece * self.team.threads * self.vector >= self.sector - 1

    def ends_behind(self, piece: int) -> bool:
        """Return whether the row and every block's part of it go on to the end of vector `piece` of every thread."""
        end = self.least if self.shift is None or self.ends else self.n - 1  # `neighbours` may read one more
        end -= int(self.ends > 0 and (self.n + 1) % self.between == 0)  # vectors may end with the row
        last = end - (self.team.cluster - 1) * self.chunk  # elements of the block that has the fewest
        return (piece + 1) * self.team.threads * self.vector <= min(self.chunk, last)

    def end(self) -> Any:
        """Return the column after this block's last one."""
        if self.ends:
            return minimum((self.team.rank + 1) * self.chunk, self.shift[1]) - self.lead
        last = self.team.cluster * self.chunk
        if self.team.cluster == 1:
            return self.n
        behind = (self.team.rank + 1) * self.chunk - self.lead
        return behind if last == self.n else min(behind, self.n)

    def keep(self, v: Any, fill: Any = 0) -> Any:
        """Replace the elements of `v`, of shape (vector, pieces), that are beyond the row by `fill`."""
        return self.vectors.keep(v, fill)

    def load(self, row: Any, fill: Any = 0, alike: bool = True) -> Any:
        """Return this thread's elements of `row`, a tensor of n elements, with `fill` for elements beyond it.

        alike  its first element lies as far into a vector as the current row's. Otherwise it may be the `copies` of one
        Who    each thread of the team for itself
        """
        return self.load_all((row,), fill, alike)[0]

    def part_of(self, row: Any, fill: Any = 0, alike: bool = True) -> RowPart:
        """Return what `load` does, and the one of the row's `RowEnds`, as a `RowPart` in registers."""
        return RowPart(self, self.load(row, fill, alike), fill, ends=self.own_end(row, fill))

    def own_end(self, row: Any, fill: Any = 0) -> Any:
        """Return this thread's element of the row's `RowEnds`; None where there are no such."""
        return RowEnds(self).load(row, fill) if self.ends else None

    def load_all(self, rows: Any, fill: Any = 0, alike: bool = True) -> tuple[Any, ...]:
        """Do what `load` does for several rows.

        A thread that has an end of a row waits where it replaces elements: by then all rows are under way.
        """
        for row in rows:
            if alike or not is_copies(row):
                check_row(row, self.n)
        fetched = [self.fetch(row, fill, 0, self.vectors, alike) for row in rows]
        return tuple(self.replaced(*each, self.vectors, fill) for each in fetched)

    def read(
        self,
        memory: Any,
        fill: Any,
        begin: Any,
        some: RowVectors | None = None,
        alike: bool = True,
        clean: bool = False,
    ) -> Any:
        """Return this thread's elements from `memory`, which begins at `begin`, as `RowPart` says.

        some   which of the thread's vectors to read; default: all
        alike  as for `load`
        clean  shared memory has `fill` beside the row's ends already
        """
        some = self.vectors if some is None else some
        held, around = self.fetch(memory, fill, begin, some, alike)
        return self.replaced(held, around and not clean, some, fill)

    def fetch(self, memory: Any, fill: Any, begin: Any, some: RowVectors, alike: bool) -> tuple[Any, bool]:
        """Load what `read` returns; tell whether it may have elements of other rows, for `replaced`."""
        held = make_rmem_tensor(memory.dtype, make_layout((self.vector, some.pieces)))
        if not some.whole:
            fill_tensor(held, fill)
        if not alike and is_copies(memory):
            self.pick(memory, held, some)
        elif self.shift is not None and not alike:
            self.gather(memory, held, begin, some)
        elif self.reads_around(memory) and not some.whole:
            self.load_around(memory, held, begin, some)
            return held.load(), True
        else:
            cover = self.cover(memory) if memory.space == "gmem" else memory
            for i in self.order(some):
                self.move(cover, held, some.start + i, begin, into=False, place=i, whole=some.whole)
        return held.load(), False

    def replaced(self, v: Any, around: bool, some: RowVectors, fill: Any) -> Any:
        """Return the vectors `some` of the current row, `v`, if read `around` with `fill` for elements of others."""
        held = make_rmem_tensor(v.dtype, make_layout((self.vector, some.pieces)))
        held.store(v)
        for i in static_range(some.pieces if around else 0):
            held[None, i].store(self.kept(held[None, i].load(), some.start + i, fill))
        return held.load()

    def reads_around(self, memory: Any) -> bool:
        """Tell whether whole vectors that cover a row may be read; in shared memory there is room."""
        if self.shift is None or self.n < self.vector or self.ends:
            return False
        return self.around if memory.space == "gmem" else True

    def load_around(self, memory: Any, held: Any, begin: Any, some: RowVectors) -> None:
        """Load the vectors `some` of the current row as a whole."""
        lead, vector, end = self.lead, self.vector, self.end() + self.lead
        copied, high = memory.space == "smem", minimum(self.shift[2], (self.team.rank + 1) * self.chunk)
        cover = memory if copied else self.cover(memory)
        for i in self.order(some):
            piece, first = some.start + i, self.place(some.start + i)
            fits = first < end if copied else (first >= self.shift[1]) & (first + vector <= high)
            if self.inside(piece) or (copied and self.ends_behind(piece)) or fits:
                copy_vector(cover, held, self.number(piece, begin), vector, i, into=False)
            elif not copied and (first + vector > lead) & (first < end):  # at the ends of the array
                copy_elements(cover, held, first, end, vector, i, into=False, begin=lead)

    def kept(self, v: Any, piece: int, fill: Any) -> Any:
        """Return the vector `piece` of the current row, `v`, with `fill` in the place of elements beyond the row."""
        begun, goes_on, first = self.begun(piece), self.ends_behind(piece), self.place(piece)
        end = self.end() + self.lead
        held = make_rmem_tensor(v.dtype, (v.n,))
        held.store(v)
        if not (begun or first >= self.lead) or not (goes_on or first + self.vector <= end):
            before, behind = None if begun else self.lead - first, None if goes_on else end - first
            held.store(kept_within(v, before, behind, fill))
        return held.load()

    def order(self, some: RowVectors) -> Any:
        """Return the order in which vectors of a row are accessed: where only some are whole, these first."""
        if self.shift is None or some.whole:
            return static_range(some.pieces)
        return sorted(range(some.pieces), key=lambda i: not self.inside(some.start + i))

    def pick(self, memory: Any, held: Any, some: RowVectors) -> None:
        """Load the vectors `some` of the one of the `copies` in `memory` that lies as the current row does."""
        row, before = self.of_copies(memory)
        count = memory.shape[1] // self.vector
        for i in static_range(some.pieces):
            number = self.number(some.start + i) + before
            if some.whole or self.ends_behind(some.start + i) or number < count:
                copy_vector(row, held, number, self.vector, i, into=False)

    def of_copies(self, memory: Any) -> tuple[Any, Any]:
        """Return the one of the `copies` that lies as the current row does, and its vectors before the row's sector."""
        return memory[self.lead % self.vector, None], SECTOR - 1 - self.lead // self.vector

    def gather(self, memory: Any, held: Any, begin: Any, some: RowVectors) -> None:
        """Load the vectors `some` from memory that is not `alike`; arguments as of `read`."""
        vector, end = self.vector, self.end()
        at, align = self.first(0) - begin, memory.value.type.align
        wide = (vector, memory.dtype.bytes, align % COPIED) == (8, 2, 0)
        for i in self.order(some):
            number = some.start + i
            first, step = self.first(number), number * self.team.threads * vector
            whole = some.whole or self.inside(number)
            if self.ends and not wide:  # words reach further, and the first vector may begin with the row
                whole = whole and number > 0
            if wide and (whole or (first > 0) & (first + vector <= end) & (first + 2 * vector <= self.n)):
                held[None, i].store(between(memory, at, vector, step))
            elif whole or (first > 0) & (first + vector <= end) & (first + vector < self.n):  # words reach further
                held[None, i].store(neighbours(memory, at, vector, step))
            else:
                for j in static_range(vector):
                    if (first + j >= 0) & (first + j < end):
                        held[j, i] = memory[first + j - begin]

    def walk(self, state: Any, step: Any, *, pieces: int = 1, loop: bool = False) -> Any:
        """Go through this thread's vectors of a row, a few at a time, in order.

        step    ``step(state, some)`` returns the state after `some`, a `RowVectors`
        pieces  how many vectors `some` has. The last step may have vectors beyond the row
        loop    go through the vectors that lie within the row in a run-time loop, so that the code of long rows is
                short. Otherwise all steps are unrolled, and `some.start` is known at compile time
        Result  the last state
        Who     each thread of the team for itself
        """
        first = 0 if self.inside(0) or not loop else pieces
        whole = sum(self.inside(i) for i in range(first, self.pieces)) // pieces * pieces if loop else 0
        for start in static_range(0, first, pieces):
            state = step(state, self.some(start, pieces))
        starts = first, first + whole, pieces
        for start in range(*starts) if whole > pieces else static_range(*starts):
            state = step(state, RowVectors(self, start, pieces, True))
        for start in static_range(first + whole, self.pieces, pieces):
            state = step(state, self.some(start, pieces))
        return step(state, RowEnds(self)) if self.ends else state

    def fold(
        self,
        row: Any,
        state: Any,
        step: Any,
        *,
        pieces: int = 4,
        fill: Any = 0,
        alike: bool = True,
        alone: bool = False,
    ) -> Any:
        """Go through this thread's elements of `row`, a few vectors at a time: the row need not fit into registers.

        step    ``step(state, v, some)`` returns the state after `v`, elements of shape (vector, pieces) with `fill`
                beyond the row; `some` is the `RowVectors` that they were loaded from
        pieces  how many vectors are loaded together
        alike   as for `load`
        alone   threads leave out the last steps, of which they have no element: `step` works for each thread by itself
        Result  the last state
        Who     each thread of the team for itself
        """

        def take(state: Any, some: RowVectors) -> Any:
            if not alone or some.reached:
                state = step(state, some.load(row, fill, alike), some)
            return state

        return self.walk(state, take, pieces=pieces, loop=True)

    def store(self, v: Any, row: Any, alike: bool = True) -> None:
        """Write this thread's elements `v`, of shape (vector, pieces), to `row`, a tensor of n elements.

        alike  as for `load`; otherwise elements are written one by one
        Who    each thread of the team for itself
        """
        check_row(row, self.n)
        if alike or self.shift is None:
            self.vectors.store(v, row)
            return
        for i in static_range(self.pieces):
            for j in static_range(self.vector):
                column = self.first(i) + j
                if self.inside(i) or (column >= 0) & (column < self.end()):
                    row[column] = v[j, i]

    def store_all(self, vectors: Any, row: Any) -> None:
        """Write this thread's elements to `row`: of its vectors, and of `RowEnds` if there are such.

        Who  each thread of the team for itself
        """
        self.store(vectors[0], row)
        if self.ends:
            RowEnds(self).store(vectors[1], row)

    def move(
        self, memory: Any, held: Any, piece: Any, begin: Any, into: bool, place: int | None = None, whole: bool = False
    ) -> None:
        """Copy vector `piece`, as far as it lies within the row, between memory and column `place` of `held`.

        memory  begins where a vector of the row does; of a row in global memory it is the `cover`
        begin   where that is, in elements from the row's first sector on
        into    True: to memory; False: to the registers `held`
        place   default: `piece`
        whole   the whole vector lies within the row; otherwise `piece` must be known at compile time
        """
        place = piece if place is None else place
        if whole or self.inside(piece):
            copy_vector(memory, held, self.number(piece, begin), self.vector, place, into)
            return
        first, lead = self.place(piece), self.lead
        end = self.end() + lead
        if (self.shift is None and self.n % self.vector == 0) or self.ends:
            if first < end:
                copy_vector(memory, held, self.number(piece, begin), self.vector, place, into)
        elif (first + self.vector <= end) if self.begun(piece) else (first >= lead) & (first + self.vector <= end):
            copy_vector(memory, held, self.number(piece, begin), self.vector, place, into)
        elif into and self.n >= 2 * self.vector and not self.vector & (self.vector - 1):  # no vector has both ends
            v, number = held[None, place].load(), self.number(piece, begin)
            if self.begun(piece) or (not self.ends_behind(piece) and first >= lead):
                store_some(v, memory, number, end - first, first=True)
            else:
                store_some(v, memory, number, first + self.vector - lead, first=False)
        else:
            before = None if self.begun(piece) else lead - begin
            copy_elements(memory, held, first - begin, end - begin, self.vector, place, into, before)


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

    @property
    def reached(self) -> Any:
        """Tell whether this thread's warp has some of these elements; True for a row's first ones, and if all have."""
        part, first = self.part, self.start
        if self.whole or not part.begun(first) or part.inside(first):
            return True
        return part.first(first) - part.team.lane % WARP * part.vector < part.end()

    def columns(self) -> Any:
        """Return the columns of the elements: a vector of i32 of shape (vector, pieces)."""
        vector = self.part.vector
        found = make_rmem_tensor(i32, make_layout(self.shape))
        for i in static_range(self.pieces):
            for j in static_range(vector):
                found[j, i] = self.part.first(self.start + i) + j
        return found.load()

    def load(self, row: Any, fill: Any = 0, alike: bool = True) -> Any:
        """Return these elements of `row`, a tensor of n elements: (vector, pieces), with `fill` for those beyond it.

        alike  as for `RowPartition.load`
        Who    each thread of the team for itself
        """
        check_row(row, self.part.n)
        return self.part.read(row, fill, 0, self, alike)

    def store(self, v: Any, row: Any) -> None:
        """Write the elements `v`, of shape (vector, pieces), to `row`.

        Who   each thread of the team for itself
        """
        held, cover = make_rmem_tensor(row.dtype, make_layout(self.shape)), self.part.cover(row)
        held.store(v)
        for i in static_range(self.pieces):
            self.part.move(cover, held, self.start + i, 0, into=True, place=i, whole=self.whole)

    def keep(self, v: Any, fill: Any = 0) -> Any:
        """Replace the elements of `v`, of shape (vector, pieces), that are beyond the row by `fill`."""
        if self.whole:
            return v
        held = make_rmem_tensor(v.dtype, make_layout(self.shape))
        held.store(v)
        for i in static_range(self.pieces):
            for j in static_range(self.part.vector):
                column, end = self.part.first(self.start + i) + j, self.part.end()
                if not self.part.begun(self.start + i):
                    held[j, i] = held[j, i] if (column >= 0) & (column < end) else fill
                elif not self.part.inside(self.start + i):
                    held[j, i] = held[j, i] if column < end else fill
        return held.load()


@dataclass(frozen=True)
class RowEnds:
    """The elements of a row beside the vectors that threads have of it: one of each thread, as far as there are.

    A step of `RowPartition.walk` works on them as on `RowVectors` of one element.

    part  how the row is distributed
    """

    part: RowPartition

    pieces = 1
    shape = 1, 1
    whole = False

    @property
    def start(self) -> int:
        """The number after that of the last vector."""
        return self.part.pieces

    @property
    def head(self) -> Any:
        """The number of elements before the first vector."""
        return 0 - self.part.shift[0]

    @property
    def mine(self) -> Any:
        """Tell whether this thread has one: of the first block those before the vectors, of the last those behind."""
        team, count = self.part.team, self.part.n - self.part.shift[1]
        if team.cluster == 1:
            return team.lane < count
        first, last = team.rank == 0, team.rank == team.cluster - 1
        return (team.lane >= where(first, 0, self.head)) & (team.lane < where(last, count, self.head))

    @property
    def column(self) -> Any:
        """The column of this thread's."""
        lane = self.part.team.lane
        return where(lane < self.head, lane, lane + self.part.shift[1])

    @property
    def reached(self) -> Any:
        """Tell whether this thread's warp may have some."""
        return True if self.part.team.threads <= WARP else self.part.team.lane < WARP

    def columns(self) -> Any:
        """Return the column as `RowVectors.columns` does."""
        return full(self.shape, self.column, i32)

    def load(self, row: Any, fill: Any = 0, alike: bool = True) -> Any:
        """Return the element of `row`, or of its copies, of shape (1, 1); `fill` in a thread that has none.

        alike  is not looked at
        """
        if is_copies(row):  # of the first one
            return self.read(row[0, None], fill, (1 - SECTOR) * self.part.vector)
        return self.read(row, fill, 0)

    def read(self, memory: Any, fill: Any, begin: Any) -> Any:
        """Return the element from memory whose first one is that of column `begin`."""
        held = make_rmem_tensor(memory.dtype, make_layout(self.shape))
        fill_tensor(held, fill)
        if self.mine:
            held[0, 0] = memory[self.column - begin]
        return held.load()

    def store(self, v: Any, row: Any) -> None:
        """Write the element, of shape (1, 1), to `row`."""
        if self.mine:
            row[self.column] = v[0, 0]

    def keep(self, v: Any, fill: Any = 0) -> Any:
        """Return `v`, and `fill` in a thread that has none."""
        return where(self.mine, v, full(self.shape, fill, v.dtype))


@dataclass(frozen=True)
class RowPart:
    """A thread's part of a row: in registers, in shared memory, or in global memory.

    part     how the row is distributed
    held     the elements in registers, (vector, pieces); or this block's part of the row in shared memory; or the row
             in global memory
    fill     the value of elements beyond the row
    outside  whether `held` is in memory, from which each access reads anew
    begin    the column of the row that is the first element of this memory; of shared memory that is `alike`, counted
             from the row's first sector on
    alike    as for `RowPartition.load`
    clean    as for `RowPartition.read`
    ends     of elements in registers the one of the row's `RowEnds`, (1, 1)
    """

    part: RowPartition
    held: Any
    fill: Any = 0
    outside: bool = False
    begin: Any = 0
    alike: bool = True
    clean: bool = False
    ends: Any = None

    def load(self) -> Any:
        """Return all elements, a vector of shape (vector, pieces)."""
        return self.of(self.part.vectors)

    def piece(self, number: int) -> Any:
        """Return one of the vectors, of shape (vector, 1)."""
        return self.of(self.part.piece(number))

    def of(self, some: RowVectors) -> Any:
        """Return the elements of the vectors `some`, of shape (vector, pieces)."""
        if isinstance(some, RowEnds):
            if not self.outside:
                return self.ends
            if self.held.space == "smem" and self.alike:
                return some.read(self.held, self.fill, self.begin - self.part.lead)
            return some.load(self.held, self.fill)
        if self.outside:
            return self.part.read(self.held, self.fill, self.begin, some, self.alike, self.clean)
        if isinstance(self.held, Packed):
            return self.held.of(some)
        if some.pieces == self.part.pieces:
            return self.held
        held = make_rmem_tensor(self.held.dtype, make_layout(some.shape))
        for i in static_range(some.pieces):
            held[None, i].store(self.held[None, some.start + i].reshape((self.part.vector,)))
        return held.load()


def is_copies(memory: Any) -> bool:
    """Tell whether memory is not a row, but its copies, of which each has an element more before the first."""
    return isinstance(memory.shape, tuple) and len(memory.shape) == 2


def check_row(row: Any, n: int) -> None:
    """Check that a tensor is a row of `n` elements. Errors: `row`."""
    if row.shape not in ((n,), n):
        raise mistake("row", f"a row of {n} elements is needed here, not a tensor of shape {row.shape}")
