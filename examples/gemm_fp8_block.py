"""d = a @ b.T on Hopper in fp8, with a scale for each 1 x 128 of A and each 128 x 128 of B: DeepSeek's recipe.

Tensor cores add up fp8 products with few bits. So each 128 along K are multiplied into a fresh accumulator, and what
they come to is multiplied by its scales and added to the sums in f32, by ordinary instructions. While one warpgroup
does that, the other one multiplies. Everything else is as in any persistent GEMM: one thread brings tiles of A and B by
TMA, and results leave through shared memory and TMA while the next tile begins.

A warpgroup may have several times 64 rows of a tile. It takes them one after the other, with one accumulator: only the
sums are held for all of them, and larger tiles ask less of L2.
"""

from dataclasses import dataclass
from functools import cache
from math import gcd
from typing import Any

import numpy as np

import cutelite as cl
from common import array, check, clusters_at_once, poisoned, to_numpy
from cutelite import Smem, Tensor, TmaTensor, bf16, e4m3, f32

M, N, K, KB, NB = cl.dims("M N K KB NB")
GROUP = 128  # threads of a warpgroup
BLOCK = 128  # what shares a scale, along K and along N; as many bytes as a swizzled row of shared memory has


@dataclass(frozen=True)
class Config:
    """How the work is cut up.

    tile     rows and columns of a block's tile: up to 192 columns
    cluster  blocks along M and N that load together what they share
    stages   how many tiles of A and B, 128 along K, are held
    groups   warpgroups that multiply: each has so many times 64 rows of a tile
    relay    they multiply in turn: while one adds up what it has multiplied, the next one multiplies
    piece    columns of results that are stored at once, 64 rows of them, and `buffers` how many such are held
    swizzle  tiles are walked in bands so many tiles wide
    regs     registers of a thread that loads, and of one that multiplies
    """

    tile: tuple[int, int] = (256, 128)
    cluster: tuple[int, int] = (2, 1)
    stages: int = 4
    groups: int = 2
    relay: bool = False
    piece: int = 64
    buffers: int = 1
    swizzle: int = 8
    regs: tuple[int, int] = (56, 224)


@cache
def build(config: Config) -> Any:
    """The kernel."""
    (BM, BN), (CM, CN), WIDE, BUFFERS = config.tile, config.cluster, config.piece, config.buffers
    GROUPS, CLUSTER, ROWS, SECTION = config.groups, CM * CN > 1, BM // config.groups, gcd(BN, BLOCK)
    mma = cl.make_tiled_mma(cl.WarpgroupMmaOp(e4m3, f32, BN))
    piece = cl.WarpgroupMmaOp(bf16, f32, WIDE)
    if BN > BLOCK + SECTION or BN % WIDE or ROWS % 64 or ROWS // 64 * (BN // WIDE) % BUFFERS:
        raise ValueError(f"{config}: not whole pieces, for all buffers; or columns of more than two scales")

    class Storage(cl.SharedStorage):
        a: Smem[e4m3, cl.make_smem_layout(e4m3, (BM, BLOCK, config.stages))]
        b: Smem[e4m3, cl.make_smem_layout(e4m3, (BN, BLOCK, config.stages))]
        d: Smem[bf16, cl.make_smem_layout(bf16, (64, WIDE, GROUPS * BUFFERS))]

    @cl.kernel(block=(1 + GROUPS) * GROUP, cluster=(CM * CN, 1, 1) if CLUSTER else None)
    def gemm(
        a: TmaTensor[e4m3, (M, K), (BM // CN, BLOCK)],
        b: TmaTensor[e4m3, (N, K), (BN // CM, BLOCK)],
        d: TmaTensor[bf16, (M, N), (64, WIDE)],
        scale_a: Tensor[f32, (M, KB), (None, None)],
        scale_b: Tensor[f32, (NB, KB), (None, None)],
    ) -> None:
        if cl.thread_idx.x == 0:
            for t in (a, b, d):
                cl.prefetch_tensormap(t)
        storage = Storage.allocate()
        peers = tuple(range(CM * CN)) if CLUSTER else ()
        pipe = cl.PipelineTmaAsync.create(config.stages, (BM + BN) * BLOCK, GROUPS * GROUP, peers, False, reads="wgmma")
        turns = cl.PipelineOrder.create(1, GROUPS, cl.thread_idx.x // GROUP - 1, GROUP, sync=False)
        cl.pipeline_init_arrive(CLUSTER)
        counts = cl.ceil_div(M, BM * CM), cl.ceil_div(N, BN * CN)
        tiles = cl.StaticPersistentTileScheduler.create(counts, config.swizzle, cluster=CLUSTER)
        cl.griddepcontrol_launch_dependents()
        cl.pipeline_init_wait(CLUSTER)
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if cl.thread_idx.x == 0:
                cl.griddepcontrol_wait()
                produce(a, b, storage, pipe, tiles)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            cl.griddepcontrol_wait()
            group, thread = (cl.thread_idx.x - GROUP) // GROUP, cl.thread_idx.x % GROUP
            pieces = cl.local_tile(storage.d, (64, WIDE, BUFFERS), (0, 0, group))
            out = cl.ResultRing.create(pieces, piece, thread, cl.NamedBarrier(1 + group, GROUP))
            consume(d, scale_a, scale_b, storage, pipe, turns, tiles, out, group)

    def place(tiles: Any) -> tuple[Any, Any]:
        """The row and the column at which this block's next tile begins."""
        m, n, _ = tiles.coordinate()
        if CLUSTER:
            rank = cl.block_rank_in_cluster()
            m, n = m * CM + rank % CM, n * CN + rank // CM
        return m * BM, n * BN

    def produce(a: Any, b: Any, storage: Any, pipe: Any, tiles: Any) -> None:
        """One thread: fill the ring, tile after tile."""
        left = cl.OperandTile.create(a, BM, config.cluster, 0)
        right = cl.OperandTile.create(b, BN, config.cluster, 1)
        state = pipe.producer_state()
        while tiles.is_valid():
            row, column = place(tiles)
            for k in range(cl.ceil_div(K, BLOCK)):
                pipe.producer_acquire(state)
                left.load(storage.a[None, None, state.index], (), row, k * BLOCK, pipe.barrier(state))
                right.load(storage.b[None, None, state.index], (), column, k * BLOCK, pipe.barrier(state))
                state = state.advance()
            tiles = tiles.advance()
        if CLUSTER:
            pipe.producer_tail(state)  # others still tell this block's barriers that they have read

    def consume(
        d: Any, scale_a: Any, scale_b: Any, storage: Any, pipe: Any, turns: Any, tiles: Any, out: Any, group: Any
    ) -> None:
        """A warpgroup: multiply what comes, scale and add it up, and write the sums."""
        mine = mma.get_slice(out.thread)
        parts = [cl.local_tile(storage.a, (64, BLOCK), (group * (ROWS // 64) + i, 0)) for i in range(ROWS // 64)]
        left = [mine.partition_A(part) for part in parts]
        right = mine.partition_B(storage.b)
        steps = cl.ceil_div(K, BLOCK)
        fresh = mma.make_fragment_C(mma.partition_shape_C((64, BN)))
        state = pipe.consumer_state()
        while tiles.is_valid():
            row, column = place(tiles)
            row = row + group * ROWS
            sums = tuple(cl.full((BN // 2,), 0.0, f32) for _ in range(ROWS // 64))
            scales = scales_at(scale_a, scale_b, row, column, 0)
            for k in range(steps):
                following = scales_at(scale_a, scale_b, row, column, min(k + 1, steps - 1))
                pipe.consumer_wait(state)
                added = []
                for i in cl.static_range(ROWS // 64):
                    at = None, None, None, state.index
                    if config.relay:
                        turns.wait()
                    acc = cl.gemm(mma, fresh, left[i][at], right[at], accumulate=False).wait()
                    if config.relay:
                        turns = turns.arrive()
                    if i == ROWS // 64 - 1:
                        pipe.consumer_release(state)
                    added.append(cl.math.fma(acc.parts[0], spread(scales, i, column), sums[i]))
                sums, scales, state = tuple(added), following, state.advance()
            tiles = tiles.advance()
            across = BN // WIDE
            for i in cl.static_range(ROWS // 64 * across):
                values = sums[i // across][i % across * WIDE // 2 : (i % across + 1) * WIDE // 2]
                out.acquire()
                out.put(i, values.to(bf16))
                out.send(i, d, (row + i // across * 64, column + i % across * WIDE))
        out.tail()

    def scales_at(scale_a: Any, scale_b: Any, row: Any, column: Any, k: Any) -> tuple[Any, Any, Any]:
        """Scales of a block of K: of one row, and of the first and the last block of columns.

        Four neighbouring threads have results in the same rows: each brings the scale of another of these.
        """
        which = cl.lane_idx() % (ROWS // 32)
        mine = row + cl.warp_idx() % 4 * 16 + cl.lane_idx() // 4 + which % 2 * 8 + which // 2 * 64
        first, last = (scale_b[min(c // BLOCK, NB - 1), k] for c in (column, column + BN - SECTION))
        return scale_a[min(mine, M - 1), k], first, last

    def spread(scales: tuple[Any, Any, Any], i: int, column: Any) -> Any:
        """The scales of 64 rows as a vector in the order of the accumulator: pairs, rows 8 apart, every 8 columns."""
        of_row, first, last = scales
        of_sections = cl.make_rmem_tensor(f32, (2, BN // SECTION))
        for r in cl.static_range(2):
            of_this = cl.shuffle(of_row, cl.lane_idx() // 4 * 4 + 2 * i + r)
            for j in cl.static_range(BN // SECTION):
                here = first if BN == BLOCK or (column + j * SECTION) // BLOCK == column // BLOCK else last
                of_sections[r, j] = of_this * here
        every = (2, 2, SECTION // 8, BN // SECTION)
        return of_sections.view(cl.make_layout(every, stride=(0, BN // SECTION, 0, 1))).load()

    return gemm


def run(config: Config, a: Any, b: Any, d: Any, scale_a: Any, scale_b: Any) -> None:
    """Launch a configuration."""
    (bm, bn), (cm, cn) = config.tile, config.cluster
    clusters = min(-(-d.shape[0] // (bm * cm)) * -(-d.shape[1] // (bn * cn)), clusters_at_once(cm * cn))
    launch = cl.Launch(clusters * cm * cn, (1 + config.groups) * GROUP, pdl=True)
    build(config)[launch](a, b, d, scale_a, scale_b)


def gemm(a: Any, b: Any, d: Any, scale_a: Any, scale_b: Any, config: Config | None = None) -> Any:
    """``(a * scale_a) @ (b * scale_b).T`` into `d`, with scales spread over their blocks; returns `d`.

    a, b     (M, K) and (N, K), e4m3, contiguous along K; K a multiple of 16, for TMA
    d        (M, N), bf16, contiguous along N, a multiple of 8
    scale_a  (M, ceil(K / 128)), f32, of any strides; fastest contiguous along M
    scale_b  (ceil(N / 128), ceil(K / 128)), f32, of any strides
    config   None: by the shape
    Errors   ValueError for scales of another shape, and what TMA refuses (`cutelite.ArgumentError`)
    """
    (m, k), n = a.shape, b.shape[0]
    wanted = (m, -(-k // BLOCK)), (-(-n // BLOCK), -(-k // BLOCK))
    if (tuple(scale_a.shape), tuple(scale_b.shape)) != wanted:
        raise ValueError(f"scales have shapes {tuple(scale_a.shape)} and {tuple(scale_b.shape)}, and not {wanted}")
    run(choose(m, n) if config is None else config, a, b, d, scale_a, scale_b)
    return d


CONFIGS = [
    Config(),
    Config((128, 128), stages=6, buffers=2),
    Config((128, 128), cluster=(1, 1), stages=6, buffers=2),
]


def choose(m: int, n: int) -> Config:
    """The configuration whose tiles keep the processors busiest for their size."""

    def cost(config: Config) -> float:
        (bm, bn), blocks = config.tile, clusters_at_once(1)
        return -(-(-(-m // bm) * -(-n // bn)) // blocks) * (bm * bn + 64 * (bm + bn))

    return min(CONFIGS, key=cost)


def main(m: int = 200, n: int = 264, k: int = 272, config: Config | None = None) -> None:
    numbers = np.random.default_rng(1)
    a, b = (array(numbers.standard_normal((x, k), dtype=np.float32), "float8_e4m3fn") for x in (m, n))
    scales = [
        numbers.uniform(0.25, 4.0, shape).astype(np.float32)
        for shape in ((-(-k // 128), m), (-(-n // 128), -(-k // 128)))
    ]
    scale_a, scale_b, d = array(scales[0], "float32").T, array(scales[1], "float32"), poisoned(m, n, dtype="bfloat16")
    gemm(a, b, d, scale_a, scale_b, config)
    left = to_numpy(a) * scales[0].T.repeat(BLOCK, 1)[:, :k]
    right = to_numpy(b) * scales[1].repeat(BLOCK, 0)[:n].repeat(BLOCK, 1)[:, :k]
    check(f"fp8 gemm with block scales {m} x {n} x {k}", d, left @ right.T, 5e-3)


if __name__ == "__main__":
    main()
