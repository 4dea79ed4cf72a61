"""The combination of a tile's parts in the shared memory of the cluster of blocks of threads that compute one each.

In    each block's output and logsumexp of its keys, in registers
Out   the rows of the output, and their logsumexps, in global memory
"""

from typing import Any

import cutelite as cl
from cutelite import Smem, f32
from cutelite.kernels.attention.combining import factors
from cutelite.kernels.attention.scores import GROUP, ROWS
from cutelite.kernels.attention.sequences import SQ

APART = 8  # numbers between rows, so that the eight rows of a warp's stores are in other banks


def held_of(dim_v: int) -> Any:
    """Return what a block holds of its part, in shared memory: normalised rows, and their logsumexps."""

    class Held(cl.SharedStorage):
        out: Smem[f32, cl.make_layout((ROWS, dim_v), (dim_v + APART, 1)), 16]
        sums: Smem[f32, (ROWS,)]

    return Held


def rows_of(plan: Any, part: Any) -> Any:
    """Return how many rows of a part's tile there are."""
    return min(ROWS, SQ * plan.together - part.row)


def hold(out: Any, softmax: Any, held: Any, rows: Any) -> None:
    """Write a part to shared memory, where queries, keys and values were. Who: a warpgroup, once it has used these.

    out   the accumulator of `softmax`, of which the first `rows` are written
    """
    inverse, sums = softmax.finish()
    spots, out = cl.wgmma.coordinates(8), cl.scale_rows(out, inverse)
    cl.NamedBarrier(1, GROUP).sync()  # all four warps have read what is overwritten
    for i in cl.static_range(2):
        row = spots[2 * i][0]
        if row < rows:
            cl.store_row(out, i, held.out[row, None])
            if spots[0][1] == 0:
                held.sums[row] = sums[i]


def gather(plan: Any, held: Any, o: Any, lse: Any, sinks: Any, part: Any) -> None:
    """Combine the parts that a cluster's blocks hold; each writes a share of the elements. Who: all threads.

    plan, part   of `decoding`: the place of each row
    """
    fours, blocks = plan.problem.dim_v // 4, cl.cluster_dim.y
    count, threads = rows_of(plan, part) * fours, blocks * cl.block_dim.x
    cl.cluster_sync()
    for i in range(cl.block_rank_in_cluster() * cl.block_dim.x + cl.thread_idx.x, count, threads):
        row, four = i // fours, i % fours
        query, head = plan.place(part.row + row, part.kv)
        tops = cl.vector(*(cl.mapa(held.sums, block)[row] for block in range(blocks)))
        rows = [cl.mapa(held.out, block)[row, None] for block in range(blocks)]
        parts = [cl.local_tile(x, (4,), (four,)).load() for x in rows]
        each, total = factors(tops, None, None if sinks is None else sinks[head])
        out = cl.full((4,), 0.0, f32)
        for block in cl.static_range(blocks):
            out = out + parts[block] * each[block]
        cl.local_tile(o[part.batch, query, head, None], (4,), (four,)).store(out.to(o.dtype))
        if four == 0:
            lse[part.batch, head, query] = total
    cl.cluster_sync()  # a block's shared memory is there until all have read it
