# %% [markdown]
# # 10. A GEMM at cuBLAS's speed
#
# The kernel of the last page is right, and has a quarter of cuBLAS's rate. Four changes make up the rest. Each removes
# one limit:
#
# - With tiles of 64 x 64, reading shared memory takes as long as multiplying: each product reads 64 x 64 elements of A
#   and as many of B. In *tiles of 128 x 256* each of two consumer warpgroups has half of the rows: a product of
#   64 x 256 is four times the work for 2.5 times the elements, and B is brought into shared memory once for both.
# - After each product the tensor core waits until the next one is started. *One product stays in flight*: `keep(1)`,
#   and a stage is released one step later.
# - Results leave a few bytes at a time, while nothing multiplies. *`stmatrix` puts them into shared memory, TMA
#   takes them from there*, and nobody waits.
# - A new block starts with empty buffers, and tiles that run at once share little in L2. *As many blocks as there
#   are SMs take tiles in turn*, in bands.
#
# `cl.ResultRing` is the third of these: pieces of shared memory through which results leave in turn. The fourth is
# `cl.StaticPersistentTileScheduler`: a block asks it for its next tile, in the order of bands of `swizzle` columns.

# %%
import numpy as np
from ml_dtypes import bfloat16

import cutelite as cl
from cutelite import Smem, TmaTensor, bf16, f32

M, N, K = cl.dims("M N:8 K:8")  # rows of bf16 are multiples of 16 bytes, as TMA asks for
BM, BN, BK, STAGES, WIDE = 128, 256, 64, 4, 64  # WIDE: columns of a piece of results
CONSUMERS = 256  # threads: two warpgroups
THREADS = 128 + CONSUMERS

MMA = cl.make_tiled_mma(cl.WarpgroupMmaOp(bf16, f32, n=BN), (2, 1, 1))  # two warpgroups, one below the other
LOAD = cl.make_copy_atom(cl.CopyBulkTensorTileG2SOp(), bf16)


class Storage(cl.SharedStorage):
    a: Smem[bf16, cl.make_smem_layout(bf16, (BM, BK, STAGES))]
    b: Smem[bf16, cl.make_smem_layout(bf16, (BN, BK, STAGES))]
    c: Smem[bf16, cl.make_smem_layout(bf16, (64, WIDE, 4))]  # two pieces for each warpgroup


@cl.kernel(block=THREADS)
def gemm(
    a: TmaTensor[bf16, (M, K), (BM, BK)],
    b: TmaTensor[bf16, (N, K), (BN, BK)],
    c: TmaTensor[bf16, (M, N), (64, WIDE)],
) -> None:
    """c = a @ b.T"""
    storage = Storage.allocate()
    pipe = cl.PipelineTmaAsync.create(STAGES, a.tile_bytes + b.tile_bytes, CONSUMERS)
    tiles = cl.StaticPersistentTileScheduler.create((cl.ceil_div(M, BM), cl.ceil_div(N, BN)), swizzle=8)
    if cl.thread_idx.x < 128:
        cl.setmaxnreg_dec(40)  # 128 x 40 + 256 x 232 registers: of the 65536 of an SM
        if cl.thread_idx.x == 0:
            produce(a, b, storage, pipe, tiles)
    else:
        cl.setmaxnreg_inc(232)
        consume(c, storage, pipe, tiles)


def produce(a, b, storage, pipe, tiles):
    """One thread: fill the ring, tile after tile."""
    state = pipe.producer_state()
    while tiles.is_valid():
        m, n, _ = tiles.coordinate()
        from_a = cl.local_tile(cl.coordinates(a), (BM, BK), (m, None))
        from_b = cl.local_tile(cl.coordinates(b), (BN, BK), (n, None))
        for k in range(cl.ceil_div(K, BK)):
            pipe.producer_acquire(state)
            full = pipe.barrier(state)
            cl.copy(LOAD, from_a[None, None, k], storage.a[None, None, state.index], barrier=full)
            cl.copy(LOAD, from_b[None, None, k], storage.b[None, None, state.index], barrier=full)
            state = state.advance()
        tiles = tiles.advance()


def consume(c, storage, pipe, tiles):
    """Two warpgroups: multiply, and write 64 rows of results each."""
    group, thread = cl.warpgroup_idx() - 1, cl.thread_idx.x % 128
    pieces = cl.local_tile(storage.c, (64, WIDE, 2), (0, 0, group))
    out = cl.ResultRing.create(pieces, cl.WarpgroupMmaOp(bf16, f32, n=WIDE), thread, cl.NamedBarrier(1 + group, 128))
    mine = MMA.get_slice(cl.thread_idx.x - 128)
    left, right = mine.partition_A(storage.a), mine.partition_B(storage.b)
    state = pipe.consumer_state()
    while tiles.is_valid():
        acc = MMA.make_fragment_C(MMA.partition_shape_C((BM, BN)))
        pipe.consumer_wait(state)
        s = state.index
        acc = cl.gemm(MMA, acc, left[None, None, None, s], right[None, None, None, s], accumulate=False)
        before, state = state, state.advance()
        for _ in range(1, cl.ceil_div(K, BK)):
            pipe.consumer_wait(state)
            s = state.index
            acc = cl.gemm(MMA, acc, left[None, None, None, s], right[None, None, None, s]).keep(1)
            pipe.consumer_release(before)  # the product before this one is done
            before, state = state, state.advance()
        acc = acc.wait()
        pipe.consumer_release(before)
        m, n, _ = tiles.coordinate()
        sums = acc.load()
        for i in cl.static_range(BN // WIDE):
            out.acquire()  # until TMA has read what left from this buffer, two pieces ago
            piece = [sums[i * WIDE // 2 + j] for j in cl.static_range(WIDE // 2)]  # 32 of 64 x 64
            out.put(i, cl.vector(*piece).to(bf16))  # by stmatrix
            out.send(i, c, at=(m * BM + group * 64, n * BN + i * WIDE))  # by TMA, of one thread
        tiles = tiles.advance()
    out.tail()  # shared memory stays until the last store has read it


def reference(a, b):
    return a.astype(np.float64) @ b.astype(np.float64).T


rng = np.random.default_rng(0)
a, b = rng.standard_normal((200, 136)).astype(bfloat16), rng.standard_normal((520, 136)).astype(bfloat16)
c = np.full((200, 520), np.nan, bfloat16)
gemm[3, THREADS](a, b, c)  # three blocks take six tiles
np.testing.assert_allclose(c.astype(np.float64), reference(a, b), rtol=1e-2, atol=1e-2)
assert gemm.check(3, THREADS, a, b, c)

# %% [markdown]
# TMA reads zeros beyond the edges and does not write there, so odd sizes need no code at all. `produce` runs ahead
# into the next tile while `consume` writes the last one: only the ring's depth keeps them together.
#
# ## What it costs
#
# Registers and shared memory decide what fits. 128 x 256 sums over 256 threads are 128 registers each, which is why
# consumers take 232 and the producer gives up its own.

# %%
compiled = gemm.compile(block=THREADS, arch="sm_90a")
print(
    f"{compiled.registers} registers, {compiled.spills} bytes spilled, {compiled.shared_memory} bytes of shared memory"
)
assert compiled.spills == 0

# %% [markdown]
# ## What it reaches
#
# bf16, 8192 x 8192 x 8192, on one H200 (driver 580.159.04, CUDA 13.0, torch 2.11), 2026-11-23, by
# `python tests/bench/tutorial.py`: graphs of calls, replayed in turn, medians.
#
# | | TFLOP/s | of cuBLAS |
# |---|---|---|
# | step 9: 64 x 64, results by single stores | 181 | 0.260 |
# | examples/hopper_gemm_tiled.py: nothing in flight, three stages | 706 | 1.016 |
# | this page | 730 | 1.050 |
# | `cutelite.kernels.gemm` | 759 | 1.091 |
# | cuBLAS | 696 | 1 |
#
# The library's GEMM (`cutelite.kernels.gemm`) goes on from here: clusters of blocks that bring halves of a
# shared operand for each other, ping-pong (one warpgroup writes while the other multiplies), K forwards and backwards
# in turn, other tiles for other sizes, and a model that picks among them. {doc}`/lab/gemm` has what each gave, and
# what did not help.
#
# Try: `STAGES = 2`, and record timelines of both kernels as in the last step. Where does the tensor core wait?
#
# Next: [an epilogue of your own, as an operator of torch](11_epilogue).
