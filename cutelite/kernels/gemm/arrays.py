"""Checks of the arrays that `gemm` takes, and conversions of those that its kernels do not take as they are."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite.kernels.arguments import (
    FLOATS,
    HALVES,
    Arguments,
    ArrayError,
    Misfit,
    check_apart,
    instance,
    is_array,
    is_torch,
    needs_gradient,
    one_of,
)
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.functions import fit_graph
from cutelite_rt.dtype import DTYPES

FP8, BYTES = ("e4m3", "e5m2"), ("i8", "u8")
BESIDE: dict[str, str | tuple[str, ...]] = {
    **dict.fromkeys(FLOATS, "a"),
    **dict.fromkeys(FP8, FP8),
    **dict.fromkeys(BYTES, BYTES),
}
"""Dtype of A -> the dtypes that B may have."""
DEFAULTS = {**dict.fromkeys(FP8, "bf16"), **dict.fromkeys(BYTES, "i32")}
"""Dtype of the operands -> dtype of results, where these differ."""
PRODUCT = ", as a @ b"


def check_functions(finish: Any = None, prepare: Any = None) -> None:
    """Check what is to make results, or A: what it is, and its tensors. Errors: `Misfit`, `ArrayError`."""
    for name, given, kind in ("finish", finish, cl.Finish), ("prepare", prepare, cl.Prepare):
        if instance(name, given, kind) is None:
            continue
        if not isinstance(given.tensors, tuple | list):
            raise Misfit(f"tensors of {name}= are a {type(given.tensors).__name__}, but must be a tuple of arrays")
        for i, tensor in enumerate(given.tensors):
            is_array(f"tensors[{i}] of {name}=", tensor)


def check_operands(a: Any, b: Any, precision: str | None, prepared: Any = None) -> None:
    """Check the operands; if A is `prepared`, it is an input of a function that computes A.

    Errors  `cl.ArgumentError`, ValueError
    """
    if precision is not None:
        one_of("precision", precision, ("tf32",))
    given = Arguments()
    if prepared is not None:
        given.array("a", a, (*HALVES, *FP8, *BYTES), "... M K")
        given.array("b", b, HALVES, "... K N")
        return
    given.array("a", a, tuple(BESIDE), "... M K")
    if code_of(a) == "f32" and precision is None:
        raise Misfit("a is f32, which tensor cores multiply as tf32: pass precision='tf32', or bf16 or f16")
    given.array("b", b, BESIDE[code_of(a)], "... K N")


def result_shape(a: Any, b: Any, gated: bool = False) -> tuple[int, ...]:
    """Return the result's shape; where `gated`, it has half as many columns as b.

    Errors  ValueError for shapes that cannot be multiplied
    """
    left, right = tuple(a.shape), tuple(b.shape)
    pairs = zip(reversed(left[:-2]), reversed(right[:-2]), strict=False)
    alike = min(a.ndim, b.ndim) >= 2 and left[-1] == right[-2]
    if not alike or any(x != y and 1 not in (x, y) for x, y in pairs):
        raise ArrayError(
            f"a is {left} and b is {right}: they are (..., M, K) and (..., K, N), batches that are alike or 1"
        )
    if gated and right[-1] % 16:
        raise ArrayError(f"b has {right[-1]} columns: a gate and `up` have a multiple of 8 each")
    return (*broadcast(left[:-2], right[:-2]), left[-2], right[-1] // 2 if gated else right[-1])


def broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """Return the batch modes of a result, by NumPy's rules for broadcasting."""
    long, short = (left, right) if len(left) >= len(right) else (right, left)
    more = (1,) * (len(long) - len(short)) + short
    return tuple(y if x == 1 else x for x, y in zip(long, more, strict=True))


def check_result(a: Any, out: Any, shape: tuple[int, ...], gated: bool, finished: bool) -> None:
    """Check the array of results. `finished`: a function stores them, and it may have any number of columns."""
    kinds = ("i32", *FLOATS) if code_of(a) in BYTES else FLOATS if gated else (*FLOATS, "f64", *FP8)
    is_array("out", out)
    columns = tuple(out.shape[-1:]) if finished else shape[-1:]
    Arguments().array("out", out, kinds, (*shape[:-1], *columns), written=True, rows=True, why=PRODUCT)


def check_places(operands: dict[str, Any], out: Any, fused: cl.Fused) -> None:
    """Check that results do not lie where something is still read. Operands and `out` are views; C may be `out`.

    Errors  `ArrayError`
    """
    given = {"c": fused.c, "bias": fused.bias, "scale_a": fused.scales.a, "scale_b": fused.scales.b}
    more = {name: rt.read(x) for name, x in given.items() if x is not None}
    if "c" in more and (more["c"].pointer, more["c"].strides) == (out.pointer, out.strides):
        del more["c"]
    check_apart("out", out, operands | more)


def reshaped(out: Any, shape: tuple[int, ...]) -> Any:
    """Return a view of `out`, of another shape, to write to. Errors: `ArrayError` where rows are not evenly apart."""
    made = out.reshape(shape)
    if rt.read(made).pointer != rt.read(out).pointer:  # a copy
        raise ArrayError(f"rows of out {tuple(out.shape)} are not evenly apart: pass an array whose rows are, or none")
    return made


def written_by_tma(d: Any) -> bool:
    """Tell whether TMA can write results where they are to be: it writes the last 16 bytes of a row whole."""
    return read_by_tma(d) and rt.tma_aligned(0, DTYPES[rt.read(d).dtype].bytes, d.shape[-1:])


def read_by_tma(c: Any, mode: int = -1) -> bool:
    """Tell whether TMA can read an array as contiguous along a mode, the last or the one before; True if it is None."""
    if c is None:
        return True
    view = rt.read(c)
    strides = list(view.strides)
    along = strides.pop(mode)
    return (
        along == 1 and min(strides, default=1) >= 0 and rt.tma_aligned(view.pointer, DTYPES[view.dtype].bytes, strides)
    )


def check_written_by_tma(out: Any) -> None:
    """Check that TMA can write results to an array of the caller's. Errors: `ArrayError`."""
    if not written_by_tma(out):
        raise ArrayError("out and its rows begin at multiples of 16 bytes: pass such an array, or none")


def check_added(b: Any, out: Any, fused: cl.Fused) -> None:
    """Check the arrays of the epilogue: C, bias and scales."""
    given, shape = Arguments(), tuple(out.shape)
    if fused.c is not None:
        given.array("c", fused.c, code_of(out), shape, rows=True, why=PRODUCT)
    if fused.bias is not None:
        given.array("bias", fused.bias, FLOATS, shape[-1:], dense=True, why=PRODUCT)
    one, (m, n) = prod(b.shape[:-2]) == 1, shape[-2:]
    by_row = [(m,), (m, 1), *([(prod(shape[:-1]), 1), (*shape[:-1], 1)] if one else [])]
    for name, scale, wanted in (("scale_a", fused.scales.a, by_row), ("scale_b", fused.scales.b, [(n,), (1, n)])):
        if scale is None:
            continue
        is_array(name, scale)
        found = tuple(scale.shape)
        given.array(name, scale, "f32", found)
        if prod(found) != 1 and found not in wanted:
            of = f"(M, 1), M being {m}" if name == "scale_a" else f"(1, N), N being {n}"
            raise ArrayError(f"{name} has shape {found}, but must be one number, or {of}")


def scales_of(fused: cl.Fused, rows: int, columns: int) -> cl.Scales:
    """Return the scales as the kernels take them: either one number each, or one for each row and for each column."""
    given = [None if x is None else x.reshape(-1) for x in (fused.scales.a, fused.scales.b)]
    like = next((x for x in given if x is not None and x.shape[0] != 1), None)
    if like is None:
        return cl.Scales(*given)
    return cl.Scales(*(spread(x, size, like) for x, size in zip(given, (rows, columns), strict=True)))


def spread(scale: Any, size: int, like: Any) -> Any:
    """Return `size` contiguous scales: those given, repeated if need be, or ones."""
    if scale is not None and scale.shape[0] == size and rt.read(scale).strides == (1,):
        return begun_for_tma(scale)
    each = 1 if scale is None else scale.shape[0]
    made = empty(like, (size // each, each))
    made[...] = 1.0 if scale is None else scale
    return made.reshape(-1)


def begun_for_tma(vector: Any) -> Any:
    """Return a vector without gaps, or None, itself, or a copy if it begins where TMA cannot read."""
    if vector is None or rt.tma_aligned(rt.read(vector).pointer, 1, ()):
        return vector
    made = empty(vector, tuple(vector.shape))
    made[...] = vector
    return made


def of_no_columns(operand: Any, mode: int) -> Any:
    """Return an operand whose K is 0 with 16 zeros along K, its last mode or the one before."""
    shape = list(operand.shape)
    shape[mode] = 16
    made = empty(operand, tuple(shape))
    made[...] = 0
    return made


def folded(a: Any, b: Any, out: Any, fused: cl.Fused, rows: bool) -> tuple[Any, Any, Any, cl.Fused]:
    """Fold batches into rows of one matrix where all share B, else into one mode, which a shared operand does not have.

    Operands whose batches do not lie evenly, or are repeated along some modes only, are copied.

    rows    batches that share B are folded into rows even where those of `out` are not evenly apart
    Errors  ValueError for an `out` whose batches, or then whose rows, are not evenly apart
    """
    (m, k), n, batches = a.shape[-2:], out.shape[-1], tuple(out.shape[:-2])
    if is_repeated(b):
        b = b[(0,) * (b.ndim - 2)]
    elif is_repeated(a):
        a = a[(0,) * (a.ndim - 2)]
    elif b.ndim == 3 and tuple(a.shape[:-2]) == tuple(b.shape[:-2]) == batches:
        return a, b, out, fused
    a, b = (x if x.ndim == 2 else stretched(x, batches) for x in (a, b))
    if a.ndim == b.ndim == 2:
        a = a[None] if prod(batches) == 1 else stretched(a, batches)
    one = b.ndim == 2 and (rows or evenly(out))
    lead: tuple[int, ...] = (-1,) if one else (-1, m)
    made = reshaped(out, (*lead, n))
    c = fused.c if fused.c is None else fused.c.reshape((*lead, n))
    right = b if b.ndim == 2 else b.reshape((-1, k, b.shape[-1]))
    if a.ndim == 2:
        return a, right, made, replace(fused, c=c)
    more = replace(fused, c=c)
    return a.reshape((*lead, k)), right, made, more


def is_repeated(operand: Any) -> bool:
    """Tell whether an operand is the same matrix for all batches: by modes of 1, or by strides of 0."""
    view = rt.read(operand)
    return all(extent == 1 or stride == 0 for extent, stride in zip(view.shape[:-2], view.strides[:-2], strict=True))


def evenly(x: Any) -> bool:
    """Tell whether rows of all batches are evenly apart."""
    view = rt.read(x)
    modes = [mode for mode in zip(view.shape[:-1], view.strides[:-1], strict=True) if mode[0] > 1]
    return all(outer == inner * extent for (_, outer), (extent, inner) in pairwise(modes))


def stretched(operand: Any, batches: tuple[int, ...]) -> Any:
    """Return an operand with these modes in front; a copy where modes of 1 are repeated."""
    if tuple(operand.shape[:-2]) == batches:
        return operand
    made = empty(operand, (*batches, *operand.shape[-2:]))
    made[...] = operand
    return made


def in_graph(given: dict[str, Any]) -> bool:
    """Tell, where it is traced, whether an operator takes a GEMM with functions, of its arguments by name."""
    operands = [given.get(name) for name in ("a", "b", "c", "bias", "scale_a", "scale_b")]
    functions: list[tuple[str, Any, Any]] = [(name, given.get(name), ("x",)) for name in ("activation", "gate")]
    finish, prepare = given.get("finish"), given.get("prepare")
    check_functions(finish, prepare)
    for each in finish, prepare:
        if each is not None and (not all(map(is_torch, each.tensors)) or needs_gradient(*operands, *each.tensors)):
            return False
    if finish is not None:
        functions += taken_by(finish)
    if prepare is not None:
        functions.append(("prepare", prepare.function, ("chunk", *named(prepare))))
    return fit_graph(*functions)


def taken_by(finish: cl.Finish) -> list[tuple[str, Any, tuple[str, ...]]]:
    """Return its functions, with their names and those of their arguments: `ahead` first, if there is one."""
    if finish.ahead is None:
        return [("finish", finish.function, ("piece", *named(finish)))]
    last = "finish", finish.function, ("piece", "what ahead returns", *named(finish))
    return [("ahead", finish.ahead, ("piece", *named(finish))), last]


def named(given: cl.Finish | cl.Prepare) -> tuple[str, ...]:
    """Return names of the tensors that a function takes."""
    return tuple(f"tensors[{i}]" for i in range(len(given.tensors)))


def by_operator(name: str, out: Any, given: tuple[Any, ...], *more: Any, finish: cl.Finish | None = None) -> Any:
    """Return what an operator of `gemm.operators_special` computes where a call goes to one, else None.

    given   the operator's arguments without a default, `more` the others
    finish  the call's function, which another operator takes
    Errors  ValueError for a gradient that does not exist
    """
    if not is_torch(given[0]):
        return None
    from cutelite.interop.torch import called  # late: these import torch
    from cutelite.kernels.gemm import operators_special as special

    if not special.wanted(*given, *more, out=out, finish=finish):
        return None
    if finish is not None:
        return special.finished(name, out, given, finish)
    return called(getattr(special, name), out, given, more)
