"""RMSNorm in the GEMMs beside it: the first makes what is normed, the second multiplies the norm. For few rows.

    h, weighted, squares = summed_product(x, down, residual, factors)           # h = x @ down + residual
    y = normed_product(weighted, squares, weight, eps)                          # the norm of h by factors, @ weight
    y = normed_product(weighted, squares, weight, eps, gate="silu")             # of a gate and `up`

The first GEMM also stores h times the norm's factors, and sums of squares of each row, one for each piece of it. What
is left of the norm is one number for each row, by which the second GEMM multiplies its sums. So no kernel of a norm
keeps the second GEMM waiting. What both add or multiply by, biases too, is loaded ahead of the products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import cutelite as cl
from cutelite import Finish, f32
from cutelite.kernels.arguments import Arguments, ArrayError, as_number, one_of
from cutelite.kernels.arrays import empty
from cutelite.kernels.gemm.call import fused_of, multiply
from cutelite.kernels.planning import planned_alone
from cutelite.kernels.rows import gates
from cutelite.lib.reduce import warp_reduce

WIDE = 32  # columns of a piece of h
QUAD = 4  # threads that have a row
FEW = 64  # rows of which registers hold what is loaded ahead


def finishing(columns: int, tensors: tuple[Any, ...], rows: int, ahead: Any, function: Any, halves: bool) -> Finish:
    """Return what finishes the sums of so many rows. Of many, what `ahead` loads is loaded for a piece at a time."""
    if rows <= FEW:
        return Finish(function, tensors, columns, halves=halves, ahead=ahead)
    return Finish(at_once(ahead, function), tensors, columns, halves=halves)


@cache
def at_once(ahead: Any, function: Any) -> Callable[..., None]:
    """Return a function that does both."""

    def finish(piece: Any, *tensors: Any) -> None:
        function(piece, ahead(piece, *tensors), *tensors)

    return finish


@cache
def summing(offset: float) -> tuple[Callable[..., Any], Callable[..., None]]:
    """Return the functions of a piece of the sum: what loads ahead, and what stores.

    offset  what is added to the norm's factors
    """

    def ahead(piece: Any, add: Any, factors: Any, weighted: Any, squares: Any, *bias: Any) -> Any:
        added = piece.by_element(add)
        return added + piece.by_column(bias[0]) if bias else added, piece.by_column(factors)

    def finish(piece: Any, loaded: Any, add: Any, factors: Any, weighted: Any, squares: Any, *bias: Any) -> None:
        added, factor = loaded
        h = (piece.sums + added).to(weighted.dtype)
        wide = h.to(f32)
        piece.put_rows(squares, piece.of_rows(wide * wide))
        piece.result(h)
        piece.store(wide * (factor + offset), weighted)

    return ahead, finish


def factors_of(piece: Any, squares: Any, columns: int, eps: float) -> Any:
    """Return for each of this thread's sums the factor by which the norm multiplies its row, of so many columns."""
    parts = columns // WIDE // QUAD  # of the squares of a row, for a thread
    vector = next(v for v in (4, 2, 1) if parts % v == 0)
    (down, right), found = piece.place, cl.make_rmem_tensor(f32, (2,))
    for i in cl.static_range(2):
        row = squares[min(piece.row + down + 8 * i, piece.shape[0] - 1), None]
        total: Any = f32(0.0)
        for j in cl.static_range(parts // vector):
            total = total + cl.local_tile(row, (vector,), (right // 2 + QUAD * j,)).load().reduce("sum")
        found[i] = cl.math.rsqrt(warp_reduce(total, "add", width=QUAD) * (1.0 / columns) + eps)
    return found.view(cl.make_layout((2, 2, piece.columns // 8), stride=(0, 1, 0))).load()


@cache
def multiplying(columns: int, eps: float, gate: str | None) -> tuple[Callable[..., Any], Callable[..., None]]:
    """Return the functions of a piece of a product of the norm of rows of so many `columns`."""
    function = None if gate is None else gates.functions(gate, False)[2]

    def ahead(piece: Any, squares: Any, *bias: Any) -> Any:
        return factors_of(piece, squares, columns, eps), *(piece.by_column(each) for each in bias)

    def finish(piece: Any, loaded: Any, squares: Any, *bias: Any) -> None:
        def of(sums: Any, number: int) -> Any:
            return sums * loaded[0] + loaded[1 + number] if bias else sums * loaded[0]

        piece.result(of(piece.sums, 0) if function is None else function(of(piece.sums, 0), of(piece.others, 1)))

    return ahead, finish


def fits(columns: int) -> bool:
    """Tell whether rows of h may have so many columns."""
    return columns > 0 and columns % (WIDE * QUAD) == 0


@planned_alone()
def summed_product(
    x: Any, weight: Any, add: Any, factors: Any, offset: float = 0.0, *, bias: Any = None, config: Any = None,
    early: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Compute ``h = x @ weight + bias + add``, and what `normed_product` takes of it: no norm is computed in between.

    x              (..., K), bf16
    weight         (K, N), N a multiple of 128
    add            (..., N)
    factors        (N,), of the RMSNorm; `offset` is added to them
    bias           (N,), or None for zeros
    config         as for `gemm`
    early          weight is complete before the kernel ahead begins, and any that still runs then: it is loaded at once
    Gives          h, (..., N); ``h * (offset + factors)``, (..., N); sums of squares of h, (..., N / 32) f32
    Errors         `cl.ArgumentError` for arrays that do not fit, or need a gradient
    """
    given = Arguments()
    given.array("x", x, "bf16", "... K")
    given.array("weight", weight, "x", "K N")
    n, lead = int(weight.shape[1]), tuple(map(int, x.shape[:-1]))
    given.array("add", add, "x", (*lead, n), dense=True)
    given.array("factors", factors, "x", (n,), dense=True)
    check_columns("weight", n)
    h, weighted, squares = empty(x, (*lead, n)), empty(x, (*lead, n)), empty(x, (*lead, n // WIDE), "f32")
    added, *made = (y.reshape((-1, y.shape[-1])) for y in (add, weighted, squares))
    if bias is not None:
        given.array("bias", bias, "x", (n,), dense=True)
    tensors = added, factors, *made, *([] if bias is None else [bias])
    finish = finishing(WIDE, tensors, prod(lead), *summing(float(as_number("offset", offset))), False)
    multiply(x, weight, h, replace(fused_of(), finish=finish), None, config, early=early, there=early)
    return h, weighted, squares


@planned_alone()
def normed_product(
    weighted: Any, squares: Any, weight: Any, eps: float, *, gate: str | None = None, bias: Any = None,
    config: Any = None, early: bool = False,
) -> Any:  # fmt: skip
    """Compute ``y = norm @ weight + bias``; of a gate and `up` ``gate(y[:, :N]) * y[:, N:]``.

    weighted, squares  of `summed_product`: (..., K) and (..., K / 32)
    weight             (K, N), N a multiple of 8; or (K, 2 N) with a gate
    eps                is added to the mean of squares
    gate               'silu', 'gelu', 'gelu_tanh' or 'relu'
    bias               a number for each column of `weight`, or None for zeros
    config, early      as for `summed_product`
    Gives              (..., N)
    Errors             `cl.ArgumentError` for arrays that do not fit, or need a gradient
    """
    given = Arguments()
    given.array("weighted", weighted, "bf16", "... K")
    given.array("weight", weight, "weighted", "K COLUMNS")
    (k, columns), lead = map(int, weight.shape), tuple(map(int, weighted.shape[:-1]))
    check_columns("weighted", k)
    given.array("squares", squares, "f32", (*lead, k // WIDE), dense=True)
    n = columns if gate is None else columns // 2
    if columns % (8 if gate is None else 16):
        raise ArrayError(f"weight has {columns} columns, but must have a multiple of 8, or of 16 with a gate")
    if gate is not None:
        one_of("gate", gate, gates.ACTIVATIONS)
    functions = multiplying(k, float(as_number("eps", eps)), gate)
    tensors: tuple[Any, ...] = (squares.reshape((-1, k // WIDE)),)
    if bias is not None:
        given.array("bias", bias, "weighted", (columns,), dense=True)
        tensors = *tensors, *(bias[i : i + n] for i in range(0, columns, n))
    finish = finishing(64, tensors, prod(lead), *functions, gate is not None)
    out = empty(weighted, (*lead, n))
    return multiply(weighted, weight, out, replace(fused_of(), finish=finish), None, config, early=early, there=early)


def check_columns(name: str, columns: int) -> None:
    """Errors: `cl.ArgumentError` for rows of h that no norm is made of."""
    if not fits(columns):
        raise ArrayError(f"{name} has {columns} columns, but rows that are normed have a multiple of {WIDE * QUAD}")
