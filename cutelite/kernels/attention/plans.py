"""The base class of attention's plans: sizes of a problem, and arrays of its functions."""

from dataclasses import replace
from typing import Any

from cutelite import TmaTensor
from cutelite.kernels.attention.scores import BOX, Problem
from cutelite.kernels.attention.tiles import B
from cutelite.lang.tables import bound
from cutelite.records import fact


class OfProblem:
    """Base class of plans for a problem, which are frozen dataclasses.

    arrays   the problem's functions captured some, and have them now
    """

    problem: Problem
    arrays: bool

    @fact
    def dims(self) -> tuple[int, int]:
        """The columns of queries and keys, and of values, in shared memory: TMA fills zeros beyond the head dim."""
        return -(-self.problem.dim // BOX) * BOX, -(-self.problem.dim_v // BOX) * BOX

    def with_arrays(self, tables: Any, ends: bool = False) -> Any:
        """Return the plan whose functions have these arrays in place of those that they captured (`Table`: `ends`)."""
        plan: Any = self
        return replace(plan, problem=bound(plan.problem, tables, ends), arrays=True) if tables else plan

    def box(self, heads: Any, length: Any, dim: int, rows: int, columns: int = BOX) -> Any:
        """Return the type of an array (batch, heads, length, dim) that TMA reads or writes in boxes (rows, columns)."""
        return TmaTensor[self.problem.dtype, (B, heads, length, dim), (1, 1, rows, columns), (None, None, None, 1)]
