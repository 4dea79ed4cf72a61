"""Tile schedulers: which tile of the output a block works on next.

tiles = cl.StaticPersistentTileScheduler.create((cl.ceil_div(M, BM), cl.ceil_div(N, BN)), swizzle=8)
while tiles.is_valid():
    m, n, batch = tiles.coordinate()
    ...
    tiles = tiles.advance()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from cutelite.ir.types import i32
from cutelite.lang import profile
from cutelite.lang.index import block_idx, cluster_dim, cluster_idx, grid_dim

Raster = Literal["M", "N", "hilbert"]


@dataclass(frozen=True)
class StaticPersistentTileScheduler:
    """A scheduler of resident blocks (or clusters), each taking tiles at a stride of the grid.

    tiles    number of tiles along M, number along N, and if there are batches, their number
    swizzle  tiles of a band along the other mode: blocks that run at once then share operands
    raster   'M': within a band the walk goes along M; 'N': along N; 'hilbert': along a Hilbert curve, without bands
    index    of the tile, `step` to the next one of this block
    """

    tiles: tuple[Any, ...]
    swizzle: int
    raster: str
    index: Any
    step: Any

    @classmethod
    def create(
        cls, tiles: tuple[Any, ...], swizzle: int = 1, raster: Raster = "M", cluster: bool = False
    ) -> StaticPersistentTileScheduler:
        """The scheduler at this block's first tile.

        tiles     (along M, along N) or (along M, along N, batches), below 2**31 in all; with clusters, counted in
                  clusters
        cluster   the unit that takes a tile is a cluster, not a block
        Launch    on a one-dimensional grid; more blocks than tiles do no harm
        """
        if cluster:
            first, step = i32(cluster_idx.x), i32(grid_dim.x) // cluster_dim.x
        else:
            first, step = i32(block_idx.x), i32(grid_dim.x)
        return StaticPersistentTileScheduler(tuple(i32(count) for count in tiles), swizzle, raster, first, step)

    def is_valid(self) -> Any:
        """Return whether there is a tile left for this block."""
        count = self.tiles[0] * self.tiles[1]
        return self.index < (count if len(self.tiles) == 2 else count * self.tiles[2])

    def coordinate(self) -> tuple[Any, Any, Any]:
        """(along M, along N, batch) of the tile."""
        profile.mark("tile", self.index)
        m, n = self.tiles[0], self.tiles[1]
        place, batch = self.index, 0
        if len(self.tiles) == 3:
            place, batch = self.index % (m * n), self.index // (m * n)
        if self.raster == "hilbert":
            row, column = hilbert(place, m, n)
        elif self.raster == "M":
            row, column = banded(place, m, n, self.swizzle)
        else:
            column, row = banded(place, n, m, self.swizzle)
        return row, column, batch

    def advance(self) -> StaticPersistentTileScheduler:
        """At this block's next tile."""
        return StaticPersistentTileScheduler(self.tiles, self.swizzle, self.raster, self.index + self.step, self.step)


def banded(place: Any, along: Any, across: Any, width: int) -> tuple[Any, Any]:
    """The coordinate of a place in a walk along bands `width` wide (the last one may be narrower)."""
    if width == 1:
        return place % along, place // along
    band = place // (along * width)
    within = place % (along * width)
    here = max(1, min(width, across - band * width))  # past the last tile too there is something to divide by
    return within // here, band * width + within % here


def hilbert(place: Any, m: Any, n: Any) -> tuple[Any, Any]:
    """The coordinate of a place on a Hilbert curve through m x n tiles: what is near on it is near in both modes.

    The rectangle is cut again and again, and the part that holds the place kept: a half of a long one; of others, as of
    Hilbert's square, a part that is walked across, one that is walked along, or one that is walked back across. All in
    i32. Past the last tile the coordinate means nothing.
    """
    row, column, along, across = i32(0), i32(0), m, n  # where the part begins, and its sides
    down, right = i32(1), i32(0)  # the direction of `along`; that of `across` is (right, down)
    while along > 1 and across > 1:
        half, width = even_half(along), even_half(across)
        if 2 * along > 3 * across:
            if place < half * across:
                along = half
            else:
                place -= half * across
                row, column, along = row + down * half, column + right * half, along - half
        else:
            half = along // 2
            first = half * width
            second = first + along * (across - width)
            if place < first:
                along, across, down, right = width, half, right, down
            elif place < second:
                place, across = place - first, across - width
                row, column = row + right * width, column + down * width
            else:
                place -= second
                row, column = row + down * (along - 1), column + right * (along - 1)
                row, column = row + right * (width - 1), column + down * (width - 1)
                along, across, down, right = width, along - half, -right, -down
    if across > 1:
        return row + right * place, column + down * place
    return row + down * place, column + right * place


def even_half(length: Any) -> Any:
    """About half of a length, even where it can be, so that a walk across both halves ends where it should."""
    half = length // 2
    return half + (half % 2 if length > 2 else 0)
