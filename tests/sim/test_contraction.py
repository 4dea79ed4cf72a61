"""Sums that round once with a product, in the simulator as in machine code."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f16, f32, i32
from cutelite.ir.function import reverse_postorder
from cutelite.sim.contraction import contracted
from tests.ir.parser import parse_function

X = Tensor[f32, (64,)]


def small(count: int, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(count).astype(np.float32)


@cl.kernel(block=32)
def residuals(x: X, y: X, out: X) -> None:
    """What rounding takes from a product: nothing, where the product is rounded before it is subtracted."""
    t = cl.thread_idx.x
    rounded = x[t] * y[t]
    out[t + 32] = rounded
    out[t] = x[t] * y[t] - out[t + 32]


@pytest.mark.parametrize("fmad", [True, False])
def test_a_product_is_not_rounded_before_the_sum(fmad: bool) -> None:
    x, y, out = small(64, 0), small(64, 1), np.zeros(64, np.float32)
    residuals.options(fmad=fmad)[1](x, y, out)
    exact = x[:32].astype(np.float64) * y[:32]
    wanted = exact - exact.astype(np.float32) if fmad else np.zeros(32)
    assert np.array_equal(out[:32], wanted.astype(np.float32))


@cl.kernel(block=32)
def sums(x: X, y: X, out: Tensor[f32, (10, 32)], n: i32) -> None:
    """Seven sums that contract, and one that does not."""
    t = cl.thread_idx.x
    a, b, c, d = x[t], x[t + 32], y[t], y[t + 32]
    stored, once, twice = a * c, b * d, a * d
    out[0, t] = stored
    out[1, t] = stored + b
    out[2, t] = a * b + c * d  # of two products the first
    out[3, t] = stored + c * c  # but for uses of it
    out[4, t] = a - b * b
    out[5, t] = -(c * b) + a
    out[6, t] = twice
    if t < n:
        more = x[t + n]
        out[7, t] = once + more  # nobody else uses it
        out[8, t] = twice + more  # rounded, where it is stored
    v = cl.vector(a, b) * cl.vector(a, 3.0)
    out[9, t] = v[0] + v[1]


def exact_sums(x: Any, y: Any, n: int) -> Any:
    a, b, c, d = (part.astype(np.float64) for part in (x[:32], x[32:], y[:32], y[32:]))

    def once(value: Any) -> Any:
        return value.astype(np.float32).astype(np.float64)

    few, more = np.arange(32) < n, x[n : n + 32].astype(np.float64)
    return np.stack([
        a * c, a * c + b, a * b + once(c * d), once(a * c) + c * c, a - b * b, a - c * b, a * d,
        np.where(few, b * d + more, 0), np.where(few, once(a * d) + more, 0), a * a + once(b * 3),
    ]).astype(np.float32)  # fmt: skip


def test_which_sums_contract() -> None:
    x, y, out = small(64, 2), small(64, 3), np.zeros((10, 32), np.float32)
    sums[1](x, y, out, 20)
    wanted = exact_sums(x, y, 20)
    assert [i for i in range(10) if not np.array_equal(out[i], wanted[i])] == []


def test_machine_code_has_as_many() -> None:
    compiled = sums.compile(arch="sm_90a")
    function = parse_function(compiled.ir, "sums.cir")
    found = contracted(function, reverse_postorder(function.entry))
    count = sum(len(part.at) for each in found.values() for part in each.parts)
    assert compiled.ptx.count("fma.rn.f32") == count == 7


@cl.kernel(block=32)
def halves(x: Tensor[f16, (64,)], out: Tensor[f16, (32,)]) -> None:
    t = cl.thread_idx.x
    out[t] = x[t] * x[t + 32] + x[t + 32]


def test_sums_of_16_bits() -> None:
    x, out = small(64, 4).astype(np.float16), np.zeros(32, np.float16)
    halves[1](x, out)
    a, b = x[:32].astype(np.float64), x[32:].astype(np.float64)
    assert np.array_equal(out, (a * b + b).astype(np.float16))
