"""Slices and tiles of layouts, thread-value layouts, and layouts for elements of another width."""

from __future__ import annotations

from operator import index
from typing import Any, cast

from cutelite.layout.basis import Basis
from cutelite.layout.compose import composition
from cutelite.layout.coords import crd2idx
from cutelite.layout.divide import raked_product, zipped_divide
from cutelite.layout.errors import LayoutError
from cutelite.layout.f2 import F2, has_f2
from cutelite.layout.facts import exact_div, require_static
from cutelite.layout.inttuple import flatten, flatten_to_tuple, product_each, rank, show, unflatten
from cutelite.layout.inverses import right_inverse
from cutelite.layout.layout import ComposedLayout, L, Layout, plus, raw
from cutelite.layout.modes import is_one, is_zero, through
from cutelite.layout.swizzle import Swizzle


def has_underscore(coord: Any) -> bool:
    """Tell whether `coord` leaves something open (None, CuTe's ``_``).

    >>> has_underscore((1, (None, 2))), has_underscore((1, 2))
    (True, False)
    """
    return coord is None or (isinstance(coord, tuple) and any(map(has_underscore, coord)))


def slice_(src: Any, coord: Any) -> Any:
    """Return the part of `src`, a tuple or a layout, where `coord` is None; other coordinates fix their mode.

    For a layout, `slice_and_offset` also gives the offset of the fixed coordinates.

    >>> slice_((3, (4, 5), 6), (None, (0, None), 2))
    (3, 5)
    >>> slice_(Layout((3, (4, 5)), (1, (3, 12))), (1, (0, None)))
    (5):(12)
    """
    return _chosen(src, coord, keep_open=True)


def dice(src: Any, dicer: Any) -> Any:
    """Return the part that `slice_` drops: the modes where the coordinate is given.

    >>> dice((3, (4, 5), 6), (None, (0, None), 2))
    (4, 6)
    """
    return _chosen(src, dicer, keep_open=False)


def _chosen(src: Any, coord: Any, keep_open: bool) -> Any:
    if hasattr(src, "on_modes"):
        return src.on_modes(lambda t: _chosen(t, coord, keep_open))
    if coord is None and keep_open:
        return src
    return tuple(_leaves(src, coord, keep_open))


def _leaves(t: Any, coord: Any, keep_open: bool) -> list[Any]:
    if isinstance(coord, tuple):
        if not isinstance(t, tuple) or len(t) != len(coord):
            raise LayoutError("slice_", f"coordinate {show(coord)} does not fit {show(t)}", coord=coord)
        found: list[Any] = []
        for item, c in zip(t, coord, strict=True):
            found += _leaves(item, c, keep_open)
        return found
    return [t] if (coord is None) == keep_open else []


def slice_and_offset(coord: Any, layout: L) -> tuple[L, Any]:
    """Return (sublayout, offset): layout(coord with its Nones filled in by c) == sublayout(c) + offset.

    Coordinates may be run-time values. The offset of a composed layout goes inside it, and 0 is returned.

    >>> slice_and_offset((1, None), Layout((4, 8)))
    ((8):(4), 1)
    """
    if isinstance(layout, ComposedLayout):
        sub, offset = slice_and_offset(coord, layout.outer)
        return cast("L", ComposedLayout(layout.inner, plus(layout.offset, offset), sub)), 0
    if has_f2(flatten_to_tuple(layout.stride)) and not is_zero(layout(_zeroed(coord))):
        sub, offset = slice_and_offset(coord, Layout(layout.shape))
        return cast("L", ComposedLayout(through(layout, flatten), offset, sub)), 0  # an offset would be added by XOR
    return slice_(layout, coord), crd2idx(_zeroed(coord), layout.shape, layout.stride)


def make_layout_image_mask(layout: Layout, coord: Any, mode: int) -> Any:
    """Return the mask of the indices that a layout gives along one mode: the blocks of a cluster that share a tile.

    layout  coordinates to ranks in the cluster
    coord   one for each mode; that of `mode` does not count. May hold run-time values
    Result  bit i is set if the layout gives i; for run-time values, one mask shifted by the offset of the coordinate

    >>> make_layout_image_mask(Layout((2, 4)), (1, 2), 1), make_layout_image_mask(Layout((2, 4)), (1, 2), 0)
    (170, 48)
    """
    modes = coord if isinstance(coord, tuple) else (coord,)
    if len(modes) != layout.rank or not -layout.rank <= mode < layout.rank:
        raise LayoutError("make_layout_image_mask", f"{show(coord)} and mode {mode} do not fit {layout}", mode=mode)
    mode %= layout.rank
    row, offset = slice_and_offset(tuple(None if k == mode else c for k, c in enumerate(modes)), layout)
    mask = 0
    for i in range(require_static("make_layout_image_mask", row.size, "the size of the mode")):
        mask |= 1 << row(i)
    return mask << offset


def _zeroed(coord: Any) -> Any:
    if isinstance(coord, tuple):
        return tuple(map(_zeroed, coord))
    return 0 if coord is None else coord


def _projected(tiler: Any, coord: Any, proj: Any) -> tuple[Any, Any]:
    """Return tiler and coordinate without the modes where `proj` is None."""
    if proj is None:
        return tiler, coord
    if not isinstance(proj, tuple) or not rank(tiler) == len(proj) == rank(coord):
        raise LayoutError("local_tile", f"proj {show(proj)} does not fit tiler {show(tiler)} and {show(coord)}")
    return slice_(tiler, _open(proj)), slice_(coord, _open(proj))


def _open(proj: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(0 if p is None else None for p in proj)


def local_tile_and_offset(layout: L, tiler: Any, coord: Any, proj: Any = None) -> tuple[L, Any]:
    """Return the tile at `coord` in the grid of tiles, and its offset; None in `coord` keeps that mode of the grid.

    tiler  as for `zipped_divide`
    proj   per mode of tiler and coord something other than None to use it, None to leave it out: one (M, N, K) tiler
           serves A, B and C

    >>> local_tile_and_offset(Layout((64, 32)), (16, 8, 4), (2, 1, None), proj=(1, None, 1))
    ((16,4,8):(1,64,256), 32)
    """
    tiler, coord = _projected(tiler, coord, proj)
    divided = zipped_divide(layout, tiler)
    coord = coord if isinstance(coord, tuple) else (coord,)
    grid = rank(divided, 1)
    coord = coord + (None,) * (grid - len(coord)) if len(coord) < grid else coord
    tile_open = (None,) * rank(divided, 0)
    return slice_and_offset((*tile_open, *coord), through(divided, _spread))


def _spread(divided: Layout) -> Layout:
    """Return the tile modes and the grid modes side by side."""
    return divided.on_modes(lambda t: (*_as_tuple(t[0]), *_as_tuple(t[1])))


def _as_tuple(t: Any) -> tuple[Any, ...]:
    return t if isinstance(t, tuple) else (t,)


def local_tile(layout: L, tiler: Any, coord: Any, proj: Any = None) -> L:
    """Return the layout of `local_tile_and_offset`.

    >>> local_tile(Layout((64, 32)), (16, 8), (2, 1))
    (16,8):(1,64)
    """
    return local_tile_and_offset(layout, tiler, coord, proj)[0]


def local_partition_and_offset(layout: L, tile: Any, index: Any, proj: Any = None) -> tuple[L, Any]:
    """Return the elements that thread `index` of the thread layout `tile` owns, and their offset.

    tile   a layout of threads; elements are dealt out in tiles of its shape
    proj   per mode of `tile` None to leave that mode out, for threads that share elements along it

    >>> local_partition_and_offset(Layout((64, 32)), Layout((8, 4)), 9)
    ((8,8):(8,256), 65)
    """
    shape = product_each(tile.shape) if isinstance(tile, Layout) else tile
    coord = (tile if isinstance(tile, Layout) else Layout(tile)).get_flat_coord(index)
    if proj is not None:
        shape, coord = _projected(shape, coord, proj)
    divided = zipped_divide(layout, shape)
    coord = coord if isinstance(coord, tuple) else (coord,)
    return slice_and_offset((*coord, *((None,) * rank(divided, 1))), through(divided, _spread))


def local_partition(layout: L, tile: Any, index: Any, proj: Any = None) -> L:
    """Return the layout of `local_partition_and_offset`.

    >>> local_partition(Layout((64, 32)), Layout((8, 4)), 9)
    (8,8):(8,256)
    """
    return local_partition_and_offset(layout, tile, index, proj)[0]


def make_layout_tv(thr_layout: Layout, val_layout: Layout) -> tuple[Any, Layout]:
    """Return (tiler, layout_tv) of a tile that threads share: every thread has a block of values, threads side by side.

    thr_layout  coordinates in the tile -> thread
    val_layout  coordinates in a thread's block -> value
    tiler       shape of the whole tile
    layout_tv   (thread, value) -> index in the tile, column-major
    Errors      where a thread or a value has no number of its own: both layouts must be compact

    >>> make_layout_tv(Layout((4, 8), (8, 1)), Layout((2, 2)))
    ((8, 16), ((8,4),(2,2)):((16,2),(1,8)))
    """
    tile = raked_product(thr_layout, val_layout)
    numbers = right_inverse(tile)
    if numbers.size != tile.size:
        message = f"{thr_layout} and {val_layout} do not number the threads and values of a tile once each"
        raise LayoutError("make_layout_tv", message, numbered=numbers.size, size=tile.size)
    return product_each(tile.shape), composition(numbers, Layout((thr_layout.size, val_layout.size)))


# ------------------------------------------------------------------------------------------------------ recast


def recast_layout(new_type_bits: int, old_type_bits: int, src_layout: L) -> L:
    """Return the layout of `src_layout`'s memory in elements of `new_type_bits` instead of `old_type_bits`.

    Wider: modes within one wide element shrink, and must fill it (or there are none, and each old element is in a wide
    one of its own); other strides must be multiples of it. Narrower: the contiguous mode lengthens.

    >>> recast_layout(32, 8, Layout((8, 4), (1, 8))), recast_layout(8, 32, Layout((8, 4), (1, 8)))
    ((2,4):(1,2), (32,4):(1,32))
    """
    for bits in (new_type_bits, old_type_bits):
        if bits < 1:
            raise LayoutError("recast_layout", f"elements have {bits} bits, must be 1 or more", bits=bits)
    if new_type_bits == old_type_bits:
        return src_layout
    if new_type_bits % old_type_bits == 0:
        return upcast(src_layout, new_type_bits // old_type_bits)
    if old_type_bits % new_type_bits == 0:
        return downcast(src_layout, old_type_bits // new_type_bits)
    raise LayoutError(
        "recast_layout", f"neither of {new_type_bits} and {old_type_bits} bits is a multiple of the other",
        new=new_type_bits, old=old_type_bits,
    )  # fmt: skip


def _times(function: str, n: int) -> int:
    if index(n) < 1:
        raise LayoutError(function, f"an element is {n} others, must be 1 or more", n=n)
    return n


def upcast(layout: L, n: int) -> L:
    """Return the layout in wider elements, each of n old ones.

    A mode within one wide element is left with extent 1 and stride 1: the wide elements go on beyond it.

    >>> upcast(Layout((8, 4), (4, 1)), 4), upcast(Layout(8), 8)
    ((8,1):(1,1), 1:1)
    """
    if _times("upcast", n) == 1:
        return layout
    if isinstance(layout, ComposedLayout):
        offset = exact_div(layout.offset, n)
        if offset is None:
            raise LayoutError("recast_layout", f"offset {layout.offset} is not known to be a multiple of {n}")
        return cast("L", ComposedLayout(_scaled_inner(layout.inner, n, up=True), offset, upcast(layout.outer, n)))
    return through(layout, lambda plain: _upcast(plain, n))


def _upcast(layout: Layout, n: int) -> Layout:
    if has_f2(flatten_to_tuple(layout.stride)):
        raise LayoutError("recast_layout", f"the strides of {layout} are added by XOR: recast the swizzled layout")
    shapes: list[Any] = []
    strides: list[Any] = []
    within: list[tuple[int, Any]] = []  # (stride, count) of what one wide element takes in
    for mode, (s, d) in enumerate(zip(*map(flatten_to_tuple, (layout.shape, layout.stride)), strict=True)):
        if isinstance(d, Basis):
            raise LayoutError("recast_layout", f"{layout} gives coordinates; recast is for offsets", mode=mode)
        whole = exact_div(d, n)
        if whole is not None or is_one(s):
            shapes.append(s)
            strides.append(whole if whole is not None else 1 if is_one(d) else 0)
            continue
        group = exact_div(n, abs(d)) if isinstance(d, int) else None
        if group is None:
            message = f"stride {d} of {layout} is not known to divide {n}, or to be a multiple of it"
            raise LayoutError("recast_layout", message, mode=mode, stride=d, factor=n)
        if d < 0:
            raise LayoutError("recast_layout", f"stride {d} of {layout} runs backwards through an element", mode=mode)
        count = exact_div(s, group)
        if count is not None:
            within.append((d, group))
            shapes.append(count)
            strides.append(1)
        elif exact_div(group, s) is not None:
            within.append((d, s))
            shapes.append(1)
            strides.append(0)
        else:
            message = f"extent {s} with stride {d} of {layout} is not known to fill elements of {n}"
            raise LayoutError("recast_layout", message, mode=mode, extent=s, factor=n)
    filled = 1
    for d, count in sorted(within):
        filled = filled * count if d == filled else 0
    if filled not in (1, n):
        raise LayoutError("recast_layout", f"the elements of {layout} do not fill whole elements of {n}", factor=n)
    return raw(unflatten(shapes, layout.shape), unflatten(strides, layout.shape))


def downcast(layout: L, n: int) -> L:
    """Return the layout in elements of which n make an old one: the mode of stride 1 grows.

    If no longer mode has stride 1, one of extent 1 grows; its stride, if it has one, stays in a mode beside it.

    >>> downcast(Layout((8, 4), (4, 1)), 4), downcast(Layout((1, 4), (1, 1)), 4)
    ((8,16):(16,1), (1,16):(4,1))
    >>> downcast(Layout((4, 1), (2, 6)), 2)
    (4,(2,1)):(4,(1,12))
    """
    if _times("downcast", n) == 1:
        return layout
    if isinstance(layout, ComposedLayout):
        inner = _scaled_inner(layout.inner, n, up=False)
        return cast("L", ComposedLayout(inner, layout.offset * n, downcast(layout.outer, n)))
    return through(layout, lambda plain: _downcast(plain, n))


def _downcast(layout: Layout, n: int) -> Layout:
    extents, strides = flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride)
    unit = [i for i, (s, d) in enumerate(zip(extents, strides, strict=True)) if is_one(d) and not is_one(s)]
    unit += [i for i, (s, d) in enumerate(zip(extents, strides, strict=True)) if is_one(d) and is_one(s)]
    unit += [i for i, s in enumerate(extents) if is_one(s)]
    if not unit or any(isinstance(d, (Basis, F2)) for d in strides):
        raise LayoutError(
            "recast_layout", f"{layout} has no mode of stride 1, or of size 1, to lengthen by {n}", factor=n
        )
    grown = unit[0]
    shapes: list[Any] = list(extents)
    scaled: list[Any] = [d * n for d in strides]
    if is_one(strides[grown]) or is_zero(strides[grown]):
        shapes[grown], scaled[grown] = extents[grown] * n, 1
    else:
        shapes[grown], scaled[grown] = (n, 1), (1, scaled[grown])
    return raw(unflatten(shapes, layout.shape), unflatten(scaled, layout.shape))


def _scaled_inner(inner: Any, n: int, up: bool) -> Any:
    if not isinstance(inner, Swizzle):
        return upcast(inner, n) if up else downcast(inner, n)
    bits = n.bit_length() - 1
    if n != 1 << bits:
        raise LayoutError("recast_layout", f"{inner} needs a ratio that is a power of two, not {n}")
    base = inner.base - bits if up else inner.base + bits
    if base < 0:
        raise LayoutError("recast_layout", f"{inner} permutes within elements {n} times as wide", base=inner.base)
    return Swizzle(inner.bits, base, inner.shift)
