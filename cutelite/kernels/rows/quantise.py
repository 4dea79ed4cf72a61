"""Quantise rows of an array or of a gate to 8 bits.

q, scale = quantise(x)                            # a scale for each row: x is near q * scale
q, scale = quantise(x, Narrow(block=128))         # for each 128 elements of a row, as DeepSeek's GEMMs take them
q, scale = quantise(gate, up=up)                  # of silu(gate) * up
"""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.kernels.arguments import instance, one_of, results, underived
from cutelite.kernels.arrays import empty
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import RESULTS, Access, Rows, derived
from cutelite.kernels.rows.gates import ACTIVATIONS, functions
from cutelite.kernels.rows.narrow import LONG, Narrow
from cutelite.kernels.rows.plan import ACCESS, WAYS, Plan, after
from cutelite.kernels.rows.plans import WIDE, plan, plan_token
from cutelite.kernels.rows.quantise_blocks import Shape
from cutelite.kernels.rows.quantise_blocks import build as by_blocks
from cutelite.lib.row_words import widened
from cutelite.tuples import NamedTuple

M, N, G = cl.dims("M N G")  # rows, columns, scales
KEPT = 32  # elements that a thread keeps until the greatest of their row is known


@cache
def build(dtype: Any, n: int, narrow: Narrow, activation: str | None, p: Plan) -> Any:
    """Make the kernel that computes q and scales of x, or of activation(x) * up."""
    P, Q = p.pitches("P Q")
    R = cl.Dim("R", 1 if p.shifted else math.gcd(n, p.vector))

    @cl.kernel(**p.options)
    def quantised(
        x: Tensor[dtype, (M, n), (P, 1)],
        up: Tensor[dtype, (M, n), (Q, 1)] | None,
        q: Tensor[narrow.dtype, (M, n), (R, 1)],
        scales: Tensor[f32, (M, G), (None, None)],
        counter: Tensor[i32, (1,)] | None,
    ) -> None:
        arrays = (x,) if up is None else (x, up)
        _team, part = p.team(n, *arrays)
        keeps = not p.loops and part.vector * part.pieces <= KEPT
        stream = cl.RowStream.create(part, arrays, packed=not keeps, **p.ways(q, counter))

        def value(some: Any, parts: Any) -> Any:
            v, *more = (widened(each.of(some)) for each in parts)
            return functions(activation, dtype == f32)[2](v, *more) if more else v

        def written(row: Any, some: Any, v: Any, top: Any) -> None:
            some.store(narrow.quantised(some, v, None, top), q[row, None])

        def first(row: Any, _: Any, *parts: Any) -> Any:
            if keeps:
                vectors = [value(some, parts) for some in part.steps]
                first, *others = (abs(v).reduce("max") for v in vectors)
                return max(first, others[0]) if others else first, vectors
            look = lambda top, some: max(top, abs(value(some, parts)).reduce("max"))  # noqa: E731
            return stream.walk(f32(0), look), None

        def last(row: Any, _: Any, v: Any, top: Any, *parts: Any) -> None:
            narrow.write_scale(part.team, scales[row, None], top)
            if keeps:
                for some, each in zip(part.steps, v, strict=True):
                    written(row, some, each, top)
            else:
                stream.walk(None, lambda _, some: written(row, some, value(some, parts), top), last=True, pieces=1)

        stream.each_reduced(first, last, "max")

    return quantised


BY_ROW = Narrow()  # torch's compiler traces no call that makes one


class Quantised(NamedTuple):
    """Quantised numbers, and the scales to multiply them by.

    q      8-bit numbers, of the shape of the original
    scale  (..., 1) or (..., ceil(n / 128)), f32
    """

    q: Any
    scale: Any


@planned
@underived()
def quantise(
    x: Any, narrow: Narrow | None = None, *, up: Any = None, activation: str = "silu", out: Any = None,
    how: Plan | None = None,
) -> Quantised:  # fmt: skip
    """Quantise rows of x, or of activation(x) * up.

    x, up   (..., n), of one dtype: bf16, f16 or f32
    narrow  the dtype, and which elements share a scale; default: e4m3, a scale for each row
    activation  'silu', 'gelu', 'gelu_tanh' or 'relu', where there is `up`
    out     q and scales to write to, row-major without gaps, but scales of a matrix, which may have any strides; by
            default new ones, scales of a matrix column-major
    how     the `Plan`: which threads work on a row; default: by its length. For blocks only its `threads` count
    Errors  `cl.ArgumentError` for arrays that do not fit
    """
    narrow = instance("narrow", narrow, Narrow) or BY_ROW
    if (found := derived(x, up, out=out)) is not None:
        kind, block = narrow.dtype.name, narrow.block
        return Quantised(*found.quantise(x, block=block, up=up, activation=activation, dtype=kind))
    rows = Rows(x, "x")
    one_of("activation", activation, ACTIVATIONS)
    more = None if up is None else Rows(up, "up").like(rows, "up")
    if out is None:
        q, scale = empty(x, tuple(x.shape), narrow.dtype.name), narrow.scales(x)
    else:
        shape = tuple(x.shape)
        wanted = {"q": (shape, narrow.dtype.name), "scale": ((*shape[:-1], narrow.count(rows.n)), "f32")}
        q, scale = results(out, wanted, ("scale",) * (len(shape) == 2), x=x, up=up)
    if not rows.n:
        narrow.clear_scales(scale)
        return Quantised(q, scale)
    results_rows = Rows(q, "q", kinds=RESULTS)
    access = Access.of([rows, more], [results_rows], narrow=narrow.block > 1)
    wide, each = ACCESS // rows.dtype.bytes, 32 if more is None else 16
    function, given = None if more is None else activation, (rows.matrix, None if more is None else more.matrix)
    made = q.reshape((rows.m, rows.n)), scale if len(x.shape) == 2 else scale.reshape((rows.m, int(scale.shape[-1])))
    if narrow.block > 1:
        how, vector = instance("how", how, Plan), math.gcd(rows.vector, rows.vector if more is None else more.vector)
        shape = Shape.of(rows.dtype, rows.m, rows.n, how and how.threads)  # type: ignore[arg-type]
        wrapped = vector < wide <= rows.n and access.alike and access.around
        kernel = by_blocks(rows.dtype, narrow, function, vector, results_rows.vector, wrapped, shape)
        kernel[after(shape.blocks(rows.m, rows.n), shape.threads)](*given, *made)
        return Quantised(q, scale)

    def choose(n: int, aligned: int) -> Plan:
        if access.shifted and LONG < n <= 2 * LONG and more is None:
            return Plan(512, 1, 2, WIDE, 2, stages=1)
        if n > LONG and more is None and aligned == WIDE:
            return rows.planned(plan_token, n, WIDE)
        if n > 8192 and more is None and aligned == WIDE:
            return plan(n, WIDE, each, registers=48, alone=256)  # five blocks a multiprocessor
        return plan(n, WIDE, each * access.each)

    p = access.plan(how, lambda n, aligned: replace(choose(n, aligned), lead=1))
    p = replace(p, aligned=access.aligned).only(*WAYS)
    build(rows.dtype, rows.n, narrow, function, p)[p.launch(rows)](*given, *made, p.counter(rows))
    return Quantised(q, scale)
