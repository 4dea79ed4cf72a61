"""Kernels and host functions that the tests tune."""

import functools
from typing import Any

import cutelite as cl
from cutelite import Constexpr, Tensor, f32
from cutelite.dispatch import Kernel

N = cl.dims("N")


@cl.kernel(block=64)
def scale(x: Tensor[f32, (N,)], y: Tensor[f32, (N,)], BN: Constexpr[int], twice: Constexpr[bool] = False) -> None:
    for i in range(cl.block_idx.x * BN + cl.thread_idx.x, cl.block_idx.x * BN + BN, cl.block_dim.x):
        if i < N:
            y[i] = x[i] * (2.0 if twice else 1.0)


@functools.cache
def build(by: int) -> Kernel:
    """Return a kernel of its own for each `by`."""

    @cl.kernel(block=64)
    def scaled(x: Tensor[f32, (N,)], y: Tensor[f32, (N,)]) -> None:
        i = cl.block_idx.x * 64 + cl.thread_idx.x
        if i < N:
            y[i] = x[i] * by

    return scaled


def scaled_by(by: int, x: Any, y: Any, alpha: float = 1.0) -> None:
    """Launch a kernel; `by` is the config. More than 100 cannot be built, and -1 cannot be launched."""
    if by > 100:
        raise ValueError(f"{by} is too much")
    build(by)[by, 64](x, y)
