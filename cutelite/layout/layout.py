"""Layout and ComposedLayout: functions from coordinates to integers (or to coordinates)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from cutelite.layout.basis import Basis
from cutelite.layout.coords import compact_strides, crd2crd, crd2idx, idx2crd, pad_coord
from cutelite.layout.dims import DimExpr, Int, ceil_div_dims
from cutelite.layout.errors import LayoutError
from cutelite.layout.expr import map_leaves
from cutelite.layout.f2 import F2, has_f2, uniform
from cutelite.layout.facts import prove_le
from cutelite.layout.frozen import Frozen
from cutelite.layout.inttuple import (
    IntTuple,
    Mode,
    depth,
    flatten_to_tuple,
    get,
    is_congruent,
    is_static,
    leaves_with_paths,
    product,
    product_each,
    show,
    unflatten,
)
from cutelite.layout.swizzle import Swizzle


class Layout(Frozen):
    """A map from coordinates to integers, written ``shape:stride`` as CuTe does.

    shape   integer tuple; leaves are ints from 1, or expressions over dims
    stride  congruent with shape; leaves are ints, expressions, bases (`E`) for coordinates, or `F2` to add by XOR.
            Default: compact column-major

    It is defined on all naturals: its last mode is unbounded. Immutable; equal and hashed by value.

    >>> tile = Layout((4, (2, 8)), (2, (1, 8)))
    >>> tile(5), tile(1, 1)             # by linear index, by coordinate
    (3, 3)
    >>> tile
    (4,(2,8)):(2,(1,8))
    """

    __slots__ = ("shape", "stride")
    shape: Any
    stride: Any

    def __init__(self, shape: Any, stride: Any = None) -> None:
        shape = checked_shape(shape)
        if stride is None:
            stride = compact_strides(shape)
        else:
            stride = _strides(_tuples(stride))
            if has_f2(leaves := flatten_to_tuple(stride)):
                if not is_static(shape):
                    raise LayoutError(
                        "Layout", f"shape {show(shape)} of strides added by XOR must be static", shape=shape
                    )
                stride = unflatten(uniform(leaves), stride)
            if not is_congruent(shape, stride):
                message = f"shape {show(shape)} and stride {show(stride)} do not nest alike"
                raise LayoutError("Layout", message, shape=shape, stride=stride)
        self.fill(shape, stride)

    def __call__(self, *coord: Any) -> Any:
        """Return the image of a coordinate: integral, natural, flat or mixed; ints, expressions or run-time values."""
        if len(coord) == 1:
            return crd2idx(coord[0], self.shape, self.stride)
        return crd2idx(coord, self.shape, self.stride)

    def __getitem__(self, mode: int | tuple[int, ...]) -> Layout:
        """Return a mode, or the one at a path of modes."""
        result: Layout = get(self, mode)
        return result

    def __iter__(self) -> Iterator[Layout]:
        if not isinstance(self.shape, tuple):
            return iter([self])
        return iter([raw(s, d) for s, d in zip(self.shape, self.stride, strict=True)])

    @property
    def size(self) -> Int:
        """The number of coordinates."""
        return product(self.shape)

    @property
    def rank(self) -> int:
        """The number of modes."""
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    @property
    def depth(self) -> int:
        """The depth to which its shape nests."""
        return depth(self.shape)

    @property
    def cosize(self) -> Int:
        """One more than the greatest index it gives within its size."""
        return cosize(self)

    def on_modes(self, function: Callable[[Any], Any]) -> Layout:
        """Return the layout with the same rearrangement of shape and stride."""
        return raw(function(self.shape), function(self.stride))

    def parts(self) -> tuple[Any, ...]:
        """Return the parts that the layout consists of."""
        return self.shape, self.stride

    def map_leaves(self, function: Callable[[Any], Any]) -> Layout:
        """Return the layout with `function` applied to every int and expression."""
        return Layout(map_leaves(self.shape, function), map_leaves(self.stride, function))

    def extended(self, elems: Sequence[Any], behind: bool) -> Layout:
        """Return the layout with further modes (layouts) behind or before its own."""
        own = list(self) if isinstance(self.shape, tuple) else [self]
        return concat(own + list(elems) if behind else list(elems) + own)

    def get_hier_coord(self, index: Any) -> Any:
        """Return the natural coordinate that the layout maps to `index`."""
        return idx2crd(index, self.shape, self.stride)

    def get_flat_coord(self, index: Any) -> Any:
        """Return the coordinate that the layout maps to `index`, with one number per mode."""
        return crd2crd(self.get_hier_coord(index), self.shape, product_each(self.shape))

    def __str__(self) -> str:
        return f"{show(self.shape)}:{show(self.stride)}"

    def _repr_html_(self) -> str | None:
        return _picture(self)


def raw(shape: Any, stride: Any) -> Layout:
    """Return a layout, without checks, of parts that are known to fit."""
    layout = object.__new__(Layout)
    object.__setattr__(layout, "shape", shape)
    object.__setattr__(layout, "stride", stride)
    return layout


def concat(layouts: Sequence[Any]) -> Layout:
    """Return the layout whose modes are these layouts."""
    for layout in layouts:
        if not isinstance(layout, Layout):
            why = "is composed" if isinstance(layout, ComposedLayout) else "is no layout"
            raise LayoutError("make_layout", f"{show(layout)} {why}: it cannot be a mode beside others")
    strides = tuple(item.stride for item in layouts)
    if any(type(d) is not int and has_f2(flatten_to_tuple(d)) for d in strides):
        strides = unflatten(uniform(flatten_to_tuple(strides)), strides)
    return raw(tuple(item.shape for item in layouts), strides)


def has_bases(layout: Layout) -> bool:
    """Tell whether a layout gives coordinates."""
    return Basis in map(type, flatten_to_tuple(layout.stride))


def _tuples(x: Any) -> Any:
    return tuple(map(_tuples, x)) if isinstance(x, (tuple, list)) else x


def checked_shape(shape: Any) -> Any:
    """Return a shape, or a list of lists, as a tuple of tuples of extents from 1."""
    return _shape(_tuples(shape))


def _shape(leaf: Any) -> IntTuple:
    if isinstance(leaf, tuple):
        return tuple(map(_shape, leaf))
    if isinstance(leaf, DimExpr):
        return leaf
    value = _integer(leaf, "shape")
    if value < 1:
        raise LayoutError("Layout", f"an extent is {value}, but must be 1 or more", extent=value)
    return value


def _strides(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_strides, x))
    return x if isinstance(x, (DimExpr, Basis, F2)) else _integer(x, "stride")


def _integer(leaf: Any, what: str) -> int:
    if isinstance(leaf, int) or hasattr(leaf, "__index__"):
        return int(leaf)
    raise LayoutError("Layout", f"{what} holds {leaf!r}, which is neither an int nor an expression over dims")


Function: TypeAlias = "Swizzle | Layout | ComposedLayout"
"""The functions that can be outermost in a composed layout."""


class ComposedLayout(Frozen):
    """``inner o offset o outer``: the map ``c -> inner(offset + outer(c))``, as CuTe DSL names its parts.

    inner   a swizzle, or a layout that no single layout can be composed with
    offset  an integer, or a coordinate when `inner` takes one
    outer   the layout whose coordinates it has; it may be composed itself

    Shape functions, slicing and the algebra act on `outer`; slices add to `offset`.

    >>> tile = ComposedLayout(Swizzle(3, 0, 3), 0, Layout((8, 8), (8, 1)))
    >>> tile, tile(3, 1)
    (S<3,0,3> o 0 o (8,8):(8,1), 26)
    """

    __slots__ = ("inner", "offset", "outer")
    inner: Function
    offset: Any
    outer: AnyLayout

    def __init__(self, inner: Function, offset: Any, outer: AnyLayout) -> None:
        if not isinstance(inner, (Swizzle, Layout, ComposedLayout)):
            raise LayoutError("ComposedLayout", f"{inner!r} is neither a swizzle nor a layout")
        if not isinstance(outer, (Layout, ComposedLayout)):
            raise LayoutError("ComposedLayout", f"outer is {outer!r}, must be a layout")
        if isinstance(inner, ComposedLayout):  # functions compose in any grouping: all are kept to the right
            first = inner
            inner, offset, outer = first.inner, first.offset, ComposedLayout(first.outer, offset, outer)
        if isinstance(inner, Swizzle) and isinstance(outer, Layout) and has_bases(outer):
            raise LayoutError("ComposedLayout", f"{inner} permutes offsets, but {outer} gives coordinates")
        self.fill(inner, offset, outer)

    def __call__(self, *coord: Any) -> Any:
        """Return the image of a coordinate."""
        index = plus(self.outer(*coord), self.offset)
        return self.inner(pad_coord(index, self.inner.shape) if isinstance(self.inner, Layout) else index)

    def __getitem__(self, mode: int | tuple[int, ...]) -> ComposedLayout:
        return ComposedLayout(self.inner, self.offset, self.outer[mode])

    def __iter__(self) -> Iterator[ComposedLayout]:
        return iter([self[mode] for mode in range(self.rank)])

    @property
    def shape(self) -> Any:
        """The shape of `outer`."""
        return self.outer.shape

    @property
    def stride(self) -> Any:
        """Not defined: a composed layout has no strides."""
        raise LayoutError("stride", f"{self} has no strides; its outer layout has")

    @property
    def size(self) -> Int:
        """The number of coordinates."""
        return self.outer.size

    @property
    def rank(self) -> int:
        """The number of modes."""
        return self.outer.rank

    @property
    def depth(self) -> int:
        """The depth to which its shape nests."""
        return self.outer.depth

    @property
    def cosize(self) -> Int:
        """A bound on the indices it gives within its size."""
        return cosize(self)

    def on_modes(self, function: Callable[[Any], Any]) -> ComposedLayout:
        """Return the layout with the same rearrangement of shape and stride of `outer`."""
        return ComposedLayout(self.inner, self.offset, self.outer.on_modes(function))

    def parts(self) -> tuple[Any, ...]:
        """Return the parts that the layout consists of."""
        return self.outer, self.offset, *(() if isinstance(self.inner, Swizzle) else (self.inner,))

    def map_leaves(self, function: Callable[[Any], Any]) -> ComposedLayout:
        """Return the layout with `function` applied to every int and expression."""
        return ComposedLayout(
            self.inner if isinstance(self.inner, Swizzle) else self.inner.map_leaves(function),
            map_leaves(self.offset, function),
            self.outer.map_leaves(function),
        )

    def extended(self, elems: Sequence[Any], behind: bool) -> ComposedLayout:
        """Return the layout with further modes (layouts) behind or before its own."""
        return ComposedLayout(self.inner, self.offset, self.outer.extended(elems, behind))

    def _repr_html_(self) -> str | None:
        return _picture(self)

    def __str__(self) -> str:
        return f"{self.inner} o {show(self.offset)} o {self.outer}"


def _picture(layout: AnyLayout) -> str | None:
    from cutelite.layout.viz import notebook  # only notebooks need it

    return notebook(layout)


def plus(index: Any, offset: Any) -> Any:
    """Add an index and an offset, or coordinates, 0 where one is shorter; adding 0 emits nothing."""
    if isinstance(index, tuple) and isinstance(offset, tuple):
        width = max(len(index), len(offset))
        index, offset = (x + (0,) * (width - len(x)) for x in (index, offset))
        return tuple(map(plus, index, offset))
    if isinstance(offset, int) and offset == 0:
        return index
    if isinstance(index, int) and index == 0:
        return offset
    if isinstance(index, tuple) or isinstance(offset, tuple):
        raise LayoutError("coordinates", f"{index} and {offset} do not nest alike")
    return index + offset


AnyLayout: TypeAlias = "Layout | ComposedLayout"
L = TypeVar("L", bound="Layout | ComposedLayout")
"""A function of either kind of layout returns that kind."""


# -------------------------------------------------------------------------------------------------- questions


def shape(x: AnyLayout, mode: Mode | None = None) -> IntTuple:
    """Return the shape of a layout, or of one of its modes.

    >>> shape(Layout((2, (3, 4))), mode=[1])
    (3, 4)
    """
    result: IntTuple = (x if mode is None else get(x, mode)).shape
    return result


def stride(x: Layout, mode: Mode | None = None) -> Any:
    """Return the strides of a layout, or of one of its modes.

    >>> stride(Layout((2, (3, 4))))
    (1, (2, 6))
    """
    return (x if mode is None else get(x, mode)).stride


def cosize(x: Any, mode: Mode | None = None) -> Int:
    """Return one more than the span of the indices that a layout `x`, or its mode `mode`, gives: the memory it needs.

    With a swizzle it is rounded up to what the swizzle may reach.

    >>> cosize(Layout((4, 3), (1, 5))), cosize(Layout((4, 3), (1, -5)))
    (14, 14)
    """
    layout = x if mode is None else get(x, mode)
    if isinstance(layout, Swizzle):
        return layout.size
    if isinstance(layout, ComposedLayout):
        return _composed_cosize(layout)
    span: Any = 1
    for s, d in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        if isinstance(d, Basis):
            raise LayoutError("cosize", f"{layout} gives coordinates, which have no greatest", stride=d)
        if isinstance(d, F2):
            return 1 << max(x.value.bit_length() for x in _reached(layout))
        if not prove_le(0, d):
            if not prove_le(d, 0):
                raise LayoutError("cosize", f"the sign of stride {d} is known at launch only", stride=d)
            d = -d
        span = span + (s - 1) * d
    total: Int = span
    return total


def _reached(layout: Layout) -> list[F2]:
    """Return the greatest multiple of every XOR stride."""
    leaves = zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True)
    return [(1 << ((s - 1).bit_length() - 1)) * d for s, d in leaves if isinstance(d, F2) and s > 1] or [F2(0)]


def _composed_cosize(layout: ComposedLayout) -> Int:
    if is_static(layout) and layout.outer.size <= 1 << 12:
        values = [layout(i) for i in range(int(layout.outer.size))]
        if not isinstance(values[0], tuple):
            return 1 + int(max(values))
    if not isinstance(layout.inner, Swizzle):
        raise LayoutError("cosize", f"{layout} may skip indices: its cosize is not known")
    reach: Int = cosize(layout.outer) + layout.offset
    block = layout.inner.size
    return ceil_div_dims(reach, block) * block


def leading_dim(x: Any, stride: Any = None) -> int | tuple[int, ...] | None:
    """Return the mode of `x` whose stride is 1, preferably with an extent above 1: a path if it nests, None if missing.

    For a composed layout, it is that of the outer layout.

    >>> leading_dim(Layout((8, 4), (4, 1))), leading_dim(Layout((8, (2, 4)), (8, (4, 1)))), leading_dim((8,), (2,))
    (1, (1, 1), None)
    """
    layout = x if stride is None else Layout(x, stride)
    while isinstance(layout, ComposedLayout):
        layout = layout.outer
    found: tuple[int, ...] | None = None
    sizes = flatten_to_tuple(layout.shape)
    for (path, d), extent in zip(leaves_with_paths(layout.stride), sizes, strict=True):
        if isinstance(d, int) and d == 1:
            if not (isinstance(extent, int) and extent == 1):
                found = path
                break
            found = path if found is None else found
    if found is None:
        return None
    return 0 if found == () else found[0] if len(found) == 1 else found


def get_hier_coord(layout: Layout, index: Any) -> Any:
    """Return the natural coordinate that a layout maps to `index`: ``layout.get_hier_coord(index)``.

    >>> get_hier_coord(Layout((4, (2, 8)), (2, (1, 8))), 11)
    (1, (1, 1))
    """
    return layout.get_hier_coord(index)


def get_flat_coord(layout: Layout, index: Any) -> Any:
    """Return the coordinate that a layout maps to `index`, with one number per mode: ``layout.get_flat_coord(index)``.

    >>> get_flat_coord(Layout((4, (2, 8)), (2, (1, 8))), 11)
    (1, 3)
    """
    return layout.get_flat_coord(index)


def size_in_bytes(dtype: Any, layout: AnyLayout) -> Int:
    """Return the bytes of memory that a layout of elements needs, up to its cosize.

    dtype  a type of elements, with its width as `bits`; or that number of bits

    >>> size_in_bytes(16, Layout((8, 8), (9, 1)))
    142
    """
    bits = dtype if isinstance(dtype, int) else dtype.bits
    return ceil_div_dims(cosize(layout) * bits, 8)


def get_swizzle_portion(layout: AnyLayout) -> Swizzle:
    """Return the swizzle of a layout; if it has none, the one that changes nothing, S<0,4,3> as in CuTe.

    >>> get_swizzle_portion(ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8, 64)))), get_swizzle_portion(Layout(8))
    (S<3,4,3>, S<0,4,3>)
    """
    return _portions("get_swizzle_portion", layout)[0]


def get_nonswizzle_portion(layout: AnyLayout) -> AnyLayout:
    """Return the layout that a swizzle acts on; the layout itself if there is none.

    >>> get_nonswizzle_portion(ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8, 64))))
    (8,64):(1,8)
    """
    return _portions("get_nonswizzle_portion", layout)[1]


def _portions(function: str, layout: AnyLayout) -> tuple[Swizzle, AnyLayout]:
    if isinstance(layout, Layout):
        return Swizzle(0, 4, 3), layout
    if not isinstance(layout.inner, Swizzle):
        raise LayoutError(function, f"{layout} has a layout in the place of a swizzle")
    return layout.inner, layout.outer


def images(layout: Layout | ComposedLayout) -> tuple[Any, ...]:
    """Return the images of all coordinates of a layout of static size, in order; ints are computed without division.

    >>> images(Layout((2, 3), (3, 1)))
    (0, 3, 1, 4, 2, 5)
    """
    if isinstance(layout, Layout):
        modes = list(zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True))
        if all(type(number) is int for mode in modes for number in mode):
            found = [0]
            for extent, stride in modes:
                found = [start + i * stride for i in range(extent) for start in found]
            return tuple(found)
    return tuple(layout(i) for i in range(int(layout.size)))
