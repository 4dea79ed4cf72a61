"""Layers of a model on cutelite's kernels: each class overrides the layer's own, and uses its parameters.

If the kernels do not support a call (a dtype, a hook in between), the layer's own code is called.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules import module
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from torch.utils.weak import WeakTensorKeyDictionary

from cutelite.kernels.attention.operators import wants_gradient
from cutelite.kernels.gemm.normed import fits as normed_fits
from cutelite.kernels.moe.operators import route
from cutelite.kernels.rows.operators import norm_backward, norm_forward
from cutelite.kernels.rows.operators_elements import gated_halves, rope_tables
from cutelite.models.operators import beside, gated_linear, gated_mlp, linear, lookup, normed_linear, summed_linear
from cutelite.models.sums import entered, gathered, summed

TYPES = torch.bfloat16, torch.float16
"""Dtypes that the GEMMs take."""
KINDS = *TYPES, torch.float32
"""Dtypes that kernels on rows take: norms, rotary embedding, activations."""
FEW = 64
"""The most rows, those of a tile, whose norms are computed by the GEMMs beside them."""


class Linear:
    """A dense layer as `torch.ops.cutelite.linear`, in bf16 and f16.

    entered_from   the processes that each compute a part of the results (`models.parallel`), or None
    summed_over    the processes that each have a part of the weight's columns: their results are added up
    gathered_over  the processes whose parts of the results are concatenated
    adds           whether this process adds bias and residual to the sum
    """

    weight: Tensor
    bias: Tensor | None
    entered_from: Any = None
    summed_over: Any = None
    gathered_over: Any = None
    adds: bool = True

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x @ weight.T + bias``."""
        return gathered(own(self, entered(x, self.entered_from), None), self.gathered_over)


class TurnedLinear:
    """GPT-2's dense layer, whose weight is (inputs, outputs)."""

    weight: Tensor
    bias: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x @ weight + bias``."""
        return linear(x, [self.weight.T], self.bias) if taken(x, self.weight) else super().forward(x)  # type: ignore[misc]


class Embedding:
    """An embedding: rows of a table. Its gradient is bitwise the same in every run."""

    weight: Tensor
    padding_idx: int | None

    def forward(self, input: Tensor) -> Tensor:
        """Return the rows that `input` names."""
        if self.weight.dtype in KINDS and wants_gradient(self.weight):
            return lookup(self.weight, input, -1 if self.padding_idx is None else self.padding_idx)
        return super().forward(input)  # type: ignore[misc]


class RMSNorm:
    """RMSNorm of rows: a row is read once, whatever its length."""

    weight: Tensor
    offset: float = 0.0
    """Added to the weight."""

    @property
    def epsilon(self) -> float:
        """The number added to the mean of squares."""
        return float(self.variance_epsilon)  # type: ignore[attr-defined]

    def forward(self, hidden_states: Tensor) -> Tensor:
        """Return ``x / sqrt(mean(x ** 2) + epsilon) * (offset + weight)``, computed in f32."""
        if hidden_states.dtype not in KINDS or self.weight.dtype != hidden_states.dtype:
            return super().forward(hidden_states)  # type: ignore[misc]
        result: Tensor = norm_forward(hidden_states, self.weight, None, None, self.epsilon, self.offset, False)[0]
        return result


class OffsetRMSNorm(RMSNorm):
    """RMSNorm whose weight is stored as what differs from 1, as Gemma has it."""

    offset = 1.0

    @property
    def epsilon(self) -> float:
        return float(self.eps)  # type: ignore[attr-defined]

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)


class LayerNorm:
    """LayerNorm of rows, of which each is read once."""

    weight: Tensor
    bias: Tensor | None
    eps: float

    def forward(self, input: Tensor) -> Tensor:
        """Return ``(x - mean) / sqrt(variance + eps) * weight + bias``, computed in f32."""
        kinds = {each.dtype for each in (input, self.weight, self.bias) if each is not None}
        if input.dtype not in KINDS or len(kinds) > 1:
            return super().forward(input)  # type: ignore[misc]
        result: Tensor = norm_forward(input, self.weight, self.bias, None, self.eps, 0.0, True)[0]
        return result


class Rotary:
    """The tables of rotary embedding, in one kernel."""

    inv_freq: Tensor
    attention_scaling: float

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return the tables as the layer's own code does: cosines and sines."""
        if x.dtype not in KINDS:
            return super().forward(x, position_ids)  # type: ignore[misc,no-any-return]
        frequencies = self.inv_freq.to(device=x.device, dtype=torch.float32)
        tables: tuple[Tensor, Tensor] = rope_tables(position_ids, frequencies, x.dtype, float(self.attention_scaling))
        return tables


def keeps_frequencies(rotary: Any) -> bool:
    """Tell whether the frequencies of a rotary embedding are the same for sequences of any length."""
    return "dynamic" not in rotary.rope_type and rotary.rope_type != "longrope"


class Joined:
    """A layer that keeps weights with the same input next to each other in memory, so that one GEMM multiplies them.

    parts   the names of their layers
    """

    parts: tuple[str, ...]

    def join(self) -> None:
        """Move the weights next to each other, where they are not and the GEMMs take them."""
        dense = [getattr(self, name) for name in self.parts]
        if all(isinstance(part, Linear) and taken(part.weight) for part in dense):
            beside([part.weight for part in dense])

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        """Convert as `nn.Module` does for `to`, `cuda` and `half`: it makes a new tensor of each weight."""
        self = super()._apply(*args, **kwargs)  # type: ignore[misc]
        self.join()
        return self

    def __setstate__(self, state: Any) -> None:
        """Be filled by `copy.deepcopy`, which copies each weight, or `pickle`."""
        super().__setstate__(state)  # type: ignore[misc]
        self.join()


class GatedMLP(Joined):
    """``down(activation(gate(x)) * up(x))``: gate and up in one GEMM if their weights lie next to each other."""

    parts = "gate_proj", "up_proj"
    act_fn: Any
    gate_proj: Any
    up_proj: Any
    down_proj: Any

    def forward(self, x: Tensor) -> Tensor:
        """Compute as the layer's own."""
        return self.added(x, None)

    def of_sum(self, x: Normed, residual: Tensor, following: Any) -> Tensor:
        """Return the same of a norm that is not computed yet, for which `takes` is true. The result is `held_for`
        the norm `following`, if there is one."""
        inner = normed_linear(
            x.weighted, x.squares, [self.gate_proj.weight, self.up_proj.weight], x.eps, activation_of(self.act_fn) or ""
        )
        if following is None or not sums(self.down_proj, inner, residual, following):
            return project(self.down_proj, inner, residual)
        return sum_and_norm(self.down_proj, inner, residual, following).held()

    def takes(self, x: Tensor) -> bool:
        """Tell whether `of_sum` computes the layer, of the norm of a sum like `x`."""
        if activation_of(self.act_fn) is None or not multiplies_norm([self.gate_proj, self.up_proj], x):
            return False
        return len(self.gate_proj.weight) % 8 == 0

    def added(self, x: Tensor, residual: Tensor | None) -> Tensor:
        """Return ``forward(x) + residual``; the last GEMM adds the residual."""
        gate = activation_of(self.act_fn)
        if x.dtype not in KINDS or gate is None:
            out = super().forward(x)  # type: ignore[misc]
            return out if residual is None else residual + out
        parts = [self.gate_proj, self.up_proj]
        if together(x, parts):  # no gradient is wanted
            return project(self.down_proj, gated_linear(x, [part.weight for part in parts], gate), residual)
        whole = [*parts, self.down_proj]
        if residual is not None and differentiated(x, whole, residual):
            found: Tensor = gated_mlp(x, [part.weight for part in parts], self.down_proj.weight, residual, gate)[0]
            return found
        return project(self.down_proj, gated_halves(projected(x, parts), gate), residual)


class WholeGatedMLP:
    """The same of a layer that has gate and up in one weight, as Phi 3 has."""

    gate_up_proj: Any
    down_proj: Any
    activation_fn: Any

    def forward(self, hidden_states: Tensor) -> Tensor:
        """Compute as the layer's own."""
        gate = activation_of(self.activation_fn)
        if hidden_states.dtype not in KINDS or gate is None:
            out: Tensor = super().forward(hidden_states)  # type: ignore[misc]
            return out
        if together(hidden_states, [self.gate_up_proj]) and len(self.gate_up_proj.weight) % 16 == 0:
            inner = gated_linear(hidden_states, list(self.gate_up_proj.weight.chunk(2)), gate)
        else:
            inner = gated_halves(self.gate_up_proj(hidden_states), gate)
        return project(self.down_proj, inner, None)


def together(x: Tensor, parts: list[Any]) -> bool:
    """Tell whether one GEMM computes gate, up and SwiGLU: without derivatives."""
    if not all(isinstance(part, Linear) and plain(part) and part.bias is None for part in parts):
        return False
    weights = [part.weight for part in parts]
    return taken(x, *weights) and len(weights[0]) % 8 == 0 and not wants_gradient(x, *weights)


def differentiated(x: Tensor, parts: list[Any], residual: Tensor) -> bool:
    """Tell whether these layers of one process are to be differentiated, and make a product with a gate within."""
    if not all(isinstance(part, Linear) and plain(part) and part.bias is None for part in parts):
        return False
    weights = [part.weight for part in parts]
    alone = all(part.entered_from is None and part.summed_over is None for part in parts)
    return alone and taken(x, *weights, residual) and wants_gradient(x, *weights)


class Router:
    """The choice of experts: a dense layer, then softmax and the choice of the best in one kernel."""

    weight: Tensor
    top_k: int
    num_experts: int
    hidden_dim: int
    norm_topk_prob: bool

    def logits(self, hidden_states: Tensor) -> Tensor:
        """Return the score of each expert, for each token."""
        x = hidden_states.reshape(-1, self.hidden_dim)
        return linear(x, [self.weight]) if taken(x, self.weight) else nn.functional.linear(x, self.weight)

    def forward(self, hidden_states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, the weights of each token's experts, and the experts."""
        logits = self.logits(hidden_states)
        weights, index = route(logits, self.top_k, self.norm_topk_prob)
        return logits, weights.to(logits.dtype), index


class MixtralRouter(Router):
    """`Router` with weights in f32, whose sum is 1."""

    def forward(self, hidden_states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the same."""
        logits = self.logits(hidden_states)
        return logits, *route(logits, self.top_k, True)


class DecoderLayer:
    """A decoder layer. The last GEMMs of attention and of the MLP add its residuals."""

    self_attn: Any
    mlp: Any
    input_layernorm: Any
    post_attention_layernorm: Any

    following: tuple[Any, ...] = ()
    """The norm that the next layer begins with, if there is one: in a tuple, so that it is no module of this layer."""

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Compute as the layer's own."""
        attention, mlp, norm = self.self_attn, self.mlp, self.post_attention_layernorm
        adds, gated = plain(attention) and plain(attention.o_proj), isinstance(mlp, GatedMLP) and plain(mlp)
        found = held_for(self.input_layernorm, hidden_states) if adds else None
        if found is not None and multiplies_norm([getattr(attention, name) for name in attention.parts], hidden_states):
            normed, kwargs["norm"] = found.weighted, found
        else:
            normed, hidden_states = normed_beside(self.input_layernorm, hidden_states)
        if not adds:
            hidden_states = hidden_states + attention(normed, *args, **kwargs)[0]
        else:
            kwargs["residual"] = hidden_states
            if gated and mlp.takes(hidden_states):
                kwargs["following"] = norm
            hidden_states, _ = attention(normed, *args, **kwargs)
        if isinstance(hidden_states, Summed):
            return mlp.of_sum(hidden_states.normed, hidden_states.total, *self.following[:1] or (None,))
        normed, hidden_states = normed_beside(norm, hidden_states)
        return mlp.added(normed, hidden_states) if gated else hidden_states + mlp(normed)


def chain(layers: Any) -> None:
    """Tell each decoder layer of a list which norm follows it."""
    for layer, behind in pairwise(layers):
        if isinstance(layer, DecoderLayer) and isinstance(behind, DecoderLayer):
            layer.following = (behind.input_layernorm,)


class Normed(NamedTuple):
    """The RMSNorm of a sum, of few rows, for a GEMM to multiply: `kernels.gemm.normed`."""

    weighted: Tensor
    squares: Tensor
    eps: float


class Summed(NamedTuple):
    """A sum, and its norm by the layer `norm`."""

    total: Tensor
    normed: Normed
    norm: Any

    def held(self) -> Tensor:
        """Return the sum. `held_for` finds its norm as long as it lives, if the sum can tell of changes."""
        if not (torch.compiler.is_compiling() or self.total.is_inference()):
            PREPARED[self.total] = self.total._version, self.norm, self.normed
        return self.total


PREPARED = WeakTensorKeyDictionary()
"""Results of layers -> their version, the norm behind them, and what there is of that. Nothing is put on the tensors
themselves: their users may save them."""


def held_for(norm: Any, x: Tensor) -> Normed | None:
    """Return the norm of x by the layer `norm`, if the layer before has prepared it and x was not changed since."""
    if torch.compiler.is_compiling() or x not in PREPARED:
        return None
    version, by, normed = PREPARED[x]
    return normed if by is norm and plain(norm) and version == x._version else None


def multiplies_norm(layers: list[Any], x: Tensor) -> bool:
    """Tell whether one GEMM multiplies the norm of a sum like x by the weights of dense layers."""
    whole = all(isinstance(layer, Linear) and plain(layer) and layer.bias is None for layer in layers)
    alone = whole and all(layer.entered_from is None and layer.gathered_over is None for layer in layers)
    return alone and few_rows(x, [layer.weight for layer in layers])


def sums(layer: Any, x: Tensor, residual: Tensor, norm: Any) -> bool:
    """Tell whether `sum_and_norm` computes the result of a dense layer."""
    fits = isinstance(layer, Linear) and plain(layer) and layer.bias is None and layer.summed_over is None
    fits = fits and isinstance(norm, RMSNorm) and plain(norm) and norm.weight.dtype == residual.dtype
    return fits and few_rows(residual, [layer.weight, x]) and residual.is_contiguous()


def few_rows(x: Tensor, others: list[Tensor]) -> bool:
    """Tell whether the rows of x are few, bf16, and without derivatives: `kernels.gemm.normed` takes them."""
    fits = x.dtype == torch.bfloat16 and taken(x, *others) and normed_fits(x.shape[-1])
    return fits and 0 < x.numel() <= FEW * x.shape[-1] and not wants_gradient(x, *others)


def sum_and_norm(layer: Any, x: Tensor, residual: Tensor, norm: Any) -> Summed:
    """Return the result of a dense layer plus `residual`, and the norm of that."""
    total, weighted, squares = summed_linear(x, layer.weight, residual, norm.weight, norm.offset)
    return Summed(total, Normed(weighted, squares, norm.epsilon), norm)


def taken(*tensors: Tensor) -> bool:
    """Tell whether the GEMMs take these tensors: all bf16 or all f16, and no wrappers such as quantised tensors."""
    alike = tensors[0].dtype in TYPES and all(tensor.dtype == tensors[0].dtype for tensor in tensors)
    return alike and not any(is_traceable_wrapper_subclass(tensor) for tensor in tensors)


def activation_of(function: Any) -> str | None:
    """Return the name in `kernels.rows.gates` of an activation of `transformers` or torch; None for others."""
    name = type(function).__name__
    if name == "GELU":
        name += f" {function.approximate}"
    return ACTIVATIONS.get(name)


ACTIVATIONS = {
    "SiLU": "silu", "SiLUActivation": "silu", "ReLU": "relu", "GELU none": "gelu", "GELU tanh": "gelu_tanh",
    "GELUActivation": "gelu", "GELUTanh": "gelu_tanh", "PytorchGELUTanh": "gelu_tanh", "NewGELUActivation": "gelu_tanh",
}  # fmt: skip
"""Names of their classes, with the approximation for torch's GELU -> names of activations."""


HOOKS = {
    "_forward_hooks": "_global_forward_hooks", "_forward_pre_hooks": "_global_forward_pre_hooks",
    "_backward_hooks": "_global_backward_hooks", "_backward_pre_hooks": "_global_backward_pre_hooks",
}  # fmt: skip
"""The names under which torch keeps the hooks of a layer, and those of all layers."""


def plain(layer: Any) -> bool:
    """Tell whether a call of the layer just calls its class's `forward`, without hooks or a replacement."""
    return "forward" not in layer.__dict__ and not any(
        getattr(layer, name) or getattr(module, name_of_all) for name, name_of_all in HOOKS.items()
    )


class Beside(torch.autograd.Function):  # type: ignore[misc]
    """RMSNorm over the last mode, which also returns its input unchanged."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float, offset: float) -> tuple[Tensor, Tensor]:
        result, _, _, rstd = norm_forward(x, weight, None, None, eps, offset, False)
        ctx.offset = offset
        ctx.save_for_backward(x, weight, rstd)
        return result, x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, of_x: Tensor) -> tuple[Any, ...]:
        x, weight, rstd = ctx.saved_tensors
        given = gradient.contiguous(), x, weight, None, rstd, of_x.contiguous()
        return *norm_backward(*given, False, ctx.offset)[:2], None, None


def normed_beside(norm: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the norm of x, and x for a residual branch: the norm's backward kernel adds the gradients of both."""
    fits = isinstance(norm, RMSNorm) and plain(norm) and x.dtype in KINDS and norm.weight.dtype == x.dtype
    if fits and wants_gradient(x) and wants_gradient(norm.weight):
        result: tuple[Tensor, Tensor] = Beside.apply(x, norm.weight, norm.epsilon, norm.offset)
        return result
    return norm(x), x


def projected(x: Tensor, layers: list[Any]) -> Tensor:
    """Return the results of dense layers for the same input, concatenated along the last mode."""
    if all(isinstance(layer, Linear) and plain(layer) for layer in layers):
        weights, biases = [layer.weight for layer in layers], [layer.bias for layer in layers]
        none = [bias is None for bias in biases]
        if taken(x, *weights) and len(set(none)) == 1:
            bias = None if none[0] else torch.cat(biases)
            return linear(entered(x, layers[0].entered_from), weights, bias)
    return torch.cat([layer(x) for layer in layers], -1)


def projected_norm(norm: Normed, layers: list[Any]) -> Tensor:
    """Return the same of a norm that is not computed yet."""
    return normed_linear(norm.weighted, norm.squares, [layer.weight for layer in layers], norm.eps, "")


def project(layer: Any, x: Tensor, residual: Tensor | None) -> Tensor:
    """Return the result of a dense layer on `x`, plus `residual`."""
    if not (isinstance(layer, Linear) and plain(layer)):
        return layer(x) if residual is None else residual + layer(x)
    return own(layer, x, residual)


def own(layer: Any, x: Tensor, residual: Tensor | None) -> Tensor:
    """Return the same for a `Linear` without hooks, whose `forward` is not called."""
    if layer.summed_over is not None:
        return added_up(layer, x, residual)
    return multiplied(x, layer.weight, layer.bias, residual)


def added_up(layer: Any, x: Tensor, residual: Tensor | None) -> Tensor:
    """Return the same for a layer whose columns are split: with gradients, each process adds the residual itself."""
    later = residual is not None and wants_gradient(x, layer.weight, residual)
    mine = (layer.bias, None if later else residual) if layer.adds else (None, None)
    out = summed(multiplied(x, layer.weight, *mine), layer.summed_over)
    return out + residual if residual is not None and later else out


def multiplied(x: Tensor, weight: Tensor, bias: Tensor | None, add: Tensor | None) -> Tensor:
    """Return ``x @ weight.T + bias + add``, computed by torch if the GEMM does not take them."""
    if taken(x, weight, *([] if add is None else [add])):
        return linear(x, [weight], bias, add)
    out = nn.functional.linear(x, weight, bias)
    return out if add is None else out + add
