"""The GEMM as an operator of torch: `torch.ops.cutelite.gemm`, with a fake implementation and derivatives.

`gemm` calls it by itself for tensors that need a gradient, for fake ones, and where torch.compile traces it, so that
the graph has no break. `torch.ops.cutelite.gemm.out` writes to the caller's tensor, and has no derivative.

A gradient is three GEMMs in all, with those of the operands in their dtypes, and four through a gate or a function.
There is none through scales, or of integers.

A call with functions goes to `gemm_with`, which gets them by number (`interop.torch_functions`), or with `finish` to
`gemm_finish`, which writes to the caller's tensors, and has no derivative. `finishing` and `preparing` make operators
of one function each, which may be exported.
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
from cutelite.interop.torch import called, derive, library_op, to_be_cast
from cutelite.interop.torch_functions import restored, takes
from cutelite.interop.torch_levels import in_levels
from cutelite.interop.torch_transforms import autocast, batched
from cutelite.interop.torch_transforms import under_autocast as under_autocast
from cutelite.kernels.arguments import Misfit, needs_gradient, wants_operator
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.functions import by_number, settled
from cutelite.kernels.gemm import call, grouped
from cutelite.kernels.gemm.arrays import DEFAULTS, check_functions
from cutelite.kernels.rows import elementwise as elements
from cutelite.kernels.rows.operators_elements import gated_halves_backward, halves
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


def wanted(
    a: Tensor, b: Tensor, out: Tensor | None, how: How, finish: cl.Finish | None, prepare: cl.Prepare | None
) -> bool:  # fmt: skip
    """Tell whether a call goes through an operator.

    Errors  ValueError for a gradient that does not exist, and for functions that no operator takes
    """
    if torch.compiler.is_dynamo_compiling():
        return True  # also those with functions, but for some that are not traced: `arrays.in_graph`
    check_functions(finish, prepare)
    beside = [x for each in (finish, prepare) if each is not None for x in each.tensors]
    given = [x for x in (a, b, *how[:4], *beside) if x is not None]
    if not all(isinstance(x, Tensor) for x in given):
        return False  # arrays of other libraries beside tensors: the function on arrays checks them
    if left_out():
        return False
    if needs_gradient(*given):
        if finish is not None or prepare is not None:
            raise Misfit("finish= and prepare= have no derivative: detach what needs a gradient")
        if out is not None:
            raise Misfit("out= has no derivative: leave it out, or detach what needs a gradient")
    asked = wants_operator(*given) or to_be_cast(a, b)
    return asked and takes_functions(how.activation, how.gate, finish, prepare, *given)


def takes_functions(
    activation: Any, gate: Any, finish: cl.Finish | None, prepare: cl.Prepare | None, *given: Tensor
) -> bool:  # fmt: skip
    """Tell whether an operator takes the functions of a call that nobody traces: see `torch_functions.takes`."""
    ahead, function = (None, None) if finish is None else (finish.ahead, finish.function)
    prepared = None if prepare is None else prepare.function
    named = {"activation": activation, "gate": gate, "finish": function, "ahead": ahead, "prepare": prepared}
    if finish is not None and in_levels():
        raise Misfit("a GEMM with finish= is no operator that torch's transforms could call: it writes to tensors")
    return takes(named, *given)


def multiply(
    a: Tensor, b: Tensor, out: Tensor | None, how: How, finish: cl.Finish | None = None,
    prepare: cl.Prepare | None = None,
) -> Any:  # fmt: skip
    """Compute `cutelite.kernels.gemm.gemm` by an operator: its out= form where `out` is given."""
    if finish is not None:
        if any(x is not None for x in (*how[:4], how.activation, how.gate)):
            raise Misfit("with finish= there are no c, bias, scales, activation, gate, integers, and no batches of B")
        if out is None:
            out = _product(a, b, call.halved(finish), None if prepare is not None else DEFAULTS.get(code_of(a)))
        return finish_by_operator(a, b, None, out, finish, False, how, prepare)
    if prepare is None and not callable(how.activation) and not callable(how.gate):
        return called(gemm, out, (a, b), how)
    number, captured = by_number((how.activation, how.gate, prepare))
    return called(gemm_with, out, (a, b, *how[:4], captured, number, how.alpha, how.beta, how.precision))


def finish_by_operator(
    a: Tensor, b: Tensor, places: Tensor | None, out: Tensor, finish: cl.Finish, padded: bool, how: How | None = None,
    prepare: cl.Prepare | None = None,
) -> Tensor:  # fmt: skip
    """Compute a GEMM, or those of groups, whose results a function makes, by the operator; returns `out`.

    places  `ends` of groups, or `counts` of `padded` ones
    """
    (number, captured), how = by_number((replace(finish, tensors=()), prepare)), how or How()
    gemm_finish(a, b, places, out, list(finish.tensors), captured, number, padded, how.alpha, how.precision)
    return out


def _product(a: Tensor, b: Tensor, gated: bool, kind: str | None = None) -> Tensor:
    """Return a tensor without contents for ``a @ b``, or for half of its columns."""
    columns = b.shape[-1] // 2 if gated else b.shape[-1]
    shape = *torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], columns
    return empty(b, shape, kind)


def flops_of(a: Tensor, b: Tensor, *_: Any) -> int:
    """Return the floating-point operations of ``a @ b``."""
    extents: tuple[int, ...] = *torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *a.shape[-2:], b.shape[-1]
    return 2 * prod(extents)


@library_op(
    "cutelite::gemm",
    results=lambda a, b, *how: _product(a, b, How(*how).gate is not None, DEFAULTS.get(code_of(a))),
    out=("out",),
    flops=flops_of,
)
def gemm(
    a: Tensor, b: Tensor, c: Tensor | None = None, bias: Tensor | None = None, scale_a: Tensor | None = None,
    scale_b: Tensor | None = None, alpha: float = 1.0, beta: float | None = None, activation: str | None = None,
    precision: str | None = None, gate: str | None = None, out: Any = None,
) -> Tensor:  # fmt: skip
    """`cutelite.kernels.gemm.gemm`, without `out` and `config`."""
    fused = call.fused_of(c, bias, scale_a, scale_b, alpha, beta, activation)
    result: Tensor = call.multiply(a, b, out, fused, precision, gate=gate)
    return result


def _of_functions(a: Tensor, b: Tensor, *more: Any) -> Tensor:
    _, gate, prepare = restored(more[5], more[4])
    return _product(a, b, gate is not None, None if prepare is not None else DEFAULTS.get(code_of(a)))


@library_op("cutelite::gemm_with", results=_of_functions, out=("out",), flops=flops_of)
def gemm_with(
    a: Tensor, b: Tensor, c: Tensor | None, bias: Tensor | None, scale_a: Tensor | None, scale_b: Tensor | None,
    captured: Sequence[Tensor], functions: int, alpha: float, beta: float | None, precision: str | None,
    out: Any = None,
) -> Tensor:  # fmt: skip
    """`gemm` with functions for activation, gate and `prepare`, by number, which hold these tensors (`numbered`)."""
    activation, gate, prepare = restored(functions, captured)
    fused = call.fused_of(c, bias, scale_a, scale_b, alpha, beta, activation)
    result: Tensor = call.multiply(a, b, out, fused, precision, gate=gate, prepare=prepare)
    return result


def _flops_of_finish(a: Tensor, b: Tensor, places: Tensor | None, *_: Any) -> int:
    return flops_of(a, b) if places is None else 2 * prod(a.shape) * b.shape[1]


@library_op("cutelite::gemm_finish", mutates_args={"out", "tensors"}, results=None, flops=_flops_of_finish)
def gemm_finish(
    a: Tensor, b: Tensor, places: Tensor | None, out: Tensor, tensors: Sequence[Tensor], captured: Sequence[Tensor],
    functions: int, padded: bool, alpha: float, precision: str | None,
) -> None:  # fmt: skip
    """A GEMM whose results a function makes (`numbered`), which reads and writes `tensors`; also of groups.

    places  `ends` of groups, or `counts` of `padded` ones
    """
    finish, prepare = restored(functions, captured)
    finish = replace(finish, tensors=tuple(tensors))
    if places is None:
        call.multiply(a, b, out, replace(call.fused_of(alpha=alpha), finish=finish), precision, prepare=prepare)
    elif padded:
        grouped.padded_groups(a, b, places, out, finish)
    else:
        grouped.rows_of_groups(a, b, places, out, None, finish)


@library_op("cutelite::gemm_slope", results="product")
def slope(grad: Tensor, product: Tensor, captured: Sequence[Tensor], functions: int) -> Tensor:
    """The gradient of what `gemm_with` applies its activation, or its gate, to."""
    activation, gate, _ = restored(functions, captured)
    if gate is None:
        slopes = elements.slopes(settled(activation), 1)
        return elements.computed(slopes, (grad, product), dtypes=(code_of(product),))[0]
    made = product.new_empty(product.shape)
    elements.computed(elements.slopes(call.gating(settled(gate)), 1), (grad, *halves(product)), out=halves(made))
    return made


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

    return library_op(name, results=lambda a, b, *_: _product(a, b, False), flops=flops_of)(prepared)


def _kept(made: Tensor, a: Tensor, b: Tensor, *more: Any) -> tuple[Any, ...]:
    how = How(*more)
    return a, b, made if how.activation == "relu" else None, _constants(how)


def _constants(how: How) -> tuple[Any, ...]:
    """Return what derivatives need of `how`: itself without tensors, and the dtypes of c and bias."""
    if how.scale_a is not None or how.scale_b is not None:
        raise Misfit("there is no derivative through scales: multiply what needs a gradient by them")
    return how._replace(c=None, bias=None), *(None if x is None else x.dtype for x in how[:2])


def as_rows(x: Tensor) -> Tensor:
    """Return a tensor as a matrix of its rows, in a way that torch knows for batches of gradients as well."""
    return x.reshape(prod(x.shape[:-1]), x.shape[-1])


def summed(gradient: Tensor, operand: Tensor) -> Tensor:
    """Return the gradient of an operand whose batches were broadcast: the sum over these, in f32."""
    if gradient.shape == operand.shape:
        return gradient
    return gradient.float().sum_to_size(operand.shape).to(gradient.dtype)


def _remember_with(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, c, bias, scale_a, scale_b, captured, functions, alpha, beta, precision = inputs
    _, gate, prepare = restored(functions, captured)
    if prepare is not None:
        raise Misfit("prepare= has no derivative: detach what needs a gradient")
    ctx.constants = _constants(How(c, bias, scale_a, scale_b, alpha, beta, precision=precision))
    ctx.functions, ctx.kept = functions, (c is not None, bias is not None)
    ctx.save_for_backward(a, b, *(x for x in (c, bias) if x is not None and gate is None), *captured)


def _backward_with(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    a, b, *others = ctx.saved_tensors
    (how, of_c, of_bias), beside = ctx.constants, iter(others)
    c, bias = (next(beside) if kept else None for kept in ctx.kept)
    captured = list(beside)
    product = call.gemm(a, b, c=c, bias=bias, alpha=how.alpha, beta=how.beta, precision=how.precision)
    grad = slope(grad.contiguous(), product, captured, ctx.functions)
    found = gradients(grad, a, b, how, of_c, of_bias, ctx.needs_input_grad)
    return *found, None, None, [None] * len(captured), *(None,) * 4


def _differentiate(grad: Tensor, a: Tensor, b: Tensor, positive: Tensor | None, how: How, *more: Any) -> Any:
    if positive is not None:
        grad = torch.ops.aten.threshold_backward(grad, positive, 0)  # nothing of inf and NaN where it is flat
    grad = grad.contiguous()  # of a sum it has strides of 0
    if how.gate is not None:
        product = call.gemm(a, b, alpha=how.alpha, precision=how.precision)
        grad = gated_halves_backward(grad, product, how.gate)
    return gradients(grad, a, b, how, *more)


def gradients(
    grad: Tensor, a: Tensor, b: Tensor, how: How, of_c: torch.dtype | None, of_bias: torch.dtype | None,
    needs: Sequence[bool],
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """Return the gradients of a, b, c and bias of a GEMM, given that of its sums with these added.

    of_c, of_bias  their dtypes
    needs          whether each is needed
    """
    product = partial(call.gemm, alpha=how.alpha, precision=how.precision)
    da = summed(product(grad, b.mT), a) if needs[0] else None
    db = None
    if needs[1]:
        rows = (as_rows(a), as_rows(grad)) if b.ndim == 2 else (a, grad)
        db = summed(product(rows[0].mT, rows[1]), b)
    dc = (grad * call.beta_of(grad, how.beta)).to(of_c) if needs[2] else None
    return da, db, dc, as_rows(grad).float().sum(0).to(of_bias) if needs[3] else None


gemm_with.register_autograd(_backward_with, setup_context=_remember_with)
autocast(gemm_with, "a", "b", "c")
derive(gemm, _kept, _differentiate, needs=4)
autocast(gemm, "a", "b", "c")
batched(gemm, "a", "c", unless=("scale_a",))
