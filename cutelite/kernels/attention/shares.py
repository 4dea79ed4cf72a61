"""Equal shares of the blocks of keys of all tiles, one for each block of threads, however long sequences are.

In    what of its keys each sequence sees; how many blocks of threads there are
Out   each one's range of blocks of keys, tile after tile; and the kernel that combines the parts of tiles on a border

Blocks of keys of all tiles are numbered in a row, a sequence's tiles one after the other. A tile within one share is
written as it is. The others have a part in each share that they are in, which is the first of that share, or its last.
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from functools import lru_cache
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.kernels.attention.combining import LENGTHS, OB, OH, OS, SQ, B, H, combined, place_of
from cutelite.kernels.attention.parts import OfParts, Part
from cutelite.kernels.attention.scores import ROWS
from cutelite.lib.reduce import warp_reduce, warp_scan
from cutelite.records import dataclass

HELD, RANK = cl.dims("HELD RANK")


def held_parts(dim_v: int) -> tuple[Any, Any]:
    """Return the types of two parts of each share, by rows of a tile, and of their logsumexps."""
    return Tensor[f32, (HELD, RANK, dim_v), cl.align(16)], Tensor[f32, (HELD, RANK)]


class Keys(NamedTuple):
    """Facts that decide which keys a sequence sees: `OfParts.seen` explains the fields."""

    lengths: Any
    keys: Any
    offset: Any
    left: Any
    right: Any
    starts: Any


class At(NamedTuple):
    """A place in the row of blocks of keys: its sequence, and the number of the first of its blocks."""

    unit: Any
    batch: Any
    before: Any


@dataclass(frozen=True)
class Shares:
    """The shares of so many blocks of threads: `count`."""

    plan: OfParts
    given: Keys
    count: Any

    @property
    def uniform(self) -> bool:
        """Tell whether all sequences see as many keys."""
        return self.given.lengths is None and self.given.starts is None

    @property
    def tiles(self) -> tuple[Any, Any]:
        """The tiles of a sequence: those of the rows of a head of keys, and of all of these heads."""
        rows = i32(cl.ceil_div(SQ * self.plan.together, ROWS))
        return rows, rows * (i32(H) // self.plan.together)

    def units(self, batch: Any) -> Any:
        """Return how many blocks of keys the tiles of a sequence have."""
        low, end, _ = self.plan.seen(batch, *self.given)
        return (end - low) * self.tiles[1]

    def before(self, batch: Any) -> tuple[Any, Any]:
        """Return the blocks of all sequences before one, and of all. Who: a warp."""
        if self.uniform:
            each = self.units(i32(0))
            return each * batch, each * i32(B)
        before, total = i32(0), i32(0)
        for first in range(0, i32(B), 32):
            other = first + cl.lane_idx()
            units = cl.where(other < i32(B), self.units(min(other, i32(B) - 1)), 0)
            total, before = total + units, before + cl.where(other < batch, units, 0)
        return warp_reduce(before), warp_reduce(total)

    def each(self, total: Any) -> Any:
        """Return the blocks of a share."""
        return (total + self.count - 1) // self.count

    def own(self, number: Any) -> tuple[At, Any]:
        """Return where the share of this number begins and ends. Who: a warp."""
        _, total = self.before(i32(0))
        each = self.each(total)
        unit = min(number * each, total)
        end = min(unit + each, total)
        if self.uniform:
            return At(unit, unit // self.units(i32(0)), i32(0)), end
        batch, before, passed = i32(0), i32(0), i32(0)
        for first in range(0, i32(B), 32):
            other = first + cl.lane_idx()
            units = cl.where(other < i32(B), self.units(min(other, i32(B) - 1)), 0)
            ends = passed + warp_scan(units)
            here = ends <= unit  # sequences that end before
            batch = batch + warp_reduce(cl.where(here & (other < i32(B)), 1, 0))
            before = before + warp_reduce(cl.where(here, units, 0))
            passed = cl.shuffle(ends, 31)
        return At(unit, batch, before), end

    def part(self, at: At, end: Any) -> tuple[Part, At, Any]:
        """Return the part of a share that begins at a place, the next place, and whether the part is a whole tile."""
        low, last, sight = self.plan.seen(at.batch, *self.given)
        count = last - low
        if self.uniform:
            at = at._replace(before=at.batch * count * self.tiles[1])
        tile = (at.unit - at.before) // count
        rows = self.tiles[0]
        start = low + (at.unit - at.before) % count
        stop = min(last, start + (end - at.unit))
        part = Part(at.batch, tile // rows, tile % rows * ROWS, start, stop, sight)
        unit, behind = at.unit + (stop - start), at.before + count * self.tiles[1]
        passed = unit >= behind
        following = At(unit, at.batch + cl.where(passed, 1, 0), cl.where(passed, behind, at.before))
        return part, following, (start == low) & (stop == last)

    def produce(self, rings: tuple[Any, ...], table: Any, own: tuple[At, Any]) -> None:
        """Load the blocks of a share, part after part: `OfParts.produce` explains the parameters. Who: one thread."""
        at, end = own
        state = rings[0][2].producer_state()
        while at.unit < end:
            part, at, _ = self.part(at, end)
            state = self.plan.produce(rings, table, part, state)


@lru_cache(maxsize=256)
def combining(plan: OfParts, sharing: int, warps: int) -> Any:
    """Return the kernel that combines the parts of tiles that are in several shares; `combining.of_rows` explains both.

    Grid   (rows of all sequences, queries and heads, times DV / WIDE and `sharing`,), of warps
    """
    DV, dtype = plan.problem.dim_v, plan.problem.dtype
    PARTS, SUMS = held_parts(DV)

    @cl.kernel(block=warps * 32)
    def combine(
        parts: PARTS, sums: SUMS,
        o: Tensor[dtype, (B, SQ, H, DV), (OB, OS, OH, 1)], lse: Tensor[f32, (B, H, SQ)],
        lengths: LENGTHS, starts: LENGTHS, sinks: Tensor[f32, (H,)] | None, keys: i32, offset: i32, left: i32,
        right: i32,
    ) -> None:  # fmt: skip
        """`keys`: the most of a sequence; `offset`, `left` and `right` are those of `OfParts.seen`."""
        cl.griddepcontrol_launch_dependents()
        batch, query, head, chunk, there = place_of(DV, sharing, warps)
        shares = Shares(plan, Keys(lengths, keys, offset, left, right, starts), i32(HELD) // 2)
        before, total = shares.before(batch)
        low, end, _ = plan.seen(batch, *shares.given)
        rank = query * plan.together + head % plan.together
        first = before + (head // plan.together * shares.tiles[0] + rank // ROWS) * (end - low)
        each = shares.each(total)
        share, last = first // each, (first + (end - low) - 1) // each
        count = cl.where(last > share, last - share + 1, 0)
        late = cl.where(first > share * each, 1, 0)  # the first part is not the first of its share
        sink = None if sinks is None else sinks[head]
        to = o[batch, query, head, None], lse[batch, head, None]
        of_rank = parts[None, rank % ROWS, None], sums[None, rank % ROWS]
        cl.griddepcontrol_wait()
        combined(
            *of_rank, lambda split: 2 * (share + split) + cl.where(split == 0, late, 0), count, sink, *to, query, chunk,
            there & (count > 0), sharing, warps,
        )  # fmt: skip

    return combine
