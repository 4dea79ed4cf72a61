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
from cutelite.lang.index import block_idx, cluster_dim, cluster_idx, grid_dim


@dataclass(frozen=True)
class StaticPersistentTileScheduler:
    """As many blocks (or clusters) as run at once, each taking every so many-th tile.

    tiles    how many tiles there are along M, along N, and if there are batches, how many of these
    swizzle  tiles are walked in bands of so many along the other mode: what runs at once then shares operands
    raster   'M': within a band the walk goes along M; 'N': along N
    index    of the tile, `step` to the next one of this block
    """

    tiles: tuple[Any, ...]
    swizzle: int
    raster: str
    index: Any
    step: Any

    @classmethod
    def create(
        cls, tiles: tuple[Any, ...], swizzle: int = 1, raster: Literal["M", "N"] = "M", cluster: bool = False
    ) -> StaticPersistentTileScheduler:
        """The scheduler at this block's first tile.

        tiles     (along M, along N) or (along M, along N, batches), below 2**31 in all; with clusters, counted in
                  clusters
        cluster   the unit that takes a tile is a cluster, not a block
        Launch    on a one-dimensional grid; more blocks than tiles do no harm
        """
        if cluster:
            first, step = cluster_idx.x, grid_dim.x // cluster_dim.x
        else:
            first, step = block_idx.x, grid_dim.x
        return StaticPersistentTileScheduler(tuple(i32(count) for count in tiles), swizzle, raster, first, step)

    def is_valid(self) -> Any:
        """Whether there is a tile left for this block."""
        count = self.tiles[0] * self.tiles[1]
        return self.index < (count if len(self.tiles) == 2 else count * self.tiles[2])

    def coordinate(self) -> tuple[Any, Any, Any]:
        """(along M, along N, batch) of the tile."""
        m, n = self.tiles[0], self.tiles[1]
        place, batch = self.index, 0
        if len(self.tiles) == 3:
            place, batch = self.index % (m * n), self.index // (m * n)
        if self.raster == "M":
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
