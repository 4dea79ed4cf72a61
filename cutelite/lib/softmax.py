"""Softmax of rows that are computed block by block, in wgmma's accumulators: each thread has parts of two rows.

p, softmax = OnlineSoftmax.first(scores, unit, bf16)
for ...:
    p, softmax, ratio, moved = softmax.step(scores)
    if moved:
        sums = scale_rows(sums, ratio)
inverse, logsumexp = softmax.finish()
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import cutelite.target as target
from cutelite.ir.types import f32, i32
from cutelite.lang import math
from cutelite.lang.algebra import local_tile, size
from cutelite.lang.emit import builder_here
from cutelite.lang.loops import static_range
from cutelite.lang.values import full, where
from cutelite.lang.warp import shuffle_xor, vote_any
from cutelite.lang.wgmma import coordinates, fence_operand
from cutelite.records import dataclass

INF = float("inf")
LN2 = 0.6931471805599453
GROWN = {4: 2.0**14, 2: 2.0**14, 1: 448.0}
"""The largest sum of a block's powers in a thread's columns of a row, by a power's bytes: each is at most that, and f16
and e4m3 hold it. Above it, the block is computed again."""
LAZY = 8.0
"""Without a guess: sums are rescaled once a row's greatest score has grown by more than this many powers of 2."""
RAISED_LAZY = 2.0
"""`LAZY` where `raised` is not 0."""
FEW = 32
"""A thread's scores of a first block, at most, for which one more instruction each is better than code that few use."""
HUGE = 2.0**13
"""Scores beyond it, as exponents of 2, are not guessed: f32 has 10 bits behind the point of them."""
REDONE = 2
"""After this many blocks that were computed again, a warp stops guessing."""


def by_rows(acc: Any, rows: int = 2) -> Any:
    """Return an accumulator with its rows as a mode: (2 columns, 2 rows, n / 8) for wgmma's, (1, 1, n) for one row."""
    return acc.reshape((rows, rows, acc.n // (rows * rows)))


def scale_rows(acc: Any, factor: Any) -> Any:
    """Return `acc`, an accumulator, with this thread's two rows multiplied by `factor`, (2,)."""
    return (by_rows(acc) * factor.reshape((1, 2, 1))).reshape((acc.n,))


def row_reduce(acc: Any, combine: Literal["max", "sum", "add"], across: bool = True, rows: int = 2) -> Any:
    """Return the maxima or the sums of this thread's rows of an accumulator: (2,) for two rows, (1,) for one.

    acc      the accumulator
    combine  'max' or 'sum'
    across   False: over the thread's own columns; True: over all columns, by two shuffles among a row's four threads
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


def quad_reduce(x: Any, combine: Literal["max", "sum", "add"]) -> Any:
    """Combine the values of the four threads that share rows of an accumulator. Who: all threads of a warp."""
    for distance in (1, 2):
        other = shuffle_xor(x, distance)
        x = max(x, other) if combine == "max" else x + other
    return x


def store_row(acc: Any, i: int, target: Any) -> None:
    """Store this thread's elements of row `i`, 0 or 1, of its two rows of an accumulator.

    acc     in the dtype of `target`
    target  the row in memory, 2 elements aligned together; its length, a multiple of 8, may be below that of `acc`
    """
    column = coordinates(8)[0][1]
    for c in static_range(size(target) // 8):
        local_tile(target, (2,), (4 * c + column // 2,)).store(acc[4 * c + 2 * i : 4 * c + 2 * i + 2])


@dataclass(frozen=True)
class OnlineSoftmax:
    """The state of the softmax of this thread's two rows.

    Powers are 2 to the difference between a score and its row's greatest score. With `guess` the greatest score of the
    earlier blocks is used. The sums of the powers, which are needed anyway, show whether scores have grown far beyond
    it; only then are the powers computed again, with the present greatest score. So the usual case has no maximum,
    shuffle or rescaling. docs/how-attention-is-computed.md says why this is exact.

    unit    the factor that turns scores into exponents of 2; each block may have another one
    dtype   the dtype of the powers
    guess   whether to use the greatest scores of earlier blocks
    raised  powers are multiplied by 2 ** raised, for dtypes with a small range of exponents
    pack    a function of powers in f32 that returns them as `step` does; None: a vector of `dtype`
    shift   this block's powers, but not their sums, are multiplied by 2 ** shift
    rows    rows of a thread: 2 in wgmma's accumulators, 1 where a thread has a whole row
    top     the greatest scores so far, as exponents of 2: (rows,), the same in the four threads of a row
    total   the sums of this thread's powers so far, (rows,)
    redone  how many blocks were computed again
    Who     all threads of a warpgroup, or of any whole warps
    """

    CHANGING = ("top", "total", "redone")

    unit: Any
    dtype: Any
    guess: bool
    top: Any
    total: Any
    redone: Any
    raised: float = 0.0
    rows: int = 2
    shift: Any = 0.0
    pack: Callable[[Any], Any] | None = None

    @classmethod
    def first(
        cls, s: Any, unit: Any, dtype: Any, guess: bool = True, raised: float = 0.0, rows: int = 2, shift: Any = 0.0,
        pack: Callable[[Any], Any] | None = None,
    ) -> tuple[Any, OnlineSoftmax]:  # fmt: skip
        """Return the powers of the first block's scores, in `dtype`, and the softmax after it."""
        top = row_reduce(s, "max", rows=rows) * unit
        softmax = OnlineSoftmax(unit, dtype, guess, top, full((rows,), 0.0, f32), i32(0), raised, rows, shift, pack)
        base, few = where(top == -INF, 0.0, top), s.n <= FEW
        huge, (p, total) = is_huge(base), softmax.powers(s, base, few)
        if not few and huge:
            p, total = softmax.powers(s, base, apart=True)
        return p, replace(softmax, total=total, redone=where(huge, i32(REDONE), i32(0)))

    def step(self, s: Any, again: Any = None) -> tuple[Any, OnlineSoftmax, Any, Any]:
        """Return the powers of the next block, the softmax after it, `ratio` and `moved`.

        Where `moved` is true, the caller multiplies its earlier sums of products by `ratio`, (rows,). `moved` is a
        run-time bool that is the same in all lanes of a warp.

        again   a function that returns the scores once more, where registers do not hold them beside the powers
        """
        p = full((s.n,), 0.0, self.dtype) if self.pack is None else self.pack(full((s.n,), 0.0, f32))
        top, total = self.top, self.total
        ratio, moved, redone = full((self.rows,), 1.0, f32), True, self.redone
        if self.guess and self.redone < REDONE:
            # top is -inf for a row without scores so far: then powers are infinite or NaN, and `moved` is true
            p, sums = self.powers(s, self.top)
            total, moved = self.total + sums, vote_any(not every(sums <= GROWN[self.dtype.bytes]))
        elif self.guess and target.has("wgmma"):
            p = fence_operand(p)  # makes the zeros on this path: for an empty one LLVM makes them before the branch
        if not self.guess or moved:
            p, top, total, ratio = self.exact(s if again is None or not self.guess else again())
            moved, redone = vote_any(some(ratio != 1.0)), where(is_huge(top), i32(REDONE), redone + 1)
        return p, replace(self, top=top, total=total, redone=redone), ratio, moved

    def anew(self, s: Any) -> tuple[Any, OnlineSoftmax, Any, Any]:
        """Return what `step` does without a guess: powers relative to the greatest scores so far, this block's too."""
        top = max(row_reduce(s, "max", rows=self.rows) * self.unit, self.top)
        base = where(top == -INF, 0.0, top)
        huge, (p, sums), ratio = is_huge(base), self.powers(s, base), math.exp2(self.top - base, fast=True)
        if huge:
            p, sums = self.powers(s, base, apart=True)
        after = replace(self, top=top, total=self.total * ratio + sums, redone=where(huge, i32(REDONE), self.redone))
        return p, after, ratio, vote_any(some(ratio != 1.0))

    def exact(self, s: Any) -> tuple[Any, Any, Any, Any]:
        """Return powers relative to the greatest scores so far, these, the powers' sums, and earlier sums' factors."""
        best = max(row_reduce(s, "max", rows=self.rows) * self.unit, self.top)
        if not self.guess:
            lazy = LAZY if self.raised == 0.0 else RAISED_LAZY
            best = where(best - self.top <= lazy, self.top, best)
        base = where(best == -INF, 0.0, best)
        ratio = math.exp2(self.top - base, fast=True)
        p, sums = self.powers(s, base, apart=self.guess)
        if not self.guess and is_huge(base):
            p, sums = self.powers(s, base, apart=True)
        return p, best, self.total * ratio + sums, ratio

    def powers(self, s: Any, base: Any, apart: bool = False) -> tuple[Any, Any]:
        """Return powers relative to `base`, (rows,), and this thread's sums of them without `shift`.

        apart   ``s * unit`` is rounded, as the greatest was for `base`: then its power is 1, however large it is
        """
        unshifted = isinstance(self.shift, float) and self.shift == 0.0
        base = (base - self.raised if unshifted else base - self.raised - self.shift).reshape((1, self.rows, 1))
        if apart:
            with builder_here("softmax").rounding_each():
                exponents = by_rows(s, self.rows) * self.unit - base
        else:
            exponents = by_rows(s, self.rows) * self.unit - base
        p, sums = raised(exponents, self.dtype, self.rows, self.pack)
        return p, sums if unshifted else sums * math.exp2(-self.shift, fast=True)

    def finish(self, sink: Any = None) -> tuple[Any, Any]:
        """Return the factors, (rows,), that normalise sums of products (0 for rows without scores), and the logsumexp.

        sink   one more score for each row, whose value vector is zero; None: there is none
        Result the logsumexp is a natural logarithm. Of infinite scores, or sinks, it is infinite, and factors are NaN
        """
        total = quad_reduce(self.total, "sum") if self.rows == 2 else self.total
        top, ratio = self.top - self.raised, None
        if sink is not None:
            base = max(where(total == 0.0, -INF, top), sink / LN2)  # without scores, the sink's own power is 1
            base = where(base == -INF, 0.0, base)  # a row without scores, and a sink without a power
            ratio = where(total == 0.0, 0.0, math.exp2(top - base, fast=True))
            top, total = base, total * ratio + math.exp2(sink / LN2 - base, fast=True)
        inverse = where(total == 0.0, 0.0, math.rcp(total, fast=True))
        sums = where(total == 0.0, -INF, (top + math.log2(total, fast=True)) * LN2)
        inverse = inverse if ratio is None else ratio * inverse
        return inverse, where(top == INF, INF, sums)


def is_huge(top: Any) -> Any:
    """Tell whether one of the warp's greatest scores is so large that rounding its exponent changes its power."""
    return vote_any(some((abs(top) > HUGE) & (abs(top) < INF)))


def raised(exponents: Any, dtype: Any, rows: int = 2, pack: Callable[[Any], Any] | None = None) -> tuple[Any, Any]:
    """Return ``2 ** exponents`` in `dtype`, or by `pack`, and their sums over this thread's columns in f32."""
    p = math.exp2(by_rows(exponents, rows), fast=True)
    if rows == 1:
        return p.reshape((p.n,)).to(dtype), p.reduce("sum", (0, 2))
    sums = p[None, None, 0]
    for i in static_range(1, p.shape[2]):  # in this order, so that one addition is left after the last powers
        sums = sums + p[None, None, i]
    return p.reshape((p.n,)).to(dtype) if pack is None else pack(p.reshape((p.n,))), sums.reduce("sum", 0)
