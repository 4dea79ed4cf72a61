"""d = a @ b.T on Hopper in fp8, with a scale for each 1 x 128 of A and each 128 x 128 of B: DeepSeek's recipe.

Tensor cores add up fp8 products with few bits. So each 128 along K are multiplied into a fresh accumulator, and what
they come to is multiplied by its scales and added to the sums in f32, by ordinary instructions. While a warpgroup does
that, the others multiply: there are three, with 64 rows each. Everything else is as in any persistent GEMM: one thread
brings tiles of A and B by TMA, with the scales of A, and results leave through shared memory and TMA while the next
tile begins.
"""

from dataclasses import dataclass
from functools import cache
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
ROWS = 64  # of a warpgroup


@dataclass(frozen=True)
class Config:
    """How the work is cut up.

    groups   warpgroups that multiply, 2 or 3, 64 rows of a tile each
    columns  of a tile: 128 or 64
    stages   how many tiles of A and B, 128 along K, are held, with scales of A
    piece    columns of results that are stored at once, 64 rows of them, and `buffers` how many such are held
    swizzle  tiles are walked in bands so many tiles wide
    regs     registers of a thread that loads, and of one that multiplies
    """

    groups: int = 3
    columns: int = 128
    stages: int = 4
    piece: int = 64
    buffers: int = 2
    swizzle: int = 8
    regs: tuple[int, int] = (32, 160)


@cache
def build(config: Config) -> Any:
    """The kernel. It takes scales of A either by TMA, or with any strides, which is slower."""
    G, BN, WIDE, BUFFERS = config.groups, config.columns, config.piece, config.buffers
    BM, THREADS = ROWS * G, GROUP * G
    TILES = (BM + BN) * BLOCK  # bytes
    piece = cl.WarpgroupMmaOp(bf16, f32, WIDE)
    if BLOCK % BN or BN % WIDE or BN // WIDE % BUFFERS:
        raise ValueError(f"{config}: not whole pieces, for all buffers; or columns of more than one scale")

    class Storage(cl.SharedStorage):
        a: Smem[e4m3, cl.make_smem_layout(e4m3, (BM, BLOCK, config.stages))]
        b: Smem[e4m3, cl.make_smem_layout(e4m3, (BN, BLOCK, config.stages))]
        d: Smem[bf16, cl.make_smem_layout(bf16, (ROWS, WIDE, G * BUFFERS))]
        scale_a: Smem[f32, cl.make_layout((1, BM, config.stages), stride=(BM, 1, BM)), 128]

    @cl.kernel(block=GROUP + THREADS)
    def gemm(
        a: TmaTensor[e4m3, (M, K), (BM, BLOCK)],
        b: TmaTensor[e4m3, (N, K), (BN, BLOCK)],
        d: TmaTensor[bf16, (M, N), (ROWS, WIDE)],
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
        if scale_a is not None:  # comes with the tiles
            pipe = cl.PipelineTmaAsync.create(config.stages, TILES + 4 * BM, THREADS, sync=False, reads="both")
            scaled = None
        else:
            pipe = cl.PipelineTmaAsync.create(config.stages, TILES, THREADS, sync=False, reads="wgmma")
            scaled = cl.PipelineCpAsync.create(config.stages, LOADERS, THREADS, sync=False)
        cl.pipeline_init_arrive()
        cl.griddepcontrol_launch_dependents()
        cl.pipeline_init_wait()
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
            pieces = cl.local_tile(storage.d, (ROWS, WIDE, BUFFERS), (0, 0, group))
            out = cl.ResultRing.create(pieces, piece, thread, cl.NamedBarrier(1 + group, GROUP))
            consume(d, scale_b, storage, pipe, scaled, out, group)

    def walk() -> Any:
        """This block's tiles. Each role walks by itself."""
        return cl.StaticPersistentTileScheduler.create((cl.ceil_div(M, BM), cl.ceil_div(N, BN)), config.swizzle)

    def place(tiles: Any) -> tuple[Any, Any]:
        """The row and the column at which this block's next tile begins."""
        m, n, _ = tiles.coordinate()
        return m * BM, n * BN

    def produce(a: Any, b: Any, scale_a: Any, storage: Any, pipe: Any) -> None:
        """One thread: fill the ring, tile after tile."""
        state, tiles = pipe.producer_state(), walk()
        while tiles.is_valid():
            row, column = place(tiles)
            for k in range(cl.ceil_div(K, BLOCK)):
                pipe.producer_acquire(state)
                full = pipe.barrier(state)
                cl.tma_load(a, storage.a[None, None, state.index], at=(row, k * BLOCK), barrier=full)
                cl.tma_load(b, storage.b[None, None, state.index], at=(column, k * BLOCK), barrier=full)
                if scale_a is not None:
                    cl.tma_load(scale_a, storage.scale_a[None, None, state.index], at=(k, row), barrier=full)
                state = state.advance()
            tiles = tiles.advance()

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
        tiles, state, acc = walk(), pipe.consumer_state(), cl.wgmma.zeros_accumulator(BN)
        while tiles.is_valid():
            row, column = place(tiles)
            what, sums = (storage, pipe, scaled, scale_b, column, group, first), cl.full((BN // 2,), 0.0, f32)
            so_far = state, sums, acc, pipe.consumer_test_wait(state)
            for k in range(cl.ceil_div(K, BLOCK)):
                so_far = multiply(k, so_far, *what)
            tiles = tiles.advance()
            state, sums, acc, _ = so_far
            for i in cl.static_range(BN // WIDE):
                out.acquire()
                out.put(i, sums[i * WIDE // 2 : (i + 1) * WIDE // 2].to(bf16))
                out.send(i, d, (row + group * ROWS, column + i * WIDE))
        out.tail()

    def multiply(
        k: Any, so_far: Any,
        storage: Any, pipe: Any, scaled: Any, scale_b: Any, column: Any, group: Any, first: Any,
    ) -> Any:  # fmt: skip
        """A block of K.

        so_far   where the ring is, the sums, an accumulator whose values are not needed any more, and whether the
                 tiles were seen to be there
        """
        state, sums, acc, seen = so_far
        pipe.consumer_wait(state, seen)
        a = cl.local_tile(storage.a, (ROWS, BLOCK), (group, 0))[None, None, state.index]
        acc = cl.wgmma.mma_async(a, storage.b[None, None, state.index], acc, accumulate=False)
        cl.wgmma.commit_group()
        if scaled is not None:  # what takes no time, while tensor cores multiply
            scaled.consumer_wait(state)
        of_b = scale_b[column // BLOCK, k]
        upper, lower = (storage.scale_a[0, first + 8 * i, state.index] * of_b for i in range(2))
        if scaled is not None:
            scaled.consumer_release(state)
        else:
            pipe.consumer_loaded(state)
        following = state.advance()
        seen = pipe.consumer_test_wait(following)
        acc = cl.wgmma.wait_group(0, acc)
        pipe.consumer_release(state)
        return following, cl.math.fma(acc, spread(upper, lower), sums), acc, seen

    def spread(upper: Any, lower: Any) -> Any:
        """Scales of a thread's two rows in the order of the accumulator: two columns of each, every 8 columns."""
        both = cl.make_rmem_tensor(f32, (2,))
        both[0], both[1] = upper, lower
        return both.view(cl.make_layout((2, 2, BN // 8), stride=(0, 1, 0))).load()

    return gemm


def run(config: Config, a: Any, b: Any, d: Any, scale_a: Any, strided_a: Any, scale_b: Any) -> None:
    """Launch a configuration."""
    tiles = -(-d.shape[0] // (ROWS * config.groups)) * -(-d.shape[1] // config.columns)
    launch = cl.Launch(min(tiles, clusters_at_once(1)), (1 + config.groups) * GROUP, pdl=True)
    build(config)[launch](a, b, d, scale_a, strided_a, scale_b)


CONFIGS = [
    Config(),
    Config(swizzle=16),
    Config(stages=5, piece=32, buffers=1),
    Config(2, stages=5, regs=(40, 232)),
]
tuned = cl.autotune(CONFIGS, key=("a", "b", "scale_a"))(run)


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
