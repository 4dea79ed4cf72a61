"""The backward kernels: dq, dk and dv of o = softmax(scale * q @ k.T) @ v, from o, its gradient, and the logsumexp.

`prepare` sums the rows of o * do. In `gradients`, a thread block takes tiles until none is left: 64 keys for each
computing warpgroup. It loops over the blocks of queries that see them; one thread loads these by TMA. Scores are
computed transposed, K @ Q.T, so that the probabilities P and the gradients of scores dS, in registers, are operands of
dv += P.T @ dO and dk += dS.T @ Q. dS is also written to shared memory: in the next step each warpgroup multiplies a
part of dS @ K and adds it to sums in global memory, which `finish` converts to dq. By then the other warpgroup has
written its dS too, even if it is half a step behind.

docs/lab/attention-backward.md counts what bounds the kernel and records the experiments.
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Smem, Tensor, f16, f32, i32
from cutelite.kernels.attention.backward_block import Block, Pipes, Sums
from cutelite.kernels.attention.backward_outer import add_parts, finish, prepare
from cutelite.kernels.attention.backward_plan import EXTRA, Config, H, Plan
from cutelite.kernels.attention.backward_tiles import HK, SK, SQ, STARTS, WORKERS, Starts
from cutelite.kernels.attention.backward_worker import Results, Worker, multiply
from cutelite.kernels.attention.scores import GROUP, ROWS, Problem
from cutelite.kernels.attention.tiles import Given
from cutelite.records import dataclass


class Kernels(NamedTuple):
    """The kernels, in the order of their launches."""

    prepare: Any
    gradients: Any
    finish: Any
    add_parts: Any


@dataclass(frozen=True)
class Narrow(Worker):
    """A warpgroup with keys of its own, whose scores, P and dS of all queries are in its registers."""

    def run(self, once: Any, number: Any, results: Results) -> Any:
        """Compute a tile.

        once    state of the pipelines of keys and values
        number  of blocks of queries that were computed before, in all tiles. That with this tile's is returned
        """
        block, plan = self.block, self.block.plan
        dk, dv = (cl.wgmma.zeros_accumulator(dim) for dim in plan.dims)
        self.keys_of(once)
        so_far = dk, dv, number, block.first, block.first[2]
        skipped: Any = i32(0)
        if plan.skips and self.unseen:
            so_far, skipped = self.skip(so_far), i32(1)
        for i in range(skipped, block.steps):
            so_far = self.step(so_far, i > 0)
        dk, dv, number, _, last = so_far
        self.finish((dk, dv), results, once, (number - 1, last))
        return number

    def conclude(self, once: Any, last: Any) -> None:
        """Add this warpgroup's part of dq of the last block."""
        (number, at), (keys, _, _, changes, _) = last, self.block.pipes
        if not self.block.plan.gaps or self.block.steps > 0:
            change = changes.consumer_state_at(number)
            changes.consumer_wait(change)
            dq = cl.wgmma.wait_group(0, self.of_queries(change))
            changes.consumer_release(change)
            if self.block.plan.staged:
                keys.consumer_release(once)
            self.add(dq, at, number)
        elif self.block.plan.staged:
            keys.consumer_release(once)

    @property
    def unseen(self) -> Any:
        """Tell whether the queries of the first block come before all that see one of this warpgroup's keys."""
        block, plan, sequence = self.block, self.block.plan, self.block.tile.sequence
        end = (block.tile.begin + 1) * plan.config.rows + plan.offset(sequence, block.given.offset)
        return (block.steps > 0) & (end + block.given.right <= self.key)

    def skip(self, so_far: Any) -> Any:
        """Pass by the first block, with zeros for dS."""
        (dk, dv, number, place, _), (_, _, rows, changes, _) = so_far, self.block.pipes
        state, change = rows.consumer_state_at(number), changes.producer_state_at(number)
        self.rows_of(state, place)
        changes.producer_acquire(change)
        self.lay(cl.full((self.block.plan.config.rows // 2,), 0.0, self.block.plan.problem.dtype), change)
        cl.fence_proxy_async("shared::cta")
        changes.producer_commit(change)
        rows.consumer_release(state)
        return dk, dv, number + 1, self.block.following(place), place[2]

    def step(self, so_far: Any, behind: Any) -> Any:
        """Compute a block of queries; behind the first one (`behind`), also dq of the block before."""
        (dk, dv, number, place, last), block, plan = so_far, self.block, self.block.plan
        (_, _, rows, changes, _) = block.pipes
        state, change = rows.consumer_state_at(number), changes.producer_state_at(number)
        before = changes.consumer_state_at(number - 1)
        q, do = self.rows_of(state, place)
        dv, ds = (self.apart if plan.config.apart else self.beside)(q, do, dv, state, place)
        changes.producer_acquire(change)
        if plan.config.covered:
            if behind:
                changes.consumer_wait(before)
                dq = self.of_queries(before)
                dk = self.of_keys(ds, q, dk, change)
                dv, dq, dk = cl.wgmma.wait_group(1, dv, dq, keep=dk)
                changes.consumer_release(before)
                self.add(dq, last, number - 1)
                dk = cl.wgmma.wait_group(0, dk)
            else:
                dv, dk = cl.wgmma.wait_group(0, dv, self.of_keys(ds, q, dk, change))
            rows.consumer_release(state)
        else:
            dk = self.of_keys(ds, q, dk, change)
            if plan.config.apart:
                dv, dk = cl.wgmma.wait_group(0, dv, dk)
                rows.consumer_release(state)
            if behind:
                changes.consumer_wait(before)
                dq = self.of_queries(before)
                if not plan.config.apart:
                    dv, dk, dq = cl.wgmma.wait_group(1, dv, dk, keep=dq)
                    rows.consumer_release(state)
                dq = cl.wgmma.wait_group(0, dq)
                changes.consumer_release(before)
                self.add(dq, last, number - 1)
            elif not plan.config.apart:
                dv, dk = cl.wgmma.wait_group(0, dv, dk)
                rows.consumer_release(state)
        return dk, dv, number + 1, block.following(place), place[2]

    def beside(self, q: Any, do: Any, dv: Any, state: Any, place: Any) -> tuple[Any, Any]:
        """Start scores beside dP, then dv + P.T @ dO; return this and dS."""
        plan, early = self.block.plan, self.block.plan.early
        lse = self.of_rows(state, 0) if early else None
        s, dp = cl.wgmma.wait_group(1, self.scores(q, state), keep=self.score_gradients(do, state))
        p, slope = self.powers(s, lse if early else self.of_rows(state, 0), place)
        total = self.of_rows(state, 1) if early else None
        dp, packed = cl.wgmma.wait_group(0, dp, after=p.to(plan.problem.dtype))
        dv = multiply(packed, cl.select(do, (1, 0)), dv)
        if early:
            dp, p = cl.wgmma.fence_operand(dp, p)
        ds = self.changes(p, dp, slope, total if early else self.of_rows(state, 1))
        return dv, cl.wgmma.fence_operand(ds, held=False)

    def apart(self, q: Any, do: Any, dv: Any, state: Any, place: Any) -> tuple[Any, Any]:
        """Compute scores, then dP, then start dv + P.T @ dO; return this and dS. P waits for dP as f16."""
        s = cl.wgmma.wait_group(0, self.scores(q, state))
        p, slope = self.powers(s, self.of_rows(state, 0), place)
        held = cl.wgmma.fence_operand(p.to(f16), held=False)
        dp = cl.wgmma.wait_group(0, self.score_gradients(do, state))
        ds = cl.wgmma.fence_operand(self.changes(held.to(f32), dp, slope, self.of_rows(state, 1)), held=False)
        return multiply(held.to(self.block.plan.problem.dtype), cl.select(do, (1, 0)), dv), ds

    def of_keys(self, ds: Any, q: Any, dk: Any, change: Any) -> Any:
        """Start dk + dS.T @ Q, and give dS to the other warpgroups."""
        self.lay(ds, change)
        dk = multiply(ds, cl.select(q, (1, 0)), dk)
        cl.fence_proxy_async("shared::cta")
        self.block.pipes.changes.producer_commit(change)
        return dk

    def lay(self, ds: Any, change: Any) -> None:
        """Write this warpgroup's part of dS to shared memory."""
        plan, target = self.block.plan, cl.select(self.block.storage.ds[None, None, change.index], (1, 0))
        plan.put(ds, cl.local_tile(target, (ROWS, plan.config.rows), (self.group, 0)), transpose=True)


@dataclass(frozen=True)
class Wide(Worker):
    """A warpgroup that computes a part of the columns of dq, dk and dv, for keys that all warpgroups share.

    It also computes the scores of a part of the queries; P and dS of all of them go through shared memory.
    """

    def run(self, once: Any, number: Any, results: Results) -> Any:
        """Compute a tile.

        once    state of the pipelines of keys and values
        number  of blocks of queries that were computed before, in all tiles. That with this tile's is returned
        """
        block, plan = self.block, self.block.plan
        dk, dv = (cl.wgmma.zeros_accumulator(dim // WORKERS) for dim in plan.dims)
        self.keys_of(once)
        so_far = dk, dv, number, block.first, (cl.full((plan.columns // 2,), 0.0, f32), block.first[2])
        for i in range(block.steps):
            so_far = self.step(so_far, i > 0)
        dk, dv, number, _, last = so_far
        self.finish((dk, dv), results, once, last)
        return number

    def conclude(self, once: Any, last: Any) -> None:
        """Add what is left of dq of the last block."""
        if not self.block.plan.gaps or self.block.steps > 0:
            self.rest(*last)
        super().conclude(once, last)

    def rest(self, dq: Any, at: Any) -> None:
        """Add the late groups of a block of dq to the sums."""
        groups = self.block.plan.columns // 8
        self.reduce(dq, at, groups - self.block.plan.late, groups)

    def step(self, so_far: Any, behind: Any) -> Any:
        """Compute a block of queries; behind the first one (`behind`), also add the rest of dq of the block before.

        Tensor cores have dP while P is written, dv while dS is made, and dk while dq is added.
        """
        (dk, dv, number, place, last), block, plan = so_far, self.block, self.block.plan
        (_, _, rows, changes, _), storage, (n, mine) = block.pipes, block.storage, self.queries
        state, change = rows.consumer_state_at(number), changes.producer_state_at(number)
        full = changes.consumer_state_at(number)
        q, do = self.rows_of(state, place)
        s, dp = self.scores(q, state), self.score_gradients(do, state)
        if behind:
            self.rest(*last)
        lse, total = self.of_rows(state, 0), self.of_rows(state, 1)
        s, dp = cl.wgmma.wait_group(1, s, keep=dp)
        p, slope = self.powers(s, lse, place)
        of_p, of_ds = (t[None, None, change.index] for t in (storage.p, storage.ds))
        own_p, own_ds = (cl.local_tile(cl.select(t, (1, 0)), (ROWS, n), (0, mine)) for t in (of_p, of_ds))
        changes.producer_acquire(change)
        plan.put(p, own_p, transpose=True)
        cl.fence_proxy_async("shared::cta")
        block.everyone.sync()
        dv = multiply(cl.select(of_p, (1, 0)), self.columns(do), dv)
        dp, dv = cl.wgmma.wait_group(1, dp, keep=dv)
        plan.put(self.changes(p, dp, slope, total), own_ds, transpose=True)
        cl.fence_proxy_async("shared::cta")
        changes.producer_commit(change)
        changes.consumer_wait(full)
        dq = multiply(of_ds, self.columns(block.k), cl.wgmma.zeros_accumulator(plan.columns), False)
        dk = multiply(cl.select(of_ds, (1, 0)), self.columns(q), dk)
        dv, dq, dk = cl.wgmma.wait_group(1, dv, dq, keep=dk)
        self.add(dq, place[2], number)
        dk = cl.wgmma.wait_group(0, dk)
        rows.consumer_release(state)
        changes.consumer_release(full)
        # the sum puts what is left into registers of its own: ptxas would wait for the next scores before it reads dq's
        return dk, dv, number + 1, block.following(place), (dq + 0.0, place[2])

    def columns(self, tile: Any) -> Any:
        """Return this warpgroup's columns of a tile (rows, D), as the rows of an operand B."""
        rows = cl.size(tile.shape[0])
        return cl.local_tile(cl.select(tile, (1, 0)), (cl.size(tile) // rows // WORKERS, rows), (self.group, 0))


@lru_cache(maxsize=256)
def build(config: Config, problem: Problem, ordered: bool = False) -> Kernels:
    """Return the kernels. `ordered`: dq is added up in the order of keys, so that equal inputs give equal bits."""
    if ordered:
        config = replace(config, copied=8, stages=1 if config.wide or config.apart else config.stages)
    plan = Plan(config, problem)
    return Kernels(prepare(plan), gradients(plan, ordered), finish(plan), add_parts(plan) if config.split else None)


def shared_memory(plan: Plan) -> Any:
    """Return the shared memory of a thread block, a class."""
    config, dtype, BM, BN, (D, DV) = plan.config, plan.problem.dtype, plan.config.rows, plan.keys, plan.dims
    of_k, of_q, of_v = plan.spans
    BASE: Any = Smem[f32, cl.row_major((config.stages, 2 * BM))]
    if config.extended:
        BASE = Smem[dtype, cl.make_smem_layout(dtype, (BM, EXTRA, config.stages))]

    class Storage(cl.SharedStorage):
        k: Smem[dtype, plan.laid((BN, D, plan.ahead), of_k)]
        v: Smem[dtype, plan.laid((BN, DV, plan.ahead), of_v)]
        q: Smem[dtype, plan.laid((BM, D, config.stages), of_q)]
        do: Smem[dtype, plan.laid((BM, DV, config.stages), of_v)]
        if config.wide:
            p: Smem[dtype, cl.make_smem_layout(dtype, (BM, BN, config.held))]
        ds: Smem[dtype, cl.make_smem_layout(dtype, (BM, BN, config.held))]
        if plan.copied > 0:
            dq: Smem[f32, cl.row_major((WORKERS, 4 * GROUP * plan.copied))]
        base: BASE
        if plan.staged and not config.split:
            grads: Smem[dtype, cl.row_major((WORKERS, BN * max(D, DV) // WORKERS)), 1024]

    return Storage


def gradients(plan: Plan, ordered: bool) -> Any:
    """Return the kernel that computes all five products."""
    config, dtype, BM, BN = plan.config, plan.problem.dtype, plan.config.rows, plan.keys
    d, e, (of_k, of_q, of_v) = plan.problem.dim, plan.problem.dim_v, plan.spans
    Q, K, DK = plan.box(H, SQ, d, BM, of_q), plan.box(HK, SK, d, BN, of_k), plan.box(HK, SK, d, ROWS, of_k)
    DO, V, DV = plan.box(H, SQ, e, BM, of_v), plan.box(HK, SK, e, BN, of_v), plan.box(HK, SK, e, ROWS, of_v)
    Storage = shared_memory(plan)

    @cl.kernel(block=(1 + WORKERS) * GROUP)
    def gradients(
        q: Q, k: K, v: V, do: DO, base: plan.base_box, sums: plan.sums, turns: plan.turns | None,
        counter: Tensor[i32, (1,)] | None, dk: DK, dv: DV, scale: f32, offset: i32, left: i32, right: i32, band: i32,
        dk_array: plan.array("DK", HK, SK, d) = None, dv_array: plan.array("DV", HK, SK, e) = None,
        of_queries: STARTS = None, of_keys: STARTS = None, dk_parts: plan.parts(plan.dims[0]) = None,
        dv_parts: plan.parts(plan.dims[1]) = None, tables: plan.tables = (),
    ) -> None:  # fmt: skip
        """
        base     logsumexps and row sums of o * do, as `prepare` writes them
        sums     dq without the scale, zero at the start
        counter  of `cl.TileQueue`; scale to band are as in `Given`
        dk_array, dv_array   `dk` and `dv` again, for ragged sequences
        dk_parts, dv_parts   in their places, where heads of queries are split
        of_queries, of_keys  starts of ragged sequences, and the end of the last; `tables`: what functions captured
        """
        if cl.thread_idx.x == 0:
            for t in (q, k, v, do, dk, dv):
                cl.prefetch_tensormap(t)
        storage, given, threads = Storage.allocate(), Given(scale, offset, left, right, band), WORKERS * GROUP
        starts, copies = Starts(of_queries, of_keys), plan.copied > 0
        keys, values = (
            cl.PipelineTmaAsync.create(plan.ahead, BN * wide * dtype.bytes, threads, sync=False) for wide in plan.dims
        )
        row = sum(plan.dims) * dtype.bytes + (2 * EXTRA if config.extended else 8)
        rows = cl.PipelineTmaAsync.create(config.stages, BM * row, threads, sync=False)
        changes = cl.PipelineAsync.create(config.held, threads, threads, sync=False)
        parts = cl.PipelineAsync.create(WORKERS, GROUP, 32, sync=False) if copies else None
        tiles = cl.TileQueue.create(
            plan.kind, lambda index: plan.place(index, given, starts), plan.count(), counter,
            threads + (32 * WORKERS if copies else 0),
        )  # fmt: skip
        cl.pipeline_init_sync()
        cl.griddepcontrol_wait()
        cl.griddepcontrol_launch_dependents()
        block = Block(plan.with_arrays(tables), storage, Pipes(keys, values, rows, changes, parts), given)
        adds = Sums(plan.by_block(sums), plan.by_block(turns))
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(plan.regs[0])
            warp = cl.make_warp_uniform(cl.warp_idx())
            if warp == 0:
                if cl.elect_one():
                    block.produce(tiles, q, k, v, do, base)
            elif warp <= WORKERS and copies:
                block.accumulate(tiles, adds, warp - 1)
        else:
            cl.setmaxnreg_inc(plan.regs[1])
            compute(block, tiles, adds, Results((dk, dv), (dk_array, dv_array), (dk_parts, dv_parts), starts))

    return gradients


def compute(block: Block, tiles: Any, sums: Sums, results: Results) -> None:
    """Compute tiles until none is left. Who: a computing warpgroup."""
    group, number, kind = cl.warpgroup_idx() - 1, cl.u32(0), Wide if block.plan.config.wide else Narrow
    tiles = tiles.advance()
    while tiles.is_valid():
        at, turns = tiles.state.index ^ 1, tiles.state.phase  # the queue has two places: keys and values go as it does
        once = cl.PipelineState(1, 0, at) if block.plan.ahead == 1 else cl.PipelineState(2, at, turns ^ at)
        number = kind(block.at(tiles.place, once.index), group, sums).run(once, number, results)
        tiles = tiles.advance()
    if cl.thread_idx.x % GROUP == 0:
        cl.cp_async_bulk_wait_group(0, read=True)
