"""Tile schedulers for groups whose sizes only the device knows: the rows of experts, products of any sizes.

tiles = GroupedTileScheduler.create(ends, BM, cl.ceil_div(N, BN), swizzle=8)
while tiles.is_valid():
    group, row, end, n = tiles.coordinate()
    ...
    tiles = tiles.advance()
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cutelite.lang import profile
from cutelite.lib.scheduler import banded, stride
from cutelite.records import dataclass


@dataclass(frozen=True)
class GroupedTileScheduler:
    """A scheduler for a persistent grid: block i takes tiles i, i + grid, i + 2 grid, ... of all groups in order.

    ends     the row at which each group ends and the next one begins: i32, ascending; groups may be empty. With
             `counts`, the number of rows of each group, each counted from row 0
    most     what no end or count exceeds; None: it is not checked
    rows     rows of a tile; a group's last tile may reach beyond its end
    columns  tiles along N
    swizzle  width of a band in tiles: within a group, tiles are taken band by band
    index    index of the current tile; `step` is the distance to this block's next one
    group    the group of the tile, which has rows `begin` to `end`
    first    index of the group's first tile
    """

    CHANGING = ("index", "group", "begin", "end", "first")

    ends: Any
    most: Any
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
        cls, ends: Any, rows: int, columns: Any, swizzle: int = 8, cluster: bool = False, counts: bool = False,
        most: Any = None,
    ) -> GroupedTileScheduler:  # fmt: skip
        """Return the scheduler at this block's first tile.

        ends     a tensor of i32 in global memory, a number for each group
        columns  tiles along N; with clusters, counted in clusters
        cluster  a whole cluster takes each tile, not a block
        counts   `ends` holds the number of rows of each group, and every group's rows are counted from 0
        most     the rows that there are, of each group with `counts`: what `ends` may say at most
        Launch   a one-dimensional grid, which may have more blocks than there are tiles
        Who      any threads; each one that calls reads `ends` for itself
        Errors   an assertion fails where `ends` descends, or says more than `most`
        """
        at_first = GroupedTileScheduler(ends, most, rows, columns, swizzle, counts, *stride(cluster), 0, 0, 0, 0)
        return replace(at_first, end=at_first._end_of(0, 0))._found()

    def is_valid(self) -> Any:
        """Return whether there is a tile left for this block."""
        return self.group < self.ends.shape[0]

    def coordinate(self) -> tuple[Any, Any, Any, Any]:
        """Return (group, row at which the tile begins, row at which its group ends, index of the tile along N)."""
        profile.mark("tile", self.index)
        along = (self.end - self.begin + self.rows - 1) // self.rows
        m, n = banded(self.index - self.first, max(1, along), self.columns, self.swizzle)
        return self.group, self.begin + m * self.rows, self.end, n

    def advance(self) -> GroupedTileScheduler:
        """Return the scheduler at this block's next tile."""
        return replace(self, index=self.index + self.step)._found()

    def _found(self) -> GroupedTileScheduler:
        """Return the scheduler with `group` set to the one that has tile `index`, or beyond the last one."""
        group, begin, end, first = self.group, self.begin, self.end, self.first
        tiles = (end - begin + self.rows - 1) // self.rows * self.columns
        while group < self.ends.shape[0] and self.index >= first + tiles:
            group, begin, first = group + 1, 0 if self.counts else end, first + tiles
            end = self._end_of(min(group, self.ends.shape[0] - 1), begin)
            tiles = (end - begin + self.rows - 1) // self.rows * self.columns
        return replace(self, group=group, begin=begin, end=end, first=first)

    def _end_of(self, group: Any, begin: Any) -> Any:
        """Return the row at which a group ends, which begins at `begin`. Of no groups there is none to read."""
        if self.ends.shape[0] == 0:
            return begin
        end = self.ends[group]
        assert begin <= end, f"group {group} begins at row {begin} and ends at {end}"
        if self.most is not None:
            assert end <= self.most, f"group {group} ends at row {end} of {self.most}"
        return end


@dataclass(frozen=True)
class ProblemTileScheduler:
    """A scheduler for a persistent grid: block i takes tiles i, i + grid, i + 2 grid, ... of all problems in order.

        tiles = cl.ProblemTileScheduler.create(sizes, (BM, BN))
        while tiles.is_valid():
            problem, row, column = tiles.coordinate()
            rows, columns, depth = tiles.shape()
            tiles = tiles.advance()

    sizes    rows, columns and depth of each problem: a tensor of i32
    tile     (rows, columns) of a tile
    swizzle  width of a band in tiles: within a problem, tiles are taken band by band
    index    index of the current tile; `step` is the distance to this block's next one
    problem  the problem of the tile, which has `rows` and `columns`
    first    index of the problem's first tile
    """

    CHANGING = ("index", "problem", "rows", "columns", "first")

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
        """Return the scheduler at this block's first tile.

        sizes   (problems, 3) of i32 in global memory: rows, columns and depth, which may be 0
        Launch  a one-dimensional grid, which may have more blocks than there are tiles
        Who     any threads; each one that calls reads `sizes` for itself
        Errors  an assertion fails where a size is negative
        """
        at_first = ProblemTileScheduler(sizes, tile, swizzle, *stride(False), 0, 0, 0, 0)
        rows, columns = at_first._size_of(0)
        return replace(at_first, rows=rows, columns=columns)._found()

    def is_valid(self) -> Any:
        """Return whether there is a tile left for this block."""
        return self.problem < self.sizes.shape[0]

    def coordinate(self) -> tuple[Any, Any, Any]:
        """Return (problem, row, column) at which the tile begins."""
        profile.mark("tile", self.index)
        down, across = self._counts(self.rows, self.columns)
        m, n = banded(self.index - self.first, max(1, down), max(1, across), self.swizzle)
        return self.problem, m * self.tile[0], n * self.tile[1]

    def shape(self) -> tuple[Any, Any, Any]:
        """Return (rows, columns, depth) of the problem."""
        return self.rows, self.columns, self.sizes[self.problem, 2]

    def advance(self) -> ProblemTileScheduler:
        """Return the scheduler at this block's next tile."""
        return replace(self, index=self.index + self.step)._found()

    def _counts(self, rows: Any, columns: Any) -> tuple[Any, Any]:
        """Return how many tiles there are along rows and along columns."""
        return (rows + self.tile[0] - 1) // self.tile[0], (columns + self.tile[1] - 1) // self.tile[1]

    def _found(self) -> ProblemTileScheduler:
        """Return the scheduler with `problem` set to the one that has tile `index`, or beyond the last one."""
        problem, rows, columns, first = self.problem, self.rows, self.columns, self.first
        down, across = self._counts(rows, columns)
        while problem < self.sizes.shape[0] and self.index >= first + down * across:
            problem, first = problem + 1, first + down * across
            rows, columns = self._size_of(min(problem, self.sizes.shape[0] - 1))
            down, across = self._counts(rows, columns)
        return replace(self, problem=problem, rows=rows, columns=columns, first=first)

    def _size_of(self, problem: Any) -> tuple[Any, Any]:
        """Return the rows and columns of a problem. Of no problems there is none to read."""
        if self.sizes.shape[0] == 0:
            return 0, 0
        rows, columns, depth = (self.sizes[problem, i] for i in range(3))
        assert min(rows, columns, depth) >= 0, f"problem {problem} is {rows} x {columns}, of depth {depth}"
        return rows, columns
