"""Operators of torch under its transforms: autocast, and `torch.vmap`.

autocast(gemm, "a", "b")            these arguments are cast to the dtype of `torch.autocast`
under_autocast(q, k)                the same of the arguments of a call that goes to no operator
batched(softmax, "x", "dy")         under vmap the batch is the first mode of these arguments, and of all results
folded(experts, "x", "index")       under vmap the rows of the whole batch are concatenated
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import torch
from torch.utils._pytree import tree_map

from cutelite.interop.torch import DEVICES, WIDE, to_be_cast
from cutelite.interop.torch_levels import one_by_one


def autocast(operator: Any, *names: str) -> None:
    """Cast arguments of an operator to the dtype of `torch.autocast` for their device, if it is on.

    operator  of `custom_op`; its out= form casts them too
    names     of arguments that are tensors, or lists of them; integers, fp8 and f64 stay what they are
    """
    forms = [operator, operator.into] if hasattr(operator, "into") else [operator]
    for each, device in product(forms, DEVICES):
        key = "Autocast" + torch._C._dispatch_key_for_device(device)
        call = caster(each._opoverload, places_of(each, names), device, key)
        each._lib.impl(each._name, call, key, with_keyset=True)


def places_of(operator: Any, names: Sequence[str]) -> list[int]:
    """Return the positions of the arguments of these names."""
    arguments = [argument.name for argument in operator._opoverload._schema.arguments]
    return [arguments.index(name) for name in names]


def caster(overload: Any, places: Sequence[int], device: str, key: str) -> Callable[..., Any]:
    """Return the operator's implementation under autocast: it casts, and calls the operator without autocast."""
    without = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

    def call(_: Any, *args: Any, **named: Any) -> Any:
        dtype, given = torch.get_autocast_dtype(device), list(args)
        for place in places:
            if place < len(given):
                given[place] = narrowed(given[place], dtype)
        with torch._C._ExcludeDispatchKeyGuard(without):
            return overload(*given, **named)

    return call


def under_autocast(*given: Any) -> tuple[Any, ...]:
    """Return arguments as an operator gets them by `autocast`; the cast has a derivative."""
    if not to_be_cast(*given):
        return given
    return tuple(
        narrowed(x, torch.get_autocast_dtype(x.device.type)) if isinstance(x, torch.Tensor) else x for x in given
    )


def narrowed(given: Any, dtype: torch.dtype) -> Any:
    """Return a tensor, or a list of them, cast to `dtype` if it has a dtype that autocast casts."""
    if isinstance(given, (list, tuple)):
        return [narrowed(each, dtype) for each in given]
    return given.to(dtype) if isinstance(given, torch.Tensor) and given.dtype in WIDE else given


def batched(operator: Any, *names: str, unless: Sequence[str] = ()) -> None:
    """Make `torch.vmap` call an operator once for a whole batch, if only arguments of these names have one.

    operator  of `custom_op`, whose results have modes in front for each that these arguments have; an empty one, of
              (0,), has no batch
    names     of arguments that may have any modes in front; those that have no batch get one of copies without memory
    unless    names of arguments with which there are no modes in front
    Otherwise the operator is called for each of the batch, and the results are stacked.
    """
    places, alone = places_of(operator, names), places_of(operator, unless)

    def over_batch(info: Any, in_dims: tuple[Any, ...], *args: Any, **named: Any) -> Any:
        given, call = list(args), partial(operator, **named)
        plain = all(place >= len(given) or given[place] is None for place in alone)
        if plain and all(place in places for place, at in enumerate(in_dims) if has_batch(at)):
            for place in places:
                if place < len(given) and isinstance(given[place], torch.Tensor):
                    at = in_dims[place]
                    one = given[place].expand(info.batch_size, *given[place].shape) if at is None else given[place]
                    given[place] = one if at is None else one.movedim(at, 0)
            found = call(*given)
        else:
            found = one_by_one(call, info.batch_size, in_dims, args)
        return found, tree_map(lambda each: None if each.shape == (0,) else 0, found)

    operator.register_vmap(over_batch)


def folded(operator: Any, *names: str) -> None:
    """Make `torch.vmap` call an operator of rows once, with the rows of the whole batch concatenated.

    operator  of `custom_op`, whose results have as many rows as the arguments of these names, each made of its own
    Otherwise, where others have a batch, as `batched`.
    """
    places = places_of(operator, names)

    def over_batch(info: Any, in_dims: tuple[Any, ...], *args: Any, **named: Any) -> Any:
        given, size, rows, call = list(args), info.batch_size, 0, partial(operator, **named)
        if all(place in places for place, at in enumerate(in_dims) if has_batch(at)):
            for place in places:
                at, x = in_dims[place], given[place]
                batch = x.expand(size, *x.shape) if at is None else x.movedim(at, 0)
                given[place], rows = batch.flatten(0, 1), batch.shape[1]
            found = tree_map(lambda each: each.unflatten(0, (size, rows)), call(*given))
        else:
            found = one_by_one(call, size, in_dims, args)
        return found, tree_map(lambda _: 0, found)

    operator.register_vmap(over_batch)


def has_batch(dims: Any) -> bool:
    """Tell whether an argument has a batch, by its mode in each tensor; that of a list of tensors is a list."""
    return any(map(has_batch, dims)) if isinstance(dims, (list, tuple)) else dims is not None
