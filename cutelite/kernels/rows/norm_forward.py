"""The kernel of RMSNorm and LayerNorm over rows, after adding a residual where there is one.

    s = x + residual        y = (s - mean) * rstd * (offset + weight) + bias        rstd = 1 / sqrt(var + eps)

RMSNorm has no mean: its var is the mean of s * s. LayerNorm's comes from the sums of s and s * s, and where the mean is
large from a second pass.
"""

import math
from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.kernels.rows.moved import moved_shape
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.plan import ELEMENT, Plan
from cutelite.lang.promotion import LARGEST
from cutelite.lib.row_words import widened
from cutelite.lib.warp_sums import own_sums, warp_sums
from cutelite.records import dataclass
from cutelite.target.targets import WARP
from cutelite.tuples import NamedTuple

M = cl.dims("M")  # rows
G = cl.Dim("G", min=0)  # scales of a row
BEFORE = 2  # vectors of weights that are read before they are needed, where there are more than
HELD = 32  # elements of 16 bits that a thread reads at once
KEPT = 64  # weighted elements of a thread that registers keep until their row's greatest is known
AT_ONCE = 16  # elements of a thread whose statistics are found together
MOST_MEAN = {2: 4.0, 4: 0.5}  # mean^2 / variance up to which sums of squares give the variance, by bytes of an element
STRANDS = 4  # independent partial sums of `dot`


class Line(NamedTuple):
    """A form of ``(x - mean) * by``: ``(x - mean) * by + plus``, which is one multiply-add where `mean` is 0."""

    mean: Any
    by: Any
    plus: Any

    def of(self, x: Any) -> Any:
        """Return it for some elements."""
        return (widened(x) - self.mean) * self.by + self.plus


@dataclass(frozen=True)
class Norm:
    """A norm of rows of `n` elements.

    dtype     of the rows
    center    the mean is subtracted: LayerNorm
    weight    the dtype of weight and bias
    offset    added to the weight: 1.0 where weights are stored as what differs from 1
    narrow    how results are quantised, if they are
    """

    dtype: Any
    n: int
    center: bool
    weight: Any
    offset: float
    narrow: Narrow | None = None

    @property
    def result(self) -> Any:
        """The dtype of results."""
        return self.dtype if self.narrow is None else self.narrow.dtype

    @property
    def held(self) -> int:
        """The number of elements of a row, and of weights, that a thread reads at once."""
        return HELD * ELEMENT // max(self.dtype.bytes, self.weight.bytes)  # type: ignore[no-any-return]

    @property
    def weighs_twice(self) -> bool:
        """Tell whether weights count for a row's greatest magnitude, which is found with its sum of squares."""
        return self.narrow is not None and self.narrow.block == 1 and not self.center and self.dtype.bytes == 2

    def team(self, p: Plan, arrays: Any, weights: Any) -> tuple[cl.Team, cl.RowPartition]:
        """The team of this thread, and its part of a row of `arrays` and `weights`.

        Rows that begin anywhere are covered from a vector on: from a sector takes more instructions and is no faster.
        """
        again = p.rows if self.center else 0  # a row that is gone through again is reduced again
        granule = 1 if self.narrow is None else self.narrow.block
        reductions = 1 + again + (self.narrow is not None)
        return p.team(self.n, *arrays, weights=weights, reductions=reductions, granule=granule, unit=1)

    def summed(self, held: Any, *residual: Any) -> Any:
        """Return the elements to be normed: those loaded, plus the residual if there is one."""
        return widened(held) + widened(residual[0]) if residual else widened(held)

    def weighted(self, v: Any, weights: Any) -> Any:
        """Return elements times their weights; as they are where these are None."""
        return v if weights is None else v * self.factors(weights)

    def line(self, mean: Any, by: Any, exact: bool) -> Line:
        """Return how ``(x - mean) * by`` is computed for a row of this mean, which RMSNorm has not.

        bf16 has 8 bits: products with 16 bits of `by` are exact in f32, and so 0 is left of a row of equal elements.

        exact  with all bits of `by`, and of elements that have more than 8
        """
        if not self.center:
            return Line(0.0, by, -0.0)
        if exact or (self.dtype, self.weight.bytes) != (cl.bf16, 2):
            return Line(mean, by, -0.0)
        by = cl.bitcast((cl.bitcast(by, cl.u32) + 128) & 0xFFFFFF00, f32)
        by = cl.where(abs(mean * by) < math.inf, by, 0.0)  # elements are equal, or beyond f32
        return Line(0.0, by, -(mean * by))

    def normed(self, some: Any, v: Any, line: Line, weights: Any, shifts: Any) -> Any:
        """Return the norm of the vectors `some`, whose elements are `v`, by their weights and shifts, or None."""
        v = line.of(v)
        v = v if weights is None else v * self.factors(weights)
        if self.center and self.narrow is not None and self.narrow.block > 1:
            v = some.keep(v)  # behind the row 0 - mean is no block's greatest
        return v if shifts is None else v + widened(shifts)

    def factors(self, weights: Any) -> Any:
        """Return what weights come to as factors."""
        return widened(weights) + self.offset if self.offset else widened(weights)

    def looked_at(self, stream: Any, rows: Any, totals: Any, at_once: bool, weights: Any) -> tuple[Any, Any]:
        """Return the statistics of this thread's part of some rows; write what is to be normed to `totals`, if given.

        rows     of each what is held of it
        at_once  the greatest magnitude of the weighted elements too, by `weights`, a `RowPart` or None
        Result   the statistics; of each row the vectors that registers keep, or (): weighted ones with `at_once`, else
                 sums of two arrays, which take no more registers than these
        """

        def look(before: Any, some: Any) -> Any:
            def looked(known: Any, top: Any, kept: Any, held: Any, total: Any) -> Any:
                given = [each.of(some) for each in held]
                v = self.summed(*given)
                if at_once:
                    weighted = self.weighted(v, vectors_of(weights, some))
                    top = max(top, abs(weighted).reduce("max"))
                    kept = (*kept, weighted) if keep else kept
                elif keep:
                    kept = (*kept, v)
                if total is not None:
                    some.store(v.to(self.dtype), total)
                return warp_sums(given[0], known) if by_mma else self.known(known, v), top, kept

            return tuple(looked(*one, *more) for one, *more in zip(before, rows, totals, strict=True))

        part, by_mma = stream.part, self.by_mma(stream)
        few = part.vector * part.pieces * len(rows) <= HELD
        keep = (
            not stream.loops and part.vector * part.pieces * len(rows) <= KEPT if at_once else self.keeps_sums(stream)
        )
        if totals[0] is not None or (few and not by_mma) or keep:
            pieces = 1
        else:
            pieces = part.pieces if few else max(1, AT_ONCE // (part.vector * len(rows)))
        found = stream.walk(((self.nothing(stream), f32(0), ()),) * len(rows), look, pieces=pieces)
        kept = [each[2] for each in found]
        if by_mma:
            return tuple(own_sums(each[0]) for each in found), kept
        known = [self.all_known(each[0]) for each in found]
        return tuple((one, each[1]) if at_once else one for one, each in zip(known, found, strict=True)), kept

    def keeps_sums(self, stream: Any) -> bool:
        """Tell whether registers keep the sums of two arrays."""
        return len(stream.arrays) > 1 and not stream.outside and self.center

    def kept_sums(self, stream: Any, held: Any, kept: Any) -> tuple[Any, Any]:
        """Return what is held of the arrays' rows, and `kept`: of the sums that registers keep, and nothing more."""
        if not self.keeps_sums(stream):
            return held, kept
        return ([together(stream.part, each) for each in kept],), [()] * len(kept)

    def by_mma(self, stream: Any) -> bool:
        """Tell whether mma gives LayerNorm's sums: for one input array of 16-bit elements, and teams of whole warps."""
        return (
            self.center and self.dtype.bytes == 2 and len(stream.arrays) == 1 and stream.part.team.threads % WARP == 0
        )

    def statistics(self, stream: Any, known: Any, held: Any) -> tuple[Any, Any]:
        """Return the mean and variance of a row from its reduced sums `known`; the mean is 0 for RMSNorm.

        Where the mean is large, ``E[x^2] - mean^2`` cancels: then a second pass sums x - mean and its squares.
        """
        share = 1.0 / self.n
        if not self.center:
            return 0.0, known * share
        total, squares = known
        mean = total * share
        var = squares * share - mean * mean
        if mean * mean > MOST_MEAN[self.dtype.bytes] * var or squares == math.inf:
            center = cl.where(abs(mean) < math.inf, mean, 0.0)  # f32 may hold no sum of what it holds

            def differ(sums: Any, some: Any) -> Any:
                v = some.keep(self.summed(*(each.of(some) for each in held)) - center)
                return sums[0] + (v * (share / 2)).reduce("sum"), sums[1] + dot(v, v)

            half, rest = stream.part.team.reduce(stream.walk((f32(0), f32(0)), differ))
            most = LARGEST["f32"] / 2  # rounding may bring the mean of the largest numbers above them
            apart = 2.0 * cl.where(abs(half) < math.inf, min(max(half, -most), most), half)
            mean, var = center + apart, cl.where(rest < math.inf, rest * share - apart * apart, rest)
        return mean, var

    def nothing(self, stream: Any) -> Any:
        """Return the statistics of no elements: None where the first are told apart at compile time."""
        if not stream.loops:
            return None
        if self.by_mma(stream):
            return cl.full((4,), 0, f32)
        squares = [f32(0)] * STRANDS
        return (f32(0), squares) if self.center else squares

    def known(self, before: Any, v: Any) -> Any:
        """Return the statistics of a thread's vectors, `before` and `v`: LayerNorm's sum, and strands of squares."""
        if not self.center:
            return strands(before, v, v)
        total, squares = (v.reduce("sum"), None) if before is None else (before[0] + v.reduce("sum"), before[1])
        return total, strands(squares, v, v)

    def all_known(self, found: Any) -> Any:
        """Return what `known` came to, with one sum of squares."""
        return (found[0], merged(found[1])) if self.center else merged(found)


def vectors_of(part: Any, some: Any) -> Any:
    """Return some vectors of a `RowPart`; None for None."""
    return None if part is None else part.of(some)


def strands(before: Any, a: Any, b: Any) -> list[Any]:
    """Return `STRANDS` sums of the products of two vectors, each a chain of multiply-adds that begins with `before`."""
    a, b, sums = a.reshape((a.n,)), b.reshape((b.n,)), list(before or ())
    for i in cl.static_range(a.n):
        if len(sums) < STRANDS:
            sums.append(a[i] * b[i])
        else:
            sums[i % STRANDS] = sums[i % STRANDS] + a[i] * b[i]
    return sums


def merged(sums: list[Any]) -> Any:
    """Add up strands, in pairs."""
    while len(sums) > 1:
        sums = [x + y for x, y in zip(sums[::2], sums[1::2], strict=False)] + sums[len(sums) & ~1 :]
    return sums[0]


def dot(a: Any, b: Any) -> Any:
    """Return the dot product of two vectors."""
    return merged(strands(None, a, b))


def add(a: Any, b: Any) -> Any:
    """Add two sums, or tuples of sums."""
    return tuple(map(add, a, b)) if isinstance(a, tuple) else a + b


def weights_of(part: Any, given: Any, arrays: Any, whole: bool) -> Any:
    """Return `RowPart` of weights and shifts: what `given` gives, or read from memory piece by piece; None for None."""
    if whole:
        return [None if each is None else each(0) for each in given]
    return [None if each is None else cl.RowPart(part, each, 0, True, alike=False) for each in arrays]


def together(part: Any, vectors: Any) -> Any:
    """Return the `RowPart` of all vectors of a thread."""
    held = cl.make_rmem_tensor(vectors[0].dtype, cl.make_layout(part.shape))
    for i in cl.static_range(part.pieces):
        held[None, i].store(vectors[i].reshape((part.vector,)))
    return cl.RowPart(part, held.load(), ends=vectors[part.pieces] if part.ends else None)


def sum_and_greatest(a: Any, b: Any) -> Any:
    """Merge two pairs of a sum and a greatest magnitude."""
    return a[0] + b[0], max(a[1], b[1])


@cache
def forward(norm: Norm, p: Plan) -> Any:
    """Make the kernel that computes y, and where they are wanted the sum with the residual, the mean and rstd."""
    dtype, n, weight, narrow = norm.dtype, norm.n, norm.weight, norm.narrow
    (P, Q, R, S), shape = p.pitches("P Q R S"), moved_shape(n, p.vector) if p.moved else (n,)

    @cl.kernel(**p.options)
    def norm_forward(
        x: Tensor[dtype, (M, n), (P, 1)],
        residual: Tensor[dtype, (M, n), (Q, 1)] | None,
        w: Tensor[weight, shape] | None,
        b: Tensor[weight, shape] | None,
        y: Tensor[norm.result, (M, n), (R, 1)],
        total: Tensor[dtype, (M, n), (S, 1)] | None,
        means: Tensor[f32, (M,)] | None,
        rstds: Tensor[f32, (M,)] | None,
        scales: Tensor[f32, (M, G), (None, None)] | None,
        counter: Tensor[i32, (1,)] | None,
        eps: f32,
    ) -> None:
        team, part = norm.team(p, arrays := (x,) if residual is None else (x, residual), (w, b))
        stream = cl.RowStream.create(part, arrays, packed=True, together=p.rows, **p.ways(y, counter))
        given, beside = [stream.hold(v, p.held, p.bulk) for v in (w, None if p.aside else b)], stream.aside(b, p.aside)
        at_once = narrow is not None and narrow.block == 1 and not norm.center and b is None
        in_pieces = p.rows > 1 or part.vector * part.pieces * (1 + norm.keeps_sums(stream)) > norm.held
        ask = (lambda _: weights_of(part, given, (w, b), True)) if at_once and p.asks else None

        def first(rows: Any, asked: Any, *held: Any) -> Any:
            early = p.held or p.aside or (stream.outside and (stream.loops or not in_pieces))  # before the reduction
            vectors = asked or (weights_of(part, given, (w, b), early or not in_pieces) if at_once else None)
            outs = [None if total is None else total[row, None] for row in rows]
            known, kept = norm.looked_at(stream, list(zip(*held, strict=True)), outs, at_once, vectors and vectors[0])
            vectors = weights_of(part, given, (w, b), True) if early and not at_once else vectors
            return known, (vectors if early else None, kept)

        def last(rows: Any, _: Any, before: Any, all: Any, *held: Any) -> None:
            vectors, kept = before
            held, kept = (held, kept) if at_once else norm.kept_sums(stream, held, kept)
            early = (BEFORE // p.rows if vectors is None else int(p.aside)) if in_pieces and not kept[0] else 0
            vectors = [vectors[0], beside(0)] if p.aside else vectors or weights_of(part, given, (w, b), not in_pieces)

            def written(row: Any, its: Any, kept: Any, held: Any) -> Written:
                known, top = its if at_once else (its, None)
                mean, var = norm.statistics(stream, known, held)
                write(team, row, (means, mean), (rstds, rstd := cl.math.rsqrt(var + eps)))
                line = norm.line(mean, rstd, len(stream.arrays) > 1)

                def result(some: Any, found: Any) -> Any:
                    v = norm.summed(*(each.of(some) for each in held))
                    return norm.weighted(v, found[0]) if at_once else norm.normed(some, v, line, *found)

                made = (lambda some, _: kept[some.start]) if kept else result
                its_scales = None if scales is None else scales[row, None]
                return Written(made, y[row, None], its_scales, top, rstd if at_once else None)

            made = list(map(written, rows, all, kept, zip(*held, strict=True)))
            write_norms(norm, stream, w, rows, made, lambda some: [vectors_of(each, some) for each in vectors], early)

        stream.each_reduced(first, last, lambda a, b: tuple(map(sum_and_greatest if at_once else add, a, b)), ask)

    return norm_forward


class Written(NamedTuple):
    """A row that is written piece by piece.

    result  ``result(some, fetch(some))`` computes some vectors of it
    y       where they go
    scales  where their scales go, if they are quantised
    top     the greatest magnitude of `result` in the row; None where it is not known
    by      a factor of the whole row that `result` and `top` are without; None: there is none
    """

    result: Any
    y: Any
    scales: Any
    top: Any
    by: Any


def write_norms(norm: Norm, stream: Any, weight: Any, rows: Any, made: list[Written], fetch: Any, early: int) -> None:
    """Write rows as `write_pieces` does; those whose weighted elements are beyond f32 are read again, normed first."""
    part = stream.part

    def anew(row: Any, its: Written) -> Written:
        alike = stream.like is None
        given = [cl.RowPart(part, each[row, None], 0, True, alike=alike) for each in stream.arrays]
        weights = None if weight is None else cl.RowPart(part, weight, 0, True, alike=False)
        line = norm.line(0.0, its.by, True)

        def result(some: Any, _: Any) -> Any:
            v = norm.summed(*(each.of(some) for each in given))
            return norm.normed(some, v, line, vectors_of(weights, some), None)

        return its._replace(result=result, top=None, by=None)

    def in_memory(state: Any, step: Any, last: bool = False) -> Any:
        return part.walk(state, step, loop=True)

    if made[0].by is not None and max([each.top for each in made]) == math.inf:
        made = [anew(*each) for each in zip(rows, made, strict=True)]
        write_pieces(part, in_memory, norm.narrow, made, lambda _: None, 0)
    else:
        write_pieces(part, stream.walk, norm.narrow, made, fetch, early)


def write_pieces(part: Any, walk: Any, narrow: Narrow | None, rows: list[Written], fetch: Any, early: int) -> None:
    """Write rows and their scales piece by piece.

    walk   goes through the vectors of a row, for its last pass by ``last=True``
    early  pieces that are fetched before they are needed: no load moves above a store
    """
    if narrow is not None and narrow.block == 1 and rows[0].top is None:

        def look(tops: Any, some: Any) -> Any:
            found = fetch(some)
            return tuple(
                max(top, abs(some.keep(row.result(some, found))).reduce("max"))
                for top, row in zip(tops, rows, strict=True)
            )

        tops = part.team.reduce(walk((f32(0),) * len(rows), look), "max")
        rows = [row._replace(top=top) for row, top in zip(rows, tops, strict=True)]
    for row in rows if narrow is not None and narrow.block == 1 else ():
        narrow.write_scale(part.team, row.scales, row.top, row.by)  # type: ignore[union-attr]

    def write_some(coming: Any, some: Any) -> Any:
        if early and some.start + early < part.pieces:
            coming = (*coming, fetch(part.piece(some.start + early)))
        found, coming = (coming[0], coming[1:]) if coming else (fetch(some), coming)
        for row in rows:
            v = row.result(some, found)
            v = v if narrow is None else narrow.quantised(some, v, row.scales, row.top, row.by)
            some.store(v.to(row.y.dtype), row.y)
        return coming

    walk(tuple(fetch(part.piece(i)) for i in range(min(early, part.pieces))), write_some, last=True)


def write(team: Any, row: Any, *numbers: Any) -> None:
    """Write numbers of a row, pairs of a tensor or None and what goes there: one thread of the team."""
    if team.lane == 0 and team.rank == 0:
        for out, number in numbers:
            if out is not None:
                out[row] = number
