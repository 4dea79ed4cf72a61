"""d = a @ b.T on Hopper in fp8, with a scale for each 1 x 128 of A and each 128 x 128 of B: DeepSeek's recipe.

Tensor cores add up fp8 products with few bits. So each 128 along K are multiplied into a new accumulator, which is
multiplied by its scales and added to sums in f32, by ordinary instructions. While a warpgroup does that, the others
multiply: there are three with 64 rows each, or two that multiply twice 64 rows, one after the other, with the same
registers. Both need registers' bandwidth, as any other instruction does, so the loop over K has as few instructions as
possible (docs/lab/gemm-special.md). That is why blocks of K are processed in pairs, whose addresses in shared memory
differ by a constant.

Everything else is as in any persistent GEMM: one thread brings tiles of A and B by TMA, with the scales of A, and
results leave through shared memory and TMA while the next tile begins. The tiles of a last, part round of all
multiprocessors may be cut along K, so that none is idle; a second kernel adds up the parts.
"""

from collections.abc import Hashable
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np

import cutelite as cl
import cutelite_rt as rt
from cutelite import Smem, Tensor, TmaTensor, bf16, e4m3, f32, i32
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import (
    Arguments,
    ArrayError,
    check_for_hopper,
    underived,
)
from cutelite.kernels.arrays import clusters_at_once, empty, has_tensor_memory
from cutelite.kernels.gemm.arrays import by_operator
from cutelite.kernels.gemm.fp8_configs import BLOCK as BLOCK
from cutelite.kernels.gemm.fp8_configs import CONFIGS as CONFIGS
from cutelite.kernels.gemm.fp8_configs import ROWS, fitting
from cutelite.kernels.gemm.fp8_configs import Config as Config
from cutelite.kernels.gemm.laid import moved, packed_rows, place_for
from cutelite.kernels.gemm.picks import Picks
from cutelite.kernels.lent import takes_jax
from cutelite.kernels.planning import planned, planned_whole
from cutelite.records import dataclass

M, N, K, KB, NB, W = cl.dims("M N:8 K KB NB W")
GROUP = 128  # threads of a warpgroup
LOADERS = 64  # threads of the first warpgroup, its last ones, that load scales which TMA cannot


@cache
def build(config: Config) -> Any:
    """Make the kernel, and the one that adds up parts. Scales may have any strides; some are faster."""
    G, BN, WIDE, BUFFERS = config.groups, config.columns, config.piece, config.buffers
    plan = Plan(config)
    BM = plan.rows
    piece = cl.WarpgroupMmaOp(bf16, f32, WIDE)

    class Storage(cl.SharedStorage):
        a: Smem[e4m3, cl.make_smem_layout(e4m3, (BM, BLOCK, config.stages))]
        b: Smem[e4m3, cl.make_smem_layout(e4m3, (BN, BLOCK, config.stages))]
        d: Smem[bf16, cl.make_smem_layout(bf16, (ROWS, WIDE, G * BUFFERS))]
        scale_a: Smem[f32, cl.make_layout((1, BM, config.stages), stride=(BM, 1, BM)), 128]

    @cl.kernel(block=GROUP + GROUP * G)
    def gemm(
        a: TmaTensor[e4m3, (M, K), (BM, BLOCK)],
        b: TmaTensor[e4m3, (N, K), (BN, BLOCK)],
        d: TmaTensor[bf16, (M, N), (ROWS, WIDE)],
        scale_a: TmaTensor[f32, (KB, M), (1, BM), (None, 1)] | None,
        strided_a: Tensor[f32, (KB, M), (None, None)] | None,
        scale_b: Tensor[f32, (NB, KB), (None, 1)] | None,
        strided_b: Tensor[f32, (NB, KB), (None, None)] | None,
        parts: Tensor[f32, (W, ROWS, BN)] | None,
        whole: i32,
        splits: i32,
    ) -> None:
        """
        scale_b   of an even number of blocks along K; otherwise `strided_b` is given
        parts     where sums over a part of K go, 64 rows of a tile each; None: no tile is cut
        whole     how many tiles, the first ones, are not cut; the others are, into `splits` parts
        """
        if cl.thread_idx.x == 0:
            for t in (a, b, d) if scale_a is None else (a, b, d, scale_a):
                cl.prefetch_tensormap(t)
        storage, cut = Storage.allocate(), None if parts is None else (whole, splits)
        pipe, scaled = plan.pipes(scale_a is not None)
        cl.pipeline_init_arrive()
        if parts is None:
            cl.griddepcontrol_launch_dependents()
        cl.pipeline_init_wait()
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if cl.thread_idx.x == 0:
                cl.griddepcontrol_wait()
                plan.produce(a, b, scale_a, storage, pipe, cut)
                if parts is not None:  # the blocks that add up would go to idle multiprocessors (`model.is_late`)
                    cl.griddepcontrol_launch_dependents()
            elif strided_a is not None and cl.thread_idx.x >= GROUP - LOADERS:
                cl.griddepcontrol_wait()
                plan.bring_scales(strided_a, storage, scaled, cut)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            cl.griddepcontrol_wait()
            group, thread = cl.warpgroup_idx() - 1, cl.thread_idx.x % GROUP
            pieces = cl.local_tile(storage.d, (ROWS, WIDE, BUFFERS), (0, 0, group))
            out = cl.ResultRing.create(pieces, piece, thread, cl.NamedBarrier(1 + group, GROUP))
            scales = (strided_b if scale_b is None else scale_b), scaled, scale_b is not None
            plan.consume(scales, storage, pipe, out, group, (d, parts), cut)

    return gemm, build_sum(config)


def build_sum(config: Config) -> Any:
    """Make the kernel that adds up parts of tiles."""
    G, S, BN, plan = config.groups, config.strips, config.columns, Plan(config)

    @cl.kernel(block=GROUP)
    def add_up(parts: Tensor[f32, (W, ROWS, BN)], d: Tensor[bf16, (M, N)], whole: i32, splits: i32) -> None:
        """Add up the parts of tiles in order: each thread has eight columns, each block some rows."""
        cl.griddepcontrol_launch_dependents()
        rows = 8 * GROUP // BN
        tile, strip, slice_ = cl.block_idx.x, cl.block_idx.y, cl.block_idx.z
        row, column = plan.corner(whole + tile, M, N)
        here, across = slice_ * rows + cl.thread_idx.x // (BN // 8), cl.thread_idx.x % (BN // 8)
        there = row + strip * ROWS + here
        cl.griddepcontrol_wait()
        if there < M and column + across * 8 < N:
            total = cl.full((8,), 0.0, f32)
            for part in range(splits):
                held = parts[(tile * splits + part) * G * S + strip, here, None]
                total += cl.local_tile(held, (8,), (across,)).load()
            cl.local_tile(d[there, None], (8,), (column // 8 + across,)).store(total.to(bf16))

    return add_up


@dataclass(frozen=True)
class Plan:
    """The work of the threads of a block under a configuration."""

    config: Config

    @property
    def rows(self) -> int:
        """Rows of a tile."""
        return self.config.rows

    def walk(self, cut: Any) -> Any:
        """This block's tiles, and behind them parts of tiles. Each role walks by itself."""
        tiles = cl.ceil_div(M, self.rows) * cl.ceil_div(N, self.config.columns)
        if cut is not None:
            whole, splits = cut
            tiles = whole + (tiles - whole) * splits
        return cl.StaticPersistentTileScheduler.create((tiles, 1))

    def place(self, index: Any, cut: Any) -> tuple[Any, Any, Any, Any]:
        """Return a tile's place, and its first and last pair of blocks of K."""
        begin, end = i32(0), i32(cl.ceil_div(K, 2 * BLOCK))
        if cut is not None:
            whole, splits = cut
            if index >= whole:
                part, pairs = (index - whole) % splits, end
                index = whole + (index - whole) // splits
                begin, end = pairs * part // splits, pairs * (part + 1) // splits
        row, column = self.corner(index, M, N)
        return row, column, begin, end

    def corner(self, index: Any, m: Any, n: Any) -> tuple[Any, Any]:
        """The first row and column of a tile of (m, n) results."""
        counts = i32(cl.ceil_div(m, self.rows)), i32(cl.ceil_div(n, self.config.columns))
        down, across, _ = cl.StaticPersistentTileScheduler(counts, self.config.swizzle, "M", index, 0).coordinate()
        return down * self.rows, across * self.config.columns

    def stage(self, ring: Any, i: int) -> Any:
        """The buffer of block `i` of a pair, 0 or 1: pairs go round a ring of half as many stages."""
        return cl.PipelineState(self.config.stages, 2 * ring.index + i, ring.phase)

    def pipes(self, together: bool) -> tuple[Any, Any]:
        """The pipelines of tiles, and of the scales of A; None for these where they come with the tiles."""
        config, threads, bytes = self.config, GROUP * self.config.groups, (self.rows + self.config.columns) * BLOCK
        if together:
            whole = bytes + 4 * self.rows
            return cl.PipelineTmaAsync.create(config.stages, whole, threads, sync=False, reads="generic"), None
        pipe = cl.PipelineTmaAsync.create(config.stages, bytes, threads, sync=False, reads="wgmma")
        return pipe, cl.PipelineCpAsync.create(config.stages, LOADERS, threads, sync=False)

    def produce(self, a: Any, b: Any, scale_a: Any, storage: Any, pipe: Any, cut: Any) -> None:
        """One thread: fill the ring, tile after tile."""
        ring, tiles = cl.PipelineState.producer(self.config.stages // 2), self.walk(cut)
        while tiles.is_valid():
            row, column, begin, end = self.place(tiles.index, cut)
            for pair in range(begin, end):
                for i in cl.static_range(2):
                    k, state = 2 * pair + i, self.stage(ring, i)
                    scales = () if scale_a is None else ((scale_a, storage.scale_a, (k, row)),)
                    operands = (a, storage.a, (row, k * BLOCK)), (b, storage.b, (column, k * BLOCK))
                    pipe.load(state, *operands, *scales)
                ring = ring.advance()
            tiles = tiles.advance()

    def bring_scales(self, scale_a: Any, storage: Any, scaled: Any, cut: Any) -> None:
        """Some warps: bring the scales of A, in step with its tiles."""
        ring, tiles = cl.PipelineState.producer(self.config.stages // 2), self.walk(cut)
        thread = cl.thread_idx.x - (GROUP - LOADERS)
        while tiles.is_valid():
            row, _, begin, end = self.place(tiles.index, cut)
            for pair in range(begin, end):
                for i in cl.static_range(2):
                    k, state = 2 * pair + i, self.stage(ring, i)
                    some = cl.where(k < KB, 4, 0)  # past the last block zeros, as TMA brings them
                    scaled.producer_acquire(state)
                    for m in cl.static_range(0, self.rows, LOADERS):
                        target = storage.scale_a.at(0, m + thread, state.index)
                        source = scale_a.at(min(k, KB - 1), min(row + m + thread, M - 1))
                        cl.cp_async(target, source, 4, src_bytes=some)
                    scaled.producer_commit(state)
                ring = ring.advance()
            tiles = tiles.advance()

    def consume(self, scales: Any, storage: Any, pipe: Any, out: Any, group: Any, to: Any, cut: Any) -> None:
        """A warpgroup: multiply what comes, scale and add it up, and write the sums."""
        S, BN = self.config.strips, self.config.columns
        (scale_b, scaled, even), ends_early = scales, S > 1
        first = group * S * ROWS + out.thread // 32 * 16 + out.thread % 32 // 4  # this thread's row of the tile
        tiles, acc = self.walk(cut), cl.wgmma.zeros_accumulator(BN)
        ring = cl.PipelineState.consumer(self.config.stages // 2)
        while tiles.is_valid():
            index = cl.make_warp_uniform(tiles.index)  # so that all that follows is in uniform registers
            row, column, begin, end = self.place(index, cut)
            what = scale_b[column // BLOCK, None], even, scaled, storage, pipe, group, first
            where = index, row, column, out, group, to, cut
            sums = tuple(cl.full((BN // 2,), 0.0, f32) for _ in range(S))
            so_far = ring, acc, sums, pipe.consumer_test_wait(self.stage(ring, 0))
            for pair in range(begin, end - 1 if ends_early else end):
                so_far = self.multiply(pair, so_far, None, *what)
            if ends_early:
                so_far = self.multiply(end - 1, so_far, where, *what)
            ring, acc, sums, _ = so_far
            tiles = tiles.advance()
            self.write(S - 1, sums[S - 1], *where)
        out.tail()

    def multiply(self, pair: Any, so_far: Any, where: Any, of_b: Any, even: bool, *what: Any) -> Any:
        """A pair of blocks of K.

        so_far   where the ring is, an accumulator whose values are not needed any more, the sums of each strip, and
                 whether the first block was seen to be there
        where    given for a tile's last ones if there are several strips: where results go, as `write` takes it. Those
                 of each strip but the last are written here, while products of the next one are under way
        """
        ring, acc, sums, seen = so_far
        states = self.stage(ring, 0), self.stage(ring, 1), self.stage(ring.advance(), 0)
        for i in cl.static_range(2):
            guarded, last = i == 1 and not even, where if i == 1 else None
            here = 2 * pair + i, guarded, states[i], states[i + 1], seen
            acc, sums, seen = self.block(*here, acc, sums, last, of_b, *what)
        return ring.advance(), acc, sums, seen

    def block(
        self, k: Any, guarded: bool, state: Any, following: Any, seen: Any, acc: Any, sums: Any, where: Any,
        of_b: Any, scaled: Any, storage: Any, pipe: Any, group: Any, first: Any,
    ) -> Any:  # fmt: skip
        """Block `k` of K: multiply each strip, scale the products and add them up; see whether what follows is there.

        guarded   whether `k` may be past the last block, where TMA brings zeros
        """
        S = self.config.strips
        pipe.consumer_wait(state, seen)
        if scaled is not None:
            scaled.consumer_wait(state)
        mine: Any = cl.local_tile(storage.a, (S * ROWS, BLOCK), (group, 0))
        scales: Any = ()  # of this thread's rows
        for i in cl.static_range(S):
            a = cl.local_tile(mine, (ROWS, BLOCK), (i, 0))[None, None, state.index]
            acc = cl.wgmma.mma_async(a, storage.b[None, None, state.index], acc, accumulate=False)
            cl.wgmma.commit_group()
            if i == 0:  # what takes no time while tensor cores multiply
                scale_b = f32(0) if guarded and k >= KB else of_b[k]
                rows = [first + strip * ROWS + 8 * half for strip in range(S) for half in range(2)]
                scales = [storage.scale_a[0, row, state.index] * scale_b for row in rows]
            if i == S - 1 and where is None:  # else it is asked anew for the next tile
                seen = pipe.consumer_test_wait(following)
            if i > 0 and where is not None:
                self.write(i - 1, sums[i - 1], *where)
            acc = cl.wgmma.wait_group(0, acc)
            if i == S - 1:
                pipe.consumer_release(state)
                if scaled is not None:
                    scaled.consumer_release(state)
            added = cl.math.fma(acc, self.spread(*scales[2 * i : 2 * i + 2]), sums[i])
            if S > 1:
                added = cl.wgmma.fence_operand(added, held=False)  # the next products want the registers of `acc`
            sums = (*sums[:i], added, *sums[i + 1 :])
        return acc, sums, seen

    def write(
        self, i: int, sums: Any, index: Any, row: Any, column: Any, out: Any, group: Any, to: Any, cut: Any
    ) -> None:
        """Results of a strip go to `d` by TMA; those of a part of a tile to memory, where others are added to them."""
        (G, S), BN, WIDE = (self.config.groups, self.config.strips), self.config.columns, self.config.piece
        d, parts = to
        strip = group * S + i
        if cut is not None and index >= cut[0]:
            cl.wgmma.partition(parts[(index - cut[0]) * G * S + strip, None, None]).store(sums)
        else:
            for j in cl.static_range(BN // WIDE):
                number = i * BN // WIDE + j  # of the piece, in all strips
                out.acquire()
                out.put(number, sums[j * WIDE // 2 : (j + 1) * WIDE // 2].to(bf16))
                out.send(number, d, (row + strip * ROWS, column + j * WIDE))

    def spread(self, upper: Any, lower: Any) -> Any:
        """Scales of a thread's two rows in the order of the accumulator: two columns of each, every 8 columns."""
        both = cl.make_rmem_tensor(f32, (2,))
        both[0], both[1] = upper, lower
        return both.view(cl.make_layout((2, 2, self.config.columns // 8), stride=(0, 1, 0))).load()


def run(config: Config, a: Any, b: Any, d: Any, scale_a: Any, strided_a: Any, scale_b: Any, strided_b: Any) -> None:
    """Launch a configuration."""
    gemm, add_up = build(replace(config, splits=1))  # one kernel for any number of parts
    blocks, strips, parts = clusters_at_once(1, d), config.groups * config.strips, None
    (m, n), k = d.shape, a.shape[1]
    whole, cut, splits = config.divided(m, n, k, blocks)
    if cut:
        parts = empty(d, (cut * splits * strips, ROWS, config.columns), "f32")
    launch = cl.Launch(min(whole + cut * splits, blocks), (1 + config.groups) * GROUP, pdl=True)
    gemm[launch](a, b, d, scale_a, strided_a, scale_b, strided_b, parts, whole, splits)
    if parts is not None:
        grid = cut, strips, ROWS * config.columns // (8 * GROUP)
        add_up[cl.Launch(grid, GROUP, pdl=True)](parts, d, whole, splits)


def ranked(configs: list[Config], a: Any, b: Any, d: Any, *scales: Any) -> list[Config]:
    """Return the configurations worth measuring, the one that should be fastest first."""
    (m, n), k = d.shape, a.shape[1]
    return fitting(configs, m, n, k, clusters_at_once(1, d))


def key_of(a: Any, b: Any, d: Any, *scales: Any) -> Hashable:
    """Return what the choice of a configuration depends on."""
    return tuple(a.shape), b.shape[0], rt.read(d).device


tuned = cl.autotune(CONFIGS, key=("a", "b", "scale_a"), prune=ranked)(run)
picks = Picks(tuned, key_of, lambda *given: ranked(CONFIGS, *given)[0])


Choice = Config | Literal["tuned"] | None
"""The argument `config`."""


@planned_whole()
@underived()
@takes_jax(traced="gemm.on_jax_special.scaled_blocks")
def gemm(a: Any, b: Any, scale_a: Any, scale_b: Any, out: Any = None, *, config: Choice = None) -> Any:
    """``(a * scale_a) @ (b * scale_b).T``, with scales spread over their blocks; returns `out`.

    a, b     (M, K) and (N, K), e4m3, contiguous along K; K a multiple of 16, for TMA
    scale_a  (M, ceil(K / 128)), f32, of any strides; fastest contiguous along M, columns a multiple of 16
             bytes apart: TMA brings them
    scale_b  (ceil(N / 128), ceil(K / 128)), f32, of any strides; faster contiguous along K,
             and where these are an even number
    out      (M, N), bf16, contiguous along N, a multiple of 8; made if it is not given
    config   None: the fastest by a model; 'tuned': the fastest, measured at the first call for such shapes
    Arrays   of torch, CuPy and JAX on a GPU, of NumPy in the simulator; torch's may be fake, or under `torch.compile`
    Errors   ValueError for scales of another shape, and what TMA refuses (`cutelite.ArgumentError`)
    """
    if (found := by_operator("scaled_blocks", out, (a, b, scale_a, scale_b))) is not None:
        return found
    return multiply(a, b, scale_a, scale_b, out, config)


@untraced
@planned
def multiply(a: Any, b: Any, scale_a: Any, scale_b: Any, out: Any = None, config: Choice = None) -> Any:
    """Compute `gemm` of real arrays."""
    out = checked(a, b, scale_a, scale_b, out)
    if has_tensor_memory(out):
        from cutelite.kernels.blackwell import call as blackwell

        check_for_hopper("on GPUs with tensor memory it is chosen (docs/blackwell.md)", config=config)
        return blackwell.gemm_fp8_block(a, b, scale_a, scale_b, out)
    of_k = scale_a.shape[1]
    if left_out() or 0 in out.shape:
        return out
    if not of_k:
        out[...] = 0
        return out
    of_a = (scale_a.T, None) if by_tma(scale_a) else (None, scale_a.T)
    pairs = rt.read(scale_b).strides[1] == 1 and of_k % 2 == 0
    of_b = (scale_b, None) if pairs else (None, scale_b)
    a, b, held = packed_rows(a), packed_rows(b), place_for(out)
    given = a, b, held, *of_a, *of_b
    run(picks.take(config, *given), *given)
    return moved(held, out)


def checked(a: Any, b: Any, scale_a: Any, scale_b: Any, out: Any) -> Any:
    """Check the arrays of `gemm`, and return `out`, made where there is none. Errors: `ArrayError`."""
    given = Arguments()
    given.array("a", a, "e4m3", "M K", rows=True)
    given.array("b", b, "e4m3", "N K", rows=True)
    (m, k), n = a.shape, b.shape[0]
    of_k, of_n = -(-k // BLOCK), -(-n // BLOCK)
    given.array("scale_a", scale_a, "f32", (m, of_k), why=": M and K / 128 of a")
    given.array("scale_b", scale_b, "f32", (of_n, of_k), why=": N / 128 and K / 128 of b")
    out = given.result(out, a, "bf16", "M N", rows=True)
    if k % 16 or n % 8:
        raise ArrayError(f"a has {k} columns and b {n} rows: TMA reads multiples of 16, and writes multiples of 8")
    return out


def by_tma(scale_a: Any) -> bool:
    """Tell whether TMA can bring scales of A: contiguous along M, columns a multiple of 16 bytes apart."""
    scales = rt.read(scale_a)
    return bool(scales.strides[0] == 1 and scales.strides[1] % 4 == 0 and scales.pointer % 16 == 0)


def reference(a: Any, b: Any, scale_a: Any, scale_b: Any) -> Any:
    """Compute the result of `gemm` in f64, of NumPy arrays."""
    wide = [np.asarray(x).astype(np.float64) for x in (a, b, scale_a, scale_b)]
    (n, k), of_b = wide[1].shape, wide[3].repeat(BLOCK, 0)
    return (wide[0] * wide[2].repeat(BLOCK, 1)[:, :k]) @ (wide[1] * of_b[:n].repeat(BLOCK, 1)[:, :k]).T
