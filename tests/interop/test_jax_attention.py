"""Attention on JAX's arrays: within jit, differentiated, batched; simulated on a CPU."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from cutelite.kernels.attention import attention, decode

Q, K = (1, 40, 2, 64), (1, 50, 1, 64)


def random(*shape: int) -> Any:
    return jax.random.normal(jax.random.key(shape[1]), shape, jnp.float32).astype(jnp.bfloat16)


def halved(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score * 0.5 + h


def theirs(q: Any, k: Any, v: Any) -> tuple[Any, Any]:
    """Causal attention whose scores `halved` changes."""
    q, k, v = (x.astype(jnp.float32) for x in (q, k, v))
    k, v = (jnp.repeat(x, 2, 2) for x in (k, v))
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k, precision="highest") / 8 * 0.5 + jnp.arange(2.0)[None, :, None, None]
    s = jnp.where(jnp.arange(50) <= jnp.arange(40)[:, None] + 10, s, -jnp.inf)
    o = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s), v, precision="highest")
    return o, jax.nn.logsumexp(s, -1)


def test_attention_and_its_derivative_within_jit() -> None:
    arrays = random(*Q), random(*K), random(*K) * 2

    def loss(of: Any, *arrays: Any) -> tuple[Any, Any]:
        o, lse = of(*arrays)
        return (o.astype(jnp.float32) ** 2).sum() + lse.sum(), (o, lse)

    def ours(*arrays: Any) -> Any:
        return attention(*arrays, causal=True, score_mod=halved, return_lse=True)

    wanted, found = (
        jax.jit(jax.grad(lambda *x, of=of: loss(of, *x), (0, 1, 2), has_aux=True))(*arrays) for of in (theirs, ours)
    )
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        x, y = x.astype(jnp.float32), y.astype(jnp.float32)
        assert x.shape == y.shape and jnp.linalg.norm(x - y) <= 1e-2 * jnp.linalg.norm(y)


def test_batches_by_vmap() -> None:
    q, k = random(*Q), random(*K)
    one = attention(q, k, k)
    assert isinstance(one, jax.Array) and one.dtype == q.dtype
    several = jax.vmap(attention, (0, None, None))(jnp.stack([q, q * 2]), k, k)
    np.testing.assert_array_equal(several[0].astype(jnp.float32), one.astype(jnp.float32))


def test_what_is_refused() -> None:
    q, k, table = random(*Q), random(*K), np.zeros(50, np.float32)
    assert jax.eval_shape(attention, q, k, k).shape == Q  # nothing is launched
    with pytest.raises(ValueError, match="for arrays of JAX there is no out="):
        attention(q, k, k, q)
    with pytest.raises(ValueError, match="functions capture no arrays"):
        attention(q, k, k, score_mod=lambda s, b, h, i, j: s + table[j])
    with pytest.raises(Exception, match=r"v has .*SK"):
        jax.jit(attention)(q, k, k[:, :20])
    with pytest.raises(ValueError, match=r"layout is .*, but must be one of"):
        attention(q, k, k, layout="sbhd")


def test_a_query_behind_a_cache() -> None:
    q, k, v = random(2, 1, 2, 64), random(2, 24, 1, 64), random(2, 24, 1, 64) * 2
    lengths = jnp.array([24, 7], jnp.int32)
    out, lse = jax.jit(lambda *x: decode(*x[:3], lengths=x[3], return_lse=True))(q, k, v, lengths)
    scores = jnp.einsum("bqhd,bkd->bhqk", q.astype(jnp.float32), k[:, :, 0].astype(jnp.float32)) / 8
    scores = jnp.where(jnp.arange(24) < lengths[:, None, None, None], scores, -jnp.inf)
    right = jnp.einsum("bhqk,bkd->bqhd", jax.nn.softmax(scores), v[:, :, 0].astype(jnp.float32))
    assert jnp.linalg.norm(out.astype(jnp.float32) - right) <= 1e-2 * jnp.linalg.norm(right)
    np.testing.assert_allclose(lse, jax.nn.logsumexp(scores, -1), atol=2e-2)
