"""The rows that a team works on, one after the other, with later rows on their way while it works on one.

stream = cl.RowStream.create(part, (x,), stages=2)
stream.each_reduced(first, last, "add")      # for each row: a value of each thread, reduced, and what comes of it
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cutelite.lang import profile
from cutelite.lang.emit import mistake
from cutelite.lang.loops import static_range
from cutelite.lang.sync import nanosleep, syncthreads
from cutelite.lang.tensor import make_rmem_tensor, shared
from cutelite.lang.values import minimum
from cutelite.lang.words import pack, unpack
from cutelite.layout import make_layout
from cutelite.lib.reduce import combined
from cutelite.lib.row_copies import BulkCopies, RowsAsked, ThreadCopies, brought, copied
from cutelite.lib.row_counter import RowCursor
from cutelite.lib.row_ends import copy_vector
from cutelite.lib.row_planes import RowPlanes
from cutelite.lib.row_words import Packed
from cutelite.lib.rows import RowEnds, RowPart, RowPartition, is_copies
from cutelite.records import dataclass

STAGES, BLOCKS = 3, 4  # of a cluster: from so many on, a row's stage is refilled behind the next row's first pass
AT_ONCE = 4  # vectors that a thread reads together, of a row that stays in global memory


@dataclass(frozen=True)
class RowStream:
    """The rows that a team works on: of `arrays`, each of shape (rows, n), that are distributed as `part` says.

    many    the team works on many rows, one after the other; otherwise on one
    early   without copies: load the next row into registers before working on the current one
    outside rows stay in memory (shared memory with copies, else global memory), from which threads read their parts
            anew in each pass: then rows may be of any length. Otherwise threads keep their parts in registers
    fill    the value of elements beyond a row
    packed  keep narrow elements in registers as 32-bit words, and unpack them at each use: fewer registers, more work
    together  how many neighbouring rows the team works on at once. Functions then get tuples of rows and of parts. If
            too few rows are left, the last one is repeated. None: one row at a time, not in a tuple
    once    each vector is read once, from the last array last, and by the first of two passes: what comes to its place
            in shared memory is asked for right away
    bulk    bulk copies bring rows to shared memory
    queue   each thread copies its own vectors there
    asked   the next row is prefetched into L2, and threads load rows
    overlap while the blocks of a cluster exchange what they have of a row, they work on the next one
    pairs   the blocks of a cluster exchange what they have of two rows at a time
    apart   with `ahead` or `taken`: how many nanoseconds each team of a block begins later than the one before
    soon    with `taken`: L2 is asked for the next row while the blocks of a cluster exchange their results
    like    where rows begin anywhere, an array whose rows the vectors cover, as those of `arrays` lie otherwise. None:
            all arrays lie alike
    kinds   the order of rows, as of `RowCursor`
    """

    part: RowPartition
    arrays: tuple[Any, ...]
    many: bool
    early: bool
    outside: bool
    fill: Any
    packed: bool
    together: int | None
    once: bool
    bulk: BulkCopies | None
    queue: ThreadCopies | None
    asked: RowsAsked | None
    overlap: bool
    pairs: bool
    apart: int
    soon: bool
    like: Any
    kinds: int

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
        taken: bool = False,
        overlap: bool = False,
        pairs: bool = False,
        apart: int = 0,
        soon: bool = False,
        like: Any = None,
        kinds: int = 1,
        abreast: bool = False,
    ) -> RowStream:
        """Make room for rows, and start the first copies. Other arguments are those of `RowStream`.

        stages   the number of rows that shared memory has room for; bulk copies bring them. 0: threads read global
                 memory. With stages a team works on many rows
        early    implies `many`, as does `ahead`
        outside  default: with two or more stages; always so with `ahead`
        ahead    each thread copies by cp.async its own vectors of a row, and `ahead` more. None: no such copies
        counter  (1,) i32 in global memory, 0 before and after each launch. With `stages`, `ahead` or `taken`, teams
                 then take rows one by one by this counter, so that all end at the same time even if some get more of
                 the bandwidth. The reductions of `each_reduced` pass on the row taken. None: each team has every
                 `team.count()`-th row
        taken    without copies, with `counter`: teams take rows and load them into registers, and L2 is asked for the
                 next one behind a row's reduction. Implies `many`
        overlap  with stages and without `counter`, for `each_reduced`: registers keep two rows, as words
        pairs    with `outside` stages and without `counter`, for `each_reduced`; rows begin alike, or are of kinds
        abreast  as of `RowCursor`
        Who      all threads of the block; with stages the block must be one team
        Errors   `row-stream`: stages with several teams in a block, with blocks that have no part of a row, with rows
                 that are no multiple of 16 bytes, or with vectors of other than 16 bytes; `ahead` with vectors of other
                 than 4, 8 or 16 bytes, with rows that are no multiple of a vector, or above the vectors of a row;
                 `together` above 1 with other ways, or where rows begin anywhere, as `ahead` is; those of `check_ways`
        """
        check_ways(stages, ahead, taken, early, outside, counter, overlap, pairs, apart, like, kinds, part.ends)
        one = bool(stages or many or early or taken) or ahead is not None or part.shift is not None
        if one and (together or 1) > 1:
            raise mistake("row-stream", "a team works on several rows together, or on one after the other")
        bulk = queue = asked = None
        if ahead is not None:
            queue = ThreadCopies.create(part, arrays, ahead, once, counter)
            many, early, outside, packed = True, False, True, False
        elif stages:
            bulk = BulkCopies.create(part, arrays, stages, counter, kinds, abreast)
        elif taken:
            asked = RowsAsked.create(part, arrays, counter, like is None)
        outside, many = stages > 1 and not overlap if outside is None else outside, many or early or taken
        ways = once, bulk, queue, asked, overlap, pairs, apart, soon, like, kinds
        return RowStream(part, arrays, many, early, outside, fill, packed, together, *ways)

    @property
    def coming(self) -> BulkCopies | ThreadCopies | RowsAsked | None:
        """The later rows that are on their way."""
        return self.bulk or self.queue or self.asked

    @property
    def loops(self) -> bool:
        """True where `walk` makes a run-time loop."""
        return self.outside and self.coming is None

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
            if self.queue is not None:
                self.queue.wait(start, count, last)
            some = part.some(start, count)
            state = step(state, some)
            if self.queue is not None and last and not self.once:
                self.queue.ask_behind(some)
        return step(state, RowEnds(part)) if part.ends else state

    def all_of(self, held: Any) -> tuple[Any, ...]:
        """Return all of this thread's elements of a row, a `RowPart`: of its vectors, and of `RowEnds` if there are."""
        return self.walk((), lambda known, some: (*known, held.of(some)), pieces=self.part.pieces)  # type: ignore[no-any-return]

    def hold(self, row: Any, kept: bool = True, bulk: bool = False) -> Any:
        """Return a function that returns this thread's `RowPart` of `row`: of weights, for example, that all rows need.

        row   a tensor of n elements, or its `copies`, which are always read anew. None: the function returns None
        kept  with copies or `early`: copy it to shared memory once, for all teams of the block.
              False: load it from global memory again with each row
        bulk  one bulk copy brings what is kept, if it takes it; so it does where bulk copies bring rows
        Result  a function of the number of the row that is worked on, which it ignores. It waits for a bulk copy
        """
        part = self.part
        if row is None:
            return nothing
        if self.loops:
            return lambda _: RowPart(part, row, 0, True, alike=False)
        if not (self.early or self.coming is not None) or not kept:
            return lambda _: self.registers(part.load(row, alike=False), part.own_end(row))
        if is_copies(row):
            return lambda _: RowPart(part, row, 0, True, alike=False)
        if part.ends and not part.steady:
            raise mistake("row-stream", "where ends of rows are apart, weights are held as copies or by registers")
        if part.shift is not None and not part.steady:
            planes = RowPlanes.create(part, row)
            return lambda _: planes
        begin = part.team.rank * part.chunk
        place = shared(row.dtype, (part.chunk,), align=128)
        if (bulk or self.bulk is not None) and (arrived := brought(part, row, place)) is not None:
            return arrived
        if part.team.index == 0:
            found = make_rmem_tensor(row.dtype, make_layout(part.shape))
            found.store(part.load(row, alike=False))
            for i in static_range(part.pieces):  # whole vectors, of which `RowPartition.read` reads all elements
                if part.inside(i) or part.first(i) < part.end():
                    copy_vector(place, found, part.number(i, begin), part.vector, i, into=True)
        if part.team.teams > 1:
            syncthreads()
        return lambda _: RowPart(part, place, 0, True, begin)

    def aside(self, row: Any, wanted: bool) -> Any:
        """Return what `hold` does, for teams that work on one row: each thread copies its part to shared memory.

        Copies start now if it is `wanted`, and the function waits for them. What they cannot take is read from global
        memory piece by piece: narrow or unaligned vectors, or those of rows that are no multiple of a vector.
        """
        if not wanted or row is None:
            return nothing
        if is_copies(row) and self.many:  # of each row another one
            return lambda _: RowPart(self.part, row, 0, True, alike=False)
        if is_copies(row):
            self.turn_to(minimum(self.part.team.number(), self.arrays[0].shape[0] - 1))
        return copied(self.part, row)

    def each(self, work: Any, ask: Any = None, turn: Any = None) -> None:
        """Call ``work(row, asked, *parts)`` for every row of the team, with this thread's `RowPart` of each array.

        work  with stages and `outside` it must call `refill` once, after a barrier of the team that follows the last
              read of the parts; where rows begin anywhere, `bulk.settle` before that barrier
        ask   ``ask(row)`` returns `asked`. It loads what else a row needs, and is called before the row has arrived
        turn  with stages, ``turn(row)`` is called before parts of a row are read: where kinds of rows change
        """
        ask = nothing if ask is None else ask
        team, rows = self.part.team, self.arrays[0].shape[0]
        if self.together is not None:
            replace(self, together=None).each_together(self.together, work, ask)
            return
        first = team.number()
        if self.coming is not None:
            self.each_coming(self.coming, work, ask, self.turn_to if turn is None else turn)
        elif self.early:
            asked, vectors = ask(min(first, rows - 1)), self.loaded(min(first, rows - 1))
            words = pack(vectors)  # unpacked, each narrow element would take a register across the loop
            team.ready()
            for row in range(first, rows, team.count()):
                asked_now, now, later = asked, unpack(words, vectors), row + team.count()
                if later < rows:
                    asked, words = ask(later), pack(self.loaded(later))
                self.turn_to(row)
                work(row, asked_now, *(self.registers(v) for v in now))
            team.leave()
        elif self.many:
            team.ready()
            for row in range(first, rows, team.count()):
                work(row, ask(row), *self.parts(row))
            team.leave()
        elif team.teams == 1 or first < rows:
            self.turn_to(first)  # `ask` may load what lies as the row does
            asked = ask(first)
            parts = self.parts(first)
            team.ready()
            work(first, asked, *parts)
        else:
            team.ready()

    def each_coming(self, copies: BulkCopies | ThreadCopies | RowsAsked, work: Any, ask: Any, turn: Any) -> None:
        """Call `work` for the rows that `copies` bring, as `each` does."""
        team, rows, taken = self.part.team, self.arrays[0].shape[0], copies.taken
        if self.apart:
            nanosleep(team.index * self.apart)
        if taken is None:
            cursor = RowCursor.create(team, rows) if self.bulk is None else self.bulk.here
            coming = ask(minimum(cursor.row, rows - 1))
            team.ready()
            while cursor.row < rows:
                row, asked = cursor.row, coming
                cursor.go_on()
                coming = ask(minimum(cursor.row, rows - 1))
                turn(row)
                work(row, asked, *self.arrived(copies))
                copies.go_on(cursor.row)
        else:
            coming = ask(minimum(taken.known[0], rows - 1))
            team.ready()
            taken.take(taken.known[0])
            while taken.known[0] < rows:
                asked, coming = coming, ask(minimum(taken.known[1], rows - 1))
                turn(taken.known[0])
                work(taken.known[0], asked, *self.arrived(copies))
                copies.go_on(None)
                taken.go_on()
            taken.end()
        team.leave()

    def arrived(self, copies: BulkCopies | ThreadCopies | RowsAsked) -> list[Any]:
        """Return this thread's part of the current row of each array: in shared memory, unless registers keep rows."""
        if self.bulk is not None and not self.outside:
            return [self.registers(v) for v in self.brought()]
        parts = copies.parts(self.fill)
        return parts if self.outside else [self.registers(each.load(), each.ends) for each in parts]

    def brought(self) -> list[Any]:
        """Load this thread's elements of the row that bulk copies brought, and let a later one come to its place."""
        assert self.bulk is not None
        found = [each.load() for each in self.bulk.parts(self.fill)]
        self.bulk.settle()
        self.part.team.sync()  # until here, threads read the stage that is refilled
        self.refill()
        return found

    def each_together(self, count: int, work: Any, ask: Any) -> None:
        """Call `work` for tuples of `count` rows, as `each` does."""
        if count == 1:
            self.each(lambda row, asked, *parts: work((row,), asked, *((part,) for part in parts)), ask)
            return
        team, last = self.part.team, self.arrays[0].shape[0] - 1
        first = team.number() * count
        if team.teams == 1 or first <= last:
            rows = tuple(minimum(first + i, last) for i in range(count))
            asked = None if ask is nothing else tuple(map(ask, rows))
            parts = [self.parts(row) for row in rows]
            team.ready()
            work(rows, asked, *zip(*parts, strict=True))
        else:
            team.ready()

    def each_reduced(
        self, first: Any, last: Any, combine: Any = "add", ask: Any = None, meanwhile: Any = None, turn: Any = None
    ) -> None:
        """For every row, call `first`, reduce a value over the team, and call `last` with the result.

        ``x, kept = first(row, asked, *parts)``; `all` is the reduction of x; ``last(row, asked, kept, all, *parts)``.
        Where rows are `outside`, both functions read the parts from memory. Otherwise the parts are in registers, and
        with stages the copy of a later row starts before `first`.

        kept       any values, passed to `last`: results of `first`, or loads that are under way during the reduction
        combine    as for `Team.reduce`
        ask, turn  as for `each`
        meanwhile  ``meanwhile(row, asked, kept, *parts)`` is called while a cluster's blocks exchange their results

        With `once`, `first` alone reads the parts. With `overlap`, `last` gets no `kept`.
        """
        if self.overlap:
            self.each_overlapped(first, last, combine, nothing if ask is None else ask)
            return
        if self.pairs:
            ask, meanwhile, turn = (nothing if each is None else each for each in (ask, meanwhile, turn))
            self.each_paired(first, last, combine, ask, meanwhile, turn)
            return
        team, copied = self.part.team, self.outside and self.bulk is not None
        taken, behind = None if self.coming is None else self.coming.taken, self.behind()

        def work(row: Any, asked: Any, *parts: Any) -> None:
            with profile.range("first"):
                x, kept = first(row, asked, *parts)

            def between() -> None:
                if self.asked is not None and self.soon:
                    self.asked.ask()
                if behind is not None:
                    behind(row if self.together is None else row[0])
                if meanwhile is not None:
                    meanwhile(row, asked, kept, *parts)

            reduce = team.reduce if taken is None else taken.reduced
            all = reduce(x, combine, meanwhile=between)
            if self.asked is not None and not self.soon:
                self.asked.ask()
            if self.bulk is not None and self.outside:
                self.bulk.settle()
            if copied and self.once:
                if team.warps == team.cluster == 1:
                    team.sync()  # a reduction by shuffles alone does not order memory
                self.refill()
            with profile.range("last"):
                last(row, asked, kept, all, *parts)
            if self.bulk is not None and behind is not None:
                self.bulk.step()
            elif copied and not self.once:
                team.sync()  # until here, `last` may read the stage that is refilled
                self.refill()

        self.each(work, ask, turn)

    def behind(self) -> Any:
        """Return what refills the stage of the row before a row while blocks exchange results; None: it is refilled.

        All threads of a block meet before it exchanges results: so none reads the row before any more. Where exchanges
        are short, of two blocks, or none, this takes up to a twentieth longer (docs/lab/rows.md).
        """
        bulk, team = self.bulk, self.part.team
        if bulk is None or not self.outside or self.once or bulk.stages < STAGES or team.cluster < BLOCKS:
            return None
        first = bulk.here.row if bulk.taken is None else bulk.taken.known[0]

        def refill(row: Any) -> None:
            if row != first:
                bulk.refill_behind()

        return refill

    def each_overlapped(self, first: Any, last: Any, combine: Any, ask: Any) -> None:
        """Do what `each_reduced` does, with the next row's `first` between the halves of a row's reduction."""
        team, rows = self.part.team, self.arrays[0].shape[0]
        begin, count = team.number(), team.count()
        asked = ask(minimum(begin, rows - 1))
        team.ready()
        if begin < rows:
            self.turn_to(begin)
            likes = self.brought()
            words = tuple(pack(v) for v in likes)
            x, _ = first(begin, asked, *(self.registers(v) for v in likes))
            places = team.places(x)
            for row in range(begin, rows, count):
                pending = team.start(places, x, combine)
                before, now, asked = asked, words, ask(minimum(row + count, rows - 1))
                if row + count < rows:
                    self.turn_to(row + count)
                    found = self.brought()
                    words = tuple(pack(v) for v in found)
                    x, _ = first(row + count, asked, *(self.registers(v) for v in found))
                all = team.finish(places, pending, combine)
                self.turn_to(row)
                last(row, before, None, all, *(self.registers(v) for v in map(unpack, now, likes)))
        team.leave()

    def each_paired(self, first: Any, last: Any, combine: Any, ask: Any, meanwhile: Any, turn: Any) -> None:
        """Do what `each_reduced` does, for two rows at a time where a second one of the same kind is left."""
        assert self.bulk is not None
        team, rows, bulk = self.part.team, self.arrays[0].shape[0], self.bulk

        def both(a: Any, b: Any) -> Any:
            return combined(a[0], b[0], combine), combined(a[1], b[1], combine)

        def work(row: Any, asked: Any, other: Any, beside: Any, two: Any) -> None:
            turn(row)
            parts, more = bulk.places(self.fill), bulk.places(self.fill, 1)
            bulk.wait(self.fill)
            x, kept = first(row, asked, *parts)
            y, held = x, kept
            if two:
                turn(other)
                bulk.wait(self.fill, 1)
                y, held = first(other, beside, *more)

            def between() -> None:
                meanwhile(row, asked, kept, *parts)
                if two:
                    meanwhile(other, beside, held, *more)

            all, others = team.reduce((x, y), both, meanwhile=between)
            bulk.settle()
            last(row, asked, kept, all, *parts)
            if two:
                last(other, beside, held, others, *more)
            team.sync()  # until here, `last` may read the stages that are refilled
            self.refill()
            if two:
                self.refill()

        cursor, row = bulk.here, bulk.here.row
        cursor.go_on()
        asked, beside = ask(minimum(row, rows - 1)), ask(minimum(cursor.row, rows - 1))
        team.ready()
        while row < rows:
            now, other, here, there = row, cursor.row, asked, beside
            two = (other < rows) & (other % self.kinds == row % self.kinds)
            if two:
                cursor.go_on()
            row = cursor.row
            cursor.go_on()
            asked, beside = ask(minimum(row, rows - 1)), ask(minimum(cursor.row, rows - 1))
            work(now, here, other, there, two)
        team.leave()

    def parts(self, row: Any) -> list[RowPart]:
        """Return this thread's part of a row of each array, from global memory."""
        if self.outside:
            self.turn_to(row)
            alike = self.like is None
            return [RowPart(self.part, x[row, None], self.fill, True, alike=alike) for x in self.arrays]
        found = self.loaded(row)
        ends = [self.part.own_end(x[row, None], self.fill) for x in self.arrays]
        return [self.registers(*each) for each in zip(found, ends, strict=True)]

    def registers(self, v: Any, end: Any = None) -> RowPart:
        """Return a thread's part of a row that has been loaded into registers; `end`: as `ends` of a `RowPart`."""
        return RowPart(self.part, Packed.made(v) if self.packed else v, ends=end)

    def loaded(self, row: Any) -> tuple[Any, ...]:
        """Return this thread's elements of a row of each array, loaded into registers; it is the current row then."""
        self.turn_to(row)
        return self.part.load_all([x[row, None] for x in self.arrays], self.fill, self.like is None)

    def turn_to(self, row: Any) -> None:
        """Make a row of the arrays the current one."""
        if not self.part.steady:
            rows = self.arrays[0] if self.like is None else self.like
            self.part.turn_to(rows[row, None], row == 0, row == rows.shape[0] - 1)

    def refill(self) -> None:
        """Start the copy of a later row to the stage that has been read; without stages do nothing."""
        if self.bulk is not None:
            self.bulk.refill()


def check_ways(
    stages: int, ahead: Any, taken: bool, early: bool, outside: Any, counter: Any, overlap: bool, pairs: bool,
    apart: int, like: Any, kinds: int, ends: int,
) -> None:  # fmt: skip
    """Check that the ways in which rows come to a team go together.

    Errors  `row-stream`: `taken` with copies, `early` or `outside`, or without `counter`; `overlap` without stages, or
            with `outside` or `counter`; `pairs` without stages, or with `overlap` or `counter`; `apart` without `ahead`
            or `taken`; `like` with stages; `kinds` without stages, or with `overlap` or `counter`; where ends of rows
            are apart (`RowPartition.ends`), `early`, and stages that bring rows to registers
    """
    if ends and (early or (stages and not (stages > 1 if outside is None else outside))):
        raise mistake("row-stream", "where ends of rows are apart, no later row is in registers")
    if taken and (stages or early or outside or ahead is not None or counter is None):
        raise mistake("row-stream", "rows that are taken into registers need a counter, and nothing else ahead")
    if overlap and (not stages or outside or counter is not None):
        raise mistake("row-stream", "reductions overlap where stages bring rows to registers, without a counter")
    if pairs and (stages < 2 or outside is False or counter is not None or overlap):
        raise mistake("row-stream", "rows go in pairs where shared memory has stages of them, without a counter")
    if apart and ahead is None and not taken:
        raise mistake("row-stream", "teams begin apart where threads copy rows ahead, or where rows are taken")
    if stages and like is not None:
        raise mistake("row-stream", "bulk copies bring no rows that lie otherwise than what is written")
    if kinds > 1 and (not stages or overlap or counter is not None):
        raise mistake("row-stream", "rows are in the order of kinds where stages bring them, one after the other")


def nothing(*_: Any) -> None:
    """Return None: the default of `ask`, and what `hold` returns for None."""
