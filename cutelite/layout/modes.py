"""The modes of a layout: merged, coalesced, filtered, and read as bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any, cast

from cutelite.layout.basis import E, paths
from cutelite.layout.coords import merge_modes
from cutelite.layout.errors import LayoutError
from cutelite.layout.f2 import F2, columns, has_f2
from cutelite.layout.inttuple import flatten_to_tuple, is_static, show, unflatten
from cutelite.layout.layout import AnyLayout, ComposedLayout, L, Layout, concat, cosize, has_bases, raw
from cutelite.layout.swizzle import Swizzle


def through(layout: L, function: Callable[[Layout], Layout]) -> L:
    """Apply `function` to a layout, or to the outer layout of a composed one."""
    if isinstance(layout, ComposedLayout):
        return cast("L", ComposedLayout(layout.inner, layout.offset, through(layout.outer, function)))
    return cast("L", function(cast("Layout", layout)))


def is_zero(d: Any) -> bool:
    """Tell whether a stride is the constant 0."""
    return isinstance(d, int) and d == 0


def is_one(s: Any) -> bool:
    """Tell whether an extent is the constant 1."""
    return isinstance(s, int) and s == 1


def from_modes(modes: Sequence[tuple[Any, Any]]) -> Layout:
    """Return a flat layout of (size, stride) pairs: a single mode as a leaf, none as 1:0."""
    if len(modes) == 1:
        return raw(*modes[0])
    if not modes:
        return raw(1, 0)
    return raw(tuple(s for s, _ in modes), tuple(d for _, d in modes))


def merged(layout: Layout) -> tuple[list[Any], list[Any]]:
    """Return the sizes and strides of the fewest flat modes with the same values on all naturals."""
    if not isinstance(layout.shape, tuple):
        return [layout.shape], [layout.stride]
    return merge_modes(list(flatten_to_tuple(layout.shape)), list(flatten_to_tuple(layout.stride)))


def with_coordinate(source: Layout, result: Layout) -> Layout:
    """Return the result with a stride along the last coordinate of `source`, in a mode of extent 1, if it has none.

    If nothing moves, all strides are 0, and the value would be the number 0 in place of a coordinate of zeros.
    """
    if not has_bases(source) or has_bases(result):
        return result
    if not flatten_to_tuple(result.shape):
        raise LayoutError("composition", f"{result} has no mode, and so no coordinate of {source} as its value")
    unit = E(*paths(flatten_to_tuple(source.stride))[-1])
    shapes, strides = list(flatten_to_tuple(result.shape)), list(flatten_to_tuple(result.stride))
    still = next((k for k, s in enumerate(shapes) if is_one(s)), None)
    if still is not None:
        strides[still] = unit
    else:  # before the others: the last mode has no end
        shapes[0], strides[0] = (1, shapes[0]), (unit, strides[0])
    return raw(unflatten(shapes, result.shape), unflatten(strides, result.shape))


def coalesce(layout: L, target_profile: Any = None) -> L:
    """Return the layout of the fewest flat modes with the same values within its size.

    target_profile  a tuple: coalesce mode by mode where it nests, and leave modes beyond it alone

    >>> coalesce(Layout((2, (1, 6)), (1, (6, 2))))
    12:1
    >>> coalesce(Layout((2, (1, 6)), (1, (6, 2))), (1, 1))
    (2,6):(1,2)
    """
    return through(layout, lambda outer: coalesce_modes(outer, target_profile))


def rejoined(function: str, whole: Layout, modes: list[Layout]) -> Layout:
    """Return the layout of `modes`, which the modes of `whole` became; sums must not have become XORs."""
    result = concat(modes)
    if has_f2(flatten_to_tuple(result.stride)) and not has_f2(flatten_to_tuple(whole.stride)):
        reached = [_bits(mode) for mode in modes]
        if sum(reached) != reduce(or_, reached):
            raise LayoutError(function, f"the modes of {whole} added by XOR would carry into each other")
    return result


def _bits(layout: Layout) -> int:
    """Return the bits that may be set in its values: from the lowest in any stride to the highest in the last value."""
    strides = [d.value if isinstance(d, F2) else int(d) for d in flatten_to_tuple(layout.stride)]
    lowest = min((d & -d for d in strides if d), default=1)
    return (1 << (int(cosize(layout)) - 1).bit_length()) - lowest if any(strides) else 0


def coalesce_modes(layout: Layout, profile: Any = None) -> Layout:
    """Return `coalesce` of a layout that is not composed."""
    if isinstance(profile, tuple):
        modes = list(layout)
        if len(profile) > len(modes):
            raise LayoutError("coalesce", f"{layout} has fewer modes than profile {show(profile)}", rank=len(modes))
        return concat([coalesce_modes(m, p) for m, p in zip(modes, profile, strict=False)] + modes[len(profile) :])
    shapes, strides = merged(layout)
    if isinstance(shapes[-1], int) and shapes[-1] == 1:
        shapes.pop()
        strides.pop()
    return with_coordinate(layout, from_modes(list(zip(shapes, strides, strict=True))))


def filter_zeros(layout: L) -> L:
    """Return the layout with every mode of stride 0 cut to size 1.

    >>> filter_zeros(Layout((2, 3), (0, 1)))
    (1,3):(0,1)
    """
    return through(layout, lambda outer: raw(_without_zeros(outer.shape, outer.stride), outer.stride))


def _without_zeros(shape: Any, stride: Any) -> Any:
    if isinstance(shape, tuple):
        return tuple(map(_without_zeros, shape, stride))
    return 1 if isinstance(stride, int) and stride == 0 else shape


def filter(layout: L) -> L:  # CuTe's name
    """Return the coalesced layout of the modes that are neither of stride 0 nor of size 1: one element per offset.

    >>> filter(Layout((2, 3, 4), (0, 1, 3)))
    12:1
    """
    return through(layout, lambda outer: coalesce_modes(filter_zeros(outer)))


def as_f2(layout: AnyLayout) -> Layout:
    """Return the layout of shape and stride, added by XOR, that has the values of a swizzled layout.

    Errors  when a stride is no power of two, or the swizzle separates the bits of a size, or sums have carries, or
            there is an offset

    >>> from cutelite.layout import Swizzle
    >>> as_f2(ComposedLayout(Swizzle(3, 0, 3), 0, Layout((8, 8), (8, 1))))
    (8,8):(^9,^1)
    """
    swizzle, outer = (layout.inner, layout.outer) if isinstance(layout, ComposedLayout) else (None, layout)
    offset = layout.offset if isinstance(layout, ComposedLayout) else 0
    plain = isinstance(outer, Layout) and is_static(outer.shape) and (swizzle is None or isinstance(swizzle, Swizzle))
    if not isinstance(outer, Layout) or not plain or not is_zero(offset):
        raise LayoutError("as_f2", f"{layout} is not a swizzle of a static layout without offset")
    seen = 0
    modes: list[Layout] = []
    for s, d in zip(flatten_to_tuple(outer.shape), flatten_to_tuple(outer.stride), strict=True):
        bits = columns("as_f2", [s], [d], spanned=True)
        for value in bits:
            if value & seen and not isinstance(d, F2):
                raise LayoutError("as_f2", f"stride {d} of {outer} carries into others", stride=d)
            seen |= value
        moved = [swizzle(value) if isinstance(swizzle, Swizzle) else value for value in bits]
        if s & (s - 1) == 0:
            modes.append(coalesce_modes(from_modes([(2, F2(value)) for value in moved])))
        elif moved == [moved[0] << bit for bit in range(len(moved))]:
            modes.append(raw(s, F2(moved[0])))
        else:
            raise LayoutError(
                "as_f2", f"{swizzle} tears apart the bits of size {s}, which is no power of two", extent=s
            )
    return Layout(unflatten([m.shape for m in modes], outer.shape), unflatten([m.stride for m in modes], outer.shape))
