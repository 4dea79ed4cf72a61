"""A computing warpgroup of attention's backward pass: the base class of `Narrow` and `Wide` in `backward`.

In    blocks of keys, values, queries and gradients of outputs in shared memory; results of products in registers
Out   operands of products; parts of dq, and dk and dv, on their way to global memory
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from typing import Any, NamedTuple

import cutelite as cl
from cutelite import i32
from cutelite.kernels.attention.backward_block import Block, Sums
from cutelite.kernels.attention.backward_plan import FACTORS
from cutelite.kernels.attention.backward_tiles import SK, WORKERS, Starts
from cutelite.kernels.attention.scores import GROUP, LN2, ROWS
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
    """A computing warpgroup: its index, its keys and values in shared memory, and the sums of dq."""

    block: Block
    group: Any
    sums: Sums

    @property
    def k(self) -> Any:
        """Its keys in shared memory."""
        return cl.local_tile(self.block.k, (ROWS, self.block.plan.dims[0]), (self.first, 0))

    @property
    def v(self) -> Any:
        """Its values."""
        return cl.local_tile(self.block.v, (ROWS, self.block.plan.dims[1]), (self.first, 0))

    @property
    def first(self) -> Any:
        """The index of its 64 keys among the thread block's groups of 64."""
        return 0 if self.block.plan.config.wide else self.group

    @property
    def key(self) -> Any:
        """The index of its first key."""
        return self.block.tile.key + self.first * ROWS

    @property
    def queries(self) -> tuple[int, Any]:
        """The number of queries of a block whose scores it computes, and the first of them."""
        config = self.block.plan.config
        return (config.rows // WORKERS, self.group) if config.wide else (config.rows, 0)

    def own(self, rows: Any) -> Any:
        """Return its queries' part of rows in shared memory."""
        n, part = self.queries
        return cl.local_tile(rows, (n, cl.size(rows) // self.block.plan.config.rows), (part, 0))

    def scores(self, q: Any, state: Any) -> Any:
        """Start the scores of its queries of a block: (keys, queries)."""
        return self.product(self.k, q, 0, state)

    def score_gradients(self, do: Any, state: Any) -> Any:
        """Start dP, the gradients of its probabilities."""
        return self.product(self.v, do, 1, state)

    def product(self, own: Any, rows: Any, which: int, state: Any) -> Any:
        """Start ``own @ rows.T`` for its queries of a block, less `of_rows` where operands are extended by them."""
        rows, acc = self.own(rows), cl.wgmma.zeros_accumulator(self.queries[0])
        if not self.block.plan.config.extended:
            return multiply(own, rows, acc, False)
        acc = cl.wgmma.mma_async(own, rows, acc, accumulate=False)
        return multiply(self.minus_factors(which), self.own(self.block.storage.base[None, None, state.index]), acc)

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

    def changes(self, p: Any, dp: Any, slope: Any, total: Any) -> Any:
        """Return dS, the gradients of products of queries and keys, without the scale. `total`: `of_rows`."""
        n, _ = self.queries
        p, dp = (x.reshape((2, 2, n // 8)) for x in (p, dp))
        ds = p * (dp if total is None else dp - total)
        ds = ds if isinstance(slope, float) and slope == 1.0 else ds * slope
        return ds.reshape((n // 2,)).to(self.block.plan.problem.dtype)

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

    def of_rows(self, state: Any, which: int) -> Any:
        """Return the logsumexps (0) or the sums of rows (1) of this thread's queries: (2, 1, queries / 8).

        None where products subtract them.
        """
        if self.block.plan.config.extended:
            return None
        BM, (n, part), base = self.block.plan.config.rows, self.queries, self.block.storage.base[state.index, None]
        fours = cl.with_layout(base, cl.make_layout((4, 4, n // 16, BM // n, 2), (1, 4, 16, n, BM)))
        return fours[None, cl.thread_idx.x % 4, None, part, which].load().reshape((2, 1, n // 8))

    def powers(self, s: Any, base: Any, place: Any) -> Any:
        """Return probabilities, 0 where a query does not see a key, and `score_mod`'s slope.

        Probabilities are 2 to the power `Plan.lift` times as large. `base` is what `of_rows` returns.
        """
        block, (m, head, _), slope, (n, part) = self.block, place, 1.0, self.queries
        s = s.reshape((2, 2, n // 8))
        problem, given, sequence = block.plan.problem, block.given, block.tile.sequence
        low = m * block.plan.config.rows + part * n
        batch, offset = sequence.number, block.plan.offset(sequence, given.offset)
        spots = cl.wgmma.coordinates(8)
        columns, keys = cl.make_rmem_tensor(i32, (2, n // 8)), cl.make_rmem_tensor(i32, (2,))
        for c in cl.static_range(n // 4):
            columns[c % 2, c // 2] = c // 2 * 8 + c % 2
        for i in cl.static_range(2):
            keys[i] = self.key + spots[2 * i][0]
        column, key = columns.load().reshape((2, 1, n // 8)), keys.load().reshape((1, 2, 1))
        first = low + spots[0][1]
        query, seen = column + first, key
        if block.plan.arrays:  # indices into arrays that functions captured, behind which there is nothing
            query, seen = min(query, sequence.queries - 1), min(key, sequence.keys - 1)
        if problem.score_mod is not None:
            s, slope = cl.value_and_derivative(problem.score_mod, s * given.scale, batch, head, query, seen)
            p = cl.math.exp2(s * LOG2E - base, fast=True)
        else:
            s = s * (given.scale * LOG2E)
            s = s + float(block.plan.lift) if block.plan.lift else s
            p = cl.math.exp2(s if base is None else s - base, fast=True)
        modified = problem.score_mod is not None or problem.mask_mod is not None
        masked = modified or self.key + ROWS > sequence.keys
        if problem.right:
            masked = masked or low + offset + given.right < self.key + ROWS - 1
        if problem.left:
            masked = masked or low + n - 1 + offset - given.left > self.key
        if masked:
            own = key - offset - first  # the column of the query whose own place the key is
            never = cl.full((2,), NEVER, i32).reshape((1, 2, 1))
            sees = column >= cl.where(key < sequence.keys, own - given.right if problem.right else never - NEVER, never)
            if problem.left:
                sees = sees & (column <= own + given.left)
            if modified:
                sees = sees & (column < sequence.queries - first)
            if problem.mask_mod is not None:
                sees = sees & given_by("mask_mod", problem.mask_mod(batch, head, query, seen), sees)
            p = cl.where(sees, p, 0.0)
            slope = slope if isinstance(slope, float) else cl.where(sees, slope, 0.0)
        return p.reshape((n // 2,)), slope

    def of_queries(self, state: Any) -> Any:
        """Start this warpgroup's part of dS @ K."""
        plan, block = self.block.plan, self.block
        left, right = block.storage.ds[None, None, state.index], cl.select(block.k, (1, 0))
        if plan.by_rows:
            left = cl.local_tile(left, (ROWS, plan.keys), (self.group, 0))
        else:
            right = cl.local_tile(right, (plan.columns, plan.keys), (self.group, 0))
        return multiply(left, right, cl.wgmma.zeros_accumulator(plan.columns), False)

    def add(self, dq: Any, at: Any, number: Any) -> None:
        """Add this warpgroup's part of a block of dq to the sums, late groups apart: `plan.copied` by bulk copies.

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
        self.reduce(dq, at, plan.copied, plan.columns // 8 - plan.late)

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

    def finish(self, grads: Any, results: Results, once: Any, last: Any) -> None:
        """Write the gradients of this warpgroup's keys and values.

        once  of `keys` and `values`, which are released
        last  how `conclude` adds the last part of dq
        """
        block = self.block
        (keys, values, *_), sequence, plan, staged = block.pipes, block.tile.sequence, block.plan, block.plan.staged
        length = block.plan.written(sequence.number, sequence.key, sequence.keys, results.starts.keys, i32(SK))
        of_k, of_v = self.k, self.v
        if staged:
            values.consumer_release(once)
        if plan.config.split:
            self.keep(grads[1], results.parts[1])
            self.conclude(once, last)
            self.keep(grads[0], results.parts[0])
            return
        if staged:
            of_k, of_v = (self.staging(n, span) for n, span in zip(plan.dims, plan.spans[::2], strict=True))
            self.settle()
        dv = grads[1] * 2.0**-plan.lift if plan.lift else grads[1]
        self.write(dv, of_v, results.tensors[1], results.arrays[1], length)
        self.conclude(once, last)
        if staged:
            self.settle()
        elif not block.plan.config.wide:  # wide: others read these columns before P is complete
            block.everyone.sync()  # the others have read these keys
        dk = grads[0] * (block.given.scale * 2.0**-plan.lift)
        self.write(dk, of_k, results.tensors[0], results.arrays[0], length)
        if not staged:
            self.settle()
            keys.consumer_release(once)
            values.consumer_release(once)

    def keep(self, grad: Any, parts: Any) -> None:
        """Store the tile's part of dk or dv."""
        tile, fours = self.block.tile, grad.n // 4
        own = parts[tile.sequence.batch, tile.kv, tile.key // self.block.plan.keys, self.group, None]
        self.block.plan.accumulators(own, fours).store(grad.reshape((4, fours)))

    def staging(self, columns: int, span: int) -> Any:
        """Return this warpgroup's part of the memory through which dv and dk leave, if it is not the tile's own."""
        plan = self.block.plan
        n = columns // WORKERS if plan.config.wide else columns
        return cl.with_layout(self.block.storage.grads[self.group, None], plan.laid((ROWS, n), span))

    def settle(self) -> None:
        """Wait until what this warpgroup has written to global memory has been read from shared memory."""
        if cl.thread_idx.x % GROUP == 0:
            cl.cp_async_bulk_wait_group(0, read=True)
        self.together.sync()

    def conclude(self, once: Any, last: Any) -> None:
        """Release the keys where dk is staged elsewhere."""
        if self.block.plan.staged:
            self.block.pipes.keys.consumer_release(once)

    def write(self, grad: Any, target: Any, tensor: Any, array: Any, length: Any) -> None:
        """Write the gradients of this warpgroup's keys or values to global memory, staged in `target`.

        target         shared memory that no warp reads any more: `staging`, or a tile whose columns it has a part of
        tensor, array  the output for TMA, and the same by rows, for the last keys of a ragged sequence
        length         rows to write for this sequence
        """
        tile, sequence, dtype = self.block.tile, self.block.tile.sequence, self.block.plan.problem.dtype
        n = 2 * grad.n
        column = self.group * n if self.block.plan.config.wide else 0
        if self.block.plan.problem.ragged and self.key + ROWS > sequence.keys:  # the rows behind are another sequence's
            spots = cl.wgmma.coordinates(8)
            for i in cl.static_range(2):
                key = self.key + spots[2 * i][0]
                if key < length:
                    rows = cl.where(key < sequence.keys, grad, 0.0).to(dtype)
                    row = array[0, tile.kv, sequence.key + key, None]
                    for c in cl.static_range(n // 8):
                        if column + 8 * c < row.shape[0]:
                            pair = cl.local_tile(row, (2,), ((column + 8 * c + spots[0][1]) // 2,))
                            pair.store(rows[4 * c + 2 * i : 4 * c + 2 * i + 2])
        else:
            piece = target if self.block.plan.staged else cl.local_tile(target, (ROWS, n), (0, column // n))
            self.block.plan.put(grad, piece)
            cl.fence_proxy_async("shared::cta")
            self.together.sync()
            if cl.thread_idx.x % GROUP == 0 and self.key < length:
                cl.tma_store(piece, tensor, at=(sequence.batch, tile.kv, sequence.key + self.key, column))
                cl.cp_async_bulk_commit_group()


def multiply(a: Any, b: Any, acc: Any, accumulate: bool = True) -> Any:
    """Start ``acc + a @ b.T`` as a wgmma group of its own."""
    acc = cl.wgmma.mma_async(a, b, acc, accumulate=accumulate)
    cl.wgmma.commit_group()
    return acc
