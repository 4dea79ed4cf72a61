"""Rows of a table by their numbers, and the gradient of the table, with the same bits in every run.

For the gradient the numbers are sorted, stably, so that equal ones are neighbours; a block adds up the rows of each.
"""

import math
from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32, i64
from cutelite.kernels.arguments import as_number, in_words_of_caller, is_array, results, underived
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import Rows, derived, flat
from cutelite.kernels.rows.plan import ACCESS, pitches
from cutelite.kernels.rows.sort import sort

M, N, V = cl.dims("M N V")  # rows to gather, columns, rows of the table
THREADS = 128
MOST_WORDS = 2**31 - 1


@cache
def gathering(dtype: Any, place: Any, vector: int) -> Any:
    """Make the kernel that copies rows of the table."""
    P, Q = pitches("P Q", vector)
    wide = ACCESS // dtype.bytes

    @cl.kernel(block=THREADS)
    def gather(
        table: Tensor[dtype, (V, N), (P, 1)], places: Tensor[place, (M,)], out: Tensor[dtype, (M, N), (Q, 1)]
    ) -> None:
        tiles = cl.ceil_div(N, THREADS * wide)
        row, at = cl.block_idx.x // tiles, cl.block_idx.x % tiles
        tile, number = cl.RowTile(at * THREADS * wide, N, wide, 1), places[row]
        if number >= 0 and number < V:
            tile.store(tile.load(table[number, None]), out[row, None])
        else:
            tile.store(cl.full((wide, 1), 0, dtype), out[row, None])

    return gather


@cache
def adding(dtype: Any, vector: int) -> Any:
    """Make the kernel that adds up the rows with the same number: the block of the first of them adds all."""
    P, Q = pitches("P Q", vector)
    wide = ACCESS // dtype.bytes

    @cl.kernel(block=THREADS)
    def add(
        dy: Tensor[dtype, (M, N), (P, 1)], numbers: Tensor[i32, (M,)], rows: Tensor[i64, (M,)],
        table: Tensor[dtype, (V, N), (Q, 1)],
    ) -> None:  # fmt: skip
        tiles = cl.ceil_div(N, THREADS * wide)
        first, at = cl.block_idx.x // tiles, cl.block_idx.x % tiles
        number, tile = numbers[first], cl.RowTile(at * THREADS * wide, N, wide, 1)
        starts = cl.boolean(True)
        if first > 0:
            starts = numbers[first - 1] != number
        if starts and number >= 0 and number < V:
            total, i = tile.load(dy[rows[first], None]).to(f32), first + 1
            going = cl.boolean(True)
            while going:
                going = i < M
                if going:
                    going = numbers[i] == number
                if going:
                    total = total + tile.load(dy[rows[i], None]).to(f32)
                    i += 1
            tile.store(total.to(dtype), table[number, None])

    return add


@in_words_of_caller
@planned
def embedding(table: Any, places: Any, *, padding: int = -1, out: Any = None) -> Any:
    """Gather rows of a table.

    table   (words, n), bf16, f16 or f32
    places  (...), int32 or int64: row numbers; those outside of 0 to words - 1 give zeros
    padding the number of a row that gets no gradient; below 0: there is none. It is gathered as others are
    out     where to write, of the result's shape, without gaps; by default a new array
    Gives   (..., n)
    """
    if (found := derived(table, places, out=out)) is not None:
        return found.embedding(table, places, padding=padding)
    rows, m = Rows(table, "table", most=None), count(places)
    if len(table.shape) != 2 or (m and not table.shape[0]):
        raise cl.ArgumentError(f"table has shape {tuple(table.shape)}, but must be (words, n), with words for places")
    as_number("padding", padding, whole=True, most=max(table.shape[0] - 1, -1))
    (out,) = results(out, {"rows": ((*places.shape, rows.n), rows.dtype.name)}, table=table, places=places)
    if m * rows.n:
        made = Rows(out, "out", most=None)
        kernel = gathering(rows.dtype, kind(places), math.gcd(rows.vector, made.vector))
        kernel[m * -(-rows.n // (THREADS * (ACCESS // rows.dtype.bytes))), THREADS](
            rows.matrix, flat(places, m), made.matrix
        )
    return out


@underived()
@planned
def embedding_backward(dy: Any, places: Any, words: int, *, padding: int = -1) -> Any:
    """Compute the gradient of the table from the gradient dy of ``embedding(table, places)``.

    dy       (..., n), bf16, f16 or f32, added up in f32
    places   (...), int32 or int64; those outside of 0 to words - 1 add nothing
    words    rows of the table, below 2**31
    padding  the number of a row that gets no gradient; below 0: there is none
    Gives    (words, n)
    """
    if (found := derived(dy, places)) is not None:
        return found.embedding_backward(dy, places, words, padding)
    rows, m = Rows(dy, "dy", most=None), count(places)
    words = as_number("words", words, whole=True, least=0, most=MOST_WORDS)
    padding = as_number("padding", padding, whole=True, most=max(words - 1, -1))
    if tuple(dy.shape[:-1]) != tuple(places.shape):
        raise cl.ArgumentError(f"dy is {tuple(dy.shape)}, for places of {tuple(places.shape)}: a row for each")
    out = empty(dy, (words, rows.n))
    out[...] = 0
    if m * rows.n * words:
        made = Rows(out, "out", most=None)
        given = flat(places, m)
        if kind(places) == i64:  # numbers that 32 bits do not hold are of no row
            given = given.clip(-1, MOST_WORDS)
        numbers, order = sort(given.astype("int32") if hasattr(given, "astype") else given.int())
        kernel = adding(rows.dtype, math.gcd(rows.vector, made.vector))
        kernel[m * -(-rows.n // (THREADS * (ACCESS // rows.dtype.bytes))), THREADS](
            rows.matrix, numbers, order, made.matrix
        )
        if padding >= 0:
            out[padding] = 0
    return out


def count(places: Any) -> int:
    """Return the number of places. Errors: as `kind`."""
    kind(places)
    return math.prod(map(int, places.shape))


def kind(places: Any) -> Any:
    """Return the dtype of places. Errors: `cl.ArgumentError` for others than int32 and int64."""
    is_array("places", places)
    found = {"i32": i32, "i64": i64}.get(code_of(places))
    if found is None:
        raise cl.ArgumentError(f"places are {places.dtype}; int32 or int64 is needed")
    return found
