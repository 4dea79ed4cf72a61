# %% [markdown]
# # 2. Rows, blocks and reductions
#
# Here the threads of a block work together on a row: each reduces a part of it, and then they combine their parts.
# The kernel is softmax over the rows of a matrix, a block for each row, first with shuffles and shared memory by hand,
# then with the library's reductions.

# %%
import numpy as np

import cutelite as cl
from cutelite import Tensor, f32

M, N = cl.dims("M N")
THREADS = 128

# %% [markdown]
# A *warp* is 32 threads that execute together. `cl.shuffle_xor(x, d)` gives each lane the `x` of the lane whose
# number differs in the bit `d`; five exchanges combine all 32.
#
# A kernel may call plain Python functions, and pass functions to them. They are inlined, so they need no decorator and
# no types. A loop over a Python tuple is unrolled: `warp_combine` becomes five shuffles and five times `combine`.
#
# `cl.shared(f32, (4,))` is an array in the block's shared memory. `@cl.kernel(block=THREADS)` says that the kernel is
# written for blocks of this size; a launch with another is refused. `f32(0)` is a number with its type.

# %%


def warp_combine(x, combine):
    """Combine the `x` of all lanes; every lane has the result."""
    for distance in (16, 8, 4, 2, 1):
        x = combine(x, cl.shuffle_xor(x, distance))
    return x


def block_combine(x, combine, neutral, scratch):
    """Combine the `x` of all threads of a block; every thread has the result. `scratch` has a place for each warp."""
    warp, lane = cl.thread_idx.x // 32, cl.lane_idx()
    x = warp_combine(x, combine)
    if lane == 0:
        scratch[warp] = x
    cl.syncthreads()
    x = warp_combine(scratch[lane] if lane < THREADS // 32 else neutral, combine)
    cl.syncthreads()  # all have read: the places may be used again
    return x


@cl.kernel(block=THREADS)
def softmax_by_hand(x: Tensor[f32, (M, N)], y: Tensor[f32, (M, N)]) -> None:
    scratch = cl.shared(f32, (THREADS // 32,))
    row = cl.block_idx.x
    greatest = f32(float("-inf"))
    for column in range(cl.thread_idx.x, N, THREADS):
        greatest = max(greatest, x[row, column])
    greatest = block_combine(greatest, max, f32(float("-inf")), scratch)
    total = f32(0)
    for column in range(cl.thread_idx.x, N, THREADS):
        total += cl.math.exp(x[row, column] - greatest)
    total = block_combine(total, lambda p, q: p + q, f32(0), scratch)
    for column in range(cl.thread_idx.x, N, THREADS):
        y[row, column] = cl.math.exp(x[row, column] - greatest) / total


def reference(x):
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


x = np.random.default_rng(0).standard_normal((3, 1000), dtype=np.float32)
y = np.full_like(x, np.nan)
softmax_by_hand[len(x), THREADS](x, y)
np.testing.assert_allclose(y, reference(x), rtol=1e-5, atol=1e-7)

# %% [markdown]
# A loop over `range` is a loop on the GPU: thread 5 takes columns 5, 133, 261, ... so neighbouring threads read
# neighbouring columns, and a warp reads 128 bytes at once.
#
# ## Is the synchronisation right?
#
# A right result under one schedule proves little. `check` runs the kernel in the simulator under several schedules
# and follows PTX's memory model: it reports each pair of accesses that nothing orders, whether or not it went wrong
# this time. It takes the grid, the block and the arguments, and returns a report: text to print, and true where
# nothing was found. The kernel above is clean. A sum whose reduction lacks the barriers is not:

# %%
report = softmax_by_hand.check(len(x), THREADS, x, y)
print(report)
assert report


def combine_without_barrier(x, combine, neutral, scratch):
    warp, lane = cl.thread_idx.x // 32, cl.lane_idx()
    x = warp_combine(x, combine)
    if lane == 0:
        scratch[warp] = x
    return warp_combine(scratch[lane] if lane < THREADS // 32 else neutral, combine)


@cl.kernel(block=THREADS)
def racy_sum(x: Tensor[f32, (M, N)], sums: Tensor[f32, (M,)]) -> None:
    scratch = cl.shared(f32, (THREADS // 32,))
    row = cl.block_idx.x
    total = f32(0)
    for column in range(cl.thread_idx.x, N, THREADS):
        total += x[row, column]
    total = combine_without_barrier(total, lambda p, q: p + q, f32(0), scratch)
    if cl.thread_idx.x == 0:
        sums[row] = total


report = racy_sum.check(1, THREADS, x[:1], np.zeros(1, np.float32))
print(report)
assert {finding.kind for finding in report.findings} & {"race", "uninitialised"}

# %% [markdown]
# ## The library's reductions
#
# `cl.block_reduce` does the same for numbers, vectors, tuples and dataclasses, with any combining function, and keeps
# its places in shared memory and its barriers to itself. With it softmax needs one reduction instead of two: it
# combines pairs of the greatest element so far and the sum of `exp(x - greatest)`. Merging two pairs scales both sums
# to the greater maximum. (Pairs start at -1e30, since -inf - -inf would be NaN.)

# %%


def merge(p, q):
    """The pair of what both pairs stand for."""
    greatest = max(p[0], q[0])
    return greatest, p[1] * cl.math.exp(p[0] - greatest) + q[1] * cl.math.exp(q[0] - greatest)


@cl.kernel(block=THREADS)
def softmax(x: Tensor[f32, (M, N)], y: Tensor[f32, (M, N)]) -> None:
    row = cl.block_idx.x
    pair = f32(-1e30), f32(0)
    for column in range(cl.thread_idx.x, N, THREADS):
        pair = merge(pair, (x[row, column], f32(1)))
    greatest, total = cl.block_reduce(pair, merge)
    for column in range(cl.thread_idx.x, N, THREADS):
        y[row, column] = cl.math.exp(x[row, column] - greatest) / total


y.fill(np.nan)
softmax[len(x), THREADS](x, y)
np.testing.assert_allclose(y, reference(x), rtol=1e-5, atol=1e-7)
assert softmax.check(len(x), THREADS, x, y)

# %% [markdown]
# The library's own softmax (`cutelite.kernels.rows.softmax`) keeps the row in registers, reads 16 bytes at a time and
# spreads long rows over a cluster of blocks; {doc}`/rows` tells how.
#
# Try: the sum of each row's squares, then its `1 / sqrt(mean + eps)`: RMSNorm is one more line.
#
# Next: [layouts](03_layouts).
