"""Kernels that the tests launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import cutelite as cl
from cutelite import Constexpr, Tensor, TmaTensor, bf16, f16, f32
from tests.pieces import barriers

M, N, K = cl.dims("M N K")
T = TypeVar("T", f16, f32)
FACTOR = 3
ROWS: Any = cl.Im2col(48, 16, lower=(-1, -2), upper=(0, -3))


@cl.kernel
def add(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], c: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        c[i] = a[i] + b[i]


@cl.kernel(block=64)
def scale(x: Tensor[T, (N,)], by: T, times: Constexpr[int] = 1) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        for _ in cl.static_range(times):
            x[i] = x[i] * by


@cl.kernel(block=32)
def tripled(x: Tensor[f32, (N,)]) -> None:
    i = cl.thread_idx.x
    if i < N:
        x[i] = x[i] * FACTOR


@cl.kernel(block=32)
def nothing() -> None:
    pass


@cl.kernel(block=32)
def asserting(n: cl.i32) -> None:
    assert n > 3, "n is small"


@cl.kernel(block=(32, 2), cluster=2)
def clustered(x: Tensor[f32, (N,)]) -> None:
    if cl.thread_idx.x == 0:
        x[cl.block_idx.x] = 1.0


@cl.kernel(block=128)
def sharing(x: Tensor[f32, (N,)]) -> None:
    tile = cl.shared(f32, (1024 * 15,))
    extra = cl.dynamic_shared(f32)
    tile[cl.thread_idx.x] = x[0]
    extra[cl.thread_idx.x] = 1.0
    cl.syncthreads()
    x[cl.thread_idx.x] = tile[cl.thread_idx.x] + extra[cl.thread_idx.x]


@cl.kernel(block=32)
def pixels(
    a: TmaTensor[bf16, (M, N, 7, K), cl.Im2col(48, 16, (-1, -2), (0, -3))], b: Tensor[bf16, (M, N, 7, K)]
) -> None:
    if cl.thread_idx.x == 0:
        cl.tma_im2col_prefetch(a, at=(0, 0, 0, 0), offsets=(0, 0))


@cl.kernel(block=128)
def copied(a: TmaTensor[bf16, (M, K), (16, 64)], b: Tensor[bf16, (M, K)]) -> None:
    tile = cl.tma_shared(a)
    full = barriers(1)
    t = cl.thread_idx.x
    cl.syncthreads()
    if t == 0:
        full[0].arrive_expect_tx(a.tile_bytes)
        cl.tma_load(a, tile, at=(0, 0), barrier=full[0])
    full[0].wait(0)
    for i in range(t, 16 * 64, 128):
        if i // 64 < M and i % 64 < K:
            b[i // 64, i % 64] = tile[i // 64, i % 64]


@dataclass(frozen=True)
class Scaler:
    by: int

    def scaled(self, x: Any) -> Any:
        return x * self.by

    @cl.kernel(block=32)
    def run(self, x: Tensor[f32, (N,)]) -> None:
        i = cl.thread_idx.x
        if i < N:
            x[i] = self.scaled(x[i])

    @cl.kernel(block=32)
    def twice(self, x: Tensor[f32, (N,)]) -> None:
        self.run(x)
        self.run(x)
