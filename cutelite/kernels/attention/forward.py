"""The forward kernel: o = softmax(scale * q @ k.T) @ v, and the logsumexp of the scores.

A block of threads is one warpgroup that loads by TMA, and two or three that compute 64 rows of queries each. It
takes tiles of queries until none is left. While a warpgroup computes the softmax of one block of keys, the tensor cores
multiply its powers of the block before with the values, and compute the products of the other warpgroups. Blocks of
keys are processed from the last to the first. Exponentials are powers of 2.

docs/how-attention-is-computed.md says why the result is exact.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import Smem, Tensor, f32, i32
from cutelite.kernels.attention.blocks import KB, MB, MH, QB, tables_of
from cutelite.kernels.attention.gaps import clear_behind, idle
from cutelite.kernels.attention.here import Here, Result, States
from cutelite.kernels.attention.model import Config
from cutelite.kernels.attention.powers import OfScores
from cutelite.kernels.attention.relative import LANES, Terms, read_terms, release_terms
from cutelite.kernels.attention.scores import BOX, GROUP, ROWS, Added, Problem
from cutelite.kernels.attention.tiles import ENDS, SK, SQ, B, Given, H, Tile
from cutelite.records import dataclass, fact

HK, OB, OH, OS = cl.dims("HK OB:2 OH:2 OS:2")


@dataclass(frozen=True)
class Plan(OfScores):
    """The sizes that follow from a configuration and a problem, and the code of the kernel's threads."""

    config: Config
    problem: Problem
    arrays: bool = False

    @fact
    def piece(self) -> tuple[int, int]:
        """The columns of the output that one TMA copy stores, and the buffers of that size of a warpgroup."""
        return (self.dims[1], 1) if self.dims[1] <= 128 else (BOX, 2)

    def produce(self, q: Any, k: Any, v: Any, here: Here, tiles: Any) -> None:
        """Load queries, and keys and values from the last block to the first, tile after tile. Who: one thread."""
        storage = here.storage
        sq, sk, tiles = cl.PipelineState.producer(self.config.queries), here.keys.producer_state(), tiles.begin()
        while tiles.is_valid():
            tile = tiles.place
            _, batch, row, _, first, _ = self.tiles.sequence(tile)
            kv, row = tile.head // i32(H // HK), row + tile.row
            key = first + self.tiles.key(tile.end - 1, tile, here.listed)
            if not self.problem.ragged or tile.end > 0:
                sk = here.keys.load(sk, (k, storage.k, (batch, kv, key, 0)))
                for g in cl.static_range(self.config.groups):
                    here.queries.load(self.own(sq, g), (q, storage.q, (batch, tile.head, row + g * ROWS, 0)))
                sq = sq.advance()
                for i in range(1, tile.end - tile.start):
                    following = first + self.tiles.key(tile.end - 1 - i, tile, here.listed)
                    sk = here.keys.load(sk, (k, storage.k, (batch, kv, following, 0)))
                    here.values.load(sk.advance(-2), (v, storage.v, (batch, kv, key, 0)))
                    key = following
            ticket = tiles.take()  # not earlier: the next tile would wait for this one while other blocks are free
            if not self.problem.ragged or tile.end > 0:
                here.values.load(sk.advance(-1), (v, storage.v, (batch, kv, key, 0)))
            tiles = tiles.tell(ticket)

    def own(self, state: Any, group: Any) -> Any:
        """Return the place of a warpgroup's queries in their pipeline, from that of the tile."""
        groups = self.config.groups
        return cl.PipelineState(groups * self.config.queries, state.index * groups + group, state.phase)

    def consume(self, result: Result, here: Here, tiles: Any, order: Any) -> None:
        """Compute and write the results of 64 rows of each tile. Who: a warpgroup."""
        (wide, buffers), group, thread = self.piece, here.group, cl.thread_idx.x % GROUP
        pieces = cl.local_tile(here.storage.o, (ROWS, wide, buffers), (0, 0, group))
        op, queries = cl.WarpgroupMmaOp(self.problem.dtype, f32, wide), cl.PipelineState.consumer(self.config.queries)
        ring = cl.ResultRing.create(pieces, op, thread, cl.NamedBarrier(1 + group, GROUP))
        terms = None if here.terms is None else here.terms.pipe.consumer_state()
        states = States(here.keys.consumer_state(), order, terms)
        tiles = tiles.advance()
        while tiles.is_valid():
            tile = tiles.place
            if not self.problem.ragged or tile.end > 0:
                at = here._replace(tile=tile, turn=self.own(queries, group))
                here.queries.consumer_wait(at.turn)
                if self.config.groups == 1 or tile.row + group * ROWS < self.tiles.sequence(tile).queries:
                    out, softmax, states = (self.masked_then_clear if self.masked_first else self.by_runs)(states, at)
                    result.write(self, out, softmax, ring, at)
                else:
                    states = idle(self, states, at)
                queries = queries.advance()
            tiles = tiles.advance()
        ring.tail()

    def product(self, p: Any, out: Any, states: States, here: Here, seen: Any = False) -> Any:
        """Start adding the product of powers and the next block of values, which were `seen` to be there or not."""
        state = states.keys.advance(-1)
        here.values.consumer_wait(state, seen)
        out = cl.wgmma.mma_async(self.rounded(p), self.values(here, state), out)
        cl.wgmma.commit_group()
        return out

    def values(self, here: Here, state: Any) -> Any:
        """Return a block of values as operand B, (columns, keys)."""
        return cl.select(here.storage.v, (1, 0, 2))[None, None, state.index]

    def last(self, p: Any, out: Any, states: States, here: Here) -> Any:
        """Return the accumulator with the product of powers and the values behind which nothing was started yet."""
        out = cl.wgmma.wait_group(0, self.product(p, out, states, here))
        here.values.consumer_release(states.keys.advance(-1))
        return out

    def by_runs(self, states: States, here: Here) -> Any:
        """Return a tile's sums of products with values, its softmax, and the states behind it."""
        p, softmax, states, long = self.begin(states, here)
        so_far, end = (p, cl.wgmma.zeros_accumulator(self.dims[1]), softmax, states), here.tile.end - 1
        low, high = self.tiles.clear(here.tile, here.given)
        for first, masked in self.runs(here.tile, low, high, long):
            so_far, end = self.run(first, end, so_far, masked, here, long), first
        p, out, softmax, states = so_far
        here.queries.consumer_release(here.turn)
        return self.last(p, out, states, here), softmax, states

    def masked_then_clear(self, states: States, here: Here) -> Any:
        """Return what `by_runs` does, under a causal mask: masked blocks one by one, then a run of the others.

        Most tiles have one masked block, with which nothing overlaps in any case. So both products, and powers, have
        one text each for masked and for clear blocks.
        """
        tile, (low, high) = here.tile, self.tiles.clear(here.tile, here.given)
        out, softmax, j = cl.wgmma.zeros_accumulator(self.dims[1]), self.nothing(here), tile.end - 1
        while j >= low:
            here.keys.consumer_wait(states.keys)
            s = cl.wgmma.wait_group(0, self.scores(None, states, here))
            here.keys.consumer_release(states.keys)
            if j == tile.end - 1:
                clear_behind(self, states.keys, here)
            states = states._replace(keys=states.keys.advance())
            p, softmax, ratio, moved = self.anew(s, softmax, j, here)
            if ratio is not None and moved & (j < tile.end - 1):
                out = cl.scale_rows(out, ratio)
            if j == high:
                p, out, softmax, states = self.run(low, j, (p, out, softmax, states), False, here)
                j = low
            if j == low:
                here.queries.consumer_release(here.turn)
            out = self.last(p, out, states, here)
            j -= 1
        return out, softmax, states

    def alone(self, here: Here) -> Any:
        """Return how many of a tile's blocks behind the first are computed without turns; None: all take turns."""
        return here.tile.end - 1 - self.tiles.clear(here.tile, here.given)[1] if self.masked_first else None

    def begin(self, states: States, here: Here) -> Any:
        """Return the powers of a tile's first block, with which nothing overlaps, and whether a function is `long`.

        There is one that is more than `Added`: one text serves for all further blocks, and a branch for masks.
        """
        here.keys.consumer_wait(states.keys)
        added, states = self.added(here.tile.end - 1, states, here)
        s = self.scores(added, states, here)
        added = read_terms(added, None, states, here)
        s = cl.wgmma.wait_group(0, s)
        here.keys.consumer_release(states.keys)
        clear_behind(self, states.keys, here)
        p, softmax = self.first(s, added, here)
        states, long = release_terms(states, here), added is None and self.problem.score_mod is not None
        return p, softmax, states._replace(keys=states.keys.advance()), long

    def scores(self, added: Added | None, states: States, here: Here) -> Any:
        """Start the product of queries and the next block of keys, and what is added to it."""
        q, k = here.storage.q[None, None, here.turn.index], here.storage.k[None, None, states.keys.index]
        if added is None or added.start is None:
            s = cl.wgmma.mma_async(q, k, cl.wgmma.zeros_accumulator(self.config.columns), accumulate=False)
        else:
            s = cl.wgmma.mma_async(q, k, added.start.reshape((self.config.columns // 2,)))
        cl.wgmma.commit_group()
        return s

    def runs(self, tile: Tile, low: Any, high: Any, long: bool) -> list[tuple[Any, Any]]:
        """Return runs of a tile's blocks, each with its first block, and whether they have masks, or which have none.

        A branch in each step is felt at head dim 64, by up to 0.7% of 16k keys, and a cap has other code for masks.
        """
        if not self.tiles.masks:
            return [(tile.start, False)]
        if long or (not self.capped and self.dims[0] > BOX):
            return [(tile.start, (low, high))]
        return [(high, True), (low, False), *([(tile.start, True)] if self.problem.left else [])]

    def run(self, first: Any, end: Any, so_far: Any, masked: Any, here: Here, long: bool = False) -> Any:
        """Process blocks from the one before `end` to `first`. Powers of the last one are left to be multiplied.

        masked  whether they have masks; or the first block that has none, and the one behind the last of these
        """
        left = end - first
        while left != 0:
            left -= 1
            so_far = self.step(first + left, so_far, masked, here)
            if self.config.pairs and not (self.late or long or masked is True):  # by two: powers are not copied
                if left == 0:
                    so_far = cl.wgmma.fence_operand(so_far[0]), *so_far[1:]  # copies are made behind the branch
                    break
                left -= 1
                so_far = self.step(first + left, so_far, masked, here)
        return so_far

    def step(self, j: Any, so_far: Any, masked: Any, here: Here) -> Any:
        """Start the products of block j and of the powers before, and return what follows: `so_far` behind it."""
        p, out, softmax, states = so_far
        masked = masked if isinstance(masked, bool) else (j >= masked[1]) | (j < masked[0])
        added, states = self.added(j, states, here)
        keys = here.keys.consumer_test_wait(states.keys)
        values = here.values.consumer_test_wait(states.keys.advance(-1))
        if states.order is not None:  # asked at once, all three barriers answer at once
            states.order.wait()
        here.keys.consumer_wait(states.keys, keys)
        s = self.scores(added, states, here)
        out = self.product(p, out, states, here, values)
        if states.order is not None:
            states = states._replace(order=states.order.arrive())
        added = read_terms(added, softmax, states, here)
        s, out = cl.wgmma.wait_group(1, s, keep=out)
        here.keys.consumer_release(states.keys)
        states = states._replace(keys=states.keys.advance())
        p, softmax, ratio, moved = self.powers(s, added, softmax, j, here, masked)
        states = release_terms(states, here)
        out, p, total = cl.wgmma.wait_group(0, out, after=(p, softmax.total))
        here.values.consumer_release(states.keys.advance(-2))
        if moved:
            out = cl.scale_rows(out, ratio)
        return p, out, replace(softmax, total=total), states

    def restored(self, inverse: Any, tile: Any, result: Any) -> Any:
        """Return the factors of the output's rows, from those of the softmax."""
        return inverse


@lru_cache(maxsize=256)
def build(config: Config, problem: Problem) -> Any:
    """Return the kernel."""
    shaped, dtype = Plan(config, problem), problem.dtype
    TABLES, plan = tables_of(problem.score_mod, problem.mask_mod), shaped
    G, BN, STAGES, (D, DV), (WIDE, BUFFERS) = config.groups, config.columns, config.stages, plan.dims, plan.piece
    Q, O = plan.box(H, SQ, problem.dim, ROWS), plan.box(H, SQ, problem.dim_v, ROWS)  # noqa: E741
    K, V = plan.box(HK, SK, problem.dim, BN), plan.box(HK, SK, problem.dim_v, BN)
    ROW = Tensor[dtype, (B, H, SQ, problem.dim_v), (OB, OH, OS, 1)]

    class Storage(cl.SharedStorage):
        q: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, D, G * config.queries))]
        k: Smem[dtype, cl.make_smem_layout(dtype, (BN, D, STAGES))]
        v: Smem[dtype, cl.make_smem_layout(dtype, (BN, DV, STAGES))]
        o: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, WIDE, G * BUFFERS))]

    @cl.kernel(block=(1 + G) * GROUP)
    def attention(
        q: Q, k: K, v: V, o: O, lse: Tensor[f32, (B, H, SQ)], sinks: Tensor[f32, (H,)] | None,
        counter: Tensor[i32, (1,)] | None, scale: f32, offset: i32, left: i32, right: i32, band: i32,
        rows: ROW | None, of_queries: Tensor[i32, (ENDS,)] | None, of_keys: Tensor[i32, (ENDS,)] | None,
        listed: Tensor[i32, (MB, MH, QB, KB)] | None, counts: Tensor[i32, (MB, MH, QB, 2)] | None, tables: TABLES,
    ) -> None:  # fmt: skip
        """
        counter              of `cl.TileQueue`
        scale ... band       `Given` explains them
        rows                 `o` again, for ragged sequences
        of_queries, of_keys  the start of each ragged sequence, and the end of the last one
        listed, counts       of a `BlockMask`, where its order is `listed`
        tables               arrays that functions captured
        """
        plan = shaped.with_arrays(tables)
        if cl.thread_idx.x == 0:
            for t in (q, k, v, o):
                cl.prefetch_tensormap(t)
        storage, given = Storage.allocate(), Given(scale, offset, left, right, band)
        tma, bytes = cl.PipelineTmaAsync, dtype.bytes
        queries = tma.create(G * config.queries, ROWS * D * bytes, GROUP, sync=False, reads="wgmma")
        keys = tma.create(STAGES, BN * D * bytes, G * GROUP, sync=False, reads="wgmma")
        values = tma.create(STAGES, BN * DV * bytes, G * GROUP, sync=False, reads="wgmma")
        group = cl.warpgroup_idx() - 1
        order = cl.PipelineOrder.create(1, G, group, GROUP, sync=False) if config.turns else None
        kind, where = plan.tiles.walk(given, (of_queries, of_keys), counts)
        terms = Terms.of(plan.problem, plan.tiles.rows, BN, 2 if D + DV < 384 else 1, plan.table_in_exponents)
        tiles = cl.TileQueue.create(kind, where, plan.tiles.count(), counter, G * GROUP + (LANES if terms else 0))
        here = Here(storage, queries, keys, values, given, listed, terms, group)
        cl.pipeline_init_sync()
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if cl.thread_idx.x == 0:
                plan.produce(q, k, v, here, tiles)
            if terms is not None and cl.thread_idx.x >= GROUP - LANES:
                terms.tabulate(plan.tiles, plan.arrays, here, tiles)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            plan.consume(Result(o, rows, lse, sinks), here, tiles, order)

    return attention
