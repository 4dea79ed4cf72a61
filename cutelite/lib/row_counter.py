"""The rows that a team works on: in a fixed order, or as it takes them.

Rows that teams take one by one by a counter in global memory let all teams end at the same time. One thread of a team
takes a row early. The reduction of the row before passes its number to the team's other threads.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cutelite.ir.types import i32
from cutelite.lang.atomics import atomic_add
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import make_rmem_tensor
from cutelite.lang.values import maximum, minimum, where
from cutelite.lib.reduce import Combine, Team, combined
from cutelite.lib.tile_queue import clear_counter
from cutelite.records import dataclass


@dataclass(frozen=True)
class RowCursor:
    """A team's current row, and how many are left from it on.

    Teams have every `team.count()`-th row. Where rows are of several kinds, row r of kind r modulo `kinds`, they have
    as many rows as each other of all rows in the order of kinds: so most teams have rows of one kind or two. `abreast`
    they begin amid these and go on with the first ones later: then rows that teams work on at a time are neighbours.

    rows   the number of rows
    kinds  of rows; 1: all are alike
    step   from one row of a team to the next, of the same kind
    own    abreast: the first of the team's rows in the order of kinds
    later  abreast: how many rows, from `own` on, come last; None otherwise
    state  (2,) in registers: the current row, or `rows` or more behind the last one; with several kinds how many are
           left
    """

    rows: Any
    kinds: int
    step: Any
    own: Any
    later: Any
    state: Any

    @staticmethod
    def create(team: Team, rows: Any, kinds: int = 1, abreast: bool = False) -> RowCursor:
        """Begin with the team's first row."""
        number, teams = team.number(), team.count()
        state = make_rmem_tensor(number.dtype, (2,))
        state[0], state[1] = number, 0
        if kinds == 1:
            return RowCursor(rows, kinds, teams, number, None, state)
        rows = number.dtype(rows)
        place, left = begin(number, rows, teams), rows // teams + where(number < rows % teams, 1, 0)
        kind = owner(place, rows, kinds)
        place, size = place - begin(kind, rows, kinds), rows // kinds + where(kind < rows % kinds, 1, 0)
        own = where(left > 0, kind + place * kinds, rows)
        state[0], state[1] = own, left
        if not abreast:
            return RowCursor(rows, kinds, kinds, own, None, state)
        # as many teams have rows of a kind as `side`: each of these begins at another of as many parts of all places
        side = (teams + kinds - 1) // kinds
        apart = maximum((size + side - 1) // side, 1)
        at = (place + apart - 1) // apart * apart
        later = where(at < size, where(place + left > size, 0, at - place), size - place)  # each kind comes once
        later = where(later < left, later, 0)
        state[0] = where(later == size - place, kind + 1, own + later * kinds)
        return RowCursor(rows, kinds, kinds, own, later, state)

    @property
    def row(self) -> Any:
        """The current row; `rows` or more where there is none."""
        return self.state[0]

    def copy(self) -> RowCursor:
        """Return a cursor at the same row, which goes on by itself."""
        state = make_rmem_tensor(self.state.dtype, (2,))
        state.store(self.state.load())
        return replace(self, state=state)

    def go_on(self) -> None:
        """Make the team's next row the current one."""
        following = self.row + self.step
        if self.kinds > 1:
            left = self.state[1] - 1
            following = where(following < self.rows, following, self.row % self.kinds + 1)
            if self.later is not None:
                following = where(left == self.later, self.own, following)
            following = where(left > 0, following, self.rows)
            self.state[1] = left
        self.state[0] = following


def begin(part: Any, whole: Any, parts: Any) -> Any:
    """Return where one of `parts` of `whole` begins, which are equal, but that the first ones may be longer by one."""
    return part * (whole // parts) + minimum(part, whole % parts)


def owner(place: Any, whole: Any, parts: Any) -> Any:
    """Return which of the parts, as of `begin`, has a place."""
    each, more = whole // parts, whole % parts
    longer = more * (each + 1)
    return where(place < longer, place // (each + 1), more + (place - longer) // maximum(each, 1))


@dataclass(frozen=True)
class TakenRows:
    """The current row of a team, and the later ones that it has taken.

    team     the threads
    rows     the number of rows
    counter  (1,) i32 in global memory, 0 before and after each launch
    known    the current row and later ones, in order, in registers
    told     (1,) in registers: the row that the last reduction has passed on
    taken    (1,) i32 in registers: the value of the counter when the team took the last row; valid in the thread that
             takes rows
    """

    team: Team
    rows: Any
    counter: Any
    known: Any
    told: Any
    taken: Any

    @staticmethod
    def create(team: Team, rows: Any, counter: Any, count: int) -> TakenRows:
        """Begin with `count` rows of the team that nobody has to take: each is `team.count()` after the one before."""
        number = team.number()
        known, told, taken = (
            make_rmem_tensor(dtype, (n,)) for dtype, n in ((number.dtype, count), (number.dtype, 1), (i32, 1))
        )
        taken[0] = -1
        for i in static_range(count):
            known[i] = number + i * team.count()
        return TakenRows(team, rows, counter, known, told, taken)

    def take(self, row: Any) -> None:
        """Take one more row in one thread of the team, unless `row`, which is known, is beyond the last: so the counter
        is raised once for each row."""
        if self.team.lane == 0 and self.team.rank == 0 and row < self.rows:
            self.taken[0] = atomic_add(self.counter, 0, 1)

    def reduced(self, x: Any, combine: Combine, meanwhile: Any) -> Any:
        """Reduce `x` over the team, as `Team.reduce` does, pass on the row that was taken last, and take another."""
        row = self.known.dtype(0)
        if self.team.lane == 0 and self.team.rank == 0:
            row = self.known.dtype(self.taken[0]) + self.known.shape[0] * self.team.count()
        all, self.told[0] = self.team.reduce((x, row), AndRow(combine), meanwhile=meanwhile)
        self.take(self.known[1])
        return all

    def go_on(self) -> None:
        """Go on to the next row, behind the reduction of the current one."""
        last = self.known.shape[0] - 1
        for i in static_range(last):
            self.known[i] = self.known[i + 1]
        self.known[last] = self.told[0]

    def end(self) -> None:
        """Let the last of all teams set the counter to 0."""
        clear_counter(self.counter, self.taken[0], self.rows)


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
