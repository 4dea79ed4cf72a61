"""Count how often each byte occurs: atomics on a histogram in shared memory, which is then added to global memory."""

import numpy as np

import cutelite as cl
from common import array, check, to_numpy
from cutelite import Tensor, i32, u8

N = cl.dims("N")

BINS = 256
THREADS = 256


@cl.kernel(block=THREADS)
def histogram(x: Tensor[u8, (N,)], counts: Tensor[i32, (BINS,)]) -> None:
    local = cl.shared(i32, (BINS,))
    t = cl.thread_idx.x
    for i in range(t, BINS, THREADS):
        local[i] = 0
    cl.syncthreads()
    for i in range(cl.block_idx.x * THREADS + t, N, cl.grid_dim.x * THREADS):
        cl.atomic_add(local, i32(x[i]), 1)
    cl.syncthreads()
    for i in range(t, BINS, THREADS):
        if local[i] > 0:
            cl.atomic_add(counts, i, local[i])


def main(n: int = 20_011, blocks: int = 4) -> None:
    data = np.random.default_rng(1).integers(0, 256, n)
    x, counts = array(data, "uint8"), array(np.zeros(BINS), "int32")
    histogram[blocks, THREADS](x, counts)
    check(f"histogram {n}", counts, np.bincount(to_numpy(x), minlength=BINS), 0.0)


if __name__ == "__main__":
    main()
