"""A mixture of experts within `jax.jit`, `jax.grad` and `jax.vmap`: the router, and the experts.

In    arrays of JAX, traced or not. Out: arrays of JAX; the backward kernels compute derivatives
      On a GPU torch must be installed (`cutelite.interop.jax.host_call`); on the CPU kernels are simulated
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from cutelite.interop.jax import host_call
from cutelite.kernels.moe import backward, call, routing
from cutelite.kernels.rows.on_jax import like, no_gradient, write

ONE_BY_ONE = "sequential"


def route(logits: Any, k: int, *, normalise: bool = True) -> tuple[Any, Any]:
    """`route` of this room: weights, f32, and experts, i32, (tokens, k) each."""
    return _route(logits, k, normalise)  # type: ignore[no-any-return]


@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def _route(logits: Any, k: int, normalise: bool) -> Any:
    shape = logits.shape[0], k
    results = [jax.ShapeDtypeStruct(shape, jnp.float32), jax.ShapeDtypeStruct(shape, jnp.int32)]
    return tuple(host_call(_run_route, results, vmap_method=ONE_BY_ONE, k=k, normalise=normalise)(logits))


def _run_route(inputs: list[Any], outputs: list[Any], k: int, normalise: bool) -> None:
    routing.route(inputs[0], k, normalise=normalise, out=tuple(outputs))


def _run_route_backward(inputs: list[Any], outputs: list[Any], normalise: bool) -> None:
    gradient, logits, weights, index = inputs
    write([routing.route_backward(gradient, logits, routing.Routed(weights, index), normalise=normalise)], outputs)


def _keep_route(logits: Any, k: int, normalise: bool) -> tuple[Any, Any]:
    made = _route(logits, k, normalise)
    return made, (logits, *made)


def _differentiate_route(k: int, normalise: bool, kept: tuple[Any, ...], gradients: tuple[Any, Any]) -> tuple[Any]:
    logits, weights, index = kept
    run = host_call(_run_route_backward, like(logits), vmap_method=ONE_BY_ONE, normalise=normalise)
    return (run(gradients[0], logits, weights, index),)


_route.defvjp(_keep_route, _differentiate_route)


@partial(jax.custom_vjp, nondiff_argnums=())
def experts(x: Any, gate_up: Any, down: Any, index: Any, weights: Any) -> Any:
    """`experts` of this room."""
    return host_call(_run_experts, like(x), vmap_method=ONE_BY_ONE)(x, gate_up, down, index, weights)


def _run_experts(inputs: list[Any], outputs: list[Any]) -> None:
    x, gate_up, down, index, weights = inputs
    call.experts(x, gate_up, down, index, weights, outputs[0])


def _run_experts_kept(inputs: list[Any], outputs: list[Any]) -> None:
    x, gate_up, down, index, weights = inputs
    made = call.experts_kept(x, gate_up, down, index, weights)
    write([made.out, made.sums, *made.order], outputs)


def _run_experts_backward(inputs: list[Any], outputs: list[Any]) -> None:
    gradient, x, gate_up, down, weights, sums, *order = inputs
    write(backward.experts_backward(gradient, x, gate_up, down, weights, sums, routing.Sorted(*order)), outputs)


def _keep_experts(x: Any, gate_up: Any, down: Any, index: Any, weights: Any) -> tuple[Any, Any]:
    (tokens, k), (count, width, _) = index.shape, gate_up.shape
    whole = [jax.ShapeDtypeStruct(shape, jnp.int32) for shape in ((tokens * k,), (tokens, k), (count,))]
    sums = jax.ShapeDtypeStruct((tokens * k, width), x.dtype)
    run = host_call(_run_experts_kept, [like(x), sums, *whole], vmap_method=ONE_BY_ONE)
    out, *kept = run(x, gate_up, down, index, weights)
    return out, (x, gate_up, down, weights, index, kept)


def _differentiate_experts(kept: tuple[Any, ...], gradient: Any) -> tuple[Any, ...]:
    x, gate_up, down, weights, index, more = kept
    results = [like(x), like(gate_up), like(down), jax.ShapeDtypeStruct(weights.shape, jnp.float32)]
    run = host_call(_run_experts_backward, results, vmap_method=ONE_BY_ONE)
    *found, of_weights = run(gradient, x, gate_up, down, weights, *more)
    return *found, no_gradient(index), of_weights.astype(weights.dtype)


experts.defvjp(_keep_experts, _differentiate_experts)
