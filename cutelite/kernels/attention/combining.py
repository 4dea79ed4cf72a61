"""The kernel that combines parts of attention: each is that of some keys, with its logsumexp."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.kernels.attention.scores import INF, LN2
from cutelite.kernels.attention.sequences import LENGTHS, SQ, B, Blocks, Keys, quotient_up

H, SPLITS = cl.dims("H SPLITS")
OB, OS, OH = cl.dims("OB:2 OS:2 OH:2")
WIDE = 128  # columns of a warp, four of each thread
TOGETHER = 16  # parts that a warp loads at once
LANES = 16  # that combine a row of equal shares, of which they load `DEEP` parts at once
DEEP = 8
WARPS = 8  # of a block of threads, at most
MOST_SPLITS = WARPS * TOGETHER


def weights(tops: Any, top: Any) -> tuple[Any, Any]:
    """Return the factors of parts with logsumexps `tops`, and the greatest of these and `top`, which they go by."""
    top = max(top, tops.reduce("max"))
    return cl.math.exp2((tops - cl.where(top == -INF, 0.0, top)) * (1.0 / LN2), fast=True), top


def factors(tops: Any, totals: Any, sink: Any) -> tuple[Any, Any]:
    """Return the factors of parts that make a row of them, and the logsumexp of the row.

    tops     their logsumexps, which weights go by; `totals`: sums of weights, of parts that are several; None: of one
    sink     the row's, None: it has none
    """
    each, top = weights(tops, f32(-INF) if sink is None else sink)
    total = (each if totals is None else totals * each).reduce("sum")
    if sink is not None:
        total = total + weights(cl.full((1,), sink, f32), top)[0][0]
    inverse = cl.where(total == 0.0, 0.0, cl.math.rcp(total, fast=True))
    sums = cl.where(total == 0.0, -INF, top + cl.math.log2(total, fast=True) * LN2)
    return each * inverse, cl.where(top == INF, INF, sums)


def load(parts: Any, sums: Any, count: Any, column: Any, sharing: int) -> tuple[Any, Any]:
    """Return logsumexps and four columns of a warp's share of parts: -inf and 0 where there is none.

    parts    (SPLITS, DV), of which the first `count` are combined; `sharing` warps take turns at them
    sums     (SPLITS,): their logsumexps
    column   the first of this thread's columns; 0 from DV on
    """
    tops, held = cl.make_rmem_tensor(f32, (TOGETHER,)), cl.make_rmem_tensor(f32, (4, TOGETHER))
    tops.fill(-INF)
    held.fill(0.0)
    for j in cl.static_range(TOGETHER):
        split = j * sharing + cl.thread_idx.x // 32 % sharing
        if split < count:
            tops[j] = sums[split]
            if column < parts.shape[1]:
                held[None, j].store(cl.local_tile(parts[split, None], (4,), (column // 4,)).load())
    return tops.load(), held


def added(held: Any, each: Any) -> Any:
    """Return the sum of the columns of `held` by their factors."""
    out = held[None, 0].load() * each[0]
    for j in cl.static_range(1, each.n):
        out = out + held[None, j].load() * each[j]
    return out


def combine_row(
    parts: Any, sums: Any, which: Callable[[Any], Any], count: Any, sink: Any, out: Any, lse: Any, query: Any
) -> None:  # fmt: skip
    """Combine a row's parts, however many. Who: `LANES` lanes of a warp.

    parts, sums  (SPLITS, DV), and their logsumexps
    which        the function from the number of a part, of `count`, to its index in these
    out, lse     of the row, (DV,), and of its head, of which `query` is written
    """
    DV, lane = parts.shape[1], cl.lane_idx() % LANES
    places = [chunk * LANES + lane for chunk in range(-(-DV // (4 * LANES)))]  # of this lane's columns, in fours
    so_far, top, total = cl.full((4 * len(places),), 0.0, f32), f32(-INF), f32(0.0)
    for first in range(0, count, DEEP):
        splits = [which(min(first + j, count - 1)) for j in range(DEEP)]
        tops = cl.vector(*[cl.where(first + j < count, sums[split], -INF) for j, split in enumerate(splits)])
        held = [
            cl.vector(*[cl.local_tile(parts[split, None], (4,), (min(i, DV // 4 - 1),)).load() for i in places])
            for split in splits
        ]
        each, best = weights(tops, top)
        ratio = weights(cl.vector(top), best)[0][0]
        so_far, total, top = so_far * ratio, total * ratio + each.reduce("sum"), best
        for j in cl.static_range(DEEP):
            so_far = so_far + held[j] * each[j]
    each, total = factors(cl.vector(top), cl.vector(total), sink)
    for j, i in enumerate(places):
        if i < DV // 4:
            cl.local_tile(out, (4,), (i,)).store((so_far[4 * j : 4 * j + 4] * each[0]).to(out.dtype))
    if lane == 0:
        lse[query] = total


@lru_cache(maxsize=256)
def of_rows(dtype: Any, DV: int, columns: int, left: bool, sharing: int, warps: int) -> Any:
    """Return the kernel that combines parts.

    DV       columns of a part
    columns  keys of a block
    left     queries do not see the first keys
    sharing  warps that combine `WIDE` columns of a row; of up to `TOGETHER` parts each
    warps    of a block of threads, a multiple of that
    Grid     (rows of all sequences, queries and heads, times DV / WIDE and `sharing`,), of warps
    """

    @cl.kernel(block=warps * 32)
    def combine(
        parts: Tensor[f32, (B, SQ, H, SPLITS, DV), cl.align(16)], sums: Tensor[f32, (B, H, SQ, SPLITS)],
        o: Tensor[dtype, (B, SQ, H, DV), (OB, OS, OH, 1)], lse: Tensor[f32, (B, H, SQ)],
        lengths: LENGTHS, starts: LENGTHS, sinks: Tensor[f32, (H,)] | None, keys: i32, offset: i32, before: i32,
    ) -> None:  # fmt: skip
        """`Keys` explains lengths and what follows; `before` is its `left`."""
        cl.griddepcontrol_launch_dependents()
        warp, lane, chunks = cl.thread_idx.x // 32, cl.thread_idx.x % 32, -(-DV // WIDE)
        place = i32(cl.block_idx.x) * (warps // sharing) + warp // sharing
        row, column = place // chunks, place % chunks * WIDE + lane * 4
        there, row = row < i32(B) * i32(SQ) * i32(H), min(row, i32(B) * i32(SQ) * i32(H) - 1)
        head, query, batch = row % i32(H), row // i32(H) % i32(SQ), row // i32(H) // i32(SQ)
        count = i32(SPLITS)
        if lengths is not None or starts is not None or left:
            seen, each = Blocks(Keys(lengths, keys, offset, before, 0, starts), columns, left).divided(batch, count)
            count = quotient_up(seen.count, each)
        cl.griddepcontrol_wait()
        of_row = parts[batch, query, head, None, None], sums[batch, head, query, None]
        sink = None if sinks is None else sinks[head]
        tops, held = load(*of_row, count, column, sharing)
        totals = None
        if sharing > 1:
            kept, of_warps = cl.shared(f32, (WIDE, warps), align=16), cl.shared(f32, (2, warps))
            each, top = weights(tops, f32(-INF))
            cl.local_tile(kept[None, warp], (4,), (lane,)).store(added(held, each))
            if lane == 0:
                of_warps[0, warp], of_warps[1, warp] = top, each.reduce("sum")
            cl.syncthreads()
            group = warp // sharing
            tops, totals = (cl.local_tile(of_warps[i, None], (sharing,), (group,)).load() for i in (0, 1))
            held = cl.local_tile(kept, (4, sharing), (lane, group))
        each, total = factors(tops, totals, sink)
        if there & (warp % sharing == 0):
            if column < DV:
                cl.local_tile(o[batch, query, head, None], (4,), (column // 4,)).store(added(held, each).to(dtype))
            if column == 0:
                lse[batch, head, query] = total

    return combine


def chosen(rows: int, DV: int, splits: int, at_once: int) -> tuple[int, int, cl.Launch]:
    """Return `sharing`, `warps` and the launch, for a GPU that runs `at_once` blocks of threads at once.

    Blocks are small, since large ones find no room while parts are computed, and come late; where rows are many, they
    are larger, since each block takes its time to start.
    """
    sharing = next(n for n in (1, 2, 4, WARPS) if splits <= n * TOGETHER)
    every = rows * -(-DV // WIDE) * sharing
    warps = sharing if sharing > 1 else 2 if every < WARPS * at_once else 4
    return sharing, warps, cl.Launch(-(-every // warps), warps * 32, pdl=True)
