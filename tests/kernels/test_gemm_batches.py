"""Batches of a GEMM that are stretched, and gradients that are added up in f32 where they are."""

from typing import Any

import numpy as np
import pytest

import cutelite_rt as rt
from common import array, to_numpy
from cutelite.kernels.gemm import Config, arrays, gemm
from cutelite.kernels.gemm.call import fused_of
from cutelite.kernels.gemm.configs import swapped
from tests.run.test_gemm import BF16, close, operand

pytestmark = pytest.mark.usefixtures("everywhere")

CONFIGS = [
    Config((64, 64), True, (1, 1), stages=3, buffers=1),
    swapped(64, 64, True),
    Config((64, 64), True, (1, 1), piece=32, splits=2),
]
SHAPES = [
    ((40, 72), (3, 72, 64)),
    ((1, 40, 72), (3, 72, 64)),
    ((2, 3, 40, 72), (1, 1, 72, 64)),
    ((2, 1, 40, 72), (3, 72, 64)),
    ((40, 72), (1, 72, 64)),
]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_batches_are_stretched_as_those_of_matmul(shapes: tuple[tuple[int, ...], ...], config: Config) -> None:
    rng = np.random.default_rng(1)
    a, b = (operand(rng, *shape, dtype="bfloat16", transposed=False) for shape in shapes)
    right = to_numpy(a).astype(np.float64) @ to_numpy(b)
    c = operand(rng, *right.shape, dtype="bfloat16", transposed=False)
    d = gemm(a, b, c=c, beta=0.5, config=config)
    right = right + 0.5 * to_numpy(c)
    assert tuple(d.shape) == right.shape and close(d, right)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("modes", [((2, 3), ()), ((), (2, 3)), ((), ()), ((2, 1), (1, 3))], ids=str)
def test_operands_are_repeated_by_strides_of_0(modes: tuple[tuple[int, ...], ...], config: Config) -> None:
    """A matrix that is the same for all batches is read where it lies, as one without batches; others are copied."""
    rng = np.random.default_rng(4)
    a, b = (
        repeated(operand(rng, *own, *shape, dtype="bfloat16", transposed=False), (2, 3))
        for own, shape in zip(modes, ((40, 72), (72, 64)), strict=True)
    )
    d = gemm(a, b, config=config)
    right = to_numpy(a).astype(np.float64) @ to_numpy(b)
    assert tuple(d.shape) == right.shape and close(d, right)
    if () in modes:
        one = 1 if modes[1] == () else 0
        assert rt.read(arrays.folded(a, b, d, fused_of(), False)[one]).pointer == rt.read((a, b)[one]).pointer


@pytest.mark.parametrize("side", [0, 1])
def test_one_matrix_by_another_that_is_repeated(side: int) -> None:
    rng = np.random.default_rng(7)
    given = [operand(rng, *shape, dtype="bfloat16", transposed=False) for shape in ((40, 72), (72, 64))]
    given[side] = repeated(given[side], (3,))
    d = gemm(*given)
    right = to_numpy(given[0]).astype(np.float64) @ to_numpy(given[1])
    assert tuple(d.shape) == (3, 40, 64) and close(d, right)


def repeated(x: Any, batches: tuple[int, ...]) -> Any:
    """A view with these modes in front: where there are none, and of modes of 1, it has strides of 0."""
    shape = (*batches, *x.shape[-2:])
    return np.broadcast_to(x, shape) if isinstance(x, np.ndarray) else x.expand(shape)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_rows_that_are_not_evenly_apart(config: Config) -> None:
    """Some rows of each batch of a larger array, as of a cache: B is shared, and they are not rows of one matrix."""
    rng = np.random.default_rng(3)
    a, b = (operand(rng, *shape, dtype="bfloat16", transposed=False) for shape in ((3, 40, 72), (72, 64)))
    right, whole = to_numpy(a).astype(np.float64) @ to_numpy(b), array(np.zeros((3, 48, 64)), "bfloat16")
    out = whole[:, 3:43]
    gemm(a, b, out, config=config)
    assert close(out, right)
    gemm(a, b, out, c=out, alpha=-1.0, config=config)
    assert np.linalg.norm(to_numpy(whole)) <= BF16 * np.linalg.norm(right)


def test_batches_that_do_not_go_together() -> None:
    rng = np.random.default_rng(1)
    a, b = (operand(rng, *shape, dtype="bfloat16", transposed=False) for shape in ((2, 40, 72), (3, 72, 64)))
    with pytest.raises(ValueError, match="batches that are alike or 1"):
        gemm(a, b)


@pytest.mark.parametrize("config", [*CONFIGS[:2], None], ids=str)
def test_gradients_of_weights_are_added_up_in_f32(config: Any) -> None:
    """grad += x.T @ dy, in place, over three steps: nothing is rounded to bf16 on the way."""
    rng, rows = np.random.default_rng(2), 104
    grad, right = array(np.zeros((72, 136)), "float32"), np.zeros((72, 136))
    for _ in range(3):
        x, dy = (operand(rng, rows, n, dtype="bfloat16", transposed=False) for n in (72, 136))
        gemm(x.swapaxes(0, 1), dy, grad, c=grad, beta=1.0, config=config)
        right += to_numpy(x).astype(np.float64).T @ to_numpy(dy)
    assert close(grad, right, 1e-5)
