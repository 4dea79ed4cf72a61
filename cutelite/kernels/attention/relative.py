"""Terms that a `score_mod` adds by the distance of key and query alone, computed once for each distance.

In    a function such as ``score + 4 / (1 + abs(q_idx - kv_idx))`` or ``score + bias[h, kv_idx - q_idx]``
Out   the initial accumulators of products, which bring what it adds

A block of scores has few distances, and each warp that computes has most of them. So warps that do nothing else
compute them all for the next block, in shared memory.
"""

from __future__ import annotations

from typing import Any

import cutelite as cl
from cutelite import f32, i32
from cutelite.kernels.attention.here import Here, States
from cutelite.kernels.attention.scores import GROUP, LN2, ROWS, Added, Problem, called
from cutelite.lang.apart import apart
from cutelite.lang.attempt import attempt
from cutelite.lang.biased import Biased, biased
from cutelite.lang.places import Places, places
from cutelite.records import dataclass

LANES = GROUP - 32
"""Threads that compute terms: the warps beside the one that loads, of its warpgroup."""


def by_distance(problem: Problem, batch: Any, head: Any, distance: Any, limits: Any) -> Biased | None:
    """Return zero and what `score_mod` adds to it, (1, 1, 1); None if it does not go by the distance alone.

    What is linear in the distance is left out as well, for it needs no table (`Scores.added`). Ops stay emitted in both
    cases: call this by `lang.attempt`, which undoes them for None.

    distance  the key's index less the query's
    limits    its least and greatest value, where functions captured arrays; else None
    """
    if problem.score_mod is None or problem.softcap is not None:
        return None
    place: Any = places(distance, (0,), (1, 1, 1))
    query, key, asked = apart(place if limits is None else place.within(*limits))
    scores = biased(cl.full((1, 1, 1), 0.0, f32), 1.0)
    found = called(problem, scores, batch, head, query, key, scores)
    if asked or not isinstance(found, Biased) or not found.literal:
        return None
    return found if isinstance(found.bias, cl.Vector) and not isinstance(found.bias, Places) else None


def read_terms(added: Added | None, softmax: Any, states: States, here: Here) -> Added | None:
    """Read a block's terms of exponents, if there are any: once products were started, so that these cover it.

    softmax  that subtracts from exponents; None before the first block
    """
    if added is None or added.read is None:
        return added
    if here.terms is not None:
        here.terms.pipe.consumer_wait(states.terms)
    return added._replace(terms=added.read(0.0 if softmax is None else softmax.base))


def release_terms(states: States, here: Here) -> Any:
    """Release a block's terms of exponents, if there are any; those of products were released by `Terms.read`."""
    if here.terms is None or not here.terms.in_exponents:
        return states
    state = states.terms
    here.terms.pipe.consumer_release(state)
    return states._replace(terms=state.advance())


@dataclass(frozen=True)
class Terms:
    """Terms for each distance of a block of scores, in a ring in shared memory.

    table         (WIDTH, 2, STAGES): by the distance, from the least on; once more one place further, so that two
                  neighbours are aligned in one of the two
    factor        of scores: the function's literal
    rows          of queries in a tile
    columns       of keys in a block
    in_exponents  terms are added to exponents, as `JoinedSoftmax` does; else to products
    lanes         threads that compute them, the last ones of the first warpgroup
    """

    problem: Problem
    table: Any
    pipe: Any
    factor: float
    rows: int
    columns: int
    in_exponents: bool
    lanes: int

    @classmethod
    def of(
        cls, problem: Problem, rows: int, columns: int, stages: int, in_exponents: bool, lanes: int = LANES
    ) -> Terms | None:
        """Return the empty ring; None if the problem's function does not go by the distance alone.

        Who   all threads of the block; then `pipeline_init_sync`
        """
        found: Any = attempt(lambda: by_distance(problem, i32(0), i32(0), i32(cl.lane_idx()), (0, 0)))
        if found is None:
            return None
        width = -(-(rows + columns) // lanes) * lanes + 16  # so that the two copies lie in other banks
        pipe = cl.PipelineAsync.create(stages, lanes, rows // ROWS * GROUP, sync=False)
        table = cl.shared(f32, cl.make_layout((width, 2, stages), (1, width, 2 * width)), align=16)
        return Terms(problem, table, pipe, found.factor, rows, columns, in_exponents, lanes)

    def tabulate(self, tiles: Any, arrays: bool, here: Here, queue: Any) -> None:
        """Compute the terms of each block of each of the forward kernel's tiles. Who: `lanes` threads.

        tiles, queue   the problem's `Tiles`, and the queue of them
        arrays         functions captured some, in which there is nothing for queries and keys that are not there
        """
        state, queue = self.pipe.producer_state(), queue.advance()
        while queue.is_valid():
            tile = queue.place
            if not self.problem.ragged or tile.end > 0:
                *_, queries, _, keys = tiles.sequence(tile)
                limits = (1 - queries, keys - 1) if arrays else None
                for i in range(tile.end - tile.start):
                    key = tiles.key(tile.end - 1 - i, tile, here.listed)
                    least = key - tile.row - (self.rows - 1)
                    state = self.fill(state, here.given.scale, tile.batch, tile.head, least, 1, limits)
            queue = queue.advance()

    def fill(self, state: Any, scale: Any, batch: Any, head: Any, first: Any, step: int, limits: Any) -> Any:
        """Compute a block's terms, and return the next state. Who: `lanes` threads.

        scale   of the products of queries and keys, times log2(e)
        first   the distance at the first place; at the next it is `step` more
        """
        self.pipe.producer_acquire(state)
        for i in (cl.static_range if self.in_exponents else range)(-(-(self.rows + self.columns - 1) // self.lanes)):
            place = i * self.lanes + cl.thread_idx.x - (GROUP - self.lanes)
            found: Any = by_distance(self.problem, batch, head, first + step * place, limits)
            unit = 1.0 / LN2 if self.in_exponents else cl.math.rcp(scale * (LN2 * self.factor), fast=True)
            bias = (found.bias * unit).broadcast_to((1, 1, 1))
            for copy in cl.static_range(2):
                self.table[place + copy, copy, state.index] = bias[0, 0, 0]
        self.pipe.producer_commit(state)
        return state.advance()

    def read(self, state: Any, row: Any, column: Any) -> tuple[Added, Any]:
        """Return what is added to a block of products, and the next state. Who: all threads of a warpgroup.

        Terms of exponents are read by what is returned: between `read_terms` and `release_terms`.

        row      the first of this thread's two rows in the tile
        column   the first of this thread's columns in the block
        """
        if self.in_exponents:
            return Added(self.factor, None, lambda base=None: self.held(state, row, column, base)), state
        self.pipe.consumer_wait(state)
        start = self.held(state, row, column)
        self.pipe.consumer_release(state)
        return Added(self.factor, start), state.advance()

    def held(self, state: Any, row: Any, column: Any, base: Any = None) -> Any:
        """Return a block's terms, of the shape of `by_rows`, less `base`, at once; `read` explains the others."""
        groups = self.columns // 8
        at = column - row + (self.rows - 1)  # the place of the first distance; the next column is one place further
        copy = at % 2
        width, stages = self.table.shape[0], self.table.shape[2]
        layout = cl.make_layout(
            (2, 1 + groups, width // 2 - 4 * groups, 2, stages), (1, 8, 2, width, 2 * width)
        )  # neighbours, at each eighth place from any even one on
        window = cl.with_layout(self.table, layout)[None, None, (at + copy) // 2 - 4, copy, state.index]
        found = cl.vector(*[window[None, i].load() for i in range(1 + groups)], dtype=f32)
        if base is not None:
            found = cl.wgmma.fence_operand(found - base)
        pairs = [found[2 * i : 2 * i + 2] for i in range(1 + groups)]
        found = cl.vector(*[pairs[1 + i - of_row] for i in range(groups) for of_row in range(2)], dtype=f32)
        return found.reshape((2, 2, groups))

    def skip(self, state: Any) -> Any:
        """Release a block's terms, which nobody reads, and return the next state. Who: all threads of a warpgroup."""
        self.pipe.consumer_wait(state)
        self.pipe.consumer_release(state)
        return state.advance()
