"""Attention on JAX's arrays: within jit, differentiated, batched; simulated on a CPU."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from cutelite.kernels.attention import (
    attention,
    attention_fp8,
    attention_varlen,
    create_block_mask,
    decode,
    decode_latent,
)

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


DOCUMENT, TABLE = np.arange(50) // 17, jnp.linspace(-1, 1, 50)


@pytest.mark.parametrize("jit", [False, True])
def test_arrays_that_functions_captured(jit: bool) -> None:
    """Those that JAX differentiates, in whose place it traces others, and some that it does not."""
    arrays = random(*Q), random(*K), random(*K) * 2, jax.random.normal(jax.random.key(9), (2, 90)) / 4, jnp.array(0.75)

    def loss(of: Any, q: Any, k: Any, v: Any, bias: Any, factor: Any) -> Any:
        def mod(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
            return score * factor + bias[h, kv_idx - q_idx + 39] + TABLE[kv_idx]

        def mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
            return DOCUMENT[kv_idx] <= DOCUMENT[q_idx]

        o, lse = of(q, k, v, mod, mask)
        return (o.astype(jnp.float32) ** 2).sum() + lse.sum()

    def ours(q: Any, k: Any, v: Any, mod: Any, mask: Any) -> Any:
        return attention(q, k, v, score_mod=mod, mask_mod=mask, return_lse=True)

    def dense(q: Any, k: Any, v: Any, mod: Any, mask: Any) -> Any:
        q, k, v = (x.astype(jnp.float32) for x in (q, k, v))
        s = jnp.einsum("bqhd,bkd->bhqk", q, k[:, :, 0], precision="highest") / 8
        places = np.ogrid[:1, :2, :40, :50]
        s = jnp.where(mask(*places), mod(s, *places), -jnp.inf)
        o = jnp.einsum("bhqk,bkd->bqhd", jax.nn.softmax(s), v[:, :, 0], precision="highest")
        return o, jax.nn.logsumexp(s, -1)

    wanted, found = (
        (jax.jit if jit else lambda x: x)(jax.grad(lambda *x, of=of: loss(of, *x), range(5)))(*arrays)
        for of in (dense, ours)
    )
    for x, y in zip(found, wanted, strict=True):
        x, y = x.astype(jnp.float32), y.astype(jnp.float32)
        assert x.shape == y.shape and jnp.linalg.norm(x - y) <= 2e-2 * jnp.linalg.norm(y)
    asked = (jax.make_jaxpr(jax.grad(lambda *x: loss(ours, *x), which))(*arrays) for which in (0, 3))
    counts = [[len(call.outvars) for call in x.eqns if call.primitive.name == "ffi_call"] for x in asked]
    assert counts == [[3], [4]]  # results of the backward call: only what is asked for is learned
    want = float(loss(dense, *arrays))
    assert float(loss(ours, *arrays)) == pytest.approx(want, rel=1e-2)  # of arrays that nobody traces


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("jit", [False, True])
def test_sinks_and_sequences_of_any_lengths(packed: bool, jit: bool) -> None:
    starts, ends = [0, 17, 17, 50], jnp.array([0, 17, 17, 50], jnp.int32)
    q, k, v, sinks = random(1, 50, 2, 64), random(*K), random(*K) * 2, jnp.array([0.5, -1.0])

    def dense(q: Any, k: Any, v: Any, sinks: Any) -> tuple[Any, Any]:
        q, k, v = (x.astype(jnp.float32) for x in (q, k, v))
        s = jnp.einsum("bqhd,bkd->bhqk", q, k[:, :, 0], precision="highest") / 8
        inside = np.searchsorted(starts, np.arange(50), "right") if packed else np.zeros(50)
        seen = (inside[:, None] == inside) & (np.arange(50) <= np.arange(50)[:, None])
        s = jnp.where(seen, s, -jnp.inf)
        lse = jnp.logaddexp(jax.nn.logsumexp(s, -1), sinks[:, None])
        return jnp.einsum("bhqk,bkd->bqhd", jnp.exp(s - lse[..., None]), v[:, :, 0], precision="highest"), lse

    def ours(q: Any, k: Any, v: Any, sinks: Any) -> Any:
        if not packed:
            return attention(q, k, v, causal=True, sinks=sinks, return_lse=True)
        return attention_varlen(q[0], k[0], v[0], ends, causal=True, sinks=sinks, return_lse=True)

    weight = jax.random.normal(jax.random.key(4), q.shape)

    def loss(of: Any, *arrays: Any) -> tuple[Any, Any]:
        o, lse = of(*arrays)
        return (o.astype(jnp.float32) * weight).sum() + lse.sum(), (o, lse)

    wanted, found = (
        (jax.jit if jit else lambda x: x)(jax.grad(lambda *x, of=of: loss(of, *x), range(4), has_aux=True))(
            q, k, v, sinks
        )
        for of in (dense, ours)
    )
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        x, y = (each.astype(jnp.float32).reshape(-1) for each in (x, y))
        assert jnp.linalg.norm(x - y) <= 1e-2 * jnp.linalg.norm(y)


@pytest.mark.parametrize(("layout", "device"), [("bshd", "cpu"), ("bhsd", None)])
def test_block_masks_and_their_derivative(layout: str, device: str | None) -> None:
    """Of documents that an array of JAX has, as the mask alone has it; within `jax.jit`, and without."""
    documents = jnp.asarray(np.arange(200) // 70, jnp.int32)

    def seen(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return (documents[q_idx] == documents[kv_idx]) & (q_idx >= kv_idx)

    mask = create_block_mask(seen, None, None, 200, 200, device, 64)
    assert mask.sparsity() > 30
    shapes = ((1, 200, 2, 64), (1, 200, 1, 64)) if layout == "bshd" else ((1, 2, 200, 64), (1, 1, 200, 64))
    q, k, v = random(*shapes[0]), random(*shapes[1]), random(*shapes[1]) * 2

    def loss(how: dict[str, Any], *arrays: Any) -> Any:
        o, lse = attention(*arrays, layout=layout, return_lse=True, **how)
        return (o.astype(jnp.float32) ** 2).sum() + lse.sum(), (o, lse)

    found, right = (
        jax.jit(jax.grad(lambda *x, how=how: loss(how, *x), (0, 1, 2), has_aux=True))(q, k, v)
        for how in ({"block_mask": mask}, {"mask_mod": seen})
    )
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(right), strict=True):
        x, y = x.astype(jnp.float32), y.astype(jnp.float32)
        assert jnp.linalg.norm(x - y) <= 5e-3 * jnp.linalg.norm(y)
    eager = attention(q, k, v, block_mask=mask, layout=layout)
    np.testing.assert_array_equal(eager.astype(jnp.float32), found[1][0].astype(jnp.float32))
    with pytest.raises(ValueError, match="leave out causal, window and mask_mod"):
        attention(q, k, v, block_mask=mask, causal=True, layout=layout)
    with pytest.raises(
        ValueError, match="block_mask is of 200 queries and 200 keys, but must be of 200 queries and 64"
    ):
        attention(
            q, *(random(*(64 if n == 200 else n for n in shapes[1])) for _ in range(2)), block_mask=mask, layout=layout
        )


def test_batches_by_vmap() -> None:
    q, k = random(*Q), random(*K)
    one = attention(q, k, k)
    assert isinstance(one, jax.Array) and one.dtype == q.dtype
    several = jax.vmap(attention, (0, None, None))(jnp.stack([q, q * 2]), k, k)
    np.testing.assert_array_equal(several[0].astype(jnp.float32), one.astype(jnp.float32))


def test_what_is_refused() -> None:
    q, k = random(*Q), random(*K)
    assert jax.eval_shape(attention, q, k, k).shape == Q  # nothing is launched
    with pytest.raises(ValueError, match="for arrays of JAX there is no out="):
        attention(q, k, k, q)
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


@pytest.mark.parametrize("lse", [False, True])
def test_latents_and_fp8_within_jit(lse: bool) -> None:
    q, latents, lengths = random(2, 2, 4, 192), random(2, 40, 192), jnp.array([40, 9], jnp.int32)
    narrow = [random(1, n, 2, 64).astype(jnp.float8_e4m3fn) for n in (40, 50, 51)]
    scales = [jnp.array([[0.5, 1.5]])] * 3

    def latent(q: Any, latents: Any, lengths: Any) -> Any:
        return decode_latent(q, latents, dim_v=128, lengths=lengths, return_lse=lse)

    def fp8(q: Any, k: Any, v: Any, *scales: Any) -> Any:
        return attention_fp8(q, k, v, *scales, causal=True, return_lse=lse)

    for function, given in (latent, (q, latents, lengths)), (fp8, (narrow[0], narrow[1], narrow[1], *scales)):
        right = jax.tree.leaves(function(*given))
        for x, y in zip(jax.tree.leaves(jax.jit(function)(*given)), right, strict=True):
            np.testing.assert_array_equal(np.asarray(x, np.float32), np.asarray(y, np.float32))
    with pytest.raises(Exception, match="dim_v is a multiple of 128"):
        jax.jit(lambda q, latents: decode_latent(q, latents, dim_v=100))(q, latents)
