"""Softmax of capped scores: their bounds are known, so nothing is subtracted in the exponent, and nothing rescaled.

In    products of queries and keys, block by block, in the order of wgmma's accumulators
Out   powers ``exp(cap * tanh(x))``, and their sums; x are the products times a factor

tanh takes a special function for each score, as its power does, and two of these are as long as the block's products.
Here it is a polynomial of degree 5, on the units of additions and products, up to some reach. Beyond that the
polynomial goes on rising. So the sums of powers, which are needed anyway, tell whether it will do: one large score
makes its thread's sum larger than the power at the reach, and where a sum is not tiny, scores below the reach hardly
count. A block whose sums are larger, or tiny, is computed again by the special function.
"""

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import f32, i32
from cutelite.kernels.attention.scores import LN2
from cutelite.lib.softmax import REDONE, every, raised
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

HIGHEST = 50.0
"""The greatest cap: powers then are 2**-72 to 2**72, which leaves sums and products with values 2**55."""
SMALL = 10.0
"""Below this cap, usual scores' sums say nothing, and the largest score is looked for instead."""
CHUNK = 24
"""Scores that are computed at a time: few, so that ptxas begins with powers early and has registers."""
SPECIAL = 2
"""Of these, scores that take the special function, whose unit has time for them."""
REACH = 0.6
"""Of x: up to there the polynomial is within 1.9e-5 of tanh."""
LOST = 2.0**-10
"""The part of a thread's sum that scores below the reach may lose."""


class Fit(NamedTuple):
    """The exponent ``cap / LN2 * tanh(x)`` as ``y * ((y**2 + middle)**2 + rest)``, where y is ``x * unit``.

    high  the exponent at `REACH`
    loss  by how much a power of a score below ``-REACH`` may be too small
    """

    unit: float
    middle: float
    rest: float
    high: float
    loss: float


@lru_cache(maxsize=256)
def fitted(cap: float) -> Fit:
    """Return the polynomial for a cap: the odd one of degree 5 that is tanh where the Chebyshev polynomial T7 is 0."""
    x = [REACH * math.cos(i * math.pi / 14) for i in (1, 3, 5)]
    a, b, c = (cap / LN2 * math.tanh(at) / at for at in x)
    u, v, w = (at * at for at in x)
    first = (b - a) / (v - u)
    fifth = ((c - b) / (w - v) - first) / (w - u)
    third = first - fifth * (u + v)
    unit: float = fifth**0.2
    middle = third / unit**3 / 2
    rest = (a - first * u + fifth * u * v) / unit - middle**2

    def exponent(x: float) -> float:
        y = x * unit
        return y * ((y * y + middle) ** 2 + rest)

    below = (REACH + i / 64 for i in range(64))
    loss = max(math.exp(-cap * math.tanh(x)) - 2.0 ** -exponent(x) for x in below)
    return Fit(unit, middle, rest, exponent(REACH), max(loss, math.exp(-cap)))


@dataclass(frozen=True)
class CappedSoftmax:
    """The state of the softmax of this thread's two rows.

    cap      of scores
    factor   from products to arguments of tanh
    dtype    of the powers: of f32's exponents
    total    sums of this thread's powers so far, (2,)
    redone   blocks that were computed again: after `REDONE` of them the polynomial is tried no more
    """

    cap: float
    factor: Any
    dtype: Any
    total: Any
    redone: Any

    @classmethod
    def create(cls, cap: float, factor: Any, dtype: Any) -> Any:
        """Return the softmax of no scores. `cap` is at most `HIGHEST`."""
        return cls(cap, factor, dtype, cl.full((2,), 0.0, f32), i32(0))

    def step(self, s: Any, seen: Any) -> tuple[Any, Any]:
        """Return powers of the next block, and the softmax after it.

        s      products
        seen   a function of exponents that makes -inf those where a query does not see the key; None: all are seen
        Who    all threads of a warp
        """
        p, sums, redone, beyond = cl.full((s.n,), 0.0, self.dtype), cl.full((2,), 0.0, f32), self.redone, True
        if redone < REDONE:
            p, sums, beyond = self.near(s, seen)
        else:
            p = cl.wgmma.fence_operand(p)  # makes the zeros on this path: LLVM makes them before the branch else
        if beyond:
            p, sums = self.far(s, seen)
            redone = redone + 1
        return p, replace(self, total=self.total + sums, redone=redone)

    def near(self, s: Any, seen: Any) -> tuple[Any, Any, Any]:
        """Return powers by the polynomial, their sums, and whether it may not do for one of a warp's scores."""
        fit, parts, sums, largest = fitted(self.cap), [], cl.full((2,), 0.0, f32), f32(0.0)
        by_sums = seen is None and self.cap >= SMALL
        for i in cl.static_range(0, s.n, CHUNK):
            first, end = i + SPECIAL, min(i + CHUNK, s.n)
            y = s[first:end] * (self.factor * fit.unit)
            square = y * y + fit.middle
            part = cl.vector(self.exponents(s[i:first]), y * (square * square + fit.rest), dtype=f32)
            if by_sums:
                part, more = raised(part, self.dtype)
                sums = sums + more
            else:
                for x in part:
                    largest = max(largest, abs(x))
            parts.append(part)
        if by_sums:
            p = cl.vector(*parts, dtype=self.dtype)
            within = every((sums <= 2.0**fit.high) & (sums >= s.n // 2 * fit.loss / LOST))
        else:
            exponents = cl.vector(*parts, dtype=f32)
            within = largest <= fit.high
            p, sums = raised(exponents if seen is None else seen(exponents), self.dtype)
        return p, sums, cl.vote_any(not within)

    def far(self, s: Any, seen: Any) -> tuple[Any, Any]:
        """Return powers by the special function, and their sums."""
        exponents = self.exponents(s)
        return raised(exponents if seen is None else seen(exponents), self.dtype)

    def exponents(self, s: Any) -> Any:
        """Return exponents by the special function."""
        return cl.math.tanh(s * self.factor, fast=True) * (self.cap / LN2)

    def finish(self, sink: Any = None) -> tuple[Any, Any]:
        """Finish the rows as `OnlineSoftmax.finish` does."""
        top = cl.full((2,), 0.0, f32)
        return cl.OnlineSoftmax(1.0, self.dtype, False, top, self.total, self.redone).finish(sink)


def tanh_of_scores(s: Any, factor: Any) -> Any:
    """Return ``tanh(s * factor)``: by the polynomial where it reaches all of a warp's numbers.

    Eight numbers are within its reach if the sum of their squares is.
    Who    all threads of a warp
    """
    fit, count = fitted(LN2), s.n // 8
    totals = s[:count] * s[:count]
    for i in cl.static_range(count, s.n, count):
        totals = totals + s[i : i + count] * s[i : i + count]
    if cl.vote_any(not totals.reduce("max") * (factor * factor) <= REACH * REACH):  # or it is NaN
        found = cl.math.tanh(s * factor, fast=True)
    else:
        y = s * (factor * fit.unit)
        square = y * y + fit.middle
        found = y * (square * square + fit.rest)
    return found
