"""Functions of elements: arrays of one shape in, arrays of that shape out, each read or written once.

    (y,) = elementwise(lambda a, b: max(a, 0.0) * b, (a, b))

Rows may have any pitch; arrays without gaps are treated as one long row. Computations are in f32.
"""

import math
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import (
    FLOATS,
    Arguments,
    Misfit,
    changing,
    check_apart,
    in_words_of,
    in_words_of_caller,
    is_torch,
    needs_gradient,
    one_of,
    underived,
)
from cutelite.kernels.arrays import empty
from cutelite.kernels.functions import fit_graph, settled
from cutelite.kernels.lent import is_jax
from cutelite.kernels.planning import breaking
from cutelite.kernels.rows.arrays import DTYPES, RESULTS, Rows, derived
from cutelite.kernels.rows.plan import ACCESS, LEAD, after, follow, pitches, width
from cutelite.lang.emit import describe
from cutelite.lang.given import mistake_of
from cutelite.lib.row_words import widened
from cutelite.tuples import NamedTuple

M, N = cl.dims("M N")  # rows, columns
THREADS = 256  # threads of a block
PIECES, BLOCKS = (2, 3, 1, 1), (6, 4, 6, 4)  # by number of inputs: accesses of a thread to each; blocks of an SM
NAMES = "a", "b", "c", "d"  # of what a function takes
MOST_INPUTS, MOST_OUTPUTS = len(NAMES), 3
SCALED = 4  # accesses of a thread, and blocks of an SM, of `scale`
SCALING = 132 * SCALED  # its blocks: one wave on an H200, so that a launch with nothing to do is short


class Kind(NamedTuple):
    """The dtype of an array, and the number of elements that one access may take."""

    dtype: Any
    vector: int


@cache
def build(
    function: Callable[..., Any], inputs: tuple[Kind, ...], outputs: tuple[Kind, ...], vector: int, blocks: int | None
) -> Any:
    """Make the kernel that computes ``function(*inputs)``, a vector or a tuple of them, of each thread's elements."""
    pieces, blocks = PIECES[len(inputs) - 1], blocks or BLOCKS[len(inputs) - 1]
    size = THREADS * pieces * vector
    read, written = (sum(kind.dtype.bytes for kind in kinds) for kinds in (inputs, outputs))
    lead = LEAD // (size * read) if written >= read else 0  # what writes less is slower by it: blocks ask for their own
    annotations: list[Any] = []
    for i, kind in enumerate((*inputs, *(None,) * (MOST_INPUTS - len(inputs)), *outputs)):
        (P,) = pitches(f"P{i}", 1 if kind is None else kind.vector)
        annotations.append(Tensor[f32 if kind is None else kind.dtype, (M, N), (P, 1)] | None)
    annotations += [annotations[-1]] * (MOST_INPUTS + MOST_OUTPUTS - len(annotations))
    A, B, C, D, X, Y, Z = annotations

    @cl.kernel(block=THREADS, min_blocks=blocks)
    def elements(a: A, b: B, c: C, d: D, x: X, y: Y, z: Z) -> None:
        tiles = cl.ceil_div(N, size)

        def place(block: Any) -> tuple[Any, Any, Any]:
            row, at = block // tiles, block % tiles
            return row, at * size, (row < M) & ((at + 1) * size <= N)

        def ask(block: Any) -> None:
            row, at, whole = place(block)
            for each in (a, b, c, d):
                if each is not None and whole:
                    cl.RowTile(at, None, vector, pieces).ask_for(each[row, None])

        follow(ask, blocks if lead else None, lead)
        row, at, whole = place(cl.block_idx.x)
        outs = [each for each in (x, y, z) if each is not None]

        def work(tile: Any) -> None:
            given = [tile.load(each[row, None]) for each in (a, b, c, d) if each is not None]
            made = [cl.make_rmem_tensor(out.dtype, tile.shape) for out in outs]  # type: ignore[attr-defined]
            for i in cl.static_range(tile.pieces):  # one vector after the other needs fewer registers
                found = function(*(widened(v[None, i]) for v in given))
                for held, v in zip(made, vectors(found, len(outs), function), strict=True):
                    held[None, i].store(v.to(held.dtype))
            for out, held in zip(outs, made, strict=True):
                tile.store(held.load(), out[row, None])

        if whole:
            work(cl.RowTile(at, None, vector, pieces))
        else:  # whole vectors, and the elements behind them
            mine = at + cl.thread_idx.x * vector
            for first in range(mine, N, THREADS * vector) if pieces > 1 else (mine,):
                if first + vector <= N:
                    work(cl.RowTile(first, None, vector, 1, threads=1))
                else:
                    for begin in range(first, N):
                        work(cl.RowTile(begin, None, 1, 1, threads=1))

    return elements


def vectors(found: Any, count: int, function: Any) -> tuple[Any, ...]:
    """Return what `function` gave, one vector or several, as a tuple. Errors: `given`, unless these are `count`."""
    several: tuple[Any, ...] = found if isinstance(found, tuple) else (found,)
    if len(several) != count or not all(hasattr(x, "to") for x in several):
        wanted = "a vector" if count == 1 else f"{count} vectors"
        text = f"`function` gives {', '.join(map(describe, several))}, but must give {wanted}"
        raise mistake_of(function, "given", text)
    return several


def has_slopes(inputs: int, results: int, dtypes: Sequence[str]) -> bool:
    """Tell whether there are `slopes` of a function: a kernel takes the arrays, and no result has 8 bits."""
    return inputs + results <= MOST_INPUTS and inputs <= MOST_OUTPUTS and all(kind in DTYPES for kind in dtypes)


@cache
def slopes(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return the derivative of a function of elements, a function for `elementwise` too.

    It takes the gradients of the results, `count` of them, and then the inputs; it gives the gradient of each input.
    """

    def of_inputs(*given: Any) -> Any:
        gradients, x = given[:count], given[count:]
        found = []
        for i in cl.static_range(len(x)):
            each = [cl.full_like(x[i], 0.0)]
            for j in cl.static_range(count):
                by = slope(function, x, i, j)
                if by is not None:
                    each.append(gradients[j] * by)
            found.append(sum(each[1:], each[0]) if len(each) > 1 else each[0])
        return tuple(found)

    return of_inputs


def slope(function: Callable[..., Any], x: Sequence[Any], i: int, j: int) -> Any:
    """Return the derivative of the result `j` of a function by its argument `i`; None where that is nothing."""

    def of_one(v: Any) -> Any:
        found = function(*x[:i], v, *x[i + 1 :])
        return found[j] if isinstance(found, tuple) else found

    found = cl.value_and_derivative(of_one, x[i])[1]
    return None if isinstance(found, float) and found == 0.0 else found


def check_count(name: str, given: Any, most: int) -> None:
    """Check several arrays, or names of dtypes. Errors: `cl.ArgumentError`."""
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= most:
        what = f"{len(given)} items" if isinstance(given, list | tuple) else type(given).__name__
        raise cl.ArgumentError(f"{name} must be a tuple of one to {most}, not {what}")


def in_graph(given: dict[str, Any]) -> bool:
    """Tell, where it is traced, whether an operator takes a call of `elementwise`, of its arguments by name."""
    inputs, out = given["inputs"], given.get("out")
    check_count("inputs", inputs, MOST_INPUTS)
    if out is not None:
        check_count("out", out, MOST_OUTPUTS)
    if not all(map(is_torch, (*inputs, *(out or ())))):
        return False
    if needs_gradient(*inputs) and not derivable(inputs, out, given.get("dtypes", ())):
        return False
    return fit_graph(("function", given["function"], NAMES[: len(inputs)]))


def derivable(inputs: Sequence[Any], out: Any, dtypes: Sequence[str]) -> bool:
    """Tell whether there is a derivative of a call of `elementwise`."""
    return out is None and has_slopes(len(inputs), len(dtypes) or 1, dtypes)


@in_words_of_caller
@breaking("function", taken=in_graph)
def elementwise(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    *,
    out: Sequence[Any] | None = None,
    dtypes: Sequence[str] = (),
    blocks: int | None = None,
    names: Sequence[str] = (),
) -> tuple[Any, ...]:
    """Compute a function of the elements of arrays.

    function  takes a vector of f32 for each input; returns a vector, or a tuple of vectors. It may call `cl.math`, and
              functions of elements of torch, NumPy and JAX
    inputs    one to four arrays of one shape: bf16, f16 or f32
    out       up to three arrays to write to, which may be inputs; default: new ones
    dtypes    codes such as 'bf16' or 'e4m3' of the new arrays; default: one array of the dtype of the first input. What
              8 bits do not hold becomes their greatest number
    blocks    how many blocks of 256 threads a multiprocessor should hold: with 8, a thread has 32 registers. Default:
              4 to 6, by the number of inputs
    names     names of inputs and results in error texts
    Arrays    of torch, CuPy and JAX on a GPU, of NumPy in the simulator. Torch's may be fake, under `torch.compile`, or
              need a gradient (`cl.value_and_derivative`), of no more than three inputs, with the results four in all,
              without `out` and results of 8 bits
    Gives     the results
    Errors    `cl.ArgumentError` for arrays that do not fit
    """
    if isinstance(inputs, list | tuple) and inputs and all(map(is_torch, inputs)):
        needy = next((i for i, x in enumerate(inputs) if needs_gradient(x)), None)
        if needy is not None and not derivable(inputs, out, dtypes) and not left_out():
            raise Misfit(f"elementwise has no derivative, and inputs[{needy}] needs a gradient: detach it")
        is_traced = sys.modules["torch"].compiler.is_dynamo_compiling()
        if (made := derived(*inputs, out=None if is_traced else out)) is not None:
            return made.elementwise_by_operator(function, inputs, out, dtypes, names)  # type: ignore[no-any-return]
    return computed(function, inputs, out=out, dtypes=dtypes, blocks=blocks, names=names)


@untraced
def computed(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    *,
    out: Sequence[Any] | None = None,
    dtypes: Sequence[str] = (),
    blocks: int | None = None,
    names: Sequence[str] = (),
) -> tuple[Any, ...]:
    """Compute `elementwise` of real arrays, without derivatives."""
    check_count("inputs", inputs, MOST_INPUTS)
    if out is None and (made := derived(*filter(is_jax, inputs))) is not None:
        return made.elementwise(function, inputs, dtypes=dtypes)  # type: ignore[no-any-return]
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise cl.ArgumentError(f"names must be a tuple of texts, not {names!r}")
    called = [*names[: len(inputs)], *(f"inputs[{i}]" for i in range(len(names), len(inputs)))]
    given = [Rows(x, name, most=None) for name, x in zip(called, inputs, strict=False)]
    first = given[0]
    is_new = out is None
    if out is None:
        kinds = dtypes or (first.dtype.name,)
        check_count("dtypes", kinds, MOST_OUTPUTS)
        for kind in kinds:
            one_of("dtypes", kind, RESULTS)
        out = [empty(inputs[0], tuple(inputs[0].shape), kind) for kind in kinds]
    check_count("out", out, MOST_OUTPUTS)
    results = names[len(inputs) :] or [f"out[{i}]" if len(out) > 1 else "out" for i in range(len(out))]
    if len(results) != len(out):
        raise cl.ArgumentError(f"names has {len(names)}, but there are {len(inputs)} inputs and {len(out)} results")
    called += results
    made = [Rows(x, name, None, RESULTS, written=True) for name, x in zip(called[len(inputs) :], out, strict=True)]
    for name, each in zip(called, (*given, *made), strict=True):
        if each.shape != first.shape:
            raise cl.ArgumentError(f"{name} is {each.shape}, but must be {first.shape}, as {called[0]}")
    for i, (name, each) in enumerate(() if is_new else zip(called[len(inputs) :], made, strict=True)):
        each.over(name, **dict(zip(called, given, strict=False)))
        check_apart(name, each.view, {called[len(inputs) + j]: made[j].view for j in range(i)})
    if first.m * first.n:
        try:
            launch(settled(function, "function", NAMES[: len(given)]), given, made, blocks)
        except cl.ArgumentError as error:
            raise in_words_of(error, zip(called, (*inputs, *out), strict=True)) from None
    return tuple(out)


def launch(function: Callable[..., Any], given: list[Rows], made: list[Rows], blocks: int | None) -> None:
    """Launch the kernel for arrays of one shape."""
    everything = [*given, *made]
    m, n = given[0].m, given[0].n
    views = [rt.read(each.matrix) for each in everything]
    if all(m == 1 or view.strides[0] == n for view in views):
        m, n = 1, m * n
    pitch = [0 if m == 1 else view.strides[0] for view in views]
    kinds = [
        Kind(each.dtype, width(each.dtype.bytes, step, view.pointer // each.dtype.bytes))
        for each, step, view in zip(everything, pitch, views, strict=True)
    ]
    vector = ACCESS // min(kind.dtype.bytes for kind in kinds[: len(given)])
    kernel = build(function, tuple(kinds[: len(given)]), tuple(kinds[len(given) :]), vector, blocks)
    size = THREADS * PIECES[len(given) - 1] * vector
    arrays: list[Any] = [each.matrix.reshape((m, n)) for each in everything]
    inputs = arrays[: len(given)] + [None] * (MOST_INPUTS - len(given))
    outputs = arrays[len(given) :] + [None] * (MOST_OUTPUTS - len(made))
    kernel[after(m * math.ceil(n / size), THREADS)](*inputs, *outputs)


@cache
def scaling(kind: Kind) -> Any:
    """Make the kernel that multiplies an array by a number on the device."""
    size, dtype = THREADS * SCALED * kind.vector, kind.dtype

    @cl.kernel(block=THREADS, min_blocks=SCALED)
    def scaled(x: Tensor[dtype, (N,)], by: Tensor[f32, (1,)]) -> None:
        factor = by[0]
        if factor != 1.0:
            for at in range(cl.block_idx.x, cl.ceil_div(N, size), cl.grid_dim.x):
                tile = cl.RowTile(at * size, N, kind.vector, SCALED)
                tile.store((tile.load(x).to(f32) * factor).to(dtype), x)

    return scaled


@untraced
@underived()
@changing("x")
def scale(x: Any, by: Any) -> None:
    """Multiply an array in place by a number on the device. If that is 1, the array is neither read nor written.

    x       an array without gaps, bf16, f16 or f32
    by      (1,), f32
    Errors  `cl.ArgumentError` for arrays that do not fit
    """
    given = Arguments()
    given.array("x", x, FLOATS, "...", written=True, dense=True)
    given.array("by", by, "f32", (1,))
    flat = x.reshape((-1,))
    view = rt.read(flat)
    check_apart("x", view, {"by": rt.read(by)})
    if not view.shape[0]:
        return
    kind = Kind(DTYPES[view.dtype], width(DTYPES[view.dtype].bytes, 0, view.pointer // DTYPES[view.dtype].bytes))
    tiles = math.ceil(view.shape[0] / (THREADS * SCALED * kind.vector))
    scaling(kind)[min(tiles, SCALING)](flat, by)
