"""GEMMs of a mixture of experts: rows of A, sorted by expert or gathered, times the matrix of their expert.

    d[i] = x[rows[i]] @ b[e].T                          of the expert e that row i belongs to; or a[i], already sorted
    d[i] = silu(s[i, :N]) * s[i, N:], s as above        gated: b has the rows of the gate, then as many of `up`

Only the device knows where an expert's rows end: blocks are persistent, and go through the tiles of all experts in
order. A warpgroup loads gathered rows of A by cp.async, and matrices are loaded by TMA, into one ring of stages. With a
gate, a tile has as many rows of the gate as of `up`, so that both factors of a result are in registers of one thread.

fp8 has a scale for each row and 128 along K, and one for each 128 x 128 of a matrix: sums over 128 are scaled and added
up in other registers.
"""

from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Smem, Tensor, TmaTensor, bf16, e4m3, f32, i32
from cutelite.kernels.arguments import Misfit
from cutelite.kernels.arrays import clusters_at_once
from cutelite.kernels.gemm.products import products
from cutelite.kernels.moe.gather import GatherPipe
from cutelite.kernels.rows.gates import silu
from cutelite.records import dataclass

M, N, C, E, T, KB, NB = cl.dims("M N:8 C:8 E T KB NB")
GROUP = 128  # threads of a warpgroup
ROWS = 64  # of results that are stored at once
VECTOR = 8  # results of 16 bytes
BLOCK = 128  # rows of a matrix, and columns along K, that have one scale


@dataclass(frozen=True)
class Config:
    """A configuration: tiles, stages and registers.

    tile     rows of A, and rows of B, in a block's tile: with a gate, half of them are of `up`
    across   the two warpgroups that multiply share the columns of a tile; False: its rows
    stages   tiles of A and B, 128 bytes along K, that are held
    buffers  pieces of results of a warpgroup that are held
    swizzle  the tiles of an expert are visited in bands of this width
    behind   stages of copies in flight before the oldest one is announced as full, where rows are gathered
    regs     registers of a thread that loads, and of one that multiplies
    """

    tile: tuple[int, int] = (128, 256)
    across: bool = False
    stages: int = 4
    buffers: int = 1
    swizzle: int = 8
    behind: int = 1
    regs: tuple[int, int] = (56, 224)


@dataclass(frozen=True)
class Problem:
    """The kind of GEMM that a kernel is made for.

    dtype   of A and B: bf16 or f16, results are alike; or e4m3 with scales, results are bf16
    gather  rows of A are gathered
    gated   results are ``silu(gate) * up``
    kept    the sums are stored too
    major   along which mode B is contiguous: 'K', or 'MN'
    """

    dtype: Any
    gather: bool = False
    gated: bool = False
    kept: bool = False
    major: str = "K"

    @property
    def scaled(self) -> bool:
        """Tell whether there are scales."""
        return bool(self.dtype == e4m3)

    @property
    def out(self) -> Any:
        """The dtype of results."""
        return bf16 if self.scaled else self.dtype


@cache
def build(config: Config, problem: Problem) -> Any:
    """Make the kernel. Errors: ValueError for tiles that are not whole pieces."""
    plan, dtype, out_dtype = Plan(config, problem), problem.dtype, problem.out
    K, P = cl.Dim("K", plan.unit), cl.Dim("P", plan.unit)
    (BM, BN), BK, WIDE = config.tile, plan.depth, plan.wide
    if plan.rows % ROWS or plan.columns % WIDE or WIDE % 16 or plan.pieces % config.buffers:
        raise Misfit(f"{config}: not whole pieces of {ROWS} x {WIDE} for each warpgroup and all buffers")
    if problem.gather and config.stages < config.behind + 2:  # consumers hold one while they wait for the next
        raise Misfit(f"{config}: stages must be two more than those that are started ahead")
    A: Any = Tensor[dtype, (T, K), (P, 1)] if problem.gather else TmaTensor[dtype, (M, K), (BM, BK)]
    box, order = ((1, plan.part, BK), (E, C, K)) if problem.major == "K" else ((1, BK, min(64, plan.part)), (E, K, C))
    B: Any = TmaTensor[dtype, order, box]

    class Storage(cl.SharedStorage):
        a: Smem[dtype, cl.make_smem_layout(dtype, (BM, BK, config.stages))]
        b: Smem[dtype, cl.make_smem_layout(dtype, (BN, BK, config.stages), problem.major)]
        d: Smem[out_dtype, cl.make_smem_layout(out_dtype, (ROWS, WIDE, 2 * config.buffers))]

    @cl.kernel(block=3 * GROUP)
    def gemm(
        a: A, b: B, ends: Tensor[i32, (E,)], rows: Tensor[i32, (M,)] | None,
        d: TmaTensor[out_dtype, (M, N), (ROWS, WIDE)], by_rows: Tensor[out_dtype, (M, N)],
        sums: TmaTensor[out_dtype, (M, C), (ROWS, WIDE)] | None, sums_by_rows: Tensor[out_dtype, (M, C)] | None,
        scale_a: Tensor[f32, (T, KB), (None, None)] | None, scale_b: Tensor[f32, (E, NB, KB)] | None,
    ) -> None:  # fmt: skip
        storage = Storage.allocate()
        bytes = BN * 128 if problem.gather else (BM + BN) * 128
        if problem.gather:
            pipe: Any = GatherPipe.create(config.stages, bytes, GROUP, 2 * GROUP, config.behind)
        else:
            pipe = cl.PipelineTmaAsync.create(config.stages, bytes, 2 * GROUP, (), False, reads="wgmma")
        cl.pipeline_init_sync()
        cl.griddepcontrol_launch_dependents()
        cl.griddepcontrol_wait()
        tiles = cl.GroupedTileScheduler.create(ends, BM, cl.ceil_div(N, plan.out), config.swizzle, most=M)
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if problem.gather:
                plan.gather(a, b, rows, storage, pipe, tiles, K)
            elif cl.thread_idx.x == 0:
                plan.produce(a, b, storage, pipe, tiles, K)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            group, thread = cl.warpgroup_idx() - 1, cl.thread_idx.x % GROUP
            pieces = cl.local_tile(storage.d, (ROWS, WIDE, config.buffers), (0, 0, group))
            out = cl.ResultRing.create(pieces, plan.piece, thread, cl.NamedBarrier(1 + group, GROUP))
            steps, scales = cl.ceil_div(K, BK), (scale_a, scale_b, rows)
            plan.consume((d, by_rows), (sums, sums_by_rows), scales, storage, pipe, tiles, out, group, steps)

    return gemm


@dataclass(frozen=True)
class Plan:
    """The numbers that follow from a configuration, and the work of the threads of a block."""

    config: Config
    problem: Problem

    @property
    def depth(self) -> int:
        """Columns along K of a stage: a swizzled row of shared memory."""
        return int(128 // self.problem.dtype.bytes)

    @property
    def unit(self) -> int:
        """Elements of 16 bytes of A."""
        return int(16 // self.problem.dtype.bytes)

    @property
    def rows(self) -> int:
        """Rows of a warpgroup's tile."""
        return self.config.tile[0] if self.config.across else self.config.tile[0] // 2

    @property
    def n(self) -> int:
        """Rows of B that a warpgroup multiplies by."""
        return self.config.tile[1] // 2 if self.config.across else self.config.tile[1]

    @property
    def part(self) -> int:
        """Rows of B that lie together in memory, of those of a tile."""
        return self.n // 2 if self.problem.gated else self.config.tile[1]

    @property
    def out(self) -> int:
        """Columns of results of a tile."""
        return self.config.tile[1] // 2 if self.problem.gated else self.config.tile[1]

    @property
    def columns(self) -> int:
        """Columns of results of a warpgroup's tile."""
        return self.out // 2 if self.config.across else self.out

    @property
    def wide(self) -> int:
        """Columns of results that are stored at once."""
        return min(64, self.columns)

    @property
    def pieces(self) -> int:
        """Pieces that a warpgroup stores for a tile."""
        return self.rows // ROWS * (self.columns // self.wide) * (3 if self.problem.kept else 1)

    @property
    def mma(self) -> Any:
        """The instruction of a warpgroup."""
        return cl.WarpgroupMmaOp(self.problem.dtype, f32, self.n)

    @property
    def piece(self) -> Any:
        """The instruction whose results are a piece."""
        return cl.WarpgroupMmaOp(self.problem.out, f32, self.wide)

    def place(self, tiles: Any) -> tuple[Any, Any, Any, Any]:
        """Return, of this block's next tile, the expert, its first row, the expert's last row + 1, its first column."""
        expert, row, end, n = tiles.coordinate()
        return expert, row, min(end, i32(M)), n * self.out

    def bring(self, b: Any, stage: Any, expert: Any, column: Any, k: Any, barrier: Any) -> None:
        """Start loading a tile of B; for each warpgroup the rows of `up` follow those of the gate. Who: one thread."""
        each = cl.OperandTile.create(b, self.part, (1, 1), 1, self.problem.major)
        for i in cl.static_range(self.config.tile[1] // self.part):
            at = column
            if self.problem.gated:
                at = column + i // 2 * self.part + (i % 2) * N
            each.load(stage.tile((self.part, self.depth), (i, 0)), (expert,), at, k, barrier)

    def produce(self, a: Any, b: Any, storage: Any, pipe: Any, tiles: Any, depth: Any) -> None:
        """Fill the ring, tile after tile; `depth` is K. Who: one thread."""
        state = pipe.producer_state()
        while tiles.is_valid():
            expert, row, _, column = self.place(tiles)
            for i in range(cl.ceil_div(depth, self.depth)):
                pipe.producer_acquire(state)
                full, k = pipe.barrier(state), i * self.depth
                cl.tma_load(a, storage.a[None, None, state.index], at=(row, k), barrier=full)
                self.bring(b, storage.b[None, None, state.index], expert, column, k, full)
                state = state.advance()
            tiles = tiles.advance()

    def gather(self, a: Any, b: Any, rows: Any, storage: Any, pipe: Any, tiles: Any, depth: Any) -> None:
        """Fill the ring. Eight threads load a row of A, 16 bytes each; rows after the last are 0. Who: a warpgroup."""
        thread = cl.thread_idx.x
        down, across, high = thread // 8, thread % 8 * self.unit, GROUP // 8
        states = pipe.start()
        while tiles.is_valid():
            expert, row, end, column = self.place(tiles)
            places = cl.make_rmem_tensor(i32, (self.config.tile[0] // high,))
            for i in cl.static_range(self.config.tile[0] // high):
                place = rows[min(row + i * high + down, end - 1)]
                assert 0 <= place < T, f"a row is to be gathered from row {place} of {T}"
                places[i] = min(max(place, 0), i32(T) - 1)
            for step in range(cl.ceil_div(depth, self.depth)):
                k, stage = step * self.depth, states.state.index
                pipe.acquire(states)
                if thread == 0:
                    pipe.expect(states)
                    self.bring(b, storage.b[None, None, stage], expert, column, k, pipe.barrier(states.state))
                at = min(k + across, depth - self.unit)
                for i in cl.static_range(self.config.tile[0] // high):
                    inside = row + i * high + down < end and k + across < depth
                    target = storage.a.at(i * high + down, across, stage)
                    cl.cp_async(target, a.at(places[i], at), 16, src_bytes=cl.where(inside, 16, 0))
                states = pipe.commit(states)
            tiles = tiles.advance()
        pipe.finish(states)

    def consume(
        self, d: tuple[Any, Any], sums: tuple[Any, Any], scales: tuple[Any, Any, Any], storage: Any, pipe: Any,
        tiles: Any, out: Any, group: Any, steps: Any,
    ) -> None:  # fmt: skip
        """Multiply the stages, and write the results. Who: a warpgroup."""
        mma, split = cl.make_tiled_mma(self.mma), self.config.across
        mine = mma.get_slice(out.thread)
        left = mine.partition_A(cl.local_tile(storage.a, (self.rows, self.depth), (0 if split else group, 0)))
        right = mine.partition_B(cl.local_tile(storage.b, (self.n, self.depth), (group if split else 0, 0)))
        state = pipe.consumer_state()
        while tiles.is_valid():
            expert, row, end, column = self.place(tiles)
            if split:
                column = column + group * self.columns
            else:
                row = row + group * self.rows
            if self.problem.scaled:
                factors = Factors.create(self, scales, expert, row, end, column, out.thread)
                parts, state = self.scaled(mma, left, right, pipe, state, factors, steps)
            else:
                acc = mma.make_fragment_C(mma.partition_shape_C((self.rows, self.n)))
                acc, before, state = products(mma, acc, left, right, pipe, state, steps)
                parts = acc.wait().parts
                pipe.consumer_release(before)
            self.write(parts, d, sums, out, row, end, column)
            tiles = tiles.advance()
        out.tail()

    def scaled(
        self, mma: Any, left: Any, right: Any, pipe: Any, state: Any, factors: Any, steps: Any
    ) -> tuple[list[Any], Any]:  # fmt: skip
        """Return the sums of a warpgroup's tile, scaled after each 128 along K, and the pipeline's state after it."""
        parts = self.rows // ROWS
        totals = [cl.full((self.n // 2,), 0.0, f32) for _ in range(parts)]
        for step in range(steps):
            scales = factors.of(step)  # on their way while this waits
            pipe.consumer_wait(state)
            at, acc = (None, None, None, state.index), mma.make_fragment_C(mma.partition_shape_C((self.rows, self.n)))
            acc = cl.gemm(mma, acc, left[at], right[at], accumulate=False).wait()
            pipe.consumer_release(state)
            state = state.advance()
            totals = [totals[i] + acc.parts[i] * scales[i] for i in range(parts)]
        return totals, state

    def write(
        self, parts: Any, d: tuple[Any, Any], sums: tuple[Any, Any], out: Any, row: Any, end: Any, column: Any
    ) -> None:
        """Write a warpgroup's tile: for each 64 rows, a thread's sums."""
        half, across_all = self.wide // 2, self.columns // self.wide
        for i in cl.static_range(self.rows // ROWS):
            for j in cl.static_range(across_all):
                place, at = i * across_all + j, (row + i * ROWS, column + j * self.wide)
                x = parts[i][j * half : (j + 1) * half]
                if self.problem.gated:
                    up = parts[i][self.n // 4 + j * half : self.n // 4 + (j + 1) * half]
                    if self.problem.kept:
                        self.store(x, sums, out, 3 * place + 1, at, end, 0)
                        self.store(up, sums, out, 3 * place + 2, at, end, N)
                        place = 3 * place
                    x = silu(x, False)[0] * up
                self.store(x, d, out, place, at, end, 0)

    def store(self, x: Any, to: tuple[Any, Any], out: Any, i: int, at: tuple[Any, Any], end: Any, more: Any) -> None:
        """Write a piece through buffer `i`, `more` columns further: by TMA, or row by row where the expert ends."""
        by_tma, by_rows = to
        out.acquire()
        out.put(i, x.to(self.problem.out))
        if at[0] + ROWS <= end and at[1] + self.wide <= N:
            out.send(i, by_tma, (at[0], at[1] + more))
        else:
            self.write_rows(out.buffer(i), by_rows, at, end, more, out.thread)
            if out.thread == 0:
                cl.cp_async_bulk_commit_group()  # of nothing: the ring counts a group for each piece

    def write_rows(self, held: Any, rows: Any, at: tuple[Any, Any], end: Any, more: Any, thread: Any) -> None:
        """Write those rows and columns of a piece that there are; neighbouring threads write a row."""
        units = self.wide // VECTOR
        across, high = thread % units, GROUP // units
        for i in cl.static_range(ROWS // high):
            down = thread // units + i * high
            if at[0] + down < end and at[1] + across * VECTOR < N:
                target = cl.local_tile(rows[at[0] + down, None], (VECTOR,), ((at[1] + more) // VECTOR + across,))
                target.store(cl.local_tile(held[down, None], (VECTOR,), (across,)).load())


@dataclass(frozen=True)
class Factors:
    """The scales of a thread's sums in a tile.

    plan     the kernel's `Plan`
    scales   the scales of A and of B
    expert   the expert of the tile
    tokens   for each 64 rows, which rows of `scale_a` the thread's two are
    columns  which rows of `scale_b` its columns are: those of the gate and of `up`, or each 128
    """

    plan: Any
    scales: tuple[Any, Any]
    expert: Any
    tokens: list[tuple[Any, Any]]
    columns: list[Any]

    @classmethod
    def create(
        cls, plan: Any, scales: tuple[Any, Any, Any], expert: Any, row: Any, end: Any, column: Any, thread: Any
    ) -> "Factors":  # fmt: skip
        """Return the scales of the tile at this row and column."""
        first, tokens = row + thread // 32 * 16 + thread % 32 // 4, []
        for i in cl.static_range(plan.rows // ROWS):
            mine = [min(first + i * ROWS + j * 8, end - 1) for j in range(2)]
            tokens.append(tuple(at if scales[2] is None else scales[2][at] for at in mine))
        starts = [column, column + N] if plan.problem.gated else [column + i for i in range(0, plan.n, BLOCK)]
        return Factors(plan, scales[:2], expert, tokens, [i32(start // BLOCK) for start in starts])

    def of(self, step: Any) -> list[Any]:
        """Return, for each 64 rows, a factor for each sum of the thread, for a step along K."""
        groups = len(self.columns)
        # neighbours, rows 8 apart, eights of columns of a scale, scales
        every = cl.make_layout((2, 2, self.plan.n // 8 // groups, groups), stride=(0, groups, 0, 1))
        across = [self.scales[1][self.expert, min(at, i32(NB) - 1), step] for at in self.columns]
        found = []
        for pair in self.tokens:
            made = cl.make_rmem_tensor(f32, (2, groups))
            for i in cl.static_range(2):
                of_row = self.scales[0][pair[i], step]
                for j in cl.static_range(groups):
                    made[i, j] = of_row * across[j]
            found.append(made.view(every).load())
        return found


FEW = 64
"""Rows of an expert on average: up to these, tiles are as low."""


def chosen(rows: int, experts: int, scaled: bool = False) -> Config:
    """Pick a configuration by the rows of all experts: few are bound by the matrices, many by tensor cores."""
    if rows <= FEW * experts:
        return Config((64, 256), True, 5)
    return Config((128, 128), stages=6, behind=2) if scaled else Config()


def run(
    problem: Problem, a: Any, b: Any, ends: Any, d: Any, rows: Any = None, sums: Any = None,
    config: Config | None = None, scales: tuple[Any, Any] = (None, None),
) -> None:  # fmt: skip
    """Launch the kernel.

    a     (M, K) sorted, or (T, K) where `rows` says which of these rows come: (M,) i32
    b     (E, N, K), gated (E, 2 N, K); with major 'MN' (E, K, N)
    d     (M, N);  sums  (M, 2 N) where they are kept
    scales   of e4m3: (rows of A, K / 128) f32, and (E, rows of a matrix / 128, K / 128) f32, row-major
    """
    config = config or chosen(d.shape[0], ends.shape[0], problem.scaled)
    plan = Plan(config, problem)
    at_most = (-(-d.shape[0] // config.tile[0]) + min(ends.shape[0], d.shape[0])) * -(-d.shape[1] // plan.out)
    launch = cl.Launch(min(at_most, clusters_at_once(1, d)), 3 * GROUP, pdl=True)
    build(config, problem)[launch](a, b, ends, rows, d, d, sums, sums, *scales)
