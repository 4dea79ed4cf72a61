"""Calls. The user's Python functions are inlined; those of the compiler, of NumPy and of Python itself are executed.

`SPECIAL` holds the builtins that mean something of their own in kernels (see `builtins`).
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import sys
import types
from collections.abc import Callable, Iterator, MutableMapping, MutableSequence, MutableSet
from typing import Any, cast

from cutelite.diag import CompileError, Mistake, Span
from cutelite.diag.nearest import did_you_mean
from cutelite.diag.span import KERNELS, LIBRARY
from cutelite.front import bytecode, cfg, tree
from cutelite.front.closure import Closure
from cutelite.front.containers import take
from cutelite.front.evaluation import Evaluation
from cutelite.front.frame import DeadEnd, Frame, handles
from cutelite.front.instructions import Bytecode, Instr
from cutelite.front.iterators import Range, StaticIter, exhaust, is_foreign, iterate_static, refuse_foreign
from cutelite.front.merge import merge
from cutelite.front.mutation import (
    CONTAINERS,
    COPIES,
    MUTATORS,
    check_tensor,
    contents,
    is_array,
    owner_of,
    restore,
    unchanged,
)
from cutelite.front.regions import Returned
from cutelite.front.state import UNBOUND, Conflict, State
from cutelite.front.strings import RuntimeText, filled, formatted_now
from cutelite.front.unready import check_keys
from cutelite.ir.builder import Builder
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import boolean
from cutelite.lang.annotations import Tensor, TmaTensor
from cutelite.lang.emit import Runtime, describe, mistake
from cutelite.lang.index import Axes
from cutelite.lang.promotion import Torchlike, holds_literal, no_dtype, of_torch, to_dtype
from cutelite.lang.promotion import literal as number
from cutelite.lang.values import Scalar
from cutelite.layout import DimExpr
from cutelite.ops.registers import Elect

MAX_DEPTH = 400
"""The most calls that may be inlined into each other."""

ARRAYS = frozenset(("numpy", "jax", "ml_dtypes"))
"""Packages of whose functions `lang.array_names` has counterparts."""
NATIVE_PACKAGES = frozenset(("cutelite", "cutelite_rt", "numpy", "torch", "jax", "cupy", "ml_dtypes"))
"""Packages whose Python functions, like the standard library's, are executed by Python and not inlined."""

INLINED_MODULES = ("cutelite.lib", "cutelite.kernels")
"""The modules of cutelite that are written in the language of kernels itself."""

EXACT = frozenset(("statistics", "fractions", "decimal"))
"""Modules of Python's that compute exactly, which only numbers that are known can."""

_HOST_ROOMS = ("bench", "builds", "dispatch", "explore", "interop", "models", "passes", "sim", "tune")
HOST_MODULES = ("cutelite_rt", *(f"cutelite.{room}" for room in _HOST_ROOMS))
"""Modules whose functions compile, launch, allocate or listen: they are called on the host only."""

_ARRAYS = ("arguments", "arrays", "planning", "lent")
HOST_CALLS = ("cutelite_rt.callers", *(f"cutelite.kernels.{module}" for module in _ARRAYS))
"""What every function of `cutelite.kernels` that takes arrays, not a kernel's tensors, calls or is wrapped by."""

_ITERTOOLS = (itertools.accumulate, itertools.starmap, itertools.takewhile, itertools.dropwhile)
TAKES_FUNCTIONS: frozenset[Any] = frozenset((map, filter, sorted, functools.reduce, itertools.filterfalse, *_ITERTOOLS))
"""Functions of Python that call a function argument: they are given one that evaluates the call in the kernel."""

STDLIB = os.path.dirname(os.__file__)

SPECIAL: dict[Any, Callable[..., Any]] = {}
"""Builtin -> its implementation in kernels: ``(frame, *args, **kwargs) -> result``."""


def special(*builtins: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function that replaces these builtins in kernels."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        SPECIAL.update(dict.fromkeys(builtins, function))
        return function

    return register


def _special(own: Callable[..., Any], builtin: Any, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call the replacement of a builtin. Errors about its arguments name the builtin."""
    try:
        return own(frame, *args, **kwargs)
    except TypeError as error:
        import inspect  # late: it is large

        text = re.sub(r"^[\w.<>]+\(\)", f"{builtin.__name__}()", str(error))
        try:
            inspect.signature(functools.partial(own, frame)).bind(*args, **kwargs)
        except TypeError as misfit:  # its counts leave out the frame
            text = f"{builtin.__name__}() {'has ' if str(misfit)[:3] == 'too' else ''}{misfit}"
        raise type(error)(text) from error


@handles("CALL")
def _call(frame: Frame, state: State, instr: Instr) -> None:
    positional, names = instr.arg
    args = take(state, positional + len(names))
    function = state.stack.pop()
    kwargs = dict(zip(names, args[positional:], strict=True))
    state.stack.append(call(frame, function, args[:positional], kwargs))


@handles("CALL_EX")
def _call_ex(frame: Frame, state: State, instr: Instr) -> None:
    kwargs = state.stack.pop() if instr.arg else {}
    args, function = state.stack.pop(), state.stack.pop()
    given = frame.native(iterate_static, args)
    state.stack.append(call(frame, function, list(given), frame.native(dict, kwargs)))


@handles("WITH")
def _with(frame: Frame, state: State, instr: Instr) -> None:
    """Push whether the block of a `with` runs, or the method to call before or after it."""
    obj = state.stack.pop()
    elected = isinstance(obj, Runtime) and isinstance(obj.value.op, Elect)
    if instr.arg == "cond":
        manages = hasattr(type(obj), "__enter__") and hasattr(type(obj), "__exit__")
        if not elected and (isinstance(obj, Runtime) or not manages):
            raise mistake(
                "with",
                f"{describe(obj)} is no context manager",
                help="`with` takes an object with `__enter__` and `__exit__`, or `cl.elect_one()`; else write an `if`",
            )
        state.stack.append(obj if elected else True)
    elif elected:
        state.stack.append(_nothing)
    elif instr.arg == "exit" and isinstance(getattr(obj, "gen", None), types.GeneratorType):
        state.stack.append(functools.partial(_left, obj))
    else:
        state.stack.append(getattr(obj, f"__{instr.arg}__"))


def _nothing(*args: Any) -> None:
    """Do nothing, at the beginning or end of a block that needs nothing."""


def _left(obj: Any, *args: Any) -> None:
    """End the block of a function decorated by `contextlib.contextmanager`: its generator is resumed, once."""
    if obj.gen.gi_frame is None:
        raise mistake(
            "with",
            "the block is left in several ways, and the end of this context manager can be executed only once",
            help="write a class with `__enter__` and `__exit__`, which are inlined; or leave the block at its end only",
        )
    obj.__exit__(*args)


def call(frame: Frame, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return ``function(*args, **kwargs)``, called by the instruction that `frame` executes."""
    while isinstance(function, functools.partial):
        args, kwargs = [*function.args, *args], {**function.keywords, **kwargs}
        function = function.func
    if args and _by_class(function):
        function = _of_class(function, type(stand_in(args[0])))
    if type(function) is not types.FunctionType:
        function = getattr(function, "__cutelite_function__", function)  # a kernel called by a kernel is inlined
    if isinstance(function, Closure):
        bound = bind(function.code, function.defaults, function.kwdefaults, args, kwargs)
        return _inline(frame, function.code, function.globals, function.cells, bound)
    if isinstance(function, types.MethodType) and is_inlined(function.__func__):
        args, function = [function.__self__, *args], function.__func__
    elif not isinstance(function, (type, types.FunctionType, Runtime)):
        kind: Any = type(function)
        own = _called(kind)
        if is_inlined(own):
            args, function = [function, *args], own
    if is_inlined(function):
        return call_python(frame, function, args, kwargs)
    if isinstance(function, type) and (init := initialiser(function)) is not None:
        made = frame.evaluation.mutables.made(frame.native(object.__new__, function), frame.share)
        call_python(frame, init, [made, *args], kwargs)
        return made
    if _has_own_new(function) and any(map(tree.holds_runtime, (*args, *kwargs.values()))):
        return _made(frame, function, args, kwargs)
    return _native(frame, function, args, kwargs)


_BY_CLASS = cast(Any, functools.singledispatch(call)).__code__
"""That of every function under `functools.singledispatch`, which asks for the class of its first argument."""
_METHOD = cast(Any, functools.singledispatchmethod(call).__get__(None, object))
"""A method under `functools.singledispatchmethod`: a function, from Python 3.14 on an object of a class of its own."""
_METHOD_BY_CLASS = getattr(_METHOD, "__code__", type(_METHOD))


def _by_class(function: Any) -> bool:
    """Tell whether it is one of these, which ask for the class of their first argument."""
    return getattr(function, "__code__", type(function)) in (_BY_CLASS, _METHOD_BY_CLASS)


def _of_class(function: Any, cls: type) -> Any:
    """Return what such a function or method calls for a first argument of class `cls`."""
    code = getattr(function, "__code__", None)
    if code is _BY_CLASS:
        return function.dispatch(cls)
    if code is None:
        return function._dispatch(cls).__get__(function._obj, function._cls)
    held = {name: cell.cell_contents for name, cell in zip(code.co_freevars, function.__closure__, strict=True)}
    dispatch = held["dispatch"] if "dispatch" in held else held["self"].dispatcher.dispatch  # since 3.13; before
    return dispatch(cls).__get__(held["obj"], held["cls"])


def stand_in(x: Any) -> Any:
    """Return a Python object of the class of which `x` is one in a kernel: `x` itself, or 0 for a run-time integer."""
    if isinstance(x, Scalar):
        return False if x.dtype == boolean else 0 if x.dtype.is_int else 0.0
    if isinstance(x, StaticIter):
        return x.python
    return next((python for ours, python in STAND_INS if isinstance(x, ours)), x)


STAND_INS: tuple[tuple[type, Any], ...] = ((DimExpr, 0), (Range, range(0)), (Closure, call), (RuntimeText, ""))
"""From each class that stands for a class of Python's in kernels to an object of that."""
_GENERATOR = (x for x in range(0))


def _asks_for_a_class(function: Any, package: str) -> bool:
    """Tell whether the answer of a function follows from the class of what it is given."""
    name = getattr(function, "__name__", "")
    return function is dir or name in {"numpy": ("isscalar", "iterable"), "inspect": _OF_INSPECT}.get(package, ())


_OF_INSPECT = ("isbuiltin", "isclass", "isfunction", "isgenerator", "ismethod", "ismodule", "isroutine")


def _has_own_new(x: Any) -> bool:
    """Tell whether `x` is a class with a `__new__` by the user, which Python executes with values that it knows."""
    if not isinstance(x, type) or type(x).__call__ is not type.__call__ or not is_inlined(x.__new__):
        return False
    return not (x.__new__.__module__ or "").startswith(("namedtuple_", "cutelite"))


def _made(frame: Frame, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return a new object of a class whose `__new__` is inlined; its `__init__` is called as any function."""
    made = call_python(frame, cls.__new__, [cls, *args], kwargs)
    if isinstance(made, cls) and (init := type(made).__init__) is not object.__init__:  # which takes no arguments
        call(frame, init, [made, *args], kwargs)
    return made


def evaluate_in(evaluation: Evaluation) -> Callable[[Any, list[Any], dict[str, Any]], Any]:
    """Return the function by which native code calls functions that are evaluated in the kernel. Errors: `closure`."""

    def evaluate(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if evaluation.frame is None:
            raise mistake("closure", f"{function.__name__}() was made in a kernel, and can be called only there")
        return call(evaluation.frame, function, args, kwargs)

    return evaluate


# Functions that are inlined.


def is_inlined(function: Any) -> bool:
    """Tell whether calls of `function` are evaluated as part of the kernel."""
    if type(function) is not types.FunctionType:
        function = getattr(function, "__cutelite_function__", function)
        if not isinstance(function, types.FunctionType):
            return False
    if function.__code__ in _ORDERINGS:
        return True
    return _is_ours(function.__module__ or "", function.__code__.co_filename)


_ORDERINGS = {made.__code__ for rows in getattr(functools, "_convert", {}).values() for _, made in rows}
"""The comparisons that `functools.total_ordering` puts into a class: they call those that the user wrote."""


@functools.lru_cache(maxsize=4096)
def _is_ours(module: str, filename: str) -> bool:
    if module.startswith(INLINED_MODULES):
        return True
    if module.partition(".")[0] in NATIVE_PACKAGES:
        return False
    of_python = filename.startswith((STDLIB, "<frozen")) and "-packages" not in filename
    return not of_python


def call_python(frame: Frame, function: types.FunctionType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Inline a Python function."""
    if function.__globals__.get("__name__") in HOST_CALLS:
        raise _of_arrays(function.__name__, frame.builder.span)
    code = function.__code__
    bound = bind(code, function.__defaults__ or (), function.__kwdefaults__ or {}, args, kwargs)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    return _inline(frame, code, function.__globals__, cells, bound)


def class_attribute(cls: type, name: str) -> Any:
    """Look an attribute up in a class and its bases, in their order; None without."""
    return next((base.__dict__[name] for base in cls.__mro__ if name in base.__dict__), None)


@functools.lru_cache(maxsize=1024)
def _called(cls: Any) -> Any:
    """Return what is called where an object of a class is."""
    return class_attribute(cls, "__call__")


@functools.lru_cache(maxsize=1024)
def _of_host(module: str) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in HOST_MODULES)


def _of_arrays(name: str, span: Span | None) -> CompileError:
    """Return the error for a function of `cutelite.kernels` that takes arrays, at the user's call of it."""
    while span is not None and span.caller is not None and span.filename.startswith(KERNELS):
        name, span = span.function, span.caller
    help = "a kernel that is called by another one is inlined; a cl.program launches several"
    return CompileError(
        Mistake("host-function", f"{name}() takes whole arrays, on the host, not in a kernel", help=help), span
    )


@functools.lru_cache(maxsize=1024)
def initialiser(cls: Any) -> types.FunctionType | None:
    """Return the `__init__` of a user's class, to be inlined; None if Python makes the object.

    Python makes frozen dataclasses too, unless they have an `__init__` of their own, or a `__post_init__`.
    """
    init: Any = cls.__init__
    made_by_python: tuple[Any, Any] = (type.__call__, object.__new__)
    if (type(cls).__call__, cls.__new__) != made_by_python or not is_inlined(init):
        return None
    generated = init.__code__.co_filename == "<string>"
    plain = tree.field_names(cls) is not None and generated and not hasattr(cls, "__post_init__")
    return None if plain else init


def read(code: types.CodeType) -> tuple[Bytecode, cfg.Cfg]:
    """Return the instructions of a function and their graph."""
    return _read(code, code.co_filename)


@functools.lru_cache(maxsize=4096)
def _read(code: types.CodeType, filename: str) -> tuple[Bytecode, cfg.Cfg]:
    """Read a function, remembered by its code and file: code objects of equal functions in two files are equal."""
    instrs = bytecode.read(code)
    return instrs, cfg.build(instrs)


def _inline(
    frame: Frame, code: types.CodeType, globals: dict[str, Any], cells: dict[str, Any], bound: dict[str, Any]
) -> Any:
    """Evaluate a function's body in place, and merge all the ways in which it returns."""
    evaluation, span = frame.evaluation, frame.builder.span
    if evaluation.depth >= MAX_DEPTH:
        raise mistake(
            "recursion",
            f"calls are inlined {MAX_DEPTH} deep here",
            help="recursion must end at compile time: let it depend on a Constexpr",
        )
    instrs, graph = read(code)
    if instrs.varkw:
        frame.made(bound[instrs.varkw])
    callee = Frame(evaluation, instrs, graph, globals, cells, span, frame.site())
    entry = evaluation.entry
    if not code.co_filename.startswith(LIBRARY):
        evaluation.entry = None
    elif entry is None:
        evaluation.entry = code, bound
    evaluation.depth += 1
    try:
        assert frame.state is not None
        returns = callee.run(bound, frame.share, dict(frame.state.facts))
    finally:
        evaluation.depth -= 1
        evaluation.entry = entry
    if not returns:
        raise DeadEnd
    value = _merged(frame, callee, returns)
    frame.held.append(value)
    frame.builder.span = span
    if callee.yielded is not None:
        return evaluation.mutables.made(StaticIter(tuple(callee.yielded), once=True, python=_GENERATOR), frame.share)
    return value


def _merged(frame: Frame, callee: Frame, returns: list[Returned]) -> Any:
    """Return the value of a call; fix the variables that the callee shares with functions it made, as they are now."""
    assert frame.state is not None
    if len(returns) == 1 and not callee.own and not isinstance(returns[0].value, Conflict):
        ((state, value, _),) = returns
        frame.builder.block, frame.state.share, frame.state.facts = state.block, state.share, state.facts
        return value
    names = frozenset(("", *callee.own))
    states = []
    for state, value, span in returns:
        held = {name: state.locals[name] for name in callee.own if name in state.locals}
        where = {"": span} if span else {}
        states.append(State({"": value, **held}, [], where, state.block, state.share, state.facts))
    merged = merge(frame.builder, states, names, frame.evaluation.mutables)
    for name, cell in callee.own.items():
        cell.detach(merged.locals.get(name, UNBOUND))
    frame.state.share, frame.state.facts = merged.share, merged.facts
    value = merged.locals[""]
    if isinstance(value, Conflict) and not _is_dropped(frame):
        raise value.error(f"{callee.code.name}(...)", callee.call)
    return value


def _is_dropped(frame: Frame) -> bool:
    """Tell whether the value of the call being executed is not used."""
    instrs = frame.cfg.instrs(frame.block)
    at = next((i for i, instr in enumerate(instrs) if instr is frame.instr), len(instrs))
    return at + 1 < len(instrs) and instrs[at + 1].op == "POP"


# Arguments to parameters.


def bind(
    code: types.CodeType,
    defaults: tuple[Any, ...],
    kwdefaults: dict[str, Any],
    args: list[Any],
    kwargs: dict[str, Any],
) -> dict[str, Any]:
    """Bind arguments to parameters by Python's rules. Errors: `call`."""
    name, count = code.co_name, code.co_argcount

    def wrong(text: str, hint: str = "") -> CompileError:
        spelled = f"it is `{_spelled(code, defaults, kwdefaults)}`"
        return mistake("call", f"{name}() {text}", help=(hint, spelled) if hint else spelled)

    if len(args) == count and not kwargs and not code.co_kwonlyargcount and not code.co_flags & 0x0C:
        return dict(zip(code.co_varnames, args, strict=False))
    names = code.co_varnames[:count]
    kwonly = code.co_varnames[count : count + code.co_kwonlyargcount]
    bound = dict(zip(names, args, strict=False))
    stars = iter(code.co_varnames[count + code.co_kwonlyargcount :])
    if code.co_flags & 0x04:
        bound[next(stars)] = tuple(args[count:])
    elif len(args) > count:
        own = names[:1] == ("self",)
        raise wrong(f"takes {_arguments(count - own)}, but {len(args) - own} were given")
    rest = dict(kwargs)
    for key in kwargs:
        if key in names[code.co_posonlyargcount :] or key in kwonly:
            if key in bound:
                raise wrong(f"got two values for `{key}`")
            bound[key] = rest.pop(key)
    if code.co_flags & 0x08:
        bound[next(stars)] = rest
    elif rest:
        unknown = next(iter(rest))
        if unknown in names[: code.co_posonlyargcount]:
            raise wrong(f"takes `{unknown}` by position only")
        hint = did_you_mean(unknown, [*names[code.co_posonlyargcount :], *kwonly])
        raise wrong(f"has no parameter `{unknown}`", hint)
    for parameter, value in zip(reversed(names), reversed(defaults), strict=False):
        bound.setdefault(parameter, value)
    for parameter in kwonly:
        if parameter in kwdefaults:
            bound.setdefault(parameter, kwdefaults[parameter])
    missing = [parameter for parameter in (*names, *kwonly) if parameter not in bound]
    if missing:
        listed = ", ".join(f"`{parameter}`" for parameter in missing)
        raise wrong(f"lacks the argument{'s' if len(missing) > 1 else ''} {listed}")
    return bound


def _spelled(code: types.CodeType, defaults: tuple[Any, ...], kwdefaults: dict[str, Any]) -> str:
    """Return how a function is called: its parameters, without types; defaults that are no plain values are `...`."""
    count, end = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names, stars = code.co_varnames[:end], iter(code.co_varnames[end:])
    given = dict(zip(reversed(names[:count]), reversed(defaults), strict=False)) | kwdefaults
    plain = (int, float, str, type(None))
    said = [
        name if name not in given else f"{name}={given[name]!r}" if isinstance(given[name], plain) else f"{name}=..."
        for name in names
    ]
    some = f"*{next(stars)}" if code.co_flags & 0x04 else "*" if code.co_kwonlyargcount else ""
    first = [*said[: code.co_posonlyargcount], "/"] if code.co_posonlyargcount else []
    listed = [*first, *said[code.co_posonlyargcount : count], *([some] if some else []), *said[count:]]
    if code.co_flags & 0x08:
        listed.append(f"**{next(stars)}")
    return f"{code.co_name}({', '.join(listed[listed[0] == 'self' if listed else 0 :])})"


def _arguments(count: int) -> str:
    return "no arguments" if count == 0 else "1 argument" if count == 1 else f"{count} arguments"


# Functions that Python executes.


def _native(frame: Frame, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if isinstance(function, DType):
        return frame.native(_convert, function, args, kwargs)
    if isinstance(function, Runtime) or not callable(function):
        if hasattr(function, "per_word"):
            raise no_dtype(function)
        held, help = describe(function), "it is a value: leave out the parentheses"
        if args and hasattr(type(function), "__getitem__"):
            help = "its elements are in brackets: `x[i]`"
        elif isinstance(function, types.ModuleType):
            help = "call a function of it"
        elif isinstance(function, Axes):
            help = f"write `{held}.x`, or `x, y, z = {held}`"
        raise mistake("call", f"{held} cannot be called", help=help)
    if isinstance(function, type) and issubclass(function, (Runtime, Tensor, TmaTensor)):
        raise mistake(
            "call", f"`{function.__name__}` is the class of run-time values, and cannot be called", help=_MADE_BY
        )
    package = (getattr(function, "__module__", None) or "").partition(".")[0]
    ours = package == "cutelite"
    of_host = isinstance(function, (types.FunctionType, types.MethodType)) and _of_host(function.__module__ or "")
    if of_host and function.__name__.strip("_") != "launch":  # which says so itself
        raise mistake("host-function", f"{function.__qualname__}() is called on the host, not in a kernel")
    if ours or function is range:
        args, kwargs = [literal(arg) for arg in args], {name: literal(arg) for name, arg in kwargs.items()}
    elif package == "torch":
        args, kwargs = [of_torch(arg) for arg in args], {name: of_torch(arg) for name, arg in kwargs.items()}
    elif _asks_for_a_class(function, package):
        return frame.native(function, *map(stand_in, args), **{name: stand_in(arg) for name, arg in kwargs.items()})
    elif package in ARRAYS and any(isinstance(x, Torchlike) for x in (*args, *kwargs.values())):
        from cutelite.lang.array_names import taking_numbers  # late: it needs all functions of numbers

        return frame.native(frame.native(taking_numbers, function), *args, **kwargs)
    if isinstance(function, types.MethodWrapperType) and function.__name__ in ("__setattr__", "__delattr__"):
        args, function = [function.__self__, *args], getattr(object, function.__name__)  # as of `super()`
    if isinstance(function, types.MethodWrapperType) and function.__name__ in ("__set__", "__delete__"):
        frame.evaluation.mutables.changing(args[0], frame.share, f"`.{function.__name__}()`")
    if _hashable(function):
        own = SPECIAL.get(function)
        if own is not None:
            return frame.native(_special, own, function, frame, args, kwargs)
        if function in TAKES_FUNCTIONS:
            args = [_evaluated(frame, arg) for arg in args]
            kwargs = {name: _evaluated(frame, arg) for name, arg in kwargs.items()}
    owner = getattr(function, "__self__", None)
    if isinstance(owner, (list, tuple)) and function.__name__ == "count" and tree.holds_unknown((list(owner), *args)):
        return frame.native(_special, SPECIAL[list.count], function, frame, [owner, *args], kwargs)
    if package in EXACT and any(map(tree.holds_unknown, (*args, *kwargs.values()))):
        raise mistake(
            "builtin",
            f"`{package}.{function.__name__}()` takes numbers that are known at compile time",
            help="write the arithmetic itself: a mean is `sum(xs) / len(xs)`",
        )
    if isinstance(getattr(function, "__func__", function), functools._lru_cache_wrapper):
        return _cached(frame, function, args, kwargs)
    _check_for_random_numbers(function)
    for x in (getattr(function, "__self__", None), *args, *kwargs.values()):
        refuse_foreign(x)
    if ours:
        if getattr(function, "__name__", "") == "printf":
            args = filled(args)
        args = [_callable(frame, arg) for given in args for arg in _expanded(function, given)]
    check_keys(function, getattr(function, "__self__", None), args)
    if isinstance(function, type) and issubclass(function, Iterator):
        return _drawn(frame, function, args, kwargs)
    if isinstance(getattr(function, "__self__", None), str) and any(map(_has_number, (*args, *kwargs.values()))):
        raise formatted_now()
    return _executed(frame, function, args, kwargs)


def _executed(frame: Frame, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Have Python execute a function, which may change only what the kernel made, where all threads see it."""
    name = getattr(function, "__name__", "")
    if name.endswith("_") and not name.endswith("__"):  # torch's name for what changes its operand
        for x in (getattr(function, "__self__", None), *args[:1]):
            check_tensor(x, f"`{name}()`")
    check_tensor(kwargs.get("out"), f"`{name}(out=...)`")
    owner = _owner(function, args)
    kind: Any = type(owner)
    drawn = _draws(kind)
    if owner is not None and (drawn or function.__name__ in MUTATORS):
        frame.evaluation.mutables.changing(owner, frame.share, f"`.{function.__name__}()`")
        if not drawn:
            return frame.native(function, *args, **kwargs)
    result = _watched(frame, function, args, kwargs)
    return _kept(frame, result, function, owner)


def _drawn(frame: Frame, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a class of Python's iterators, such as `zip`. Given one iterator several times, it draws from it in turn.

    Iterators that these threads made go on behind the items that were drawn; others are used up.
    """
    given = {id(x): x for x in args if isinstance(x, StaticIter) and x.once}
    drawn, mutables = {key: x.drawn() for key, x in given.items()}, frame.evaluation.mutables
    for x in given.values():
        if mutables.is_made(x, frame.share):
            mutables.changing(x, frame.share, f"`{function.__name__}()`")
    result = _executed(frame, function, [drawn.get(id(x), x) for x in args], kwargs)
    for x in given.values():
        x.spent |= not mutables.is_made(x, frame.share)
    return result


def _check_for_random_numbers(function: Any) -> None:
    """Refuse functions of the generators of random numbers that all of a process share."""
    owner = getattr(function, "__self__", None)
    for module, name in ("random", "_inst"), ("numpy.random.mtrand", "_rand"):
        if owner is not None and owner is getattr(sys.modules.get(module), name, None):
            raise mistake(
                "builtin",
                f"`{module.removesuffix('.mtrand')}.{function.__name__}()` cannot be used in a kernel",
                help="it would run once, while the kernel is compiled, for all threads: pass an array of random "
                "numbers, or hash an index; for constants make a generator of your own: `random.Random(seed)`",
            )


_MADE_BY = "`cl.shared`, `cl.make_rmem_tensor` and methods make them; a barrier is `cl.shared(cl.mbarrier, (n,))[i]`"


def literal(x: Any) -> Any:
    """Return Python's number for a NumPy scalar, also within tuples; all else as it is."""
    if type(x) is tuple:
        return tuple(map(literal, x)) if any(type(part) is tuple or holds_literal(part) for part in x) else x
    return number(x)


def _convert(dtype: DType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if len(args) != 1 or kwargs:
        raise mistake("conversion", f"cl.{dtype}(x) takes one number")
    return to_dtype(args[0], dtype)


def _hashable(x: Any) -> bool:
    try:
        hash(x)
    except (TypeError, CompileError):  # such as a method of a run-time value, which hashes the value
        return False
    return True


def _has_number(x: Any) -> bool:
    """Tell whether text made of `x` would hold a run-time number."""
    if isinstance(x, (tuple, list)):
        return any(map(_has_number, x))
    return isinstance(x, RuntimeText) or tree.holds_unknown(x)


def _expanded(function: Any, arg: Any) -> list[Any]:
    """Return an argument of `printf`; for a text that holds run-time numbers, a format string and its arguments."""
    if not isinstance(arg, RuntimeText):
        return [arg]
    if function is mistake:
        return [arg.described_parts()]
    if getattr(function, "__name__", "") != "printf":
        raise mistake(
            "runtime-text", "a text with run-time numbers in it", help="only `print`, `cl.printf` and `assert` take one"
        )
    template, args = arg.printf()
    return [template, *args]


def _callable(frame: Frame, x: Any) -> Any:
    """Wrap a function of the user so that native code can call it."""
    function = getattr(x, "__cutelite_function__", x)
    if isinstance(x, (functools.partial, types.MethodType)):
        return _evaluated(frame, x)
    if not is_inlined(function):
        return x
    code = function.__code__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    defaults, kwdefaults = function.__defaults__ or (), function.__kwdefaults__ or {}
    return Closure(evaluate_in(frame.evaluation), code, function.__globals__, cells, defaults, kwdefaults)


def _evaluated(frame: Frame, x: Any) -> Any:
    """Return a function argument as one whose calls are evaluated in the kernel, a builtin or a class too."""
    if not callable(x) or isinstance(x, (Runtime, Closure)) or hasattr(type(x), "__iter__"):  # as an enumeration has
        return x
    evaluate = evaluate_in(frame.evaluation)
    return lambda *args, **kwargs: evaluate(x, list(args), kwargs)


def _cached(frame: Frame, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function under `functools.cache`, which is plain Python: it sees no run-time values and makes none.

    It is called again in each evaluation, since constants that it reads may have changed in between.
    """
    if any(map(tree.holds_runtime, (*args, *kwargs.values()))):
        raise mistake(
            "cached-function",
            f"{getattr(function, '__name__', 'this')}() is cached, and takes compile-time values only",
            help="a run-time value means something in this kernel only: call the function without a cache",
        )
    cached = getattr(function, "__func__", function)
    if cached is not function:
        args = [function.__self__, *args]
    key, known = (id(cached), *args, *kwargs.items(), *map(type, args)), frame.evaluation.cached
    if not _hashable(key):
        return frame.native(cached, *args, **kwargs)  # which raises the error
    if key not in known:
        with Builder.inactive():
            result = frame.native(cached.__wrapped__, *args, **kwargs)
            once = is_foreign(result)
            known[key] = frame.evaluation.mutables.made(exhaust(result), frame.share) if once else result
    return known[key]


def _owner(function: Any, args: list[Any]) -> Any:
    """Return the object whose method is called, and may change it, as ``xs.append(1)`` or ``list.append(xs, 1)``."""
    owner = getattr(function, "__self__", None)
    if isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType)) and args:
        owner = args[0]
    kind: Any = type(owner)
    return owner if owner is not None and may_change(kind) and hasattr(function, "__name__") else None


@functools.lru_cache(maxsize=1024)
def may_change(kind: Any) -> bool:
    """Tell whether methods of Python's may change an object of this class."""
    return issubclass(kind, (*CONTAINERS, MutableSequence, MutableMapping, MutableSet)) or _draws(kind)


@functools.lru_cache(maxsize=1024)
def _draws(kind: Any) -> bool:
    """Tell whether this is a class of generators of random numbers, which every number that they give changes."""
    return any((_home(each), each.__name__) in _GENERATORS for each in kind.__mro__)


_GENERATORS = (("random", "Random"), ("numpy", "Generator"), ("numpy", "RandomState"))


def _watched(frame: Frame, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a native function, and refuse changes of containers and arrays of NumPy that are not allowed."""
    owner, mutables = getattr(function, "__self__", None), frame.evaluation.mutables
    given = [owner_of(x) for x in (owner, *args, *kwargs.values()) if isinstance(x, CONTAINERS) or is_array(x)]
    of_numpy = "numpy" in sys.modules and "numpy" in (_home(function), _home(type(owner)))
    held = [(x, contents(x)) for x in given if not (of_numpy and is_array(x) and not mutables.is_made(x, frame.share))]
    run = functools.partial(_of_numpy, frame) if of_numpy else frame.native
    result = run(function, *args, **kwargs)
    for obj, before in held:
        if not unchanged(obj, before):
            after = contents(obj)
            restore(obj, before)
            mutables.changing(obj, frame.share, f"`{getattr(function, '__name__', function)}()`")
            restore(obj, after)
    for each in (result if isinstance(result, tuple | list) else (result,)) if of_numpy else ():
        if is_array(each) and not any(owner_of(each) is x for x in given):
            mutables.made(owner_of(each), frame.share)
    return result


def _home(x: Any) -> str:
    """Return the package of a function or class."""
    return (getattr(x, "__module__", None) or "").partition(".")[0]


def _of_numpy(frame: Frame, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function of NumPy, or a method of an array, with views that cannot be written of what may not change."""
    ndarray, mutables = sys.modules["numpy"].ndarray, frame.evaluation.mutables

    def constant(x: Any) -> Any:
        if type(x) is not ndarray or not x.flags.writeable or mutables.is_made(x, frame.share):
            return x
        view = x.view()
        view.flags.writeable = False
        return view

    owner = getattr(function, "__self__", None)
    method = getattr(constant(owner), function.__name__) if isinstance(owner, ndarray) else function
    try:
        return frame.native(method, *map(constant, args), **{name: constant(x) for name, x in kwargs.items()})
    except CompileError as error:
        given = [x for x in (owner, *args, *kwargs.values()) if isinstance(x, ndarray)]
        if given and "read-only" in str(error):
            mutables.changing(given[-1], frame.share, f"`{function.__name__}()`")
        raise


def _kept(frame: Frame, result: Any, function: Any, owner: Any) -> Any:
    """Return the result of a native function: iterators as items, new objects as the kernel's own."""
    if isinstance(result, Iterator) and not isinstance(result, Runtime):
        return frame.evaluation.mutables.made(frame.native(exhaust, result), frame.share)
    if function is itertools.tee:
        return tuple(_kept(frame, each, function, owner) for each in result)
    maker = getattr(function, "__self__", None) if getattr(function, "__name__", "") == "__new__" else function
    if isinstance(maker, type) and maker in type(result).__mro__ and not tree.is_container(type(result)):
        return frame.evaluation.mutables.made(result, frame.share)  # an object of a class of the user's
    of_text = isinstance(getattr(function, "__self__", None), str)
    copied = owner is not None and function.__name__ in COPIES
    spawned = owner is not None and function.__name__ == "spawn"  # generators of NumPy, in a list
    is_new = copied or of_text or isinstance(function, type) or function is sorted or spawned
    for each in result if spawned else (result,):
        kind: Any = type(each)
        if _draws(kind):
            frame.evaluation.mutables.made(each, frame.share)
    return frame.made(result) if is_new else result
