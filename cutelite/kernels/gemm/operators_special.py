"""Special GEMMs as operators of torch: groups, with derivatives; fp8 with block scales, and weights of 4 and 8 bits.

    torch.ops.cutelite.grouped_gemm, padded_gemm, gemm_along_k     `gemm`, `padded` and `along_k` of `gemm.grouped`
    torch.ops.cutelite.block_scaled_gemm                           `gemm.fp8_block.gemm`
    torch.ops.cutelite.narrow_gemm                                 `gemm.mixed.gemm`

The functions on arrays call them by themselves, as `gemm` does its operator. Each has a form with `out`.
"""

# mypy: disable-error-code="no-any-return"
# (torch is not installed where types are checked)

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

import cutelite as cl
from cutelite.dispatch.divert import left_out
from cutelite.interop.torch import derive, library_op, to_be_cast
from cutelite.interop.torch_transforms import autocast, folded
from cutelite.kernels.arguments import HALVES, Misfit, check_underived, wants_operator
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.gemm import call, fp8_block, mixed
from cutelite.kernels.gemm import grouped as groups
from cutelite.kernels.gemm.arrays import DEFAULTS, check_functions
from cutelite.kernels.gemm.operators import finish_by_operator, takes_functions
from cutelite.kernels.rows import embedding


def wanted(*given: Any, out: Any, finish: cl.Finish | None) -> bool:
    """Tell whether a call goes to an operator: see `gemm.arrays.by_operator`."""
    if torch.compiler.is_dynamo_compiling():
        return True
    check_functions(finish)
    if left_out():
        return False
    if out is not None or finish is not None:
        check_underived("out=" if finish is None else "finish=", a=given[0], b=given[1])
    asked = wants_operator(*given) or to_be_cast(*given[:2])
    return asked and (finish is None or takes_functions(None, None, finish, None, *given[:3]))


def finished(name: str, out: Any, given: tuple[Any, ...], finish: cl.Finish) -> Any:
    """Compute `gemm` or `padded` with a function that finishes the sums, by the operator for that."""
    a, b, places = given
    if out is None:
        out = _rows(a, b, places) if name == "grouped" else _padded(a, b)
    return finish_by_operator(a, b, places, out, finish, name == "padded")


def _rows(a: Tensor, b: Tensor, _: Tensor, rows: Tensor | None = None) -> Tensor:
    return empty(a, ((a if rows is None else rows).shape[0], b.shape[1]), DEFAULTS.get(code_of(a)))


def flops_of(a: Tensor, b: Tensor, _: Tensor, rows: Tensor | None = None, *more: Any) -> int:
    """Return the floating-point operations of `gemm` and `padded`, of all rows that there may be.

    rows  those that are gathered, or that are written
    """
    return 2 * (prod(a.shape[:-1]) if rows is None else len(rows)) * prod(b.shape[-2:])


@library_op("cutelite::grouped_gemm", results=_rows, out=("out",), flops=flops_of)
def grouped(a: Tensor, b: Tensor, ends: Tensor, rows: Tensor | None = None, out: Any = None) -> Tensor:
    """`cutelite.kernels.gemm.grouped.gemm`, without `finish` and `config`."""
    return groups.rows_of_groups(a, b, ends, out, rows)


def _padded(a: Tensor, b: Tensor, *_: Any) -> Tensor:
    return empty(a, (*a.shape[:2], b.shape[1]), DEFAULTS.get(code_of(a)))


@library_op(
    "cutelite::padded_gemm",
    results=_padded,
    out=("out",),
    flops=lambda a, b, counts, *_: flops_of(a, b, counts),
)
def padded(a: Tensor, b: Tensor, counts: Tensor, out: Any = None) -> Tensor:
    """`cutelite.kernels.gemm.grouped.padded`, without `finish` and `config`."""
    return groups.padded_groups(a, b, counts, out)


@library_op(
    "cutelite::gemm_along_k",
    results=lambda a, b, ends, *_: a.new_empty((ends.shape[0], a.shape[1], b.shape[1]), dtype=torch.float32),
    out=("out",),
    flops=lambda a, b, *_: 2 * a.shape[0] * a.shape[1] * b.shape[1],
)
def along_k(a: Tensor, b: Tensor, ends: Tensor, accumulate: bool = False, out: Any = None) -> Tensor:
    """`cutelite.kernels.gemm.grouped.along_k`, without `config`; `accumulate` is for the form with `out`."""
    return groups.groups_along_k(a, b, ends, out, accumulate)


# Derivatives. Rows that belong to no group have gradients of 0.


def _gradients(_: Tensor, a: Tensor, b: Tensor, *more: Any) -> tuple[Tensor, Tensor]:
    needs = more[-1]
    of_a, of_b = (x.new_empty(x.shape if need else (0,)) for x, need in zip((a, b), needs, strict=True))
    return of_a, of_b


def by_8(x: Tensor) -> Tensor:
    """Return a tensor whose last mode is a multiple of 8 long, with zeros behind; the tensor itself where it is."""
    beyond = -x.shape[-1] % 8
    return functional.pad(x, (0, beyond)) if beyond else x


@library_op(
    "cutelite::grouped_gemm_backward",
    results=_gradients,
    flops=lambda grad, a, b, ends, rows, needs: sum(needs) * flops_of(a, b, ends, rows),
)
def grouped_backward(
    grad: Tensor, a: Tensor, b: Tensor, ends: Tensor, rows: Tensor | None, needs: list[bool]
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The gradients of a and b, of (0,) what is not needed."""
    of_a, of_b = a.new_empty(0), b.new_empty(0)
    depth, left, right = a.shape[1], by_8(a), by_8(b)
    if needs[0]:
        of_a = grad.new_zeros(grad.shape[0], left.shape[1])
        groups.rows_of_groups(grad, right.mT, ends, of_a)
        if rows is not None:
            of_a = embedding.embedding_backward(of_a, rows, a.shape[0])
    if needs[1]:
        of_b = right.new_empty(right.shape)
        groups.groups_along_k(grad, left if rows is None else left[rows], ends, of_b)
    return of_a[..., :depth].contiguous(), of_b[..., :depth].contiguous()


@library_op(
    "cutelite::padded_gemm_backward",
    results=_gradients,
    flops=lambda grad, a, b, counts, needs: sum(needs) * flops_of(a, b, counts),
)
def padded_backward(grad: Tensor, a: Tensor, b: Tensor, counts: Tensor, needs: list[bool]) -> tuple[Tensor, Tensor]:
    """The gradients of a and b, of (0,) what is not needed."""
    of_a, of_b = a.new_empty(0), b.new_empty(0)
    depth, left, right = a.shape[2], by_8(a), by_8(b)
    if needs[0]:
        of_a = left.new_zeros(left.shape)
        groups.padded_groups(grad, right.mT, counts, of_a)
    if needs[1]:
        held = (torch.arange(a.shape[1], device=a.device) < counts[:, None])[..., None]
        mine, others = (torch.where(held, x, 0) for x in (grad, left))  # NaN may lie between groups
        of_b = call.multiply(mine.mT, others, None, call.fused_of())
    return of_a[..., :depth].contiguous(), of_b[..., :depth].contiguous()


@library_op(
    "cutelite::gemm_along_k_backward",
    results=_gradients,
    flops=lambda grad, a, b, *more: sum(more[-1]) * 2 * a.shape[0] * a.shape[1] * b.shape[1],
)
def along_k_backward(grad: Tensor, a: Tensor, b: Tensor, ends: Tensor, needs: list[bool]) -> tuple[Tensor, Tensor]:
    """The gradients of a and b, of (0,) what is not needed."""
    of_a, of_b = (x.new_zeros(x.shape) if need else x.new_empty(0) for x, need in zip((a, b), needs, strict=True))
    narrow = grad.to(a.dtype)
    if needs[0]:
        groups.rows_of_groups(b, narrow, ends, of_a)
    if needs[1]:
        groups.rows_of_groups(a, narrow.mT, ends, of_b)
    return of_a, of_b


def _derive(operator: Any, backward: Callable[..., tuple[Tensor, Tensor]], tensors: int) -> None:
    """Give an operator its derivative by a and b; `tensors`: how many arguments it keeps, a and b among them."""

    def keep(made: Tensor, *given: Any) -> tuple[Any, ...]:
        if code_of(given[0]) not in HALVES:
            raise Misfit(f"{operator._opoverload} has derivatives of bf16 and f16, not of {given[0].dtype}: detach it")
        return *given[:tensors], ()

    def gradients(grad: Tensor, *given: Any) -> tuple[Any, ...]:
        *kept, needs = given
        found = backward(grad.contiguous(), *kept, list(needs))
        return tuple(x if need else None for x, need in zip(found, needs, strict=True))

    derive(operator, keep, gradients, needs=2)
    autocast(operator, "a", "b")


_derive(grouped, grouped_backward, 4)
_derive(padded, padded_backward, 3)
_derive(along_k, along_k_backward, 3)


# Narrow operands, without derivatives.


@library_op(
    "cutelite::block_scaled_gemm",
    results=lambda a, b, *_: a.new_empty((a.shape[0], b.shape[0]), dtype=torch.bfloat16),
    out=("out",),
    flops=lambda a, b, *_: 2 * a.shape[0] * prod(b.shape),
)
def scaled_blocks(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, out: Any = None) -> Tensor:
    """`cutelite.kernels.gemm.fp8_block.gemm`, without `config`."""
    return fp8_block.multiply(a, b, scale_a, scale_b, out)


def _of_packed(x: Tensor, w: Tensor, _: str, n: int | None = None) -> Tensor:
    return x.new_empty((x.shape[0], w.shape[0] * mixed.ROWS if n is None else n))


@library_op(
    "cutelite::narrow_gemm",
    results=_of_packed,
    out=("out",),
    flops=lambda x, w, *_: 2 * prod(x.shape) * w.shape[0] * mixed.ROWS,
)
def narrow(x: Tensor, w: Tensor, kind: str, n: int | None = None, out: Any = None) -> Tensor:
    """`cutelite.kernels.gemm.mixed.gemm`, without `config`."""
    return mixed.multiply(x, w, kind, out, n)


autocast(narrow, "x")
folded(narrow, "x")
