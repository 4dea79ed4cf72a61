"""A warpgroup of attention's backward pass that shares its keys with the other, for wide heads.

In    blocks of keys, values, queries and gradients of outputs in shared memory
Out   parts of dq, and dk or dv, on their way to global memory
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from dataclasses import replace
from typing import Any

import cutelite as cl
from cutelite import f32
from cutelite.kernels.attention.backward_worker import COMPLETE, EVERYONE, Worker, multiply
from cutelite.kernels.attention.scores import ROWS


class Wide(Worker):
    """A warpgroup with dv (group 0) or dk (group 1) of all keys of the tile, transposed, and half of dq's columns.

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
        plan, which = self.plan, 1 - self.group
        (keys, values, *_) = self.pipes
        columns = plan.keys if plan.turned else plan.dims[which]
        own = tuple(cl.wgmma.zeros_accumulator(columns) for _ in range(plan.pieces(plan.dims[which])))
        self.await_keys()
        so_far = own, number, self.first, (cl.full((plan.columns // 2,), 0.0, f32), self.first[2])
        for i in range(self.steps):
            so_far = self.step(so_far, i > 0)
        own, number, _, last = so_far
        if not plan.tiles.gaps or self.steps > 0:
            self.add(last[0], last[1], self.early)
        EVERYONE.sync()  # both have read these keys and values
        self.write(own, which, self.kv(which))
        self.await_stores()
        keys.consumer_release(self.kv_state)
        values.consumer_release(self.kv_state)
        return number

    @property
    def early(self) -> int:
        """The number of groups of dq that are added at once; the others during the next scores. In turn: all."""
        groups = self.plan.columns // 8
        return groups if self.results.turns is not None else groups * 3 // 4

    def step(self, so_far: Any, later: Any) -> Any:
        """Compute a block of queries; if it is not the tile's first (`later`), also add the rest of dq of that before.

        Tensor cores have dP while P is made, dv while dS is made, and dk while dq is added.
        """
        (own, number, place, last), plan, storage = so_far, self.plan, self.storage
        *_, rows, ds_pipe = self.pipes
        state, ds_state = rows.consumer_state_at(number), ds_pipe.producer_state_at(number)
        full, has_dv = ds_pipe.consumer_state_at(number), self.group == 0
        q, do = self.await_queries(state, place)
        s = multiply(q, self.own(0), cl.wgmma.zeros_accumulator(plan.width), False)
        dp = multiply(do, self.own(1), cl.wgmma.zeros_accumulator(plan.width), False)
        if later:
            self.add(last[0], last[1], self.early)
        lse, total = (self.of_rows(state, which) for which in range(2))
        s, dp = cl.wgmma.wait_group(1, s, keep=dp)
        p, rates = self.powers(s, lse, place)
        of_p, of_ds = (t[None, None, ds_state.index] for t in (storage.p, storage.ds))
        ds_pipe.producer_acquire(ds_state)
        plan.put(p, of_p, self.group)
        cl.fence_proxy_async("shared::cta")
        if has_dv:
            COMPLETE.sync()
            dp, *own = cl.wgmma.wait_group(1, dp, keep=self.start_own(do, of_p, own))
        else:
            COMPLETE.arrive()
            dp = cl.wgmma.wait_group(0, dp)
        plan.put(self.score_gradients(p, dp, rates, total), of_ds, self.group)
        cl.fence_proxy_async("shared::cta")
        ds_pipe.producer_commit(ds_state)
        ds_pipe.consumer_wait(full)
        dq = self.start_dq(full)
        if has_dv:
            *own, dq = cl.wgmma.wait_group(0, *own, dq)
            self.add(dq, place[2], 0, self.early)
        else:
            dq, *own = cl.wgmma.wait_group(1, dq, keep=self.start_own(q, of_ds, own))
            self.add(dq, place[2], 0, self.early)
            own = cl.wgmma.wait_group(0, *own)
            own = own if isinstance(own, tuple) else (own,)
        rows.consumer_release(state)
        ds_pipe.consumer_release(full)
        # the sum puts what is left into registers of its own: ptxas would wait for the next scores before it reads dq's
        return tuple(own), number + 1, self.following(place), (dq + 0.0, place[2])

    def start_own(self, rows: Any, of: Any, own: Any) -> Any:
        """Start own + of.T @ rows: Q and dS, or dO and P, of a block, (queries, keys). Or the transposed of that."""
        a, b = cl.select(of, (1, 0)), cl.select(rows, (1, 0))
        if self.plan.turned:
            a, b = b, a
        own = tuple(
            cl.wgmma.mma_async(cl.local_tile(a, (ROWS, self.plan.config.rows), (c, 0)), b, acc)
            for c, acc in enumerate(own)
        )
        cl.wgmma.commit_group()
        return own
