"""Functions of elements, transposes, tables, caches, losses of a linear layer and AdamW on JAX's arrays; simulated."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

import cutelite as cl
from cutelite.kernels.rows import on_jax_elements as elements
from cutelite.kernels.rows.adamw import adamw
from cutelite.kernels.rows.elementwise import elementwise
from cutelite.kernels.rows.linear_cross_entropy import REDUCTIONS, linear_cross_entropy
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.rope_append import rope_append
from cutelite.kernels.rows.rope_tables import rope_tables
from cutelite.kernels.rows.transpose import transposed
from tests.interop.test_jax_rows import alike, random


def test_functions_of_elements() -> None:
    a, b, c = (random(3, 40, seed=i) for i in range(3))

    def swish(x: Any) -> Any:
        return x / (1.0 + cl.math.exp(-x))

    alike(lambda x: elements.elementwise(swish, (x,))[0], jax.nn.silu, a)
    both = lambda x, y: (x * y, max(x, y))  # noqa: E731
    alike(
        lambda x, y: elements.elementwise(both, (x, y), dtypes=("f32", "f32")),
        lambda x, y: (x * y, jnp.maximum(x, y)),
        *(a, b),
    )
    (codes,) = elements.elementwise(lambda x: 2 * x, (a,), dtypes=("e4m3",))
    assert codes.dtype == jnp.float8_e4m3fn
    four = lambda x, y, z, w: x * y + z * w  # noqa: E731
    np.testing.assert_allclose(elements.elementwise(four, (a, b, c, a))[0], a * b + c * a, rtol=1e-5, atol=1e-6)
    for function, given, kinds in ((four, (a, b, c, a), ()), (lambda x: x, (a,), ("e4m3",))):
        with pytest.raises(cl.ArgumentError, match="has no derivative here"):
            jax.vjp(lambda *x, f=function, to=kinds: elements.elementwise(f, x, dtypes=to)[0].astype("f4"), *given)[1](
                a
            )
    with pytest.raises(cl.ArgumentError, match=r"inputs\[1\] is .*, as inputs\[0\]"):
        jax.jit(lambda x: elements.elementwise(both, (x, x[:2]), dtypes=("f32", "f32")))(a)


def test_scales() -> None:
    x = random(4, 33)
    alike(lambda x, by: elements.scale(x, by), lambda x, by: x * by, x, jnp.array([1.5]))
    kept = x + 0
    np.testing.assert_allclose(jax.jit(elements.scale)(x, 3.0), 3 * kept, rtol=1e-6)
    np.testing.assert_array_equal(x, kept)  # the function of arrays of NumPy is in place


@pytest.mark.parametrize("shape", [(5, 3), (130, 40), (0, 4)], ids=str)
def test_transposes(shape: tuple[int, int]) -> None:
    x = random(*shape)
    alike(lambda x: elements.transposed(x, "f32"), lambda x: x.T, x)
    assert jax.grad(lambda x: elements.transposed(x, "bf16").astype("f4").sum())(x).dtype == x.dtype
    narrow = Narrow(block=128)
    codes, scales = jax.jit(lambda x: elements.transposed(x, narrow))(x)
    q, s = transposed(np.asarray(x), narrow)
    np.testing.assert_array_equal(codes.view(jnp.uint8), np.asarray(q).view(np.uint8))
    np.testing.assert_array_equal(scales, s)
    each = jax.vmap(lambda x: elements.transposed(x, "f16"))(jnp.stack([x, -x]))
    np.testing.assert_array_equal(each[1], -x.T.astype(jnp.float16))
    with pytest.raises(cl.ArgumentError, match="to='e4m3' has no derivative"):
        jax.grad(lambda x: elements.transposed(x, "e4m3").astype("f4").sum())(x)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_tables_of_angles(dtype: str) -> None:
    positions, frequencies = jnp.array([[0, 3, 9], [1, 1, 70]]), random(8) ** 2
    found = jax.jit(lambda p, f: elements.rope_tables(p, f, dtype, scale=0.5))(positions, frequencies)
    right = rope_tables(np.asarray(positions), np.asarray(frequencies), dtype, scale=0.5)
    for mine, other in zip(found, right, strict=True):
        np.testing.assert_allclose(np.asarray(mine, float), np.asarray(other, float), atol=1e-6)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_cache_that_is_appended_to(kind: Any) -> None:
    with jax.enable_x64(kind == np.int64):
        length = jnp.array([3], kind)
    q, k, v = random(2, 2, 4, 16), random(2, 2, 1, 16, seed=1), random(2, 2, 1, 16, seed=2)
    angles, keys, values = random(2, 8, seed=3), random(2, 1, 9, 16, seed=4), random(2, 1, 9, 16, seed=5)
    given = q, k, v, jnp.cos(angles), jnp.sin(angles), keys, values
    before = [np.array(x) for x in given]
    right = [*map(np.array, given), np.array([3])]
    turned = rope_append(*right)
    found = jax.jit(elements.rope_append)(*given, length)
    assert found[3].dtype == kind
    for mine, other in zip(found, (turned, *right[5:]), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)
    for x, kept in zip(given, before, strict=True):
        np.testing.assert_array_equal(x, kept)
    again = jax.jit(elements.rope_append, donate_argnums=(5, 6, 7))(*given[:5], *found[1:])
    assert again[3].tolist() == [7]
    with pytest.raises(cl.ArgumentError, match=r"keys is written, and is JAX's.*rope_append .* of .*on_jax_elements"):
        rope_append(*given, length)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("how", [{}, {"smoothing": 0.1, "z": 1e-3, "rows": 2}], ids=str)
def test_losses_of_a_linear_layer(reduction: str, how: dict[str, Any]) -> None:
    x, weight = random(5, 16).astype(jnp.bfloat16), random(24, 16, seed=1).astype(jnp.bfloat16)
    target = jnp.array([3, 0, -100, 23, 7])

    def theirs(x: Any, weight: Any) -> Any:
        logits = (x @ weight.T).astype(jnp.float32)
        lse, s = jax.nn.logsumexp(logits, -1), how.get("smoothing", 0.0)
        picked = jnp.take_along_axis(logits, jnp.maximum(target, 0)[:, None], 1)[:, 0]
        loss = lse - (1 - s) * picked - s * logits.mean(-1) + how.get("z", 0.0) * lse * lse
        loss = jnp.where(target >= 0, loss, 0)
        return {"none": loss, "sum": loss.sum(), "mean": loss.sum() / 4}[reduction]

    ours = lambda x, weight: elements.linear_cross_entropy(x, weight, target, reduction=reduction, **how)  # noqa: E731
    for power in (1, 2):
        found, right = (
            jax.jit(jax.value_and_grad(lambda *x, f=f, power=power: (f(*x) ** power).sum(), (0, 1)))(x, weight)
            for f in (ours, theirs)
        )
        for mine, other in zip(jax.tree.leaves(found), jax.tree.leaves(right), strict=True):
            mine, other = (np.asarray(each, float) for each in (mine, other))
            np.testing.assert_allclose(mine, other, rtol=5e-2, atol=2e-2 * np.abs(other).max())
    with pytest.raises(ValueError, match="reduction is 'most'"):
        elements.linear_cross_entropy(x, weight, target, reduction="most")


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.0, 0.99)], ids=str)
def test_adamw(full: bool, betas: tuple[float, float]) -> None:
    kind = jnp.bfloat16 if full else jnp.float32
    p = {"a": random(4, 40).astype(kind), "b": [random(7, seed=1).astype(kind), random(300, seed=2).astype(kind)]}
    g = jax.tree.map(lambda x: (3 * x).astype(kind), p)
    m, v = (jax.tree.map(lambda x, by=by: (by * x * x).astype(jnp.float32), p) for by in (0.1, 0.2))
    w = jax.tree.map(lambda x: x.astype(jnp.float32), p) if full else None
    how: dict[str, Any] = {"lr": 0.01, "betas": betas, "decay": 0.1}

    def taken(t: Any, lr: Any, p: Any, g: Any, m: Any, v: Any, w: Any) -> Any:
        return elements.adamw(p, g, m, v, t, masters=w, **(how | {"lr": lr}))

    step = jax.jit(taken)
    given = p, g, m, v, w
    for t in (1, 7):
        right = [[np.array(x) for x in jax.tree.leaves(tree)] for tree in given]
        adamw(right[0], right[1], right[2], right[3], t, masters=right[4] or None, **how)
        found = step(t, 0.01, *given)
        assert jax.tree.structure(found[0]) == jax.tree.structure(p) and len(found) == 3 + full
        mine = [jax.tree.leaves(tree) for tree in found]
        for each, other in zip(mine, [right[0], *right[2 : 4 + full]], strict=True):
            for x, y in zip(each, other, strict=True):
                rounding = 2e-6 if x.dtype == jnp.float32 else 1e-2
                np.testing.assert_allclose(np.asarray(x, float), np.asarray(y, float), rtol=rounding, atol=1e-6)
        given = found[0], g, *found[1:3], *(found[3:] or (None,))
    with pytest.raises(cl.ArgumentError, match="means has 1 arrays, and parameters 3"):
        elements.adamw(p, g, [p["a"]], v, 1)
    assert elements.adamw([], [], [], [], 1) == ([], [], [])


def test_numbers_of_a_step_on_the_device() -> None:
    def lists(seed: int) -> list[Any]:
        return [[np.array(random(9, seed=seed + i) ** 2)] for i in range(4)]

    numbers = [1 - 0.1 * 0.2, 0.1 / (1 - 0.9**3), 1 / (1 - 0.99**3) ** 0.5, 1 - 0.9, 1 - 0.99, 1e-8]
    ones, others = lists(3), lists(3)
    adamw(ones[0], ones[1], ones[2], ones[3], 3, lr=0.1, betas=(0.9, 0.99), decay=0.2)
    adamw(*others, numbers=np.array(numbers, np.float32))
    for one, other in zip(ones, others, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
    with pytest.raises(cl.ArgumentError, match=r"numbers has shape \(5,\)"):
        adamw(*others, numbers=np.ones(5, np.float32))


def test_plain_functions() -> None:
    x = random(3, 40)
    (y,) = jax.jit(lambda x: elementwise(lambda v: v * v, (x,)))(x)
    np.testing.assert_allclose(y, x * x, rtol=1e-6)
    half = x.astype(jnp.bfloat16)
    made = jax.jit(lambda x, t: linear_cross_entropy(x, x, t, jnp.ones(3)))(half, jnp.array([0, 1, 2]))
    assert made.weight.shape == half.shape and made.lse.dtype == jnp.float32
