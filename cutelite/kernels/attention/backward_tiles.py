"""The map from the number of a tile of keys to its place and the blocks of queries that see it, in the backward pass.

In    the number of a tile, from `cl.TileQueue`, or the place of a block of queries in the sums of dq
Out   a `Tile`: its sequence, head of keys and first key, and the range of the blocks of queries
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from collections import namedtuple
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Tensor, i32
from cutelite.kernels.attention.plans import OfProblem
from cutelite.kernels.attention.scores import ROWS
from cutelite.kernels.attention.tiles import Given, sequence_at

B, HK, HP, SQ, SK, ENDS = cl.dims("B HK HP SQ SK ENDS")
STARTS: Any = Tensor[i32, (ENDS,)] | None
WORKERS = 2
"""The number of computing warpgroups of a thread block: each for 64 keys, or both for the same (`Tiles.wide`)."""


class Starts(NamedTuple):
    """The start of each ragged sequence, of queries and of keys, and the end of the last one; None if not ragged."""

    queries: STARTS
    keys: STARTS


class Sequence(NamedTuple):
    """A sequence, and where its parts begin in the arrays.

    number   of the sequence: what mods get as batch
    batch    of the arrays: `number`, or 0 for ragged sequences
    query    its first query, `queries` of them; likewise `key`, `keys`
    block    its first block of queries in `Plan.base` and in the sums
    """

    number: Any
    batch: Any
    query: Any
    queries: Any
    key: Any
    keys: Any
    block: Any


class Tile(NamedTuple):
    """A thread block's sequence, head of keys and first key, and the range of the blocks of queries that see it."""

    sequence: Sequence
    kv: Any
    key: Any
    begin: Any
    end: Any


Place = namedtuple("Place", "number kv key begin end")
"""What threads are told of a tile: the number of its sequence, and the other fields of `Tile`."""
RaggedPlace = namedtuple("RaggedPlace", "number query queries first keys kv key begin end")
"""The same in a ragged sequence: also the first query and key of that, and how many there are."""


class Tiles(OfProblem):
    """The tiles of a plan: the keys of each computing warpgroup, all heads of them, or parts of their heads' queries.

    config  a `backward_plan.Config`
    split   see `backward_plan.Plan`
    """

    config: Any
    split: bool

    @property
    def wide(self) -> bool:
        """Tell whether computing warpgroups share their keys, and have dv and dk of them."""
        narrow = self.problem.dim <= 192 and self.problem.dim_v <= 128 and self.problem.score_mod is None
        return self.problem.dim > 128 and not narrow

    @property
    def apart(self) -> bool:
        """Tell whether scores and dP follow each other: a wide dk, or a mask, leaves no registers for both at once."""
        return not self.wide and (self.problem.dim > 128 or self.problem.mask_mod is not None)

    @property
    def extended(self) -> bool:
        """Tell whether products subtract logsumexps and sums of rows, as columns of operands; else they are loaded."""
        return self.problem.score_mod is None and not self.wide

    @property
    def keys(self) -> int:
        """The number of keys of a thread block."""
        return self.width * WORKERS

    @property
    def width(self) -> int:
        """The number of keys whose scores a computing warpgroup computes. Wide: as many as registers hold dv of."""
        if not self.wide:
            return ROWS
        return 48 if self.problem.dim <= 192 else 32

    @property
    def heads(self) -> Any:
        """The number of heads of keys, each as often as its queries are split."""
        return HP if self.split else HK

    @property
    def along(self) -> Any:
        """The number of tiles of a head. Of ragged sequences some are empty."""
        return i32(SK) // self.keys + i32(ENDS) - 1 if self.problem.ragged else i32(cl.ceil_div(SK, self.keys))

    def count(self) -> Any:
        """Return the number of tiles."""
        return self.along * i32(B) * i32(self.heads)

    @property
    def kind(self) -> Any:
        """The type of a tile's place."""
        return RaggedPlace if self.problem.ragged else Place

    def place(self, index: Any, given: Given, starts: Starts, last_first: bool) -> Any:
        """Return the place of a tile: a band of heads takes all its blocks of keys before the next band.

        Where tiles differ in length, the last band has several for each thread block, so that all end together. So in
        windows: of more heads at once, fewer tiles add to the same block of dq, and what each reads fits L2 anyway.
        """
        BN, heads, ragged = self.keys, i32(self.heads), self.problem.ragged
        several = 16 if ragged else 2 if self.problem.causal else 8 if self.problem.left and self.problem.right else 0
        last = cl.ceil_div(several * i32(cl.grid_dim.x), self.along) if several else 0
        place, head = cl.longest_first(index, self.along, i32(B) * heads, given.band, last_first, last)
        if ragged:
            sequence = self.ragged(sequence_at(starts.keys, place, BN), starts, i32(SK))
            key = (place - (sequence.key // BN + sequence.number)) * BN
            begin, end = self.seeing(key, sequence, given)
            end = cl.where(key < sequence.keys, end, begin)
            return RaggedPlace(sequence.number, *sequence[2:6], head, key, begin, end)
        batch, kv, key = head // heads, head % heads, place * BN
        return Place(batch, kv, key, *self.seeing(key, self.whole(batch, i32(SQ), i32(SK)), given))

    def tile(self, place: Any) -> Tile:
        """Return the tile at a place."""
        if self.problem.ragged:
            number, query, queries, first, keys = place[:5]
            block = query // self.config.rows + number
            return Tile(Sequence(number, 0, query, queries, first, keys, block), *place[5:])
        return Tile(self.whole(place.number, i32(SQ), i32(SK)), *place[1:])

    def seeing(self, key: Any, sequence: Sequence, given: Given) -> tuple[Any, Any]:
        """Return the range of the blocks of queries that see some of a thread block's keys."""
        BM, own = self.config.rows, key - self.offset(sequence, given.offset)
        end: Any = (sequence.queries + BM - 1) // BM
        begin: Any = i32(0)
        if self.problem.right:
            begin = min(end, max(0, own - given.right) // BM)
        if self.problem.left:
            end = max(begin, min(end, (max(-BM, own + self.keys - 1 + given.left) + BM) // BM))
        return begin, end

    def offset(self, sequence: Sequence, offset: Any) -> Any:
        """Return the index of the key at the first query's place, from `Given.offset`."""
        return offset * (sequence.keys - sequence.queries) if self.problem.ragged else offset

    @property
    def gaps(self) -> bool:
        """Tell whether there may be tiles whose keys no query sees."""
        return self.problem.ragged or self.problem.left or self.problem.right

    @property
    def skips(self) -> bool:
        """Tell whether a warpgroup passes by a first block that sees none of its keys. Others would spill."""
        return self.problem.right and self.config.rows < self.keys and not (self.problem.ragged or self.split)

    def queries(self, place: Any, batch: Any, starts: Starts, keys: Any = 0) -> tuple[Sequence, Any]:
        """Return the sequence of a block of queries, given by its place in the sums, and its first row there.

        keys  the number of keys in the arrays; 0: what is returned of keys is not used
        """
        if not self.problem.ragged:
            return self.whole(batch, i32(SQ), keys), place * self.config.rows
        sequence = self.ragged(sequence_at(starts.queries, place, self.config.rows), starts, keys)
        return sequence, (place - sequence.block) * self.config.rows

    def whole(self, batch: Any, queries: Any = 0, keys: Any = 0) -> Sequence:
        """Return the sequence of a batch, where none is ragged, of so many queries and keys."""
        return Sequence(batch, batch, 0, queries, 0, keys, 0)

    def ragged(self, number: Any, starts: Starts, end: Any = None) -> Sequence:
        """Return a ragged sequence. It ends where the arrays do, of keys at `end` if the kernel knows that."""
        query, key, to = starts.queries[number], starts.keys[number], starts.keys[number + 1]
        queries, keys = min(starts.queries[number + 1], i32(SQ)) - query, (to if end is None else min(to, end)) - key
        return Sequence(number, 0, query, queries, key, keys, query // self.config.rows + number)

    def written(self, number: Any, first: Any, count: Any, starts: Any, total: Any) -> Any:
        """Return how many rows of gradients to write for a sequence; zeros follow the last one to the arrays' end."""
        return cl.where(number == i32(starts.shape[0]) - 2, total - first, count) if self.problem.ragged else count
