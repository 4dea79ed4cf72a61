"""Tile schedulers: which tile of the output a block works on next.

tiles = cl.StaticPersistentTileScheduler.create((cl.ceil_div(M, BM), cl.ceil_div(N, BN)), swizzle=8)
while tiles.is_valid():
    m, n, batch = tiles.coordinate()
    ...
    tiles = tiles.advance()
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from cutelite.ir.types import i32, u64
from cutelite.lang import profile
from cutelite.lang.cluster import (
    clusterlaunchcontrol_get_first_ctaid,
    clusterlaunchcontrol_is_canceled,
    clusterlaunchcontrol_try_cancel,
)
from cutelite.lang.index import block_idx, block_rank_in_cluster, cluster_dim, cluster_idx, grid_dim
from cutelite.lang.loops import static_range
from cutelite.lang.pipeline_state import PipelineState
from cutelite.lang.tensor import shared
from cutelite.layout import make_layout
from cutelite.lib.pipelines import Ring, barriers, pipeline_init_sync

Raster = Literal["M", "N", "hilbert"]


@dataclass(frozen=True)
class TileWalk:
    """The walk through the tiles of an output, and where a block is on it.

    tiles    number of tiles along M, number along N, and if there are batches, their number
    swizzle  tiles of a band along the other mode: blocks that run at once then share operands
    raster   'M': within a band the walk goes along M; 'N': along N; 'hilbert': along a Hilbert curve, without bands
    index    of the tile
    """

    tiles: tuple[Any, ...]
    swizzle: int
    raster: str
    index: Any

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


@dataclass(frozen=True)
class StaticPersistentTileScheduler(TileWalk):
    """A scheduler of resident blocks (or clusters), each taking tiles at a stride of the grid.

    step  from the index of a tile to that of the next one of this block
    """

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

    def fetching(self) -> StaticPersistentTileScheduler:
        """Return itself: no thread has to request tiles, as with `ClcTileScheduler`."""
        return self

    def is_valid(self) -> Any:
        """Return whether there is a tile left for this block."""
        count = self.tiles[0] * self.tiles[1]
        return self.index < (count if len(self.tiles) == 2 else count * self.tiles[2])

    def advance(self) -> StaticPersistentTileScheduler:
        """At this block's next tile."""
        return StaticPersistentTileScheduler(self.tiles, self.swizzle, self.raster, self.index + self.step, self.step)


@dataclass(frozen=True)
class PipelineClcFetchAsync(Ring):
    """One thread of a cluster requests tiles by launch control; threads of all its blocks read the responses.

    responses  shared memory, two u64 for each stage
    blocks     in a cluster
    """

    responses: Any = None
    blocks: int = 1

    @classmethod
    def create(cls, stages: int, consumers: int, blocks: int = 1, sync: bool = True) -> PipelineClcFetchAsync:
        """A pipeline of responses.

        stages     how many responses are held
        consumers  how many threads of the cluster call `consumer_release`: each arrives by itself
        blocks     in a cluster; the first one requests
        sync       meet at a barrier at the end: of the block, or of the cluster
        Who        all threads of the block
        """
        full, empty = barriers(stages, 1), barriers(stages, consumers)
        responses = shared(u64, make_layout((2, stages)), align=16)
        if sync:
            pipeline_init_sync(blocks > 1)
        return PipelineClcFetchAsync(full, empty, stages, responses, blocks)

    def producer_acquire(self, state: PipelineState, seen: Any = False) -> None:
        """Wait until all have read the response; expect the next one, in every block. One thread of the cluster."""
        self._wait("acquire", self.empty, state, seen, cluster=self.blocks > 1)
        if self.blocks == 1:
            self.full[state.index].arrive_expect_tx(16)
        else:
            for rank in static_range(self.blocks):
                self.full[state.index].remote(rank).arrive_expect_tx(16, cluster=True)

    def fetch(self, state: PipelineState) -> None:
        """Request that a cluster that has not started does not run. One thread, after `producer_acquire`."""
        response = self.responses[None, state.index]
        clusterlaunchcontrol_try_cancel(response, self.full[state.index], multicast=self.blocks > 1)

    def consumer_release(self, state: PipelineState) -> None:
        """Say that this thread has read the response."""
        profile.mark("release", state.index)
        if self.blocks == 1:
            self.empty[state.index].arrive()
        else:
            self.empty[state.index].remote(0).arrive(cluster=True)


@dataclass(frozen=True)
class ClcTileScheduler(TileWalk):
    """A scheduler of a grid with a block (or cluster) for each tile: one that is done takes that of one not started.

    So tiles go to whoever is free: where another kernel has some of the SMs, or tiles differ, none waits for the
    slowest. All threads that walk read each response; one of them, that of `fetching`, requests it a tile ahead.

    valid  there is a tile
    pipe   of the responses, `state` of the next one
    asks   this is the thread that requests; `ahead` is the state of the request that it makes next
    """

    valid: Any
    pipe: PipelineClcFetchAsync
    state: PipelineState
    asks: bool = False
    ahead: Any = None

    @classmethod
    def create(
        cls, tiles: tuple[Any, ...], consumers: int, stages: int = 3, swizzle: int = 1, raster: Raster = "M",
        blocks: int = 1, sync: bool = True,
    ) -> ClcTileScheduler:  # fmt: skip
        """The scheduler at this block's first tile.

        tiles      (along M, along N) or (along M, along N, batches), counted in clusters, as of the static scheduler
        consumers  how many threads of the cluster walk, the one that requests included; each walks to the end
        stages     responses held: how many tiles the fastest thread may be ahead of the slowest, and one
        blocks     in a cluster
        sync       meet at a barrier at the end; False: call `pipeline_init_sync` after several are created
        Who        all threads of the block
        Launch     on a one-dimensional grid of as many clusters as tiles
        """
        pipe = PipelineClcFetchAsync.create(stages, consumers, blocks, sync)
        counts, first = tuple(i32(count) for count in tiles), i32(cluster_idx.x if blocks > 1 else block_idx.x)
        return ClcTileScheduler(counts, swizzle, raster, first, True, pipe, pipe.consumer_state())

    def fetching(self) -> ClcTileScheduler:
        """Return the scheduler of the thread that requests tiles, one of each block; it requests the next one now."""
        made = replace(self, asks=True, ahead=self.pipe.producer_state())
        return made.request()

    def request(self) -> ClcTileScheduler:
        """Request the next tile, in the first block of the cluster."""
        if self.pipe.blocks == 1 or block_rank_in_cluster() == 0:
            self.pipe.producer_acquire(self.ahead)
            self.pipe.fetch(self.ahead)
        return replace(self, ahead=self.ahead.advance())

    def is_valid(self) -> Any:
        """Return whether there is a tile for this block."""
        return self.valid

    def advance(self) -> ClcTileScheduler:
        """At this block's next tile."""
        self.pipe.consumer_wait(self.state)
        response = self.pipe.responses[None, self.state.index].load()
        valid = clusterlaunchcontrol_is_canceled(response)
        index = self.index
        if valid:
            index = i32(clusterlaunchcontrol_get_first_ctaid(response, "x")) // self.pipe.blocks
        self.pipe.consumer_release(self.state)
        following = replace(self, index=index, valid=valid, state=self.state.advance())
        if self.asks:
            if valid:
                following = following.request()
            elif self.pipe.blocks > 1 and block_rank_in_cluster() == 0:
                self.pipe.producer_tail(self.ahead)  # other blocks still tell this one that they have read
        return following


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
