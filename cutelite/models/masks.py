"""Masks of attention: lengths in their place, where queries see all keys before them, but for a window and padding.

In    what `transformers` makes a mask of: numbers of queries and keys, a function, the mask of tokens
Out   lengths, with the first keys of sequences behind padding; else, of many queries, `Blocks`, of packed sequences for
      example; else torch's mask: for `models.attention.forward`
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import MODEL_MAPPING
from transformers.masking_utils import (
    add_offsets_to_mask_function,
    and_masks,
    causal_mask_function,
    padding_mask_function,
    prepare_padding_mask,
    sdpa_mask,
    sliding_window_causal_mask_function,
)

from cutelite.kernels.attention.blocks import create_block_mask, in_document, is_token
from cutelite.models.dense import TYPES

FEW = 64
"""The most queries of a sequence that are computed as in decoding."""
ALONE = 3
"""Rows of lengths (`mask`) of as many keys as queries: others of a static cache are still empty."""
FILLED = 4
"""Rows of lengths of many queries behind a static cache of which only the device knows how much is filled."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """A mask as a function, with the blocks of keys that it sees if they are known.

    told         what `kernels.attention.attention` is told
    written_out  makes torch's mask, (B, 1, SQ, SK), for what the kernel does not take
    """

    told: dict[str, Any]
    written_out: Callable[[], Tensor]


def mask(
    batch_size: int, q_length: int, kv_length: int, q_offset: Any = 0, kv_offset: int = 0,
    mask_function: Any = causal_mask_function, attention_mask: Tensor | None = None, **more: Any,
) -> Tensor | Blocks | None:  # fmt: skip
    """Return the mask of a call for `forward`: lengths if each query sees all keys before it; else blocks, or torch's.

    Lengths are the numbers of keys of each sequence, i32: for a static cache, only the device knows them. They are
    (B, 1, 1, 1), or a view of those, (B, 1, 1, W), where queries see W keys at most. Where sequences have padding in
    front, a second row has their first keys, (B, 2, 1, 1), and there may be `ALONE` or `FILLED` rows.
    """
    if isinstance(q_offset, Tensor) and q_length > FEW and readable(q_offset):
        q_offset = int(q_offset)  # of a static cache: many queries take longer than the host waits
    fixed, window = isinstance(q_offset, int), window_of(mask_function)
    causal = mask_function is causal_mask_function or window is not None
    causal = causal or (kv_offset == 0 and hides_nothing(kv_length, **more))
    starts, hidden = None, padded(attention_mask, alone=fixed and q_offset == 0)
    if causal and hidden:
        starts = in_front(attention_mask, kv_offset)
    if causal and (not hidden or starts is not None):
        # the keys that the last query sees, but for the window; of a tensor two kernels would compute it for nothing
        keys: Any = q_offset + q_length - kv_offset if fixed else None
        narrow = window if window is not None and not (fixed and keys <= window) else 1
        if fixed and narrow == 1 and kv_offset == q_offset == 0 and 1 < q_length < kv_length:
            # an empty static cache: `forward` leaves out the keys beyond the queries
            return None if starts is None else told(all_keys(batch_size, keys, starts.device), starts, ALONE)
        if fixed and (q_length <= FEW or keys == kv_length) and not window == narrow == 1:
            lengths = told(all_keys(batch_size, keys, more.get("device", "cpu")), starts)
            return lengths.expand(-1, -1, -1, narrow)
        if not fixed and kv_offset == 0 and window is None:
            lengths = torch.empty((batch_size, 1, 1, 1), dtype=torch.int32, device=q_offset.device)
            torch.add(q_offset.expand(lengths.shape), q_length, out=lengths)  # one kernel
            if q_length <= FEW:
                return told(lengths, starts)
            return told(lengths, lengths.new_zeros(batch_size) if starts is None else starts, FILLED)

    def written() -> Tensor:
        return sdpa_mask(batch_size, q_length, kv_length, q_offset, kv_offset, mask_function, attention_mask, **more)

    if q_length <= FEW or not takes_blocks(**more):
        return written()
    if torch.compiler.is_compiling():  # a function that is made here may capture nothing, but be given arrays
        tokens = None if attention_mask is None else attention_mask.shape[1]
        if mask_function is not causal_mask_function or not fixed or not q_length == kv_length == tokens:
            return written()
        return Blocks({"mask_mod": functools.partial(is_token, tokens=attention_mask), "causal": True}, written)
    seen = mask_function
    if padded(attention_mask):
        seen = and_masks(seen, padding_mask_function(prepare_padding_mask(attention_mask, kv_length, kv_offset)))
    elif more.get("allow_is_bidirectional_skip") and kv_length < (more.get("local_size") or math.inf):
        return None  # all keys are seen
    if not fixed or q_offset or kv_offset:
        seen = add_offsets_to_mask_function(seen, q_offset, kv_offset)
    place = str(more.get("device", "cpu"))
    made = create_block_mask(seen, batch_size, None, q_length, kv_length, place)
    return Blocks({"block_mask": made}, functools.cache(written))


@functools.cache
def passes_on(forward: Any) -> bool:
    """Tell whether `forward` of attention gives its function the mask that it is given: then that may be none of tokens
    by tokens. True for that of other layers.

    It is read from the source: a mask is one of the arguments there, and nothing but another is assigned to it. (What
    computes with a mask, as DeepSeek V4 does, which adds columns, needs a tensor.)
    """
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(forward)))
    except (OSError, TypeError):  # it is not written in a file
        return True
    function: Any = ast.parse(text).body[0]
    nodes: list[Any] = [*ast.walk(function)]
    calls = [x for x in nodes if isinstance(x, ast.Call) and getattr(x.func, "id", "") == "attention_interface"]
    masks = [x.value for call in calls for x in call.keywords if x.arg == "attention_mask"]
    masks += [call.args[4] for call in calls if len(call.args) > 4]
    names = {x.arg for x in (*function.args.args, *function.args.kwonlyargs)}
    assigned = (x for x in nodes if isinstance(x, ast.Assign)) if masks else ()
    masks += [x.value for x in assigned if (name := getattr(x.targets[0], "id", "")) in names and "mask" in name]
    given = [x for mask in masks for x in choices(mask)]
    return all(isinstance(x, ast.Constant) or getattr(x, "id", "") in names for x in given)


def choices(x: ast.expr) -> list[ast.expr]:
    """Return what an expression may be: itself, or both of ``a if c else b``."""
    return [*choices(x.body), *choices(x.orelse)] if isinstance(x, ast.IfExp) else [x]


def documents(positions: Tensor) -> Tensor:
    """Return the numbers of packed documents by the positions of tokens, (B, S), as a mask: (B, 1, 1, S) i64."""
    steps = torch.diff(positions, prepend=positions[:, :1] - 1)
    return (steps != 1).cumsum(1)[:, None, None]


def of_documents(mask: Any, window: int | None) -> Any:
    """Return a mask that is `documents` as `Blocks`, others as they are.

    window  the most keys that a query sees
    """
    if not isinstance(mask, Tensor) or mask.dtype != torch.int64 or mask.shape[1:3] != (1, 1):
        return mask
    numbers = mask[:, 0, 0]

    def written() -> Tensor:
        places = torch.arange(numbers.shape[1], device=numbers.device)
        behind = places[:, None] - places
        seen = (behind >= 0) if window is None else (behind >= 0) & (behind < window)
        return seen & (numbers[:, None, :, None] == numbers[:, None, None])

    left = None if window is None else window - 1
    alike = functools.partial(in_document, documents=numbers)
    return Blocks({"mask_mod": alike, "causal": True, "window": (left, None)}, written)


def takes_blocks(
    config: Any = None, dtype: Any = None, use_vmap: bool = False, device: Any = "cpu", **_: Any
) -> bool:  # fmt: skip
    """Tell whether a mask may be `Blocks`: the kernels take the dtype, and the model passes on what is no tensor.

    use_vmap  the function need not compute with indices, as kernels do
    """
    placed = getattr(device, "type", "cpu") in ("cpu", "cuda")
    return placed and dtype in TYPES and not use_vmap and takes_objects(type(config))


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def takes_objects(config: type) -> bool:
    """Tell whether the model of a class of configurations passes on a mask that is no tensor, as FlexAttention's."""
    return getattr(MODEL_MAPPING.get(config, None), "_supports_flex_attn", False)


WINDOWED = sliding_window_causal_mask_function(1)


def window_of(function: Any) -> int | None:
    """Return the window of a mask function of transformers that is causal and has a window, and no more; else None.

    While torch.compile traces, functions cannot be looked into.
    """
    if torch.compiler.is_compiling() or getattr(function, "__code__", None) is not WINDOWED.__code__:
        return None
    parts, known = (each.__closure__[0].cell_contents for each in (function, WINDOWED))
    codes, right = ([part.__code__ for part in each] for each in (parts, known))
    return parts[0].__closure__[0].cell_contents if codes == right else None


def hides_nothing(keys: int, local_size: int | None = None, allow_is_causal_skip: bool = True, **_: Any) -> bool:
    """Tell whether a mask only masks a window that is longer than all keys."""
    return allow_is_causal_skip and local_size is not None and keys < local_size


def all_keys(batch: int, keys: int, device: Any) -> Tensor:
    """Return the lengths, as `mask` does, of sequences that all have `keys` keys."""
    return torch.full((batch, 1, 1, 1), keys, dtype=torch.int32, device=device)


def padded(tokens: Tensor | None, alone: bool = False) -> bool:
    """Tell whether tokens may be masked out that others could see. While a graph is captured the mask cannot be read:
    then True.

    alone  the queries are of all tokens: what is masked out behind a sequence is then seen by no token of it
    """
    if tokens is None:
        return False
    if not readable(tokens):
        return True
    if alone and tokens.ndim == 2:
        return not bool((tokens[:, 0] & (tokens[:, 1:] <= tokens[:, :-1]).all(1)).all())
    return not bool(tokens.all())


def in_front(tokens: Tensor | None, before: int) -> Tensor | None:
    """Return the number of tokens, without the first ones `before`, that are masked out in front of each sequence, i32.

    None: others are masked out, too, or the mask cannot be read.
    """
    if tokens is None or tokens.ndim != 2 or not readable(tokens):
        return None
    seen = tokens.bool()
    if not bool((seen[:, 1:] >= seen[:, :-1]).all()):
        return None
    return ((~seen).sum(1) - before).clamp(min=0).int()


def told(lengths: Tensor, starts: Tensor | None, rows: int = 2) -> Tensor:
    """Return lengths with the first keys of sequences, as `mask` does."""
    return lengths if starts is None else torch.cat([lengths, *[starts[:, None, None, None]] * (rows - 1)], 1)


def is_lengths(mask: Tensor | None) -> bool:
    """Tell whether a mask is lengths, as `mask` returns them."""
    return mask is not None and mask.dtype == torch.int32 and mask.shape[1] <= FILLED and mask.shape[2] == 1


def parts_of(mask: Tensor | None, window: int | None) -> tuple[Tensor | None, Tensor | None, int | None]:
    """Return the lengths and first keys that a mask tells, (B, 1, 1, 1) each or None, and the window: its own, if any.

    window  that of the layer
    """
    if mask is None or not is_lengths(mask):
        return None, None, window
    own = mask.shape[3]
    return mask[:, :1, :, :1], mask[:, 1:2, :, :1] if mask.shape[1] > 1 else None, own if own > 1 else window


def readable(mask: Tensor) -> bool:
    """Tell whether the host may look into a mask: while a graph is captured or traced it may not."""
    return not (torch.compiler.is_compiling() or (mask.is_cuda and torch.cuda.is_current_stream_capturing()))


def written_out(
    lengths: Tensor, queries: int, keys: int, window: int | None = None, starts: Tensor | None = None
) -> Tensor:  # fmt: skip
    """Return the mask that `lengths` stand for, (B, 1, queries, keys): the last query sees all keys of its sequence.

    window  the most keys that a query sees
    starts  the first keys that are seen, like `lengths`; None: 0
    """
    behind = lengths + torch.arange(1 - queries, 1, device=lengths.device)[:, None]
    places = torch.arange(keys, device=lengths.device)
    seen = (places < behind) if window is None else (places < behind) & (places >= behind - window)
    return seen if starts is None else seen & (places >= starts)
