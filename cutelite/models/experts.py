"""Experts of a mixture: two grouped GEMMs over the tokens sorted by expert, as `transformers` calls experts.

Any model whose experts have their weights as `transformers` has them, gate and up in one matrix, gets them by the name
that its configuration has for its experts. Only the device knows how many tokens an expert has; nothing waits for it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from cutelite.interop.torch import custom_op
from cutelite.kernels.gemm import grouped

NAME = "cutelite"
"""Of these experts, among those of `transformers`."""
OTHERWISE = ("has_bias", "is_transposed", "has_post_expert_norm", "_is_expert_parallel")
"""What layers may have besides, and grouped GEMMs do not do."""


@custom_op("cutelite::grouped_gemm", mutates_args=())
def grouped_gemm(a: Tensor, b: Tensor, ends: Tensor) -> Tensor:
    """``a[rows of e] @ b[e].T`` for every expert e, (M, N) bf16. Rows behind the last end are not written.

    a     (M, K) bf16, the rows of each expert one after the other
    b     (E, N, K) bf16
    ends  (E,) i32: where each expert's rows end
    """
    result: Tensor = grouped.gemm(a, b, ends)
    return result


def forward(layer: Any, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
    """Compute what the chosen experts of each token find, weighted and added up.

    hidden_states  (tokens, hidden)
    top_k_index    (tokens, k): the experts of each token; top_k_weights alike
    """
    if not fits(layer, hidden_states, top_k_weights):
        from transformers.integrations.moe import grouped_mm_experts_forward

        own: Tensor = grouped_mm_experts_forward(layer, hidden_states, top_k_index, top_k_weights)
        return own
    tokens, each = top_k_index.shape
    experts, order = torch.sort(top_k_index.reshape(-1), stable=True)
    number = torch.arange(layer.num_experts, device=experts.device)
    ends = torch.searchsorted(experts, number, right=True).to(torch.int32)
    inner = layer._apply_gate(grouped_gemm(hidden_states[order // each], layer.gate_up_proj, ends))
    found = grouped_gemm(inner, layer.down_proj, ends)
    place = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
    weighted = found[place].view(tokens, each, -1) * top_k_weights.unsqueeze(-1)
    return weighted.sum(1).to(hidden_states.dtype)


def fits(layer: Any, x: Tensor, weights: Tensor) -> bool:
    """Tell whether grouped GEMMs do what the layer does: bf16, gated, without bias, nothing to be differentiated."""
    parameters = [getattr(layer, name, None) for name in ("gate_up_proj", "down_proj")]
    plain = layer.has_gate and not any(getattr(layer, name, False) for name in OTHERWISE)
    bf16 = all(p is not None and p.dtype == torch.bfloat16 and p.shape[-1] % 8 == 0 for p in (x, *parameters))
    given = [x, weights, *(p for p in parameters if p is not None)]
    return plain and bf16 and not (torch.is_grad_enabled() and any(p.requires_grad for p in given))


def known(layer: Any) -> bool:
    """Tell whether `transformers` has a choice of functions for the layer: experts whose weights are two arrays."""
    return hasattr(type(layer), "_apply_gate") and hasattr(layer, "gate_up_proj")


def register() -> bool:
    """Make the name known to `transformers`. False for a version that has no such names."""
    try:
        from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS
    except ImportError:
        return False
    ALL_EXPERTS_FUNCTIONS.register(NAME, forward)
    return True
