"""Operators and derivatives, also within transforms of `torch.func`: `grad`, `vjp`, `jacrev`, and batches by `vmap`.

torch computes an operator's derivative by an `autograd.Function` without `setup_context`, which these transforms
refuse, and has its dispatcher call Python twice. Here one function does it: within transforms as one of a single level,
which they make of every function that has one; where nothing but the kernel follows, it calls that itself.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import functools
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch._functorch.autograd_function import WrappedCtx, enable_single_level_autograd_function
from torch._functorch.utils import unwrap_dead_wrappers
from torch._library.autograd import supports_tensorlist
from torch._library.utils import is_tensorlist_like_type
from torch.autograd import forward_ad
from torch.autograd.forward_ad import _set_fwd_grad_enabled
from torch.utils._pytree import tree_leaves, tree_map_only

from cutelite.interop.planned import Plan
from cutelite_rt import ArgumentError


def in_levels() -> bool:
    """Tell whether a transform of `torch.func` is under way."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def transform(operator: Any, devices: tuple[str, ...], function: Any) -> Any:
    """Make an operator that changes no argument compute its derivative, within transforms as well, and take batches.

    operator  torch's `CustomOpDef`
    devices   of its tensors
    function  computes it, of its arguments by place; None: torch's dispatcher finds what does
    Gives     what computes it with its derivative, of its arguments and None, where `function` is given
    """
    overload, apply = operator._opoverload, function_of(operator, function)
    refuse_lost_gradients(operator)

    def call(keyset: Any, *args: Any, **named: Any) -> Any:  # named: keyword-only arguments, which are no tensors
        check_tangents(*args)
        levels = in_levels()
        direct, below = function is not None and not named and at_kernel(keyset), keyset & BELOW
        if not (torch.is_grad_enabled() and torch._C._any_requires_grad(*args)):
            if direct:
                return function(*args)
            with torch._C._AutoDispatchBelowAutograd():
                return overload.redispatch(below, *args, **named)
        if direct:
            return apply(*args, None)
        with enable_single_level_autograd_function() if levels else nullcontext():
            return apply(*(args if levels else unwrap_dead_wrappers(args)), _Beside(below, named))

    for device in devices:
        key = f"Autograd{torch._C._dispatch_key_for_device(device)}"
        operator._lib.impl(operator._name, call, key, with_keyset=True)
    kinds = [str(each.type) for each in overload._schema.returns]
    if kinds and all(kind in ("Tensor", "List[Tensor]") for kind in kinds):
        batch_one_by_one(operator)
    return apply


def at_kernel(keyset: Any) -> bool:
    """Tell whether nothing but the kernel, and torch's count of changes, follows autograd among keys of dispatch."""
    return (keyset & BELOW).remove(_COUNT).highestPriorityTypeId() in _KERNELS


BELOW, _COUNT = torch._C._after_autograd_keyset, torch._C.DispatchKey.ADInplaceOrView
_KERNELS = torch._C.DispatchKey.CUDA, torch._C.DispatchKey.CPU


def refuse_lost_gradients(operator: Any) -> None:
    """Have derivatives that the operator gets refuse what they lose: a tensor that needs a gradient, and is given none.

    operator  torch's `CustomOpDef`. Of lists of tensors nothing is checked
    Errors    `cutelite.ArgumentError`, when the derivative is computed
    """
    register, overload = operator.register_autograd, operator._opoverload
    names = [argument.name for argument in overload._schema.arguments]

    def complete(backward: Any, /, **more: Any) -> None:
        @functools.wraps(backward)
        def call(ctx: Any, *grads: Any) -> Any:
            if all(each is None for each in grads):  # as `set_materialize_grads(False)` leaves them
                return tuple([None] * len(x) if isinstance(x, list) else None for x in ctx.needs_input_grad)
            found = backward(ctx, *grads)
            each = found if isinstance(found, tuple) else (found,)
            for name, need, made in zip(names, ctx.needs_input_grad, each, strict=False):
                if need is True and made is None:
                    raise ArgumentError(f"{overload} has no derivative by {name}, which needs a gradient: detach it")
            return found

        register(call, **more)

    operator.register_autograd = complete


@dataclass(frozen=True)
class _Beside:
    """Hold what a call has beside its arguments by place; for each part of a tuple torch would want a gradient."""

    keyset: Any  # of dispatch, below autograd
    named: dict[str, Any]  # arguments by keyword alone


def function_of(operator: Any, function: Any) -> Any:
    """Return the `apply` of the autograd function of an operator, also where there is one level alone.

    It takes the operator's arguments, and last a `_Beside`; None, where `function` computes it; or the plan of that.
    """
    overload = operator._opoverload
    taken = overload._schema.arguments
    defaults = [x.default_value for x in taken if not x.kwarg_only]  # torch leaves out those at the end
    by_name = {x.name: x.default_value for x in taken if x.kwarg_only}

    def forward(ctx: Any, *given: Any) -> Any:
        *args, beside = given
        if type(beside) is Plan:
            found = own(beside.run([x for x in args if isinstance(x, torch.Tensor)]))
        elif beside is None:
            found = function(*args)
        else:
            levels = in_levels()  # others have derivatives of their own
            with torch.set_grad_enabled(levels), _set_fwd_grad_enabled(levels), torch._C._AutoDispatchBelowAutograd():
                found = overload.redispatch(beside.keyset, *args, **beside.named)
        if operator._setup_context_fn is not None:
            named = by_name | (beside.named if type(beside) is _Beside else {})
            more = {"keyword_only_inputs": named} if by_name else {}
            filled = (*args, *defaults[len(args) :])
            operator._setup_context_fn(ctx=ctx, inputs=filled, output=found, **more)
        return found

    def backward(ctx: Any, *grads: Any) -> Any:
        if operator._backward_fn is None:
            raise RuntimeError(f"{overload} has no derivative")
        ctx.needs_input_grad = ctx.needs_input_grad[:-1]  # of the `_Context`
        found = operator._backward_fn(ctx, *grads)
        return *(found if isinstance(found, tuple) else (found,)), None

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    made: Any = type(operator._name, (torch.autograd.Function,), methods)
    made.apply = super(torch.autograd.Function, made).apply  # torch's own refuses to be called within transforms
    types = (each.type for each in (*taken, *overload._schema.returns))
    made = supports_tensorlist(made) if any(map(is_tensorlist_like_type, types)) else made
    derivative = made.backward
    made.backward = staticmethod(lambda ctx, *grads: derivative(_Context(ctx), *grads))
    return made.apply


class _Context(WrappedCtx):  # type: ignore[misc]
    """The context of one call of a derivative: several threads may compute that of one result at once."""

    _pt_reserved_attrs = *WrappedCtx._pt_reserved_attrs, "needs_input_grad"

    def __init__(self, ctx: Any) -> None:
        self._pt_inner_ctx, self.needs_input_grad = ctx, ctx.needs_input_grad


def without_views(function: Any) -> Any:
    """Return the function with results that are no views: of an operator, torch lets nobody change these in place."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return own(function(*args, **kwargs))

    return call


def own(x: Any) -> Any:
    """Return results, each of which is no view, in the same memory."""
    if isinstance(x, tuple | list):
        return [*map(own, x)] if isinstance(x, list) else tuple(map(own, x))
    return x.new_empty(0).set_(x) if isinstance(x, torch.Tensor) and x._is_view() else x


def check_tangents(*tensors: Any) -> None:
    """Check that no tensor has a tangent, also in lists: without a forward-mode derivative torch loses it in silence.

    Errors  `cutelite.ArgumentError`
    """
    if forward_ad._current_level >= 0:
        for x in tree_leaves(tensors):
            while isinstance(x, torch.Tensor) and torch._C._functorch.is_batchedtensor(x):
                x = torch._C._functorch.get_unwrapped(x)  # torch cannot ask a batch for its tangent
            if isinstance(x, torch.Tensor) and forward_ad.unpack_dual(x).tangent is not None:
                refuse_tangents()


def refuse_tangents(*_: Any) -> None:
    """Raise `cutelite.ArgumentError` for tangents: the `jvp` of an autograd function that has none."""
    raise ArgumentError("a tensor has a tangent, and there are no forward-mode derivatives: use torch.autograd")


def batch_one_by_one(operator: Any) -> None:
    """Make `torch.vmap` call an operator of tensors for each element of a batch."""

    def over_batch(info: Any, in_dims: tuple[Any, ...], *args: Any, **named: Any) -> tuple[Any, Any]:
        found = one_by_one(functools.partial(operator, **named), info.batch_size, in_dims, args)
        return found, 0 if isinstance(found, torch.Tensor) else type(found)(0 for _ in found)

    operator.register_vmap(over_batch)


def one_by_one(operator: Any, count: int, in_dims: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
    """Call the operator for each element of a batch, and stack the results."""
    args, in_dims = in_front(args, in_dims)
    if not count:
        where = next(x.device for x in tree_leaves(args) if isinstance(x, torch.Tensor))
        one = operator(*described(args, in_dims))
        return tree_map_only(torch.Tensor, lambda x: x.new_empty((0, *x.shape), device=where), one)
    found = [operator(*selected(args, in_dims, i)) for i in range(count)]
    if isinstance(found[0], torch.Tensor):
        return torch.stack(found)
    return type(found[0])(torch.stack(each) for each in zip(*found, strict=True))


def in_front(given: Any, dims: Any) -> tuple[Any, Any]:
    """Return arguments, or a list of tensors, and where their batches are: none in the last mode, but copied from it.

    There each of a batch would have gaps.
    """
    if isinstance(given, (list, tuple)):
        found = [in_front(x, dim) for x, dim in beside_dims(given, dims)]
        return [x for x, _ in found], [dim for _, dim in found]
    if dims is None or dims in (0, -given.dim()) or dims % given.dim() != given.dim() - 1:
        return given, dims
    return given.movedim(dims, 0).contiguous(), 0


def selected(given: Any, dims: Any, i: int) -> Any:
    """Return element `i` of the batch of an argument, or of a list of them."""
    if isinstance(given, (list, tuple)):
        return [selected(x, dim, i) for x, dim in beside_dims(given, dims)]
    return given if dims is None else given.select(dims, i)


def described(given: Any, dims: Any) -> Any:
    """Return one of the batch of an argument, or of a list of them, without data: there may be none with data."""
    if isinstance(given, (list, tuple)):
        return [described(x, dim) for x, dim in beside_dims(given, dims)]
    if not isinstance(given, torch.Tensor):
        return given
    extents = [extent for place, extent in enumerate(given.shape) if place != dims]
    return given.new_empty(extents, device="meta")


def beside_dims(given: Any, dims: Any) -> Any:
    """Return each argument of a list with the place of its batch; `dims`: such a list, or the same for all."""
    return zip(given, dims if isinstance(dims, (list, tuple)) else [dims] * len(given), strict=True)
