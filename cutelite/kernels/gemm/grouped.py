"""d[rows of expert e] = a[rows of expert e] @ b[e].T on Hopper: the GEMM of a mixture of experts, all experts at once.

The tokens of all experts lie one after the other in A, and only the device knows where one's end: `ends` is what a
kernel before this one has counted. So blocks stay, and find out for themselves which tiles there are: they walk the
experts' tiles in order. Any number of rows will do. The last tile of an expert brings rows of the next one too, and
multiplies them in vain; what it stores by TMA is whole pieces of 64 rows, and the piece in which the expert ends is
written row by row instead. Everything else is as in any persistent GEMM.
"""

# pyright: reportInvalidTypeForm=false
# (kernels are made for types that no annotation can say to a checker)

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import cutelite as cl
import cutelite_rt as rt
from cutelite import Smem, Tensor, TmaTensor, bf16, f32, i32
from cutelite.dispatch.divert import left_out
from cutelite.kernels.arrays import clusters_at_once, empty
from cutelite.kernels.lent import takes_jax

M, N, K, E = cl.dims("M N:8 K E")
GROUP = 128  # threads of a warpgroup
PIECE = 64  # rows and columns of results that are stored at once: 128 bytes a row
VECTOR = 8  # columns that a thread writes at once, 16 bytes


@dataclass(frozen=True)
class Config:
    """How the work is cut up.

    tile     rows and columns of a block's tile; two warpgroups have half of the rows each
    cluster  blocks along N that load the rows of A together
    stages   how many tiles of A and B, 128 bytes along K, are held
    buffers  how many pieces of results of a warpgroup are held
    swizzle  the tiles of an expert are walked in bands so many tiles wide
    regs     registers of a thread that loads, and of one that multiplies
    """

    tile: tuple[int, int] = (128, 256)
    cluster: int = 2
    stages: int = 4
    buffers: int = 2
    swizzle: int = 8
    regs: tuple[int, int] = (40, 232)


@cache
def build(config: Config, dtype: Any) -> Any:
    """The kernel for operands of `dtype`."""
    (BM, BN), CN, BUFFERS = config.tile, config.cluster, config.buffers
    plan = Plan(config, dtype)
    BK, ROWS, CLUSTER = plan.depth, plan.rows, plan.clustered
    piece = cl.WarpgroupMmaOp(bf16, f32, PIECE)
    if ROWS % PIECE or BN % PIECE or ROWS // PIECE * (BN // PIECE) % BUFFERS:
        raise ValueError(f"{config}: not whole pieces of {PIECE} x {PIECE} for each warpgroup and all buffers")

    class Storage(cl.SharedStorage):
        a: Smem[dtype, cl.make_smem_layout(dtype, (BM, BK, config.stages))]
        b: Smem[dtype, cl.make_smem_layout(dtype, (BN, BK, config.stages))]
        d: Smem[bf16, cl.make_smem_layout(bf16, (PIECE, PIECE, 2 * BUFFERS))]

    @cl.kernel(block=3 * GROUP, cluster=(CN, 1, 1) if CLUSTER else None)
    def gemm(
        a: TmaTensor[dtype, (M, K), (BM // CN, BK)],
        b: TmaTensor[dtype, (E, N, K), (1, BN, BK)],
        ends: Tensor[i32, (E,)],
        d: TmaTensor[bf16, (M, N), (PIECE, PIECE)],
        rows: Tensor[bf16, (M, N)],
    ) -> None:
        if cl.thread_idx.x == 0:
            for t in (a, b, d):
                cl.prefetch_tensormap(t)
        storage = Storage.allocate()
        peers, size = cl.multicast_peers((1, CN)), (BM + BN) * 128
        pipe = cl.PipelineTmaAsync.create(config.stages, size, 2 * GROUP, peers, False, reads="wgmma")
        cl.pipeline_init_sync(CLUSTER)
        cl.griddepcontrol_launch_dependents()
        cl.griddepcontrol_wait()
        tiles = cl.GroupedTileScheduler.create(ends, BM, cl.ceil_div(N, BN * CN), config.swizzle, CLUSTER)
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if cl.thread_idx.x == 0:
                plan.produce(a, b, storage, pipe, tiles)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            group, thread = (cl.thread_idx.x - GROUP) // GROUP, cl.thread_idx.x % GROUP
            pieces = cl.local_tile(storage.d, (PIECE, PIECE, BUFFERS), (0, 0, group))
            out = cl.ResultRing.create(pieces, piece, thread, cl.NamedBarrier(1 + group, GROUP))
            plan.consume(d, rows, storage, pipe, tiles, out, group)

    return gemm


@dataclass(frozen=True)
class Plan:
    """The numbers that follow from a configuration, and what the threads of a block do by it."""

    config: Config
    dtype: Any

    @property
    def depth(self) -> int:
        """Columns along K of a stage: a swizzled row of shared memory."""
        return int(128 // self.dtype.bytes)

    @property
    def rows(self) -> int:
        """Of a warpgroup's half of a tile."""
        return self.config.tile[0] // 2

    @property
    def clustered(self) -> bool:
        """Whether blocks of a cluster load rows of A together."""
        return self.config.cluster > 1

    @property
    def mma(self) -> Any:
        """The instruction for a tile's columns."""
        return cl.WarpgroupMmaOp(self.dtype, f32, self.config.tile[1])

    def place(self, tiles: Any) -> tuple[Any, Any, Any, Any]:
        """Of this block's next tile: the expert, its first row, the expert's last row + 1, its first column."""
        expert, row, end, n = tiles.coordinate()
        return (
            expert,
            row,
            end,
            (n * self.config.cluster + cl.block_rank_in_cluster() if self.clustered else n) * self.config.tile[1],
        )

    def produce(self, a: Any, b: Any, storage: Any, pipe: Any, tiles: Any) -> None:
        """One thread: fill the ring, tile after tile."""
        left = cl.OperandTile.create(a, self.config.tile[0], (1, self.config.cluster), 0)
        state = pipe.producer_state()
        while tiles.is_valid():
            expert, row, _, column = self.place(tiles)
            for k in range(cl.ceil_div(K, self.depth)):
                pipe.producer_acquire(state)
                full = pipe.barrier(state)
                left.load(storage.a[None, None, state.index], (), row, k * self.depth, full)
                cl.tma_load(b, storage.b[None, None, state.index], at=(expert, column, k * self.depth), barrier=full)
                state = state.advance()
            tiles = tiles.advance()
        if self.clustered:
            pipe.producer_tail(state)  # others still tell this block's barriers that they have read

    def consume(self, d: Any, rows: Any, storage: Any, pipe: Any, tiles: Any, out: Any, group: Any) -> None:
        """A warpgroup: multiply what comes, and write the sums."""
        mma, across_all = cl.make_tiled_mma(self.mma), self.config.tile[1] // PIECE
        mine = mma.get_slice(out.thread)
        left = mine.partition_A(cl.local_tile(storage.a, (self.rows, self.depth), (group, 0)))
        right = mine.partition_B(storage.b)
        state = pipe.consumer_state()
        while tiles.is_valid():
            _, row, end, column = self.place(tiles)
            row = row + group * self.rows
            acc = mma.make_fragment_C(mma.partition_shape_C((self.rows, self.config.tile[1])))
            pipe.consumer_wait(state)
            at = None, None, None, state.index
            acc = cl.gemm(mma, acc, left[at], right[at], accumulate=False)
            before, state = state, state.advance()
            for _ in range(1, cl.ceil_div(K, self.depth)):
                pipe.consumer_wait(state)
                at = None, None, None, state.index
                acc = cl.gemm(mma, acc, left[at], right[at]).keep(1)
                pipe.consumer_release(before)
                before, state = state, state.advance()
            acc = acc.wait()
            pipe.consumer_release(before)
            for i in cl.static_range(self.rows // PIECE * across_all):
                down, across = row + i // across_all * PIECE, column + i % across_all * PIECE
                values = acc.parts[i // across_all][i % across_all * PIECE // 2 : (i % across_all + 1) * PIECE // 2]
                out.acquire()
                out.put(i, values.to(bf16))
                if down + PIECE <= end:
                    out.send(i, d, (down, across))
                else:
                    self.write_rows(out.buffer(i), rows, down, end, across, out.thread)
                    if out.thread == 0:
                        cl.cp_async_bulk_commit_group()  # of nothing: the ring counts a group for each piece
            tiles = tiles.advance()
        out.tail()

    def write_rows(self, held: Any, rows: Any, first: Any, end: Any, column: Any, thread: Any) -> None:
        """Write those rows of a piece that are the expert's; a row by eight neighbouring threads."""
        across = thread % (PIECE // VECTOR)
        for i in cl.static_range(PIECE * PIECE // VECTOR // GROUP):
            down = thread // (PIECE // VECTOR) + i * (GROUP * VECTOR // PIECE)
            if first + down < end and column + across * VECTOR < N:
                target = cl.local_tile(rows[first + down, None], (VECTOR,), (column // VECTOR + across,))
                target.store(cl.local_tile(held[down, None], (VECTOR,), (across,)).load())


CONFIGS = [Config(), Config(cluster=1), Config((128, 128), cluster=1, stages=5), Config((128, 128), stages=5)]


def alike(a: Any, b: Any, ends: Any, d: Any) -> tuple[int, ...]:
    """What calls have in common that one configuration serves: rows of an expert, up to a factor of two, and B."""
    return (-(-a.shape[0] // b.shape[0])).bit_length(), *b.shape


def run(config: Config, a: Any, b: Any, ends: Any, d: Any) -> None:
    """Launch a configuration."""
    (bm, bn), cn = config.tile, config.cluster
    at_most = (-(-a.shape[0] // bm) + ends.shape[0]) * -(-b.shape[1] // (bn * cn))  # each expert may add a tile
    launch = cl.Launch(min(at_most, clusters_at_once(cn, d)) * cn, 3 * GROUP, pdl=True)
    build(config, getattr(cl, rt.read(a).dtype))[launch](a, b, ends, d, d)


tuned = cl.autotune(CONFIGS, key=alike)(run)


@takes_jax
def gemm(a: Any, b: Any, ends: Any, out: Any = None, *, config: Config | None = None) -> Any:
    """``out[ends[e - 1] : ends[e]] = a[ends[e - 1] : ends[e]] @ b[e].T`` for every expert e; returns `out`.

    a       (M, K): rows of the first expert, of the second one, and so on; bf16, f16, e4m3 or e5m2, contiguous along K
    b       (E, N, K), the same dtype; K rows a multiple of 16 bytes
    ends    (E,), i32, on the device: ascending, at most M. Experts may have no rows, and rows after the last end are
            neither read for any result nor written
    out     (M, N), bf16, contiguous along N; N a multiple of 8; made if it is not given
    config  None: the fastest, found at the first call for such shapes
    """
    out = empty(a, (a.shape[0], b.shape[1]), "bf16") if out is None else out
    if left_out():
        return out
    if config is None:
        tuned(a, b, ends, out)
    else:
        run(config, a, b, ends, out)
    return out


def reference(a: Any, b: Any, ends: Any) -> Any:
    """What `gemm` computes, in f64 by NumPy, of NumPy arrays: the rows up to the last end."""
    left, right = (np.asarray(x).astype(np.float64) for x in (a, b))
    starts = [0, *ends[:-1]]
    return np.concatenate([left[i:j] @ right[e].T for e, (i, j) in enumerate(zip(starts, ends, strict=True))])
