"""A mixture of experts as operators of torch: `torch.ops.cutelite.experts` and `route`."""

# mypy: disable-error-code="untyped-decorator, no-any-return"
# (torch is not installed where types are checked)

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor

from cutelite.interop.torch import derive, library_op, to_be_cast
from cutelite.interop.torch_transforms import autocast, folded
from cutelite.kernels.arguments import needs_gradient, wants_operator
from cutelite.kernels.moe import backward, call, fp8, narrow, routing


def wanted(*given: Any) -> bool:
    """Tell whether a call with these arguments goes to an operator."""
    return wants_operator(*(x for x in given if isinstance(x, Tensor))) or to_be_cast(given[0])


def experts(x: Tensor, gate_up: Tensor, down: Tensor, index: Tensor, weights: Tensor) -> Tensor:
    """`cutelite.kernels.moe.experts` by an operator: by one with derivatives where a gradient is wanted."""
    if needs_gradient(x, gate_up, down, weights):
        return experts_kept(x, gate_up, down, index, weights)[0]
    return experts_alone(x, gate_up, down, index, weights)


def flops_of(x: Tensor, gate_up: Tensor, down: Tensor, index: Tensor, *_: Any) -> int:
    """Return the floating-point operations of the products of all chosen experts."""
    return 2 * prod(index.shape) * x.shape[1] * (gate_up.shape[1] + down.shape[2])


@library_op("cutelite::experts", results="x", out=("out",), flops=flops_of)
def experts_alone(x: Tensor, gate_up: Tensor, down: Tensor, index: Tensor, weights: Tensor, out: Any = None) -> Tensor:
    """`cutelite.kernels.moe.experts`, without derivatives."""
    return call.mix(x, gate_up, down, index, weights, out)


def _kept(x: Tensor, gate_up: Tensor, down: Tensor, index: Tensor, weights: Tensor) -> tuple[Tensor, ...]:
    pairs = index.shape[0] * index.shape[1]
    shapes = (pairs,), index.shape, down.shape[:1]
    order = [index.new_empty(shape, dtype=torch.int32) for shape in shapes]
    return x.new_empty(x.shape), x.new_empty((pairs, 2 * down.shape[2])), *order


@library_op("cutelite::experts_kept", results=_kept, flops=flops_of)
def experts_kept(
    x: Tensor, gate_up: Tensor, down: Tensor, index: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The same, and what its derivative needs: sums, rows, places and ends of `cutelite.kernels.moe.call.Kept`."""
    made = call.experts_kept(x, gate_up, down, index, weights)
    return made.out, made.sums, *made.order


def _gradients(gradient: Tensor, *given: Any) -> tuple[Tensor, ...]:
    *tensors, place, _, matrices = given
    x, gate_up, down = tensors[:3]
    of_matrices = (x.new_empty(each.shape if matrices else (0,)) for each in (gate_up, down))
    return x.new_empty(x.shape), *of_matrices, x.new_empty(place.shape, dtype=torch.float32)


def _flops_of_gradients(gradient: Tensor, x: Tensor, gate_up: Tensor, down: Tensor, *given: Any) -> int:
    *_, place, _, matrices = given
    return flops_of(x, gate_up, down, place) * (2 if matrices else 1)


@library_op("cutelite::experts_backward", results=_gradients, flops=_flops_of_gradients)
def experts_backward(
    gradient: Tensor, x: Tensor, gate_up: Tensor, down: Tensor, weights: Tensor, sums: Tensor, rows: Tensor,
    place: Tensor, ends: Tensor, matrices: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """`cutelite.kernels.moe.experts_backward`; without `matrices` their gradients are empty."""
    order = routing.Sorted(rows, place, ends)
    return tuple(backward.experts_backward(gradient, x, gate_up, down, weights, sums, order, matrices=matrices))


def _keep_experts(made: tuple[Tensor, ...], x: Any, gate_up: Any, down: Any, _: Any, weights: Any) -> tuple[Any, ...]:
    return x, gate_up, down, weights, *made[1:], ()


def _differentiate_experts(gradient: Tensor, *given: Any) -> tuple[Any, ...]:
    *saved, needs = given
    found = experts_backward(gradient.contiguous(), *saved, needs[1] or needs[2])
    each = found[0], found[1], found[2], None, found[3].to(saved[3].dtype)
    return tuple(x if need else None for x, need in zip(each, needs, strict=True))


derive(experts_kept, _keep_experts, _differentiate_experts, only=1, needs=5)
for each in experts_alone, experts_kept:
    autocast(each, "x", "gate_up", "down")


@library_op(
    "cutelite::narrow_experts", results="x", out=("out",),
    flops=lambda x, gate_up, down, index, weights, kind, inner, *_: 6 * prod(index.shape) * x.shape[1] * inner,
)  # fmt: skip
def narrow_experts(
    x: Tensor, gate_up: Tensor, down: Tensor, index: Tensor, weights: Tensor, kind: str, inner: int,
    out: Any = None,
) -> Tensor:  # fmt: skip
    """`cutelite.kernels.moe.narrow_experts`."""
    return narrow.mix_narrow(x, gate_up, down, index, weights, kind, inner, out)


@library_op(
    "cutelite::scaled_experts", results="x", out=("out",),
    flops=lambda x, gate_up, _, down, scale, index, *more: flops_of(x, gate_up, down, index),
)  # fmt: skip
def scaled_experts(
    x: Tensor, gate_up: Tensor, gate_up_scale: Tensor, down: Tensor, down_scale: Tensor, index: Tensor, weights: Tensor,
    out: Any = None,
) -> Tensor:  # fmt: skip
    """`cutelite.kernels.moe.scaled_experts`."""
    return fp8.mix_scaled(x, gate_up, gate_up_scale, down, down_scale, index, weights, out)


def _routed(logits: Tensor, k: int, _: bool) -> tuple[Tensor, Tensor]:
    shape = logits.shape[0], k
    return logits.new_empty(shape, dtype=torch.float32), logits.new_empty(shape, dtype=torch.int64)


@library_op("cutelite::route", results=_routed, out=("chances", "index"))
def route(logits: Tensor, k: int, normalise: bool, out: Any = None) -> tuple[Tensor, Tensor]:
    """`cutelite.kernels.moe.route`: weights, f32, and experts, i64."""
    return tuple(routing.choose(logits, k, normalise=normalise, index_dtype="i64", out=out))


@library_op("cutelite::route_backward", results="logits")
def route_backward(gradient: Tensor, logits: Tensor, weights: Tensor, index: Tensor, normalise: bool) -> Tensor:
    """`cutelite.kernels.moe.route_backward`."""
    return routing.route_backward(gradient, logits, routing.Routed(weights, index), normalise=normalise)


derive(
    route, lambda made, logits, k, normalise: (logits, *made, (normalise,)),
    lambda gradient, *kept: route_backward(gradient.contiguous(), *kept), only=1,
)  # fmt: skip

for each in experts_alone, narrow_experts, scaled_experts:
    folded(each, "x", "index", "weights")
for each in narrow_experts, scaled_experts:
    autocast(each, "x")
folded(route, "logits")
folded(route_backward, "gradient", "logits", "weights", "index")
