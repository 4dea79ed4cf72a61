"""Sums and parts over the processes of a group, with their derivatives; without a group, nothing."""

# mypy: disable-error-code="misc, no-any-return"
# (torch is not installed where types are checked)

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from cutelite.models import pairs


def add(x: Tensor, group: Any) -> None:
    """Make contiguous x the sum over the processes: of two GPUs by a kernel of ours, else by torch."""
    pair = None if torch.compiler.is_compiling() else pairs.of(group, x)
    if pair is None:
        dist.all_reduce(x, group=group)
    else:
        pair.add(x)


class _Summed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        x = x.clone() if ctx.needs_input_grad[0] else x.contiguous()
        add(x, group)
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        return gradient, None


class _Entered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        gradient = gradient.clone(memory_format=torch.contiguous_format)
        add(gradient, ctx.group)
        return gradient, None


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.place = slice(dist.get_rank(group) * x.shape[-1], (dist.get_rank(group) + 1) * x.shape[-1])
        parts = x.new_empty((dist.get_world_size(group) * x.shape[0], *x.shape[1:]))
        dist.all_gather_into_tensor(parts, x.contiguous(), group=group)
        return parts.view(-1, *x.shape).movedim(0, -2).flatten(-2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        return gradient[..., ctx.place], None


def summed(x: Tensor, group: Any) -> Tensor:
    """Return the sum of x over the processes; its gradient is passed on unchanged. May overwrite x without autograd."""
    return x if group is None else _Summed.apply(x, group)


def entered(x: Tensor, group: Any) -> Tensor:
    """Return x, equal in all processes, as the input of each one's part: its gradient is the sum over processes."""
    return x if group is None else _Entered.apply(x, group)


def gathered(x: Tensor, group: Any) -> Tensor:
    """Return the processes' parts, concatenated along the last mode."""
    return x if group is None else _Gathered.apply(x, group)
