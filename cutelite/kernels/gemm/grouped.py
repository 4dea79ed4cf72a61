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
from common import array, check, clusters_at_once, poisoned, random, to_numpy
from cutelite import Smem, Tensor, TmaTensor, bf16, f32, i32

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
    BK, ROWS, CLUSTER = 128 // dtype.bytes, BM // 2, CN > 1
    ACROSS = BN // PIECE
    mma = cl.make_tiled_mma(cl.WarpgroupMmaOp(dtype, f32, BN))
    piece = cl.WarpgroupMmaOp(bf16, f32, PIECE)
    if ROWS % PIECE or BN % PIECE or ROWS // PIECE * ACROSS % BUFFERS:
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
                produce(a, b, storage, pipe, tiles)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            group, thread = (cl.thread_idx.x - GROUP) // GROUP, cl.thread_idx.x % GROUP
            pieces = cl.local_tile(storage.d, (PIECE, PIECE, BUFFERS), (0, 0, group))
            out = cl.ResultRing.create(pieces, piece, thread, cl.NamedBarrier(1 + group, GROUP))
            consume(d, rows, storage, pipe, tiles, out, group)

    def place(tiles: Any) -> tuple[Any, Any, Any, Any]:
        """Of this block's next tile: the expert, its first row, the expert's last row + 1, its first column."""
        expert, row, end, n = tiles.coordinate()
        return expert, row, end, (n * CN + cl.block_rank_in_cluster() if CLUSTER else n) * BN

    def produce(a: Any, b: Any, storage: Any, pipe: Any, tiles: Any) -> None:
        """One thread: fill the ring, tile after tile."""
        left = cl.OperandTile.create(a, BM, (1, CN), 0)
        state = pipe.producer_state()
        while tiles.is_valid():
            expert, row, _, column = place(tiles)
            for k in range(cl.ceil_div(K, BK)):
                pipe.producer_acquire(state)
                full = pipe.barrier(state)
                left.load(storage.a[None, None, state.index], (), row, k * BK, full)
                cl.tma_load(b, storage.b[None, None, state.index], at=(expert, column, k * BK), barrier=full)
                state = state.advance()
            tiles = tiles.advance()
        if CLUSTER:
            pipe.producer_tail(state)  # others still tell this block's barriers that they have read

    def consume(d: Any, rows: Any, storage: Any, pipe: Any, tiles: Any, out: Any, group: Any) -> None:
        """A warpgroup: multiply what comes, and write the sums."""
        mine = mma.get_slice(out.thread)
        left = mine.partition_A(cl.local_tile(storage.a, (ROWS, BK), (group, 0)))
        right = mine.partition_B(storage.b)
        state = pipe.consumer_state()
        while tiles.is_valid():
            _, row, end, column = place(tiles)
            row = row + group * ROWS
            acc = mma.make_fragment_C(mma.partition_shape_C((ROWS, BN)))
            pipe.consumer_wait(state)
            at = None, None, None, state.index
            acc = cl.gemm(mma, acc, left[at], right[at], accumulate=False)
            before, state = state, state.advance()
            for _ in range(1, cl.ceil_div(K, BK)):
                pipe.consumer_wait(state)
                at = None, None, None, state.index
                acc = cl.gemm(mma, acc, left[at], right[at]).keep(1)
                pipe.consumer_release(before)
                before, state = state, state.advance()
            acc = acc.wait()
            pipe.consumer_release(before)
            for i in cl.static_range(ROWS // PIECE * ACROSS):
                down, across = row + i // ACROSS * PIECE, column + i % ACROSS * PIECE
                values = acc.parts[i // ACROSS][i % ACROSS * PIECE // 2 : (i % ACROSS + 1) * PIECE // 2]
                out.acquire()
                out.put(i, values.to(bf16))
                if down + PIECE <= end:
                    out.send(i, d, (down, across))
                else:
                    write_rows(out.buffer(i), rows, down, end, across, out.thread)
                    if out.thread == 0:
                        cl.cp_async_bulk_commit_group()  # of nothing: the ring counts a group for each piece
            tiles = tiles.advance()
        out.tail()

    def write_rows(held: Any, rows: Any, first: Any, end: Any, column: Any, thread: Any) -> None:
        """Write those rows of a piece that are the expert's; a row by eight neighbouring threads."""
        across = thread % (PIECE // VECTOR)
        for i in cl.static_range(PIECE * PIECE // VECTOR // GROUP):
            down = thread // (PIECE // VECTOR) + i * (GROUP * VECTOR // PIECE)
            if first + down < end and column + across * VECTOR < N:
                target = cl.local_tile(rows[first + down, None], (VECTOR,), (column // VECTOR + across,))
                target.store(cl.local_tile(held[down, None], (VECTOR,), (across,)).load())

    return gemm


CONFIGS = [Config(), Config(cluster=1), Config((128, 128), cluster=1, stages=5), Config((128, 128), stages=5)]


def alike(a: Any, b: Any, ends: Any, d: Any) -> tuple[int, ...]:
    """What calls have in common that one configuration serves: rows of an expert, up to a factor of two, and B."""
    return (-(-a.shape[0] // b.shape[0])).bit_length(), *b.shape


def run(config: Config, a: Any, b: Any, ends: Any, d: Any) -> None:
    """Launch a configuration."""
    (bm, bn), cn = config.tile, config.cluster
    at_most = (-(-a.shape[0] // bm) + ends.shape[0]) * -(-b.shape[1] // (bn * cn))  # each expert may add a tile
    launch = cl.Launch(min(at_most, clusters_at_once(cn)) * cn, 3 * GROUP, pdl=True)
    build(config, getattr(cl, rt.read(a).dtype))[launch](a, b, ends, d, d)


tuned = cl.autotune(CONFIGS, key=alike)(run)


def gemm(a: Any, b: Any, ends: Any, d: Any, config: Config | None = None) -> Any:
    """``d[ends[e - 1] : ends[e]] = a[ends[e - 1] : ends[e]] @ b[e].T`` for every expert e; returns `d`.

    a       (M, K): rows of the first expert, of the second one, and so on; bf16, f16, e4m3 or e5m2, contiguous along K
    b       (E, N, K), the same dtype; K rows a multiple of 16 bytes
    ends    (E,), i32, on the device: ascending, at most M. Experts may have no rows, and rows after the last end are
            neither read for any result nor written
    d       (M, N), bf16, contiguous along N; N a multiple of 8
    config  None: the fastest, found at the first call for such shapes
    """
    if config is None:
        tuned(a, b, ends, d)
    else:
        run(config, a, b, ends, d)
    return d


def main(
    counts: tuple[int, ...] = (70, 0, 129, 64, 1), n: int = 264, k: int = 136, spare: int = 3, dtype: str = "bfloat16",
    config: Config | None = None,
) -> None:  # fmt: skip
    m, ends = sum(counts) + spare, np.cumsum(counts)
    a, b = random(m, k, dtype=dtype, seed=1), random(len(counts), n, k, dtype=dtype, seed=2)
    d = poisoned(m, n, dtype="bfloat16")
    gemm(a, b, array(ends, "int32"), d, config)
    left, right = to_numpy(a), to_numpy(b)
    expected = [left[end - count : end] @ right[e].T for e, (end, count) in enumerate(zip(ends, counts, strict=True))]
    check(f"grouped gemm {counts} x {n} x {k}", d[: m - spare], np.concatenate(expected), 5e-3)
    assert spare == 0 or np.isnan(to_numpy(d[m - spare :])).all(), "rows of nobody were written"


if __name__ == "__main__":
    main()
