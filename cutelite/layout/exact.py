"""Functions on a finite range as layouts: the exact fallback behind the rules of the algebra.

A function on 0..n-1 has at most one coalesced layout, and probing finds it: its first stride is f(1), its first size
the length of the run that continues with that stride, the rest is the function of every such run.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

MAX_POINTS = 1 << 20
"""No function is probed at more points than this: about a second."""


def values(shapes: Sequence[int], strides: Sequence[Any], zero: Any = 0) -> list[Any]:
    """Return a layout's values at 0, 1, ... up to its size; `zero` is the value at 0."""
    result: list[Any] = [zero]
    for s, d in zip(shapes, strides, strict=True):
        result = [value + c * d for c in range(s) for value in result]
    return result


def at(index: int, shapes: Sequence[int], strides: Sequence[Any]) -> Any:
    """Return the value of a layout at any natural; its last mode is unbounded."""
    total: Any = 0
    for s, d in zip(shapes[:-1], strides, strict=False):
        index, digit = divmod(index, s)
        total = total + digit * d
    return total + index * strides[-1]


def factor(function: Callable[[int], Any], n: int) -> list[tuple[int, Any]] | None:
    """Return the modes of the coalesced layout with those values on 0..n-1; None when no layout has them.

    >>> factor(lambda i: i % 4 + 10 * (i // 4), 12)
    [(4, 1), (3, 10)]
    >>> factor(lambda i: i * i, 3) is None
    True
    """
    modes: list[tuple[int, Any]] = []
    step, left = 1, n
    zero = function(0) * 0  # of whatever kind the values are
    if function(0) != zero:
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
    if any(function(i) != value for i, value in enumerate(values(shapes, strides, zero))):
        return None
    return modes


def tiling(pieces: Sequence[int], target: int) -> list[tuple[int, Any]] | None:
    """Return the modes of a layout that places copies of `pieces` without overlap, so that they cover all of `target`.

    There is at most one way: the least number left uncovered must be the start of the next copy.

    >>> tiling([0, 2], 8)
    [(2, 1), (2, 4)]
    >>> tiling([0, 1, 3], 4) is None
    True
    """
    covered: set[int] = set()
    starts: list[int] = []
    position = 0
    while position <= 2 * target:
        while position in covered:
            position += 1
        if position >= target and starts:  # enough: a layout may need a few copies more
            modes = factor(starts.__getitem__, len(starts))
            if modes is not None:
                return modes
        copy = {position + piece for piece in pieces}
        if copy & covered:
            return None
        covered |= copy
        starts.append(position)
    return None


def longest_inverse(images: Sequence[int], step_to: Callable[[int, int], int] = operator.mul) -> list[tuple[int, int]]:
    """Return the modes of the largest layout R found with images[R(i)] == i, one mode after the other.

    step_to  the product of a count and a stride; for strides added by XOR, the one without carries

    If no image occurs twice there is one way to continue, and the result is the largest; else up to `MAX_SEARCH` ways
    are tried.

    >>> longest_inverse([0, 3, 1, 4, 2, 5])
    [(3, 2), (2, 1)]
    """
    join = operator.add if step_to is operator.mul else operator.xor
    places: dict[int, list[int]] = {}
    for index, image in enumerate(images):
        places.setdefault(image, []).append(index)
    best: list[tuple[int, int]] = []
    begun: list[tuple[list[int], list[tuple[int, int]]]] = [([0], [])] if images[0] == 0 else []
    for _ in range(MAX_SEARCH):
        if not begun:
            break
        indices, modes = begun.pop()
        n = len(indices)
        if n > prod(count for count, _ in best):
            best = modes
        for stride in places.get(n, []):
            run, count = list(indices), 1
            while True:
                copy = [join(i, step_to(count, stride)) for i in indices]
                if any(i >= len(images) or images[i] != count * n + k for k, i in enumerate(copy)):
                    break
                run += copy
                count += 1
                if len(places.get(count * n, [])) > 1:
                    begun.append((list(run), [*modes, (count, stride)]))
            if count > 1:
                begun.append((run, [*modes, (count, stride)]))
    return best


MAX_SEARCH = 1024
"""`interpolate` looks for layouts over no more values than this: mostly milliseconds, a second at worst."""


def interpolate(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]] | None:
    """Return the modes of a layout, with as few as there can be, that takes each x of `points` to its y.

    >>> interpolate([(0, 0), (2, 1), (3, 2), (5, 3)])
    [(2, 1), (3, 1)]
    """
    extent = max(x for x, _ in points) + 1
    begun = [_Digits((), [()] * len(points), [x for x, _ in points])]
    right = [y for _, y in points]
    while begun:  # with one more mode each time
        for start in begun:
            strides = solve([[*row, x] for row, x in zip(start.rows, start.left, strict=True)], right)
            if strides is not None:
                last = -(-extent // prod(start.sizes))
                return list(zip([*start.sizes, last], strides, strict=True))
        longer = (start.with_mode(s) for start in begun for s in range(2, max(start.left) + 1))
        begun = [start for start in longer if start.is_open(right)]
    return None


class _Digits:
    """The first modes of a layout under search: their sizes, the digits of every x in them, and the rest of every x."""

    __slots__ = ("left", "rows", "sizes")

    def __init__(self, sizes: tuple[int, ...], rows: list[tuple[int, ...]], left: list[int]) -> None:
        self.sizes, self.rows, self.left = sizes, rows, left

    def with_mode(self, s: int) -> _Digits:
        rows = [(*row, x % s) for row, x in zip(self.rows, self.left, strict=True)]
        return _Digits((*self.sizes, s), rows, [x // s for x in self.left])

    def is_open(self, right: Sequence[int]) -> bool:
        """Tell whether some strides give the right differences between points with the same rest."""
        first: dict[int, int] = {}
        rows, differences = [], []
        for i, x in enumerate(self.left):
            k = first.setdefault(x, i)
            if k != i:
                rows.append([a - b for a, b in zip(self.rows[i], self.rows[k], strict=True)])
                differences.append(right[i] - right[k])
        return not rows or solve(rows, differences) is not None


def solve(rows: Sequence[Sequence[int]], right: Sequence[int]) -> list[int] | None:
    """Return an integer vector v with rows @ v == right; None when there is none.

    Column operations bring the rows into echelon form; they are recorded by applying them to a unit matrix as well.
    """
    count = len(rows[0])
    columns = [[row[j] for row in rows] + [int(i == j) for i in range(count)] for j in range(count)]
    solution = [0] * count
    rest = list(right)
    done = 0
    for i in range(len(rows)):
        pivots = [column for column in columns[done:] if column[i]]
        while len(pivots) > 1:
            least = min(pivots, key=lambda column: abs(column[i]))
            for column in pivots:
                if column is not least:
                    factor_ = column[i] // least[i]
                    column[:] = [a - factor_ * b for a, b in zip(column, least, strict=True)]
            pivots = [column for column in pivots if column[i]]
        if not pivots:
            if rest[i]:
                return None
            continue
        (pivot,) = pivots
        factor_, odd = divmod(rest[i], pivot[i])
        if odd:
            return None
        rest = [a - factor_ * b for a, b in zip(rest, pivot, strict=False)]
        solution = [a + factor_ * b for a, b in zip(solution, pivot[len(rows) :], strict=True)]
        columns.remove(pivot)
        columns.insert(done, pivot)
        done += 1
    return solution
