"""Rows that a team works on later, on their way: to shared memory by bulk copies or by each thread's own, or to L2.

All kinds have the same methods: `parts` gives the current row, `go_on` makes the next one current, and `taken` are the
rows that the team takes, or None: then each team has every `team.count()`-th row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cutelite.ir.types import i32, mbarrier
from cutelite.lang import profile
from cutelite.lang.algebra import aligned_down
from cutelite.lang.cp_async import cp_async, cp_async_bulk, cp_async_commit_group, cp_async_wait_group
from cutelite.lang.emit import mistake
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.loops import static_range
from cutelite.lang.mbarrier import fence_mbarrier_init
from cutelite.lang.sync import syncthreads
from cutelite.lang.tensor import make_rmem_tensor, shared
from cutelite.lang.tma import fence_proxy_async
from cutelite.lang.values import maximum, minimum, where
from cutelite.lang.whole import fill as fill_tensor
from cutelite.layout import make_layout
from cutelite.lib.row_counter import RowCursor, TakenRows
from cutelite.lib.row_ends import COPIED
from cutelite.lib.rows import RowPart, RowPartition, RowVectors, is_copies
from cutelite.records import dataclass


@dataclass(frozen=True)
class Room:
    """Shared memory for rows of a team, and which of them it has.

    part    how a row is distributed
    arrays  the tensors that are read row by row
    memory  in shared memory; its last mode is the array
    turn    (1,) i32 in registers: the place of the current row
    row     (1,) in registers, where threads copy, without `taken`: the row that the next copies are counted from
    taken   the rows that the team takes, or None: each team has every `team.count()`-th row
    """

    part: RowPartition
    arrays: tuple[Any, ...]
    memory: Any
    turn: Any
    row: Any
    taken: TakenRows | None

    @staticmethod
    def create(part: RowPartition, arrays: tuple[Any, ...], shape: tuple[int, ...], counter: Any, known: int) -> Room:
        """Make room of this shape for each array; with `counter` the team knows its first `known` rows."""
        team = part.team
        memory = shared(arrays[0].dtype, make_layout((*shape, len(arrays))), align=128)
        turn, row = make_rmem_tensor(i32, (1,)), make_rmem_tensor(team.number().dtype, (1,))
        turn[0], row[0] = 0, team.number()
        taken = None if counter is None else TakenRows.create(team, arrays[0].shape[0], counter, known)
        return Room(part, arrays, memory, turn, row, taken)

    @property
    def rows(self) -> Any:
        """The number of rows."""
        return self.arrays[0].shape[0]


@dataclass(frozen=True)
class BulkCopies:
    """A ring of stages for whole rows, which bulk copies bring. The block is one team.

    room    `memory` is (element, stage, array); `turn` the number of the next row to read, modulo twice the stages
    here    without `taken`: the current row
    coming  without `taken`: the row that the next copy brings
    stages  the number of rows that there is room for
    full    an mbarrier for each stage, completed when its row has arrived
    """

    room: Room
    here: RowCursor
    coming: RowCursor
    stages: int
    full: Any

    @staticmethod
    def create(part: RowPartition, arrays: tuple[Any, ...], stages: int, counter: Any, *order: Any) -> BulkCopies:
        """Make the ring, and start the copies of the first rows, in `order`: arguments of `RowCursor`."""
        team, bytes = part.team, arrays[0].dtype.bytes
        whole = part.n >= part.vector if part.shift is not None else part.n * bytes % COPIED == 0
        if team.teams > 1 or not whole or part.vector * bytes != COPIED:
            raise mistake("row-stream", "copies ahead need a block that is one team, and rows of whole 16 bytes")
        if part.chunk * (team.cluster - 1) >= part.least:
            raise mistake("row-stream", f"blocks of the cluster have no part of a row of {part.n} elements")
        size = part.chunk + (2 * part.sector if part.ends else 0)  # with the ends of the row that the block has
        room = Room.create(part, arrays, (size, stages), counter, stages + 1)
        here = RowCursor.create(team, room.rows, *order)
        made = BulkCopies(room, here, here.copy(), stages, shared(mbarrier, (stages,)))
        if team.lane == 0:
            for stage in static_range(stages):
                made.full[stage].init(1)
            fence_mbarrier_init()
        team.sync()
        for stage in static_range(stages):
            made.bring(stage, stage, first=stage == 0)
        return made

    @property
    def taken(self) -> TakenRows | None:
        """The rows that the team takes."""
        return self.room.taken

    def parts(self, fill: Any) -> list[RowPart]:
        """Wait until the current row has arrived, and return this thread's part of each array, in shared memory."""
        self.wait(fill)
        return self.places(fill)

    def wait(self, fill: Any, later: int = 0) -> None:
        """Wait until the current row, or one so much later, has arrived."""
        turn = self.room.turn[0] + later
        with profile.range("wait"):
            self.full[turn % self.stages].wait(turn // self.stages % 2 if later else turn // self.stages)
        if self.cleans:
            self.clean(turn % self.stages, fill)

    def places(self, fill: Any, later: int = 0) -> list[RowPart]:
        """Return this thread's part of each array of the current row, or of one so much later, in shared memory."""
        room, stage = self.room, (self.room.turn[0] + later) % self.stages
        part, begin = room.part, room.part.team.rank * room.part.chunk
        if part.ends:  # of the first block's first whole vector, from the first sector on
            begin = where(part.team.rank == 0, part.lead - part.shift[2], begin)
        memory = [room.memory[None, stage, i] for i in range(len(room.arrays))]
        return [RowPart(part, each, fill, True, begin, clean=self.cleans) for each in memory]

    @property
    def cleans(self) -> bool:
        """Tell whether ends of rows are cleaned where they lie: a fence would wait for the atomic that takes a row."""
        return self.room.part.shift is not None and self.room.taken is None and not self.room.part.ends

    def beside(self, piece: int) -> Any:
        """Tell whether this thread's vector of the current row has elements of other rows too, or is before the row."""
        part, first, end = self.room.part, self.room.part.place(piece), self.room.part.end() + self.room.part.lead
        before = not part.begun(piece) and first < part.lead
        return before or (not part.ends_behind(piece) and (first < end) & (first + part.vector > end))

    def clean(self, stage: Any, fill: Any) -> None:
        """Put `fill` in the place of elements beside the current row's ends: each thread where it reads itself."""
        room, part = self.room, self.room.part
        for piece in static_range(part.pieces):
            if self.beside(piece):
                number = part.number(piece, part.team.rank * part.chunk)
                for i in static_range(len(room.arrays)):
                    place = room.memory[None, stage, i].tile((part.vector,), (number,))
                    place.store(part.kept(place.load(), piece, fill))

    def settle(self) -> None:
        """Order what `clean` wrote before a copy to the same place, before the barrier in front of it.

        The fence waits for all that the thread has stored: behind a reduction the row before has been.
        """
        if self.cleans:
            for piece in static_range(self.room.part.pieces):
                if self.beside(piece):
                    fence_proxy_async("shared::cta")

    def refill(self) -> None:
        """Start the copy of a later row to the current row's stage, which all threads of the team have read."""
        self.bring(self.room.turn[0] % self.stages, self.stages)
        self.step()

    def step(self) -> None:
        """Make the next row the current one; `refill_behind` refills the stage of the one before."""
        turn = self.room.turn
        turn[0] = (turn[0] + 1) % (2 * self.stages)

    def refill_behind(self) -> None:
        """Start the copy of a later row to the stage of the row before the current one, which all threads have read."""
        before = self.stages - 1
        self.bring((self.room.turn[0] + before) % self.stages, before)

    def bring(self, stage: Any, later: int, first: bool = False) -> None:
        """Start the copy of the next row, if there is one, to a stage. With `taken` it is row ``known[later]``.

        first  it is the team's first row
        """
        room, part = self.room, self.room.part
        row = self.coming.row if room.taken is None else room.taken.known[later]
        if part.team.lane == 0 and row < room.rows:
            rows = [x[row, None] for x in room.arrays]
            if part.shift is None:
                own, begin, end = 0, part.team.rank * part.chunk, part.end()
            else:
                rows, own, begin, end = self.covers(rows, row, stage, first)
            bytes = (end - begin) * room.arrays[0].dtype.bytes
            self.full[stage].arrive_expect_tx(bytes * len(rows))
            if part.shift is None or begin < end:
                for i in static_range(len(rows)):
                    there = rows[i].tile((part.vector,), (begin // part.vector,))
                    place = room.memory[None, stage, i]
                    if part.shift is not None:
                        place = place.tile((part.vector,), ((begin - own) // part.vector,))
                    cp_async_bulk(place, there, bytes, barrier=self.full[stage])
        if room.taken is None:
            self.coming.go_on()

    def bounds(self, lead: Any) -> tuple[Any, Any]:
        """Return where this block's part of the vectors that cover a row begins and ends, with the ends that it has."""
        part, width = self.room.part, self.room.part.vector
        begin, end = part.team.rank * part.chunk, (lead + part.n + width - 1) // width * width
        if not part.ends:
            return begin, minimum(begin + part.chunk, end)
        before = (lead + part.between - 1) // part.between * part.between
        last = part.team.rank == part.team.cluster - 1
        return where(part.team.rank == 0, 0, begin + before), where(last, end, begin + before + part.chunk)

    def covers(self, rows: list[Any], row: Any, stage: Any, first: bool) -> tuple[list[Any], Any, Any, Any]:
        """Return the vectors that cover a row of each array, this block's first one, and what is to be copied of them.

        Vectors at the ends have elements of other rows too. Where these would lie outside of the array, its first and
        last rows, this thread copies the row's own elements, and zeros beside them.

        first  it is the team's first row: only such a one is the array's first
        """
        room, part, width = self.room, replace(self.room.part, ends=0), self.room.part.vector
        lead = aligned_down(rows[0], part.unit * COPIED)[1]
        covers, last, (own, end) = [part.cover(each, lead) for each in rows], lead + part.n, self.bounds(lead)
        begin = own
        first_of_all = first and (row == 0) & (begin < lead)
        last_of_all = (row == room.rows - 1) & (last < end)
        if first_of_all | last_of_all:
            for i in static_range(len(rows)):
                for j in range(part.sector):
                    for at_end, at in ((first_of_all, j), (last_of_all & (j < width), end - width + j)):
                        if at_end:
                            found = rows[i].dtype(0)
                            if (at >= lead) & (at < last):
                                found = covers[i][at]
                            room.memory[at - begin, stage, i] = found
            if (first or self.here.kinds > 1) and not self.cleans:  # later copies come to the same place
                fence_proxy_async("shared::cta")
        begin = where(first_of_all, part.sector, begin)
        return covers, own, begin, maximum(where(last_of_all, end - width, end), begin)

    def go_on(self, row: Any) -> None:
        """Do nothing: `refill` has made the next row current."""


def copied(part: RowPartition, row: Any) -> Any:
    """Let each thread copy its vectors of `row` to shared memory; return a function that waits: its `RowPart`.

    row  a row, or the copies of one, of which the one is taken that lies as the current row does
    """
    given, unaligned = row, not is_copies(row) and (part.n % part.vector or part.shift is not None)
    row, before = part.of_copies(row) if is_copies(row) else (row, 0)
    bytes, mine = part.vector * row.dtype.bytes, row.tile((part.vector,), (part.number(0) + before,))
    if bytes != COPIED or unaligned or mine.value.type.align % COPIED:
        return lambda _: RowPart(part, given, 0, True, alike=False)
    begin = (part.team.rank - part.team.index) * part.chunk  # each team of the block has its own part of `place`
    place = shared(row.dtype, (part.chunk * part.team.teams,), align=128)
    for i in static_range(part.pieces):
        if part.inside(i) or part.first(i) < part.end():
            there, here = row.tile((part.vector,), (part.number(i) + before,)), part.number(i, begin)
            cp_async(place.tile((part.vector,), (here,)), there, bytes, cache="ca")  # other blocks find them in L1
    cp_async_commit_group()

    def held(_: Any) -> RowPart:
        cp_async_wait_group(0)
        return RowPart(part, place, 0, True, begin)

    return held


def brought(part: RowPartition, row: Any, place: Any) -> Any:
    """Bring this block's part of `row` to `place`, in shared memory, by one bulk copy.

    Gives  a function that waits for it, and returns the `RowPart`; None where the row is not one of whole 16 bytes, or
           parts of rows begin anywhere
    Who    all threads of the block
    """
    begin, bytes = part.team.rank * part.chunk, row.dtype.bytes
    there = row.tile((part.vector,), (begin // part.vector,))
    unaligned = part.n % part.vector or there.value.type.align % COPIED or part.shift is not None
    if part.vector * bytes % COPIED or unaligned:
        return None
    full = shared(mbarrier, (1,))
    if linear_thread_idx() == 0:
        full[0].init(1)
        fence_mbarrier_init()
        full[0].arrive_expect_tx((part.end() - begin) * bytes)
        cp_async_bulk(place, there, (part.end() - begin) * bytes, barrier=full[0])
    syncthreads()

    def held(_: Any) -> RowPart:
        full[0].wait(0)
        return RowPart(part, place, 0, True, begin)

    return held


@dataclass(frozen=True)
class ThreadCopies:
    """Vectors that each thread copies for itself, those of a row and `ahead` more.

    When a vector has been read for the last time, the copy of a later one to its place starts.

    room    `memory` is (element, thread, slot, array); `turn` the slot of the current row's first vector; `row` the
            current row
    ahead   how many vectors more than a row's there is room for
    once    each vector is read once, from the last array last: what comes to its place is asked for right away
    """

    room: Room
    ahead: int
    once: bool

    @staticmethod
    def create(part: RowPartition, arrays: tuple[Any, ...], ahead: int, once: bool, counter: Any) -> ThreadCopies:
        """Make the slots, and start the copies of the first vectors."""
        team, bytes = part.team, arrays[0].dtype.bytes
        whole = part.n % part.vector == 0 and part.shift is None
        if not whole or part.vector * bytes not in (4, 8, COPIED) or not 0 <= ahead <= part.pieces:
            raise mistake("row-stream", "threads copy whole vectors of 4, 8 or 16 bytes, at most a row ahead")
        slots = part.pieces + ahead
        shape = (part.vector, team.threads * team.teams, slots)
        made = ThreadCopies(Room.create(part, arrays, shape, counter, 1 + -(-slots // part.pieces)), ahead, once)
        for number in static_range(slots):
            made.ask_for(number)
        return made

    @property
    def taken(self) -> TakenRows | None:
        """The rows that the team takes."""
        return self.room.taken

    def parts(self, fill: Any) -> list[Queued]:
        """Return this thread's part of the current row of each array, in its slots."""
        return [Queued(self.room.part, self, fill, True, i) for i in range(len(self.room.arrays))]

    def wait(self, start: int, count: int, last: bool) -> None:
        """Wait until `count` vectors of the current row from number `start` on have arrived.

        last  whether this is the last pass over the row: copies to the places of the vectors before have started
        """
        with profile.range("wait"):
            cp_async_wait_group(self.slots - count - (0 if last or self.once else start))

    @property
    def slots(self) -> int:
        """The number of vectors of an array that a thread has room for."""
        return self.room.part.pieces + self.ahead

    def place(self, number: int, array: int) -> Any:
        """Return the slot of this thread's vector `number`, counted from the first vector of the current row."""
        at = self.room.turn[0] + number % self.slots
        return self.room.memory[None, linear_thread_idx(), where(at >= self.slots, at - self.slots, at), array]

    def ask_behind(self, some: RowVectors) -> None:
        """Start the copies of the vectors that come to the places of `some`, which have been read."""
        for i in static_range(some.pieces):
            self.ask_for(some.start + i + self.slots)

    def ask_for(self, number: int) -> None:
        """Start the copy of vector `number`, counted from the first vector of the current row."""
        room, part = self.room, self.room.part
        later, piece = number // part.pieces, number % part.pieces
        row = room.row[0] + later * part.team.count() if room.taken is None else room.taken.known[later]
        if row < room.rows:
            first = part.first(piece)
            if part.inside(piece) or first < part.end():
                for i in static_range(len(room.arrays)):
                    there = room.arrays[i][row, None].tile((part.vector,), (part.number(piece),))
                    cp_async(self.place(number, i), there, part.vector * there.dtype.bytes)
        cp_async_commit_group()

    def go_on(self, row: Any) -> None:
        """Make `row`, or with `taken` the next row, the current one."""
        turn = self.room.turn
        turn[0] = (turn[0] + self.room.part.pieces) % self.slots
        if self.room.taken is None:
            self.room.row[0] = row


@dataclass(frozen=True)
class Queued(RowPart):
    """A thread's part of the current row, in slots of `ThreadCopies`.

    held   the `ThreadCopies`
    begin  the index of the array among those of its `room`
    """

    def of(self, some: RowVectors) -> Any:
        """Return the elements of the vectors `some`, of shape (vector, pieces)."""
        held = make_rmem_tensor(self.held.room.arrays[self.begin].dtype, make_layout(some.shape))
        if not some.whole:
            fill_tensor(held, self.fill)
        for i in static_range(some.pieces):
            number = some.start + i
            if self.part.inside(number) or self.part.first(number) < self.part.end():
                held[None, i].store(self.held.place(number, self.begin).load())
        found = held.load()
        if self.held.once and self.begin == len(self.held.room.arrays) - 1:
            self.held.ask_behind(some)
        return found


@dataclass(frozen=True)
class RowsAsked:
    """Rows that threads load into registers when it is their turn, and that L2 has been asked for one row before.

    part    how a row is distributed
    arrays  the tensors that are read row by row
    taken   the rows that the team takes
    alike   as for `RowPartition.load`
    """

    part: RowPartition
    arrays: tuple[Any, ...]
    taken: TakenRows
    alike: bool

    @staticmethod
    def create(part: RowPartition, arrays: tuple[Any, ...], counter: Any, alike: bool) -> RowsAsked:
        """Begin with a row, and one that is known to follow it."""
        return RowsAsked(part, arrays, TakenRows.create(part.team, arrays[0].shape[0], counter, 2), alike)

    def parts(self, fill: Any) -> list[RowPart]:
        """Load this thread's part of the current row of each array."""
        row = self.taken.known[0]
        return [self.part.part_of(x[row, None], fill, self.alike) for x in self.arrays]

    def ask(self) -> None:
        """Let the next row, if there is one, come to L2."""
        row = self.taken.known[1]
        if row < self.arrays[0].shape[0]:
            for each in self.arrays:
                self.part.ask_for(each[row, None])

    def go_on(self, row: Any) -> None:
        """Do nothing: `taken` goes on by itself."""
