"""The map from the number of a tile of queries to its place and the blocks of keys it sees.

In    the number of a tile, from `cl.TileQueue`; the window of keys that a query sees
Out   a `Tile`: its sequence, head, first row, and the blocks of keys to compute; a `Sequence`
"""

from collections.abc import Callable
from typing import Any

import cutelite as cl
from cutelite import f32, i32
from cutelite.kernels.attention.scores import Problem
from cutelite.records import dataclass, fact
from cutelite.tuples import NamedTuple

B, H, SQ, SK, ENDS = cl.dims("B H SQ SK ENDS")
F32: Any = f32
I32: Any = i32


class Given(NamedTuple):
    """The scalar parameters of the kernel.

    scale        of the products, times log2(e) where there is no `score_mod`
    offset       from a query's index to its own place; `left` keys before that and `right` behind it are seen. For
                 ragged sequences 1: the last query's place is the last key; 0: the first query's is the first key
    band         heads that are computed together, longest rows first, before the next ones
    scales       of fp8's queries, keys and values: `fp8.Scales`
    """

    scale: F32
    offset: I32
    left: I32
    right: I32
    band: I32
    scales: cl.Constexpr[Any] = None


def sequence_at(starts: Any, place: Any, rows: int) -> Any:
    """Return the number of the sequence that has a place: see `Tiles.ragged_place`.

    starts  (N + 1,): the start of each sequence, and the end of the last one
    rows    of a tile
    """
    low: Any = i32(0)
    high: Any = i32(starts.shape[0]) - 1
    while high - low > 1:
        middle = (low + high) // 2
        first, here, end = starts[low], starts[middle], starts[high]
        assert first <= here <= end, f"sequences {low}, {middle} and {high} begin at {first}, {here} and {end}"
        if here // rows + middle <= place:
            low = middle
        else:
            high = middle
    return low


def rows_of(starts: Any, number: Any, total: Any) -> tuple[Any, Any]:
    """Return the first row of a sequence, and how many it has: it ends where the array does, which has `total` rows."""
    first, end = starts[number], starts[number + 1]
    assert 0 <= first <= end, f"sequence {number} begins at {first} and ends at {end}"
    return first, min(end, total) - first


class Sequence(NamedTuple):
    """A sequence, and where its parts begin in the arrays.

    number   of the sequence: what mods get as batch
    batch    of the arrays: `number`, or 0 for ragged sequences
    query    its first query, `queries` of them; likewise `key`, `keys`
    """

    number: Any
    batch: Any
    query: Any
    queries: Any
    key: Any
    keys: Any


class Tile(NamedTuple):
    """The place of a tile: its first row of queries, and the first and the end of the blocks of keys that it sees.

    In the backward pass: its head and first row of keys, and the blocks of queries that see these.
    """

    batch: Any
    head: Any
    row: Any
    start: Any
    end: Any


class BlockTile(NamedTuple):
    """As `Tile`, of a block mask: `start` and `end` are places in its list, whose blocks below `full` have no mask."""

    batch: Any
    head: Any
    row: Any
    start: Any
    end: Any
    full: Any


class RaggedTile(NamedTuple):
    """A `Tile` with the last four numbers of its sequence. `end` 0: it is empty."""

    batch: Any
    head: Any
    row: Any
    start: Any
    end: Any
    query: Any
    queries: Any
    key: Any
    keys: Any


class Sequences:
    """Base class of the tiles of a problem, in either pass, which are frozen dataclasses: its sequences."""

    problem: Problem

    def ragged(self, number: Any, starts: tuple[Any, Any], keys: Any) -> Sequence:
        """Return a ragged sequence. It ends where the arrays do, which have `keys` keys.

        starts  of queries and of keys
        """
        of_queries, of_keys = starts
        return Sequence(number, 0, *rows_of(of_queries, number, i32(SQ)), *rows_of(of_keys, number, keys))

    def sequence(self, tile: Any) -> Sequence:
        """Return the sequence of a tile."""
        if self.problem.ragged:
            return Sequence(tile.batch, 0, *tile[5:])
        return Sequence(tile.batch, tile.batch, 0, i32(SQ), 0, i32(SK))

    def offset(self, tile: Any, given: Given) -> Any:
        """Return the offset from a query's index to its own place, in the sequence of a tile."""
        return given.offset * (tile.keys - tile.queries) if self.problem.ragged else given.offset

    @staticmethod
    def between(first: Any, last: Any, size: int, total: Any) -> tuple[Any, Any]:
        """Return the first and the end of the blocks of `size` of `total` rows that have one from `first` to `last`.

        Both may be beyond these, or None: there is no such limit.
        """
        end: Any = (total + (size - 1)) // size
        if last is not None:
            end = min(end, max(0, last + size) // size)
        return i32(0) if first is None else max(0, first) // size, end


@dataclass(frozen=True)
class Tiles(Sequences):
    """The tiles of a problem: `rows` of queries each, and keys in blocks of `columns`."""

    problem: Problem
    rows: int
    columns: int

    def count(self) -> Any:
        """Return the number of tiles of all heads and sequences. Ragged ones include some that are empty."""
        if self.problem.ragged:
            return (i32(SQ) // self.rows + i32(ENDS) - 1) * i32(H)
        return i32(cl.ceil_div(SQ, self.rows)) * i32(B) * i32(H)

    def walk(self, given: Given, ends: tuple[Any, Any], counts: Any) -> tuple[type[Any], Callable[[Any], Any]]:
        """Return the type of places, and the function from the number of a tile to its place.

        ends    of ragged sequences: of their queries and keys
        counts  of a `BlockMask`
        """
        if self.problem.blocks is not None:
            return BlockTile, lambda index: self.listed_place(index, counts, given)
        if self.problem.ragged:
            return RaggedTile, lambda index: self.ragged_place(index, *ends, given)
        return Tile, lambda index: self.place(index, given)

    def place(self, index: Any, given: Given) -> Tile:
        """Return the tile of a number."""
        heads, along = i32(H), i32(cl.ceil_div(SQ, self.rows))
        m, head = cl.longest_first(index, along, i32(B) * heads, given.band, self.problem.right)
        tile = Tile(head // heads, head % heads, m * self.rows, 0, 0)
        start, end = self.seen(tile, given)
        return tile._replace(start=start, end=end)

    def listed_place(self, index: Any, counts: Any, given: Given) -> BlockTile:
        """Return the tile of a number, of a block mask."""
        last, width = self.count() - 1, self.problem.blocks[1]
        tile = self.place(min(index, last), given)  # `cl.TileQueue` asks for more
        here = counts[self.listed(tile, counts)]
        full, all_of = here[0], here[1]
        assert 0 <= full <= all_of, f"a block mask lists {all_of} blocks of keys, and {full} of them seen as a whole"
        parts = width // self.columns
        return BlockTile(*tile[:3], 0, max(all_of, 1) * parts, full * parts)

    def listed(self, tile: Any, array: Any) -> tuple[Any, Any, Any, Any]:
        """Return the index of a tile's list in an array of a block mask, in which B or H may be 1."""
        return (
            min(tile.batch, i32(array.shape[0]) - 1), min(tile.head, i32(array.shape[1]) - 1),
            tile.row // self.problem.blocks[0], None,
        )  # fmt: skip

    def key(self, j: Any, tile: Any, order: Any) -> Any:
        """Return the first key of block `j` of a tile, within its sequence."""
        if self.problem.blocks is None:
            return j * self.columns
        width = self.problem.blocks[1]
        parts = width // self.columns
        block = order[self.listed(tile, order)][j // parts]
        blocks = i32(order.shape[3])
        assert 0 <= block <= blocks, f"a block mask lists block {block} of {blocks} of keys"
        return block * width + j % parts * self.columns

    def ragged_place(self, index: Any, of_queries: Any, of_keys: Any, given: Given) -> RaggedTile:
        """Return the tile of a number: head by head, sequence by sequence, longest rows first.

        Sequence i has the places from ``start // rows + i`` to ``end // rows + i``, inclusive: enough for its tiles,
        and found from its start alone. Some places are empty.
        """
        count, BM = i32(ENDS) - 1, self.rows
        places = i32(SQ) // BM + count
        head, place = index // places, index % places
        low = sequence_at(of_queries, place, BM)
        sequence = self.ragged(low, (of_queries, of_keys), i32(SK))
        row = (place - (sequence.query // BM + low)) * BM
        if self.problem.right:
            row = (sequence.queries - 1) // BM * BM - row
        tile = RaggedTile(low, head, row, 0, 0, *sequence[2:])
        start, end = self.seen(tile, given)
        return tile._replace(start=start, end=cl.where((row >= 0) & (row < sequence.queries), end, 0))

    def seen(self, tile: Any, given: Given) -> tuple[Any, Any]:
        """Return the first and the end of the blocks of keys that a tile sees: one at least, maybe all masked."""
        place = tile.row + self.offset(tile, given)
        first = place - given.left if self.problem.left else None
        last = place + (self.rows - 1) + given.right if self.problem.right else None
        start, end = self.between(first, last, self.columns, self.sequence(tile).keys)
        end = max(end, 1)
        return min(end - 1, start), end

    @fact
    def masks(self) -> bool:
        """Tell whether there may be blocks before a tile's last one that some of its rows do not see as a whole."""
        problem = self.problem
        return problem.left or problem.right or problem.blocks is not None or problem.mask_mod is not None

    def clear(self, tile: Any, given: Given) -> tuple[Any, Any]:
        """Return the first and the end of the blocks, without the last one, that all rows of a tile see as a whole."""
        low, high, BN = tile.start, tile.end - 1, self.columns
        place = tile.row + self.offset(tile, given)
        if self.problem.blocks is not None:
            return low, min(high, tile.full)
        if self.problem.mask_mod is not None:
            return low, low
        if self.problem.right:
            high = max(low, min(high, (place + given.right + 1) // BN))
        if self.problem.left:
            low = max(low, min(high, (max(0, place + self.rows - 1 - given.left) + BN - 1) // BN))
        return low, high
