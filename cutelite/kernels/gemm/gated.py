"""A gate and its derivative in GEMMs of training.

h = gated_product(x, weight, halves)        # activation(gate) * up of gate, up = x @ weight, which `halves` gets
y = h @ down
gated_gradient(dy, down.T, halves)          # the gradients of gate and up; that of h is never stored
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

from cutelite import Finish, dim
from cutelite.kernels.arguments import HALVES, Arguments, ArrayError, one_of
from cutelite.kernels.gemm.call import fused_of, multiply
from cutelite.kernels.planning import planned_alone
from cutelite.kernels.rows import gates

PIECES: tuple[int, ...] = (32, 16)
"""Widths of a piece in columns; the columns of gates are a multiple. With 64, tiles of 128 x 192 lack registers."""


@cache
def product_of(activation: str) -> Callable[..., None]:
    """Return the epilogue function that stores gate, `up` and the gated result."""
    function = gates.functions(activation, False)[2]

    def finish(piece: Any, halves: Any) -> None:
        columns = halves.shape[1] // 2
        if piece.column < columns:
            piece.result(function(piece.sums, piece.others))
            piece.store(piece.sums, halves)
            piece.store(piece.others, halves, dim(piece.column + columns, 8))

    return finish


@cache
def gradients_of(activation: str) -> Callable[..., None]:
    """Return the epilogue function that stores the gradients of gate and `up`, from those of the gated result."""
    both = gates.functions(activation, False)[3]

    def finish(piece: Any, halves: Any) -> None:
        columns = halves.shape[1] // 2
        if piece.column < columns:
            second = dim(piece.column + columns, 8)
            gate, up = piece.by_element(halves), piece.by_element(halves, second)
            of_gate, of_up = both(piece.sums, gate, up)
            piece.result(of_gate)
            piece.result(of_up, second)

    return finish


@planned_alone("halves")
def gated_product(
    x: Any, weight: Any, halves: Any, activation: str = "silu", *, out: Any = None, config: Any = None
) -> Any:
    """Compute ``activation(gate) * up``, where ``x @ weight`` is gate and then `up`, and store these two as well.

    x           (..., K), bf16 or f16
    weight      (K, 2 N), N a multiple of 16
    halves      (..., 2 N): gets gate and up
    activation  'silu', 'gelu', 'gelu_tanh' or 'relu'
    out         (..., N), where to write
    config      as for `gemm`
    Errors      `cl.ArgumentError` for arrays that do not fit
    """
    given = Arguments()
    given.array("x", x, HALVES, "... K")
    given.array("weight", weight, "x", "K COLUMNS")
    n, lead = int(weight.shape[1]) // 2, tuple(x.shape[:-1])
    given.array("halves", halves, "x", (*lead, 2 * n), written=True, dense=True)
    one_of("activation", activation, gates.ACTIVATIONS)
    out = given.result(out, x, "x", (*lead, n), rows=True)
    kept = halves.reshape((prod(lead), 2 * n))
    finish = Finish(product_of(activation), (kept,), 2 * pieces("weight", n), halves=True)
    return multiply(x, weight, out, replace(fused_of(), finish=finish), None, config)


def pieces(name: str, columns: int) -> int:
    """Return the widest piece, in columns, that divides `columns`. Errors: `cl.ArgumentError`."""
    wide = next((wide for wide in PIECES if columns % wide == 0), None)
    if wide is None:
        raise ArrayError(f"{name} has gates of {columns} columns, but must have a multiple of {PIECES[-1]}")
    return wide


@planned_alone()
def gated_gradient(
    dy: Any, weight: Any, halves: Any, activation: str = "silu", *, out: Any = None, config: Any = None
) -> Any:
    """Compute the gradient of `halves` from dy, the gradient of ``(activation(gate) * up) @ weight.T``.

    dy          (..., K), bf16 or f16
    weight      (K, N)
    halves      (..., 2 N): gate, then up; N is a multiple of 16
    activation  'silu', 'gelu', 'gelu_tanh' or 'relu'
    out         (..., 2 N), where to write; not `halves`
    config      as for `gemm`
    Errors      `cl.ArgumentError` for arrays that do not fit
    """
    given = Arguments()
    given.array("dy", dy, HALVES, "... K")
    given.array("weight", weight, "dy", "K N")
    n = int(weight.shape[1])
    given.array("halves", halves, "dy", (*dy.shape[:-1], 2 * n), rows=True)
    one_of("activation", activation, gates.ACTIVATIONS)
    out = given.result(out, dy, "dy", tuple(halves.shape), rows=True)
    held = halves.reshape((prod(dy.shape[:-1]), 2 * n))
    finish = Finish(gradients_of(activation), (held,), pieces("weight", n))
    return multiply(dy, weight, out, replace(fused_of(), finish=finish), None, config)
