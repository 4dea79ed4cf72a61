"""The sum of an array: shuffles within a warp, shared memory between warps, one atomic a block."""

import numpy as np

import cutelite as cl
from common import array, check, random, to_numpy
from cutelite import Tensor, f32

N = cl.dims("N")

THREADS = 256
PER_THREAD = 8


def warp_sum(x: f32) -> f32:
    """Return the sum over the warp, in every lane."""
    for distance in (16, 8, 4, 2, 1):
        x += cl.shuffle_xor(x, distance)
    return x


@cl.kernel(block=THREADS)
def block_sum(x: Tensor[f32, (N,)], total: Tensor[f32, (1,)]) -> None:
    partial = cl.shared(f32, (THREADS // 32,))
    first = cl.block_idx.x * (THREADS * PER_THREAD) + cl.thread_idx.x
    acc = f32(0)
    for step in cl.static_range(PER_THREAD):
        i = first + step * THREADS
        if i < N:
            acc += x[i]
    acc = warp_sum(acc)
    warp, lane = cl.thread_idx.x // 32, cl.lane_idx()
    if lane == 0:
        partial[warp] = acc
    cl.syncthreads()
    if warp == 0:
        acc = warp_sum(partial[lane] if lane < THREADS // 32 else f32(0))
        if lane == 0:
            cl.atomic_add(total, 0, acc)


def main(n: int = 100_003) -> None:
    x, total = random(n, seed=1), array(np.zeros(1), "float32")
    block_sum[-(-n // (THREADS * PER_THREAD)), THREADS](x, total)
    check(f"block_sum {n}", total, to_numpy(x).sum(keepdims=True), 1e-4)


if __name__ == "__main__":
    main()
