"""Rows of a table by their numbers, and the gradient of the table, with the same bits in every run.

For the gradient the numbers are sorted, stably, so that equal ones are neighbours, and cut into parts of `PART`: a
block adds up the rows of a run within a part, and where a run goes on in other parts, another launch adds these up.
"""

import math
from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32, i64
from cutelite.kernels.arguments import as_number, in_words_of_caller, is_array, results, underived
from cutelite.kernels.arrays import code_of, empty, zeros
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import Rows, countable, derived, flat
from cutelite.kernels.rows.plan import ACCESS, after, follow, pitches, sharing
from cutelite.kernels.rows.sort import sort
from cutelite.tuples import NamedTuple

M, N, V, S = cl.dims("M N V S")  # rows to gather, columns, rows of the table, sums of parts
THREADS, ROWS = 128, 4  # of a block; rows that a thread has under way
PART = 32  # neighbours of which one block adds up those of a number
AHEAD = 8  # parts of a run that a thread loads together
MOST_WORDS = 2**31 - 1


class Tile(NamedTuple):
    """The part of a row that some threads have at a time: `pieces` vectors each, which lie `threads` vectors apart."""

    vector: int
    pieces: int
    threads: int

    @staticmethod
    def of(n: int, dtype: Any, vector: int) -> "Tile":
        """Return the tile for rows of `n` elements: for as many threads as have a vector, with up to 16 bytes each."""
        threads = sharing(n, vector, THREADS)
        return Tile(vector, min(ACCESS // dtype.bytes // vector, -(-n // (threads * vector))), threads)

    @property
    def size(self) -> int:
        """The number of its elements."""
        return self.vector * self.pieces * self.threads

    @property
    def teams(self) -> int:
        """The number of tiles that a block has at a time."""
        return THREADS // self.threads

    def blocks(self, count: int, n: int) -> int:
        """Return how many blocks have `count` rows of `n` elements."""
        return -(-count * -(-n // self.size) // self.teams)

    def place(self, n: Any) -> tuple[Any, Any]:
        """Return the number of a row for this thread, and its tile of it."""
        tiles = cl.ceil_div(n, self.size)
        number = cl.block_idx.x * self.teams + cl.thread_idx.x // self.threads
        return number // tiles, cl.RowTile(number % tiles * self.size, n, *self)


@cache
def gathering(dtype: Any, kind: Any, tile: Tile) -> Any:
    """Make the kernel that copies rows of the table. Of short rows neighbouring threads have neighbouring ones."""
    (P, Q), teams = pitches("P Q", tile.vector), tile.teams

    @cl.kernel(block=THREADS)
    def gather(
        table: Tensor[dtype, (V, N), (P, 1)], places: Tensor[kind, (M,)], out: Tensor[dtype, (M, N), (Q, 1)]
    ) -> None:
        follow()
        group, mine = tile.place(N)
        rows = [group // teams * teams * ROWS + group % teams + i * teams for i in range(ROWS)]
        numbers = [places[min(row, M - 1)] for row in rows]
        inside = [(number >= 0) & (number < V) for number in numbers]
        held = [mine.load(table[cl.where(*each, 0), None]) for each in zip(inside, numbers, strict=True)]
        for i in cl.static_range(ROWS):
            if rows[i] < M:
                mine.store(cl.where(inside[i], held[i], dtype(0)), out[rows[i], None])

    return gather


@cache
def numbering(kind: Any) -> Any:
    """Make the kernel that writes places as i32: -1 for those outside of the table, and for the padding."""

    @cl.kernel(block=THREADS)
    def number(places: Tensor[kind, (M,)], numbers: Tensor[i32, (M,)], words: kind, padding: kind) -> None:
        i = cl.block_idx.x * THREADS + cl.thread_idx.x
        if i < M:
            place = places[i]
            numbers[i] = cl.where((place >= 0) & (place < words) & (place != padding), place.to(i32), -1)

    return number


@cache
def adding(dtype: Any, shape: Tile) -> Any:
    """Make the kernel that adds up rows with the same number: who has the first of them in a part adds all of the part.

    Sums of runs that go on in other parts go to `parts`: two of each part, of a run from before, and of one that begins
    """
    P, Q = pitches("P Q", shape.vector)

    @cl.kernel(block=THREADS)
    def add(
        dy: Tensor[dtype, (M, N), (P, 1)], numbers: Tensor[i32, (M,)], rows: Tensor[i64, (M,)],
        table: Tensor[dtype, (V, N), (Q, 1)], parts: Tensor[f32, (S, N)],
    ) -> None:  # fmt: skip
        first, tile = shape.place(N)
        number = numbers[min(first, M - 1)]
        begins = number != numbers[min(max(first - 1, 0), M - 1)]
        begins |= first == 0
        if (first < M) & (begins | (first % PART == 0)) & (number >= 0):
            end = min(M, (first // PART + 1) * PART)
            total, i = tile.load(dy[rows[first], None]).to(f32), first + 1
            going = cl.boolean(True)
            while going:
                going = i < end
                if going:
                    going = numbers[i] == number
                if going:
                    total = total + tile.load(dy[rows[i], None]).to(f32)
                    i += 1
            goes_on = cl.boolean(False)
            if (i == end) & (end < M):
                goes_on = numbers[end] == number
            if goes_on | (not begins):
                tile.store(total, parts[first // PART * 2 + begins.to(i32), None])
            else:
                tile.store(total.to(dtype), table[number, None])

    return add


@cache
def joining(dtype: Any, shape: Tile) -> Any:
    """Make the kernel that adds up the parts of runs that are in several, for `adding`."""
    (Q,) = pitches("Q", shape.vector)

    @cl.kernel(block=THREADS)
    def join(parts: Tensor[f32, (S, N)], numbers: Tensor[i32, (M,)], table: Tensor[dtype, (V, N), (Q, 1)]) -> None:
        part, tile = shape.place(N)
        last = part * PART + PART - 1
        if last + 1 < M:
            number, first = numbers[last], part * PART
            ours = (number == numbers[last + 1]) & (number >= 0)
            if ours & (first > 0):
                ours = numbers[max(first - 1, 0)] != number
            if ours:
                total, next = tile.load(parts[part * 2 + 1, None]), part + 1
                going = cl.boolean(True)
                while going:
                    firsts = [(next + i) * PART for i in cl.static_range(AHEAD)]
                    there = [(at < M) & (numbers[min(at, M - 1)] == number) for at in firsts]
                    held = [tile.load(parts[2 * cl.where(each, next + i, next), None]) for i, each in enumerate(there)]
                    for each, found in zip(there, held, strict=True):
                        total = total + cl.where(each, found, 0.0)
                    next, going = next + AHEAD, there[-1]
                tile.store(total.to(dtype), table[number, None])

    return join


@planned
@in_words_of_caller
def embedding(table: Any, places: Any, *, padding: int = -1, out: Any = None) -> Any:
    """Gather rows of a table.

    table   (words, n), bf16, f16 or f32
    places  (...), int32 or int64: row numbers; those outside of 0 to words - 1 give zeros
    padding the number of a row that gets no gradient; below 0: there is none. It is gathered as others are
    out     where to write, of the result's shape, without gaps; by default a new array
    Gives   (..., n)
    Errors  `cl.ArgumentError` for arrays that do not fit
    """
    if (found := derived(table, places, out=out)) is not None:
        return found.embedding(table, places, padding=padding)
    rows, m = Rows(table, "table", most=None), count(places)
    if len(table.shape) != 2 or (m and not table.shape[0]):
        raise cl.ArgumentError(f"table has shape {tuple(table.shape)}, but must be (words, n), with words for places")
    as_number("padding", padding, whole=True, most=max(table.shape[0] - 1, -1))
    countable("places", m)
    (out,) = results(out, {"rows": ((*places.shape, rows.n), rows.dtype.name)}, table=table, places=places)
    if m * rows.n:
        made = Rows(out, "out", most=None)
        tile = Tile.of(rows.n, rows.dtype, math.gcd(rows.vector, made.vector))
        groups = -(-m // (tile.teams * ROWS)) * tile.teams
        kernel = gathering(rows.dtype, kind(places), tile)
        kernel[after(tile.blocks(groups, rows.n), THREADS)](rows.matrix, flat(places, m), made.matrix)
    return out


@planned
@underived()
def embedding_backward(dy: Any, places: Any, words: int, *, padding: int = -1) -> Any:
    """Compute the gradient of the table from the gradient dy of ``embedding(table, places)``.

    dy       (..., n), bf16, f16 or f32, added up in f32
    places   (...), int32 or int64; those outside of 0 to words - 1 add nothing
    words    rows of the table, below 2**31
    padding  the number of a row that gets no gradient; below 0: there is none
    Gives    (words, n)
    Errors   `cl.ArgumentError` for arrays that do not fit
    """
    if (found := derived(dy, places)) is not None:
        return found.embedding_backward(dy, places, words, padding)
    rows, m = Rows(dy, "dy", most=None), count(places)
    words = as_number("words", words, whole=True, least=0, most=MOST_WORDS)
    padding = as_number("padding", padding, whole=True, most=max(words - 1, -1))
    if tuple(dy.shape[:-1]) != tuple(places.shape):
        raise cl.ArgumentError(f"dy is {tuple(dy.shape)}, for places of {tuple(places.shape)}: a row for each")
    countable("places", m)
    out = zeros(dy, (words, rows.n), rows.dtype.name)
    if m * rows.n * words:
        made, numbers = Rows(out, "out", most=None), empty(dy, (m,), "i32")
        numbering(kind(places))[-(-m // THREADS), THREADS](flat(places, m), numbers, words, padding)
        numbers, order = sort(numbers)
        several, tile = -(-m // PART), Tile.of(rows.n, rows.dtype, math.gcd(rows.vector, made.vector))
        parts = empty(dy, (2 * several, rows.n), "f32")
        adding(rows.dtype, tile)[tile.blocks(m, rows.n), THREADS](rows.matrix, numbers, order, made.matrix, parts)
        if several > 1:
            joining(rows.dtype, tile)[tile.blocks(several - 1, rows.n), THREADS](parts, numbers, made.matrix)
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
