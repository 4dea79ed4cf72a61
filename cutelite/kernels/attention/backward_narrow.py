"""A warpgroup of attention's backward pass with keys of its own, for head dims up to 128 (192 with values of 128).

In    blocks of keys, values, queries and gradients of outputs in shared memory
Out   parts of dq, and dk and dv, on their way to global memory
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from typing import Any

import cutelite as cl
from cutelite import f16, f32, i32
from cutelite.kernels.attention.backward_plan import FACTORS
from cutelite.kernels.attention.backward_worker import Results, Worker, multiply
from cutelite.kernels.attention.scores import ROWS
from cutelite.records import dataclass


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
        if plan.skips:  # do the queries of the first block come before all that see one of this warpgroup's keys?
            end = (block.tile.begin + 1) * plan.config.rows + plan.offset(block.tile.sequence, block.given.offset)
            if (block.steps > 0) & (end + block.given.right <= self.key):
                so_far, skipped = self.skip(so_far), i32(1)
        for i in range(skipped, block.steps):
            so_far = self.step(so_far, i > 0)
        dk, dv, number, _, last = so_far
        self.finish((dk, dv), results, once, (number - 1, last))
        return number

    def finish(self, grads: Any, results: Results, once: Any, last: Any) -> None:
        """Write dk and dv of this warpgroup's keys, add its part of dq of the last block, and release the keys."""
        block, plan, own = self.block, self.block.plan, (self.k, self.v)
        (keys, values, *_), staged = block.pipes, plan.staged
        if staged:
            values.consumer_release(once)
        if staged and not plan.config.split:
            place = block.storage.grads[self.group, None]
            own = tuple(
                cl.with_layout(place, plan.laid((ROWS, n), span))
                for n, span in zip(plan.dims, plan.spans[::2], strict=True)
            )
            self.settle()
        self.leave(grads, own, results, 1)
        self.conclude(once, last)
        if not staged:
            block.everyone.sync()  # the others have read these keys
        elif not plan.config.split:
            self.settle()
        self.leave(grads, own, results, 0)
        if not staged:
            self.settle()
            keys.consumer_release(once)
            values.consumer_release(once)

    def leave(self, grads: Any, own: Any, results: Results, which: int) -> None:
        """Write dk (0) or dv (1), by way of shared memory of this warpgroup's own that no warp reads any more."""
        plan, grad = self.block.plan, grads[which]
        if plan.config.split:
            self.keep(grad, results.parts[which], self.group)
            return
        if which == 0:
            grad = grad * (self.block.given.scale * 2.0**-plan.lift)
        elif plan.lift:
            grad = grad * 2.0**-plan.lift
        plan.put(grad, own[which])
        self.send(own[which], self.key, results, which)

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
        dv, ds = (self.apart if plan.apart else self.beside)(q, do, dv, state, place)
        changes.producer_acquire(change)
        if plan.covered:
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
            if plan.apart:
                dv, dk = cl.wgmma.wait_group(0, dv, dk)
                rows.consumer_release(state)
            if behind:
                changes.consumer_wait(before)
                dq = self.of_queries(before)
                if not plan.apart:
                    dv, dk, dq = cl.wgmma.wait_group(1, dv, dk, keep=dq)
                    rows.consumer_release(state)
                dq = cl.wgmma.wait_group(0, dq)
                changes.consumer_release(before)
                self.add(dq, last, number - 1)
            elif not plan.apart:
                dv, dk = cl.wgmma.wait_group(0, dv, dk)
                rows.consumer_release(state)
        return dk, dv, number + 1, block.following(place), place[2]

    def beside(self, q: Any, do: Any, dv: Any, state: Any, place: Any) -> tuple[Any, Any]:
        """Start scores beside dP, then dv + P.T @ dO; return this and dS."""
        plan, early = self.block.plan, self.block.plan.early
        lse = self.of_rows(state, 0) if early else None
        s, dp = cl.wgmma.wait_group(1, self.product(self.k, q, 0, state), keep=self.product(self.v, do, 1, state))
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
        s = cl.wgmma.wait_group(0, self.product(self.k, q, 0, state))
        p, slope = self.powers(s, self.of_rows(state, 0), place)
        held = cl.wgmma.fence_operand(p.to(f16), held=False)
        dp = cl.wgmma.wait_group(0, self.product(self.v, do, 1, state))
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

    def product(self, own: Any, rows: Any, which: int, state: Any) -> Any:
        """Start ``own @ rows.T``, (keys, queries) of scores (0) or dP (1), less `of_rows` where operands have these."""
        acc = cl.wgmma.zeros_accumulator(self.block.plan.config.rows)
        if not self.block.plan.config.extended:
            return multiply(own, rows, acc, False)
        acc = cl.wgmma.mma_async(own, rows, acc, accumulate=False)
        return multiply(self.minus_factors(which), self.block.storage.base[None, None, state.index], acc)

    def minus_factors(self, which: int) -> Any:
        """Return an operand A in registers: `FACTORS`, negative, in the first columns of one half, 0 elsewhere."""
        dtype = self.block.plan.problem.dtype
        held, t = cl.make_rmem_tensor(dtype, (8,)), cl.thread_idx.x % 4
        held.store(cl.full((8,), 0.0, dtype))
        for i in cl.static_range(4):  # columns 2 t and 2 t + 1 of two rows; the other four are columns from 8 on
            own: Any = 0.0
            for j, factor in reversed(list(enumerate(FACTORS[dtype][i % 2 :: 2]))):
                own = cl.where(t <= j, -factor, own)
            held[4 * which + i] = own.to(dtype)
        return held.load()

    def of_rows(self, state: Any, which: int) -> Any:
        """Return the logsumexps (0) or the sums of rows (1) of this thread's queries: (2, 1, queries / 8).

        None where products subtract them.
        """
        if self.block.plan.config.extended:
            return None
        n, base = self.block.plan.config.rows, self.block.storage.base[state.index, None]
        fours = cl.with_layout(base, cl.make_layout((4, 4, n // 16, 2), (1, 4, 16, n)))
        return fours[None, cl.thread_idx.x % 4, None, which].load().reshape((2, 1, n // 8))

    def of_queries(self, state: Any) -> Any:
        """Start this warpgroup's part of dS @ K."""
        plan, block = self.block.plan, self.block
        left, right = block.storage.ds[None, None, state.index], cl.select(block.k, (1, 0))
        if plan.by_rows:
            left = cl.local_tile(left, (ROWS, plan.keys), (self.group, 0))
        else:
            right = cl.local_tile(right, (plan.columns, plan.keys), (self.group, 0))
        return multiply(left, right, cl.wgmma.zeros_accumulator(plan.columns), False)
