"""The backward kernels: dq, dk and dv of o = softmax(scale * q @ k.T) @ v, from o, its gradient, and the logsumexp.

`prepare` sums the rows of o * do. In `gradients`, a thread block owns 64 keys for each of its computing warpgroups and
loops over the blocks of queries that see them; one thread loads these by TMA. Scores are computed transposed, K @ Q.T,
so that the probabilities P and the gradients of scores dS, in registers, are operands of dv += P.T @ dO and
dk += dS.T @ Q. dS is also written to shared memory: at the end of the next step each warpgroup multiplies a part of
dS @ K and adds it to sums in global memory, which `finish` converts to dq. By then the other warpgroup has written its
dS too, even if it is half a step behind.

docs/lab/attention-backward.md counts what bounds the kernel and records the experiments.
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Smem, Tensor, f32, i32
from cutelite.kernels.attention.backward_plan import (
    HK,
    MB,
    SK,
    SQ,
    STARTS,
    B,
    Config,
    H,
    Plan,
    Starts,
    Tile,
    finish,
    prepare,
)
from cutelite.kernels.attention.scores import GROUP, LN2, ROWS, Problem
from cutelite.kernels.attention.tiles import Given

LOG2E = 1 / LN2
NEVER = 1 << 30
"""A column beyond every block."""


class Kernels(NamedTuple):
    """The kernels, in the order of their launches."""

    prepare: Any
    gradients: Any
    finish: Any


class Sums(NamedTuple):
    """The sums of dq in global memory, and the number of the block of keys that adds next (None: any order)."""

    parts: Any
    turns: Any


class Pipes(NamedTuple):
    """Pipelines: keys and values (once), blocks of queries, blocks of dS, parts of dq to be added."""

    keys: Any
    rows: Any
    changes: Any
    parts: Any


@dataclass(frozen=True)
class Block:
    """State that all threads of a block share, and the work of the warps that move data."""

    plan: Plan
    storage: Any
    pipes: Pipes
    tile: Tile
    given: Given

    @property
    def steps(self) -> Any:
        """The number of blocks of queries, over all heads."""
        return i32(H // HK) * (self.tile.end - self.tile.begin)

    @property
    def everyone(self) -> Any:
        """The named barrier of all computing warpgroups."""
        return cl.NamedBarrier(1, self.plan.config.groups * GROUP)

    @property
    def first(self) -> Any:
        """The first block of queries, and its head."""
        return self.tile.begin, self.tile.kv * i32(H // HK)

    def following(self, place: Any) -> Any:
        """The block of queries after one, and its head."""
        m, head = place
        last = m + 1 == self.tile.end
        return cl.where(last, self.tile.begin, m + 1), cl.where(last, head + 1, head)

    def produce(self, q: Any, k: Any, v: Any, do: Any, base: Any) -> None:
        """Load keys and values, then the blocks of queries in their order. Executed by one thread."""
        (keys, rows, *_), storage, tile, sequence = self.pipes, self.storage, self.tile, self.tile.sequence
        once, state = keys.producer_state(), rows.producer_state()
        keys.producer_acquire(once)
        of_keys = sequence.batch, tile.kv, sequence.key + tile.key, 0
        cl.tma_load(k, storage.k, at=of_keys, barrier=keys.barrier(once))
        cl.tma_load(v, storage.v, at=of_keys, barrier=keys.barrier(once))
        place = self.first
        for _ in range(self.steps):
            m, head = place
            rows.producer_acquire(state)
            full, at = rows.barrier(state), (sequence.batch, head, sequence.query + m * self.plan.config.rows, 0)
            cl.tma_load(q, storage.q[None, None, state.index], at=at, barrier=full)
            cl.tma_load(do, storage.do[None, None, state.index], at=at, barrier=full)
            of_rows = base[sequence.batch, head, sequence.block + m, None]
            cl.cp_async_bulk(storage.base[state.index, None], of_rows, 8 * self.plan.config.rows, barrier=full)
            place, state = self.following(place), state.advance()

    def accumulate(self, sums: Sums, group: Any) -> None:
        """Add the parts of dq that warpgroup `group` computes to the sums, in turn if there are turns. By one warp."""
        pipe, plan, sequence, leads = self.pipes.parts, self.plan, self.tile.sequence, cl.lane_idx() == 0
        state, place, bytes = cl.PipelineState(plan.config.groups, group, 0), self.first, 4 * ROWS * plan.columns
        for _ in range(self.steps):
            (m, head), number = place, self.tile.key // plan.keys
            at = sequence.batch, head, sequence.block + m
            pipe.consumer_wait(state)
            if leads:
                if sums.turns is not None:
                    turn = sums.turns[*at, None]
                    while cl.load_acquire(turn, group) != number:
                        cl.nanosleep(20)
                    cl.fence_proxy_async("global")
                target = sums.parts[*at, group, None]
                cl.cp_reduce_async_bulk(target, self.storage.dq[group, None], bytes, "add")
                cl.cp_async_bulk_commit_group()
                cl.cp_async_bulk_wait_group(0, read=sums.turns is None)
                if sums.turns is not None:
                    cl.fence_proxy_async("global")
                    cl.store_release(turn, group, number + 1)
            pipe.consumer_release(state)
            place, state = self.following(place), state.advance(plan.config.groups)


@dataclass(frozen=True)
class Worker:
    """A computing warpgroup: its index, its keys and values in shared memory, and the sums of dq."""

    block: Block
    group: Any
    k: Any
    v: Any
    sums: Sums

    @property
    def key(self) -> Any:
        """The index of its first key."""
        return self.block.tile.key + self.group * ROWS

    def run(self) -> Any:
        """Return the gradients of its keys, without the scale, and of its values."""
        block, plan, (_, rows, changes, _) = self.block, self.block.plan, self.block.pipes
        tile, storage = block.tile, block.storage
        if plan.problem.ragged and tile.key + plan.keys > tile.sequence.keys:
            self.clear_behind((storage.k, storage.v), tile.sequence.keys - tile.key)
        none, held, groups = cl.wgmma.zeros_accumulator(plan.dim), plan.config.held, plan.config.groups
        before = cl.PipelineState(held, held - 1, 1), block.first
        states = rows.consumer_state(), changes.producer_state(), cl.PipelineState(groups, self.group, 1)
        so_far = none, none, states, block.first, before
        for i in range(block.steps):
            so_far = self.step(so_far, i > 0)
        dk, dv, (_, _, part), _, before = so_far
        if block.steps > 0:
            changes.consumer_wait(before[0])
            self.add(cl.wgmma.wait_group(0, self.of_queries(before[0])), before[1], part)
        return dk, dv

    def step(self, so_far: Any, behind: Any) -> Any:
        """Compute a block of queries; behind the first one (`behind`), also dq of the block before."""
        (dk, dv, (state, change, part), place, before), block, plan = so_far, self.block, self.block.plan
        (_, rows, changes, _), storage = block.pipes, block.storage
        BM, dtype = plan.config.rows, plan.problem.dtype
        q, do = (t[None, None, state.index] for t in (storage.q, storage.do))
        base = storage.base[state.index, None]
        rows.consumer_wait(state)
        if plan.problem.ragged and (place[0] + 1) * BM > block.tile.sequence.queries:
            self.clear_behind((q, do), block.tile.sequence.queries - place[0] * BM)
        s = multiply(self.k, q, cl.wgmma.zeros_accumulator(BM), False)
        dp = multiply(self.v, do, cl.wgmma.zeros_accumulator(BM), False)
        s, dp = cl.wgmma.wait_group(1, s, keep=dp)
        p, slope = self.powers(s.reshape((2, 2, BM // 8)), self.of_rows(base, 0), place)
        if plan.config.late:
            dp, p = cl.wgmma.wait_group(0, dp, after=p.reshape((BM // 2,)))
            p = p.reshape((2, 2, BM // 8))
        else:
            dp, packed = cl.wgmma.wait_group(0, dp, after=p.reshape((BM // 2,)).to(dtype))
            dv = multiply(packed, cl.select(do, (1, 0)), dv)
        ds = p * (dp.reshape((2, 2, BM // 8)) - self.of_rows(base, 1))
        ds = ds if isinstance(slope, float) and slope == 1.0 else ds * slope
        ds = ds.reshape((BM // 2,)).to(dtype)
        if plan.config.late:
            packed, ds = cl.wgmma.fence_operand(p.reshape((BM // 2,)).to(dtype), ds, held=False)
            dv = multiply(packed, cl.select(do, (1, 0)), dv)
        else:
            ds = cl.wgmma.fence_operand(ds, held=False)
        changes.producer_acquire(change)
        target = cl.select(storage.ds[None, None, change.index], (1, 0))
        plan.put(ds, cl.local_tile(target, (ROWS, BM), (self.group, 0)), transpose=True)
        dk = multiply(ds, cl.select(q, (1, 0)), dk)
        cl.fence_proxy_async("shared::cta")
        changes.producer_commit(change)
        if behind:
            changes.consumer_wait(before[0])
            dv, dk, dq = cl.wgmma.wait_group(1, dv, dk, keep=self.of_queries(before[0]))
            rows.consumer_release(state)
            dq = cl.wgmma.wait_group(0, dq)
            changes.consumer_release(before[0])
            self.add(dq, before[1], part)
            part = part.advance(plan.config.groups)
        else:
            dv, dk = cl.wgmma.wait_group(0, dv, dk)
            rows.consumer_release(state)
        states = state.advance(), change.advance(), part
        return dk, dv, states, block.following(place), (emptied(change), place)

    def of_rows(self, base: Any, which: int) -> Any:
        """Return the logsumexps (0) or the sums of rows (1) of this thread's queries: (2, 1, rows / 8)."""
        BM = self.block.plan.config.rows
        fours = cl.with_layout(base, cl.make_layout((4, 4, BM // 16, 2), (1, 4, 16, BM)))
        return fours[None, cl.thread_idx.x % 4, None, which].load().reshape((2, 1, BM // 8))

    def powers(self, s: Any, base: Any, place: Any) -> Any:
        """Return probabilities (2, 2, rows / 8), 0 where a query does not see a key, and the slope of `score_mod`."""
        block, (m, head), slope = self.block, place, 1.0
        BM, problem, given, sequence = block.plan.config.rows, block.plan.problem, block.given, block.tile.sequence
        batch, offset = sequence.number, block.plan.offset(sequence, given.offset)
        spots = cl.wgmma.coordinates(8)
        columns, keys = cl.make_rmem_tensor(i32, (2, BM // 8)), cl.make_rmem_tensor(i32, (2,))
        for c in cl.static_range(BM // 4):
            columns[c % 2, c // 2] = c // 2 * 8 + c % 2
        for i in cl.static_range(2):
            keys[i] = self.key + spots[2 * i][0]
        column, key = columns.load().reshape((2, 1, BM // 8)), keys.load().reshape((1, 2, 1))
        first = m * BM + spots[0][1]
        if problem.score_mod is not None:
            s, slope = cl.value_and_derivative(problem.score_mod, s * given.scale, batch, head, column + first, key)
            p = cl.math.exp2(s * LOG2E - base, fast=True)
        else:
            p = cl.math.exp2(s * (given.scale * LOG2E) - base, fast=True)
        modified = problem.score_mod is not None or problem.mask_mod is not None
        masked = modified or self.key + ROWS > sequence.keys
        if problem.right:
            masked = masked or m * BM + offset + given.right < self.key + ROWS - 1
        if problem.left:
            masked = masked or m * BM + BM - 1 + offset - given.left > self.key
        if masked:
            own = key - offset - first  # the column of the query whose own place the key is
            never = cl.full((2,), NEVER, i32).reshape((1, 2, 1))
            sees = column >= cl.where(key < sequence.keys, own - given.right if problem.right else never - NEVER, never)
            if problem.left:
                sees = sees & (column <= own + given.left)
            if modified:
                sees = sees & (column < sequence.queries - first)
            if problem.mask_mod is not None:
                sees = sees & problem.mask_mod(batch, head, column + first, key)
            p = cl.where(sees, p, 0.0)
            slope = slope if isinstance(slope, float) else cl.where(sees, slope, 0.0)
        return p, slope

    def of_queries(self, state: Any) -> Any:
        """Start this warpgroup's part of dS @ K."""
        plan, storage = self.block.plan, self.block.storage
        left, right = storage.ds[None, None, state.index], cl.select(storage.k, (1, 0))
        if plan.config.turned:
            left, right = right, left
        left = cl.local_tile(left, (ROWS, plan.keys), (self.group, 0))
        return multiply(left, right, cl.wgmma.zeros_accumulator(plan.columns), False)

    def add(self, dq: Any, place: Any, part: Any) -> None:
        """Add this warpgroup's part of a block of dq to the sums, or pass it to the warp that does."""
        plan, storage, parts = self.block.plan, self.block.storage, self.block.pipes.parts
        if plan.config.direct:
            (m, head), sequence = place, self.block.tile.sequence
            part = self.sums.parts[sequence.batch, head, sequence.block + m, self.group, None]
            mine = plan.accumulators(part)
            for c in cl.static_range(plan.columns // 8):
                cl.red(mine[None, c], None, "add", dq[4 * c : 4 * c + 4])
        else:
            parts.producer_acquire(part)
            plan.accumulators(storage.dq[self.group, None]).store(dq.reshape((4, plan.columns // 8)))
            cl.fence_proxy_async("shared::cta")
            parts.producer_commit(part)

    @property
    def together(self) -> Any:
        """The named barrier of this warpgroup."""
        return cl.NamedBarrier(2 + self.group, GROUP)

    def clear_behind(self, tiles: tuple[Any, ...], count: Any) -> None:
        """Overwrite the rows of tiles from `count` on with zeros: they are another sequence's. Who: all warpgroups."""
        dtype, eights = self.block.plan.problem.dtype, self.block.plan.dim // 8
        threads = self.block.plan.config.groups * GROUP
        for tile in tiles:
            for i in range(max(count, 0) * eights + cl.thread_idx.x - GROUP, cl.size(tile) // 8, threads):
                target = cl.local_tile(tile[i // eights, None], (8,), (i % eights,))
                target.store(cl.full((8,), 0.0, dtype))
        cl.fence_proxy_async("shared::cta")
        self.block.everyone.sync()

    def finish(self, grads: Any, tensors: Any, arrays: Any, length: Any) -> None:
        """Write the gradients of this warpgroup's keys and values: see `write`."""
        self.write(grads[1], self.v, tensors[1], arrays[1], length)
        self.block.everyone.sync()  # the others have read these keys
        self.write(grads[0] * self.block.given.scale, self.k, tensors[0], arrays[0], length)
        if cl.thread_idx.x % GROUP == 0:
            cl.cp_async_bulk_wait_group(0, read=True)

    def write(self, grad: Any, target: Any, tensor: Any, array: Any, length: Any) -> None:
        """Write the gradients of this warpgroup's keys by way of `target`, which nobody reads any more.

        tensor, array  for TMA, and for access by rows: of ragged sequences
        length         rows to write for this sequence
        """
        tile, sequence, dtype = self.block.tile, self.block.tile.sequence, self.block.plan.problem.dtype
        if self.block.plan.problem.ragged and self.key + ROWS > sequence.keys:  # what follows is another sequence's
            spots = cl.wgmma.coordinates(8)
            for i in cl.static_range(2):
                key = self.key + spots[2 * i][0]
                if key < length:
                    rows = cl.where(key < sequence.keys, grad, 0.0).to(dtype)
                    cl.store_row(rows, i, array[0, tile.kv, sequence.key + key, None])
        else:
            self.block.plan.put(grad, target)
            cl.fence_proxy_async("shared::cta")
            self.together.sync()
            if cl.thread_idx.x % GROUP == 0 and self.key < length:
                cl.tma_store(target, tensor, at=(sequence.batch, tile.kv, sequence.key + self.key, 0))
                cl.cp_async_bulk_commit_group()


def emptied(state: cl.PipelineState) -> cl.PipelineState:
    """Return the state with which a producer of that stage waits: its consumers have emptied it."""
    return cl.PipelineState(state.stages, state.index, state.phase ^ 1)


def multiply(a: Any, b: Any, acc: Any, accumulate: bool = True) -> Any:
    """Start ``acc + a @ b.T`` as a wgmma group of its own."""
    acc = cl.wgmma.mma_async(a, b, acc, accumulate=accumulate)
    cl.wgmma.commit_group()
    return acc


@lru_cache(maxsize=256)
def build(config: Config, problem: Problem, ordered: bool = False) -> Kernels:
    """Return the kernels. `ordered`: dq is added up in the order of keys, so that equal inputs give equal bits."""
    plan = Plan(replace(config, direct=config.direct and not ordered), problem)
    return Kernels(prepare(plan), gradients(plan, ordered), finish(plan))


def gradients(plan: Plan, ordered: bool) -> Any:
    """Return the kernel that computes all five products."""
    config, dtype, BM, BN, D = plan.config, plan.problem.dtype, plan.config.rows, plan.keys, plan.dim
    Q, KV, DKV, ARRAY = plan.box(H, SQ, BM), plan.box(HK, SK, BN), plan.box(HK, SK, ROWS), plan.array(HK, SK)
    BASE = Tensor[f32, (B, H, MB, 2 * BM), cl.align(16)]

    class Storage(cl.SharedStorage):
        k: Smem[dtype, cl.make_smem_layout(dtype, (BN, D))]
        v: Smem[dtype, cl.make_smem_layout(dtype, (BN, D))]
        q: Smem[dtype, cl.make_smem_layout(dtype, (BM, D, config.stages))]
        do: Smem[dtype, cl.make_smem_layout(dtype, (BM, D, config.stages))]
        ds: Smem[dtype, cl.make_smem_layout(dtype, (BM, BN, config.held))]
        if not config.direct:
            dq: Smem[f32, cl.row_major((config.groups, ROWS * plan.columns))]
        base: Smem[f32, cl.row_major((config.stages, 2 * BM))]

    @cl.kernel(block=(1 + config.groups) * GROUP)
    def gradients(
        q: Q, k: KV, v: KV, do: Q, base: BASE, sums: plan.sums, turns: plan.turns | None, dk: DKV, dv: DKV,
        scale: f32, offset: i32, left: i32, right: i32, band: i32, dk_array: ARRAY = None,
        dv_array: ARRAY = None, of_queries: STARTS = None, of_keys: STARTS = None,
    ) -> None:  # fmt: skip
        """
        base     logsumexps to base 2 and row sums of o * do, as `prepare` writes them
        sums     dq without the scale, zero at the start
        scale ... band       as in `Given`
        dk_array, dv_array   `dk` and `dv` again, for ragged sequences
        of_queries, of_keys  the start of each ragged sequence, and the end of the last one
        """
        if cl.thread_idx.x == 0:
            for t in (q, k, v, do, dk, dv):
                cl.prefetch_tensormap(t)
        storage, given, threads = Storage.allocate(), Given(scale, offset, left, right, band), config.groups * GROUP
        keys = cl.PipelineTmaAsync.create(1, 2 * BN * D * dtype.bytes, threads, sync=False)
        rows = cl.PipelineTmaAsync.create(config.stages, 2 * BM * (D * dtype.bytes + 4), threads, sync=False)
        changes = cl.PipelineAsync.create(config.held, threads, threads, sync=False)
        parts = cl.PipelineAsync.create(config.groups, GROUP, 32, sync=False)
        cl.pipeline_init_sync()
        tile = plan.place(given, Starts(of_queries, of_keys))
        block = Block(plan, storage, Pipes(keys, rows, changes, parts), tile, given)
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            warp = cl.make_warp_uniform(cl.warp_idx())
            if warp == 0:
                if cl.elect_one():
                    block.produce(q, k, v, do, base)
            elif warp <= config.groups and not config.direct:
                block.accumulate(Sums(sums, turns), warp - 1)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            group = cl.warpgroup_idx() - 1
            mine = [cl.local_tile(t, (ROWS, D), (group, 0)) for t in (storage.k, storage.v)]
            keys.consumer_wait(keys.consumer_state())
            worker = Worker(block, group, mine[0], mine[1], Sums(sums, turns))
            sequence = tile.sequence
            length = plan.written(sequence.number, sequence.key, sequence.keys, of_keys, i32(SK))
            worker.finish(worker.run(), (dk, dv), (dk_array, dv_array), length)

    return gradients
