"""The kernel of decoding: attention of few queries of each sequence to a cache of keys and values.

The bytes of keys and values bound it. The query heads that share keys, and the queries of a sequence, are the rows of
one tile. Keys are split over blocks of threads: each loads its part by TMA and computes a partial output and
logsumexp. A second kernel, launched while the first still runs, combines these (`combining`); or the blocks of threads
of a tile are a cluster, and do so themselves (`gathering`).
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import Smem, Tensor, f32, i32
from cutelite.kernels.attention.blocks import tables_of
from cutelite.kernels.attention.combining import SQ, B, H
from cutelite.kernels.attention.gaps import clear
from cutelite.kernels.attention.gathering import gather, held_of, hold
from cutelite.kernels.attention.parts import LENGTHS, PAGE, QB, QH, QS, SLOTS, TABLE, Config, OfParts, Part
from cutelite.kernels.attention.scores import GROUP, ROWS, Problem, modified

THREADS = GROUP + 32  # of a block that computes: a warpgroup, and a warp that loads


def chosen(dim: int) -> Config:
    """Return the configuration for a head dim, a multiple of 64."""
    return Config(stages=2 if dim == 128 else 3, beside=2 if dim <= 128 else 1)


class Plan(OfParts):
    """A plan of heads with keys and values of their own: the code of the warpgroup that computes."""

    def consume(self, q: Any, storage: Any, keys: Any, values: Any, part: Part, scale: Any) -> Any:
        """Return the accumulator of powers times values, and the softmax. Who: the warpgroup."""
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

        def add(p: Any, out: Any, state: Any) -> Any:
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
            values.consumer_wait(state)
            return add(p, out, state), softmax, state.advance()

        if BN > KEYS:
            for stage in cl.static_range(self.config.stages):
                for ring in (storage.k, storage.v):
                    clear(ring[None, None, stage], KEYS, cl.thread_idx.x, GROUP)
        self.fetch(q, storage, part)  # fences what was cleared, too
        state, unit = keys.consumer_state(), self.problem.unit(scale)
        p, softmax = cl.OnlineSoftmax.first(scores(part.end - 1, state, True), unit, self.problem.dtype)
        values.consumer_wait(state)
        whole, behind = self.whole(part), part.sight.end - (part.end - 1) * KEYS
        if behind < KEYS:
            clear(storage.v[None, None, 0], behind, cl.thread_idx.x, GROUP)
            cl.fence_proxy_async("shared::cta")
            cl.NamedBarrier(1, GROUP).sync()
        so_far = add(p, cl.wgmma.zeros_accumulator(self.dims[1]), state), softmax, state.advance()
        for i in range(part.end - 1 - whole):
            so_far = step(part.end - 2 - i, so_far, True)
        for i in range(whole - part.start):
            so_far = step(whole - 1 - i, so_far, False)
        return so_far[:2]


@lru_cache(maxsize=256)
def build(config: Config, problem: Problem, together: int, page: int, split: bool, cluster: bool = False) -> Any:
    """Return the kernel of these fields of `Plan`. `split`: it writes parts, for the kernel that combines them.

    Grid   (tiles, parts), of all sequences, heads and rows, those of a head one after the other; as clusters (1, parts)
    """
    shaped, dtype = Plan(config, problem, together, page, cluster), problem.dtype
    TABLES = tables_of(problem.score_mod, problem.mask_mod)
    (D, DV), BN, STAGES = shaped.dims, config.columns, config.stages
    K, V = shaped.cached(problem.dim), shaped.cached(problem.dim_v)
    O, LSE = shaped.result(split)  # noqa: E741

    class Loaded(cl.SharedStorage):
        q: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, D))]
        k: Smem[dtype, cl.make_smem_layout(dtype, (BN, D, STAGES))]
        v: Smem[dtype, cl.make_smem_layout(dtype, (BN, DV, STAGES))]

    class Storage(cl.SharedStorage):
        memory: cl.SmemUnion[Loaded, held_of(problem.dim_v)] if cluster else Loaded

    @cl.kernel(block=THREADS, min_blocks=config.beside)
    def decode(
        q: Tensor[dtype, (B, SQ, H, problem.dim), (QB, QS, QH, 1), cl.align(16)], k: K, v: V, o: O, lse: LSE,
        lengths: LENGTHS, starts: LENGTHS, table: TABLE, sinks: Tensor[f32, (H,)] | None,
        scale: f32, offset: i32, left: i32, right: i32, blocks: i32, tables: TABLES,
    ) -> None:  # fmt: skip
        """`Plan.part` explains numbers; `table` has each sequence's pages, `tables` arrays that functions captured."""
        if cl.thread_idx.x == GROUP:
            for t in (k, v):
                cl.prefetch_tensormap(t)
        plan, storage, bytes = shaped.with_arrays(tables), Storage.allocate().memory, dtype.bytes
        keys = cl.PipelineTmaAsync.create(STAGES, shaped.keys * D * bytes, GROUP, sync=False, reads="wgmma")
        values = cl.PipelineTmaAsync.create(STAGES, shaped.keys * DV * bytes, GROUP, sync=False, reads="wgmma")
        cl.pipeline_init_sync()
        cl.griddepcontrol_wait()
        cl.griddepcontrol_launch_dependents()  # now: the kernel behind reads `lengths` before it waits
        part = plan.part(lengths, PAGE if table is None else SLOTS * PAGE, offset, left, right, blocks, starts)
        if cluster or part.start < part.end:
            if cl.thread_idx.x == GROUP:
                plan.produce(((k, storage.k, keys), (v, storage.v, values)), table, part)
            elif cl.thread_idx.x < GROUP:
                out, softmax = plan.consume(q, storage, keys, values, part, scale)
                if cluster:
                    hold(out, softmax, storage)
                else:
                    of_rows = None
                    if split:
                        o, lse = o[None, None, None, cl.block_idx.y, None], lse[None, None, None, cl.block_idx.y]
                    elif sinks is not None:
                        of_rows = cl.vector(*(sinks[min(head, i32(H) - 1)] for *_, head in plan.rows(part)))
                    inverse, sums = softmax.finish(of_rows)
                    plan.write(cl.scale_rows(out, inverse), o, part, sums, lse)
        if cluster:
            gather(plan, storage, o, lse, sinks, part)

    return decode
