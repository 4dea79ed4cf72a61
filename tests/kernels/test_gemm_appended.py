"""GEMMs that write keys and values of new tokens to a cache."""

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.gemm import Config
from cutelite.kernels.gemm.appended import appended_product
from cutelite.kernels.gemm.normed import summed_product
from cutelite.kernels.rows.rope_append import rope_append

pytestmark = pytest.mark.usefixtures("everywhere")

BF16 = ml_dtypes.bfloat16


@pytest.mark.parametrize(
    ("batch", "dim", "each", "start", "config"),
    [
        (3, 64, False, 2, None),
        (64, 64, True, 4, None),
        (2, 128, False, 5, Config((64, 64), True, (1, 4), 4)),
    ],
)
def test_as_the_product_and_the_kernel_that_appends(
    batch: int, dim: int, each: bool, start: int, config: Config | None
) -> None:  # fmt: skip
    """Keys and values behind the end of the cache, of five places, are not written."""
    numbers, queries, heads = np.random.default_rng(0), 3, 2
    x = numbers.standard_normal((batch, 1, 64)).astype(BF16)
    weight = (numbers.standard_normal(((queries + 2 * heads) * dim, 64)) * 0.2).astype(BF16)
    angles = numbers.uniform(0, 6, (batch if each else 1, dim // 2))
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    keys, values = (numbers.standard_normal((batch, heads, 5, dim)).astype(BF16) for _ in "kv")
    all_keys, all_values, length, later = keys.copy(), values.copy(), np.array([start]), np.array([start])
    bias = numbers.standard_normal(len(weight)).astype(BF16) if each else None
    q = appended_product(x, weight.T, cosines, sines, keys, values, length, bias=bias, config=config)
    product = x.astype(np.float32) @ weight.T.astype(np.float32) + (0 if bias is None else bias.astype(np.float32))
    product = product.reshape(batch, 1, -1, dim).astype(BF16)
    own, k, v = np.split(product, [queries, queries + heads], axis=2)
    own = rope_append(own, k, v, cosines, sines, all_keys, all_values, later)
    assert length == later == start + 1
    others = np.arange(5) != start
    for found, right in (q.reshape(own.shape), own), (keys, all_keys), (values, all_values):
        np.testing.assert_allclose(found.astype(float), right.astype(float), rtol=2e-2, atol=4e-2)
    for found, right in (keys, all_keys), (values, all_values):
        assert (found[:, :, others] == right[:, :, others]).all()


def test_refused() -> None:
    x, weight, table = np.zeros((2, 32), BF16), np.zeros((32, 320), BF16), np.zeros((1, 32), np.float32)
    cache, length = np.zeros((2, 2, 4, 64), BF16), np.zeros(1, np.int64)
    with pytest.raises(cl.ArgumentError, match="there has to be a row of x for each of 1 to 64 sequences"):
        appended_product(x[:1], weight, table, table, cache, cache.copy(), length)
    with pytest.raises(cl.ArgumentError, match=r"cosines and sines are \(3, 32\)"):
        appended_product(x, weight, table.repeat(3, 0), table.repeat(3, 0), cache, cache.copy(), length)


def test_of_a_norm() -> None:
    numbers = np.random.default_rng(0)
    x, weight = (numbers.standard_normal(shape).astype(BF16) for shape in ((3, 128), (256, 128)))
    factors, table = numbers.standard_normal(128).astype(BF16), np.ones((1, 32), np.float32)
    bias = numbers.standard_normal(256).astype(BF16)
    h, weighted, squares = summed_product(x, np.eye(128, dtype=BF16), x, factors)
    normed = h.astype(float) / np.sqrt((h.astype(float) ** 2).mean(-1, keepdims=True) + 1) * factors.astype(float)
    cache, lengths = np.zeros((4, 3, 1, 2, 64), BF16), np.zeros((2, 1), np.int64)
    (keys, values, *others), tables = cache, (table, table)
    found = appended_product(weighted, weight.T, *tables, keys, values, lengths[0], squares=squares, eps=1.0, bias=bias)
    right = appended_product(normed.astype(BF16), weight.T, *tables, others[0], others[1], lengths[1], bias=bias)
    for one, other in (found, right), (cache[0], cache[2]), (cache[1], cache[3]):
        assert np.linalg.norm(one.astype(float) - other.astype(float)) < 8e-3 * np.linalg.norm(other.astype(float))
