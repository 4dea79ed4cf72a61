"""The backward kernels: dq, dk and dv of o = softmax(scale * q @ k.T) @ v, from o, its gradient, and the logsumexp.

`prepare` sums the rows of o * do. In `gradients`, a thread block takes tiles until none is left: 64 keys for each
computing warpgroup. It loops over the blocks of queries that see them; one thread loads these by TMA. Scores are
computed transposed, K @ Q.T, so that the probabilities P and the gradients of scores dS, in registers, are operands of
dv += P.T @ dO and dk += dS.T @ Q. dS is also written to shared memory: in the next step each warpgroup multiplies a
part of dS @ K and adds it to sums in global memory, which `finish` converts to dq. By then the other warpgroup has
written its dS too, even if it is half a step behind. So `Narrow`. Of heads above 128 columns (192, where values have
128) registers hold dk or dv of shared keys alone: `Wide`.

docs/lab/attention-backward.md counts what bounds the kernel and records the experiments.
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Smem, Tensor, f32, i32
from cutelite.kernels.attention.backward_block import Block, Pipes, Sums
from cutelite.kernels.attention.backward_narrow import Narrow
from cutelite.kernels.attention.backward_outer import finish, prepare
from cutelite.kernels.attention.backward_plan import EXTRA, TURNS, Config, H, Plan
from cutelite.kernels.attention.backward_tiles import HK, SK, SQ, WORKERS, Starts
from cutelite.kernels.attention.backward_wide import Wide
from cutelite.kernels.attention.backward_worker import Results
from cutelite.kernels.attention.blocks import tables_of
from cutelite.kernels.attention.scores import GROUP, ROWS, Problem
from cutelite.kernels.attention.tiles import Given


class Kernels(NamedTuple):
    """The kernels, in the order of their launches."""

    prepare: Any
    gradients: Any
    finish: Any
    of_keys: tuple[Any, ...]  # `finish` of dk and dv, where heads of queries are split


@lru_cache(maxsize=256)
def build(config: Config, problem: Problem, ordered: bool = False) -> Kernels:
    """Return the kernels. `ordered`: dq is added up in the order of keys, so that equal inputs give equal bits."""
    if ordered:
        config = replace(config, copied=8, stages=1 if problem.dim > 128 else config.stages)
    plan = Plan(config, problem)
    of_keys = tuple(finish(plan, which) for which in range(2)) if config.split else ()
    return Kernels(prepare(plan), gradients(plan), finish(plan, 2), of_keys)


def shared_memory(plan: Plan) -> Any:
    """Return the shared memory of a thread block, a class."""
    config, dtype, BM, BN, (D, DV) = plan.config, plan.problem.dtype, plan.config.rows, plan.keys, plan.dims
    of_k, of_q, of_v = plan.spans
    BASE: Any = Smem[f32, cl.row_major((config.stages, 2 * BM))]
    if config.extended:
        BASE = Smem[dtype, cl.make_smem_layout(dtype, (BM, EXTRA, config.stages))]

    class Storage(cl.SharedStorage):
        k: Smem[dtype, plan.laid((BN, D, plan.ahead), of_k)]
        v: Smem[dtype, plan.laid((BN, DV, plan.ahead), of_v)]
        q: Smem[dtype, plan.laid((BM, D, config.stages), of_q)]
        do: Smem[dtype, plan.laid((BM, DV, config.stages), of_v)]
        if plan.wide:
            p: Smem[dtype, plan.of_scores]
        ds: Smem[dtype, plan.of_scores]
        if plan.copied > 0:
            dq: Smem[f32, cl.row_major((WORKERS, 4 * GROUP * plan.copied))]
        base: BASE
        if plan.staged and not config.split:
            grads: Smem[dtype, cl.row_major((WORKERS, BN * max(D, DV) // WORKERS)), 1024]

    return Storage


def gradients(plan: Plan) -> Any:
    """Return the kernel that computes all five products."""
    config, dtype, BM, BN = plan.config, plan.problem.dtype, plan.config.rows, plan.keys
    d, e, (of_k, of_q, of_v) = plan.problem.dim, plan.problem.dim_v, plan.spans
    leaves = BN if plan.wide else ROWS
    Q, K, DK = plan.box(H, SQ, d, BM, of_q), plan.box(HK, SK, d, BN, of_k), plan.box(HK, SK, d, leaves, of_k)
    DO, V, DV = plan.box(H, SQ, e, BM, of_v), plan.box(HK, SK, e, BN, of_v), plan.box(HK, SK, e, leaves, of_v)
    array_k, array_v, Storage = plan.array("DK", HK, SK, d), plan.array("DV", HK, SK, e), shared_memory(plan)

    @cl.kernel(block=(1 + WORKERS) * GROUP)
    def gradients(
        q: Q, k: K, v: V, do: DO, base: plan.base_box, sums: plan.sums, turns: TURNS,
        counter: Tensor[i32, (1,)] | None, grads: tuple[DK, DV], given: Given, starts: Starts,
        arrays: tuple[array_k, array_v], parts: tuple[plan.parts(plan.dims[0]), plan.parts(plan.dims[1])],
        tables: tables_of(plan.problem.score_mod, plan.problem.mask_mod) = (),
    ) -> None:  # fmt: skip
        """
        base     logsumexps and row sums of o * do, as `prepare` writes them
        sums     dq without the scale, zero at the start
        counter  of `cl.TileQueue`
        grads    dk and dv; `arrays`: the same, for ragged sequences; `parts`: where heads of queries are split
        tables   what functions captured
        """
        if cl.thread_idx.x == 0:
            for t in (q, k, v, do, *grads):
                cl.prefetch_tensormap(t)
        storage, threads, copies = Storage.allocate(), WORKERS * GROUP, plan.copied > 0
        keys, values = (
            cl.PipelineTmaAsync.create(plan.ahead, BN * wide * dtype.bytes, threads, sync=False) for wide in plan.dims
        )
        row = sum(plan.dims) * dtype.bytes + (2 * EXTRA if config.extended else 8)
        rows = cl.PipelineTmaAsync.create(config.stages, BM * row, threads, sync=False)
        changes = cl.PipelineAsync.create(config.held, threads, threads, sync=False)
        copied = cl.PipelineAsync.create(WORKERS, GROUP, 32, sync=False) if copies else None
        tiles = cl.TileQueue.create(
            plan.kind, lambda index: plan.place(index, given, starts), plan.count(), counter,
            threads + (32 * WORKERS if copies else 0),
        )  # fmt: skip
        cl.pipeline_init_sync()
        cl.griddepcontrol_wait()
        cl.griddepcontrol_launch_dependents()
        block = Block(plan.with_arrays(tables), storage, Pipes(keys, values, rows, changes, copied), given)
        adds = Sums(plan.by_block(sums), plan.by_block(turns))
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(plan.regs[0])
            warp = cl.make_warp_uniform(cl.warp_idx())
            if warp == 0:
                if cl.elect_one():
                    block.produce(tiles, q, k, v, do, base)
            elif warp <= WORKERS and copies:
                block.accumulate(tiles, adds, warp - 1)
        else:
            cl.setmaxnreg_inc(plan.regs[1])
            compute(block, tiles, adds, Results(grads, arrays, parts, starts))

    return gradients


def compute(block: Block, tiles: Any, sums: Sums, results: Results) -> None:
    """Compute tiles until none is left. Who: a computing warpgroup."""
    group, number, wide = cl.warpgroup_idx() - 1, cl.u32(0), block.plan.wide
    tiles = tiles.advance()
    while tiles.is_valid():
        at, turns = tiles.state.index ^ 1, tiles.state.phase  # the queue has two places: keys and values go as it does
        once = cl.PipelineState(1, 0, at) if block.plan.ahead == 1 else cl.PipelineState(2, at, turns ^ at)
        own = block.at(tiles.place, once.index)
        if not wide:
            number = Narrow(own, group, sums).run(once, number, results)
        elif group == 0:
            number = Wide(own, 0, sums).run(once, number, results)
        else:
            number = Wide(own, 1, sums).run(once, number, results)
        tiles = tiles.advance()
    if cl.thread_idx.x % GROUP == 0:
        cl.cp_async_bulk_wait_group(0, read=True)
