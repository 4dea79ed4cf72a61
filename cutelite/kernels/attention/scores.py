"""Score functions and masks, applied to a fragment of scores before its softmax.

In    scores in the order of wgmma's accumulator, and their coordinates
Out   scores, -inf where a query does not see the key
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import f32, i32
from cutelite.lang.biased import Biased, biased
from cutelite.lang.fastmath import approximate_quotients
from cutelite.lang.given import given_by
from cutelite.lang.places import Places, places
from cutelite.records import dataclass, fact
from cutelite.tuples import NamedTuple

GROUP = 128  # threads of a warpgroup
ROWS = 64  # of a warpgroup
BOX = 64  # columns: a swizzled row of 128 bytes
INF = float("inf")
LN2 = 0.6931471805599453
SCORE_MOD = "score", "b", "h", "q_idx", "kv_idx"
MASK_MOD = "b", "h", "q_idx", "kv_idx"
"""What the functions of a problem are called with."""


@dataclass(frozen=True)
class Problem:
    """The compile-time parameters of a kernel.

    dim, dim_v     of heads: of queries and keys, and of values; multiples of 8
    left, right    a window ends before, or behind, a query's own place
    score_mod      (score, batch, head, query, key) -> score, on vectors of f32 and i32
    mask_mod       (batch, head, query, key) -> True where the query sees the key
    ragged         sequences of any lengths lie one after the other, as one (the forward kernel)
    blocks         queries and keys of a block of a block mask; None: there is none (the forward kernel)
    softcap        scores are capped before `score_mod`; None: they are not
    """

    dtype: Any
    dim: int
    dim_v: int
    left: bool = False
    right: bool = False
    score_mod: Callable[..., Any] | None = None
    mask_mod: Callable[..., Any] | None = None
    ragged: bool = False
    blocks: tuple[int, int] | None = None
    softcap: float | None = None

    @fact
    def modifies(self) -> bool:
        """Tell whether products are more than scaled before the softmax."""
        return self.score_mod is not None or self.softcap is not None

    @fact
    def causal(self) -> bool:
        """Tell whether a query sees all keys up to some place, so that the first keys are seen by most queries."""
        return self.right and not self.left

    def factor(self, scale: float) -> float:
        """Return the kernel's factor of products, its parameter `scale`, for the caller's `scale`."""
        return scale / LN2 if self.softcap is None else scale / self.softcap

    def unit(self, scale: Any) -> Any:
        """Return the factor from what `modified` gives to powers of 2; `scale` is the kernel's parameter."""
        if self.score_mod is None and self.softcap is not None:
            return self.softcap / LN2  # the cap itself is left to this factor
        return 1.0 / LN2 if self.modifies else scale


class Added(NamedTuple):
    """A `score_mod` that multiplies scores by a literal and adds terms that depend on their indices alone.

    factor   the literal
    start    the initial accumulator of the products, which brings the added terms; None: zeros
    read     a function that returns what is added to exponents instead: less a number, in the shape of `by_rows`
    terms    this, once the products were started
    """

    factor: float
    start: Any
    read: Callable[..., Any] | None = None
    terms: Any = None


class Sight(NamedTuple):
    """The coordinates of a thread's scores, and the limits of the keys that are seen.

    at       index of the query of each of the two rows, (1, 2, 1); or of a thread's one row, (1, 1, 1)
    key      index of the first key; the others are 8 i and 8 i + 1 behind it, of one row i
    rows     number of queries, where functions captured arrays; else None
    end      number of keys
    offset   from a query's index to its own place; `left` keys before that and `right` behind it are seen
    start    the first key that any query sees; None: 0
    """

    at: Any
    key: Any
    rows: Any
    end: Any
    offset: Any
    left: Any
    right: Any
    start: Any = None


@dataclass(frozen=True)
class Scores:
    """A block of products of queries and keys, and what mods and masks make of it.

    products  as the accumulator has them
    scale     factor of the products, where the problem modifies them
    sight     where they are
    batch     the sequence
    head      of queries: a number, or one for each of the two rows, (1, 2, 1)
    masked    some queries may not see some of the keys: known at compile time, or at run time
    """

    problem: Problem
    products: Any
    scale: Any
    sight: Sight
    batch: Any
    head: Any
    masked: Any

    @property
    def offsets(self) -> tuple[int, ...]:
        """Offsets of a thread's keys from the first one."""
        return offsets(self.sight.at.n, self.products.n)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Extents: neighbouring keys, rows, groups of keys."""
        rows = self.sight.at.n
        return rows, rows, self.products.n // (rows * rows)

    def places(self) -> tuple[Any, Any]:
        """Return the indices of queries and keys, as functions get them."""
        sight, (rows, _, groups) = self.sight, self.shape
        query, key = sight.at, places(sight.key, self.offsets, (rows, 1, groups))
        if sight.rows is not None:  # indices into arrays that functions captured, behind which there is nothing
            last, key = sight.rows - 1, key.within(0, sight.end - 1)
            query = query.within(0, last) if isinstance(query, Places) else max(0, min(query, last))
        return query, key

    def changed(self) -> Any:
        """Return scores after cap and `score_mod`, of this shape; products, where the problem has neither."""
        problem, s = self.problem, self.products.reshape(self.shape)
        if problem.softcap is not None:
            s = cl.math.tanh(s * self.scale, fast=True)
        if problem.score_mod is not None:
            s = self.called(biased(s, self.scale * LN2 if problem.softcap is None else problem.softcap))
        return s

    def called(self, scores: Any) -> Any:
        """Return what `score_mod` gives for these scores."""
        like = self.products.reshape(self.shape)
        return called(self.problem, scores, self.batch, self.head, *self.places(), like)

    def added(self, in_exponents: bool) -> Added | None:
        """Return a `score_mod` that is ``score * factor + bias``, with no softcap, as `Added`; None for any other.

        `score_mod`'s ops stay emitted in both cases: call this by `lang.attempt`, which undoes them for None.

        in_exponents  a bias that is linear in the indices is added to exponents
        """
        if self.problem.score_mod is None or self.problem.softcap is not None:
            return None
        found = self.called(biased(self.products.reshape(self.shape), 1.0))
        if not isinstance(found, Biased) or not found.literal:
            return None
        if in_exponents and isinstance(found.bias, Places) and (linear := self.linear(found.bias)) is not None:
            return Added(found.factor, None, linear)
        return Added(found.factor, found.start(self.scale * (LN2 * found.factor)) if found.adds else None)

    def linear(self, bias: Places) -> Callable[..., Any] | None:
        """Return the function that returns a bias as terms of exponents (`Added.read`); None where they are too many.

        Of the keys of two rows eight apart, most are as far from one as others are from the other.
        """
        once, numbers = bias.times(1.0 / LN2).apart(self.shape)
        if len(once.offsets) > self.products.n // 2 + 2:
            return None

        def terms(base: Any = None) -> Any:
            found = once.to(f32) if base is None else cl.wgmma.fence_operand(once.plus(-base).to(f32))
            return cl.vector(*[found[i] for i in numbers], dtype=f32).reshape(self.shape)

        return terms

    def all(self) -> Any:
        """Return the scores as the accumulator has them, -inf where a query does not see the key."""
        return self.all_seen(self.changed())

    def all_seen(self, s: Any) -> Any:
        """Return a number for each score as the accumulator has them, -inf where a query does not see the key."""
        return self.seen(s.reshape(self.shape)).reshape((self.products.n,))

    def seen(self, s: Any) -> Any:
        """Return `s` of this shape, -inf where a query does not see the key."""
        if self.masked:
            s = cl.where(self.sees(), s, -INF)
        return s

    def sees(self) -> Any:
        """Return whether a query sees the key, of this shape or what is broadcast to it."""
        problem, sight, (rows, _, groups) = self.problem, self.sight, self.shape
        at, column = sight.at, cl.vector(*self.offsets, dtype=i32).reshape((rows, 1, groups))
        end = cl.full((rows,), sight.end - sight.key, i32).reshape((1, rows, 1))
        if problem.right:
            end = min(end, at + (sight.offset + sight.right + 1 - sight.key))
        sees = column < end
        if problem.left:
            sees = sees & (column >= at + (sight.offset - sight.left - sight.key))
        if sight.start is not None:
            sees = sees & (column >= sight.start - sight.key)
        if problem.mask_mod is not None:
            found = problem.mask_mod(self.batch, self.head, *self.places())
            sees = sees & given_by("mask_mod", found, sees, problem.mask_mod)
        return sees


@lru_cache(maxsize=64)
def offsets(rows: int, count: int) -> tuple[int, ...]:
    """Return the offsets of a thread's keys from the first one, of so many scores in so many rows."""
    return tuple(i // 2 * 8 + i % 2 if rows == 2 else i for i in range(count // rows))


def modified(problem: Problem, s: Any, scale: Any, sight: Sight, batch: Any, head: Any, masked: bool) -> Any:
    """Return scores after `score_mod`; if `masked`, -inf where a query does not see the key: `Scores` explains all."""
    return Scores(problem, s, scale, sight, batch, head, masked).all()


def called(problem: Problem, scores: Any, batch: Any, head: Any, query: Any, key: Any, like: Any) -> Any:
    """Return what `score_mod` gives for scores, as numbers like those of `like`."""
    found = roughly(problem.score_mod, scores, batch, head, query, key)
    return given_by("score_mod", found, like, problem.score_mod)


def roughly(function: Any, *given: Any) -> Any:
    """Return what a function gives, with approximate quotients."""
    exact = approximate_quotients(True)
    found = function(*given)
    approximate_quotients(exact)
    return found
