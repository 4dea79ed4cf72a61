"""Parts of rows that begin anywhere, by whole vectors of memory: no element is shifted.

Some lanes share a part, of as many elements as they have vectors. Vectors of memory that cover it are one more: the
first and the last have elements of others too, before and behind. So for each row a lane has a vector between these,
and of one row both ends, as one vector: the last elements of the part, and behind them its first ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.ir.types import i32
from cutelite.lang.algebra import aligned_down
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.loops import static_range
from cutelite.lang.sync import syncthreads
from cutelite.lang.tensor import make_rmem_tensor, make_tensor, shared
from cutelite.lang.values import minimum
from cutelite.lang.warp import exchange
from cutelite.lang.whole import clear
from cutelite.layout import make_layout
from cutelite.lib.row_ends import kept_within, store_some
from cutelite.records import dataclass
from cutelite.target.targets import WARP


@dataclass(frozen=True)
class Wrapped:
    """A warp's parts of neighbouring rows, one behind the other. Vectors are counted from the first part's first.

    rows    the number of rows, up to `lanes`. A lane's vectors are one of each row, the ends of its part of row
            `own`, and that row's last vector, where it lies between the ends of the part and has elements of other rows
    column  of the first part's first element, a multiple of `width`
    width   elements of a vector: of 16 bytes, or of a narrower type
    lanes   that share a part
    end     the column after the row's last one. Vectors that have elements of the parts are read as a whole, so they
            have to lie within the array
    warps   of the block
    Who     `load` is called by the whole warp, `store` by the block
    """

    rows: int
    column: Any
    width: int
    lanes: int
    end: Any
    warps: int

    @property
    def lane(self) -> Any:
        """The number of this lane, which is the one of its vector of each row."""
        return linear_thread_idx() % WARP

    @property
    def own(self) -> Any:
        """The row whose ends this lane has; from `rows` on it has none."""
        return self.lane % self.lanes

    @property
    def first(self) -> Any:
        """The number of the first vector of this lane's part."""
        return self.lane - self.own

    def covers(self, row: Any) -> tuple[Any, Any, Any]:
        """Return the memory of a row's vectors, how many elements the first has before it, and how many are left.

        What is left is counted from the vector that has the first part's first element on.
        """
        cover, lead = aligned_down(row, self.width * row.dtype.bytes)
        return make_tensor(cover, make_layout((row.size + 2 * self.width,))), lead, i32(self.end - self.column) + lead

    def place(self, cover: Any, number: Any) -> Any:
        """Return the memory of a vector."""
        return cover.tile((self.width,), (self.column // self.width + number,))

    def between(self, left: Any) -> Any:
        """Tell whether this lane's vector of a row lies between the ends of its part, and within the row."""
        return (self.own > 0) & (self.lane < left // self.width)

    def ends_at(self, left: Any) -> Any:
        """Return the number of the vector that has a row's last elements; below 0 where this lane does not have it."""
        number = left // self.width
        mine = (number // self.lanes * self.lanes == self.first) & (number % self.lanes > 0)
        return mine & (left % self.width > 0)

    def load(self, row: Callable[[Any], Any]) -> list[Any]:
        """Return this lane's vectors of ``row(i)``, with 0 for what lies beyond the end."""
        made = make_rmem_tensor(row(0).dtype, make_layout((self.width, self.rows + 2)))
        clear(made)
        for i in static_range(self.rows):
            cover, _, left = self.covers(row(i))
            if self.between(left):
                made[None, i].store(self.place(cover, self.lane).load())
        if self.own < self.rows:
            (cover, lead, left), first, last = self.covers(row(self.own)), self.first, self.first + self.lanes
            behind = make_rmem_tensor(made.dtype, (self.width,))
            clear(behind)
            ahead, more, number = made[None, self.rows], left - last * self.width, left // self.width
            if left - first * self.width > lead:
                ahead.store(self.place(cover, first).load())
            if minimum(lead, more) > 0:
                behind.store(self.place(cover, last).load())
            if self.ends_at(left):
                made[None, self.rows + 1].store(
                    kept_within(self.place(cover, number).load(), None, left % self.width, 0)
                )
            ends = kept_within(ahead.load(), None, left - first * self.width, 0)
            ahead.store(kept_within(ends, lead, None, kept_within(behind.load(), None, more, 0)))
        return [made[None, i].load() for i in range(self.rows + 2)]

    def store(self, v: list[Any], row: Callable[[Any], Any]) -> None:
        """Write vectors as `load` gives them to ``row(i)``.

        A vector that has the ends of two parts goes as a whole: the warp before leaves its own in shared memory. What
        the block's first and last vector have of a row, the lane that has its ends writes. L2 is slow where a sector is
        written in many pieces.

        Who   all warps of the block, `warps`, with parts one behind the other
        """
        for i in static_range(self.rows):
            cover, _, left = self.covers(row(i))
            if self.between(left):
                self.place(cover, self.lane).store(v[i])
        *_, ends, tail = v
        warp, before = linear_thread_idx() // WARP, exchange(ends, "idx", (self.lane - self.lanes) % WARP)
        handed = shared(ends.dtype, make_layout((self.width, self.rows, self.warps)), align=16)
        if (self.own < self.rows) & (self.first == WARP - self.lanes):
            handed[None, self.own, warp].store(ends)
        syncthreads()
        if self.own < self.rows:
            cover, lead, left = self.covers(row(self.own))
            here, number, column = left - self.first * self.width, left // self.width, self.column // self.width
            first = self.place(cover, self.first)
            if (self.first > 0) | (warp > 0) | (lead == 0):
                joined = make_rmem_tensor(ends.dtype, (self.width,))
                joined.store(before)
                if (self.first == 0) & (warp > 0):
                    joined.store(handed[None, self.own, warp - 1].load())
                self.store_first(kept_within(ends, lead, None, joined.load()), first, here)
            elif here >= self.width:
                store_some(ends, first, 0, self.width - lead, first=False)
            else:
                for j in static_range(self.width):
                    if (j >= lead) & (j < here):
                        first[j] = ends[j]
            if (self.first == 0) & (warp == self.warps - 1):
                behind = minimum(lead, left - WARP * self.width)
                store_some(before, cover, column + WARP, behind, first=True)
            if self.ends_at(left):
                store_some(tail, cover, column + number, left % self.width, first=True)

    def store_first(self, v: Any, place: Any, count: Any) -> None:
        """Write the first `count` elements of a vector, or all of it."""
        if count >= self.width:
            place.store(v)
        else:
            store_some(v, place, 0, count, first=True)
