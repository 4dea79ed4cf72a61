"""Shared state of a thread block of attention's backward pass, and the warps that move its data.

In    a tile; q, k, v and the gradients of outputs in global memory; parts of dq in shared memory
Out   blocks of these in shared memory, for `backward`; sums of dq in global memory
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from typing import Any, NamedTuple

import cutelite as cl
from cutelite import i32
from cutelite.kernels.attention.backward_plan import BLOCKS, H, Plan
from cutelite.kernels.attention.backward_tiles import HK, WORKERS
from cutelite.kernels.attention.scores import GROUP
from cutelite.kernels.attention.tiles import Given
from cutelite.records import dataclass


class Sums(NamedTuple):
    """The sums of dq in global memory, and the number of the block of keys that adds next (None: any order)."""

    parts: Any
    turns: Any


class Pipes(NamedTuple):
    """Pipelines: keys, values (once a tile), blocks of queries, blocks of dS, parts of dq to be added."""

    keys: Any
    values: Any
    rows: Any
    changes: Any
    parts: Any


@dataclass(frozen=True)
class Block:
    """State that all threads of a block share, and the work of the warps that move data."""

    plan: Plan
    storage: Any
    pipes: Pipes
    given: Given
    tile: Any = None  # a `Tile`, whose keys and values are those of number `held`
    held: Any = None

    def at(self, place: Any, held: Any = None) -> Any:
        """Return the state for the tile at a place, whose keys and values are in buffer `held`."""
        return Block(self.plan, self.storage, self.pipes, self.given, self.plan.tile(place), held)

    @property
    def k(self) -> Any:
        """The tile's keys in shared memory."""
        return self.storage.k[None, None, self.held]

    @property
    def v(self) -> Any:
        """Its values."""
        return self.storage.v[None, None, self.held]

    @property
    def steps(self) -> Any:
        """The number of blocks of queries, over all heads."""
        return i32(H // self.plan.heads) * (self.tile.end - self.tile.begin)

    @property
    def everyone(self) -> Any:
        """The named barrier of all computing warpgroups."""
        return cl.NamedBarrier(1, WORKERS * GROUP)

    @property
    def first(self) -> Any:
        """The first block of queries, its head, and its index among the blocks of all heads, as in the sums."""
        m, head = self.tile.begin, self.tile.kv * i32(H // self.plan.heads)
        return m, head, (self.tile.sequence.batch * i32(H) + head) * i32(BLOCKS) + self.tile.sequence.block + m

    def following(self, place: Any) -> Any:
        """Return the place of the block of queries after one."""
        m, head, at = place
        last, again = m + 1 == self.tile.end, i32(BLOCKS) + self.tile.begin - self.tile.end
        return (
            cl.where(last, self.tile.begin, m + 1),
            cl.where(last, head + 1, head),
            cl.where(last, at + again, at) + 1,
        )

    def produce(self, tiles: Any, q: Any, k: Any, v: Any, do: Any, base: Any) -> None:
        """Load tiles until none is left. Executed by one thread."""
        once, state = self.pipes.keys.producer_state(), self.pipes.rows.producer_state()
        tiles = tiles.begin()
        while tiles.is_valid():
            once, state = once.advance(), self.at(tiles.place, once.index).load(q, k, v, do, base, once, state)
            tiles = tiles.tell(tiles.take())  # as late as loads allow, so that no tile waits for a long one

    def load(self, q: Any, k: Any, v: Any, do: Any, base: Any, once: Any, state: Any) -> Any:
        """Load the blocks of queries in their order, values and keys behind the first; return the next state of `rows`.

        once, state   of `keys` and `values`, and of `rows`
        """
        (_, _, rows, *_), storage, config, sequence = self.pipes, self.storage, self.plan.config, self.tile.sequence
        for tensor in (k, v):  # into L2, while the tile before still has their places
            cl.tma_prefetch(tensor, at=self.of_keys)
        place = self.first
        for i in range(self.steps):
            m, head, _ = place
            rows.producer_acquire(state)
            full, at = rows.barrier(state), (sequence.batch, head, sequence.query + m * config.rows, 0)
            cl.tma_load(q, storage.q[None, None, state.index], at=at, barrier=full)
            cl.tma_load(do, storage.do[None, None, state.index], at=at, barrier=full)
            if config.extended:
                at = sequence.batch, head, (sequence.block + m) * config.rows, 0
                cl.tma_load(base, storage.base[None, None, state.index], at=at, barrier=full)
            else:
                of_rows = base[sequence.batch, head, sequence.block + m, None]
                cl.cp_async_bulk(storage.base[state.index, None], of_rows, 8 * config.rows, barrier=full)
            if i == 0:
                self.bring(k, v, once)
            place, state = self.following(place), state.advance()
        if self.plan.gaps and self.steps == 0:
            self.bring(k, v, once)
        return state

    @property
    def of_keys(self) -> tuple[Any, ...]:
        """The place of the tile's keys, and of its values."""
        head = self.tile.kv // i32(self.plan.heads // HK)
        return self.tile.sequence.batch, head, self.tile.sequence.key + self.tile.key, 0

    def bring(self, k: Any, v: Any, once: Any) -> None:
        """Load values and keys, once the tile before has done with them: with values first."""
        (keys, values, *_), at = self.pipes, self.of_keys
        values.producer_acquire(once)
        cl.tma_load(v, self.v, at=at, barrier=values.barrier(once))
        keys.producer_acquire(once)
        cl.tma_load(k, self.k, at=at, barrier=keys.barrier(once))

    def accumulate(self, tiles: Any, sums: Sums, group: Any) -> None:
        """Add the parts of dq that warpgroup `group` computes to the sums, in turn if there are turns. By one warp."""
        state, tiles = cl.PipelineState(WORKERS, group, 0), tiles.advance()
        while tiles.is_valid():
            state = self.at(tiles.place).add(sums, group, state)
            tiles = tiles.advance()

    def add(self, sums: Sums, group: Any, state: Any) -> Any:
        """Add those of one tile; return the next state of `parts`."""
        pipe, plan, leads, number = self.pipes.parts, self.plan, cl.lane_idx() == 0, self.tile.key // self.plan.keys
        place = self.first
        for _ in range(self.steps):
            *_, at = place
            pipe.consumer_wait(state)
            if leads:
                if sums.turns is not None:
                    turn = sums.turns[at, None]
                    while cl.load_acquire(turn, group) != number:
                        cl.nanosleep(20)
                    cl.fence_proxy_async("global")
                target = sums.parts[at, group, None]
                cl.cp_reduce_async_bulk(target, self.storage.dq[group, None], 16 * GROUP * plan.copied, "add")
                cl.cp_async_bulk_commit_group()
                cl.cp_async_bulk_wait_group(0, read=sums.turns is None)
                if sums.turns is not None:
                    cl.fence_proxy_async("global")
                    cl.store_release(turn, group, number + 1)
            pipe.consumer_release(state)
            place, state = self.following(place), state.advance(WORKERS)
        return state
