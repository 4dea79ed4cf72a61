"""d = activation(alpha * (a @ b) + beta * c + bias) on Hopper, at the speed of cuBLAS and above.

A block is one warpgroup that loads and two that multiply. Blocks stay, and take tiles of the result in turn. One thread
brings tiles of A and B by TMA into a ring of stages; blocks of a cluster share what both need. The other warpgroups
multiply by wgmma and write their results by stmatrix and TMA while the next tiles are loaded. Either they work on one
tile together (cooperative), half of its rows each, or on a tile each in turn (ping-pong), so that one stores while the
other multiplies.
"""

# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportAttributeAccessIssue=false
# (kernels are made for types that annotations cannot express for a type checker)

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import takewhile
from math import inf
from typing import Any, Literal, NamedTuple, cast

import cutelite as cl
import cutelite_rt as rt
from cutelite import Smem, Tensor, TmaTensor, f32, i32
from cutelite.kernels.arrays import clusters_at_once, empty, flags
from cutelite.kernels.gemm.configs import CONFIGS, Config, Problem, boxes_of, made_for, span, wide
from cutelite.kernels.gemm.loads import AHEAD, Loaded
from cutelite.kernels.gemm.model import (
    at_once_of,
    in_bursts,
    kept,
    lasting,
    microseconds,
    sizes_of,
    table_of,
    work_of,
    worth,
)
from cutelite.kernels.gemm.prepare import beside
from cutelite.kernels.gemm.sums import add_up
from cutelite.lang.given import given_by
from cutelite.lib.multicast import by_turns
from cutelite.records import dataclass

M, N, K, L, C, E = cl.dims("M N K L C E")
PITCHES = cl.dims("PA QA"), cl.dims("PB QB")  # of batches and of rows, of A and of B, where threads load them
GROUP = 128  # threads of a warpgroup


@cache
def build(config: Config, problem: Problem) -> Any:
    """Make the kernel. Errors: ValueError for parts of operands that no box of TMA is."""
    plan = Plan(config, problem)
    (BM, BN), (CM, CN), WIDE = config.tile, config.cluster, wide(config, problem)
    BK, ROWS, FEW = plan.depth, plan.rows, plan.few
    A, B, D, BIAS, SCALE_A, SCALE_B, MORE, PLAIN, AHEAD, PARTS = types(plan)

    class Storage(cl.SharedStorage):
        a: Smem[problem.a, stages_of(problem.a, (BM, BK, config.stages), problem.majors[0], BM)]
        b: Smem[problem.b, stages_of(problem.b, (BN, BK, config.stages), problem.majors[1], plan.each)]
        d: Smem[problem.d, cl.make_smem_layout(problem.d, (64, WIDE, 2 * config.buffers), plan.along), 128]  # for TMA

    @cl.kernel(block=3 * GROUP, cluster=(CM * CN * config.together, 1, 1) if plan.in_clusters else None)
    def gemm(
        a: A, b: B, d: D, c: D | None, bias: BIAS | None,
        scale_a: SCALE_A | None, scale_b: SCALE_B | None, alpha: f32, beta: f32, more: MORE | None,
        ends: Tensor[i32, (E,)] | None, plain: PLAIN | None, ahead: AHEAD | None, parts: PARTS | None,
    ) -> None:  # fmt: skip
        if cl.thread_idx.x == 0:
            for t in plan.mapped(a, b, d):
                cl.prefetch_tensormap(t)
        storage = Storage.allocate()
        if FEW < BM:
            cl.cooperative_clear(storage.a)
        pipe = plan.pipe()
        second = cl.warpgroup_idx() // 2
        turns = cl.PipelineOrder.create(1, 2, second, GROUP, sync=False) if config.pingpong else None
        fetch = cl.Fetch.create((2, 1 + config.buffers))
        cl.pipeline_init_arrive(plan.clustered)
        tiles = plan.tiles(d.shape[:-2], ends)
        first = plan.place(tiles, ends)
        cl.griddepcontrol_launch_dependents()
        cl.pipeline_init_wait(plan.clustered)
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(plan.regs[0])
            if problem.loaded:
                plan.load(a, b, storage, pipe, tiles, first)
            elif cl.thread_idx.x == 0:
                plan.begin(a, b, first)
                plan.produce(a, b, storage, pipe, tiles, first, ends)
        else:
            cl.setmaxnreg_inc(plan.regs[1])
            plan.wait()
            group, thread = cl.warpgroup_idx() - 1, cl.thread_idx.x % GROUP
            pieces = cl.local_tile(storage.d, (64, WIDE, config.buffers), (0, 0, group))
            done = cl.NamedBarrier(1 + group, GROUP)
            out = cl.ResultRing.create(pieces, plan.mma(WIDE), thread, done, problem.turned)
            finish = problem.finish and plan.finish(problem.finish, more, (M, C), plain)
            scales = cl.Scales(scale_a, scale_b)
            fused = cl.Fused(c, bias, scales, alpha, beta, problem.activation, problem.turned, finish)
            groups, its = (1, 0) if config.together > 1 and config.pingpong else (2, group)  # of one tile, one has all
            ready = None if config.pingpong else cl.NamedBarrier(3, 2 * GROUP)
            free = storage.a if config.swapped and BM > BN else storage.b
            sums = cl.Epilogue.create(
                (ROWS, plan.results), out, d, fused, cl.Fetch(fetch.bars[group, None]), groups=groups, group=its,
                blocks=config.together, memory=free.ptr, sums=problem.acc, ready=ready)  # fmt: skip
            shares = plan.parts(parts, thread, done, group)
            plan.consume(sums, storage, pipe, turns, tiles, group, ends, ahead or (), shares)

    return gemm


def stages_of(dtype: Any, shape: tuple[int, int, int], major: str, part: int) -> Any:
    """The layout of an operand's stages, of whose rows a warpgroup multiplies `part`: these are whole spans."""
    if major == "K":
        return cl.make_smem_layout(dtype, shape)
    swizzle: Any = f"{span(part, dtype.bytes) * dtype.bytes}B"
    return cl.tile_to_shape(cl.make_smem_layout_atom(dtype, "MN", swizzle), shape, (1, 0, 2))


def types(plan: "Plan") -> tuple[Any, ...]:
    """The types of the kernel's parameters. Errors: ValueError for parts that no box of TMA is."""
    config, problem = plan.config, plan.problem
    batched, splits = problem.batched, config.splits
    left, right = boxes_of(config, problem, plan.few)
    if left is None or right is None:
        raise ValueError(
            f"{config}: tiles of an operand contiguous along M or N have rows in spans of 64 bytes or more"
        )
    of_b = N if problem.finish is None and problem.gate is None else C
    if problem.loaded:
        a = matrix_as_it_lies(problem.a, M, problem.majors[0], plan.lead("A"), *PITCHES[0])
        b = matrix_as_it_lies(problem.b, N, problem.majors[1], plan.lead("B"), *PITCHES[1])
    else:
        a = matrix(problem.a, M, K, left, problem.majors[0], plan.lead("A"))
        b = matrix(problem.b, of_b, K, right, problem.majors[1], plan.lead("B"))
    batches = (L * splits,) if batched and splits > 1 else plan.lead("D") or (splits,) * (splits > 1)
    d = matrix(problem.d, M, N, (64, wide(config, problem)), plan.along, batches)
    if problem.direct:
        d = Tensor[problem.d, (*batches, *((N, M) if problem.turned else (M, N))), (*(None,) * (1 + len(batches)), 1)]
    line = ((M,), (plan.rows,)) if problem.turned else ((N,), (plan.each,))
    bias, one = TmaTensor[problem.bias or f32, *line, "none"], Tensor[f32, (1,)]
    scale_a = TmaTensor[f32, (M,), (plan.rows,), "none"] if problem.rowwise else one
    scale_b = TmaTensor[f32, (N,), (plan.each,), "none"] if problem.rowwise else one
    more = tuple[tuple(beside(number, *kind) for number, kind in enumerate(problem.tensors))]  # type: ignore[misc]
    lead, row = len(plan.lead("D")), (cl.Dim("R", 16 // problem.d.bytes), 1)
    plain = Tensor[problem.d, (None,) * (lead + 2), (*(cl.Dim("Q", 16 // problem.d.bytes),) * lead, *row)]
    ahead = tuple[tuple(beside(len(more.__args__) + number, *kind) for number, kind in enumerate(problem.beside))]  # type: ignore[misc]
    sums = Tensor[problem.acc, (None, *plan.laid)]
    return a, b, d, bias, scale_a, scale_b, more, plain, ahead, tuple[sums, Tensor[i32, (None,)]]


def matrix(dtype: Any, rows: Any, columns: Any, box: tuple[int, int], major: str, batches: Any) -> Any:
    """The type of a TMA tensor, with batches if there are any, declared the other way round if not K-major."""
    shape, (high, wide) = ((rows, columns), box) if major == "K" else ((columns, rows), (box[1], box[0]))
    wide = span(wide, dtype.bytes)
    lead = len(batches)
    return TmaTensor[dtype, (*batches, *shape), (*(1,) * lead, high, wide), (*(None,) * (1 + lead), 1)]


def matrix_as_it_lies(dtype: Any, rows: Any, major: str, lead: Any, batch: Any, row: Any) -> Any:
    """The type of an operand that threads load, with batches if there are any."""
    shape = (rows, K) if major == "K" else (K, rows)
    return Tensor[dtype, (*lead, *shape), ((batch, row, 1) if lead else (row, 1)), cl.align(16)]


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
class Plan:
    """The numbers that follow from a configuration for a problem, and what the threads of a block do by it."""

    config: Config
    problem: Problem

    @property
    def depth(self) -> int:
        """Columns along K of a stage: a swizzled row of shared memory."""
        return 128 // self.problem.bytes

    @property
    def rows(self) -> int:
        """Rows of a warpgroup's tile."""
        whole = self.config.pingpong or self.config.across
        return self.config.tile[0] if whole else self.config.tile[0] // 2

    @property
    def each(self) -> int:
        """Columns of B that a warpgroup multiplies by."""
        return self.config.tile[1] // 2 if self.config.across else self.config.tile[1]

    @property
    def columns(self) -> int:
        """Columns of results of a tile."""
        return self.problem.columns(self.config.tile[1])

    @property
    def results(self) -> int:
        """Columns of results of a warpgroup's tile."""
        return self.problem.columns(self.each)

    @property
    def along(self) -> str:
        """The mode along which results are contiguous, as an operand's major: 'K' for columns."""
        return "MN" if self.problem.turned else "K"

    def finish(self, given: cl.Finish, tensors: Any, shape: tuple[Any, Any], plain: Any) -> cl.Finish:
        """The function that makes results of the sums, with its tensors."""
        return replace(given, tensors=tensors or (), shape=shape, plain=plain)

    def wait(self) -> None:
        """Wait for the kernel before this one, if that has not been done to read where groups end."""
        if not self.problem.groups:
            cl.griddepcontrol_wait()

    def lead(self, operand: str) -> tuple[Any, ...]:
        """The mode of batches of A, B or D; () where it has none."""
        have = {"": "ABD", "rows": "B", "padded": "ABD", "K": "D"}[self.problem.groups]
        return (L,) if self.problem.batched and operand in have and operand != self.problem.shared else ()

    def tiles(self, batches: tuple[Any, ...], ends: Any) -> Any:
        """The scheduler, at the first tile. Groups wait for the kernel before this one, which may have counted them."""
        config, problem, (BM, BN), (CM, CN) = self.config, self.problem, self.config.tile, self.config.cluster
        across = cl.ceil_div(N, self.columns * CN) if problem.finish is None else cl.ceil_div(C, BN * CN)
        counts = cl.ceil_div(M, BM * CM), across, *batches
        if problem.groups:
            cl.griddepcontrol_wait()
        if config.stream:
            how = config.stream, config.stages, config.swizzle, config.raster, self.in_clusters
            return cl.StreamKTileScheduler.create(counts, cl.ceil_div(K, self.depth), *how)
        if problem.groups not in ("rows", "padded"):
            return cl.StaticPersistentTileScheduler.create(counts, config.swizzle, config.raster, self.in_clusters)
        along = BM * CM, across, config.swizzle, self.in_clusters, problem.groups == "padded"
        return cl.GroupedTileScheduler.create(ends, *along)

    @property
    def clustered(self) -> bool:
        """True where blocks of a cluster bring tiles for each other."""
        return self.config.cluster != (1, 1)

    @property
    def in_clusters(self) -> bool:
        """True where a cluster takes one tile, or neighbouring tiles."""
        return self.clustered or self.config.together > 1

    @property
    def turns(self) -> bool:
        """True where blocks of a cluster bring whole tiles of what they share by turns."""
        (bm, bn), (cm, cn), majors = self.config.tile, self.config.cluster, self.problem.majors
        bn = bn // 2 if self.problem.halves else bn
        return (majors[0] == "K" and by_turns(bm, cn)) or (majors[1] == "K" and by_turns(bn, cm))

    @property
    def few(self) -> int:
        """Rows of A that are brought for a tile."""
        rows = self.config.tile[0]
        return rows if self.clustered else min(rows, self.problem.rows or rows)

    @property
    def laid(self) -> tuple[int, int, int]:
        """The extents of a block's sums in global memory, where others add them to theirs."""
        groups, unit = 1 if self.config.pingpong else 2, cl.TileParts.UNIT
        return groups * self.rows * self.each // (GROUP * unit), GROUP, unit

    def parts(self, given: Any, thread: Any, group: Any, number: Any) -> Any:
        """Parts of tiles of this warpgroup: its `number` of two tells which, where both have part of each tile."""
        if given is None or not self.config.stream:
            return None
        sums, flags = given
        return cl.TileParts(sums, flags, thread, group, *(() if self.config.pingpong else (2, number)))

    def mma(self, columns: int) -> Any:
        """Return the instruction for this many columns."""
        return cl.WarpgroupMmaOp(self.multiplied, self.problem.acc, columns, self.problem.b)

    @property
    def multiplied(self) -> Any:
        """The dtype of A as it is multiplied."""
        return self.problem.a if self.problem.prepare is None else self.problem.b

    @property
    def reads(self) -> Literal["wgmma", "both"]:
        """The way stages are read, as a pipeline has it."""
        return "wgmma" if self.problem.prepare is None else "both"

    @property
    def source(self) -> Literal["smem", "rmem"]:
        """The place A is multiplied from: registers where a function makes it."""
        return "smem" if self.problem.prepare is None else "rmem"

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
        """This block's next tile, of groups along K; a group without columns has one step, of zeros."""
        BM, (CM, CN) = self.config.tile[0], self.config.cluster
        m, n, group = tiles.coordinate()
        if self.clustered:
            rank = cl.block_rank_in_cluster()
            m, n = m * CM + rank % CM, n * CN + rank // CM
        held = min(group, ends.shape[0] - 1)  # behind the last tile too one is asked for
        end, begin = ends[held], i32(0)
        if held > 0:
            begin = ends[held - 1]
        steps = max(1, (end - begin + self.depth - 1) // self.depth)
        return Tile(m * BM, n * self.columns, (), (group,), 0, steps, (), end, begin)

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

    @property
    def half(self) -> Any:
        """Columns of each of the two halves of B."""
        return N if self.problem.finish is None else C // 2

    @property
    def paired(self) -> bool:
        """True where a function makes a column of results of two."""
        return self.problem.finish is not None and self.problem.finish.paired

    def operands(self, a: Any, b: Any) -> tuple[Any, Any]:
        """The tiles of A and B that this block brings."""
        cluster, majors, columns = self.config.cluster, self.problem.majors, self.columns * (2 if self.paired else 1)
        left = cl.OperandTile.create(a, self.few, cluster, 0, majors[0])
        return left, cl.OperandTile.create(b, columns, cluster, 1, majors[1])

    def pipe(self) -> Any:
        """The ring of stages."""
        config, problem, consumers = self.config, self.problem, GROUP if self.config.pingpong else 2 * GROUP
        if problem.loaded:
            return cl.PipelineAsync.create(config.stages, GROUP, consumers, sync=False, reads="wgmma")
        bytes = self.few * self.depth * problem.a.bytes + config.tile[1] * 128
        peers, how = cl.multicast_peers(config.cluster), (False, self.reads, self.turns)
        return cl.PipelineTmaAsync.create(config.stages, bytes, consumers, peers, *how)

    @property
    def regs(self) -> tuple[int, int]:
        """Registers of a thread that loads, and of one that multiplies."""
        return (168, 168) if self.problem.loaded else self.config.regs

    def mapped(self, a: Any, b: Any, d: Any) -> tuple[Any, ...]:
        """The arrays that TMA reads or writes."""
        return (*(() if self.problem.loaded else (a, b)), *(() if self.problem.direct else (d,)))

    def held(self, operand: Any, name: Literal["A", "B"]) -> Loaded:
        """An operand, A or B, that threads load."""
        which = "AB".index(name)
        major, (batch, row), extent = self.problem.majors[which], PITCHES[which], (M, N)[which]
        shape, lead = (extent, K) if major == "K" else (K, extent), self.lead(name)
        sizes = (L, *shape, batch, row) if lead else (1, *shape, 0, row)
        return Loaded(operand, sizes, major, (self.few, self.columns)[which], self.depth)

    def load(self, a: Any, b: Any, storage: Any, pipe: Any, tiles: Any, tile: Any) -> None:
        """A warpgroup: fill the ring by loads, tile after tile."""
        left, right, state = self.held(a, "A"), self.held(b, "B"), pipe.producer_state()
        cl.griddepcontrol_wait()
        while tiles.is_valid():
            for i in range(-min(AHEAD, tile.steps), tile.steps):
                if i + AHEAD < tile.steps:
                    later = (tile.first + i + AHEAD) * self.depth
                    left.prefetch(tile.batch, tile.row, later)
                    right.prefetch(tile.of_b, tile.column, later)
                if i >= 0:
                    pipe.producer_acquire(state)
                    k = (tile.first + i) * self.depth
                    left.bring(storage.a[None, None, state.index], tile.batch, tile.row, k)
                    right.bring(storage.b[None, None, state.index], tile.of_b, tile.column, k)
                    cl.fence_proxy_async("shared::cta")
                    pipe.producer_commit(state)
                    state = state.advance()
            tiles = tiles.advance()
            tile = self.place(tiles, None)

    def begin(self, a: Any, b: Any, tile: Any) -> None:
        """One thread: wait for the kernel before, and first have L2 bring steps of B: what that one writes, L2 has."""
        if self.config.early:
            self.fetch(*self.operands(a, b), tile)
        self.wait()

    def fetch(self, left: Any, right: Any, tile: Any) -> None:
        """One thread: bring first steps of B to L2."""
        for i in range(min(self.config.early, tile.steps)):
            k = (tile.first + i) * self.depth
            if self.config.swapped:
                left.prefetch(tile.batch, tile.row, k, self.depth)
            else:
                column = tile.column * 2 if self.paired else tile.column
                for half in cl.static_range(2 if self.problem.halves else 1):
                    right.prefetch(tile.of_b, column + half * self.half, k, self.depth)

    def produce(self, a: Any, b: Any, storage: Any, pipe: Any, tiles: Any, tile: Any, ends: Any) -> None:
        """One thread: fill the ring, tile after tile."""
        left, right = self.operands(a, b)
        state, backward = pipe.producer_state(), False
        while tiles.is_valid():
            for i in range(tile.steps):
                pipe.producer_acquire(state)
                full, k = pipe.barrier(state), (tile.first + (tile.steps - 1 - i if backward else i)) * self.depth
                if self.problem.groups == "K":
                    k = tile.begin + i * self.depth
                few = storage.a[None, None, state.index].tile((self.few, self.depth), (0, 0))
                left.load(few, tile.batch, tile.row, k, full, turn=state.index)
                if not self.problem.halves:
                    column = tile.column * 2 if self.paired else tile.column
                    right.load(storage.b[None, None, state.index], tile.of_b, column, k, full, turn=state.index)
                else:
                    for half in cl.static_range(2):
                        part = storage.b[None, None, state.index].tile((self.columns, self.depth), (half, 0))
                        right.load(part, tile.of_b, tile.column + half * self.half, k, full, turn=state.index)
                state = state.advance()
            tiles = tiles.advance()
            tile, backward = self.place(tiles, ends), not backward  # the end of K is in L2 still
        if self.clustered:
            pipe.producer_tail(state)  # others still tell this block's barriers that they have read

    def consume(
        self, sums: Any, storage: Any, pipe: Any, turns: Any, tiles: Any, group: Any, ends: Any, ahead: Any, parts: Any
    ) -> None:  # fmt: skip
        """A warpgroup: multiply what comes, and write what it adds up to."""
        half = 0 if self.config.pingpong else group
        down, right_of = (0, half) if self.config.across else (half, 0)
        mma = cl.make_tiled_mma(replace(self.mma(self.each), a_source=self.source))
        mine = mma.get_slice(cl.thread_idx.x % GROUP)
        left = mine.partition_A(cl.local_tile(storage.a, (self.rows, self.depth), (down, 0)))
        right = mine.partition_B(cl.local_tile(storage.b, (self.each, self.depth), (right_of, 0)))
        state, count, written = pipe.consumer_state(), i32(0), i32(0)
        if self.config.pingpong and group == 1:  # the first tile is the other one's
            tiles, state = tiles.advance(), state.advance(self.place(tiles, ends).steps)
        while tiles.is_valid():
            tile = self.place(tiles, ends)
            row, column = tile.row + down * self.rows, tile.column + right_of * self.results
            if parts is None or tile.first == 0:
                sums.prepare(row, column, tile.out)
            if self.config.pingpong:
                turns.wait()
            acc = mma.make_fragment_C(mma.partition_shape_C((self.rows, self.each)))
            if self.problem.prepare is None:
                operands, own = (storage, left, right), (group, sums.ring.group)
                acc, before, state = self.products(mma, acc, operands, pipe, state, tile, own)
            else:
                at = row, group == 1 if self.config.pingpong else count % 2 == 1
                acc, before, state = self.of_prepared(mma, acc, left, right, pipe, state, tile, at, ahead)
            if self.config.pingpong:
                turns = turns.arrive()
            acc = acc.wait()
            pipe.consumer_release(before)
            if parts is not None:
                written = self.share(sums, acc, (row, column), tile, tiles, written, parts)
            else:
                done = acc if self.problem.gate is None else self.gated(acc)
                sums.write(done, row, column, tile.out, count, tile.end if self.problem.finish else None)
            tiles, count = tiles.advance(), count + 1
            if self.config.pingpong:
                tiles, state = tiles.advance(), state.advance(self.place(tiles, ends).steps)
        sums.ring.tail()

    def share(
        self, sums: Any, acc: Any, at: Any, tile: Any, tiles: Any, written: Any, parts: Any
    ) -> Any:  # fmt: skip
        """Write what a tile adds up to, with the parts of it that others have; or lay down the sums of a part.

        Gives how many tiles have been written.
        """
        if tile.first > 0:
            parts.put(tiles, acc)
        else:
            acc = parts.added(tiles, acc)
            done = acc if self.problem.gate is None else self.gated(acc)
            sums.write(done, *at, tile.out, written)
            written = written + 1
        return written

    def products(
        self, mma: Any, acc: Any, operands: Any, pipe: Any, state: Any, tile: Any, own: Any
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        """Start the products of a tile. Gives the sums in flight, the stage that they still read, and the next one."""
        (storage, left, right), (group, barrier) = operands, own
        pipe.consumer_wait(state)
        if self.problem.groups == "K":
            self.trim(storage, state, tile, 0, group, barrier)
        at = None, None, None, state.index
        acc = cl.gemm(mma, acc, left[at], right[at], accumulate=False)
        before, state = state, state.advance()
        for i in range(1, tile.steps):
            pipe.consumer_wait(state)
            if self.problem.groups == "K":
                self.trim(storage, state, tile, i, group, barrier)
            at = None, None, None, state.index
            acc = cl.gemm(mma, acc, left[at], right[at]).keep(1)
            pipe.consumer_release(before)
            before, state = state, state.advance()
        return acc, before, state

    def of_prepared(
        self, mma: Any, acc: Any, left: Any, right: Any, pipe: Any, state: Any, tile: Any, at: Any, ahead: Any
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        """The same where a function makes A. The other warpgroup multiplies meanwhile: while products of this one run,
        ptxas lets nothing make what the next ones take from registers."""
        (row, backward), last = at, tile.steps - 1
        for i in range(last):
            step = tile.first + cl.where(backward, last - i, i)
            made = self.prepared(left, pipe, state, row, step, ahead)
            acc = cl.gemm(mma, acc, made, right[None, None, None, state.index]).wait()
            pipe.consumer_release(state)
            state = state.advance()
        made = self.prepared(left, pipe, state, row, tile.first + cl.where(backward, 0, last), ahead)
        acc = cl.gemm(mma, acc, made, right[None, None, None, state.index])
        return acc, state, state.advance()

    def prepared(self, left: Any, pipe: Any, state: Any, row: Any, step: Any, ahead: Any) -> Any:
        """This thread's elements of A of a stage, once that is there, as they are multiplied."""
        pipe.consumer_wait(state)
        found = left[None, None, None, state.index].load().to(f32)
        pipe.consumer_loaded(state)
        column = step * self.depth
        chunk = cl.Chunk(found.reshape((len(found),)), row, column, (M, K), cl.thread_idx.x % GROUP)
        made = self.problem.prepare.function(chunk, *ahead)  # type: ignore[union-attr]
        if column + self.depth > K:
            made = chunk.inside(made)
        return made.to(self.problem.b)

    def trim(self, storage: Any, state: Any, tile: Any, step: Any, group: Any, own: Any) -> None:
        """A warpgroup: clear what a stage holds of columns of K behind the tile's group."""
        left, thread = tile.end - tile.begin - step * self.depth, cl.thread_idx.x % GROUP
        if left < self.depth:
            shared = not self.config.pingpong  # each warpgroup has its rows of A, and clears a half of B
            half = group if shared else 0
            for held, rows in ((storage.a, self.rows), (storage.b, self.config.tile[1] // (2 if shared else 1))):
                stage = held[None, None, state.index]
                for i in cl.static_range(-(-rows // GROUP)):
                    row = thread + i * GROUP
                    if row < rows:
                        for k in range(max(left, 0), self.depth):
                            stage[half * rows + row, k] = held.dtype(0.0)
            cl.fence_proxy_async("shared::cta")
            if shared:
                cl.NamedBarrier(4, 2 * GROUP).sync()
            else:
                own.sync()

    def gated(self, acc: Any) -> Any:
        """Apply the gate: it and `up` lie side by side in an accumulator."""
        return Gated([GatedRows(x, self.problem.gate, self.columns // 2) for x in acc.parts])


class Gated(NamedTuple):
    """Results as an accumulator has them: for each 64 rows, those of a thread."""

    parts: list[Any]


@dataclass(frozen=True)
class GatedRows:
    """Results of 64 rows, made when they are taken: `x` has `half` elements of the gate, then those of `up`."""

    x: Any
    gate: Any
    half: int

    def __getitem__(self, part: slice) -> Any:
        gate = given_by("gate", self.gate(self.x[part]), self.x[part])
        return gate * self.x[part.start + self.half : part.stop + self.half]


def run(
    config: Config, problem: Problem, a: Any, b: Any, d: Any, fused: cl.Fused, ahead: tuple[Any, ...] = ()
) -> None:  # fmt: skip
    """Launch what a configuration needs.

    a, b   (..., M, K) or (..., K, M) as `problem` says, B likewise
    ahead  tensors of the function that makes A
    """
    if problem.finish is not None:
        config = replace(config, buffers=1)
    (bm, bn), (cm, cn), (m, n), splits = config.tile, config.cluster, d.shape[-2:], config.splits
    if config.stream and splits * config.together > 1:
        raise ValueError(f"{config}: stream= goes with neither splits= nor together=")
    if splits * config.together > 1:  # as far as there are steps along K
        steps = -(-a.shape[-1 if problem.majors[0] == "K" else -2] * problem.bytes // 128)
        together = config.together if steps >= config.together else 1
        splits = min(splits, steps // together)
        config = replace(config, splits=splits, together=together)
    batches = d.shape[0] if problem.batched else 1
    high, across = (n, m) if config.swapped else (m, n)
    of_tile = problem.columns(bn)
    if problem.finish is not None:
        across, of_tile = b.shape[-2 if problem.majors[1] == "K" else -1], bn
    blocks = -(-high // (bm * cm)) * -(-across // (of_tile * cn)) * cm * cn * batches * splits
    there = 0 if config.together > 1 else clusters_at_once(cm * cn, d) * cm * cn
    if config.stream and blocks % there == 0:
        config = replace(config, stream=0)  # the last round is whole
    at_once = blocks if config.together > 1 else there if config.stream else min(blocks, there)
    launch = cl.Launch(at_once * config.together, 3 * GROUP, pdl=True)
    if splits == 1:
        multiply(config, problem, launch, a, b, d, fused, ahead)
        return
    plain = replace(problem, d=problem.acc, bias=None, activation=None, rowwise=False, direct=False)
    parts = empty(d, (batches * splits, m, -(-n // 16) * 16), problem.acc.name)[..., :n]
    multiply(config, plain, launch, a, b, parts, cl.Fused(), ahead)
    add_up(problem, splits, parts, d, fused)


def multiply(
    config: Config, problem: Problem, launch: cl.Launch, a: Any, b: Any, d: Any, fused: cl.Fused, ahead: Any = ()
) -> None:  # fmt: skip
    """Launch the kernel of a configuration, which may have A and B in each other's place."""
    if config.swapped:
        problem, a, b = problem.swapped, b, a
        fused = replace(fused, scales=cl.Scales(fused.scales.b, fused.scales.a))
    parts, blocks = None, cast(int, launch.grid)
    if config.stream:
        sums = empty(d, (blocks, *Plan(config, problem).laid), problem.acc.name)
        parts = sums, flags(d, 2 * blocks)
    build(config, problem)[launch](a, b, d, *flat(fused), ahead or None, parts)


def flat(fused: cl.Fused) -> tuple[Any, ...]:
    """As the kernel's parameters have it."""
    tensors = fused.finish.tensors if fused.finish is not None else ()
    return fused.c, fused.bias, fused.scales.a, fused.scales.b, fused.alpha, fused.beta, tensors or None, None, None


NEAR = 1.3
"""Times the shortest time that is expected: what takes longer is not measured."""


def ranked(configs: list[Config], problem: Problem, a: Any, d: Any) -> Iterator[tuple[float, Config]]:
    """Yield (microseconds, configuration) of those that exist for these types, by the model, the fastest first."""
    every, sizes = kept(configs) if configs is CONFIGS else table_of(configs), sizes_of(problem, a, d)
    of = every.part(worth(every, problem, sizes).nonzero()[0])
    times = microseconds(of, problem, sizes, at_once_of(of, d))
    for i in times.argsort(kind="stable").tolist():
        if times[i] == inf:
            return
        if made_for(of.configs[i], problem):
            yield float(times[i]), of.configs[i]


def fitting(configs: list[Config], problem: Problem, a: Any, b: Any, d: Any, *more: Any) -> list[Config]:
    """Return the configurations worth measuring: within `NEAR` of the model's shortest time, the fastest first."""
    able = ranked(configs, problem, a, d)
    least, first = next(able)
    return [first, *(config for _, config in takewhile(lambda each: each[0] <= NEAR * least, able))]


def sustained(config: Config, seconds: float, problem: Problem, a: Any, b: Any, d: Any, *more: Any) -> float:
    """Return the seconds that a GEMM measured in bursts takes once the GPU is at its limit of power."""
    of = table_of([config])
    _, energy = in_bursts(of, work_of(of, problem, sizes_of(problem, a, d)), at_once_of(of, d))
    return float(lasting(seconds * 1e6, energy[0])) * 1e-6


tuned = cl.autotune(CONFIGS, key=("problem", "a", "b", "d"), prune=fitting, weigh=sustained)(run)
_picked: dict[Any, Config] = {}


def pick(problem: Problem, a: Any, b: Any, d: Any, *more: Any) -> Config:
    """Return the fastest configuration: measured in this process, else of a loaded table, else the model's."""
    key = problem, tuple(a.shape), tuple(d.shape), rt.read(d).device
    if key not in _picked:
        _picked[key] = tuned.shipped(problem, a, b, d, *more) or next(ranked(CONFIGS, problem, a, d))[1]
    return _picked[key]


def measured(problem: Problem, a: Any, b: Any, d: Any, *more: Any) -> Config:
    """Return the fastest, measured at the first call for such shapes; `pick` gives it from then on."""
    config: Config = tuned.config_for(problem, a, b, d, *more)
    _picked[problem, tuple(a.shape), tuple(d.shape), rt.read(d).device] = config
    return config
