"""Functions on a finite range as layouts: the exact fallback behind the rules of the algebra.

A function on 0..n-1 has at most one coalesced layout, and probing finds it: its first stride is f(1), its first size
the length of the run that continues with that stride, the rest is the function of every such run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

MAX_POINTS = 1 << 20
"""No function is probed at more points than this: about a second."""


def values(shapes: Sequence[int], strides: Sequence[Any]) -> list[Any]:
    """A layout's values at 0, 1, ... up to its size."""
    result: list[Any] = [0]
    for s, d in zip(shapes, strides, strict=True):
        result = [value + c * d for c in range(s) for value in result]
    return result


def at(index: int, shapes: Sequence[int], strides: Sequence[Any]) -> Any:
    """The value of a layout at any natural; its last mode is unbounded."""
    total: Any = 0
    for s, d in zip(shapes[:-1], strides, strict=False):
        index, digit = divmod(index, s)
        total = total + digit * d
    return total + index * strides[-1]


def factor(function: Callable[[int], Any], n: int) -> list[tuple[int, Any]] | None:
    """The modes of the coalesced layout with those values on 0..n-1; None when no layout has them.

    >>> factor(lambda i: i % 4 + 10 * (i // 4), 12)
    [(4, 1), (3, 10)]
    >>> factor(lambda i: i * i, 3) is None
    True
    """
    modes: list[tuple[int, Any]] = []
    step, left = 1, n
    if function(0) != 0:
        return None
    while left > 1:
        stride = function(step)
        run = 2
        while run < left and function(run * step) == run * stride:
            run += 1
        if left % run:
            return None
        modes.append((run, stride))
        step, left = step * run, left // run
    shapes, strides = [s for s, _ in modes], [d for _, d in modes]
    if any(function(i) != value for i, value in enumerate(values(shapes, strides))):
        return None
    return modes
