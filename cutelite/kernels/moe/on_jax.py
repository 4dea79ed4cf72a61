"""A mixture of experts within `jax.jit`, `jax.grad` and `jax.vmap`: `route` and `experts` call these for traced arrays.

In    arrays of JAX, traced or not. Out: arrays of JAX; the backward kernels compute derivatives
"""

from __future__ import annotations

from typing import Any

from cutelite.interop.jax import derived
from cutelite.kernels.jax_calls import computed, like, no_gradient, shaped
from cutelite.kernels.moe import backward, call, fp8, narrow, routing


def route(logits: Any, k: int, normalise: bool = True) -> routing.Routed:
    return routing.Routed(*_route(logits, k, normalise))


@derived(1, 2, keep=lambda made, logits, *_: (logits, *made))
def _route(logits: Any, k: int, normalise: bool) -> Any:
    def results() -> list[Any]:
        return [shaped((logits.shape[0], k), kind) for kind in ("f32", "i32")]

    return computed(routing.route, results, {"logits": logits}, k=k, normalise=normalise)


def _route_backward(weights: Any, index: Any, **given: Any) -> Any:
    return routing.route_backward(made=routing.Routed(weights, index), **given)


def _differentiate_route(k: int, normalise: bool, kept: tuple[Any, ...], gradients: tuple[Any, Any]) -> tuple[Any]:
    logits, weights, index = kept
    arrays = {"gradient": gradients[0], "logits": logits, "weights": weights, "index": index}
    return (computed(_route_backward, like(logits), arrays, copies=True, normalise=normalise),)


_route.derive(_differentiate_route)


@derived()
def experts(x: Any, gate_up: Any, down: Any, index: Any, weights: Any) -> Any:
    arrays = {"x": x, "gate_up": gate_up, "down": down, "index": index, "weights": weights}
    return computed(call.experts, like(x), arrays)


def _experts_kept(**given: Any) -> Any:
    made = call.experts_kept(**given)
    return made.out, made.sums, *made.order


def _experts_backward(rows: Any, place: Any, ends: Any, **given: Any) -> Any:
    return backward.experts_backward(order=routing.Sorted(rows, place, ends), **given)


def _keep_experts(x: Any, gate_up: Any, down: Any, index: Any, weights: Any) -> tuple[Any, Any]:
    def results() -> list[Any]:
        (tokens, k), (count, width, _) = index.shape, gate_up.shape
        order = [shaped(shape, "i32") for shape in ((tokens * k,), (tokens, k), (count,))]
        return [like(x), shaped((tokens * k, width), x.dtype), *order]

    arrays = {"x": x, "gate_up": gate_up, "down": down, "index": index, "weights": weights}
    out, *kept = computed(_experts_kept, results, arrays, copies=True)
    return out, (x, gate_up, down, weights, index, kept)


def _differentiate_experts(kept: tuple[Any, ...], gradient: Any) -> tuple[Any, ...]:
    x, gate_up, down, weights, index, (sums, *order) = kept
    arrays = {"gradient": gradient, "x": x, "gate_up": gate_up, "down": down, "weights": weights, "sums": sums}
    arrays |= dict(zip(("rows", "place", "ends"), order, strict=True))
    results = [like(x), like(gate_up), like(down), shaped(weights.shape)]
    *found, of_weights = computed(_experts_backward, results, arrays, copies=True)
    return *found, no_gradient(index), of_weights.astype(weights.dtype)


experts.defvjp(_keep_experts, _differentiate_experts)


# What has no derivative.


def scaled_experts(
    x: Any, gate_up: Any, gate_up_scale: Any, down: Any, down_scale: Any, index: Any, weights: Any
) -> Any:  # fmt: skip
    arrays = {"x": x, "gate_up": gate_up, "gate_up_scale": gate_up_scale, "down": down, "down_scale": down_scale}
    return computed(fp8.scaled_experts, like(x), arrays | {"index": index, "weights": weights})


def narrow_experts(x: Any, gate_up: Any, down: Any, index: Any, weights: Any, kind: str, *, inner: int) -> Any:
    arrays = {"x": x, "gate_up": gate_up, "down": down, "index": index, "weights": weights}
    return computed(narrow.narrow_experts, like(x), arrays, kind=kind, inner=inner)


def sort(index: Any, experts: int) -> routing.Sorted:
    def results() -> list[Any]:
        return [shaped(shape, "i32") for shape in ((index.size,), index.shape, (experts,))]

    return routing.Sorted(*computed(routing.sort, results, {"index": index}, copies=True, experts=experts))
