"""Attention of models: one GEMM for queries, keys and values, rotary embedding, then `cutelite.kernels.attention`.

`transformers` calls attention by a name in the model's configuration. This module registers the name "cutelite", so
other architectures, whose layers are left unchanged, use the kernel too.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface, StaticCache
from transformers.cache_utils import StaticLayer
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from cutelite.kernels.arguments import needs_gradient
from cutelite.kernels.attention.call import attention
from cutelite.kernels.attention.operators import decode
from cutelite.kernels.attention.varlen import attention_varlen
from cutelite.kernels.gemm.appended import fits as appended_fits
from cutelite.kernels.gemm.rotated import fits as rotated_fits
from cutelite.kernels.rows.operators_elements import rope, rope_append
from cutelite.models.calls import CACHE
from cutelite.models.dense import (
    TYPES,
    Joined,
    Linear,
    alike,
    biases_of,
    lasts,
    plain,
    project,
    projected,
    taken,
    wrapped,
)
from cutelite.models.masks import (
    ALONE,
    FEW,
    FILLED,
    Blocks,
    all_keys,
    documents,
    is_lengths,
    mask,
    of_documents,
    parts_of,
    written_out,
)
from cutelite.models.norms import KINDS, normalised
from cutelite.models.operators import appended_linear, rotated_linear, rotated_linear_backward
from cutelite.models.summed import Normed, projected_norm, sum_and_norm, sums
from cutelite.models.sums import entered

NAME = "cutelite"
"""The name of this attention in `transformers`."""
MOST_DIM = 256
MANY = 256
"""The least rows for which a GEMM also rotates queries and keys: for fewer, several blocks share a tile."""
MOST_TURNED = 128
"""The most elements of a head for which it does: with wider ones it was not timed."""
LEAST = 33
"""The least new tokens that the GEMM of keys and values appends to a cache: of fewer, other tiles are faster."""


def forward(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any,
    dropout: float = 0.0, scaling: float | None = None, is_causal: bool | None = None, **more: Any,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Compute attention, with the arguments that `transformers` passes.

    query, key, value  (B, H, S, D); the number of heads of keys and values divides H
    attention_mask     None; lengths or blocks, as `masks.mask` returns them; or (B, 1, SQ, SK), which torch computes
    s_aux              in `more`: scores of the heads' sinks
    early              in `more`: the promise of `kernels.attention.decode`, for a cache
    output_attentions  in `more`: compute the weights too, by the function "eager" of the module's own file
    Result             (B, SQ, H, D), and the weights or None
    """
    few, many = query.shape[2], key.shape[2]
    sinks, softcap = more.get("s_aux"), more.get("softcap")
    differs = sinks is not None or softcap is not None  # from torch's attention, which has neither
    attention_mask = of_documents(attention_mask, more.get("sliding_window"))
    if isinstance(attention_mask, Blocks):
        # rows that see nothing are 0, as torch's; with sinks or a cap transformers' are not, and may have gradients
        own = more.get("output_attentions") or (differs and needs_gradient(query, key, value))
        if not own and fits(query, key, value, None, dropout, more, causal=False, decoding=False):
            return by_blocks(attention_mask, query, key, value, scaling, softcap, sinks), None
        attention_mask = attention_mask.written_out()
    lengths, starts, window = parts_of(attention_mask, more.get("sliding_window"))
    if is_causal is None or lengths is not None:
        is_causal = lengths is not None or getattr(module, "is_causal", True)
    if more.get("output_attentions") and eager_of(module) is not None:
        if attention_mask is None and is_causal and few > 1:  # of as many keys, or of a static cache that was empty
            lengths = all_keys(query.shape[0], few, query.device)
        seen = attention_mask if lengths is None else written_out(lengths, few, many, window, starts)
        return with_weights(module, query, key, value, seen, dropout=dropout, scaling=scaling, **more)
    rows = 0 if attention_mask is None else attention_mask.shape[1]
    alone = rows == ALONE if starts is not None else attention_mask is None and is_causal and few > 1
    if alone and few < many:
        key, value, many = key[:, :, :few], value[:, :, :few], few  # the filled part of a static cache that was empty
    filled = lengths if rows == FILLED else None
    whole = lengths is not None and (few == many or few > FEW)  # the last query sees all keys, or all of `filled`
    decoding = (few == 1 < many) if lengths is None else not whole
    own = starts is not None and differs and needs_gradient(query, key, value)
    if own or not fits(query, key, value, attention_mask, dropout, more, is_causal, decoding):
        seen = attention_mask
        if lengths is not None:
            bare = few == many and window is None and starts is None
            seen = None if bare else written_out(lengths, few, many, window, starts)
        return by_torch(module, query, key, value, seen, dropout, scaling, is_causal, **more)
    given, left = [x.transpose(1, 2) for x in (query, key, value)], None if window is None else window - 1
    sinks = None if sinks is None else sinks.float()
    if decoding:
        each, first = (None if x is None else x.reshape(-1) for x in (lengths, starts))
        early = lengths is not None and more.get("early", False)  # else the new keys need not be the last ones
        return decode(*given, each, None, sinks, "bottom-right", left, softcap, scaling, first, None, early)[0], None
    how: dict[str, Any] = {"window": (left, None), "scale": scaling, "softcap": softcap, "sinks": sinks}
    if starts is not None:
        return behind(starts.reshape(-1), filled, *given, **how), None
    return attention(*given, causal=is_causal and few > 1, **how), None


def by_blocks(
    mask: Blocks, query: Tensor, key: Tensor, value: Tensor, scale: float | None, softcap: float | None,
    sinks: Tensor | None,
) -> Tensor:  # fmt: skip
    """Compute attention of what a mask sees."""
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    sinks = None if sinks is None else sinks.float()
    return attention(q, k, v, **mask.told, softcap=softcap, scale=scale, sinks=sinks)


def by_torch(
    module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float, scale: float | None,
    causal: bool, **more: Any,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Compute attention by torch's function, or by single operations with sinks or a cap, which that has not."""
    sinks, softcap, few, many = more.get("s_aux"), more.get("softcap"), query.shape[2], key.shape[2]
    if sinks is None and softcap is None:
        return sdpa_attention_forward(  # type: ignore[no-any-return]
            module, query, key, value, mask, dropout, scale, causal, **more
        )
    if mask is None and causal and few > 1:
        mask = written_out(all_keys(query.shape[0], many, query.device), few, many)
    return step_by_step(query, key, value, mask, dropout, scale, sinks, softcap), None


def with_weights(
    module: Any, query: Tensor, key: Tensor, value: Tensor, seen: Tensor | None, **more: Any
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Compute attention and its weights by the function "eager" of the module's file, which adds masks to scores."""
    if seen is not None and seen.dtype == torch.bool:
        seen = torch.where(seen, 0.0, torch.finfo(query.dtype).min).to(query.dtype)
    found: tuple[Tensor, Tensor] = eager_of(module)(module, query, key, value, seen, **more)
    return found


def behind(starts: Tensor, filled: Tensor | None, q: Tensor, k: Tensor, v: Tensor, **how: Any) -> Tensor:
    """Return causal attention of sequences, (B, S, H, D), that begin at `starts`; 0 for queries before that.

    Each is ragged sequences: keys of padding, which have no queries; queries of padding, without keys; the rest; and,
    behind the `filled` keys of a cache, of which the last query sees all, others without queries.
    """
    (batch, few), many = q.shape[:2], k.shape[1]
    numbers = torch.arange(batch + 1, device=q.device, dtype=torch.int32)
    first = torch.nn.functional.pad(starts, (0, 1))
    last = many if filled is None else torch.nn.functional.pad(filled.reshape(-1), (0, 1))
    row, key = numbers * few, numbers * many
    rows, keys = [row, row, row + (first - (last - few)).clamp(min=0)], [key, key + first, key + first]
    if filled is not None:
        rows, keys = [*rows, row + few], [*keys, key + last]
    ends = (torch.stack(each, 1).flatten()[: 1 - len(each)] for each in (rows, keys))
    out: Tensor = attention_varlen(*(x.flatten(0, 1) for x in (q, k, v)), *ends, causal=True, **how)
    return out.unflatten(0, (batch, few))


def eager_of(layer: Any) -> Any:
    """Return the function "eager" of the file that a layer of attention is from, or None."""
    return getattr(inspect.unwrap(type(layer).forward), "__globals__", {}).get("eager_attention_forward")


def step_by_step(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float, scale: float | None,
    sinks: Tensor | None, softcap: float | None,
) -> Tensor:  # fmt: skip
    """Compute attention with sinks or a cap by single torch operations: neither kernel nor torch's attention can."""
    shared = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(shared, 1) for x in (key, value))
    scores = (query @ key.mT).float() * (query.shape[3] ** -0.5 if scale is None else scale)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if mask is not None:
        least = torch.finfo(scores.dtype).min  # not -inf: a row that sees no key is padding, and must not become NaN
        # added, as transformers does: rows that are padding then have its gradients
        scores = scores + (torch.where(mask, 0.0, least) if mask.dtype == torch.bool else mask)
    if sinks is not None:
        scores = torch.cat([scores, sinks.float()[None, :, None, None].expand(*scores.shape[:3], 1)], -1)
    weights = torch.nn.functional.dropout(scores.softmax(-1), dropout).to(value.dtype)
    return (weights[..., : key.shape[2]] @ value).transpose(1, 2).contiguous()


def fits(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float, more: dict[str, Any], causal: bool,
    decoding: bool,
) -> bool:  # fmt: skip
    """Tell whether the kernels support these arguments."""
    dims, steps = (query.shape[3], value.shape[3]), (x.stride(i) for x in (query, key, value) for i in range(3))
    few, many = query.shape[2], key.shape[2]
    return (
        (is_lengths(mask) or (mask is None and (few == 1 or few == many or not causal)))
        and not dropout
        and query.dtype in TYPES
        and not wrapped(query, key, value)
        and more.get("position_bias") is None
        and more.get("cache") is None
        and all(dim % 8 == 0 and dim <= MOST_DIM for dim in dims)
        and dims[1] <= dims[0]
        and all(step % 8 == 0 for step in steps)
        and not (decoding and needs_gradient(query, key, value))
    )


class Backbone:
    """A model that does not search for masks if only the future is masked.

    `transformers` searches positions and masks of tokens for packed or padded sequences. In a CUDA graph or under
    torch.compile it cannot, and would write out whole masks; under the latter the numbers of documents, which positions
    tell, are the mask. The position of one token behind a static cache is the cache's length as it lies, instead of two
    kernels' result.
    """

    config: Any
    layers: Any

    def forward(self, input_ids: Tensor | None = None, attention_mask: Any = None, **more: Any) -> Any:
        """Call the model's own `forward`, with lengths as the mask if no mask, positions or cache are given."""
        tokens = input_ids if input_ids is not None else more.get("inputs_embeds")
        caches = [more[name] for name in ("past_key_values", "cache") if more.get(name) is not None]
        positions = more.get("position_ids")
        if tokens is None:
            return super().forward(input_ids, attention_mask=attention_mask, **more)  # type: ignore[misc]
        if attention_mask is None and not caches and self.config._attn_implementation == NAME:
            if positions is None:
                attention_mask = all_keys(tokens.shape[0], tokens.shape[1], tokens.device)
            elif torch.compiler.is_compiling() and positions.ndim == 2 and not self.makes_a_cache(**more):
                attention_mask = documents(positions.expand(tokens.shape[0], -1))
        if positions is None:
            place: Any = next((cache.get_seq_length() for cache in caches if type(cache) is StaticCache), None)
            if tokens.shape[1] == 1 and isinstance(place, Tensor) and place.device == tokens.device:
                more["position_ids"] = place.reshape(1, 1)
        return super().forward(input_ids, attention_mask=attention_mask, **more)  # type: ignore[misc]

    def makes_a_cache(self, use_cache: bool | None = None, **_: Any) -> bool:
        """Tell whether a call without a cache makes one; `transformers` takes positions for those of one document."""
        return bool(self.config.use_cache if use_cache is None else use_cache)


def sees_windows(model: Any) -> bool:
    """Tell whether each attention of a model passes its window itself, or the model has no windows."""
    config = model.config
    windows = getattr(config, "sliding_window", None) is not None or "sliding_attention" in (
        getattr(config, "layer_types", None) or ()
    )
    known = (passes_window(x) for x in model.modules() if type(x).__name__.endswith("Attention"))
    return not windows or all(known)


def sees_the_past(model: Any) -> bool:
    """Tell whether tokens of a model see nothing behind them, as one made for embeddings may be configured to."""
    config = model.config
    return getattr(config, "is_causal", True) and not getattr(config, "use_bidirectional_attention", False)


def passes_window(layer: Any) -> bool:
    """Tell whether a layer of attention has its window from its configuration or itself, rather than in the mask."""
    return isinstance(layer, WindowedAttention) or (isinstance(layer, Attention) and hasattr(layer, "sliding_window"))


def register() -> None:
    """Register the name with `transformers`."""
    AttentionInterface.register(NAME, forward)
    AttentionMaskInterface.register(NAME, mask)


class Attention(Joined):
    """Attention of a decoder: one GEMM, rotary embedding, attention, and one GEMM that adds the residual."""

    parts: tuple[str, ...] = ("q_proj", "k_proj", "v_proj")
    flat = False
    """Norms of queries and keys are over all heads, and not of each."""
    half_tables = False
    """Cosines and sines are those of half a head, and not twice the same."""
    config: Any
    head_dim: int
    num_key_value_groups: int
    scaling: float
    layer_idx: int
    o_proj: Any

    @property
    def window(self) -> int | None:
        """The most keys that a query sees, its own included; None: all up to its own."""
        return getattr(self, "sliding_window", None)

    def heads_of_keys(self, columns: int) -> int:
        """Return how many heads are keys', and as many values', of all `columns` of queries, keys and values."""
        return columns // self.head_dim // (self.num_key_value_groups + 2)

    def turns_whole_heads(self, cosines: Tensor) -> bool:
        """Tell whether rotary embedding turns all elements of a head."""
        return int(cosines.shape[-1]) == (self.head_dim // 2 if self.half_tables else self.head_dim)

    def told(self) -> dict[str, Any]:
        """Return what the function of attention is told besides."""
        return {} if self.window is None else {"sliding_window": self.window}

    def forward(
        self, hidden_states: Tensor, position_embeddings: tuple[Tensor, Tensor],
        attention_mask: Tensor | None = None, cache: Any = None, *, past_key_values: Any = None,
        residual: Tensor | None = None, norm: Normed | None = None, following: Any = None, lasting: bool = False,
        there: bool = False, **more: Any,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Compute as the layer's own, and add `residual`. `calls.CACHE` says which name the cache is passed by.

        norm       the norm to compute of, for which `summed.multiplies_norm` is true; `hidden_states` is its `weighted`
        following  a norm that follows: if the last GEMM can prepare it, the result is a `summed.Summed`
        lasting    parameters are complete before attention begins, which waits for all ahead of it
        there      and before the kernel ahead of this one begins, and any that still runs then
        """
        cache = past_key_values if cache is None else cache
        if hidden_states.dtype not in KINDS or not self.turns_whole_heads(position_embeddings[0]):
            named = {CACHE: cache} | more
            out, weights = super().forward(hidden_states, position_embeddings, attention_mask, **named)  # type: ignore[misc]
            return out if residual is None else residual + out, weights
        shape, (q, k, v) = hidden_states.shape[:-1], self.heads(hidden_states, norm, *position_embeddings, cache, there)
        call = eager_of(self) if self.config._attn_implementation == "eager" else interface(self.config)
        dropout = getattr(self, "attention_dropout", 0.0) if self.training else 0.0  # type: ignore[attr-defined]
        more |= self.told() | ({"early": True} if call is forward and self.only_new(cache, k) else {})
        out, weights = call(self, q, k, v, attention_mask, dropout=dropout, scaling=self.scaling, **more)
        out = out.reshape(*shape, -1)
        if following is not None and residual is not None and sums(self.o_proj, out, residual, following):
            return sum_and_norm(self.o_proj, out, residual, following), weights
        return project(self.o_proj, out, residual, lasting), weights

    def only_new(self, cache: Any, keys: Tensor) -> bool:
        """Tell whether keys are a static cache's, where only those of this call were written since the attention of the
        layer before, which has waited for all that came before it."""
        if self.layer_idx == 0 or type(cache) is not StaticCache:
            return False
        layer = cache.layers[self.layer_idx]
        return type(layer) is StaticLayer and layer.keys is keys

    def heads(
        self, x: Tensor, norm: Normed | None, cos: Tensor, sin: Tensor, cache: Any, there: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """Return rotated queries, and keys and values with those of the cache, (B, H, S, D) each."""
        parts = [getattr(self, name) for name in self.parts]
        normed, half = getattr(self, "q_norm", None) is not None, self.head_dim // 2
        cos, sin = cos[..., :half], sin[..., :half]  # second halves are the same
        held = None if normed else fillable(cache, self.layer_idx, x, parts, self.head_dim)
        if held is not None:
            weights, (squares, eps) = [part.weight for part in parts], (None, 0.0) if norm is None else norm[1:]
            there = norm is not None or (there and all(map(lasts, parts)))
            x, cached = entered(x, parts[0].entered_from), (held.keys, held.values, held.cumulative_length)
            q = appended_linear(x, weights, biases_of(parts), *tables(cos, sin), *cached, squares, eps, there)
            return q.transpose(1, 2), held.keys, held.values
        turned = not normed and type(cache) is not StaticCache and rotates(x, parts, self.head_dim, cos)
        if turned:
            x, weights = entered(x, parts[0].entered_from), [part.weight for part in parts]
            each = self.heads_of_keys(sum(map(len, weights)))
            q, k, v = (Turned.apply if needs_gradient(x, *weights) else turned_heads)(
                *tables(cos, sin), each, x, *weights
            )
        else:
            found = projected(x, parts, there) if norm is None else projected_norm(norm, parts)
            heads, each = found.view(*x.shape[:-1], -1, self.head_dim), self.heads_of_keys(found.shape[-1])
            q, k, v = heads.split([heads.shape[-2] - 2 * each, each, each], dim=-2)
        if hasattr(self, "q_norm") and hasattr(self, "k_norm"):
            q, k = (norm_of(norm, x, self.flat) for norm, x in ((self.q_norm, q), (self.k_norm, k)))
        held = None if turned else static(cache, self.layer_idx, q, k, v)
        if held is not None:
            return appended(q, k, v, cos, sin, held)
        q, k = (q, k) if turned else rotated(q, k, cos, sin)
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return (q, k, v) if cache is None else (q, *cache.update(k, v, self.layer_idx))


def interface(config: Any) -> Any:
    """Return the function for the name of attention in a configuration."""
    return AttentionInterface().get_interface(config._attn_implementation, sdpa_attention_forward)


class WindowedAttention(Attention):
    """`Attention` of a model whose configuration has one window for all layers."""

    @property
    def window(self) -> int | None:
        return getattr(self.config, "sliding_window", None)


class CappedAttention(Attention):
    """`Attention` of Gemma 2, whose scores have a cap."""

    attn_logit_softcapping: float | None

    def told(self) -> dict[str, Any]:
        """Return the window, and the cap."""
        return super().told() | {"softcap": self.attn_logit_softcapping}


class SinkAttention(Attention):
    """`Attention` of gpt-oss, whose heads have sinks."""

    sinks: Tensor
    half_tables = True

    def told(self) -> dict[str, Any]:
        """Return the window, and the sinks."""
        return super().told() | {"s_aux": self.sinks}


class FlatNormAttention(Attention):
    """`Attention` of OLMo 2."""

    flat = True


class WholeAttention(WindowedAttention):
    """`Attention` of Phi 3, whose queries, keys and values are one layer's."""

    parts = ("qkv_proj",)


def norm_of(norm: Any, x: Tensor, flat: bool) -> Tensor:
    """Return the norm of heads, (B, S, H, D): of each, or `flat` of all together."""
    return norm(x.flatten(-2)).view(x.shape) if flat else norm(x)


def rotates(x: Tensor, parts: list[Any], dim: int, cos: Tensor) -> bool:
    """Tell whether one GEMM projects and rotates: for many rows, at the same positions in all sequences."""
    alone = all(isinstance(part, Linear) and plain(part) and part.bias is None for part in parts)
    rows = x.numel() // x.shape[-1]
    fits = x.ndim == 3 and rotated_fits(rows, x.shape[1], dim) and rows >= MANY and dim <= MOST_TURNED
    if not (alone and fits and len(cos) == 1 and 2 * cos.shape[-1] == dim):
        return False
    return taken(x, *(part.weight for part in parts))


def fillable(cache: Any, number: int, x: Tensor, parts: list[Any], dim: int) -> Any:
    """Return the layer of a static cache that the GEMM of one new token rotates keys for, and fills; None without one.

    The first call makes the cache, and there are no derivatives.
    """
    if type(cache) is not StaticCache or x.ndim != 3 or x.shape[1] != 1:
        return None
    if len(x) < LEAST or not appended_fits(len(x), dim):
        return None
    alone, layer = all(isinstance(part, Linear) and plain(part) for part in parts), cache.layers[number]
    if not (alone and alike(parts) and normalised(x, *biases_of(parts)) and getattr(layer, "is_initialized", False)):
        return None
    layer = static(cache, number, *(x[:, :, None] for _ in range(3)))
    weights = [part.weight for part in parts]
    if layer is None or not taken(x, *weights) or needs_gradient(*weights, *biases_of(parts)):
        return None
    return layer if layer.keys.is_contiguous() and layer.values.is_contiguous() else None


def turned_heads(cosines: Tensor, sines: Tensor, keys: int, x: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
    """Return rotated queries and keys, and values, (B, S, heads, D) each: views of the result of one GEMM.

    keys  the number of heads of keys
    """
    dim = 2 * cosines.shape[-1]
    count = sum(map(len, weights)) // dim - keys
    heads = rotated_linear(x, weights, cosines, sines, count, dim).unflatten(-1, (-1, dim))
    made: tuple[Tensor, ...] = heads.split([count - keys, keys, keys], dim=-2)
    return made


class Turned(torch.autograd.Function):  # type: ignore[misc]
    """`turned_heads` with its derivative: gradients are turned back into the matrix that a GEMM multiplies."""

    generate_vmap_rule = True
    forward = staticmethod(turned_heads)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        cosines, sines, _, *operands = inputs
        ctx.save_for_backward(cosines, sines, *operands)

    @staticmethod
    def backward(ctx: Any, dq: Tensor, dk: Tensor, dv: Tensor) -> tuple[Any, ...]:
        cosines, sines, x, *weights = ctx.saved_tensors
        needs = [ctx.needs_input_grad[3], any(ctx.needs_input_grad[4:])]
        of_x, of_weights = rotated_linear_backward(dq, dk, dv, x, weights, cosines, sines, needs)
        parts = of_weights.split([len(weight) for weight in weights]) if needs[1] else [None] * len(weights)
        return None, None, None, of_x if needs[0] else None, *parts


def rotated(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Return queries and keys, (B, S, H, D), rotated by halves of a head; cos and sin are (B or 1, S, D / 2)."""
    tokens, places = q.shape[1], None
    if len(cos) > 1:
        places = torch.arange(len(cos) * tokens, device=q.device, dtype=torch.int32).view(len(cos), tokens)
    turned: tuple[Tensor, Tensor] = rope(q, k, *tables(cos, sin), places, False, False)
    return turned


def tables(cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Return the tables, (B or 1, S, D / 2), with a row for each token, contiguous: some models make columns first."""
    cos, sin = (x if x.stride(-1) == 1 else x.contiguous() for x in (cos, sin))
    return cos.flatten(0, 1), sin.flatten(0, 1)


def static(cache: Any, number: int, q: Tensor, k: Tensor, v: Tensor) -> Any:
    """Return the layer of a static cache that a kernel may write to; None if there is none, or for derivatives."""
    if type(cache) is not StaticCache or cache.offloading or needs_gradient(q, k, v):
        return None
    layer = cache.layers[number]
    if type(layer) is not StaticLayer:
        return None
    if not layer.is_initialized:
        layer.lazy_initialization(k.transpose(1, 2), v.transpose(1, 2))
    fits = layer.keys.dtype == q.dtype and len(layer.keys) == len(q) and isinstance(layer.cumulative_length, Tensor)
    return layer if fits and layer.cumulative_length.device == q.device else None


def appended(q: Tensor, k: Tensor, v: Tensor, cos: Tensor, sin: Tensor, layer: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Append rotated keys, and values, to a static cache. Return rotated queries, (B, H, S, D), and the cache's."""
    turned = rope_append(q, k, v, *tables(cos, sin), layer.keys, layer.values, layer.cumulative_length)
    return turned.transpose(1, 2), layer.keys, layer.values
