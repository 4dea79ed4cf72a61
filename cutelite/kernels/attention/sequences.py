"""The blocks of keys that the queries of each sequence see, and how parts divide these.

In    how many keys each sequence has and where they begin, and a window
Out   ranges of blocks of keys, and how many of them a part has
"""

from typing import Any

import cutelite as cl
from cutelite import Tensor, i32, u32
from cutelite.kernels.attention.scores import Sight
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

B, SQ = cl.dims("B SQ")
LENGTHS = Tensor[i32, (B,), (None,)] | None
LINE = 32  # numbers that a line of L2 has


class Keys(NamedTuple):
    """Facts that decide which keys the queries of each sequence see.

    lengths  keys of each sequence: from 0 to `keys`, what is beyond counts as these; None: `keys`
    keys     that a sequence has room for
    offset   1: the last query's own place is the last key; 0: the first query's is the first key
    left     keys before its own place that a query sees; `right`: behind it
    starts   the first key of each sequence; None: 0
    """

    lengths: Any
    keys: Any
    offset: Any
    left: Any
    right: Any
    starts: Any

    @property
    def alike(self) -> bool:
        """Tell whether all sequences have as many keys."""
        return self.lengths is self.starts is None


class Seen(NamedTuple):
    """The range of blocks of keys that a sequence's queries see, one at least, and the limits within these."""

    low: Any
    end: Any
    sight: Sight

    @property
    def count(self) -> Any:
        """The number of blocks."""
        return self.end - self.low


@dataclass(frozen=True)
class Blocks:
    """The blocks of keys of all sequences.

    columns  keys of a block
    left     queries do not see the first keys
    """

    given: Keys
    columns: int
    left: bool

    def told(self, batch: Any) -> tuple[Any, Any]:
        """Return the length and the start of a sequence, as they are in memory; None where it is not told."""
        return tuple(None if each is None else each[batch] for each in (self.given.lengths, self.given.starts))  # type: ignore[return-value]

    def seen(self, batch: Any) -> Seen:
        """Return the blocks of a sequence."""
        return self.of(*self.told(batch))

    def of(self, length: Any, first: Any) -> Seen:
        """Return the blocks of a sequence of which `told` told this."""
        _, keys, offset, left, right, _ = self.given
        length = i32(keys) if length is None else max(0, min(i32(keys), length))
        offset = offset * (length - i32(SQ))
        last, low = (max(1, length) - 1) // self.columns, i32(0)  # a sequence without keys has one block, all masked
        if self.left:
            low = min(last, max(0, offset - left) // self.columns)
        if first is not None:
            first = max(0, first)
            low = max(low, min(last, first // self.columns))
        return Seen(low, last + 1, Sight(None, None, None, length, offset, left, right, first))

    def divided(self, batch: Any, parts: Any) -> tuple[Seen, Any]:
        """Return the blocks of a sequence, and how many of them a part has. Who: all lanes of a warp, with one batch.

        Parts have as many in all sequences: the one that sees the most fills them all.
        """
        if self.given.alike:
            seen = self.seen(batch)
            return seen, quotient_up(seen.count, parts)
        last, several = i32(B) - 1, cl.where(parts > 1, i32(B), 0)
        most = self.seen(min(cl.lane_idx(), last)).count
        for first in cl.range(32, several, 32, unroll=4):
            most = max(most, self.seen(min(first + cl.lane_idx(), last)).count)
        each, seen = quotient_up(cl.warp_reduce(most, "max"), parts), self.seen(batch)  # now it is in L1
        return seen, cl.where(parts > 1, each, seen.count)


def bring(given: Keys, table: Any, slots: Any) -> None:
    """Let the block's second warp bring lengths, starts and places of pages into L2, whoever may still write them.

    slots  places of a sequence
    """
    if cl.thread_idx.x // 32 != 1:
        return
    for each in (given.lengths, given.starts):
        i = cl.lane_idx() * LINE
        while each is not None and i < i32(B):
            cl.prefetch(each, i)
            i = i + 32 * LINE
    batch = i32(cl.block_idx.y * cl.grid_dim.x + cl.block_idx.x)
    while table is not None and batch < i32(B):
        slot = cl.lane_idx() * LINE
        while slot < i32(slots):
            cl.prefetch(table, (batch, slot))
            slot = slot + 32 * LINE
        batch = batch + i32(cl.grid_dim.x * cl.grid_dim.y)


def quotient(a: Any, b: Any) -> Any:
    """Return the quotient of two numbers that are not negative, which takes fewer instructions than any two's."""
    return i32(u32(a) // u32(b))


def quotient_up(a: Any, b: Any) -> Any:
    """Return the quotient of two such numbers, rounded up."""
    return quotient(a + (b - 1), b)
