"""Tile schedulers: which tile of the output a block works on next.

tiles = cl.StaticPersistentTileScheduler.create((cl.ceil_div(M, BM), cl.ceil_div(N, BN)), swizzle=8)
while tiles.is_valid():
    m, n, batch = tiles.coordinate()
    ...
    tiles = tiles.advance()
"""

from __future__ import annotations

from dataclasses import replace
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
from cutelite.lang.pipeline_checks import check_walk
from cutelite.lang.pipeline_state import PipelineState
from cutelite.lang.tensor import shared
from cutelite.layout import make_layout
from cutelite.lib.pipelines import Ring, barriers, pipeline_init_sync
from cutelite.records import dataclass

Raster = Literal["M", "N", "hilbert"]


@dataclass(frozen=True)
class TileWalk:
    """An order of the tiles of an output, and the tile at which a block is.

    tiles    number of tiles along M, number along N, and if there are batches, their number
    swizzle  width of a band in tiles: blocks that run at the same time then share operands in L2
    raster   'M': within a band the order goes along M; 'N': along N; 'hilbert': along a Hilbert curve, without bands
    index    the tile's position in the order
    """

    tiles: tuple[Any, ...]
    swizzle: int
    raster: str
    index: Any

    def coordinate(self) -> tuple[Any, Any, Any]:
        """Return (place along M, place along N, batch) of the tile."""
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
    """A scheduler for a persistent grid: block (or cluster) i takes tiles i, i + grid, i + 2 grid, ...

    step  the distance from a tile's index to that of this block's next one: the size of the grid
    """

    CHANGING = ("index",)

    step: Any

    @classmethod
    def create(
        cls, tiles: tuple[Any, ...], swizzle: int = 1, raster: Raster = "M", cluster: bool = False
    ) -> StaticPersistentTileScheduler:
        """Return the scheduler at this block's first tile.

        tiles     (along M, along N) or (along M, along N, batches), below 2**31 in all; with clusters, counted in
                  clusters
        cluster   a whole cluster takes each tile, not a block
        Launch    a one-dimensional grid, which may have more blocks than there are tiles
        """
        check_walk(tiles, swizzle, raster)
        first, step = stride(cluster)
        return StaticPersistentTileScheduler(tuple(i32(count) for count in tiles), swizzle, raster, first, step)

    def fetching(self) -> StaticPersistentTileScheduler:
        """Return the scheduler itself. With `ClcTileScheduler` a thread has to request tiles; here none has to."""
        return self

    def is_valid(self) -> Any:
        """Return whether there is a tile left for this block."""
        count = self.tiles[0] * self.tiles[1]
        return self.index < (count if len(self.tiles) == 2 else count * self.tiles[2])

    def advance(self) -> StaticPersistentTileScheduler:
        """Return the scheduler at this block's next tile."""
        return replace(self, index=self.index + self.step)


@dataclass(frozen=True)
class PipelineClcFetchAsync(Ring):
    """A ring for clusterlaunchcontrol: one thread of a cluster requests tiles, all its blocks read the responses.

    responses  shared memory, two u64 for each stage
    blocks     the number of blocks in a cluster
    """

    responses: Any = None
    blocks: int = 1

    @classmethod
    def create(cls, stages: int, consumers: int, blocks: int = 1, sync: bool = True) -> PipelineClcFetchAsync:
        """A pipeline of responses.

        stages     how many responses the ring holds
        consumers  how many threads of the cluster call `consumer_release`: each arrives by itself
        blocks     the number of blocks in a cluster; the first one requests
        sync       end with a barrier of the block, or of the cluster
        Who        all threads of the block
        """
        full, empty = barriers(stages, 1), barriers(stages, consumers)
        responses = shared(u64, make_layout((2, stages)), align=16)
        if sync:
            pipeline_init_sync(blocks > 1)
        return PipelineClcFetchAsync(full, empty, stages, responses, blocks)

    def producer_acquire(self, state: PipelineState, seen: Any = False) -> None:
        """Wait until all threads have read the response, then expect the next one in every block.

        Who  one thread of the cluster
        """
        self._wait("acquire", self.empty, state, seen, cluster=self.blocks > 1)
        if self.blocks == 1:
            self.full[state.index].arrive_expect_tx(16)
        else:
            for rank in static_range(self.blocks):
                self.full[state.index].remote(rank).arrive_expect_tx(16, cluster=True)

    def fetch(self, state: PipelineState) -> None:
        """Request a tile: cancel a cluster that has not started. One thread, after `producer_acquire`."""
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
    """A dynamic scheduler by clusterlaunchcontrol: a block that is done takes the tile of one that has not started.

    The grid has a block (or cluster) for each tile. Tiles go to whichever block is free, so that none waits for the
    slowest, also where another kernel holds some of the SMs. Every thread that calls `advance` reads each response;
    one of them, which has called `fetching`, requests it a tile ahead.

    valid  whether there is a tile
    pipe   the pipeline of responses; `state` is where the next one is in it
    asks   whether this thread requests tiles; `ahead` is then the state of its next request
    """

    CHANGING = ("index", "valid", "state", "ahead")

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
        """Return the scheduler at this block's first tile.

        tiles      (along M, along N) or (along M, along N, batches), counted in clusters, as for the static scheduler
        consumers  how many threads of the cluster call `advance`, the requesting one included; each does to the end
        stages     how many responses are held: the fastest thread may be `stages` - 1 tiles ahead of the slowest
        blocks     the number of blocks in a cluster
        sync       end with a barrier; False: call `pipeline_init_sync` after several are created
        Who        all threads of the block
        Launch     a one-dimensional grid of as many clusters as tiles
        """
        check_walk(tiles, swizzle, raster)
        pipe = PipelineClcFetchAsync.create(stages, consumers, blocks, sync)
        counts, first = tuple(i32(count) for count in tiles), i32(cluster_idx.x if blocks > 1 else block_idx.x)
        return ClcTileScheduler(counts, swizzle, raster, first, True, pipe, pipe.consumer_state())

    def fetching(self) -> ClcTileScheduler:
        """Request the next tile, and return the scheduler for the requesting thread, one of each block."""
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
        """Wait for the response, and return the scheduler at this block's next tile."""
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
                self.pipe.producer_tail(self.ahead)  # other blocks' arrivals on this block's barriers are under way
        return following


def stride(cluster: bool) -> tuple[Any, Any]:
    """Return the number of this block in the grid, or of its cluster, and how many there are."""
    if cluster:
        return i32(cluster_idx.x), i32(grid_dim.x) // cluster_dim.x
    return i32(block_idx.x), i32(grid_dim.x)


def banded(place: Any, along: Any, across: Any, width: int) -> tuple[Any, Any]:
    """Return the coordinate (along, across) of position `place` in an order by bands `width` wide.

    The last band may be narrower.
    """
    if width == 1:
        return place % along, place // along
    band = place // (along * width)
    within = place % (along * width)
    here = max(1, min(width, across - band * width))  # never 0, a divisor, beyond the last tile
    return within // here, band * width + within % here


def hilbert(place: Any, m: Any, n: Any) -> tuple[Any, Any]:
    """Return the coordinate of position `place` on a Hilbert curve through m x n tiles.

    Tiles that are close on the curve are close in both modes. The rectangle is cut again and again, and the part that
    has the place is kept: of a long rectangle, one of two halves; of others, as of Hilbert's square, one of three
    parts, which the curve passes across, along, and back across. All numbers are i32. Beyond the last tile the result
    means nothing.
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
    """Return about half of a length: an even number if `length` is above 2, so that the curve ends where it should."""
    half = length // 2
    return half + (half % 2 if length > 2 else 0)
