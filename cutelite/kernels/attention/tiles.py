"""Where tiles of queries are, and which keys they see.

In    the number of a tile, from `cl.TileQueue`; what keys a query sees, by its place
Out   a `Tile`: its sequence, head, first row, and the blocks of keys to compute
"""
# mypy: disable-error-code="name-defined, attr-defined"

from dataclasses import dataclass
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import i32
from cutelite.kernels.attention.scores import Problem

B, H, SQ, SK, ENDS = cl.dims("B H SQ SK ENDS")


class Given(NamedTuple):
    """The kernel's numbers.

    scale        of the products, times log2(e) where there is no `score_mod`
    offset       of the key at a query's own place; `left` keys before it and `right` behind it are seen. Of ragged
                 sequences: 1 where the last query's place is the last key, 0 where the first one's is the first
    band         so many heads are computed row by row, longest rows first, before the next ones
    """

    scale: Any
    offset: Any
    left: Any
    right: Any
    band: Any


class Tile(NamedTuple):
    """Where a tile is: its first row of queries, and the first and the end of the blocks of keys that it sees."""

    batch: Any
    head: Any
    row: Any
    start: Any
    end: Any


class RaggedTile(NamedTuple):
    """As `Tile`, of a sequence: where its queries and keys begin, and how many they are. `end` 0: there is nothing."""

    batch: Any
    head: Any
    row: Any
    start: Any
    end: Any
    first_query: Any
    queries: Any
    first_key: Any
    keys: Any


@dataclass(frozen=True)
class Tiles:
    """Tiles of a problem: so many rows of queries, and keys in blocks of so many columns."""

    problem: Problem
    rows: int
    columns: int

    def count(self) -> Any:
        """How many there are, of all heads and sequences; ragged ones count as many, and may be empty."""
        if self.problem.ragged:
            return (i32(SQ) // self.rows + i32(ENDS) - 1) * i32(H)
        return i32(cl.ceil_div(SQ, self.rows)) * i32(B) * i32(H)

    def place(self, index: Any, given: Given) -> Tile:
        """The tile of a number."""
        heads, along = i32(H), i32(cl.ceil_div(SQ, self.rows))
        m, head = cl.longest_first(index, along, i32(B) * heads, given.band, self.problem.right)
        tile = Tile(head // heads, head % heads, m * self.rows, 0, 0)
        start, end = self.seen(tile, given)
        return tile._replace(start=start, end=end)

    def ragged_place(self, index: Any, of_queries: Any, of_keys: Any, given: Given) -> RaggedTile:
        """The tile of a number: head by head, sequence by sequence, longest rows first.

        So that no numbers of tiles need be added up, a sequence has a place for each multiple of a tile's rows at which
        or behind which it begins and ends, and one more: some places are empty.
        """
        count, BM = i32(ENDS) - 1, self.rows
        places = i32(SQ) // BM + count
        head, place = index // places, index % places
        low: Any = i32(0)
        high: Any = count
        while high - low > 1:
            middle = (low + high) // 2
            if of_queries[middle] // BM + middle <= place:
                low = middle
            else:
                high = middle
        first, first_key = of_queries[low], of_keys[low]
        queries, keys = of_queries[low + 1] - first, of_keys[low + 1] - first_key
        row = (place - (first // BM + low)) * BM
        if self.problem.right:
            row = (queries - 1) // BM * BM - row
        tile = RaggedTile(low, head, row, 0, 0, first, queries, first_key, keys)
        start, end = self.seen(tile, given)
        return tile._replace(start=start, end=cl.where((row >= 0) & (row < queries), end, 0))

    def lengths(self, tile: Any) -> tuple[Any, Any, Any, Any]:
        """Of a tile's sequence: where queries begin and how many there are, and likewise keys."""
        if self.problem.ragged:
            return tile.first_query, tile.queries, tile.first_key, tile.keys
        return 0, i32(SQ), 0, i32(SK)

    def offset(self, tile: Any, given: Given) -> Any:
        """Of the key at a query's own place."""
        return given.offset * (tile.keys - tile.queries) if self.problem.ragged else given.offset

    def seen(self, tile: Any, given: Given) -> tuple[Any, Any]:
        """The first and the end of the blocks of keys that a tile sees: at least one, though nobody may see it."""
        BN, place = self.columns, tile.row + self.offset(tile, given)
        start: Any = i32(0)
        end: Any = (self.lengths(tile)[3] + (BN - 1)) // BN
        if self.problem.right:
            end = min(end, max(0, place + self.rows + given.right + BN - 1) // BN)
        end = max(end, 1)
        if self.problem.left:
            start = min(end - 1, max(0, place - given.left) // BN)
        return start, end

    def clear(self, tile: Tile, given: Given) -> tuple[Any, Any]:
        """Which blocks behind the first, from and to, all rows of a tile see as a whole."""
        low, high, BN = tile.start, tile.end - 1, self.columns
        place = tile.row + self.offset(tile, given)
        if self.problem.mask_mod is not None:
            return low, low
        if self.problem.right:
            high = max(low, min(high, (place + given.right + 1) // BN))
        if self.problem.left:
            low = max(low, min(high, (max(0, place + self.rows - 1 - given.left) + BN - 1) // BN))
        return low, high
