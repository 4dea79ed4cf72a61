"""Inverses and nullspaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.layout import exact
from cutelite.layout.basis import Basis, Path, coordinate, paths
from cutelite.layout.complements import complement_cover, component, moving_modes, refuse_composed
from cutelite.layout.dims import Int, minimum
from cutelite.layout.errors import LayoutError
from cutelite.layout.f2 import F2, carryless, columns, has_f2, left_inverse_columns, right_inverse_columns
from cutelite.layout.facts import exact_div
from cutelite.layout.inttuple import flatten_to_tuple, is_static, transform_leaf
from cutelite.layout.layout import AnyLayout, ComposedLayout, Layout, concat, has_bases, images, raw
from cutelite.layout.modes import coalesce_modes, filter_zeros, from_modes, is_one, is_zero, merged
from cutelite.layout.swizzle import Swizzle


def right_inverse(layout: Any) -> Any:
    """Return the largest layout R with layout(R(i)) == i, each of whose modes steps along one mode of `layout`.

    Strides that continue nothing are left out, so R is 1:0 at worst. R(i) is an index of `layout`, from 0 on, so modes
    of negative strides are left out too. For a layout that gives coordinates R takes coordinates, mode by mode.

    >>> right_inverse(Layout((4, 8), (8, 1)))
    (8,4):(4,1)
    >>> right_inverse(Layout((4, 8), (1, 5)))
    4:1
    >>> from cutelite.layout import E
    >>> right_inverse(Layout((4, 8), (E(1), E(0))))
    (8,4):(4,1)
    """
    if isinstance(layout, ComposedLayout):
        return _swizzled_inverse("right_inverse", layout)
    refuse_composed("right_inverse", layout)
    if has_bases(layout):
        return _by_coordinate(layout, right_inverse)
    if has_f2(flatten_to_tuple(layout.stride)):
        return _f2_right_inverse(layout)
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
    return coalesce_modes(from_modes(chain))


def _columns(function: str, layout: Layout) -> list[int]:
    return columns(function, flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride))


def _in_bits(layout: Layout) -> bool:
    """Tell whether all extents are powers of two."""
    return all(s & (s - 1) == 0 for s in flatten_to_tuple(layout.shape))


def _f2_right_inverse(layout: Layout) -> Layout:
    """Invert by linear algebra over the bits of the index, or by values if an extent is no power of two."""
    if _in_bits(layout):
        return _f2_layout(right_inverse_columns(_columns("right_inverse", layout)))
    if layout.size > exact.MAX_POINTS:
        raise LayoutError("right_inverse", f"{layout} has too many values to be inverted one by one")
    values = list(images(layout))
    found = coalesce_modes(from_modes(exact.longest_inverse(values)))
    by_xor = coalesce_modes(from_modes([(s, F2(d)) for s, d in exact.longest_inverse(values, carryless)]))
    return by_xor if by_xor.size > found.size else found


def _f2_layout(values: list[int]) -> Layout:
    """Return a layout of bits, with plain strides if these give the same values."""
    bits = 0
    for value in values:
        if value & bits:
            return coalesce_modes(from_modes([(2, F2(value) if value else 0) for value in values]))
        bits |= value
    return coalesce_modes(from_modes([(2, value) for value in values]))


def _chain(steps: list[tuple[Any, Any, Any]]) -> list[tuple[Any, Any]]:
    """Return (size, position) of the modes whose strides continue each other from 1."""
    by_stride = {d: (s, p) for s, d, p in steps}
    modes = []
    current: Int = 1
    while current in by_stride:
        s, p = by_stride[current]
        modes.append((s, p))
        current = s * current
    return modes


def _injective(steps: list[tuple[Any, Any, Any]]) -> bool:
    """Tell whether no stride lies within the span of smaller ones, so that the chain has no alternative."""
    span = 1
    for d, s in sorted((d, s) for s, d, _ in steps if type(s) is int and type(d) is int):
        if d < span:
            return False
        span = (s - 1) * d + span
    return True


def _longest(steps: list[tuple[Any, Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the longest chain where modes overlap: any part of a mode may continue at any multiple of its stride."""
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


def _by_coordinate(layout: Layout, inverse: Callable[[Layout], Layout]) -> Layout:
    """Return the inverse along each coordinate, nested like the coordinates."""
    found = [path for path in paths(flatten_to_tuple(layout.stride)) if path]

    def build(path: Path) -> Layout:
        if path in found:
            return inverse(component(layout, path))
        width = 1 + max((p[len(path)] for p in found if p[: len(path)] == path and len(p) > len(path)), default=-1)
        return concat([build((*path, mode)) for mode in range(width)]) if width else raw(1, 0)

    strides = flatten_to_tuple(layout.stride)
    twofold = next((d for d in strides if isinstance(d, Basis) and len(d.terms) > 1), None)
    if twofold is not None:
        message = f"stride {twofold} of {layout} steps along several coordinates"
        raise LayoutError("right_inverse", message, stride=twofold)
    if () in paths(strides):
        raise LayoutError("right_inverse", f"{layout} mixes offsets and coordinates")
    return build(())


def _solved_inverse(layout: Layout) -> Layout | None:
    """Return the left inverse that is linear in the coordinates, for strides along several of them; else None."""
    strides = flatten_to_tuple(layout.stride)
    along_many = any(isinstance(d, Basis) and len(d.terms) > 1 for d in strides)
    if not along_many or not is_static(layout) or layout.size > exact.MAX_SEARCH or () in paths(strides):
        return None
    moving = filter_zeros(layout)
    shapes = flatten_to_tuple(moving.shape)
    indices = exact.values(shapes, flatten_to_tuple(Layout(layout.shape).stride))
    found = paths(strides)
    rows = [exact.values(shapes, flatten_to_tuple(component(layout, path).stride)) for path in found]
    solution = exact.solve(list(zip(*rows, strict=True)), indices)
    if solution is None or min(map(min, rows)) < 0:
        return None
    last = coordinate({path: max(row) for path, row in zip(found, rows, strict=True)})
    steps = coordinate(dict(zip(found, solution, strict=True)))
    return raw(transform_leaf(lambda c: c + 1, last), steps)


def _swizzled_inverse(function: str, layout: ComposedLayout) -> Any:
    """Return the inverse of ``swizzle o 0 o outer``: that of outer, after the swizzle, which is its own inverse."""
    if not isinstance(layout.inner, Swizzle) or not is_zero(layout.offset):
        raise LayoutError(function, f"{layout} is not a swizzle of a layout without offset")
    if function == "left_inverse":
        inverse, extent = left_inverse(layout.outer), layout.cosize
    else:
        inverse = right_inverse(layout.outer)
        swizzle = layout.inner
        moved = swizzle.source_mask & -swizzle.source_mask or 1  # below this the swizzle changes nothing
        whole = exact_div(inverse.size, swizzle.size)
        extent = inverse.size if whole is not None else minimum(inverse.size, moved)
        if isinstance(inverse.size, int) and whole is None and inverse.size > moved:
            extent = max(moved, inverse.size // swizzle.size * swizzle.size)
    return ComposedLayout(inverse, 0, ComposedLayout(layout.inner, 0, Layout(extent)))


def left_inverse(layout: Any) -> Any:
    """Return the layout L with L(layout(i)) == i; modes of stride 0 are taken to stay at 0.

    Errors  when `layout` is not injective apart from them, or when no layout is its inverse

    >>> left_inverse(Layout((4, 8), (8, 1)))
    (8,4):(4,1)
    >>> left_inverse(Layout(4, 3)), left_inverse(Layout((2, 2), (1, 5)))
    ((3,4):(4,1), (5,2):(1,2))
    """
    if isinstance(layout, ComposedLayout):
        return _swizzled_inverse("left_inverse", layout)
    refuse_composed("left_inverse", layout)
    if has_bases(layout):
        solved = _solved_inverse(layout)
        return _by_coordinate(layout, left_inverse) if solved is None else solved
    if has_f2(flatten_to_tuple(layout.stride)):
        if not _in_bits(layout):
            return coalesce_modes(from_modes(_interpolated_inverse(layout)))
        return _f2_layout(left_inverse_columns(_columns("left_inverse", layout)))
    rest, uncovered = complement_cover(filter_zeros(layout), filter_zeros(layout).cosize)
    if uncovered is None:
        return right_inverse(raw((layout.shape, rest.shape), (layout.stride, rest.stride)))
    return coalesce_modes(from_modes(_padded_inverse(layout)))


def _padded_inverse(layout: Layout) -> list[tuple[Any, Any]]:
    """Return the inverse for strides that are multiples of each other but not of the spans: gaps become modes."""
    modes: list[tuple[Any, Any]] = []
    below: Int = 1
    before: Int = 0
    moving = moving_modes("left_inverse", layout)
    for _, d, position in moving:
        ratio = exact_div(d, below)
        if ratio is None:
            message = f"stride {d} of {layout} is not known to be a multiple of stride {below}"
            return _interpolated_inverse(layout, message, stride=d, divisor=below)
        modes.append((ratio, before))
        below, before = d, position
    return [*modes, (moving[-1][0], before)]


def _interpolated_inverse(layout: Layout, message: str = "", **numbers: Any) -> list[tuple[Any, Any]]:
    """Return any layout with the right values, for cases without a rule; `message` says why it must be static."""
    if is_static(layout):
        moving = filter_zeros(layout)
        indices = exact.values(flatten_to_tuple(moving.shape), flatten_to_tuple(Layout(layout.shape).stride))
        values = exact.values(flatten_to_tuple(moving.shape), flatten_to_tuple(layout.stride))
        values = [value.value if isinstance(value, F2) else value for value in values]
        if max(values) < exact.MAX_SEARCH:
            modes = exact.interpolate(list(zip(values, indices, strict=True)))
            if modes is not None:
                return modes
            message = f"no layout inverts {layout}"
        else:
            message = f"layouts of values up to {max(values)} are not searched for one that inverts {layout}"
    raise LayoutError("left_inverse", message, **numbers)


def nullspace(layout: AnyLayout) -> Layout:
    """Return the layout of the indices that stay put: layout(nullspace(i)) == layout(0), by its modes of stride 0.

    >>> nullspace(Layout((4, 3, 2), (1, 0, 4)))
    3:4
    """
    if isinstance(layout, ComposedLayout) and isinstance(layout.inner, Swizzle):
        return nullspace(layout.outer)
    refuse_composed("nullspace", layout)
    modes: list[tuple[Any, Any]] = []
    position: Int = 1
    for s, d in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        if is_zero(d) and not is_one(s):
            modes.append((s, position))
        position = position * s
    return coalesce_modes(from_modes(modes))
