"""Compile-time structures that hold run-time values: taken apart into leaves, and put together again.

A leaf is a run-time value or a number, members of an `IntEnum` included. Tuples, lists, dicts, slices, named tuples,
frozen dataclasses and the kernel's own functions are looked into; any other object is part of the structure and must be
the same on every path.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from cutelite.front.closure import Closure
from cutelite.lang.emit import Runtime
from cutelite.lang.promotion import Slope, holds_literal, literal
from cutelite.layout import DimExpr
from cutelite.tuples import NamedTuple


class Leaf(NamedTuple):
    """The place of a leaf in a structure. All of them are equal; `merge.join_types` decides which leaves can meet."""


class Fixed(NamedTuple):
    """An object that is part of the structure; the same if it is identical or equal."""

    obj: Any


class Node(NamedTuple):
    """A container: `kind` is its class, and `keys` everything of it except its children."""

    kind: type
    keys: Any
    children: tuple[Any, ...]


LEAF = Leaf()
_NUMBERS = frozenset({int, float, bool})
_LEAVES = Runtime, DimExpr, enum.IntEnum, enum.IntFlag, Slope


def is_leaf(x: Any) -> bool:
    return type(x) in _NUMBERS or isinstance(x, _LEAVES) or holds_literal(x)


def flatten(x: Any, leaves: list[Any]) -> Any:
    """Return the structure of `x`, and append its leaves to `leaves`."""
    if is_leaf(x):
        leaves.append(literal(x))
        return LEAF
    parts = take_apart(x)
    if parts is None:
        return Fixed(x)
    keys, children = parts
    return Node(type(x), keys, tuple([flatten(child, leaves) for child in children]))


def leaves_of(x: Any) -> list[Any]:
    leaves: list[Any] = []
    flatten(x, leaves)
    return leaves


def with_leaves(x: Any, leaves: Iterator[Any]) -> Any:
    """Return `x` with other leaves, in their order; parts with the same leaves as before are kept."""
    if is_leaf(x):
        return next(leaves)
    parts = take_apart(x)
    if parts is None:
        return x
    keys, old = parts
    new = [with_leaves(child, leaves) for child in old]
    return x if all(a is b for a, b in zip(old, new, strict=True)) else put_together(x, keys, new)


def met(xs: Sequence[Any], leaves: Iterator[Any]) -> Any:
    """Return what structures alike become where they meet, with these leaves: a list or dict in all, or a new one."""
    first = xs[0]
    if is_leaf(first):
        return next(leaves)
    parts = take_apart(first)
    if parts is None:
        return first
    keys, old = parts
    others = [take_apart(x)[1] for x in xs[1:]]  # type: ignore[index]
    new = [met(children, leaves) for children in zip(old, *others, strict=True)]
    one = all(a is b for a, b in zip(old, new, strict=True))
    kept = one and (type(first) not in (list, dict) or all(x is first for x in xs))
    return first if kept else put_together(first, keys, new)


def objects_apart(xs: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield what may change in structures alike, lists, dicts and objects, and is not one object in all of them.

    Each time one of every structure, those in the same place.
    """
    first = xs[0]
    if is_leaf(first) or all(x is first for x in xs):
        return
    parts = take_apart(first)
    if parts is None or type(first) in (list, dict):
        yield xs
    if parts is not None:
        others = [take_apart(x)[1] for x in xs[1:]]  # type: ignore[index]
        for children in zip(parts[1], *others, strict=True):
            yield from objects_apart(children)


def leaf_name(structure: Any, number: int) -> str:
    """Return how the leaf `number` is reached from the whole: ``.state.phase``, ``[2]``; "" for the whole."""
    return next(name for i, name in enumerate(_leaf_names(structure)) if i == number)


def _leaf_names(structure: Any) -> Iterator[str]:
    if isinstance(structure, Leaf):
        yield ""
    elif isinstance(structure, Node):
        for key, child in zip(_keys(structure), structure.children, strict=True):
            for rest in _leaf_names(child):
                yield key + rest


def _keys(node: Node) -> list[str]:
    if node.kind is dict:
        return [f"[{key!r}]" for key in node.keys]
    if isinstance(node.keys, tuple) and all(isinstance(key, str) for key in node.keys):
        return [f".{key}" for key in node.keys]
    return [f"[{i}]" for i in range(len(node.children))]


def take_apart(x: Any) -> tuple[Any, list[Any]] | None:
    """Return (keys, children) of a container, None for anything else."""
    kind = type(x)
    if kind is tuple or kind is list:
        return len(x), list(x)
    if kind is dict:
        return tuple(x), list(x.values())
    if kind is slice:
        return ("start", "stop", "step"), [x.start, x.stop, x.step]
    if kind is Closure:
        return x.parts()  # type: ignore[no-any-return]
    names = field_names(kind)
    if names is None:
        return None
    return names, list(x) if isinstance(x, tuple) else [getattr(x, name) for name in names]


def is_container(kind: type) -> bool:
    """Tell whether objects of a class are taken apart."""
    return kind in (tuple, list, dict, slice, Closure) or field_names(kind) is not None


def field_names(kind: type) -> tuple[str, ...] | None:
    """Return the fields of a named tuple's or frozen dataclass's class; None for any other."""
    return _field_names(kind)


@lru_cache(maxsize=1024)
def _field_names(kind: Hashable) -> tuple[str, ...] | None:
    assert isinstance(kind, type)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple(kind._fields)
    params = getattr(kind, "__dataclass_params__", None)
    return tuple(f.name for f in dataclasses.fields(kind)) if params is not None and params.frozen else None


def put_together(like: Any, keys: Any, children: list[Any]) -> Any:
    """Return an object like the one that was taken apart, with other children."""
    kind = type(like)
    if kind in (tuple, list):
        return kind(children)
    if kind is dict:
        return dict(zip(keys, children, strict=True))
    if kind is slice:
        return slice(*children)
    if kind is Closure:
        return like.with_parts(children)
    return make_struct(kind, keys, children)


def make_struct(kind: type, names: tuple[str, ...], children: list[Any]) -> Any:
    """Return a named tuple or dataclass with these fields, without `__init__`: the fields were checked before."""
    if issubclass(kind, tuple):
        return kind._make(children)  # type: ignore[attr-defined]
    made = object.__new__(kind)
    for name, child in zip(names, children, strict=True):
        object.__setattr__(made, name, child)
    return made


def same(a: Any, b: Any) -> bool:
    """Tell whether two compile-time objects may stand for each other."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, Runtime):
        return False
    if isinstance(a, float) and isinstance(b, float):
        return a.hex() == b.hex()
    try:
        equal: bool = hash(a) == hash(b) and a == b
        return equal is True
    except Exception:  # an object that cannot be hashed or compared is the same as itself only
        return False


def same_leaf(a: Any, b: Any) -> bool:
    """Tell whether two leaves are the same number or the same run-time value."""
    if isinstance(a, Runtime) and isinstance(b, Runtime):
        return a.value is b.value
    return same(a, b)


def same_structure(a: Any, b: Any) -> bool:
    match a, b:
        case Leaf(), Leaf():
            return True
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


def holds_unknown(x: Any) -> bool:
    """Tell whether there is a run-time value or a dim in `x`, so that it cannot be compared while compiling."""
    if type(x) in (int, float, bool, str):
        return False
    return any(isinstance(leaf, Runtime | DimExpr) for leaf in leaves_of(x))


def holds_runtime(x: Any) -> bool:
    """Tell whether there is a run-time value anywhere in `x`."""
    return holds(x, Runtime)


def holds(x: Any, kind: type) -> bool:
    """Tell whether there is an object of a class anywhere in `x`."""
    if isinstance(x, kind):
        return True
    if type(x) in (int, float, bool, str):
        return False
    parts = take_apart(x)
    return parts is not None and any(holds(part, kind) for part in parts[1])
