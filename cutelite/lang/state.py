"""Numbers that functions read of objects that may change: after a change a function counts as another one.

In    a function that a kernel is made with
Out   numbers and texts: of attributes that its code names, and of items of lists and dicts

The objects are those that the function captured or has as global variables, and what these hold in turn; methods and
functions that it calls count as its code. Objects whose attributes are computed otherwise (`__getattr__`), and arrays,
are not looked into.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache, lru_cache, partial
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from cutelite.lang.promotion import holds_literal, is_tensor
from cutelite.lang.tables import globals_of, held_by, names_of

ATOMS = frozenset({bool, int, float, str, bytes, type(None)})
MOST = 1000
"""The most items of a list that are read: longer ones are data."""


def state_of(function: Any) -> tuple[Any, ...]:
    """Return what a function reads of objects; () where it reads none, or they are nested too deeply to be read."""
    try:
        return tuple(_of_function(function, set()))
    except RecursionError:
        return ()


def _of_function(function: Any, seen: set[Any], owner: Any = None) -> Iterator[Any]:
    """Yield what a function, a method or a `functools.partial` reads; `owner`: the object that it is a method of."""
    if isinstance(function, partial):
        yield from _of_function(function.func, seen)
        for x in (*function.args, *function.keywords.values()):
            yield from _of(x, frozenset(), seen)
        return
    if isinstance(function, MethodType):
        function, owner = function.__func__, function.__self__
    if not isinstance(function, FunctionType) or (function, id(owner)) in seen:
        return
    seen.add((function, id(owner)))
    names = _names(function.__code__)
    cells, defaults, named = held_by(function)
    for x in (owner, *cells, *defaults, *dict(named).values(), *dict(globals_of(function)).values()):
        if type(x) not in ATOMS:
            yield from _of(x, names, seen)


@lru_cache(MOST)
def _names(code: CodeType) -> frozenset[str]:
    return frozenset(names_of(code))


def _of(x: Any, names: frozenset[str], seen: set[Any]) -> Iterator[Any]:
    """Yield what code with these names reads of an object."""
    kind = type(x)
    if kind in ATOMS:
        yield kind, x.hex() if kind is float else x
    elif isinstance(x, FunctionType | MethodType | partial):
        yield from _of_function(x, seen)
    elif holds_literal(x):
        yield kind, _version(x) if is_tensor(kind) else str(x)
    elif isinstance(x, ModuleType) or hasattr(kind, "__dlpack__") or (id(x), names) in seen:
        return
    else:
        seen.add((id(x), names))
        if isinstance(x, dict | list | tuple | set) and len(x) <= MOST:
            for item in (*x, *x.values()) if isinstance(x, dict) else tuple(x):
                yield from _of(item, names, seen)
        yield from _of_attributes(x, names | {"__call__"}, seen)


def _version(x: Any) -> Any:
    """Return what another number in a tensor of torch changes. An inference tensor has no version: its number does."""
    return number_of(x) if x.is_inference() else (x._version, id(x))


def number_of(x: Any) -> Any:
    """Return the number in a tensor of torch without modes.

    A GPU is asked once, and after each change in place that torch counts (`x.data` hides them): of inference tensors it
    counts none, and the GPU is asked at each call. In a stream capture it cannot be, and what it told last is taken.
    """
    if x.is_cpu:
        return x.item()
    version, (known, number) = None if x.is_inference() else x._version, _numbers().get(x, ("", None))
    if known != version or (version is None and not sys.modules["torch"].cuda.is_current_stream_capturing()):
        number = x.item()
        _numbers()[x] = version, number
    return number


@cache
def _numbers() -> Any:
    """Tensors on GPUs -> their version, and the number that they held then."""
    from torch.utils.weak import WeakTensorKeyDictionary  # late: there may be no torch

    return WeakTensorKeyDictionary()


def _of_attributes(x: Any, names: frozenset[str], seen: set[Any]) -> Iterator[Any]:
    own = getattr(x, "__dict__", {})
    modules = own.get("_modules", {})  # those of a module of torch, whose `__getattr__` finds them
    for name in sorted(names):
        if name in own or name in modules:
            yield from _of(own.get(name, modules.get(name)), names, seen)
            continue
        classes = x.__mro__ if isinstance(x, type) else type(x).__mro__
        held = next((vars(cls)[name] for cls in classes if name in vars(cls)), None)
        if isinstance(held, FunctionType) and not (held.__module__ or "").startswith("torch."):
            yield from _of_function(held, seen, x)
        elif isinstance(held, property):
            yield from _of_function(held.fget, seen, x)
        elif held is not None and type(held) in ATOMS:
            yield from _of(held, names, seen)
        elif isinstance(held, MemberDescriptorType):  # a slot
            yield from _of(getattr(x, name, None), names, seen)
