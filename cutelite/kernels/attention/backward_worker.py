"""A thread block of attention's backward pass at a tile: what loads and the forms of computing warpgroups share.

In    the place of a tile, and pipelines of its keys and values and of the queries that see them
Out   operands in shared memory, and dq, dk and dv on their way to global memory
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cutelite as cl
from cutelite import f32, i32
from cutelite.kernels.attention.backward_plan import BLOCKS, WORKERS, H, Plan
from cutelite.kernels.attention.backward_scores import ROWS_OF_THREAD, Scores, columns
from cutelite.kernels.attention.learned import Learned
from cutelite.kernels.attention.scores import GROUP, ROWS
from cutelite.kernels.attention.tiles import SK, Given, Sequence
from cutelite.lang.places import places
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

EVERYONE = cl.NamedBarrier(1, WORKERS * GROUP)
"""The named barrier of the computing warpgroups, without `Adder`."""
OWN, TURN, ADDED = 2, 5, 7
"""The first ones of each warpgroup: its own; with the warp of its turns, where it may add, and where it has added."""


class Pipes(NamedTuple):
    """Pipelines: keys and values, a tile at a time; blocks of P (wide heads), of queries, and of dS."""

    keys: Any
    values: Any
    p: Any
    rows: Any
    ds: Any


@dataclass(frozen=True)
class Block:
    """The values that threads of a thread block share, at a tile, and the arrays that they write.

    terms     of a `score_mod` that goes by the distance of key and query, if they are looked up
    learned   what `score_mod` captured that needs a gradient; None: nothing does
    sums      of dq, with one index for the blocks of queries of all heads
    turns     for each part of these the number of the tile that adds next; None: they add in any order
    grads     dk and dv for TMA; `arrays`: the same by rows, for the last keys of a ragged sequence
    parts     of dk and dv, which take their places where heads of queries are split
    group     the number of a computing warpgroup
    tile      the place of the tile; `kv_state`: the state of the pipelines of its keys and values
    """

    plan: Plan
    storage: Any
    pipes: Pipes
    given: Given
    terms: Any
    learned: Learned | None
    sums: Any
    turns: Any
    grads: tuple[Any, Any]
    arrays: tuple[Any, Any]
    parts: tuple[Any, Any]
    group: Any = None
    tile: Any = None
    kv_state: Any = None

    @property
    def sequence(self) -> Sequence:
        """The tile's sequence."""
        return self.plan.tiles.sequence(self.tile)

    def kv(self, which: int) -> Any:
        """Return the tile's keys (0) or its values (1) in shared memory."""
        return (self.storage.k, self.storage.v)[which][None, None, self.kv_state.index]

    @property
    def steps(self) -> Any:
        """The number of blocks of queries, over all heads."""
        return i32(H // self.plan.tiles.heads) * (self.tile.end - self.tile.start)

    @property
    def first(self) -> Any:
        """The first block of queries, its head, and its index among the blocks of all heads, as in the sums."""
        m, head = self.tile.start, self.tile.head * i32(H // self.plan.tiles.heads)
        return m, head, (self.sequence.batch * i32(H) + head) * i32(BLOCKS) + self.plan.tiles.block(self.sequence) + m

    def following(self, place: Any) -> Any:
        """Return the place of the block of queries after one."""
        m, head, at = place
        last, again = m + 1 == self.tile.end, i32(BLOCKS) + self.tile.start - self.tile.end
        return (
            cl.where(last, self.tile.start, m + 1),
            cl.where(last, head + 1, head),
            cl.where(last, at + again, at) + 1,
        )

    def serve(self, tiles: Any, work: Callable[..., Any], state: Any = None) -> None:
        """Call `work` at each block of queries of tiles until none is left: with its place, and what it returned."""
        tiles = tiles.advance()
        while tiles.is_valid():
            here = replace(self, tile=tiles.place)
            place = here.first
            for _ in range(here.steps):
                state = work(here, place, state)
                place = here.following(place)
            tiles = tiles.advance()

    def barrier(self, first: int) -> Any:
        """Return a named barrier of a computing warpgroup: `OWN`, of it alone; `TURN`, `ADDED`."""
        return cl.NamedBarrier(first + self.group, GROUP if first == OWN else GROUP + 32)


class Worker(Block):
    """A computing warpgroup."""

    def compute(self, tiles: Any) -> None:
        """Compute tiles until none is left."""
        number, tiles = cl.u32(0), tiles.advance()
        while tiles.is_valid():
            # keys and values of this tile have the place that it had in the queue, which has two, and is one further
            at, turns = tiles.state.index ^ 1, tiles.state.phase
            kv_state = cl.PipelineState(1, 0, at) if self.plan.ahead == 1 else cl.PipelineState(2, at, turns ^ at)
            number = replace(self, tile=tiles.place, kv_state=kv_state).run(number)  # type: ignore[attr-defined]
            tiles = tiles.advance()
        if not self.plan.apart and cl.thread_idx.x % GROUP == 0:  # else each tile has waited for its own stores
            cl.cp_async_bulk_wait_group(0, read=True)

    def own(self, which: int) -> Any:
        """Return the keys (0) of which it computes scores, or their values (1), in shared memory."""
        return cl.local_tile(self.kv(which), (self.plan.width, self.plan.dims[which]), (self.group, 0))

    @property
    def key(self) -> Any:
        """The index of the first of them."""
        return self.tile.row + self.group * self.plan.width

    def at_block(self, place: Any) -> Scores:
        """Return the scores of a block of queries (`Block.first`)."""
        plan, key, (m, head, _), (spot, *_) = self.plan, self.key, place, cl.wgmma.coordinates(8)
        low = m * plan.config.rows
        row, column = (low + spot[0], key + spot[1]) if plan.wide else (key + spot[0], low + spot[1])
        at = self.sequence, head, low, key, places(row, *ROWS_OF_THREAD), column
        return Scores(plan, self.given, self.learned, *at)

    def begun(self, place: Any, number: Any) -> Any:
        """Return the accumulator from which block `number` of scores begins; None for zeros."""
        if not self.plan.begins:
            return None
        if self.terms is None:
            start = self.at_block(place).biased().start(self.given.scale * self.plan.factor)
            return start.reshape((start.n,))
        state, (row, column) = self.terms.pipe.consumer_state_at(number), cl.wgmma.coordinates(8)[0]
        added, _ = self.terms.read(state, self.group * ROWS + row, column)
        return added.start.reshape((added.start.n,))

    def await_keys(self) -> None:
        """Wait for keys and values, and overwrite those of another sequence with zeros."""
        plan, tile = self.plan, self.tile
        self.pipes.keys.consumer_wait(self.kv_state)
        self.pipes.values.consumer_wait(self.kv_state)
        if plan.problem.ragged and tile.row + plan.keys > self.sequence.keys:
            self.clear_behind((self.kv(0), self.kv(1)), plan.keys, self.sequence.keys - tile.row)

    def await_queries(self, state: Any, place: Any) -> Any:
        """Wait for a block of queries and the gradients of their outputs; return both. All computing warpgroups."""
        plan, storage, queries = self.plan, self.storage, self.sequence.queries
        self.pipes.rows.consumer_wait(state)
        q, do = (t[None, None, state.index] for t in (storage.q, storage.do))
        if plan.problem.ragged and (place[0] + 1) * plan.config.rows > queries:
            self.clear_behind((q, do), plan.config.rows, queries - place[0] * plan.config.rows)
        return q, do

    def of_rows(self, state: Any, which: int) -> Any:
        """Return the logsumexps (0) or the sums of rows (1) of a block's queries, for each element of scores.

        None where products subtract them.
        """
        if self.plan.extended:
            return None
        base, spot = self.storage.base[which, None, state.index], cl.wgmma.coordinates(8)[0]
        of_thread, shape = ROWS_OF_THREAD if self.plan.wide else columns(self.plan.config.rows)
        held = cl.make_rmem_tensor(f32, (len(of_thread),))
        for i, offset in enumerate(of_thread):
            held[i] = base[spot[0 if self.plan.wide else 1] + offset]
        return held.load().reshape(shape)

    def start_dq(self, state: Any, part: Any) -> Any:
        """Start a part of dS @ K: 64 rows of a larger block, or as many columns as `Plan.columns` of all."""
        plan, left, right = self.plan, self.storage.ds[None, None, state.index], cl.select(self.kv(0), (1, 0))
        if plan.by_rows:
            left = cl.local_tile(left, (ROWS, plan.keys), (part, 0))
        else:
            right = cl.local_tile(right, (plan.columns, plan.keys), (part, 0))
        return multiply(left, right)

    def in_turn(self, add: Callable[[], None]) -> None:
        """Call what adds to a block of dq: when it is this warpgroup's turn, where turns are kept (`keep_turn`)."""
        if self.turns is not None:
            self.barrier(TURN).sync()
        add()
        if self.turns is not None:
            self.barrier(ADDED).arrive()

    def add(self, dq: Any, part: Any, at: Any) -> None:
        """Add a part of a block of dq to the sums; `at`: the index of the block."""
        groups = self.plan.columns // 8
        sums = self.plan.accumulators(self.sums[at, part, None], groups)
        for c in cl.static_range(groups):
            cl.red(sums[None, c], None, "add", dq[4 * c : 4 * c + 4])

    def clear_behind(self, tiles: tuple[Any, ...], rows: int, count: Any) -> None:
        """Overwrite the rows of tiles from `count` on with zeros: they are another sequence's. Who: all warpgroups."""
        dtype, threads = self.plan.problem.dtype, WORKERS * GROUP
        for tile in tiles:
            eights = cl.size(tile) // rows // 8
            for i in range(max(count, 0) * eights + cl.thread_idx.x - GROUP, cl.size(tile) // 8, threads):
                target = cl.local_tile(tile[i // eights, None], (8,), (i % eights,))
                target.store(cl.full((8,), 0.0, dtype))
        cl.fence_proxy_async("shared::cta")
        EVERYONE.sync()

    def write(self, grads: tuple[Any, ...], which: int, room: Any) -> None:
        """Write dk (0) or dv (1), of keys of this warpgroup alone or (`Wide`) of all, of which it has these pieces.

        room  shared memory for the gradient, which no warp reads any more
        """
        plan, tile, sequence = self.plan, self.tile, self.sequence
        if plan.split:
            for c, grad in enumerate(grads):
                piece = c if plan.wide else self.group
                part = self.parts[which][sequence.batch, tile.head, tile.row // plan.keys, piece, None]
                plan.accumulators(part, grad.n // 4).store(grad.reshape((4, grad.n // 4)))
            return
        factor: Any = self.given.scale if which == 0 else 1.0
        for c, grad in enumerate(grads):
            plan.put(grad * (factor * 2.0**-plan.lift), room, c, plan.wide)
        key = tile.row if plan.wide else self.key
        length = plan.tiles.written(sequence.number, sequence.key, sequence.keys, i32(SK))
        cl.fence_proxy_async("shared::cta")
        self.barrier(OWN).sync()
        at, arrays = (sequence.batch, tile.head, sequence.key + key), (self.grads[which], self.arrays[which])
        plan.write(room, arrays, at, key, (sequence.keys, length), GROUP)

    def await_stores(self) -> None:
        """Wait until TMA has read what this warpgroup stores by it, which is nothing where heads are split."""
        if self.plan.split:
            return
        if cl.thread_idx.x % GROUP == 0:
            cl.cp_async_bulk_wait_group(0, read=True)
        self.barrier(OWN).sync()


def multiply(a: Any, b: Any, acc: Any = None, group: bool = True) -> Any:
    """Start ``acc + a @ b.T``, from zeros where there is no `acc`, and close the `group` of wgmma."""
    begun = cl.wgmma.zeros_accumulator(cl.size(b.shape[0])) if acc is None else acc
    acc = cl.wgmma.mma_async(a, b, begun, accumulate=acc is not None)
    if group:
        cl.wgmma.commit_group()
    return acc
