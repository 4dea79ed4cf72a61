"""Tiles of rows in memory: their elements may be any way apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f32

M, N = cl.dims("M N")


@pytest.mark.parametrize(("end", "vector", "pieces"), [(None, 1, 2), (64, 2, 1), (64, 1, 4), (61, 2, 2)])
def test_elements_of_a_row_may_be_apart(end: int | None, vector: int, pieces: int) -> None:
    @cl.kernel(block=32)
    def moved(x: Tensor[f32, (M, N), (None, None)], y: Tensor[f32, (M, N), (None, None)]) -> None:
        tile = cl.RowTile(0, end, vector, pieces)
        tile.store(tile.load(x[1, None]) + 1.0, y[0, None])

    x: Any = np.arange(128, dtype=np.float32).reshape(64, 2).T
    y: Any = np.zeros((64, 2), np.float32).T
    moved[1](x, y)
    count = min(end or 64, 32 * vector * pieces)
    np.testing.assert_array_equal(y[0, :count], x[1, :count] + 1)
    assert not y[0, count:].any() and not y[1].any()
