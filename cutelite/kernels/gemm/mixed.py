"""d = x @ (w * scales).T on Hopper: activations in bf16, weights in 4 or 8 bits with a scale for each 128 along K.

wgmma reads one operand from registers, the left one. So this multiplies the other way round: weights are on the left,
64 of their rows for each warpgroup, tokens on the right, and the transpose of the result comes out. Each thread makes
bf16 of those weights that wgmma wants of it, and scales them (`cl.bf16_of`). Meanwhile the other warpgroup multiplies.

Weights are packed beforehand, by `pack`: what a thread needs of a tile of 64 rows by 128 is a few words beside each
other, and the scales of the rows follow, so that a tile comes by one bulk copy and is read without bank conflicts.

With few tokens all that counts is how fast weights come from memory. There are fewer tiles then than multiprocessors,
so several blocks share the K of a tile, and a second kernel adds up what they found.
"""

# pyright: reportInvalidTypeForm=false
# (kernels are made for types that no annotation can say to a checker)

from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

import cutelite as cl
from common import array, check, clusters_at_once, empty, poisoned, random, to_numpy
from cutelite import Smem, Tensor, TmaTensor, bf16, f32, i32, u32

T, N, K, S, NT, KT = cl.dims("T N:8 K S NT KT")
GROUP = 128  # threads of a warpgroup
ROWS, DEPTH = 64, 128  # of a packed tile: one wgmma along N, one scale along K
LOAD = cl.make_copy_atom(cl.CopyBulkG2SOp(), i32)
KINDS = {"i4": (4, "i4"), "i8": (8, cl.i8), "e4m3": (8, cl.e4m3)}
"""Of weights, by name: bits, and what `cl.bf16_of` calls them."""


@dataclass(frozen=True)
class Config:
    """How the work is cut up.

    tokens   rows of x in a tile
    groups   warpgroups that multiply: each has 64 rows of weights of a tile
    stages   how many tiles of x and of weights, 128 along K, are held
    splits   how many blocks share the K of a tile
    swizzle  tiles are walked in bands so many times `tokens` wide
    regs     registers of a thread that loads, and of one that multiplies
    """

    tokens: int = 256
    groups: int = 2
    stages: int = 2
    splits: int = 1
    swizzle: int = 8
    regs: tuple[int, int] = (40, 232)


@cache
def build(config: Config, kind: str) -> Any:
    """The kernel for weights of a kind. It writes bf16, or with splits f32 that have to be added up."""
    BT, GROUPS, SPLIT = config.tokens, config.groups, config.splits > 1
    OUT: Any = f32 if SPLIT else bf16
    bits, weights = KINDS[kind]
    WORDS = ROWS * DEPTH * bits // 32 // GROUP  # of a thread
    SIZE = WORDS * GROUP + ROWS // 2  # of a packed tile, with its scales
    WIDE = min(BT, 64)  # tokens of results that are stored at once
    mma = cl.make_tiled_mma(cl.WarpgroupMmaOp(bf16, f32, BT, a_source="rmem"))
    piece = cl.WarpgroupMmaOp(bf16, f32, WIDE)
    atom: Any = cl.StMatrix8x8x16bOp(num_matrices=4 if WIDE > 8 else 2, transpose=True)
    atom = cl.make_copy_atom(cl.CopyUniversalOp(32) if SPLIT else atom, OUT)
    to_shared = cl.make_tiled_copy_C(atom, cl.make_tiled_mma(piece))

    class Storage(cl.SharedStorage):
        x: Smem[bf16, cl.make_smem_layout(bf16, (BT, DEPTH, config.stages))]
        w: Smem[i32, cl.make_layout((SIZE, GROUPS, config.stages)), 128]
        d: Smem[OUT, cl.make_smem_layout(OUT, (WIDE, ROWS, GROUPS))]

    @cl.kernel(block=(1 + GROUPS) * GROUP)
    def gemm(
        x: TmaTensor[bf16, (T, K), (BT, 64)],
        w: Tensor[i32, (NT, KT, SIZE)],
        d: TmaTensor[OUT, (S, T, N), (1, WIDE, 128 // OUT.bytes)],
    ) -> None:
        if cl.thread_idx.x == 0:
            cl.prefetch_tensormap(x)
            cl.prefetch_tensormap(d)
        storage = Storage.allocate()
        pipe = cl.PipelineTmaAsync.create(config.stages, BT * DEPTH * 2 + GROUPS * SIZE * 4, GROUPS * GROUP)
        counts = cl.ceil_div(NT, GROUPS), cl.ceil_div(T, BT), config.splits
        tiles = cl.StaticPersistentTileScheduler.create(counts, config.swizzle)
        cl.griddepcontrol_launch_dependents()
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if cl.thread_idx.x == 0:
                cl.griddepcontrol_wait()
                produce(x, w, storage, pipe, tiles)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            cl.griddepcontrol_wait()
            group, thread = (cl.thread_idx.x - GROUP) // GROUP, cl.thread_idx.x % GROUP
            ring = cl.local_tile(storage.d, (WIDE, ROWS, 1), (0, 0, group))
            out = cl.ResultRing.create(ring, piece, thread, cl.NamedBarrier(1 + group, GROUP))
            consume(d, storage, pipe, tiles, out, group)

    def part(split: Any) -> tuple[Any, Any]:
        """Where along K the part of a block begins and ends, in packed tiles."""
        return KT * split // config.splits, KT * (split + 1) // config.splits

    def produce(x: Any, w: Any, storage: Any, pipe: Any, tiles: Any) -> None:
        """One thread: fill the ring, tile after tile."""
        state = pipe.producer_state()
        while tiles.is_valid():
            n, t, split = tiles.coordinate()
            first, last = part(split)
            for k in range(first, last):
                pipe.producer_acquire(state)
                full, s = pipe.barrier(state), state.index
                for g in cl.static_range(GROUPS):
                    row = min(n * GROUPS + g, NT - 1)  # where there are no more, the last one comes again
                    cl.copy(LOAD, w[row, k, None], storage.w[None, g, s], barrier=full)
                cl.tma_load(x, storage.x[None, None, s], at=(t * BT, k * DEPTH), barrier=full)
                state = state.advance()
            tiles = tiles.advance()

    def consume(d: Any, storage: Any, pipe: Any, tiles: Any, out: Any, group: Any) -> None:
        """A warpgroup: make bf16 of the weights that come, multiply, and write the sums."""
        right = mma.get_slice(out.thread).partition_B(storage.x)
        state = pipe.consumer_state()
        while tiles.is_valid():
            n, t, split = tiles.coordinate()
            first, last = part(split)
            acc = mma.make_fragment_C(mma.partition_shape_C((ROWS, BT)))
            for _ in range(first, last):
                pipe.consumer_wait(state)
                left = mma.make_fragment_A(mma.partition_shape_A((ROWS, DEPTH)))
                left.store(scaled(storage.w[None, group, state.index], out.thread))
                acc = cl.gemm(mma, acc, left, right[None, None, None, state.index]).wait()
                pipe.consumer_release(state)
                state = state.advance()
            tiles = tiles.advance()
            for i in cl.static_range(BT // WIDE):
                out.acquire()
                put(out, i, acc.parts[0][i * WIDE // 2 : (i + 1) * WIDE // 2].to(OUT))
                out.send(i, d, (split, t * BT + i * WIDE, (n * GROUPS + group) * ROWS))
        out.tail()

    def scaled(tile: Any, thread: Any) -> Any:
        """What a thread holds of a tile of weights: for each step of 16 along K, as wgmma has it, scaled."""
        words = cl.make_rmem_tensor(u32, (4, WORDS // 4))
        for i in cl.static_range(WORDS // 4):
            words[None, i].store(cl.local_tile(tile.recast(u32), (4,), (i * GROUP + thread,)).load())
        row = thread // 32 * 16 + thread % 32 // 4
        scales, of_rows = tile.recast(bf16), cl.make_rmem_tensor(bf16, (2,))
        for i in cl.static_range(2):
            of_rows[i] = scales[2 * WORDS * GROUP + row + 8 * i]
        every = cl.make_layout((2, 2, 2, DEPTH // 16), stride=(0, 1, 0, 0))  # pairs along K, rows 8 apart, along K
        return cl.bf16_of(words.load(), weights) * of_rows.view(every).load()

    def put(out: Any, i: int, values: Any) -> None:
        """Write a piece of the transpose of the result to shared memory, the right way round."""
        held = cl.make_rmem_tensor(OUT, cl.make_layout(cl.make_tiled_mma(piece).partition_shape_C((ROWS, WIDE))))
        held.store(values)
        mine = to_shared.get_slice(out.thread)
        cl.copy(to_shared, mine.retile(held), mine.partition_D(cl.select(out.buffer(i), (1, 0))))
        cl.fence_proxy_async("shared::cta")
        out.group.sync()

    return gemm


@cl.kernel(block=GROUP)
def add_up(parts: Tensor[f32, (S, T, N)], d: Tensor[bf16, (T, N)]) -> None:
    """The sum over the first mode, four columns for each thread: rows are along y."""
    across, row = cl.block_idx.x * GROUP + cl.thread_idx.x, cl.block_idx.y
    cl.griddepcontrol_wait()
    if across * 4 < N:
        total = cl.full((4,), 0.0, f32)
        for s in range(S):
            total = total + cl.local_tile(parts[s, row, None], (4,), (across,)).load()
        cl.local_tile(d[row, None], (4,), (across,)).store(total.to(bf16))


def pack(values: Any, scales: Any, kind: str) -> Any:
    """Weights as the kernel reads them, from NumPy arrays: i32 (ceil(N / 64), ceil(K / 128), words).

    values  (N, K): integers from -8 to 7 ('i4') or -128 to 127 ('i8'); for 'e4m3', its bytes as u8
    scales  (N, ceil(K / 128)), rounded to bf16
    Result  of each tile of 64 x 128: four words of thread 0, four of thread 1, ..., of thread 127, the next four of
            thread 0, and so on; then 64 scales. The elements of a thread are those of operand A in registers, in order
            (PTX ISA, wgmma): for each 16 along K its 8. A word holds 8 or 4 of them, two or one in a byte, where
            `cl.narrow_place` says
    """
    (n, k), bits = values.shape, KINDS[kind][0]
    nt, kt, per = -(-n // ROWS), -(-k // DEPTH), 32 // bits
    whole = np.zeros((nt * ROWS, kt * DEPTH), np.int64)
    whole[:n, :k] = values
    # rows: warp (4), 8 rows apart (2), lane / 4 (8); columns: step (8), 8 apart (2), lane % 4 (4), neighbours (2)
    tiles = whole.reshape(nt, 4, 2, 8, kt, 8, 2, 4, 2)
    tiles = tiles.transpose(0, 4, 1, 3, 7, 5, 6, 2, 8).reshape(nt, kt, GROUP, -1, per)
    places = np.array([cl.narrow_place(bits, e) for e in range(per)])
    words = ((tiles & (1 << bits) - 1) << bits * places).sum(-1).astype(np.uint32)
    words = words.reshape(nt, kt, GROUP, -1, 4).swapaxes(2, 3).reshape(nt, kt, -1)
    of_tiles = np.zeros((nt * ROWS, kt), np.float32)
    of_tiles[:n] = scales
    held = of_tiles.astype(ml_dtypes.bfloat16).reshape(nt, ROWS, kt).swapaxes(1, 2)
    return np.concatenate([words, np.ascontiguousarray(held).view(np.uint32)], axis=2).view(np.int32)


def choose(t: int, n: int, k: int, kind: str) -> Config:
    """A tile as wide as the tokens are many, and splits until every multiprocessor has one.

    Few tokens leave registers for four warpgroups, which make bf16 of the weights as fast as memory brings them.
    """
    tokens = next((w for w in (16, 32, 64, 128) if t <= w), 256)
    groups, regs = (4, (40, 104)) if tokens <= 64 else (2, (40, 232))
    tiles = -(-n // (groups * ROWS)) * -(-t // tokens)
    splits = max(1, min(clusters_at_once(1) // tiles, -(-k // DEPTH) // 4, 8))
    stage = tokens * DEPTH * 2 + groups * (ROWS * DEPTH * KINDS[kind][0] // 8 + ROWS * 2)
    return Config(tokens, groups, min(8, 190 * 1024 // stage), splits, regs=regs)


def gemm(x: Any, w: Any, d: Any, kind: str, config: Config | None = None) -> Any:
    """``x @ weights.T`` into `d`; returns `d`.

    x       (T, K), bf16, contiguous along K, a multiple of 8
    w       of `pack`, for N rows of K weights
    d       (T, N), bf16, contiguous along N, a multiple of 8
    kind    of `KINDS`
    Errors  ValueError for weights packed for other shapes
    """
    (t, k), n = x.shape, d.shape[1]
    if tuple(w.shape[:2]) != (-(-n // ROWS), -(-k // DEPTH)):
        raise ValueError(f"weights are packed as {tuple(w.shape)}, but x is {tuple(x.shape)} and d {tuple(d.shape)}")
    config = config or choose(t, n, k, kind)
    tiles = -(-n // (config.groups * ROWS)) * -(-t // config.tokens) * config.splits
    launch = cl.Launch(min(tiles, clusters_at_once(1)), (1 + config.groups) * GROUP, pdl=True)
    if config.splits == 1:
        build(config, kind)[launch](x, w, d.reshape(1, t, n))
        return d
    parts = empty(d, (config.splits, t, n), "float32")
    build(config, kind)[launch](x, w, parts)
    add_up[cl.Launch((-(-n // (4 * GROUP)), t), GROUP, pdl=True)](parts, d)
    return d


def main(t: int = 40, n: int = 200, k: int = 328, kind: str = "i4", config: Config | None = None) -> None:
    numbers, blocks = np.random.default_rng(1), -(-k // DEPTH)
    x, d = random(t, k, dtype="bfloat16", seed=2), poisoned(t, n, dtype="bfloat16")
    scales = to_numpy(array(numbers.uniform(0.5, 2.0, (n, blocks)).astype(np.float32), "bfloat16"))
    if kind == "e4m3":
        values = numbers.integers(0, 127, (n, k)) + 128 * numbers.integers(0, 2, (n, k))  # 127 and 255 are NaN
        weights = values.astype(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    else:
        limit = 1 << KINDS[kind][0] - 1
        values = numbers.integers(-limit, limit, (n, k))
        weights = values.astype(np.float64)
    gemm(x, array(pack(values, scales, kind), "int32"), d, kind, config)
    expected = to_numpy(x) @ (weights * scales.repeat(DEPTH, 1)[:, :k]).T
    check(f"bf16 x {kind} gemm {t} x {n} x {k}", d, expected, 5e-3)


if __name__ == "__main__":
    main()
