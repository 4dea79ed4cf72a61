"""GEMMs with a gate: ``gate(x) * up`` of the two halves of B's columns, in the GEMM."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cutelite.kernels.gemm import Config, gemm
from cutelite.kernels.gemm.gated import gated_gradient, gated_product

pytestmark = pytest.mark.usefixtures("everywhere")

BF16 = ml_dtypes.bfloat16
TILES = [
    Config(),
    Config((256, 128), cluster=(1, 2)),
    Config((128, 192), pingpong=True),
    Config((128, 128), pingpong=True, cluster=(1, 2), stages=5),
    Config((64, 128), True, (2, 1), 7, buffers=1),
]


def given(*shape: int) -> tuple[Any, Any]:
    *batch, m, n, k = shape
    numbers = np.random.default_rng(0)
    a, b = numbers.standard_normal((*batch, m, k)), numbers.standard_normal((*batch, k, 2 * n)) * k**-0.5
    return a.astype(BF16), b.astype(BF16)


def off(found: Any, a: Any, b: Any) -> float:
    """The error of a result with SiLU."""
    sums = a.astype(float) @ b.astype(float)
    x, up = np.split(sums, 2, axis=-1)
    right = x / (1 + np.exp(-x)) * up
    return float(np.linalg.norm(found.astype(float) - right) / np.linalg.norm(right))


@pytest.mark.parametrize("config", TILES, ids=str)
def test_tiles(config: Config) -> None:
    """Tiles that reach over the last row and over the last column of the gate, which is not that of `up`."""
    a, b = given(200, 136, 136)
    columns = np.ascontiguousarray(b.T).T  # contiguous along K
    assert off(gemm(a, columns, gate="silu", config=config), a, b) < 4e-3


@pytest.mark.parametrize("shape", [(70, 192, 72), (2, 70, 72, 200)])
def test_columns_side_by_side_and_batches(shape: tuple[int, ...]) -> None:
    a, b = given(*shape)
    out = np.empty((*shape[:-2], shape[-2]), BF16)
    assert gemm(a, b, out, gate="silu") is out
    assert off(out, a, b) < 4e-3


@pytest.mark.parametrize("config", [None, Config((128, 128), pingpong=True, cluster=(1, 2), stages=5)], ids=str)
def test_results_in_f32_of_a_matrix_contiguous_along_its_columns(config: Config | None) -> None:
    a, b = given(70, 72, 40)
    assert off(gemm(a, b, np.full((70, 72), np.nan, np.float32), gate="silu", config=config), a, b) < 1e-4


def test_one_matrix_for_all_batches_and_a_function() -> None:
    a, b = given(3, 9, 40, 64)
    found = gemm(a, b[0], gate=lambda x: x * x)
    sums = a.astype(float) @ b[0].astype(float)
    assert np.linalg.norm(found.astype(float) - sums[..., :40] ** 2 * sums[..., 40:]) < 1e-2 * np.linalg.norm(sums)


def test_refused() -> None:
    a, b = given(16, 16, 16)
    with pytest.raises(ValueError, match="multiple of 8 each"):
        gemm(a, b[:, :24], gate="silu")
    with pytest.raises(ValueError, match="with a gate there"):
        gemm(a, b, bias=np.ones(16, np.float32), gate="silu")


@pytest.mark.parametrize(("shape", "columns"), [((70, 72), 192), ((2, 9, 40), 48)])
def test_gradients_of_gate_and_up_in_the_gemm_of_what_they_make(shape: tuple[int, ...], columns: int) -> None:
    numbers = np.random.default_rng(1)
    dy, weight, halves = (
        numbers.standard_normal(extents).astype(BF16)
        for extents in (shape, (shape[-1], columns), (*shape[:-1], 2 * columns))
    )
    dh = dy.astype(float) @ weight.astype(float)
    gate, up = np.split(halves.astype(float), 2, axis=-1)
    s = 1 / (1 + np.exp(-gate))
    right = np.concatenate([dh * up * s * (1 + gate * (1 - s)), dh * gate * s], -1)
    found = gated_gradient(dy, weight, halves)
    assert np.linalg.norm(found.astype(float) - right) < 4e-3 * np.linalg.norm(right)
    with pytest.raises(ValueError, match="multiple of 16"):
        gated_gradient(dy, weight[:, :24], halves[..., :48])


@pytest.mark.parametrize("config", [None, Config((128, 192), True), Config((128, 128), cluster=(1, 2))], ids=str)
def test_a_gate_whose_inputs_are_kept(config: Config | None) -> None:
    a, b = given(200, 144, 136)
    halves, sums = np.full((200, 288), np.nan, BF16), a.astype(float) @ b.astype(float)
    columns = np.ascontiguousarray(b.T).T  # contiguous along K
    assert off(gated_product(a, columns, halves, config=config), a, b) < 4e-3
    assert np.linalg.norm(halves.astype(float) - sums) < 4e-3 * np.linalg.norm(sums)
