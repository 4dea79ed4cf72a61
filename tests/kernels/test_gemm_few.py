"""Products of few rows: with what is added, of a norm, with a gate, and beside each other in one array."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from common import array, poisoned, to_numpy
from cutelite.kernels.gemm.few import fits, linear_of_few

pytestmark = pytest.mark.usefixtures("everywhere")


def some(*shape: int, dtype: Any = ml_dtypes.bfloat16) -> Any:
    numbers = np.random.default_rng(sum(shape)).standard_normal(shape)
    return array(numbers * shape[-1] ** -0.25, np.dtype(dtype).name)


def right(x: Any, weight: Any, norm: Any = None, eps: float = 0.0, gate: bool = False, add: Any = None) -> Any:
    rows = to_numpy(x).astype(float)
    if norm is not None:
        rows = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + eps) * to_numpy(norm).astype(float)
    found = rows @ to_numpy(weight).astype(float).T
    if gate:
        left, up = np.split(found, 2, axis=-1)
        found = left / (1 + np.exp(-left)) * up
    return found if add is None else found + to_numpy(add).astype(float)


def close(found: Any, wanted: Any, most: float = 4e-3) -> bool:
    return float(np.linalg.norm(to_numpy(found) - wanted)) < most * float(np.linalg.norm(wanted))


@pytest.mark.parametrize(("rows", "n", "k"), [(1, 16, 64), (3, 208, 192), (8, 144, 1216), (5, 32, 2304)])
def test_rows_and_what_is_added(rows: int, n: int, k: int) -> None:
    x, weight, add, out = some(rows, k), some(n, k), some(rows, n), poisoned(rows, n, dtype="bfloat16")
    assert linear_of_few(x, weight, out, add=add) is out
    assert close(out, right(x, weight, add=add))
    assert close(linear_of_few(x, weight, early=True), right(x, weight))


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_a_norm_and_a_gate(dtype: Any) -> None:
    x, weight, factors = some(2, 3, 704, dtype=dtype), some(96, 704, dtype=dtype), some(704, dtype=np.float32)
    assert close(linear_of_few(x, weight, norm=factors, eps=0.1), right(x, weight, factors, 0.1))
    found = linear_of_few(x, weight, norm=factors, eps=0.1, gate="silu")
    assert tuple(found.shape) == (2, 3, 48) and close(found, right(x, weight, factors, 0.1, gate=True))


def test_columns_of_an_array() -> None:
    """The result may be columns of a wider array, which keeps the others."""
    x, weight, wide = some(2, 64), some(96, 64), poisoned(2, 128, dtype="bfloat16")
    linear_of_few(x, weight, wide[:, 16:-16])
    assert close(wide[:, 16:-16], right(x, weight))
    assert (
        np.isnan(to_numpy(wide[:, :16]).astype(float)).all() and np.isnan(to_numpy(wide[:, -16:]).astype(float)).all()
    )


def test_results_that_are_not_evenly_apart_are_refused_and_none_are_nothing() -> None:
    with pytest.raises(ValueError, match="not evenly apart"):
        linear_of_few(some(2, 3, 64), some(16, 64), poisoned(2, 4, 16, dtype="bfloat16")[:, :3])
    assert linear_of_few(some(0, 64), some(16, 64)).shape == (0, 16)
    assert linear_of_few(some(2, 64), some(0, 64)).shape == (2, 0)


def test_no_races(checked: Callable[[int], None]) -> None:
    """Some blocks take rows twice, and some warps two parts of K."""
    checked(1)
    x, weight, factors = some(1, 1088), some(80, 1088), some(1088)
    assert close(linear_of_few(x, weight, norm=factors, early=True), right(x, weight, factors), 8e-3)


def test_refused() -> None:
    assert fits(8, 64, 16) and not any(fits(*sizes) for sizes in ((9, 64, 16), (0, 64, 16), (1, 96, 16), (1, 64, 8)))
    assert fits(8, 16384, 16) and not fits(8, 16384, 16, normed=True)
    assert fits(8, 4096, 16, normed=True)
    with pytest.raises(ValueError, match="at most 8 rows"):
        linear_of_few(some(9, 64), some(16, 64))
