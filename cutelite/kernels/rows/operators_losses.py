"""Cross entropy of a linear layer as an operator of torch, with derivatives, and a function that calls it.

from cutelite.kernels.rows.operators import linear_cross_entropy

linear_cross_entropy(hidden, head.weight, target).backward()
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"
# (torch is not installed where types are checked)

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from cutelite.interop.torch import derive, library_op, traced
from cutelite.interop.torch_transforms import autocast
from cutelite.kernels.arguments import needs_gradient, one_of
from cutelite.kernels.arrays import code_of
from cutelite.kernels.gemm.operators import flops_of
from cutelite.kernels.rows import linear_cross_entropy as linear
from cutelite.kernels.rows.elementwise import scale


def linear_cross_entropy(
    x: Tensor,
    weight: Tensor,
    target: Tensor,
    *,
    reduction: str = "mean",
    smoothing: float = 0.0,
    z: float = 0.0,
    ignore: int = -100,
    rows: int | None = None,
) -> Tensor:
    """Compute the cross entropy of ``x @ weight.T``, whose logits are never stored whole.

    x          (..., k), bf16 or f16;  weight  (n, k);  target  (...), int64
    reduction  'mean' over rows that count, 'sum', or 'none': each row's. For the first two, gradients are computed with
               the loss, in three GEMMs in all; for the last the logits are computed once more for gradients
    smoothing, z, ignore   as for `cross_entropy`
    rows       the number of rows whose logits are in memory at a time; by default a tenth of all. Each such part adds
               to the gradient of weight, in its dtype: with fewer parts it is read, and rounded, less often
    Memory     the logits of `rows` rows, beside the gradients
    Errors     ValueError for other reductions
    """
    one_of("reduction", reduction, linear.REDUCTIONS)
    at_once = needs_gradient(x, weight) and reduction != "none"
    return linear_loss(x, weight, target, reduction, smoothing, z, ignore, rows, at_once)[0]


def _losses(x: Tensor, weight: Tensor, target: Tensor, reduction: str, *how: Any) -> tuple[Tensor, ...]:
    loss = x.new_empty(x.shape[:-1] if reduction == "none" else (), dtype=torch.float32)
    shapes = (x.shape, weight.shape) if how[-1] else ((0,), (0,))
    return loss, x.new_empty((0,)), x.new_empty(shapes[0]), x.new_empty(shapes[1])


def _flops_of_losses(x: Tensor, weight: Tensor, *how: Any) -> int:
    return flops_of(x, weight.mT) * (3 if how[-1] else 1)


@library_op(  # its derivative asks torch whether the graph is kept
    "cutelite::linear_cross_entropy", results=_losses, flops=_flops_of_losses, plans=False,
)  # fmt: skip
def linear_loss(
    x: Tensor, weight: Tensor, target: Tensor, reduction: str, smoothing: float, z: float, ignore: int,
    rows: int | None, gradients: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """The loss, the token of `Scaled`, and the loss's gradients of x and weight, empty without `gradients`."""
    counts = target != ignore
    share = counts.sum().float().reciprocal() if reduction == "mean" else torch.ones((), device=x.device)
    given = (counts * share) if gradients else None
    made = linear.linear_cross_entropy(
        x, weight, target, given, smoothing=smoothing, z=z, ignore=ignore, rows=rows, sums=code_of(x)
    )
    loss = made.loss if reduction == "none" else made.loss.sum() * share
    token, *empty = (x.new_empty((0,)) for _ in range(3))
    return loss, token, *((made.x, made.weight) if gradients else empty)


@library_op(
    "cutelite::linear_cross_entropy_backward", results=("x", "weight"),
    flops=lambda gradient, x, weight, *_: 3 * flops_of(x, weight.mT),
)  # fmt: skip
def linear_gradients(
    gradient: Tensor, x: Tensor, weight: Tensor, target: Tensor, smoothing: float, z: float, ignore: int,
    rows: int | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Gradients of x and weight of those of each row's loss."""
    made = linear.linear_cross_entropy(
        x, weight, target, gradient, smoothing=smoothing, z=z, ignore=ignore, rows=rows, sums=code_of(x)
    )
    return made.x, made.weight


def _kept(made: tuple[Tensor, ...], x: Tensor, weight: Tensor, target: Tensor, *how: Any) -> tuple[Any, ...]:
    """Return the gradients of x and weight if they were computed, else what they need; and the token."""
    return *((*made[2:], None) if how[-1] else (x, weight, target)), made[1], how


def _differentiate(
    gradient: Tensor, _: Any, x: Tensor, weight: Tensor, target: Any, token: Tensor, reduction: str, *how: Any
) -> Any:  # fmt: skip
    if how[-1]:
        return scaled(gradient, token, x, weight)
    rows = gradient.expand(target.shape).contiguous()
    if reduction == "mean":
        rows = rows / (target != how[2]).sum()
    return tuple(linear_gradients(rows, x, weight, target, *how[:-1]))


def scaled(by: Tensor, token: Tensor, *gradients: Tensor) -> tuple[Tensor, ...]:
    """Return gradients that were computed with a loss times `by`, the gradient of that; token: see `Scaled`."""
    return Scaled.apply(token, by, *gradients) if torch.is_grad_enabled() else tuple(times(x, by) for x in gradients)


class Scaled(torch.autograd.Function):  # type: ignore[misc]
    """Products of gradients and a number, for a second derivative, which is refused.

    It would else be lost, since torch knows the gradients as constants. By the token, a result of the operator without
    elements, it knows that they depend on what that was given.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(token: Tensor, by: Tensor, *gradients: Tensor) -> tuple[Tensor, ...]:
        return tuple(x * by.to(x.dtype) for x in gradients)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("linear_cross_entropy has no second derivative: leave create_graph=True out")


def times(x: Tensor, by: Tensor) -> Tensor:
    """Return ``x * by``; in the memory of x where it is kept for nothing else, past the count of its changes."""
    plain = type(x) is Tensor and type(by) is Tensor  # none that stands for another, as tracers have them
    if not plain or traced(x, by):
        return x * by.to(x.dtype)
    made = x.clone() if keeps_graph() else x.data
    scale(made, by.float().reshape(1))
    return made


def keeps_graph() -> bool:
    """Tell whether the derivative under way may be asked for again (`retain_graph`), or that is not known."""
    found = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", None)
    return True if found is None else bool(found())


derive(linear_loss, _kept, _differentiate, only=2)
autocast(linear_loss, "x", "weight")
