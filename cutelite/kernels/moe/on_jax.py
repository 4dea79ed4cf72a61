"""A mixture of experts within `jax.jit`, `jax.grad` and `jax.vmap`: `route` and `experts` call these for traced arrays.

In    arrays of JAX, traced or not. Out: arrays of JAX; the backward kernels compute derivatives
      On a GPU torch must be installed (`cutelite.interop.jax.host_call`); on the CPU kernels are simulated
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from cutelite.interop.jax import copied, derived, host_call, into
from cutelite.kernels.lent import check_call
from cutelite.kernels.moe import backward, call, routing
from cutelite.kernels.rows.on_jax import like, no_gradient


def route(logits: Any, k: int, normalise: bool = True) -> routing.Routed:
    check_call(routing.route, {"k": k, "normalise": normalise}, logits=logits)
    return routing.Routed(*_route(logits, k, normalise))


@derived(1, 2, keep=lambda made, logits, *_: (logits, *made))
def _route(logits: Any, k: int, normalise: bool) -> Any:
    shape = logits.shape[0], k
    results = [jax.ShapeDtypeStruct(shape, jnp.float32), jax.ShapeDtypeStruct(shape, jnp.int32)]
    return tuple(host_call(into(routing.route), results, vmap_method="sequential", k=k, normalise=normalise)(logits))


@copied
def _run_route_backward(gradient: Any, logits: Any, weights: Any, index: Any, normalise: bool) -> Any:
    return routing.route_backward(gradient, logits, routing.Routed(weights, index), normalise=normalise)


def _differentiate_route(k: int, normalise: bool, kept: tuple[Any, ...], gradients: tuple[Any, Any]) -> tuple[Any]:
    logits, weights, index = kept
    run = host_call(_run_route_backward, like(logits), vmap_method="sequential", normalise=normalise)
    return (run(gradients[0], logits, weights, index),)


_route.derive(_differentiate_route)


def experts(x: Any, gate_up: Any, down: Any, index: Any, weights: Any) -> Any:
    check_call(call.experts, {}, x=x, gate_up=gate_up, down=down, index=index, weights=weights)
    return _experts(x, gate_up, down, index, weights)


@derived()
def _experts(x: Any, gate_up: Any, down: Any, index: Any, weights: Any) -> Any:
    return host_call(into(call.experts), like(x), vmap_method="sequential")(x, gate_up, down, index, weights)


@copied
def _run_experts_kept(*given: Any) -> Any:
    made = call.experts_kept(*given)
    return made.out, made.sums, *made.order


@copied
def _run_experts_backward(
    gradient: Any, x: Any, gate_up: Any, down: Any, weights: Any, sums: Any, *order: Any
) -> Any:  # fmt: skip
    return backward.experts_backward(gradient, x, gate_up, down, weights, sums, routing.Sorted(*order))


def _keep_experts(x: Any, gate_up: Any, down: Any, index: Any, weights: Any) -> tuple[Any, Any]:
    (tokens, k), (count, width, _) = index.shape, gate_up.shape
    whole = [jax.ShapeDtypeStruct(shape, jnp.int32) for shape in ((tokens * k,), (tokens, k), (count,))]
    sums = jax.ShapeDtypeStruct((tokens * k, width), x.dtype)
    run = host_call(_run_experts_kept, [like(x), sums, *whole], vmap_method="sequential")
    out, *kept = run(x, gate_up, down, index, weights)
    return out, (x, gate_up, down, weights, index, kept)


def _differentiate_experts(kept: tuple[Any, ...], gradient: Any) -> tuple[Any, ...]:
    x, gate_up, down, weights, index, more = kept
    results = [like(x), like(gate_up), like(down), jax.ShapeDtypeStruct(weights.shape, jnp.float32)]
    run = host_call(_run_experts_backward, results, vmap_method="sequential")
    *found, of_weights = run(gradient, x, gate_up, down, weights, *more)
    return *found, no_gradient(index), of_weights.astype(weights.dtype)


_experts.defvjp(_keep_experts, _differentiate_experts)
