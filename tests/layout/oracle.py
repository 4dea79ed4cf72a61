"""What layouts are, written down a second time and as plainly as possible: the judge of the algebra in these tests."""

import itertools
from collections.abc import Callable, Iterator
from math import gcd, prod
from typing import Any

from cutelite.layout import Layout


def leaves(x: Any) -> list[Any]:
    return [leaf for item in x for leaf in leaves(item)] if isinstance(x, tuple) else [x]


def size(layout: Layout) -> int:
    return prod(leaves(layout.shape))


def value(layout: Layout, index: int) -> int:
    """Of any natural: all modes but the last are taken modulo their extent."""
    extents, strides = leaves(layout.shape), leaves(layout.stride)
    total = 0
    for extent, stride in zip(extents[:-1], strides[:-1], strict=True):
        total += index % extent * stride
        index //= extent
    return total + (index * int(strides[-1]) if strides else 0)


def values(layout: Layout) -> list[int]:
    return [value(layout, i) for i in range(size(layout))]


def factorings(n: int) -> Iterator[tuple[int, ...]]:
    """Every sequence of factors from 2 whose product is n."""
    if n == 1:
        yield ()
    for first in range(2, n + 1):
        if n % first == 0:
            for rest in factorings(n // first):
                yield (first, *rest)


def is_layout(function: Callable[[int], int], n: int) -> bool:
    """Whether some layout has these values on 0..n-1: every shape is tried; its strides are forced."""
    for extents in factorings(n):
        starts = list(itertools.accumulate(extents, initial=1, func=lambda a, b: a * b))[:-1]
        strides = tuple(function(start) for start in starts)
        if not extents or values(Layout(extents, strides)) == [function(i) for i in range(n)]:
            return function(0) == 0
    return False


def composition_exists(lhs: Layout, rhs: Layout) -> bool:
    """Whether some layout compatible with rhs has the values lhs(rhs(i)): mode by mode, and then all at once."""
    modes = list(zip(leaves(rhs.shape), leaves(rhs.stride), strict=True))
    if not all(is_layout([value(lhs, c * d) for c in range(s)].__getitem__, s) for s, d in modes):
        return False
    for coord in itertools.product(*(range(s) for s, _ in modes)):
        places = [c * d for c, (_, d) in zip(coord, modes, strict=True)]
        if value(lhs, sum(places)) != sum(value(lhs, place) for place in places):
            return False
    return True


def tiling(pieces: set[int], target: int) -> list[int] | None:
    """Where copies of `pieces` start that cover 0..target-1 without overlap: the least gap is always the next start."""
    covered: set[int] = set()
    starts = []
    for position in range(target):
        if position not in covered:
            copy = {position + piece for piece in pieces}
            if copy & covered:
                return None
            covered |= copy
            starts.append(position)
    return starts


def longest_right_inverse(layout: Layout) -> int:
    """The size of the largest layout R with layout(R(i)) == i, by trying all."""
    places: dict[int, list[int]] = {}
    images = values(layout)
    for index, image in enumerate(images):
        places.setdefault(image, []).append(index)

    def extend(indices: list[int]) -> int:
        """The longest that begins with those values of R."""
        n = len(indices)
        best = n
        for step in places.get(n, []):
            grown = list(indices)
            for count in itertools.count(1):
                copy = [index + count * step for index in indices]
                if any(i >= len(images) or images[i] != count * n + k for k, i in enumerate(copy)):
                    break
                grown += copy
                best = max(best, extend(grown))
        return best

    return extend([0])


def layout_through(points: dict[int, int]) -> bool:
    """Whether some layout takes each key to its value: every shape is tried.

    Its strides solve linear equations in integers: they can be solved when the minors of full rank of the matrix have
    the same greatest common divisor as those of the matrix with the right side added.
    """
    most = max(points)
    for n in range(1, most + 1):
        for extents in factorings(n):
            rows = []
            for index in points:
                row = []
                for extent in extents:
                    row.append(index % extent)
                    index //= extent
                rows.append([*row, index])
            wide = [[*row, right] for row, right in zip(rows, points.values(), strict=True)]
            for rank in range(len(rows[0]), 0, -1):
                divisor = _minors(rows, rank)
                if divisor:
                    if divisor == _minors(wide, rank) and not _minors(wide, rank + 1):
                        return True
                    break
    return False


def _minors(rows: list[list[int]], rank: int) -> int:
    """The greatest common divisor of all determinants of that many rows and columns."""
    divisor = 0
    for chosen in itertools.combinations(rows, rank):
        for columns in itertools.combinations(range(len(rows[0])), rank):
            divisor = gcd(divisor, _determinant([[row[c] for c in columns] for row in chosen]))
            if divisor == 1:
                return 1
    return divisor


def _determinant(rows: list[list[int]]) -> int:
    if not rows:
        return 1
    return sum((-1) ** k * x * _determinant([r[:k] + r[k + 1 :] for r in rows[1:]]) for k, x in enumerate(rows[0]) if x)
