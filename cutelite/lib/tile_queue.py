"""A queue of tiles for resident blocks: one thread of a block takes a tile, and tells its place to the others.

    tiles = cl.TileQueue.create(Tile, where, count, counter, consumers=256)

    one thread                                      others
    tiles = tiles.begin()                           tiles = tiles.advance()
    while tiles.is_valid():                         while tiles.is_valid():
        ticket = tiles.take()                           ... tiles.place ...
        ... tiles.place ...                             tiles = tiles.advance()
        tiles = tiles.tell(ticket)

A queue is a frozen value: `begin`, `tell` and `advance` return the next one. Where tiles differ in length, call `take`
late in a tile: a tile that is taken waits until this block is done with the one before.

Each block takes tiles of its own, in a cluster too: blocks that share what they load have to agree on tiles otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.ir.types import i32
from cutelite.lang.atomics import atomic_add, atomic_exch
from cutelite.lang.emit import describe, mistake
from cutelite.lang.index import block_idx, grid_dim
from cutelite.lang.pipeline_state import PipelineState
from cutelite.lang.tensor import shared
from cutelite.lang.values import where as either
from cutelite.lang.warp import make_warp_uniform
from cutelite.lib.pipelines import PipelineAsync
from cutelite.records import dataclass

STAGES = 2  # tiles that are told to the other threads and not yet begun


@dataclass(frozen=True)
class TileQueue:
    """A queue of tiles 0 to `count` - 1. A block's first tile is that of its index; `counter` gives the others.

    One thread takes tiles (`begin`, `take`, `tell`); the others are told of them (`advance`).

    kind     a NamedTuple of i32: the type of a tile's place (its coordinates)
    where    a function from the index of a tile to its place: longest tiles first, or bands whose operands fit L2
             (`longest_first`). Called by the one thread alone, for indices of `count` and above too
    counter  (1,) i32 in global memory, 0 before and after each launch: blocks take whatever tile is next. Launches that
             may run at once have one each. None: each round deals a tile to every block, in alternating order, so that
             a block with a long tile in one round gets a short one in the next
    place    the place of this thread's current tile
    """

    CHANGING = ("state", "index", "place", "valid")

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

        count      the number of tiles, i32
        consumers  threads that call `advance`, in whole warps
        Launch     on a one-dimensional grid; more blocks than tiles do no harm
        Who        all threads of the block; then `pipeline_init_sync`
        """
        if not hasattr(kind, "_fields"):
            raise mistake("tile-queue", f"a tile's place is a NamedTuple of i32, not {describe(kind)}")
        pipe = PipelineAsync.create(STAGES, 1, consumers, sync=False)
        width = 1 << len(kind._fields).bit_length()
        told = shared(i32, (STAGES, width), align=4 * width)
        return TileQueue(kind, where, count, counter, told, pipe, pipe.consumer_state())

    def is_valid(self) -> Any:
        """Return whether there is a tile. Errors: `tile-queue` before the first one."""
        if self.valid is None:
            help = "call `begin` in the one thread that takes tiles, and `advance` in all others"
            raise mistake("tile-queue", "the queue is still before its first tile", help=help)
        return self.valid

    def begin(self) -> TileQueue:
        """Return the queue at this block's first tile, and tell the others. Who: the one thread that takes tiles."""
        return self._tell(i32(block_idx.x), self.pipe.producer_state())

    def take(self) -> Any:
        """Start taking the next tile; pass the result to `tell`. Who: the one thread that takes tiles."""
        if self.counter is not None:
            return atomic_add(self.counter, 0, 1)
        blocks = i32(grid_dim.x)  # a tile to each block in a round, in alternating order
        place = self.index % blocks
        return self.index - place + (blocks - 1 - place)

    def tell(self, ticket: Any) -> TileQueue:
        """Return the queue at the tile that was taken, and tell the others. Who: the one thread that takes tiles."""
        if self.counter is not None:
            clear_counter(self.counter, ticket, self.count)
        return self._tell(ticket + i32(grid_dim.x), self.state)

    def _tell(self, index: Any, state: PipelineState) -> TileQueue:
        place, valid = self.where(index), index < self.count
        fields = self.kind._fields
        if not isinstance(place, tuple | list) or len(place) != len(fields):
            given = describe(place) + (f" of {len(place)}" if isinstance(place, tuple | list) else "")
            raise mistake("tile-queue", f"`where` returns {', '.join(fields)} of a {self.kind.__name__}, not {given}")
        self.pipe.producer_acquire(state)
        for i, x in enumerate((either(valid, 1, 0), *place)):
            self.told[state.index, i] = x
        self.pipe.producer_commit(state)
        return self._at(index, place, valid, state)

    def advance(self) -> TileQueue:
        """Return the queue at the next tile. Who: all threads but the one that takes tiles."""
        self.pipe.consumer_wait(self.state)
        numbers = [make_warp_uniform(self.told[self.state.index, i]) for i in range(1 + len(self.kind._fields))]
        self.pipe.consumer_release(self.state)
        return self._at(None, self.kind(*numbers[1:]), numbers[0] != 0, self.state)

    def _at(self, index: Any, place: Any, valid: Any, state: PipelineState) -> TileQueue:
        fixed = self.kind, self.where, self.count, self.counter, self.told, self.pipe
        return TileQueue(*fixed, state.advance(), index, place, valid)


def clear_counter(counter: Any, ticket: Any, count: Any) -> None:
    """Set a counter to 0 for the next launch, if `ticket` is the last number that is taken from it: `count` - 1.

    For `count` pieces of work, `count` numbers are taken: each block knows its first pieces without one, and takes one
    more number for each piece that it has, so that its last ones are beyond the end.

    counter  (1,) i32 in global memory
    Who      the thread that took the number
    """
    if ticket == count - 1:
        atomic_exch(counter, 0, 0)


def longest_first(index: Any, along: Any, across: Any, width: Any, reverse: bool, last: Any = 0) -> tuple[Any, Any]:
    """Return (place along, place across) of a tile. Tiles go in bands `width` wide; in a band, along varies slowest.

    index    of the tile, in the order in which they are taken
    along    the number of tiles of each head, or the like; `reverse`: the last ones are the longest, and come first
    across   the number of heads, or the like; what `width` of them read should fit L2
    last     the number of heads, of the last ones, in a band of their own: where tiles differ in length, enough that
             other blocks have something to do until the longest tile ends
    """
    first: Any = 0
    if not isinstance(last, int) or last > 0:
        before = max(0, across - last)
        begun = index >= before * along
        first = either(begun, before, 0)
        index, across, width = index - first * along, either(begun, across, before) - first, either(begun, last, width)
    band, rest = index // (along * width), index % (along * width)
    here = max(1, min(width, across - band * width))  # past the last tile too there is something to divide by
    place = rest // here
    return (along - 1 - place if reverse else place), first + band * width + rest % here
