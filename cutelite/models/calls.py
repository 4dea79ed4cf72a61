"""The calls of a model whose kernels `cutelite.warm` compiles: forward, with a cache, or in training."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import StaticCache
from transformers.models.llama.modeling_llama import LlamaAttention

CACHE = (
    "cache" if "cache" in inspect.signature(inspect.unwrap(LlamaAttention.forward)).parameters else "past_key_values"
)
"""The installed `transformers`' name for a cache, as argument and result."""


class Whole:
    """A model that provides its calls to `cutelite.warm`."""

    def __cutelite_calls__(
        self, shapes: Sequence[tuple[int, int]] = (), cache: int | None = None, train: bool = False
    ) -> list[Callable[[], object]]:
        """Return the calls whose kernels `cutelite.warm` compiles: one for each shape of tokens.

        shapes  a list of (sequences, tokens)
        cache   the number of tokens for which each call makes a new static cache; None: no cache
        train   forward, loss and backward in training mode. Mode and gradients are restored afterwards
        Errors  TypeError for other shapes, and a cache with fewer tokens. An error of a call, such as that of a model
                that takes more than tokens, has a note on how to warm it
        """
        if not (isinstance(shapes, Sequence) and shapes and all(map(is_shape, shapes))):
            raise TypeError(f"shapes is a list of (sequences, tokens), such as [(1, 8192)], not {shapes!r}")
        most = max(count for _, count in shapes)
        if cache is not None and not (isinstance(cache, int) and cache >= most):
            raise TypeError(f"cache is a number of tokens, at least the {most} of a shape, not {cache!r}")
        return [functools.partial(called, trained if train else run, self, *shape, cache) for shape in shapes]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model's own `forward`."""
        return super().forward(*args, **kwargs)  # type: ignore[misc]


def is_shape(x: Any) -> bool:
    """Tell whether this is a pair of numbers, of sequences and of tokens."""
    return isinstance(x, Sequence) and len(x) == 2 and all(isinstance(n, int) and n > 0 for n in x)


def called(how: Callable[..., None], model: Any, batch: int, count: int, cache: int | None) -> None:
    """Call `how` with the rest; to an error, add what the model was called with."""
    try:
        how(model, batch, count, cache)
    except Exception as error:
        what = f"{batch} x {count} tokens alone{', which are the labels too' if how is trained else ''}"
        error.add_note(
            f"warm() called {type(model).__name__} with {what}. Where a model takes more, or has no loss, pass calls "
            "of your own: cl.warm(lambda: model(...))"
        )
        raise


def tokens_for(model: Any, batch: int, count: int) -> Tensor:
    """Return placeholder tokens: their values do not matter."""
    return torch.zeros((batch, count), dtype=torch.int64, device=next(model.parameters()).device)


def run(model: Any, batch: int, count: int, cache: int | None) -> None:
    """Run forward passes without derivatives.

    With a cache, kernels may be others where each sequence has positions of its own, as `generate` gives several, and
    for one token where the cache's memory exists, from the second call on.
    """
    more: list[dict[str, Tensor]] = [{}]
    tokens = tokens_for(model, batch, count)
    if cache is not None and batch > 1 and "position_ids" in inspect.signature(model.forward).parameters:
        more.append({"position_ids": torch.zeros_like(tokens)})
    for each in more:
        held = None if cache is None else StaticCache(config=model.config, max_cache_len=cache)
        with torch.no_grad():
            for _ in range(2 if cache is not None and count == 1 < cache else 1):
                model(tokens, use_cache=held is not None, logits_to_keep=1, **{CACHE: held}, **each)


def trained(model: Any, batch: int, count: int, cache: int | None) -> None:
    """Run a forward and a backward pass. The gradients are discarded."""
    was, before = model.training, [parameter.grad for parameter in model.parameters()]
    tokens = tokens_for(model, batch, count)
    try:
        for parameter in model.parameters():
            parameter.grad = None
        model.train()(tokens, labels=tokens, use_cache=False).loss.backward()
    finally:
        model.train(was)
        for parameter, gradient in zip(model.parameters(), before, strict=True):
            parameter.grad = gradient
