"""Embeddings, choices, sorts, sums, counts, transposes and 8 bits as operators of torch, with derivatives.

`cutelite.kernels.rows.operators` imports this module.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"
# (torch is not installed where types are checked)

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from cutelite.interop.torch import check_places, derive, library_op
from cutelite.kernels.arguments import Misfit
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.rows import embedding as tables
from cutelite.kernels.rows import histogram as counts
from cutelite.kernels.rows import quantise as by_8_bits
from cutelite.kernels.rows import reduce as reductions
from cutelite.kernels.rows import sample as sampling
from cutelite.kernels.rows import scan, select
from cutelite.kernels.rows import sort as sorting
from cutelite.kernels.rows import transpose as transposes
from cutelite.kernels.rows.arrays import DTYPES, RESULTS
from cutelite.kernels.rows.narrow import Narrow


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


@library_op(
    "cutelite::top_k", results=lambda x, k: _with_columns(x, (*x.shape[:-1], k)), out=("values", "columns")
)  # fmt: skip
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


@library_op(
    "cutelite::sample", results=lambda x, *_: x.new_empty(x.shape[:-1], dtype=torch.int64), out=("out",)
)  # fmt: skip
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


@library_op(
    "cutelite::histogram", results=lambda x, bins, *_: x.new_empty((bins,), dtype=torch.int32), out=("out",)
)  # fmt: skip
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
