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
# (kernels are made for types that annotations cannot express for a type checker)

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

import cutelite as cl
from cutelite import Smem, Tensor, TmaTensor, bf16, f32, i32, u32
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import (
    Arguments,
    ArrayError,
    as_number,
    check_given_apart,
    instance,
    is_array,
    one_of,
    underived,
)
from cutelite.kernels.arrays import clusters_at_once, empty
from cutelite.kernels.gemm.arrays import by_operator
from cutelite.kernels.gemm.laid import moved, packed_rows, place_for
from cutelite.kernels.lent import takes_jax
from cutelite.kernels.planning import planned, planned_whole
from cutelite.records import dataclass

T, N, K, S, NT, KT = cl.dims("T N:8 K S NT KT")
GROUP = 128  # threads of a warpgroup
ROWS, DEPTH = 64, 128  # of a packed tile: one wgmma along N, one scale along K
LOAD = cl.make_copy_atom(cl.CopyBulkG2SOp(), i32)
KINDS = {"i4": (4, "i4"), "i8": (8, cl.i8), "e4m3": (8, cl.e4m3)}
"""Of weights, by name: bits, and what `cl.bf16_of` calls them."""


@dataclass(frozen=True)
class Config:
    """A way to cut up the work.

    tokens   rows of x in a tile
    groups   warpgroups that multiply: each has 64 rows of weights of a tile
    stages   how many tiles of x and of weights, 128 along K, are held
    splits   how many blocks share the K of a tile
    swizzle  tiles are walked in bands of this many times `tokens`
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
    """Make the kernel for weights of a kind. It writes bf16, or with splits f32 that have to be added up."""
    plan = Plan(config, kind)
    BT, GROUPS, WIDE = config.tokens, config.groups, plan.wide
    OUT: Any = plan.out
    SIZE = plan.words * GROUP + ROWS // 2  # of a packed tile, with its scales

    class Storage(cl.SharedStorage):
        x: Smem[bf16, cl.make_smem_layout(bf16, (BT, DEPTH, config.stages))]
        w: Smem[i32, cl.make_layout((SIZE, GROUPS, config.stages)), 128]
        d: Smem[OUT, cl.make_smem_layout(OUT, (WIDE, ROWS, GROUPS))]

    @cl.kernel(block=(1 + GROUPS) * GROUP)
    def gemm(
        x: TmaTensor[bf16, (T, K), (BT, 64)],
        w: Tensor[i32, (NT, KT, SIZE), cl.align(16)],
        d: TmaTensor[OUT, (S, T, N), (1, WIDE, 128 // OUT.bytes)],
    ) -> None:
        if cl.thread_idx.x == 0:
            cl.prefetch_tensormap(x)
            cl.prefetch_tensormap(d)
        storage = Storage.allocate()
        pipe = cl.PipelineTmaAsync.create(config.stages, BT * DEPTH * 2 + GROUPS * SIZE * 4, GROUPS * GROUP)
        counts = cl.ceil_div(NT, GROUPS), cl.ceil_div(T, BT), config.splits
        tiles = cl.StaticPersistentTileScheduler.create(counts, config.swizzle)
        if config.splits == 1:
            cl.griddepcontrol_launch_dependents()
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if cl.thread_idx.x == 0:
                cl.griddepcontrol_wait()
                plan.produce(x, w, storage, pipe, tiles)
                if config.splits > 1:  # the blocks that add up would go to idle multiprocessors (`model.is_late`)
                    cl.griddepcontrol_launch_dependents()
        else:
            cl.setmaxnreg_inc(config.regs[1])
            cl.griddepcontrol_wait()
            group, thread = (cl.thread_idx.x - GROUP) // GROUP, cl.thread_idx.x % GROUP
            ring = cl.local_tile(storage.d, (WIDE, ROWS, 1), (0, 0, group))
            out = cl.ResultRing.create(ring, plan.piece, thread, cl.NamedBarrier(1 + group, GROUP))
            plan.consume(d, storage, pipe, tiles, out, group)

    return gemm


@dataclass(frozen=True)
class Plan:
    """The numbers that follow from a configuration for weights of a kind, and the work of a block's threads."""

    config: Config
    kind: str

    @property
    def out(self) -> Any:
        """The dtype that is written: bf16, or with splits f32 that have to be added up."""
        return f32 if self.config.splits > 1 else bf16

    @property
    def words(self) -> int:
        """Words of a packed tile for each thread."""
        return ROWS * DEPTH * KINDS[self.kind][0] // 32 // GROUP

    @property
    def wide(self) -> int:
        """Tokens of results that are stored at once."""
        return min(self.config.tokens, 64)

    @property
    def mma(self) -> Any:
        """The instruction for a tile."""
        return cl.WarpgroupMmaOp(bf16, f32, self.config.tokens, a_source="rmem")

    @property
    def piece(self) -> Any:
        """The instruction whose results are a piece."""
        return cl.WarpgroupMmaOp(bf16, f32, self.wide)

    @property
    def to_shared(self) -> Any:
        """The copy of a piece's results."""
        atom: Any = cl.StMatrix8x8x16bOp(num_matrices=4 if self.wide > 8 else 2, transpose=True)
        return cl.make_copy_atom(cl.CopyUniversalOp(32) if self.config.splits > 1 else atom, self.out)

    def part(self, split: Any) -> tuple[Any, Any]:
        """Return the first and last + 1 packed tile along K of a block's part."""
        return KT * split // self.config.splits, KT * (split + 1) // self.config.splits

    def produce(self, x: Any, w: Any, storage: Any, pipe: Any, tiles: Any) -> None:
        """One thread: fill the ring, tile after tile."""
        state = pipe.producer_state()
        while tiles.is_valid():
            n, t, split = tiles.coordinate()
            first, last = self.part(split)
            for k in range(first, last):
                pipe.producer_acquire(state)
                full, s = pipe.barrier(state), state.index
                for g in cl.static_range(self.config.groups):
                    row = min(n * self.config.groups + g, NT - 1)  # where there are no more, the last one comes again
                    cl.copy(LOAD, w[row, k, None], storage.w[None, g, s], barrier=full)
                cl.tma_load(x, storage.x[None, None, s], at=(t * self.config.tokens, k * DEPTH), barrier=full)
                state = state.advance()
            tiles = tiles.advance()

    def consume(self, d: Any, storage: Any, pipe: Any, tiles: Any, out: Any, group: Any) -> None:
        """A warpgroup: make bf16 of the weights that come, multiply, and write the sums."""
        mma = cl.make_tiled_mma(self.mma)
        right = mma.get_slice(out.thread).partition_B(storage.x)
        state = pipe.consumer_state()
        while tiles.is_valid():
            n, t, split = tiles.coordinate()
            first, last = self.part(split)
            acc = mma.make_fragment_C(mma.partition_shape_C((ROWS, self.config.tokens)))
            for _ in range(first, last):
                pipe.consumer_wait(state)
                left = mma.make_fragment_A(mma.partition_shape_A((ROWS, DEPTH)))
                left.store(scaled(storage.w[None, group, state.index], out.thread, self.words, 1, KINDS[self.kind][1]))
                acc = cl.gemm(mma, acc, left, right[None, None, None, state.index]).wait()
                pipe.consumer_release(state)
                state = state.advance()
            tiles = tiles.advance()
            for i in cl.static_range(self.config.tokens // self.wide):
                out.acquire()
                self.put(out, i, acc.parts[0][i * self.wide // 2 : (i + 1) * self.wide // 2].to(self.out))
                out.send(i, d, (split, t * self.config.tokens + i * self.wide, (n * self.config.groups + group) * ROWS))
        out.tail()

    def put(self, out: Any, i: int, values: Any) -> None:
        """Write a piece of the transpose of the result to shared memory, the right way round."""
        held = cl.make_rmem_tensor(
            self.out, cl.make_layout(cl.make_tiled_mma(self.piece).partition_shape_C((ROWS, self.wide)))
        )
        held.store(values)
        to_shared = cl.make_tiled_copy_C(self.to_shared, cl.make_tiled_mma(self.piece))
        mine = to_shared.get_slice(out.thread)
        cl.copy(to_shared, mine.retile(held), mine.partition_D(cl.select(out.buffer(i), (1, 0))))
        cl.fence_proxy_async("shared::cta")
        out.group.sync()


def scaled(tile: Any, thread: Any, count: int, scales: int, kind: Any) -> Any:
    """Return a thread's scaled weights of a packed tile, in wgmma's order for each step of 16 along K.

    count   words that a thread has
    scales  of each row; kind: what `cl.bf16_of` calls the weights
    """
    words = cl.make_rmem_tensor(u32, (4, count // 4))
    for i in cl.static_range(count // 4):
        words[None, i].store(cl.local_tile(tile.recast(u32), (4,), (i * GROUP + thread,)).load())
    row = thread // 32 * 16 + thread % 32 // 4
    held, mine = tile.recast(bf16), cl.make_rmem_tensor(bf16, (2, scales))
    for j in cl.static_range(scales):
        for i in cl.static_range(2):
            mine[i, j] = held[2 * count * GROUP + j * ROWS + row + 8 * i]
    steps = DEPTH // 16 // scales  # of 16 along K that a scale is for
    # pairs along K, rows 8 apart, eight along K apart, steps of a scale, scales
    every = cl.make_layout((2, 2, 2, steps, scales), stride=(0, scales, 0, 0, 1))
    return cl.bf16_of(words.load(), kind) * mine.view(every).load()


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

    values  (N, K): integers from -8 to 7 ('i4') or -128 to 127 ('i8'); for 'e4m3' numbers of that dtype, or their bytes
            as u8
    scales  (N, ceil(K / 128)), rounded to bf16
    Result  of each tile of 64 x 128: four words of thread 0, four of thread 1, ..., of thread 127, the next four of
            thread 0, and so on; then 64 scales. The elements of a thread are those of operand A in registers, in order
            (PTX ISA, wgmma): for each 16 along K its 8. A word holds 8 or 4 of them, two or one in a byte, where
            `cl.narrow_place` says
    Errors  ValueError for kinds, shapes and numbers that there are not
    """
    bits = KINDS[one_of("kind", kind, KINDS)][0]
    check_packing(values, scales, "N, K", DEPTH)
    of_bytes = values.view(np.uint8) if values.dtype == ml_dtypes.float8_e4m3fn and kind == "e4m3" else values
    values = codes(of_bytes, *((0, 255) if kind == "e4m3" else (-1 << bits - 1, (1 << bits - 1) - 1)))
    return tiled(values[None], scales[None], bits, DEPTH)[0]


def tiled(values: Any, scales: Any, bits: int, each: int) -> Any:
    """Return (E, N, K) numbers of `bits` bits, and scales for each `each` along K, as `pack` has those of a matrix."""
    count, n, k = values.shape
    nt, kt, of_row = -(-n // ROWS), -(-k // DEPTH), DEPTH // each
    per, of_thread = 32 // bits, ROWS * DEPTH // GROUP * bits // 32  # numbers of a word, words of a thread
    whole, factors = np.zeros((count, nt * ROWS, kt * DEPTH), np.int64), np.zeros((count, nt * ROWS, kt * of_row))
    whole[:, :n, :k], factors[:, :n, : scales.shape[2]] = values, scales
    # rows: warp (4), 8 rows apart (2), lane / 4 (8); columns: step (8), 8 apart (2), lane % 4 (4), neighbours (2)
    tiles = whole.reshape(count, nt, 4, 2, 8, kt, 8, 2, 4, 2)
    tiles = tiles.transpose(0, 1, 5, 2, 4, 8, 6, 7, 3, 9).reshape(count, nt, kt, GROUP, of_thread, per)
    places = np.array([cl.narrow_place(bits, e) for e in range(per)])
    words = ((tiles & (1 << bits) - 1) << bits * places).sum(-1).astype(np.uint32)
    words = words.reshape(count, nt, kt, GROUP, of_thread // 4, 4).swapaxes(3, 4)
    held = factors.astype(ml_dtypes.bfloat16).reshape(count, nt, ROWS, kt, of_row).transpose(0, 1, 3, 4, 2)
    numbers = np.ascontiguousarray(held).reshape(count, nt, kt, ROWS * of_row)
    words = words.reshape(count, nt, kt, GROUP * of_thread)
    return np.concatenate([words, numbers.view(np.uint32)], axis=3).view(np.int32)


def check_packing(values: Any, scales: Any, modes: str, each: int) -> None:
    """Check NumPy arrays to be packed, as that is done on the host: scales are of each `each` along K.

    modes   of the values, as a message has them
    Errors  `ArrayError`
    """
    for name, x in {"values": values, "scales": scales}.items():
        if not isinstance(x, np.ndarray):
            raise ArrayError(
                f"{name} is a {type(x).__name__}, but must be an array of NumPy: of torch, `x.cpu().numpy()`"
            )
    if values.ndim != len(modes.split()):
        raise ArrayError(f"values have shape {values.shape}, but must be ({modes})")
    *rows, k = values.shape
    if scales.shape != (wanted := (*rows, -(-k // each))):
        raise ArrayError(f"scales have shape {scales.shape}, but must be {wanted}: of each {each} along K of values")


def codes(values: Any, least: int, most: int) -> Any:
    """Return a NumPy array of integers in these bounds. Errors: `ArrayError` for any other."""
    if values.dtype.kind not in "iu" or (values.size and not least <= values.min() <= values.max() <= most):
        found = f" from {values.min()} to {values.max()}" if values.size else ""
        raise ArrayError(f"values are integers from {least} to {most}, and not {values.dtype}{found}")
    return values


def choose(t: int, n: int, k: int, kind: str, blocks: int) -> Config:
    """A tile as wide as the tokens are many, and splits until every multiprocessor has one of `blocks`.

    Few tokens leave registers for four warpgroups, which make bf16 of the weights as fast as memory brings them.
    """
    tokens = next((w for w in (16, 32, 64, 128) if t <= w), 256)
    groups, regs = (4, (40, 104)) if tokens <= 64 else (2, (40, 232))
    tiles = -(-n // (groups * ROWS)) * -(-t // tokens)
    splits = max(1, min(blocks // tiles, -(-k // DEPTH) // 4, 8))
    stage = tokens * DEPTH * 2 + groups * (ROWS * DEPTH * KINDS[kind][0] // 8 + ROWS * 2)
    return Config(tokens, groups, min(8, 190 * 1024 // stage), splits, regs=regs)


@planned_whole()
@underived()
@takes_jax(traced="gemm.on_jax_special.narrow")
def gemm(x: Any, w: Any, kind: str, out: Any = None, *, n: int | None = None, config: Config | None = None) -> Any:
    """``x @ weights.T``; returns `out`.

    x       (T, K), bf16, contiguous along K, a multiple of 8
    w       of `pack`, for N rows of K weights, where x is
    kind    of `KINDS`
    out     (T, N), bf16, contiguous along N, a multiple of 8; made if it is not given, for `n` rows of weights or all
            that are packed
    config  None: `choose` has it
    Arrays  of torch, CuPy and JAX on a GPU, of NumPy in the simulator. Torch's may be fake, or under `torch.compile` or
            `torch.autocast`
    Errors  ValueError for weights packed for other shapes
    """
    if (found := by_operator("narrow", out, (x, w, kind), n)) is not None:
        return found
    return multiply(x, w, kind, out, n, config)


@untraced
@planned
def multiply(x: Any, w: Any, kind: str, out: Any = None, n: int | None = None, config: Config | None = None) -> Any:
    """Compute `gemm` of real arrays."""
    one_of("kind", kind, KINDS)
    n = None if n is None else as_number("n", n, whole=True, least=0)
    given = Arguments()
    given.array("x", x, "bf16", "T K", rows=True)
    is_array("w", w)
    t, k = x.shape
    if out is not None:
        given.array("out", out, "bf16", "T N", written=True, rows=True)
        n = out.shape[1]
    elif n is None:
        n = w.shape[0] * ROWS if len(w.shape) else 0
    packed = -(-n // ROWS), -(-k // DEPTH), ROWS * DEPTH * KINDS[kind][0] // 32 + ROWS // 2
    given.array("w", w, "i32", packed, dense=True, why=f", as pack(kind={kind!r}) makes it of ({n}, {k}) weights")
    if k % 8 or n % 8:
        raise ArrayError(f"x has {k} columns, and the result {n}: both are multiples of 8")
    out = empty(x, (t, n)) if out is None else out
    if left_out() or 0 in (t, n):
        return out
    check_given_apart(out, x=x, w=w)
    if not k:
        out[...] = 0
        return out
    x, held, blocks = packed_rows(x), place_for(out), clusters_at_once(1, x)
    config = instance("config", config, Config) or choose(t, n, k, kind, blocks)
    tiles = -(-n // (config.groups * ROWS)) * -(-t // config.tokens) * config.splits
    launch = cl.Launch(min(tiles, blocks), (1 + config.groups) * GROUP, pdl=True)
    if config.splits == 1:
        build(config, kind)[launch](x, w, held[None])
    else:
        parts = empty(out, (config.splits, t, n), "f32")
        build(config, kind)[launch](x, w, parts)
        add_up[cl.Launch((-(-n // (4 * GROUP)), t), GROUP, pdl=True)](parts, held)
    return moved(held, out)
