"""GEMMs on JAX's arrays: outside of jax.jit, on a GPU through torch or CuPy, else simulated."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from cutelite.kernels.gemm import fp8_block, gemm


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
    with pytest.raises(TypeError, match=r"jax\.jit, which has no memory yet"):
        jax.jit(lambda x: gemm(x, x))(a)
