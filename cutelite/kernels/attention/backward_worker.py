"""A computing warpgroup of attention's backward pass: the base class of `Narrow` and `Wide`.

In    blocks of keys, values, queries and gradients of outputs in shared memory; results of products in registers
Out   operands of products; parts of dq, and dk and dv, on their way to global memory
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from typing import Any, NamedTuple

import cutelite as cl
from cutelite import i32
from cutelite.kernels.attention.backward_block import Block, Sums
from cutelite.kernels.attention.backward_tiles import SK, WORKERS, Starts
from cutelite.kernels.attention.scores import GROUP, LN2
from cutelite.lang.given import given_by
from cutelite.records import dataclass

LOG2E = 1 / LN2
NEVER = 1 << 30
"""A column beyond every block."""


class Results(NamedTuple):
    """The outputs dk and dv for TMA, the same by rows for the last keys of a ragged sequence, and their starts.

    parts  of dk and dv (`Plan.parts`), which take their places where heads of queries are split
    """

    tensors: tuple[Any, Any]
    arrays: tuple[Any, Any]
    parts: tuple[Any, Any]
    starts: Starts


@dataclass(frozen=True)
class Worker:
    """A computing warpgroup: its index, and the sums of dq.

    The elements of its scores are (2, 2, n): pairs of neighbouring columns, rows r and r + 8, and every eighth column.
    Rows are keys in `Narrow`, queries in `Wide`.
    """

    block: Block
    group: Any
    sums: Sums

    @property
    def k(self) -> Any:
        """The keys of which it computes scores, in shared memory."""
        return cl.local_tile(self.block.k, (self.block.plan.width, self.block.plan.dims[0]), (self.group, 0))

    @property
    def v(self) -> Any:
        """Their values."""
        return cl.local_tile(self.block.v, (self.block.plan.width, self.block.plan.dims[1]), (self.group, 0))

    @property
    def key(self) -> Any:
        """The index of the first of them."""
        return self.block.tile.key + self.group * self.block.plan.width

    def changes(self, p: Any, dp: Any, slope: Any, total: Any) -> Any:
        """Return dS, the gradients of products of queries and keys, without the scale. `total`: `of_rows`."""
        n = p.n
        p, dp = (x.reshape((2, 2, n // 4)) for x in (p, dp))
        ds = p * (dp if total is None else dp - total)
        ds = ds if isinstance(slope, float) and slope == 1.0 else ds * slope
        return ds.reshape((n,)).to(self.block.plan.problem.dtype)

    def rows_of(self, state: Any, place: Any) -> Any:
        """Wait for a block of queries and the gradients of their outputs; return both. All computing warpgroups."""
        plan, storage, queries = self.block.plan, self.block.storage, self.block.tile.sequence.queries
        self.block.pipes.rows.consumer_wait(state)
        q, do = (t[None, None, state.index] for t in (storage.q, storage.do))
        if plan.problem.ragged and (place[0] + 1) * plan.config.rows > queries:
            self.clear_behind((q, do), plan.config.rows, queries - place[0] * plan.config.rows)
        return q, do

    def keys_of(self, once: Any) -> None:
        """Wait for keys and values, and overwrite those of another sequence with zeros."""
        plan, tile = self.block.plan, self.block.tile
        self.block.pipes.keys.consumer_wait(once)
        self.block.pipes.values.consumer_wait(once)
        if plan.problem.ragged and tile.key + plan.keys > tile.sequence.keys:
            self.clear_behind((self.block.k, self.block.v), plan.keys, tile.sequence.keys - tile.key)

    def powers(self, s: Any, base: Any, place: Any) -> Any:
        """Return probabilities, 0 where a query does not see a key, and `score_mod`'s slope.

        Probabilities are 2 to the power `Plan.lift` times as large. `base` is what `of_rows` returns.
        """
        block, (m, head, _), slope, n = self.block, place, 1.0, 2 * s.n
        s = s.reshape((2, 2, n // 8))
        problem, given, sequence, BM = block.plan.problem, block.given, block.tile.sequence, block.plan.config.rows
        low, batch, offset = m * BM, sequence.number, block.plan.offset(sequence, given.offset)
        spots, wide, (left, right) = cl.wgmma.coordinates(8), block.plan.wide, (problem.left, problem.right)
        columns, rows = cl.make_rmem_tensor(i32, (2, n // 8)), cl.make_rmem_tensor(i32, (2,))
        for c in cl.static_range(n // 4):
            columns[c % 2, c // 2] = c // 2 * 8 + c % 2
        for i in cl.static_range(2):
            rows[i] = (low if wide else self.key) + spots[2 * i][0]
        column, row = columns.load().reshape((2, 1, n // 8)), rows.load().reshape((1, 2, 1))
        first = (self.key if wide else low) + spots[0][1]
        query, key = (row, column + first) if wide else (column + first, row)
        if block.plan.arrays:  # indices into arrays that functions captured, behind which there is nothing
            query, key = min(query, sequence.queries - 1), min(key, sequence.keys - 1)
        if problem.score_mod is not None:
            s, slope = cl.value_and_derivative(problem.score_mod, s * given.scale, batch, head, query, key)
            p = cl.math.exp2(s * LOG2E - base, fast=True)
        else:
            s = s * (given.scale * LOG2E)
            s = s + float(block.plan.lift) if block.plan.lift else s
            p = cl.math.exp2(s if base is None else s - base, fast=True)
        modified = problem.score_mod is not None or problem.mask_mod is not None
        masked = modified or self.key + block.plan.width > sequence.keys
        if right:
            masked = masked or low + offset + given.right < self.key + block.plan.width - 1
        if left:
            masked = masked or low + BM - 1 + offset - given.left > self.key
        if masked:
            never = cl.full((2,), NEVER, i32).reshape((1, 2, 1))
            if wide:
                own, count = row + offset - first, sequence.queries  # the column of the key at the query's own place
                least, most = (own - given.left if left else None), (own + given.right if right else None)
            else:
                own, count = row - offset - first, sequence.keys  # the column of the query whose own place the key is
                least, most = (own - given.right if right else None), (own + given.left if left else None)
            if modified or not wide:
                least = cl.where(row < count, never - NEVER if least is None else least, never)
            sees = column < sequence.keys - first if wide else column >= least
            if wide and least is not None:
                sees = sees & (column >= least)
            if most is not None:
                sees = sees & (column <= most)
            if modified and not wide:
                sees = sees & (column < sequence.queries - first)
            if problem.mask_mod is not None:
                sees = sees & given_by("mask_mod", problem.mask_mod(batch, head, query, key), sees)
            p = cl.where(sees, p, 0.0)
            slope = slope if isinstance(slope, float) else cl.where(sees, slope, 0.0)
        return p.reshape((n // 2,)), slope

    def add(self, dq: Any, at: Any, number: Any, late: int = 0) -> None:
        """Add this warpgroup's part of a block of dq to the sums, but `late` groups: `plan.copied` by bulk copies.

        at, number  the block's index in the sums, and the number of those that were added before
        """
        plan, storage, parts = self.block.plan, self.block.storage, self.block.pipes.parts
        if plan.copied > 0:
            part = cl.PipelineState(WORKERS, self.group, number & 1 ^ 1)
            parts.producer_acquire(part)
            target = plan.accumulators(storage.dq[self.group, None], plan.copied)
            target.store(dq[: 4 * plan.copied].reshape((4, plan.copied)))
            cl.fence_proxy_async("shared::cta")
            parts.producer_commit(part)
        self.reduce(dq, at, plan.copied, plan.columns // 8 - late)

    def reduce(self, dq: Any, at: Any, first: int, end: int) -> None:
        """Add groups of 4 f32 of a block of dq to the sums from registers, `first` to `end` - 1."""
        sums = self.block.plan.accumulators(self.sums.parts[at, self.group, None], self.block.plan.columns // 8)
        for c in cl.static_range(first, end):
            cl.red(sums[None, c], None, "add", dq[4 * c : 4 * c + 4])

    @property
    def together(self) -> Any:
        """The named barrier of this warpgroup."""
        return cl.NamedBarrier(2 + self.group, GROUP)

    def clear_behind(self, tiles: tuple[Any, ...], rows: int, count: Any) -> None:
        """Overwrite the rows of tiles from `count` on with zeros: they are another sequence's. Who: all warpgroups."""
        dtype, threads = self.block.plan.problem.dtype, WORKERS * GROUP
        for tile in tiles:
            eights = cl.size(tile) // rows // 8
            for i in range(max(count, 0) * eights + cl.thread_idx.x - GROUP, cl.size(tile) // 8, threads):
                target = cl.local_tile(tile[i // eights, None], (8,), (i % eights,))
                target.store(cl.full((8,), 0.0, dtype))
        cl.fence_proxy_async("shared::cta")
        self.block.everyone.sync()

    def keep(self, grad: Any, parts: Any, piece: Any) -> None:
        """Store a piece of the tile's part of dk or dv."""
        tile, fours = self.block.tile, grad.n // 4
        own = parts[tile.sequence.batch, tile.kv, tile.key // self.block.plan.keys, piece, None]
        self.block.plan.accumulators(own, fours).store(grad.reshape((4, fours)))

    def send(self, tile: Any, key: Any, results: Results, which: int) -> None:
        """Send rows of dk (0) or dv (1), from `key` on, that this warpgroup has put in shared memory."""
        kv, sequence, rows = self.block.tile.kv, self.block.tile.sequence, cl.size(tile.shape[0])
        length = self.block.plan.written(sequence.number, sequence.key, sequence.keys, results.starts.keys, i32(SK))
        cl.fence_proxy_async("shared::cta")
        self.together.sync()
        if not self.block.plan.problem.ragged or key + rows <= sequence.keys:
            if cl.thread_idx.x % GROUP == 0 and key < length:
                cl.tma_store(tile, results.tensors[which], at=(sequence.batch, kv, sequence.key + key, 0))
                cl.cp_async_bulk_commit_group()
        else:
            at = 0, kv, sequence.key + key
            self.block.plan.store_rows(tile, results.arrays[which], at, length - key, sequence.keys - key, GROUP)

    def settle(self) -> None:
        """Wait until what this warpgroup has written to global memory has been read from shared memory."""
        if cl.thread_idx.x % GROUP == 0:
            cl.cp_async_bulk_wait_group(0, read=True)
        self.together.sync()


def multiply(a: Any, b: Any, acc: Any, accumulate: bool = True) -> Any:
    """Start ``acc + a @ b.T`` as a wgmma group of its own."""
    acc = cl.wgmma.mma_async(a, b, acc, accumulate=accumulate)
    cl.wgmma.commit_group()
    return acc
