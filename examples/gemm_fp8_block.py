"""d = a @ b.T on Hopper in fp8, with a scale for each 1 x 128 of A and each 128 x 128 of B: DeepSeek's recipe.

Tensor cores add up fp8 products with few bits. So each 128 along K are multiplied into a fresh accumulator, and what
they come to is multiplied by its scales and added to the sums in f32, by ordinary instructions. While one warpgroup
does that, the other one multiplies. Everything else is as in any persistent GEMM: one thread brings tiles of A and B
by TMA, with the scales of A, and results leave through shared memory and TMA while the next tile begins.

Ordinary instructions take registers' bandwidth from tensor cores, and a warpgroup that has waited for its products
keeps them idle until the next ones begin. So there is little between: scales are read, and the next tiles are asked
for, while products are under way.

A warpgroup may have several times 64 rows of a tile. It takes them one after the other, with one accumulator: only the
sums are held for all of them, and larger tiles ask less of L2. With 64 rows alone there may be registers for two
accumulators, and products are under way while those before are added up.
"""

from dataclasses import dataclass
from functools import cache
from math import gcd
from typing import Any

import numpy as np

import cutelite as cl
import cutelite_rt as rt
from common import array, check, clusters_at_once, poisoned, to_numpy
from cutelite import Smem, Tensor, TmaTensor, bf16, e4m3, f32

M, N, K, KB, NB = cl.dims("M N K KB NB")
GROUP = 128  # threads of a warpgroup
LOADERS = 64  # threads of the first one that bring scales that TMA cannot: its last ones
BLOCK = 128  # what shares a scale, along K and along N; as many bytes as a swizzled row of shared memory has


@dataclass(frozen=True)
class Config:
    """How the work is cut up.

    tile     rows and columns of a block's tile: up to 192 columns
    cluster  blocks along M or along N that load together what they share
    chain    0: a warpgroup has one accumulator, and waits for products before the next ones begin. Else two, for so
             many blocks of K in a row, and products are under way throughout. Takes as many registers again
    stages   how many tiles of A and B, 128 along K, are held, with scales of A
    piece    columns of results that are stored at once, 64 rows of them, and `buffers` how many such are held
    swizzle  tiles are walked in bands so many tiles wide
    regs     registers of a thread that loads, and of one that multiplies. With more of the latter ptxas begins products
             before it has added up the last ones, and spills
    """

    tile: tuple[int, int] = (256, 128)
    cluster: tuple[int, int] = (2, 1)
    chain: int = 0
    stages: int = 4
    piece: int = 64
    buffers: int = 1
    swizzle: int = 8
    regs: tuple[int, int] = (72, 208)


@cache
def build(config: Config) -> Any:
    """The kernel. It takes scales of A either by TMA, or with any strides, which is slower."""
    (BM, BN), (CM, CN), WIDE, BUFFERS = config.tile, config.cluster, config.piece, config.buffers
    CLUSTER, ROWS, SECTION = CM * CN > 1, BM // 2, gcd(BN, BLOCK)
    PARTS, CHAIN, TWO = ROWS // 64, max(config.chain, 1), int(config.chain > 0)
    TILES = (BM + BN) * BLOCK  # bytes
    piece = cl.WarpgroupMmaOp(bf16, f32, WIDE)
    if BN > BLOCK + SECTION or BN % WIDE or BM % 128 or PARTS * (BN // WIDE) % BUFFERS:
        raise ValueError(f"{config}: not whole pieces, for all buffers; or columns of more than two scales")
    if min(CM, CN) > 1:
        raise ValueError(f"{config}: a cluster along both modes")

    class Storage(cl.SharedStorage):
        a: Smem[e4m3, cl.make_smem_layout(e4m3, (BM, BLOCK, config.stages))]
        b: Smem[e4m3, cl.make_smem_layout(e4m3, (BN, BLOCK, config.stages))]
        d: Smem[bf16, cl.make_smem_layout(bf16, (64, WIDE, 2 * BUFFERS))]
        scale_a: Smem[f32, cl.make_layout((1, BM, config.stages), stride=(BM, 1, BM)), 128]

    @cl.kernel(block=3 * GROUP, cluster=(CM * CN, 1, 1) if CLUSTER else None)
    def gemm(
        a: TmaTensor[e4m3, (M, K), (BM // CN, BLOCK)],
        b: TmaTensor[e4m3, (N, K), (BN // CM, BLOCK)],
        d: TmaTensor[bf16, (M, N), (64, WIDE)],
        scale_a: TmaTensor[f32, (KB, M), (1, BM)] | None,
        strided_a: Tensor[f32, (KB, M), (None, None)] | None,
        scale_b: Tensor[f32, (NB, KB), (None, None)],
    ) -> None:
        if cl.thread_idx.x == 0:
            for t in (a, b, d):
                cl.prefetch_tensormap(t)
            if scale_a is not None:
                cl.prefetch_tensormap(scale_a)
        storage = Storage.allocate()
        peers = cl.multicast_peers(config.cluster)
        if scale_a is not None:  # comes with the tiles
            pipe = cl.PipelineTmaAsync.create(config.stages, TILES + 4 * BM, 2 * GROUP, peers, False, reads="both")
            scaled = None
        else:
            pipe = cl.PipelineTmaAsync.create(config.stages, TILES, 2 * GROUP, peers, False, reads="wgmma")
            scaled = cl.PipelineCpAsync.create(config.stages, LOADERS, 2 * GROUP, sync=False)
        cl.pipeline_init_arrive(CLUSTER)
        cl.griddepcontrol_launch_dependents()
        cl.pipeline_init_wait(CLUSTER)
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if cl.thread_idx.x == 0:
                cl.griddepcontrol_wait()
                produce(a, b, scale_a, storage, pipe)
            elif strided_a is not None and cl.thread_idx.x >= GROUP - LOADERS:
                cl.griddepcontrol_wait()
                bring_scales(strided_a, storage, scaled)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            cl.griddepcontrol_wait()
            group, thread = cl.warpgroup_idx() - 1, cl.thread_idx.x % GROUP
            pieces = cl.local_tile(storage.d, (64, WIDE, BUFFERS), (0, 0, group))
            out = cl.ResultRing.create(pieces, piece, thread, cl.NamedBarrier(1 + group, GROUP))
            consume(d, scale_b, storage, pipe, scaled, out, group)

    def walk() -> Any:
        """This block's tiles. Each role begins by itself: a number less that all of them hold from the start."""
        counts = cl.ceil_div(M, BM * CM), cl.ceil_div(N, BN * CN)
        return cl.StaticPersistentTileScheduler.create(counts, config.swizzle, cluster=CLUSTER)

    def place(tiles: Any) -> tuple[Any, Any]:
        """The row and the column at which this block's next tile begins."""
        m, n, _ = tiles.coordinate()
        if CLUSTER:
            rank = cl.block_rank_in_cluster()
            m, n = m * CM + rank % CM, n * CN + rank // CM
        return m * BM, n * BN

    def produce(a: Any, b: Any, scale_a: Any, storage: Any, pipe: Any) -> None:
        """One thread: fill the ring, tile after tile."""
        left = cl.OperandTile.create(a, BM, config.cluster, 0)
        right = cl.OperandTile.create(b, BN, config.cluster, 1)
        state, tiles = pipe.producer_state(), walk()
        while tiles.is_valid():
            row, column = place(tiles)
            for k in range(cl.ceil_div(K, BLOCK)):
                pipe.producer_acquire(state)
                full = pipe.barrier(state)
                left.load(storage.a[None, None, state.index], (), row, k * BLOCK, full)
                right.load(storage.b[None, None, state.index], (), column, k * BLOCK, full)
                if scale_a is not None:
                    cl.tma_load(scale_a, storage.scale_a[None, None, state.index], at=(k, row), barrier=full)
                state = state.advance()
            tiles = tiles.advance()
        if CLUSTER:
            pipe.producer_tail(state)  # others still tell this block's barriers that they have read

    def bring_scales(scale_a: Any, storage: Any, scaled: Any) -> None:
        """Some warps: bring the scales of A, in step with its tiles."""
        state, tiles, thread = scaled.producer_state(), walk(), cl.thread_idx.x - (GROUP - LOADERS)
        while tiles.is_valid():
            row, _ = place(tiles)
            for k in range(cl.ceil_div(K, BLOCK)):
                scaled.producer_acquire(state)
                for i in cl.static_range(0, BM, LOADERS):
                    target = storage.scale_a.at(0, i + thread, state.index)
                    cl.cp_async(target, scale_a.at(k, min(row + i + thread, M - 1)), 4)
                scaled.producer_commit(state)
                state = state.advance()
            tiles = tiles.advance()

    def consume(d: Any, scale_b: Any, storage: Any, pipe: Any, scaled: Any, out: Any, group: Any) -> None:
        """A warpgroup: multiply what comes, scale and add it up, and write the sums."""
        first = group * ROWS + out.thread // 32 * 16 + out.thread % 32 // 4  # this thread's row of the tile
        tiles, state = walk(), pipe.consumer_state()
        free = [cl.wgmma.zeros_accumulator(BN) for _ in range(1 + TWO)]
        while tiles.is_valid():
            row, column = place(tiles)
            what, steps = (storage, pipe, scaled, scale_b, group, first, column), cl.ceil_div(K, BLOCK)
            sums = [cl.full((BN // 2,), 0.0, f32) for _ in range(PARTS)]
            so_far = state, sums, free, of_b(scale_b, column, 0), pipe.consumer_test_wait(state)
            for k in range(steps // CHAIN):
                so_far = multiply(CHAIN, k * CHAIN, so_far, *what)
            if CHAIN > 1:
                for k in range(steps - steps % CHAIN, steps):
                    so_far = multiply(1, k, so_far, *what)
            state, sums, free, _, _ = so_far
            tiles = tiles.advance()
            across = BN // WIDE
            for i in cl.static_range(PARTS * across):
                values = sums[i // across][i % across * WIDE // 2 : (i % across + 1) * WIDE // 2]
                out.acquire()
                out.put(i, values.to(bf16))
                out.send(i, d, (row + group * ROWS + i // across * 64, column + i % across * WIDE))
        out.tail()

    def multiply(
        n: int, k: Any, so_far: Any,
        storage: Any, pipe: Any, scaled: Any, scale_b: Any, group: Any, first: Any, column: Any,
    ) -> Any:  # fmt: skip
        """Blocks of K from `k` on, `n` of them: with two accumulators, one's products are under way while the other is
        waited for and added up.

        so_far   where the ring is, the sums, accumulators whose values are not needed any more, the scales of B of the
                 first block, and whether its tiles were seen to be there
        """
        state, sums, free, right, seen = so_far
        sums, free, flying, scales = list(sums), list(free), [], []
        for j in cl.static_range(n * PARTS + TWO):
            if j < n * PARTS:
                if j % PARTS == 0:
                    pipe.consumer_wait(state, seen if j == 0 else False)
                flying.append((product(storage, state.index, group, j % PARTS, free.pop(0)), state))
                if j % PARTS == PARTS - 1:
                    state = state.advance()
            if j < TWO:
                continue
            (acc, at), i = flying.pop(0), (j - TWO) % PARTS
            if i == 0:  # what takes no time, while tensor cores multiply
                scales = scales_of(storage, at, pipe, scaled, first, right, column)
                right = of_b(scale_b, column, min(k + (j - TWO) // PARTS + 1, KB - 1))
            if j == n * PARTS + TWO - 1:
                seen = pipe.consumer_test_wait(state)
            if flying:
                acc, other = cl.wgmma.wait_group(1, acc, keep=flying[0][0])
                flying = [(other, flying[0][1])]
            else:
                acc = cl.wgmma.wait_group(0, acc)
            if i == PARTS - 1:
                pipe.consumer_release(at)
            sums[i] = cl.math.fma(acc, spread(scales[i]), sums[i])
            if TWO:
                sums[i] = cl.wgmma.fence_operand(sums[i])  # before products that take these registers
            free.append(acc)
        return state, sums, free, right, seen

    def product(storage: Any, stage: Any, group: Any, i: int, into: Any) -> Any:
        """Start multiplying 64 rows of a block of K, into registers whose values are not needed any more."""
        a = cl.local_tile(storage.a, (64, BLOCK), (group * PARTS + i, 0))[None, None, stage]
        acc = cl.wgmma.mma_async(a, storage.b[None, None, stage], into, accumulate=False)
        cl.wgmma.commit_group()
        return acc

    def of_b(scale_b: Any, column: Any, k: Any) -> tuple[Any, Any]:
        """The scales of B of a tile's first columns and of its last ones."""
        here = scale_b[min(column // BLOCK, NB - 1), k]  # a block of a cluster may lie behind the last column
        return here, here if BN == BLOCK else scale_b[min((column + BN - SECTION) // BLOCK, NB - 1), k]

    def scales_of(storage: Any, at: Any, pipe: Any, scaled: Any, first: Any, right: Any, column: Any) -> list[Any]:
        """The products of scales that a thread needs for a block of K: for its two of each 64 rows, of all sections of
        columns."""
        if scaled is not None:
            scaled.consumer_wait(at)
        found = [cl.make_rmem_tensor(f32, (2, BN // SECTION)) for _ in range(PARTS)]
        for i in cl.static_range(PARTS):
            for r in cl.static_range(2):
                left = storage.scale_a[0, first + 64 * i + 8 * r, at.index]
                for j in cl.static_range(BN // SECTION):
                    same = BN == BLOCK or (column + j * SECTION) // BLOCK == column // BLOCK
                    found[i][r, j] = left * (right[0] if same else right[1])
        if scaled is not None:
            scaled.consumer_release(at)
        else:
            pipe.consumer_loaded(at)
        return found

    def spread(scales: Any) -> Any:
        """They as a vector in the order of the accumulator: pairs, rows 8 apart, every 8 columns."""
        every = (2, 2, SECTION // 8, BN // SECTION)
        return scales.view(cl.make_layout(every, stride=(0, BN // SECTION, 0, 1))).load()

    return gemm


def run(config: Config, a: Any, b: Any, d: Any, scale_a: Any, strided_a: Any, scale_b: Any) -> None:
    """Launch a configuration."""
    (bm, bn), (cm, cn) = config.tile, config.cluster
    clusters = min(-(-d.shape[0] // (bm * cm)) * -(-d.shape[1] // (bn * cn)), clusters_at_once(cm * cn))
    launch = cl.Launch(clusters * cm * cn, 3 * GROUP, pdl=True)
    build(config)[launch](a, b, d, scale_a, strided_a, scale_b)


CONFIGS = [
    Config(),
    Config(cluster=(1, 2)),
    Config(cluster=(1, 1)),
    Config((128, 192), stages=5),
    Config((128, 192), cluster=(1, 1), stages=5),
    Config((128, 128), chain=8, stages=5, buffers=2),
    Config((128, 128), cluster=(1, 1), chain=8, stages=5, buffers=2),
    Config((128, 128), stages=5, buffers=2),
    Config((128, 128), cluster=(1, 1), stages=5, buffers=2),
]


def fitting(configs: list[Config], a: Any, b: Any, d: Any, *scales: Any) -> list[Config]:
    """Those worth trying, the likeliest first: the others leave multiprocessors idle, or load much."""

    def cost(config: Config) -> float:
        (bm, bn), (cm, cn) = config.tile, config.cluster
        clusters = -(-d.shape[0] // (bm * cm)) * -(-d.shape[1] // (bn * cn))
        return float(-(-clusters // clusters_at_once(cm * cn)) * (bm * bn + 64 * (bm / cn + bn / cm)))

    found = sorted(configs, key=cost)
    return [config for config in found if cost(config) < 1.3 * cost(found[0])]


tuned = cl.autotune(CONFIGS, key=("a", "b", "scale_a"), prune=fitting)(run)


def gemm(a: Any, b: Any, d: Any, scale_a: Any, scale_b: Any, config: Config | None = None) -> Any:
    """``(a * scale_a) @ (b * scale_b).T`` into `d`, with scales spread over their blocks; returns `d`.

    a, b     (M, K) and (N, K), e4m3, contiguous along K; K a multiple of 16, for TMA
    d        (M, N), bf16, contiguous along N, a multiple of 8
    scale_a  (M, ceil(K / 128)), f32, of any strides; fastest contiguous along M, columns a multiple of 16
             bytes apart: TMA brings them
    scale_b  (ceil(N / 128), ceil(K / 128)), f32, of any strides
    config   None: the fastest, found at the first call for these shapes
    Errors   ValueError for scales of another shape, and what TMA refuses (`cutelite.ArgumentError`)
    """
    (m, k), n = a.shape, b.shape[0]
    wanted = (m, -(-k // BLOCK)), (-(-n // BLOCK), -(-k // BLOCK))
    if (tuple(scale_a.shape), tuple(scale_b.shape)) != wanted:
        raise ValueError(f"scales have shapes {tuple(scale_a.shape)} and {tuple(scale_b.shape)}, and not {wanted}")
    scales = rt.read(scale_a)
    by_tma = scales.strides[0] == 1 and scales.strides[1] % 4 == 0 and scales.pointer % 16 == 0
    of_a, strided = (scale_a.T, None) if by_tma else (None, scale_a.T)
    if config is None:
        tuned(a, b, d, of_a, strided, scale_b)
    else:
        run(config, a, b, d, of_a, strided, scale_b)
    return d


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
