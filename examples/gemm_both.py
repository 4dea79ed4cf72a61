"""c = a @ b.T in bf16, from one source for Hopper and Blackwell: only the class that multiplies differs.

As many blocks as there are SMs take tiles in turn. One thread loads tiles of A and B by TMA into a ring. The target
decides what multiplies them: `Wgmma`, by a warpgroup into its registers, or `Umma`, by one thread into tensor memory,
from which the warpgroup loads the sums by the shape that gives each thread the same elements as wgmma.
So all else is the same: scheduler, loads, the epilogue by stmatrix and TMA. Any M, N, K that TMA takes (N and K
multiples of 8).

No Blackwell card has run it: simulated, checked, assembled. The examples for one target are faster:
hopper_gemm_tiled.py has two multiplying warpgroups, blackwell_gemm.py overlaps products with the epilogue.
"""

from dataclasses import dataclass
from typing import Any

import cutelite as cl
from common import check, poisoned, random, to_numpy
from cutelite import Smem, TmaTensor, bf16, f32

M, N, K = cl.dims("M N:8 K")

BM, BN, BK = 64, 128, 64
STAGES = 4
CONSUMERS = 128  # threads: the first warpgroup
THREADS = CONSUMERS + 32

MMA = cl.make_tiled_mma(cl.WarpgroupMmaOp(bf16, f32, n=BN))
SHAPE = MMA.partition_shape_C((BM, BN))
STORE = cl.make_copy_atom(cl.CopyBulkTensorTileS2GOp(), bf16)
TO_SHARED = cl.make_tiled_copy_C(cl.make_copy_atom(cl.StMatrix8x8x16bOp(num_matrices=4), bf16), MMA)


class Storage(cl.SharedStorage):
    a: Smem[bf16, cl.make_smem_layout(bf16, (BM, BK, STAGES))]
    b: Smem[bf16, cl.make_smem_layout(bf16, (BN, BK, STAGES))]
    c: Smem[bf16, cl.make_smem_layout(bf16, (BM, BN))]


@dataclass(frozen=True)
class Wgmma:
    """Hopper: a warpgroup multiplies, and has the sums in registers."""

    loads: Any

    @classmethod
    def create(cls, tx_bytes: int) -> Any:
        return Wgmma(cl.PipelineTmaAsync.create(STAGES, tx_bytes, CONSUMERS))

    def states(self) -> Any:
        """Return the pipeline states at which this thread starts."""
        return self.loads.consumer_state()

    def multiply(self, storage: Any, state: Any) -> Any:
        """Return this thread's sums over all of K, and its pipeline states after them."""
        mine, acc = MMA.get_slice(cl.thread_idx.x), MMA.make_fragment_C(SHAPE)
        left, right = mine.partition_A(storage.a), mine.partition_B(storage.b)
        for _ in range(cl.ceil_div(K, BK)):
            self.loads.consumer_wait(state)
            s = state.index
            acc = cl.gemm(MMA, acc, left[None, None, None, s], right[None, None, None, s]).wait()
            self.loads.consumer_release(state)
            state = state.advance()
        return acc.load(), state

    def free(self) -> None:
        """Do nothing: accumulators are registers."""


@dataclass(frozen=True)
class Umma:
    """Blackwell: one thread multiplies into tensor memory, and its warpgroup loads the sums."""

    loads: Any
    done: Any
    tmem: Any

    @classmethod
    def create(cls, tx_bytes: int) -> Any:
        loads = cl.PipelineTmaUmma.create(STAGES, tx_bytes, sync=False)
        return Umma(loads, cl.PipelineUmmaAsync.create(1, CONSUMERS, sync=False), cl.TmemAllocator.create(BN))

    def states(self) -> Any:
        return self.loads.consumer_state(), self.done.producer_state(), self.done.consumer_state()

    def multiply(self, storage: Any, states: Any) -> Any:
        acc, (state, out, sums) = self.tmem.tensor(BM, BN), states
        if cl.thread_idx.x == 0:
            self.done.producer_acquire(out)
            for k in range(cl.ceil_div(K, BK)):
                self.loads.consumer_wait(state)
                s = state.index
                cl.tcgen05.mma(acc, storage.a[None, None, s], storage.b[None, None, s], accumulate=k > 0)
                self.loads.consumer_release(state)
                state = state.advance()
            self.done.producer_commit(out)
            out = out.advance()
        self.done.consumer_wait(sums)
        held = cl.tcgen05.wait_load(cl.tcgen05.load(acc, "16x256b"))
        self.done.consumer_release(sums)
        return held, (state, out, sums.advance())

    def free(self) -> None:
        self.tmem.free()


@cl.kernel(block=THREADS)
def gemm(
    a: TmaTensor[bf16, (M, K), (BM, BK)],
    b: TmaTensor[bf16, (N, K), (BN, BK)],
    c: TmaTensor[bf16, (M, N), (BM, 64)],
) -> None:
    storage = Storage.allocate()
    engine = (Umma if cl.target.has("tcgen05") else Wgmma).create(a.tile_bytes + b.tile_bytes)
    tiles = cl.StaticPersistentTileScheduler.create((cl.ceil_div(M, BM), cl.ceil_div(N, BN)), swizzle=8)
    if cl.thread_idx.x < CONSUMERS:
        consume(c, storage, engine, tiles)
    elif cl.thread_idx.x == CONSUMERS:
        produce(a, b, storage, engine.loads, tiles)
    engine.free()


def produce(a: Any, b: Any, storage: Any, loads: Any, tiles: Any) -> None:
    """Fill the ring with tiles of A and B. Who: one thread."""
    state = loads.producer_state()
    while tiles.is_valid():
        m, n, _ = tiles.coordinate()
        for k in range(cl.ceil_div(K, BK)):
            state = loads.load(state, (a, storage.a, (m * BM, k * BK)), (b, storage.b, (n * BN, k * BK)))
        tiles = tiles.advance()


def consume(c: Any, storage: Any, engine: Any, tiles: Any) -> None:
    """Multiply each tile that arrives, and write the results. Who: one warpgroup."""
    put, t = TO_SHARED.get_slice(cl.thread_idx.x), cl.thread_idx.x
    together, out = cl.NamedBarrier(1, CONSUMERS), cl.PipelineTmaStore.create(stages=1)
    states = engine.states()
    while tiles.is_valid():
        held, states = engine.multiply(storage, states)
        results = cl.make_rmem_tensor(bf16, cl.make_layout(SHAPE))
        results.store(held.to(bf16))
        if t == 0:
            out.producer_acquire()  # the previous tile has left shared memory
        together.sync()
        cl.copy(TO_SHARED, put.retile(results), put.partition_D(storage.c))
        cl.fence_proxy_async("shared::cta")
        together.sync()
        if t == 0:
            m, n, _ = tiles.coordinate()
            cl.copy(STORE, storage.c, cl.local_tile(cl.coordinates(c), (BM, BN), (m, n)))
            out.producer_commit()
        tiles = tiles.advance()
    if t == 0:
        out.producer_tail()


def main(m: int = 200, n: int = 520, k: int = 136, blocks: int = 132) -> None:
    a, b = random(m, k, dtype="bfloat16", seed=1, sm=90), random(n, k, dtype="bfloat16", seed=2, sm=90)
    c = poisoned(m, n, dtype="bfloat16", sm=90)
    gemm[min(blocks, -(-m // BM) * -(-n // BN)), THREADS](a, b, c)
    check(f"gemm {m} x {n} x {k}", c, to_numpy(a) @ to_numpy(b).T, 5e-3)


if __name__ == "__main__":
    main()
