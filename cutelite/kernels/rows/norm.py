"""RMSNorm and LayerNorm over rows, after adding a residual where there is one, and their derivatives.

    s = x + residual        y = (s - mean) * rstd * (offset + weight) + bias        rstd = 1 / sqrt(var + eps)

Kernels are in `norm_forward.py` and `norm_backward.py`.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import cutelite as cl
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import (
    Arguments,
    as_number,
    check_underived,
    in_words_of_caller,
    instance,
    results,
    underived,
)
from cutelite.kernels.arrays import empty
from cutelite.kernels.lent import is_jax
from cutelite.kernels.planning import planned, planned_whole
from cutelite.kernels.rows.arrays import APART, RESULTS, Access, Rows, as_vector, derived, flat
from cutelite.kernels.rows.moved import moved
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.norm_backward import ADDING, GROUPS, SUMMING, UNDER_WAY, WIDTHS, add_up, backward, of_columns
from cutelite.kernels.rows.norm_forward import Norm, forward
from cutelite.kernels.rows.plan import ACCESS, LEAD, MOST_BLOCKS, WAYS, Plan, after, in_sectors
from cutelite.kernels.rows.plans import WIDE, asking, plan_narrow, plan_norm, plan_norm_ends, plan_residual
from cutelite.kernels.rows.plans_sums import plan_sums
from cutelite.lib.rows import SECTOR
from cutelite.target.targets import WARP
from cutelite.tuples import NamedTuple

MANY = 1 << 23  # elements from which on copies of weights (`Plan.moved`) save the time that they take
FEW = 12_288  # rows below which few teams keep sums over rows


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


@planned_whole()
@in_words_of_caller
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
    return called(x, weight, residual, bias, eps, offset, False, how=how, narrow=narrow, out=out)


@planned_whole()
@in_words_of_caller
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
    return called(x, weight, residual, bias, eps, offset, True, how=how, narrow=narrow, out=out)


def called(
    x: Any, weight: Any, residual: Any, bias: Any, eps: float, offset: float, center: bool, **how: Any
) -> Normed:
    """Return what `apply` gives, or torch's operator where that has to be differentiated or traced."""
    if how["narrow"] is not None:
        check_underived("narrow=", x=x, weight=weight, residual=residual, bias=bias)
    made = derived(x, weight, residual, bias, out=how["out"]) if how["narrow"] is None or is_jax(x) else None
    if made is not None and how["narrow"] is not None:
        return made.norm_narrow(x, weight, bias, residual, eps, offset, center, how["narrow"])  # type: ignore[no-any-return]
    if made is None:
        return apply(x, weight, residual, bias, eps, offset, center, **how)
    numbers = as_number("eps", eps), as_number("offset", offset)
    y, total, mean, rstd = made.norm_forward(x, weight, bias, residual, *numbers, center)
    return Normed(y, x if residual is None else total, mean if center else None, rstd)


@untraced
@planned
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
    rows, narrow = Rows(x, "x"), instance("narrow", narrow, Narrow)
    offset, eps = as_number("offset", offset), as_number("eps", eps)
    more = None if residual is None else Rows(residual, "residual").like(rows, "residual")
    w, b, kind = weights(rows, weight, bias)
    norm = Norm(rows.dtype, rows.n, center, kind, offset, narrow)
    (y,) = results(out, {"y": (tuple(x.shape), norm.result.name)}, x=x, residual=residual, weight=weight, bias=bias)
    scale = None if narrow is None else narrow.scales(x)
    total = x if more is None else empty(x, tuple(x.shape))
    leading = tuple(x.shape[:-1])
    mean, rstd = empty(x, leading, "f32") if center else None, empty(x, leading, "f32")
    if not rows.n:
        return of_nothing(Normed(y, total, mean, rstd, scale), narrow)
    made = [Rows(each, "", kinds=RESULTS) for each in ((y,) if more is None else (y, total))]
    access = Access.of([rows, more], made, narrow=narrow is not None and narrow.block > 1)
    given = more is not None, w is not None, b is not None
    ends = None if narrow is not None else partial(plan_between, norm, rows, *given)
    p = access.plan(how, lambda n, vector: plan_for(norm, rows, n, vector, access.shifted, *given), ends=ends)
    if narrow is not None:
        p = p if how else p.widened(narrow.block // p.vector)
        if narrow.block > min(p.threads, WARP) * p.vector:
            raise cl.ArgumentError(
                f"how.threads is {p.threads}, with accesses of {p.vector} elements: "
                f"no warp has a block of {narrow.block} then"
            )
        bulk = narrow.block == 1 and (p.shifted or access.aligned * rows.dtype.bytes == ACCESS)
        p = p.narrowed(access.aligned, bulk)
    flat = [None if each is None else each.reshape((rows.m,)) for each in (mean, rstd)]
    if p.moved:
        w, b = moved(p.vector, kind, w, b)
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


def of_nothing(made: Normed, narrow: Narrow | None) -> Normed:
    """Write the numbers of rows of no elements, as torch has them: a mean of 0, and the variance of nothing."""
    made.rstd[...] = math.nan
    if made.mean is not None:
        made.mean[...] = 0.0
    if narrow is not None:
        narrow.clear_scales(made.scale)
    return made


def plan_for(
    norm: Norm, rows: Rows, n: int, aligned: int, shifted: bool, residual: bool, weight: bool, bias: bool,
    ends: bool = False,
) -> Plan:  # fmt: skip
    """Return the plan of a norm by the length of its rows and by what it has besides.

    n        elements of 16 bits of a row, or of the vectors that cover it, which are aligned, where rows are `shifted`
    aligned  all arrays' rows begin at multiples of this many elements. Where results are quantised, a thread's vectors
             have 16 bytes whatever the alignment, so that blocks of 128 elements are those of whole threads
    ends     n is of whole sectors, beside which ends of rows are apart
    """
    narrow = norm.narrow
    vector = aligned if narrow is None else WIDE
    if residual:
        p = rows.planned(plan_residual, n, vector, narrow is None, norm.center)
        p = asking(p, n) if narrow is None and n > 2048 else p
        return replace(p, moved=shifted and weight + bias > 0 and not p.counted and rows.m * n >= MANY)
    even = n % vector == 0 and n % 8192 > 0
    if norm.weighs_twice and not bias and (aligned < vector or shifted or not 16_384 < n <= 65_536 or even):
        p = rows.planned(plan_narrow, n, vector, aligned == vector, shifted, norm.weight.bytes)
        p = replace(p, rows=1) if shifted else p
    else:
        kept = 3 if norm.weighs_twice and not bias else 1 + weight + bias  # weights that are read twice: as two
        wide = norm.weight.bytes > norm.dtype.bytes  # weights take registers
        given: dict[str, Any] = {"rows": kept + (wide and bias), "narrow": narrow is not None, "shifted": shifted}
        choose = partial(plan_norm_ends, light=kept <= 2) if ends else partial(plan_norm, **given)
        p = rows.planned(choose, n, vector)
        if wide and not p.counted and (bias or n > 32_768):
            p = replace(p, held=False, aside=False)
    # one vector of weights a row and block is loaded and shifted before the reduction as fast
    some = bias or (weight and (p.cluster > 1 or norm.center or narrow is not None))
    p = replace(p, moved=shifted and some and not p.taken and not (p.stages and p.held) and rows.m * n >= MANY)
    return replace(p, lead=p.lead or (LEAD if narrow is None else 1))


def plan_between(norm: Norm, rows: Rows, residual: bool, weight: bool, bias: bool, n: int, vector: int) -> Plan | None:
    """Return the plan of a norm of rows that begin anywhere, whose ends beside whole sectors go to threads one by one.

    Then no warp writes a part of a sector but with these. None: a team works on several rows, or rows stay in memory.

    n                       elements of a row that lie in whole vectors
    residual, weight, bias  whether there are such
    """
    inner = in_sectors(n, vector)
    p = plan_for(norm, rows, inner, vector, True, residual, weight, bias, ends=True).widened(2 * SECTOR * vector)
    return None if p.persistent or p.loops else replace(p, held=p.held and not p.aside, aside=False, ends=SECTOR)


class Gradients(NamedTuple):
    """Gradients of x (and of the residual: the same), weight and bias; None for those that were not wanted."""

    x: Any
    weight: Any
    bias: Any


@planned
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
    Errors  `cl.ArgumentError` for arrays that do not fit
    """
    _, total, mean, rstd, _ = instance("normed", normed, Normed, needed=True)
    if (made := derived(dy, total, weight, add)) is not None:
        dx, dw, db = made.norm_backward(dy, total, weight, mean, rstd, add, bias, as_number("offset", offset))
        return Gradients(dx, None if weight is None else dw, db if bias else None)
    gradients, rows = Rows(dy, "dy"), Rows(total, "total")
    gradients.like(rows, "dy")
    w, _, kind = weights(rows, weight, None)
    dx = empty(total, tuple(total.shape))
    more = None if add is None else Rows(add, "add").like(rows, "add")
    for name, each in (("mean", mean), ("rstd", rstd)):
        if each is not None or name == "rstd":
            Arguments().array(f"normed.{name}", each, "f32", tuple(total.shape[:-1]))
    like = dx if weight is None else weight
    if not rows.n:
        return Gradients(dx, None if w is None else empty(like, (0,)), empty(like, (0,)) if bias else None)
    p, teams = plan_of_sums(rows, (gradients, Rows(dx, "dx"), more), how, (w is not None) + bias)
    vectors = [None if each is None else flat(each, rows.m) for each in (mean, rstd)]
    described = Norm(rows.dtype, rows.n, mean is not None, kind, as_number("offset", offset))
    groups = min(GROUPS, rows.m) if p.loops else groups_of(p.kinds, rows.m, teams) if teams else 0
    dw = None if w is None else empty(dx, (groups, rows.n), "f32")
    db = empty(dx, (groups, rows.n), "f32") if bias else None
    backward(described, p)[after(teams * p.cluster, p.block)](
        gradients.matrix,
        rows.matrix,
        w,
        *vectors,
        None if more is None else more.matrix,
        dx.reshape((rows.m, rows.n)),
        *((None, None) if p.loops else (dw, db)),
    )
    if p.loops and rows.m and (bias or w is not None):
        size = SUMMING * (ACCESS // rows.dtype.bytes)
        kernel = of_columns(described, math.gcd(gradients.vector, rows.vector))
        kernel[after((-(-rows.n // size), groups), SUMMING)](gradients.matrix, rows.matrix, *vectors, dw, db)
    return Gradients(dx, *summed(like, kind, dw, db))


def plan_of_sums(rows: Rows, others: tuple[Any, ...], how: Any, sums: int) -> tuple[Plan, int]:
    """Return the plan of a derivative, and how many teams, or blocks of several, keep sums over rows.

    Where rows begin anywhere, each of a team's begins as far into a vector as its first one: so its sums stay in place.
    Their number is then a multiple of the rows after which that is so again. Sums lie as gradients do: both are new.

    Errors  `cl.ArgumentError`
    """

    def choose(n: int, vector: int, **most: int) -> Plan:
        given, row = (n, vector, sums), rows.n * access.each
        more: dict[str, Any] = {"shifted": access.shifted and n > row, "few": rows.m < FEW} | most
        more |= {"whole": row // vector * vector, "wide": access.each > 1, "added": others[2] is not None}
        return replace(plan_sums(*given, **more) if most else rows.planned(plan_sums, *given, **more), lead=1)

    def count(p: Plan) -> int:
        teams = min(rows.at_once(p.cluster, p.blocks), -(-rows.m // p.teams))
        if not p.shifted or teams == rows.m or p.kinds > 1 or p.planes:
            return teams
        period = kinds(p)
        return 0 if p.teams > 1 else teams // period * period

    def kinds(p: Plan) -> int:
        sector = SECTOR * p.vector
        return sector // math.gcd(sector, others[0].begins(sector)[0])

    def planned(**most: int) -> Plan:
        p = access.plan(how, partial(choose, **most), copies=True).only(*WAYS)
        if how is not None or not p.shifted or not p.stages or p.overlap or p.planes:
            return p
        each = replace(p, kinds=kinds(p), abreast=sums == 1)  # only where more clusters work: rows are apart
        return p if count(p) >= 0.95 * count(each) else each

    pays = rows.n * rows.dtype.bytes > (10_752 if sums == 1 else 2048)  # shorter rows may be slow (docs/lab/rows.md)
    access = Access.of([rows, *others], sectors=pays).covering(APART)
    plain = access.covering(rows.n + 1)
    p = planned()
    if how is None and not p.stages and plain.vector == access.vector:  # bulk copies should begin with sectors
        p = plain.plan(None, choose)
    if p.kinds > 1 and p.kinds % kinds(p):
        raise cl.ArgumentError(f"how.kinds is {p.kinds}, but rows that begin alike are {kinds(p)} apart")
    if how is None and not count(p):
        p = planned(most=MOST_BLOCKS)
    if how is None and not count(p):
        p = plain.plan(None, choose)
    if not count(p) and rows.m:
        raise cl.ArgumentError("how.shifted is for one team a block, and as many as begin differently at once")
    return p, count(p)


def groups_of(kinds: int, rows: int, teams: int) -> int:
    """Return how many rows of sums `teams` write: as many for each of several kinds as it may have teams."""
    if kinds == 1:
        return teams
    longest, fewest = -(-rows // kinds), rows // teams
    return min(rows, kinds * (1 - (1 - longest) // fewest))


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
