"""Functions in the graphs of torch.compile: a number stands for one, and tensors that it captured are operands.

In    functions of the caller's, in a call that torch.compile traces, or that goes to an operator otherwise (`numbered`)
Out   a number and tensors, both arguments of an operator, which makes the functions of them again (`restored`)

torch guards a function by its code. So what is traced here also reads all that the function captured: a tensor becomes
an input of the graph, and of anything else the value is guarded, so that a call with another value is compiled again.
Variables of modules are not guarded, but for tensors: the operator finds their current values, as a call without
torch.compile does.

A function that is made within what is traced has no cells that could be read: it may be one that captures nothing. A
`functools.partial` that is made there may hold numbers, and tensors of the graph.
"""

# mypy: disable-error-code="untyped-decorator"
# (torch is not installed where types are checked)

from __future__ import annotations

import ctypes
import operator
import threading
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.torch_version import TorchVersion

from cutelite.dispatch import fingerprint
from cutelite.interop.torch import traced
from cutelite.lang.tables import copied, globals_of, held_by, key_of, replaced
from cutelite_rt import ArgumentError

GUARDS_DICTS = TorchVersion(torch.__version__) >= (2, 13)
"""Whether torch guards the identity of a dict."""
Path = tuple[tuple[str, Any], ...]
"""How something that a function holds is reached from it: step by step, what is read and which of these."""


class Slot(NamedTuple):
    """The place in a function of a tensor that it captured: its number among these."""

    number: int


class Kept(NamedTuple):
    """A function with `Slot` in place of each of so many tensors."""

    function: Any
    tensors: int


_kept: list[Kept] = []
"""What graphs refer to, by number. They may run at any time, so nothing is dropped; guards keep it from growing."""
_known: dict[Any, int] = {}
"""The number of a function among these, by what it is made of; of those that last."""
_forms: list[tuple[Any, ...]] = []
_numbers: dict[tuple[Any, ...], int] = {}
"""Arguments of operators, by number, and the number of each. One is ``(kind, ...)``: see `_form`."""
_lock = threading.Lock()
"""Held where something gets a number."""


def readable(x: Any, taken: int) -> bool:
    """Tell, where it is traced, whether `numbered` can take a function, or its name: else the graph has to break.

    taken   how many arguments it is called with
    """
    if x is None or isinstance(x, str):
        return True
    if isinstance(x, partial):
        parts = (*x.args, *x.keywords.values())
        return all(_is_plain(each) for each in parts) and readable(x.func, taken + len(parts))
    if isinstance(x, MethodType):
        return readable(x.__func__, taken + 1)
    return type(x) is FunctionType and _has_cells(x, taken) and _is_readable(x)


def _is_plain(x: Any) -> bool:
    if type(x) in (tuple, list):
        return all(_is_plain(each) for each in x)
    return x is None or isinstance(x, Tensor | str | int | float)


def _has_cells(x: FunctionType, taken: int) -> bool:
    """Tell whether what a function holds can be read; where it was made in what is traced, whether it is a constant."""
    code = x.__code__
    try:
        if code.co_freevars:
            return (getattr(x, "__closure__", None) or ()) != () and _is_one(x, x)
        bare = code.co_argcount + code.co_kwonlyargcount <= taken and _holds_nothing(x)
        return bare or bool(isinstance(x.__globals__, dict) and _is_one(x, x))
    except AttributeError:
        return False


@torch.compiler.assume_constant_result
def _is_one(function: FunctionType, again: FunctionType) -> bool:
    """Tell, of a function given twice, whether it was made outside of what is traced: else torch makes it twice."""
    return function is again


@torch.compiler.assume_constant_result
def _holds_nothing(function: FunctionType) -> bool:
    return next(_held(function), None) is None


@torch.compiler.assume_constant_result
def _is_readable(function: FunctionType) -> bool:
    """Tell whether all that a function holds can be guarded."""
    return all(_kind_of(x) for _, x in _held(function))


def _kind_of(x: Any) -> str:
    """Return how a value is guarded; '' for one that is not."""
    if isinstance(x, Tensor):
        return "tensor"
    if x is None or isinstance(x, str | bool | int | float):
        return "number"
    if isinstance(x, FunctionType | partial) or type(x) in (tuple, list):
        return "constant"  # by code and length; what is in it has paths of its own
    if isinstance(x, Enum | torch.dtype | torch.device | type | ModuleType | BuiltinFunctionType):
        return "constant"
    apart = isinstance(x, MethodType) or hasattr(x, "__len__") or hasattr(x, "__array_interface__")
    return "" if apart and not (GUARDS_DICTS and type(x) is dict) else "object"


@torch.compiler.assume_constant_result
def exporting() -> bool:
    """Tell whether what is traced is exported: in another process the number of a function says nothing."""
    return bool(torch.compiler.is_exporting())


def numbered(functions: tuple[Any, ...]) -> tuple[int, list[Tensor]]:
    """Return, where it is traced, the number of some functions, and the tensors that they hold.

    They may be in tuples, lists and dataclasses, with what else there is in these.
    """
    tensors: list[Tensor] = []
    form = _form(functions, tensors)
    return _number(form), tensors


def restored(number: int, tensors: Sequence[Tensor]) -> Any:
    """Return the functions of a number, with these tensors in them; where there are none, the same ones each time."""
    return _made(_forms[number], iter(tensors)) if tensors else _whole(number)


@cache
def _whole(number: int) -> Any:
    return _made(_forms[number], iter(()))


def _form(x: Any, tensors: list[Tensor]) -> tuple[Any, ...]:
    """Return what `x` is, as ``(kind, ...)`` of constants; `tensors` gets those in it. It is traced."""
    if isinstance(x, Tensor):
        tensors.append(x)
        return ("tensor",)
    if isinstance(x, partial):
        named = tuple((name, _form(value, tensors)) for name, value in x.keywords.items())
        return "partial", _form(x.func, tensors), tuple(_form(each, tensors) for each in x.args), named
    if type(x) in (tuple, list):
        return "tuple" if type(x) is tuple else "list", tuple(_form(each, tensors) for each in x)
    names = _fields(type(x))
    if names is not None:
        return "record", type(x), tuple(_form(getattr(x, name), tensors) for name in names)
    if isinstance(x, MethodType):
        return "method", _form(x.__func__, tensors), _keep_owner(id(x.__self__))  # is guarded
    if isinstance(x, FunctionType):
        number, paths = _keep(x)
        for kind, path in paths:
            found = _reached(x, path)
            if kind == "tensor":
                tensors.append(found)
            elif kind == "object":
                id(found)  # is guarded
            else:
                _guarded(found)
        return "kept", number
    return _guarded(x)


@torch.compiler.assume_constant_result
def _fields(kind: type) -> tuple[str, ...] | None:
    """Return the names of a dataclass's fields; None for other types."""
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else None


def _guarded(x: Any) -> tuple[Any, ...]:
    """Return what a constant is, for which alone the graph is then: it may have been a symbol. It is traced."""
    if isinstance(x, bool | torch.SymBool):
        return ("value", True) if x else ("value", False)  # not bool(x), which may be a symbol again
    if isinstance(x, int):
        return "int", operator.index(x)  # a kind of its own: 1 and True are equal
    return ("float", x.hex()) if isinstance(x, float) else ("value", x)


def _reached(x: Any, path: Path) -> Any:
    """Return what a path leads to. It is traced."""
    for step, which in path:
        if step == "cell":
            x = x.__closure__[which].cell_contents
        elif step == "default":
            x = x.__defaults__[which]
        elif step == "named":
            x = x.__kwdefaults__[which]
        elif step == "global":
            x = x.__globals__[which]
        elif step == "func":
            x = x.func
        elif step == "argument":
            x = x.args[which]
        elif step == "keyword":
            x = x.keywords[which]
        else:
            x = x[which]
    return x


@torch.compiler.assume_constant_result
def _keep_owner(place: int) -> int:
    """Keep the object that a method is bound to, given by its `id`: objects are no constants. Return its number."""
    x = ctypes.cast(place, ctypes.py_object).value
    with _lock:
        number = _known.setdefault(fingerprint.Same(x), len(_kept))
        if number == len(_kept):
            _kept.append(Kept(x, 0))
    return number


@torch.compiler.assume_constant_result
def _keep(function: FunctionType) -> tuple[int, tuple[tuple[str, Path], ...]]:
    """Keep a function for graphs. Return its number, and of all that is to be read of it the kind and the path."""
    held, slots = list(_held(function)), dict[int, Slot]()
    tensors = [each for _, each in held if isinstance(each, Tensor)]
    for i, each in enumerate(tensors):
        slots.setdefault(id(each), Slot(i))
    made = replaced(function, lambda x: slots.get(id(x), x)) if slots else function
    key = key_of(made) if fingerprint.lasts(made) else None
    with _lock:
        number = len(_kept) if key is None else _known.setdefault(key, len(_kept))
        if number == len(_kept):  # with cells of its own where it stands for others: its variables may change
            own = made if key is None or not made.__closure__ else copied(made, held_by(made))
            _kept.append(Kept(own, len(tensors)))
    return number, tuple((_kind_of(each), path) for path, each in held)


def takes(functions: dict[str, Any], *tensors: Tensor) -> bool:
    """Tell whether an operator takes functions by number where nobody traces the call; else it may run as it is.

    functions  by the names of arguments; what is none is ignored
    Errors     `cutelite.ArgumentError` for a call that may not: a tensor needs a gradient, or holds no data
    """
    recorded = torch._C._is_tracing() or torch.compiler.is_exporting()
    for name, x in functions.items():
        bare = replaced(x, lambda held: None if isinstance(held, Tensor) else held, variables=False)
        if not callable(x) or (not recorded and fingerprint.lasts(bare)):
            continue  # tensors go beside its number
        if recorded:
            raise ArgumentError(f"{name}= is a function, which a record for other processes does not hold")
        if traced(*tensors) or (torch.is_grad_enabled() and any(x.requires_grad for x in tensors)):
            why = "a function that holds what may change, which no operator takes"
            raise ArgumentError(f"{name}= is {why}: detach arrays, or bind what it reads by functools.partial")
        return False
    return True


def _held(x: Any, path: Path = (), within: tuple[Any, ...] = (), every: bool = True) -> Iterator[tuple[Path, Any]]:
    """Yield what `replaced` would replace in a function, and where it is; of a module's variables tensors alone.

    every   what is no tensor too
    """
    if isinstance(x, FunctionType):
        if any(x is each for each in within):
            return
        if every and path:
            yield path, x  # itself, which may be another function that holds nothing
        cells, defaults, named = held_by(x)
        parts: list[tuple[str, Any, Any]] = [("cell", i, each) for i, each in enumerate(cells)]
        parts += [("default", i, each) for i, each in enumerate(defaults)]
        parts += [("named", name, each) for name, each in named]
        for name, value in globals_of(x):
            yield from _held(value, (*path, ("global", name)), (*within, x), every=False)
    elif isinstance(x, partial):
        if every and path:
            yield path, x
        parts = [("func", 0, x.func), *(("argument", i, each) for i, each in enumerate(x.args))]
        parts += [("keyword", name, each) for name, each in x.keywords.items()]
    elif type(x) in (tuple, list):
        if every:
            yield path, x  # its length
        parts = [("item", i, each) for i, each in enumerate(x)]
    else:
        if every or isinstance(x, Tensor):
            yield path, x
        return
    for step, which, value in parts:
        yield from _held(value, (*path, (step, which)), (*within, x), every)


@torch.compiler.assume_constant_result
def _number(form: tuple[Any, ...]) -> int:
    with _lock:
        if form not in _numbers:
            _forms.append(form)
            _numbers[form] = len(_forms) - 1
        return _numbers[form]


def _made(form: tuple[Any, ...], tensors: Iterator[Tensor]) -> Any:
    kind, *parts = form
    if kind == "tensor":
        return next(tensors)
    if kind == "partial":
        function = _made(parts[0], tensors)
        named = {name: _made(each, tensors) for name, each in parts[2]}
        return partial(function, *(_made(each, tensors) for each in parts[1]), **named)
    if kind == "method":
        return MethodType(_made(parts[0], tensors), _kept[parts[1]].function)
    if kind in ("tuple", "list"):
        return (tuple if kind == "tuple" else list)([_made(each, tensors) for each in parts[0]])
    if kind == "record":
        return parts[0](*(_made(each, tensors) for each in parts[1]))
    if kind == "float":
        return float.fromhex(parts[0])
    if kind in ("int", "value"):
        return parts[0]
    kept = _kept[parts[0]]
    own = [next(tensors) for _ in range(kept.tensors)]
    return replaced(kept.function, lambda x: own[x.number] if isinstance(x, Slot) else x) if own else kept.function
