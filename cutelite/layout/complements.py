"""Complements: layouts of the gaps between the values of a layout.

Only the modes that move count (neither size 1 nor stride 0), sorted by stride. A layout is a *chain* when each stride
is a multiple of the span of the smaller ones (size * stride of the one before): then the gaps are a layout again.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key
from typing import Any

from cutelite.layout import exact
from cutelite.layout.basis import Basis, E, Path, along, coordinate, paths
from cutelite.layout.dims import DimExpr, Int, ceil_div_dims
from cutelite.layout.errors import LayoutError
from cutelite.layout.f2 import F2, columns, complement_columns, has_f2
from cutelite.layout.facts import exact_div, prove_le, prove_lt, require_static
from cutelite.layout.inttuple import flatten_to_tuple, is_static, product, show, transform_leaf
from cutelite.layout.layout import AnyLayout, ComposedLayout, Layout, concat, cosize, has_bases, images, raw
from cutelite.layout.modes import coalesce_modes, filter_zeros, from_modes, is_one, is_zero, merged, with_coordinate


def moving_modes(function: str, layout: Layout) -> list[tuple[Any, Any, Any]]:
    """Return (size, stride, position) of the modes that move, by stride; layout(position) is the stride.

    Every stride must be provably positive, and comparable with the others.
    """
    modes: list[tuple[Any, Any, Any]] = []
    position: Int = 1
    for s, d in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        if not is_one(s) and not is_zero(d):
            if not prove_lt(0, d):
                known = "is not known to be" if isinstance(d, DimExpr) else "is not"
                raise LayoutError(function, f"stride {d} of {layout} {known} positive", stride=d)
            modes.append((s, d, position))
        position = position * s
    if all(type(d) is int for _, d, _ in modes):
        return sorted(modes, key=lambda mode: mode[1])

    def order(a: tuple[Any, Any, Any], b: tuple[Any, Any, Any]) -> int:
        if a[1] == b[1]:
            return 0
        if prove_le(a[1], b[1]):
            return -1
        if prove_le(b[1], a[1]):
            return 1
        message = f"which of the strides {a[1]} and {b[1]} of {layout} is the greater is not known"
        raise LayoutError(function, message, strides=(a[1], b[1]))

    return sorted(modes, key=cmp_to_key(order))


def component(layout: Layout, path: Path) -> Layout:
    """Return the part of a layout that adds to the coordinate at a path: its strides along E(*path)."""
    return raw(layout.shape, along(layout.stride, path))


def refuse_composed(function: str, layout: Any) -> None:
    """Refuse composed layouts, for which `function` has no meaning."""
    if not isinstance(layout, Layout):
        raise LayoutError(function, f"{layout} is no layout of shape and stride alone")


def complement(layout: AnyLayout, cotarget: Any = 1) -> Layout:
    """Return the layout of what `layout` leaves out: its values are the starts of further copies of `layout`.

    layout    may be composed if its values are known at compile time
    cotarget  the number below which the copies must cover everything: an int, or a shape or layout for its size or
              cosize; for a layout that gives coordinates, the shape they are in, or a layout whose coordinates fill it
    Result    ordered, and disjoint: the sums layout(i) + result(j) are all different. If `layout` is a chain, the sums
              cover all below `cotarget`; if it is not, they do if any layout's would, given few enough values to try
    Errors    when layout(i) == layout(j) for some i != j (apart from strides of 0), or dims do not decide that

    >>> complement(Layout(4, 2), 24)
    (2,3):(1,8)
    >>> complement(Layout((2, 2), (1, 6)), 24)
    (3,2):(2,12)
    >>> complement(Layout((4, 2), (E(0), E(1))), (8, 8))
    (2,4):(4@0,2@1)
    """
    target = cotarget
    if isinstance(cotarget, (Layout, ComposedLayout)):
        boxed = isinstance(cotarget, Layout) and has_bases(cotarget)
        boxed = boxed and isinstance(layout, Layout) and has_bases(layout)
        target = _box(cotarget) if boxed else cosize(cotarget)
    if isinstance(layout, ComposedLayout):
        return _composed_complement(layout, product(target))
    if has_bases(layout):
        return _coordinate_complement(layout, target)[0]
    return complement_cover(layout, product(target))[0]


def complement_cover(layout: Layout, target: Any) -> tuple[Layout, Int | None]:
    """Return the complement, and the first number below `target` that it leaves uncovered; None when there is none."""
    refuse_composed("complement", layout)
    if has_bases(layout):
        return _coordinate_complement(layout, target)
    target = product(target)
    if has_f2(flatten_to_tuple(layout.stride)):
        return _f2_complement(layout, require_static("complement", target, "the target")), _f2_hole(layout)
    gaps, span, uncovered = _gaps(layout)
    if uncovered is not None:
        if prove_le(target, uncovered):
            uncovered = None
        elif (tiled := _tiled(_values(layout), target)) is not None:
            return tiled, None
    return coalesce_modes(from_modes([*gaps, (ceil_div_dims(target, span), span)])), uncovered


def _composed_complement(layout: ComposedLayout, target: Int) -> Layout:
    """Return the complement by values: copies that fill the gaps where a layout can, else lie behind the last value."""
    if not is_static(layout) or layout.size > exact.MAX_POINTS:
        raise LayoutError("complement", f"the values of {layout} are not known, or too many: it is composed")
    values = list(images(layout))
    if isinstance(values[0], tuple):
        raise LayoutError("complement", f"{layout} gives coordinates by a layout in the place of a swizzle")
    found = _tiled(sorted(set(values)), target) if min(values) == 0 else None
    span = max(values) - min(values) + 1
    return coalesce_modes(Layout(ceil_div_dims(target, span), span)) if found is None else found


def copies(layout: Layout, beside: Iterable[Path] = ()) -> Layout:
    """Return the complement as a function of all naturals: copies of `layout` at its values never meet.

    Its last mode, along which the copies lie side by side, is unbounded and has extent 1. For a layout that gives
    coordinates there is such a mode along each of them, and along those at the paths `beside`.
    """
    refuse_composed("complement", layout)
    if has_bases(layout):
        return _coordinate_copies(layout, {*paths(flatten_to_tuple(layout.stride)), *beside}, ())
    if has_f2(flatten_to_tuple(layout.stride)):
        missing = _f2_complement(layout, 1)
        return from_modes([*zip(*merged(missing), strict=True), (1, F2(int(cosize(layout))))])
    gaps, span, _ = _gaps(layout)
    return from_modes([*gaps, (1, span)])


def _coordinate_copies(layout: Layout, found: set[Path], path: Path) -> Layout:
    """Return the complement by coordinates, nested like them: along each, the starts of further copies."""
    if path in found:
        along_it = copies(component(layout, path))
        return raw(along_it.shape, _times(along_it.stride, E(*path)))
    width = 1 + max((p[len(path)] for p in found if len(p) > len(path) and p[: len(path)] == path), default=-1)
    if not width:
        return raw(1, E(*path))  # nothing of the layout lies along it
    return concat([_coordinate_copies(layout, found, (*path, mode)) for mode in range(width)])


def _times(stride: Any, unit: Any) -> Any:
    return tuple(_times(d, unit) for d in stride) if isinstance(stride, tuple) else stride * unit


def _gaps(layout: Layout) -> tuple[list[tuple[Any, Any]], Int, Int | None]:
    """Return the modes that fill the gaps of a layout, the start of further copies, and the first hole if any."""
    modes: list[tuple[Any, Any]] = []
    span: Int = 1
    uncovered: Int | None = None
    for s, d, _ in moving_modes("complement", layout):
        if not prove_le(span, d):
            values = _values(layout)
            if values is None or len(set(values)) < len(values):
                message = f"{layout} overlaps itself, or may: stride {d} lies within {span}, the span of smaller ones"
                raise LayoutError("complement", message, stride=d, span=span)
            return [], max(values) + 1, min(set(range(len(values) + 1)) - set(values))  # modes within each other
        gap = exact_div(d, span)
        if gap is None:
            if isinstance(d, DimExpr) or isinstance(span, DimExpr):
                message = f"stride {d} of {layout} is not known to be a multiple of {span}, the span below it"
                raise LayoutError("complement", message, stride=d, span=span)
            gap = d // span
            uncovered = gap * span if uncovered is None else uncovered
        modes.append((gap, span))
        span = s * d
    return modes, span, uncovered


def _f2_complement(layout: Layout, target: int) -> Layout:
    """Return the complement of a layout added by XOR: the bits that complete its values."""
    have = columns("complement", flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), spanned=True)
    missing = complement_columns("complement", have, (target - 1).bit_length())
    return coalesce_modes(from_modes([(2, F2(value)) for value in missing]))


def _f2_hole(layout: Layout) -> int | None:
    """Return the first number that copies of an XOR layout leave uncovered; None if its sizes are powers of two."""
    if all(s & (s - 1) == 0 for s in flatten_to_tuple(layout.shape)):
        return None
    spanned = raw(_to_power(layout.shape), layout.stride)
    starts = _f2_complement(layout, int(cosize(layout)))
    missing = {spanned(i) for i in range(int(spanned.size))} - {layout(i) for i in range(int(layout.size))}
    hole: int = min(start ^ value for start in (starts(i) for i in range(int(starts.size))) for value in missing)
    return hole


def _to_power(shape: Any) -> Any:
    return tuple(map(_to_power, shape)) if isinstance(shape, tuple) else 1 << (shape - 1).bit_length()


def _values(layout: Layout) -> list[int] | None:
    """Return the values of the modes that move; None where they are not known, or too many."""
    moving = filter_zeros(layout)
    if not is_static(moving) or moving.size > exact.MAX_POINTS:
        return None
    return exact.values(flatten_to_tuple(moving.shape), flatten_to_tuple(moving.stride))


def _tiled(values: list[int] | None, target: Int) -> Layout | None:
    """Return the complement by its values, where the rules find none that covers the target."""
    if values is None or isinstance(target, DimExpr) or target + len(values) > exact.MAX_POINTS:
        return None
    modes = exact.tiling(values, target)
    return None if modes is None else from_modes(modes)


def _coordinate_complement(layout: Layout, target: Any) -> tuple[Layout, Int | None]:
    """Return the complement by coordinates: along each path, the complement within the target's extent there."""
    found = {path for path in paths(flatten_to_tuple(layout.stride)) if path}
    for extent, step in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        if isinstance(step, Basis) and len(step.terms) > 1 and not is_one(extent):
            raise LayoutError("complement", f"stride {show(step)} of {layout} moves along several coordinates at once")
    rests = []
    uncovered: Int | None = None
    for path, extent in _extents(target, found, ()):
        rest, hole = complement_cover(component(layout, path), extent)
        uncovered = hole if uncovered is None else uncovered
        rests.append(raw(rest.shape, _times(rest.stride, E(*path))))
    return with_coordinate(layout, concat(rests) if len(rests) != 1 else rests[0]), uncovered


def _box(layout: Any) -> Any:
    """Return the shape of the smallest box that holds the coordinates a layout gives."""
    last = {path: cosize(component(layout, path)) - 1 for path in paths(flatten_to_tuple(layout.stride))}
    return transform_leaf(lambda c: c + 1, coordinate(last))


def _extents(target: Any, found: set[Path], path: Path) -> list[tuple[Path, Any]]:
    """Return the coordinates of a target shape, each with its extent, as coarse as the layout's paths allow.

    A number is the extent of the only coordinate there is; 1 is that of every coordinate.
    """
    if path not in found and not isinstance(target, tuple):
        below = [p[len(path)] for p in found if len(p) > len(path) and p[: len(path)] == path]
        if below and (is_one(target) or not any(below)):
            target = (target,) * (max(below) + 1)
    if path in found or not any(p[: len(path)] == path for p in found) or not isinstance(target, tuple):
        if any(len(p) > len(path) and p[: len(path)] == path for p in found):
            raise LayoutError("complement", f"the target {show(target)} has no coordinate at every path of the layout")
        return [(path, product(target))]
    if any(p[: len(path)] == path and p[len(path)] >= len(target) for p in found):
        raise LayoutError("complement", f"the target {show(target)} has no coordinate at every path of the layout")
    return [entry for mode, item in enumerate(target) for entry in _extents(item, found, (*path, mode))]
