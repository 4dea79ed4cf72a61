"""The map from the number of a tile of keys to its place and the blocks of queries that see it, in the backward pass.

In    the number of a tile, from `cl.TileQueue`, or the place of a block of queries in the sums of dq
Out   a `Tile`: its sequence, head of keys and first key, and the range of the blocks of queries; a `Sequence`
"""

from typing import Any

import cutelite as cl
from cutelite import Tensor, i32
from cutelite.kernels.attention.scores import Problem
from cutelite.kernels.attention.tiles import ENDS, SK, SQ, B, Given, RaggedTile, Sequence, Sequences, Tile, sequence_at
from cutelite.records import dataclass, fact
from cutelite.tuples import NamedTuple

HK, HP, SB, SH, KB = cl.dims("HK HP SB SH KB")
STARTS: Any = Tensor[i32, (ENDS,)] | None
SPANS: Any = Tensor[i32, (SB, SH, KB, 2)] | None
"""`BlockMask.spans`."""


class Starts(NamedTuple):
    """The start of each ragged sequence, of queries and of keys, and the end of the last one; None if not ragged."""

    queries: STARTS
    keys: STARTS


@dataclass(frozen=True)
class Tiles(Sequences):
    """The tiles of a problem: `keys` keys each, which blocks of `rows` queries see.

    heads   of keys; each as often as its heads of queries are split
    """

    problem: Problem
    rows: int
    keys: int
    heads: Any

    @property
    def along(self) -> Any:
        """The number of tiles of a head. Of ragged sequences some are empty."""
        return i32(SK) // self.keys + i32(ENDS) - 1 if self.problem.ragged else i32(cl.ceil_div(SK, self.keys))

    def count(self) -> Any:
        """Return the number of tiles."""
        return self.along * i32(B) * i32(self.heads)

    @fact
    def kind(self) -> Any:
        """The type of a tile's place."""
        return RaggedTile if self.problem.ragged else Tile

    @fact
    def gaps(self) -> bool:
        """Tell whether there may be tiles whose keys no query sees."""
        return self.problem.ragged or self.problem.left or self.problem.right or self.problem.blocks is not None

    def place(self, index: Any, given: Given, starts: Starts, last_first: bool, spans: Any = None) -> Any:
        """Return the place of a tile: a band of heads takes all its blocks of keys before the next band.

        Where tiles differ in length, the last band has several tiles for each thread block, so that all end together.
        In windows it has more: with many heads at once, few tiles add to the same block of dq, and what each reads fits
        L2 anyway.
        """
        BN, heads, ragged = self.keys, i32(self.heads), self.problem.ragged
        several = 16 if ragged else 2 if self.problem.causal else 8 if self.problem.left and self.problem.right else 0
        last = cl.ceil_div(several * i32(cl.grid_dim.x), self.along) if several else 0
        place, head = cl.longest_first(index, self.along, i32(B) * heads, given.band, last_first, last)
        if ragged:
            sequence = self.ragged(sequence_at(starts.keys, place, BN), starts, i32(SK))
            key = (place - (sequence.key // BN + sequence.number)) * BN
            tile: Any = RaggedTile(sequence.number, head, key, 0, 0, *sequence[2:])
        else:
            tile = Tile(head // heads, head % heads, place * BN, 0, 0)
        start, end = self.seeing(tile, given)
        if ragged:
            end = cl.where(tile.row < tile.keys, end, start)
        if spans is not None:
            start, end = self.spanned(tile, spans, end)
        return tile._replace(start=start, end=end)

    def spanned(self, tile: Tile, spans: Any, most: Any) -> tuple[Any, Any]:
        """Return the range of the blocks of queries, at most `most`, that see some of a tile's keys by a block mask."""
        (rows, keys), (batches, heads, blocks, _) = self.problem.blocks or (0, 0), map(i32, spans.shape)
        first: Any = most * self.rows
        end: Any = i32(0)
        for h in range(tile.head * heads // self.heads, max(1, (tile.head + 1) * heads // self.heads)):
            for b in range(tile.row // keys, min(blocks, cl.ceil_div(tile.row + self.keys, keys))):
                span = spans[min(tile.batch, batches - 1), h, b, None]
                first, end = min(first, span[0] * rows), max(end, span[1] * rows)
        return min(first, end) // self.rows, min(most, cl.ceil_div(end, self.rows))

    def seeing(self, tile: Any, given: Given) -> tuple[Any, Any]:
        """Return the range of the blocks of queries that see some of a tile's keys."""
        own = tile.row - self.offset(tile, given)
        first = own - given.right if self.problem.right else None
        last = own + (self.keys - 1) + given.left if self.problem.left else None
        start, end = self.between(first, last, self.rows, self.sequence(tile).queries)
        return min(end, start), end

    def block(self, sequence: Sequence) -> Any:
        """Return a sequence's first block of queries among those of a head, as in the sums of dq."""
        return sequence.query // self.rows + sequence.number if self.problem.ragged else 0

    def queries(self, place: Any, batch: Any, starts: Starts, keys: Any) -> tuple[Sequence, Any]:
        """Return the sequence of a block of queries, given by its place in the sums, and its first row there.

        keys  the number of keys in the arrays
        """
        if not self.problem.ragged:
            return Sequence(batch, batch, 0, i32(SQ), 0, keys), place * self.rows
        sequence = self.ragged(sequence_at(starts.queries, place, self.rows), starts, keys)
        return sequence, (place - self.block(sequence)) * self.rows

    def written(self, number: Any, first: Any, count: Any, total: Any) -> Any:
        """Return how many rows of gradients to write for a sequence; zeros follow the last one to the arrays' end."""
        return cl.where(number == i32(ENDS) - 2, total - first, count) if self.problem.ragged else count
