"""A block of scores in attention's backward pass, in the registers of a computing warpgroup.

In    products of queries and keys, and of gradients of outputs and values
Out   probabilities after functions and masks, and gradients of scores: operands of the next products
"""

from collections.abc import Callable
from typing import Any

import cutelite as cl
from cutelite import f32, i32
from cutelite.kernels.attention.backward_plan import Plan
from cutelite.kernels.attention.capped import tanh_of_scores
from cutelite.kernels.attention.learned import Learned, Reads
from cutelite.kernels.attention.scores import LN2, called, offsets, roughly
from cutelite.kernels.attention.tiles import Given, Sequence
from cutelite.lang.biased import biased
from cutelite.lang.given import given_by
from cutelite.lang.places import Places, places
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

LOG2E = 1 / LN2
NEVER = 1 << 30
"""A column beyond every block."""
HIDDEN = -1e18
"""The tanh of a score that a query does not see: its power is 0, and its derivative is finite."""
ROWS_OF_THREAD = (0, 8), (1, 2, 1)
"""Of a thread's elements in an accumulator: rows, from its first one on, and the shape of numbers that go by rows."""


def columns(n: int) -> tuple[tuple[int, ...], tuple[int, int, int]]:
    """Return the same of the columns of an accumulator with `n` of them."""
    return offsets(2, n // 2), (2, 1, n // 8)


class Rates(NamedTuple):
    """The derivatives of `score_mod`: by the score, times probabilities unless it is a `literal`; by what it read."""

    score: Any
    reads: Reads

    @property
    def literal(self) -> bool:
        return isinstance(self.score, float)


@dataclass(frozen=True)
class Scores:
    """The place of a block. It is (2, 2, n / 8): pairs of neighbouring columns, rows r and r + 8, every eighth column.

    learned   what `score_mod` captured that needs a gradient; None: nothing does
    sequence  of the tile; `head`: of queries
    low       the first query; `key`: the first key
    row       indices of this thread's rows, which are keys, but queries in `Wide`; `column`: that of its first column
    """

    plan: Plan
    given: Given
    learned: Learned | None
    sequence: Sequence
    head: Any
    low: Any
    key: Any
    row: Any
    column: Any

    @property
    def places(self) -> tuple[Any, Any, Any, Any]:
        """The arguments of functions: sequence, head, and the indices of queries and keys."""
        row, column = self.row.from_zero(), places(self.column, *columns(self.plan.across)).from_zero()
        return self.sequence.number, self.head, *((row, column) if self.plan.wide else (column, row))

    def biased(self) -> Any:
        """Return what `score_mod` makes of zeros, where it only adds (`Plan.added`)."""
        like = cl.full((2, 2, self.plan.across // 8), 0.0, f32)
        return called(self.plan.problem, biased(like, 1.0), *self.places, like)

    def powers(self, s: Any, lse: Callable[[], Any]) -> tuple[Any, Rates]:
        """Return probabilities, 0 where a query does not see a key, times 2 to the power `Plan.lift`, and their rates.

        lse   returns logsumexps in powers of 2; or None, where products subtract them
        """
        plan, given, problem, n = self.plan, self.given, self.plan.problem, self.plan.across
        rates: Any = plan.factor
        reads: Any = ()
        unit: Any = given.scale * (rates * LOG2E)
        s, cap = s.reshape((2, 2, n // 8)), problem.softcap
        if cap is not None:
            s = tanh_of_scores(s.reshape((n // 2,)), given.scale / cap).reshape(s.shape)
            if problem.score_mod is None:
                (s,) = self.seen(False, HIDDEN, s)
            rates, unit = 1.0 - s * s, cap * LOG2E
        if plan.curved:
            score = s * (given.scale if cap is None else cap)
            s, more = roughly(cl.value_and_derivative, problem.score_mod, score, *self.places)
            s = given_by("score_mod", s, score, problem.score_mod)  # also of a function that leaves scores out
            rates, unit = rates * more, LOG2E
            reads = () if self.learned is None else self.learned.slopes(score, self.places)
        known = lse()
        s = s * unit if known is None else s * unit - known
        if plan.added is not None and not plan.begins:
            bias = self.biased().bias * LOG2E
            s = bias.onto(s) if isinstance(bias, Places) else s + bias
        p = cl.math.exp2(s + float(plan.lift) if plan.lift else s, fast=True)
        if isinstance(rates, float):
            (p,) = self.seen(False, 0.0, p)
        else:
            rates = p * rates  # two numbers for a score wait for dP, not three
            if plan.curved:
                p, rates = self.seen(plan.wide, 0.0, p, rates)  # a branch would hold all of both in registers
        return p.reshape((n // 2,)), Rates(rates, reads)

    def gradients(self, p: Any, dp: Any, rates: Rates, total: Any) -> Any:
        """Return dS, the gradients of products of queries and keys, without the scale. Add up those of arrays.

        p, rates   of `powers`
        total      sums of rows; or None, where products subtract them
        """
        n = p.n
        p, dp = (x.reshape((2, 2, n // 4)) for x in (p, dp))
        dp = dp if total is None else dp - total
        if self.learned is not None:
            self.learned.add(p.to(f32) * dp * 2.0**-self.plan.lift, rates.reads)
        ds = p.to(f32) * dp * rates.score if rates.literal else rates.score * dp
        return ds.reshape((n,)).to(self.plan.problem.dtype)

    def seen(self, always: bool, hidden: float, *values: Any) -> tuple[Any, ...]:
        """Return values of scores, but for those whose query does not see the key; `always`: without a branch."""
        mask_mod = self.plan.problem.mask_mod
        if mask_mod is not None:
            found, every = mask_mod(*self.places), cl.full(values[0].shape, True, cl.boolean)
            sees = every & given_by("mask_mod", found, every, mask_mod)
            values = tuple(cl.where(sees, x, hidden) for x in values)
        if always or self.masked:
            sees = self.sees
            values = tuple(cl.where(sees, x, hidden) for x in values)
        return values

    @property
    def masked(self) -> Any:
        """Tell whether some of the queries do not see some of the keys."""
        plan, sequence, given, low = self.plan, self.sequence, self.given, self.low
        offset, masked = plan.tiles.offset(sequence, given), self.key + plan.width > sequence.keys
        if self.plan.modified:
            masked = masked or low + plan.config.rows > sequence.queries
        if plan.problem.right:
            masked = masked or low + offset + given.right < self.key + plan.width - 1
        if plan.problem.left:
            masked = masked or low + plan.config.rows - 1 + offset - given.left > self.key
        return masked

    @property
    def sees(self) -> Any:
        """For each element whether its query is there and sees its key, but for a `mask_mod`."""
        problem, given, sequence, wide = self.plan.problem, self.given, self.sequence, self.plan.wide
        left, right = (given.left if problem.left else None), (given.right if problem.right else None)
        offset = self.plan.tiles.offset(sequence, given)
        # a row sees so many columns before its own place, and behind it
        before, behind, own = (left, right, self.row + offset) if wide else (right, left, self.row - offset)
        count, end = (sequence.queries, sequence.keys) if wide else (sequence.keys, sequence.queries)
        own, column, sees = own - self.column, places(i32(0), *columns(self.plan.across)), None
        if before is not None or self.plan.modified or not wide:
            least = i32(0) if before is None else own - before
            sees = column >= (cl.where(self.row < count, least, NEVER) if self.plan.modified or not wide else least)
        if behind is not None or self.plan.modified or wide:
            most = end - 1 - self.column
            ends = column <= (most if behind is None else min(own + behind, most))
            sees = ends if sees is None else sees & ends
        return sees
