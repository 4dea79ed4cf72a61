"""Attributes and methods of Python's own numbers, of a run-time number or a dim.

In    a number, and a name such as `real` or `bit_length`
Out   what Python's `int` or `float` has under that name. What only a known number can tell, as `hex` does, is left out
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from cutelite.ir.types import SCALARS, boolean, i32
from cutelite.lang.emit import wrap
from cutelite.lang.promotion import as_value, to_dtype
from cutelite.lang.values import logical_and
from cutelite.layout import DimExpr


def attribute(x: Any, name: str) -> Any:
    """Return ``x.name`` of a scalar or dim. Errors: AttributeError for a name that its class of Python's has not."""
    if not isinstance(x, DimExpr) and x.dtype == boolean:
        x = to_dtype(x, i32)
    whole = isinstance(x, DimExpr) or x.dtype.is_int
    found = (OF_INTEGERS if whole else OF_FLOATS).get(name)
    if found is None or not hasattr(0 if whole else 0.0, name):  # `is_integer` of integers is new in Python 3.12
        raise AttributeError(name=name, obj=x)
    return found(x)


def _magnitude(x: Any) -> Any:
    """Return the absolute value of an integer as an unsigned number of 32 or 64 bits, which holds any."""
    x = wrap(as_value(x)) if isinstance(x, DimExpr) else x
    wide = 64 if x.dtype.bits == 64 else 32
    if x.dtype.signed:
        x = abs(to_dtype(x, SCALARS[f"i{wide}"]))
    return to_dtype(x, SCALARS[f"u{wide}"])


def _functions() -> tuple[Any, Any]:
    """Return the modules of functions of bits and of floats, which few kernels need."""
    from cutelite.lang import bits, math

    return bits, math


def _bit_length(x: Any) -> Any:
    size = _magnitude(x)
    return size.dtype.bits - to_dtype(_functions()[0].clz(size), i32)


def _bit_count(x: Any) -> Any:
    return to_dtype(_functions()[0].popc(_magnitude(x)), i32)


def _is_integer(x: Any) -> Any:
    return logical_and(abs(x) < inf, _functions()[1].floor(x) == x)


_METHOD = Callable[[Any], Any]
OF_INTEGERS: dict[str, _METHOD] = {
    "real": lambda x: x,
    "imag": lambda x: 0,
    "numerator": lambda x: x,
    "denominator": lambda x: 1,
    "conjugate": lambda x: lambda: x,
    "is_integer": lambda x: lambda: True,
    "as_integer_ratio": lambda x: lambda: (x, 1),
    "bit_length": lambda x: lambda: _bit_length(x),
    "bit_count": lambda x: lambda: _bit_count(x),
}
OF_FLOATS: dict[str, _METHOD] = {
    "real": lambda x: x,
    "imag": lambda x: 0.0,
    "conjugate": lambda x: lambda: x,
    "is_integer": lambda x: lambda: _is_integer(x),
}
NAMES = OF_INTEGERS.keys() | OF_FLOATS
