"""Kernels of rows as operators of torch, with derivatives: `torch.ops.cutelite.softmax` and its like.

Importing this module registers them. They are opaque to `torch.compile`, differentiable by autograd, and keep
the dtypes of their arguments. On CPU tensors they are simulated if there is no GPU. `torch.ops.cutelite.softmax.out`
and its like write to the caller's tensors, and have no derivative; that of `norm` writes the result alone.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"
# (torch is not installed where types are checked)

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from cutelite.interop.torch import derive, library_op
from cutelite.interop.torch_transforms import batched
from cutelite.kernels.rows import cross_entropy as entropy
from cutelite.kernels.rows import norm
from cutelite.kernels.rows import softmax as soft
from cutelite.kernels.rows.operators_elements import (
    activated,
    activated_backward,
    elementwise,
    elementwise_by_operator,
    gated,
    gated_backward,
    gated_halves,
    rope,
    rope_,
    rope_append,
    rope_tables,
)
from cutelite.kernels.rows.operators_losses import linear_cross_entropy
from cutelite.kernels.rows.operators_numbers import (
    argmax,
    cumsum,
    embedding,
    embedding_backward,
    histogram,
    quantise,
    reduced,
    sample,
    sort,
    sort_with,
    top_k,
    transposed,
    transposed_blocks,
)

__all__ = [
    "activated", "activated_backward", "argmax", "cross_entropy", "cross_entropy_backward", "cumsum", "elementwise",
    "elementwise_by_operator", "embedding", "embedding_backward", "gated", "gated_backward", "gated_halves",
    "histogram", "linear_cross_entropy", "norm_backward", "norm_forward", "quantise", "reduced", "rope", "rope_",
    "rope_append", "rope_tables", "sample", "softmax", "softmax_backward", "sort", "sort_with", "top_k", "transposed",
    "transposed_blocks",
]  # fmt: skip


@library_op("cutelite::softmax", results="x", out=("out",))
def softmax(x: Tensor, log: bool, out: Any = None) -> Tensor:
    """Compute softmax over the last mode, or its logarithm."""
    return soft.apply(x, out, log, None)


@library_op("cutelite::softmax_backward", results="y")
def softmax_backward(dy: Tensor, y: Tensor, log: bool) -> Tensor:
    """Compute the gradient of x from the gradient dy of `softmax(x, log)`."""
    return soft.softmax_backward(dy, y, log=log)


derive(softmax, lambda y, x, log: (y, (log,)), softmax_backward)


def _norm_results(x: Any, weight: Any, bias: Any, residual: Any, eps: float, offset: float, center: bool) -> Any:
    rows = x.new_empty(x.shape[:-1], dtype=torch.float32)
    total = x.new_empty((0,) if residual is None else x.shape)
    return x.new_empty(x.shape), total, rows.new_empty(rows.shape if center else (0,)), rows


@library_op("cutelite::norm", results=_norm_results, out=("out",))
def norm_forward(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, residual: Tensor | None, eps: float, offset: float,
    center: bool, out: Any = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Compute LayerNorm, or without `center` RMSNorm, of x + residual: the result, that sum, mean and rstd of rows.

    Without a residual the sum is an empty tensor; without `center` the mean is.
    """
    made = norm.apply(x, weight, residual, bias, eps, offset, center, out=out)
    total = x.new_empty((0,)) if residual is None else made.total
    return made.y, total, made.rstd.new_empty((0,)) if made.mean is None else made.mean, made.rstd


def _norm_gradients(dy: Any, s: Any, weight: Any, mean: Any, rstd: Any, add: Any, bias: bool, offset: float) -> Any:
    like, n = s if weight is None else weight, s.shape[-1:]
    dw = s.new_empty((0,)) if weight is None else like.new_empty(n)
    return s.new_empty(s.shape), dw, like.new_empty(n) if bias else s.new_empty((0,))


@library_op("cutelite::norm_backward", results=_norm_gradients)
def norm_backward(
    dy: Tensor, s: Tensor, weight: Tensor | None, mean: Tensor | None, rstd: Tensor, add: Tensor | None, bias: bool,
    offset: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Compute the gradients of x, weight and bias; empty tensors where there is none. `add` is added to that of x."""
    made = norm.norm_backward(dy, norm.Normed(None, s, mean, rstd), weight, bias=bias, add=add, offset=offset)
    dw, db = (s.new_empty((0,)) if each is None else each for each in (made.weight, made.bias))
    return made.x, dw, db


def _of_norm(
    made: Any, x: Any, weight: Any, bias: Any, residual: Any, eps: float, offset: float, center: bool
) -> tuple[Any, ...]:
    _, total, mean, rstd = made
    s = x if residual is None else total
    return s, weight, mean if center else None, rstd, (bias is not None, residual is not None, offset)


def _differentiate_norm(
    dy: Any, dtotal: Any, s: Any, weight: Any, mean: Any, rstd: Any, bias: bool, residual: bool, offset: float
) -> tuple[Any, ...]:
    dy = torch.zeros_like(s) if dy is None else dy
    dx, dw, db = norm_backward(dy, s, weight, mean, rstd, dtotal if residual else None, bias, offset)
    return dx, None if weight is None else dw, db if bias else None, dx if residual else None


derive(norm_forward, _of_norm, _differentiate_norm, only=2)


@library_op(
    "cutelite::cross_entropy",
    out=("losses", "sums"),
    results=lambda x, *_: tuple(x.new_empty(x.shape[:-1], dtype=torch.float32) for _ in range(2)),
)
def cross_entropy(
    x: Tensor, target: Tensor, smoothing: float, z: float, ignore: int, out: Any = None
) -> tuple[Tensor, Tensor]:
    """Compute each row's loss, and the log of the sum of its exponentials."""
    return tuple(entropy.cross_entropy(x, target, smoothing=smoothing, z=z, ignore=ignore, out=out))


@library_op("cutelite::cross_entropy_backward", results="x", out=("out",))
def cross_entropy_backward(
    gradient: Tensor, x: Tensor, target: Tensor, lse: Tensor, smoothing: float, z: float, ignore: int,
    part: bool = False, out: Any = None,
) -> Tensor:  # fmt: skip
    """Compute the gradient of the logits; with `part` of a part of each row's."""
    return entropy.cross_entropy_backward(
        gradient, x, target, lse, smoothing=smoothing, z=z, ignore=ignore, part=part, out=out
    )


derive(
    cross_entropy, lambda made, x, target, *how: (x, target, made[1], how), cross_entropy_backward, only=1
)  # fmt: skip

for operator, names in (
    (softmax, ("x",)), (softmax_backward, ("dy", "y")), (norm_forward, ("x", "residual")),
    (cross_entropy, ("x", "target")), (activated, ("x",)), (gated, ("gate", "up")), (gated_halves, ("x",)),
    (cumsum, ("x",)), (top_k, ("x",)), (argmax, ("x",)), (embedding, ("places",)), (quantise, ()), (rope, ()),
):  # fmt: skip
    batched(operator, *names)
