"""Gradients of the experts' matrices: ``d[e] = a.T @ b`` over the rows of each expert, of which one side is gathered.

The K of a tile of an expert's gradient is that expert's rows, which begin and end anywhere. The gathered side is copied
by cp.async, which writes zeros for rows of other experts; these zeros cancel the other side's rows, which TMA loads.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import cutelite as cl
from cutelite import Smem, Tensor, TmaTensor, f32, i32
from cutelite.kernels.arguments import Misfit
from cutelite.kernels.arrays import clusters_at_once
from cutelite.kernels.gemm.products import products
from cutelite.kernels.moe.gather import GatherPipe

M, R, C, E, T = cl.dims("M R:8 C:8 E T")
P = cl.Dim("P", 8)
GROUP, ROWS, WIDE, VECTOR = 128, 64, 64, 8  # threads of a warpgroup; a piece of results; elements of 16 bytes
DEPTH = 64  # rows of experts of a stage


@dataclass(frozen=True)
class Config:
    """A configuration: tiles, stages and registers.

    side     rows and columns of a block's tile are 128 of the gathered side, and this many of the other one
    stages   tiles of both sides that are held
    buffers  pieces of results of a warpgroup that are held
    swizzle  tiles are visited in bands of this width
    behind   stages of copies in flight before the oldest one is announced as full
    regs     registers of a thread that loads, and of one that multiplies
    """

    side: int = 256
    stages: int = 4
    buffers: int = 1
    swizzle: int = 8
    behind: int = 1
    regs: tuple[int, int] = (56, 224)


GATHERED = 128
Side = Literal["A", "B"]


@cache
def build(config: Config, dtype: Any, gathered: Side) -> Any:
    """Make the kernel for a side that is gathered. Errors: ValueError for tiles that are not whole pieces."""
    plan = Plan(config, dtype, gathered)
    BM, BN = plan.tile
    if BM % (2 * ROWS) or BN % WIDE or plan.pieces % config.buffers or config.stages < config.behind + 2:
        raise Misfit(f"{config}: not whole pieces for each warpgroup and all buffers, or too few stages")
    by_rows = [Tensor[dtype, (T, size), (P, 1)] for size in (R, C)]
    by_tma = [TmaTensor[dtype, (M, size), (DEPTH, WIDE)] for size in (R, C)]
    A, B = (by_rows[0], by_tma[1]) if gathered == "A" else (by_tma[0], by_rows[1])

    class Storage(cl.SharedStorage):
        a: Smem[dtype, cl.make_smem_layout(dtype, (BM, DEPTH, config.stages), "MN")]
        b: Smem[dtype, cl.make_smem_layout(dtype, (BN, DEPTH, config.stages), "MN")]
        d: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, WIDE, 2 * config.buffers))]

    @cl.kernel(block=3 * GROUP)
    def gemm(
        a: A, b: B, ends: Tensor[i32, (E,)], rows: Tensor[i32, (M,)], d: TmaTensor[dtype, (E, R, C), (1, ROWS, WIDE)]
    ) -> None:
        storage = Storage.allocate()
        bytes = config.side * DEPTH * dtype.bytes
        pipe = GatherPipe.create(config.stages, bytes, GROUP, 2 * GROUP, config.behind)
        cl.pipeline_init_sync()
        cl.griddepcontrol_launch_dependents()
        cl.griddepcontrol_wait()
        counts = cl.ceil_div(R, BM), cl.ceil_div(C, BN), E
        tiles = cl.StaticPersistentTileScheduler.create(counts, config.swizzle)
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            plan.produce(a, b, ends, rows, storage, pipe, tiles)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            group, thread = cl.warpgroup_idx() - 1, cl.thread_idx.x % GROUP
            pieces = cl.local_tile(storage.d, (ROWS, WIDE, config.buffers), (0, 0, group))
            out = cl.ResultRing.create(pieces, plan.piece, thread, cl.NamedBarrier(1 + group, GROUP))
            plan.consume(ends, d, storage, pipe, tiles, out, group)

    return gemm


@dataclass(frozen=True)
class Plan:
    """The numbers that follow from a configuration, and the work of the threads of a block."""

    config: Config
    dtype: Any
    gathered: Side

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of a block's tile."""
        return (GATHERED, self.config.side) if self.gathered == "A" else (self.config.side, GATHERED)

    @property
    def pieces(self) -> int:
        """Pieces that a warpgroup stores for a tile."""
        return self.tile[0] // 2 // ROWS * (self.tile[1] // WIDE)

    @property
    def piece(self) -> Any:
        """The instruction whose results are a piece."""
        return cl.WarpgroupMmaOp(self.dtype, f32, WIDE)

    def part(self, ends: Any, expert: Any) -> tuple[Any, Any]:
        """Return the first row of an expert, and the last one + 1."""
        begin: Any = i32(0)
        if expert > 0:
            begin = ends[expert - 1]
        return begin, ends[expert]

    def steps(self, begin: Any, end: Any) -> Any:
        """Return the number of stages of an expert's rows; one, of zeros, where it has none."""
        return max(1, (end - begin + DEPTH - 1) // DEPTH)

    def produce(self, a: Any, b: Any, ends: Any, rows: Any, storage: Any, pipe: Any, tiles: Any) -> None:
        """Fill the ring. Who: a warpgroup."""
        thread, units, of_a = cl.thread_idx.x, GATHERED // VECTOR, self.gathered == "A"
        down, across, high = thread // units, thread % units * VECTOR, GROUP // units
        source, other = (a, b) if of_a else (b, a)
        held, ring = (storage.a, storage.b) if of_a else (storage.b, storage.a)
        size = R if of_a else C
        wide = cl.OperandTile.create(other, self.config.side, (1, 1), 1, "MN")
        states = pipe.start()
        while tiles.is_valid():
            m, n, expert = tiles.coordinate()
            first, second = (m, n) if of_a else (n, m)
            column = first * GATHERED + across
            begin, end = self.part(ends, expert)
            for step in range(self.steps(begin, end)):
                k, stage = begin + step * DEPTH, states.state.index
                places = cl.make_rmem_tensor(i32, (DEPTH // high,))
                for i in cl.static_range(DEPTH // high):
                    places[i] = i32(-1)
                    if k + i * high + down < end:
                        places[i] = rows[k + i * high + down]
                pipe.acquire(states)
                if thread == 0:
                    pipe.expect(states)
                    full = pipe.barrier(states.state)
                    wide.load(ring[None, None, stage], (), second * self.config.side, k, full)
                at = min(column, size - VECTOR)
                for i in cl.static_range(DEPTH // high):
                    inside = places[i] >= 0 and column < size
                    target = held.at(across, i * high + down, stage)
                    of = source.at(max(places[i], 0), at)
                    cl.cp_async(target, of, 16, src_bytes=cl.where(inside, 16, 0))
                states = pipe.commit(states)
            tiles = tiles.advance()
        pipe.finish(states)

    def consume(self, ends: Any, d: Any, storage: Any, pipe: Any, tiles: Any, out: Any, group: Any) -> None:
        """Multiply the stages, and write the results. Who: a warpgroup."""
        (BM, BN), high = self.tile, self.tile[0] // 2
        mma = cl.make_tiled_mma(cl.WarpgroupMmaOp(self.dtype, f32, BN))
        mine = mma.get_slice(out.thread)
        left = mine.partition_A(cl.local_tile(storage.a, (high, DEPTH), (group, 0)))
        right = mine.partition_B(storage.b)
        state = pipe.consumer_state()
        while tiles.is_valid():
            m, n, expert = tiles.coordinate()
            begin, end = self.part(ends, expert)
            acc = mma.make_fragment_C(mma.partition_shape_C((high, BN)))
            acc, before, state = products(mma, acc, left, right, pipe, state, self.steps(begin, end))
            acc = acc.wait()
            pipe.consumer_release(before)
            across_all = BN // WIDE
            for i in cl.static_range(self.pieces):
                row, column = i // across_all, i % across_all
                x = acc.parts[row][column * WIDE // 2 : (column + 1) * WIDE // 2]
                out.acquire()
                out.put(i, x.to(self.dtype))
                out.send(i, d, (expert, m * BM + group * high + row * ROWS, n * BN + column * WIDE))
            tiles = tiles.advance()
        out.tail()


def run(dtype: Any, gathered: Side, a: Any, b: Any, ends: Any, rows: Any, d: Any, config: Config = Config()) -> None:
    """Launch the kernel: ``d[e] = a.T @ b`` over the rows of expert `e`.

    a, b  (M, R) and (M, C), sorted by expert, but the gathered one, which has a row for each token
    rows  (M,) i32: the token of each sorted row
    d     (E, R, C)
    Rows of the side that is not gathered which are no expert's, but lie less than 64 behind the last end, are finite.
    """
    (bm, bn), (count, r, c) = Plan(config, dtype, gathered).tile, d.shape
    tiles = -(-r // bm) * -(-c // bn) * count
    launch = cl.Launch(min(tiles, clusters_at_once(1, d)), 3 * GROUP, pdl=True)
    build(config, dtype, gathered)[launch](a, b, ends, rows, d)
