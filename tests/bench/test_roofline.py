"""Work as the simulator counts it, and the least time for it."""

from __future__ import annotations

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f32
from cutelite.bench.roofline import Machine
from tests.mutate.launches import of_examples

N = cl.dims("N")


@cl.kernel(block=64)
def axpy(x: Tensor[f32, (N,)], y: Tensor[f32, (N,)], by: f32) -> None:
    i = cl.block_idx.x * 64 + cl.thread_idx.x
    if i < N:
        y[i] = y[i] + by * (x[i] + x[0])


def test_bytes_and_flops_of_ordinary_arithmetic() -> None:
    x, y = np.ones(100, np.float32), np.ones(100, np.float32)
    (found,) = cl.roofline(lambda: axpy[2](x, y, 3.0))
    assert found.plain == {"f32": 300} and found.tensor == {}
    assert (found.bytes, found.requested) == (3 * 400, 4 * 400)  # x[0] is asked for by every thread
    assert found.bound == "memory" and found.seconds == pytest.approx(1200 / 4.8e12)
    assert found.fraction(2 * found.seconds) == 0.5
    assert found.intensity == 0.25 and "bound by memory" in str(found)


@pytest.mark.parametrize(("example", "shape"), [("hopper_gemm", (128, 256, 128)), ("tensorop_gemm", (128, 128, 32))])
def test_products_are_counted_with_their_padding(example: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    (found,) = cl.roofline(lambda: of_examples(example).main(m, n, k))
    assert list(found.tensor.values()) == [2 * m * n * k]
    assert found.bytes == 2 * (m * k + n * k + m * n) or example == "tensorop_gemm"


def test_another_machine() -> None:
    x, y = np.ones(64, np.float32), np.ones(64, np.float32)
    slow = Machine("slow", 1e18, {}, {"f32": 1.0})
    (found,) = cl.roofline(lambda: axpy[1](x, y, 3.0), slow)
    assert found.bound == "plain" and found.seconds == 192.0
    with pytest.raises(TypeError, match="makes launches, not 3"):
        cl.roofline(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'H900' are not known, only of H100, H200"):
        cl.roofline(lambda: None, "H900")
