"""Packed arithmetic on pairs of f32: as on each number by itself, subnormal ones kept or taken as 0."""

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, f32


@cl.kernel(block=32, arch="sm_100a")
def packed(a: Tensor[f32, (32, 2)], b: Tensor[f32, (32, 2)], d: Tensor[f32, (4, 32, 2)], ftz: Constexpr[bool]) -> None:
    i = cl.thread_idx.x
    x, y = a[i, None].load(), b[i, None].load()
    d[0, i, None].store(cl.add_packed_f32x2(x, y, ftz=ftz))
    d[1, i, None].store(cl.mul_packed_f32x2(x, y, ftz=ftz))
    d[2, i, None].store(cl.fma_packed_f32x2(x, y, x, ftz=ftz))
    d[3, i, None].store(cl.sub_packed_f32x2(x, y, ftz=ftz))


def by_hand(a: np.ndarray, b: np.ndarray, ftz: bool) -> np.ndarray:
    def flush(x: np.ndarray) -> np.ndarray:
        return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(0, x), x) if ftz else x

    x, y = flush(a).astype(np.longdouble), flush(b).astype(np.longdouble)
    return np.stack([flush(r.astype(np.float32)) for r in (x + y, x * y, x * y + x, x - y)])


@pytest.mark.usefixtures("on_cards")
@pytest.mark.parametrize("ftz", [False, True])
def test_pairs_are_two_numbers(ftz: bool) -> None:
    draw = np.random.default_rng(3)
    a, b = (draw.integers(-99, 99, (32, 2)).astype(np.float32) * np.float32(0.37) for _ in range(2))
    a[:8] *= np.float32(1e-40)  # subnormal, and products that are
    b[8:12] *= np.float32(1e-38)
    d = np.full((4, 32, 2), np.nan, np.float32)
    packed[1, 32](a, b, d, ftz)
    wanted = by_hand(a, b, ftz)
    np.testing.assert_array_equal(d, wanted)
    np.testing.assert_array_equal(np.signbit(d), np.signbit(wanted))
