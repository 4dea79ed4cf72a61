"""c = a @ b.T on the tensor cores of Ampere and later: cp.async, ldmatrix and mma.sync, in f16, bf16, tf32 or s8.

cp.async fills three buffers of shared memory while an earlier one is multiplied; ldmatrix loads each warp's operands
from swizzled shared memory into registers, one step of K ahead of mma.sync. Any M and N; edges read as zeros.
f32 arrays are multiplied as tf32.
"""

from typing import Any, TypeVar

import cutelite as cl
from common import array, check, poisoned, random, to_numpy
from cutelite import Tensor, f16, f32, i8, i32, tf32

M, N, K = cl.dims("M N K:16")
A = TypeVar("A", bound=Any)
C = TypeVar("C", bound=Any)

BM, BN, STEP_BYTES = 128, 128, 64  # the tile of C, and bytes of a row of the tiles of A and B
STAGES = 3
THREADS = 128


class Plan:
    """The copies and products for operands of one type, all known at compile time."""

    def __init__(self, dtype: Any) -> None:
        self.dtype: Any = tf32 if dtype == f32 else dtype
        self.depth = STEP_BYTES // self.dtype.bytes
        vector = 16 // self.dtype.bytes
        threads = cl.make_layout((THREADS // 4, 4), stride=(4, 1))
        self.fetch = cl.make_tiled_copy_tv(
            cl.make_copy_atom(cl.CopyG2SOp(bits=128), self.dtype), threads, cl.make_layout((1, vector))
        )
        self.mma = cl.make_tiled_mma(cl.WarpMmaOp(self.dtype, i32 if dtype == i8 else f32), (2, 2, 1), (None, 32, None))
        matrices = cl.make_copy_atom(cl.LdMatrix8x8x16bOp(num_matrices=4), self.dtype)
        self.load_a, self.load_b = cl.make_tiled_copy_A(matrices, self.mma), cl.make_tiled_copy_B(matrices, self.mma)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


PLANS = {dtype: Plan(dtype) for dtype in (f16, cl.bf16, f32, i8)}


@cl.kernel(block=THREADS)
def gemm(a: Tensor[A, (M, K)], b: Tensor[A, (N, K)], c: Tensor[C, (M, N)]) -> None:
    plan = PLANS[a.dtype]
    depth, mma, t = plan.depth, plan.mma, cl.thread_idx.x
    row, column = cl.block_idx.x, cl.block_idx.y
    ring_a = cl.shared(plan.dtype, cl.make_smem_layout(plan.dtype, (BM, depth, STAGES)))
    ring_b = cl.shared(plan.dtype, cl.make_smem_layout(plan.dtype, (BN, depth, STAGES)))
    fetch_a = fetcher(plan, cl.recast_tensor(a, plan.dtype), ring_a, (BM, depth), row)
    fetch_b = fetcher(plan, cl.recast_tensor(b, plan.dtype), ring_b, (BN, depth), column)

    steps = cl.ceil_div(K, depth)
    for s in cl.static_range(STAGES - 1):
        if s < steps:
            fetch(plan, fetch_a, s, s)
            fetch(plan, fetch_b, s, s)
        cl.cp_async_commit_group()

    mine = mma.get_slice(t)
    tile = cl.local_tile(c, (BM, BN), (row, column))
    acc = mma.make_fragment_C(mine.partition_C(tile))
    left = mma.make_fragment_A(mine.partition_A(ring_a[None, None, 0]))
    right = mma.make_fragment_B(mine.partition_B(ring_b[None, None, 0]))
    from_a = plan.load_a.get_slice(t).partition_S(ring_a)
    from_b = plan.load_b.get_slice(t).partition_S(ring_b)
    to_a, to_b = plan.load_a.retile(left), plan.load_b.retile(right)
    blocks = cl.size(left, 2)
    for step in range(steps):
        cl.cp_async_wait_group(STAGES - 2)
        cl.syncthreads()
        ahead = step + STAGES - 1
        if ahead < steps:
            fetch(plan, fetch_a, ahead, ahead % STAGES)
            fetch(plan, fetch_b, ahead, ahead % STAGES)
        cl.cp_async_commit_group()
        s = step % STAGES
        for k in cl.static_range(blocks + 1):
            if k < blocks:
                cl.copy(plan.load_a, from_a[None, None, k, s], to_a[None, None, k])
                cl.copy(plan.load_b, from_b[None, None, k, s], to_b[None, None, k])
            if k > 0:
                cl.gemm(mma, acc, left[None, None, k - 1], right[None, None, k - 1])

    places = mine.partition_C(cl.local_tile(cl.make_identity_tensor(c.shape), (BM, BN), (row, column)))
    results = mine.partition_C(tile)
    for i in cl.static_range(cl.size(acc)):
        if cl.elem_less(places[i], c.shape):
            results[i] = acc[i]


def fetcher(plan: Any, source: Any, ring: Any, tile: tuple[int, int], index: Any) -> Any:
    """Return this thread's part of the tiles along K, their coordinates, and its part of the ring, for `fetch`."""
    mine = plan.fetch.get_slice(cl.thread_idx.x)
    places = cl.local_tile(cl.make_identity_tensor(source.shape), tile, (index, None))
    tiles = cl.local_tile(source, tile, (index, None))
    return mine.partition_S(tiles), mine.partition_S(places), mine.partition_D(ring), source.shape


def fetch(plan: Any, parts: Any, step: Any, stage: Any) -> None:
    """Start copying tile `step` along K into buffer `stage`; zeros where it reaches over an edge."""
    source, places, ring, shape = parts
    rows = cl.size(source, 1)
    inside = [cl.elem_less(places[0, i, 0, step], shape) for i in cl.static_range(rows)]
    for i in cl.static_range(rows):
        cl.copy(plan.fetch, source[None, i, 0, step], ring[None, i, 0, stage], pred=inside[i])


def main(m: int = 200, n: int = 130, k: int = 144, dtype: str = "float16") -> None:
    if dtype == "int8":
        a, b = (array(to_numpy(random(rows, k, seed=seed)) * 20, dtype) for rows, seed in ((m, 1), (n, 2)))
        c = poisoned(m, n, dtype="int32")
    else:
        a, b = random(m, k, dtype=dtype, seed=1), random(n, k, dtype=dtype, seed=2)
        c = poisoned(m, n)
    gemm[(-(-m // BM), -(-n // BN)), THREADS](a, b, c)
    tolerance = {"int8": 0.0, "float32": 1e-3}.get(dtype, 1e-5)
    exact = to_numpy(a).astype("float64") @ to_numpy(b).astype("float64").T
    check(f"gemm {m} x {n} x {k} in {dtype}", c, exact, tolerance)


if __name__ == "__main__":
    for dtype in ("float16", "bfloat16", "float32", "int8"):
        main(dtype=dtype)
