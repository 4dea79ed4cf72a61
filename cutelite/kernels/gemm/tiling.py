"""Tiles of the GEMM: `Tiling`, with their sizes, and which place in the result and in K a block's next one has."""

from typing import Any

import cutelite as cl
from cutelite import i32
from cutelite.kernels.gemm.configs import ALONE, Config, Launched, Problem
from cutelite.kernels.gemm.fits import rows_held, span, stored, wide
from cutelite.records import dataclass, fact
from cutelite.tuples import NamedTuple

M, N, K, L, C, E = cl.dims("M N K L C E")
GROUP = 128  # threads of a warpgroup


class Tile(NamedTuple):
    """A place in the result and in K.

    row, column  of the result, at which the tile begins
    batch, out   of the operands and of the result
    first        step along K at which it begins, and how many `steps` it has
    group        of B, where it is not that of A
    end          row or, of groups along K, column at which the tile's group ends
    begin        column at which a group along K begins
    """

    row: Any
    column: Any
    batch: tuple[Any, ...]
    out: tuple[Any, ...]
    first: Any
    steps: Any
    group: tuple[Any, ...] | None = None
    end: Any = None
    begin: Any = 0

    @property
    def of_b(self) -> tuple[Any, ...]:
        """The batch of B."""
        return self.batch if self.group is None else self.group


@dataclass(frozen=True)
class Tiling:
    """Sizes of tiles that follow from a configuration for a problem, and the order in which blocks take them."""

    config: Config
    problem: Problem
    launched: Launched = ALONE

    @fact
    def depth(self) -> int:
        """Columns along K of a stage: a swizzled row of shared memory."""
        return 128 // self.problem.bytes

    @fact
    def rows(self) -> int:
        """Rows of a warpgroup's tile."""
        return self.config.own[0]

    @fact
    def each(self) -> int:
        """Columns of B that a warpgroup multiplies by."""
        return self.config.own[1]

    @fact
    def columns(self) -> int:
        """Columns of results of a tile."""
        return self.problem.columns(self.config.tile[1])

    @fact
    def results(self) -> int:
        """Columns of results of a warpgroup's tile."""
        return self.problem.columns(self.each)

    @fact
    def ring(self) -> Any:
        """The layout of pieces of results in shared memory, those of both warpgroups."""
        across, bytes = wide(self.config, self.problem), self.problem.d.bytes
        pieces = 64, across, 2 * self.config.buffers
        if self.along == "K" and span(across, bytes) != stored(across, bytes):
            return cl.make_layout(pieces, stride=(across, 1, 64 * across))
        return cl.make_smem_layout(self.problem.d, pieces, self.along)

    def over(self, storage: Any) -> Any:
        """Pieces of results where the operand that has more rows was."""
        place = storage.a if self.high >= self.config.tile[1] else storage.b
        return cl.make_tensor(place.ptr, self.ring, self.problem.d)

    @fact
    def along(self) -> str:
        """The mode along which results are contiguous, as an operand's major: 'K' for columns."""
        return "MN" if self.problem.turned else "K"

    @fact
    def paired(self) -> bool:
        """True where a function makes a column of results of two."""
        return self.problem.finish is not None and self.problem.finish.paired

    def lead(self, operand: str) -> tuple[Any, ...]:
        """The mode of batches of A, B or D; () where it has none."""
        have = {"": "ABD", "rows": "B", "padded": "ABD", "K": "D"}[self.problem.groups]
        return (L,) if self.problem.batched and operand in have and operand != self.problem.shared else ()

    @fact
    def clustered(self) -> bool:
        """True where blocks of a cluster bring tiles for each other."""
        return self.config.cluster != (1, 1)

    @fact
    def in_clusters(self) -> bool:
        """True where a cluster takes one tile, or neighbouring tiles."""
        return self.clustered or self.config.together > 1

    @fact
    def few(self) -> int:
        """Rows of A that are brought for a tile."""
        rows = self.config.tile[0]
        return rows if self.clustered else min(rows, self.problem.rows or rows)

    @fact
    def high(self) -> int:
        """Rows of A that a stage holds."""
        return rows_held(self.config, self.problem)

    @fact
    def laid(self) -> tuple[int, int, int]:
        """The extents of a block's sums in global memory, where others add them to theirs."""
        groups, unit = 1 if self.config.pingpong else 2, cl.TileParts.UNIT
        return groups * self.rows * self.each // (GROUP * unit), GROUP, unit

    def tiles(self, batches: tuple[Any, ...], ends: Any) -> Any:
        """The scheduler, at the first tile. Groups wait for the kernel before this one, which may have counted them."""
        config, problem, (BM, BN), (CM, CN) = self.config, self.problem, self.config.tile, self.config.cluster
        across = cl.ceil_div(N, self.columns * CN) if problem.finish is None else cl.ceil_div(C, BN * CN)
        counts = cl.ceil_div(M, BM * CM), across, *batches
        if problem.groups:
            cl.griddepcontrol_wait()
        raster = config.raster or "M"
        if config.stream:
            how = config.stream, config.stages, config.swizzle, raster, self.in_clusters
            return cl.StreamKTileScheduler.create(counts, cl.ceil_div(K, self.depth), *how)
        if problem.groups not in ("rows", "padded"):
            return cl.StaticPersistentTileScheduler.create(counts, config.swizzle, raster, self.in_clusters)
        along = BM * CM, across, config.swizzle, self.in_clusters, problem.groups == "padded"
        return cl.GroupedTileScheduler.create(ends, *along, most=M)

    def place(self, tiles: Any, ends: Any) -> Any:
        """This block's next tile."""
        if self.problem.groups:
            return self.place_in_k(tiles, ends) if self.problem.groups == "K" else self.place_in_rows(tiles)
        BM, (CM, CN), SPLITS = self.config.tile[0], self.config.cluster, self.config.splits
        m, n, batch = tiles.coordinate()
        steps, split = i32(cl.ceil_div(K, self.depth)), batch % SPLITS
        parts = SPLITS * self.config.together
        if self.config.together > 1:
            split = split * self.config.together + cl.block_rank_in_cluster()
        if self.clustered:
            rank = cl.block_rank_in_cluster()
            m, n = m * CM + rank % CM, n * CN + rank // CM
        first, last = (steps * split // parts, steps * (split + 1) // parts) if parts > 1 else (0, steps)
        if self.config.stream:
            first, last = tiles.first, tiles.first + tiles.length
        out = (batch,) if self.problem.batched or SPLITS > 1 else ()
        whole = (batch // SPLITS,) if self.problem.batched else ()
        if self.problem.shared:
            left, right = ((), whole) if self.problem.shared == "A" else (whole, ())
            return Tile(m * BM, n * self.columns, left, out, first, last - first, right)
        return Tile(m * BM, n * self.columns, whole, out, first, last - first)

    def place_in_rows(self, tiles: Any) -> Any:
        """This block's next tile, of groups of rows."""
        BM, (CM, CN) = self.config.tile[0], self.config.cluster
        group, row, end, n = tiles.coordinate()
        if self.clustered:
            rank = cl.block_rank_in_cluster()
            row, n = row + rank % CM * BM, n * CN + rank // CM
        batch = (group,) if self.problem.groups == "padded" else ()
        return Tile(row, n * self.columns, batch, batch, 0, i32(cl.ceil_div(K, self.depth)), (group,), end)

    def place_in_k(self, tiles: Any, ends: Any) -> Any:
        """This block's next tile, of groups along K; a group without columns has one step, of zeros. No clusters."""
        m, n, group = tiles.coordinate()
        held = min(group, ends.shape[0] - 1)  # behind the last tile too one is asked for
        end, begin = ends[held], i32(0)
        if held > 0:
            begin = ends[held - 1]
        assert begin <= end <= K, f"group {held} is of rows {begin} to {end} of {i32(K)}"
        steps = max(1, (end - begin + self.depth - 1) // self.depth)
        return Tile(m * self.config.tile[0], n * self.columns, (), (group,), 0, steps, (), end, begin)

    def column(self, column: Any, at: int) -> Any:
        """The column of B for column `at` of a tile that begins at `column`, of two halves at that of the first."""
        finish, half, within = self.problem.finish, at // self.columns, at % self.columns
        if not self.problem.halves:
            return column + at
        if finish is not None and finish.apart:
            column = column + within
            whole = column // finish.apart * finish.apart
            return column + whole + half * finish.apart
        return column + within + half * (N if finish is None else C // 2)
