"""`accelerate`: change the layers of a model that are known, name those that are not.

In    a model of `transformers` (any `nn.Module`)
Out   the same object, whose known layers have other classes, subclasses of their own; and a `Report`

A layer is known by its code: its `forward` equals Llama's or Qwen's, and so do the functions that it calls. Many
architectures have layers of equal code under other class names. A layer that differs, by a clip or a scale, is left
alone and named.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from torch import nn
from transformers import PreTrainedModel
from transformers.models.llama import modeling_llama
from transformers.models.mistral import modeling_mistral
from transformers.models.qwen2 import modeling_qwen2
from transformers.models.qwen3 import modeling_qwen3
from transformers.models.qwen3_moe import modeling_qwen3_moe

from cutelite.models import attention, calls, experts, layers, loss
from cutelite.models.operators import beside


@dataclass(frozen=True)
class Known:
    """A kind of layer. like: classes whose `forward` it may have; by: its new base class; if_: a further condition."""

    name: str
    like: tuple[type, ...]
    by: type
    if_: Callable[[Any], bool] = lambda layer: True


KNOWN = (
    Known("norm", (modeling_llama.LlamaRMSNorm,), layers.RMSNorm),
    Known(
        "gated MLP", (modeling_llama.LlamaMLP, modeling_qwen3.Qwen3MLP), layers.GatedMLP,
        lambda layer: layers.is_silu(layer.act_fn),
    ),
    Known(
        "attention",
        (modeling_llama.LlamaAttention, modeling_qwen2.Qwen2Attention, modeling_qwen3.Qwen3Attention),
        attention.Attention,
    ),
    Known("attention", (modeling_mistral.MistralAttention,), attention.WindowedAttention),
    Known(
        "decoder layer",
        (modeling_llama.LlamaDecoderLayer, modeling_qwen3.Qwen3DecoderLayer, modeling_qwen3_moe.Qwen3MoeDecoderLayer),
        layers.DecoderLayer, lambda layer: isinstance(layer.self_attn, attention.Attention),
    ),
    Known("router", (modeling_qwen3_moe.Qwen3MoeTopKRouter,), layers.Router),
    Known("dense layer", (nn.Linear,), layers.Linear),
    Known(
        "embedding", (nn.Embedding,), layers.Embedding,
        lambda layer: layer.max_norm is None and not (layer.scale_grad_by_freq or layer.sparse),
    ),
    Known(
        "mask",
        (
            modeling_llama.LlamaModel, modeling_qwen2.Qwen2Model, modeling_qwen3.Qwen3Model,
            modeling_qwen3_moe.Qwen3MoeModel, modeling_mistral.MistralModel,
        ),
        attention.Backbone, lambda model: attention.sees_windows(model),
    ),
    Known("loss", (modeling_llama.LlamaForCausalLM, modeling_qwen3.Qwen3ForCausalLM), loss.CausalLM),
    Known("loss", (modeling_qwen3_moe.Qwen3MoeForCausalLM,), loss.MoeCausalLM),
)  # fmt: skip


NAMED = "Attention", "MLP", "Mlp", "DecoderLayer", "Block", "Experts", "Router"
"""Endings of names of layers that a report names where they are left, though their parameters are those of others."""


@dataclass
class Report:
    """The changes of `accelerate`: names of modules by the kind of layer they became, and of those left, by reason."""

    changed: dict[str, list[str]] = field(default_factory=dict)
    left: dict[str, list[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{kind}: {len(names)}" for kind, names in self.changed.items()]
        lines += [f"left, {why}: {len(names)}, as {names[0]}" for why, names in self.left.items()]
        return "\n".join(lines)


def accelerate(model: nn.Module) -> Report:
    """Put cutelite's kernels under a model, in place.

    model   of `transformers`: its parameters stay where `state_dict` has them; weights that share an input are moved
            beside each other. Forward, backward, generation, `torch.compile` as before
    Gives   a `Report` of what was changed and what was not. `restore` takes it back
    """
    report = Report()
    for name, layer in inner_first(model):
        known = next((known for known in KNOWN if is_like(layer, known.like) and known.if_(layer)), None)
        if known is not None and known.by not in type(layer).__mro__:
            layer.__class__ = subclass(known.by, layer.__class__)
            report.changed.setdefault(known.name, []).append(name)
        elif (
            known is None
            and not experts.known(layer)
            and type(layer).forward is not nn.Module.forward
            and (list(layer.parameters(recurse=False)) or type(layer).__name__.endswith(NAMED))
        ):
            report.left.setdefault(f"unknown {type(layer).__name__}", []).append(name)
        lay_out(layer)
    if isinstance(model, PreTrainedModel) and not isinstance(model, calls.Whole):
        model.__class__ = subclass(calls.Whole, model.__class__)
    if hasattr(model, "set_attn_implementation"):
        attention.register()
        model.set_attn_implementation(attention.NAME)
    if hasattr(model, "set_experts_implementation") and experts.register():
        for name, layer in inner_first(model):
            if experts.known(layer):
                report.changed.setdefault("experts", []).append(name)
        if "experts" in report.changed:
            model.set_experts_implementation(experts.NAME)
    return report


def restore(model: nn.Module) -> None:
    """Give a model its layers back. Weights stay where they are, and the attention is torch's."""
    for _, layer in inner_first(model):
        layer.__class__ = getattr(type(layer), "_before_cutelite", type(layer))
    if hasattr(model, "set_attn_implementation"):
        model.set_attn_implementation("sdpa")
    if any(experts.known(layer) for _, layer in inner_first(model)):
        model.set_experts_implementation(None)


def inner_first(model: nn.Module) -> Iterator[tuple[str, Any]]:
    """All modules by name, each after those that it has."""
    yield from reversed(list(model.named_modules()))


def lay_out(layer: Any) -> None:
    """Move weights beside each other that one GEMM can multiply."""
    groups = {layers.GatedMLP: ("gate_proj", "up_proj"), attention.Attention: ("q_proj", "k_proj", "v_proj")}
    for kind, names in groups.items():
        parts = [getattr(layer, name) for name in names] if isinstance(layer, kind) else []
        if parts and all(isinstance(part, layers.Linear) and layers.taken(part.weight) for part in parts):
            beside([part.weight for part in parts])


@cache
def subclass(by: Any, of: Any) -> type:
    """The class of a layer of class `of` that does what `by` does, with the signature that it had."""

    @functools.wraps(of.forward)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return by.forward(self, *args, **kwargs)

    space = {"_before_cutelite": of, "__module__": of.__module__, "forward": forward}
    return type(of.__name__, (by, of), space)


def is_like(layer: Any, classes: tuple[type, ...]) -> bool:
    """Tell whether the layer's `forward` has the code of one of these."""
    return any(same(type(layer).forward, of.forward) for of in classes)  # type: ignore[attr-defined]


@cache
def same(one: Any, other: Any) -> bool:
    """Tell whether two functions do the same: their code, and the functions of Python that it calls by name."""
    one, other = inspect.unwrap(one), inspect.unwrap(other)
    if one is other:
        return True
    if not (isinstance(one, FunctionType) and isinstance(other, FunctionType)):
        return False
    if not same_code(one.__code__, other.__code__):
        return False
    pairs = [(one.__globals__.get(name), other.__globals__.get(name)) for name in one.__code__.co_names]
    return all(same(a, b) for a, b in pairs if isinstance(a, FunctionType) and a.__module__ != b.__module__)


def same_code(one: CodeType, other: CodeType) -> bool:
    """Tell whether two code objects are equal but for their names, places and documentation."""
    if (one.co_code, one.co_names, one.co_varnames) != (other.co_code, other.co_names, other.co_varnames):
        return False
    constants = list(zip(one.co_consts, other.co_consts, strict=False))
    return len(one.co_consts) == len(other.co_consts) and all(
        same_code(a, b) if isinstance(a, CodeType) and isinstance(b, CodeType) else a == b or isinstance(a, str)
        for a, b in constants
    )
