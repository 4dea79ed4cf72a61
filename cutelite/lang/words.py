"""Values as 32-bit words: numbers, vectors and structures of them on their way between threads.

A structure is a number, a vector, or a tuple, named tuple or frozen dataclass of structures. In: one of them, of
run-time values. Out: a vector of u32 (`pack`), and the structure again (`unpack`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Vec, boolean, elem_of, u8, u16, u32, with_elem
from cutelite.lang.emit import describe, emit, mistake, wrap
from cutelite.lang.promotion import as_value, to_dtype
from cutelite.lang.values import Scalar, Vector
from cutelite.layout import DimExpr
from cutelite.ops.arith import VecGather, VecMake
from cutelite.ops.convert import Bitcast


def map_values(change: Callable[..., Any], x: Any, *others: Any) -> Any:
    """Return the structure `x` with `change(value)` for every run-time value; `others` give a further argument each.

    Errors   `structure` for a compile-time number: results of a run-time exchange would have to be equal to it
    """
    if isinstance(x, Scalar | Vector):
        return change(x, *others)
    if isinstance(x, int | float | DimExpr):
        raise mistake(
            "structure",
            f"{describe(x)} is known at compile time, and cannot be exchanged between threads",
            help=f"make it a run-time number of a type: `cl.f32({x})`",
        )
    if isinstance(x, tuple):
        parts = [map_values(change, *each) for each in zip(x, *others, strict=True)]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        names = [field.name for field in dataclasses.fields(x) if field.init]
        parts = [map_values(change, *(getattr(each, name) for each in (x, *others))) for name in names]
        return dataclasses.replace(x, **dict(zip(names, parts, strict=True)))
    raise mistake("structure", f"numbers, vectors, and tuples and dataclasses of them are combined, not {describe(x)}")


def pack(x: Any, count: int | None = None) -> Vector:
    """Return the words of the structure `x`, in order, and zeros up to `count`.

    Elements narrower than 32 bits are packed where together they fill words.
    """
    words: list[Any] = []

    def add(value: Any) -> Any:
        words.append(to_words(value))
        return value

    map_values(add, x)
    missing = 0 if count is None else count - word_count(x)
    words += [wrap(as_value(0, u32))] * missing
    return emit(VecMake(tuple(word.value for word in words)))  # type: ignore[no-any-return]


def unpack(words: Vector, like: Any) -> Any:
    """Return the structure that was packed into `words`, with the types of `like`."""
    place = 0

    def take(value: Any) -> Any:
        nonlocal place
        count = word_count(value)
        part = emit(VecGather(words.value, tuple(range(place, place + count)), scalar=count == 1))
        place += count
        return from_words(part, value)

    return map_values(take, like)


def word_count(x: Any) -> int:
    """Return the number of words of `pack(x)`."""
    total = 0

    def add(value: Any) -> Any:
        nonlocal total
        total += _count(value)
        return value

    map_values(add, x)
    return total


def _elements(value: Any) -> int:
    t = value.value.type
    return t.n if isinstance(t, Vec) else 1


def _count(value: Any) -> int:
    elem, n = elem_of(value.value.type), _elements(value)
    return n if elem == boolean or elem.bits * n % 32 else elem.bits * n // 32


def to_words(value: Any) -> Any:
    """Return the bits of a number or vector as u32; narrower elements are extended where they do not fill words."""
    t = value.value.type
    elem, n = elem_of(t), _elements(value)
    if elem == boolean:
        return to_dtype(value, u32)
    if elem.bits * n % 32:
        return to_dtype(_as(value, with_elem(t, _plain(elem))), u32)
    count = elem.bits * n // 32
    return _as(value, Vec(u32, count) if count > 1 else u32)


def from_words(words: Any, like: Any) -> Any:
    """Return the number or vector of the type of `like` that has these words."""
    t = like.value.type
    elem, n = elem_of(t), _elements(like)
    if elem == boolean:
        back = to_dtype(words, boolean)
    elif elem.bits * n % 32:
        back = _as(to_dtype(words, _plain(elem)), t)
    else:
        back = _as(words, t)
    if isinstance(t, Vec):
        back.value.shape = like.value.shape
    return back


def _plain(elem: DType) -> DType:
    return {8: u8, 16: u16}[elem.bits]


def _as(x: Any, t: Any) -> Any:
    """Return the bits of `x` as a value of type `t`."""
    return x if x.value.type == t else emit(Bitcast(x.value, t))
