"""Tile schedulers for groups of which only the device knows the sizes: rows of experts, products of any sizes.

tiles = GroupedTileScheduler.create(ends, BM, cl.ceil_div(N, BN), swizzle=8)
while tiles.is_valid():
    group, row, end, n = tiles.coordinate()
    ...
    tiles = tiles.advance()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutelite.ir.types import i32
from cutelite.lang import profile
from cutelite.lang.index import block_idx, cluster_dim, cluster_idx, grid_dim
from cutelite.lib.scheduler import banded


@dataclass(frozen=True)
class GroupedTileScheduler:
    """A scheduler of resident blocks (or clusters), each taking tiles of all groups in order, at a stride of the grid.

    ends     where each group of rows ends, and the next one begins: i32, ascending; groups may be empty. With `counts`,
             how many rows each has, from 0 on
    rows     of a tile; a group's last one may reach over its end
    columns  tiles along N
    swizzle  columns of a band: within a group, tiles are walked band by band
    index    of the tile, `step` to the next one of this block
    group    that the tile is in, from row `begin` to `end`
    first    index of the group's first tile
    """

    ends: Any
    rows: int
    columns: Any
    swizzle: int
    counts: bool
    index: Any
    step: Any
    group: Any
    begin: Any
    end: Any
    first: Any

    @classmethod
    def create(
        cls, ends: Any, rows: int, columns: Any, swizzle: int = 8, cluster: bool = False, counts: bool = False
    ) -> GroupedTileScheduler:
        """The scheduler at this block's first tile.

        ends     a tensor of i32 in global memory, one for each group
        columns  tiles along N; with clusters, counted in clusters
        cluster  the unit that takes a tile is a cluster, not a block
        counts   `ends` has how many rows each group has: they begin at 0 in each
        Launch   on a one-dimensional grid; more blocks than tiles do no harm
        Who      any threads; each that asks reads `ends` for itself
        """
        if cluster:
            index, step = i32(cluster_idx.x), i32(grid_dim.x) // cluster_dim.x
        else:
            index, step = i32(block_idx.x), i32(grid_dim.x)
        return GroupedTileScheduler(ends, rows, columns, swizzle, counts, index, step, 0, 0, ends[0], 0)._found()

    def is_valid(self) -> Any:
        """Return whether there is a tile left for this block."""
        return self.group < self.ends.shape[0]

    def coordinate(self) -> tuple[Any, Any, Any, Any]:
        """(group, row at which the tile begins, row at which its group ends, place along N)."""
        profile.mark("tile", self.index)
        along = (self.end - self.begin + self.rows - 1) // self.rows
        m, n = banded(self.index - self.first, max(1, along), self.columns, self.swizzle)
        return self.group, self.begin + m * self.rows, self.end, n

    def advance(self) -> GroupedTileScheduler:
        """At this block's next tile."""
        return self._at(self.index + self.step, self.group, self.begin, self.end, self.first)._found()

    def _found(self) -> GroupedTileScheduler:
        """At the group that the tile is in, or after the last one."""
        group, begin, end, first = self.group, self.begin, self.end, self.first
        tiles = (end - begin + self.rows - 1) // self.rows * self.columns
        while group < self.ends.shape[0] and self.index >= first + tiles:
            group, begin, first = group + 1, 0 if self.counts else end, first + tiles
            end = self.ends[min(group, self.ends.shape[0] - 1)]
            tiles = (end - begin + self.rows - 1) // self.rows * self.columns
        return self._at(self.index, group, begin, end, first)

    def _at(self, index: Any, group: Any, begin: Any, end: Any, first: Any) -> GroupedTileScheduler:
        fixed = self.ends, self.rows, self.columns, self.swizzle, self.counts
        return GroupedTileScheduler(*fixed, index, self.step, group, begin, end, first)


@dataclass(frozen=True)
class ProblemTileScheduler:
    """A scheduler of resident blocks, each taking tiles of all problems in order, at a stride of the grid.

        tiles = cl.ProblemTileScheduler.create(sizes, (BM, BN))
        while tiles.is_valid():
            problem, row, column = tiles.coordinate()
            rows, columns, depth = tiles.shape()
            tiles = tiles.advance()

    sizes    rows, columns and depth of each problem: a tensor of i32
    tile     (rows, columns) of a tile
    swizzle  columns of a band: within a problem, tiles are walked band by band
    index    of the tile, `step` to the next one of this block
    problem  that the tile is in, of `rows` and `columns`
    first    index of the problem's first tile
    """

    sizes: Any
    tile: tuple[int, int]
    swizzle: int
    index: Any
    step: Any
    problem: Any
    rows: Any
    columns: Any
    first: Any

    @classmethod
    def create(cls, sizes: Any, tile: tuple[int, int], swizzle: int = 8) -> ProblemTileScheduler:
        """The scheduler at this block's first tile.

        sizes   (problems, 3) of i32 in global memory: rows, columns and depth, which may be 0
        Launch  on a one-dimensional grid; more blocks than tiles do no harm
        Who     any threads; each that asks reads `sizes` for itself
        """
        index, step = i32(block_idx.x), i32(grid_dim.x)
        return ProblemTileScheduler(sizes, tile, swizzle, index, step, 0, sizes[0, 0], sizes[0, 1], 0)._found()

    def is_valid(self) -> Any:
        """Return whether there is a tile left for this block."""
        return self.problem < self.sizes.shape[0]

    def coordinate(self) -> tuple[Any, Any, Any]:
        """(problem, row and column at which the tile begins)."""
        profile.mark("tile", self.index)
        down, across = self._counts(self.rows, self.columns)
        m, n = banded(self.index - self.first, max(1, down), max(1, across), self.swizzle)
        return self.problem, m * self.tile[0], n * self.tile[1]

    def shape(self) -> tuple[Any, Any, Any]:
        """(rows, columns, depth) of the problem."""
        return self.rows, self.columns, self.sizes[self.problem, 2]

    def advance(self) -> ProblemTileScheduler:
        """At this block's next tile."""
        return self._at(self.index + self.step, self.problem, self.rows, self.columns, self.first)._found()

    def _counts(self, rows: Any, columns: Any) -> tuple[Any, Any]:
        """Tiles along rows and columns."""
        return (rows + self.tile[0] - 1) // self.tile[0], (columns + self.tile[1] - 1) // self.tile[1]

    def _found(self) -> ProblemTileScheduler:
        """At the problem that the tile is in, or after the last one."""
        problem, rows, columns, first = self.problem, self.rows, self.columns, self.first
        down, across = self._counts(rows, columns)
        while problem < self.sizes.shape[0] and self.index >= first + down * across:
            problem, first = problem + 1, first + down * across
            last = min(problem, self.sizes.shape[0] - 1)
            rows, columns = self.sizes[last, 0], self.sizes[last, 1]
            down, across = self._counts(rows, columns)
        return self._at(self.index, problem, rows, columns, first)

    def _at(self, index: Any, problem: Any, rows: Any, columns: Any, first: Any) -> ProblemTileScheduler:
        return ProblemTileScheduler(
            self.sizes, self.tile, self.swizzle, index, self.step, problem, rows, columns, first
        )
