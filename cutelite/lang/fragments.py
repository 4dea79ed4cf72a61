"""Vectors with a shape, such as ``tensor.load()`` returns: their parts, reductions and broadcasts, on SSA values.

    v = fragment.load()                  # of the fragment's shape, say ((2, 2), 4)
    m = v.reduce("max", modes=(0,))      # over the first mode: shape (4,)
    p = cl.math.exp2(v - m.reshape((1, 4)))
    row = v[(0, None), 2]                # part of it: shape (2,)

Elements are in colexicographic order of their coordinates. Operators and mathematics keep the shape; where two shapes
meet, modes of extent 1 are repeated. `lang.values.Vector` has these functions as methods.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from cutelite.ir.function import Value
from cutelite.ir.types import Vec, boolean, elem_of
from cutelite.lang.emit import append, mistake
from cutelite.layout import Layout, static_value
from cutelite.ops import arith

Reduction = Literal["sum", "add", "prod", "mul", "max", "min", "all", "any"]
COMBINE: dict[str, Any] = {
    "sum": arith.Add,
    "add": arith.Add,
    "prod": arith.Mul,
    "mul": arith.Mul,
    "max": arith.Max,
    "min": arith.Min,
    "all": arith.And,
    "any": arith.Or,
}


def extent(shape: Any) -> int:
    """Return the number of elements of a shape that is known at compile time. Errors: `vector-shape`."""
    found = static_value(Layout(shape).size)
    if found is None:
        raise mistake("vector-shape", f"a vector has a shape known at compile time, not {shape}")
    return found


def count(v: Value) -> int:
    """Return the number of elements of a vector."""
    assert isinstance(v.type, Vec)
    return v.type.n


def shape_of(v: Value) -> tuple[Any, ...]:
    """Return the shape of a vector: that of the tensor it was loaded from, or the one it was given."""
    return (count(v),) if v.shape is None else v.shape


def reshape(v: Value, shape: Any) -> Value:
    """Return the same elements, in the same order, under another shape."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    if extent(shape) != count(v):
        raise mistake("vector-shape", f"{count(v)} elements cannot have the shape {shape}, of {extent(shape)}")
    return _picked(v, range(count(v)), shape)


def part(v: Value, coord: tuple[Any, ...]) -> Value:
    """Return the element at a compile-time coordinate, nested like the shape; None or `:` keeps a mode."""
    shape = shape_of(v)
    if len(coord) != len(shape):
        raise mistake("rank", f"{len(coord)} indices into a vector of {len(shape)} modes", f"its shape is {shape}")
    if not _within(coord, shape):
        raise mistake("out-of-bounds", f"{coord} is no coordinate of a vector of shape {shape}")
    kept = _kept(coord, Layout(shape))
    first = Layout(shape)(*_fixed(coord))
    if not kept:
        return append(arith.VecGather(v, (first,), scalar=True))  # type: ignore[no-any-return]
    return _picked(v, (first + at for at in _offsets(kept)), tuple(mode.shape for mode in kept))


def _whole(index: Any) -> bool:
    return index is None or (isinstance(index, slice) and index == slice(None))


def _within(coord: Any, shape: Any) -> bool:
    if isinstance(coord, tuple):
        return isinstance(shape, tuple) and len(coord) == len(shape) and all(map(_within, coord, shape))
    return _whole(coord) or (isinstance(coord, int) and 0 <= coord < extent(shape))


def _kept(coord: tuple[Any, ...], layout: Layout) -> list[Layout]:
    """Return the modes that a coordinate keeps."""
    found: list[Layout] = []
    for index, mode in zip(coord, layout, strict=True):
        found += [mode] if _whole(index) else _kept(index, mode) if isinstance(index, tuple) else []
    return found


def _fixed(coord: Any) -> Any:
    """Return the coordinate with 0 for the modes that it keeps."""
    return tuple(map(_fixed, coord)) if isinstance(coord, tuple) else 0 if _whole(coord) else coord


def broadcast_to(v: Value, shape: Any) -> Value:
    """Repeat modes of extent 1 to the extents of `shape`; new modes are added at the end."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    before = shape_of(v)
    have = (*before, *(1,) * (len(shape) - len(before)))
    if len(have) != len(shape):
        raise mistake("broadcast", f"a vector of shape {before} cannot become one of shape {shape}")
    strides: list[Any] = []
    step = 1
    for mode, (is_now, wanted) in enumerate(zip(have, shape, strict=True)):
        number = extent(is_now)
        if number not in (1, extent(wanted)):
            raise mistake("broadcast", f"mode {mode} of {before} is {is_now}, neither 1 nor the {wanted} of {shape}")
        strides.append(_scaled(Layout(wanted).stride, 0 if number == 1 else step))
        step *= number
    layout = Layout(shape, tuple(strides))
    return _picked(v, (layout(i) for i in range(extent(shape))), shape)


def together(a: Value, b: Value) -> tuple[Value, Value]:
    """Return two vectors of different shapes as operands of one operator: modes of extent 1 are repeated.

    The shorter shape gets modes of extent 1 at its end. Shapes with the same number of elements that cannot be
    broadcast to each other are combined in order.
    Errors  `broadcast`, also where the shorter shape has as many elements and all pairs would be combined, as of
            (1, 8) and (8,): NumPy, which adds modes in front, combines these in order
    """
    width = max(len(a.shape), len(b.shape))
    shapes = [(*v.shape, *(1,) * (width - len(v.shape))) for v in (a, b)]
    extents = [tuple(map(extent, shape)) for shape in shapes]
    if extents[0] == extents[1]:
        return a, b
    if any(1 not in pair and len(set(pair)) > 1 for pair in zip(*extents, strict=True)):
        if count(a) == count(b):
            return a, b
        raise mistake("broadcast", f"vectors of shapes {a.shape} and {b.shape} cannot be combined", help="reshape one")
    common = tuple(x if extent(x) > 1 else y for x, y in zip(*shapes, strict=True))
    if len(a.shape) != len(b.shape) and count(a) == count(b) < extent(common):
        title = f"vectors of shapes {a.shape} and {b.shape} would combine all pairs of their elements"
        raise mistake("broadcast", title, help=f"`x.reshape(({count(a)},))` for both combines them in order")
    return broadcast_to(a, common), broadcast_to(b, common)


def reduce(v: Value, operation: Reduction, modes: Any = None) -> Value:
    """Combine the elements over some modes, or over all (None): see `Vector.reduce`."""
    shape = shape_of(v)
    if operation not in COMBINE:
        raise mistake("reduce", f"{operation!r} is none of {', '.join(COMBINE)}")
    if (elem_of(v.type) == boolean) != (operation in ("all", "any")):
        raise mistake("reduce", f"a {operation} is not for {elem_of(v.type)}")
    gone = tuple(range(len(shape))) if modes is None else modes if isinstance(modes, tuple) else (modes,)
    if any(not isinstance(mode, int) or not 0 <= mode < len(shape) for mode in gone):
        raise mistake("reduce", f"modes {gone} are not all modes of a vector of shape {shape}")
    whole = Layout(shape)
    kept = [whole[mode] for mode in range(len(shape)) if mode not in gone]
    starts = _offsets(kept)
    rows = [_gather(v, (start + at for start in starts)) for at in _offsets([whole[mode] for mode in gone])]
    while len(rows) > 1:
        half = len(rows) // 2
        left, right = _joined(rows[:half]), _joined(rows[half : 2 * half])
        both = append(COMBINE[operation](left, right))
        parts = [_gather(both, range(i * len(starts), (i + 1) * len(starts))) for i in range(half)]
        rows = parts + rows[2 * half :]
    if modes is None:
        return append(arith.VecGather(rows[0], (0,), scalar=True))  # type: ignore[no-any-return]
    rows[0].shape = tuple(mode.shape for mode in kept) or (1,)
    return rows[0]


def _joined(rows: list[Value]) -> Value:
    return rows[0] if len(rows) == 1 else append(arith.VecMake(tuple(rows)))


def _offsets(modes: list[Layout]) -> list[int]:
    """Return the index of each coordinate of some modes."""
    found = [0]
    for mode in modes:
        found = [at + mode(c) for c in range(extent(mode.shape)) for at in found]
    return found


def _scaled(stride: Any, factor: int) -> Any:
    return tuple(_scaled(part, factor) for part in stride) if isinstance(stride, tuple) else stride * factor


def _gather(v: Value, picks: Iterable[int]) -> Value:
    return append(arith.VecGather(v, tuple(picks)))  # type: ignore[no-any-return]


def _picked(v: Value, picks: Iterable[int], shape: tuple[Any, ...]) -> Value:
    made = _gather(v, picks)
    made.shape = shape
    return made
