"""The computing warpgroups of attention's backward pass that share their keys, for wide heads.

In    blocks of keys, values, queries and gradients of outputs in shared memory
Out   dq on its way to global memory (`Adder`), and dk and dv (`Wide`)
"""

from dataclasses import replace
from functools import partial
from typing import Any

import cutelite as cl
from cutelite import f16, f32
from cutelite.kernels.attention.backward_worker import EVERYONE, Worker, multiply
from cutelite.kernels.attention.scores import ROWS


class Wide(Worker):
    """A warpgroup with dv (group 0) or dk (group 1) of all keys of the tile, transposed.

    It computes scores of all queries for half of the keys; P and dS go through shared memory.
    """

    def run(self, number: Any) -> Any:
        """Compute a tile; see `Narrow.run`. From here on the group is known when the kernel is compiled."""
        if self.group == 0:
            number = replace(self, group=0).compute_tile(number)
        else:
            number = replace(self, group=1).compute_tile(number)
        return number

    def compute_tile(self, number: Any) -> Any:
        """Compute a tile."""
        plan, which, (keys, values, *_, ds_pipe) = self.plan, 1 - self.group, self.pipes
        own = tuple(cl.wgmma.zeros_accumulator(plan.keys) for _ in range(plan.pieces(plan.dims[which])))
        self.await_keys()
        so_far = own, number, self.first
        for _ in range(self.steps):
            so_far = self.step(so_far)
        own, number, _ = so_far
        EVERYONE.sync()  # both have read these keys and values
        if which == 0 and not plan.split:  # and so has `Adder`, which has released the last dS
            ds_pipe.producer_acquire(ds_pipe.producer_state_at(number + (plan.config.held - 1)))
        self.write(own, which, self.kv(which))
        self.await_stores()
        keys.consumer_release(self.kv_state)
        values.consumer_release(self.kv_state)
        return number

    def step(self, so_far: Any) -> Any:
        """Compute a block of queries.

        Tensor cores have dP while P is stored, dv while dS is made, and dq of the block before whenever they are free.
        """
        (own, number, place), plan, storage = so_far, self.plan, self.storage
        (*_, p_pipe, rows, ds_pipe), has_dv = self.pipes, self.group == 0
        p_state, ds_state = p_pipe.producer_state_at(number), ds_pipe.producer_state_at(number)
        state, p_full, ds_full = (pipe.consumer_state_at(number) for pipe in (rows, p_pipe, ds_pipe))
        of_p, of_ds = storage.p[None, None, p_state.index], storage.ds[None, None, ds_state.index]
        q, do = self.await_queries(state, place)
        lse, scores = self.of_rows(state, 0), self.at_block(place)
        s = cl.wgmma.wait_group(0, multiply(q, self.own(0), self.begun(place, number)))
        p, rates = scores.powers(s, lambda: lse)
        total = self.of_rows(state, 1)
        held = cl.wgmma.fence_operand(p.to(f16), held=False)
        at_once = rates.literal  # else dP has registers only when P is stored
        dp = multiply(do, self.own(1)) if at_once else None
        p_pipe.producer_acquire(p_state)
        plan.put(held.to(f32), of_p, self.group)
        cl.fence_proxy_async("shared::cta")
        p_pipe.producer_commit(p_state)
        dp = dp if at_once else multiply(do, self.own(1))
        if has_dv:
            p_pipe.consumer_wait(p_full)
            dp, *own = cl.wgmma.wait_group(1, dp, keep=self.start_own(do, of_p, own))
        else:
            dp = cl.wgmma.wait_group(0, dp)
        ds = scores.gradients(held, dp, rates, total)
        ds_pipe.producer_acquire(ds_state)
        plan.put(ds, of_ds, self.group)
        cl.fence_proxy_async("shared::cta")
        ds_pipe.producer_commit(ds_state)
        if has_dv:
            own = self.complete(own)
            p_pipe.consumer_release(p_full)
        else:
            ds_pipe.consumer_wait(ds_full)
            own = self.complete(self.start_own(q, of_ds, own))
            ds_pipe.consumer_release(ds_full)
        rows.consumer_release(state)
        return own, number + 1, self.following(place)

    def complete(self, own: Any) -> Any:
        """Wait for the accumulators `own`, of which values of up to 64 have one alone, and return them as a tuple."""
        done = cl.wgmma.wait_group(0, *own)
        return done if len(own) > 1 else (done,)

    def start_own(self, rows: Any, of: Any, own: Any) -> Any:
        """Start own + rows.T @ of: Q and dS, or dO and P, of a block, (queries, keys)."""
        a, b = cl.select(rows, (1, 0)), cl.select(of, (1, 0))
        shape = ROWS, self.plan.config.rows
        own = tuple(multiply(cl.local_tile(a, shape, (c, 0)), b, acc, group=False) for c, acc in enumerate(own))
        cl.wgmma.commit_group()
        return own


class Adder(Worker):
    """The warpgroup that multiplies dq of all keys of the tile, and adds it to the sums: it takes as long as a step.

    The others do not wait for it. It has few registers, and so 64 columns at a time.
    """

    def run(self, number: Any) -> Any:
        """Compute a tile; see `Narrow.run`."""
        (keys, *_, ds_pipe), place = self.pipes, self.first
        keys.consumer_wait(self.kv_state)
        for _ in range(self.steps):
            state = ds_pipe.consumer_state_at(number)
            ds_pipe.consumer_wait(state)
            self.in_turn(partial(self.add_all, state, place[2]))
            ds_pipe.consumer_release(state)
            number, place = number + 1, self.following(place)
        keys.consumer_release(self.kv_state)
        return number

    def add_all(self, state: Any, at: Any) -> None:
        """Multiply a block of dq, and add it."""
        for c in range(self.plan.count):  # at run time: ptxas would hold back additions
            self.add(cl.wgmma.wait_group(0, self.start_dq(state, c)), c, at)
