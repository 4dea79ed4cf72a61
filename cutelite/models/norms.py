"""Norms of rows, each one kernel. Their classes override the layer's own, and use its parameters."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from cutelite.kernels.arguments import needs_gradient
from cutelite.kernels.rows.operators import norm_backward, norm_forward
from cutelite.models.dense import TYPES, plain, wrapped

KINDS = *TYPES, torch.float32
"""Dtypes that kernels on rows take: norms, rotary embedding, activations."""


class RMSNorm:
    """RMSNorm of rows: a row is read once, whatever its length."""

    weight: Tensor
    offset: float = 0.0
    """Added to the weight."""
    prepared: Any = None
    """Where torch compiles, what `summed.held_for` finds: a sum, and its norm."""

    @property
    def epsilon(self) -> float:
        """The number added to the mean of squares."""
        return float(self.variance_epsilon)  # type: ignore[attr-defined]

    def forward(self, hidden_states: Tensor) -> Tensor:
        """Return ``x / sqrt(mean(x ** 2) + epsilon) * (offset + weight)``, computed in f32."""
        if not normalised(hidden_states, self.weight):
            return super().forward(hidden_states)  # type: ignore[misc]
        result: Tensor = norm_forward(hidden_states, self.weight, None, None, self.epsilon, self.offset, False)[0]
        return result


class ScaledRMSNorm(RMSNorm):
    """RMSNorm of Gemma 4, where it has a weight."""

    @property
    def epsilon(self) -> float:
        return float(self.eps)  # type: ignore[attr-defined]


class OffsetRMSNorm(ScaledRMSNorm):
    """RMSNorm whose weight is stored minus 1, as in Gemma."""

    offset = 1.0

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)


class LayerNorm:
    """LayerNorm of rows, of which each is read once."""

    weight: Tensor
    bias: Tensor | None
    eps: float

    def forward(self, input: Tensor) -> Tensor:
        """Return ``(x - mean) / sqrt(variance + eps) * weight + bias``, computed in f32."""
        if not normalised(input, self.weight, self.bias):
            return super().forward(input)  # type: ignore[misc]
        result: Tensor = norm_forward(input, self.weight, self.bias, None, self.eps, 0.0, True)[0]
        return result


def normalised(x: Tensor, *weights: Tensor | None) -> bool:
    """Tell whether the kernels of norms take x and weights, some of which may be None: one dtype, no wrappers."""
    alike = all(weight is None or weight.dtype == x.dtype for weight in weights)
    return x.dtype in KINDS and alike and not wrapped(x, *weights)


class Beside(torch.autograd.Function):  # type: ignore[misc]
    """RMSNorm over the last mode, which also returns its input unchanged, and what its derivative needs."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, weight: Tensor, eps: float, offset: float) -> tuple[Tensor, Tensor, Tensor]:
        result, _, _, rstd = norm_forward(x, weight, None, None, eps, offset, False)
        return result, x.view_as(x), rstd

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        x, weight, _, ctx.offset = inputs
        ctx.save_for_backward(x, weight, output[2])
        ctx.mark_non_differentiable(output[2])
        ctx.set_materialize_grads(False)  # zeros for `rstd` would be a launch

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, of_x: Tensor | None, _: Any) -> tuple[Any, ...]:
        x, weight, rstd = ctx.saved_tensors
        gradient = torch.zeros_like(x) if gradient is None else gradient.contiguous()
        given = gradient, x, weight, None, rstd, None if of_x is None else of_x.contiguous()
        return *norm_backward(*given, False, ctx.offset)[:2], None, None


def normed_beside(norm: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the norm of x, and x for a residual branch: the norm's backward kernel adds the gradients of both."""
    fits = isinstance(norm, RMSNorm) and plain(norm) and normalised(x, norm.weight)
    if fits and needs_gradient(x) and needs_gradient(norm.weight):
        result, x, _ = Beside.apply(x, norm.weight, norm.epsilon, norm.offset)
        return result, x
    return norm(x), x
