"""Layers of a model on cutelite's kernels: each class overrides the layer's own, and uses its parameters.

If the kernels do not support a call (a dtype, a hook in between), the layer's own code is called.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from cutelite.interop.torch import to_be_cast
from cutelite.kernels.arguments import needs_gradient
from cutelite.kernels.rows.operators_elements import rope_tables
from cutelite.models.attention import Attention
from cutelite.models.dense import plain, wrapped
from cutelite.models.mlps import Gated
from cutelite.models.norms import KINDS, normed_beside
from cutelite.models.operators import lookup
from cutelite.models.routers import routed
from cutelite.models.summed import Summed, held_for, multiplies_norm

FEW = 16
"""The most rows that torch's embedding has a kernel of its own for: it takes 6.7 us, and that of 64 rows 2."""


class Embedding:
    """An embedding: rows of a table. Its gradient is bitwise the same in every run."""

    weight: Tensor
    padding_idx: int | None

    def forward(self, input: Tensor) -> Tensor:
        """Return the rows that `input` names."""
        if wrapped(self.weight):
            return super().forward(input)  # type: ignore[misc]
        if needs_gradient(self.weight):
            if self.weight.dtype in KINDS:
                return lookup(self.weight, input, -1 if self.padding_idx is None else self.padding_idx)
        elif not torch.compiler.is_compiling() and input.dtype == torch.int64 and 0 < input.numel() <= FEW:
            wide = self.weight.shape[1]
            return self.weight.gather(0, input.reshape(-1, 1).expand(-1, wide)).view(*input.shape, wide)
        return super().forward(input)  # type: ignore[misc]


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


class DecoderLayer:
    """A decoder layer. The last GEMMs of attention and of the MLP add its residuals."""

    self_attn: Any
    mlp: Any
    input_layernorm: Any
    post_attention_layernorm: Any

    following: tuple[Any, ...] = ()
    """The norm that the next layer begins with, if there is one: in a tuple, so that it is no module of this layer."""
    direct: bool = False
    """The model is known to do nothing with the result but to call the next layer, or a last norm."""

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Compute as the layer's own."""
        if drops(self):
            return super().forward(hidden_states, *args, **kwargs)  # type: ignore[misc]
        attention, mlp, norm = self.self_attn, self.mlp, self.post_attention_layernorm
        adds = isinstance(attention, Attention) and plain(attention) and plain(attention.o_proj)
        gated = isinstance(mlp, Gated) and plain(mlp)
        # what runs ahead of this may make or bring the weights, as that of `fully_shard` and of accelerate does
        kept = not self._forward_pre_hooks and "forward" not in self.__dict__  # type: ignore[attr-defined]
        lasting = kept and not to_be_cast(hidden_states)  # autocast makes weights anew
        behind, found = held_for(self.input_layernorm, hidden_states) if adds and kept else (False, None)
        if found is not None and multiplies_norm([getattr(attention, name) for name in attention.parts], hidden_states):
            normed, kwargs["norm"] = found.weighted, found
        else:
            normed, hidden_states = normed_beside(self.input_layernorm, hidden_states)
        if not adds:
            hidden_states = hidden_states + attention(normed, *args, **kwargs)[0]
        else:
            kwargs |= {"residual": hidden_states, "lasting": lasting, "there": lasting and behind}
            if gated and kept and mlp.takes(hidden_states):
                kwargs["following"] = norm
            hidden_states, _ = attention(normed, *args, **kwargs)
        told = not torch.compiler.is_compiling() or (self.direct and plain(self))
        following, lasting = self.following[0] if self.following and told else None, lasting and adds
        if isinstance(hidden_states, Summed):
            return mlp.of_sum(hidden_states.normed, hidden_states.total, following)
        normed, hidden_states = normed_beside(norm, hidden_states)
        out = mlp.added(normed, hidden_states, lasting) if gated else hidden_states + routed(mlp, normed, lasting)
        known = following is not None and lasting and not torch.is_grad_enabled()
        return Summed(out, None, following).held() if known else out


def drops(layer: Any) -> bool:
    """Tell whether a decoder layer has dropout of what it adds to the residual, as Phi 3's may, or hooks on it."""
    parts = [each for each in layer.children() if isinstance(each, torch.nn.Dropout)]
    return any((each.p > 0 and each.training) or not plain(each) for each in parts)


def chain(layers: Any) -> None:
    """Tell each decoder layer of a list which norm follows it."""
    for layer, behind in pairwise(layers):
        if isinstance(layer, DecoderLayer) and isinstance(behind, DecoderLayer):
            layer.following = (behind.input_layernorm,)
            behind.input_layernorm.prepared = None  # else torch compiles again once it has been set
