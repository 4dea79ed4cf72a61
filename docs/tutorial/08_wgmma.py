# %% [markdown]
# # 8. wgmma, and accumulators in flight
#
# Hopper's tensor cores take their operands from shared memory and work while the threads go on: `wgmma` multiplies a
# (64, k) tile by an (n, k) tile, started by a *warpgroup* of 128 threads. The accumulator lies in their registers,
# and until the product has been waited for, those registers belong to the tensor core.

# %%
import numpy as np
from ml_dtypes import bfloat16

import cutelite as cl
from cutelite import Tensor, TmaTensor, bf16, f32

BM, BN, BK = 64, 128, 64


@cl.kernel(block=128)
def multiply(
    a: TmaTensor[bf16, (BM, BK), (BM, BK)], b: TmaTensor[bf16, (BN, BK), (BN, BK)], c: Tensor[f32, (BM, BN)]
) -> None:
    """c = a @ b.T, of one tile."""
    tile_a, tile_b = cl.tma_shared(a), cl.tma_shared(b)
    full = cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        full[0].init(1)
        cl.fence_mbarrier_init()
        full[0].arrive_expect_tx(a.tile_bytes + b.tile_bytes)
        cl.tma_load(a, tile_a, at=(0, 0), barrier=full[0])
        cl.tma_load(b, tile_b, at=(0, 0), barrier=full[0])
    cl.syncthreads()
    full[0].wait(0)

    acc = cl.wgmma.zeros_accumulator(BN)
    acc = cl.wgmma.mma_async(tile_a, tile_b, acc)  # returns at once, in flight
    cl.wgmma.commit_group()
    acc = cl.wgmma.wait_group(0, acc)  # all groups are done: readable
    cl.wgmma.partition(c).store(acc)


rng = np.random.default_rng(0)
a, b = rng.standard_normal((BM, BK)).astype(bfloat16), rng.standard_normal((BN, BK)).astype(bfloat16)
c = np.full((BM, BN), np.nan, np.float32)
multiply[1, 128](a, b, c)
np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=1e-4, atol=1e-4)
assert multiply.check(1, 128, a, b, c)

# %% [markdown]
# ## In flight is a type
#
# On a GPU, an accumulator that is read too early gives wrong numbers, sometimes. Here an accumulator in flight has a
# type of its own, and reading it does not compile:

# %%


@cl.kernel(block=128)
def too_early(
    a: TmaTensor[bf16, (BM, BK), (BM, BK)], b: TmaTensor[bf16, (BN, BK), (BN, BK)], c: Tensor[f32, (BM, BN)]
) -> None:
    acc = cl.wgmma.mma_async(cl.tma_shared(a), cl.tma_shared(b), cl.wgmma.zeros_accumulator(BN))
    cl.wgmma.commit_group()
    cl.wgmma.partition(c).store(acc)


try:
    too_early.compile(block=128, arch="sm_90a")
except cl.CompileError as error:
    message = str(error)
    print(message)

assert "flight" in message

# %% [markdown]
# ## Who holds what
#
# Each thread has BN / 2 of the 64 x BN sums: two rows, and in each eight columns two neighbours.
# `cl.wgmma.partition(c)` is the thread's part of a tensor in that order: of every four sums, two are neighbours in
# the thread's first row, and two in its second. `coordinate_vectors` gives their rows and columns, `by_rows` the sums
# in the shape (neighbours, rows, groups of 8 columns). `row_reduce` combines each row over the four threads that
# share it. With these, a mask and a softmax of the tile's rows, in registers:

# %%


@cl.kernel(block=128)
def causal_softmax(
    a: TmaTensor[bf16, (BM, BK), (BM, BK)], b: TmaTensor[bf16, (BN, BK), (BN, BK)], c: Tensor[f32, (BM, BN)]
) -> None:
    tile_a, tile_b = cl.tma_shared(a), cl.tma_shared(b)
    full = cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        full[0].init(1)
        cl.fence_mbarrier_init()
        full[0].arrive_expect_tx(a.tile_bytes + b.tile_bytes)
        cl.tma_load(a, tile_a, at=(0, 0), barrier=full[0])
        cl.tma_load(b, tile_b, at=(0, 0), barrier=full[0])
    cl.syncthreads()
    full[0].wait(0)
    acc = cl.wgmma.mma_async(tile_a, tile_b, cl.wgmma.zeros_accumulator(BN))
    cl.wgmma.commit_group()
    acc = cl.wgmma.wait_group(0, acc)

    rows, columns = cl.wgmma.coordinate_vectors(BN)
    scores = cl.where(rows >= columns, cl.wgmma.by_rows(acc), f32(float("-inf")))
    greatest = cl.wgmma.row_reduce(scores, "max")
    e = cl.wgmma.by_rows(cl.math.exp(cl.vector(*[scores[i] - greatest[i // 2 % 2] for i in cl.static_range(BN // 2)])))
    sums = cl.wgmma.row_reduce(e, "sum")
    cl.wgmma.partition(c).store(cl.wgmma.scale_rows(e, 1.0 / sums))


c.fill(np.nan)
causal_softmax[1, 128](a, b, c)
scores = np.where(np.tri(BM, BN, dtype=bool), a.astype(np.float64) @ b.astype(np.float64).T, -np.inf)
e = np.exp(scores - scores.max(axis=1, keepdims=True))
np.testing.assert_allclose(c, e / e.sum(axis=1, keepdims=True), rtol=1e-3, atol=1e-6)

# %% [markdown]
# That is the heart of attention; {doc}`/attention` has the rest.
#
# ## As a tiled MMA
#
# `cl.WarpgroupMmaOp` is wgmma as an atom: with `make_tiled_mma` several warpgroups share a tile, `cl.gemm` starts all
# products of a partition and commits them, and `acc.wait()` waits. The next pages use this form.
#
# Try: `wait_group(1, acc)` in `multiply`, which lets one group stay under way. What does the simulator say?
#
# Next: [pipelines and warp specialisation](09_pipelines).
