"""Softmax and its logarithm over rows, and their derivatives.

    softmax(x) = exp(x - lse(x))        log_softmax(x) = x - lse(x)        lse(x) = log(sum(exp(x)))

A thread finds its greatest element `top`, and the sum of its exp(x - top); `Merge` merges two such pairs, so a row
needs one reduction.
"""

import math
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import cutelite as cl
from cutelite import Tensor, bf16, f32, i32
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import in_words_of_caller, result_like, underived
from cutelite.kernels.arrays import empty
from cutelite.kernels.planning import planned, planned_whole
from cutelite.kernels.rows.arrays import APART, Access, Rows, derived
from cutelite.kernels.rows.plan import WAYS, Plan
from cutelite.kernels.rows.plans import plan_softmax, plan_two
from cutelite.lang.promotion import LARGEST
from cutelite.lib.row_words import widened
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

M = cl.dims("M")  # rows
LOG2_E = math.log2(math.e)
KEPT, AT_ONCE = 64, 16  # elements of a thread: powers of up to KEPT stay in registers, else AT_ONCE are summed at once
LOG2_E_16 = 47274 / 2**15  # log2(e) to 16 bits, within 5e-6: its product with a bf16 is exact in f32
MUCH = 1e38  # products with log2(e) may overflow above
LOWEST = -LARGEST["f32"]  # the least finite number: -inf less that is -inf, -inf less -inf NaN


class Exponentials(NamedTuple):
    """The sum of exp(x - top) over some elements, none of which is above `top`."""

    top: f32
    total: f32


def power(x: Any, exact: bool) -> Any:
    """Return exp(x); for 16-bit results by the hardware's exponential."""
    return cl.math.exp(x) if exact else cl.math.exp2(x * LOG2_E, fast=True)


def powers(dtype: Any) -> Any:
    """Return the function of x and top that computes exp(x - top); for bf16 by one multiply-add and one ex2 each.

    For bf16, ``top * LOG2_E_16`` is exact in f32: rounding it could err by more than x - top. Above `MUCH` a quarter of
    log2(e) avoids overflow: elements that differ are so far apart there that exp((x - top) / 4) is 0 as well.
    """
    if dtype != bf16:
        return lambda x, top: power(x - top, dtype == f32)

    def raised(x: Any, top: Any) -> Any:
        factor = cl.where(abs(top) > MUCH, f32(LOG2_E_16 / 4), f32(LOG2_E_16))
        return cl.math.exp2(x * factor - top * factor, fast=True)

    return raised


@dataclass(frozen=True)
class Merge:
    """The merge of two sums of exponentials (call), or of a warp's (`together`), rescaled to the greatest `top`."""

    exact: bool

    def __call__(self, a: Exponentials, b: Exponentials) -> Exponentials:
        top = max(a.top, b.top)
        return Exponentials(top, a.total * power(a.top - top, self.exact) + b.total * power(b.top - top, self.exact))

    def together(self, x: Exponentials, reduce: Any) -> Exponentials:
        top = reduce(x.top, "max")
        return Exponentials(top, reduce(x.total * power(x.top - top, self.exact), "add"))


def exponentials(vectors: Sequence[Any], powers: Any, top: Any = None) -> tuple[Exponentials, Any]:
    """Return the sum of exp(x - top) over this thread's elements, and the pair of `top` and the exponentials.

    `top` is finite, also where all elements are -inf.

    vectors  the elements, and so are the exponentials: as `RowStream.all_of` gives them
    powers   ``powers(x, top)`` computes exp(x - top)
    top      what `greatest` gives, if it is known
    """
    top = greatest(vectors) if top is None else top
    e = tuple(powers(v, top) for v in vectors)
    return Exponentials(top, total_of(e)), (top, e)


def greatest(vectors: Sequence[Any]) -> Any:
    """Return the greatest element of some vectors, and at least the lowest number."""
    return max(*(v.reduce("max") for v in vectors), f32(LOWEST))


def total_of(vectors: Any) -> Any:
    """Return the sum of the elements of some vectors."""
    first, *others = (v.reduce("sum") for v in vectors)
    return first + others[0] if others else first


def added(known: Exponentials, v: Any, exact: bool, powers: Any) -> Exponentials:
    """Return `known` with the elements of `v` added, rescaled to the new `top`. `powers`: as for `exponentials`."""
    top = max(known.top, v.reduce("max"))
    return Exponentials(top, known.total * power(known.top - top, exact) + powers(v, top).reduce("sum"))


@cache
def forward(dtype: Any, n: int, p: Plan, log: bool) -> Any:
    """Make the kernel y = softmax(x), or log_softmax(x), for rows of `n` elements of `dtype`."""
    exact, raised = dtype == f32, powers(dtype)
    P, Q = p.pitches("P Q")

    @cl.kernel(**p.options)
    def softmax(
        x: Tensor[dtype, (M, n), (P, 1)], y: Tensor[dtype, (M, n), (Q, 1)], counter: Tensor[i32, (1,)] | None
    ) -> None:
        _team, part = p.team(n, x)
        keeps = not log and not p.loops and part.vector * part.pieces <= KEPT
        stream = cl.RowStream.create(part, (x,), fill=-math.inf, once=keeps, **p.ways(y, counter))

        def first(row: Any, _: Any, held: Any) -> Any:
            if keeps:
                return exponentials([widened(v) for v in stream.all_of(held)], raised)

            def more(known: Exponentials, some: Any) -> Exponentials:
                return added(known, widened(held.of(some)), exact, raised)

            return stream.walk(Exponentials(f32(LOWEST), f32(0)), more, pieces=max(1, AT_ONCE // part.vector)), None

        def last(row: Any, _: Any, kept: Any, all: Exponentials, held: Any) -> None:
            if keeps:
                top, e = kept
                factor = power(top - all.top, exact) / all.total
                part.store_all([(each * factor).to(dtype) for each in e], y[row, None])
                return
            top, less = all.top, cl.math.log(all.total)
            scale = 1.0 / all.total

            def write(_: Any, some: Any) -> None:
                v = widened(held.of(some))
                some.store((v - top - less if log else raised(v, top) * scale).to(dtype), y[row, None])

            stream.walk(None, write, last=True)

        stream.each_reduced(first, last, Merge(exact))

    return softmax


@cache
def backward(dtype: Any, n: int, p: Plan, log: bool) -> Any:
    """Make the kernel that computes dx from dy and y = softmax(x), or log_softmax(x)."""
    exact = dtype == f32
    P, Q, R = p.pitches("P Q R")

    @cl.kernel(**p.options)
    def softmax_backward(
        dy: Tensor[dtype, (M, n), (P, 1)], y: Tensor[dtype, (M, n), (Q, 1)], dx: Tensor[dtype, (M, n), (R, 1)],
        counter: Tensor[i32, (1,)] | None,
    ) -> None:  # fmt: skip
        _team, part = p.team(n)
        stream = cl.RowStream.create(part, (dy, y), packed=True, **p.ways(dx, counter))

        def first(row: Any, _: Any, held: Any, values: Any) -> Any:
            def add(total: Any, some: Any) -> Any:
                g = widened(held.of(some))
                return total + (g if log else g * widened(values.of(some))).reduce("sum")

            return stream.walk(f32(0), add), None

        def last(row: Any, _: Any, kept: Any, total: Any, held: Any, values: Any) -> None:
            def write(_: Any, some: Any) -> None:
                g, out = widened(held.of(some)), widened(values.of(some))
                d = g - power(out, exact) * total if log else out * (g - total)
                some.store(d.to(dtype), dx[row, None])

            stream.walk(None, write, last=True)

        stream.each_reduced(first, last)

    return softmax_backward


@planned_whole()
@in_words_of_caller
def softmax(x: Any, *, out: Any = None, how: Plan | None = None) -> Any:
    """Compute softmax over the last mode.

    x        (..., n), bf16, f16 or f32
    out      where to write, of the shape and dtype of x, which it may be; by default a new array
    how      the `Plan`: which threads work on a row; default: by its length
    Errors   `cl.ArgumentError` for other arrays
    """
    made = derived(x, out=out)
    return apply(x, out, False, how) if made is None else made.softmax(x, log=False)


@planned_whole()
@in_words_of_caller
def log_softmax(x: Any, *, out: Any = None, how: Plan | None = None) -> Any:
    """Compute the logarithm of softmax over the last mode. Arguments as for `softmax`."""
    made = derived(x, out=out)
    return apply(x, out, True, how) if made is None else made.softmax(x, log=True)


@untraced
@planned
def apply(x: Any, out: Any, log: bool, how: Plan | None) -> Any:
    """Launch the kernel for x."""
    rows = Rows(x, "x")
    y = result_like(x, out)
    results = Rows(y, "out", written=True).like(rows, "out").over("out", x=None if out is None else rows)
    if not rows.n:
        return y
    p = Access.of([rows], [results]).plan(how, partial(rows.planned, plan_softmax, once=not log)).only(*WAYS)
    forward(rows.dtype, rows.n, p, log)[p.launch(rows)](rows.matrix, results.matrix, p.counter(rows))
    return y


@planned
@underived()
def softmax_backward(dy: Any, y: Any, *, log: bool = False, out: Any = None, how: Plan | None = None) -> Any:
    """Compute the gradient of x from the gradient dy of y = softmax(x), or log_softmax(x).

    dy, y    (..., n), of one dtype
    log      y is log_softmax(x)
    out      where to write; may be dy
    how      the `Plan`: which threads work on a row; default: by its length
    Errors   `cl.ArgumentError` for arrays that do not fit
    """
    if (made := derived(dy, y, out=out)) is not None:
        return made.softmax_backward(dy, y, log)
    values = Rows(y, "y")
    gradients = Rows(dy, "dy").like(values, "dy")
    out = empty(y, tuple(y.shape)) if out is None else out
    results = Rows(out, "out", written=True).like(values, "out").over("out", dy=gradients, y=values)
    if not values.n:
        return out
    access = Access.of([values, gradients], [results]).covering(APART)
    bulk = access.shifted and access.alike and access.around
    p = access.plan(how, partial(plan_two, bulk=bulk), copies=bulk).only(*WAYS)
    kernel = backward(values.dtype, values.n, p, log)
    kernel[p.launch(values)](gradients.matrix, values.matrix, results.matrix, p.counter(values))
    return out
