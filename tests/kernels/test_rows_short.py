"""Rows that are no longer than a warp's vectors, so that several teams share a warp: each reduces for itself.

Numbers of rows leave a warp with some teams that have no row, and some rows are gone through again, beside others that
are not: then teams of a warp do different things.
"""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.rows import cross_entropy as entropy
from cutelite.kernels.rows import norm
from cutelite.kernels.rows import softmax as soft
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.plan import Plan
from cutelite.kernels.rows.plans import plan, plan_fold
from cutelite.kernels.rows.plans_sums import plan_sums
from cutelite.kernels.rows.quantise import quantise
from tests.kernels.test_rows import close, normed, random, softmaxed
from tests.kernels.test_rows_quantise import near
from tests.pairs import some

pytestmark = pytest.mark.usefixtures("everywhere")

BF16 = ml_dtypes.bfloat16
SHAPES = [
    (131, 8, BF16), (33, 9, np.float16), (11, 77, BF16), (13, 64, np.float32), (11, 100, BF16), (21, 128, BF16),
    (7, 197, np.float16), (7, 256, BF16), (9, 200, BF16), (19, 33, BF16), (5, 271, BF16), (9, 35, BF16),
]  # fmt: skip
SHORT = pytest.mark.parametrize(("m", "n", "dtype"), some(SHAPES, 2))


@SHORT
def test_softmax_and_its_gradient(m: int, n: int, dtype: Any, checked: Callable[[int], None]) -> None:
    checked(1)
    x, dy = random((m, n), dtype, scale=3), random((m, n), dtype, 1)
    exact = softmaxed(x.astype(np.float64))
    close(soft.softmax(x, out=x), exact, dtype)
    g, p = dy.astype(np.float64), x.astype(np.float64)
    close(soft.softmax_backward(dy, x, out=dy), p * (g - (p * g).sum(-1, keepdims=True)), dtype)


@pytest.mark.parametrize(("center", "m", "n", "dtype"), some(((x, *of) for x in (False, True) for of in SHAPES), 3))
def test_norms_and_their_gradients(center: bool, m: int, n: int, dtype: Any, checked: Callable[[int], None]) -> None:
    checked(1)
    x, w, b, dy = random((m, n), dtype), random((n,), dtype, 1), random((n,), dtype, 2), random((m, n), dtype, 3)
    x[::3] += dtype(24)  # the sum of squares gives no variance
    xhat, _, rstd = normed(x.astype(np.float64), center, 1e-5)
    made = (norm.layer_norm if center else norm.rms_norm)(x, w, bias=b, eps=1e-5)
    close(made.y, xhat * w.astype(np.float64) + b.astype(np.float64), dtype)
    found, d = norm.norm_backward(dy, made, w, bias=True), dy.astype(np.float64)
    g = d * w.astype(np.float64)
    inner = xhat * (g * xhat).mean(-1, keepdims=True) + (g.mean(-1, keepdims=True) if center else 0)
    close(found.x, (g - inner) * rstd, dtype)
    close(found.weight, (d * xhat).sum(0), dtype)
    close(found.bias, d.sum(0), dtype)


@pytest.mark.parametrize(("block", "m", "n", "dtype"), some(((x, *of) for x in (1, 128) for of in SHAPES), 3))
def test_quantised_norms_and_rows(block: int, m: int, n: int, dtype: Any, checked: Callable[[int], None]) -> None:
    checked(1)
    x, w, narrow = random((m, n), dtype), random((n,), dtype, 1), Narrow(block=block)
    made = norm.rms_norm(x, w, eps=1e-5, narrow=narrow)
    near(made.y, made.scale, normed(x.astype(np.float64), False, 1e-5)[0] * w.astype(np.float64), narrow, 1e-5)
    near(*quantise(x, narrow), x.astype(np.float64), narrow)


@SHORT
def test_losses_and_their_gradients(m: int, n: int, dtype: Any, checked: Callable[[int], None]) -> None:
    checked(1)
    x, target, g = random((m, n), dtype), np.arange(m) * 7 % n, random((m,), np.float32, 1)
    x[::3] += dtype(4096)  # lse is rounded: the powers are summed again
    target[1] = -100
    wide, used = x.astype(np.float64), (target != -100)[:, None]
    share, top = softmaxed(wide), wide.max(-1)
    lse = top + np.log(np.exp(wide - top[:, None]).sum(-1))
    exact = np.where(used, (share - (np.arange(n) == target[:, None])) * g[:, None], 0)
    made = entropy.cross_entropy(x, target)
    np.testing.assert_allclose(made.lse, lse, rtol=1e-5, atol=1e-5)
    wanted = lse - wide[np.arange(m), np.maximum(target, 0)]
    np.testing.assert_allclose(made.loss, np.where(used[:, 0], wanted, 0), rtol=1e-5, atol=1e-5)
    close(entropy.cross_entropy_backward(g, x, target, made.lse), exact, dtype)
    entropy.cross_entropy_gradient(g, x, target, out=x)
    close(x, exact, dtype)


def test_plans_have_no_lanes_without_elements() -> None:
    for n in range(1, 257):
        for vector in (1, 2, 4, 8):
            for p in (plan(n, vector), plan_fold(n, vector), plan_sums(n, vector, 1)):
                assert p.block == 128 and (p.threads * vector < 2 * n or p.threads == 1)


def test_ends_of_rows_take_a_whole_warp() -> None:
    x = random((5, 263), BF16)  # 240 elements in whole sectors, which half a warp would have
    close(norm.rms_norm(x).y, normed(x.astype(np.float64), False, 1e-6)[0], BF16)


def test_a_block_of_128_takes_as_many_threads() -> None:
    with pytest.raises(cl.ArgumentError, match="no warp has a block of 128 then"):
        norm.rms_norm(random((5, 64), BF16), narrow=Narrow(block=128), how=Plan(8, 16, 1, 8, 2))
