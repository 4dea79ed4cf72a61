"""The kernel that combines parts of attention: each is that of some keys, with its logsumexp."""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.kernels.attention.scores import INF, LN2

B, H, SQ, SPLITS = cl.dims("B H SQ SPLITS")
OB, OS, OH = cl.dims("OB:2 OS:2 OH:2")
LENGTHS = Tensor[i32, (B,), (None,)] | None
WARPS = 4  # of a block of threads
MOST_SPLITS = WARPS * 32
TOGETHER = 8  # splits that a warp loads at once


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
    return each * inverse, cl.where(total == 0.0, -INF, top + cl.math.log2(total, fast=True) * LN2)


def share(parts: Any, sums: Any, first: Any, count: Any, DV: int) -> tuple[Any, Any, Any]:
    """Return a warp's share of a row: the greatest logsumexp, the sum of weights, and this thread's columns.

    parts   (SPLITS, DV), of which `count` from `first` on are combined; every fourth one is the warp's
    sums    (SPLITS,): their logsumexps
    Result  four columns of each 128; 0 where there are none
    """
    warp, lane, wide = cl.thread_idx.x // 32, cl.thread_idx.x % 32, -(-DV // 128)
    top, total, out = f32(-INF), f32(0.0), cl.full((4 * wide,), 0.0, f32)
    for i in range((count + WARPS * TOGETHER - 1) // (WARPS * TOGETHER)):
        tops, held = cl.make_rmem_tensor(f32, (TOGETHER,)), cl.make_rmem_tensor(f32, (4, wide, TOGETHER))
        tops.fill(-INF)
        held.fill(0.0)
        for j in cl.static_range(TOGETHER):  # logsumexps too: so there is one wait for memory
            split = (i * TOGETHER + j) * WARPS + warp
            if split < count:
                tops[j] = sums[first + split]
                part = parts[first + split, None]
                for c in cl.static_range(wide):
                    if c * 128 + lane * 4 < DV:
                        held[None, c, j].store(cl.local_tile(part, (4,), (c * 32 + lane,)).load())
        each, greatest = weights(tops.load(), top)
        keep, _ = weights(cl.full((1,), top, f32), greatest)
        out, total, top = out * keep[0], total * keep[0] + each.reduce("sum"), greatest
        for j in cl.static_range(TOGETHER):
            out = out + held[None, None, j].load().reshape((4 * wide,)) * each[j]
    return top, total, out


@lru_cache(maxsize=256)
def of_rows(dtype: Any, DV: int, columns: int, left: bool) -> Any:
    """Return the kernel that combines parts: a block of threads for each row, whose warps share the parts.

    DV       columns of a part
    columns  keys of a block
    left     queries do not see the first keys
    Grid     (sequences, queries, heads)
    """

    @cl.kernel(block=WARPS * 32)
    def combine(
        parts: Tensor[f32, (B, SQ, H, SPLITS, DV), cl.align(16)], sums: Tensor[f32, (B, H, SQ, SPLITS)],
        o: Tensor[dtype, (B, SQ, H, DV), (OB, OS, OH, 1)], lse: Tensor[f32, (B, H, SQ)],
        lengths: LENGTHS, starts: LENGTHS, sinks: Tensor[f32, (H,)] | None, keys: i32, low: i32, blocks: i32,
    ) -> None:  # fmt: skip
        """
        keys    the length of each sequence where `lengths` is None
        low     keys before the sequence's end that any of its queries sees, at most
        blocks  blocks of keys of a split
        """
        cl.griddepcontrol_launch_dependents()
        added, of_warps = cl.shared(f32, (DV, WARPS), align=16), cl.shared(f32, (WARPS, 2), align=16)
        batch, query, head = (i32(x) for x in cl.block_idx)
        thread, warp, lane = cl.thread_idx.x, cl.thread_idx.x // 32, cl.thread_idx.x % 32
        first, count = i32(0), i32(SPLITS)
        if lengths is not None or starts is not None or left:
            length: Any = keys if lengths is None else min(keys, lengths[batch])
            seen = max(1, (length + columns - 1) // columns)
            if left or starts is not None:
                low = max(0, length - low) if left else i32(0)
                low = low if starts is None else max(low, starts[batch])
                first = min(seen - 1, low // columns) // blocks
            count = (seen + blocks - 1) // blocks - first
        cl.griddepcontrol_wait()
        of_row = parts[batch, query, head, None, None], sums[batch, head, query, None]
        top, total, out = share(*of_row, first, count, DV)
        for c in cl.static_range(out.n // 4):
            if c * 128 + lane * 4 < DV:
                cl.local_tile(added[None, warp], (4,), (c * 32 + lane,)).store(out[4 * c : 4 * c + 4])
        if lane == 0:
            of_warps[warp, 0], of_warps[warp, 1] = top, total
        cl.syncthreads()
        sink = None if sinks is None else sinks[head]
        each, total = factors(of_warps[None, 0].load(), of_warps[None, 1].load(), sink)
        for c in cl.static_range(-(-DV // (WARPS * 32))):
            column = c * WARPS * 32 + thread
            if column < DV:
                o[batch, query, head, column] = (added[column, None].load() * each).reduce("sum").to(dtype)
        if thread == 0:
            lse[batch, head, query] = total

    return combine
