"""Softmax of capped scores: their bounds are known, so nothing is subtracted in the exponent, and nothing rescaled.

In    products of queries and keys, block by block, in the order of wgmma's accumulators
Out   powers ``exp(cap * tanh(x))``, and their sums; x are the products times a factor

tanh takes a special function for each score, as its power does, and two of these are as long as the block's products.
Here most scores have ``x * polynomial(x**2)`` instead, on the units of additions and products. A block with a score
beyond the polynomial's reach is computed again by the special function.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import f32, i32
from cutelite.kernels.attention.scores import LN2
from cutelite.lib.softmax import REDONE, raised
from cutelite.records import dataclass

HIGHEST = 50.0
"""The greatest cap: powers then are 2**-72 to 2**72, which leaves sums and products with values 2**55."""
CHUNK = 16
"""So many scores are computed at a time, for they take registers."""
SPECIAL = 4
"""So many of them have the special function, which would have nothing to do while polynomials are computed."""


class Fit(NamedTuple):
    """tanh(x) / x up to `reach`, in powers of ``1 - (x / reach)**2``."""

    reach: float
    terms: tuple[float, ...]


FITS = (
    Fit(0.3, (0.970915978991134, 0.02895419911711155)),
    Fit(0.625, (0.8874289925455204, 0.0962342538705379, 0.016252884514726135)),
)
"""Within 1.3e-4 and 8.4e-5 of tanh (tanh.approx: 4.9e-4). The first one is faster, the second is for larger scores."""


@dataclass(frozen=True)
class CappedSoftmax:
    """The state of the softmax of this thread's two rows.

    cap      of scores
    factor   from products to arguments of tanh
    dtype    of the powers: of f32's exponents
    fits     for each of `FITS` the square of the products at its reach, and the terms of the exponent by products, in
             powers of that less ``product**2``
    total    sums of this thread's powers so far, (2,)
    redone   blocks that were computed again: after two of them the next polynomial is tried, after its two none
    """

    cap: float
    factor: Any
    dtype: Any
    fits: tuple[tuple[Any, tuple[Any, ...]], ...]
    total: Any
    redone: Any

    @classmethod
    def create(cls, cap: float, factor: Any, dtype: Any) -> Any:
        """Return the softmax of no scores. `cap` is at most `HIGHEST`."""
        fits, unit = [], factor * (cap / LN2)
        for fit in FITS:
            reach, terms, part = fit.reach * fit.reach / (factor * factor), [], unit
            for term in fit.terms:
                terms.append(part * term)
                part = part / reach
            fits.append((reach, (*terms,)))
        return cls(cap, factor, dtype, (*fits,), cl.full((2,), 0.0, f32), i32(0))

    def step(self, s: Any, seen: Any) -> tuple[Any, Any]:
        """Return powers of the next block, and the softmax after it.

        s      products
        seen   a function of exponents that makes -inf those where a query does not see the key; None: all are seen
        Who    all threads of a warp
        """
        p, sums, redone, beyond = cl.full((s.n,), 0.0, self.dtype), cl.full((2,), 0.0, f32), self.redone, True
        if redone < REDONE:
            p, sums, beyond = self.near(s, seen, *self.fits[0])
        elif redone < 2 * REDONE:
            p, sums, beyond = self.near(s, seen, *self.fits[1])
        if beyond:
            p, sums = self.far(s, seen)
            redone = redone + 1
        return p, replace(self, total=self.total + sums, redone=redone)

    def near(self, s: Any, seen: Any, reach: Any, terms: tuple[Any, ...]) -> tuple[Any, Any, Any]:
        """Return powers by a polynomial, their sums, and whether one of a warp's scores is beyond its reach."""
        powers, sums, signs = [], cl.full((2,), 0.0, f32), cl.u32(0)
        for i in cl.static_range(0, s.n, CHUNK):
            end = min(i + CHUNK, s.n)
            middle = i + min(SPECIAL, (end - i) // 2)
            part = s[middle:end]
            left, found = reach - part * part, terms[-1]
            for x in cl.bitcast(left, cl.u32):
                signs = signs | x
            for term in terms[-2::-1]:
                found = term + left * found
            part = cl.vector(self.special(s[i:middle]), part * found, dtype=f32)
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
        exponents = self.special(s)
        return raised(exponents if seen is None else seen(exponents), self.dtype)

    def special(self, s: Any) -> Any:
        """Return exponents by the special function."""
        return cl.math.tanh(s * self.factor, fast=True) * (self.cap / LN2)

    def finish(self, sink: Any = None) -> tuple[Any, Any]:
        """Finish the rows as `OnlineSoftmax.finish` does."""
        top = cl.full((2,), 0.0, f32)
        return cl.OnlineSoftmax(1.0, self.dtype, False, top, self.total, self.redone).finish(sink)
