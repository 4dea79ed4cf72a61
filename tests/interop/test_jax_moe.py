"""A mixture of experts on JAX's arrays: within jit, differentiated, batched; simulated on a CPU."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from cutelite.kernels import moe


def random(*shape: int, dtype: Any = jnp.bfloat16) -> Any:
    return jax.random.normal(jax.random.key(sum(shape)), shape, jnp.float32).astype(dtype)


def routed(logits: Any) -> tuple[Any, Any]:
    chances, index = jax.lax.top_k(jax.nn.softmax(logits), 2)
    return chances / chances.sum(-1, keepdims=True), index


def mixed(x: Any, gate_up: Any, down: Any, index: Any, weights: Any) -> Any:
    """What all experts make of all tokens, and the weighted sum of those that were chosen."""
    gate, up = jnp.split(jnp.einsum("th,eih->tei", x, gate_up), 2, -1)
    every = jnp.einsum("tei,ehi->teh", jax.nn.silu(gate) * up, down)
    return (jnp.take_along_axis(every, index[..., None], 1) * weights[..., None]).sum(1)


def test_routes_and_experts_are_differentiated() -> None:
    arrays = random(5, 4, dtype=jnp.float32), random(5, 32), random(4, 32, 32) / 4, random(4, 32, 16) / 4

    def loss(route: Any, experts: Any, logits: Any, *arrays: Any) -> Any:
        x, gate_up, down = arrays
        weights, index = route(logits)
        out = experts(x, gate_up, down, index, weights)
        return (out.astype(jnp.float32) ** 2).sum(), out

    def of(*functions: Any) -> Any:
        return jax.jit(jax.grad(lambda *x: loss(*functions, *x), tuple(range(4)), has_aux=True))

    kind = "".join(("i", "32"))  # equal to the default, and not the same object
    found = of(lambda logits: moe.route(logits, 2, index_dtype=kind), moe.experts)(*arrays)
    wanted = of(routed, mixed)(*(x.astype(jnp.float32) for x in arrays))
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        error = np.asarray(x, np.float32) - np.asarray(y)
        assert np.linalg.norm(error) < 2e-2 * np.linalg.norm(y)


def test_a_batch_is_as_its_parts() -> None:
    x, logits, gate_up, down = (
        random(2, 5, 32),
        random(2, 5, 4, dtype=jnp.float32),
        random(4, 32, 32),
        random(4, 32, 16),
    )

    def one(x: Any, logits: Any) -> Any:
        weights, index = moe.route(logits, 2, normalise=False)
        return moe.experts(x, gate_up, down, index, weights)

    together = jax.vmap(one)(x, logits)
    assert (together == jnp.stack([one(x[i], logits[i]) for i in range(2)])).all()
