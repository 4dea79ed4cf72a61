"""The forward kernel: o = softmax(scale * q @ k.T) @ v, and the logsumexp of the scores.

A block of threads is one warpgroup that loads by TMA, and two or three that compute 64 rows of queries each. It
takes tiles of queries until none is left. While a warpgroup computes the softmax of one block of keys, the tensor cores
multiply its powers of the block before with the values, and compute the products of the other warpgroups. Blocks of
keys are processed from the last to the first. Exponentials are powers of 2.

docs/attention.md says why the result is exact.
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Smem, Tensor, f32, i32
from cutelite.kernels.attention.blocks import KB, MB, MH, QB, tables_of
from cutelite.kernels.attention.capped import HIGHEST, CappedSoftmax
from cutelite.kernels.attention.plans import OfProblem
from cutelite.kernels.attention.scores import BOX, GROUP, ROWS, Added, Problem, Scores, Sight
from cutelite.kernels.attention.tiles import ENDS, SK, SQ, B, BlockTile, Given, H, RaggedTile, Tile, Tiles
from cutelite.lang.attempt import attempt
from cutelite.lang.places import places
from cutelite.records import dataclass

HK, OB, OH, OS = cl.dims("HK OB:2 OH:2 OS:2")


@dataclass(frozen=True)
class Config:
    """A configuration of the kernel.

    groups    warpgroups that compute
    columns   keys of a block
    stages    blocks of keys, and of values, in shared memory
    queries   tiles of queries in shared memory
    turns     warpgroups take turns at starting products
    guess     subtract the greatest scores of earlier blocks in the exponent (`cl.OnlineSoftmax`)
    pairs     unroll the loop over blocks without a mask by two, which saves copies of registers
    walk      'grid': a block of threads for each tile; 'static': as many as run at once, tiles are dealt to them;
              'dynamic': as many as run at once, each takes the next tile that is left
    regs      registers of a thread that loads, and of one that computes
    """

    groups: int = 2
    columns: int = 128
    stages: int = 2
    queries: int = 1
    turns: bool = True
    guess: bool = False
    pairs: bool = False
    walk: str = "dynamic"
    regs: tuple[int, int] = (24, 240)


def chosen(dim: int, blocks: tuple[int, int] | None = None) -> Config:
    """Return the configuration that was measured best for a head dim, a multiple of 64, and many queries and keys.

    blocks  queries and keys of a block of a block mask, which those of the configuration divide
    """
    if blocks is not None:
        columns = 64 if dim > 128 or blocks[1] % 128 else 128
        groups = 2 if blocks[0] % 128 == 0 else 1
        return Config(groups, columns, 3 if dim == 64 else 2, turns=groups == 2, guess=dim != 192, pairs=dim == 128)
    if dim == 64:
        return Config(3, 96, guess=True, pairs=True, regs=(32, 160))
    if dim == 128:
        return Config(guess=True, pairs=True)
    if dim == 192:
        return Config(columns=96, turns=False)
    return Config(columns=64, turns=False, guess=True)


class Here(NamedTuple):
    """Shared memory, pipelines and scalar parameters: the same for all threads of a block."""

    storage: Any
    queries: Any
    keys: Any
    values: Any
    given: Given
    listed: Any


class Result(NamedTuple):
    """The arrays that `finish` uses: o for TMA, o row by row for ragged sequences, logsumexps, and sinks or None."""

    o: Any
    rows: Any
    lse: Any
    sinks: Any


class Turn(NamedTuple):
    """The state of a warpgroup in the rings of queries and keys, and in the order of warpgroups.

    Values are one block behind keys.
    """

    queries: Any
    keys: Any
    order: Any


@dataclass(frozen=True)
class Plan(OfProblem):
    """The sizes that follow from a configuration and a problem, and the code of the kernel's threads."""

    config: Config
    problem: Problem
    arrays: bool = False

    @property
    def capped(self) -> bool:
        """Tell whether nothing but a cap is done to scores, whose powers then fit the dtype as they are."""
        cap = self.problem.softcap
        wide = self.problem.dtype == cl.bf16
        return cap is not None and self.problem.score_mod is None and cap <= HIGHEST and wide

    @property
    def tiles(self) -> Tiles:
        """The tiles of the problem."""
        return Tiles(self.problem, ROWS * self.config.groups, self.config.columns)

    @property
    def piece(self) -> tuple[int, int]:
        """The columns of the output that one TMA copy stores, and the buffers of that size of a warpgroup."""
        return (self.dims[1], 1) if self.dims[1] <= 128 else (BOX, 2)

    def produce(self, q: Any, k: Any, v: Any, here: Here, tiles: Any) -> None:
        """Load queries, and keys and values from the last block to the first, tile after tile. Who: one thread."""
        storage = here.storage
        sq, sk, tiles = here.queries.producer_state(), here.keys.producer_state(), tiles.begin()
        while tiles.is_valid():
            tile = tiles.place
            row, _, first, _ = self.tiles.lengths(tile)
            kv, row = tile.head // i32(H // HK), row + tile.row
            batch = 0 if self.problem.ragged else tile.batch
            key = first + self.tiles.key(tile.end - 1, tile, here.listed)
            if not self.problem.ragged or tile.end > 0:
                sk = bring(k, storage.k, here.keys, sk, (batch, kv, key, 0))
                for g in cl.static_range(self.config.groups):
                    sq = bring(q, storage.q, here.queries, sq, (batch, tile.head, row + g * ROWS, 0))
                for i in range(1, tile.end - tile.start):
                    following = first + self.tiles.key(tile.end - 1 - i, tile, here.listed)
                    sk = bring(k, storage.k, here.keys, sk, (batch, kv, following, 0))
                    bring(v, storage.v, here.values, sk.advance(-2), (batch, kv, key, 0))
                    key = following
            ticket = tiles.take()  # not earlier: the next tile would wait for this one while other blocks are free
            if not self.problem.ragged or tile.end > 0:
                bring(v, storage.v, here.values, sk.advance(-1), (batch, kv, key, 0))
            tiles = tiles.tell(ticket)

    def consume(self, result: Result, here: Here, tiles: Any, order: Any, group: Any) -> None:
        """Compute and write the results of 64 rows of each tile. Who: a warpgroup."""
        (wide, buffers), thread = self.piece, cl.thread_idx.x % GROUP
        pieces = cl.local_tile(here.storage.o, (ROWS, wide, buffers), (0, 0, group))
        op = cl.WarpgroupMmaOp(self.problem.dtype, f32, wide)
        ring = cl.ResultRing.create(pieces, op, thread, cl.NamedBarrier(1 + group, GROUP))
        first = cl.PipelineState(here.queries.stages, group, 0)
        turn = Turn(first, here.keys.consumer_state(), order)
        tiles = tiles.advance()
        while tiles.is_valid():
            if not self.problem.ragged or tiles.place.end > 0:
                if self.config.groups == 1 or tiles.place.row + group * ROWS < self.tiles.lengths(tiles.place)[1]:
                    p, softmax, turn = self.begin(tiles.place, turn, here, group)
                    p, out, softmax, turn = self.blocks(p, softmax, tiles.place, turn, here, group)
                    here.queries.consumer_release(turn.queries)
                    out = cl.wgmma.wait_group(0, self.product(p, out, turn, here))
                    here.values.consumer_release(turn.keys.advance(-1))
                    self.finish(out, softmax, tiles.place, result, ring, group)
                else:
                    turn = self.idle(tiles.place, turn, here, group)
                turn = turn._replace(queries=turn.queries.advance(self.config.groups))
            tiles = tiles.advance()
        ring.tail()

    def idle(self, tile: Tile, turn: Turn, here: Here, group: Any) -> Turn:
        """Release a tile's queries, keys and values as others come to them. Who: a warpgroup without rows there."""
        barrier = cl.NamedBarrier(1 + group, GROUP)  # one thread releases for all, whom no product keeps together
        here.queries.consumer_wait(turn.queries)
        here.keys.consumer_wait(turn.keys)
        barrier.sync()
        here.queries.consumer_release(turn.queries)
        here.keys.consumer_release(turn.keys)
        self.clear_behind(tile, turn.keys, here, group)
        for _ in range(tile.end - tile.start - 1):
            before, turn = turn.keys, turn._replace(keys=turn.keys.advance())
            if turn.order is not None:
                turn.order.wait()
                turn = turn._replace(order=turn.order.arrive())
            here.keys.consumer_wait(turn.keys)
            here.values.consumer_wait(before)
            barrier.sync()
            here.keys.consumer_release(turn.keys)
            here.values.consumer_release(before)
        here.values.consumer_wait(turn.keys)
        barrier.sync()
        here.values.consumer_release(turn.keys)
        return turn._replace(keys=turn.keys.advance())

    def product(self, p: Any, out: Any, turn: Turn, here: Here, seen: Any = False) -> Any:
        """Start adding the product of powers and the next block of values, which were `seen` to be there or not."""
        state = turn.keys.advance(-1)
        here.values.consumer_wait(state, seen)
        out = cl.wgmma.mma_async(self.operand(p), self.values(here, state), out)
        cl.wgmma.commit_group()
        return out

    def operand(self, p: Any) -> Any:
        """Return powers as operand A takes them."""
        return p

    def values(self, here: Here, state: Any) -> Any:
        """Return a block of values as operand B, (columns, keys)."""
        return cl.select(here.storage.v, (1, 0, 2))[None, None, state.index]

    def start(self, s: Any, added: Any, tile: Any, here: Here, group: Any) -> Any:
        """Return powers of a tile's first scores, and the softmax behind them."""
        scale = here.given.scale
        unit = self.problem.unit(scale) if added is None else scale * added.factor
        return cl.OnlineSoftmax.first(s, unit, self.problem.dtype, self.config.guess)

    def of_block(self, softmax: Any, j: Any, tile: Any, here: Here) -> Any:
        """Return the softmax to use for block j: here the same for all blocks; in fp8, with the block's scales."""
        return softmax

    def restored(self, inverse: Any, tile: Any, result: Any) -> Any:
        """Return the factors of the output's rows, from those of the softmax."""
        return inverse

    def begin(self, tile: Tile, turn: Turn, here: Here, group: Any) -> Any:
        """Return the powers of a tile's first block. Nothing overlaps with it."""
        here.queries.consumer_wait(turn.queries)
        here.keys.consumer_wait(turn.keys)
        added = self.added(tile.end - 1, tile, here, group)
        s = cl.wgmma.wait_group(0, self.scores(added, turn, here))
        here.keys.consumer_release(turn.keys)
        self.clear_behind(tile, turn.keys, here, group)
        if self.capped:
            softmax = CappedSoftmax.create(self.problem.softcap or 0.0, here.given.scale, self.problem.dtype)
            p, softmax, _, _ = self.powers(s, added, softmax, tile.end - 1, tile, here, group, True)
        else:
            s = self.modified(s, added, tile.end - 1, tile, here, group, True)
            p, softmax = self.start(s, added, tile, here, group)
        return p, softmax, turn._replace(keys=turn.keys.advance())

    def clear_behind(self, tile: Any, state: Any, here: Here, group: Any) -> None:
        """Overwrite values behind a sequence's last with zeros, in its last block: they are another's. Who: all."""
        count = self.tiles.lengths(tile)[3] - (tile.end - 1) * self.config.columns
        if not self.problem.ragged or count >= self.config.columns:
            return
        here.values.consumer_wait(state)
        everyone, eights = self.config.groups * GROUP, self.dims[1] // 8
        for i in cl.static_range(-(-self.config.columns * eights // everyone)):
            at = i * everyone + group * GROUP + cl.thread_idx.x % GROUP
            if at // eights >= count and at < self.config.columns * eights:
                target = cl.local_tile(here.storage.v[at // eights, None, state.index], (8,), (at % eights,))
                target.store(cl.full((8,), 0.0, self.problem.dtype))
        cl.fence_proxy_async("shared::cta")
        cl.NamedBarrier(1 + self.config.groups, everyone).sync()

    def added(self, j: Any, tile: Tile, here: Here, group: Any) -> Added | None:
        """Return the factor and the addends that functions apply to the scores of block j; None if they do more."""
        none = cl.wgmma.zeros_accumulator(self.config.columns)
        return attempt(self.block(none, None, j, tile, here, group, False).added)

    def scores(self, added: Added | None, turn: Turn, here: Here) -> Any:
        """Start the product of queries and the next block of keys, and what is added to it."""
        q, k = here.storage.q[None, None, turn.queries.index], here.storage.k[None, None, turn.keys.index]
        if added is None or added.start is None:
            s = cl.wgmma.mma_async(q, k, cl.wgmma.zeros_accumulator(self.config.columns), accumulate=False)
        else:
            s = cl.wgmma.mma_async(q, k, added.start.reshape((self.config.columns // 2,)))
        cl.wgmma.commit_group()
        return s

    def multiply(self, p: Any, out: Any, added: Added | None, turn: Turn, here: Here) -> Any:
        """Return the scores of the next block, and the accumulator of powers times values, which is in flight."""
        keys, values = here.keys.consumer_test_wait(turn.keys), here.values.consumer_test_wait(turn.keys.advance(-1))
        if turn.order is not None:  # asked at once, all three barriers answer at once
            turn.order.wait()
        here.keys.consumer_wait(turn.keys, keys)
        s = self.scores(added, turn, here)
        out = self.product(p, out, turn, here, values)
        if turn.order is not None:
            turn = turn._replace(order=turn.order.arrive())
        s, out = cl.wgmma.wait_group(1, s, keep=out)
        here.keys.consumer_release(turn.keys)
        return s, out, turn._replace(keys=turn.keys.advance())

    def blocks(self, p: Any, softmax: Any, tile: Tile, turn: Turn, here: Here, group: Any) -> Any:
        """Process a tile's blocks behind the first. The powers of the last one are left to be multiplied with values.

        p   powers of the first block
        """

        def step(j: Any, so_far: Any, masked: bool) -> Any:
            p, out, softmax, turn = so_far
            added = self.added(j, tile, here, group)
            s, out, turn = self.multiply(p, out, added, turn, here)
            p, softmax, ratio, moved = self.powers(s, added, softmax, j, tile, here, group, masked)
            out, p, total = cl.wgmma.wait_group(0, out, after=(p, softmax.total))
            here.values.consumer_release(turn.keys.advance(-2))
            if moved:
                out = cl.scale_rows(out, ratio)
            return p, out, replace(softmax, total=total), turn

        so_far, last = (p, cl.wgmma.zeros_accumulator(self.dims[1]), softmax, turn), tile.end - 2
        low, high = self.tiles.clear(tile, here.given)
        for i in range(last + 1 - high):
            so_far = step(last - i, so_far, True)
        for i in cl.range(high - low, unroll=2 if self.config.pairs else 1):
            so_far = step(high - 1 - i, so_far, False)
        if self.problem.left:
            for i in range(low - tile.start):
                so_far = step(low - 1 - i, so_far, True)
        return so_far

    def modified(self, s: Any, added: Any, j: Any, tile: Tile, here: Here, group: Any, masked: bool) -> Any:
        """Return the scores of block j after mods and masks; the factor of `added` is not yet applied."""
        return self.block(s, added, j, tile, here, group, masked).all()

    def powers(self, s: Any, added: Any, softmax: Any, j: Any, tile: Tile, here: Here, group: Any, masked: bool) -> Any:
        """Return the powers of block j, and the other results of `OnlineSoftmax.step`."""
        if self.capped:
            seen = self.block(s, added, j, tile, here, group, True).all_seen if masked else None
            return *softmax.step(s, seen), None, False
        return self.of_block(softmax, j, tile, here).step(self.modified(s, added, j, tile, here, group, masked))

    def block(self, s: Any, added: Any, j: Any, tile: Tile, here: Here, group: Any, masked: bool) -> Scores:
        """Return block j of a tile's scores, from the products `s` and, unless None, the addends `added`."""
        spots = cl.wgmma.coordinates(8)
        rows = places(tile.row + group * ROWS + spots[0][0], (0, 8), (1, 2, 1))
        given, (_, queries, _, keys) = here.given, self.tiles.lengths(tile)
        key, offset = self.tiles.key(j, tile, here.listed) + spots[0][1], self.tiles.offset(tile, given)
        sight = Sight(rows, key, queries if self.arrays else None, keys, offset, given.left, given.right)
        problem = self.problem if added is None else replace(self.problem, score_mod=None)
        return Scores(problem, s, given.scale, sight, tile.batch, tile.head, masked)

    def finish(self, out: Any, softmax: Any, tile: Tile, result: Result, ring: Any, group: Any) -> None:
        """Write output and logsumexp of a tile."""
        row, spots, (first, length, _, _) = tile.row + group * ROWS, cl.wgmma.coordinates(8), self.tiles.lengths(tile)
        batch = 0 if self.problem.ragged else tile.batch
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


def bring(tensor: Any, ring: Any, pipe: Any, state: Any, at: Any) -> Any:
    """Load a box into the next buffer of a ring. Who: one thread."""
    pipe.producer_acquire(state)
    cl.tma_load(tensor, ring[None, None, state.index], at=at, barrier=pipe.barrier(state))
    return state.advance()


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
        kind: Any = Tile
        where: Any = lambda index: plan.tiles.place(index, given)  # noqa: E731
        if problem.ragged:
            kind, where = RaggedTile, lambda index: plan.tiles.ragged_place(index, of_queries, of_keys, given)
        if problem.blocks is not None:
            kind, where = BlockTile, lambda index: plan.tiles.listed_place(index, counts, given)
        tiles = cl.TileQueue.create(kind, where, plan.tiles.count(), counter, G * GROUP)
        here = Here(storage, queries, keys, values, given, listed)
        cl.pipeline_init_sync()
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if cl.thread_idx.x == 0:
                plan.produce(q, k, v, here, tiles)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            plan.consume(Result(o, rows, lse, sinks), here, tiles, order, group)

    return attention
