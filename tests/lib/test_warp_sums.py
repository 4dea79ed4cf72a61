"""Sums by products of matrices: exact products, every element once, whatever the number of them."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, bf16, f16, f32
from cutelite.lib.warp_sums import own_sums, warp_sums


@pytest.mark.parametrize(("dtype", "n"), [(bf16, 8), (bf16, 1), (f16, 6), (f16, 16)])
def test_sums_of_a_warp(dtype: Any, n: int) -> None:
    @cl.kernel(block=64)
    def kernel(x: Tensor[dtype, (64, 2, n)], sums: Tensor[f32, (64, 2)]) -> None:
        thread = cl.thread_idx.x
        known = warp_sums(x[thread, 0, None].load())
        sums[thread, 0], sums[thread, 1] = own_sums(warp_sums(x[thread, 1, None].load(), known))

    x = np.random.default_rng(0).integers(-9, 10, (64, 2, n)).astype(ml_dtypes.bfloat16 if dtype == bf16 else "f2")
    sums = np.zeros((64, 2), np.float32)
    kernel[1, 64](x, sums)
    wide = x.astype(np.float64).reshape(2, -1)
    np.testing.assert_array_equal(sums.reshape(2, 32, 2).sum(1), np.stack([wide.sum(1), (wide**2).sum(1)], 1))
