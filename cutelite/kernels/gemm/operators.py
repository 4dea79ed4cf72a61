"""The GEMM as an operator of torch: `torch.ops.cutelite.gemm`, with a fake implementation and derivatives.

`gemm` calls it by itself for tensors that need a gradient, for fake ones, and where torch.compile traces it, so that
the graph has no break. `torch.ops.cutelite.gemm.out` writes to the caller's tensor, and has no derivative.

A gradient is three GEMMs in all, with those of the operands in their dtypes, and four through a gate. There is none
through scales, through activations other than 'relu', or of integers. A function cannot be an operator's argument:
where torch.compile traces a call with one, the graph breaks. `finishing` and `preparing` make operators with functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import torch
from torch import Tensor

import cutelite as cl
from cutelite.dispatch.divert import left_out
from cutelite.interop.torch import called, library_op, to_be_cast
from cutelite.interop.torch_transforms import autocast, batched
from cutelite.interop.torch_transforms import under_autocast as under_autocast
from cutelite.kernels.arguments import Misfit, needs_gradient, wants_operator
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.gemm import call
from cutelite.kernels.gemm.arrays import DEFAULTS
from cutelite.kernels.rows.operators_elements import gated_halves_backward
from cutelite.tuples import NamedTuple


class How(NamedTuple):
    """The arguments of `gemm` besides operands, by name, in the order in which the operators take them."""

    c: Tensor | None = None
    bias: Tensor | None = None
    scale_a: Tensor | None = None
    scale_b: Tensor | None = None
    alpha: float = 1.0
    beta: float | None = None
    activation: Callable[[Any], Any] | str | None = None
    precision: str | None = None
    gate: Callable[[Any], Any] | str | None = None


def wanted(a: Tensor, b: Tensor, out: Tensor | None, how: How, functions: bool) -> bool:
    """Tell whether a call goes through an operator.

    functions  it has `finish` or `prepare`
    Errors     ValueError for a gradient that does not exist, and for functions where only an operator can be called
    """
    if torch.compiler.is_dynamo_compiling():
        return True  # calls with functions are not traced
    function = next((name for name in ("activation", "gate") if callable(getattr(how, name))), "")
    given = [x for x in (a, b, *how[:4]) if x is not None]
    if not all(isinstance(x, Tensor) for x in given):
        return False  # arrays of other libraries beside tensors: the function on arrays checks them
    if left_out():
        return False
    if needs_gradient(*given):
        if function:
            raise Misfit(f"{function}= is a function, of which no derivative is known: apply it to the result")
        if out is not None:
            raise Misfit("out= has no derivative: leave it out, or detach what needs a gradient")
    asked = not function and (wants_operator(*given) or to_be_cast(a, b))
    if asked and functions:
        raise Misfit(
            "finish= and prepare= have no derivative, and no operator that torch's transforms and fake tensors could "
            "call: detach what needs a gradient, or make an operator by cutelite.kernels.gemm.operators.finishing"
        )
    return asked


def multiply(a: Tensor, b: Tensor, out: Tensor | None, how: How) -> Any:
    """Compute `cutelite.kernels.gemm.gemm` by the operator: its out= form where `out` is given."""
    return called(gemm, out, (a, b), how)


def _product(a: Tensor, b: Tensor, *more: Any) -> Tensor:
    """Return a tensor without contents for ``a @ b``, or for half of its columns."""
    columns = b.shape[-1] if How(*more).gate is None else b.shape[-1] // 2
    shape = *torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], columns
    return empty(b, shape, DEFAULTS.get(code_of(a)))


def flops_of(a: Tensor, b: Tensor, *_: Any) -> int:
    """Return the floating-point operations of ``a @ b``."""
    extents: tuple[int, ...] = *torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *a.shape[-2:], b.shape[-1]
    return 2 * prod(extents)


@library_op("cutelite::gemm", results=_product, out=("out",), flops=flops_of)
def gemm(
    a: Tensor, b: Tensor, c: Tensor | None = None, bias: Tensor | None = None, scale_a: Tensor | None = None,
    scale_b: Tensor | None = None, alpha: float = 1.0, beta: float | None = None, activation: str | None = None,
    precision: str | None = None, gate: str | None = None, out: Any = None,
) -> Tensor:  # fmt: skip
    """`cutelite.kernels.gemm.gemm`, without `out` and `config`."""
    fused = call.fused_of(c, bias, scale_a, scale_b, alpha, beta, activation)
    result: Tensor = call.multiply(a, b, out, fused, precision, gate=gate)
    return result


def finishing(name: str, function: Callable[..., None], **how: Any) -> Any:
    """Make an operator of a GEMM whose results a function makes: `cutelite.Finish`, docs/gemm.md.

        scaled = finishing("mylib::scaled", lambda piece, factor, most: ..., columns=128)
        scaled(a, b, out, [factor], [most])        # or torch.ops.mylib.scaled, within torch.compile too

    name      'namespace::name', by which torch.ops has it
    function  called as ``function(piece, *read, *written)``
    how       `columns`, `paired`, `halves`, `apart`, `ahead` of `cutelite.Finish`
    Gives     torch's `CustomOpDef` of (a, b, out, read, written), which writes to `out` and `written`; no derivative
    Errors    TypeError for what `cutelite.Finish` does not take
    """
    plain = cl.Finish(function, **how)

    def finished(a: Tensor, b: Tensor, out: Tensor, read: Sequence[Tensor], written: Sequence[Tensor]) -> None:
        finish = replace(plain, tensors=(*read, *written))
        call.multiply(a, b, out, replace(call.fused_of(), finish=finish))

    return library_op(name, mutates_args={"out", "written"}, results=None, flops=flops_of)(finished)


def preparing(name: str, function: Callable[..., Any]) -> Any:
    """Make an operator of a GEMM whose A a function makes of what is in memory: `cutelite.Prepare`, docs/gemm.md.

        dequantised = preparing("mylib::dequantised", lambda chunk, scales: chunk.values * chunk.by_row(scales))
        y = dequantised(codes, w.T, [scales], bias=bias)      # or torch.ops.mylib.dequantised

    name      'namespace::name', by which torch.ops has it
    function  called as ``function(chunk, *read)``
    Gives     torch's `CustomOpDef` of (a, b, read, c, bias, alpha, beta), the last four as for `gemm`; no derivative
    """

    def prepared(
        a: Tensor, b: Tensor, read: Sequence[Tensor], c: Tensor | None = None, bias: Tensor | None = None,
        alpha: float = 1.0, beta: float | None = None,
    ) -> Tensor:  # fmt: skip
        fused = call.fused_of(c, bias, alpha=alpha, beta=beta)
        result: Tensor = call.multiply(a, b, None, fused, prepare=cl.Prepare(function, tuple(read)))
        return result

    return library_op(name, results=lambda a, b, *_: _product(b.new_empty(a.shape), b), flops=flops_of)(prepared)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, *more = inputs
    how = ctx.how = How(*more)._replace(c=None, bias=None)
    if how.scale_a is not None or how.scale_b is not None:
        raise Misfit("there is no derivative through scales: multiply what needs a gradient by them")
    ctx.kinds = [None if x is None else x.dtype for x in How(*more)[:2]]
    ctx.save_for_backward(a, b, output if how.activation == "relu" else None)


def as_rows(x: Tensor) -> Tensor:
    """Return a tensor as a matrix of its rows, in a way that torch knows for batches of gradients as well."""
    return x.reshape(prod(x.shape[:-1]), x.shape[-1])


def summed(gradient: Tensor, operand: Tensor) -> Tensor:
    """Return the gradient of an operand whose batches were broadcast: the sum over these, in f32."""
    if gradient.shape == operand.shape:
        return gradient
    return gradient.float().sum_to_size(operand.shape).to(gradient.dtype)


def _backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    a, b, positive = ctx.saved_tensors
    how, kind = ctx.how, ctx.kinds
    if positive is not None:
        grad = torch.ops.aten.threshold_backward(grad, positive, 0)  # nothing of inf and NaN where it is flat
    grad = grad.contiguous()  # of a sum it has strides of 0
    product, given = partial(call.gemm, alpha=how.alpha, precision=how.precision), len(ctx.needs_input_grad)
    needs = (*ctx.needs_input_grad, False, False)  # torch leaves out what a call leaves out
    if how.gate is not None:
        grad = gated_halves_backward(grad, product(a, b), how.gate)
    of_a = summed(product(grad, b.mT), a) if needs[0] else None
    of_b = None
    if needs[1]:
        rows = (as_rows(a), as_rows(grad)) if b.ndim == 2 else (a, grad)
        of_b = summed(product(rows[0].mT, rows[1]), b)
    of_c = (grad * call.beta_of(grad, how.beta)).to(kind[0]) if needs[2] else None
    of_bias = as_rows(grad).float().sum(0).to(kind[1]) if needs[3] else None
    return (of_a, of_b, of_c, of_bias, *(None,) * 7)[:given]


gemm.register_autograd(_backward, setup_context=_remember)
autocast(gemm, "a", "b", "c")
batched(gemm, "a", "c", unless=("scale_a",))
