"""Arguments of programs that hold arrays, taken apart: lists, tuples, dicts, named tuples and frozen dataclasses.

In    arguments by name
Out   their parts, each an array or a constant, and a key of their structure; `Structure` names such parts
      (`layers_0_weight`), and puts them together again
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

from cutelite.dispatch.device import PLAIN
from cutelite_rt.arrays.memory import is_array

Whole = Callable[[Iterator[Any]], Any]
"""Takes as many parts as an argument consists of, in order, and returns the argument."""


def is_nested(x: Any) -> bool:
    """Tell whether an argument holds arrays, and is none itself."""
    return type(x) not in PLAIN and not is_array(x) and _take(x, [], [])


def parts_of(arguments: Iterable[Any]) -> tuple[list[Any], Hashable]:
    """Return the parts of all arguments in order, and a key that is equal for arguments of equal structure."""
    parts: list[Any] = []
    key: list[Hashable] = []
    for x in arguments:
        _take(x, parts, key)
    return parts, tuple(key)


def _take(x: Any, parts: list[Any], key: list[Hashable]) -> bool:
    """Add the parts of an object, and the key of its structure; tell whether there are arrays among them."""
    cls: Any = type(x)
    if cls in (list, tuple):  # in fewer steps, since these are frequent
        label, values = (cls, len(x)), x
    else:
        array = cls not in PLAIN and is_array(x)
        fields = None if array or cls in PLAIN else _fields(x)
        if fields is None:
            parts.append(x)
            key.append(None)
            return array
        label, values = (cls, *fields), fields.values()
    start, at, found = len(parts), len(key), False
    key.append(label)
    for value in values:
        found |= _take(value, parts, key)
    if not found:  # it is a part itself
        del parts[start:], key[at:]
        parts.append(x)
        key.append(None)
    return found


def _fields(x: Any) -> dict[Any, Any] | None:
    """Return what an object consists of, by key or name; None for one that cannot be put together again."""
    cls: Any = type(x)
    if cls is dict:
        return x  # type: ignore[no-any-return]
    if cls in (list, tuple):
        return dict(enumerate(x))
    names = _names(cls)
    return None if names is None else {name: getattr(x, name) for name in names}


@functools.cache
def _names(cls: type) -> tuple[str, ...] | None:
    """Return the names of the fields of a named tuple or a frozen dataclass; None for other classes."""
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return cls._fields  # type: ignore[no-any-return]
    if getattr(getattr(cls, "__dataclass_params__", None), "frozen", False):
        return tuple(field.name for field in dataclasses.fields(cls))
    return None


class Structure:
    """The structure of some arguments.

    names  of their parts, each a Python name
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.names: dict[str, None] = {}
        self._wholes = {name: self._whole(name, x) for name, x in arguments.items()}

    def put_together(self, parts: Iterable[Any]) -> dict[str, Any]:
        """Return arguments by name."""
        given = iter(parts)
        return {name: whole(given) for name, whole in self._wholes.items()}

    def _whole(self, name: str, x: Any) -> Whole:
        if not is_nested(x):
            while name in self.names:  # of `x=[a]` and `x_0=b`
                name += "_"
            self.names[name] = None
            return next
        cls, fields = type(x), _fields(x) or {}
        wholes = {
            key: self._whole(f"{name}_{key if isinstance(key, str) and key.isidentifier() else i}", value)
            for i, (key, value) in enumerate(fields.items())
        }
        return lambda given: _made(cls, {key: whole(given) for key, whole in wholes.items()})


def _made(cls: type, fields: dict[Any, Any]) -> Any:
    if cls is dict:
        return fields
    if cls in (list, tuple):
        return cls(fields.values())
    if issubclass(cls, tuple):
        return cls._make(fields.values())  # type: ignore[attr-defined]  # a named tuple
    made = object.__new__(cls)
    for name, value in fields.items():
        object.__setattr__(made, name, value)  # without its `__init__`, whose checks the arguments have passed
    return made
