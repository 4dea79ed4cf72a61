"""AdamW over lists against float64: dtypes, shapes, masters, several steps, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.rows.adamw import Step, adamw, build
from tests.kernels.test_rows import BF16, random

pytestmark = pytest.mark.usefixtures("everywhere")

SHAPES = [(3, 5), (1,), (2500,), (4, 8), (0, 3), (17,)]


@pytest.mark.parametrize(
    ("dtype", "state", "blocks", "taken"),
    [(np.float32, np.float32, 8, 8), (BF16, np.float32, 2, 1), (BF16, BF16, 1, 2)],
)
def test_steps_over_a_list(
    dtype: Any, state: Any, blocks: int, taken: int, checked: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    checked(1)
    counter = np.zeros(1, np.int32)
    monkeypatch.setattr("cutelite.kernels.rows.adamw.clusters_at_once", lambda *_: blocks)
    monkeypatch.setattr("cutelite.kernels.rows.adamw.TAKEN", taken)
    monkeypatch.setattr("cutelite.kernels.rows.adamw.counter", lambda _: counter)
    p = [random(shape, dtype, i) for i, shape in enumerate(SHAPES)]
    m, v = ([np.zeros(shape, state) for shape in SHAPES] for _ in range(2))
    exact = [(x.astype(np.float64), np.zeros(x.shape), np.zeros(x.shape)) for x in p]
    for step in (1, 2):
        g = [random(shape, dtype, 10 * step + i) for i, shape in enumerate(SHAPES)]
        adamw(p, g, m, v, step, lr=0.1, betas=(0.8, 0.9), eps=1e-6, decay=0.2)
        for i, (w, mean, square) in enumerate(exact):
            wide = g[i].astype(np.float64)
            mean, square = 0.8 * mean + 0.2 * wide, 0.9 * square + 0.1 * wide * wide
            w = w * (1 - 0.1 * 0.2) - 0.1 * (mean / (1 - 0.8**step)) / (np.sqrt(square / (1 - 0.9**step)) + 1e-6)
            exact[i] = w, mean, square
    assert counter[0] == 0
    rough = 1e-5 if dtype == np.float32 else 2e-2
    bound = 1e-5 if state == np.float32 else 3e-2
    for i, (w, mean, square) in enumerate(exact):
        np.testing.assert_allclose(p[i].astype(float), w, rtol=rough, atol=rough)
        np.testing.assert_allclose(m[i].astype(float), mean, rtol=bound, atol=bound)
        np.testing.assert_allclose(v[i].astype(float), square, rtol=bound, atol=bound)


def test_masters_are_updated_and_parameters_their_roundings() -> None:
    master = random((40,), np.float32)
    p, g = master.astype(BF16), random((40,), BF16, 1)
    m, v, before = np.zeros(40, np.float32), np.zeros(40, np.float32), master.copy()
    adamw([p], [g], [m], [v], 1, lr=1e-4, decay=0.0, masters=[master])
    np.testing.assert_allclose(master, before - 1e-4 * np.sign(g.astype(np.float32)), rtol=1e-4)
    np.testing.assert_array_equal(p, master.astype(BF16))
    np.testing.assert_allclose(v, 1e-3 * g.astype(np.float32) ** 2, rtol=1e-6)


def test_more_tensors_than_a_launch_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutelite.kernels.rows.adamw.TENSORS", 2)
    p = [np.full(3, i, np.float32) for i in range(5)]
    g, m, v = ([np.zeros(3, np.float32) for _ in p] for _ in range(3))
    adamw(p, g, m, v, 1, lr=0.5, decay=1.0)
    assert [x.tolist() for x in p] == [[i / 2] * 3 for i in range(5)]


def test_block_indices_may_be_wide() -> None:
    kernel, size = build((cl.f32,) * 4 + (None,), True)
    some, n, half = [[1 << 40]] * 5, 1 << 33, cl.f32(0.5)
    step = Step(half, half, half, half, half, half)
    kernel.compile((n,), *some, [0, n // size], [n], n // size, step, arch="sm_90a", wide_dims=True)


def test_what_is_refused() -> None:
    x = np.zeros((4, 6), np.float32)
    with pytest.raises(
        cl.ArgumentError, match=r"parameters\[0\] is not contiguous: strides \(6, 1\) of shape \(4, 3\)"
    ):
        adamw([x[:, :3]], [x[:, :3]], [x[:, :3]], [x[:, :3]], 1)
    with pytest.raises(cl.ArgumentError, match=r"gradients\[0\] has dtype float64, but must be bf16 or f16 or f32"):
        adamw([x], [x.astype(np.float64)], [x], [x], 1)
    y, w = np.zeros((4, 6), np.float32), [np.zeros((4, 6), np.float32) for _ in range(4)]
    with pytest.raises(
        cl.ArgumentError, match=r"(parameters|gradients)\[0\] lies where (parameters|gradients)\[0\] does"
    ):
        adamw([x], [x], [y], [w[0]], 1)
    with pytest.raises(cl.ArgumentError, match=r"parameters\[1\] lies where parameters\[0\] does"):
        adamw([x, x[1:]], [y, y[1:]], [w[0], w[1][1:]], [w[2], w[3][1:]], 1)
    adamw([w[0], w[1]], [y, y], [w[2], w[3]], [x, np.zeros_like(x)], 1)  # gradients are only read
