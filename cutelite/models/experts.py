"""Experts of a mixture: two grouped GEMMs over the tokens sorted by expert, called by `transformers`.

Any model whose experts have their weights as `transformers` arranges them, gate and up in one matrix, uses this by the
name in its configuration. Only the device knows how many tokens an expert has; the host does not wait for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers.integrations import finegrained_fp8, moe

from cutelite.kernels.arguments import needs_gradient
from cutelite.kernels.gemm.fp8_configs import BLOCK
from cutelite.kernels.moe.operators import experts, scaled_experts
from cutelite.models.mlps import activation_of
from cutelite.models.sums import entered, summed

NAME = "cutelite"
"""The name of these experts in `transformers`."""
FEW = 64
"""The most tokens for which experts of other dtypes are a product for each token, as `transformers` has it where it
decodes. More are grouped, for which torch asks the GPU where groups end: no CUDA graph can have that."""
OTHERWISE = ("has_bias", "is_transposed", "has_post_expert_norm", "_is_expert_parallel")
"""Attributes of layers with features that the grouped GEMMs do not have."""


def forward(layer: Any, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
    """Return the weighted sum of the results of each token's experts, (tokens, hidden).

    hidden_states  (tokens, hidden)
    top_k_index    (tokens, k): the experts of each token; `top_k_weights`: their weights
    """
    group = getattr(layer, "summed_over", None)
    hidden_states, top_k_weights = (entered(x, group) for x in (hidden_states, top_k_weights))
    if fits(layer, hidden_states):
        found = experts(hidden_states, layer.gate_up_proj, layer.down_proj, top_k_index, top_k_weights)
    else:
        found = theirs(layer, hidden_states)(layer, hidden_states, top_k_index, top_k_weights)
    return summed(found, group)


def forward_in_fp8(layer: Any, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
    """Return the same of experts in e4m3 with block scales, if no gradient is wanted; else as transformers does."""
    if hidden_states.dtype != torch.bfloat16 or not is_scaled(layer) or needs_gradient(hidden_states, top_k_weights):
        found: Tensor = finegrained_fp8.fp8_grouped_mm_experts_forward(layer, hidden_states, top_k_index, top_k_weights)
        return found
    matrices = layer.gate_up_proj, layer.gate_up_proj_scale_inv, layer.down_proj, layer.down_proj_scale_inv
    return scaled_experts(hidden_states, *(x.detach() for x in matrices), top_k_index, top_k_weights)


def is_scaled(layer: Any) -> bool:
    """Tell whether experts are of e4m3 with scales as the kernels take them, gated by SiLU alone."""
    scale, down, size = (getattr(layer, name, None) for name in ("down_proj_scale_inv", "down_proj", "block_size"))
    if scale is None or down is None or size is None or not hasattr(layer, "gate_up_proj_scale_inv"):
        return False
    whole = tuple(size) == (BLOCK, BLOCK) and down.shape[1] % 16 == 0 and down.shape[2] % BLOCK == 0
    others = ("gate_softcap", "swiglu_alpha", "swiglu_limit", "limit")
    plain = layer.activation_scheme == "dynamic" and all(getattr(layer, name, None) is None for name in others)
    kinds = (down.dtype, scale.dtype) == (torch.float8_e4m3fn, torch.float32)
    return whole and plain and kinds and activation_of(layer.act_fn) == "silu"


def theirs(layer: Any, x: Tensor) -> Callable[..., Tensor]:
    """Return the function of `transformers` for experts that the grouped GEMMs cannot compute."""
    found: Callable[..., Tensor] = moe.grouped_mm_experts_forward
    if not all(fills_units(p) for p in (x, *layer.parameters()) if p.ndim > 1):
        found = inspect.unwrap(type(layer).forward)  # one expert after the other: torch's groups take no such rows
    elif len(x) <= FEW and x.dtype != torch.bfloat16 and x.device.type != "cpu":
        found = moe.batched_mm_experts_forward
    return found


def fits(layer: Any, x: Tensor) -> bool:
    """Tell whether the grouped GEMMs can compute the layer for `x`: as `is_plain` says, in bf16."""
    return is_plain(layer) and all(
        p.dtype == torch.bfloat16 and fills_units(p) for p in (x, layer.gate_up_proj, layer.down_proj)
    )


def fills_units(x: Tensor) -> bool:
    """Tell whether rows are a multiple of 16 bytes."""
    return bool(x.shape[-1] * x.element_size() % 16 == 0)


def is_plain(layer: Any) -> bool:
    """Tell whether the grouped GEMMs have the layer's function: gated by SiLU, without bias."""
    plain = layer.has_gate and not any(getattr(layer, name, False) for name in OTHERWISE) and is_swiglu(layer)
    return plain and getattr(layer, "down_proj", None) is not None


def is_swiglu(layer: Any) -> bool:
    """Tell whether the layer computes ``silu(gate) * up`` between its GEMMs, with the gate's columns first."""
    gate, known = getattr(type(layer), "_apply_gate", None), getattr(moe, "_default_apply_gate", None)
    if gate is None or gate is not known:  # others need not have an `act_fn`
        return False
    return activation_of(layer.act_fn) == "silu" and getattr(layer, "is_concatenated", True)


def known(layer: Any) -> bool:
    """Tell whether `transformers` lets the layer's function be chosen: experts whose weights are two arrays."""
    return hasattr(type(layer), "_apply_gate") and hasattr(layer, "gate_up_proj")


def register() -> bool:
    """Register the name with `transformers`. Return False if its version has no such names."""
    names = getattr(moe, "ALL_EXPERTS_FUNCTIONS", None)
    in_fp8 = getattr(finegrained_fp8, "ALL_FP8_EXPERTS_FUNCTIONS", None)
    if names is not None:
        names.register(NAME, forward)
    if in_fp8 is not None:  # models of checkpoints in fp8 look the same name up there
        in_fp8.register(NAME, forward_in_fp8)
    return names is not None
