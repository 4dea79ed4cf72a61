"""Attention forward on Blackwell: o = softmax(scale * q @ k.T) @ v, and the logsumexp of the scores.

No card has run it: simulated, checked, assembled (docs/blackwell.md). A block computes two tiles of 128 queries each:

    warp 12           brings queries, keys and values by TMA
    warp 13           starts the products: scores of one tile, then powers times values of the other
    warpgroups 0, 1   a softmax each: a row of scores to a thread, from tensor memory and back there as powers
    warpgroup 2       corrects: multiplies sums of products where scores have outgrown those before; writes the results

Powers lie where their scores lay. Blocks of keys are processed from the last to the first, and a power is taken of the
difference to the greatest score of earlier blocks; where that was outgrown, the block is taken again (`OnlineSoftmax`).
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import Smem, Tensor, TmaTensor, f32, i32
from cutelite.kernels.attention.blocks import tables_of
from cutelite.kernels.attention.plans import OfProblem
from cutelite.kernels.attention.scores import BOX, GROUP, INF, Problem, Sight, modified
from cutelite.kernels.attention.tiles import SK, SQ, B, Given, H, Tile, Tiles
from cutelite.lib.pipelines import barriers, warp_arrives
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

HK = cl.dims("HK")
ROWS, COLUMNS, TILES = 128, 128, 2  # queries of a tile, keys of a block, tiles of a block of threads
THREADS = 4 * GROUP
CORRECTION, PRODUCER, MULTIPLIER = 2, 12, 13  # the number of a warpgroup, and of two warps
OUT = 32  # columns of results that are stored together
PIECE = 16  # columns of sums that are corrected together
REGISTERS = 208, 48, 48  # of threads that compute a softmax, that correct, and of the others


@dataclass(frozen=True)
class Config:
    """A configuration of the kernel.

    stages  blocks of keys, and of values, in shared memory
    guess   subtract the greatest scores of earlier blocks in the exponent (`cl.OnlineSoftmax`)
    """

    stages: int = 2
    guess: bool = True


class Signals(NamedTuple):
    """Rings of keys and values, and barriers that threads wait for, one for each tile.

    queries  a `Fetch`: they have come
    keys     a ring that TMA fills and products empty; `values` likewise
    scores   a product is over, and those before it
    powers   a softmax has written them, and the sums are corrected
    ratios   a softmax has told by what sums are multiplied before the next product
    sums     a tile's last product is over, and its softmax has told by what sums are multiplied at the end
    """

    queries: Any
    keys: Any
    values: Any
    scores: Any
    powers: Any
    ratios: Any
    sums: Any


@dataclass(frozen=True)
class Plan(OfProblem):
    """The sizes that follow from a configuration and a problem, and the code of the kernel's threads."""

    config: Config
    problem: Problem
    arrays: bool = False

    @property
    def tiles(self) -> Tiles:
        """The places of blocks."""
        return Tiles(self.problem, TILES * ROWS, COLUMNS)

    def signals(self) -> Signals:
        """Make the barriers; one of the block must follow. Who: all threads."""
        bytes, stages = self.problem.dtype.bytes, self.config.stages
        rings = (cl.PipelineTmaUmma.create(stages, COLUMNS * wide * bytes, sync=False) for wide in self.dims)
        warps = GROUP // 32
        arrivals = 1, 2 * warps, warps, 1 + warps
        return Signals(cl.Fetch.create((TILES,)), *rings, *(barriers(TILES, count) for count in arrivals))

    def parts(self, tmem: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Scores, powers and sums of both tiles, in tensor memory."""
        layout, wide = cl.tcgen05.lanes_layout(ROWS, COLUMNS, self.problem.dtype), self.dims[1]
        scores = [tmem.tensor(ROWS, COLUMNS, column=COLUMNS * t) for t in range(TILES)]
        powers = [tmem.view(layout, self.problem.dtype, COLUMNS * t) for t in range(TILES)]
        return scores, powers, [tmem.tensor(ROWS, wide, column=TILES * COLUMNS + wide * t) for t in range(TILES)]

    def produce(self, arrays: Any, storage: Any, signals: Signals, tile: Tile) -> None:
        """Load queries, and keys and values from the last block to the first. Who: one thread."""
        (q, k, v), kv, count = arrays, tile.head // i32(H // HK), tile.end - tile.start
        of_keys, of_values = signals.keys.producer_state(), signals.values.producer_state()
        for t in cl.static_range(TILES):
            signals.queries.start(t, [(q, storage.q[None, None, t], (tile.batch, tile.head, tile.row + t * ROWS, 0))])
        for i in range(count):
            at = tile.batch, kv, (tile.end - 1 - i) * COLUMNS, 0
            of_keys = signals.keys.load(of_keys, (k, storage.k, at))
            of_values = signals.values.load(of_values, (v, storage.v, at))

    def multiply(self, tmem: Any, storage: Any, signals: Signals, tile: Tile) -> None:
        """Start all products, of both tiles in turn. Who: one thread."""
        scores, powers, sums = self.parts(tmem)
        of_keys, of_values = signals.keys.consumer_state(), signals.values.consumer_state()
        count, values = tile.end - tile.start, cl.select(storage.v, (1, 0, 2))
        signals.keys.consumer_wait(of_keys)
        for t in cl.static_range(TILES):
            signals.queries.wait(t, 0)
            self.score(scores, t, storage, signals, of_keys)
        signals.keys.consumer_release(of_keys)
        of_keys = of_keys.advance()
        for i in range(count):
            signals.values.consumer_wait(of_values)
            if i + 1 < count:
                signals.keys.consumer_wait(of_keys)
            for t in cl.static_range(TILES):
                signals.powers[t].wait(i & 1)
                cl.tcgen05.fence_after_thread_sync()
                cl.tcgen05.mma(sums[t], powers[t], values[None, None, of_values.index], accumulate=i > 0)
                if i + 1 < count:  # behind the product before, which reads the powers there
                    self.score(scores, t, storage, signals, of_keys)
                else:
                    cl.tcgen05.commit(signals.sums[t])
            if i + 1 < count:  # behind the last commit that others wait for, the block may have ended
                signals.values.consumer_release(of_values)
                signals.keys.consumer_release(of_keys)
                of_values, of_keys = of_values.advance(), of_keys.advance()

    def score(self, scores: Any, t: int, storage: Any, signals: Signals, of_keys: Any) -> None:
        """Start the product of a tile's queries and a block of keys."""
        q, k = storage.q[None, None, t], storage.k[None, None, of_keys.index]
        cl.tcgen05.mma(scores[t], q, k, accumulate=False)
        cl.tcgen05.commit(signals.scores[t])

    def soften(
        self, tmem: Any, storage: Any, signals: Signals, given: Given, tile: Tile, sinks: Any, lse: Any, t: Any
    ) -> None:
        """Compute the softmax of tile `t`, a row to each thread. Who: a warpgroup."""
        row = tile.row + t * ROWS + cl.thread_idx.x % GROUP
        low, high = self.tiles.clear(tile, given)
        nothing = cl.full((1,), -INF, f32), cl.full((1,), 0.0, f32), i32(0)
        softmax = cl.OnlineSoftmax(self.problem.unit(given.scale), self.problem.dtype, False, *nothing, rows=1)

        def step(number: Any, softmax: Any, masked: bool) -> Any:
            signals.scores[t].wait(number & 1)
            cl.tcgen05.fence_after_thread_sync()

            def scores() -> Any:
                # unknown to LLVM, which else keeps what a mod computes, for when it is computed again or one block on
                j = cl.make_warp_uniform(tile.end - 1 - number)
                return self.modified(self.read(tmem, t), j, tile, given, row, masked)

            guess = self.config.guess and not masked  # few blocks have masks: their code is kept small
            p, after, ratio, _ = replace(softmax, guess=guess).step(scores(), scores)
            if number > 0:  # the ratio before was read: powers were multiplied behind that, and scores behind those
                self.tell(ratio[0], storage.ratios, signals.ratios, t)
            cl.tcgen05.store(self.scores_at(tmem, t, self.problem.dtype), p)
            cl.tcgen05.wait_store()
            cl.tcgen05.fence_before_thread_sync()
            warp_arrives(signals.powers[t])
            return replace(softmax, top=after.top, total=after.total, redone=after.redone if guess else softmax.redone)

        # blocks before those without masks, and with them; in uniform registers, others are scarce
        unseen, seen = (cl.make_warp_uniform(tile.end - block) for block in (high, low))
        for number in range(unseen):
            softmax = step(number, softmax, True)
        for number in range(unseen, seen):
            softmax = step(number, softmax, False)
        if self.problem.left:
            for number in range(seen, tile.end - tile.start):
                softmax = step(number, softmax, True)
        inverse, sums = softmax.finish(None if sinks is None else sinks[tile.head])
        self.tell(inverse[0], storage.inverses, signals.sums, t)  # the last ratio may not have been read yet
        if row < SQ:
            lse[tile.batch, tile.head, row] = sums[0]

    def tell(self, ratio: Any, to: Any, told: Any, t: Any) -> None:
        """Tell the correction by what a row's sums are to be multiplied."""
        to[cl.thread_idx.x % GROUP, t] = ratio
        warp_arrives(told[t])

    def read(self, tmem: Any, t: Any) -> Any:
        """Return this thread's row of the scores of tile `t`, by two loads, which ptxas finds registers for."""
        tile, held = self.scores_at(tmem, t, f32), cl.make_rmem_tensor(f32, (COLUMNS // 2, 2))
        halves = [cl.tcgen05.load(tile.tile((ROWS, COLUMNS // 2), (0, i))) for i in range(2)]
        for i, half in enumerate(cl.tcgen05.wait_load(*halves)):
            held[None, i].store(half)
        return held.load().reshape((COLUMNS,))

    def scores_at(self, tmem: Any, t: Any, dtype: Any) -> Any:
        """Return the scores or, in their dtype, the powers of a tile whose number is known at run time."""
        layout = cl.tcgen05.lanes_layout(ROWS, COLUMNS, dtype)
        return cl.tcgen05.tensor(tmem.slot[0] + (t * COLUMNS).to(cl.u32), layout, dtype)

    def correct(self, tmem: Any, storage: Any, signals: Signals, tile: Tile, o: Any) -> None:
        """Multiply sums by what softmaxes say, and write the results at the end. Who: a warpgroup."""
        _, _, sums = self.parts(tmem)
        thread, pieces, count = cl.thread_idx.x % GROUP, self.dims[1] // OUT, tile.end - tile.start
        for i in range(count):
            for t in cl.static_range(TILES):
                if i > 0:
                    signals.ratios[t].wait(1 - i & 1)  # the product before is over: the softmax has seen later scores
                    cl.tcgen05.fence_after_thread_sync()
                    ratio = storage.ratios[thread, t]
                    if cl.vote_any(ratio != 1.0):
                        for j in cl.static_range(self.dims[1] // PIECE):
                            part = sums[t].tile((ROWS, PIECE), (0, j))
                            cl.tcgen05.store(part, cl.tcgen05.wait_load(cl.tcgen05.load(part)) * ratio)
                        cl.tcgen05.wait_store()
                        cl.tcgen05.fence_before_thread_sync()
                warp_arrives(signals.powers[t])
        out = cl.RowRing.create(storage.o, thread, cl.NamedBarrier(1, GROUP))
        for t in cl.static_range(TILES):
            signals.sums[t].wait(0)
            cl.tcgen05.fence_after_thread_sync()
            inverse = storage.inverses[thread, t]
            for j in cl.static_range(pieces):
                held = cl.make_rmem_tensor(self.problem.dtype, (PIECE, OUT // PIECE))
                for i in cl.static_range(OUT // PIECE):
                    part = sums[t].tile((ROWS, PIECE), (0, j * (OUT // PIECE) + i))
                    x = cl.tcgen05.wait_load(cl.tcgen05.load(part)) * inverse
                    held[None, i].store(x.to(self.problem.dtype))
                out.acquire()
                out.put(t * pieces + j, held.load().reshape((OUT,)))
                out.send(t * pieces + j, o, (tile.batch, tile.head, tile.row + t * ROWS, j * OUT))
        out.tail()

    def modified(self, s: Any, j: Any, tile: Tile, given: Given, row: Any, masked: bool) -> Any:
        """Return the scores of block j after mods and masks."""
        if not self.problem.modifies and not masked:
            return s
        at = cl.full((1,), row, i32).reshape((1, 1, 1))
        queries = i32(SQ) if self.arrays else None
        sight = Sight(at, j * COLUMNS, queries, i32(SK), given.offset, given.left, given.right)
        return modified(self.problem, s, given.scale, sight, tile.batch, tile.head, masked)


@lru_cache(maxsize=256)
def build(config: Config, problem: Problem) -> Any:
    """Return the kernel."""
    shaped, dtype = Plan(config, problem), problem.dtype
    TABLES, (D, DV) = tables_of(problem.score_mod, problem.mask_mod), shaped.dims

    def box(heads: Any, length: Any, dim: int, wide: int = BOX) -> Any:
        return TmaTensor[dtype, (B, heads, length, dim), (1, 1, ROWS, wide), (None, None, None, 1)]

    of_q, of_o = box(H, SQ, problem.dim), box(H, SQ, problem.dim_v, OUT)
    of_k, of_v = box(HK, SK, problem.dim), box(HK, SK, problem.dim_v)

    class Storage(cl.SharedStorage):
        q: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, D, TILES))]
        k: Smem[dtype, cl.make_smem_layout(dtype, (COLUMNS, D, config.stages))]
        v: Smem[dtype, cl.make_smem_layout(dtype, (COLUMNS, DV, config.stages))]
        o: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, OUT, 2))]
        ratios: Smem[f32, cl.make_layout((ROWS, TILES))]
        inverses: Smem[f32, cl.make_layout((ROWS, TILES))]

    @cl.kernel(block=THREADS, arch="sm_100a")
    def attention(
        q: of_q, k: of_k, v: of_v, o: of_o, lse: Tensor[f32, (B, H, SQ)], sinks: Tensor[f32, (H,)] | None,
        scale: f32, offset: i32, left: i32, right: i32, band: i32, tables: TABLES,
    ) -> None:  # fmt: skip
        """
        scale ... band  `Given` explains them
        tables          arrays that functions captured
        """
        plan = shaped.with_arrays(tables)
        storage, given, signals = Storage.allocate(), Given(scale, offset, left, right, band), plan.signals()
        tile = plan.tiles.place(i32(cl.block_idx.x), given)
        group = cl.warpgroup_idx()
        with cl.TmemAllocator.create(512, warp=MULTIPLIER) as tmem:
            if group < CORRECTION:
                cl.setmaxnreg_inc(REGISTERS[0])
                plan.soften(tmem, storage, signals, given, tile, sinks, lse, group)
            elif group == CORRECTION:
                cl.setmaxnreg_dec(REGISTERS[1])
                plan.correct(tmem, storage, signals, tile, o)
            else:
                cl.setmaxnreg_dec(REGISTERS[2])
                warp = cl.make_warp_uniform(cl.thread_idx.x // 32)
                if warp == PRODUCER and cl.elect_one():
                    plan.produce((q, k, v), storage, signals, tile)
                if warp == MULTIPLIER and cl.elect_one():
                    plan.multiply(tmem, storage, signals, tile)

    return attention
