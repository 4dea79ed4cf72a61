# %% [markdown]
# # 6. Tensor cores: mma.sync
#
# `mma.sync` multiplies small matrices with one warp: 16 x 16 by 16 x 8 for 16-bit types. Its operands are spread over
# the registers of the 32 lanes, as the instruction defines. A *tiled MMA* repeats it over a tile with several warps,
# and knows who holds what.

# %%
import numpy as np

import cutelite as cl
from cutelite import Tensor, f16, f32
from cutelite.layout import viz

M, N, K = cl.dims("M:64 N:64 K:32")

OP = cl.WarpMmaOp(f16, f32)  # operands in f16, sums in f32
viz.operands(OP)[0]  # A: lane and value of each element

# %% [markdown]
# `make_tiled_mma(OP, (2, 2, 1), (None, 32, None))`: the second argument is warps along M, N, K, four of them here;
# with one instruction each they make 32 x 16. The third is the extent along M, N, K that they make together, None as
# it comes: 32 columns give each warp 16, two instructions, so that one `ldmatrix` brings its operand of B. `ldmatrix`
# moves 8 x 8 matrices from shared memory into exactly this distribution, four at a time here.
#
# Two kinds of tiled copies lead there. `FETCH`, of threads and values as in [step 4](04_tiled_copies), is cp.async,
# from global to shared memory past the registers. `LOAD_A` and `LOAD_B` are made from the MMA: `partition_S` is what
# a thread reads, and `retile` is the fragment of the MMA, the same registers, in the order in which `ldmatrix` fills
# them.

# %%
BM, BN, BK, THREADS = 64, 64, 32, 128
MMA = cl.make_tiled_mma(OP, (2, 2, 1), (None, 32, None))
FETCH = cl.make_tiled_copy_tv(
    cl.make_copy_atom(cl.CopyG2SOp(bits=128), f16), cl.make_layout((32, 4), stride=(4, 1)), cl.make_layout((1, 8))
)
MATRICES = cl.make_copy_atom(cl.LdMatrix8x8x16bOp(num_matrices=4), f16)
LOAD_A, LOAD_B = cl.make_tiled_copy_A(MATRICES, MMA), cl.make_tiled_copy_B(MATRICES, MMA)


@cl.kernel(block=THREADS)
def gemm(a: Tensor[f16, (M, K)], b: Tensor[f16, (N, K)], c: Tensor[f32, (M, N)]) -> None:
    """c = a @ b.T; a block computes 64 x 64 of it."""
    t = cl.thread_idx.x
    tile_a = cl.shared(f16, cl.make_smem_layout(f16, (BM, BK)))
    tile_b = cl.shared(f16, cl.make_smem_layout(f16, (BN, BK)))

    fetch = FETCH.get_slice(t)
    # Modes: values of one copy, repeats along M and K of the tile, tiles along K (the None of `local_tile`).
    from_a = fetch.partition_S(cl.local_tile(a, (BM, BK), (cl.block_idx.x, None)))
    from_b = fetch.partition_S(cl.local_tile(b, (BN, BK), (cl.block_idx.y, None)))

    mine = MMA.get_slice(t)
    out = mine.partition_C(cl.local_tile(c, (BM, BN), (cl.block_idx.x, cl.block_idx.y)))
    acc = MMA.make_fragment_C(out)
    left, right = MMA.make_fragment_A(mine.partition_A(tile_a)), MMA.make_fragment_B(mine.partition_B(tile_b))

    for k in range(K // BK):
        cl.copy(FETCH, from_a[None, None, None, k], fetch.partition_D(tile_a))
        cl.copy(FETCH, from_b[None, None, None, k], fetch.partition_D(tile_b))
        cl.cp_async_commit_group()
        cl.cp_async_wait_group(0)  # what this thread has copied is there;
        cl.syncthreads()  # now what all have
        cl.copy(LOAD_A, LOAD_A.get_slice(t).partition_S(tile_a), LOAD_A.retile(left))
        cl.copy(LOAD_B, LOAD_B.get_slice(t).partition_S(tile_b), LOAD_B.retile(right))
        cl.gemm(MMA, acc, left, right)
        cl.syncthreads()  # all have read these tiles: the next may come

    cl.copy(acc, out)


rng = np.random.default_rng(0)
a, b = rng.standard_normal((128, 96)).astype(np.float16), rng.standard_normal((64, 96)).astype(np.float16)
c = np.full((128, 64), np.nan, np.float32)
gemm[(2, 1), THREADS](a, b, c)
np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=1e-4, atol=1e-4)
assert gemm.check((2, 1), THREADS, a, b, c)

# %% [markdown]
# `partition_A(tile_a)` has the modes (values of one instruction, repeats along M, repeats along K). `cl.gemm` goes
# through the repeats: for these tiles, 2 along M, 4 along N and 2 along K, 16 instructions a warp and step.

# %%
ptx = gemm.compile(block=THREADS, arch="sm_80").ptx
print(ptx.count("mma.sync"), "mma.sync,", ptx.count("ldmatrix"), "ldmatrix")
assert ptx.count("mma.sync") == 16
assert ptx.count("ldmatrix") == 8

# %% [markdown]
# Parts that do not fit together are refused when the kernel is compiled, mode by mode:

# %%


@cl.kernel(block=THREADS)
def wrong(a: Tensor[f16, (64, 32)], b: Tensor[f16, (64, 16)], c: Tensor[f32, (64, 64)]) -> None:
    mine = MMA.get_slice(cl.thread_idx.x)
    acc = MMA.make_fragment_C(mine.partition_C(c))
    left, right = MMA.make_fragment_A(mine.partition_A(a)), MMA.make_fragment_B(mine.partition_B(b))
    cl.copy(mine.partition_A(a), left)
    cl.copy(mine.partition_B(b), right)
    cl.gemm(MMA, acc, left, right)


try:
    wrong.compile(block=THREADS)
except cl.CompileError as error:
    message = str(error)
    print(message)

assert "K" in message

# %% [markdown]
# This kernel waits for each copy before it multiplies. `examples/tensorop_gemm.py` keeps two copies under way and one
# `ldmatrix` ahead of the products: the same parts, a ring of buffers around them.
#
# Try: `bf16` in place of `f16`, on arrays of `ml_dtypes.bfloat16`. Which layouts and atoms change?
#
# Next: [TMA and mbarriers](07_tma).
