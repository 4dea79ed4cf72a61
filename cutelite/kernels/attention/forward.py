"""The forward kernel: o = softmax(scale * q @ k.T) @ v, and the logsumexp of the scores.

A block is one warpgroup that loads, by TMA, and two or three that compute 64 rows of queries each. While a warpgroup
computes the softmax of a block of keys, its product of the block before with the values is under way, and the products
of the other warpgroups. Blocks of keys are taken from the last to the first; powers are of 2.

docs/attention.md says why what is computed is exact.
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import Smem, Tensor, TmaTensor, f32, i32

B, H, HK, SQ, SK = cl.dims("B H HK SQ SK")
GROUP = 128  # threads of a warpgroup
ROWS = 64  # of a warpgroup
BOX = 64  # columns: a swizzled row of 128 bytes
INF = float("inf")
GROWN = 2.0**14  # by so much may powers of a block sum up, before they are taken anew
LAZY = 8.0  # sums are rescaled when a greatest score has grown by so many powers of 2
REDONE = 2  # blocks of a tile that are computed anew, before it guesses no more
LN2 = 0.6931471805599453


@dataclass(frozen=True)
class Config:
    """How the work is cut up.

    groups    warpgroups that compute
    columns   keys of a block
    stages    blocks of keys, and of values, that are held
    turns     warpgroups take turns at the tensor cores
    guess     powers are taken of the differences to the greatest scores of earlier blocks
    pairs     blocks without a mask are computed two by two: powers of one need no copies for those of the next
    regs      registers of a thread that loads, and of one that computes
    """

    groups: int = 2
    columns: int = 128
    stages: int = 2
    turns: bool = True
    guess: bool = False
    pairs: bool = False
    regs: tuple[int, int] = (24, 240)


def chosen(dim: int) -> Config:
    """For a tile's head dim, a multiple of 64: what was measured best (docs/lab/attention.md)."""
    if dim == 64:
        return Config(3, 96, guess=True, regs=(32, 160))
    if dim == 128:
        return Config(guess=True, pairs=True)
    if dim == 192:
        return Config(columns=96, turns=False)
    return Config(columns=64, turns=False, guess=True)


@dataclass(frozen=True)
class Problem:
    """What is compiled in.

    dim, dim_v     of heads: of queries and keys, and of values; multiples of 8
    left, right    whether keys may be too far before, or behind, a query's own place
    score_mod      (score, batch, head, query, key) -> score, on vectors of f32 and i32
    mask_mod       (batch, head, query, key) -> whether the query sees the key
    """

    dtype: Any
    dim: int
    dim_v: int
    left: bool = False
    right: bool = False
    score_mod: Callable[..., Any] | None = None
    mask_mod: Callable[..., Any] | None = None


@lru_cache(maxsize=256)
def build(config: Config, problem: Problem) -> Any:
    G, BN, STAGES, dtype = config.groups, config.columns, config.stages, problem.dtype
    BM = ROWS * G
    D, DV = (-(-n // BOX) * BOX for n in (problem.dim, problem.dim_v))  # TMA brings zeros beyond a head's columns
    from_registers = cl.make_tiled_mma(cl.WarpgroupMmaOp(dtype, f32, DV))
    to_shared = cl.make_tiled_copy_C(cl.make_copy_atom(cl.StMatrix8x8x16bOp(num_matrices=4), dtype), from_registers)
    Q = TmaTensor[dtype, (B, H, SQ, problem.dim), (1, 1, ROWS, BOX), (None, None, None, 1)]
    K = TmaTensor[dtype, (B, HK, SK, problem.dim), (1, 1, BN, BOX), (None, None, None, 1)]
    V = TmaTensor[dtype, (B, HK, SK, problem.dim_v), (1, 1, BN, BOX), (None, None, None, 1)]
    O = TmaTensor[dtype, (B, H, SQ, problem.dim_v), (1, 1, ROWS, BOX), (None, None, None, 1)]  # noqa: E741
    free = problem.score_mod is None and problem.mask_mod is None and not problem.left  # most blocks need no mask

    class Storage(cl.SharedStorage):
        q: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, D, G))]
        k: Smem[dtype, cl.make_smem_layout(dtype, (BN, D, STAGES))]
        v: Smem[dtype, cl.make_smem_layout(dtype, (BN, DV, STAGES))]
        if DV != D:
            o: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, DV, G))]

    @cl.kernel(block=(1 + G) * GROUP)
    def attention(
        q: Q, k: K, v: V, o: O, lse: Tensor[f32, (B, H, SQ)], scale: f32, offset: i32, left: i32, right: i32, band: i32
    ) -> None:
        """
        scale        of the products, times log2(e) where there is no `score_mod`
        offset       of the key at a query's own place; `left` keys before it and `right` behind it are seen
        band         so many heads are computed row by row, longest rows first, before the next ones
        """
        if cl.thread_idx.x == 0:
            for t in (q, k, v, o):
                cl.prefetch_tensormap(t)
        storage = Storage.allocate()
        queries = cl.PipelineTmaAsync.create(G, ROWS * D * dtype.bytes, GROUP, sync=False, reads="wgmma")
        keys = cl.PipelineTmaAsync.create(STAGES, BN * D * dtype.bytes, G * GROUP, sync=False, reads="wgmma")
        values = cl.PipelineTmaAsync.create(STAGES, BN * DV * dtype.bytes, G * GROUP, sync=False, reads="wgmma")
        group = cl.warpgroup_idx() - 1
        turns = cl.PipelineOrder.create(1, G, group, GROUP, sync=False) if config.turns else None
        cl.pipeline_init_sync()
        tile = place(offset, left, right, band)
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if cl.thread_idx.x == 0:
                produce(q, k, v, storage, (queries, keys, values), tile)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            consume(o, lse, (scale, offset, left, right), storage, (queries, keys, values), turns, group, tile)

    def place(offset: Any, left: Any, right: Any, band: Any) -> Any:
        """Of this block: batch, head, first row of queries, and the first and the end of the blocks of keys seen."""
        index, across, heads = cl.block_idx.x, i32(cl.ceil_div(SQ, BM)), i32(H)
        major = band * across
        part, rest = index // major, index % major
        here = min(band, i32(B) * heads - part * band)
        head, m = part * band + rest % here, rest // here
        row = (across - 1 - m if problem.right else m) * BM
        end: Any = i32(cl.ceil_div(SK, BN))
        start: Any = i32(0)
        if problem.right:
            end = min(end, max(0, row + BM + offset + right + BN - 1) // BN)
        end = max(end, 1)  # a block that nobody sees: sums are 0
        if problem.left:
            start = min(end - 1, max(0, row + offset - left) // BN)
        return head // heads, head % heads, row, start, end

    def produce(q: Any, k: Any, v: Any, storage: Any, pipes: Any, tile: Any) -> None:
        """One thread: bring queries, and keys and values from the last block to the first."""
        queries, keys, values = pipes
        batch, head, row, start, end = tile
        sq, sk, sv = queries.producer_state(), keys.producer_state(), values.producer_state()
        kv = head // i32(H // HK)

        def bring(tensor: Any, ring: Any, pipe: Any, state: Any, head: Any, row: Any) -> Any:
            pipe.producer_acquire(state)
            target = ring[None, None, state.index]
            cl.tma_load(tensor, target, at=(batch, head, row, 0), barrier=pipe.barrier(state))
            return state.advance()

        sk = bring(k, storage.k, keys, sk, kv, (end - 1) * BN)
        for g in cl.static_range(G):
            sq = bring(q, storage.q, queries, sq, head, row + g * ROWS)
        for i in range(1, end - start):
            sk = bring(k, storage.k, keys, sk, kv, (end - 1 - i) * BN)
            sv = bring(v, storage.v, values, sv, kv, (end - i) * BN)
        bring(v, storage.v, values, sv, kv, start * BN)

    def consume(o: Any, lse: Any, numbers: Any, storage: Any, pipes: Any, turns: Any, group: Any, tile: Any) -> None:
        """A warpgroup: the outcome for its 64 rows."""
        (queries, keys, values), (batch, head, first, start, end) = pipes, tile
        scale, offset, left, right = numbers
        unit = scale if problem.score_mod is None else 1.4426950408889634  # from scores to powers of 2
        sq, sk, sv = cl.PipelineState(G, group, 0), keys.consumer_state(), values.consumer_state()
        thread, row = cl.thread_idx.x % GROUP, first + group * ROWS
        mine, vt = storage.q[None, None, group], cl.select(storage.v, (1, 0, 2))
        result = mine if DV == D else storage.o[None, None, group]
        spots = cl.wgmma.coordinates(8)
        halves, place_in_row = (spots[0][0], spots[2][0]), spots[0][1]  # of a thread: its two rows, its first column

        def scores(s: Any, j: Any, masked: bool) -> Any:
            """Scores of block j as `score_mod` has them, -inf where a query does not see the key: (2, 2, BN / 8)."""
            s = s.reshape((2, 2, BN // 8))
            if masked or not free:
                rows, columns = cl.make_rmem_tensor(i32, (2,)), cl.make_rmem_tensor(i32, (2, BN // 8))
                for i in cl.static_range(2):
                    rows[i] = row + halves[i]
                for i in cl.static_range(BN // 4):
                    columns[i] = i // 2 * 8 + i % 2
                column, base = columns.load().reshape((2, 1, BN // 8)), j * BN + place_in_row
                at, key = rows.load().reshape((1, 2, 1)), column + base
                if problem.score_mod is not None:
                    s = problem.score_mod(s * scale, batch, head, at, key)
                end = cl.full((2,), i32(SK) - base, i32).reshape((1, 2, 1))
                if problem.right:
                    end = min(end, at + (offset + right + 1 - base))
                sees = column < end
                if problem.left:
                    sees = sees & (column >= at + (offset - left - base))
                if problem.mask_mod is not None:
                    sees = sees & problem.mask_mod(batch, head, at, key)
                s = cl.where(sees, s, -INF)
            return s

        def softmax(s: Any, top: Any, total: Any) -> Any:
            """Powers of scores, the greatest score and the sum so far, and by what earlier sums are multiplied."""
            best = s.reduce("max", (0, 2))
            for distance in (1, 2):
                best = max(best, cl.shuffle_xor(best, distance))
            if top is not None:
                best = max(best, top)
                best = cl.where((best - top) * unit <= LAZY, top, best)
            base = cl.where(best == -INF, 0.0, best * unit)
            p = cl.math.exp2(s * unit - base.reshape((1, 2, 1)), fast=True)
            sums = p.reduce("sum", (0, 2))
            if top is None:
                return p.reshape((BN // 2,)).to(dtype), best, sums, None
            ratio = cl.math.exp2(top * unit - base, fast=True)
            return p.reshape((BN // 2,)).to(dtype), best, total * ratio + sums, ratio

        def powers(s: Any, top: Any, total: Any, redone: Any) -> Any:
            """As `softmax`; and whether earlier sums must be rescaled, how often powers have been taken anew.

            Powers are first taken of differences to `top`, the greatest scores of earlier blocks. Their sums show
            whether they fit; they are NaN where nothing was seen before.
            """
            p, now, ratio, moved = cl.full((BN // 2,), 0.0, dtype), total, cl.full((2,), 1.0, f32), redone >= REDONE
            if config.guess and redone < REDONE:
                q = cl.math.exp2(s * unit - (top * unit).reshape((1, 2, 1)), fast=True)
                sums = q.reduce("sum", (0, 2))
                p, now = q.reshape((BN // 2,)).to(dtype), total + sums
                moved = not cl.vote_all((sums[0] <= GROWN) & (sums[1] <= GROWN))
            if not config.guess or moved:
                p, top, now, ratio = softmax(s, top, total)
                moved, redone = cl.vote_any((ratio[0] != 1.0) | (ratio[1] != 1.0)), redone + 1
            return p, top, now, ratio, moved, redone

        def scaled(acc: Any, ratio: Any) -> Any:
            return (acc.reshape((2, 2, DV // 8)) * ratio.reshape((1, 2, 1))).reshape((DV // 2,))

        def step(j: Any, so_far: Any, masked: bool) -> Any:
            """Scores of block j and their powers, while those of block j + 1 are multiplied with its values."""
            p, out, top, total, redone, sk, sv, turns = so_far
            keys.consumer_wait(sk)
            if turns is not None:
                turns.wait()
            s = cl.wgmma.zeros_accumulator(BN)
            s = cl.wgmma.mma_async(mine, storage.k[None, None, sk.index], s, accumulate=False)
            cl.wgmma.commit_group()
            values.consumer_wait(sv)
            out = cl.wgmma.mma_async(p, vt[None, None, sv.index], out)
            cl.wgmma.commit_group()
            if turns is not None:
                turns = turns.arrive()
            s, out = cl.wgmma.wait_group(1, s, keep=out)
            keys.consumer_release(sk)
            p, top, total, ratio, moved, redone = powers(scores(s, j, masked), top, total, redone)
            out, p, total = cl.wgmma.wait_group(0, out, after=(p, total))
            values.consumer_release(sv)
            if moved:
                out = scaled(out, ratio)
            return p, out, top, total, redone, sk.advance(), sv.advance(), turns

        queries.consumer_wait(sq)
        keys.consumer_wait(sk)
        s = cl.wgmma.mma_async(mine, storage.k[None, None, sk.index], cl.wgmma.zeros_accumulator(BN), accumulate=False)
        cl.wgmma.commit_group()
        s = cl.wgmma.wait_group(0, s)
        keys.consumer_release(sk)
        p, top, total, _ = softmax(scores(s, end - 1, True), None, None)
        so_far = p, cl.wgmma.zeros_accumulator(DV), top, total, i32(0), sk.advance(), sv, turns
        clear = end - 1 - start if free else i32(0)  # blocks that all rows see as a whole
        if free and problem.right:
            clear = max(0, min(clear, (first + offset + right + 1) // BN))
        for i in range(end - 1 - start - clear):
            so_far = step(end - 2 - i, so_far, True)
        if config.pairs:
            if clear % 2 == 1:
                so_far = step(start + clear - 1, so_far, False)
            for i in range(clear // 2):
                so_far = step(start + clear // 2 * 2 - 1 - 2 * i, so_far, False)
                so_far = step(start + clear // 2 * 2 - 2 - 2 * i, so_far, False)
        else:
            for i in range(clear):
                so_far = step(start + clear - 1 - i, so_far, False)
        p, out, top, total, _, _, sv, _ = so_far
        values.consumer_wait(sv)
        out = cl.wgmma.mma_async(p, vt[None, None, sv.index], out)
        cl.wgmma.commit_group()
        out = cl.wgmma.wait_group(0, out)

        for distance in (1, 2):
            total = total + cl.shuffle_xor(total, distance)
        inverse = cl.where(total == 0.0, 0.0, cl.math.rcp(total, fast=True))
        sums = cl.where(total == 0.0, -INF, (top * unit + cl.math.log2(total, fast=True)) * LN2)
        sums = cl.where(top == INF, INF, sums)
        for i in cl.static_range(2):
            if place_in_row == 0 and row + halves[i] < SQ:
                lse[batch, head, row + halves[i]] = sums[i]
        held, put = cl.make_rmem_tensor(dtype, (DV // 2,)), to_shared.get_slice(thread)
        held.store(scaled(out, inverse).to(dtype))
        together = cl.NamedBarrier(1 + group, GROUP)
        cl.copy(to_shared, put.retile(held.view(cl.make_layout(((2, 2, DV // 8), 1, 1)))), put.partition_D(result))
        cl.fence_proxy_async("shared::cta")
        together.sync()
        if thread == 0:
            cl.tma_store(result, o, at=(batch, head, row, 0))
            cl.cp_async_bulk_commit_group()
            cl.cp_async_bulk_wait_group(0, read=True)

    return attention
