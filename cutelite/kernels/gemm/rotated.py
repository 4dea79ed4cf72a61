"""Rotary embedding in the GEMM that computes queries, keys and values.

heads = rotated_product(x, weight, cosines, sines, heads=40, dim=128)    # 32 of queries, 8 of keys; 8 of values follow
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Finish
from cutelite.kernels.arguments import FLOATS, HALVES, Arguments, ArrayError, as_number
from cutelite.kernels.gemm.call import fused_of, multiply
from cutelite.kernels.gemm.laid import for_tma
from cutelite.kernels.planning import planned_alone
from cutelite.lib.piece import ROWS

MOST = 128  # elements of a head that is a piece: its sums and angles are registers
HALF = 32  # columns of a piece, of each half of a wider head


@cache
def turning_halves(heads: int, tokens: int, dim: int) -> Callable[..., None]:
    """Return the epilogue function that turns pieces with columns of both halves of a head, and stores all.

    heads, tokens  as for `turning`
    """
    half = dim // 2

    def finish(piece: Any, cosines: Any, sines: Any) -> None:
        head, within = piece.column // half, cl.dim(piece.column % half, 8, min=0)
        at = head * dim + within
        if head < heads:
            place = replace(piece, row=piece.row % tokens if tokens else piece.row)
            c, s = place.by_element(cosines, within), place.by_element(sines, within)
            piece.result(piece.sums * c - piece.others * s, at)
            piece.result(piece.others * c + piece.sums * s, at + half)
        elif piece.column < piece.shape[1]:
            piece.result(piece.sums, at)
            piece.result(piece.others, at + half)

    return finish


@cache
def turning(heads: int, tokens: int) -> Callable[..., None]:
    """Return the epilogue function that turns the first `heads` pieces of a row, each a head, and stores all.

    tokens  of a sequence; 0: there is one sequence, of as many tokens as the product has rows
    """

    def finish(piece: Any, cosines: Any, sines: Any) -> None:
        if piece.column < heads * piece.columns:
            left, right = piece.halves(piece.sums)
            row = piece.row % tokens if tokens else piece.row
            half = replace(piece, sums=left, row=row)
            c, s = half.by_element(cosines, 0), half.by_element(sines, 0)
            piece.result(piece.beside(left * c - right * s, right * c + left * s))
        else:
            piece.result(piece.sums)

    return finish


def fits(rows: int, tokens: int, dim: int) -> bool:
    """Tell whether `rotated_product` takes sequences of `tokens` tokens, `rows` in all, and heads of `dim` elements."""
    whole = dim % 16 == 0 and 16 <= dim <= MOST
    return (rows in (0, tokens) or tokens % ROWS == 0) and dim > 0 and (whole or dim % (2 * HALF) == 0)


@planned_alone()
def rotated_product(
    x: Any, weight: Any, cosines: Any, sines: Any, heads: int, dim: int, *, out: Any = None, config: Any = None
) -> Any:  # fmt: skip
    """Compute ``x @ weight``, whose columns are heads of `dim` elements, and turn the first `heads` by their positions.

    x               (..., T, K), bf16 or f16; tokens of a sequence are at 0, 1, 2, ...
    weight          (K, N), N a multiple of `dim`; copied if it is not contiguous along K and `dim` is above 128
    cosines, sines  (T, dim / 2): bf16, f16 or f32; halves of a head are turned together, as `rope` does
    out             (..., T, N), where to write
    config          as for `gemm`
    Errors          `cl.ArgumentError` for arrays that do not fit, or need a gradient: `dim` is a multiple of 16 up to
                    128 or of 64, and of several sequences T is a multiple of 64
    """
    given = Arguments()
    given.array("x", x, HALVES, "... T K")
    given.array("weight", weight, "x", "K N")
    tokens, columns, lead = int(x.shape[-2]), int(weight.shape[1]), tuple(x.shape[:-1])
    heads, dim = (as_number(name, n, whole=True, least=1) for name, n in (("heads", heads), ("dim", dim)))
    given.array("cosines", cosines, FLOATS, (tokens, dim // 2), rows=True)
    given.array("sines", sines, "cosines", (tokens, dim // 2), rows=True)
    rows = prod(map(int, lead))
    if not fits(rows, tokens, dim) or columns % dim or heads * dim > columns:
        raise ArrayError(
            f"x is {tuple(x.shape)} and weight {tuple(weight.shape)}, but with {heads} heads of {dim} to turn dim is a "
            f"multiple of 16 up to {MOST} or of {2 * HALF}, columns whole heads, and tokens of several sequences "
            f"a multiple of {ROWS}"
        )
    out = given.result(out, x, "x", (*lead, columns), rows=True)
    tokens, tables = 0 if rows == tokens else tokens, (cosines, sines)
    wide = dim > 2 * HALF and dim % (2 * HALF) == 0
    if not wide or (dim <= MOST and rt.read(weight).strides[0] != 1):
        finish = Finish(turning(heads, tokens), tables, dim)
    else:
        weight = for_tma(weight, -2, True)  # tiles of halves of heads are of rows along K
        finish = Finish(turning_halves(heads, tokens, dim), tables, 2 * HALF, halves=True, apart=dim // 2)
    return multiply(x, weight, out, replace(fused_of(), finish=finish), None, config)
