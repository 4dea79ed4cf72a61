"""Softmax over rows, one block a row: the row is read once and kept in registers."""

import math
from collections.abc import Callable

import numpy as np

import cutelite as cl
from common import check, poisoned, random, to_numpy
from cutelite import Constexpr, Tensor, f32

M, N = cl.dims("M N")

THREADS = 128
LOG2_E = 1.4426950408889634


def block_reduce(x: f32, combine: Callable[[f32, f32], f32], scratch: f32) -> f32:
    """Return `x` combined over the block, in every thread. `scratch` holds a number for each warp."""
    for distance in (16, 8, 4, 2, 1):
        x = combine(x, cl.shuffle_xor(x, distance))
    cl.syncthreads()  # until here, threads may read `scratch` of an earlier reduction
    if cl.lane_idx() == 0:
        scratch[cl.thread_idx.x // 32] = x
    cl.syncthreads()
    total = scratch[0]
    for warp in cl.static_range(1, THREADS // 32):
        total = combine(total, scratch[warp])
    return total


@cl.kernel(block=THREADS)
def softmax(x: Tensor[f32, (M, N)], out: Tensor[f32, (M, N)], per_thread: Constexpr[int]) -> None:
    row = cl.block_idx.x
    scratch = cl.shared(f32, (THREADS // 32,))
    values = cl.make_rmem_tensor(f32, (per_thread,))
    largest = f32(-math.inf)
    for i in cl.static_range(per_thread):
        column = i * THREADS + cl.thread_idx.x
        values[i] = x[row, column] if column < N else -math.inf
        largest = max(largest, values[i])
    largest = block_reduce(largest, max, scratch)
    total = f32(0)
    for i in cl.static_range(per_thread):
        values[i] = cl.math.exp2((values[i] - largest) * LOG2_E)
        total += values[i]
    total = block_reduce(total, lambda a, b: a + b, scratch)
    for i in cl.static_range(per_thread):
        column = i * THREADS + cl.thread_idx.x
        if column < N:
            out[row, column] = values[i] / total


def main(m: int = 7, n: int = 1000) -> None:
    x, out = random(m, n, seed=1), poisoned(m, n)
    softmax[m, THREADS](x, out, per_thread=-(-n // THREADS))
    exact = np.exp(to_numpy(x) - to_numpy(x).max(axis=1, keepdims=True))
    check(f"softmax {m} x {n}", out, exact / exact.sum(axis=1, keepdims=True), 1e-6)


if __name__ == "__main__":
    main()
