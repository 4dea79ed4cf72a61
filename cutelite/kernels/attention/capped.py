"""Softmax of capped scores: their bounds are known, so nothing is subtracted in the exponent, and nothing rescaled.

In    products of queries and keys, block by block, in the order of wgmma's accumulators
Out   powers ``exp(cap * tanh(x))``, and their sums; x are the products times a factor

tanh takes a special function for each score, as its power does, and two of these are as long as the block's products.
Within `REACH` it is ``x * polynomial(x**2)`` here, on the units of additions and products. A block with a score beyond
is computed again by the special function.
"""

from dataclasses import replace
from typing import Any

import cutelite as cl
from cutelite import f32, i32
from cutelite.kernels.attention.scores import LN2
from cutelite.lib.softmax import REDONE, raised
from cutelite.records import dataclass

HIGHEST = 50.0
"""The greatest cap: powers then are 2**-72 to 2**72, which leaves sums and products with values 2**55."""
CHUNK = 16
"""So many scores are computed at a time, for they take registers."""
REACH = 0.625
TERMS = 0.8874289925455204, 0.0962342538705379, 0.016252884514726135
"""tanh(x) / x within 8.4e-5 of itself (tanh.approx: 4.9e-4) up to `REACH`, in powers of ``1 - (x / REACH)**2``."""


@dataclass(frozen=True)
class CappedSoftmax:
    """The state of the softmax of this thread's two rows.

    cap      of scores
    factor   from products to arguments of tanh
    dtype    of the powers: of f32's exponents
    reach    the square of the products at `REACH`
    terms    of the exponent by products, in powers of ``reach - product**2``
    total    sums of this thread's powers so far, (2,)
    redone   blocks that were computed again: after two of them the polynomial is not tried any more
    """

    cap: float
    factor: Any
    dtype: Any
    reach: Any
    terms: tuple[Any, Any, Any]
    total: Any
    redone: Any

    @classmethod
    def create(cls, cap: float, factor: Any, dtype: Any) -> Any:
        """Return the softmax of no scores. `cap` is at most `HIGHEST`."""
        reach, unit = REACH * REACH / (factor * factor), factor * (cap / LN2)
        terms = unit * TERMS[0], unit * (TERMS[1] / reach), unit * (TERMS[2] / (reach * reach))
        return cls(cap, factor, dtype, reach, terms, cl.full((2,), 0.0, f32), i32(0))

    def step(self, s: Any, seen: Any) -> tuple[Any, Any]:
        """Return powers of the next block, and the softmax after it.

        s      products
        seen   a function of exponents that makes -inf those where a query does not see the key; None: all are seen
        Who    all threads of a warp
        """
        p, sums = cl.full((s.n,), 0.0, self.dtype), cl.full((2,), 0.0, f32)
        redone, beyond = self.redone, self.redone >= REDONE
        if redone < REDONE:
            p, sums, beyond = self.near(s, seen)
        if beyond:
            p, sums = self.far(s, seen)
            redone = redone + 1
        return p, replace(self, total=self.total + sums, redone=redone)

    def near(self, s: Any, seen: Any) -> tuple[Any, Any, Any]:
        """Return powers by the polynomial, their sums, and whether one of a warp's scores is beyond its reach."""
        powers, sums, signs, (first, second, third) = [], cl.full((2,), 0.0, f32), cl.u32(0), self.terms
        for i in cl.static_range(0, s.n, CHUNK):
            part = s[i : min(i + CHUNK, s.n)]
            left = self.reach - part * part
            for x in cl.bitcast(left, cl.u32):
                signs = signs | x
            part = part * (first + left * (second + left * third))
            if seen is None:
                part, more = raised(part, self.dtype)
                sums = sums + more
            powers.append(part)
        beyond = cl.vote_any(signs >> 31 != 0)
        if seen is None:
            return cl.vector(*powers, dtype=self.dtype), sums, beyond
        return *raised(seen(cl.vector(*powers, dtype=f32)), self.dtype), beyond

    def far(self, s: Any, seen: Any) -> tuple[Any, Any]:
        """Return powers by the special function, and their sums."""
        exponents = cl.math.tanh(s * self.factor, fast=True) * (self.cap / LN2)
        return raised(exponents if seen is None else seen(exponents), self.dtype)

    def finish(self, sink: Any = None) -> tuple[Any, Any]:
        """Finish the rows as `OnlineSoftmax.finish` does."""
        top = cl.full((2,), 0.0, f32)
        return cl.OnlineSoftmax(1.0, self.dtype, False, top, self.total, self.redone).finish(sink)
