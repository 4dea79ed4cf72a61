"""Vectors with a shape: what ``tensor.load()`` gives. Reductions, broadcasts, and vectors made of one number.

    v = fragment.load()                  # of the fragment's shape, say ((2, 2), 4)
    m = v.reduce("max", modes=(0,))      # over the first mode: shape (4,)
    p = cl.math.exp2(v - m.reshape((1, 4)))
    row = v[(0, None), 2]                # part of it: shape (2,)

Elements are in colexicographic order of their coordinates. Operators and mathematics keep the shape; where two shapes
meet, modes of extent 1 are repeated.
"""

from __future__ import annotations

from typing import Any, Literal

from cutelite.ir.function import Value
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Vec, boolean
from cutelite.lang.values import Vector, as_value, emit, mistake
from cutelite.layout import Layout, static_value
from cutelite.ops import arith

Reduction = Literal["sum", "max", "min", "prod", "all", "any"]
COMBINE: dict[str, Any] = {
    "sum": arith.Add,
    "prod": arith.Mul,
    "max": arith.Max,
    "min": arith.Min,
    "all": arith.And,
    "any": arith.Or,
}


def extent(shape: Any) -> int:
    """How many elements a compile-time shape has."""
    found = static_value(Layout(shape).size)
    if found is None:
        raise mistake("vector-shape", f"a vector has a shape known at compile time, not {shape}")
    return found


def reshape(v: Vector, shape: Any) -> Vector:
    """The same elements, in the same order, under another shape."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    if extent(shape) != v.n:
        raise mistake("vector-shape", f"{v.n} elements cannot have the shape {shape}, of {extent(shape)}")
    return _picked(v, tuple(range(v.n)), shape)


def part(v: Vector, coord: tuple[Any, ...]) -> Any:
    """The element at a compile-time coordinate, nested as the shape; with None or `:`, the vector that is left."""
    if len(coord) != len(v.shape):
        raise mistake("rank", f"{len(coord)} indices into a vector of {len(v.shape)} modes", f"its shape is {v.shape}")
    if not _within(coord, v.shape):
        raise mistake("out-of-bounds", f"{coord} is no coordinate of a vector of shape {v.shape}")
    kept = _kept(coord, Layout(v.shape))
    first = Layout(v.shape)(*_fixed(coord))
    if not kept:
        return emit(arith.VecGather(v.value, (first,), scalar=True))
    return _picked(v, tuple(first + at for at in _offsets(kept)), tuple(mode.shape for mode in kept))


def _whole(index: Any) -> bool:
    return index is None or (isinstance(index, slice) and index == slice(None))


def _within(coord: Any, shape: Any) -> bool:
    if isinstance(coord, tuple):
        return isinstance(shape, tuple) and len(coord) == len(shape) and all(map(_within, coord, shape))
    return _whole(coord) or (isinstance(coord, int) and 0 <= coord < extent(shape))


def _kept(coord: tuple[Any, ...], layout: Layout) -> list[Layout]:
    """The modes that a coordinate leaves."""
    found: list[Layout] = []
    for index, mode in zip(coord, layout, strict=True):
        found += [mode] if _whole(index) else _kept(index, mode) if isinstance(index, tuple) else []
    return found


def _fixed(coord: Any) -> Any:
    """The coordinate with 0 for the modes that it leaves."""
    return tuple(map(_fixed, coord)) if isinstance(coord, tuple) else 0 if _whole(coord) else coord


def broadcast_to(v: Vector, shape: Any) -> Vector:
    """Modes of extent 1 repeated to the extents of `shape`; new modes come at the end."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    have = (*v.shape, *(1,) * (len(shape) - len(v.shape)))
    if len(have) != len(shape):
        raise mistake("broadcast", f"a vector of shape {v.shape} cannot become one of shape {shape}")
    strides: list[Any] = []
    step = 1
    for mode, (is_now, wanted) in enumerate(zip(have, shape, strict=True)):
        count = extent(is_now)
        if count not in (1, extent(wanted)):
            raise mistake("broadcast", f"mode {mode} of {v.shape} is {is_now}, neither 1 nor the {wanted} of {shape}")
        compact = Layout(wanted)
        strides.append(_scaled(compact.stride, 0 if count == 1 else step))
        step *= count
    layout = Layout(shape, tuple(strides))
    return _picked(v, tuple(layout(i) for i in range(extent(shape))), shape)


def together(a: Value, b: Value) -> tuple[Value, Value]:
    """Two vector values of different shapes, as operands of one operator: modes of extent 1 are repeated.

    Shapes of as many elements that cannot be broadcast to each other are combined in order.
    """
    width = max(len(a.shape), len(b.shape))
    shapes = [(*v.shape, *(1,) * (width - len(v.shape))) for v in (a, b)]
    extents = [tuple(map(extent, shape)) for shape in shapes]
    if extents[0] == extents[1]:
        return a, b
    if any(1 not in pair and len(set(pair)) > 1 for pair in zip(*extents, strict=True)):
        if _count(a) == _count(b):
            return a, b
        raise mistake("broadcast", f"vectors of shapes {a.shape} and {b.shape} cannot be combined", help="reshape one")
    common = tuple(x if extent(x) > 1 else y for x, y in zip(*shapes, strict=True))
    return broadcast_to(Vector(a), common).value, broadcast_to(Vector(b), common).value


def _count(v: Value) -> int:
    assert isinstance(v.type, Vec)
    return v.type.n


def reduce(v: Vector, operation: Reduction, modes: Any = None, init: Any = None) -> Any:
    """Elements combined over some modes, or over all.

    operation   'sum', 'prod', 'max', 'min'; of bools 'all', 'any'
    modes       an index or a tuple of them; None for all, which gives a scalar
    init        combined with the result at the end
    Order       a balanced tree: halves are combined element by element, so each step is one op
    """
    if operation not in COMBINE:
        raise mistake("reduce", f"{operation!r} is none of {', '.join(COMBINE)}")
    if (v.dtype == boolean) != (operation in ("all", "any")):
        raise mistake("reduce", f"a {operation} is not for {v.dtype}")
    gone = tuple(range(len(v.shape))) if modes is None else modes if isinstance(modes, tuple) else (modes,)
    if any(not isinstance(mode, int) or not 0 <= mode < len(v.shape) for mode in gone):
        raise mistake("reduce", f"modes {gone} are not all modes of a vector of shape {v.shape}")
    whole = Layout(v.shape)
    kept = [whole[mode] for mode in range(len(v.shape)) if mode not in gone]
    dropped = [whole[mode] for mode in gone]
    shape = tuple(mode.shape for mode in kept)
    starts = _offsets(kept)
    rows = [emit(arith.VecGather(v.value, tuple(start + at for start in starts))) for at in _offsets(dropped)]
    combine = COMBINE[operation]
    while len(rows) > 1:
        half = len(rows) // 2
        left, right = _joined(rows[:half]), _joined(rows[half : 2 * half])
        both = emit(combine(left.value, right.value))
        width = len(starts)
        parts = [emit(arith.VecGather(both.value, tuple(range(i * width, (i + 1) * width)))) for i in range(half)]
        rows = parts + rows[2 * half :]
    result = rows[0] if modes is not None else rows[0][0]
    if init is not None:
        result = emit(combine(result.value, as_value(init, result.value.type)))
    if modes is not None:
        result.value.shape = shape or (1,)
    return result


def _joined(rows: list[Any]) -> Any:
    return rows[0] if len(rows) == 1 else emit(arith.VecMake(tuple(row.value for row in rows)))


def _offsets(modes: list[Layout]) -> list[int]:
    """The index of each coordinate of some modes."""
    found = [0]
    for mode in modes:
        found = [at + mode(c) for c in range(extent(mode.shape)) for at in found]
    return found


def _scaled(stride: Any, factor: int) -> Any:
    return tuple(_scaled(part, factor) for part in stride) if isinstance(stride, tuple) else stride * factor


def _picked(v: Vector, picks: tuple[int, ...], shape: tuple[Any, ...]) -> Vector:
    made: Vector = emit(arith.VecGather(v.value, picks))
    made.value.shape = shape
    return made


def full(shape: Any, x: Any, dtype: DType) -> Vector:
    """A vector of that shape whose elements are all `x`."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    made = Vector(as_value(x, Vec(dtype, extent(shape))))
    made.value.shape = shape
    return made


def full_like(v: Any, x: Any, dtype: DType | None = None) -> Vector:
    """A vector of the shape of `v`, a vector or a tensor, whose elements are all `x`."""
    return full(v.shape, x, dtype or v.dtype)


def zeros_like(v: Any, dtype: DType | None = None) -> Vector:
    """A vector of the shape of `v`, of zeros."""
    dtype = dtype or v.dtype
    return full(v.shape, 0.0 if dtype.is_float else False if dtype == boolean else 0, dtype)
