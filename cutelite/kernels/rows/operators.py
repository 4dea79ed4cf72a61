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

from cutelite.interop.torch import check_places, derive, library_op
from cutelite.interop.torch_transforms import batched
from cutelite.kernels.arguments import Misfit
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.rows import cross_entropy as entropy
from cutelite.kernels.rows import embedding as tables
from cutelite.kernels.rows import histogram as counts
from cutelite.kernels.rows import norm, scan, select
from cutelite.kernels.rows import quantise as by_8_bits
from cutelite.kernels.rows import reduce as reductions
from cutelite.kernels.rows import sample as sampling
from cutelite.kernels.rows import softmax as soft
from cutelite.kernels.rows import sort as sorting
from cutelite.kernels.rows import transpose as transposes
from cutelite.kernels.rows.arrays import DTYPES, RESULTS
from cutelite.kernels.rows.narrow import Narrow
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


derive(cross_entropy, lambda made, x, target, *how: (x, target, made[1], how), cross_entropy_backward, only=1)


@library_op(
    "cutelite::embedding",
    out=("out",),
    results=lambda table, places, _: table.new_empty((*places.shape, table.shape[1])),
)
def embedding(table: Tensor, places: Tensor, padding: int, out: Any = None) -> Tensor:
    """Rows of a table. `padding`: a row that gets no gradient, or -1."""
    return tables.embedding(table, places, padding=padding, out=out)


@library_op(
    "cutelite::embedding_backward",
    results=lambda dy, places, words, _: dy.new_empty((words, dy.shape[-1])),
)
def embedding_backward(dy: Tensor, places: Tensor, words: int, padding: int) -> Tensor:
    """The gradient of the table, the same in every run."""
    return tables.embedding_backward(dy, places, words, padding=padding)


def of_places(made: Tensor, table: Tensor, places: Tensor, padding: int) -> tuple[Any, ...]:
    """Return what `embedding_backward` needs besides the gradient of the rows."""
    return places, (table.shape[0], padding)


derive(embedding, of_places, embedding_backward)


def _with_columns(x: Tensor, shape: Any) -> tuple[Tensor, Tensor]:
    """Return new elements of x, and new columns for them, without data."""
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int64)


@library_op("cutelite::top_k", results=lambda x, k: _with_columns(x, (*x.shape[:-1], k)), out=("values", "columns"))
def top_k(x: Tensor, k: int, out: Any = None) -> tuple[Tensor, Tensor]:
    """The k greatest elements of each row in descending order, and their columns."""
    return tuple(select.top_k(x, k, out=out))


def _columns(made: tuple[Tensor, Tensor], x: Tensor, *_: Any) -> tuple[Any, ...]:
    return made[1], (x.shape,)


def _scattered(dy: Tensor, columns: Tensor, shape: Any) -> Tensor:
    """Return the gradient of x: `dy` at the columns of the forward pass, and 0 elsewhere."""
    one = len(shape) > dy.ndim
    return dy.new_zeros(shape).scatter(-1, *(x[..., None] if one else x for x in (columns, dy)))


derive(top_k, _columns, _scattered, only=1)


@library_op("cutelite::argmax", results=lambda x: _with_columns(x, x.shape[:-1]), out=("values", "columns"))
def argmax(x: Tensor, out: Any = None) -> tuple[Tensor, Tensor]:
    """The greatest element of each row, and its column."""
    return tuple(select.argmax(x, out=out))


derive(argmax, _columns, _scattered, only=1)


@library_op("cutelite::sort", results=lambda x, _: _with_columns(x, x.shape), out=("keys", "places"))
def sort(x: Tensor, descending: bool, out: Any = None) -> tuple[Tensor, Tensor]:
    """The sorted elements of a vector and their indices (a stable sort)."""
    return tuple(sorting.sort(x, descending=descending, out=out))


derive(sort, _columns, _scattered, only=1)


def sort_with(x: Tensor, values: Tensor | None, descending: bool) -> tuple[Tensor, Tensor]:
    """Return what `sort` does, and in the place of indices `values` in that order, if they are given."""
    if values is None:
        return sort(x, descending)
    check_places("sort: ", (x, values), ())
    keys, places = sort(x, descending)
    return keys, values[places]


@library_op(
    "cutelite::reduced",
    out=("out",),
    results=lambda x, _, dim: x.new_empty(() if dim is None else (x.shape[1 - dim % 2],)),
)
def reduced(x: Tensor, operation: str, dim: int | None, out: Any = None) -> Tensor:  # torch has other `mode`s
    """The 'sum', 'mean', 'max' or 'min' of all elements, or along a mode of a matrix."""
    return reductions.reduced(x, operation, dim, out=out)


def _of_reduced(y: Tensor, x: Tensor, operation: str, mode: int | None) -> tuple[Any, ...]:
    kept = (x, y) if operation in ("max", "min") else (None, None)
    return *kept, (x.shape, operation, mode)


def _differentiate_reduced(dy: Tensor, x: Any, y: Any, shape: Any, operation: str, mode: int | None) -> Tensor:
    """Return the gradient of x; equal extremes share it equally, as torch's amax has it."""

    def spread(y: Tensor) -> Tensor:
        return (y if mode is None else y.unsqueeze(mode)).expand(shape)

    if x is None:
        count = shape.numel() if mode is None else shape[mode]
        return spread(dy / count if operation == "mean" else dy).clone()
    mine = x == spread(y)
    return mine * spread(dy / (mine.sum() if mode is None else mine.sum(mode)))


derive(reduced, _of_reduced, _differentiate_reduced)


@library_op("cutelite::sample", results=lambda x, *_: x.new_empty(x.shape[:-1], dtype=torch.int64), out=("out",))
def sample(x: Tensor, chances: Tensor, temperature: float, top_k: int, top_p: float, out: Any = None) -> Tensor:
    """A column of each row by chance, among the greatest."""
    return sampling.sample(x, chances, temperature=temperature, top_k=top_k, top_p=top_p, out=out)


@library_op("cutelite::cumsum", results="x", out=("out",))
def cumsum(x: Tensor, out: Any = None) -> Tensor:
    """Sums of rows up to each element."""
    return scan.cumsum(x, out=out)


cumsum.register_autograd(lambda ctx, dy: cumsum(dy.flip(-1)).flip(-1))


def _quantised(x: Tensor, block: int, up: Tensor | None, activation: str, dtype: str = "e4m3") -> tuple[Tensor, Tensor]:
    return empty(x, x.shape, dtype), Narrow(RESULTS.get(dtype), block).scales(x)


@library_op("cutelite::quantise", results=_quantised, out=("codes", "scales"))
def quantise(
    x: Tensor, block: int, up: Tensor | None, activation: str, dtype: str = "e4m3", out: Any = None
) -> tuple[Tensor, Tensor]:
    """Rows of x, or of activation(x) * up, in 8 bits, and scales: one for each row (block 1) or 128 elements."""
    narrow = Narrow(RESULTS.get(dtype), block)
    return tuple(by_8_bits.quantise(x, narrow, up=up, activation=activation, out=out))


@library_op("cutelite::histogram", results=lambda x, bins, *_: x.new_empty((bins,), dtype=torch.int32), out=("out",))
def histogram(x: Tensor, bins: int, low: float, high: float, out: Any = None) -> Tensor:
    """Count numbers by bins. It has no derivative."""
    return counts.histogram(x, bins, low, high, out=out)


@library_op("cutelite::transposed", results=lambda x, to: transposes.room(x, RESULTS[to]), out=("out",))
def transposed(x: Tensor, to: str, out: Any = None) -> Tensor:
    """A matrix, transposed and cast to the dtype of a code, whose rows may have gaps."""
    return transposes.transposed(x, to, out=out)


def _keep_dtype(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    if inputs[1] not in DTYPES:
        raise Misfit(f"to {inputs[1]} there is no derivative: detach x")
    ctx.code = code_of(inputs[0])


transposed.register_autograd(lambda ctx, dy: (transposed(dy, ctx.code), None), setup_context=_keep_dtype)


def _transposed_blocks(x: Tensor, dtype: str) -> tuple[Tensor, Tensor]:
    m, n = x.shape
    return transposes.room(x, RESULTS[dtype]), Narrow(RESULTS[dtype], transposes.TILE_M).scales(x.new_empty((n, m)))


@library_op("cutelite::transposed_blocks", results=_transposed_blocks, out=("codes", "scales"))
def transposed_blocks(x: Tensor, dtype: str, out: Any = None) -> tuple[Tensor, Tensor]:
    """A matrix, transposed and quantised in blocks of 128, and its scales. It has no derivative."""
    return tuple(transposes.transposed(x, Narrow(RESULTS.get(dtype), transposes.TILE_M), out=out))


for operator, names in (
    (softmax, ("x",)), (softmax_backward, ("dy", "y")), (norm_forward, ("x", "residual")),
    (cross_entropy, ("x", "target")), (activated, ("x",)), (gated, ("gate", "up")), (gated_halves, ("x",)),
    (cumsum, ("x",)), (top_k, ("x",)), (argmax, ("x",)), (embedding, ("places",)), (quantise, ()), (rope, ()),
):  # fmt: skip
    batched(operator, *names)
