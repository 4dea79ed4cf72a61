"""Rows: the elements of a row distributed over the threads of a team, and their loads, stores and copies ahead.

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

from dataclasses import replace
from typing import Any

from cutelite.ir.types import bf16, f32, i32, mbarrier, u32
from cutelite.lang import profile
from cutelite.lang.atomics import atomic_add
from cutelite.lang.convert import bitcast
from cutelite.lang.cp_async import (
    cp_async,
    cp_async_bulk,
    cp_async_bulk_prefetch,
    cp_async_commit_group,
    cp_async_wait_group,
)
from cutelite.lang.emit import mistake
from cutelite.lang.index import block_dim, linear_thread_idx, thread_idx
from cutelite.lang.loops import static_range
from cutelite.lang.mbarrier import fence_mbarrier_init
from cutelite.lang.tensor import make_rmem_tensor, make_tensor, shared
from cutelite.lang.values import maximum, minimum, where
from cutelite.lang.whole import fill as fill_tensor
from cutelite.lang.words import pack, unpack
from cutelite.layout import make_layout
from cutelite.lib.extern import inline_ptx
from cutelite.lib.reduce import Combine, Team, combined
from cutelite.lib.tile_queue import clear_counter
from cutelite.records import dataclass

COPIED = 16  # bytes; sizes of bulk copies are multiples of this
AT_ONCE = 4  # vectors that a thread reads together, of a row that stays in global memory


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
        """Let this block's part of `row`, in global memory, come to L2 by one request, if 16 bytes divide it.

        Memory is faster where it is asked for in its order, and not in that of warps.

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
        if (piece + 1) * self.team.threads * self.vector > self.chunk:
            return False
        return self.chunk * self.team.cluster <= self.n or (
            self.team.cluster == 1 and (piece + 1) * self.team.threads * self.vector <= self.n
        )

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


def widened(v: Any) -> Any:
    """Return a vector as f32. Two bf16 elements are converted by a shift and a mask of the word that holds them."""
    if v.dtype != bf16 or v.n % 2:
        return v.to(f32)
    words, made = pack(v), make_rmem_tensor(f32, (v.n,))
    for i in static_range(v.n // 2):
        made[2 * i], made[2 * i + 1] = bitcast(words[i] << 16, f32), bitcast(words[i] & 0xFFFF0000, f32)
    return made.load().reshape(v.shape)


@dataclass(frozen=True)
class Packed:
    """A vector of 8- or 16-bit elements, kept as 32-bit words. Unpacked, each element would take a register.

    words  the words
    like   the vector that was packed, for its shape and dtype
    """

    words: Any
    like: Any

    @staticmethod
    def made(v: Any) -> Any:
        """Return `v`, (vector, pieces), packed if its elements are narrow and each vector fills whole words."""
        return Packed(pack(v), v) if v.shape[0] * v.dtype.bytes % 4 == 0 and v.dtype.bytes < 4 else v

    def of(self, some: RowVectors) -> Any:
        """Return the elements of the vectors `some`, of shape (vector, pieces)."""
        each = self.like.shape[0] * self.like.dtype.bytes // 4
        held = make_rmem_tensor(u32, (each * some.pieces,))
        for i in static_range(each * some.pieces):
            word = self.words[some.start * each + i]
            held[i] = inline_ptx("mov.b32 $out, $a;", u32, memory=False, meaning=lambda a: a, a=word)
        like = self.like.reshape((self.like.n,))[: self.like.shape[0] * some.pieces]
        return unpack(held.load(), like).reshape(some.shape)


@dataclass(frozen=True)
class Queued(RowPart):
    """A thread's part of the current row, in slots of a `RowStream` with `ahead`.

    held   the `RowStream`
    begin  the index of the array among its `arrays`
    """

    def of(self, some: RowVectors) -> Any:
        """Return the elements of the vectors `some`, of shape (vector, pieces)."""
        held = make_rmem_tensor(self.held.arrays[self.begin].dtype, make_layout(some.shape))
        if not some.whole:
            fill_tensor(held, self.fill)
        for i in static_range(some.pieces):
            number = some.start + i
            if self.part.inside(number) or self.part.first(number) < self.part.end():
                held[None, i].store(self.held.place(number, self.begin).load())
        found = held.load()
        if self.held.once and self.begin == len(self.held.arrays) - 1:
            self.held.ask_behind(some)
        return found


@dataclass(frozen=True)
class RowTile:
    """A contiguous part of a row, distributed over the threads of a block. The row's length may be a run-time number.

    begin    the column of the tile's first element, a multiple of `vector`
    end      the column after the row's last one; None where the tile is known to lie within the row
    vector   neighbouring elements that go to one thread
    pieces   vectors of each thread; vector i lies i * threads vectors after vector 0
    threads  the number of threads that share the tile; default: all of the block. 1: this thread has all of it
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

    def first(self, piece: int) -> Any:
        """Return the column of the first element of one of this thread's vectors."""
        return self.begin + (0 if self.threads == 1 else thread_idx.x) * self.vector + piece * self.team * self.vector

    def vectors(self, row: Any) -> Any:
        """Return this thread's elements of `row`, (vector, pieces): all have one address, and a distance from it."""
        first = row.tile((self.vector,), (self.first(0) // self.vector,))
        return make_tensor(first, make_layout(self.shape, stride=(1, self.team * self.vector)))

    def columns(self) -> Any:
        """Return the columns of this thread's elements: a vector of shape (vector, pieces), of the type of `begin`."""
        found = make_rmem_tensor(self.first(0).dtype, make_layout(self.shape))
        for i in static_range(self.pieces):
            for j in static_range(self.vector):
                found[j, i] = self.first(i) + j
        return found.load()

    def ask_for(self, row: Any) -> None:
        """Let the tile of `row`, in global memory, come to L2 by one request, if it lies within the row and 16 bytes
        divide it.

        Who   all threads that share the tile: one of them asks
        """
        there, bytes = row.tile((self.vector,), (self.begin // self.vector,)), self.size * row.dtype.bytes
        fits = self.end is None and there.value.type.align % COPIED == self.vector * row.dtype.bytes % COPIED == 0
        if fits and (self.threads == 1 or thread_idx.x == 0):
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
        if self.end is None:
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


@dataclass(frozen=True)
class RowStream:
    """The rows that a team works on, one after the other, while later rows are being copied.

    part    how a row is distributed
    arrays  the tensors that are read row by row, each of shape (rows, n)
    stages  the number of rows that shared memory has room for; bulk copies bring them. 0: threads read global memory
    many    without stages: whether the team works on many rows, or on one. With stages it works on many
    early   without stages: load the next row into registers before working on the current one
    outside whether rows stay in memory (shared memory with stages, else global memory), from which threads read their
            parts anew in each pass: then rows may be of any length. Otherwise threads keep their parts in registers
    fill    the value of elements beyond a row
    packed  keep narrow elements in registers as 32-bit words, and unpack them at each use: fewer registers, more work
    ahead   each thread copies its own vectors to shared memory by cp.async. There is room for those of a row and
            `ahead` more: when the last pass over a row has read a vector, the copy of a later one starts. None: no
            such copies
    together  how many neighbouring rows the team works on at once. Functions then get tuples of rows and of parts. If
            too few rows are left, the last one is repeated. None: one row at a time, not in a tuple
    counter (1,) i32 in global memory, 0 before and after each launch. With `stages` or `ahead`, teams then take rows
            one by one by this counter, so that all end at the same time even if some get more of the bandwidth.
            The reductions of `each_reduced` broadcast the row taken. None: each team has every `team.count()`-th row
    once    each vector is read once, from the last array last, and by the first of two passes: what comes to its place
            in shared memory is asked for right away
    known   with `counter`: the current row, and the later rows that the team has taken
    taken   the value of the counter when the team took the last row; valid in the thread that takes rows
    """

    part: RowPartition
    arrays: tuple[Any, ...]
    stages: int
    many: bool
    early: bool
    outside: bool
    fill: Any
    ring: Any  # (array, stage, element) in shared memory
    full: Any  # an mbarrier for each stage, completed when its row has arrived
    # (1,) i32 in registers. With stages: the number of the next row to read, modulo twice the stages; with `ahead`: the
    # slot of the current row's first vector.
    turn: Any
    row: Any  # (1,) i32 or i64 in registers: the row that the next copy brings; with `ahead` the current row
    ahead: int | None = None
    packed: bool = False
    together: int | None = None
    counter: Any = None
    once: bool = False
    known: Any = None  # i32 or i64 in registers
    taken: Any = None  # (1,) i32 in registers

    @staticmethod
    def create(
        part: RowPartition,
        arrays: tuple[Any, ...],
        *,
        stages: int = 0,
        many: bool = False,
        early: bool = False,
        outside: bool | None = None,
        fill: Any = 0,
        ahead: int | None = None,
        packed: bool = False,
        together: int | None = None,
        counter: Any = None,
        once: bool = False,
    ) -> RowStream:
        """Make the ring and start the first copies.

        early    implies `many`, as does `ahead`
        outside  default: with two or more stages; always so with `ahead`
        Who     all threads of the block; with stages the block must be one team
        Errors  `row-stream`: stages with several teams in a block, with blocks that have no part of a row, with rows
                that are no multiple of 16 bytes, or with vectors of other than 16 bytes; `ahead` with vectors of other
                than 4, 8 or 16 bytes, with rows that are no multiple of a vector, or above the vectors of a row;
                `together` above 1 with stages, `many`, `early` or `ahead`
        """
        ring, full, turn, row, size, team = None, None, None, None, arrays[0].dtype.bytes, part.team
        if (together or 1) > 1 and (stages or many or early or ahead is not None):
            raise mistake("row-stream", "a team works on several rows together, or on one after the other")
        if ahead is not None:
            if part.n % part.vector or part.vector * size not in (4, 8, COPIED) or not 0 <= ahead <= part.pieces:
                raise mistake("row-stream", "threads copy whole vectors of 4, 8 or 16 bytes, at most a row ahead")
            slots = part.pieces + ahead
            laid = make_layout((part.vector, team.threads * team.teams, slots, len(arrays)))
            ring = shared(arrays[0].dtype, laid, align=128)
            turn, row = first_turn(team)
            made = RowStream(part, arrays, 0, True, False, True, fill, ring, full, turn, row, ahead, False, together)
            made = replace(made, once=once).by_counter(counter, 1 + -(-slots // part.pieces))
            for number in static_range(slots):
                made.ask_for(number)
            return made
        if stages:
            if team.teams > 1 or part.n * size % COPIED or part.vector * size != COPIED:
                raise mistake("row-stream", "copies ahead need a block that is one team, and rows of whole 16 bytes")
            if part.chunk * (team.cluster - 1) >= part.n:
                raise mistake("row-stream", f"blocks of the cluster have no part of a row of {part.n} elements")
            ring = shared(arrays[0].dtype, make_layout((part.chunk, stages, len(arrays))), align=128)
            full = shared(mbarrier, (stages,))
            turn, row = first_turn(team)
            if team.lane == 0:
                for stage in static_range(stages):
                    full[stage].init(1)
                fence_mbarrier_init()
            team.sync()
        outside, many = stages > 1 if outside is None else outside, many or early
        made = RowStream(
            part, arrays, stages, many, early, outside, fill, ring, full, turn, row, None, packed, together, once=once
        ).by_counter(counter if stages else None, stages + 1)
        for stage in static_range(stages):
            made.bring(stage, stage)
        return made

    def by_counter(self, counter: Any, count: int) -> RowStream:
        """Return this stream with `counter`; each team begins with `count` known rows, those it would have without."""
        if counter is None:
            return self
        known, taken = make_rmem_tensor(self.part.team.number().dtype, (count,)), make_rmem_tensor(i32, (1,))
        taken[0] = -1
        for i in static_range(count):
            known[i] = self.part.team.number() + i * self.part.team.count()
        return replace(self, counter=counter, known=known, taken=taken)

    def take(self, row: Any) -> None:
        """Take one more row in one thread of the team, unless `row`, which is known, is beyond the last: so the counter
        is raised once for each row."""
        if self.part.team.lane == 0 and self.part.team.rank == 0 and row < self.arrays[0].shape[0]:
            self.taken[0] = atomic_add(self.counter, 0, 1)

    def told(self) -> Any:
        """Return the row that was taken last in the thread that takes rows; 0 in all others."""
        team, row = self.part.team, self.known.dtype(0)
        if team.lane == 0 and team.rank == 0:
            row = self.known.dtype(self.taken[0]) + self.known.shape[0] * team.count()
        return row

    @property
    def loops(self) -> bool:
        """True where `walk` makes a run-time loop."""
        return self.outside and not self.stages and self.ahead is None

    def walk(self, state: Any, step: Any, last: bool = False, pieces: int = 1) -> Any:
        """Go through this thread's vectors of a row, as `RowPartition.walk` does: unrolled, unless `loops`.

        last    whether this is the last pass over the row: in the `work` of `each`, or in `last` of `each_reduced`
        pieces  how many vectors a step gets; the last step may get fewer. With `loops` always `AT_ONCE`
        """
        if self.loops:
            return self.part.walk(state, step, pieces=AT_ONCE, loop=True)
        part = self.part
        for start in static_range(0, part.pieces, pieces):
            count = min(pieces, part.pieces - start)
            if self.ahead is not None:
                with profile.range("wait"):
                    cp_async_wait_group(part.pieces + self.ahead - count - (0 if last or self.once else start))
            some = RowVectors(part, start, count, part.inside(start + count - 1))
            state = step(state, some)
            if self.ahead is not None and last and not self.once:
                self.ask_behind(some)
        return state

    def hold(self, row: Any, kept: bool = True) -> Any:
        """Return a function that returns this thread's `RowPart` of `row`: of weights, for example, that all rows need.

        row   a tensor of n elements. None: the function returns None
        kept  with stages, `early` or `ahead`: copy it to shared memory once; each thread reads only what it wrote.
              False: load it from global memory again with each row
        Result  a function of the number of the row that is worked on, which it ignores
        """
        part = self.part
        if row is None:
            return nothing
        if self.loops:
            return lambda _: RowPart(part, row, 0, True)
        if not (self.stages or self.early or self.ahead is not None) or not kept:
            return lambda _: self.registers(part.load(row))
        begin = (part.team.rank - part.team.index) * part.chunk  # each team of the block has its own part of `place`
        place = shared(row.dtype, (part.chunk * part.team.teams,), align=128)
        found = make_rmem_tensor(row.dtype, make_layout(part.shape))
        found.store(part.load(row))
        for i in static_range(part.pieces):
            part.move(place, found, i, begin, into=True)
        return lambda _: RowPart(part, place, 0, True, begin)

    def each(self, work: Any, ask: Any = None) -> None:
        """Call ``work(row, asked, *parts)`` for every row of the team, with this thread's `RowPart` of each array.

        work  with stages and `outside` it must call `refill` once, after a barrier of the team that follows the last
              read of the parts
        ask   ``ask(row)`` returns `asked`. It loads what else a row needs, and is called before the row has arrived
        """
        ask = nothing if ask is None else ask
        team, rows = self.part.team, self.arrays[0].shape[0]
        if self.together is not None:
            replace(self, together=None).each_together(self.together, work, ask)
            return
        first = team.number()
        if self.counter is not None:
            self.each_taken(work, ask)
        elif self.ahead is not None:
            coming = ask(min(first, rows - 1))
            team.ready()
            for row in range(first, rows, team.count()):
                asked, coming = coming, ask(min(row + team.count(), rows - 1))
                work(row, asked, *self.queued())
                self.turn[0] = (self.turn[0] + self.part.pieces) % (self.part.pieces + self.ahead)
                self.row[0] = row + team.count()
            team.leave()
        elif not self.stages and self.early:
            asked, vectors = ask(min(first, rows - 1)), self.loaded(min(first, rows - 1))
            words = pack(vectors)  # unpacked, each narrow element would take a register across the loop
            team.ready()
            for row in range(first, rows, team.count()):
                asked_now, now, later = asked, unpack(words, vectors), row + team.count()
                if later < rows:
                    asked, words = ask(later), pack(self.loaded(later))
                work(row, asked_now, *(self.registers(v) for v in now))
            team.leave()
        elif not self.stages and self.many:
            team.ready()
            for row in range(first, rows, team.count()):
                work(row, ask(row), *self.parts(row))
            team.leave()
        elif not self.stages:
            if team.teams == 1 or first < rows:
                asked = ask(first)
                parts = self.parts(first)
                team.ready()
                work(first, asked, *parts)
        else:
            coming = ask(min(first, rows - 1))
            team.ready()
            for row in range(first, rows, team.count()):
                asked, coming = coming, ask(min(row + team.count(), rows - 1))
                work(row, asked, *self.arrived())
            team.leave()

    def each_taken(self, work: Any, ask: Any) -> None:
        """Call `work` for the rows that this team takes, as `each` does."""
        team, rows, last = self.part.team, self.arrays[0].shape[0], self.known.shape[0] - 1
        coming = ask(minimum(self.known[0], rows - 1))
        team.ready()
        self.take(self.known[0])
        while self.known[0] < rows:
            asked, coming = coming, ask(minimum(self.known[1], rows - 1))
            if self.ahead is not None:
                work(self.known[0], asked, *self.queued())
                self.turn[0] = (self.turn[0] + self.part.pieces) % (self.part.pieces + self.ahead)
            else:
                work(self.known[0], asked, *self.arrived())
            for i in static_range(last):
                self.known[i] = self.known[i + 1]
            self.known[last] = self.row[0]
        clear_counter(self.counter, self.taken[0], rows)
        team.leave()

    def queued(self) -> list[Queued]:
        """Return this thread's part of the current row of each array, in its slots."""
        return [Queued(self.part, self, self.fill, True, i) for i in range(len(self.arrays))]

    def arrived(self) -> list[RowPart]:
        """Wait until the next row has arrived in shared memory, and return this thread's part of each array."""
        with profile.range("wait"):
            self.full[self.turn[0] % self.stages].wait(self.turn[0] // self.stages)
        stage, begin = self.turn[0] % self.stages, self.part.team.rank * self.part.chunk
        parts = [RowPart(self.part, self.ring[None, stage, i], self.fill, True, begin) for i in range(len(self.arrays))]
        if not self.outside:
            parts = [self.registers(each.load()) for each in parts]
            self.part.team.sync()  # until here, threads read the stage that is refilled
            self.refill()
        return parts

    def each_together(self, count: int, work: Any, ask: Any) -> None:
        """Call `work` for tuples of `count` rows, as `each` does."""
        if count == 1:
            self.each(lambda row, asked, *parts: work((row,), asked, *((part,) for part in parts)), ask)
            return
        team, last = self.part.team, self.arrays[0].shape[0] - 1
        first = team.number() * count
        if team.teams == 1 or first <= last:
            rows = tuple(minimum(first + i, last) for i in range(count))
            asked, parts = tuple(map(ask, rows)), [self.parts(row) for row in rows]
            team.ready()
            work(rows, asked, *zip(*parts, strict=True))

    def each_reduced(self, first: Any, last: Any, combine: Any = "add", ask: Any = None) -> None:
        """For every row, call `first`, reduce a value over the team, and call `last` with the result.

        ``x, kept = first(row, asked, *parts)``; `all` is the reduction of x; ``last(row, asked, kept, all, *parts)``.
        Where rows are `outside`, both functions read the parts from memory. Otherwise the parts are in registers, and
        with stages the copy of a later row starts before `first`.

        kept     any values, passed to `last`: results of `first`, or loads that are under way during the reduction
        combine  as for `Team.reduce`
        ask      as for `each`

        With `once`, `first` alone reads the parts.
        """
        team, copied = self.part.team, self.outside and self.stages

        def work(row: Any, asked: Any, *parts: Any) -> None:
            with profile.range("first"):
                x, kept = first(row, asked, *parts)
            all = self.reduced(x, combine)
            if copied and self.once:
                if team.warps == team.cluster == 1:
                    team.sync()  # a reduction by shuffles alone does not order memory
                self.refill()
            with profile.range("last"):
                last(row, asked, kept, all, *parts)
            if copied and not self.once:
                team.sync()  # until here, `last` may read the stage that is refilled
                self.refill()

        self.each(work, ask)

    def reduced(self, x: Any, combine: Any) -> Any:
        """Reduce `x` over the team; with `counter`, also broadcast the row that was taken last, and take another."""
        if self.counter is None:
            return self.part.team.reduce(x, combine)
        all, self.row[0] = self.part.team.reduce((x, self.told()), AndRow(combine))
        self.take(self.known[1])
        return all

    def parts(self, row: Any) -> list[RowPart]:
        """Return this thread's part of a row of each array, from global memory."""
        if self.outside:
            return [RowPart(self.part, x[row, None], self.fill, True) for x in self.arrays]
        return [self.registers(v) for v in self.loaded(row)]

    def registers(self, v: Any) -> RowPart:
        """Return a thread's part of a row that has been loaded into registers."""
        return RowPart(self.part, Packed.made(v) if self.packed else v)

    def loaded(self, row: Any) -> tuple[Any, ...]:
        """Return this thread's elements of a row of each array, loaded into registers."""
        return tuple(self.part.load(x[row, None], self.fill) for x in self.arrays)

    def place(self, number: int, array: int) -> Any:
        """Return the slot of this thread's vector `number`, counted from the first vector of the current row."""
        slots = self.part.pieces + self.ahead  # type: ignore[operator]
        at = self.turn[0] + number % slots
        return self.ring[None, linear_thread_idx(), where(at >= slots, at - slots, at), array]

    def ask_behind(self, some: RowVectors) -> None:
        """Start the copies of the vectors that come to the places of `some`, which have been read."""
        for i in static_range(some.pieces):
            self.ask_for(some.start + i + self.part.pieces + (self.ahead or 0))

    def ask_for(self, number: int) -> None:
        """Start the copy of vector `number`, counted from the first vector of the current row."""
        part = self.part
        later, piece = number // part.pieces, number % part.pieces
        row = self.row[0] + later * part.team.count() if self.counter is None else self.known[later]
        if row < self.arrays[0].shape[0]:
            first = part.first(piece)
            if part.inside(piece) or first < part.end():
                for i in static_range(len(self.arrays)):
                    there = self.arrays[i][row, None].tile((part.vector,), (part.number(piece),))
                    cp_async(self.place(number, i), there, part.vector * there.dtype.bytes)
        cp_async_commit_group()

    def refill(self) -> None:
        """Start the copy of a later row to the stage that has been read; without stages do nothing."""
        if self.stages:
            self.bring(self.turn[0] % self.stages, self.stages)
            self.turn[0] = (self.turn[0] + 1) % (2 * self.stages)

    def bring(self, stage: Any, later: int) -> None:
        """Start the copy of the next row, if there is one, to a stage. With `counter` it is row ``known[later]``."""
        part, row = self.part, self.row[0] if self.counter is None else self.known[later]
        begin = part.team.rank * part.chunk
        if part.team.lane == 0 and row < self.arrays[0].shape[0]:
            bytes = (part.end() - begin) * self.arrays[0].dtype.bytes
            self.full[stage].arrive_expect_tx(bytes * len(self.arrays))
            for i in static_range(len(self.arrays)):
                there = self.arrays[i][row, None].tile((part.vector,), (begin // part.vector,))
                cp_async_bulk(self.ring[None, stage, i], there, bytes, barrier=self.full[stage])
        if self.counter is None:
            self.row[0] = row + part.team.count()


@dataclass(frozen=True)
class AndRow:
    """Combine pairs (value, row): values by `combine`, rows by their maximum."""

    combine: Combine

    def __call__(self, a: Any, b: Any) -> Any:
        return combined(a[0], b[0], self.combine), maximum(a[1], b[1])

    def __getattr__(self, name: str) -> Any:
        if name != "together" or not hasattr(self.combine, "together"):
            raise AttributeError(name)
        return lambda x, reduce: (self.combine.together(x[0], reduce), reduce(x[1], "max"))


def first_turn(team: Team) -> tuple[Any, Any]:
    """Return `RowStream.turn` and `row` as they are at first: 0 and the first row of the team, in registers."""
    turn, row = make_rmem_tensor(i32, (1,)), make_rmem_tensor(team.number().dtype, (1,))
    turn[0], row[0] = 0, team.number()
    return turn, row


def nothing(row: Any) -> None:
    """Return None: what `ask` is where it is not given, and what `hold` returns for None."""


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
