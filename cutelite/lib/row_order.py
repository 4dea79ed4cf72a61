"""The order in which a team works on rows."""

from __future__ import annotations

from typing import Any

from cutelite.lang.tensor import make_rmem_tensor
from cutelite.lang.values import maximum, minimum, where
from cutelite.lib.reduce import Team
from cutelite.records import dataclass


@dataclass(frozen=True)
class RowCursor:
    """A team's current row, and how many are left from it on.

    Teams have every `team.count()`-th row. Where rows are of several kinds, row r of kind r modulo `kinds`, they have
    as many rows as each other of all rows in the order of kinds: so most teams have rows of one kind or two.

    rows   the number of rows
    kinds  of rows; 1: all are alike
    step   from one row of a team to the next, of the same kind
    state  (2,) in registers: the current row, or `rows` or more behind the last one; with several kinds how many are
           left
    """

    rows: Any
    kinds: int
    step: Any
    state: Any

    @staticmethod
    def create(team: Team, rows: Any, kinds: int = 1) -> RowCursor:
        """Begin with the team's first row."""
        number, teams = team.number(), team.count()
        state = make_rmem_tensor(number.dtype, (2,))
        state[0], state[1] = number, 0
        if kinds > 1:
            rows = number.dtype(rows)
            begin, each = number * (rows // teams) + minimum(number, rows % teams), rows // kinds
            longer = rows % kinds * (each + 1)  # rows of the kinds that have one more than others
            late, few = begin >= longer, maximum(each, 1)
            kind = where(late, rows % kinds + (begin - longer) // few, begin // (each + 1))
            place = where(late, (begin - longer) % few, begin % (each + 1))
            state[1] = rows // teams + where(number < rows % teams, 1, 0)
            state[0] = where(state[1] > 0, kind + place * kinds, rows)
        return RowCursor(rows, kinds, teams if kinds == 1 else kinds, state)

    @property
    def row(self) -> Any:
        """The current row; `rows` or more where there is none."""
        return self.state[0]

    def go_on(self) -> None:
        """Make the team's next row the current one."""
        later = self.row + self.step
        if self.kinds > 1:
            self.state[1] = self.state[1] - 1
            later = where(self.state[1] > 0, where(later < self.rows, later, self.row % self.kinds + 1), self.rows)
        self.state[0] = later
