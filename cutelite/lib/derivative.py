"""Derivatives of functions that kernels are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.lang.dual import Dual
from cutelite.lang.emit import describe, mistake
from cutelite.lang.promotion import is_number


def value_and_derivative(function: Callable[..., Any], x: Any, *more: Any) -> tuple[Any, Any]:
    """``function(x, *more)``, and its derivative by `x`, element by element: a vector of that shape, or a float.

    The function is evaluated once, with the derivative beside each value (forward mode). It may use arithmetic,
    comparisons, `cl.where`, `cl.math`, `abs`, `min`, `max`, conversions to floats, and functions, branches and unrolled
    loops of these; not accesses of memory at an index made of `x`, bits, or shuffles. Where it has a kink it is the
    derivative to one side, and where it jumps 0. What else the function captures is constant.

    x        a float, or a vector of floats
    Errors   `no-derivative` for functions of `cl.math` without one; those of Python for what `x` cannot do
    """
    y = function(Dual(x, 1.0), *more)
    if isinstance(y, Dual):
        return y.value, float(y.slope) if isinstance(y.slope, float) else y.slope
    if not is_number(y):
        raise mistake("no-derivative", f"the function gives {describe(y)}, which is no number")
    return y, 0.0
