"""The floating-point operations of attention, as `torch.utils.flop_counter` counts them.

As torch counts for its own attention, keys that masks and windows hide count too. Of sequences, and of a cache, lengths
count where tensors hold data; where they hold none, sequences are taken as equally long, and the cache as full.
"""

# mypy: disable-error-code="no-any-return"
# (torch is not installed where types are checked)

from __future__ import annotations

from math import prod
from typing import Any

from torch import Tensor

from cutelite.interop.torch import without_data


def of_forward(q: Tensor, k: Tensor, v: Tensor, *how: Any) -> int:
    """Count those of `cutelite::attention`, and with scales of `cutelite::attention_fp8`."""
    return 2 * pairs(q, k, how) * (q.shape[-1] + v.shape[-1])


def of_backward(do: Tensor, dlse: Tensor | None, q: Tensor, k: Tensor, v: Tensor, *how: Any) -> int:
    """Count those of `cutelite::attention_backward`: scores and gradients of powers, and three gradients."""
    return 2 * pairs(q, k, how) * (3 * q.shape[-1] + 2 * v.shape[-1])


def pairs(q: Tensor, k: Tensor, how: tuple[Any, ...]) -> int:
    """Return how many scores there are, of all heads. The layout is among `how`."""
    by_head = "bhsd" in [x for x in how if isinstance(x, str)]
    return prod(q.shape[:-1]) * k.shape[2 if by_head else 1]


def of_sequences(q: Tensor, k: Tensor, v: Tensor, sinks: Any, of_q: Tensor, of_k: Tensor, *_: Any) -> int:
    """Count those of `cutelite::attention_varlen`."""
    return 2 * pairs_of_sequences(q, k, of_q, of_k) * (q.shape[-1] + v.shape[-1])


def of_sequences_backward(
    do: Tensor, dlse: Any, q: Tensor, k: Tensor, v: Tensor, o: Any, lse: Any, of_q: Tensor, of_k: Tensor, *_: Any
) -> int:
    """Count those of `cutelite::attention_varlen_backward`."""
    return 2 * pairs_of_sequences(q, k, of_q, of_k) * (3 * q.shape[-1] + 2 * v.shape[-1])


def pairs_of_sequences(q: Tensor, k: Tensor, of_q: Tensor, of_k: Tensor) -> int:
    """Return how many scores there are, of all heads and sequences."""
    if without_data(of_q) or without_data(of_k):
        return q.shape[1] * (q.shape[0] * k.shape[0] // max(1, len(of_q) - 1))
    return q.shape[1] * int((of_q.long().diff() * of_k.long().diff()).sum())


def of_decode(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None, table: Tensor | None, *_: Any) -> int:
    """Count those of `cutelite::decode`."""
    return 2 * prod(q.shape[1:3]) * keys(q, k, lengths, table) * (q.shape[-1] + v.shape[-1])


def of_latent(q: Tensor, latents: Tensor, lengths: Tensor | None, table: Tensor | None, dim_v: int, *_: Any) -> int:
    """Count those of `cutelite::decode_latent`."""
    return 2 * prod(q.shape[1:3]) * keys(q, latents, lengths, table) * (q.shape[-1] + dim_v)


def keys(q: Tensor, cache: Tensor, lengths: Tensor | None, table: Tensor | None) -> int:
    """Return how many keys all sequences have in a cache."""
    if lengths is not None and not without_data(lengths):
        return int(lengths.sum())
    return q.shape[0] * (1 if table is None else table.shape[1]) * cache.shape[1]
