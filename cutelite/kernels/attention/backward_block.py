"""State that the threads of a block of attention's backward pass share, and the loads of their operands.

In    tiles; q, k, v and the gradients of outputs in global memory
Out   blocks of these in shared memory, for the warpgroups that compute
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from typing import Any, NamedTuple

import cutelite as cl
from cutelite import i32
from cutelite.kernels.attention.backward_plan import BLOCKS, H, Plan
from cutelite.kernels.attention.backward_tiles import HK, Starts
from cutelite.kernels.attention.tiles import Given
from cutelite.records import dataclass


class Pipes(NamedTuple):
    """Pipelines: keys, values (once a tile), blocks of queries, blocks of dS."""

    keys: Any
    values: Any
    rows: Any
    changes: Any


class Results(NamedTuple):
    """The arrays that warpgroups write.

    sums     of dq (`Plan.sums`)
    turns    for each part of these the number of the tile that adds next; None: they add in any order
    tensors  dk and dv for TMA; `arrays`: the same by rows, for the last keys of a ragged sequence; `starts` of these
    parts    of dk and dv (`Plan.parts`), which take their places where heads of queries are split
    """

    sums: Any
    turns: Any
    tensors: tuple[Any, Any]
    arrays: tuple[Any, Any]
    parts: tuple[Any, Any]
    starts: Starts


@dataclass(frozen=True)
class Block:
    """State of a thread block, at a tile.

    group  the index of a warpgroup that computes
    tile   a `Tile`, whose keys and values are those of number `held`
    """

    plan: Plan
    storage: Any
    pipes: Pipes
    given: Given
    results: Results
    group: Any = None
    tile: Any = None
    held: Any = None

    def at(self, place: Any, held: Any) -> Any:
        """Return the state for the tile at a place, whose keys and values are in buffer `held`."""
        shared = self.plan, self.storage, self.pipes, self.given, self.results, self.group
        return type(self)(*shared, self.plan.tile(place), held)

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
        (_, _, rows, _), storage, config, sequence = self.pipes, self.storage, self.plan.config, self.tile.sequence
        for tensor in (k, v):  # into L2, while the tile before still has their places
            cl.tma_prefetch(tensor, at=self.at_keys)
        place = self.first
        for i in range(self.steps):
            m, head, _ = place
            rows.producer_acquire(state)
            full, at = rows.barrier(state), (sequence.batch, head, sequence.query + m * config.rows, 0)
            cl.tma_load(q, storage.q[None, None, state.index], at=at, barrier=full)
            cl.tma_load(do, storage.do[None, None, state.index], at=at, barrier=full)
            of_rows = sequence.batch, head, (sequence.block + m) * config.rows, 0
            cl.tma_load(base, storage.base[None, None, state.index], at=of_rows, barrier=full)
            if i == 0:
                self.bring(k, v, once)
            place, state = self.following(place), state.advance()
        if self.plan.gaps and self.steps == 0:
            self.bring(k, v, once)
        return state

    @property
    def at_keys(self) -> tuple[Any, ...]:
        """The place of the tile's keys, and of its values."""
        head = self.tile.kv // i32(self.plan.heads // HK)
        return self.tile.sequence.batch, head, self.tile.sequence.key + self.tile.key, 0

    def bring(self, k: Any, v: Any, once: Any) -> None:
        """Load values and keys, once the tile before has done with them: with values first."""
        (keys, values, *_), at = self.pipes, self.at_keys
        values.producer_acquire(once)
        cl.tma_load(v, self.v, at=at, barrier=values.barrier(once))
        keys.producer_acquire(once)
        cl.tma_load(k, self.k, at=at, barrier=keys.barrier(once))
