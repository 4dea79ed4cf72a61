"""Loads and stores of all elements of a tensor at once, also if some of its strides are known only at launch.

For each index of the modes with such strides, the elements of the other modes are accessed together, as wide as their
layout allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import gcd
from typing import Any

from cutelite.ir.types import Tensor as TensorType
from cutelite.lang.emit import Runtime, describe, emit, mistake
from cutelite.lang.promotion import as_value
from cutelite.lang.values import Vector
from cutelite.layout import Layout, flatten_to_tuple, is_static, known_divisor, static_value
from cutelite.ops import arith
from cutelite.ops.tensor import TensorLoadAll, TensorStoreAll, TensorView


def load(t: Any) -> Vector:
    """Return every element of the tensor `t`, in colexicographic order of its coordinates; a vector of its shape."""
    loaded = _load(t)
    loaded.value.shape = t.shape if isinstance(t.shape, tuple) else (t.shape,)
    return loaded


def _load(t: Any) -> Vector:
    if is_static(t.layout):
        return emit(TensorLoadAll(t.value))  # type: ignore[no-any-return]
    parts, order = [], []
    for view, elements in _parts(t, "load()"):
        parts.append(emit(TensorLoadAll(view)).value)
        order += elements
    place = {element: i for i, element in enumerate(order)}
    everything = emit(arith.VecMake(tuple(parts)))
    return emit(arith.VecGather(everything.value, tuple(place[i] for i in range(len(order)))))  # type: ignore[no-any-return]


def store(t: Any, data: Any) -> None:
    """Write the vector value `data` to the elements of `t`, in the same order."""
    if is_static(t.layout):
        emit(TensorStoreAll(t.value, data))
        return
    for view, elements in _parts(t, "store()"):
        emit(TensorStoreAll(view, emit(arith.VecGather(data, tuple(elements))).value))


def _parts(t: Any, what: str) -> Iterator[tuple[Any, list[int]]]:
    """Yield views of static layout that together are `t`, each with the places of its elements in `t`."""
    shapes, strides = flatten_to_tuple(t.layout.shape), flatten_to_tuple(t.layout.stride)
    if not is_static(tuple(shapes)):
        raise mistake("static-layout", f"{what} needs a shape known at compile time, not {t.shape}")
    weights = [1]
    for extent in shapes:
        weights.append(weights[-1] * extent)
    fixed = [i for i, stride in enumerate(strides) if isinstance(stride, int)]
    moving = [i for i in range(len(shapes)) if i not in fixed]
    inner = [0]
    for i in fixed:
        inner = [at + c * weights[i] for c in range(shapes[i]) for at in inner]
    layout = Layout(tuple(shapes[i] for i in fixed), tuple(strides[i] for i in fixed)) if fixed else Layout((1,), (0,))
    align = gcd(t._type.align, *(known_divisor(strides[i]) * t.dtype.bytes for i in moving))
    kind = t._retyped_type(layout, align=align)
    for coord in product(*(range(shapes[i]) for i in reversed(moving))):
        at = dict(zip(reversed(moving), coord, strict=True))
        offset: Any = sum(c * strides[i] for i, c in at.items())
        moved = None if type(offset) is int and offset == 0 else as_value(offset)
        start = sum(c * weights[i] for i, c in at.items())
        yield emit(TensorView(t.value, kind, moved)).value, [start + place for place in inner]


def fill(t: Any, x: Any) -> None:
    """Set every element of the tensor `t` to the scalar `x`."""
    _tensors("fill", t)
    t.store(x)


def clear(t: Any) -> None:
    """Set every element of the tensor `t` to zero."""
    _tensors("clear", t)
    t.store(0.0 if t.dtype.is_float else False if t.dtype.kind == "bool" else 0)


def axpby(alpha: Any, x: Any, beta: Any, y: Any) -> None:
    """Compute ``y = alpha * x + beta * y``, element by element, on tensors of one size; alpha and beta are scalars.

    It is computed in the promoted type of the operands, and stored in the type of `y`.
    """
    _tensors("axpby", x, y)
    if static_value(x.size) is None or static_value(x.size) != static_value(y.size):
        raise mistake("axpby", f"x has shape {x.shape}, y {y.shape}: not the same number of elements")
    y.store((alpha * x.load() + beta * y.load()).to(y.dtype))


def _tensors(function: str, *given: Any) -> None:
    for t in given:
        if not isinstance(t, Runtime) or not isinstance(t.value.type, TensorType):
            raise mistake("tensor", f"{function} takes tensors, not {describe(t)}")
