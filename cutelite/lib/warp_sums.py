"""Sums of 16-bit elements, and of their squares, by mma.sync: one instruction for four elements of each thread.

    known = warp_sums(v)                     # the sums of all elements of the warp, spread over its threads
    known = warp_sums(more, known)           # more elements added to them
    total, squares = own_sums(known)         # this thread's part of both sums: the caller adds them up over the warp

Four threads hold a row of X, (8, 16). The same registers, taken as the right operand, are X.T. The left operand is X
with 8 rows of ones below it. So the product (16, 8) has the sums of squares of X's rows on its diagonal, and their sums
in rows 8 to 15.
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import f32
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.loops import static_range
from cutelite.lang.matrix import mma_sync
from cutelite.lang.tensor import make_rmem_tensor
from cutelite.lang.values import full, where

EACH = 4  # elements of a thread for one instruction


def warp_sums(v: Any, known: Any = None) -> Any:
    """Add the elements of `v`, and their squares, to a warp's sums `known`, which are spread over its threads.

    v      a vector of bf16 or f16
    known  an earlier result, or None. Products are exact; sums are f32, and may be truncated, not rounded
    Gives  a vector of 4 f32, for `own_sums`
    Who    all threads of a warp
    """
    known, flat = full((4,), 0, f32) if known is None else known, v.reshape((v.n,))
    a, b = make_rmem_tensor(v.dtype, (2 * EACH,)), make_rmem_tensor(v.dtype, (EACH,))
    for start in static_range(0, v.n, EACH):
        for i in static_range(EACH):
            element = flat[start + i] if start + i < v.n else v.dtype(0)
            a[i // 2 * 4 + i % 2], a[i // 2 * 4 + i % 2 + 2], b[i] = element, v.dtype(1), element
        known = mma_sync(a.load(), b.load(), known)
    return known


def own_sums(known: Any) -> tuple[Any, Any]:
    """Return this thread's parts of a warp's sum and sum of squares, f32: eight threads have one, the others 0."""
    group, member = linear_thread_idx() % 32 // 4, linear_thread_idx() % 4
    second, mine = group % 2 == 1, group // 2 == member
    zero = f32(0)
    return where(mine, where(second, known[3], known[2]), zero), where(mine, where(second, known[1], known[0]), zero)
