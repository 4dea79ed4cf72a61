"""`OnlineSoftmax` with settings that no kernel of ours has: powers of e4m3, without a guess."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, e4m3, f32

COLUMNS, BLOCKS, THREADS = 16, 2, 32


@cl.kernel(block=THREADS)
def weighted(s: Tensor[f32, (THREADS, COLUMNS * BLOCKS)], out: Tensor[f32, (THREADS,)]) -> None:
    """Each thread has a row: the mean of 1, 2, ... by the softmax of its scores, exponents of 2."""
    row = cl.thread_idx.x

    def scores(block: int) -> Any:
        return cl.vector(*(s[row, block * COLUMNS + i] for i in range(COLUMNS)))

    def products(p: Any, block: int) -> Any:
        places = cl.vector(*(1.0 + block * COLUMNS + i for i in range(COLUMNS)), dtype=f32)
        return (p.to(f32) * places).reduce("sum")

    p, softmax = cl.OnlineSoftmax.first(scores(0), 1.0, e4m3, guess=False, raised=3.0, rows=1)
    total = products(p, 0)
    for block in cl.static_range(1, BLOCKS):
        p, softmax, ratio, moved = softmax.step(scores(block))
        if moved:
            total = total * ratio[0]
        total = total + products(p, block)
    inverse, _ = softmax.finish()
    out[row] = total * inverse[0]


@pytest.mark.parametrize("grows", [0.0, 1.5, 3.0, 5.0, 7.5, 20.0])
def test_powers_that_are_raised_stay_within_their_dtype(grows: float) -> None:
    """However much scores grow from block to block: what e4m3 does not hold would be 448 instead."""
    rng = np.random.default_rng(0)
    s = rng.uniform(-1, 0, (THREADS, COLUMNS * BLOCKS)).astype(np.float32)
    s += np.repeat(np.arange(BLOCKS), COLUMNS) * np.float32(grows)
    out = np.zeros(THREADS, np.float32)
    weighted[1](s, out)
    powers = 2.0 ** (s.astype(np.float64) - s.max(1, keepdims=True))
    right = (powers * np.arange(1, COLUMNS * BLOCKS + 1)).sum(1) / powers.sum(1)
    np.testing.assert_allclose(out, right, rtol=0.03)
