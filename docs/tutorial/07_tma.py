# %% [markdown]
# # 7. TMA and mbarriers
#
# From here on, instructions are Hopper's. The *tensor memory accelerator* copies whole boxes of a tensor: one thread
# starts it, no thread computes addresses, and what lies beyond an edge reads as zero and is not written. Completion
# is counted in bytes, on an *mbarrier*.

# %%
import numpy as np

import cutelite as cl
from cutelite import TmaTensor, f32

M, N = cl.dims("M N:4")  # rows are multiples of 16 bytes: TMA asks for that
ROWS, COLUMNS, THREADS = 32, 32, 128

# %% [markdown]
# `TmaTensor[f32, (M, N), (ROWS, COLUMNS)]` is an array with a *tensor map* for boxes of this size, which the launch
# makes. `cl.tma_shared` is a tile of shared memory in the layout (and swizzle) in which the box arrives.

# %%


@cl.kernel(block=THREADS)
def double(x: TmaTensor[f32, (M, N), (ROWS, COLUMNS)], y: TmaTensor[f32, (M, N), (ROWS, COLUMNS)]) -> None:
    tile = cl.tma_shared(x)
    full = cl.shared(cl.mbarrier, (1,))
    row, column = cl.block_idx.x * ROWS, cl.block_idx.y * COLUMNS

    if cl.thread_idx.x == 0:
        full[0].init(1)  # one arrival completes a phase, once the bytes have come as well
        cl.fence_mbarrier_init()  # TMA is to see that
        full[0].arrive_expect_tx(x.tile_bytes)
        cl.tma_load(x, tile, at=(row, column), barrier=full[0])
    cl.syncthreads()  # the barrier exists: now others may wait on it
    full[0].wait(0)  # phase 0 is over: the bytes are there, for this thread to see

    for i in range(cl.thread_idx.x, ROWS * COLUMNS, THREADS):
        tile[i // COLUMNS, i % COLUMNS] = 2 * tile[i // COLUMNS, i % COLUMNS]

    cl.fence_proxy_async("shared::cta")  # TMA is to see what this thread wrote
    cl.syncthreads()
    if cl.thread_idx.x == 0:
        cl.tma_store(tile, y, at=(row, column))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)  # before the block ends, and its shared memory with it


x = np.random.default_rng(0).standard_normal((50, 72), dtype=np.float32)
y = np.full_like(x, np.nan)
grid = -(-50 // ROWS), -(-72 // COLUMNS)
double[grid, THREADS](x, y)
assert (y == 2 * x).all()
assert double.check(grid, THREADS, x, y)

# %% [markdown]
# No bounds anywhere, and 50 x 72 came out right.
#
# ## What must be said, and what finds it missing
#
# TMA accesses shared memory through another path, the *async proxy*. Three things order it with ordinary code: the
# mbarrier for what it brings, `fence_proxy_async` for what it takes, groups for when it is done. Without the fence
# this kernel may well pass its tests for months. The checker knows the rule:

# %%


@cl.kernel(block=THREADS)
def without_fence(y: TmaTensor[f32, (M, N), (ROWS, COLUMNS)]) -> None:
    tile = cl.tma_shared(y)
    for i in range(cl.thread_idx.x, ROWS * COLUMNS, THREADS):
        tile[i // COLUMNS, i % COLUMNS] = 1.0
    cl.syncthreads()
    if cl.thread_idx.x == 0:
        cl.tma_store(tile, y, at=(cl.block_idx.x * ROWS, cl.block_idx.y * COLUMNS))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


report = without_fence.check(grid, THREADS, y)
print(report)
assert [finding.kind for finding in report.findings] == ["proxy-fence"]

# %% [markdown]
# ## Phases
#
# An mbarrier is used again and again: each completion begins the next phase, and `wait(parity)` waits for the phase
# of that parity to end, 0 for the first, 1 for the second, 0 again. Here one buffer is filled three times. The block
# must have read it before it is filled anew, which the second `syncthreads` says.

# %%
STEPS = 3


@cl.kernel(block=THREADS)
def add_boxes(x: TmaTensor[f32, (M, N), (ROWS, COLUMNS)], sums: cl.Tensor[f32, (ROWS, COLUMNS)]) -> None:
    tile = cl.tma_shared(x)
    full = cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        full[0].init(1)
        cl.fence_mbarrier_init()
    cl.syncthreads()
    row, column = cl.thread_idx.x // COLUMNS, cl.thread_idx.x % COLUMNS
    totals = cl.full(ROWS * COLUMNS // THREADS, 0, f32)
    for step in range(STEPS):
        if cl.thread_idx.x == 0:
            full[0].arrive_expect_tx(x.tile_bytes)
            cl.tma_load(x, tile, at=(step * ROWS, 0), barrier=full[0])
        full[0].wait(step % 2)
        totals += cl.vector(*[tile[row + 4 * i, column] for i in cl.static_range(ROWS // 4)])
        cl.syncthreads()
    for i in cl.static_range(ROWS // 4):
        sums[row + 4 * i, column] = totals[i]


x = np.random.default_rng(1).standard_normal((STEPS * ROWS, COLUMNS), dtype=np.float32)
sums = np.full((ROWS, COLUMNS), np.nan, np.float32)
add_boxes[1, THREADS](x, sums)
np.testing.assert_allclose(sums, x.reshape(STEPS, ROWS, COLUMNS).sum(axis=0), rtol=1e-5, atol=1e-5)
assert add_boxes.check(1, THREADS, x, sums)

# %% [markdown]
# Try: take out the `syncthreads` at the end of the loop and `check` again: the next box may overwrite what others
# still read.
#
# Next: [wgmma](08_wgmma).
