"""Complements, inverses, nullspaces, and what they tell about two layouts together."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from cutelite.layout.basis import Basis
from cutelite.layout.compose import coalesce, composition, filter_zeros, from_modes, merged, through
from cutelite.layout.dims import DimExpr, Int, ceil_div_dims
from cutelite.layout.errors import LayoutError
from cutelite.layout.facts import exact_div, prove_le, prove_lt
from cutelite.layout.inttuple import flatten_to_tuple, product
from cutelite.layout.layout import ComposedLayout, Layout, raw


def sorted_modes(function: str, layout: Layout) -> list[tuple[Any, Any]]:
    """The modes that move, by stride; every stride must be provably positive and comparable."""
    modes = []
    for s, d in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        if (isinstance(s, int) and s == 1) or (isinstance(d, int) and d == 0):
            continue
        if isinstance(d, Basis):
            raise LayoutError(function, f"{layout} gives coordinates; {function} is for offsets", stride=d)
        if not prove_lt(0, d):
            raise LayoutError(function, f"stride {d} of {layout} is not known to be positive", stride=d)
        modes.append((s, d))
    if len(modes) < 2:
        return modes

    def order(a: tuple[Any, Any], b: tuple[Any, Any]) -> int:
        if a[1] == b[1]:
            return 0
        if prove_le(a[1], b[1]):
            return -1
        if prove_le(b[1], a[1]):
            return 1
        raise LayoutError(function, f"which of strides {a[1]} and {b[1]} of {layout} is greater is not known")

    if all(type(d) is int for _, d in modes):
        return sorted(modes, key=lambda mode: mode[1])
    return sorted(modes, key=cmp_to_key(order))


def complement(layout: Any, cotarget: Any = 1) -> Any:
    """The layout of what `layout` leaves out: its values are the starts of further copies of `layout`.

    cotarget  how far the copies must reach: an int, or a shape or layout for its size or cosize
    Result    ordered, and disjoint: all sums layout(i) + result(j) differ. Where each stride divides the next the
              sums cover everything below `cotarget`; where not, no layout's would
    Errors    when layout(i) == layout(j) for some i != j (apart from strides of 0), or dims leave it open

    >>> complement(Layout(4, 2), 24)
    (2,3):(1,8)
    >>> complement(Layout((2, 2), (1, 6)), 24)
    (3,2):(2,12)
    """
    target = cotarget.cosize if isinstance(cotarget, Layout) else product(cotarget)
    return through(layout, lambda outer: complement_cover(outer, target)[0])


def complement_cover(layout: Layout, target: Int) -> tuple[Layout, Int | None]:
    """The complement, and below which number it covers all; None when without end."""
    modes: list[tuple[Any, Any]] = []
    current: Int = 1
    covered: Int | None = None
    for s, d in sorted_modes("complement", layout):
        if not prove_le(current, d):
            message = f"{layout} overlaps itself, or may: stride {d} is not known to reach {current}, the span below it"
            raise LayoutError("complement", message, stride=d, span=current)
        gap = exact_div(d, current)
        if gap is None:
            if isinstance(d, DimExpr) or isinstance(current, DimExpr):
                raise LayoutError(
                    "complement", f"{current} is not known to divide stride {d} of {layout}", stride=d, span=current
                )
            gap = d // current
            covered = gap * current if covered is None else covered
        modes.append((gap, current))
        current = s * d
    modes.append((ceil_div_dims(target, current), current))
    return coalesce(from_modes(modes)), covered


def right_inverse(layout: Any) -> Any:
    """The largest layout R with layout(R(i)) == i.

    >>> right_inverse(Layout((4, 8), (8, 1)))
    (8,4):(4,1)
    >>> right_inverse(Layout((4, 8), (1, 5)))
    4:1
    """
    if isinstance(layout, ComposedLayout):
        raise LayoutError("right_inverse", f"{layout} is composed; invert its outer layout")
    shapes, strides = merged(layout)
    if any(isinstance(s, DimExpr) for s in shapes[:-1]) or any(isinstance(d, DimExpr) for d in strides):
        strides = [0 if isinstance(d, DimExpr) else d for d in strides]
    positions: list[Any] = []
    position: Int = 1
    for s in shapes:
        positions.append(position)
        position = position * s
    modes: list[tuple[Any, Any]] = []
    current: Int = 1
    while True:
        found = [
            (s, p)
            for s, d, p in zip(shapes, strides, positions, strict=True)
            if d == current and not (isinstance(s, int) and s == 1)
        ]
        if not found:
            break
        s, p = found[0]
        modes.append((s, p))
        current = current * s
    return coalesce(from_modes(modes))


def left_inverse(layout: Any) -> Any:
    """The layout L with L(layout(i)) == i.

    Errors  when `layout` is not injective

    >>> left_inverse(Layout((4, 8), (8, 1)))
    (8,4):(4,1)
    >>> left_inverse(Layout(4, 3))
    (3,4):(4,1)
    """
    if isinstance(layout, ComposedLayout):
        raise LayoutError("left_inverse", f"{layout} is composed; invert its outer layout")
    filtered = filter_zeros(layout)
    rest, covered = complement_cover(filtered, 1)
    if covered is not None:
        raise LayoutError("left_inverse", f"a stride of {layout} is no multiple of the span below it", covered=covered)
    both = raw((layout.shape, rest.shape), (layout.stride, rest.stride))
    return right_inverse(both)


def nullspace(layout: Any) -> Any:
    """The layout of the indices that stay put: its values are those i with layout(i) == 0 by a stride of 0.

    >>> nullspace(Layout((4, 3, 2), (1, 0, 4)))
    3:4
    """
    modes: list[tuple[Any, Any]] = []
    position: Int = 1
    for s, d in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        if isinstance(d, int) and d == 0 and not (isinstance(s, int) and s == 1):
            modes.append((s, position))
        position = position * s
    return coalesce(from_modes(modes))


def max_common_layout(a: Layout, b: Layout) -> Layout:
    """The largest layout R with a(R(i)) == i == b(R(i)): the elements contiguous, and in the same order, in both.

    >>> max_common_layout(Layout((4, 8)), Layout((4, 8), (1, 16)))
    4:1
    """
    inverse = right_inverse(b)
    common = coalesce(composition(a, inverse))
    s, d = flatten_to_tuple(common.shape)[0], flatten_to_tuple(common.stride)[0]
    if isinstance(d, int) and d == 1:
        result: Layout = composition(inverse, Layout(s, 1))
        return result
    return raw(1, 0)


def max_common_vector(a: Layout, b: Layout) -> Int:
    """How many elements are contiguous, and in the same order, in both.

    >>> max_common_vector(Layout((4, 8)), Layout((4, 8), (1, 16)))
    4
    """
    return max_common_layout(a, b).size
