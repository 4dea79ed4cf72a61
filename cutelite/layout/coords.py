"""Coordinates to indices and back: how a layout is evaluated.

A shape admits integral coordinates (one int, colexicographic), natural ones (nested like the shape), any mix, and
flat ones (an int per leaf). The last mode of a shape, and of each nested shape, is unbounded, so that every natural is
a coordinate. A coordinate may hold run-time values: anything with ``+ * // %``; it is never compared or tested.
"""

from __future__ import annotations

from typing import Any

from cutelite.layout.basis import Basis, along, coordinate, paths
from cutelite.layout.dims import DimExpr, Int, mul
from cutelite.layout.errors import LayoutError
from cutelite.layout.f2 import F2
from cutelite.layout.facts import is_divisible, prove_le
from cutelite.layout.inttuple import flatten_to_tuple, is_congruent, prefix_product, product, show, unflatten


def merge_modes(shapes: list[Any], strides: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the fewest modes with the same values on all naturals: 1s go, s0:d0 and s1:d1 join if d1 is s0*d0.

    The last mode stays, unbounded as it is, even if its size is 1 (unless it continues the one before it). No modes are
    1:0.
    """
    if not shapes:
        return [1], [0]
    out_shapes: list[Any] = []
    out_strides: list[Any] = []
    last = len(shapes) - 1
    for index, (s, d) in enumerate(zip(shapes, strides, strict=True)):
        if type(s) is int and s == 1 and index != last:
            continue
        if out_shapes and _continues(out_shapes[-1], out_strides[-1], d):
            out_shapes[-1] = out_shapes[-1] * s
        else:
            out_shapes.append(s)
            out_strides.append(d)
    return out_shapes, out_strides


def _continues(s: Any, d: Any, following: Any) -> bool:
    """Tell whether a mode of stride `following` continues s:d; added by XOR, sizes must be powers of two for that."""
    if isinstance(d, F2) or isinstance(following, F2):
        return type(s) is int and s & (s - 1) == 0 and bool(following == s * d)
    return bool(following == s * d)


def _is_static(x: Any) -> bool:
    return isinstance(x, (int, DimExpr))


def _is(x: Any, value: int) -> bool:
    return isinstance(x, int) and x == value


def crd2idx(coord: Any, shape: Any, stride: Any = None) -> Any:
    """Return the index of `coord` in a shape with strides `stride`, compact column-major unless given; or in a layout.

    >>> crd2idx((1, 2), (3, 4)), crd2idx((1, 2), (3, 4), (4, 1)), crd2idx(7, (3, 4), (4, 1))
    (7, 6, 6)
    """
    if hasattr(shape, "on_modes"):
        return shape(coord)
    if stride is None:
        stride = prefix_product(shape)  # a mode of size 1 counts beyond its end as well
    known = _of_ints(coord, shape, stride)
    if known is not None:
        return known
    coord, leaves = _widened(coord), flatten_to_tuple(stride)
    if any(isinstance(d, Basis) for d in leaves):
        return coordinate({path: crd2idx(coord, shape, along(stride, path)) for path in paths(leaves)})
    terms: list[tuple[Any, Any]] = []
    if isinstance(coord, tuple) and isinstance(shape, tuple) and len(coord) != len(shape):
        flat = flatten_to_tuple(shape)  # one coordinate per leaf
        if len(coord) == len(flat):
            shape, stride = flat, leaves
    _collect(coord, shape, stride, terms)
    return _sum(terms)


def _widened(coord: Any) -> Any:
    """Return a coordinate whose run-time numbers have at least 32 bits: ones of 8 bits would wrap when multiplied."""
    if isinstance(coord, tuple):
        return tuple(map(_widened, coord))
    return coord.as_coordinate() if hasattr(coord, "as_coordinate") else coord


def _of_ints(coord: Any, shape: Any, stride: Any) -> int | None:
    """Return the index if all of it is ints and `coord` fits, which needs no symbolic terms; else None."""
    if type(coord) is int:
        if type(shape) is not tuple:
            return coord * stride if type(stride) is int else None
        index, rest, last = 0, coord, 0
        for s, d in zip(flatten_to_tuple(shape), flatten_to_tuple(stride), strict=True):
            if type(s) is not int or type(d) is not int:
                return None
            index += rest % s * d
            rest, last = rest // s, s * d
        return index + rest * last  # the last mode is unbounded
    if type(coord) is not tuple or type(shape) is not tuple or len(coord) != len(shape):
        return None
    total = 0
    for c, s, d in zip(coord, shape, stride, strict=True):
        part = _of_ints(c, s, d)
        if part is None:
            return None
        total += part
    return total


def _collect(coord: Any, shape: Any, stride: Any, terms: list[tuple[Any, Any]]) -> None:
    """Append (coordinate, stride) of every leaf that the coordinate reaches."""
    if isinstance(coord, tuple):
        if not isinstance(shape, tuple) or len(coord) != len(shape):
            raise LayoutError(
                "crd2idx", f"coordinate {show(coord)} does not fit shape {show(shape)}", coord=coord, shape=shape
            )
        for c, s, d in zip(coord, shape, stride, strict=True):
            _collect(c, s, d, terms)
    elif coord is None:
        raise LayoutError("crd2idx", "a coordinate with None selects a sublayout: use slice_ or slice_and_offset")
    elif isinstance(shape, tuple):
        _split(coord, shape, stride, terms)
    else:
        terms.append((coord, stride))


def _split(coord: Any, shape: Any, stride: Any, terms: list[tuple[Any, Any]]) -> None:
    """Take an integral coordinate apart, without a division for any leaf whose stride is 0 or absorbed."""
    shapes, strides = list(flatten_to_tuple(shape)), list(flatten_to_tuple(stride))
    if not _is_static(coord):
        shapes, strides = merge_modes(shapes, strides)
    while len(strides) > 1 and _is(strides[-1], 0):
        if not _is(strides[-2], 0):  # the mode before it is bounded: its remainder is taken below
            break
        shapes.pop()
        strides.pop()
    last = len(shapes) - 1
    for index, (s, d) in enumerate(zip(shapes, strides, strict=True)):
        if index == last:
            terms.append((coord, d))
        elif not _is(s, 1):
            if not _is(d, 0):
                terms.append((coord % s, d))
            if index + 1 == last and _is(strides[last], 0):
                return
            coord = coord // s


def _sum(terms: list[tuple[Any, Any]]) -> Any:
    """Return the sum of coordinate * stride: what is known at compile time in one term, after the run-time ones."""
    known: Any = 0
    running: Any = None
    for c, d in terms:
        if _is(d, 0):
            continue
        if _is_static(c):
            known = known + c * d
        else:
            term = c if _is(d, 1) else d * c if isinstance(d, F2) else c * d
            running = term if running is None else running ^ term if isinstance(d, F2) else running + term
    if isinstance(known, F2):
        known = known.value
        return known if running is None else running ^ known if known else running
    if running is None:
        return known
    return running if _is(known, 0) else running + known


def pad_coord(coord: Any, shape: Any) -> Any:
    """Return a coordinate with zeros for the trailing modes that it leaves out.

    >>> pad_coord((1,), (3, (4, 5)))
    (1, 0)
    """
    if isinstance(coord, tuple) and not isinstance(shape, tuple) and len(coord) <= 1:
        return pad_coord(coord[0], shape) if coord else 0  # a leaf is its own only mode
    if not isinstance(coord, tuple) or not isinstance(shape, tuple):
        return coord
    full = (*coord, *((0,) * (len(shape) - len(coord))))
    return tuple(map(pad_coord, full, shape))


def compact_strides(shape: Any) -> Any:
    """Return column-major strides; 0 for modes of size 1.

    >>> compact_strides((3, (1, 4)))
    (1, (0, 3))
    """
    return _compact(shape, 1)[0]


def _compact(shape: Any, current: Int) -> tuple[Any, Int]:
    if isinstance(shape, tuple):
        strides = []
        for item in shape:
            stride, current = _compact(item, current)
            strides.append(stride)
        return tuple(strides), current
    if type(shape) is int:
        return (0, current) if shape == 1 else (current, current * shape)
    return current, mul(current, shape)


def idx2crd(idx: Any, shape: Any, stride: Any = None) -> Any:
    """Return the natural coordinate of an index: the inverse of `crd2idx`, with compact strides by default.

    A tuple is converted mode by mode. The last mode (with strides: the mode of the greatest) is unbounded. `idx` may be
    a run-time value. Strides must be such that every index has one coordinate: each a multiple of the span of the
    smaller ones.

    >>> idx2crd(7, (3, 4)), idx2crd(30, (3, (2, 2))), idx2crd((2, 5), (3, (2, 4)))
    ((1, 2), (0, (0, 5)), (2, (1, 2)))
    >>> idx2crd(7, (3, 4), (4, 1))
    (1, 3)
    """
    if stride is not None:
        return _unscaled(idx, shape, stride)
    shape = shape.shape if hasattr(shape, "on_modes") else shape
    if idx is None:
        raise LayoutError("idx2crd", f"an index is None, which leaves a mode of {show(shape)} open")
    if isinstance(idx, tuple):
        if not isinstance(shape, tuple) or len(idx) != len(shape):
            raise LayoutError("idx2crd", f"index {show(idx)} does not fit shape {show(shape)}", coord=idx, shape=shape)
        return tuple(map(idx2crd, idx, shape))
    if not isinstance(shape, tuple):
        return idx
    last = len(shape) - 1
    while last > 0 and _is_empty(shape[last]):
        last -= 1
    if last < 0:
        return ()
    idx, coord = _widened(idx), []
    for item in shape[:last]:
        extent = product(item)
        if _is(extent, 1):
            coord.append(idx2crd(0, item))
        else:
            coord.append(idx2crd(idx % extent, item))
            idx = idx // extent
    return (*coord, idx2crd(idx, shape[last]), *shape[last + 1 :])


def _is_empty(shape: Any) -> bool:
    """Tell whether a mode has no leaves."""
    return isinstance(shape, tuple) and all(map(_is_empty, shape))


def _unscaled(idx: Any, shape: Any, stride: Any) -> Any:
    if not is_congruent(shape, stride):
        raise LayoutError(
            "idx2crd", f"stride {show(stride)} does not fit shape {show(shape)}", stride=stride, shape=shape
        )
    leaves = list(zip(flatten_to_tuple(shape), flatten_to_tuple(stride), strict=True))
    if any(isinstance(d, (Basis, F2)) for _, d in leaves):
        raise LayoutError("idx2crd", f"strides {show(stride)} of {show(shape)} are no numbers", stride=stride)
    moving = [i for i, (s, d) in enumerate(leaves) if not _is(d, 0) and not _is(s, 1)]
    coord: list[Any] = [0] * len(leaves)
    span: Int = 1
    while moving:
        least = [i for i in moving if all(prove_le(leaves[i][1], leaves[j][1]) for j in moving)]
        if not least or not is_divisible(leaves[least[0]][1], span):
            message = f"strides {show(stride)} of {show(shape)} do not give every index one coordinate"
            raise LayoutError("idx2crd", message, stride=stride)
        s, d = leaves[least[0]]
        moving.remove(least[0])
        digit = idx if _is(d, 1) else idx // d
        coord[least[0]] = digit % s if moving else digit
        span = d * s
    return unflatten(coord, shape)


def crd2crd(coord: Any, shape: Any, to_shape: Any) -> Any:
    """Return `coord` of `shape` as the coordinate of `to_shape` with the same index, mode by mode where both nest.

    >>> crd2crd((1, 2), (3, 4), 12), crd2crd(7, 12, (3, 4)), crd2crd((5, 1), (6, 2), ((2, 3), 2))
    (7, (1, 2), ((1, 2), 1))
    """
    if isinstance(coord, tuple) and isinstance(shape, tuple) and isinstance(to_shape, tuple):
        if not len(coord) == len(shape) == len(to_shape):
            raise LayoutError(
                "crd2crd", f"{show(coord)}, {show(shape)} and {show(to_shape)} differ in rank", coord=coord
            )
        return tuple(map(crd2crd, coord, shape, to_shape))
    return idx2crd(crd2idx(coord, shape), to_shape)


def increment_coord(coord: Any, shape: Any) -> Any:
    """Return the next natural coordinate in colexicographic order; behind the last comes the first again.

    >>> increment_coord((2, 0), (3, 4)), increment_coord((2, 3), (3, 4))
    ((0, 1), (0, 0))
    """
    shape = shape.shape if hasattr(shape, "on_modes") else shape
    return idx2crd((crd2idx(coord, shape) + 1) % product(shape), shape)
