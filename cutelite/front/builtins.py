"""Python's builtin functions on run-time values. On compile-time values alone they are Python's own."""

from __future__ import annotations

import functools
import math as python_math
from collections.abc import Callable
from typing import Any

from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import boolean, f32, f64, i32, i64
from cutelite.lang.values import (
    Arithmetic,
    Runtime,
    Scalar,
    Vector,
    as_value,
    describe,
    floordiv,
    maximum,
    minimum,
    mistake,
    modulo,
    power,
    to_dtype,
    truth,
    wrap,
)
from cutelite.layout import DimExpr

from .frame import Closure, compare, iterate_static
from .iterators import make_range
from .strings import text_of
from .tree import holds_runtime


def _known(*args: Any) -> bool:
    """Whether Python can do it: nothing in `args` is known at run time only."""
    return not any(isinstance(x, DimExpr) or holds_runtime(x) for x in args)


def _number(x: Any) -> Any:
    return wrap(as_value(x)) if isinstance(x, DimExpr) else x


def _extremum(name: str, pick: Callable[[Any, Any], Any], python: Callable[..., Any]) -> Callable[..., Any]:
    def builtin(*args: Any, **kwargs: Any) -> Any:
        items = iterate_static(args[0]) if len(args) == 1 else args
        if _known(*items):
            return python(*args, **kwargs)
        if kwargs:
            raise mistake("builtin", f"{name}() of run-time values takes no {next(iter(kwargs))}=")
        return functools.reduce(pick, map(_number, items))

    return builtin


def _sum(items: Any, start: Any = 0) -> Any:
    total = start
    for item in iterate_static(items):
        total = item if type(total) is int and total == 0 and isinstance(item, Arithmetic) else total + item
    return total


def _any(items: Any) -> Any:
    found: Any = False
    for item in iterate_static(items):
        known = truth(item) if isinstance(item, Runtime | DimExpr) else bool(item)
        if known is True:
            return True
        if known is not False:
            found = known if found is False else found | known
    return found


def _all(items: Any) -> Any:
    found: Any = True
    for item in iterate_static(items):
        known = truth(item) if isinstance(item, Runtime | DimExpr) else bool(item)
        if known is False:
            return False
        if known is not True:
            found = known if found is True else found & known
    return found


def _int(x: Any = 0, *base: Any) -> Any:
    if _known(x, *base):
        return int(x, *base)
    x = _number(x)
    if not isinstance(x, Scalar):
        raise mistake("builtin", f"int() takes a number, not {describe(x)}")
    return x if x.dtype.is_int else to_dtype(x, i64 if x.dtype == f64 else i32)


def _float(x: Any = 0.0) -> Any:
    if _known(x):
        return float(x)
    x = _number(x)
    if not isinstance(x, Scalar):
        raise mistake("builtin", f"float() takes a number, not {describe(x)}")
    return x if x.dtype.is_float else to_dtype(x, f64 if x.dtype == i64 else f32)


def _bool(x: Any = False) -> Any:
    return truth(x) if isinstance(x, Runtime | DimExpr) else bool(x)


def _len(x: Any) -> Any:
    return x.extent if hasattr(x, "extent") else len(x)


def _pow(a: Any, b: Any, modulus: Any = None) -> Any:
    if _known(a, b, modulus):
        return pow(a, b, modulus)
    if modulus is not None:
        raise mistake("builtin", "pow() of run-time values takes no modulus")
    return power(_number(a), b)


def _divmod(a: Any, b: Any) -> Any:
    return divmod(a, b) if _known(a, b) else (floordiv(_number(a), _number(b)), modulo(_number(a), _number(b)))


def _round(x: Any, digits: Any = None) -> Any:
    if _known(x, digits):
        return round(x, digits)
    if digits is not None:
        raise mistake("builtin", "round() of a run-time value takes no digits")
    from cutelite.lang import math

    return _int(math.rint(x)) if x.dtype.is_float else x


def _print(*args: Any, sep: str = " ", end: str = "\n") -> None:
    if _known(*args):
        print(*args, sep=sep, end=end)
        return
    from cutelite.lang.debug import printf

    text, values = text_of(args, sep).printf()
    printf(text + end.replace("%", "%%"), *values)


def _isinstance(x: Any, kinds: Any) -> bool:
    """A run-time number is an instance of its dtype, of `int` or `float` as it is one, and of its own class."""
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    for kind in wanted:
        if isinstance(kind, DType):
            if isinstance(x, Arithmetic) and x.dtype == kind:
                return True
        elif isinstance(x, Scalar) and kind in (int, float, bool):
            t = x.dtype
            if (kind is int and t.is_int) or (kind is float and t.is_float) or (kind is bool and t == boolean):
                return True
        elif isinstance(x, DimExpr) and kind is int:
            return True
        elif isinstance(x, kind):
            return True
    return False


TABLE: dict[Any, Callable[..., Any]] = {
    range: make_range,
    min: _extremum("min", minimum, min),
    max: _extremum("max", maximum, max),
    sum: _sum,
    any: _any,
    all: _all,
    int: _int,
    float: _float,
    bool: _bool,
    len: _len,
    pow: _pow,
    divmod: _divmod,
    round: _round,
    print: _print,
    isinstance: _isinstance,
}
"""Builtins that mean something of their own in kernels. All others are called as they are."""

MATH: dict[Any, str] = {
    getattr(python_math, name): name
    for name in (
        "acos asin atan atan2 ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fmod hypot isfinite isinf isnan"
        " log log10 log1p log2 pow sin sinh sqrt tan tanh trunc acosh asinh atanh cbrt"
    ).split()
}
"""Functions of Python's `math` that go to `cutelite.lang.math` when an argument is a run-time value."""

__all__ = ["MATH", "TABLE", "Closure", "Vector", "compare"]
