"""Compile-time structures that hold run-time values: taken apart into leaves, and put together again.

A leaf is a run-time value or a number. Tuples, lists, dicts, slices, named tuples and frozen dataclasses are
looked into; any other object is part of the structure and must be the same on every path.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

from cutelite.lang.values import Flying, Runtime, Vector
from cutelite.layout import DimExpr


class Leaf(NamedTuple):
    """Stands where a leaf was; `proxy` is the class of a run-time one."""

    proxy: type | None


class Fixed(NamedTuple):
    """An object that is part of the structure; the same if it is identical or equal."""

    obj: Any


class Node(NamedTuple):
    """A container: `kind` rebuilds it from its children, `keys` are what else it consists of."""

    kind: type
    keys: Any
    children: tuple[Any, ...]


def flatten(x: Any, leaves: list[Any]) -> Any:
    """The structure of `x`; its leaves are appended to `leaves`."""
    if isinstance(x, Runtime):
        leaves.append(x)
        return Leaf(type(x))
    if type(x) in (int, float, bool) or isinstance(x, DimExpr):
        leaves.append(x)
        return Leaf(None)
    parts = take_apart(x)
    if parts is None:
        return Fixed(x)
    keys, children = parts
    return Node(type(x), keys, tuple(flatten(child, leaves) for child in children))


def take_apart(x: Any) -> tuple[Any, list[Any]] | None:
    """(keys, children) of a container, None for anything else."""
    kind = type(x)
    if kind is tuple or kind is list:
        return len(x), list(x)
    if kind is dict:
        return tuple(x), list(x.values())
    if kind is slice:
        return None, [x.start, x.stop, x.step]
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return None, list(x)
    if is_frozen_dataclass(x):
        names = tuple(field.name for field in dataclasses.fields(x))  # without class variables
        return names, [getattr(x, name) for name in names]
    return None


def is_frozen_dataclass(x: Any) -> bool:
    params = getattr(type(x), "__dataclass_params__", None)
    return params is not None and params.frozen


def rebuild(structure: Any, leaf: Callable[[Leaf], Any]) -> Any:
    """A structure's object again, with `leaf` called for each leaf in order."""
    match structure:
        case Leaf():
            return leaf(structure)
        case Fixed(obj):
            return obj
        case Node(kind, keys, children):
            return put_together(kind, keys, [rebuild(child, leaf) for child in children])
    raise TypeError(f"not a structure: {structure!r}")


def put_together(kind: type, keys: Any, children: list[Any]) -> Any:
    """The inverse of `take_apart`. Dataclasses are not initialised anew: their fields were checked before."""
    if kind in (tuple, list):
        return kind(children)
    if kind is dict:
        return dict(zip(keys, children, strict=True))
    if kind is slice:
        return slice(*children)
    if issubclass(kind, tuple):
        return kind(*children)
    made = object.__new__(kind)
    for name, child in zip(keys, children, strict=True):
        object.__setattr__(made, name, child)
    return made


def same(a: Any, b: Any) -> bool:
    """Whether two compile-time objects may stand for each other."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, Runtime):
        return False
    if isinstance(a, float):
        return a.hex() == b.hex()
    try:
        return bool(a == b)
    except Exception:  # an object that cannot be compared is only itself
        return False


def same_structure(a: Any, b: Any) -> bool:
    match a, b:
        case Leaf(), Leaf():
            proxies = {a.proxy, b.proxy}  # a readable accumulator and one in flight may meet: `merge.join_types`
            return len(proxies) == 1 or None in proxies or proxies == {Vector, Flying}
        case Fixed(x), Fixed(y):
            return same(x, y)
        case Node(), Node():
            return (
                a.kind is b.kind
                and a.keys == b.keys
                and len(a.children) == len(b.children)
                and all(map(same_structure, a.children, b.children))
            )
    return False


def holds_runtime(x: Any) -> bool:
    """Whether there is a run-time value anywhere in `x`."""
    if isinstance(x, Runtime):
        return True
    parts = take_apart(x)
    return parts is not None and any(map(holds_runtime, parts[1]))
