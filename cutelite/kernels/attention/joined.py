"""Softmax of scores whose exponents come with a function's terms, from which a number is subtracted beforehand.

In    products of queries and keys, block by block, in the order of wgmma's accumulators, and terms of their exponents
Out   powers of 2, and their sums

`OnlineSoftmax` subtracts a row's greatest score in the one instruction that also scales a product. With terms of its
own for each score, that instruction adds these instead. Terms go by the distance, so that most are in both rows of a
thread. Where one number will do for both, it is subtracted from the terms while products are computed. Powers
then are relative to the greater of the greatest scores of two rows, if these are within 2**40 of each other: bf16 and
f32 are as exact there. What is subtracted stays until a sum exceeds 2**60.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cutelite as cl
from cutelite import f32, i32
from cutelite.kernels.attention.scores import INF
from cutelite.lib.softmax import HUGE, by_rows, every, raised, row_reduce, some
from cutelite.records import dataclass

NEAR = 40.0
"""How far apart, as exponents of 2, the greatest scores of two rows are for which one number is subtracted, at most."""
MOST = 2.0**60
"""The largest sum of a block's powers in a thread's columns of such a row."""


@dataclass(frozen=True)
class JoinedSoftmax:
    """The state of the softmax of this thread's two rows.

    unit    the factor that turns products into exponents of 2
    dtype   of the powers: of f32's exponents
    top     what was subtracted from exponents: in both rows the same, or the greatest so far, -inf where there was none
    total   sums of this thread's powers so far, (2,)
    joined  1: it is the same in both rows of each of a warp's threads
    """

    CHANGING = ("top", "total", "joined")

    unit: Any
    dtype: Any
    top: Any
    total: Any
    joined: Any

    @classmethod
    def create(cls, unit: Any, dtype: Any) -> Any:
        """Return the softmax of no scores."""
        return cls(unit, dtype, cl.full((2,), -INF, f32), cl.full((2,), 0.0, f32), i32(0))

    def step(self, s: Any, terms: Any, again: Callable[[], Any]) -> tuple[Any, Any, Any, Any]:
        """Return the powers of the next block and the other results of `OnlineSoftmax.step`.

        s      products, -inf where a query does not see the key
        terms  what is added to exponents, of the shape of `by_rows(s)`, less `base`
        again  a function that returns what is added, since registers do not hold it beside the powers
        Who    all threads of a warp
        """
        p, total, top, joined = cl.full((s.n,), 0.0, self.dtype), self.total, self.top, self.joined
        ratio, beyond, moved = cl.full((2,), 1.0, f32), True, False
        if joined != 0:
            p, sums = raised(by_rows(s) * self.unit + terms, self.dtype)
            total, beyond = self.total + sums, cl.vote_any(not every(sums <= MOST))
        else:
            p = cl.wgmma.fence_operand(p)  # makes the zeros on this path: LLVM makes them before the branch else
        if beyond:
            p, top, total, ratio, joined = self.exact(by_rows(s) * self.unit + again())
            moved = cl.vote_any(some(ratio != 1.0))
        return p, replace(self, top=top, total=total, joined=joined), ratio, moved

    @property
    def base(self) -> Any:
        """The number that is subtracted from exponents of both rows, if `joined`."""
        return self.top[0]

    def exact(self, exponents: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Return powers relative to what fits from now on, this, the sums, earlier sums' factors, and `joined`."""
        top = max(row_reduce(exponents.reshape((exponents.n,)), "max"), self.top)
        both = max(top[0], top[1])
        apart = not ((abs(top[0] - top[1]) <= NEAR) & (abs(both) <= HUGE))
        joined = cl.where(cl.vote_any(apart), i32(0), i32(1))
        top = cl.where(joined != 0, both, top)
        base = cl.where(top == -INF, 0.0, top)
        ratio = cl.math.exp2(self.top - base, fast=True)
        p, sums = raised(exponents - base.reshape((1, 2, 1)), self.dtype)
        return p, top, self.total * ratio + sums, ratio, joined

    def finish(self, sink: Any = None) -> tuple[Any, Any]:
        """Finish the rows as `OnlineSoftmax.finish` does."""
        return cl.OnlineSoftmax(1.0, self.dtype, False, self.top, self.total, self.joined).finish(sink)
