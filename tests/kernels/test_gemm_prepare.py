"""Functions that make the elements of A that a GEMM multiplies: dequantised, scaled, of several tensors."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from common import array, to_numpy
from cutelite.kernels.gemm import Config, Finish, Prepare, gemm
from tests.run.test_gemm import close, operand

pytestmark = pytest.mark.usefixtures("everywhere")

COOPERATIVE = Config((128, 64), cluster=(2, 1), stages=3, buffers=1)
CONFIGS = [
    COOPERATIVE,
    Config((64, 64), True, (1, 1), stages=3, buffers=1),
    Config((128, 64), cluster=(1, 1), stages=4, buffers=1, together=2),
    Config((64, 64), True, (1, 1), stages=3, buffers=1, splits=2),
]
BF16 = 4e-3


def numbers(rng: Any, dtype: str, *shape: int) -> Any:
    """Any numbers of a type."""
    if dtype in ("int8", "uint8"):
        return array(rng.integers(0 if dtype == "uint8" else -128, 128, shape), dtype)
    return array(rng.standard_normal(shape, dtype=np.float32), dtype)


def scaled(chunk: Any, of_rows: Any, of_blocks: Any, of_columns: Any, other: Any) -> Any:
    x = chunk.values * chunk.by_row(of_rows) * chunk.by_row(of_blocks, every=128)
    return x * chunk.by_column(of_columns) + chunk.by_element(other)


def check(config: Config | None, dtype: str, m: int = 70, n: int = 136, k: int = 328) -> None:
    rng = np.random.default_rng(m)
    a, b = numbers(rng, dtype, m, k), operand(rng, n, k, dtype="bfloat16", transposed=False)
    factors = [array(rng.random(shape) + 0.5, "float32") for shape in ((m,), (m, -(-k // 128)), (k,))]
    other = operand(rng, m, k, dtype="bfloat16", transposed=False)
    rows, blocks, columns = (to_numpy(x).astype(np.float64) for x in factors)
    left = to_numpy(a) * rows[:, None] * np.repeat(blocks, 128, 1)[:, :k] * columns + to_numpy(other)
    left = to_numpy(array(left.astype(np.float32), "bfloat16")).astype(np.float64)
    right = left @ to_numpy(b).T.astype(np.float64)
    d = gemm(a, b.T, prepare=Prepare(scaled, (*factors, other), within=config is not None), config=config)
    assert close(d, right)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_tensors_by_row_block_column_and_element(config: Config) -> None:
    check(config, "bfloat16", m=265 if config is COOPERATIVE else 70)  # blocks walk K forwards and backwards in turn


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "float8_e4m3fn"])
def test_made_ahead_of_the_gemm(dtype: str) -> None:
    check(None, dtype, k=200)


@pytest.mark.parametrize("dtype", ["float16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8"])
def test_numbers_of_8_and_16_bits(dtype: str) -> None:
    check(CONFIGS[1], dtype)


@pytest.mark.parametrize("m", [1, 33])
def test_few_rows(m: int) -> None:
    check(CONFIGS[1], "int8", m=m)


def test_what_is_made_of_nothing_counts_nowhere() -> None:
    """K ends within a stage, where a function of zeros is not zero, and infinity times zero is none either."""

    def inverse(chunk: Any) -> Any:
        return 1.0 / chunk.values

    a, b = array(np.full((40, 72), 2.0), "bfloat16"), array(np.ones((64, 72)), "bfloat16")
    for within in False, True:
        d = gemm(a, b.T, prepare=Prepare(inverse, within=within), config=COOPERATIVE)
        assert (to_numpy(d) == 36).all()
    d = gemm(array(np.zeros((3, 0)), "int8"), array(np.zeros((0, 8)), "bfloat16"), prepare=Prepare(inverse))
    assert d.shape == (3, 8) and (to_numpy(d) == 0).all()


def test_with_everything_that_becomes_of_the_sums() -> None:
    """A row's norm: scaled ahead of the product, and a residual added behind it."""
    rng = np.random.default_rng(1)
    x, w = (operand(rng, size, 136, dtype="bfloat16", transposed=False) for size in (70, 200))
    other, rstd = operand(rng, 70, 200, dtype="bfloat16", transposed=False), array(rng.random(70), "float32")

    def normed(chunk: Any, rstd: Any) -> Any:
        return chunk.values * chunk.by_row(rstd)

    def residual(piece: Any, other: Any) -> None:
        piece.result(piece.sums + piece.by_element(other))

    made = to_numpy(array(to_numpy(x).astype(np.float32) * to_numpy(rstd)[:, None], "bfloat16")).astype(np.float64)
    right = made @ to_numpy(w).T + to_numpy(other)
    ways: list[dict[str, Any]] = [{"c": other, "beta": 1.0}, {"finish": Finish(residual, (other,))}]
    for way in ways:
        d = gemm(x, w.T, prepare=Prepare(normed, (rstd,), within=True), config=COOPERATIVE, **way)
        assert close(d, right)


def test_a_model_picks_a_configuration() -> None:
    rng = np.random.default_rng(2)
    a, b = numbers(rng, "int8", 5, 128), operand(rng, 72, 128, dtype="float16", transposed=True)
    found = gemm(a, b.T, prepare=Prepare(lambda chunk: chunk.values * 0.5, within=True))
    right = 0.5 * to_numpy(a).astype(np.float64) @ to_numpy(b).T
    assert str(found.dtype).endswith("float16")
    assert close(found, right)


def test_functions_may_give_as_many_numbers_in_nested_modes() -> None:
    a, b = array(np.ones((16, 64)), "int8"), array(np.ones((64, 16)), "bfloat16")
    found = gemm(a, b, prepare=Prepare(lambda chunk: chunk.values.reshape(((2, 2), 8))))
    assert (to_numpy(found) == 64).all()


def test_what_does_not_fit_is_refused() -> None:
    a, b = array(np.zeros((2, 16, 64)), "int8"), array(np.zeros((2, 64, 16)), "bfloat16")
    prepare = Prepare(lambda chunk: chunk.values)
    with pytest.raises(ValueError, match="with prepare= B has no batches"):
        gemm(a, b, prepare=prepare)
    with pytest.raises(ValueError, match="a multiple of 8 columns, not 63"):
        gemm(a[0, :, :63], b[0, :63], prepare=prepare)
    with pytest.raises(cl.ArgumentError, match="a"):
        gemm(array(np.zeros((16, 64)), "float32"), b[0], prepare=prepare)
    with pytest.raises(cl.ArgumentError, match="b"):
        gemm(a[0], array(np.zeros((64, 16)), "int8"), prepare=prepare)
    with pytest.raises(cl.ArgumentError, match=r"prepare must be a function of \(chunk, tensors\[0\]\), and this one"):
        gemm(a[0], b[0], prepare=Prepare(lambda c: c.values, (array(np.zeros(64), "float32"),)))
    gives = r"`prepare` gives None, but must give numbers of f32\n +--> .*test_gemm_prepare.py"
    with pytest.raises(cl.CompileError, match=gives):
        gemm(a[0], b[0], prepare=Prepare(lambda c: None, within=False))
    with pytest.raises(cl.CompileError, match=r"`prepare` gives .*, but must give 32 numbers of f32\n +--> .*test_"):
        gemm(a[0], b[0], prepare=Prepare(lambda c: c.values[:3]))
    for method, given in ("by_row", b[0]), ("by_column", b[0]), ("by_element", b[0, 0]):
        with pytest.raises(cl.CompileError, match=f"`{method}` takes a tensor of rank [12], not one of rank [21]"):
            gemm(a[0], b[0], prepare=Prepare(lambda c, t, name=method: getattr(c, name)(t), (given,)))
    one = array(np.zeros((16, 1)), "float32")
    for every in 96, 0, -64:
        by_row = Prepare(lambda c, t, n=every: c.by_row(t, every=n), (one,))
        with pytest.raises(cl.CompileError, match=f"for each {every} columns, 64 columns may need several a row"):
            gemm(a[0], b[0], prepare=by_row)
