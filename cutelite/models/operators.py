"""One input times several weights: `torch.ops.cutelite.linear`, one GEMM if the weights are contiguous in memory.

Projections to queries, keys and values have the same input, and so have the two of a gated MLP. One GEMM reads it once
and fills the GPU better. `beside` moves weights so that this is possible; each stays a parameter of its own.
"""

# mypy: disable-error-code="untyped-decorator"
# (torch is not installed where types are checked)

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor

from cutelite.interop.torch import derive, library_op
from cutelite.interop.torch_transforms import autocast, batched
from cutelite.kernels.arguments import FLOATS, Arguments, ArrayError
from cutelite.kernels.arrays import code_of
from cutelite.kernels.gemm.appended import appended_product
from cutelite.kernels.gemm.call import fused_of, multiply
from cutelite.kernels.gemm.gated import PIECES, gated_gradient, gated_product
from cutelite.kernels.gemm.normed import WIDE, normed_product, summed_product
from cutelite.kernels.gemm.operators import as_rows
from cutelite.kernels.gemm.rotated import rotated_product
from cutelite.kernels.rows import gates
from cutelite.kernels.rows.operators import embedding_backward, of_places
from cutelite.kernels.rows.operators_elements import whole
from cutelite.kernels.rows.rope import rope

FEW = 256
"""The most rows for which a product takes only as long as loading its weights."""


def beside(weights: Sequence[Tensor]) -> None:
    """Move matrices of equal numbers of columns, or vectors, into one allocation, in order; keep values and names."""
    if joined(weights) is None:
        with torch.inference_mode(False):  # what is made in that mode has no derivatives later either
            whole = torch.cat([weight.detach() for weight in weights])
        for weight, part in zip(weights, whole.split([len(weight) for weight in weights]), strict=True):
            weight.data = part


def joined(weights: Sequence[Tensor]) -> Tensor | None:
    """Return all rows of the weights as one tensor on their memory; None if they are not contiguous."""
    if len(weights) == 1:
        return weights[0].detach()
    first, at = weights[0], weights[0].storage_offset()
    allocation = first.untyped_storage()._cdata
    for weight in weights:
        alike = weight.dtype == first.dtype and weight.shape[1:] == first.shape[1:]
        here = weight.storage_offset() == at and weight.untyped_storage()._cdata == allocation
        if not (alike and here and weight.is_contiguous()):
            return None
        at += weight.numel()
    rows = sum(len(weight) for weight in weights)
    return first.detach().as_strided((rows, *first.shape[1:]), first.stride())


def at_once(tensors: Sequence[Tensor]) -> Tensor:
    """Return the same, copied if they are not contiguous."""
    whole = joined(tensors)
    return torch.cat(list(tensors)) if whole is None else whole


def in_place(whole: Tensor, weights: Sequence[Tensor]) -> bool:
    """Tell whether `at_once` gave the memory of the weights, and no copy."""
    return whole.untyped_storage()._cdata == weights[0].untyped_storage()._cdata  # type: ignore[no-any-return]


def linear(
    x: Tensor, weights: Sequence[Tensor], bias: Tensor | None = None, add: Tensor | None = None, there: bool = False
) -> Tensor:  # fmt: skip
    """Call `torch.ops.cutelite.linear` with all arguments: torch has a gradient for each argument passed."""
    return dense(x, list(weights), bias, add, there)


def of_weights(x: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """Return a tensor without contents for the products of x, (..., K), and all rows of `weights`."""
    return x.new_empty((*x.shape[:-1], sum(len(weight) for weight in weights)))


def flops_of_layers(x: Tensor, weights: Sequence[Tensor], *_: Any) -> int:
    """Return the floating-point operations of the products of x, (..., K), and all rows of `weights`."""
    rows, numbers = sum(len(weight) for weight in weights), int(prod(x.shape))
    return 2 * numbers * rows


def check_layers(x: Tensor, weights: Sequence[Tensor], gate: bool = False) -> None:
    """Check that x, (..., M, K), fits the matrices of layers; with `gate` those of a gate and of what it multiplies.

    Errors  `ArrayError`
    """
    given = Arguments()
    given.array("x", x, FLOATS, "... M K")
    if not weights or (gate and len(weights) != 2):
        raise ArrayError(f"weights are {len(weights)} matrices, but must be {'two' if gate else 'one or more'}")
    for i, weight in enumerate(weights):
        given.array(f"weights[{i}]", weight, "x", "N K" if gate else f"N{i} K")


def _products(x: Tensor, weights: Sequence[Tensor], bias: Tensor | None, add: Tensor | None, *_: Any) -> Tensor:
    """Return `of_weights`. Errors: `ArrayError` for a bias or residual of another shape."""
    out = of_weights(x, weights)
    for name, given, shape in (("bias", bias, out.shape[-1:]), ("add", add, out.shape)):
        if given is not None and given.shape != shape:
            raise ArrayError(f"{name} has shape {tuple(given.shape)}, but must be {tuple(shape)}")
    return out


@library_op("cutelite::linear", results=_products, flops=flops_of_layers)
def dense(x: Tensor, weights: Sequence[Tensor], bias: Tensor | None, add: Tensor | None, there: bool = False) -> Tensor:
    """Return ``x @ cat(weights).T + bias + add``, (..., N); N is the number of rows of all weights.

    x        (..., K)
    weights  (N_i, K) each; one GEMM if they are contiguous in memory, otherwise one for each
    bias     (N,)
    add      (..., N): a residual, added before the result is rounded
    there    the weights are complete before the kernel ahead begins, and any that still runs then: they come at once
    """
    check_layers(x, weights)
    out = _products(x, weights, bias, add)
    for name, given in (("bias", bias), ("add", add)):
        if given is not None:
            Arguments().array(name, given, FLOATS if name == "bias" else code_of(x), tuple(given.shape))
    add, bias = None if add is None else whole(add), None if bias is None else whole(bias)
    every, start = joined(weights), 0
    for weight in weights if every is None else [every]:
        at = slice(start, start + len(weight))
        part = None if bias is None else bias[at]
        more = None if add is None else add[..., at]
        fused = fused_of(more, part, beta=0.0 if add is None else 1.0)
        multiply(x, weight.T, out[..., at], fused, early=x.numel() <= FEW * x.shape[-1], there=there)
        start = at.stop
    return out


@library_op("cutelite::gated_linear", results=lambda x, weights, *_: of_weights(x, weights[:1]), flops=flops_of_layers)
def gated_linear(x: Tensor, weights: Sequence[Tensor], activation: str, there: bool = False) -> Tensor:
    """Return ``activation(x @ weights[0].T) * (x @ weights[1].T)``, (..., N), by one GEMM. It has no derivative.

    x           (..., K)
    weights     two of (N, K), N a multiple of 8; two GEMMs and another kernel if they are not contiguous in memory
    activation  'silu', 'gelu', 'gelu_tanh' or 'relu'
    there       as for `linear`
    """
    check_layers(x, weights, gate=True)
    whole, shape = joined(weights), (*x.shape[:-1], len(weights[0]))
    if whole is not None:
        early = x.numel() <= FEW * x.shape[-1]
        gate: Any = "silu" if activation == "silu" else gates.functions(activation, False)[0]
        return multiply(x, whole.T, x.new_empty(shape), fused_of(), gate=gate, early=early, there=there)
    gate, up = (multiply(x, weight.T, x.new_empty(shape), fused_of()) for weight in weights)
    return gates.gated(gate, up, activation, out=gate)


def _sums(x: Tensor, weight: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    n, lead = len(weight), x.shape[:-1]
    squares = x.new_empty((*lead, n // WIDE), dtype=torch.float32)
    return x.new_empty((*lead, n)), x.new_empty((*lead, n)), squares


@library_op("cutelite::summed_linear", results=_sums, flops=lambda x, weight, *_: flops_of_layers(x, [weight]))
def summed_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None, add: Tensor, factors: Tensor, offset: float
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return ``x @ weight.T + bias + add``, and what `normed_linear` takes of it: `kernels.gemm.normed.summed_product`.

    weight  complete before the kernel ahead begins, and any that still runs then
    """
    found: tuple[Tensor, Tensor, Tensor] = summed_product(
        x, weight.T, add.contiguous(), factors, offset, bias=bias, early=True
    )
    return found


def _normed(weighted: Tensor, squares: Tensor, weights: Sequence[Tensor], biases: Any, eps: float, gate: str) -> Tensor:
    rows = sum(len(weight) for weight in weights)
    return weighted.new_empty((*weighted.shape[:-1], rows // 2 if gate else rows))


@library_op("cutelite::normed_linear", results=_normed, flops=lambda x, _, weights, *more: flops_of_layers(x, weights))
def normed_linear(
    weighted: Tensor, squares: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor], eps: float, gate: str
) -> Tensor:  # fmt: skip
    """Return the norm of what `summed_linear` gave times all weights, plus biases. It has no derivative.

    weights  (N_i, K) each; copied if they are not contiguous in memory; else as that of `summed_linear`
    biases   one for each weight, copied likewise; or none
    gate     the activation of a gate, which the first half of the weights' rows are then; or ''
    """
    whole, bias = at_once(weights), at_once(biases) if biases else None
    given, early = (weighted, squares.contiguous(), whole.T, eps), in_place(whole, weights)
    found: Tensor = normed_product(*given, gate=gate or None, bias=bias, early=early)
    return found


def _queries(x: Tensor, weights: Sequence[Tensor], _: Any, cosines: Tensor, *more: Any) -> Tensor:
    return of_weights(x, weights[:1]).unflatten(-1, (-1, 2 * cosines.shape[-1]))


@library_op(
    "cutelite::appended_linear", mutates_args={"keys", "values", "length"}, results=_queries, flops=flops_of_layers
)  # fmt: skip
def appended_linear(
    x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor], cosines: Tensor, sines: Tensor, keys: Tensor,
    values: Tensor, length: Tensor, squares: Tensor | None, eps: float, there: bool = False,
) -> Tensor:  # fmt: skip
    """Return turned queries, (B, T, heads, n), of ``x @ cat(weights).T + cat(biases)``; turned keys, and values go to a
    cache.

    x               (B, T, K): T is 1
    weights         of queries, keys and values; copied if they are not contiguous in memory
    biases          likewise, or none
    cosines, sines  (1, n / 2) for all sequences, or (B, n / 2)
    keys, values    (B, heads, places, n): the cache, whose length grows by 1. It has no derivative
    squares, eps    of `summed_linear`, whose norm is multiplied; or None
    there           as for `linear`
    """
    whole, bias = at_once(weights), at_once(biases) if biases else None
    early = there and in_place(whole, weights)
    given = x, whole.T, cosines, sines, keys, values, length.reshape(1)
    q: Tensor = appended_product(*given, squares=squares, eps=eps, bias=bias, early=early)
    return q.unflatten(-1, (-1, keys.shape[-1]))


@library_op("cutelite::rotated_linear", results=lambda x, weights, *_: of_weights(x, weights), flops=flops_of_layers)
def rotated_linear(
    x: Tensor, weights: Sequence[Tensor], cosines: Tensor, sines: Tensor, heads: int, dim: int
) -> Tensor:  # fmt: skip
    """Return ``x @ cat(weights).T``, whose first `heads` heads get rotary embedding, by one GEMM. It has no derivative.

    x               (..., T, K)
    weights         (N_i, K) each, of whole heads of `dim` elements; copied if they are not contiguous in memory
    cosines, sines  (T, dim / 2)
    """
    return rotated_product(x, at_once(weights).T, cosines, sines, heads, dim)


@library_op(
    "cutelite::rotated_linear_backward",
    results=lambda dq, dk, dv, x, weights, c, s, needs: unwritten(x, sum(map(len, weights)), needs),
    flops=lambda dq, dk, dv, x, weights, c, s, needs: flops_of_layers(x, weights) * sum(needs),
)
def rotated_linear_backward(
    dq: Tensor, dk: Tensor, dv: Tensor, x: Tensor, weights: Sequence[Tensor], cosines: Tensor, sines: Tensor,
    needs: Sequence[bool],
) -> list[Tensor]:  # fmt: skip
    """Return the gradients of x and of all weights of `rotated_linear`, as `linear_backward` does.

    dq, dk, dv  (..., T, heads, dim): of queries and keys after the rotation, and of values
    """
    counts, dim = [each.shape[-2] for each in (dq, dk, dv)], dq.shape[-1]
    grad = x.new_empty((*x.shape[:-1], sum(counts) * dim))
    q, k, v = grad.unflatten(-1, (-1, dim)).split(counts, dim=-2)
    rope(whole(dq), whole(dk), cosines, sines, inverse=True, out=(q, k))
    v.copy_(dv)
    return list(linear_backward(grad, x, weights, needs))


@library_op(
    "cutelite::linear_backward",
    results=lambda grad, x, weights, needs: unwritten(x, grad.shape[-1], needs),
    flops=lambda grad, x, weights, needs: flops_of_layers(x, weights) * sum(needs),
)
def linear_backward(grad: Tensor, x: Tensor, weights: Sequence[Tensor], needs: Sequence[bool]) -> list[Tensor]:
    """Return the gradients of x and of all weights, as one matrix; those that `needs` does not ask for are empty."""
    check_layers(x, weights)
    Arguments().array("grad", grad, code_of(x), (*x.shape[:-1], sum(map(len, weights))))
    of_x, of_weights = x.new_empty((0,)), x.new_empty((0,))
    rows = grad.flatten(0, -2)
    if needs[0]:
        of_x = x.new_empty(x.shape)
        multiply(grad, at_once(weights), of_x, fused_of())
    if needs[1]:
        of_weights = x.new_empty((rows.shape[1], x.shape[-1]))
        multiply(rows.T, x.flatten(0, -2), of_weights, fused_of())
    return [of_x, of_weights]


def unwritten(x: Tensor, rows: int, needs: Sequence[bool]) -> list[Tensor]:
    """Return memory for gradients, of x and of weights of `rows` rows; an empty array where one is not needed."""
    shapes = (x.shape, (rows, x.shape[-1]))
    return [x.new_empty(shape if need else (0,)) for shape, need in zip(shapes, needs, strict=True)]


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, weights, bias, add, _ = inputs
    ctx.rows, ctx.bias, ctx.add = [len(weight) for weight in weights], bias is not None, add is not None
    ctx.save_for_backward(x, *weights)


def _differentiate(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    x, *weights = ctx.saved_tensors
    grad = grad.contiguous()
    wanted = [weight.requires_grad for weight in weights]
    of_x, of_weights = linear_backward(grad, x, weights, [ctx.needs_input_grad[0], any(wanted)])
    parts = of_weights.split(ctx.rows) if any(wanted) else [None] * len(weights)
    of_bias = as_rows(grad).float().sum(0).to(grad.dtype) if ctx.bias else None
    found = of_x if ctx.needs_input_grad[0] else None, list(parts), of_bias, grad if ctx.add else None, None
    return found[: len(ctx.needs_input_grad)]  # of the arguments passed


dense.register_autograd(_differentiate, setup_context=_remember)


def _gated(x: Tensor, weights: Sequence[Tensor], down: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    n, lead = down.shape[1], x.shape[:-1]
    return x.new_empty((*lead, len(down))), x.new_empty((*lead, 2 * n)), x.new_empty((*lead, n))


def flops_of_mlp(x: Tensor, weights: Sequence[Tensor], down: Tensor, needs: Sequence[int] = (1, 0, 1)) -> int:
    """Return the floating-point operations of a gated MLP; of its derivatives those by x, weights and `down`."""
    rows, numbers = int(prod(x.shape[:-1])), int(prod(down.shape))
    return flops_of_layers(x, weights) * (needs[0] + needs[1]) + 2 * rows * numbers * needs[2]


@library_op(
    "cutelite::gated_mlp", results=_gated,
    flops=lambda x, weights, down, *_: flops_of_mlp(x, weights, down),
)  # fmt: skip
def gated_mlp(
    x: Tensor, weights: Sequence[Tensor], down: Tensor, add: Tensor | None, activation: str
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """``(activation(gate) * up) @ down.T + add`` of ``gate, up = x @ weights[0].T, x @ weights[1].T``.

    x        (..., K);  weights  two of (N, K);  down  (L, N);  add  (..., L)
    Gives    the result, and for derivatives gate and up beside each other, (..., 2 N), and what ``down`` multiplies
    """
    check_layers(x, weights, gate=True)
    Arguments().array("down", down, code_of(x), ("L", len(weights[0])))
    if add is not None:
        Arguments().array("add", add, code_of(x), (*x.shape[:-1], len(down)))
    whole, n = joined(weights), len(weights[0])
    if whole is not None and n % PIECES[-1] == 0:
        halves = x.new_empty((*x.shape[:-1], 2 * n))
        h = gated_product(x, whole.T, halves, activation)
    else:
        halves = dense(x, weights, None, None)
        gate, up = halves.chunk(2, dim=-1)
        h = gates.gated(gate, up, activation)
    return dense(h, [down], None, add), halves, h


def _gradients(
    grad: Tensor, x: Tensor, weights: Sequence[Tensor], down: Tensor, halves: Tensor, h: Tensor, needs: Sequence[bool],
    activation: str,
) -> list[Tensor]:  # fmt: skip
    of_down = x.new_empty(down.shape if needs[2] else (0,))
    return [*unwritten(x, halves.shape[-1], needs[:2]), of_down]


@library_op(
    "cutelite::gated_mlp_backward", results=_gradients,
    flops=lambda grad, x, weights, down, halves, h, needs, _: flops_of_mlp(
        x, weights, down, (needs[0], needs[1], needs[2] + (needs[0] or needs[1]))
    ),
)  # fmt: skip
def gated_mlp_backward(
    grad: Tensor, x: Tensor, weights: Sequence[Tensor], down: Tensor, halves: Tensor, h: Tensor, needs: Sequence[bool],
    activation: str,
) -> list[Tensor]:  # fmt: skip
    """Gradients of x, of the weights' rows as one matrix, and of `down`, each empty where `needs` says so."""
    of_down, rows = x.new_empty((0,)), grad.flatten(0, -2)
    if needs[2]:
        of_down = x.new_empty(down.shape)
        multiply(rows.T, h.flatten(0, -2), of_down, fused_of())
    if not (needs[0] or needs[1]):
        return [x.new_empty((0,)), x.new_empty((0,)), of_down]
    if h.shape[-1] % PIECES[-1] == 0:
        of_halves = gated_gradient(grad, down, halves, activation)
    else:
        of_halves, of_h = torch.empty_like(halves), multiply(grad, down, torch.empty_like(h), fused_of())
        gate, up = halves.chunk(2, dim=-1)
        gates.gated_backward(of_h, gate, up, activation, out=of_halves.chunk(2, dim=-1))
    return [*linear_backward(of_halves, x, weights, needs[:2]), of_down]


def _remember_mlp(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    x, weights, down, add, ctx.activation = inputs
    ctx.add = add is not None
    ctx.save_for_backward(x, down, *output[1:], *weights)
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)  # zeros for what has no derivative would take as much memory as that


def _differentiate_mlp(ctx: Any, grad: Tensor, *_: Any) -> tuple[Any, ...]:
    x, down, halves, h, *weights = ctx.saved_tensors
    wanted, grad = [weight.requires_grad for weight in weights], grad.contiguous()
    needs = [ctx.needs_input_grad[0], any(wanted), down.requires_grad]
    found = gated_mlp_backward(grad, x, weights, down, halves, h, needs, ctx.activation)
    of_x, of_weights, of_down = (each if need else None for each, need in zip(found, needs, strict=True))
    parts = [None, None] if of_weights is None else list(of_weights.chunk(2))
    return of_x, parts, of_down, grad if ctx.add else None, None


gated_mlp.register_autograd(_differentiate_mlp, setup_context=_remember_mlp)


@library_op(
    "cutelite::lookup",
    results=lambda table, places, _: table.new_empty((*places.shape, table.shape[1])),
)
def lookup(table: Tensor, places: Tensor, padding: int) -> Tensor:
    """Return rows of a table by torch, which checks the numbers of rows; the gradient is `cutelite.embedding`'s."""
    return torch.nn.functional.embedding(places, table)


derive(lookup, of_places, embedding_backward)
autocast(dense, "x", "weights", "bias", "add")
batched(dense, "x", "add")
autocast(gated_linear, "x", "weights")
batched(gated_linear, "x")
autocast(rotated_linear, "x", "weights")
batched(rotated_linear, "x")
autocast(summed_linear, "x", "weight", "bias", "add", "factors")
batched(summed_linear, "x", "add")
batched(normed_linear, "weighted", "squares")
autocast(gated_mlp, "x", "weights", "down", "add")
batched(gated_mlp, "x", "add")
batched(lookup, "places")
