"""Coordinate tensors, for predication and TMA: they have no memory; each element is its own coordinate.

    coords = cl.make_identity_tensor(c.shape)          # coords[i, j] == (i, j)
    tile = cl.local_tile(coords, (128, 64), (bx, by))  # tiled and partitioned like `c`
    if tile[i, j][0] < M: ...

`coordinates(a)` of a `TmaTensor` is the same for a tensor that TMA copies tiles of: its tiles name boxes.
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.builder import Builder
from cutelite.ir.types import I32_DIM_LIMIT, i64
from cutelite.lang.emit import describe, mistake, refuse_iteration, wrap
from cutelite.lang.promotion import as_value, dim_type, is_number
from cutelite.lang.shaped import Shaped
from cutelite.lang.tensor import TmaTensor, _slices, _split, _widened
from cutelite.lang.values import logical_and
from cutelite.layout import DimExpr, Layout, make_identity_layout, prove_le, prove_lt, size
from cutelite.layout.inttuple import flatten_to_tuple
from cutelite.layout.layout import plus
from cutelite.records import dataclass


@dataclass(frozen=True)
class CoordTensor(Shaped):
    """A tensor of coordinates: its layout has basis strides.

    layout  maps coordinates of the view to coordinates relative to `origin`
    origin  the coordinate of the first element, a tuple nested as coordinates are, of run-time numbers or integers
    tma     the TMA tensor whose coordinates these are, or None
    wide    coordinates are computed in 64 bits, since an extent needs them
    """

    layout: Layout
    origin: Any
    tma: Any = None
    wide: bool = False

    __iter__ = refuse_iteration

    def __getitem__(self, key: Any) -> Any:
        """Return the coordinate at `key`; if that has Nones, a view."""
        if _slices(key):
            kept, fixed = _split(key, self.layout)
            return self._moved(Layout(tuple(m.shape for m in kept), tuple(m.stride for m in kept)), fixed)
        at = _widened(key, self.wide)
        image = self.layout(*at) if isinstance(at, tuple) else self.layout(at)
        return plus(self.origin, image)

    def _moved(self, layout: Layout, fixed: list[tuple[Any, Layout]]) -> CoordTensor:
        """Return a view that starts at the offset of the fixed coordinates."""
        origin = self.origin
        for coord, mode in fixed:
            origin = plus(origin, mode(_widened(coord, self.wide)))
        return CoordTensor(layout, origin, self.tma, self.wide)

    def _retyped(self, layout: Layout) -> CoordTensor:
        return CoordTensor(layout, self.origin, self.tma, self.wide)


def make_identity_tensor(shape: Any) -> CoordTensor:
    """Return the tensor of this shape whose elements are their own coordinates.

    shape   extents, ints or dims, nested or not; or a tensor's `.shape`
    """
    extents = shape if isinstance(shape, tuple) else (shape,)
    wide = any(_needs_64_bits(extent) for extent in flatten_to_tuple(extents))
    return CoordTensor(make_identity_layout(extents), zeros(extents), None, wide)


def _needs_64_bits(extent: Any) -> bool:
    if isinstance(extent, DimExpr):
        return Builder.current() is not None and dim_type(extent) == i64
    return bool(extent > I32_DIM_LIMIT)


def coordinates(tensor: Any) -> CoordTensor:
    """Return the coordinates of a tensor, or of a `TmaTensor`, whose tiles tell `copy` the boxes to move."""
    if isinstance(tensor, TmaTensor):
        extents = tuple(size(mode) for mode in tensor.layout)
        return CoordTensor(make_identity_layout(extents), zeros(extents), tensor)
    if not hasattr(tensor, "shape"):
        raise mistake("coordinates", f"a tensor is needed here, not {describe(tensor)}")
    return make_identity_tensor(tensor.shape)


def zeros(shape: Any) -> Any:
    return tuple(map(zeros, shape)) if isinstance(shape, tuple) else 0


def elem_less(coord: Any, bound: Any) -> Any:
    """Return whether every component of a coordinate is below that of `bound`: a bool, or a run-time bool.

    coord, bound   numbers, or tuples of them that nest alike: ``cl.elem_less(coords[i], c.shape)``
    """
    left, right = flatten_to_tuple(coord), flatten_to_tuple(bound)
    if len(left) != len(right):
        raise mistake("coordinate", f"a coordinate of {len(left)} components and a bound of {len(right)}")
    below: Any = True
    for c, b in zip(left, right, strict=True):
        if not is_number(c) or not is_number(b):
            raise mistake("coordinate", f"elem_less compares numbers, not {describe(c)} and {describe(b)}")
        below = logical_and(below, less(c, b))
    return below


def less(a: Any, b: Any) -> Any:
    """Return ``a < b`` of ints, dims and run-time numbers."""
    if isinstance(a, int | DimExpr) and isinstance(b, int | DimExpr):
        if prove_lt(a, b):
            return True
        if prove_le(b, a):
            return False
        return wrap(as_value(a)) < b
    return wrap(as_value(a)) < b if isinstance(a, DimExpr) else a < b
