# %% [markdown]
# # 9. Warp specialisation and pipelines
#
# Tensor cores are fast enough that copying must happen meanwhile. So warps take roles: one thread, the *producer*,
# keeps TMA busy; warpgroups, the *consumers*, multiply what has come. Between them lies a ring of buffers, and for
# each buffer two mbarriers: `full`, on which consumers wait, and `empty`, on which the producer does.
# `cl.PipelineTmaAsync` is that pair with its phases; it is told how many stages (buffers) there are, how many bytes
# fill one, and how many threads release it.
#
# Three things are new beside it. `cl.SharedStorage` declares all shared memory of a kernel in one place; the last
# mode of a layout `(BM, BK, STAGES)` is the stage. `cl.coordinates(a)` stands for a tensor behind TMA: it is cut into
# tiles like any other, and a copy takes from it the coordinates of its box. And registers move between warpgroups: all
# threads of a block start with the same number of them, `setmaxnreg_dec` gives some of a warpgroup's back, and
# `setmaxnreg_inc` waits until there are enough to take.

# %%
import numpy as np
from ml_dtypes import bfloat16

import cutelite as cl
from cutelite import Smem, Tensor, TmaTensor, bf16, f32

M, N, K = cl.dims("M N:8 K:8")
BM, BN, BK, STAGES, CONSUMERS = 64, 64, 64, 3, 128
THREADS = 128 + CONSUMERS

MMA = cl.make_tiled_mma(cl.WarpgroupMmaOp(bf16, f32, n=BN), (1, 1, 1))
LOAD = cl.make_copy_atom(cl.CopyBulkTensorTileG2SOp(), bf16)


class Storage(cl.SharedStorage):
    a: Smem[bf16, cl.make_smem_layout(bf16, (BM, BK, STAGES))]
    b: Smem[bf16, cl.make_smem_layout(bf16, (BN, BK, STAGES))]


def produce(a, b, storage, pipe):
    """One thread: fill the ring."""
    state = pipe.producer_state()
    from_a = cl.local_tile(cl.coordinates(a), (BM, BK), (cl.block_idx.x, None))
    from_b = cl.local_tile(cl.coordinates(b), (BN, BK), (cl.block_idx.y, None))
    for k in range(cl.ceil_div(K, BK)):
        pipe.producer_acquire(state)  # waits until the stage is empty, then announces its bytes
        full = pipe.barrier(state)
        cl.copy(LOAD, from_a[None, None, k], storage.a[None, None, state.index], barrier=full)
        cl.copy(LOAD, from_b[None, None, k], storage.b[None, None, state.index], barrier=full)
        state = state.advance()


def consume(c, storage, pipe, t):
    """A warpgroup: multiply what comes."""
    mine = MMA.get_slice(t)
    left, right = mine.partition_A(storage.a), mine.partition_B(storage.b)
    acc = MMA.make_fragment_C(MMA.partition_shape_C((BM, BN)))
    state = pipe.consumer_state()
    for _ in range(cl.ceil_div(K, BK)):
        pipe.consumer_wait(state)  # until the stage is full
        s = state.index
        acc = cl.gemm(MMA, acc, left[None, None, None, s], right[None, None, None, s]).wait()
        pipe.consumer_release(state)  # it may be filled again
        state = state.advance()
    where = cl.block_idx.x, cl.block_idx.y
    results = mine.partition_C(cl.local_tile(c, (BM, BN), where))
    places = mine.partition_C(cl.local_tile(cl.make_identity_tensor(c.shape), (BM, BN), where))
    sums = acc.load()
    for i in cl.static_range(cl.size(results)):
        if cl.elem_less(places[i], c.shape):
            results[i] = sums[i]


@cl.kernel(block=THREADS)
def gemm(a: TmaTensor[bf16, (M, K), (BM, BK)], b: TmaTensor[bf16, (N, K), (BN, BK)], c: Tensor[f32, (M, N)]) -> None:
    storage = Storage.allocate()
    pipe = cl.PipelineTmaAsync.create(STAGES, a.tile_bytes + b.tile_bytes, CONSUMERS)
    if cl.thread_idx.x < 128:
        cl.setmaxnreg_dec(40)  # copying needs few registers
        if cl.thread_idx.x == 0:
            produce(a, b, storage, pipe)
    else:
        cl.setmaxnreg_inc(232)
        consume(c, storage, pipe, cl.thread_idx.x - 128)


rng = np.random.default_rng(0)
a, b = rng.standard_normal((100, 320)).astype(bfloat16), rng.standard_normal((72, 320)).astype(bfloat16)
c = np.full((100, 72), np.nan, np.float32)
grid = -(-100 // BM), -(-72 // BN)
gemm[grid, THREADS](a, b, c)
np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=1e-3, atol=1e-3)
assert gemm.check(grid, THREADS, a, b, c)

# %% [markdown]
# The states (`state.index`, `state.phase`) are values: they go around the ring by `advance()`, and each role has its
# own. The producer runs ahead as far as there are empty stages, and nothing but the barriers keeps the two together.
#
# ## A deadlock, made and found
#
# The mistake that everyone makes once: a consumer that does not release its stage. On a GPU the kernel hangs, and
# says nothing. The simulator says who waits where, for what, and who should have arrived:

# %%


def consume_and_keep(storage, pipe, t):
    mine = MMA.get_slice(t)
    left, right = mine.partition_A(storage.a), mine.partition_B(storage.b)
    acc = MMA.make_fragment_C(MMA.partition_shape_C((BM, BN)))
    state = pipe.consumer_state()
    for _ in range(cl.ceil_div(K, BK)):
        pipe.consumer_wait(state)
        s = state.index
        acc = cl.gemm(MMA, acc, left[None, None, None, s], right[None, None, None, s]).wait()
        state = state.advance()


@cl.kernel(block=THREADS)
def hangs(a: TmaTensor[bf16, (M, K), (BM, BK)], b: TmaTensor[bf16, (N, K), (BN, BK)]) -> None:
    storage = Storage.allocate()
    pipe = cl.PipelineTmaAsync.create(STAGES, a.tile_bytes + b.tile_bytes, CONSUMERS)
    if cl.thread_idx.x < 128:
        if cl.thread_idx.x == 0:
            produce(a, b, storage, pipe)
    else:
        consume_and_keep(storage, pipe, cl.thread_idx.x - 128)


try:
    hangs[1, THREADS](a[:64], b[:64])
except cl.SimError as error:
    message = str(error)
    print(message)

assert "deadlock" in message

# %% [markdown]
# With K = 128 there would have been two steps for three stages, and all would have gone well. So test with more steps
# than stages, and with a number of steps that the stages do not divide.
#
# ## Seen in time
#
# A simulated launch can be recorded: rows are warps, copies, the tensor core and the barriers, times a simple model
# of Hopper's. Save it and open it in <https://ui.perfetto.dev>: see how far the producer is ahead, and what waits for
# what.

# %%
timeline = gemm.trace_launch(cl.Launch((1, 1), THREADS), a[:64], b[:64], c[:64, :64].copy())
waits = [e for e in timeline.events if e["ph"] == "X" and e["name"].startswith("wait")]
print(f"{timeline.cycles:.0f} cycles by the model, {len(waits)} waits")
# timeline.save("gemm.json")

# %% [markdown]
# Try: `STAGES = 1`, and compare the cycles. Then release a stage one step later, so that the next product starts
# before the last one is waited for (`acc.keep(1)`).
#
# Next: [a GEMM at cuBLAS's speed](10_gemm).
