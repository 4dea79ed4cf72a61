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
from cutelite import Smem, f32, i32
from cutelite.kernels.attention.backward_block import Block, Pipes, Sums
from cutelite.kernels.attention.backward_plan import HK, SK, SQ, STARTS, Config, H, Plan, Starts, finish, prepare
from cutelite.kernels.attention.scores import GROUP, LN2, ROWS, Problem
from cutelite.kernels.attention.tiles import Given
from cutelite.lang.given import given_by

LOG2E = 1 / LN2
NEVER = 1 << 30
"""A column beyond every block."""


class Kernels(NamedTuple):
    """The kernels, in the order of their launches."""

    prepare: Any
    gradients: Any
    finish: Any


@dataclass(frozen=True)
class Worker:
    """A computing warpgroup: its index, its keys and values in shared memory, and the sums of dq."""

    block: Block
    group: Any
    sums: Sums

    @property
    def k(self) -> Any:
        """Its keys in shared memory."""
        return cl.local_tile(self.block.storage.k, (ROWS, self.block.plan.dims[0]), (self.first, 0))

    @property
    def v(self) -> Any:
        """Its values."""
        return cl.local_tile(self.block.storage.v, (ROWS, self.block.plan.dims[1]), (self.first, 0))

    @property
    def first(self) -> Any:
        """The place of its keys, in steps of 64, among those of the block."""
        return 0 if self.block.plan.config.wide else self.group

    @property
    def key(self) -> Any:
        """The index of its first key."""
        return self.block.tile.key + self.first * ROWS

    @property
    def queries(self) -> tuple[int, Any]:
        """The number of queries of a block whose scores it computes, and the first of them."""
        config = self.block.plan.config
        return (config.rows // config.groups, self.group) if config.wide else (config.rows, 0)

    def run(self) -> Any:
        """Return the gradients of its keys, without the scale, and of its values."""
        block, plan, (_, rows, changes, _) = self.block, self.block.plan, self.block.pipes
        self.clear_keys()
        held, groups = plan.config.held, plan.config.groups
        before = cl.PipelineState(held, held - 1, 1), block.first
        states = rows.consumer_state(), changes.producer_state(), cl.PipelineState(groups, self.group, 1)
        dk, dv = (cl.wgmma.zeros_accumulator(dim) for dim in plan.dims)
        so_far = dk, dv, states, block.first, before, self.nothing(self.sums_of(block.first))
        for i in range(block.steps):
            so_far = self.step(so_far, i > 0)
        dk, dv, (_, _, part), _, before, waiting = so_far
        if block.steps > 0:
            if plan.config.deferred:
                add(*waiting)
            changes.consumer_wait(before[0])
            self.add(self.scaled(cl.wgmma.wait_group(0, self.of_queries(before[0]))), before[1], part)
        return dk, dv

    def step(self, so_far: Any, behind: Any) -> Any:
        """Compute a block of queries; behind the first one (`behind`), also dq of the block before."""
        (dk, dv, (state, change, part), place, before, waiting), block, plan = so_far, self.block, self.block.plan
        (_, rows, changes, _), storage = block.pipes, block.storage
        BM, dtype, early = plan.config.rows, plan.problem.dtype, plan.config.early
        rows.consumer_wait(state)
        q, do, base = self.rows_of(state, place)
        lse = self.of_rows(base, 0) if early > 0 else None
        s = multiply(self.k, q, cl.wgmma.zeros_accumulator(BM), False)
        if plan.config.deferred:
            add(*waiting)
        dp = multiply(self.v, do, cl.wgmma.zeros_accumulator(BM), False)
        s, dp = cl.wgmma.wait_group(1, s, keep=dp)
        lse = lse if early > 0 else self.of_rows(base, 0)
        p, slope = self.powers(s.reshape((2, 2, BM // 8)), lse, place)
        total = self.of_rows(base, 1) if early > 1 else None
        if plan.config.late:
            dp, p = cl.wgmma.wait_group(0, dp, after=p.reshape((BM // 2,)))
            p = p.reshape((2, 2, BM // 8))
        else:
            dp, packed = cl.wgmma.wait_group(0, dp, after=p.reshape((BM // 2,)).to(dtype))
            dv = multiply(packed, cl.select(do, (1, 0)), dv)
            if plan.config.fenced:
                dp, p = cl.wgmma.fence_operand(dp, p)
        total = total if early > 1 else self.of_rows(base, 1)
        ds = self.changes(p, dp, slope, total)
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
            dq = self.scaled(cl.wgmma.wait_group(0, dq))
            changes.consumer_release(before[0])
            if plan.config.deferred:
                waiting = dq, self.sums_of(before[1])
            else:
                self.add(dq, before[1], part)
            part = part.advance(plan.config.groups)
        else:
            dv, dk = cl.wgmma.wait_group(0, dv, dk)
            rows.consumer_release(state)
            waiting = self.nothing(waiting[1])
        states = state.advance(), change.advance(), part
        return dk, dv, states, block.following(place), (emptied(change), place), waiting

    def nothing(self, sums: Any) -> Any:
        """Return zeros to be added to sums, until the first block has its dq; nothing where nothing is deferred."""
        if not self.block.plan.config.deferred:
            return (), ()
        return cl.full((self.block.plan.columns // 2,), 0.0, f32), sums

    def scaled(self, dq: Any) -> Any:
        """Return dq times the scale if it is deferred: results of wgmma that are read later make ptxas wait (C7517)."""
        return dq * self.block.given.scale if self.block.plan.config.deferred else dq

    def changes(self, p: Any, dp: Any, slope: Any, total: Any) -> Any:
        """Return dS, the gradients of products of queries and keys, without the scale. `total`: sums of rows."""
        n, _ = self.queries
        ds = p * (dp.reshape((2, 2, n // 8)) - total)
        ds = ds if isinstance(slope, float) and slope == 1.0 else ds * slope
        return ds.reshape((n // 2,)).to(self.block.plan.problem.dtype)

    def rows_of(self, state: Any, place: Any) -> Any:
        """Return a block of queries, the gradients of their outputs, and logsumexps with sums of rows."""
        plan, storage, queries = self.block.plan, self.block.storage, self.block.tile.sequence.queries
        q, do = (t[None, None, state.index] for t in (storage.q, storage.do))
        if plan.problem.ragged and (place[0] + 1) * plan.config.rows > queries:
            self.clear_behind((q, do), plan.config.rows, queries - place[0] * plan.config.rows)
        return q, do, storage.base[state.index, None]

    def clear_keys(self) -> None:
        """Overwrite the keys and values of another sequence with zeros."""
        plan, tile, storage = self.block.plan, self.block.tile, self.block.storage
        if plan.problem.ragged and tile.key + plan.keys > tile.sequence.keys:
            self.clear_behind((storage.k, storage.v), plan.keys, tile.sequence.keys - tile.key)

    def of_rows(self, base: Any, which: int) -> Any:
        """Return the logsumexps (0) or the sums of rows (1) of this thread's queries: (2, 1, queries / 8)."""
        BM, (n, part) = self.block.plan.config.rows, self.queries
        fours = cl.with_layout(base, cl.make_layout((4, 4, n // 16, BM // n, 2), (1, 4, 16, n, BM)))
        return fours[None, cl.thread_idx.x % 4, None, part, which].load().reshape((2, 1, n // 8))

    def powers(self, s: Any, base: Any, place: Any) -> Any:
        """Return probabilities (2, 2, queries / 8), 0 where a query does not see a key, and `score_mod`'s slope."""
        block, (m, head), slope, (n, part) = self.block, place, 1.0, self.queries
        problem, given, sequence = block.plan.problem, block.given, block.tile.sequence
        low = m * block.plan.config.rows + part * n
        batch, offset = sequence.number, block.plan.offset(sequence, given.offset)
        spots = cl.wgmma.coordinates(8)
        columns, keys = cl.make_rmem_tensor(i32, (2, n // 8)), cl.make_rmem_tensor(i32, (2,))
        for c in cl.static_range(n // 4):
            columns[c % 2, c // 2] = c // 2 * 8 + c % 2
        for i in cl.static_range(2):
            keys[i] = self.key + spots[2 * i][0]
        column, key = columns.load().reshape((2, 1, n // 8)), keys.load().reshape((1, 2, 1))
        first = low + spots[0][1]
        if problem.score_mod is not None:
            s, slope = cl.value_and_derivative(problem.score_mod, s * given.scale, batch, head, column + first, key)
            p = cl.math.exp2(s * LOG2E - base, fast=True)
        else:
            p = cl.math.exp2(s * (given.scale * LOG2E) - base, fast=True)
        modified = problem.score_mod is not None or problem.mask_mod is not None
        masked = modified or self.key + ROWS > sequence.keys
        if problem.right:
            masked = masked or low + offset + given.right < self.key + ROWS - 1
        if problem.left:
            masked = masked or low + n - 1 + offset - given.left > self.key
        if masked:
            own = key - offset - first  # the column of the query whose own place the key is
            never = cl.full((2,), NEVER, i32).reshape((1, 2, 1))
            sees = column >= cl.where(key < sequence.keys, own - given.right if problem.right else never - NEVER, never)
            if problem.left:
                sees = sees & (column <= own + given.left)
            if modified:
                sees = sees & (column < sequence.queries - first)
            if problem.mask_mod is not None:
                sees = sees & given_by("mask_mod", problem.mask_mod(batch, head, column + first, key), sees)
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

    def sums_of(self, place: Any) -> Any:
        """Return this thread's place in the sums of a block of queries."""
        (m, head), sequence, parts = place, self.block.tile.sequence, self.sums.parts
        return self.block.plan.accumulators(parts[sequence.batch, head, sequence.block + m, self.group, None])

    def add(self, dq: Any, place: Any, part: Any) -> None:
        """Add this warpgroup's part of a block of dq to the sums, or pass it to the warp that does."""
        plan, storage, parts = self.block.plan, self.block.storage, self.block.pipes.parts
        if plan.config.direct:
            add(dq, self.sums_of(place))
        else:
            parts.producer_acquire(part)
            plan.accumulators(storage.dq[self.group, None]).store(dq.reshape((4, plan.columns // 8)))
            cl.fence_proxy_async("shared::cta")
            parts.producer_commit(part)

    @property
    def together(self) -> Any:
        """The named barrier of this warpgroup."""
        return cl.NamedBarrier(2 + self.group, GROUP)

    def clear_behind(self, tiles: tuple[Any, ...], rows: int, count: Any) -> None:
        """Overwrite the rows of tiles from `count` on with zeros: they are another sequence's. Who: all warpgroups."""
        dtype, threads = self.block.plan.problem.dtype, self.block.plan.config.groups * GROUP
        for tile in tiles:
            eights = cl.size(tile) // rows // 8
            for i in range(max(count, 0) * eights + cl.thread_idx.x - GROUP, cl.size(tile) // 8, threads):
                target = cl.local_tile(tile[i // eights, None], (8,), (i % eights,))
                target.store(cl.full((8,), 0.0, dtype))
        cl.fence_proxy_async("shared::cta")
        self.block.everyone.sync()

    def finish(self, grads: Any, tensors: Any, arrays: Any, starts: Any) -> None:
        """Write the gradients of this warpgroup's keys and values: see `write`. `starts` are those of keys."""
        sequence = self.block.tile.sequence
        length = self.block.plan.written(sequence.number, sequence.key, sequence.keys, starts, i32(SK))
        self.write(grads[1], self.v, tensors[1], arrays[1], length)
        if not self.block.plan.config.wide:  # there both are read before P is complete
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
        n = 2 * grad.n
        column = self.group * n if self.block.plan.config.wide else 0
        if self.block.plan.problem.ragged and self.key + ROWS > sequence.keys:  # what follows is another sequence's
            spots = cl.wgmma.coordinates(8)
            for i in cl.static_range(2):
                key = self.key + spots[2 * i][0]
                if key < length:
                    rows = cl.where(key < sequence.keys, grad, 0.0).to(dtype)
                    row = array[0, tile.kv, sequence.key + key, None]
                    for c in cl.static_range(n // 8):
                        if column + 8 * c < row.shape[0]:
                            pair = cl.local_tile(row, (2,), ((column + 8 * c + spots[0][1]) // 2,))
                            pair.store(rows[4 * c + 2 * i : 4 * c + 2 * i + 2])
        else:
            piece = cl.local_tile(target, (ROWS, n), (0, column // n))
            self.block.plan.put(grad, piece)
            cl.fence_proxy_async("shared::cta")
            self.together.sync()
            if cl.thread_idx.x % GROUP == 0 and self.key < length:
                cl.tma_store(piece, tensor, at=(sequence.batch, tile.kv, sequence.key + self.key, column))
                cl.cp_async_bulk_commit_group()


@dataclass(frozen=True)
class Wide(Worker):
    """A warpgroup that computes a part of the columns of dq, dk and dv, for keys that all warpgroups share.

    It also computes the scores of a part of the queries; P and dS of all of them go through shared memory.
    """

    def run(self) -> Any:
        """Return its columns of the gradients of keys, without the scale, and of values."""
        block, plan, (_, rows, changes, _) = self.block, self.block.plan, self.block.pipes
        self.clear_keys()
        groups, (D, DV) = plan.config.groups, plan.dims
        states = rows.consumer_state(), changes.producer_state(), cl.PipelineState(groups, self.group, 1)
        dk, dv = (cl.wgmma.zeros_accumulator(dim // groups) for dim in (D, DV))
        so_far = dk, dv, states, block.first
        for _ in range(block.steps):
            so_far = self.wide_step(so_far)
        return so_far[:2]

    def wide_step(self, so_far: Any) -> Any:
        """Compute a block of queries."""
        (dk, dv, (state, change, part), place), block, plan = so_far, self.block, self.block.plan
        (_, rows, changes, _), storage, (n, mine) = block.pipes, block.storage, self.queries
        rows.consumer_wait(state)
        q, do, base = self.rows_of(state, place)
        s = multiply(self.k, cl.local_tile(q, (n, plan.dims[0]), (mine, 0)), cl.wgmma.zeros_accumulator(n), False)
        dp = multiply(self.v, cl.local_tile(do, (n, plan.dims[1]), (mine, 0)), cl.wgmma.zeros_accumulator(n), False)
        s, dp = cl.wgmma.wait_group(1, s, keep=dp)
        p, slope = self.powers(s.reshape((2, 2, n // 8)), self.of_rows(base, 0), place)
        dp, packed = cl.wgmma.wait_group(0, dp, after=p.reshape((n // 2,)).to(plan.problem.dtype))
        ds = self.changes(p, dp, slope, self.of_rows(base, 1))
        changes.producer_acquire(change)
        p, by_query = storage.p[None, None, change.index], storage.ds[None, None, change.index]
        for values, tile in ((packed, p), (ds, by_query)):
            plan.put(values, cl.local_tile(cl.select(tile, (1, 0)), (ROWS, n), (0, mine)), transpose=True)
        cl.fence_proxy_async("shared::cta")
        changes.producer_commit(change)
        full = emptied(change)
        changes.consumer_wait(full)
        dv = multiply(cl.select(p, (1, 0)), self.columns(do), dv)
        dk = multiply(cl.select(by_query, (1, 0)), self.columns(q), dk)
        dq = multiply(by_query, self.columns(storage.k), cl.wgmma.zeros_accumulator(plan.columns), False)
        dv, dk, dq = cl.wgmma.wait_group(0, dv, dk, dq)
        rows.consumer_release(state)
        changes.consumer_release(full)
        self.add(dq, place, part)
        states = state.advance(), change.advance(), part.advance(plan.config.groups)
        return dk, dv, states, block.following(place)

    def columns(self, tile: Any) -> Any:
        """Return this warpgroup's columns of a tile (rows, D), as the rows of an operand B."""
        rows, groups = tile.shape[0], self.block.plan.config.groups
        return cl.local_tile(
            cl.select(tile, (1, 0)), (cl.size(tile) // cl.size(rows) // groups, cl.size(rows)), (self.group, 0)
        )


def emptied(state: cl.PipelineState) -> cl.PipelineState:
    """Return the state with which a producer of that stage waits: its consumers have emptied it."""
    return cl.PipelineState(state.stages, state.index, state.phase ^ 1)


def add(values: Any, sums: Any) -> None:
    """Add an accumulator to this thread's sums in global memory."""
    for c in cl.static_range(values.n // 4):
        cl.red(sums[None, c], None, "add", values[4 * c : 4 * c + 4])


def multiply(a: Any, b: Any, acc: Any, accumulate: bool = True) -> Any:
    """Start ``acc + a @ b.T`` as a wgmma group of its own."""
    acc = cl.wgmma.mma_async(a, b, acc, accumulate=accumulate)
    cl.wgmma.commit_group()
    return acc


@lru_cache(maxsize=256)
def build(config: Config, problem: Problem, ordered: bool = False) -> Kernels:
    """Return the kernels. `ordered`: dq is added up in the order of keys, so that equal inputs give equal bits."""
    if ordered:
        config = replace(config, direct=False, deferred=False, stages=1 if config.wide else config.stages)
    plan = Plan(config, problem)
    return Kernels(prepare(plan), gradients(plan, ordered), finish(plan))


def gradients(plan: Plan, ordered: bool) -> Any:
    """Return the kernel that computes all five products."""
    config, dtype, BM, BN, (D, DV) = plan.config, plan.problem.dtype, plan.config.rows, plan.keys, plan.dims
    d, e = plan.problem.dim, plan.problem.dim_v
    Q, DO, K, V = plan.box(H, SQ, d, BM), plan.box(H, SQ, e, BM), plan.box(HK, SK, d, BN), plan.box(HK, SK, e, BN)

    class Storage(cl.SharedStorage):
        k: Smem[dtype, cl.make_smem_layout(dtype, (BN, D))]
        v: Smem[dtype, cl.make_smem_layout(dtype, (BN, DV))]
        q: Smem[dtype, cl.make_smem_layout(dtype, (BM, D, config.stages))]
        do: Smem[dtype, cl.make_smem_layout(dtype, (BM, DV, config.stages))]
        if config.wide:
            p: Smem[dtype, cl.make_smem_layout(dtype, (BM, BN, config.held))]
        ds: Smem[dtype, cl.make_smem_layout(dtype, (BM, BN, config.held))]
        if not config.direct:
            dq: Smem[f32, cl.row_major((config.groups, ROWS * plan.columns))]
        base: Smem[f32, cl.row_major((config.stages, 2 * BM))]

    @cl.kernel(block=(1 + config.groups) * GROUP)
    def gradients(
        q: Q, k: K, v: V, do: DO, base: plan.base, sums: plan.sums, turns: plan.turns | None,
        dk: plan.box(HK, SK, d, ROWS), dv: plan.box(HK, SK, e, ROWS), scale: f32, offset: i32, left: i32, right: i32,
        band: i32, dk_array: plan.array(HK, SK, d) = None, dv_array: plan.array(HK, SK, e) = None,
        of_queries: STARTS = None, of_keys: STARTS = None,
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
        keys = cl.PipelineTmaAsync.create(1, BN * (D + DV) * dtype.bytes, threads, sync=False)
        rows = cl.PipelineTmaAsync.create(config.stages, BM * ((D + DV) * dtype.bytes + 8), threads, sync=False)
        changes = cl.PipelineAsync.create(config.held, threads, threads, sync=False)
        parts = None if config.direct else cl.PipelineAsync.create(config.groups, GROUP, 32, sync=False)
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
            keys.consumer_wait(keys.consumer_state())
            worker = (Wide if config.wide else Worker)(block, group, Sums(sums, turns))
            worker.finish(worker.run(), (dk, dv), (dk_array, dv_array), of_keys)

    return gradients
