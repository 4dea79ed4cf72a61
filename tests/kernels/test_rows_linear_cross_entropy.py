"""Cross entropy of a linear layer against float64: parts, ignored rows, smoothing, lengths that TMA does not take."""

import numpy as np
import pytest

from cutelite import ArgumentError
from cutelite.kernels.rows.linear_cross_entropy import linear_cross_entropy
from tests.kernels.test_rows import BF16, random

pytestmark = pytest.mark.usefixtures("everywhere")


@pytest.mark.parametrize(("n", "rows", "smoothing", "z"), [(203, 32, 0.1, 1e-3), (128, None, 0.0, 0.0)])
def test_losses_and_gradients(n: int, rows: int | None, smoothing: float, z: float) -> None:
    m, k = 70, 64
    x, w = random((2, 35, k), BF16), random((n, k), BF16, 1, scale=0.2)
    target = np.random.default_rng(2).integers(0, n, (2, 35))
    target[0, 3] = -100
    g = np.random.default_rng(3).random((2, 35)).astype(np.float32)
    made = linear_cross_entropy(x, w, target, g, smoothing=smoothing, z=z, rows=rows)
    wide, of_w, t = x.astype(np.float64).reshape(m, k), w.astype(np.float64), target.reshape(m)
    logits = wide @ of_w.T
    lse = np.log(np.exp(logits).sum(-1))
    hit = np.zeros((m, n))
    hit[np.arange(m), np.maximum(t, 0)] = 1
    counts = t != -100
    loss = lse - (1 - smoothing) * (logits * hit).sum(-1) - smoothing * logits.mean(-1) + z * lse * lse
    bound = 2e-2  # logits are rounded to bf16
    np.testing.assert_allclose(made.loss.reshape(m), loss * counts, atol=bound)
    np.testing.assert_allclose(made.lse.reshape(m), lse, atol=bound)
    d = (1 + 2 * z * lse)[:, None] * np.exp(logits - lse[:, None]) - (1 - smoothing) * hit - smoothing / n
    d *= (g.reshape(m) * counts)[:, None]
    for found, exact in ((made.x.reshape(m, k), d @ of_w), (made.weight, d.T @ wide)):
        assert found.dtype == BF16
        assert np.linalg.norm(found.astype(float) - exact) < 6e-3 * np.linalg.norm(exact)


def test_losses_alone_and_sums_in_place() -> None:
    x, w, target = random((40, 32), BF16), random((64, 32), BF16, 1), np.arange(40)
    alone = linear_cross_entropy(x, w, target)
    assert alone.x is None
    assert alone.weight is None
    g = np.ones(40, np.float32)
    one, parts = (linear_cross_entropy(x, w, target, g, rows=rows, sums="bf16") for rows in (40, 16))
    for sums in "f32", "bf16":
        wanted = linear_cross_entropy(x, w, target, g, rows=16, sums=sums)
        into = [random(y.shape, y.dtype) for y in wanted]
        made = linear_cross_entropy(x, w, target, g, rows=16, sums=sums, out=into)
        assert all(y is z for y, z in zip(made, into, strict=True))
        assert all(np.array_equal(y, z) for y, z in zip(made, wanted, strict=True))
    with pytest.raises(ArgumentError, match="out must be 2 arrays: loss, lse"):
        linear_cross_entropy(x, w, target, out=into)
    np.testing.assert_allclose(one.loss, alone.loss, atol=4e-2)  # of powers; of logits that were rounded
    assert np.linalg.norm((one.weight - parts.weight).astype(float)) < 1e-2 * np.linalg.norm(one.weight.astype(float))


def test_logits_far_above_the_targets() -> None:
    """Their powers overflow: rows are computed anew. One row has no target, and one counts for nothing."""
    m, k, n = 40, 64, 136
    x, w, g = random((m, k), BF16), random((n, k), BF16, 1, scale=20.0), np.linspace(0, 1, m).astype(np.float32)
    target = np.arange(m) * 3
    target[5], target[6] = -100, n
    made = linear_cross_entropy(x, w, target, g, rows=32)
    wide, of_w, hit = x.astype(float), w.astype(float), target[:, None] == np.arange(n)
    logits = wide @ of_w.T
    lse = np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1)) + logits.max(-1)
    assert (lse - (logits * hit).sum(-1) > 128).sum() > m // 2
    loss, d = (lse - (logits * hit).sum(-1)) * (target >= 0), (np.exp(logits - lse[:, None]) - hit) * g[:, None]
    d[5] = 0
    np.testing.assert_allclose(made.loss, loss, atol=1e-3)
    for found, exact in ((made.x, d @ of_w), (made.weight, d.T @ wide)):
        assert np.linalg.norm(found.astype(float) - exact) < 4e-3 * np.linalg.norm(exact)
