"""Products of few rows by small matrices, which `gemm` has a kernel of its own for: with C, in columns of an array."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from common import array, poisoned, to_numpy
from cutelite.kernels.gemm import Config, few, gemm
from cutelite.kernels.gemm.call import fused_of, multiply

pytestmark = pytest.mark.usefixtures("everywhere")


@pytest.fixture(autouse=True)
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The kinds of product that kernels for few rows were made for."""
    kinds: list[Any] = []
    real = few.build

    def build(kind: Any) -> Any:
        kinds.append(kind)
        return real(kind)

    monkeypatch.setattr(few, "build", build)
    return kinds


def some(*shape: int, dtype: Any = ml_dtypes.bfloat16) -> Any:
    numbers = np.random.default_rng(sum(shape)).standard_normal(shape)
    return array(numbers * shape[-1] ** -0.25, np.dtype(dtype).name)


def right(x: Any, weight: Any) -> Any:
    return to_numpy(x).astype(float) @ to_numpy(weight).astype(float).T


def close(found: Any, wanted: Any, most: float = 4e-3) -> bool:
    return float(np.linalg.norm(to_numpy(found) - wanted)) < most * float(np.linalg.norm(wanted))


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize(("rows", "n", "k"), [(1, 16, 64), (3, 208, 192), (8, 144, 1216), (5, 32, 1984)])
def test_rows_and_what_is_added(rows: int, n: int, k: int, dtype: Any, taken: list[Any]) -> None:
    x, weight, add = some(rows, k, dtype=dtype), some(n, k, dtype=dtype), some(rows, n, dtype=dtype)
    out = poisoned(rows, n, dtype=np.dtype(dtype).name)
    assert gemm(x, weight.swapaxes(0, 1), out, c=add) is out
    assert close(out, right(x, weight) + to_numpy(add))
    gemm(x, weight.swapaxes(0, 1), add, c=add)  # in place
    assert close(add, to_numpy(out).astype(float))
    assert close(multiply(x, weight.swapaxes(0, 1), None, fused_of(), there=True), right(x, weight))
    assert [kind.there for kind in taken] == [False, False, True]


def test_rows_of_several_batches_and_columns_of_an_array(taken: list[Any]) -> None:
    """The result may be columns of a wider array, which keeps the others."""
    x, weight, wide = some(2, 3, 64), some(96, 64), poisoned(2, 3, 128, dtype="bfloat16")
    gemm(x, weight.swapaxes(0, 1), wide[..., 16:-16])
    assert close(wide[..., 16:-16], right(x, weight)) and len(taken) == 1
    assert np.isnan(to_numpy(wide).astype(float)).sum() == 2 * 3 * 32


def test_no_races(checked: Callable[[int], None], taken: list[Any]) -> None:
    """Some blocks take rows twice, and some warps two parts of K."""
    checked(1)
    x, weight = some(1, 1088), some(80, 1088)
    assert close(multiply(x, weight.swapaxes(0, 1), None, fused_of(), there=True), right(x, weight)) and taken


def test_others_take_tiles(taken: list[Any]) -> None:
    x, weight = some(2, 64), some(32, 64)
    b, odd = weight.swapaxes(0, 1), some(2, 65)[:, :64]
    wide = poisoned(2, 32, dtype="float32")
    for how in (
        {"alpha": 0.5},
        {"bias": some(32)},
        {"activation": "relu"},
        {"out": wide},
        {"config": Config((64, 64), True)},
    ):
        gemm(x, b, **how)
    for left, other in (
        (some(9, 64), b),
        (odd, b),
        (x, some(64, 32)),
        (x, b[:, :24]),
        (some(2, 72), some(32, 72).swapaxes(0, 1)),
    ):
        assert close(gemm(left, other), right(left, other.swapaxes(0, 1)))
    large = np.broadcast_to(np.zeros((1, 64), ml_dtypes.bfloat16), (2128, 64)).swapaxes(0, 1)
    out = np.broadcast_to(np.zeros((1, 1), ml_dtypes.bfloat16), (2, large.shape[1]))
    assert not few.few_pays(left := np.zeros((2, 64), ml_dtypes.bfloat16), large, out, fused_of()) and not taken
    assert few.few_pays(left, large[:, :64], out[:, :64], fused_of())
