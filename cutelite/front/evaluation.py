"""The evaluation of one kernel: calls, attributes, mutation rules, and how mistakes are told."""

from __future__ import annotations

import difflib
import functools
import sys
import types
from typing import Any

from cutelite.diag import CompileError, Mistake
from cutelite.ir.builder import Builder
from cutelite.ir.types import Scalar as DType
from cutelite.lang.values import Runtime, mistake, to_dtype
from cutelite.ops.control import AssertFail

from . import bytecode, cfg
from .builtins import MATH, TABLE
from .frame import Cell, Closure, DeadEnd, Frame, iterate_static
from .iterators import StaticIter
from .merge import Conflict, Path, State, merge
from .regions import Carried
from .strings import RuntimeText
from .tree import holds_runtime

MAX_DEPTH = 100
"""Calls that may be inlined into each other: Python's own stack is used for them."""

MUTATORS = frozenset(
    "append extend insert remove pop clear sort reverse update setdefault popitem add discard"
    " difference_update intersection_update symmetric_difference_update __setitem__ __delitem__".split()
)
NATIVE_PACKAGES = frozenset(("cutelite", "numpy", "torch", "jax"))
"""Python functions of these, and of the standard library, are executed by Python and not inlined."""

INLINED_MODULES = ("cutelite.lib",)
"""What of cutelite is written in the language of kernels itself."""


@functools.lru_cache(maxsize=4096)
def _graph(code: types.CodeType) -> tuple[bytecode.Code, cfg.Cfg]:
    read = bytecode.read(code)
    return read, cfg.build(read)


class Evaluation:
    """What the frames of one kernel share."""

    def __init__(self, builder: Builder, assertions: bool) -> None:
        self.builder = builder
        self.assertions = assertions
        self.mutables: dict[int, tuple[Any, Path]] = {}
        self._memory: dict[Any, dict[Any, Carried]] = {}
        self._cells: dict[int, dict[str, Cell]] = {}
        self._depth = 0

    # Calls.

    def call(
        self, frame: Frame, instr: Any, function: Any, args: list[Any], kwargs: dict[str, Any], path: Path
    ) -> tuple[Any, Path]:
        """Call `function` from `frame`: (what it returns, the path on which it does)."""
        while isinstance(function, functools.partial):
            args, kwargs = [*function.args, *args], {**function.keywords, **kwargs}
            function = function.func
        function = getattr(function, "__cutelite_function__", function)  # a kernel called by a kernel is inlined
        if isinstance(function, types.MethodType) and self._is_inlined(function.__func__):
            args, function = [function.__self__, *args], function.__func__
        key = (frame.key, instr.offset, frame.regions.iteration)
        if isinstance(function, Closure):
            bound = bind(function.name, function.code, function.defaults, function.kwdefaults, args, kwargs)
            return self.inline(function.code, function.globals, function.cells, bound, key, path)
        if isinstance(function, types.FunctionType) and self._is_inlined(function):
            return self._call_function(function, args, kwargs, key, path)
        if not isinstance(function, type) and isinstance(called := getattr(type(function), "__call__", None), types.FunctionType):
            if self._is_inlined(called):
                return self._call_function(called, [function, *args], kwargs, key, path)
        return self._call_native(frame, function, args, kwargs, key, path)

    def _is_inlined(self, function: Any) -> bool:
        module = getattr(function, "__module__", None) or ""
        if not isinstance(function, types.FunctionType):
            return False
        if module.startswith(INLINED_MODULES):
            return True
        root = module.partition(".")[0]
        return root not in NATIVE_PACKAGES and root not in sys.stdlib_module_names or root == "__main__"

    def _call_function(
        self, function: types.FunctionType, args: list[Any], kwargs: dict[str, Any], key: Any, path: Path
    ) -> tuple[Any, Path]:
        code = function.__code__
        bound = bind(code.co_name, code, function.__defaults__ or (), function.__kwdefaults__ or {}, args, kwargs)
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        return self.inline(code, function.__globals__, cells, bound, key, path)

    def inline(
        self,
        code: types.CodeType,
        globals: dict[str, Any],
        cells: dict[str, Any],
        bound: dict[str, Any],
        key: Any,
        path: Path,
    ) -> tuple[Any, Path]:
        """Evaluate a function's body in place, and merge all the ways in which it returns."""
        if self._depth >= MAX_DEPTH:
            raise mistake(
                "recursion",
                f"calls are inlined {MAX_DEPTH} deep here",
                help="recursion must end at compile time: make what it depends on a Constexpr",
            )
        read, graph = _graph(code)
        frame = Frame(self, read, graph, globals, cells, self.builder.span, key)
        self._depth += 1
        try:
            returns = frame.run(bound, path)
        finally:
            self._depth -= 1
        if not returns:
            raise DeadEnd
        if frame.yielded is not None:
            return self._generated(frame, returns, path), path
        states = [State({"": value}, [], {}, state.block, state.path) for state, value in returns]
        merged = merge(self.builder, states, frozenset(("",)))
        value = merged.locals[""]
        if isinstance(value, Conflict):
            raise value.error(f"{read.name}(...)", frame.call)
        return value, merged.path

    def _generated(self, frame: Frame, returns: list[tuple[State, Any]], path: Path) -> StaticIter:
        ((state, _),) = returns
        if state.path != path:
            raise mistake("generator", "a run-time condition decides what this generator yields")
        self.builder.block = state.block
        return StaticIter(tuple(frame.yielded or ()))

    def _call_native(
        self, frame: Frame, function: Any, args: list[Any], kwargs: dict[str, Any], key: Any, path: Path
    ) -> tuple[Any, Path]:
        if isinstance(function, DType):
            return frame.native(_dtype_call, function, args, kwargs), path
        if _hashable(function) and function in TABLE:
            return frame.native(TABLE[function], *args, **kwargs), path
        if function in (map, filter, functools.reduce) and any(map(self._calls_back, args)):
            return self._call_back(frame, function, args, path)
        if _hashable(function) and function in MATH and any(map(holds_runtime, args)):
            from cutelite.lang import math

            return frame.native(getattr(math, MATH[function]), *args, **kwargs), path
        owner = getattr(function, "__self__", None)
        if isinstance(owner, list | dict | set) and getattr(function, "__name__", "") in MUTATORS:
            self.check_mutable(owner, path, f"`.{function.__name__}()`")
        args = [arg for given in args for arg in (_expanded(given) if isinstance(given, RuntimeText) else [given])]
        result = frame.native(function, *args, **kwargs)
        if isinstance(result, list | dict | set) and not isinstance(owner, list | dict | set):
            self.made(result, path)
        return result, path

    def _calls_back(self, x: Any) -> bool:
        return isinstance(x, Closure) or self._is_inlined(x)

    def _call_back(self, frame: Frame, function: Any, args: list[Any], path: Path) -> tuple[Any, Path]:
        """`map`, `filter` and `reduce` with a function of the kernel's."""
        callee, *rest = args
        columns = [iterate_static(column) for column in (rest[:1] if function is functools.reduce else rest)]
        instr = _Site()
        if function is functools.reduce:
            items = [*rest[1:], *columns[0]]
            total = items[0]
            for item in items[1:]:
                total, path = self.call(frame, instr.next(), callee, [total, item], {}, path)
            return total, path
        results = []
        for row in zip(*columns, strict=function is filter):
            value, path = self.call(frame, instr.next(), callee, list(row), {}, path)
            if function is map:
                results.append(value)
            elif isinstance(value, Runtime):
                raise mistake("filter", "a run-time condition decides what this filter keeps")
            elif value:
                results.append(row[0])
        return StaticIter(tuple(results)), path

    # Attributes.

    def attribute(self, obj: Any, name: str) -> Any:
        if isinstance(obj, Closure):
            raise mistake("attribute", f"a function made in a kernel has no attributes: `.{name}`")
        try:
            return getattr(obj, name)
        except AttributeError as error:
            if isinstance(error.__cause__, CompileError):
                raise error.__cause__ from None
            near = difflib.get_close_matches(name, dir(obj), 1)
            what = f"module `{obj.__name__}`" if isinstance(obj, types.ModuleType) else f"{_kind(obj)}"
            help = f"did you mean `{near[0]}`?" if near else ""
            raise mistake("attribute", f"{what} has no attribute `{name}`", help=help) from None

    # Compile-time objects that can change.

    def made(self, obj: Any, path: Path) -> Any:
        """Remember where a list, dict or set was made: only there may it be changed."""
        self.mutables[id(obj)] = (obj, path)
        return obj

    def check_mutable(self, obj: Any, path: Path, what: str) -> None:
        known = self.mutables.get(id(obj))
        if known is None:
            raise mistake(
                "mutation",
                f"{what} would change {_kind(obj)} that lives outside of the kernel",
                help="kernels cannot change Python objects from outside; make a new one here",
            )
        if known[1] != path:
            raise mistake(
                "mutation",
                f"{what} would change a compile-time {type(obj).__name__} under a run-time condition or in a"
                " run-time loop",
                help="build it before, use `cl.static_range`, or keep run-time data in a register tensor",
            )

    # Cells and memory.

    def cell(self, frame: Frame, name: str) -> Cell:
        return self._cells.setdefault(id(frame), {}).setdefault(name, Cell(frame, name))

    def cells_of(self, frame: Frame) -> list[Cell]:
        return list(self._cells.get(id(frame), {}).values())

    def memory_of(self, key: Any) -> dict[Any, Carried]:
        return self._memory.setdefault(key, {})

    # Mistakes.

    def python_error(self, error: Exception) -> CompileError:
        """An exception that Python raised while it executed a compile-time operation."""
        code = "layout" if type(error).__name__ == "LayoutError" else "python-error"
        title = str(error) if code == "layout" else f"{type(error).__name__}: {error}"
        help = ""
        if isinstance(error, TypeError) and "unsupported operand" in str(error):
            help = "one of the operands is not a number or has no such operator"
        return CompileError(Mistake(code, title, help=help), self.builder.span)

    def unknown_name(self, name: str, frame: Frame) -> CompileError:
        known = [*frame.code.pycode.co_varnames, *frame.globals, *dir(__builtins__)]
        near = difflib.get_close_matches(name, known, 1)
        return mistake("unknown-name", f"the name `{name}` is not defined", help=f"did you mean `{near[0]}`?" if near else "")

    def emit_assert_failure(self, message: Any) -> None:
        if isinstance(message, RuntimeText):
            from cutelite.lang.debug import printf

            text, args = message.printf()
            printf(text + "\n", *args)
            message = "assertion failed"
        self.builder.emit(AssertFail(str(message)))


class _Site:
    """Stands for an instruction where calls come from a builtin."""

    def __init__(self) -> None:
        self.offset: Any = ("callback", 0)

    def next(self) -> _Site:
        self.offset = ("callback", self.offset[1] + 1)
        return self


def _expanded(text: RuntimeText) -> list[Any]:
    fmt, args = text.printf()
    return [fmt, *args]


def _dtype_call(dtype: DType, *args: Any) -> Any:
    (given, kwargs) = args
    if len(given) != 1 or kwargs:
        raise mistake("conversion", f"cl.{dtype}(x) takes one number")
    return to_dtype(given[0], dtype)


def _hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


def _kind(x: Any) -> str:
    if isinstance(x, Runtime):
        return f"a run-time {x.type}"
    return f"a {type(x).__name__}"


def bind(
    name: str,
    code: types.CodeType,
    defaults: tuple[Any, ...],
    kwdefaults: dict[str, Any],
    args: list[Any],
    kwargs: dict[str, Any],
) -> dict[str, Any]:
    """Arguments to parameters, by Python's rules."""
    count = code.co_argcount
    names = code.co_varnames[:count]
    kwonly = code.co_varnames[count : count + code.co_kwonlyargcount]
    bound = dict(zip(names, args, strict=False))
    extra = list(args[count:])
    rest = dict(kwargs)
    at = count + code.co_kwonlyargcount
    if code.co_flags & 0x04:
        bound[code.co_varnames[at]] = tuple(extra)
        extra, at = [], at + 1
    if extra:
        raise mistake("call", f"{name}() takes {count} arguments, but {len(args)} were given")
    for key in list(rest):
        if key in names[code.co_posonlyargcount :] or key in kwonly:
            if key in bound:
                raise mistake("call", f"{name}() got two values for `{key}`")
            bound[key] = rest.pop(key)
    if code.co_flags & 0x08:
        bound[code.co_varnames[at]] = rest
    elif rest:
        near = difflib.get_close_matches(next(iter(rest)), [*names, *kwonly], 1)
        hint = f"did you mean `{near[0]}`?" if near else ""
        raise mistake("call", f"{name}() has no parameter `{next(iter(rest))}`", help=hint)
    for i, value in enumerate(reversed(defaults)):
        bound.setdefault(names[count - 1 - i], value)
    for key in kwonly:
        if key in kwdefaults:
            bound.setdefault(key, kwdefaults[key])
    missing = [n for n in (*names, *kwonly) if n not in bound]
    if missing:
        raise mistake("call", f"{name}() lacks the argument{'s'[: len(missing) > 1]} {', '.join(missing)}")
    return bound
