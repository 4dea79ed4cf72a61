"""The kernels before and after the products of attention's backward pass, which are in `backward`.

`prepare` sums the rows of o * do and clears the sums of dq; `finish` converts these to dq, and adds up parts of dk and
dv.
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from typing import Any

import cutelite as cl
from cutelite import Tensor, bf16, f16, f32, i32
from cutelite.kernels.attention.backward_plan import EXTRA, FACTORS, TURNS, H, Plan
from cutelite.kernels.attention.backward_tiles import HK, HP, SK, SQ, WORKERS, B, Starts
from cutelite.kernels.attention.scores import BOX, GROUP, INF, LN2
from cutelite.kernels.attention.tiles import Given

NOTHING = {bf16: 1e30, f16: 2.0**30}
"""The logsumexp, without the scale, of a row that sees nothing: its probabilities become 0."""


def place(parts: Any) -> tuple[Any, Any, Any]:
    """Return the block, the head and the sequence of this thread block: blocks of `parts` (B, H, BLOCKS, ...).

    Sequences are along x of the grid too, since y and z end at 65535.
    """
    x, blocks = i32(cl.block_idx.x), i32(parts.shape[2])
    return x % blocks, i32(cl.block_idx.y), x // blocks


def prepare(plan: Plan) -> Any:
    """Return the kernel that sums the rows of o * do and clears the sums of dq: a thread block for each query block."""
    dtype, BM, D = plan.problem.dtype, plan.config.rows, plan.dims[0]
    DV = -(-plan.problem.dim_v // BOX) * BOX
    O = plan.box(H, SQ, plan.problem.dim_v, BM)  # noqa: E741
    ROW = Tensor[f32, (B, H, SQ)]

    @cl.kernel(block=256)
    def prepare(
        o: O, do: O, lse: ROW, dlse: ROW | None, base: plan.base, sums: plan.sums, turns: TURNS,
        given: Given, starts: Starts,
    ) -> None:  # fmt: skip
        cl.griddepcontrol_launch_dependents()
        t, (m, head, batch) = cl.thread_idx.x, place(sums)
        sequence, row = plan.queries(m, batch, starts)
        tiles = [cl.shared(dtype, cl.make_smem_layout(dtype, (BM, DV)), align=1024) for _ in range(2)]
        pipe = cl.PipelineTmaAsync.create(1, 2 * BM * DV * dtype.bytes, 256)
        if t == 0:
            state = pipe.producer_state()
            pipe.producer_acquire(state)
            for tensor, tile in zip((o, do), tiles, strict=True):
                cl.tma_load(tensor, tile, at=(batch, head, sequence.query + row, 0), barrier=pipe.barrier(state))
            for g in cl.static_range(WORKERS if turns is not None else 0):
                # The first block of keys that adds.
                first = max(0, row + plan.offset(sequence, given.offset) - given.left) // plan.keys
                turns[batch, head, m, g] = first
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
                    pieces = cl.make_rmem_tensor(dtype, (EXTRA,))
                    pieces.store(cl.full((EXTRA,), 0.0, dtype))
                    rest = cl.where(known == -INF, NOTHING[dtype], known / given.scale), total
                    for j in cl.static_range(2):
                        split(rest[j], pieces, j * EXTRA // 2)
                    whole = base[batch, head, m * BM + r, None]
                    for j in cl.static_range(EXTRA // 8):
                        cl.local_tile(whole, (8,), (j,)).store(cl.local_tile(pieces, (8,), (j,)).load())
                else:
                    at = r // 16 * 16 + r % 8 // 2 * 4 + r // 8 % 2 * 2 + r % 2  # as `Worker.of_rows` reads it
                    base[batch, head, m, at] = cl.where(known == -INF, INF, known / LN2)
                    base[batch, head, m, BM + at] = total

    return prepare


def split(value: Any, pieces: Any, first: int) -> None:
    """Write numbers whose sum, times `FACTORS`, is an f32, to `pieces`, from the first one on."""
    for i, factor in enumerate(FACTORS[pieces.dtype]):
        pieces[first + i] = (value * (1 / factor)).to(pieces.dtype)
        value = value - pieces[first + i].to(f32) * factor


def finish(plan: Plan, which: int) -> Any:
    """Return the kernel that adds up parts of dk (0) or dv (1), or converts the sums of dq (2), a block at a time."""
    dim, of_queries = plan.problem.dim_v if which == 1 else plan.problem.dim, which == 2
    heads, length, rows = (H, SQ, plan.config.rows) if of_queries else (HK, SK, plan.keys)
    columns, span, turned = plan.dims[which % 2], plan.spans[0 if which != 1 else 2], plan.turned and not of_queries
    pieces, threads = WORKERS if of_queries else plan.pieces(columns), WORKERS * GROUP
    elements = rows * columns // pieces // GROUP  # of a thread

    @cl.kernel(block=threads)
    def finish(
        grad: plan.box(heads, length, dim, rows, span), sums: plan.sums if of_queries else plan.parts(columns),
        scale: f32, array: plan.array("G", heads, length, dim), starts: Starts,
    ) -> None:  # fmt: skip
        group, (m, head, batch) = cl.warpgroup_idx(), place(sums)
        sequence, row = plan.queries(m, batch, starts) if of_queries else (plan.whole(batch), m * rows)
        tile = cl.shared(plan.problem.dtype, plan.laid((rows, columns), span), align=1024)
        cl.griddepcontrol_wait()
        for c in cl.static_range(-(-pieces // WORKERS)):
            piece, times = group + c * WORKERS, 1 if of_queries else i32(HP // HK)
            if pieces % WORKERS == 0 or piece < pieces:
                first, fours = head * times, elements // 4
                total = plan.accumulators(sums[batch, first, m, piece, None], fours).load()
                for i in range(1, times):
                    total = total + plan.accumulators(sums[batch, first + i, m, piece, None], fours).load()
                plan.put_piece((total * scale).reshape((elements,)), tile, piece, turned)
        cl.fence_proxy_async("shared::cta")
        cl.syncthreads()
        if not plan.problem.ragged or row + rows <= sequence.queries:
            if cl.thread_idx.x == 0:
                cl.tma_store(tile, grad, at=(batch, head, sequence.query + row, 0))
                cl.cp_async_bulk_commit_group()
                cl.cp_async_bulk_wait_group(0, read=True)
        else:
            written = plan.written(sequence.number, sequence.query, sequence.queries, starts.queries, i32(SQ))
            at = batch, head, sequence.query + row
            plan.store_rows(tile, array, at, written - row, sequence.queries - row, threads)

    return finish
