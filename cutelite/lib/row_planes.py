"""Numbers of a row in shared memory that vectors which begin anywhere read without shifts: in planes.

Plane j has every element of a row whose column is j modulo a vector. A warp's vectors of a row have elements j of all
lanes in one plane, side by side, wherever the row begins: each is one access, in which no two lanes meet in a bank.
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import f32
from cutelite.lang.cluster import mapa
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.loops import static_range
from cutelite.lang.sync import syncthreads
from cutelite.lang.tensor import make_rmem_tensor, shared
from cutelite.lang.values import minimum
from cutelite.lang.whole import clear
from cutelite.layout import make_layout
from cutelite.lib.row_tile import RowTile
from cutelite.lib.rows import RowPartition, RowVectors
from cutelite.records import dataclass


@dataclass(frozen=True)
class RowPlanes:
    """This block's part of a row as f32, for rows that begin anywhere: 0 beyond the row, a sector more on each side.

    part    how rows are distributed
    memory  (vector, places) in shared memory, plane after plane: the first place is the sector before the part
    """

    part: RowPartition
    memory: Any

    @staticmethod
    def room(part: RowPartition) -> RowPlanes:
        """Make room for all vectors that threads may have."""
        places = part.pieces * part.team.threads + 2 * part.unit
        return RowPlanes(part, shared(f32, make_layout((part.vector, places), stride=(places, 1)), align=16))

    @staticmethod
    def create(part: RowPartition, row: Any) -> RowPlanes:
        """Bring a part of `row`, in global memory, to shared memory. Who: all threads of the block."""
        team, width, made = part.team, part.vector, RowPlanes.room(part)
        places = made.memory.shape[1]
        for at in static_range(0, places, team.threads * team.teams):
            number = linear_thread_idx() + at
            column = team.rank * part.chunk - part.sector + number * width
            held = make_rmem_tensor(f32, (width,))
            clear(held)
            if column >= 0:
                held.store(RowTile(column, part.n, width, 1, threads=1).load(row).to(f32).reshape((width,)))
            if number < places:
                for j in static_range(width):
                    made.memory[j, number] = held[j]
        syncthreads()
        return made

    @staticmethod
    def zeros(part: RowPartition) -> RowPlanes:
        """Make planes of zeros, for sums over rows.

        Who   all threads of the block, which is one team. They meet before one adds: where its stream is created
        """
        made = RowPlanes.room(part)
        width, places = made.memory.shape
        for at in static_range(0, places, part.team.threads):
            for j in static_range(width):
                if part.team.lane + at < places:
                    made.memory[j, part.team.lane + at] = 0.0
        return made

    def put(self, some: RowVectors, v: Any) -> None:
        """Write the elements of some vectors of the current row."""
        part, v = self.part, v.reshape(some.shape)
        for j in static_range(part.vector):
            at = part.sector - part.lead + j
            for i in static_range(some.pieces):
                place = at // part.vector + part.team.lane + (some.start + i) * part.team.threads
                self.memory[at % part.vector, place] = v[j, i]

    def write(self, row: Any) -> None:
        """Write this block's part to `row`, in global memory, with what the block behind it has of its last sector.

        Who   the block. Before, all threads of the cluster meet, and behind it again before a block ends
        """
        part, team, width = self.part, self.part.team, self.part.vector
        count = part.chunk // width
        behind = self.memory if team.cluster == 1 else mapa(self.memory, minimum(team.rank + 1, team.cluster - 1))
        for first in static_range(0, count, team.threads):
            number = team.lane + first
            for j in static_range(width):
                column = team.rank * part.chunk + number * width + j
                if (number < count) & (column < part.n):
                    total = self.memory[j, part.unit + number]
                    if team.cluster > 1 and (number >= count - part.unit) & (team.rank < team.cluster - 1):
                        total = total + behind[j, number - count + part.unit]
                    row[column] = total

    def of(self, some: RowVectors) -> Any:
        """Return the elements of some vectors of the current row, of shape (vector, pieces)."""
        part, found = self.part, make_rmem_tensor(f32, make_layout(some.shape))
        for j in static_range(part.vector):
            at = part.sector - part.lead + j
            for i in static_range(some.pieces):
                place = at // part.vector + part.team.lane + (some.start + i) * part.team.threads
                found[j, i] = self.memory[at % part.vector, place]
        return found.load()
