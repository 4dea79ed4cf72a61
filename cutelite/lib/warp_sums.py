"""Sums of 16-bit elements, and of their squares, by products of matrices: an instruction for four elements of a thread.

    known = warp_sums(v)                     # of all of a warp's elements, spread over its threads
    known = warp_sums(more, known)           # of these too
    total, squares = own_sums(known)         # this thread's share of them: what is left is to add up the shares

A warp's elements are a matrix X of 8 rows, those of a group of four threads each, and also its transpose. The product
of X, with 8 rows of ones below it, and the transpose has the rows' squares on its diagonal, and their sums below.
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import f32
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.loops import static_range
from cutelite.lang.matrix import mma_sync
from cutelite.lang.tensor import make_rmem_tensor
from cutelite.lang.values import full, where

EACH = 4  # elements of a thread that an instruction takes


def warp_sums(v: Any, known: Any = None) -> Any:
    """Add the elements of `v`, and their squares, to what is `known` of a warp's elements.

    v      a vector of bf16 or f16
    known  what this gave before; None: nothing. Products are exact, sums are f32, and may be truncated, not rounded
    Gives  what `own_sums` takes, a vector of 4 f32
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
    """This thread's share of the sum, and of the sum of squares, that a warp knows: eight threads have a share."""
    group, member = linear_thread_idx() % 32 // 4, linear_thread_idx() % 4
    second, mine = group % 2 == 1, group // 2 == member
    zero = f32(0)
    return where(mine, where(second, known[3], known[2]), zero), where(mine, where(second, known[1], known[0]), zero)
