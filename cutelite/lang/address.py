"""Addresses as operands: for a tensor, the address of its first element, with its swizzle applied.

Instructions that move several bytes from an address on know nothing of a swizzle, which keeps only some bytes
together. An access whose bytes the swizzle separates is refused here, at the line of the call. Alignment follows from
what is known of the indices. If nothing is known of an index along contiguous elements, the address is assumed to be
as aligned as the instruction needs; the simulator checks that it is.
"""

from __future__ import annotations

from math import gcd
from typing import Any

from cutelite import ops
from cutelite.ir.function import Value
from cutelite.ir.types import Ptr
from cutelite.ir.types import Tensor as TensorType
from cutelite.lang.emit import Runtime, builder_here, describe, mistake
from cutelite.lang.promotion import as_value
from cutelite.layout import Layout, Swizzle, rank
from cutelite.ops.congruence import Known, known
from cutelite.ops.tensor import TensorPtr, TensorView


def address(x: Any, align: int = 1, bytes: int | None = 0) -> Value:
    """Return a pointer or a tensor as operand of an instruction that accesses `bytes` consecutive bytes from there on.

    align    the number of bytes that the address has to be a multiple of
    bytes    None if it is known only at run time; default: `align`
    Result   a tensor without swizzle as it is, else a pointer
    Errors   `address`; `swizzle` if the bytes are not consecutive. The op refuses an address that is not aligned
    """
    value = place_of(x)
    if isinstance(value.type, TensorType):
        if not _permutes(value.type.swizzle):
            return value
        value = pointer(value, (as_value(0),))
    elif isinstance(value.type, Ptr) and value.type.align % align:
        value = _trusted(value, align)
    _together(value, align, align if bytes == 0 else bytes)
    return value


def place_of(x: Any) -> Value:
    """Return a pointer or a tensor as an operand, for instructions that do not access it."""
    if isinstance(x, Runtime) and isinstance(x.value.type, Ptr | TensorType):
        return x.value
    raise mistake(
        "address", f"an address is needed here, not {describe(x)}", help="write `t.at(i, j)`, or pass a tensor"
    )


def pointer(t: Value, coord: tuple[Value, ...]) -> Value:
    """Return the address of the element of tensor `t` at `coord`, with what is known of its alignment."""
    return _pointer(t, coord, alignment(t, tuple(map(known, coord))))


def alignment(t: Value, coord: tuple[Known, ...]) -> int:
    """Return the power of two, in bytes, that the address of an element is known to be a multiple of."""
    assert isinstance(t.type, TensorType)
    own, swizzle, at = t.type, t.type.swizzle, place(t, coord)
    least = max(own.align, own.elem.bytes)
    if not _permutes(swizzle):
        return _power_of_two(at.divisor, least)
    assert swizzle is not None
    if at.modulus % swizzle.size == 0:
        return _power_of_two(gcd(swizzle(at.rest), at.modulus), least)
    return min(_power_of_two(at.divisor, least), swizzle.fixed)


def place(t: Value, coord: tuple[Known, ...]) -> Known:
    """Return what is known of an element's address, before any swizzle."""
    assert isinstance(t.type, TensorType)
    layout = t.type.layout
    if len(coord) == rank(layout) or len(coord) == 1:
        return origin(t) + known(layout(*coord)) * t.type.elem.bytes
    return Known(0, gcd(t.type.align, t.type.elem.bytes))


def origin(t: Value) -> Known:
    """Return what is known of the address of a tensor's offset 0, before any swizzle."""
    op, own = t.op, t.type
    assert isinstance(own, TensorType)
    if isinstance(op, ops.cluster.Mapa):
        return origin(op.p)
    if isinstance(op, TensorView) and isinstance(op.t.type, TensorType):
        offset = Known(0, 0) if op.offset is None else known(op.offset)
        found = origin(op.t) + offset * op.t.type.elem.bytes
        if found.modulus >= own.align:
            return found
    return Known(0, own.align)


def _trusted(value: Value, align: int) -> Value:
    """Assume that a pointer is a multiple of `align` if that depends only on indices of which nothing is known."""
    op = value.op
    if isinstance(op, ops.cluster.Mapa):
        moved = _trusted(op.p, align)
        return value if moved is op.p else builder_here("an address").emit(ops.cluster.Mapa(moved, op.rank))
    if not isinstance(op, TensorPtr) or not isinstance(op.t.type, TensorType):
        return value
    t = op.t.type
    elements, layout, coord = align // t.elem.bytes, t.layout, tuple(map(known, op.coord))
    if elements < 1 or place(op.t, coord).excludes(align):
        return value
    modes = [layout] if len(coord) == 1 else [layout[i] for i in range(rank(layout))]
    hoped = tuple(
        Known(0, elements) if index.modulus and _neighbours(mode, elements) and not index.excludes(elements) else index
        for index, mode in zip(coord, modes, strict=True)
    )
    return _pointer(op.t, op.coord, align) if alignment(op.t, hoped) % align == 0 else value


def _neighbours(mode: Layout, elements: int) -> bool:
    """Tell whether `elements` indices, from a multiple of `elements` on, lead to neighbouring elements."""
    first = mode(0)
    return all(type(mode(i)) is int and mode(i) == first + i for i in range(elements))


def _together(value: Value, align: int, bytes: int | None) -> None:
    """Refuse an access to `bytes` bytes from a pointer on which a swizzle separates. Errors: `swizzle`."""
    op = value.op
    if isinstance(op, ops.cluster.Mapa):
        return _together(op.p, align, bytes)
    if not isinstance(op, TensorPtr) or not isinstance(op.t.type, TensorType):
        return None
    swizzle = op.t.type.swizzle
    if not _permutes(swizzle):
        return None
    assert swizzle is not None
    at, fixed = place(op.t, tuple(map(known, op.coord))), swizzle.fixed
    if bytes is not None:
        if at.modulus % swizzle.size == 0:
            starts = range(at.rest // fixed * fixed + fixed, at.rest + bytes, fixed)
            if all(swizzle(start) - swizzle(at.rest) == start - at.rest for start in starts):
                return None
        elif bytes <= align <= fixed or (at.modulus % fixed == 0 and at.rest % fixed + bytes <= fixed):
            return None
    many = "the bytes" if bytes is None else f"the {bytes} bytes"
    raise mistake(
        "swizzle",
        f"{many} from this address on are not those that follow in the tensor: its swizzle {swizzle} keeps {fixed}"
        " bytes together",
        "how many are copied is known at run time only" if bytes is None else "",
        (
            f"copy {min(fixed, 16)} bytes at a time, or take a TMA copy, which knows the swizzle",
            "to move bytes as they lie, give the memory without it: `cl.make_tensor(t.ptr, layout, dtype)`",
        ),
    )


def same_bytes(dst: Any, src: Any, bytes: int | None) -> bool:
    """Tell whether two tensors are swizzled alike, with `bytes` bytes from their beginnings permuted among themselves.

    Their bytes can then be copied in the order in which they lie.
    """
    to, of = place_of(dst), place_of(src)
    if bytes is None or not isinstance(to.type, TensorType) or not isinstance(of.type, TensorType):
        return False
    swizzle = to.type.swizzle
    if swizzle is None or not swizzle.bits or (of.type.swizzle, of.type.layout) != (swizzle, to.type.layout):
        return False
    span = 1 << swizzle.base + swizzle.bits if swizzle.shift > 0 else swizzle.size
    starts = [origin(to), origin(of)]
    alike = all(at.modulus % swizzle.size == 0 and at.rest % span == 0 for at in starts)
    return alike and starts[0].rest % swizzle.size == starts[1].rest % swizzle.size and bytes % span == 0


def _permutes(swizzle: Swizzle | None) -> bool:
    return swizzle is not None and swizzle.bits > 0


def _power_of_two(divisor: int, most: int) -> int:
    return gcd(divisor, most) if divisor else most


def _pointer(t: Value, coord: tuple[Value, ...], align: int) -> Value:
    return builder_here("an address").emit(TensorPtr(t, coord, align=align))  # type: ignore[no-any-return]
