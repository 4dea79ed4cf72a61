"""RMSNorm and LayerNorm over rows, after adding a residual where there is one, and their derivatives.

    s = x + residual        y = (s - mean) * rstd * (offset + weight) + bias        rstd = 1 / sqrt(var + eps)

RMSNorm has no mean: its var is the mean of s * s. LayerNorm's comes from the sums of s and s * s, and where the mean is
large from a second pass.
The derivative keeps the sums of weights' gradients in registers for all rows of a team, and a second kernel
adds up what the teams have, always in the same order.
"""

# mypy: disable-error-code="valid-type, attr-defined, index, operator, arg-type, union-attr, misc, name-defined"
# (kernels here are made for a dtype and a length, which annotations cannot express for a type checker)

import math
from functools import cache
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.kernels.arguments import as_number, instance, results, underived
from cutelite.kernels.arrays import empty
from cutelite.kernels.rows.arrays import RESULTS, Rows, as_vector, derived
from cutelite.kernels.rows.narrow import LONG, Narrow
from cutelite.kernels.rows.plan import (
    ACCESS,
    WARP,
    Plan,
    after,
    follow,
    pitches,
    plan_narrow,
    plan_norm,
    plan_residual,
    plan_sums,
)
from cutelite.lib.rows import widened
from cutelite.lib.warp_sums import own_sums, warp_sums
from cutelite.records import dataclass

M, N = cl.dims("M N")  # rows, columns
G = cl.Dim("G", min=0)  # sums of teams: none where there are no rows
BEFORE = 2  # vectors of weights that are read before they are needed, where there are more than
HELD = 32  # elements that a thread reads at once
KEPT = 64  # weighted elements of a thread that registers keep until their row's greatest is known
AT_ONCE = 16  # elements of a thread whose statistics are found together
MOST_MEAN = {2: 4.0, 4: 0.5}  # mean^2 / variance up to which sums of squares give the variance, by bytes of an element
STRANDS = 4  # independent partial sums of `dot`


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
    def weighs_twice(self) -> bool:
        """Tell whether weights count for a row's greatest magnitude, which is found with its sum of squares."""
        return self.narrow is not None and self.narrow.block == 1 and not self.center and self.dtype.bytes == 2

    def team(self, p: Plan) -> tuple[cl.Team, cl.RowPartition]:
        """The team of this thread, and its part of a row."""
        again = p.rows if self.center else 0  # a row that is gone through again is reduced again
        return p.team(self.n, 1 + again) if self.narrow is None else p.team(self.n, 2 + again, self.narrow.block)

    def summed(self, held: Any, *residual: Any) -> Any:
        """Return the elements to be normed: those loaded, plus the residual if there is one."""
        return widened(held) + widened(residual[0]) if residual else widened(held)

    def weighted(self, v: Any, weights: Any) -> Any:
        """Return elements times their weights; as they are where these are None."""
        return v if weights is None else v * self.factors(weights)

    def normed(self, v: Any, mean: Any, rstd: Any, weights: Any, shifts: Any) -> Any:
        """Return the norm of elements, by their weights and shifts, or None."""
        v = (v - mean) * rstd if self.center else v * rstd
        v = v if weights is None else v * self.factors(weights)
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
        return tuple(each[:2] if at_once else each[0] for each in found), kept

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

            def differ(sums: Any, some: Any) -> Any:
                v = some.keep(self.summed(*(each.of(some) for each in held)) - mean)
                return sums[0] + v.reduce("sum"), sums[1] + dot(v, v)

            apart, rest = stream.part.team.reduce(stream.walk((f32(0), f32(0)), differ))
            apart = apart * share
            mean, var = mean + apart, rest * share - apart * apart
        return mean, var

    def nothing(self, stream: Any) -> Any:
        """Return the statistics of no elements: None where the first are told apart at compile time."""
        if not stream.loops:
            return None
        if self.by_mma(stream):
            return cl.full((4,), 0, f32)
        return (f32(0), f32(0)) if self.center else f32(0)

    def known(self, before: Any, v: Any) -> Any:
        """Return the statistics of a thread's vectors, `before` and `v`: LayerNorm's sum, and the sum of squares."""
        squares = (v * v).reduce("sum")
        found = (v.reduce("sum"), squares) if self.center else squares
        return found if before is None else add(before, found)


def vectors_of(part: Any, some: Any) -> Any:
    """Return some vectors of a `RowPart`; None for None."""
    return None if part is None else part.of(some)


def dot(a: Any, b: Any) -> Any:
    """Return the dot product of two vectors, in `STRANDS` independent chains of multiply-adds."""
    a, b = a.reshape((a.n,)), b.reshape((b.n,))
    strands = [a[i] * b[i] for i in range(min(STRANDS, a.n))]
    for i in cl.static_range(STRANDS, a.n):
        strands[i % STRANDS] = strands[i % STRANDS] + a[i] * b[i]
    while len(strands) > 1:
        strands = [x + y for x, y in zip(strands[::2], strands[1::2], strict=True)]
    return strands[0]


def add(a: Any, b: Any) -> Any:
    """Add two sums, or tuples of sums."""
    return tuple(map(add, a, b)) if isinstance(a, tuple) else a + b


def weights_of(part: Any, given: Any, arrays: Any, whole: bool) -> Any:
    """Return `RowPart` of weights and shifts: what `given` gives, or read from memory piece by piece; None for None."""
    if whole:
        return [None if each is None else each(0) for each in given]
    return [None if each is None else cl.RowPart(part, each, 0, True) for each in arrays]


def by_piece(kept: Any) -> Any:
    """Return the function that gives vectors that registers keep, as `Written.result` does."""
    return lambda some, _: kept[some.start]


def together(part: Any, vectors: Any) -> Any:
    """Return the `RowPart` of all vectors of a thread."""
    held = cl.make_rmem_tensor(vectors[0].dtype, cl.make_layout(part.shape))
    for i in cl.static_range(part.pieces):
        held[None, i].store(vectors[i].reshape((part.vector,)))
    return cl.RowPart(part, held.load())


def by_row(held: Any) -> list[Any]:
    """Return for each row what is held of it, of what is held of each array: of its rows."""
    return list(zip(*held, strict=True))


def sum_and_greatest(a: Any, b: Any) -> Any:
    """Merge two pairs of a sum and a greatest magnitude."""
    return a[0] + b[0], max(a[1], b[1])


@cache
def forward(norm: Norm, p: Plan) -> Any:
    """Make the kernel that computes y, and where they are wanted the sum with the residual, the mean and rstd."""
    dtype, n, weight, narrow = norm.dtype, norm.n, norm.weight, norm.narrow
    P, Q, R, S = p.pitches("P Q R S")

    @cl.kernel(**p.options)
    def norm_forward(
        x: Tensor[dtype, (M, n), (P, 1)],
        residual: Tensor[dtype, (M, n), (Q, 1)] | None,
        w: Tensor[weight, (n,)] | None,
        b: Tensor[weight, (n,)] | None,
        y: Tensor[norm.result, (M, n), (R, 1)],
        total: Tensor[dtype, (M, n), (S, 1)] | None,
        means: Tensor[f32, (M,)] | None,
        rstds: Tensor[f32, (M,)] | None,
        scales: Tensor[f32, (M, G), (None, None)] | None,
        counter: Tensor[i32, (1,)] | None,
        eps: f32,
    ) -> None:
        team, part = norm.team(p)
        arrays = (x,) if residual is None else (x, residual)
        stream = cl.RowStream.create(part, arrays, packed=True, together=p.rows, counter=counter, **p.stream)
        given = [None if each is None else stream.hold(each, p.held) for each in (w, b)]
        at_once = narrow is not None and narrow.block == 1 and not norm.center and b is None
        in_pieces = p.rows > 1 or part.vector * part.pieces * (1 + norm.keeps_sums(stream)) > HELD

        def first(rows: Any, _: Any, *held: Any) -> Any:
            early = p.held or (stream.outside and (stream.loops or not in_pieces))  # under way during the reduction
            vectors = weights_of(part, given, (w, b), early or not in_pieces) if at_once else None
            outs = [None if total is None else total[row, None] for row in rows]
            known, kept = norm.looked_at(stream, by_row(held), outs, at_once, vectors[0] if at_once else None)
            if early and not at_once:
                vectors = weights_of(part, given, (w, b), True)
            return known, (vectors if early else None, kept)

        def last(rows: Any, _: Any, before: Any, all: Any, *held: Any) -> None:
            vectors, kept = before
            held, kept = (held, kept) if at_once else norm.kept_sums(stream, held, kept)
            early = BEFORE // p.rows if vectors is None and in_pieces and not kept[0] else 0
            vectors = weights_of(part, given, (w, b), not in_pieces) if vectors is None else vectors

            def written(row: Any, its: Any, kept: Any, held: Any) -> Written:
                known, top = its if at_once else (its, None)
                mean, var = norm.statistics(stream, known, held)
                rstd = cl.math.rsqrt(var + eps)
                write(team, row, (means, mean), (rstds, rstd))

                def result(some: Any, found: Any) -> Any:
                    v = norm.summed(*(each.of(some) for each in held))
                    return norm.weighted(v, found[0]) if at_once else norm.normed(v, mean, rstd, *found)

                out = None if scales is None else scales[row, None]
                return Written(by_piece(kept) if kept else result, y[row, None], out, top, rstd if at_once else None)

            made = [written(*each) for each in zip(rows, all, kept, by_row(held), strict=True)]
            write_pieces(stream, narrow, made, lambda some: [vectors_of(each, some) for each in vectors], early)

        stream.each_reduced(first, last, lambda a, b: tuple(map(sum_and_greatest if at_once else add, a, b)))

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


def write_pieces(stream: Any, narrow: Narrow | None, rows: list[Written], fetch: Any, early: int) -> None:
    """Write rows and their scales piece by piece.

    early  pieces that are fetched before they are needed: no load moves above a store
    """
    part = stream.part
    if narrow is not None and narrow.block == 1 and rows[0].top is None:

        def look(tops: Any, some: Any) -> Any:
            found = fetch(some)
            return tuple(
                max(top, abs(some.keep(row.result(some, found))).reduce("max"))
                for top, row in zip(tops, rows, strict=True)
            )

        tops = part.team.reduce(stream.walk((f32(0),) * len(rows), look), "max")
        rows = [row._replace(top=top) for row, top in zip(rows, tops, strict=True)]

    def write_some(coming: Any, some: Any) -> Any:
        if early and some.start + early < part.pieces:
            coming = (*coming, fetch(part.piece(some.start + early)))
        found, coming = (coming[0], coming[1:]) if early else (fetch(some), coming)
        for row in rows:
            v = row.result(some, found)
            v = v if narrow is None else narrow.quantised(some, v, row.scales, row.top, row.by)
            some.store(v.to(row.y.dtype), row.y)
        return coming

    stream.walk(tuple(fetch(part.piece(i)) for i in range(min(early, part.pieces))), write_some, last=True)


class Sums(NamedTuple):
    """Sums over a row for its derivative: of g and of g * xhat, where g is dy * (offset + weight)."""

    plain: f32
    product: f32


@cache
def backward(norm: Norm, p: Plan) -> Any:
    """Make the kernel that gives dx, and of each team the sums over its rows of dy * xhat and of dy.

    It works piece by piece: xhat and g of a whole row would not fit into registers beside the sums.
    """
    dtype, n, weight = norm.dtype, norm.n, norm.weight
    P, Q, R, S = pitches("P Q R S", p.vector)

    @cl.kernel(**p.options)
    def norm_backward(
        dy: Tensor[dtype, (M, n), (P, 1)],
        s: Tensor[dtype, (M, n), (Q, 1)],
        w: Tensor[weight, (n,)] | None,
        means: Tensor[f32, (M,)] | None,
        rstds: Tensor[f32, (M,)],
        add: Tensor[dtype, (M, n), (S, 1)] | None,
        dx: Tensor[dtype, (M, n), (R, 1)],
        dw: Tensor[f32, (G, n)] | None,
        db: Tensor[f32, (G, n)] | None,
    ) -> None:
        follow()
        team = cl.Team.create(p.threads, cluster=p.cluster)
        part = cl.RowPartition(team, n, p.vector)
        dws = None if dw is None else part_sums(part, p.shared_sums > 0)
        dbs = None if db is None else part_sums(part, p.shared_sums > (dw is not None))
        arrays = (dy, s) if add is None or p.ahead is None else (dy, s, add)
        stream = cl.RowStream.create(part, arrays, many=True, **p.stream)
        scale = None if w is None else stream.hold(w)(0) if piecewise(stream) else cl.RowPart(part, part.load(w))

        def parts_of(some: Any, asked: Any, gs: Any, xs: Any) -> Any:
            g, xhat = widened(gs.of(some)), (widened(xs.of(some)) - asked[1]) * asked[0]
            return g, norm.weighted(g, vectors_of(scale, some)), xhat

        def first(row: Any, asked: Any, gs: Any, xs: Any, *_: Any) -> Any:
            def look(sums: Sums, some: Any) -> Sums:
                d, g, xhat = parts_of(some, asked, gs, xs)
                add_to(dws, some.start, d * xhat)
                add_to(dbs, some.start, d)
                return Sums(sums.plain + g.reduce("sum"), sums.product + dot(g, xhat))

            sums = stream.walk(Sums(f32(0), f32(0)), look, pieces=1)
            return sums, None if add is None or not p.stages else part.load(add[row, None])

        def last(row: Any, asked: Any, more: Any, sums: Sums, gs: Any, xs: Any, *adds: Any) -> None:
            inner, outer = sums.product * (1.0 / n), sums.plain * (1.0 / n)

            def gradient(some: Any, more: Any) -> Any:
                _, g, xhat = parts_of(some, asked, gs, xs)
                d = ((g - outer if norm.center else g) - xhat * inner) * asked[0]
                return (d if add is None else d + widened(more.of(some))).to(dtype)

            store_row(stream, gradient, adds[0] if adds else added(stream, add, row, more), dx[row, None])

        stream.each_reduced(first, last, ask=lambda row: (rstds[row], f32(0) if means is None else means[row]))
        write_sums(part, (dws, dw), (dbs, db))

    return norm_backward


def added(stream: Any, add: Any, row: Any, loaded: Any) -> Any:
    """Return the thread's part of a row of what is added to the gradient, or None; `loaded` is it already, or None."""
    if add is None:
        return None
    if stream.loops:
        return cl.RowPart(stream.part, add[row, None], 0, True)
    return cl.RowPart(stream.part, stream.part.load(add[row, None]) if loaded is None else loaded)


def piecewise(stream: Any) -> bool:
    """Tell whether rows are worked on a few vectors at a time, so that nothing of a row is in registers."""
    return stream.loops or stream.ahead is not None


def store_row(stream: Any, gradient: Any, more: Any, out: Any) -> None:
    """Store a row that `gradient` computes of some vectors and `more`: together where registers hold them.

    No load moves above a store.
    """
    part = stream.part
    if piecewise(stream):
        stream.walk(None, lambda _, some: some.store(gradient(some, more), out), last=True)
        return
    held = cl.make_rmem_tensor(out.dtype, cl.make_layout(part.shape))
    for i in cl.static_range(part.pieces):
        held[None, i].store(gradient(part.piece(i), more).reshape((part.vector,)))
    part.store(held.load(), out)


@cache
def of_columns(norm: Norm, vector: int) -> Any:
    """Make the kernel that gives the sums of dy * xhat and of dy over every Gth row: for rows that no team can hold."""
    dtype, wide = norm.dtype, ACCESS // norm.dtype.bytes
    P, Q = pitches("P Q", vector)

    @cl.kernel(block=SUMMING)
    def norm_columns(
        dy: Tensor[dtype, (M, N), (P, 1)],
        s: Tensor[dtype, (M, N), (Q, 1)],
        means: Tensor[f32, (M,)] | None,
        rstds: Tensor[f32, (M,)],
        dw: Tensor[f32, (G, N)] | None,
        db: Tensor[f32, (G, N)] | None,
    ) -> None:
        follow()
        tile = cl.RowTile(cl.block_idx.x * SUMMING * wide, N, wide, 1)
        products, plain = cl.full(tile.shape, 0, f32), cl.full(tile.shape, 0, f32)
        for row in range(cl.block_idx.y, M, cl.grid_dim.y):
            d, mean = tile.load(dy[row, None]).to(f32), f32(0) if means is None else means[row]
            xhat = (tile.load(s[row, None]).to(f32) - mean) * rstds[row]
            products, plain = products + d * xhat, plain + d
        for sums, out in ((products, dw), (plain, db)):
            if out is not None:
                tile.store(sums, out[cl.block_idx.y, None])

    return norm_columns


def write(team: Any, row: Any, *numbers: Any) -> None:
    """Write numbers of a row, pairs of a tensor or None and what goes there: one thread of the team."""
    if team.lane == 0 and team.rank == 0:
        for out, number in numbers:
            if out is not None:
                out[row] = number


def add_to(sums: Any, number: int, v: Any) -> None:
    """Add a vector of this number to a thread's sums, unless they are None."""
    if sums is not None:
        place = sums[None, number, 0]
        place.store(place.load() + v.reshape((v.n,)))


def part_sums(part: Any, in_shared: bool) -> Any:
    """Zeros for a thread's part of a row, in registers or in shared memory, where no two threads meet in a bank.

    Of shape (vector, pieces, teams): the last mode goes from this team to those behind it in shared memory.
    """
    width, team = min(part.vector, 4), part.team
    if in_shared:
        rest, each = part.vector // width, width * team.threads
        size = each * rest * part.pieces
        layout = cl.make_layout(((width, rest), part.pieces, team.teams), stride=((1, each), each * rest, size))
        whole = cl.shared(f32, (size * team.teams,), align=16)
        sums = cl.domain_offset((team.index * size + team.lane * width,), whole).view(layout)
    else:
        sums = cl.make_rmem_tensor(f32, cl.make_layout((part.vector, part.pieces, 1)))
    cl.clear(sums[None, None, 0])
    return sums


def write_sums(part: Any, *pairs: Any) -> None:
    """Write sums over rows to the matrices that they go to: of all teams of a block together, added up in order.

    pairs  of `part_sums` and a matrix; None and None for what is not wanted
    """
    team = part.team
    wanted = [
        (sums if team.teams == 1 else in_shared_memory(part, sums), out) for sums, out in pairs if out is not None
    ]
    if team.teams > 1:
        cl.syncthreads()
    if team.teams == 1 or team.index == 0:
        for sums, out in wanted:
            total = sums[None, None, 0].load()
            for i in cl.static_range(1, team.teams):
                total = total + sums[None, None, i].load()
            part.store(total, out[team.number() // team.teams, None])


def in_shared_memory(part: Any, sums: Any) -> Any:
    """Return `part_sums` in shared memory: those given, or a copy of those in registers."""
    if sums.space == "smem":
        return sums
    place = part_sums(part, True)
    place[None, None, 0].store(sums[None, None, 0].load())
    return place


ADDING, WIDTHS = 256, (256, 128, 64, 32, 16, 8)  # threads of a block that adds up columns; columns of one
UNDER_WAY = 16  # loads of a thread under way together
SUMMING, GROUPS = 256, 64  # threads of a block that sums columns of long rows; parts of the rows


@cache
def add_up(dtype: Any, columns: int) -> Any:
    """Make the kernel that adds up the rows of one or two f32 matrices: a block for `columns` of one, side by side."""
    step = ADDING // columns  # rows at a time

    @cl.kernel(block=ADDING)
    def column_sums(
        parts: Tensor[f32, (G, N)],
        out: Tensor[dtype, (N,)],
        more: Tensor[f32, (G, N)] | None,
        other: Tensor[dtype, (N,)] | None,
    ) -> None:
        follow()
        mine, at = cl.thread_idx.x // columns, cl.thread_idx.x % columns
        column, sums = cl.block_idx.x * columns + at, cl.shared(f32, (step, columns))

        def added(parts: Any, out: Any) -> None:
            total = f32(0)
            if column < N:
                for first in range(mine, G, UNDER_WAY * step):
                    found = cl.make_rmem_tensor(f32, (UNDER_WAY,))
                    for i in cl.static_range(UNDER_WAY):
                        row = first + i * step
                        found[i] = parts[row, column] if row < G else f32(0)
                    total += found.load().reduce("sum")
            sums[mine, at] = total
            cl.syncthreads()
            if mine == 0 and column < N:
                whole = f32(0)
                for i in cl.static_range(step):
                    whole += sums[i, at]
                out[column] = whole.to(dtype)

        if more is None or cl.block_idx.y == 0:
            added(parts, out)
        else:
            added(more, other)

    return column_sums


class Normed(NamedTuple):
    """Results of a norm.

    y      (..., n), of the dtype of x
    total  x + residual, likewise; x itself without a residual
    mean   (...), f32; None for RMSNorm
    rstd   (...), f32
    scale  of quantised results: (..., 1) or (..., ceil(n / 128)), f32; y times it is the norm
    """

    y: Any
    total: Any
    mean: Any
    rstd: Any
    scale: Any = None


def rms_norm(
    x: Any,
    weight: Any = None,
    *,
    residual: Any = None,
    bias: Any = None,
    eps: float = 1e-6,
    offset: float = 0.0,
    narrow: Narrow | None = None,
    out: Any = None,
    how: Plan | None = None,
) -> Normed:
    """Compute (x + residual) / sqrt(mean of squares + eps) * (offset + weight) + bias over the last mode.

    x, residual   (..., n), of one dtype: bf16, f16 or f32
    weight, bias  (n,), of one dtype
    offset        added to the weight: 1.0 where it is stored as what differs from 1
    narrow        quantise y: `Narrow()` by row, `Narrow(block=128)` by 128 elements of one
    eps           added to the mean of squares, so that a row of zeros has a result
    out           where to write y, of the shape of x, without gaps; by default a new array
    how           the `Plan`: which threads work on a row; default: by its length
    Gives         a `Normed`
    Errors        `cl.ArgumentError` for arrays that do not fit
    """
    return called(x, weight, residual, bias, eps, offset, False, how, narrow, out)


def layer_norm(
    x: Any,
    weight: Any = None,
    bias: Any = None,
    *,
    residual: Any = None,
    eps: float = 1e-5,
    offset: float = 0.0,
    narrow: Narrow | None = None,
    out: Any = None,
    how: Plan | None = None,
) -> Normed:
    """Compute (s - mean) / sqrt(var + eps) * (offset + weight) + bias of s = x + residual over the last mode.

    Arguments and results as for `rms_norm`: `narrow`, `out` and `how` too.
    """
    return called(x, weight, residual, bias, eps, offset, True, how, narrow, out)


def called(
    x: Any,
    weight: Any,
    residual: Any,
    bias: Any,
    eps: float,
    offset: float,
    center: bool,
    how: Plan | None,
    narrow: Narrow | None,
    out: Any,
) -> Normed:
    """Return what `apply` gives, or torch's operator where that has to be differentiated or traced."""
    made = derived(x, weight, residual, bias, out=out) if narrow is None else None
    if made is None:
        return apply(x, weight, residual, bias, eps, offset, center, how, narrow, out)
    y, total, mean, rstd = made.norm_forward(x, weight, bias, residual, float(eps), float(offset), center)
    return Normed(y, x if residual is None else total, mean if center else None, rstd)


def apply(
    x: Any,
    weight: Any,
    residual: Any,
    bias: Any,
    eps: float,
    offset: float,
    center: bool,
    how: Plan | None = None,
    narrow: Narrow | None = None,
    out: Any = None,
) -> Normed:
    """Launch the kernel for x."""
    rows, narrow, how = Rows(x, "x"), instance("narrow", narrow, Narrow), instance("how", how, Plan)
    offset, eps = as_number("offset", offset), as_number("eps", eps)
    more = None if residual is None else Rows(residual, "residual").like(rows, "residual")
    w, b, kind = weights(rows, weight, bias)
    norm = Norm(rows.dtype, rows.n, center, kind, offset, narrow)
    (y,) = results(out, {"y": (tuple(x.shape), norm.result.name)}, x=x, residual=residual, weight=weight, bias=bias)
    scale = None if narrow is None else narrow.scales(x)
    total = x if more is None else empty(x, tuple(x.shape))
    leading = tuple(x.shape[:-1])
    mean, rstd = empty(x, leading, "f32") if center else None, empty(x, leading, "f32")
    others = (*([] if more is None else [more]), *(Rows(each, "", kinds=RESULTS) for each in (y, total)))
    aligned = math.gcd(rows.vector, *(each.vector for each in others))
    p = how or plan_for(norm, aligned, more is not None, w is not None, b is not None)
    p = p if narrow is None else p.narrowed(aligned, narrow.block == 1 and aligned * rows.dtype.bytes == ACCESS)
    flat = [None if each is None else each.reshape((rows.m,)) for each in (mean, rstd)]
    forward(norm, p)[p.launch(rows)](
        rows.matrix,
        None if more is None else more.matrix,
        w,
        b,
        y.reshape((rows.m, rows.n)),
        None if more is None else total.reshape((rows.m, rows.n)),
        *flat,
        None if scale is None else scale.reshape((rows.m, int(scale.shape[-1]))),
        p.counter(rows),
        eps,
    )
    return Normed(y, total, mean, rstd, scale)


def plan_for(norm: Norm, aligned: int, residual: bool, weight: bool, bias: bool) -> Plan:
    """Return the plan of a norm by the length of its rows and by what it has besides.

    aligned  all arrays' rows begin at multiples of this many elements. Where results are quantised, a thread's vectors
             have 16 bytes whatever the alignment, so that blocks of 128 elements are those of whole threads
    """
    n, size, narrow = norm.n, norm.dtype.bytes, norm.narrow
    vector = aligned if narrow is None else ACCESS // size
    if residual:
        return plan_residual(n, vector, narrow is None and not norm.center and size == 2, norm.center)
    if norm.weighs_twice and not bias:
        # beyond `LONG` weights are in shared memory, as LayerNorm's are
        return plan_norm(n, vector, size, 3) if aligned == vector and n > LONG else plan_narrow(n, vector)
    return plan_norm(n, vector, size, 1 + weight + bias)


class Gradients(NamedTuple):
    """Gradients of x (and of the residual: the same), weight and bias; None for those that were not wanted."""

    x: Any
    weight: Any
    bias: Any


@underived()
def norm_backward(
    dy: Any,
    normed: Normed,
    weight: Any = None,
    *,
    bias: bool = False,
    add: Any = None,
    offset: float = 0.0,
    how: Plan | None = None,
) -> Gradients:
    """Compute the gradients of a norm.

    dy      (..., n), that of y
    normed  what the norm gave
    weight  as the norm was given it
    bias    there was one
    offset  as the norm was given it
    how     the `Plan`: which threads work on a row; default: by its length
    add     (..., n): added to the gradient of x, as that of `total` is
    """
    gradients, rows = Rows(dy, "dy"), Rows(normed.total, "total")
    gradients.like(rows, "dy")
    w, _, kind = weights(rows, weight, None)
    dx = empty(normed.total, tuple(normed.total.shape))
    more = None if add is None else Rows(add, "add").like(rows, "add")
    vector = math.gcd(
        gradients.vector, rows.vector, Rows(dx, "dx").vector, rows.vector if more is None else more.vector
    )
    inputs, sums = 2 + (more is not None), (w is not None) + bias
    p = instance("how", how, Plan) or rows.planned(plan_sums, rows.n, vector, rows.dtype.bytes, inputs, sums)
    flat = [None if each is None else each.reshape((rows.m,)) for each in (normed.mean, normed.rstd)]
    described = Norm(rows.dtype, rows.n, normed.mean is not None, kind, as_number("offset", offset))
    teams = min(rows.at_once(p.cluster, p.blocks), -(-rows.m // p.teams))
    groups = min(GROUPS, rows.m) if p.loops else teams
    dw = None if w is None else empty(dx, (groups, rows.n), "f32")
    db = empty(dx, (groups, rows.n), "f32") if bias else None
    backward(described, p)[after(teams * p.cluster, p.block)](
        gradients.matrix,
        rows.matrix,
        w,
        *flat,
        None if more is None else more.matrix,
        dx.reshape((rows.m, rows.n)),
        *((None, None) if p.loops else (dw, db)),
    )
    if p.loops and rows.m and (bias or w is not None):
        size = SUMMING * (ACCESS // rows.dtype.bytes)
        kernel = of_columns(described, math.gcd(gradients.vector, rows.vector))
        kernel[after((-(-rows.n // size), groups), SUMMING)](gradients.matrix, rows.matrix, *flat, dw, db)
    return Gradients(dx, *summed(dx if weight is None else weight, kind, dw, db))


def summed(like: Any, dtype: Any, *matrices: Any) -> list[Any]:
    """Return the sums over the first mode of two f32 matrices, in `dtype`, that of `like`; None for None."""
    given = [each for each in matrices if each is not None]
    outs = [None if each is None else empty(like, (each.shape[1],)) for each in matrices]
    if given:
        groups, n = given[0].shape
        columns = next((each for each in WIDTHS if groups * each <= UNDER_WAY * ADDING), WIDTHS[-1])
        pairs = [each for pair in zip(matrices, outs, strict=True) if pair[0] is not None for each in pair]
        launch = after((-(-n // columns), len(given)), ADDING)
        add_up(dtype, columns)[launch](*pairs, *[None] * (4 - len(pairs)))
    return outs


def weights(rows: Rows, weight: Any, bias: Any) -> tuple[Any, Any, Any]:
    """Return weight and bias as vectors of n elements, and their dtype."""
    w, b = as_vector(weight, "weight", rows.n), as_vector(bias, "bias", rows.n)
    kinds = {made[1] for made in (w, b) if made is not None}
    if len(kinds) > 1:
        raise cl.ArgumentError("weight and bias are of one dtype")
    return w and w[0], b and b[0], kinds.pop() if kinds else rows.dtype
