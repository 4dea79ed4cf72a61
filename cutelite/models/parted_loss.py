"""Cross entropy over words of which each process has a part: logits are computed in parts, and gathered nowhere.

    loss = parted_loss(x, weight, target, "mean", -100, 4096, group)      # weight: (words of this process, k)

A process computes the logits of its own words. The processes share, for each row, the log of the sum of exponentials
and the target's logit; gradients of the logits follow, and the two GEMMs that they are multiplied in.
"""

# mypy: disable-error-code="misc, no-any-return"
# (torch is not installed where types are checked)

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from cutelite.kernels.rows.cross_entropy import cross_entropy, cross_entropy_backward
from cutelite.kernels.rows.linear_cross_entropy import by_parts
from cutelite.kernels.rows.operators_losses import scaled

ELSEWHERE, IGNORED = -1, -2
"""Targets, as kernels get them: a word of another process; none."""


class _Parted(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, target: Tensor, reduction: str, ignore: int, rows: int, group: Any
    ) -> tuple[Tensor, Tensor]:
        counts, words = target != ignore, len(weight)
        share = counts.sum().float().reciprocal() if reduction == "mean" else torch.ones((), device=x.device)
        gradient, local = counts * share, target - dist.get_rank(group) * words
        here = (local >= 0) & (local < words) & counts
        local = torch.where(counts, torch.where(here, local, ELSEWHERE), IGNORED)
        dx, dw, loss = torch.empty_like(x), torch.empty_like(weight), torch.zeros((), device=x.device)

        def work(part: slice, logits: Tensor) -> None:
            less, mine = cross_entropy(logits, local[part], ignore=IGNORED)
            every = mine.new_empty(dist.get_world_size(group) * len(mine))
            dist.all_gather_into_tensor(every, mine, group=group)
            lse, wanted = every.view(-1, len(mine)).logsumexp(0), torch.where(here[part], mine - less, 0.0)
            dist.all_reduce(wanted, group=group)
            loss.add_(((lse - wanted) * gradient[part]).sum())
            how: dict[str, Any] = {"ignore": IGNORED, "part": True, "out": logits}
            cross_entropy_backward(gradient[part], logits, local[part], lse, **how)

        by_parts(x, weight, rows, work, dx, dw)
        token = x.new_empty(0)
        ctx.save_for_backward(token, dx, dw)
        return loss, token

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Any, ...]:
        return *scaled(gradient, *ctx.saved_tensors), *(None,) * 5


def parted_loss(
    x: Tensor, weight: Tensor, target: Tensor, reduction: str, ignore: int, rows: int, group: Any
) -> Tensor:  # fmt: skip
    """Return the loss, the same in all processes. Each has the gradient of its part of the weight, and its part of x's.

    x          (n, k), bf16 or f16, equal in all processes;  weight  (words, k), this process's;  target  (n,), int64
    reduction  'mean' over rows that count, or 'sum'
    ignore     the target of rows that do not count
    rows       how many rows' logits are in memory at a time
    """
    loss, _ = _Parted.apply(x, weight, target, reduction, ignore, rows, group)
    return loss
