"""GEMMs with an RMSNorm between them."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.dispatch.divert import diverted
from cutelite.kernels.gemm import Config
from cutelite.kernels.gemm.call import fused_of, multiply
from cutelite.kernels.gemm.configs import slim
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
    factors, weight, biases = drawn(3, n), drawn(4, 2 * 48, n), (drawn(5, n), drawn(6, 2 * 48))
    h, weighted, squares = summed_product(x, down.T, add, factors, 1.0, bias=biases[0], config=config)
    exact = x.astype(float) @ down.T.astype(float) + biases[0].astype(float) + add.astype(float)
    assert np.abs(h.astype(float) - exact).max() <= 2**-8 * np.abs(exact).max()
    normed = exact / np.sqrt((exact**2).mean(-1, keepdims=True) + 0.5) * (1 + factors.astype(float))
    right = normed @ weight.T.astype(float)
    plain = normed_product(weighted, squares, weight.T, 0.5)
    assert np.linalg.norm(plain.astype(float) - right) < 5e-3 * np.linalg.norm(right)
    gate, up = np.split(right + biases[1].astype(float), 2, -1)
    gated = normed_product(weighted, squares, weight.T, 0.5, gate="silu", bias=biases[1])
    assert np.linalg.norm(gated.astype(float) - silu(gate) * up) < 1e-2 * np.linalg.norm(silu(gate) * up)


@pytest.mark.parametrize(
    ("n", "k", "config"),
    [
        (200, 512, Config((64, 64), True, (1, 1), 4, 16, 1)), (520, 136, Config((64, 64), True, (1, 4), 4, 16, 1)),
        (136, 700, Config((64, 64), True, (1, 1), 6, 16, 1, together=2)), (8, 1504, slim(16, 64, True, 4, turned=True)),
    ],
)  # fmt: skip
def test_weights_that_come_ahead_of_the_kernel_before(n: int, k: int, config: Config) -> None:
    """Fewer steps than stages, more than are fetched, clusters, swapped tiles: the same bits, no race."""
    x, weight = drawn(0, 40, k), drawn(1, n, k)
    given = x, weight.T, np.empty((40, n), BF16), fused_of()
    right = multiply(*given, config=config).copy()
    given[2][...] = 0
    assert (multiply(*given, config=config, early=True, there=True) == right).all()

    def check(kernel: Any, launch: Any, args: tuple[Any, ...], __: Any) -> None:
        untouched = ["a" if config.swapped else "b"]
        cluster = (config.blocks, 1, 1) if config.blocks > 1 else None
        report = kernel.check(launch.grid, None, *args, cluster=cluster, untouched=untouched, seeds=2, notes=False)
        report.raise_if_wrong()

    with diverted(check):
        multiply(*given, config=config, early=True, there=True)


def test_rows_of_any_number_of_elements_are_refused() -> None:
    with pytest.raises(cl.ArgumentError, match="multiple of 128"):
        summed_product(drawn(0, 5, 64), drawn(1, 64, 64), drawn(2, 5, 64), drawn(3, 64))
