"""Stream-K: the tiles of the last rounds cut along K where blocks end, so that all end together; parts are added up.

    tiles = cl.StreamKTileScheduler.create(counts, steps, rounds=2)
    parts = cl.TileParts(memory, flags, thread, barrier)
    while tiles.is_valid():
        m, n, batch = tiles.coordinate()
        ... the products of steps `tiles.first` to `tiles.first + tiles.length` along K ...
        if tiles.first > 0:
            parts.put(tiles, sums)
        else:
            sums = parts.added(tiles, sums)
            ... the tile's results ...
        tiles = tiles.advance()

Results are the same in every run: the parts of a tile are added in their order along K, by the block that has the first
one. Nothing is added up in global memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from cutelite.ir.types import i32
from cutelite.lang.atomics import load_acquire, store_relaxed, store_release
from cutelite.lang.index import block_idx, block_rank_in_cluster, cluster_dim, cluster_idx, grid_dim
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import make_rmem_tensor
from cutelite.lang.values import where
from cutelite.lib.pipelines import NamedBarrier
from cutelite.lib.scheduler import Raster, TileWalk


@dataclass(frozen=True)
class Shares:
    """A run of steps dealt out to workers in pieces that differ by a step at most.

    each, more  steps of a worker, and how many of them, the first ones, have one more
    workers     how many there are; others have none
    """

    each: Any
    more: Any
    workers: Any

    def start(self, worker: Any) -> Any:
        """Return the step at which a worker begins, and the one before it ends."""
        return min(worker, self.workers) * self.each + min(worker, self.more)


@dataclass(frozen=True)
class StreamKTileScheduler(TileWalk):
    """A scheduler of resident blocks (or clusters) that share the steps of the last tiles evenly; others stay whole.

    Each unit first has its share of the last tiles, the end of one with which another unit began, whole ones, and the
    beginning of one; then whole tiles at a stride of the grid. So parts that others wait for are the first thing that
    each does. A unit waits only for those of lower numbers, which start before it.

    steps   of a tile along K
    first   step at which this unit begins with the tile, and how many `length` it has
    whole   how many tiles are not shared
    shares  of the steps of the others
    worker  number of this unit in them
    at      step of the shared ones where this part begins; the last one has been had at `end`
    next    whole tile that follows, at a stride of `units`
    cluster a unit is a cluster
    """

    steps: Any
    first: Any
    length: Any
    whole: Any
    shares: Shares
    worker: Any
    at: Any
    end: Any
    next: Any
    units: Any
    cluster: bool

    @classmethod
    def create(
        cls, tiles: tuple[Any, ...], steps: Any, rounds: int = 1, least: int = 1, swizzle: int = 1,
        raster: Raster = "M", cluster: bool = False,
    ) -> StreamKTileScheduler:  # fmt: skip
        """The scheduler at this block's first tile, or part of one.

        tiles    (along M, along N) or (along M, along N, batches), as of the static scheduler
        steps    of a tile along K, one or more; of all shared tiles together below 2**31
        rounds   of tiles that are shared: 1, those of the last part round; 2, those of the last whole one too. None
                 where the last round is whole
        least    steps that a unit has of shared tiles: where there are few, not all units have some
        cluster  the unit that takes a tile is a cluster, not a block
        Launch   on a one-dimensional grid; more blocks than tiles share them
        """
        if cluster:
            unit, units = i32(cluster_idx.x), i32(grid_dim.x) // cluster_dim.x
        else:
            unit, units = i32(block_idx.x), i32(grid_dim.x)
        counts, steps = tuple(i32(count) for count in tiles), i32(steps)
        count = counts[0] * counts[1] * (counts[2] if len(counts) == 3 else 1)
        rest = count % units
        cut = where(rest == 0, 0, min(count, rest + units * (rounds - 1)))
        workers = max(1, min(units, cut * steps // least))
        shares = Shares(cut * steps // workers, cut * steps % workers, workers)
        worker = units - 1 - unit
        begin, end = shares.start(worker), shares.start(worker + 1)
        none, whole = i32(0), count - cut
        found = none, steps, none, none, whole, shares, worker, begin, end, unit, units, cluster
        return StreamKTileScheduler(counts, swizzle, raster, *found)._found()

    def is_valid(self) -> Any:
        """Return whether there is a tile, or a part of one, left for this block."""
        return (self.at < self.end) | (self.index < self.whole)

    def advance(self) -> StreamKTileScheduler:
        """At this block's next tile, or part of one."""
        at, following = self.at, self.next
        if at < self.end:
            at = at + self.length
        else:
            following = following + self.units
        return replace(self, at=at, next=following)._found()

    def _found(self) -> StreamKTileScheduler:
        """With the tile and its part that follow from where this unit is."""
        index, first, length = self.next, i32(0), self.steps
        if self.at < self.end:
            index, first = self.whole + self.at // self.steps, self.at % self.steps
            length = min(self.steps - first, self.end - self.at)
        return replace(self, index=index, first=first, length=length)

    def slot(self, worker: Any) -> Any:
        """Return the number of the block of a worker that has this block's place in its cluster."""
        unit = self.units - 1 - worker
        return unit * i32(cluster_dim.x) + block_rank_in_cluster() if self.cluster else unit

    def shared(self) -> Any:
        """Return the step, of the shared ones, at which this tile ends if others have the rest of it; else 0."""
        return where((self.first == 0) & (self.length < self.steps), self.at + self.steps, 0)


@dataclass(frozen=True)
class TileParts:
    """Sums of parts of tiles in global memory, on their way to the block that adds them up: at most one of each block.

    sums    (blocks, chunks, 128, 4) of the dtype of accumulators: all chunks of four of the threads of its warpgroups
    flags   i32, one of each warpgroup: 0 before the launch, and after it
    thread  of the warpgroup that has a part, 0 to 127
    group   barrier of these threads
    groups  warpgroups of a block that have a part each, with a flag each; this one is `number`
    Who     all threads of the warpgroup, for all methods
    """

    sums: Any
    flags: Any
    thread: Any
    group: NamedBarrier
    groups: int = 1
    number: Any = 0

    UNIT: ClassVar[int] = 4
    """Elements that a thread moves at once: 16 bytes."""

    def put(self, tiles: StreamKTileScheduler, acc: Any) -> None:
        """Lay an accumulator down, readable, and say that it is there."""
        slot, unit = tiles.slot(tiles.worker), self.UNIT
        for i, part in enumerate(acc.parts):
            for j in static_range(len(part) // unit):
                self.chunk(acc, slot, i, j).store(part[unit * j : unit * (j + 1)])
        self.group.sync()
        if self.thread == 0:
            store_release(self.flags, slot * self.groups + self.number, 1)

    def added(self, tiles: StreamKTileScheduler, acc: Any) -> Any:
        """Return an accumulator of the tile's first steps with the sums of all others, each waited for."""
        worker, end = tiles.worker + 1, tiles.shared()
        while tiles.shares.start(worker) < end:
            acc = self.taken(tiles.slot(worker), acc)
            worker = worker + 1
        return acc

    def taken(self, slot: Any, acc: Any) -> Any:
        """Return an accumulator with what a block has laid down; its flag is 0 again."""
        flag, unit, parts = slot * self.groups + self.number, self.UNIT, []
        if self.thread == 0:
            while load_acquire(self.flags, flag) == 0:
                pass
            store_relaxed(self.flags, flag, 0)
        self.group.sync()
        for i, part in enumerate(acc.parts):
            held = make_rmem_tensor(self.sums.dtype, (len(part),))
            held.store(part)
            for j in static_range(len(part) // unit):
                mine = held.tile((unit,), (j,))
                mine.store(mine.load() + self.chunk(acc, slot, i, j).load())
            parts.append(held.load())
        return replace(acc, parts=tuple(parts))

    def chunk(self, acc: Any, slot: Any, part: int, number: int) -> Any:
        """Return the place of a chunk of this thread's in a block's sums."""
        chunks = len(acc.parts[0]) // self.UNIT
        first = self.number * (len(acc.parts) * chunks)
        return self.sums[slot, first + part * chunks + number, self.thread, None]
