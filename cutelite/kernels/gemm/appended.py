"""One new token of each sequence: queries, keys and values by one GEMM, which turns them and fills the cache.

    queries = appended_product(x, weight, cosines, sines, keys, values, length)      # keys and values: the cache

A tile has columns of both halves of a head, which are turned together. The cache's length is in device memory: pieces
of keys and values count those that have read it, and the last one increases it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import cutelite as cl
from cutelite import Finish
from cutelite.kernels.arguments import FLOATS, HALVES, Arguments, ArrayError, as_number
from cutelite.kernels.arrays import counter
from cutelite.kernels.gemm.call import fused_of, multiply
from cutelite.kernels.gemm.laid import for_tma
from cutelite.kernels.gemm.normed import WIDE, check_columns, factors_of
from cutelite.kernels.planning import planned_alone
from cutelite.kernels.rows.rope_append import first_free
from cutelite.lib.piece import ROWS
from cutelite.records import dataclass

HALF = 32  # columns of a piece, of each half of a head


@dataclass(frozen=True)
class Places:
    """The row of a cache, all heads' places one after the other, for each row of a product: the place of its new token.

    head, heads  of the cache
    at, places   the token's place, of so many; behind the last one rows are -1
    """

    head: Any
    heads: int
    at: Any
    places: int

    def __getitem__(self, row: Any) -> Any:
        return cl.where(self.at < self.places, (row * self.heads + self.head) * self.places + self.at, -1)


@dataclass(frozen=True)
class Heads:
    """The heads of a token, and where its keys and values go.

    queries, keys  how many heads it has of each; of values as many as of keys
    half           elements of half a head
    places         of a sequence in the cache
    each           tables have a row for each sequence, not one for all
    norm           (columns, eps) of the norm that is multiplied, or None
    biased         sums get a bias
    """

    queries: int
    keys: int
    half: int
    places: int
    each: bool
    norm: tuple[int, float] | None
    biased: bool

    @property
    def heads(self) -> int:
        """The number of all heads, of queries, keys and values. Behind them a cluster may have more tiles."""
        return self.queries + 2 * self.keys

    def begin(self, piece: Any, tables: tuple[Any, Any], length: Any, more: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what a piece needs besides its sums: cosines, sines, the norm's factors, biases, and the length.

        more  squares, if there is a norm, and the bias, (1, columns), if there is one
        """
        first = replace(piece, shape=(1, piece.shape[1]))  # all rows have the first one's angles and biases
        within, head = piece.column % self.half, piece.column // self.half
        at = piece if self.each else first
        cosines, sines = (at.by_element(table, cl.dim(within, 8, min=0)) for table in tables)
        factor, start = None if self.norm is None else factors_of(piece, more[0], *self.norm), cl.i64(0)
        columns = [cl.dim(head * 2 * self.half + within + other, 8, min=0) for other in (0, self.half)]
        biases = [first.by_element(more[-1], column) for column in columns] if self.biased else None
        if head >= self.queries and head < self.heads:
            start = length[0]
        return cosines, sines, factor, biases, start

    def write(self, piece: Any, loaded: tuple[Any, ...], cache: tuple[Any, Any], length: Any, counted: Any) -> None:
        """Store half a head's piece, and that of its other half."""
        c, s, factor, biases, held = loaded
        left, right = (x if factor is None else x * factor for x in (piece.sums, piece.others))
        left, right = (left, right) if biases is None else (left + biases[0], right + biases[1])
        start = first_free(held, self.places)
        head, within = piece.column // self.half, cl.dim(piece.column % self.half, 8, min=0)
        turned, others = left * c - right * s, right * c + left * s
        if head < self.queries:
            for x, at in ((turned, within), (others, within + self.half)):
                piece.result(x, head * 2 * self.half + at)
        elif head < self.heads:
            if head < self.queries + self.keys:
                places = Places(head - self.queries, self.keys, start, self.places)
                for x, at in ((turned, within), (others, within + self.half)):
                    piece.store(x, cache[0], at, places)
            else:
                places = Places(head - self.queries - self.keys, self.keys, start, self.places)
                for x, at in ((left, within), (right, within + self.half)):
                    piece.store(x, cache[1], at, places)
            if piece.ring.thread == 0:  # all threads of the warpgroup have read the length
                pieces = 2 * self.keys * (self.half // piece.columns) * cl.ceil_div(piece.shape[0], ROWS)
                if cl.atomic_add(counted, 0, 1, semantic="acq_rel") == pieces - 1:
                    counted[0], length[0] = cl.i32(0), held + 1


@cache
def functions(heads: Heads) -> tuple[Callable[..., Any], Callable[..., None]]:
    """Return the functions of a piece: what loads ahead, and what stores."""

    def ahead(
        piece: Any, cosines: Any, sines: Any, keys: Any, values: Any, length: Any, counted: Any, *more: Any
    ) -> Any:  # fmt: skip
        return heads.begin(piece, (cosines, sines), length, more)

    def finish(
        piece: Any, loaded: Any, cosines: Any, sines: Any, keys: Any, values: Any, length: Any, counted: Any,
        *more: Any,
    ) -> None:  # fmt: skip
        heads.write(piece, loaded, (keys, values), length, counted)

    return ahead, finish


def fits(rows: int, dim: int) -> bool:
    """Tell whether `appended_product` takes so many rows, and heads of so many elements."""
    return 0 < rows <= ROWS and dim > 0 and dim % (2 * HALF) == 0


@planned_alone("keys", "values", "length")
def appended_product(
    x: Any, weight: Any, cosines: Any, sines: Any, keys: Any, values: Any, length: Any, *, squares: Any = None,
    eps: float = 0.0, bias: Any = None, out: Any = None, config: Any = None, early: bool = False,
) -> Any:  # fmt: skip
    """Compute ``x @ weight + bias``: queries, keys and values of one token of each sequence. The latter go to a cache.

    x               (..., K), bf16 or f16; a row for each of up to 64 sequences
    weight          (K, N): columns of queries, then those of keys, then those of values, whole heads. It is copied if
                    it is not contiguous along K
    cosines, sines  (1, n / 2) for all sequences alike, or (B, n / 2): bf16, f16 or f32; halves of a head are turned
                    together, as `rope` does
    keys, values    (B, heads, places, n): the cache, without gaps. Nothing is written beyond its end
    length          (1,) i64: the tokens that it holds, of each sequence; one more afterwards. Below 0 none is written
    squares, eps    of `summed_product`, whose `weighted` x is then: the norm of that is multiplied
    bias            (N,), or None for zeros
    Gives           the queries, turned, (..., columns of queries): `out`, or a new array
    config, early   as for `summed_product`
    Errors          `cl.ArgumentError` for arrays that do not fit, or need a gradient: n is a multiple of 64
    """
    given = Arguments()
    given.array("x", x, HALVES, "... K")
    given.array("weight", weight, "x", "K N")
    for name, cached in (("keys", keys), ("values", values)):
        given.array(name, cached, "x", "B HEADS PLACES DIM", written=True, dense=True)
    given.array("cosines", cosines, FLOATS, "ROWS DIM/2", rows=True)
    given.array("sines", sines, "cosines", "ROWS DIM/2", rows=True)
    given.array("length", length, "i64", (1,), written=True, rows=True)
    (batch, heads, places, dim), lead = map(int, keys.shape), tuple(map(int, x.shape[:-1]))
    (k, columns), rows = map(int, weight.shape), prod(lead)
    own = columns - 2 * heads * dim
    if own <= 0 or columns % dim or batch != rows or not fits(rows, dim):
        raise ArrayError(
            f"x is {tuple(x.shape)}, weight {tuple(weight.shape)} and keys {tuple(keys.shape)}: there has to be a row "
            f"of x for each of 1 to {ROWS} sequences, columns are whole heads of queries, keys and values, and heads "
            f"have a multiple of {2 * HALF} elements"
        )
    if tuple(cosines.shape) not in ((1, dim // 2), (rows, dim // 2)):
        raise ArrayError(f"cosines and sines are {tuple(cosines.shape)}, for {rows} sequences and heads of {dim}")
    eps = as_number("eps", eps)
    norm, held = None, (y.reshape((batch * heads * places, dim)) for y in (keys, values))
    tensors = cosines, sines, *held, length, counter(x)
    if squares is not None:
        check_columns("x", k)
        given.array("squares", squares, "f32", (*lead, k // WIDE), dense=True)
        norm, tensors = (k, eps), (*tensors, squares.reshape((rows, k // WIDE)))
    if bias is not None:
        given.array("bias", bias, "x", (columns,), dense=True)
        tensors = *tensors, bias.reshape((1, columns))
    out = given.result(out, x, "x", (*lead, own), rows=True)
    ahead, function = functions(Heads(own // dim, heads, dim // 2, places, len(cosines) > 1, norm, bias is not None))
    finish = Finish(function, tensors, 2 * HALF, halves=True, apart=dim // 2, ahead=ahead)
    laid, fused = for_tma(weight, -2, True), replace(fused_of(), finish=finish)
    return multiply(x, laid, out, fused, None, config, early=early, there=early and laid is weight)
