"""`accelerate`: change those layers of a model that are known, and name the others.

In    a model of `transformers` (any `nn.Module`)
Out   the same object, whose known layers now have subclasses of their old classes; and a `Report`

A layer is recognised by its code: its `forward` equals Llama's or Qwen's, and so do the functions that it calls. Many
architectures have layers with equal code under other class names. A layer that differs, such as by a clip or a scale,
is left unchanged and named.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.models.gemma import modeling_gemma
from transformers.models.gemma2 import modeling_gemma2
from transformers.models.gemma3 import modeling_gemma3
from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.llama import modeling_llama
from transformers.models.mistral import modeling_mistral
from transformers.models.mixtral import modeling_mixtral
from transformers.models.olmo2 import modeling_olmo2
from transformers.models.olmo3 import modeling_olmo3
from transformers.models.phi import modeling_phi
from transformers.models.phi3 import modeling_phi3
from transformers.models.qwen2 import modeling_qwen2
from transformers.models.qwen3 import modeling_qwen3
from transformers.models.qwen3_moe import modeling_qwen3_moe
from transformers.models.t5 import modeling_t5
from transformers.pytorch_utils import Conv1D

from cutelite.models import attention, calls, dense, experts, layers, loss, masks, mlps, norms, routers


@dataclass(frozen=True)
class Known:
    """A kind of layer. like: classes whose `forward` it may equal; by: its new base class; if_: a further condition."""

    name: str
    like: tuple[type, ...]
    by: type
    if_: Callable[[Any], bool] = lambda layer: True


def optional(module: str, name: str) -> tuple[Any, ...]:
    """Return the class of that name of a module that the installed `transformers` may lack; then none."""
    try:
        return (getattr(importlib.import_module(f"transformers.{module}"), name),)
    except ModuleNotFoundError:
        return ()


GEMMA4: tuple[Any, ...] = optional("models.gemma4.modeling_gemma4", "Gemma4RMSNorm")
IN_FP8: tuple[Any, ...] = optional("integrations.finegrained_fp8", "FP8Linear")

KNOWN = (
    Known(
        "norm", (modeling_llama.LlamaRMSNorm, modeling_olmo2.Olmo2RMSNorm, modeling_t5.T5LayerNorm), norms.RMSNorm
    ),
    Known(
        "norm", (modeling_gemma.GemmaRMSNorm,), norms.OffsetRMSNorm,
        lambda layer: normalises_as(layer, modeling_gemma.GemmaRMSNorm),
    ),
    Known(
        "norm", GEMMA4, norms.ScaledRMSNorm, lambda layer: layer.with_scale and normalises_as(layer, *GEMMA4)
    ),
    Known(
        "norm", (nn.LayerNorm,), norms.LayerNorm,
        lambda layer: len(layer.normalized_shape) == 1 and layer.weight is not None,
    ),
    Known(
        "gated MLP", (modeling_llama.LlamaMLP, modeling_qwen3.Qwen3MLP), mlps.GatedMLP,
        lambda layer: mlps.activation_of(layer.act_fn) is not None,
    ),
    Known(
        "gated MLP", (modeling_phi3.Phi3MLP,), mlps.WholeGatedMLP,
        lambda layer: mlps.activation_of(layer.activation_fn) is not None,
    ),
    Known(
        "attention",
        (
            modeling_llama.LlamaAttention, modeling_qwen2.Qwen2Attention, modeling_qwen3.Qwen3Attention,
            modeling_gemma3.Gemma3Attention,
        ),
        attention.Attention,
    ),
    Known("attention", (modeling_mistral.MistralAttention,), attention.WindowedAttention),
    Known("attention", (modeling_gemma2.Gemma2Attention,), attention.CappedAttention),
    Known("attention", (modeling_gpt_oss.GptOssAttention,), attention.SinkAttention),
    Known(
        "attention", (modeling_olmo2.Olmo2Attention, modeling_olmo3.Olmo3Attention), attention.FlatNormAttention
    ),
    Known("attention", (modeling_phi3.Phi3Attention,), attention.WholeAttention),
    Known(
        "decoder layer",
        (
            modeling_llama.LlamaDecoderLayer, modeling_qwen3.Qwen3DecoderLayer,
            modeling_qwen3_moe.Qwen3MoeDecoderLayer, modeling_mixtral.MixtralDecoderLayer,
            modeling_phi3.Phi3DecoderLayer,
        ),
        layers.DecoderLayer,
        lambda layer: isinstance(layer.self_attn, attention.Attention),
    ),
    Known(
        "rotary embedding",
        (
            modeling_llama.LlamaRotaryEmbedding, modeling_qwen2.Qwen2RotaryEmbedding,
            modeling_qwen3.Qwen3RotaryEmbedding, modeling_mistral.MistralRotaryEmbedding,
        ),
        layers.Rotary, layers.keeps_frequencies,
    ),
    Known("router", (modeling_qwen3_moe.Qwen3MoeTopKRouter,), routers.Router),
    Known("router", (modeling_mixtral.MixtralTopKRouter,), routers.MixtralRouter),
    Known("dense layer", (nn.Linear,), dense.Linear),
    Known("dense layer", (Conv1D,), dense.TurnedLinear),
    Known("dense layer in fp8", IN_FP8, dense.ScaledLinear, dense.in_blocks),
    Known(
        "embedding", (nn.Embedding,), layers.Embedding,
        lambda layer: layer.max_norm is None and not (layer.scale_grad_by_freq or layer.sparse),
    ),
    Known(
        "mask",
        (
            modeling_llama.LlamaModel, modeling_qwen2.Qwen2Model, modeling_qwen3.Qwen3Model,
            modeling_qwen3_moe.Qwen3MoeModel, modeling_mistral.MistralModel, modeling_gemma.GemmaModel,
            modeling_gemma2.Gemma2Model, modeling_gemma3.Gemma3TextModel, modeling_olmo3.Olmo3Model,
            modeling_phi.PhiModel,
        ),
        attention.Backbone, lambda model: attention.sees_windows(model) and attention.sees_the_past(model),
    ),
    Known("loss", (modeling_llama.LlamaForCausalLM, modeling_qwen3.Qwen3ForCausalLM), loss.CausalLM),
    Known("loss", (modeling_qwen3_moe.Qwen3MoeForCausalLM,), loss.MoeCausalLM),
)  # fmt: skip


NAMED = "Attention", "MLP", "Mlp", "DecoderLayer", "Block", "Experts", "Router"
"""Suffixes of class names that a report lists if left unchanged, though the layers have no parameters themselves."""


@dataclass
class Report:
    """The changes of `accelerate`: names of changed modules by kind of layer, and of unchanged ones by reason.

    notes   what else is to be known, in sentences
    """

    changed: dict[str, list[str]] = field(default_factory=dict)
    left: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{kind}: {len(names)}" for kind, names in self.changed.items()] or ["nothing is left to change"]
        lines += [f"left, {why}: {len(names)}, as {names[0]}" for why, names in self.left.items()]
        return "\n".join([*lines, *self.notes])


def accelerate(model: nn.Module) -> Report:
    """Change a model, in place, to compute with cutelite's kernels.

    model   a model of `transformers`. Its `state_dict` keeps its names; weights that share an input are moved next to
            each other in memory. Forward, backward, generation and `torch.compile` work as before
    Result  a `Report` of the layers that were changed and those that were not. `restore` undoes the changes
    Errors  TypeError for what is no model, such as the name of one
    """
    check_model("accelerate", model)
    report = Report()
    for name, layer in inner_first(model):
        known = next((known for known in KNOWN if is_like(layer, known.like) and known.if_(layer)), None)
        if known is not None and known.by not in type(layer).__mro__:
            layer.__class__ = subclass(known.by, layer.__class__)
            report.changed.setdefault(known.name, []).append(name)
        elif (
            known is None
            and not any(experts.known(each) for each in (layer, *layer.children()))
            and type(layer).forward is not nn.Module.forward
            and (list(layer.parameters(recurse=False)) or type(layer).__name__.endswith(NAMED))
        ):
            report.left.setdefault(f"unknown {type(layer).__name__}", []).append(name)
        if isinstance(layer, dense.Joined):
            layer.join()
        if isinstance(layer, nn.ModuleList):
            layers.chain(layer)
        if isinstance(layer, attention.Backbone):
            for each in layer.layers:
                each.direct = True
    if isinstance(model, PreTrainedModel) and not isinstance(model, calls.Whole):
        model.__class__ = subclass(calls.Whole, model.__class__)
    if hasattr(model, "set_attn_implementation"):
        attention.register()
        remember(model, "attn", attention.NAME)
        model.set_attn_implementation(attention_names(model))
    if hasattr(model, "set_experts_implementation") and experts.register():
        found = [(name, layer) for name, layer in inner_first(model) if experts.known(layer)]
        for name, layer in found:
            if experts.is_plain(layer) or experts.is_scaled(layer):
                kind = "experts in fp8" if experts.is_scaled(layer) else "experts"
                report.changed.setdefault(kind, []).append(name)
            else:
                report.left.setdefault(f"unknown {type(layer).__name__}", []).append(name)
        if found:
            remember(model, "experts", experts.NAME)
            model.set_experts_implementation(experts.NAME)
    report.notes += notes(model, report)
    return report


def attention_names(model: Any) -> str | dict[str, str]:
    """Return the attention of a model and its parts: ours, but where layers compute with masks (`masks.passes_on`)."""
    own = [layer for layer in model.modules() if not masks.passes_on(type(layer).forward)]
    if not own:
        return attention.NAME
    parts = {"": model.config} | {key: getattr(model.config, key, None) for key in model.config.sub_configs}
    kept = [next((key for key, part in parts.items() if part is getattr(x, "config", None)), None) for x in own]
    return {
        key: part._attn_implementation if key in kept or None in kept else attention.NAME
        for key, part in parts.items()
        if part is not None
    }


def check_model(function: str, model: Any) -> None:
    """Errors: TypeError for what is no model."""
    if not isinstance(model, nn.Module):
        what = f"the class {model.__name__}" if isinstance(model, type) else f"{type(model).__name__} {model!r:.60}"
        raise TypeError(f"{function} takes a model, as AutoModelForCausalLM.from_pretrained(...) gives it, not {what}")


def notes(model: nn.Module, report: Report) -> Iterator[str]:
    """Yield what a user should know besides what was changed and left."""
    if any(why.endswith("Attention") for why in report.left) and asks_by_name(model):
        yield "layers of unknown attention call cutelite's kernel too, where they have no dropout and no mask of yours"
    own = sorted({type(x).__name__ for x in model.modules() if not masks.passes_on(type(x).forward)})
    if own:
        yield f"attention of {' and '.join(own)} computes with its mask, and is as it was"
    products = (x for x in model.modules() if isinstance(x, dense.Linear | dense.TurnedLinear))
    wide = sorted({str(x.weight.dtype) for x in products if x.weight.dtype in (torch.float32, torch.float64)})
    if wide:
        yield f"dense layers and attention of {' and '.join(wide)} are torch's: the kernels take bfloat16 and float16"
    mixed = [x.gate_up_proj for x in model.modules() if experts.known(x) and experts.is_plain(x)]
    taken = [x for x in mixed if x.dtype == torch.bfloat16]
    other = sorted({str(x.dtype) for x in mixed} - {"torch.bfloat16"})
    if other:
        yield f"experts of {' and '.join(other)} are torch's: the kernels take bfloat16"
    odd = sorted({n for x in taken for n in (x.shape[2], x.shape[1] // 2) if n * x.element_size() % 16})
    if odd:
        yield f"experts of {' and '.join(map(str, odd))} columns are the model's own: the kernels take multiples of 8"


def asks_by_name(model: Any) -> bool:
    """Tell whether the model looks up its attention by the name that it was given."""
    return getattr(getattr(model, "config", None), "_attn_implementation", None) == attention.NAME


def remember(model: Any, what: str, ours: str) -> None:
    """Keep for `restore` the names of the attention or the experts of a model and its parts, unless they are `ours`."""
    config, name = model.config, f"_{what}_implementation"
    parts = {key: getattr(config, key, None) for key in config.sub_configs}
    if getattr(config, name) != ours:
        names = {key: getattr(part, name) for key, part in parts.items() if part is not None}
        setattr(model, f"{name}_before_cutelite", {"": getattr(config, name), **names})


def restore(model: nn.Module) -> None:
    """Give a model its old layers, and its old attention and experts again. Weights stay where they are in memory."""
    check_model("restore", model)
    for _, layer in inner_first(model):
        for name in "following", "direct", "prepared", "lasting":
            layer.__dict__.pop(name, None)
        layer.__class__ = restored(type(layer))
        for what in "attn", "experts":
            names = layer.__dict__.pop(f"_{what}_implementation_before_cutelite", None)
            if names is not None:
                getattr(layer, f"set_{what}_implementation")(names)
    if asks_by_name(model):  # a part of what was changed
        model.set_attn_implementation("sdpa")


def restored(kind: type) -> type:
    """Return the class of a layer before it was changed; of one derived from ours later, such as by torch's
    `parametrize` and `fully_shard`, an equal one that is derived from the layer's old class."""
    if "_before_cutelite" in vars(kind) or not hasattr(kind, "_before_cutelite"):
        return getattr(kind, "_before_cutelite", kind)
    space = {name: value for name, value in vars(kind).items() if name not in ("__dict__", "__weakref__")}
    return type(kind)(kind.__name__, tuple(map(restored, kind.__bases__)), space)


def inner_first(model: nn.Module) -> Iterator[tuple[str, Any]]:
    """Yield all modules with their names, each after the modules inside it."""
    yield from reversed(list(model.named_modules()))


@cache
def subclass(by: Any, of: Any) -> type:
    """Return a subclass of `by` and `of` that computes as `by` does; its `forward` has the signature of `of`'s."""

    @functools.wraps(of.forward)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return by.forward(self, *args, **kwargs)

    before, added = getattr(of, "_before_cutelite", of), (*getattr(of, "_by_cutelite", ()), by)

    def reduced(self: Any, protocol: Any) -> tuple[Any, ...]:
        return remade, (before, added), self.__getstate__()

    space = {"_before_cutelite": before, "_by_cutelite": added, "__module__": of.__module__, "__reduce_ex__": reduced}
    return type(of.__name__, (by, of), space | {"forward": forward})


def remade(of: Any, added: tuple[Any, ...]) -> Any:
    """Return an object for `pickle` and `copy` to fill, of the class that `accelerate` gave a layer of class `of`.

    added  the base classes that it gained, the first one first
    """
    attention.register()  # in a process that has accelerated no model yet
    experts.register()
    kind = functools.reduce(lambda made, by: subclass(by, made), added, of)
    return kind.__new__(kind)


def is_like(layer: Any, classes: tuple[type, ...]) -> bool:
    """Tell whether the layer's `forward` has the same code as that of one of the classes."""
    return any(same(type(layer).forward, of.forward) for of in classes)  # type: ignore[attr-defined]


def normalises_as(norm: Any, *classes: Any) -> bool:
    """Tell whether the method that a norm of Gemma's calls has the same code as that of one of the classes."""
    return any(same(type(norm)._norm, of._norm) for of in classes)


@cache
def same(one: Any, other: Any) -> bool:
    """Tell whether two functions have equal code, and call Python functions by name that do too."""
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
    """Tell whether two code objects are equal, apart from their names, source places and docstrings."""
    if (one.co_code, one.co_names, one.co_varnames) != (other.co_code, other.co_names, other.co_varnames):
        return False
    constants = list(zip(one.co_consts, other.co_consts, strict=False))
    return len(one.co_consts) == len(other.co_consts) and all(
        same_code(a, b) if isinstance(a, CodeType) and isinstance(b, CodeType) else a == b or isinstance(a, str)
        for a, b in constants
    )
