"""A mixture of experts as operators of torch: `torch.ops.cutelite.experts` and `route`."""

# mypy: disable-error-code="untyped-decorator, no-any-return"
# (torch is not there to be read when types are checked)

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from cutelite.interop.torch import custom_op
from cutelite.kernels.moe import call, routing


@custom_op("cutelite::experts", mutates_args=())
def experts(x: Tensor, gate_up: Tensor, down: Tensor, index: Tensor, weights: Tensor) -> Tensor:
    """`cutelite.kernels.moe.experts`."""
    return call.experts(x, gate_up, down, index, weights)


@custom_op("cutelite::route", mutates_args=())
def route(logits: Tensor, k: int, normalise: bool) -> tuple[Tensor, Tensor]:
    """`cutelite.kernels.moe.route`: weights, f32, and experts, i64."""
    return tuple(routing.route(logits, k, normalise=normalise, index_dtype="i64"))


@route.register_fake
def _(logits: Tensor, k: int, normalise: bool) -> tuple[Tensor, Tensor]:
    shape = len(logits), k
    return logits.new_empty(shape, dtype=torch.float32), logits.new_empty(shape, dtype=torch.int64)


def _keep_route(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    logits, _, ctx.normalise = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(logits, *output)


def _differentiate_route(ctx: Any, gradient: Tensor, _: Any) -> tuple[Any, ...]:
    logits, weights, index = ctx.saved_tensors
    shares = weights if ctx.normalise else logits.float().softmax(-1)
    given = gradient if ctx.normalise else torch.zeros_like(shares).scatter(1, index, gradient)
    found = shares * (given - (shares * given).sum(-1, keepdim=True))
    if ctx.normalise:  # a softmax over the logits that were chosen
        found = torch.zeros_like(logits, dtype=torch.float32).scatter(1, index, found)
    return found.to(logits.dtype), None, None


route.register_autograd(_differentiate_route, setup_context=_keep_route)
