"""Activations, gates and rotary embedding as operators of torch, with derivatives: `torch.ops.cutelite.gated`.

`cutelite.kernels.rows.operators` imports this module.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"
# (torch is not installed where types are checked)

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from cutelite.interop.torch import library_op
from cutelite.kernels.arguments import ArrayError
from cutelite.kernels.arrays import code_of
from cutelite.kernels.rows import gates
from cutelite.kernels.rows import rope as rotary
from cutelite.kernels.rows import rope_append as rope_cache
from cutelite.kernels.rows import rope_tables as angles


@library_op("cutelite::activated", results="x", out=("out",))
def activated(x: Tensor, activation: str, out: Any = None) -> Tensor:
    """An activation of every element: 'silu', 'gelu', 'gelu_tanh', 'relu'."""
    return gates.activated(x, activation, out=out)


@library_op("cutelite::activated_backward", results="x")
def activated_backward(dy: Tensor, x: Tensor, activation: str) -> Tensor:
    """The gradient of x."""
    return gates.activated_backward(dy, x, activation)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    *tensors, ctx.activation = inputs
    ctx.save_for_backward(*tensors)


activated.register_autograd(
    lambda ctx, dy: (activated_backward(dy, *ctx.saved_tensors, ctx.activation), None), setup_context=_keep
)


@library_op("cutelite::gated", results="gate", out=("out",))
def gated(gate: Tensor, up: Tensor, activation: str, out: Any = None) -> Tensor:
    """``activation(gate) * up``: SwiGLU with 'silu', GeGLU with 'gelu' or 'gelu_tanh'."""
    return gates.gated(gate, up, activation, out=out)


@library_op("cutelite::gated_backward", results=("gate", "up"))
def gated_backward(dy: Tensor, gate: Tensor, up: Tensor, activation: str) -> tuple[Tensor, Tensor]:
    """The gradients of gate and up."""
    return gates.gated_backward(dy, gate, up, activation)


gated.register_autograd(
    lambda ctx, dy: (*gated_backward(dy, *ctx.saved_tensors, ctx.activation), None), setup_context=_keep
)


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the two halves of the last mode. Errors: `ArrayError` if there are none."""
    if not x.ndim or x.shape[-1] % 2:
        raise ArrayError(f"x has shape {tuple(x.shape)}, but must have an even number of columns")
    n = x.shape[-1] // 2
    return x[..., :n], x[..., n:]


@library_op("cutelite::gated_halves", results=lambda x, _: x.new_empty(halves(x)[0].shape), out=("out",))
def gated_halves(x: Tensor, activation: str, out: Any = None) -> Tensor:
    """``activation(gate) * up`` of the two halves of x's last mode, whose gradient is one tensor too."""
    return gates.gated(*halves(x), activation, out=out)


@library_op("cutelite::gated_halves_backward", results="x")
def gated_halves_backward(dy: Tensor, x: Tensor, activation: str) -> Tensor:
    """The gradient of x."""
    dx = x.new_empty(x.shape)
    gates.gated_backward(dy, *halves(x), activation, out=halves(dx))
    return dx


gated_halves.register_autograd(
    lambda ctx, dy: (gated_halves_backward(dy, *ctx.saved_tensors, ctx.activation), None), setup_context=_keep
)


@library_op("cutelite::rope", results=("q", "k"), out=("turned_q", "turned_k"))
def rope(
    q: Tensor, k: Tensor, cosines: Tensor, sines: Tensor, positions: Tensor | None, interleaved: bool, inverse: bool,
    out: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Queries and keys turned by the angles of their positions."""
    q, k = (whole(x) if out is None else x for x in (q, k))
    return rotary.rope(q, k, cosines, sines, positions, interleaved=interleaved, inverse=inverse, out=out)


def _keep_rope(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, _, cosines, sines, positions, ctx.interleaved, ctx.inverse = inputs
    ctx.save_for_backward(cosines, sines, positions)


def _differentiate_rope(ctx: Any, dq: Tensor, dk: Tensor) -> tuple[Any, ...]:
    return *rope(dq, dk, *ctx.saved_tensors, ctx.interleaved, not ctx.inverse), None, None, None, None, None


rope.register_autograd(_differentiate_rope, setup_context=_keep_rope)


@library_op("cutelite::rope_", mutates_args={"q", "k"}, results=None)
def rope_(
    q: Tensor, k: Tensor, cosines: Tensor, sines: Tensor, positions: Tensor | None, interleaved: bool, inverse: bool
) -> None:
    """As `rope`, in place; without a derivative."""
    rotary.rope(q, k, cosines, sines, positions, interleaved=interleaved, inverse=inverse, out=(q, k))


@library_op("cutelite::rope_append", mutates_args={"keys", "values", "length"}, results="q")
def rope_append(
    q: Tensor, k: Tensor, v: Tensor, cosines: Tensor, sines: Tensor, keys: Tensor, values: Tensor, length: Tensor
) -> Tensor:
    """Queries turned; keys turned, and values, behind those of a cache, whose length grows. It has no derivative."""
    return rope_cache.rope_append(q, k, v, cosines, sines, keys, values, length.reshape(1))


def _tables(positions: Tensor, frequencies: Tensor, dtype: torch.dtype, scale: float) -> tuple[Tensor, Tensor]:
    made = positions.new_empty((*positions.shape, 2 * len(frequencies)), dtype=dtype)
    return made, torch.empty_like(made)


@library_op("cutelite::rope_tables", results=_tables)
def rope_tables(positions: Tensor, frequencies: Tensor, dtype: torch.dtype, scale: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines of positions times frequencies, twice in each row. They have no derivative."""
    code = code_of(positions.new_empty((0,), dtype=dtype))
    return angles.rope_tables(positions.contiguous(), frequencies.contiguous(), code, scale=scale)


def whole(x: Tensor) -> Tensor:
    """The tensor with elements of a head side by side: gradients of sums have strides of 0."""
    return x if x.stride()[-1:] == (1,) else x.contiguous()
