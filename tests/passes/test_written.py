"""The parameters that are written: through views, loops, atomics and copies, and none that are only read."""

from dataclasses import dataclass
from typing import Any

import pytest

import cutelite as cl
from cutelite import Tensor, TmaTensor, bf16, f32, i32
from tests.pieces import barriers

N = cl.dims("N")


@dataclass(frozen=True)
class Pair:
    first: Tensor[f32, (N,)]
    second: Tensor[f32, (N,)]


@cl.kernel(block=32)
def stores(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], c: Tensor[f32, (N,)], d: Tensor[i32, (4,)], e: Pair) -> None:
    i = cl.thread_idx.x
    moved = cl.domain_offset((1,), b)
    if i < N:
        moved[i] = a[i] + e.first[i]
    cl.atomic_add(d, 0, 1)
    e.second.tile((4,), (i,)).store(cl.full((4,), 0.0, f32))


@cl.kernel(block=32)
def copies(a: Tensor[f32, (128,)], b: Tensor[f32, (128,)], c: Tensor[f32, (128,)]) -> None:
    held = cl.shared(f32, (128,), align=16)
    cl.cp_async(held.tile((4,), (cl.thread_idx.x,)), a.tile((4,), (cl.thread_idx.x,)), 16)
    cl.cp_async_wait_all()
    cl.syncthreads()
    if cl.thread_idx.x == 0:
        cl.fence_proxy_async()
        cl.cp_async_bulk(b, held, 512)
        cl.cp_reduce_async_bulk(c, held, 512, "add")
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


@cl.kernel(block=32)
def tiles(x: TmaTensor[bf16, (N, 64), (64, 64)], y: TmaTensor[bf16, (N, 64), (64, 64)]) -> None:
    tile, bars = cl.tma_shared(x), barriers(1)
    if cl.thread_idx.x == 0:
        bars[0].arrive_expect_tx(x.tile_bytes)
        cl.tma_load(x, tile, at=(0, 0), barrier=bars[0])
        bars[0].wait(0)
        cl.tma_store(tile, y, at=(0, 0))


@cl.kernel(block=32)
def walks(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], c: Tensor[f32, (N,)], n: i32) -> None:
    view = b
    for i in range(n):
        if i % 2 == 1:
            view = c
    view[0] = a[0]


@pytest.mark.parametrize(
    ("kernel", "written"),
    [(stores, ("b", "d", "e.second")), (copies, ("b", "c")), (tiles, ("y",)), (walks, ("b", "c"))],
    ids=["stores", "copies", "tiles", "walks"],
)
def test_what_is_written(kernel: Any, written: tuple[str, ...]) -> None:
    assert kernel.compile(arch="sm_90a").artifact.written == written
