"""Stream-K: tiles of the last rounds are cut along K so that all blocks end together, and their parts are added up.

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

from dataclasses import replace
from typing import Any, ClassVar

from cutelite.ir.types import i32
from cutelite.lang.atomics import load_acquire, store_relaxed, store_release
from cutelite.lang.index import block_rank_in_cluster, cluster_dim
from cutelite.lang.loops import static_range
from cutelite.lang.pipeline_checks import check_walk
from cutelite.lang.tensor import make_rmem_tensor
from cutelite.lang.values import where
from cutelite.lib.pipelines import NamedBarrier
from cutelite.lib.scheduler import Raster, TileWalk, stride
from cutelite.records import dataclass


@dataclass(frozen=True)
class Shares:
    """A division of a run of steps among workers, into consecutive pieces that differ by one step at most.

    each     steps of a worker
    more     how many workers, the first ones, have one step more
    workers  how many workers have steps; those with higher numbers have none
    """

    each: Any
    more: Any
    workers: Any

    def start(self, worker: Any) -> Any:
        """Return the step at which a worker begins, which is also where the one before it ends."""
        return min(worker, self.workers) * self.each + min(worker, self.more)


@dataclass(frozen=True)
class StreamKTileScheduler(TileWalk):
    """A scheduler for a persistent grid whose units, blocks or clusters, share the steps of the last tiles evenly.

    Each unit first takes its share of the last tiles: the end of a tile that another unit began, some whole tiles, and
    the beginning of one. Then it takes whole tiles, at a stride of the grid. So each unit first computes the parts that
    others wait for. A unit waits only for units of lower numbers, which start before it.

    steps    steps of a tile along K
    first    the step at which this unit begins with the current tile; it computes `length` steps
    whole    how many tiles are not shared
    shares   the division of the other tiles' steps among the units
    worker   the number of this unit in that division
    at       the shared step at which the current part begins; this unit's share ends at step `end`
    next     the whole tile that follows, at a stride of `units`
    cluster  a unit is a cluster, not a block
    """

    CHANGING = ("index", "first", "length", "at", "next")

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
        """Return the scheduler at this block's first tile, or part of one.

        tiles    (along M, along N) or (along M, along N, batches), as for the static scheduler
        steps    steps of a tile along K, at least 1; all shared tiles together have less than 2**31
        rounds   how many rounds of tiles are shared: 1, the last incomplete round; 2, the last complete one too.
                 Nothing is shared where the last round is complete
        least    the fewest steps of shared tiles that a unit takes; with few of them, some units take none
        cluster  a whole cluster takes each tile, not a block
        Launch   a one-dimensional grid; if it has more blocks than there are tiles, they share them
        """
        check_walk(tiles, swizzle, raster, steps=steps, rounds=rounds, least=least)
        unit, units = stride(cluster)
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
        """Return the scheduler at this block's next tile, or part of one."""
        at, following = self.at, self.next
        if at < self.end:
            at = at + self.length
        else:
            following = following + self.units
        return replace(self, at=at, next=following)._found()

    def _found(self) -> StreamKTileScheduler:
        """Return the scheduler with `index`, `first` and `length` computed from `at` and `next`."""
        index, first, length = self.next, i32(0), self.steps
        if self.at < self.end:
            index, first = self.whole + self.at // self.steps, self.at % self.steps
            length = min(self.steps - first, self.end - self.at)
        return replace(self, index=index, first=first, length=length)

    def slot(self, worker: Any) -> Any:
        """Return the number of a worker's block: of its cluster, the one with this block's rank."""
        unit = self.units - 1 - worker
        return unit * i32(cluster_dim.x) + block_rank_in_cluster() if self.cluster else unit

    def shared(self) -> Any:
        """Return the shared step at which this tile ends, if other units have parts of it after this one's; else 0."""
        return where((self.first == 0) & (self.length < self.steps), self.at + self.steps, 0)


@dataclass(frozen=True)
class TileParts:
    """Global memory through which blocks hand sums of parts of tiles to the block that adds them up, one part a block.

    sums    (blocks, chunks, 128, 4) in the dtype of accumulators: each thread's sums in chunks of four
    flags   i32, one for each warpgroup of each block: 0 before the launch, and after it
    thread  this thread's index in its warpgroup, 0 to 127
    group   the named barrier of the warpgroup
    groups  how many warpgroups of a block have a part, and a flag, each; `number` is this one's
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
        """Write a waited-for accumulator to global memory, and set its flag."""
        slot, unit = tiles.slot(tiles.worker), self.UNIT
        for i, part in enumerate(acc.parts):
            for j in static_range(len(part) // unit):
                self.chunk(acc, slot, i, j).store(part[unit * j : unit * (j + 1)])
        self.group.sync()
        if self.thread == 0:
            store_release(self.flags, slot * self.groups + self.number, 1)

    def added(self, tiles: StreamKTileScheduler, acc: Any) -> Any:
        """Wait for the other units' parts of the tile, and return `acc` with all of them added in their order."""
        worker, end = tiles.worker + 1, tiles.shared()
        while tiles.shares.start(worker) < end:
            acc = self.taken(tiles.slot(worker), acc)
            worker = worker + 1
        return acc

    def taken(self, slot: Any, acc: Any) -> Any:
        """Wait for a block's part, return `acc` with it added, and reset the flag to 0."""
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
        """Return the place of one of this thread's chunks in the sums of a block."""
        chunks = len(acc.parts[0]) // self.UNIT
        first = self.number * (len(acc.parts) * chunks)
        return self.sums[slot, first + part * chunks + number, self.thread, None]
