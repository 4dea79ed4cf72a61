"""Softmax of rows that come block by block, in the order of wgmma's accumulators: each thread has parts of two rows.

p, softmax = OnlineSoftmax.first(scores, unit, bf16)
for ...:
    p, softmax, ratio, moved = softmax.step(scores)
    if moved:
        sums = scale_rows(sums, ratio)
inverse, logsumexp = softmax.finish()
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from cutelite.ir.types import f32, i32
from cutelite.lang import math
from cutelite.lang.algebra import local_tile
from cutelite.lang.loops import static_range
from cutelite.lang.values import full, where
from cutelite.lang.warp import shuffle_xor, vote_any
from cutelite.lang.wgmma import coordinates

INF = float("inf")
LN2 = 0.6931471805599453
GROWN = 2.0**14
"""The greatest sum of a block's powers in a thread's columns of a row; beyond it the block is computed anew."""
LAZY = 8.0
"""The powers of 2 by which a greatest score has to grow before sums are rescaled, where there is no guess."""
RAISED_LAZY = 2.0
"""`LAZY` where powers are raised."""
REDONE = 2
"""Blocks that are computed anew before a warp guesses no more."""


def by_rows(acc: Any, rows: int = 2) -> Any:
    """An accumulator as its thread has it: (2 columns, 2 rows, n / 8) of wgmma's, (1, 1, n) of a thread's one row."""
    return acc.reshape((rows, rows, acc.n // (rows * rows)))


def scale_rows(acc: Any, factor: Any) -> Any:
    """`acc`, an accumulator, with its rows multiplied by `factor`, (2,): one for each row of this thread."""
    return (by_rows(acc) * factor.reshape((1, 2, 1))).reshape((acc.n,))


def row_reduce(acc: Any, combine: Literal["max", "sum"], across: bool = True, rows: int = 2) -> Any:
    """The greatest numbers, or sums, of this thread's two rows of an accumulator: (2,); of its one row: (1,).

    acc      the accumulator
    combine  'max' or 'sum'
    across   False: of its own columns alone; True: of all, which takes two shuffles among the four threads of a row
    Who      all threads of a warp
    """
    found = by_rows(acc, rows).reduce(combine, (0, 2))
    return quad_reduce(found, combine) if across and rows == 2 else found


def every(flags: Any) -> Any:
    """Tell whether all of a thread's one or two flags are true."""
    return flags[0] & flags[1] if flags.n == 2 else flags[0]


def some(flags: Any) -> Any:
    """Tell whether one of a thread's one or two flags is true."""
    return flags[0] | flags[1] if flags.n == 2 else flags[0]


def quad_reduce(x: Any, combine: Literal["max", "sum"]) -> Any:
    """Combine the values of the four threads that share rows of an accumulator. Who: all threads of a warp."""
    for distance in (1, 2):
        other = shuffle_xor(x, distance)
        x = x + other if combine == "sum" else max(x, other)
    return x


def store_row(acc: Any, i: int, target: Any) -> None:
    """Write what this thread has of row `i`, 0 or 1, of its two rows of an accumulator.

    acc     in the dtype of `target`
    target  the row in memory, 2 elements aligned together; its length, a multiple of 8, may be below that of `acc`
    """
    column = coordinates(8)[0][1]
    for c in static_range(target.shape[0] // 8):
        local_tile(target, (2,), (4 * c + column // 2,)).store(acc[4 * c + 2 * i : 4 * c + 2 * i + 2])


@dataclass(frozen=True)
class OnlineSoftmax:
    """The state of the softmax of this thread's two rows.

    Powers are taken of differences to the greatest scores. With `guess` these are the greatest of earlier blocks. The
    sums, which are needed anyway, show whether scores have grown beyond them; only then are powers computed again, with
    the greatest scores of now. The usual case has no maximum, shuffle or rescaling. docs/attention.md: why it is exact.

    unit    by which scores become exponents of 2; it may be another one for each block
    dtype   of the powers
    guess   whether to use the greatest scores of earlier blocks
    raised  powers of 2 by which powers are larger than of differences: for dtypes of few exponents. Without `guess`
    shift   powers of 2 by which powers of this block alone are larger, but for their sums
    rows    of a thread: 2 of wgmma's accumulators, 1 where it has a row to itself
    top     greatest scores so far, as exponents of 2: (rows,), the same in the four threads of a row
    total   sums of this thread's powers so far, (rows,)
    redone  blocks that were computed anew
    Who     all threads of a warpgroup, or of any whole warps
    """

    unit: Any
    dtype: Any
    guess: bool
    top: Any
    total: Any
    redone: Any
    raised: float = 0.0
    rows: int = 2
    shift: Any = 0.0

    @classmethod
    def first(
        cls, s: Any, unit: Any, dtype: Any, guess: bool = True, raised: float = 0.0, rows: int = 2, shift: Any = 0.0
    ) -> tuple[Any, OnlineSoftmax]:  # fmt: skip
        """Powers of the first block, as many as scores in `dtype`, and the softmax after it."""
        top = row_reduce(s, "max", rows=rows) * unit
        p, total = powers(s, where(top == -INF, 0.0, top) - raised, unit, dtype, rows, shift)
        return p, OnlineSoftmax(unit, dtype, guess, top, total, i32(0), raised, rows, shift)

    def step(self, s: Any, again: Any = None) -> tuple[Any, OnlineSoftmax, Any, Any]:
        """Powers of the next block, the softmax after it, and by what earlier sums are to be multiplied, (rows,), if.

        The last is a run-time bool, the same for a warp.

        again   a function that returns the scores once more, where registers do not hold them beside the powers
        """
        p, top, total = full((s.n,), 0.0, self.dtype), self.top, self.total
        ratio, moved, redone = full((self.rows,), 1.0, f32), True, self.redone
        if self.guess and self.redone < REDONE:
            # top is -inf where nothing was seen before: powers are infinite or NaN
            p, sums = powers(s, self.top, self.unit, self.dtype, self.rows, self.shift)
            total, moved = self.total + sums, vote_any(not every(sums <= GROWN))
        if not self.guess or moved:
            p, top, total, ratio = self.exact(s if again is None or not self.guess else again())
            moved, redone = vote_any(some(ratio != 1.0)), redone + 1
        return p, replace(self, top=top, total=total, redone=redone), ratio, moved

    def exact(self, s: Any) -> tuple[Any, Any, Any, Any]:
        """Powers of differences to the greatest scores of now, these, sums, and by what earlier ones are multiplied."""
        best = max(row_reduce(s, "max", rows=self.rows) * self.unit, self.top)
        if not self.guess:
            lazy = LAZY if self.raised == 0.0 else RAISED_LAZY
            best = where(best - self.top <= lazy, self.top, best)
        base = where(best == -INF, 0.0, best)
        ratio = math.exp2(self.top - base, fast=True)
        p, sums = powers(s, base - self.raised, self.unit, self.dtype, self.rows, self.shift)
        return p, best, self.total * ratio + sums, ratio

    def finish(self, sink: Any = None) -> tuple[Any, Any]:
        """By what to multiply sums of products, (rows,): 0 for rows that saw nothing; and the natural logsumexp.

        sink   a score that is in the sums, with a value of zeros; None: there is none
        """
        total = quad_reduce(self.total, "sum") if self.rows == 2 else self.total
        top = self.top - self.raised
        if sink is not None:
            base = max(where(top == -INF, sink / LN2, top), sink / LN2)
            ratio = where(total == 0.0, 0.0, math.exp2(top - base, fast=True))
            total = total * ratio + math.exp2(sink / LN2 - base, fast=True)
            return ratio * math.rcp(total, fast=True), (base + math.log2(total, fast=True)) * LN2
        inverse = where(total == 0.0, 0.0, math.rcp(total, fast=True))
        sums = where(total == 0.0, -INF, (top + math.log2(total, fast=True)) * LN2)
        return inverse, where(self.top == INF, INF, sums)


def powers(s: Any, base: Any, unit: Any, dtype: Any, rows: int = 2, shift: Any = 0.0) -> tuple[Any, Any]:
    """``2 ** (s * unit - base + shift)`` in `dtype`; this thread's sums as without `shift`. `base` is (rows,)."""
    if isinstance(shift, float) and shift == 0.0:
        return raised(by_rows(s, rows) * unit - base.reshape((1, rows, 1)), dtype, rows)
    p, sums = raised(by_rows(s, rows) * unit - (base - shift).reshape((1, rows, 1)), dtype, rows)
    return p, sums * math.exp2(-shift, fast=True)


def raised(exponents: Any, dtype: Any, rows: int = 2) -> tuple[Any, Any]:
    """``2 ** exponents`` in `dtype`, and the sums of this thread's columns in f32."""
    p = math.exp2(by_rows(exponents, rows), fast=True)
    if rows == 1:
        return p.reshape((p.n,)).to(dtype), p.reduce("sum", (0, 2))
    sums = p[None, None, 0]
    for i in static_range(1, p.shape[2]):  # in this order, so that little is left to add behind the last power
        sums = sums + p[None, None, i]
    return p.reshape((p.n,)).to(dtype), sums.reduce("sum", 0)
