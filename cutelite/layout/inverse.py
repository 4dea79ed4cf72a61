"""Complements, inverses and nullspaces.

All of them look at the modes that move (neither size 1 nor stride 0), sorted by stride. A layout is a *chain* when each
stride is a multiple of the span of the smaller ones (``size * stride`` of the one before): then its values, and the
gaps between them, are layouts again.
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from cutelite.layout import exact
from cutelite.layout.basis import Basis, E, Path, along, paths
from cutelite.layout.compose import coalesce, composition, filter_zeros, from_modes, is_one, is_zero, merged
from cutelite.layout.dims import DimExpr, Int, ceil_div_dims
from cutelite.layout.errors import LayoutError
from cutelite.layout.facts import exact_div, prove_le, prove_lt
from cutelite.layout.inttuple import flatten_to_tuple, is_static, product, show
from cutelite.layout.layout import ComposedLayout, Layout, concat, cosize, raw
from cutelite.layout.swizzle import Swizzle


def sorted_modes(function: str, layout: Layout) -> list[tuple[Any, Any]]:
    """The modes that move, by stride; every stride must be provably positive, and comparable with the others."""
    modes = []
    for s, d in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        if is_one(s) or is_zero(d):
            continue
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
        message = f"which of the strides {a[1]} and {b[1]} of {layout} is the greater is not known"
        raise LayoutError(function, message, strides=(a[1], b[1]))

    if all(type(d) is int for _, d in modes):
        return sorted(modes, key=lambda mode: mode[1])
    return sorted(modes, key=cmp_to_key(order))


def _has_bases(layout: Layout) -> bool:
    return any(isinstance(d, Basis) for d in flatten_to_tuple(layout.stride))


def component(layout: Layout, path: Path) -> Layout:
    """What the layout adds to the coordinate at a path: its strides along E(*path)."""
    return raw(layout.shape, along(layout.stride, path))


def refuse_composed(function: str, layout: Any) -> None:
    """`function` has no meaning for composed layouts."""
    if not isinstance(layout, Layout):
        raise LayoutError(function, f"{layout} is no layout of shape and stride alone")


# ------------------------------------------------------------------------------------------------- complement


def complement(layout: Layout, cotarget: Any = 1) -> Layout:
    """The layout of what `layout` leaves out: its values are the starts of further copies of `layout`.

    cotarget  how far the copies must reach: an int, or a shape or layout for its size or cosize; for a layout that
              gives coordinates, the shape they are in
    Result    ordered, and disjoint: the sums layout(i) + result(j) are all different. If `layout` is a chain the sums
              cover all below `cotarget`; if it is not, no layout's would (below a few values)
    Errors    when layout(i) == layout(j) for some i != j (apart from strides of 0), or dims leave that open

    >>> complement(Layout(4, 2), 24)
    (2,3):(1,8)
    >>> complement(Layout((2, 2), (1, 6)), 24)
    (3,2):(2,12)
    >>> complement(Layout((4, 2), (E(0), E(1))), (8, 8))
    (2,4):(4@0,2@1)
    """
    refuse_composed("complement", layout)
    target = cosize(cotarget) if isinstance(cotarget, Layout) else cotarget
    if _has_bases(layout):
        return _coordinate_complement(layout, target)[0]
    return complement_cover(layout, product(target))[0]


def complement_cover(layout: Layout, target: Any) -> tuple[Layout, Int | None]:
    """The complement, and the first number below `target` that it leaves uncovered; None when there is none."""
    refuse_composed("complement", layout)
    if _has_bases(layout):
        return _coordinate_complement(layout, target)
    target = product(target)
    modes: list[tuple[Any, Any]] = []
    span: Int = 1
    uncovered: Int | None = None
    for s, d in sorted_modes("complement", layout):
        if not prove_le(span, d):
            return _interleaved(layout, target, d, span)
        gap = exact_div(d, span)
        if gap is None:
            if isinstance(d, DimExpr) or isinstance(span, DimExpr):
                message = f"stride {d} of {layout} is not known to be a multiple of {span}, the span below it"
                raise LayoutError("complement", message, stride=d, span=span)
            gap = d // span
            uncovered = gap * span if uncovered is None else uncovered
        modes.append((gap, span))
        span = s * d
    modes.append((ceil_div_dims(target, span), span))
    if uncovered is not None:
        if prove_le(target, uncovered):
            uncovered = None
        elif (tiled := _tiled(_values(layout), target)) is not None:
            return tiled, None
    return coalesce(from_modes(modes)), uncovered


def _values(layout: Layout) -> list[int] | None:
    """The values of the modes that move; None where they are not known, or too many."""
    moving = filter_zeros(layout)
    if not is_static(moving) or moving.size > exact.MAX_POINTS:
        return None
    return exact.values(flatten_to_tuple(moving.shape), flatten_to_tuple(moving.stride))


def _tiled(values: list[int] | None, target: Int) -> Layout | None:
    """The complement by its values, where the rules find none that covers the target."""
    if values is None or isinstance(target, DimExpr) or target + len(values) > exact.MAX_POINTS:
        return None
    modes = exact.tiling(values, target)
    return None if modes is None else from_modes(modes)


def _interleaved(layout: Layout, target: Int, stride: Int, span: Int) -> tuple[Layout, Int | None]:
    """The complement of modes that lie within each other: copies side by side, if the layout is injective."""
    values = _values(layout)
    if values is None or len(set(values)) < len(values):
        message = f"{layout} overlaps itself, or may: stride {stride} lies within {span}, the span of smaller ones"
        raise LayoutError("complement", message, stride=stride, span=span)
    tiled = _tiled(values, target)
    if tiled is not None:
        return tiled, None
    reach = max(values) + 1
    count = ceil_div_dims(target, reach)
    return coalesce(from_modes([(count, reach)])), min(set(range(len(values) + 1)) - set(values))


def _coordinate_complement(layout: Layout, target: Any) -> tuple[Layout, Int | None]:
    """Coordinate by coordinate: each path has a complement of its own within its extent of the target."""
    found = {path for path in paths(flatten_to_tuple(layout.stride)) if path}
    rests = []
    uncovered: Int | None = None
    for path, extent in _extents(target, found, ()):
        rest, hole = complement_cover(component(layout, path), extent)
        uncovered = hole if uncovered is None else uncovered
        rests.append(raw(rest.shape, rest.stride * E(*path) if not isinstance(rest.stride, tuple) else
                         tuple(d * E(*path) for d in rest.stride)))  # fmt: skip
    return (concat(rests) if len(rests) != 1 else rests[0]), uncovered


def _extents(target: Any, found: set[Path], path: Path) -> list[tuple[Path, Any]]:
    """The coordinates of a target shape, each with its extent, as coarse as the layout's paths allow."""
    if path in found or not any(p[: len(path)] == path for p in found) or not isinstance(target, tuple):
        if any(len(p) > len(path) and p[: len(path)] == path for p in found):
            raise LayoutError("complement", f"the target {show(target)} has no coordinate at every path of the layout")
        return [(path, product(target))]
    if any(p[: len(path)] == path and p[len(path)] >= len(target) for p in found):
        raise LayoutError("complement", f"the target {show(target)} has no coordinate at every path of the layout")
    return [entry for mode, item in enumerate(target) for entry in _extents(item, found, (*path, mode))]


# --------------------------------------------------------------------------------------------------- inverses


def right_inverse(layout: Any) -> Any:
    """The largest layout R with layout(R(i)) == i, each of whose modes steps along one mode of `layout`.

    Strides that continue nothing are left out, so R is 1:0 at worst. Of a layout that gives coordinates R takes
    coordinates, mode by mode.

    >>> right_inverse(Layout((4, 8), (8, 1)))
    (8,4):(4,1)
    >>> right_inverse(Layout((4, 8), (1, 5)))
    4:1
    >>> right_inverse(Layout((4, 8), (E(1), E(0))))
    (8,4):(4,1)
    """
    if isinstance(layout, ComposedLayout):
        return _swizzled_inverse("right_inverse", layout)
    refuse_composed("right_inverse", layout)
    if _has_bases(layout):
        return _by_coordinate(layout, right_inverse)
    shapes, strides = merged(layout)
    positions: list[Int] = [1]
    for s in shapes:
        positions.append(positions[-1] * s)
    steps = [
        (s, d, p)
        for s, d, p in zip(shapes, strides, positions, strict=False)
        if not is_one(s) and not is_zero(d) and not (isinstance(d, int) and d < 0)
    ]
    chain = _chain(steps)
    if len({d for _, d, _ in steps}) < len(steps) or not _injective(steps):
        chain = _longest(steps)
    return coalesce(from_modes(chain))


def _chain(steps: list[tuple[Any, Any, Any]]) -> list[tuple[Any, Any]]:
    """Modes of size, position whose strides continue each other from 1."""
    by_stride = {d: (s, p) for s, d, p in steps}
    modes = []
    current: Int = 1
    while current in by_stride:
        s, p = by_stride[current]
        modes.append((s, p))
        current = s * current
    return modes


def _injective(steps: list[tuple[Any, Any, Any]]) -> bool:
    """Whether no stride lies within the span of smaller ones, so that the chain has no alternative."""
    ordered = sorted((step for step in steps if is_static(step[:2])), key=lambda step: step[1])
    span = 1
    for s, d, _ in ordered:
        if d < span:
            return False
        span = (s - 1) * d + span
    return True


def _longest(steps: list[tuple[Any, Any, Any]]) -> list[tuple[Any, Any]]:
    """The longest chain where modes overlap: any part of a mode may continue at any multiple of its stride."""
    static = [step for step in steps if is_static(step)]
    best: tuple[int, list[tuple[Any, Any]]] = (1, [])
    seen: set[tuple[int, tuple[int, ...]]] = set()

    def extend(current: int, used: tuple[int, ...], modes: list[tuple[Any, Any]]) -> None:
        nonlocal best
        if (current, used) in seen or len(seen) > 10_000:
            return
        seen.add((current, used))
        if current > best[0]:
            best = (current, modes)
        for k, (s, d, p) in enumerate(static):
            factor, odd = divmod(current, d)
            if odd:
                continue
            most = (s - 1 - used[k]) // factor + 1
            counts = {most} | {e // current for _, e, _ in static if e % current == 0 and 1 < e // current < most}
            for count in counts:
                if count > 1:
                    now = (*used[:k], used[k] + (count - 1) * factor, *used[k + 1 :])
                    extend(current * count, now, [*modes, (count, p * factor)])

    extend(1, (0,) * len(static), [])
    return best[1]


def _by_coordinate(layout: Layout, inverse: Any) -> Layout:
    """The inverse along each coordinate, nested like the coordinates."""
    found = [path for path in paths(flatten_to_tuple(layout.stride)) if path]

    def build(path: Path) -> Layout:
        if path in found:
            return inverse(component(layout, path))  # type: ignore[no-any-return]
        width = 1 + max((p[len(path)] for p in found if p[: len(path)] == path and len(p) > len(path)), default=-1)
        return concat([build((*path, mode)) for mode in range(width)]) if width else raw(1, 0)

    if () in paths(flatten_to_tuple(layout.stride)):
        raise LayoutError("right_inverse", f"{layout} mixes offsets and coordinates")
    return build(())


def _swizzled_inverse(function: str, layout: ComposedLayout) -> Any:
    """Of ``swizzle o 0 o outer``: the inverse of outer, after the swizzle, which is its own inverse."""
    if not isinstance(layout.inner, Swizzle) or not is_zero(layout.offset):
        raise LayoutError(function, f"{layout} is not a swizzle of a layout without offset")
    if function == "left_inverse":
        inverse, extent = left_inverse(layout.outer), layout.cosize
    else:
        inverse = right_inverse(layout.outer)
        swizzle = layout.inner
        moved = swizzle.source_mask & -swizzle.source_mask or 1  # below this the swizzle changes nothing
        whole = exact_div(inverse.size, swizzle.size)
        extent = inverse.size if whole is not None or prove_le(inverse.size, moved) else moved
        if isinstance(inverse.size, int) and whole is None and inverse.size > moved:
            extent = max(moved, inverse.size // swizzle.size * swizzle.size)
    return ComposedLayout(inverse, 0, ComposedLayout(layout.inner, 0, Layout(extent)))


def left_inverse(layout: Any) -> Any:
    """The layout L with L(layout(i)) == i; modes of stride 0 are taken to stay at 0.

    Errors  when `layout` is not injective apart from them, or when no layout is its inverse

    >>> left_inverse(Layout((4, 8), (8, 1)))
    (8,4):(4,1)
    >>> left_inverse(Layout(4, 3)), left_inverse(Layout((2, 2), (1, 5)))
    ((3,4):(4,1), (5,2):(1,2))
    """
    if isinstance(layout, ComposedLayout):
        return _swizzled_inverse("left_inverse", layout)
    refuse_composed("left_inverse", layout)
    if _has_bases(layout):
        return _by_coordinate(layout, left_inverse)
    rest, uncovered = complement_cover(filter_zeros(layout), filter_zeros(layout).cosize)
    if uncovered is None:
        return right_inverse(raw((layout.shape, rest.shape), (layout.stride, rest.stride)))
    return coalesce(from_modes(_padded_inverse(layout)))


def _padded_inverse(layout: Layout) -> list[tuple[Any, Any]]:
    """The inverse where strides are multiples of each other, but not of the spans: gaps are modes of their own."""
    positions: list[Int] = [1]
    moving: list[tuple[int, int, Any]] = []
    for s, d in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        if not is_one(s) and not is_zero(d):
            moving.append((d, s, positions[-1]))
        positions.append(positions[-1] * s)
    moving.sort(key=lambda mode: mode[0])
    modes: list[tuple[Any, Any]] = []
    below, before = 1, 0
    for index, (d, s, position) in enumerate(moving):
        ratio = exact_div(d, below)
        if ratio is None:
            return _interpolated_inverse(layout, d, below)
        modes.append((ratio, before))
        below, before = d, position
        if index == len(moving) - 1:
            modes.append((s, position))
    return modes


def _interpolated_inverse(layout: Layout, stride: Int, below: Int) -> list[tuple[Any, Any]]:
    """Any layout with the right values, where strides are no multiples of each other."""
    message = f"stride {stride} of {layout} is not known to be a multiple of stride {below}"
    if is_static(layout):
        moving = filter_zeros(layout)
        indices = exact.values(flatten_to_tuple(moving.shape), flatten_to_tuple(Layout(layout.shape).stride))
        values = exact.values(flatten_to_tuple(moving.shape), flatten_to_tuple(layout.stride))
        if max(values) < exact.MAX_SEARCH:
            modes = exact.interpolate(list(zip(values, indices, strict=True)))
            if modes is not None:
                return modes
            message = f"no layout inverts {layout}"
    raise LayoutError("left_inverse", message, stride=stride, divisor=below)


def nullspace(layout: Layout) -> Layout:
    """The layout of the indices that stay put: layout(nullspace(i)) == 0, by its modes of stride 0.

    >>> nullspace(Layout((4, 3, 2), (1, 0, 4)))
    3:4
    """
    refuse_composed("nullspace", layout)
    modes: list[tuple[Any, Any]] = []
    position: Int = 1
    for s, d in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        if is_zero(d) and not is_one(s):
            modes.append((s, position))
        position = position * s
    return coalesce(from_modes(modes))


# ----------------------------------------------------------------------------------------- two layouts at once


def max_common_layout(a: Any, b: Any) -> Layout:
    """The largest layout R with a(R(i)) == i == b(R(i)): the elements contiguous, and in the same order, in both.

    Swizzled layouts count up to what their swizzle leaves alone.

    >>> max_common_layout(Layout((4, 8)), Layout((4, 8), (1, 16)))
    4:1
    """
    limits = [_fixed_by_swizzle(layout) for layout in (a, b) if isinstance(layout, ComposedLayout)]
    a = a.outer if isinstance(a, ComposedLayout) else a
    b = b.outer if isinstance(b, ComposedLayout) else b
    best = raw(1, 0)
    for inverse, other in ((right_inverse(a), b), (right_inverse(b), a)):
        common = _common_prefix(inverse, other)
        if not prove_le(common.size, best.size):
            best = common
    return _first(best, min(limits)) if limits else best


def _fixed_by_swizzle(layout: ComposedLayout) -> int:
    if isinstance(layout.inner, Swizzle) and isinstance(layout.outer, Layout):
        return layout.inner.fixed
    raise LayoutError("max_common_layout", f"{layout} is not a swizzle of a layout")


def _first(layout: Layout, limit: int) -> Layout:
    """Its first elements: as many as the limit and its modes allow."""
    modes: list[tuple[Any, Any]] = []
    for s, d in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        count = limit if prove_le(limit, s) else s if isinstance(s, int) else exact.common(s, limit)
        modes.append((count, d))
        limit //= count
        if not (isinstance(s, int) and count == s) or limit <= 1:
            break
    return coalesce(from_modes(modes))


def _common_prefix(inverse: Layout, other: Layout) -> Layout:
    """The first modes of a right inverse of one layout that the other layout takes to 0, 1, 2, ... as well."""
    modes: list[tuple[Any, Any]] = []
    current: Int = 1
    for s, d in zip(flatten_to_tuple(inverse.shape), flatten_to_tuple(inverse.stride), strict=True):
        count = _continues(other, s, d, current)
        longer = [*modes, (count, d)]
        if is_one(count) or not _is_identity(other, from_modes(longer)):
            break
        modes = longer
        current = current * count
        if count != s:
            break
    return coalesce(from_modes(modes))


def _continues(other: Layout, s: Int, d: Int, current: Int) -> Int:
    """For how many c below s other(c * d) == c * current."""
    try:
        steps = coalesce(composition(other, Layout(s, d)))
    except LayoutError:
        shapes, strides = merged(other)
        if not is_static((tuple(shapes), tuple(strides), s, d)):
            return 1
        count = 1
        assert isinstance(s, int)
        assert isinstance(d, int)
        while count < s and exact.at(count * d, shapes, strides) == count * current:
            count += 1
        return count
    first, stride = flatten_to_tuple(steps.shape)[0], flatten_to_tuple(steps.stride)[0]
    return first if stride == current else 1


def _is_identity(layout: Layout, inverse: Layout) -> bool:
    try:
        return bool(coalesce(composition(layout, inverse)) == Layout(inverse.size))
    except LayoutError:
        return False


def max_common_vector(a: Any, b: Any) -> Int:
    """How many elements are contiguous, and in the same order, in both.

    >>> max_common_vector(Layout((4, 8)), Layout((4, 8), (1, 16)))
    4
    """
    return max_common_layout(a, b).size
