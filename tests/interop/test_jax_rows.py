"""Kernels of rows on JAX's arrays: within jit, differentiated, batched; simulated on a CPU."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

import cutelite as cl
from cutelite.kernels.attention import attention, decode
from cutelite.kernels.gemm import gemm
from cutelite.kernels.rows.adamw import adamw
from cutelite.kernels.rows.cross_entropy import cross_entropy
from cutelite.kernels.rows.embedding import embedding
from cutelite.kernels.rows.gates import activated, gated
from cutelite.kernels.rows.histogram import histogram
from cutelite.kernels.rows.linear_cross_entropy import linear_cross_entropy
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.norm import layer_norm, rms_norm
from cutelite.kernels.rows.quantise import quantise
from cutelite.kernels.rows.reduce import OPERATIONS, reduced
from cutelite.kernels.rows.rope import rope
from cutelite.kernels.rows.sample import sample
from cutelite.kernels.rows.scan import cumsum
from cutelite.kernels.rows.select import argmax, top_k
from cutelite.kernels.rows.softmax import log_softmax, softmax
from cutelite.kernels.rows.sort import sort


def random(*shape: int, seed: int = 0) -> Any:
    return jax.random.normal(jax.random.key(seed), shape, jnp.float32)


def alike(ours: Callable[..., Any], theirs: Callable[..., Any], *arrays: Any) -> None:
    """Results and gradients are those of JAX's own functions."""

    def loss(of: Callable[..., Any], *arrays: Any) -> Any:
        results = of(*arrays)
        return sum((x * x * (i + 1)).sum() for i, x in enumerate(jax.tree.leaves(results))), results

    which = tuple(range(len(arrays)))
    found, wanted = (jax.jit(jax.grad(lambda *x, of=of: loss(of, *x), which, has_aux=True)) for of in (ours, theirs))
    for x, y in zip(*(jax.tree.leaves(f(*arrays)) for f in (found, wanted)), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5)


def normed(x: Any, w: Any, b: Any, center: bool, eps: float) -> Any:
    x = x - x.mean(-1, keepdims=True) if center else x
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + eps) * w + b


def test_softmax() -> None:
    x = random(2, 3, 40)
    alike(softmax, jax.nn.softmax, x)
    alike(log_softmax, jax.nn.log_softmax, x)
    np.testing.assert_allclose(jax.vmap(softmax)(x), jax.nn.softmax(x), rtol=1e-5)


@pytest.mark.parametrize("shape", [(4, 0), (0, 5), (0, 0)], ids=str)
def test_rows_of_no_elements_and_no_rows(shape: tuple[int, int]) -> None:
    x, w, target = jnp.zeros(shape), jnp.ones(shape[1]), jnp.full(shape[0], -100)
    alike(softmax, jax.nn.softmax, x)
    alike(lambda x, w: rms_norm(x, w).y, lambda x, w: normed(x, w, 0, False, 1e-6), x, w)
    alike(lambda x, w, b: layer_norm(x, w, b).y, lambda x, w, b: normed(x, w, b, True, 1e-5), x, w, w)
    alike(lambda x: gated(x, x), lambda x: jax.nn.silu(x) * x, x)
    alike(lambda x: cross_entropy(x, target).loss, lambda x: 0 * x.sum(-1), x)
    alike(cumsum, lambda x: jnp.cumsum(x, -1), x)
    alike(lambda x: reduced(x, mode=1), lambda x: x.sum(1), x)
    alike(lambda x: sort(x.reshape(-1))[0], lambda x: x.reshape(-1), x)
    assert not histogram(x, 3).any()
    assert top_k(x, 0)[0].shape == (shape[0], 0)
    assert quantise(x)[1].shape == (shape[0], 1)


def test_norms() -> None:
    x, r, w, b = random(3, 64), random(3, 64, seed=1), random(64, seed=2), random(64, seed=3)
    alike(lambda x, w, b: layer_norm(x, w, b).y, lambda x, w, b: normed(x, w, b, True, 1e-5), x, w, b)
    alike(lambda x: rms_norm(x).y, lambda x: normed(x, 1, 0, False, 1e-6), x)
    alike(
        lambda x, w, r: rms_norm(x, w, residual=r, offset=1.0)[:2],
        lambda x, w, r: (normed(x + r, 1 + w, 0, False, 1e-6), x + r),
        *(x, w, r),
    )


def test_cross_entropy() -> None:
    x, target = random(5, 33), jnp.array([0, 32, -100, 7, 7])

    def theirs(x: Any) -> Any:
        picked = jnp.take_along_axis(jax.nn.log_softmax(x), jnp.maximum(target, 0)[:, None], 1)[:, 0]
        return jnp.where(target >= 0, -picked, 0)

    alike(lambda x: cross_entropy(x, target).loss, theirs, x)
    with pytest.raises(TypeError, match="whole numbers"):
        cross_entropy(x, x[:, 0])


def test_activations_and_gates() -> None:
    gate, up = random(3, 40), random(3, 40, seed=1)
    alike(lambda x: activated(x, "gelu"), lambda x: jax.nn.gelu(x, approximate=False), gate)
    alike(gated, lambda gate, up: jax.nn.silu(gate) * up, gate, up)
    with pytest.raises(ValueError, match="activation is 'swish'"):
        activated(gate, "swish")
    with pytest.raises(cl.ArgumentError, match=r"up is .*, as gate"):
        gated(gate, up[:2])


def test_rotary_embedding() -> None:
    q, k, angles = random(1, 6, 2, 16), random(1, 6, 1, 16, seed=1), random(9, 8, seed=2)
    cosines, sines, positions = jnp.cos(angles), jnp.sin(angles), jnp.array([[0, 1, 2, 3, 5, 8]])

    def theirs(q: Any, k: Any) -> Any:
        c, s = (x[positions[0]][None, :, None] for x in (cosines, sines))
        return tuple(
            jnp.concatenate([x[..., :8] * c - x[..., 8:] * s, x[..., 8:] * c + x[..., :8] * s], -1) for x in (q, k)
        )

    alike(lambda q, k: rope(q, k, cosines, sines, positions), theirs, q, k)


def test_rows_of_a_table() -> None:
    table, places = random(7, 16), jnp.array([[3, 0, 3], [6, 3, 1]])
    alike(lambda table: embedding(table, places), lambda table: table[places], table)
    each = jax.vmap(lambda p: embedding(table, p))(places.astype(jnp.uint8))  # whole numbers of any width
    np.testing.assert_array_equal(each, table[places])
    with pytest.raises(TypeError, match="places are float32; int32 or int64"):
        embedding(table, table)


def test_the_greatest_of_rows() -> None:
    x = random(2, 3, 40)
    alike(lambda x: top_k(x, 4)[0], lambda x: jax.lax.top_k(x, 4)[0], x)
    np.testing.assert_array_equal(jax.vmap(lambda x: top_k(x, 4)[1])(x), jax.lax.top_k(x, 4)[1])


@pytest.mark.parametrize("descending", [False, True])
def test_a_sort_is_differentiated(descending: bool) -> None:
    x, factors = random(50), random(50, seed=1)
    x = x.at[7].set(x[40])  # equal ones stay in order

    def theirs(x: Any, y: Any) -> Any:
        order = jnp.argsort(x, stable=True, descending=descending)
        return x[order] * factors, y[order] / factors

    def ours(x: Any, y: Any) -> Any:
        keys, moved = sort(x, y, descending=descending)
        return keys * factors, moved / factors

    alike(ours, theirs, x, random(50, seed=2))
    for keys in x.astype(jnp.bfloat16), (9 * x).astype(jnp.int32):
        order = jnp.argsort(keys, stable=True, descending=descending)
        found = jax.jit(lambda x: sort(x, descending=descending))(keys)
        assert (found[0] == keys[order]).all() and (found[1] == order).all()


def test_gradients_of_sums_and_of_the_greatest() -> None:
    x = random(2, 3, 40)
    alike(lambda x: argmax(x)[0], lambda x: x.max(-1), x)
    alike(cumsum, lambda x: jnp.cumsum(x, -1), x)
    alike(jax.grad(lambda x: (cumsum(x) ** 3).sum()), jax.grad(lambda x: (jnp.cumsum(x, -1) ** 3).sum()), x)
    alike(jax.vmap(jax.grad(lambda x: argmax(x)[0].sum())), jax.vmap(jax.grad(lambda x: x.max(-1).sum())), x)
    matrix = jnp.round(2 * x[0])  # extremes that are equal share the gradient
    for operation in OPERATIONS:
        for mode in (None, 0, 1, -1):
            alike(
                lambda x, how=(operation, mode): reduced(x, *how),
                lambda x, how=(operation, mode): getattr(jnp, how[0])(x, how[1]),
                matrix,
            )
    half = jnp.ones(70_000, jnp.float16)  # their number is none of f16
    mean = jax.grad(lambda x: 35_000 * reduced(x, "mean").astype(jnp.float32))(half)
    np.testing.assert_allclose(mean, 0.5, rtol=2e-3)


def test_whole_numbers_have_no_gradient() -> None:
    x, whole = random(3, 40), jnp.arange(40)[::-1]
    results = (
        lambda x: argmax(x)[1], lambda x: sort(x[0])[1], lambda x: histogram(x, 8),
        lambda x: sample(x, jnp.full(3, 0.5)),
    )  # fmt: skip
    for ours in results:
        gradient = jax.grad(lambda x, ours=ours: (x * x).sum() + ours(x).sum())(x)
        np.testing.assert_array_equal(gradient, 2 * x)
    for of_whole in (cumsum, lambda x: sort(x)[0]):
        found, pull = jax.vjp(of_whole, whole)
        assert pull(np.zeros(found.shape, jax.dtypes.float0))[0].dtype == jax.dtypes.float0


def test_eight_bits() -> None:
    x, up = random(3, 256), random(3, 256, seed=1)
    for block, more in ((1, None), (128, up)):
        codes, scales = jax.jit(lambda x, block=block, more=more: quantise(x, Narrow(block=block), up=more))(x)
        whole = codes.astype(jnp.float32) * jnp.repeat(scales, 256 // scales.shape[1], 1)
        np.testing.assert_allclose(whole, x if more is None else jax.nn.silu(x) * more, atol=0.2, rtol=0.07)


def test_arrays_that_nobody_writes_to_are_refused_as_results() -> None:
    x, one = np.ones((2, 8), np.float32), jnp.ones(8)
    with pytest.raises(cl.ArgumentError, match="out is written, and is JAX"):
        softmax(x, out=jnp.asarray(x))
    with pytest.raises(cl.ArgumentError, match=r"parameters\[0\] is written, and is JAX"):
        adamw([one], [one], [one], [one], 1)
    for transform in (jax.jit, jax.vmap, jax.grad):
        with pytest.raises(cl.ArgumentError, match=r"^x cannot be read: .* call a kernel by cutelite.interop.jax"):
            transform(lambda x: softmax(x, out=np.empty(x.shape, np.float32)))(jnp.asarray(x))


def test_a_loss_of_a_linear_layer_by_the_plain_function() -> None:
    x, weight = (np.sin(np.arange(n * 16)).reshape(n, 16).astype(np.float16) for n in (3, 24))
    given = x, weight, np.array([3, 0, 23]), np.ones(3, np.float32)
    of_jax = [jnp.asarray(each) for each in given]  # on the GPU, if there is one
    for mine, right in zip(linear_cross_entropy(*of_jax), linear_cross_entropy(*given), strict=True):
        assert isinstance(mine, jax.Array)
        np.testing.assert_allclose(mine, right, rtol=2e-3, atol=2e-3)
    assert linear_cross_entropy(*of_jax[:3]).x is None


def test_constants_that_are_traced_are_named() -> None:
    """They are refused in our words, not in JAX's about places of arguments of inner functions."""
    x, heads = random(3, 24), random(1, 8, 2, 16).astype(jnp.bfloat16)
    calls: list[tuple[Any, Callable[[Any], Any]]] = [
        ("k", lambda n: top_k(x, n)),
        ("eps", lambda n: rms_norm(x, eps=n)),
        ("alpha", lambda n: gemm(heads[0, 0], heads[0, 0].T, alpha=n)),
        ("scale", lambda n: attention(heads, heads, heads, scale=n)),
        ("scale", lambda n: decode(heads, heads, heads, scale=n)),
        ("window", lambda n: attention(heads, heads, heads, window=(n, 0))),
        ("causal", lambda n: attention(heads, heads, heads, causal=n)),
        ("block", lambda n: quantise(x, Narrow(block=n))),
        ("descending", lambda n: sort(x[0], descending=n)),
        ("temperature", lambda n: sample(x, x[:, 0], temperature=n)),
        ("bins", lambda n: histogram(x, n)),
        ("mode", lambda n: reduced(x, mode=n)),
        ("padding", lambda n: embedding(x, jnp.array([1]), padding=n)),
    ]
    for name, call in calls:
        with pytest.raises(cl.ArgumentError, match=f"^{name} is (traced|JitTracer)"):
            jax.jit(call)(1)
    with pytest.raises(cl.ArgumentError, match="padding is 3, but must be a whole number to 2"):
        embedding(x, jnp.array([1]), padding=3)
