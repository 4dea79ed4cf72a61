"""Equal shares of the blocks of keys of all sequences, one for each block of threads, however long sequences are.

In    what of its keys each sequence sees; how many blocks of threads there are
Out   each one's parts of tiles, and how those of one tile are combined

Heads of keys are computed side by side, and blocks of threads share the keys of each: so those of neighbouring heads,
which are neighbours in memory, are read at the same time. The blocks of keys of a head are numbered in a row, sequence
after sequence. A tile within one share is written as it is. Of any other, the block of threads that has its first keys
combines the parts: this is the last part that it computes, and the others compute theirs first.
"""

from dataclasses import replace
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.kernels.attention.combining import LANES, combine_row
from cutelite.kernels.attention.parts import HK, OfParts, Part
from cutelite.kernels.attention.scores import GROUP, ROWS
from cutelite.kernels.attention.sequences import SQ, B, Blocks, Keys, quotient, quotient_up
from cutelite.lib.reduce import warp_reduce, warp_scan
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

HELD, RANK, FLAGS = cl.dims("HELD RANK FLAGS")


class At(NamedTuple):
    """A place in the row of blocks of keys: its sequence, and the number of the first of its blocks."""

    unit: Any
    batch: Any
    before: Any


class Held(NamedTuple):
    """Memory through which parts of a tile are handed on: two for each block of threads, the first and its last.

    parts, sums  rows of a tile, and their logsumexps
    flags        of each block of threads, whether its first part is there: 0 before the launch, and after it
    """

    parts: Any
    sums: Any
    flags: Any

    @staticmethod
    def of(dim_v: int) -> Any:
        """Return the types."""
        flags = Tensor[i32, (FLAGS,)]
        return tuple[Tensor[f32, (HELD, RANK, dim_v), cl.align(16)], Tensor[f32, (HELD, RANK)], flags] | None


@dataclass(frozen=True)
class Shares:
    """The shares of this launch's blocks of threads.

    heads   of keys, that a share has one after the other
    rows    tiles of the rows of each
    worker  the number of this block of threads among those that have the same heads. Those whose parts it waits for are
            launched before it, as blocks of threads are launched in the order of their indices
    each    blocks of keys of a share; the last ones may have fewer
    """

    plan: OfParts
    blocks: Blocks
    heads: Any
    rows: Any
    worker: Any
    each: Any = None

    @staticmethod
    def create(plan: OfParts, given: Keys) -> "Shares":
        """Return the shares without what depends on arrays."""
        heads, rows = quotient(i32(HK), i32(cl.grid_dim.x)), i32(cl.ceil_div(SQ * plan.together, ROWS))
        return Shares(plan, plan.blocks(given), heads, rows, i32(cl.grid_dim.y) - 1 - i32(cl.block_idx.y))

    def own(self) -> "tuple[Shares, tuple[At, Any]]":
        """Return the shares, and where this block's one begins and ends. Who: a warp."""
        workers, alike = i32(cl.grid_dim.y), self.blocks.given.alike
        if alike:
            units = self.units(i32(0))
            total = units * i32(B)
        else:
            units, total = i32(0), i32(0)
            for i in range(cl.ceil_div(i32(B), 32)):  # the first sequences last: `at` begins with them
                units = self.units(cl.lane_idx() + (cl.ceil_div(i32(B), 32) - 1 - i) * 32)
                total = total + warp_reduce(units)
        each = quotient_up(total, workers)
        begin = min(total, self.worker * each)
        if alike:
            batch = quotient(begin, units)
            at = At(begin, batch, batch * units)
        else:
            at = self.at(begin, units)
        return replace(self, each=each), (at, min(total, begin + each))

    def units(self, batch: Any) -> Any:
        """Return how many blocks of keys the tiles of a sequence have; 0 behind the last sequence."""
        seen = self.blocks.seen(min(batch, i32(B) - 1))
        return cl.where(batch < i32(B), seen.count * (self.rows * self.heads), 0)

    def at(self, unit: Any, units: Any) -> At:
        """Return the place of a block of keys. `units`: of each lane's sequence, of the first 32. Who: a warp."""
        first, ends = i32(0), warp_scan(units)
        while (cl.shuffle(ends, 31) <= unit) & (first + 32 < i32(B)):
            first, passed = first + 32, cl.shuffle(ends, 31)
            units = self.units(first + cl.lane_idx())
            ends = passed + warp_scan(units)
        behind = i32(cl.popc(cl.ballot(ends <= unit)))  # sequences that end before it
        return At(unit, first + behind, cl.shuffle(ends - units, behind))

    def part(self, at: At, end: Any) -> tuple[Part, At, Any, Any]:
        """Return the part of a share that begins at a place, and the next place.

        And whether the part has the first keys of its tile, and where the tile ends, as a number of a block of keys.
        """
        seen, tiles, tile, head = self.blocks.seen(at.batch), self.rows * self.heads, i32(0), i32(0)
        if tiles > 1:
            tile = quotient(at.unit - at.before, seen.count)
            head = quotient(tile, self.rows)
        behind = at.before + (tile + 1) * seen.count
        start, stop = seen.end - (behind - at.unit), seen.end - max(0, behind - end)
        kv, row = i32(cl.block_idx.x) * self.heads + head, (tile - head * self.rows) * ROWS
        part = Part(at.batch, kv, row, start, stop, self.plan.limits(seen))
        passed = (stop == seen.end) & (tile == tiles - 1)
        following = At(at.unit + (stop - start), at.batch + cl.where(passed, 1, 0), cl.where(passed, behind, at.before))
        return part, following, start == seen.low, behind

    def produce(self, rings: tuple[Any, ...], table: Any, own: tuple[At, Any]) -> None:
        """Load the blocks of a share, part after part: `OfParts.produce` explains the parameters. Who: one thread."""
        at, end = own
        state = rings[0][2].producer_state()
        while at.unit < end:
            part, at, *_ = self.part(at, end)
            state = self.plan.produce(rings, table, part, state)

    def block(self, behind: Any) -> Any:
        """Return the index of the block of threads whose share is so many behind this one's."""
        return (i32(cl.block_idx.y) - behind) * i32(cl.grid_dim.x) + i32(cl.block_idx.x)

    def hand_on(self, out: Any, softmax: Any, part: Part, held: Held) -> None:
        """Write a part that has not the first keys of its tile. Who: the warpgroup."""
        block = self.block(0)
        self.keep(out, softmax, part, held, 2 * block)
        cl.NamedBarrier(1, GROUP).sync()
        if cl.thread_idx.x == 0:
            cl.store_release(held.flags, block, 1)

    def keep(self, out: Any, softmax: Any, part: Part, held: Held, place: Any) -> None:
        """Write a part to this place. Who: the warpgroup."""
        inverse, tops = softmax.finish()
        self.plan.keep(cl.scale_rows(out, inverse), tops, part, held.parts, held.sums, place)

    def combine(
        self, out: Any, softmax: Any, part: Part, behind: Any, held: Held, o: Any, lse: Any, sinks: Any
    ) -> None:  # fmt: skip
        """Write the tile whose first keys this part has, and which ends at `behind`. Who: the warpgroup."""
        self.keep(out, softmax, part, held, 2 * self.block(0) + 1)
        count = (behind + self.each - 1) // self.each - self.worker
        other = 1 + i32(cl.thread_idx.x)
        while other < count:
            flag = self.block(other)
            while cl.load_acquire(held.flags, flag) == 0:
                pass
            cl.store_relaxed(held.flags, flag, 0)
            other = other + GROUP
        cl.NamedBarrier(1, GROUP).sync()
        for row in range(cl.thread_idx.x // LANES, min(ROWS, SQ * self.plan.together - part.row), GROUP // LANES):
            query, head = self.plan.place(part.row + row, part.kv)
            combine_row(
                held.parts[None, row, None], held.sums[None, row],
                lambda other: 2 * self.block(other) + cl.where(other == 0, 1, 0), count,
                None if sinks is None else sinks[head], o[part.batch, query, head, None], lse[part.batch, head, None],
                query,
            )  # fmt: skip
