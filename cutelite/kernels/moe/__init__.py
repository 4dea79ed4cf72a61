"""A mixture of experts on Hopper: routing of tokens, the GEMMs of the experts, and the weighted sums.

call.py      `experts` on arrays, and its reference        operators.py   operators of torch, with derivatives
routing.py   `route`: the best experts of each token; `sort`: the rows of each expert side by side
grouped.py   the GEMMs of all experts: gathered rows, gate and up together       gather.py   their ring of rows
combine.py   weighted sums of a token's results            backward.py, wgrad.py   their derivatives

narrow.py    matrices of weights of 4 bits: MXFP4, integers       fp8.py         fp8 with block scales
on_jax.py    the functions within JAX's transforms

    from cutelite.kernels.moe import experts, route

    weights, index = route(logits, 8)
    y = experts(x, gate_up, down, index, weights)
"""

from cutelite.kernels.moe.backward import Gradients, experts_backward
from cutelite.kernels.moe.call import Kept, experts, experts_kept, reference
from cutelite.kernels.moe.combine import combine
from cutelite.kernels.moe.fp8 import scaled_experts
from cutelite.kernels.moe.narrow import narrow_experts, pack
from cutelite.kernels.moe.routing import Routed, Sorted, route, route_backward, sort

__all__ = [
    "Gradients", "Kept", "Routed", "Sorted", "combine", "experts", "experts_backward", "experts_kept",
    "narrow_experts", "pack", "reference", "route", "route_backward",
    "scaled_experts", "sort",
]  # fmt: skip
