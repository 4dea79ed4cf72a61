"""One call of a tuned function: the keys by which calls are alike, and the GPU that it runs on.

Calls are told apart by two keys. The quick key holds everything that is cheap to read: a call with the quick key of an
earlier one finds its config in microseconds. A call with a new quick key is looked up by the slow key, which holds the
facts that the choice depends on (`key=`) and is the same in every process.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any

import cutelite_rt as rt
from cutelite.config import Config as Environment
from cutelite.dispatch import fingerprint
from cutelite.dispatch.device import PLAIN, arrays_in, has_gpu
from cutelite.tuples import NamedTuple
from cutelite_rt import ArrayView
from cutelite_rt.arrays import stream as streams
from cutelite_rt.arrays.memory import is_array

Call = Callable[..., Any]
"""The function that is timed for a config. It takes the arguments of the tuned function."""

_ALIGNMENT = 16  # bytes: kernels are specialised for pointers of this alignment


class Problem(NamedTuple):
    """One call, which can be made with any config.

    call     (config) -> a function that makes the call; it takes `args` and `kwargs`
    named    every argument by the name of its parameter
    more     other values by name: the dims of a kernel
    how      other facts that the choice depends on: the settings of a kernel's launch
    """

    call: Callable[[Any], Call]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    named: dict[str, Any]
    more: dict[str, Any]
    how: tuple[Any, ...] = ()


def views_of(args: Iterable[Any], kwargs: Mapping[str, Any]) -> list[tuple[Any, ArrayView]]:
    """Return (array, its facts) for each array among the arguments, once. Errors: `UnreadableArray`."""
    found = {id(array): array for argument in (*args, *kwargs.values()) for array in arrays_in(argument)}
    return [(array, rt.read(array)) for array in found.values()]


def place(views: Iterable[tuple[Any, ArrayView]], environment: Environment) -> int | None:
    """Return the GPU that a call with these arrays runs on; None if it runs in the simulator."""
    if environment.simulate:
        return None
    homes = [view.device for _, view in views]
    for kind, ordinal in homes:
        if kind == "cuda":
            return ordinal
    return None if homes or not has_gpu() else rt.device().ordinal


def is_capturing(views: Iterable[tuple[Any, ArrayView]], ordinal: int) -> bool:
    """Tell whether the stream of the launches is being captured into a graph, in which nothing can be timed."""
    return streams.is_captured(rt.device(ordinal), streams.current(view for _, view in views))


# Keys.


def quick_key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Hashable:
    """Return a key, which is equal for equal types, dtypes, shapes, strides, devices, alignments and values."""
    key: list[Hashable] = []
    for argument in args:
        read = _READERS.get(type(argument), _quick)
        read(argument, key)
    for name, argument in kwargs.items():
        key.append(name)
        read = _READERS.get(type(argument), _quick)
        read(argument, key)
    return tuple(key)


def _itself(x: Any, key: list[Hashable]) -> None:
    kind: Any = type(x)
    key += kind, x


def _torch(x: Any, key: list[Hashable]) -> None:
    """Add to `key` the facts that `_told` adds, in a third of the time: half a microsecond."""
    key += x.dtype, x.shape, x.stride(), x.device, x.data_ptr() % _ALIGNMENT


_READERS: dict[type, Callable[[Any, list[Hashable]], None]] = {
    **dict.fromkeys(PLAIN, _itself),
    # By identity. Functions that are made anew for every call are equal only by the slow key, which has their code.
    **dict.fromkeys((FunctionType, BuiltinFunctionType, type), _itself),
}
"""The reader for each type of argument; `_quick` reads arguments of other types."""


def _quick(x: Any, key: list[Hashable]) -> None:
    kind: Any = type(x)
    key.append(kind)
    if is_array(x):
        view = rt.read(x)
        key += _told(view), view.device
        if view.library == "torch":
            _READERS[kind] = _torch
    elif kind in (tuple, list):
        key.append(len(x))
        for part in x:
            _READERS.get(type(part), _quick)(part, key)
    elif _is_its_fields(x):
        key.pop()
        _READERS[kind] = _fields_of(kind)
        _READERS[kind](x, key)
    elif not any(True for _ in arrays_in(x)):
        key.append(fingerprint.constant_key(x))
    else:
        parts = x if isinstance(x, Mapping) else {f.name: getattr(x, f.name) for f in dataclasses.fields(x)}
        key.append(quick_key((), dict(parts)))


def _is_its_fields(x: Any) -> bool:
    """Tell whether `x` is a dataclass with no attributes but its fields."""
    return dataclasses.is_dataclass(x) and len(getattr(x, "__dict__", ())) in (0, len(dataclasses.fields(x)))


def _fields_of(kind: type) -> Callable[[Any, list[Hashable]], None]:
    """Return a function that reads a dataclass field by field, in a hundredth of the time of a fingerprint."""
    names = tuple(field.name for field in dataclasses.fields(kind))

    def read(x: Any, key: list[Hashable]) -> None:
        key.append(kind)
        for name in names:
            part = getattr(x, name)
            _READERS.get(type(part), _quick)(part, key)
        if len(getattr(x, "__dict__", ())) > len(names):
            key.append(fingerprint.constant_key(x))  # it has attributes that its class does not declare

    return read


def _told(view: ArrayView) -> tuple[Any, ...]:
    return view.dtype, view.shape, view.strides, view.device[0], view.pointer % _ALIGNMENT == 0


def check_key(problem: Problem, key: tuple[str, ...] | Callable[..., Hashable] | None) -> None:
    """Check that a call has what `key` names. Errors: TypeError."""
    for name in () if callable(key) else key or ():
        if name not in problem.more and name not in problem.named:
            raise TypeError(f"key names {name!r}, but the call has {', '.join({**problem.more, **problem.named})}")


def slow_key(problem: Problem, key: tuple[str, ...] | Callable[..., Hashable] | None) -> tuple[Any, ...]:
    """Return the facts that the choice depends on, as plain values. Errors: as `check_key`.

    key  names of arguments (shape and strides of arrays, values of others), or a function of the arguments.
         None: all arguments, floats without their values. The dtypes of all arrays are always part of it
    """
    check_key(problem, key)
    dtypes = tuple(rt.read(array).dtype for array in arrays_in(list(problem.named.values())))
    if callable(key):
        return dtypes, problem.how, key(*problem.args, **problem.kwargs)
    known = {**problem.more, **problem.named}
    names = tuple(problem.named) if key is None else key
    return dtypes, problem.how, tuple((name, _matters(known[name], key is not None)) for name in names)


def _matters(x: Any, named: bool) -> Any:
    """Return the facts about one argument that the choice depends on."""
    if type(x) is float and not named:
        return "a float"
    if type(x) in PLAIN:
        return x
    if is_array(x):
        return _told(rt.read(x))
    if isinstance(x, tuple | list):
        return tuple(_matters(part, named) for part in x)
    if not any(True for _ in arrays_in(x)):
        return x
    parts = x if isinstance(x, Mapping) else {f.name: getattr(x, f.name) for f in dataclasses.fields(x)}
    return tuple((name, _matters(part, named)) for name, part in parts.items())
