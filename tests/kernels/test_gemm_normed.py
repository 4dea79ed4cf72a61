"""GEMMs with an RMSNorm between them."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.gemm import Config
from cutelite.kernels.gemm.normed import normed_product, summed_product

pytestmark = pytest.mark.usefixtures("everywhere")

BF16 = ml_dtypes.bfloat16


def drawn(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(BF16)


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize(
    ("lead", "n", "config"),
    [((2, 33), 384, None), ((64,), 128, Config((64, 64), True, (1, 1), 6, 16, 1, together=2))],
)
def test_a_sum_its_norm_and_a_product_with_that(lead: tuple[int, ...], n: int, config: Config | None) -> None:
    x, down, add = drawn(0, *lead, 64), drawn(1, n, 64), drawn(2, *lead, n)
    factors, weight = drawn(3, n), drawn(4, 2 * 48, n)
    h, weighted, squares = summed_product(x, down.T, add, factors, 1.0, config=config)
    exact = x.astype(float) @ down.T.astype(float) + add.astype(float)
    assert np.abs(h.astype(float) - exact).max() <= 2**-8 * np.abs(exact).max()
    normed = exact / np.sqrt((exact**2).mean(-1, keepdims=True) + 0.5) * (1 + factors.astype(float))
    right = normed @ weight.T.astype(float)
    plain = normed_product(weighted, squares, weight.T, 0.5)
    assert np.linalg.norm(plain.astype(float) - right) < 5e-3 * np.linalg.norm(right)
    gate, up = np.split(right, 2, -1)
    gated = normed_product(weighted, squares, weight.T, 0.5, gate="silu")
    assert np.linalg.norm(gated.astype(float) - silu(gate) * up) < 1e-2 * np.linalg.norm(silu(gate) * up)


def test_rows_of_any_number_of_elements_are_refused() -> None:
    with pytest.raises(cl.ArgumentError, match="multiple of 128"):
        summed_product(drawn(0, 5, 64), drawn(1, 64, 64), drawn(2, 5, 64), drawn(3, 64))
