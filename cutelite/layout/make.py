"""Layouts from shapes, orders and other layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from cutelite.layout.basis import Basis, E
from cutelite.layout.coords import compact_strides
from cutelite.layout.dims import DimExpr
from cutelite.layout.errors import LayoutError
from cutelite.layout.f2 import F2
from cutelite.layout.facts import prove_lt
from cutelite.layout.inttuple import (
    IntTuple,
    append,
    flatten_to_tuple,
    is_weakly_congruent,
    leaves_with_paths,
    prepend,
    show,
    unflatten,
)
from cutelite.layout.layout import ComposedLayout, Function, Layout, checked_shape, concat, raw
from cutelite.layout.swizzle import Swizzle


@overload
def make_layout(first: Layout, /, *layouts: Layout) -> Layout: ...
@overload
def make_layout(first: ComposedLayout, /, *layouts: Layout) -> ComposedLayout: ...
@overload
def make_layout(shape: IntTuple | Sequence[Any], /, stride: Any = None) -> Layout: ...
def make_layout(*args: Any, stride: Any = None) -> Any:
    """Return ``Layout(shape, stride)``; if `args` are layouts, return the layout with those as its modes.

    >>> make_layout((4, 8)), make_layout((4, 8), stride=(8, 1)), make_layout(Layout(4), Layout(8, 4))
    ((4,8):(1,4), (4,8):(8,1), (4,8):(1,4))
    """
    if args and all(isinstance(arg, (Layout, ComposedLayout)) for arg in args):
        if stride is not None:
            raise LayoutError("make_layout", "layouts have strides of their own")
        if isinstance(args[0], ComposedLayout):
            return ComposedLayout(args[0].inner, args[0].offset, concat([args[0].outer, *args[1:]]))
        return concat(args)
    if len(args) == 2 and stride is None:
        return Layout(*args)
    if len(args) != 1:
        raise LayoutError("make_layout", f"takes a shape and a stride, or layouts; {len(args)} arguments came")
    return Layout(args[0], stride)


def row_major(shape: Any) -> Layout:
    """Return the compact layout whose last leaf is contiguous.

    >>> row_major((2, (3, 4)))
    (2,(3,4)):(12,(4,1))
    """
    shape = checked_shape(shape)
    backwards = compact_strides(tuple(reversed(flatten_to_tuple(shape))))
    return raw(shape, unflatten(tuple(reversed(backwards)), shape))


def make_ordered_layout(shape: Any, order: Any) -> Layout:
    """Return the compact layout with strides growing in the order given: the mode of least order is contiguous.

    order  weakly congruent with the shape; equal orders, and the leaves under one order, count from left to right

    >>> make_ordered_layout((2, 3, 4), order=(2, 0, 1))
    (2,3,4):(12,1,3)
    >>> make_ordered_layout((2, (3, 4)), order=(1, 0))
    (2,(3,4)):(12,(1,3))
    """
    shape = checked_shape(shape)
    if not is_weakly_congruent(order, shape):
        raise LayoutError("make_ordered_layout", f"order {show(order)} does not fit shape {show(shape)}", order=order)
    leaves = flatten_to_tuple(shape)
    ranks = flatten_to_tuple(_spread(order, shape))
    positions = sorted(range(len(leaves)), key=lambda i: ranks[i])
    return _compact_in(shape, leaves, positions)


def _spread(order: Any, shape: Any) -> Any:
    """Return the order of every leaf."""
    if not isinstance(shape, tuple):
        return order
    return tuple(_spread(order[i] if isinstance(order, tuple) else order, item) for i, item in enumerate(shape))


def _compact_in(shape: Any, leaves: Sequence[Any], positions: Sequence[int]) -> Layout:
    compact = compact_strides(tuple(leaves[i] for i in positions))
    strides: list[Any] = [0] * len(leaves)
    for i, d in zip(positions, compact, strict=True):
        strides[i] = d
    return raw(shape, unflatten(strides, shape))


def _by_stride(strides: Sequence[Any]) -> list[int]:
    """Return positions in the order of their strides as far as it is known, then from left to right, run-time last."""
    order: list[int] = []
    for i, d in enumerate(strides):
        place = len(order)
        while place and _before(d, strides[order[place - 1]]):
            place -= 1
        order.insert(place, i)
    return order


def _before(a: Any, b: Any) -> bool:
    if isinstance(a, (Basis, F2)) or isinstance(b, (Basis, F2)):
        return False
    return prove_lt(a, b) or (isinstance(b, DimExpr) and not isinstance(a, DimExpr))


def _outermost(layout: Any) -> Layout:
    """Return the layout whose coordinates a composed layout has."""
    while isinstance(layout, ComposedLayout):
        layout = layout.outer
    plain: Layout = layout
    return plain


def make_layout_like(layout: Any) -> Layout:
    """Return the compact layout of the same shape, strides in the same order; modes of stride 0 keep it.

    >>> make_layout_like(Layout((2, 3, 4), (100, 1, 0)))
    (2,3,4):(3,1,0)
    """
    layout = _outermost(layout)
    strides = flatten_to_tuple(layout.stride)
    leaves = [
        1 if isinstance(d, int) and d == 0 else s for s, d in zip(flatten_to_tuple(layout.shape), strides, strict=True)
    ]
    compact = _compact_in(tuple(leaves), leaves, _by_stride(strides))
    kept = [0 if isinstance(d, int) and d == 0 else c for c, d in zip(compact.stride, strides, strict=True)]
    return raw(layout.shape, unflatten(kept, layout.shape))


def make_fragment_like(layout: Any) -> Layout:
    """Return the compact layout of registers for a partitioned tensor: the first mode (one instruction) is contiguous.

    In the first mode strides of 0 stay 0; the others follow it in the order of their strides.

    >>> make_fragment_like(Layout(((2, 2), 3, 4), ((1, 64), 8, 2)))
    ((2,2),3,4):((1,2),16,4)
    """
    layout = _outermost(layout)
    if not isinstance(layout.shape, tuple) or not layout.shape:
        return Layout(layout.shape)
    shape, stride = layout.shape, layout.stride
    first = flatten_to_tuple(shape[0])
    zeros = [isinstance(d, int) and d == 0 for d in flatten_to_tuple(stride[0])]
    rest = flatten_to_tuple(shape[1:])
    leaves = [*(1 if z else s for s, z in zip(first, zeros, strict=True)), *rest]
    order = [*range(len(first)), *(len(first) + i for i in _by_stride(flatten_to_tuple(stride[1:])))]
    compact = flatten_to_tuple(_compact_in(tuple(leaves), leaves, order).stride)
    return raw(shape, unflatten(compact, shape))


def make_identity_layout(shape: Any) -> Layout:
    """Return the layout that maps every coordinate in `shape` to itself, as a nested coordinate.

    >>> identity = make_identity_layout((4, (2, 8)))
    >>> identity, identity(13)
    ((4,(2,8)):(1@0,(1@0@1,1@1@1)), (1, (1, 1)))
    """
    shape = Layout(shape).shape
    return raw(shape, unflatten([E(*path) for path, _ in leaves_with_paths(shape)], shape))


def make_swizzle(bits: int, base: int, shift: int) -> Swizzle:
    """Return ``Swizzle(bits, base, shift)``, CuTe's Swizzle<B, M, S>.

    >>> make_swizzle(3, 4, 3)
    S<3,4,3>
    """
    return Swizzle(bits, base, shift)


def append_ones(x: Any, up_to_rank: int | None = None) -> Any:
    """Return x with modes of extent 1 appended: one, or until the rank is `up_to_rank`.

    >>> append_ones(Layout((2, 3)), 4), append_ones((2, 3))
    ((2,3,1,1):(1,2,0,0), (2, 3, 1))
    """
    return append(x, Layout(1) if hasattr(x, "on_modes") else 1, up_to_rank)


def prepend_ones(x: Any, up_to_rank: int | None = None) -> Any:
    """Return x with modes of extent 1 prepended: one, or until the rank is `up_to_rank`.

    >>> prepend_ones(Layout((2, 3)), 4), prepend_ones((2, 3))
    ((1,1,2,3):(0,0,1,2), (1, 2, 3))
    """
    return prepend(x, Layout(1) if hasattr(x, "on_modes") else 1, up_to_rank)


def make_composed_layout(inner: Function, offset: Any, outer: Layout) -> ComposedLayout:
    """Return ``inner o offset o outer``.

    >>> from cutelite.layout import Swizzle
    >>> make_composed_layout(Swizzle(3, 4, 3), 0, Layout((8, 64), (64, 1)))
    S<3,4,3> o 0 o (8,64):(64,1)
    """
    return ComposedLayout(inner, offset, outer)
