"""Shared state of a thread block of attention's backward pass, and the warps that move its data.

In    a tile; q, k, v and the gradients of outputs in global memory; parts of dq in shared memory
Out   blocks of these in shared memory, for `backward`; sums of dq in global memory
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from typing import Any, NamedTuple

import cutelite as cl
from cutelite import i32
from cutelite.kernels.attention.backward_plan import HK, H, Plan, Tile
from cutelite.kernels.attention.scores import GROUP
from cutelite.kernels.attention.tiles import Given
from cutelite.records import dataclass


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
        state, place = cl.PipelineState(plan.config.groups, group, 0), self.first
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
                cl.cp_reduce_async_bulk(target, self.storage.dq[group, None], 16 * GROUP * plan.copied, "add")
                cl.cp_async_bulk_commit_group()
                cl.cp_async_bulk_wait_group(0, read=sums.turns is None)
                if sums.turns is not None:
                    cl.fence_proxy_async("global")
                    cl.store_release(turn, group, number + 1)
            pipe.consumer_release(state)
            place, state = self.following(place), state.advance(plan.config.groups)
