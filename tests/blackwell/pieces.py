"""What the kernels of these tests share: how they end, and products of two tiles."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

import cutelite as cl
from cutelite import Tensor, u8
from cutelite.ops.swizzles import SWIZZLES
from tests.hopper.test_wgmma import DTYPES, fill, k_major
from tests.pieces import barriers

A = TypeVar("A", bound=Any)
B = TypeVar("B", bound=Any)
D = TypeVar("D", bound=Any)


def finished(done: Any) -> None:
    """Wait for the products that `done` was told of."""
    done[0].wait(0)
    cl.tcgen05.fence_after_thread_sync()


def write(c: Any, acc: Any, row: Any = 0, narrow: bool = False) -> None:
    """Write sums from tensor memory: each thread's lane to a row, from `row` on."""
    mine = cl.tcgen05.wait_load(cl.tcgen05.load(acc, narrow=narrow))
    for j in cl.static_range(len(mine)):
        c[row + cl.thread_idx.x, j] = mine[j]


def integers(dtype: str, *shape: int, seed: int = 0) -> Any:
    low = 0 if dtype == "u8" else -4
    return np.random.default_rng(seed).integers(low, 5, shape).astype(DTYPES[dtype])


LATER = ("scale_d", "shift_a", "disable_lanes")
"""Arguments of `mma` that make sense where there are sums to add to."""


def product(m: int, n: int, k: int, elem: str, to: str, how: dict[str, Any], octets: int = 0) -> Any:
    """A kernel of two products of (m, k) and (n, k): the second adds, as `how` says, to what the first made.

    how     arguments of `mma`, those of `LATER` for the second one alone; `swizzle` of the tiles in shared memory, or
            their `layouts` too; `in_tmem`: A is in tensor memory; `extent` of A along K, where it is not `k`
    octets  bytes of metadata of each row: 0 for a dense A
    """
    acc: Any = getattr(cl, to)
    held: Any = cl.f32 if elem == "tf32" else getattr(cl, elem)
    how = dict(how)
    in_tmem, extent, swizzle = how.pop("in_tmem", False), how.pop("extent", k), how.pop("swizzle", "128B")
    wide = "64B" if octets else swizzle
    a_layout, b_layout = how.pop("layouts", None) or (
        k_major(m, extent, swizzle, held.bytes),
        k_major(n, k, wide, held.bytes),
    )
    first = {name: value for name, value in how.items() if name not in LATER}

    @cl.kernel(block=128)
    def kernel(
        a: Tensor[A, (m, extent)], b: Tensor[B, (n, k)], c: Tensor[D, (m, n)],
        kept: Tensor[u8, (m, max(1, octets))] | None = None,
    ) -> None:  # fmt: skip
        left = cl.shared(held, a_layout, swizzle=SWIZZLES[swizzle], align=1024)
        right = cl.shared(held, b_layout, swizzle=SWIZZLES[wide], align=1024)
        done, t = barriers(1), cl.thread_idx.x
        row = t if m == 128 else t // 32 * 16 + t % 16  # that lies in this thread's lane
        fill(left, a, m, extent)
        fill(right, b, n, k)
        metadata: Any = None
        if kept is not None:
            of_smem = cl.shared(u8, cl.tcgen05.metadata_in_smem(held, k), align=128)
            for i in cl.static_range(octets):
                of_smem[t, i] = kept[row, i]
        cl.fence_proxy_async("shared::cta")
        tmem = cl.TmemAllocator.create(512)
        d = tmem.tensor(m, n, acc)
        if kept is not None:
            metadata = tmem.view(cl.tcgen05.metadata(held, k, m), u8, 128)
        if in_tmem:
            there = tmem.view(cl.tcgen05.lanes_layout(128, extent, held), held, 256)
            line = [a[row, i] for i in cl.static_range(extent)]
            cl.tcgen05.store(there, cl.vector(*line, dtype=held))
            cl.tcgen05.wait_store()
            cl.tcgen05.fence_before_thread_sync()
            cl.syncthreads()
            lanes = cl.tcgen05.accumulator(m, 1, held)[0]
            left = tmem.view(cl.Layout((lanes.shape, extent), (lanes.stride, 1)), held, 256)
        if elem == "tf32":
            left, right = left.recast(cl.tf32), right.recast(cl.tf32)
        if t == 0:
            cl.tcgen05.fence_after_thread_sync()
            if kept is not None:
                cl.tcgen05.copy_metadata(metadata, of_smem, held)
            sums = cl.tcgen05.mma(d, left, right, accumulate=False, metadata=metadata, **first)
            if in_tmem and kept is not None:
                mma = cl.make_tiled_mma(cl.Tcgen05MmaOp(left.dtype, acc, m, n, a_source="tmem", sparse=True))
                mine = mma.get_slice(0)
                cl.gemm(mma, mine.partition_C(d), mine.partition_A(left), mine.partition_B(right), metadata=metadata)
            else:
                cl.tcgen05.mma(sums, left, right, metadata=metadata, **how)
            cl.tcgen05.commit(done[0])
        finished(done)
        if m == 128:
            write(c, d, narrow=acc.bits == 16)
        else:  # what others' lanes hold was not written
            part = cl.tcgen05.wait_load(cl.tcgen05.load(d, "16x256b", narrow=acc.bits == 16))
            for j in cl.static_range(n // 2):
                c[t // 32 * 16 + t % 32 // 4 + j // 2 % 2 * 8, t % 4 * 2 + j % 2 + j // 4 * 8] = part[j]
        tmem.free()

    return kernel
