"""GEMMs on JAX's arrays: outside of jax.jit, on a GPU through torch or CuPy, else simulated."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from cutelite.kernels.gemm import Finish, fp8_block, gemm


def random(*shape: int) -> Any:
    return jax.random.normal(jax.random.key(shape[-1]), shape, jnp.float32).astype(jnp.bfloat16)


def test_jax_arrays_come_and_go() -> None:
    a, b, bias = random(2, 40, 64), random(64, 72), jnp.ones(72)
    d = gemm(a, b, bias=bias, activation="relu")
    wanted = jax.nn.relu(a.astype(jnp.float32) @ b.astype(jnp.float32) + bias)
    assert isinstance(d, jax.Array) and (d.shape, d.dtype, d.devices()) == ((2, 40, 72), a.dtype, a.devices())
    assert jnp.linalg.norm(d.astype(jnp.float32) - wanted) <= 4e-3 * jnp.linalg.norm(wanted)
    narrow = random(64, 128).astype(jnp.float8_e4m3fn)
    assert fp8_block.gemm(narrow, narrow, jnp.ones((64, 1)), jnp.ones((1, 1))).dtype == jnp.bfloat16


def test_what_jax_does_not_allow() -> None:
    a = random(64, 64)
    with pytest.raises(TypeError, match="leave out= out"):
        gemm(a, a, a)
    narrow, one = a.astype(jnp.float8_e4m3fn), jnp.ones((64, 1))
    with pytest.raises(TypeError, match=r"a cannot be read: .* array without data, within jax.jit"):
        jax.jit(lambda x: fp8_block.gemm(x, x, one, one[:1]))(narrow)
    with pytest.raises(ValueError, match="within JAX's transforms a GEMM has no"):
        jax.jit(lambda x: gemm(x, x, gate="silu"))(a)
    with pytest.raises(ValueError, match="for arrays of JAX there is no finish="):
        gemm(a, a, finish=Finish(lambda piece: piece.result(piece.sums)))


def near(ours: Any, theirs: Any, most: float = 8e-3) -> bool:
    ours, theirs = ours.astype(jnp.float32), theirs.astype(jnp.float32)
    return ours.shape == theirs.shape and bool(jnp.linalg.norm(ours - theirs) <= most * jnp.linalg.norm(theirs))


SHAPES = [
    ((40, 64), (64, 72)), ((40, 0), (0, 72)), ((2, 40, 64), (64, 72)), ((40, 64), (2, 64, 72)),
    ((2, 1, 40, 64), (3, 64, 72)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_derivatives_within_jit(shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b, bias = random(*shapes[0]), random(*shapes[1]), jnp.linspace(-1, 1, 72)
    c = random(*jnp.broadcast_shapes(shapes[0][:-2], shapes[1][:-2]), 40, 72)

    def ours(a: Any, b: Any, c: Any, bias: Any) -> Any:
        d = gemm(a, b, c=c, bias=bias, alpha=0.5, beta=2.0, activation="relu")
        return (d.astype(jnp.float32) ** 2).sum(), d

    def theirs(a: Any, b: Any, c: Any, bias: Any) -> Any:
        wide = [x.astype(jnp.float32) for x in (a, b, c, bias)]
        d = jax.nn.relu(0.5 * jnp.matmul(wide[0], wide[1], precision="highest") + 2.0 * wide[2] + wide[3])
        return (d**2).sum(), d

    which = (0, 1, 2, 3)
    (_, found), gradients = jax.jit(jax.value_and_grad(ours, which, has_aux=True))(a, b, c, bias)
    (_, right), expected = jax.value_and_grad(theirs, which, has_aux=True)(a, b, c, bias)
    assert near(found, right) and all(near(x, y, 1e-2) for x, y in zip(gradients, expected, strict=True))


def test_batches_by_vmap() -> None:
    a, b, bias = random(3, 40, 64), random(64, 72), jnp.ones(72)
    right = a.astype(jnp.float32) @ b.astype(jnp.float32)
    assert near(jax.vmap(gemm, (0, None))(a, b), right)
    assert near(jax.vmap(lambda x: gemm(x, b, bias=bias))(a), right + 1)


def test_no_derivative_of_a_function() -> None:
    a = random(64, 64)
    assert near(jax.jit(lambda a: gemm(a, a, activation=lambda x: x * 2.0))(a), 2 * (a.astype(jnp.float32) @ a))
    with pytest.raises(ValueError, match="no derivative is known"):
        jax.grad(lambda a: gemm(a, a, activation=lambda x: x * 2.0).astype(jnp.float32).sum())(a)
