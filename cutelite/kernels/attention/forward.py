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
from cutelite.kernels.attention.model import Config
from cutelite.kernels.attention.powers import OfScores
from cutelite.kernels.attention.relative import LANES, Terms, read_terms, release_terms
from cutelite.kernels.attention.scores import BOX, GROUP, ROWS, Added, Problem
from cutelite.kernels.attention.tiles import ENDS, SK, SQ, B, Given, H, Tile
from cutelite.records import dataclass, fact
from cutelite.tuples import NamedTuple

HK, OB, OH, OS = cl.dims("HK OB:2 OH:2 OS:2")


class Here(NamedTuple):
    """Shared memory, pipelines and scalar parameters: the same for all threads of a block.

    listed   of a `BlockMask`, or None
    terms    of a `score_mod` that goes by the distance of key and query (`relative`), or None
    q        a warpgroup's queries of the tile that it computes
    """

    storage: Any
    queries: Any
    keys: Any
    values: Any
    given: Given
    listed: Any
    terms: Any = None
    q: Any = None


class Result(NamedTuple):
    """The arrays that `finish` uses.

    o, rows    the output for TMA, and for ragged sequences row by row
    lse        logsumexps
    sinks      or None
    of_values  scales of values in fp8
    """

    o: Any
    rows: Any
    lse: Any
    sinks: Any
    of_values: Any = None


class States(NamedTuple):
    """The places of a warpgroup in the pipelines of queries, keys and terms, and in the order of warpgroups.

    queries  the tile's place; within a tile None, since loops need not carry it
    keys     that of values is one block behind
    """

    queries: Any
    keys: Any
    order: Any
    terms: Any = None


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

    def consume(self, result: Result, here: Here, tiles: Any, order: Any, group: Any) -> None:
        """Compute and write the results of 64 rows of each tile. Who: a warpgroup."""
        (wide, buffers), thread = self.piece, cl.thread_idx.x % GROUP
        pieces = cl.local_tile(here.storage.o, (ROWS, wide, buffers), (0, 0, group))
        op, first = cl.WarpgroupMmaOp(self.problem.dtype, f32, wide), cl.PipelineState.consumer(self.config.queries)
        ring = cl.ResultRing.create(pieces, op, thread, cl.NamedBarrier(1 + group, GROUP))
        terms = None if here.terms is None else here.terms.pipe.consumer_state()
        states = States(first, here.keys.consumer_state(), order, terms)
        tiles = tiles.advance()
        while tiles.is_valid():
            if not self.problem.ragged or tiles.place.end > 0:
                turn, states = states.queries, states._replace(queries=None)
                queries = self.own(turn, group)
                at = here._replace(q=here.storage.q[None, None, queries.index])
                here.queries.consumer_wait(queries)
                if self.config.groups == 1 or tiles.place.row + group * ROWS < self.tiles.sequence(tiles.place).queries:
                    compute = self.masked_then_clear if self.masked_first else self.by_runs
                    out, softmax, states = compute(tiles.place, queries, states, at, group)
                    self.finish(out, softmax, tiles.place, result, ring, group)
                else:
                    states = idle(self, tiles.place, queries, states, at, group)
                states = states._replace(queries=turn.advance())
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

    def restored(self, inverse: Any, tile: Any, result: Any) -> Any:
        """Return the factors of the output's rows, from those of the softmax."""
        return inverse

    def by_runs(self, tile: Tile, queries: Any, states: States, here: Here, group: Any) -> Any:
        """Return a tile's sums of products with values, its softmax, and the states behind it.

        queries  their place, which is released when they were read
        """
        p, softmax, states, long = self.begin(tile, states, here, group)
        p, out, softmax, states = self.blocks(p, softmax, tile, states, here, group, long)
        here.queries.consumer_release(queries)
        out = cl.wgmma.wait_group(0, self.product(p, out, states, here))
        here.values.consumer_release(states.keys.advance(-1))
        return out, softmax, states

    def masked_then_clear(self, tile: Tile, queries: Any, states: States, here: Here, group: Any) -> Any:
        """Return what `by_runs` does, under a causal mask: masked blocks one by one, then a run of the others.

        Most tiles have one masked block, with which nothing overlaps in any case. So both products, and powers, have
        one text each for masked and for clear blocks.
        """
        low, high = self.tiles.clear(tile, here.given)
        out, softmax, j = cl.wgmma.zeros_accumulator(self.dims[1]), self.nothing(here), tile.end - 1
        while j >= low:
            here.keys.consumer_wait(states.keys)
            s = cl.wgmma.wait_group(0, self.scores(None, states, here))
            here.keys.consumer_release(states.keys)
            if j == tile.end - 1:
                clear_behind(self, tile, states.keys, here, group)
            states = states._replace(keys=states.keys.advance())
            p, softmax, ratio, moved = self.anew(s, softmax, j, tile, here, group)
            if ratio is not None and moved & (j < tile.end - 1):
                out = cl.scale_rows(out, ratio)
            if j == high:
                p, out, softmax, states = self.run(low, j, (p, out, softmax, states), False, tile, here, group)
                j = low
            if j == low:
                here.queries.consumer_release(queries)
            out = cl.wgmma.wait_group(0, self.product(p, out, states, here))
            here.values.consumer_release(states.keys.advance(-1))
            j -= 1
        return out, softmax, states

    def alone(self, tile: Tile, here: Here) -> Any:
        """Return how many of a tile's blocks behind the first are computed without turns; None: all take turns."""
        return tile.end - 1 - self.tiles.clear(tile, here.given)[1] if self.masked_first else None

    def begin(self, tile: Tile, states: States, here: Here, group: Any) -> Any:
        """Return the powers of a tile's first block, with which nothing overlaps, and whether a function is `long`."""
        here.keys.consumer_wait(states.keys)
        added, states = self.added(tile.end - 1, tile, states, here, group)
        s = self.scores(added, states, here)
        added = read_terms(added, None, states, here)
        s = cl.wgmma.wait_group(0, s)
        here.keys.consumer_release(states.keys)
        clear_behind(self, tile, states.keys, here, group)
        p, softmax = self.first(s, added, tile, here, group)
        states, long = release_terms(states, here), added is None and self.problem.score_mod is not None
        return p, softmax, states._replace(keys=states.keys.advance()), long

    def scores(self, added: Added | None, states: States, here: Here) -> Any:
        """Start the product of queries and the next block of keys, and what is added to it."""
        q, k = here.q, here.storage.k[None, None, states.keys.index]
        if added is None or added.start is None:
            s = cl.wgmma.mma_async(q, k, cl.wgmma.zeros_accumulator(self.config.columns), accumulate=False)
        else:
            s = cl.wgmma.mma_async(q, k, added.start.reshape((self.config.columns // 2,)))
        cl.wgmma.commit_group()
        return s

    def multiply(self, p: Any, out: Any, added: Added | None, softmax: Any, states: States, here: Here) -> Any:
        """Return the scores of the next block, the accumulator of powers times values, in flight, and `added`."""
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
        return s, out, added, states._replace(keys=states.keys.advance())

    def blocks(self, p: Any, softmax: Any, tile: Tile, states: States, here: Here, group: Any, long: bool) -> Any:
        """Process a tile's blocks behind the first. The powers of the last one are left to be multiplied with values.

        p      powers of the first block
        long   there is a function that is more than `Added`: one text serves for all blocks, and a branch for masks
        """

        so_far, end = (p, cl.wgmma.zeros_accumulator(self.dims[1]), softmax, states), tile.end - 1
        low, high = self.tiles.clear(tile, here.given)
        for first, masked in self.runs(tile, low, high, long):
            so_far, end = self.run(first, end, so_far, masked, tile, here, group, long), first
        return so_far

    def run(
        self, first: Any, end: Any, so_far: Any, masked: Any, tile: Tile, here: Here, group: Any, long: bool = False
    ) -> Any:  # fmt: skip
        """Process blocks from the one before `end` to `first`.

        masked  whether they have masks; or the first block that has none, and the one behind the last of these
        """
        left = end - first
        while left != 0:
            left -= 1
            so_far = self.step(first + left, so_far, masked, tile, here, group)
            if self.config.pairs and not (self.late or long or masked is True):  # by two: powers are not copied
                if left == 0:
                    so_far = cl.wgmma.fence_operand(so_far[0]), *so_far[1:]  # copies are made behind the branch
                    break
                left -= 1
                so_far = self.step(first + left, so_far, masked, tile, here, group)
        return so_far

    def step(self, j: Any, so_far: Any, masked: Any, tile: Tile, here: Here, group: Any) -> Any:
        """Start the products of block j and of the powers before, and return what follows: `so_far` behind it."""
        p, out, softmax, states = so_far
        masked = masked if isinstance(masked, bool) else (j >= masked[1]) | (j < masked[0])
        added, states = self.added(j, tile, states, here, group)
        s, out, added, states = self.multiply(p, out, added, softmax, states, here)
        p, softmax, ratio, moved = self.powers(s, added, softmax, j, tile, here, group, masked)
        states = release_terms(states, here)
        out, p, total = cl.wgmma.wait_group(0, out, after=(p, softmax.total))
        here.values.consumer_release(states.keys.advance(-2))
        if moved:
            out = cl.scale_rows(out, ratio)
        return p, out, replace(softmax, total=total), states

    def runs(self, tile: Tile, low: Any, high: Any, long: bool) -> list[tuple[Any, Any]]:
        """Return runs of a tile's blocks, each with its first block, and whether they have masks, or which have none.

        A branch in each step is felt at head dim 64, by up to 0.7% of 16k keys, and a cap has other code for masks.
        """
        if not self.tiles.masks:
            return [(tile.start, False)]
        if long or (not self.capped and self.dims[0] > BOX):
            return [(tile.start, (low, high))]
        return [(high, True), (low, False), *([(tile.start, True)] if self.problem.left else [])]

    def finish(self, out: Any, softmax: Any, tile: Tile, result: Result, ring: Any, group: Any) -> None:
        """Write output and logsumexp of a tile."""
        row, spots = tile.row + group * ROWS, cl.wgmma.coordinates(8)
        _, batch, first, length, _, _ = self.tiles.sequence(tile)
        inverse, sums = softmax.finish(None if result.sinks is None else result.sinks[tile.head])
        out = cl.scale_rows(out, self.restored(inverse, tile, result))
        for i in cl.static_range(2):
            place = row + spots[2 * i][0]
            if spots[0][1] == 0 and place < length:
                result.lse[batch, tile.head, first + place] = sums[i]
        if not self.problem.ragged or row + ROWS <= length:
            ring.write(out, result.o, at=(batch, tile.head, first + row, 0))
        else:  # what follows is another sequence's
            for i in cl.static_range(2):
                place = row + spots[2 * i][0]
                if place < length:
                    cl.store_row(out.to(self.problem.dtype), i, result.rows[0, tile.head, first + place, None])


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
        here = Here(storage, queries, keys, values, given, listed, terms)
        cl.pipeline_init_sync()
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if cl.thread_idx.x == 0:
                plan.produce(q, k, v, here, tiles)
            if terms is not None and cl.thread_idx.x >= GROUP - LANES:
                terms.tabulate(plan.tiles, plan.arrays, here, tiles)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            plan.consume(Result(o, rows, lse, sinks), here, tiles, order, group)

    return attention
