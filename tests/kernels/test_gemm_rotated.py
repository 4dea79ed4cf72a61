"""GEMMs whose columns are heads, with rotary embedding in the epilogue."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.gemm import Config
from cutelite.kernels.gemm.rotated import rotated_product

pytestmark = pytest.mark.usefixtures("everywhere")

BF16 = ml_dtypes.bfloat16


def angles(tokens: int, half: int) -> tuple[Any, Any]:
    each = np.arange(tokens)[:, None] * np.exp(-np.arange(half)[None])
    return np.cos(each).astype(BF16), np.sin(each).astype(BF16)


def turned(x: Any, cosines: Any, sines: Any) -> Any:
    """Heads (..., T, H, D) turned by the angles of their tokens."""
    left, right = np.split(x, 2, -1)
    c, s = (table.astype(float)[:, None] for table in (cosines, sines))
    return np.concatenate([left * c - right * s, right * c + left * s], -1)


@pytest.mark.parametrize(
    ("batch", "tokens", "dim", "config"),
    [
        (2, 64, 16, None), (1, 70, 32, None), (1, 70, 128, Config((128, 128), True, (2, 1), 5)),
        (2, 64, 192, Config((128, 128), True, (2, 1), 5)), (1, 20, 256, None),
    ],
)  # fmt: skip
def test_queries_and_keys_are_turned_and_values_are_not(batch: int, tokens: int, dim: int, config: Config) -> None:
    numbers, queries = np.random.default_rng(0), 2
    x = numbers.standard_normal((batch, tokens, 32)).astype(BF16)
    weight = (numbers.standard_normal(((queries + 2) * dim, 32)) * 0.2).astype(BF16)
    weight = np.asarray(weight, order="F" if dim == 256 else "C")
    tables = angles(tokens, dim // 2)
    found = rotated_product(x, weight.T, *tables, heads=queries + 1, dim=dim, config=config)
    right = (x.astype(float) @ weight.T.astype(float)).reshape(batch, tokens, -1, dim)
    right[:, :, : queries + 1] = turned(right[:, :, : queries + 1], *tables)
    off = found.astype(float).reshape(right.shape) - right
    assert np.linalg.norm(off) < 3e-3 * np.linalg.norm(right)


def test_tokens_that_pieces_would_mix_are_refused() -> None:
    x, weight = np.zeros((2, 70, 32), BF16), np.zeros((32, 64), BF16)
    with pytest.raises(cl.ArgumentError, match="tokens of several sequences a multiple of 64"):
        rotated_product(x, weight, *angles(70, 8), heads=2, dim=16)


def test_results_that_no_view_can_take_are_refused_and_no_sequences_are_none() -> None:
    weight, tables = np.zeros((32, 64), BF16), angles(64, 8)
    out = np.zeros((2, 65, 64), BF16)[:, :64]
    with pytest.raises(cl.ArgumentError, match="not evenly apart"):
        rotated_product(np.zeros((2, 64, 32), BF16), weight, *tables, heads=2, dim=16, out=out)
    assert rotated_product(np.zeros((0, 64, 32), BF16), weight, *tables, heads=2, dim=16).shape == (0, 64, 64)
