"""Cross entropy of rows of logits and their targets, and its derivative.

    loss = lse - (1 - smoothing) * x[target] - smoothing * mean(x) + z * lse * lse        lse = log(sum(exp(x)))

Rows whose target is `ignore` have a loss and a gradient of 0. A row is read once, also where both are computed
together, and the only array of the size of the logits that is written is the gradient.
"""

import math
from dataclasses import replace
from functools import cache, partial
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32, i64
from cutelite.kernels.arguments import (
    Arguments,
    as_number,
    check_given_apart,
    in_words_of_caller,
    is_array,
    results,
    underived,
)
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.planning import planned, planned_alone
from cutelite.kernels.rows.arrays import Access, Rows, derived, flat
from cutelite.kernels.rows.loss import Loss, Target
from cutelite.kernels.rows.plan import WAYS, Plan
from cutelite.kernels.rows.plans import even, plan_apart, plan_fold, plan_fold_ends, plan_light, plan_loss
from cutelite.kernels.rows.softmax import AT_ONCE, KEPT, power
from cutelite.lib.row_words import widened
from cutelite.tuples import NamedTuple

M = cl.dims("M")  # rows
TOGETHER = 4  # vectors that a thread reads together
LOADED = 5  # vectors of a thread that are all loaded before the first is needed
FAR = {2: 1024.0, 4: 4.0}  # by the bytes of a logit: lse above which half an ulp of it counts


@cache
def forward(loss: Loss, p: Plan) -> Any:
    """Make the kernel that computes each row's loss and lse. It keeps no row in registers, only sums."""
    dtype, n, folding = loss.dtype, loss.n, loss.folding
    (P,) = p.pitches("P")

    @cl.kernel(**p.options)
    def cross_entropy(
        x: Tensor[dtype, (M, n), (P, 1)],
        targets: Tensor[i64, (M,)],
        losses: Tensor[f32, (M,)],
        lses: Tensor[f32, (M,)],
    ) -> None:
        team, part = p.team(n, x)
        start, more = folding.start, folding.more
        first = team.lane == 0 and team.rank == 0

        def logit(row: Any, target: Any) -> Any:
            wanted = f32(0)
            if first and target >= 0 and target < n:
                wanted = x[row, target].to(f32)
            return wanted

        def finish(row: Any, target: Any, wanted: Any, mine: Any) -> None:
            known = folding.known(team.reduce(mine, folding.combine))
            if first:
                lse = known.all.top + cl.math.log(known.all.total)
                losses[row] = loss.value(target, wanted, known, lse)
                lses[row] = lse

        if p.ahead is not None or p.early:
            stream = cl.RowStream.create(part, (x,), early=p.early, ahead=p.ahead, fill=-math.inf)

            def work(row: Any, target: Any, held: Any) -> None:
                wanted = logit(row, target)
                mine = stream.walk(start, lambda known, some: more(known, held.of(some), some), last=True, pieces=4)
                finish(row, target, wanted, mine)

            stream.each(work, lambda row: targets[row])
        else:
            row = team.number()
            if team.teams == 1 or row < M:
                target = targets[row]
                part.turn_to(x[row, None], row == 0, row == M - 1)
                if part.pieces <= LOADED:  # load the target's logit while working on the row
                    stream = cl.RowStream.create(part, (x,), fill=-math.inf, packed=True)
                    (held,) = stream.parts(row)
                    wanted = logit(row, target)
                    mine = stream.walk(start, lambda known, some: folding.taken(known, held, some), pieces=2)
                else:
                    mine = part.fold(x[row, None], start, more, pieces=TOGETHER, fill=-math.inf, alone=True)
                    wanted = logit(row, target)
                team.ready()
                finish(row, target, wanted, mine)

    return cross_entropy


@cache
def backward(loss: Loss, p: Plan, apart: bool) -> Any:
    """Make the kernel that computes dx from the logits, lse, and the gradient of each row's loss.

    Far from zero, exp(x - lse) is off by what rounded lse: there the sum of a row's corrects it.

    apart  the blocks that share a row are no cluster: far from zero each reads the whole row
    """
    dtype, n, exact = loss.dtype, loss.n, loss.dtype == f32
    P, Q = p.pitches("P Q")

    @cl.kernel(**(replace(p, cluster=1) if apart else p).options)
    def cross_entropy_backward(
        x: Tensor[dtype, (M, n), (P, 1)],
        targets: Tensor[i64, (M,)],
        lses: Tensor[f32, (M,)],
        gradients: Tensor[f32, (M,)],
        dx: Tensor[dtype, (M, n), (Q, 1)],
    ) -> None:
        team, part = p.team(n, x, apart=apart)
        whole = replace(part, team=replace(team, cluster=1, rank=0)) if apart else part
        stream = cl.RowStream.create(part, (x,), **p.ways(dx, None))

        def work(row: Any, asked: Any, held: Any) -> None:
            target, lse, gradient = asked
            its = Target.of(part, target)
            wanted, share = its.logit(x[row, None]), f32(1)
            if not loss.part and abs(lse) > FAR[dtype.bytes]:

                def add(total: Any, v: Any, some: Any) -> Any:
                    return total + some.keep(power(widened(v) - lse, exact)).reduce("sum")

                total = whole.fold(x[row, None], f32(0), add, pieces=1, alike=p.alike, alone=True)  # few registers
                share = 1.0 / whole.team.reduce(total)
            scale, less = loss.scales(target, gradient, lse)
            scale = scale * share

            def write(_: Any, some: Any) -> None:
                some.store((power(widened(held.of(some)) - lse, exact) * scale - less).to(dtype), dx[row, None])

            stream.walk(None, write, last=True)
            its.write(loss.marked(target, gradient, power(wanted.to(f32) - lse, exact) * scale - less), dx[row, None])

        stream.each(work, ask=lambda row: (targets[row], lses[row], gradients[row]))

    return cross_entropy_backward


@cache
def both(loss: Loss, p: Plan) -> Any:
    """Make the kernel that computes each row's loss and lse, and dx, from one reading of the row."""
    dtype, n, exact, folding = loss.dtype, loss.n, loss.dtype == f32, loss.folding
    P, Q = p.pitches("P Q")

    @cl.kernel(**p.options)
    def cross_entropy_gradient(
        x: Tensor[dtype, (M, n), (P, 1)],
        targets: Tensor[i64, (M,)],
        gradients: Tensor[f32, (M,)],
        losses: Tensor[f32, (M,)],
        lses: Tensor[f32, (M,)],
        dx: Tensor[dtype, (M, n), (Q, 1)],
        counter: Tensor[i32, (1,)] | None,
    ) -> None:
        _team, part = p.team(n, x)
        keeps = not p.loops and part.vector * part.pieces <= KEPT
        stream = cl.RowStream.create(part, (x,), fill=-math.inf, once=keeps, **p.ways(dx, counter))

        def ask(row: Any) -> Any:
            if not stream.many and cl.thread_idx.x == 0:  # ptxas loads them only when the row has come
                cl.prefetch(targets, row)
                cl.prefetch(gradients, row)
            return targets[row], gradients[row]

        def first(row: Any, asked: Any, held: Any) -> Any:
            if keeps:
                sums, e = folding.whole(part, stream.all_of(held))
            else:
                pieces = max(1, AT_ONCE // part.vector)
                more = lambda known, some: folding.more(known, held.of(some), some)  # noqa: E731
                sums, e = stream.walk(folding.start, more, pieces=pieces), None
            return sums, e

        def last(row: Any, asked: Any, e: Any, sums: Any, held: Any) -> None:
            (target, gradient), known = asked, folding.known(sums)
            its, top = Target.of(part, target), known.all.top
            wanted = its.logit(x[row, None])  # before its thread writes dx, which may be x
            lse = top + cl.math.log(known.all.total)
            scale, less = loss.scales(target, gradient, lse)
            scale = scale / known.all.total
            if keeps:
                factor = power(e.top - top, exact) * scale
                part.store_all([(each * factor - less).to(dtype) for each in e.all], dx[row, None])
            else:

                def write(_: Any, some: Any) -> None:
                    some.store((power(widened(held.of(some)) - top, exact) * scale - less).to(dtype), dx[row, None])

                stream.walk(None, write, last=True)
            wanted = wanted.to(f32)
            if its.mine:
                losses[row] = loss.value(target, wanted, known, lse)
                lses[row] = lse
            its.write(loss.marked(target, gradient, power(wanted - top, exact) * scale - less), dx[row, None])

        stream.each_reduced(first, last, folding.combine, ask)

    return cross_entropy_gradient


class Losses(NamedTuple):
    """Each row's loss and log of the sum of exponentials, (...), f32."""

    loss: Any
    lse: Any


@planned
@in_words_of_caller
def cross_entropy(
    x: Any, target: Any, *, smoothing: float = 0.0, z: float = 0.0, ignore: int = -100, out: Any = None,
    how: Plan | None = None,
) -> Losses:  # fmt: skip
    """Compute the cross entropy of each row of logits; neither summed nor averaged.

    x          (..., n), bf16, f16 or f32
    target     (...), int64, from 0 to n - 1, or `ignore`; any other number stands for a column whose logit is 0
    smoothing  label smoothing, 0 to 1
    z          the weight of lse squared
    out        two arrays to write to, f32 without gaps; by default new ones
    how        the `Plan`: which threads work on a row; default: by its length
    Gives      `Losses`
    Errors     `cl.ArgumentError` for arrays that do not fit
    """
    if (made := derived(x, target, out=out)) is not None:
        return Losses(*made.cross_entropy(x, target, *numbers_of(smoothing, z), ignore))
    rows = Rows(x, "x")
    targets = targets_of(rows, target)
    leading = tuple(x.shape[:-1])
    loss, lse = results(out, {"losses": (leading, "f32"), "sums": (leading, "f32")}, x=x, target=target)
    if not rows.n:
        return of_no_logits(loss, lse, target, ignore)
    p = Access.of([rows]).plan(how, plan_fold, ends=plan_fold_ends, any_size=True).only("early", "ahead")
    kernel = forward(loss_of(rows, smoothing, z, ignore), p)
    kernel[p.launch(rows)](rows.matrix, targets, loss.reshape((rows.m,)), lse.reshape((rows.m,)))
    return Losses(loss, lse)


@planned
@underived()
def cross_entropy_backward(
    gradient: Any,
    x: Any,
    target: Any,
    lse: Any,
    *,
    smoothing: float = 0.0,
    z: float = 0.0,
    ignore: int = -100,
    part: bool = False,
    out: Any = None,
    how: Plan | None = None,
) -> Any:
    """Compute the gradient of the logits.

    gradient  (...), f32: the gradient of each row's loss
    lse       (...), f32, as `cross_entropy` returned it
    part      x has a part of each row's logits, and lse is of all: a target from outside of it is -1
    out       where to write; may be x
    x, target, smoothing, z, ignore, how  as for `cross_entropy`
    Errors    `cl.ArgumentError` for arrays that do not fit
    """
    if (made := derived(gradient, x, target, lse, out=out)) is not None:
        return made.cross_entropy_backward(gradient, x, target, lse, *numbers_of(smoothing, z), ignore, part)
    rows = Rows(x, "x")
    targets = targets_of(rows, target)
    for name, each in (("lse", lse), ("gradient", gradient)):
        Arguments().array(name, each, "f32", tuple(x.shape[:-1]))
    given, out = out, empty(x, tuple(x.shape)) if out is None else out
    results = Rows(out, "out", written=True).like(rows, "out").over("out", x=rows)
    check_given_apart(given, gradient=gradient, target=target, lse=lse)
    if not rows.n:
        return out
    # not where blocks would read again what others have written, nor where many rows are far from zero
    apart = part or (rows.dtype.bytes == 2 and rows.view.pointer != results.view.pointer)
    apart = apart and (how is not None or not even(rows.n))
    p = Access.of([rows], [results]).plan(how, plan_apart if apart else plan_light, any_size=not apart)
    kernel = backward(replace(loss_of(rows, smoothing, z, ignore), part=part), p.only("ahead"), apart)
    vectors = [flat(each, rows.m) for each in (lse, gradient)]
    kernel[p.launch(rows)](rows.matrix, targets, *vectors, results.matrix)
    return out


@planned_alone()
def cross_entropy_gradient(
    gradient: Any, x: Any, target: Any, *, smoothing: float = 0.0, z: float = 0.0, ignore: int = -100, out: Any,
    how: Plan | None = None,
) -> Losses:  # fmt: skip
    """Compute each row's loss and the gradient of the logits, as `cross_entropy` and its backward; read x once.

    out     the gradient of the logits is written here; may be x
    Errors  `cl.ArgumentError` for arrays that do not fit
    """
    rows = Rows(x, "x")
    targets = targets_of(rows, target)
    results = Rows(out, "out", written=True).like(rows, "out").over("out", x=rows)
    Arguments().array("gradient", gradient, "f32", tuple(x.shape[:-1]))
    check_given_apart(out, gradient=gradient, target=target)
    loss, lse = (empty(x, tuple(x.shape[:-1]), "f32") for _ in range(2))
    if not rows.n:
        return of_no_logits(loss, lse, target, ignore)
    access = Access.of([rows], [results])
    p = access.plan(how, partial(rows.planned, plan_loss)).only(*WAYS)
    given = (flat(each, rows.m) for each in (gradient, loss, lse))
    both(loss_of(rows, smoothing, z, ignore), p)[p.launch(rows)](
        rows.matrix, targets, *given, results.matrix, p.counter(rows)
    )
    return Losses(loss, lse)


def of_no_logits(loss: Any, lse: Any, target: Any, ignore: int) -> Losses:
    """Write the losses of rows of no logits: the sum of no exponentials is 0."""
    lse[...] = -math.inf
    loss[...] = -math.inf
    loss[target == ignore] = 0.0
    return Losses(loss, lse)


def loss_of(rows: Rows, smoothing: float, z: float, ignore: int) -> Loss:
    """Return the loss that kernels are made for. Errors: `cl.ArgumentError` for numbers that do not fit."""
    ignore = as_number("ignore", ignore, whole=True, least=-(2**63), most=2**63 - 1)
    return Loss(rows.dtype, rows.n, *numbers_of(smoothing, z), ignore)


def numbers_of(smoothing: float, z: float) -> tuple[float, float]:
    """Return both numbers as Python's. Errors: `Misfit` for those that do not fit."""
    return as_number("smoothing", smoothing, least=0, most=1), as_number("z", z)


def targets_of(rows: Rows, target: Any) -> Any:
    """Return the targets as a vector."""
    is_array("target", target)
    if code_of(target) != "i64" or tuple(target.shape) != rows.shape[:-1]:
        raise cl.ArgumentError(
            f"target is {target.dtype} of shape {tuple(target.shape)}; int64 of shape {rows.shape[:-1]} is needed"
        )
    return flat(target, rows.m)
