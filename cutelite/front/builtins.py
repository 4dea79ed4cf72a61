"""Python's builtin functions where an argument is a run-time value. On compile-time values alone they are Python's own.

Every function here takes the frame that calls it first.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import math as python_math
import operator
import time
import types
from collections.abc import Callable, Iterator
from enum import IntEnum, IntFlag
from operator import index
from typing import Any, Union, cast, get_args, get_origin

from cutelite.front import tree
from cutelite.front.calls import call, initialiser, special, stand_in
from cutelite.front.closure import Closure
from cutelite.front.frame import Frame
from cutelite.front.iterators import (
    Endless,
    Numbered,
    Range,
    StaticIter,
    exhaust,
    is_foreign,
    items_of,
    iterate_static,
    make_range,
    refuse_foreign,
)
from cutelite.front.names import NAMED, attribute, has_attribute
from cutelite.front.operators import (
    BINARY,
    COMPARE,
    IN_PLACE,
    UNARY,
    as_number,
    binary,
    chosen,
    compare,
    contains,
    in_place,
    negated,
    overloads,
    subscript,
    truth_of,
    unary,
)
from cutelite.front.state import Conflict
from cutelite.front.strings import RuntimeText, make_text, text_of
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Vec, boolean, f32, f64, i32, i64
from cutelite.lang import loops
from cutelite.lang.annotations import Tensor, TmaTensor
from cutelite.lang.attempt import attempt
from cutelite.lang.emit import Runtime, describe, emit, mistake
from cutelite.lang.promotion import Differentiable, differentiable, to_dtype
from cutelite.lang.tables import Table
from cutelite.lang.values import RuntimeNumber, Scalar, floordiv, logical_and, logical_or, maximum, minimum, modulo
from cutelite.layout import DimExpr
from cutelite.layout import maximum as maximum_of_dims
from cutelite.layout import minimum as minimum_of_dims
from cutelite.ops.debug import Breakpoint


def _known(*args: Any) -> bool:
    """Tell whether Python can execute a call: nothing in `args` is known only at run time."""
    return not any(map(tree.holds_unknown, args))


special(range)(lambda frame, *args: make_range(*args))
special(loops.range)(lambda frame, *args, **kwargs: make_range(*args, **kwargs))


@special(attempt)
def _attempt(frame: Frame, function: Any) -> Any:
    evaluation, state = frame.evaluation, frame.state
    assert state is not None
    undo, share, facts, found = evaluation.builder.snapshot(), state.share, dict(state.facts), False
    evaluation.mutables.mark()
    try:
        found = call(frame, function, [], {})
    finally:  # errors, and paths that end in the call, go on as for a plain call
        if found is None:
            evaluation.mutables.undo()
            undo()
            state.share, state.facts = share, facts
        else:
            evaluation.mutables.keep()
    return found


# Of several numbers.


@special(min)
def _min(frame: Frame, *args: Any, **kwargs: Any) -> Any:
    return _extremum(frame, min, minimum, minimum_of_dims, args, kwargs)


@special(max)
def _max(frame: Frame, *args: Any, **kwargs: Any) -> Any:
    return _extremum(frame, max, maximum, maximum_of_dims, args, kwargs)


def _extremum(
    frame: Frame,
    python: Callable[..., Any],
    pick: Callable[[Any, Any], Any],
    of_dims: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    items = list(iterate_static(args[0])) if len(args) == 1 else list(args)
    key, others = kwargs.get("key"), kwargs.keys() - {"key", "default"}
    compared = any(overloads(type(x)).keys() & {"lt", "gt"} for x in items)
    if not items or others or (key is None and not compared and _known(*items)):
        return python(items, **kwargs)
    if key is not None or compared or any(isinstance(x, tuple | list) for x in items):
        return _first_extreme(frame, "<" if python is min else ">", items, key)
    if all(isinstance(x, DimExpr | int) for x in items):
        return of_dims(*items)
    return functools.reduce(pick, map(as_number, items))


def _first_extreme(frame: Frame, symbol: str, items: list[Any], key: Any) -> Any:
    """Return the first of the smallest (or greatest) items, compared by the results of `key` if given."""
    keys = items if key is None else [call(frame, key, [item], {}) for item in items]
    best, extreme = items[0], keys[0]
    for item, value in zip(items[1:], keys[1:], strict=True):
        better = truth_of(frame, compare(frame, symbol, value, extreme))
        if not isinstance(better, Scalar):
            best, extreme = (item, value) if better else (best, extreme)
            continue
        place = better.to(i32)
        best, extreme = chosen(frame, [best, item], place), chosen(frame, [extreme, value], place)
    return best


@special(sum)
def _sum(frame: Frame, items: Any, start: Any = 0) -> Any:
    total = start
    for item in iterate_static(items):
        plain_zero = type(total) is int and total == 0 and isinstance(item, RuntimeNumber) and item.dtype != boolean
        total = item if plain_zero else binary(frame, "+", total, item)
    return total


@special(any)
def _any(frame: Frame, items: Any) -> Any:
    found: Any = False
    for item in iterate_static(items):
        found = logical_or(found, truth_of(frame, item))
        if found is True:
            break
    return found


@special(all)
def _all(frame: Frame, items: Any) -> Any:
    found: Any = True
    for item in iterate_static(items):
        found = logical_and(found, truth_of(frame, item))
        if found is False:
            break
    return found


def own_method(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a builtin: if the user's class of its argument has the method `name`, that is inlined instead."""

    def decorate(builtin: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(builtin)
        def function(frame: Frame, *args: Any, **kwargs: Any) -> Any:
            own = overloads(type(args[0])).get(name) if args else None
            return builtin(frame, *args, **kwargs) if own is None else call(frame, own, list(args), kwargs)

        return function

    return decorate


@special(len)
@own_method("len")
def _len(frame: Frame, x: Any) -> Any:
    if isinstance(x, Range):
        return x.length()
    if isinstance(x, StaticIter):
        raise mistake("builtin", "an iterator has no len()", help="make a tuple of it: `tuple(...)`")
    if isinstance(x, Runtime | Table) and hasattr(x, "extent"):
        return x.extent
    if isinstance(x, Scalar):
        raise mistake("builtin", f"{describe(x)} has no len()")
    return len(x)


@special(reversed)
def _reversed(frame: Frame, x: Any) -> Any:
    if isinstance(x, Range):
        return x.backwards()
    return frame.evaluation.mutables.made(exhaust(reversed(x)), frame.share)


# Iterators. Paths must not take each other's items.


@special(iter)
def _iter(frame: Frame, x: Any, *sentinel: Any) -> Any:
    if sentinel:
        raise mistake("builtin", "iter() with a sentinel", help="use `while`")
    if isinstance(x, StaticIter) and x.once:
        return x
    return frame.evaluation.mutables.made(StaticIter(items_of(x), once=True), frame.share)


@special(enumerate)
def _enumerate(frame: Frame, iterable: Any, start: Any = 0) -> Any:
    made = StaticIter(Numbered(items_of(iterable), index(start)), once=True, python=enumerate(()))
    return frame.evaluation.mutables.made(made, frame.share)


@special(itertools.count)
def _count(frame: Frame, start: Any = 0, step: Any = 1) -> Any:
    return _endless(frame, lambda at: binary(frame, "+", start, binary(frame, "*", at, step)) if at else start)


@special(itertools.cycle)
def _cycle(frame: Frame, iterable: Any) -> Any:
    items = iterate_static(iterable)
    return _endless(frame, lambda at: items[at % len(items)]) if items else _iter(frame, items)


@special(itertools.repeat)
def _repeat(frame: Frame, object: Any, times: Any = None) -> Any:
    return _endless(frame, lambda at: object) if times is None else _iter(frame, (object,) * index(times))


def _endless(frame: Frame, item: Callable[[int], Any]) -> StaticIter:
    made: StaticIter = frame.evaluation.mutables.made(StaticIter(Endless(item), once=True), frame.share)
    return made


@special(itertools.groupby)
def _groupby(frame: Frame, iterable: Any, key: Any = None) -> Any:
    """Return (key, group) for items side by side of one key; each group can be iterated over, also later."""
    groups: list[tuple[Any, list[Any]]] = []
    for item in items_of(iterable):
        its = item if key is None else call(frame, key, [item], {})
        same = truth_of(frame, compare(frame, "==", groups[-1][0], its)) if groups else False
        if isinstance(same, Scalar):
            raise mistake("builtin", "groupby() by keys that only run-time values tell apart", help="use an `if`")
        if not same:
            groups.append((its, []))
        groups[-1][1].append(item)
    made = frame.evaluation.mutables.made
    pairs = [(its, made(StaticIter(tuple(group), once=True), frame.share)) for its, group in groups]
    return made(StaticIter(tuple(pairs), once=True, python=itertools.groupby(())), frame.share)


@special(next)
def _next(frame: Frame, x: Any, *default: Any) -> Any:
    """Return the next item of an iterator; all threads advance it together."""
    refuse_foreign(x)
    own = overloads(type(x)).get("next")
    if own is not None:  # with a default Python calls it, which catches the end
        return frame.native(next, x, *default) if default else call(frame, own, [x], {})
    if not isinstance(x, StaticIter):
        raise mistake("builtin", f"{describe(x)} is no iterator", help="make one: `iter(...)`")
    if x.exhausted and default:
        return default[0]
    if x.exhausted:
        what = "has yielded all its items" if x.items else "yields nothing"
        raise mistake("builtin", f"next() of an iterator that {what}", help="give a default: `next(it, None)`")
    if x.spent:
        x.taken()  # raises the error
    frame.evaluation.mutables.changing(x, frame.share, "next()")
    x.at += 1
    return x.items[x.at - 1]


# Numbers.


@special(int)
@own_method("int")
def _int(frame: Frame, x: Any = 0, /, base: Any = None) -> Any:
    if _known(x, base):
        return int(x) if base is None else int(x, base)
    if isinstance(x, DimExpr):
        return x
    if not isinstance(x, Scalar | Differentiable) or base is not None:
        raise mistake("builtin", f"int() takes a number, not {describe(x)}{'' if base is None else ' and a base'}")
    if x.dtype.is_int and x.dtype.bits >= 32:
        return x
    return to_dtype(x, i64 if x.dtype == f64 else i32)


@special(float)
@own_method("float")
def _float(frame: Frame, x: Any = 0.0) -> Any:
    if _known(x):
        return float(x)
    x = as_number(x)
    if not isinstance(x, Scalar | Differentiable):
        raise mistake("builtin", f"float() takes a number, not {describe(x)}")
    return to_dtype(x, f64 if x.dtype.bits == 64 else f32)


@special(bool, operator.truth)
def _bool(frame: Frame, x: Any = False) -> Any:
    return truth_of(frame, x)


@special(operator.not_)
def _not(frame: Frame, x: Any) -> Any:
    return negated(truth_of(frame, x))


# Functions of Python's `operator` are the operators, also where the user's classes define these.


def _of_two(apply: Callable[..., Any], symbol: str) -> Callable[..., Any]:
    return lambda frame, a, b, /: apply(frame, symbol, a, b)


def _of_one(symbol: str) -> Callable[..., Any]:
    return lambda frame, a, /: unary(frame, symbol, a)


for _symbol, _single in UNARY.items():
    special(_single)(_of_one(_symbol))
for _apply, _functions in (binary, BINARY), (in_place, IN_PLACE), (compare, COMPARE):
    for _symbol, _function in _functions.items():
        special(_function)(_of_two(_apply, _symbol))
for _symbol, _function in ("is", operator.is_), ("is not", operator.is_not):
    special(_function)(_of_two(compare, _symbol))
special(operator.contains)(contains)
special(operator.getitem)(subscript)


@special(pow)
def _pow(frame: Frame, base: Any, exp: Any, mod: Any = None) -> Any:
    if mod is None:
        return binary(frame, "**", base, exp)
    if not _known(base, exp, mod):
        raise mistake("builtin", "pow() of run-time values takes no modulus")
    return pow(base, exp, mod)


@special(divmod)
@own_method("divmod")
def _divmod(frame: Frame, a: Any, b: Any) -> Any:
    if all(isinstance(x, DimExpr | int) for x in (a, b)) or _known(a, b):
        return divmod(a, b)
    if not isinstance(b, Runtime | DimExpr | int | float) and hasattr(type(b), "__rdivmod__"):
        return call(frame, b.__rdivmod__, [a], {})
    if differentiable(a, b):
        return a // b, a % b
    return floordiv(as_number(a), as_number(b)), modulo(as_number(a), as_number(b))


@special(abs)
@own_method("abs")
def _abs(frame: Frame, x: Any) -> Any:
    x = as_number(x)
    if isinstance(x, Runtime) and not hasattr(x, "__abs__"):
        raise mistake("builtin", f"abs() takes a number, not {describe(x)}")
    return abs(x)


@special(round)
@own_method("round")
def _round(frame: Frame, number: Any, ndigits: Any = None) -> Any:
    if _known(number, ndigits):
        return round(number, ndigits)
    x = as_number(number)
    if ndigits not in (None, 0):
        help = 'scale it: `cl.math.rint(x * 100) / 100`; a `print` takes digits, `f"{x:.2f}"`'
        raise mistake("builtin", "round() of a run-time value takes 0 digits at most", help=help)
    if not isinstance(x, RuntimeNumber | Differentiable):
        raise mistake("builtin", f"round() takes a number, not {describe(x)}")
    if not x.dtype.is_float:
        return x
    from cutelite.lang import math  # late: few kernels need it

    nearest = math.rint(cast("Any", x))
    return to_dtype(nearest, i64 if x.dtype == f64 else i32) if ndigits is None else nearest


_MATH = """
    acos asin atan atan2 ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fmod hypot isfinite isinf isnan
    log log10 log1p log2 pow sin sinh sqrt tan tanh trunc acosh asinh atanh cbrt
    fma frexp gamma ldexp lgamma modf nextafter remainder
"""
MATH = tuple(name for name in _MATH.split() if hasattr(python_math, name))  # fma is new in 3.13
"""Functions of Python's `math` that go to `cutelite.lang.math` when an argument is a run-time value."""


def _of_math(name: str) -> Callable[..., Any]:
    python = getattr(python_math, name)

    def function(frame: Frame, *args: Any, **options: Any) -> Any:
        if options or _known(*args):  # of compile-time values alone, as steps of `nextafter`
            return python(*args, **options)
        from cutelite.lang import math  # late: few kernels need it

        if name == "log" and len(args) == 2:
            return math.log(as_number(args[0])) / math.log(as_number(args[1]))
        result = getattr(math, "tgamma" if name == "gamma" else name)(*map(as_number, args))
        return _int(frame, result) if name in ("ceil", "floor", "trunc") else result

    return function


for _name in MATH:
    special(getattr(python_math, _name))(own_method(_name)(_of_math(_name)))  # as `__floor__`


@special(python_math.degrees)
def _degrees(frame: Frame, x: Any) -> Any:
    return as_number(x) * (180 / python_math.pi)


@special(python_math.radians)
def _radians(frame: Frame, x: Any) -> Any:
    return as_number(x) * (python_math.pi / 180)


@special(python_math.isclose)
def _isclose(frame: Frame, a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    if _known(a, b, rel_tol, abs_tol):
        return python_math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
    a, b = as_number(a), as_number(b)
    larger = maximum(abs(a), abs(b))
    near = abs(a - b) <= maximum(rel_tol * larger, abs_tol)
    return logical_or(a == b, logical_and(larger < python_math.inf, near))


@special(list.count, tuple.count)
def _count_of(frame: Frame, items: Any, x: Any, /) -> Any:
    return _sum(frame, [_int(frame, truth_of(frame, compare(frame, "==", item, x))) for item in items])


_BY_NAME = (bool, int, float, abs, round, divmod, python_math.floor, python_math.ceil, python_math.trunc)
NAMED.update({f"__{function.__name__}__": function for function in _BY_NAME})


# Objects.


def is_instance(x: Any, kinds: Any) -> bool:
    """Compute isinstance(): a run-time number is an instance of its dtype, of its class, and of `int` or `float`.

    Errors: `enum-class` for a run-time integer, of which nothing tells whether it was a member of an enumeration.
    """
    found, python = list(_each(kinds)), stand_in(x)
    for kind in found:
        if isinstance(kind, DType):
            if isinstance(x, RuntimeNumber) and x.dtype == kind:
                return True
        elif kind in type(x).__mro__ or isinstance(python, kind):
            return True
    for kind in found if isinstance(x, Scalar) and type(python) is int else ():
        if isinstance(kind, type) and issubclass(kind, (IntEnum, IntFlag)):
            what = f"{describe(x)} may be of {kind.__name__} or not: where paths meet, its members become numbers"
            raise mistake("enum-class", what, help="compare it by `==`, or ask before the paths meet")
    return False


def _each(kinds: Any) -> Iterator[Any]:
    """Yield the classes and dtypes in tuples and unions of them, which nest."""
    union = get_origin(kinds) in (Union, types.UnionType)
    for kind in get_args(kinds) if union else kinds if isinstance(kinds, tuple) else ():
        yield from _each(kind)
    if not union and not isinstance(kinds, tuple):
        yield kinds


special(isinstance)(lambda frame, x, kinds: is_instance(x, kinds))


@special(issubclass)
def _issubclass(frame: Frame, cls: Any, kinds: Any) -> bool:
    """Compute issubclass(); `type` of a run-time number is a dtype, which counts as `bool`, `int` or `float` too."""
    if not isinstance(cls, DType):
        return any(issubclass(cls, kind) for kind in _each(kinds) if not isinstance(kind, DType))
    python = bool if cls == boolean else int if cls.is_int else float
    return any(kind == cls if isinstance(kind, DType) else issubclass(python, kind) for kind in _each(kinds))


@special(getattr)
def _getattr(frame: Frame, obj: Any, name: str, *default: Any) -> Any:
    return default[0] if default and not has_attribute(obj, name) else attribute(frame, obj, name)


special(hasattr)(lambda frame, obj, name: has_attribute(obj, name))


@special(type)
def _type(frame: Frame, *args: Any, **kwargs: Any) -> Any:
    """Return the dtype of a run-time number; for a stand-in, the class of the Python object that it stands for."""
    if len(args) != 1 or kwargs:
        raise mistake("builtin", "classes are not made in kernels", help="define the class outside")
    (x,) = args
    if isinstance(x, Scalar):
        return x.dtype
    return next((ours for ours in (Tensor, TmaTensor) if isinstance(x, ours)), type(stand_in(x)))


@special(object.__setattr__, type.__setattr__)
def _set_attribute(frame: Frame, obj: Any, name: str, value: Any) -> None:
    """Set an attribute past `__setattr__`, as `__post_init__` of frozen dataclasses does."""
    frame.evaluation.mutables.changing(obj, frame.share, f"setting `.{name}`")
    object.__setattr__(obj, name, value)


@special(object.__delattr__, type.__delattr__)
def _delete_attribute(frame: Frame, obj: Any, name: str) -> None:
    frame.evaluation.mutables.changing(obj, frame.share, f"deleting `.{name}`")
    object.__delattr__(obj, name)


@special(dataclasses.replace)
def _replace(frame: Frame, obj: Any, /, **changes: Any) -> Any:
    """Return a changed copy; `__init__` and `__post_init__` of the user's class are inlined."""
    cls: Any = type(obj)
    if initialiser(cls) is None:
        return dataclasses.replace(obj, **changes)
    names = [field.name for field in dataclasses.fields(obj) if field.init]
    return call(frame, cls, [], {name: getattr(obj, name) for name in names} | changes)


@special(copy.copy)
@own_method("copy")
def _copy(frame: Frame, x: Any) -> Any:
    """Return a copy, which is the kernel's own; of an iterator the items that are left."""
    if not hasattr(type(x), "__length_hint__"):
        refuse_foreign(x)  # a copy of zip, map and the like takes its items from the same iterators
    result = exhaust(copy.copy(x)) if is_foreign(x) else copy.copy(x)
    return result if result is x else frame.evaluation.mutables.made(result, frame.share)


@special(copy.deepcopy)
def _deepcopy(frame: Frame, x: Any, memo: Any = None) -> Any:
    """Return a copy, which is the kernel's own with all that was copied within."""
    copies: dict[int, Any] = frame.made({}) if memo is None else memo
    if (own := overloads(type(x)).get("deepcopy")) is not None:
        return call(frame, own, [x, copies], {})
    known = {*copies}
    result = copy.deepcopy(x, copies)
    for key in copies.keys() - known:
        frame.evaluation.mutables.made(copies[key], frame.share)
    return result


@special(callable)
def _callable(frame: Frame, x: Any) -> bool:
    return isinstance(x, Closure) or (callable(x) and not isinstance(x, Runtime))


def _refused(name: str, instead: str) -> Callable[..., Any]:
    def function(frame: Frame, *args: Any, **kwargs: Any) -> Any:
        raise mistake("builtin", f"`{name}()` cannot be used in a kernel", help=instead)

    return function


_CLOCKS = (
    *(time.time, time.perf_counter, time.monotonic, time.process_time),
    *(time.time_ns, time.perf_counter_ns, time.monotonic_ns, time.process_time_ns),
)

_INSTEAD: dict[Any, str] = {
    setattr: "make a new object: `dataclasses.replace(obj, ...)`",
    delattr: "make a new object without it",
    **dict.fromkeys((eval, exec, compile), "write the code itself"),
    **dict.fromkeys((globals, locals, vars), "use the names themselves"),
    input: "do it before the launch",
    open: "read files before the launch, or in a function under `functools.cache`, which Python executes",
    time.sleep: "`cl.nanosleep(ns)`",
    **dict.fromkeys(_CLOCKS, "it would run once, while the kernel is compiled; when it runs, `cl.globaltimer()`"),
}
for _function, _instead in _INSTEAD.items():
    special(_function)(_refused(_function.__name__, _instead))


# Text.


@special(str)
def _str(frame: Frame, x: Any = "", *rest: Any) -> Any:
    return str(x, *rest) if rest or _known(x) else make_text(x, "")


@special(repr)
def _repr(frame: Frame, x: Any) -> Any:
    return make_text(x, "") if tree.holds_unknown(x) or isinstance(x, RuntimeText) else repr(x)


@special(ascii)
def _ascii(frame: Frame, x: Any) -> Any:
    return make_text(x, "") if tree.holds_unknown(x) or isinstance(x, RuntimeText) else ascii(x)


@special(format)
def _format(frame: Frame, x: Any, spec: Any = "") -> Any:
    return make_text(x, spec)


@special(breakpoint)
def _breakpoint(frame: Frame, *args: Any, **kwargs: Any) -> None:
    """Stop in Python's debugger, in the simulator, with the current variables."""
    state = frame.state
    assert state is not None
    names, values, known = [], [], []
    left = list(reversed(state.locals.items()))
    while left:
        name, x = left.pop()
        if isinstance(x, Runtime) and isinstance(x.value.type, DType | Vec):
            names.append(name)
            values.append(x.value)
        elif isinstance(x, Runtime):
            known += [name, f"<{x.value.type}>"]
        elif isinstance(x, tuple | list) and tree.holds_runtime(x):
            left += [(f"{name}.{i}", item) for i, item in reversed(list(enumerate(x)))]
        elif not isinstance(x, Closure | Conflict) and not tree.holds_runtime(x):
            known += [name, repr(x)]
    emit(Breakpoint(tuple(names), tuple(values), tuple(known)))


@special(print)
def _print(frame: Frame, *args: Any, sep: Any = None, end: Any = None, file: Any = None, flush: bool = False) -> None:
    """Print when the kernel runs, each thread for itself; a GPU has no use for `flush`."""
    if file is not None:
        raise mistake("builtin", "a kernel prints to the host's standard output", help="leave out `file=`")
    for name, x in (("sep", sep), ("end", end)):
        if not isinstance(x, str | RuntimeText | None):
            raise mistake("builtin", f"`{name}` of print() is a text, not {describe(x)}")
    line = text_of(args, " " if sep is None else sep)
    frame.evaluation.printf(text_of((line, "\n" if end is None else end), ""))
