"""Copies of weights, each an element further than the one before, for rows that begin anywhere.

Rows lie otherwise than weights do: a vector of a row meets the ends of two vectors of weights. Of as many copies as a
vector has elements, copy i has i elements more before the weights, and so lies as the rows that begin i elements into a
vector do. All begin with zeros, as many vectors of these as a row's first sector may have before the row.
"""

from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor
from cutelite.kernels.arrays import empty
from cutelite.kernels.rows.plan import after, follow
from cutelite.lib.row_ends import copy_vector
from cutelite.lib.rows import SECTOR

N = cl.dims("N")  # weights
MOVING = 64  # threads of a block, each for a vector of all copies


def moved_shape(n: int, vector: int) -> tuple[int, int]:
    """Return the shape of the copies of `n` weights: as many as a `vector` has elements, of whole vectors."""
    return vector, (n + (SECTOR + 1) * vector - 2) // vector * vector


def moved(vector: int, dtype: Any, *weights: Any) -> list[Any]:
    """Return the copies of one or two vectors of weights, in memory of their own; None for None."""
    given = [each for each in weights if each is not None]
    if not given:
        return list(weights)
    shape = moved_shape(int(given[0].shape[0]), vector)
    outs = [None if each is None else empty(each, shape) for each in weights]
    pairs = [each for pair in zip(weights, outs, strict=True) if pair[0] is not None for each in pair]
    launch = after((-(-shape[1] // (vector * MOVING)), len(given)), MOVING)
    moving(dtype, vector)[launch](*pairs, *[None] * (4 - len(pairs)))
    return outs


@cache
def moving(dtype: Any, vector: int) -> Any:
    """Make the kernel that copies one or two vectors of weights, `vector` times each."""

    W = cl.Dim("W", vector)  # elements of a copy

    @cl.kernel(block=MOVING)
    def moved_weights(
        w: Tensor[dtype, (N,)],
        out: Tensor[dtype, (vector, W)],
        more: Tensor[dtype, (N,)] | None,
        other: Tensor[dtype, (vector, W)] | None,
    ) -> None:
        number = cl.block_idx.x * MOVING + cl.thread_idx.x
        first = more is None or cl.block_idx.y == 0

        def ask(_: Any) -> None:
            at = min(number * vector, N - 1)
            if first:
                cl.prefetch(w, at)
            else:
                cl.prefetch(more, at)  # type: ignore[arg-type]

        follow(ask)

        def copy(w: Any, out: Any) -> None:
            found = cl.make_rmem_tensor(dtype, (2 * vector - 1,))  # the vector of this number, and those before it
            for j in cl.static_range(2 * vector - 1):
                column = (number + 1 - SECTOR) * vector + j - (vector - 1)
                found[j] = w[column] if (column >= 0) & (column < N) else dtype(0)
            for i in cl.static_range(vector):
                held = cl.make_rmem_tensor(dtype, (vector, 1))
                for j in cl.static_range(vector):
                    held[j, 0] = found[j - i + vector - 1]
                copy_vector(out[i, None], held, number, vector, 0, into=True)

        if number * vector < W:
            if first:
                copy(w, out)
            else:
                copy(more, other)

    return moved_weights
