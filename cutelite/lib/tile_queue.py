"""Tiles that blocks take one after the other: one thread takes them, and tells the others where they are.

    tiles = cl.TileQueue.create(Tile, where, count, counter, consumers=256)

    one thread                                      others
    tiles = tiles.begin()                           tiles = tiles.advance()
    while tiles.is_valid():                         while tiles.is_valid():
        ticket = tiles.take()                           ... tiles.place ...
        ... tiles.place ...                             tiles = tiles.advance()
        tiles = tiles.tell(ticket)

A queue is a frozen value: what goes on returns the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cutelite.ir.types import i32
from cutelite.lang.atomics import atomic_add, atomic_exch
from cutelite.lang.index import block_idx, grid_dim
from cutelite.lang.pipeline_state import PipelineState
from cutelite.lang.tensor import shared
from cutelite.lang.values import where as either
from cutelite.lang.warp import make_warp_uniform
from cutelite.lib.pipelines import PipelineAsync

STAGES = 2  # tiles that are told and not yet begun


@dataclass(frozen=True)
class TileQueue:
    """Tiles 0 to `count` - 1: each block begins with the one of its number, and goes on as `counter` has it.

    kind     a NamedTuple of i32: what a place is
    where    from the index of a tile to its place: longest tiles first, say, or bands that share what fits L2
             (`longest_first`). Called by the one thread alone, for indices of `count` and above too
    counter  (1,) i32 in global memory, 0 before and after each launch: blocks take whatever tile is next. Launches that
             may run at once have one each. None: tiles are dealt, forth and back, so that a block with a long one of a
             round has a short one of the next
    place    of the tile that this thread is at
    """

    kind: type[Any]
    where: Callable[[Any], Any]
    count: Any
    counter: Any
    told: Any
    pipe: Any
    state: PipelineState
    index: Any = None
    place: Any = None
    valid: Any = None

    @classmethod
    def create(
        cls, kind: type[Any], where: Callable[[Any], Any], count: Any, counter: Any, consumers: int
    ) -> TileQueue:
        """The queue before its first tile.

        count      how many tiles there are, i32
        consumers  threads that call `advance`, in whole warps
        Launch     on a one-dimensional grid; more blocks than tiles do no harm
        Who        all threads of the block; then `pipeline_init_sync`
        """
        pipe = PipelineAsync.create(STAGES, 1, consumers, sync=False)
        width = 1 << len(kind._fields).bit_length()
        told = shared(i32, (STAGES, width), align=4 * width)
        return TileQueue(kind, where, count, counter, told, pipe, pipe.consumer_state())

    def is_valid(self) -> Any:
        """Return whether there is a tile."""
        return self.valid

    def begin(self) -> TileQueue:
        """At this block's first tile; the one thread that takes tiles. The others are told."""
        return self._tell(i32(block_idx.x), self.pipe.producer_state())

    def take(self) -> Any:
        """Take the tile after this one, which need not be known yet; for `tell`. The same thread."""
        if self.counter is not None:
            return atomic_add(self.counter, 0, 1)
        blocks = i32(grid_dim.x)  # a round of tiles to each, forth and back
        place = self.index % blocks
        return self.index - place + (blocks - 1 - place)

    def tell(self, ticket: Any) -> TileQueue:
        """At the tile that was taken; the others are told. The same thread."""
        if self.counter is not None and ticket == self.count - 1:
            atomic_exch(self.counter, 0, 0)  # all tiles but the first ones have been taken, and each block found none
        return self._tell(ticket + i32(grid_dim.x), self.state)

    def _tell(self, index: Any, state: PipelineState) -> TileQueue:
        place, valid = self.where(index), index < self.count
        self.pipe.producer_acquire(state)
        for i, x in enumerate((either(valid, 1, 0), *place)):
            self.told[state.index, i] = x
        self.pipe.producer_commit(state)
        return self._at(index, place, valid, state)

    def advance(self) -> TileQueue:
        """At the next tile; all threads that are told."""
        self.pipe.consumer_wait(self.state)
        numbers = [make_warp_uniform(self.told[self.state.index, i]) for i in range(1 + len(self.kind._fields))]
        self.pipe.consumer_release(self.state)
        return self._at(None, self.kind(*numbers[1:]), numbers[0] != 0, self.state)

    def _at(self, index: Any, place: Any, valid: Any, state: PipelineState) -> TileQueue:
        fixed = self.kind, self.where, self.count, self.counter, self.told, self.pipe
        return TileQueue(*fixed, state.advance(), index, place, valid)


def longest_first(index: Any, along: Any, across: Any, width: Any, reverse: bool) -> tuple[Any, Any]:
    """Return (place along, place across) of a tile, in bands of `width` across; in a band all first ones come first.

    index    of the tile, in the order in which they are taken
    along    tiles of one length each, of which `reverse` says that the last are the longest
    across   how many there are of what has tiles, heads, say; what `width` of them read should fit L2
    """
    band, rest = index // (along * width), index % (along * width)
    here = max(1, min(width, across - band * width))  # past the last tile too there is something to divide by
    place = rest // here
    return (along - 1 - place if reverse else place), band * width + rest % here
