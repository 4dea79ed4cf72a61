"""Copies of the rows that a team works on later, to shared memory: by bulk copies, or by each thread for itself.

Both kinds have the same methods: `parts` gives the current row, and `go_on` makes the next one current.
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import i32, mbarrier
from cutelite.lang import profile
from cutelite.lang.cp_async import cp_async, cp_async_bulk, cp_async_commit_group, cp_async_wait_group
from cutelite.lang.emit import mistake
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.loops import static_range
from cutelite.lang.mbarrier import fence_mbarrier_init
from cutelite.lang.tensor import make_rmem_tensor, shared
from cutelite.lang.values import where
from cutelite.lang.whole import fill as fill_tensor
from cutelite.layout import make_layout
from cutelite.lib.reduce import Team
from cutelite.lib.row_counter import TakenRows
from cutelite.lib.rows import COPIED, RowPart, RowPartition, RowVectors
from cutelite.records import dataclass


@dataclass(frozen=True)
class BulkCopies:
    """Whole rows that bulk copies bring to a ring of stages. The block is one team.

    part    how a row is distributed
    arrays  the tensors that are read row by row
    stages  the number of rows that there is room for
    memory  (element, stage, array) in shared memory
    full    an mbarrier for each stage, completed when its row has arrived
    turn    (1,) i32 in registers: the number of the next row to read, modulo twice the stages
    row     (1,) in registers, without `taken`: the row that the next copy brings
    taken   the rows that the team takes, or None: each team has every `team.count()`-th row
    """

    part: RowPartition
    arrays: tuple[Any, ...]
    stages: int
    memory: Any
    full: Any
    turn: Any
    row: Any
    taken: TakenRows | None

    @staticmethod
    def create(part: RowPartition, arrays: tuple[Any, ...], stages: int, counter: Any) -> BulkCopies:
        """Make the ring, and start the copies of the first rows."""
        team, dtype = part.team, arrays[0].dtype
        if team.teams > 1 or part.n * dtype.bytes % COPIED or part.vector * dtype.bytes != COPIED:
            raise mistake("row-stream", "copies ahead need a block that is one team, and rows of whole 16 bytes")
        if part.chunk * (team.cluster - 1) >= part.n:
            raise mistake("row-stream", f"blocks of the cluster have no part of a row of {part.n} elements")
        memory = shared(dtype, make_layout((part.chunk, stages, len(arrays))), align=128)
        full = shared(mbarrier, (stages,))
        turn, row = first_turn(team)
        if team.lane == 0:
            for stage in static_range(stages):
                full[stage].init(1)
            fence_mbarrier_init()
        team.sync()
        taken = None if counter is None else TakenRows.create(team, arrays[0].shape[0], counter, stages + 1)
        made = BulkCopies(part, arrays, stages, memory, full, turn, row, taken)
        for stage in static_range(stages):
            made.bring(stage, stage)
        return made

    def parts(self, fill: Any) -> list[RowPart]:
        """Wait until the current row has arrived, and return this thread's part of each array, in shared memory."""
        with profile.range("wait"):
            self.full[self.turn[0] % self.stages].wait(self.turn[0] // self.stages)
        stage, begin = self.turn[0] % self.stages, self.part.team.rank * self.part.chunk
        return [RowPart(self.part, self.memory[None, stage, i], fill, True, begin) for i in range(len(self.arrays))]

    def refill(self) -> None:
        """Start the copy of a later row to the current row's stage, which all threads of the team have read."""
        self.bring(self.turn[0] % self.stages, self.stages)
        self.turn[0] = (self.turn[0] + 1) % (2 * self.stages)

    def bring(self, stage: Any, later: int) -> None:
        """Start the copy of the next row, if there is one, to a stage. With `taken` it is row ``known[later]``."""
        part, row = self.part, self.row[0] if self.taken is None else self.taken.known[later]
        begin = part.team.rank * part.chunk
        if part.team.lane == 0 and row < self.arrays[0].shape[0]:
            bytes = (part.end() - begin) * self.arrays[0].dtype.bytes
            self.full[stage].arrive_expect_tx(bytes * len(self.arrays))
            for i in static_range(len(self.arrays)):
                there = self.arrays[i][row, None].tile((part.vector,), (begin // part.vector,))
                cp_async_bulk(self.memory[None, stage, i], there, bytes, barrier=self.full[stage])
        if self.taken is None:
            self.row[0] = row + part.team.count()

    def go_on(self, row: Any) -> None:
        """Do nothing: `refill` has made the next row current."""


@dataclass(frozen=True)
class ThreadCopies:
    """Vectors that each thread copies for itself, those of a row and `ahead` more.

    When a vector has been read for the last time, the copy of a later one to its place starts.

    part    how a row is distributed
    arrays  the tensors that are read row by row
    ahead   how many vectors more than a row's there is room for
    once    each vector is read once, from the last array last: what comes to its place is asked for right away
    memory  (element, thread, slot, array) in shared memory
    turn    (1,) i32 in registers: the slot of the current row's first vector
    row     (1,) in registers, without `taken`: the current row
    taken   the rows that the team takes, or None: each team has every `team.count()`-th row
    """

    part: RowPartition
    arrays: tuple[Any, ...]
    ahead: int
    once: bool
    memory: Any
    turn: Any
    row: Any
    taken: TakenRows | None

    @staticmethod
    def create(part: RowPartition, arrays: tuple[Any, ...], ahead: int, once: bool, counter: Any) -> ThreadCopies:
        """Make the slots, and start the copies of the first vectors."""
        team, dtype = part.team, arrays[0].dtype
        if part.n % part.vector or part.vector * dtype.bytes not in (4, 8, COPIED) or not 0 <= ahead <= part.pieces:
            raise mistake("row-stream", "threads copy whole vectors of 4, 8 or 16 bytes, at most a row ahead")
        slots = part.pieces + ahead
        laid = make_layout((part.vector, team.threads * team.teams, slots, len(arrays)))
        memory = shared(dtype, laid, align=128)
        turn, row = first_turn(team)
        known, taken = 1 + -(-slots // part.pieces), None
        if counter is not None:
            taken = TakenRows.create(team, arrays[0].shape[0], counter, known)
        made = ThreadCopies(part, arrays, ahead, once, memory, turn, row, taken)
        for number in static_range(slots):
            made.ask_for(number)
        return made

    def parts(self, fill: Any) -> list[Queued]:
        """Return this thread's part of the current row of each array, in its slots."""
        return [Queued(self.part, self, fill, True, i) for i in range(len(self.arrays))]

    def wait(self, start: int, count: int, last: bool) -> None:
        """Wait until `count` vectors of the current row from number `start` on have arrived.

        last  whether this is the last pass over the row: copies to the places of the vectors before have started
        """
        with profile.range("wait"):
            cp_async_wait_group(self.part.pieces + self.ahead - count - (0 if last or self.once else start))

    def place(self, number: int, array: int) -> Any:
        """Return the slot of this thread's vector `number`, counted from the first vector of the current row."""
        slots = self.part.pieces + self.ahead
        at = self.turn[0] + number % slots
        return self.memory[None, linear_thread_idx(), where(at >= slots, at - slots, at), array]

    def ask_behind(self, some: RowVectors) -> None:
        """Start the copies of the vectors that come to the places of `some`, which have been read."""
        for i in static_range(some.pieces):
            self.ask_for(some.start + i + self.part.pieces + self.ahead)

    def ask_for(self, number: int) -> None:
        """Start the copy of vector `number`, counted from the first vector of the current row."""
        part = self.part
        later, piece = number // part.pieces, number % part.pieces
        row = self.row[0] + later * part.team.count() if self.taken is None else self.taken.known[later]
        if row < self.arrays[0].shape[0]:
            first = part.first(piece)
            if part.inside(piece) or first < part.end():
                for i in static_range(len(self.arrays)):
                    there = self.arrays[i][row, None].tile((part.vector,), (part.number(piece),))
                    cp_async(self.place(number, i), there, part.vector * there.dtype.bytes)
        cp_async_commit_group()

    def go_on(self, row: Any) -> None:
        """Make `row`, or with `taken` the next row, the current one."""
        self.turn[0] = (self.turn[0] + self.part.pieces) % (self.part.pieces + self.ahead)
        if self.taken is None:
            self.row[0] = row


@dataclass(frozen=True)
class Queued(RowPart):
    """A thread's part of the current row, in slots of `ThreadCopies`.

    held   the `ThreadCopies`
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


def first_turn(team: Team) -> tuple[Any, Any]:
    """Return `turn` and `row` as they are at first: 0 and the first row of the team, in registers."""
    turn, row = make_rmem_tensor(i32, (1,)), make_rmem_tensor(team.number().dtype, (1,))
    turn[0], row[0] = 0, team.number()
    return turn, row
