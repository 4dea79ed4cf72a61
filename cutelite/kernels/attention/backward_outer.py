"""The kernels before and after the products of attention's backward pass, which are in `backward`.

`prepare` sums the rows of o * do and clears the sums of dq; `finish` converts these to dq, and adds up parts of dk and
dv.
"""

from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, bf16, f32, i32
from cutelite.kernels.attention.backward_plan import BLOCKS, MB, WORKERS, H, Plan
from cutelite.kernels.attention.backward_tiles import HK, HP, Starts
from cutelite.kernels.attention.scores import BOX, GROUP, INF, LN2
from cutelite.kernels.attention.tiles import SK, SQ, B, Given

NOTHING = 1e30
"""The logsumexp, without the scale, of a row that sees nothing: its probabilities become 0."""


def place(heads: Any, blocks: Any) -> tuple[Any, Any, Any]:
    """Return the block, the head and the sequence of this thread block, of (B, heads, blocks), from the last on.

    The kernel that multiplies goes from the first to the last. It finds in L2 what `prepare` wrote at the end, and
    leaves there what `finish` reads at the start.
    """
    x = i32(cl.grid_dim.x) - 1 - i32(cl.block_idx.x)
    return x % blocks, x // blocks % heads, x // blocks // heads


@lru_cache(maxsize=256)
def prepare(plan: Plan) -> Any:
    """Return the kernel that sums the rows of o * do and clears the sums of dq: a thread block for each query block."""
    dtype, BM, D = plan.problem.dtype, plan.config.rows, plan.dims[0]
    DV = -(-plan.problem.dim_v // BOX) * BOX
    O = plan.box(H, SQ, plan.problem.dim_v, BM)  # noqa: E741
    ROW, (kind, _, count) = Tensor[f32, (B, H, SQ)], plan.of_rows
    BASE = Tensor[kind, (B, H, MB, count), cl.align(16)]

    @cl.kernel(block=256)
    def prepare(
        o: O, do: O, lse: ROW, dlse: ROW | None, base: BASE, sums: plan.sums, turns: plan.turns,
        given: Given, starts: Starts, keys: i32,
    ) -> None:  # fmt: skip
        cl.griddepcontrol_launch_dependents()
        t, (m, head, batch) = cl.thread_idx.x, place(i32(H), i32(BLOCKS))
        sequence, row = plan.tiles.queries(m, batch, starts, keys)
        tiles = [cl.shared(dtype, cl.make_smem_layout(dtype, (BM, DV)), align=1024) for _ in range(2)]
        pipe = cl.PipelineTmaAsync.create(1, 2 * BM * DV * dtype.bytes, 256)
        if t == 0:
            state = pipe.producer_state()
            pipe.producer_acquire(state)
            for tensor, tile in zip((o, do), tiles, strict=True):
                cl.tma_load(tensor, tile, at=(batch, head, sequence.query + row, 0), barrier=pipe.barrier(state))
            for g in cl.static_range(plan.adders if turns is not None else 0):
                # The last block of keys that some query sees adds first.
                end = row + BM - 1 + plan.tiles.offset(sequence, given) + given.right
                turns[batch, head, m, g] = max(0, min(end, sequence.keys - 1)) // plan.keys
        mine = cl.with_layout(sums[batch, head, m, None, None], cl.make_layout((4, 256, BM * D // 1024), (1, 4, 1024)))
        for i in cl.static_range(BM * D // 1024):
            mine[None, t, i].store(cl.full((4,), 0.0, f32))
        pipe.consumer_wait(pipe.consumer_state())
        for step in cl.static_range(BM // 32):
            r, total = step * 32 + t // 8, f32(0.0)
            for c in cl.static_range(DV // BOX):
                x, y = (cl.local_tile(tile[r, None], (8,), (c * 8 + t % 8,)).load().to(f32) for tile in tiles)
                total = total + (x * y).reduce("sum")
            total, known = cl.warp_reduce(total, width=8), -INF
            if t % 8 == 0:
                if row + r < sequence.queries:
                    known = lse[batch, head, sequence.query + row + r]
                    if dlse is not None:
                        total = total - dlse[batch, head, sequence.query + row + r]
                elif plan.problem.ragged:
                    total = f32(0.0)  # whatever the next sequence has
                if plan.extended:
                    held, whole = cl.make_rmem_tensor(kind, (count,)), base[batch, head, m * BM + r, None]
                    held.store(cl.full((count,), 0.0, kind))
                    split(cl.where(known == -INF, -NOTHING, known / (-given.scale * plan.factor)), held, 0)
                    split(-total, held, count // 2)
                    for j in cl.static_range(2):
                        cl.local_tile(whole, (8,), (j,)).store(cl.local_tile(held, (8,), (j,)).load())
                else:
                    base[batch, head, 2 * m, r] = cl.where(known == -INF, INF, known / LN2)
                    base[batch, head, 2 * m + 1, r] = total

    return prepare


def split(value: Any, pieces: Any, first: int) -> None:
    """Write three bf16 numbers whose sum is an f32 to `pieces`, from the first one on."""
    for i in cl.static_range(3):
        pieces[first + i] = value.to(bf16)
        value = value - pieces[first + i].to(f32)


@lru_cache(maxsize=256)
def finish(plan: Plan, which: int) -> Any:
    """Return the kernel that adds up parts of dk (0) or dv (1), or converts the sums of dq (2), a block at a time."""
    dim, of_queries = plan.problem.dim_v if which == 1 else plan.problem.dim, which == 2
    heads, length, rows = (H, SQ, plan.config.rows) if of_queries else (HK, SK, plan.keys)
    columns, span, turned = plan.dims[which % 2], plan.spans[which % 2], plan.wide and not of_queries
    pieces, threads = plan.count if of_queries else plan.pieces(columns), WORKERS * GROUP
    elements = rows * columns // pieces // GROUP  # of a thread

    @cl.kernel(block=threads)
    def finish(
        grad: plan.box(heads, length, dim, rows, span), sums: plan.sums if of_queries else plan.parts(columns),
        scale: f32, array: plan.array("G", heads, length, dim), starts: Starts,
    ) -> None:  # fmt: skip
        group, (m, head, batch) = cl.warpgroup_idx(), place(i32(heads), i32(sums.shape[2]))
        found: Any = plan.tiles.queries(m, batch, starts, 0) if of_queries else (None, m * rows)
        sequence, row = found
        tile = cl.shared(plan.problem.dtype, plan.laid((rows, columns), span), align=1024)
        cl.griddepcontrol_wait()
        for c in cl.static_range(-(-pieces // WORKERS)):
            piece, times = group + c * WORKERS, 1 if of_queries else i32(HP // HK)
            if pieces % WORKERS == 0 or piece < pieces:
                part, fours = head * times, elements // 4
                total = plan.accumulators(sums[batch, part, m, piece, None], fours).load()
                for i in range(1, times):
                    total = total + plan.accumulators(sums[batch, part + i, m, piece, None], fours).load()
                plan.put((total * scale).reshape((elements,)), tile, piece, turned)
        cl.fence_proxy_async("shared::cta")
        cl.syncthreads()
        first, valid, end = 0, i32(length), i32(length)
        if plan.problem.ragged:
            first, valid = sequence.query, sequence.queries
            end = plan.tiles.written(sequence.number, first, valid, i32(SQ))
        plan.write(tile, (grad, array), (batch, head, first + row), row, (valid, end), threads)
        if cl.thread_idx.x == 0:
            cl.cp_async_bulk_wait_group(0, read=True)

    return finish
