"""The kernel of decoding: attention of few queries of each sequence to a cache of keys and values.

The bytes of keys and values bound it. The query heads that share keys, and the queries of a sequence, are the rows of
one tile. Keys are split over blocks of threads: each loads its part by TMA and computes a partial output and
logsumexp. A second kernel, launched while the first still runs, combines these (`combining`); or the blocks of threads
of a tile are a cluster, and do so themselves (`gathering`).
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import Smem, Tensor, f32, i32
from cutelite.kernels.attention.blocks import tables_of
from cutelite.kernels.attention.combining import H
from cutelite.kernels.attention.gaps import clear
from cutelite.kernels.attention.gathering import gather, held_of, hold, rows_of
from cutelite.kernels.attention.parts import PAGE, QB, QH, QS, SLOTS, TABLE, Config, OfParts, Part
from cutelite.kernels.attention.scores import BOX, GROUP, ROWS, Problem, modified
from cutelite.kernels.attention.sequences import LENGTHS, SQ, B, Keys, bring
from cutelite.kernels.attention.shares import At, Held, Shares

THREADS = GROUP + 32  # of a block that computes: a warpgroup, and a warp that loads
NOTHING = 4096.0  # the greatest score, as an exponent of 2, of a row of zeros: its powers are 0


def chosen(dim: int, lone: bool = False) -> Config:
    """Return the configuration for a head dim.

    lone   there are no more blocks of threads than multiprocessors, and each is to have its own. Small ones come two by
           two to those that the kernel ahead leaves first, since launches overlap, while others are idle
    """
    wide = -(-dim // BOX) * BOX
    if wide > 128:
        return Config(stages=3, beside=1)
    if lone:
        return Config(stages=512 // wide, beside=1)
    return Config(stages=2 if wide == 128 else 3, beside=2)


class Plan(OfParts):
    """A plan of heads with keys and values of their own: the code of the warpgroup that computes."""

    def consume(self, q: Any, storage: Any, keys: Any, values: Any, part: Part, scale: Any, state: Any) -> Any:
        """Return the accumulator of powers times values, the softmax, and the next state. Who: the warpgroup."""
        _, *places = zip(*self.rows(part), strict=True)
        query, head = (cl.vector(*x).reshape((1, 2, 1)) for x in places)
        column, BN, KEYS = cl.wgmma.coordinates(8)[0][1], self.config.columns, self.keys

        def scores(j: Any, state: Any, masked: bool) -> Any:
            keys.consumer_wait(state)
            none = cl.wgmma.zeros_accumulator(BN)
            s = cl.wgmma.mma_async(storage.q, storage.k[None, None, state.index], none, accumulate=False)
            cl.wgmma.commit_group()
            s = cl.wgmma.wait_group(0, s)
            keys.consumer_release(state)
            if not self.problem.modifies and not masked and BN == KEYS:
                return s
            sight = self.sight(part, j)._replace(at=query, key=j * KEYS + column)
            return modified(self.problem, s, scale, sight, part.batch, head, masked or BN > KEYS)

        def add(p: Any, out: Any, j: Any, state: Any, masked: bool) -> Any:
            values.consumer_wait(state)
            behind = part.sight.end - j * KEYS
            if masked and behind < KEYS:
                clear(storage.v[None, None, state.index], behind, cl.thread_idx.x, GROUP)
                cl.fence_proxy_async("shared::cta")
                cl.NamedBarrier(1, GROUP).sync()
            out = cl.wgmma.mma_async(p, cl.select(storage.v, (1, 0, 2))[None, None, state.index], out)
            cl.wgmma.commit_group()
            out = cl.wgmma.wait_group(0, out)
            values.consumer_release(state)
            return out

        def step(j: Any, so_far: Any, masked: bool) -> Any:
            out, softmax, state = so_far
            p, softmax, ratio, moved = softmax.step(scores(j, state, masked))
            if moved:
                out = cl.scale_rows(out, ratio)
            return add(p, out, j, state, masked), softmax, state.advance()

        self.fetch(q, storage, part)
        unit, whole, first = self.problem.unit(scale), self.whole(part), self.block(part, 0)
        p, softmax = cl.OnlineSoftmax.first(scores(first, state, True), unit, self.problem.dtype)
        softmax = self.without_padding(softmax, part)
        so_far = add(p, cl.wgmma.zeros_accumulator(self.dims[1]), first, state, True), softmax, state.advance()
        for i in range(1, whole - part.start):
            so_far = step(whole - 1 - i, so_far, False)
        for j in range(max(whole, part.start + 1), part.end):
            so_far = step(j, so_far, True)
        return so_far

    def block(self, part: Part, i: Any) -> Any:
        """Return the block of keys that is computed after i others: those that all queries see, backwards, and then
        the others, so that the newest keys come last."""
        whole = self.whole(part)
        return cl.where(i < whole - part.start, whole - 1 - i, part.start + i)

    def without_padding(self, softmax: Any, part: Part) -> Any:
        """Return the softmax with powers of 0 in the rows behind the last one: products with zeros take less power."""
        last = i32(SQ) * self.together
        tops = [cl.where(row < last, top, NOTHING) for (row, *_), top in zip(self.rows(part), softmax.top, strict=True)]
        return replace(softmax, top=cl.vector(*tops))

    def clear_columns(self, storage: Any) -> None:
        """Fill with zeros what blocks of fewer keys than columns leave. Who: the warpgroup; `fetch` fences it."""
        if self.config.columns > self.keys:
            for stage in cl.static_range(self.config.stages):
                for ring in (storage.k, storage.v):
                    clear(ring[None, None, stage], self.keys, cl.thread_idx.x, GROUP)

    def consume_share(
        self, q: Any, storage: Any, pipes: tuple[Any, Any], shares: Shares, own: tuple[At, Any], scale: Any,
        held: Held, results: tuple[Any, Any, Any],
    ) -> None:  # fmt: skip
        """Compute the parts of a share, and write each. Who: the warpgroup.

        results   output and logsumexps, and sinks
        """
        (at, end), state = own, pipes[0].consumer_state()
        while at.unit < end:
            part, at, begins, behind = shares.part(at, end)
            out, softmax, state = self.consume(q, storage, *pipes, part, scale, state)
            if not begins:
                shares.hand_on(out, softmax, part, held)
            elif behind > end:
                shares.combine(out, softmax, part, behind, held, *results)
            else:
                self.conclude(out, softmax, part, *results)
                cl.NamedBarrier(1, GROUP).sync()  # all warps have read the queries

    def conclude(self, out: Any, softmax: Any, part: Part, o: Any, lse: Any, sinks: Any, split: bool = False) -> None:
        """Write the rows of a tile, or if `split` to this block's place those of a part of one. Who: the warpgroup."""
        if split:
            o, lse, sinks = o[None, None, None, cl.block_idx.y, None], lse[None, None, None, cl.block_idx.y], None
        of_rows = None
        if sinks is not None:
            of_rows = cl.vector(*(sinks[min(head, i32(H) - 1)] for *_, head in self.rows(part)))
        inverse, sums = softmax.finish(of_rows)
        self.write(cl.scale_rows(out, inverse), o, part, sums, lse)


def storage_of(plan: Plan) -> Any:
    """Return the type of the kernel's shared memory."""
    (D, DV), BN, STAGES, dtype = plan.dims, plan.config.columns, plan.config.stages, plan.problem.dtype

    class Loaded(cl.SharedStorage):
        q: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, D))]
        k: Smem[dtype, cl.make_smem_layout(dtype, (BN, D, STAGES))]
        v: Smem[dtype, cl.make_smem_layout(dtype, (BN, DV, STAGES))]

    class Storage(cl.SharedStorage):
        memory: cl.SmemUnion[Loaded, held_of(plan.problem.dim_v)] if plan.cluster else Loaded

    return Storage


@lru_cache(maxsize=256)
def build(
    config: Config, problem: Problem, together: int, page: int, split: bool, cluster: bool = False, even: bool = False,
    early: bool = False,
) -> Any:  # fmt: skip
    """Return the kernel of these fields of `Plan`. `split`: it writes parts, for the kernel that combines them.

    even   blocks of threads have equal `shares`
    Grid   (tiles, parts), of all sequences, heads and rows, those of a head one after the other; as clusters (1, parts)
           of blocks of threads; (heads of keys side by side, shares of each)
    """
    shaped, dtype = Plan(config, problem, together, page, cluster, early), problem.dtype
    (D, DV), STAGES, TABLES = shaped.dims, config.stages, tables_of(problem.score_mod, problem.mask_mod)
    K, V, (O, LSE) = *map(shaped.cached, (problem.dim, problem.dim_v)), shaped.result(split)  # noqa: E741
    Storage = storage_of(shaped)

    @cl.kernel(block=THREADS, min_blocks=config.beside)
    def decode(
        q: Tensor[dtype, (B, SQ, H, problem.dim), (QB, QS, QH, 1), cl.align(16)], k: K, v: V, o: O, lse: LSE,
        lengths: LENGTHS, starts: LENGTHS, table: TABLE, sinks: Tensor[f32, (H,)] | None,
        scale: f32, offset: i32, left: i32, right: i32, tables: TABLES, held: Held.of(problem.dim_v) = None,
    ) -> None:  # fmt: skip
        """`Keys` explains numbers; `table` has each sequence's pages, `tables` arrays that functions captured."""
        if cl.thread_idx.x == GROUP:
            for t in (k, v):
                cl.prefetch_tensormap(t)
        plan, storage, bytes = shaped.with_arrays(tables), Storage.allocate().memory, dtype.bytes
        keys = cl.PipelineTmaAsync.create(STAGES, shaped.keys * D * bytes, GROUP, sync=False, reads="wgmma")
        values = cl.PipelineTmaAsync.create(STAGES, shaped.keys * DV * bytes, GROUP, sync=False, reads="wgmma")
        rings, most = ((k, storage.k, keys), (v, storage.v, values)), PAGE if table is None else SLOTS * PAGE
        given = Keys(lengths, most, offset, left, right, starts)
        work: Any = Shares.create(plan, given).own if even else lambda: plan.part(given)
        known = work() if early or (given.alike and not even) else None
        bring(given, table, SLOTS)
        cl.pipeline_init_sync()
        if not early or cl.thread_idx.x < GROUP:
            cl.griddepcontrol_wait()
            cl.griddepcontrol_launch_dependents()  # now: the kernel behind reads `lengths` before it waits
        part = known or work()
        if even:
            shares, own = part
            if cl.thread_idx.x == GROUP:
                shares.produce(rings, table, own)
            elif cl.thread_idx.x < GROUP:
                plan.clear_columns(storage)
                plan.consume_share(q, storage, (keys, values), shares, own, scale, Held(*held), (o, lse, sinks))
            return
        if cluster or part.start < part.end:
            if cl.thread_idx.x == GROUP:
                plan.produce(rings, table, part)
            elif cl.thread_idx.x < GROUP:
                plan.clear_columns(storage)
                out, softmax, _ = plan.consume(q, storage, keys, values, part, scale, keys.consumer_state())
                if cluster:
                    hold(out, softmax, storage, rows_of(plan, part))
                else:
                    plan.conclude(out, softmax, part, o, lse, sinks, split)
        if cluster:
            gather(plan, storage, o, lse, sinks, part)

    return decode
