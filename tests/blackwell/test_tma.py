"""TMA of Blackwell: rows by their numbers, and tiles for several blocks that count on the barriers of pairs."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Tensor, TmaTensor, bf16, i32

M, N = 40, 64


@cl.kernel(block=64, arch="sm_100a")
def moved(
    x: TmaTensor[bf16, (M, N), (1, 32)], out: TmaTensor[bf16, (M, N), (1, 32)], places: Tensor[i32, (2, 4)]
) -> None:
    """Four rows of `x`, the columns from 32 on, come to four rows of `out`, from column 0 on; they are doubled."""
    tile = cl.shared(bf16, cl.make_layout((4, 32), stride=(32, 1)), swizzle=cl.Swizzle(2, 4, 3), align=512)
    full = cl.shared(cl.mbarrier, (1,))
    t = cl.thread_idx.x
    if t == 0:
        full[0].init(1)
        cl.fence_mbarrier_init()
        full[0].arrive_expect_tx(4 * x.tile_bytes)
        cl.tma_gather4(x, tile, rows=tuple(places[0, i] for i in range(4)), column=32, barrier=full[0])
    cl.syncthreads()
    full[0].wait(0)
    for i in range(t, 128, 64):
        tile[i // 32, i % 32] = tile[i // 32, i % 32] * 2
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    if t == 0:
        cl.tma_scatter4(tile, out, rows=tuple(places[1, i] for i in range(4)))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


@pytest.mark.usefixtures("on_cards")
def test_rows_are_gathered_and_scattered_by_their_numbers() -> None:
    x = np.arange(M * N).reshape(M, N).astype(ml_dtypes.bfloat16)
    out = np.zeros_like(x)
    places = np.array([[7, 39, 40, 7], [30, 41, 2, 3]], np.int32)  # rows 40 and 41 are outside
    moved[1, 64](x, out, places)
    want = np.zeros_like(x)
    for of, to in zip(*places, strict=True):
        if to < M:
            want[to, :32] = x[of, 32:] * 2 if of < M else 0
    np.testing.assert_array_equal(out, want)
    assert not moved.check(1, 64, x, out, places, seeds=6, notes=False).findings


def test_a_column_within_16_bytes_is_refused() -> None:
    @cl.kernel(block=32, arch="sm_100a")
    def kernel(x: TmaTensor[bf16, (M, N), (1, 32)]) -> None:
        tile = cl.shared(bf16, cl.make_layout((4, 32), stride=(32, 1)), swizzle=cl.Swizzle(2, 4, 3), align=512)
        full = cl.shared(cl.mbarrier, (1,))
        cl.tma_gather4(x, tile, rows=(0, 1, 2, 3), column=3, barrier=full[0])

    with pytest.raises(CompileError, match="the first column is 3: rows of bf16 begin at multiples of 8"):
        kernel.compile()
    with pytest.raises(CompileError, match=r"needs tma.gather4|sm_90a"):
        moved.compile(arch="sm_90a")


@pytest.mark.usefixtures("on_cards")
def test_what_several_blocks_get_is_counted_in_the_even_block_of_each_pair() -> None:
    """Block 1 of 4 sends a tile to all; the barriers of blocks 0 and 2 count those of their pairs."""

    @cl.kernel(block=32, cluster=4, arch="sm_100a")
    def kernel(x: TmaTensor[bf16, (32, 32), (32, 32)], out: Tensor[bf16, (4, 32, 32)]) -> None:
        tile = cl.shared(bf16, cl.make_layout((32, 32), stride=(32, 1)), swizzle=cl.Swizzle(2, 4, 3), align=512)
        full = cl.shared(cl.mbarrier, (1,))
        t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
        if t == 0:
            full[0].init(1)
            cl.fence_mbarrier_init()
            if rank % 2 == 0:
                full[0].arrive_expect_tx(2 * x.tile_bytes)
        cl.cluster_sync()
        if t == 0 and rank == 1:
            cl.tma_load(x, tile, at=(0, 0), barrier=full[0].remote(0), multicast=15, pair=True)
        if rank % 2 == 0:
            full[0].wait(0)
        cl.cluster_sync()
        for i in cl.static_range(32):
            out[rank, t, i] = tile[t, i]

    x = np.arange(1024).reshape(32, 32).astype(ml_dtypes.bfloat16)
    out: Any = np.zeros((4, 32, 32), ml_dtypes.bfloat16)
    kernel[4, 32](x, out)
    np.testing.assert_array_equal(out, np.broadcast_to(x, out.shape))
