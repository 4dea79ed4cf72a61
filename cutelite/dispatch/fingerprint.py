"""What a kernel's code depends on, as a digest: the key of the disk cache.

Everything reached from the function goes in: its bytecode and constants, closures, defaults, the globals it names
and what those name in turn, classes it uses with their methods; the specialisation; options; the target; the
tools; and the compiler itself, by the sizes and times of its files. Two runs with the same digest compile to the
same code. What cannot be digested faithfully makes the kernel uncacheable on disk, never wrongly cached.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

from cutelite.ir.types import Type
from cutelite.lang.annotations import ConstexprSpec, DTypeVar, StructSpec, TensorSpec, TmaSpec
from cutelite.layout import ComposedLayout, DimExpr, Layout, Swizzle

PACKAGES = ("cutelite", "cutelite_rt")
TOLD_BY_TEXT = (Type, Layout, ComposedLayout, Swizzle, DimExpr, TensorSpec, TmaSpec, ConstexprSpec, DTypeVar)
"""Values whose repr says everything about them."""


class Undigestible(TypeError):
    """Something a kernel depends on has no faithful digest."""


def digest(function: types.FunctionType, *facts: Any, positions: bool = False) -> str:
    """The key of `function` compiled under `facts`. With `positions` source lines are part of the code.

    Errors: `Undigestible`
    """
    walker = _Walker(positions)
    walker.value(function)
    for fact in facts:
        walker.value(fact)
    walker.text("build", build_id(), sys.version)
    return walker.hash.hexdigest()


@functools.cache
def build_id() -> str:
    """Identity of the compiler: names, sizes and modification times of its source files."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    found = sorted(line for package in PACKAGES for line in _files(os.path.join(root, package), package))
    return hashlib.blake2b("\n".join(found).encode(), digest_size=16).hexdigest()


def _files(folder: str, name: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                stat = entry.stat()
                yield f"{name}/{entry.name} {stat.st_size} {stat.st_mtime_ns}"
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _files(entry.path, f"{name}/{entry.name}")


class _Walker:
    """Feeds a hash with everything it is shown; what was shown before is named by its number."""

    def __init__(self, positions: bool) -> None:
        self.hash = hashlib.blake2b(digest_size=20)
        self.positions = positions
        self.seen: dict[int, int] = {}
        self.kept: list[Any] = []  # so that no id is used twice

    def text(self, *parts: str) -> None:
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            self.hash.update(b"%d:" % len(data))
            self.hash.update(data)

    def value(self, x: Any) -> None:
        if x is None or isinstance(x, bool | int | str | complex) and type(x).__module__ == "builtins":
            self.text(type(x).__name__, repr(x))
        elif type(x) is float:
            self.text("float", x.hex())
        elif type(x) is bytes:
            self.text("bytes", x.hex())
        elif isinstance(x, TOLD_BY_TEXT):
            self.text(type(x).__name__, repr(x), str(x))
        elif id(x) in self.seen:
            self.text("seen", str(self.seen[id(x)]))
        else:
            self.seen[id(x)] = len(self.seen)
            self.kept.append(x)
            self._object(x)

    def _object(self, x: Any) -> None:
        x = getattr(x, "__cutelite_function__", x)  # a kernel called by a kernel
        match x:
            case types.FunctionType():
                self._function(x)
            case types.CodeType():
                self._code(x)
            case tuple() | list():
                self.text(_class_name(x), str(len(x)))
                for item in x:
                    self.value(item)
            case dict():
                self.text("dict", str(len(x)))
                for key, item in x.items():
                    self.value(key)
                    self.value(item)
            case set() | frozenset():
                self._set(x)
            case types.ModuleType():
                self.text("module", x.__name__, str(getattr(x, "__version__", "")))
            case types.MethodType():
                self.text("method")
                self.value(x.__func__)
                self.value(x.__self__)
            case functools.partial():
                self.text("partial")
                for part in (x.func, x.args, x.keywords):
                    self.value(part)
            case enum.Enum():
                self.text("enum", _class_name(x), x.name)
                self.value(x.value)
            case StructSpec():
                self.text("struct")
                self.value(x.cls)
                self.value(x.fields)
            case type():
                self._class(x)
            case types.BuiltinFunctionType() | types.MethodDescriptorType() | types.WrapperDescriptorType():
                self.text("builtin", str(x.__module__ if hasattr(x, "__module__") else ""), x.__qualname__)
            case property() | staticmethod() | classmethod() | functools.cached_property():
                self.text(type(x).__name__)
                for part in _functions_of(x):
                    self.value(part)
            case _:
                self._instance(x)

    def _instance(self, x: Any) -> None:
        if x is Ellipsis or x is NotImplemented:
            self.text("singleton", repr(x))
        elif hasattr(type(x), "__cutelite_key__"):
            self.text("keyed", _class_name(x))
            self.value(x.__cutelite_key__())
        elif type(x).__module__.partition(".")[0] in (*PACKAGES, "numpy", "ml_dtypes", "typing"):
            self.text("object", _class_name(x), repr(x))
        elif hasattr(type(x), "__dataclass_fields__"):
            self.value(type(x))
            for name in type(x).__dataclass_fields__:
                self.value(getattr(x, name))
        elif not hasattr(x, "__dict__") and not hasattr(type(x), "__slots__"):
            raise Undigestible(f"a {_class_name(x)} cannot be part of a cache key")
        else:
            self.value(type(x))
            self.value(_state(x))

    def _set(self, x: Any) -> None:
        try:
            items = sorted(x)
        except TypeError:
            items = sorted(x, key=repr)
        self.text("set", str(len(items)))
        for item in items:
            self.value(item)

    def _code(self, code: types.CodeType) -> None:
        self.text("code", code.co_name, code.co_code.hex(), *code.co_names, *code.co_varnames, *code.co_freevars)
        self.text(*code.co_cellvars, str(code.co_argcount), str(code.co_kwonlyargcount), str(code.co_flags))
        self.text(str(code.co_posonlyargcount), code.co_exceptiontable.hex())
        if self.positions:
            self.text(code.co_filename, str(code.co_firstlineno), code.co_linetable.hex())
        for constant in code.co_consts:
            self.value(constant)

    def _function(self, function: types.FunctionType) -> None:
        module = function.__module__ or ""
        if module.partition(".")[0] in PACKAGES or module.partition(".")[0] in sys.stdlib_module_names - {"__main__"}:
            self.text("known function", module, function.__qualname__)
            return
        self.text("function", function.__qualname__)
        self.value(function.__code__)
        self.value(function.__defaults__)
        self.value(function.__kwdefaults__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.text("cell", name)
            self.value(_content(cell))
        for name, held in _reached(function):
            self.text("global", name)
            self.value(held)

    def _class(self, cls: type) -> None:
        self.text("class", cls.__module__ or "", cls.__qualname__)
        root = (cls.__module__ or "").partition(".")[0]
        if root in sys.stdlib_module_names - {"__main__"} or root in (*PACKAGES, "numpy", "ml_dtypes"):
            return
        for base in cls.__bases__:
            self.value(base)
        for name, member in sorted(cls.__dict__.items()):
            if isinstance(member, types.FunctionType | property | staticmethod | classmethod | functools.cached_property):
                self.text("member", name)
                self.value(member)
            elif not name.startswith("_") and not isinstance(member, types.MemberDescriptorType):
                self.text("attribute", name)
                self.value(member)


def _reached(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The globals that a function names, and what it may name inside modules among them."""
    names = sorted(_names(function.__code__))
    for name in names:
        if name not in function.__globals__:
            continue
        held = function.__globals__[name]
        yield name, held
        yield from _inside(name, held, names, set())


def _inside(path: str, module: Any, names: list[str], seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Attributes of a user's module that the code names somewhere, those of submodules included."""
    if not isinstance(module, types.ModuleType) or id(module) in seen:
        return
    root = module.__name__.partition(".")[0]
    if root in PACKAGES or root in sys.stdlib_module_names - {"__main__"} or root == "numpy":
        return
    seen.add(id(module))
    for name in names:
        if name in module.__dict__:
            yield f"{path}.{name}", module.__dict__[name]
            yield from _inside(f"{path}.{name}", module.__dict__[name], names, seen)


def _names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return ("empty cell",)


def _functions_of(member: Any) -> tuple[Any, ...]:
    if isinstance(member, property):
        return (member.fget,)
    return (getattr(member, "__func__", None) or member.func,)


def _state(x: Any) -> dict[str, Any]:
    slots = (name for cls in type(x).__mro__ for name in getattr(cls, "__slots__", ()) if hasattr(x, name))
    return {**{name: getattr(x, name) for name in slots if name != "__dict__"}, **getattr(x, "__dict__", {})}


def _class_name(x: Any) -> str:
    return f"{type(x).__module__}.{type(x).__qualname__}"
