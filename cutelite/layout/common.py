"""Common elements of two layouts: those that are contiguous in both, and the widest accesses of a copy."""

from __future__ import annotations

from math import gcd
from typing import Any

from cutelite.layout import exact
from cutelite.layout.compose import composition
from cutelite.layout.dims import Int
from cutelite.layout.divide import logical_divide
from cutelite.layout.errors import LayoutError
from cutelite.layout.f2 import has_f2
from cutelite.layout.facts import is_divisible, known_divisor, prove_le, prove_lt
from cutelite.layout.frozen import Frozen
from cutelite.layout.inttuple import flatten_to_tuple, is_static
from cutelite.layout.inverses import right_inverse
from cutelite.layout.layout import ComposedLayout, Layout, has_bases, raw
from cutelite.layout.modes import coalesce_modes, from_modes, is_one, merged
from cutelite.layout.swizzle import Swizzle


def max_common_layout(a: Any, b: Any) -> Layout:
    """Return the largest layout R with a(R(i)) == i == b(R(i)): elements contiguous, and in one order, in both.

    In a swizzled layout, elements count as contiguous as far as the swizzle keeps them together.

    >>> max_common_layout(Layout((4, 8)), Layout((4, 8), (1, 16)))
    4:1
    """
    limits = [_fixed_by_swizzle(layout) for layout in (a, b) if isinstance(layout, ComposedLayout)]
    a = a.outer if isinstance(a, ComposedLayout) else a
    b = b.outer if isinstance(b, ComposedLayout) else b
    for layout in (a, b):
        if has_bases(layout):
            raise LayoutError("max_common_layout", f"{layout} gives coordinates, not offsets")
    best = raw(1, 0)
    if has_f2((*flatten_to_tuple(a.stride), *flatten_to_tuple(b.stride))):
        best = _common_by_values(a, b)
    else:
        for inverse, other in ((right_inverse(a), b), (right_inverse(b), a)):
            common = _common_prefix(inverse, other)
            if not prove_le(common.size, best.size):
                best = common
    return _first(best, min(limits)) if limits else best


def _common_by_values(a: Layout, b: Layout) -> Layout:
    """Return `max_common_layout` of two layouts of which one is added by XOR."""
    if (
        not is_static((a.size, b.size))
        or not is_static(a)
        or not is_static(b)
        or min(a.size, b.size) > exact.MAX_POINTS
    ):
        raise LayoutError(
            "max_common_layout", f"one of {a} and {b} is added by XOR: both must be known, and not too large"
        )
    pairs = [(a(i), b(i)) for i in range(int(min(a.size, b.size)))]
    return coalesce_modes(from_modes(exact.longest_inverse([x if x == y else -1 for x, y in pairs])))


def _fixed_by_swizzle(layout: ComposedLayout) -> int:
    if isinstance(layout.inner, Swizzle) and isinstance(layout.outer, Layout):
        return layout.inner.fixed
    raise LayoutError("max_common_layout", f"{layout} is not a swizzle of a layout")


def _first(layout: Layout, limit: int) -> Layout:
    """Return the first elements of a layout: as many as the limit and its modes allow."""
    modes: list[tuple[Any, Any]] = []
    for s, d in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        count = limit if prove_le(limit, s) else s if isinstance(s, int) else gcd(known_divisor(s), limit)
        modes.append((count, d))
        limit //= count
        if not (isinstance(s, int) and count == s) or limit <= 1:
            break
    return coalesce_modes(from_modes(modes))


def _common_prefix(inverse: Layout, other: Layout) -> Layout:
    """Return the first modes of a right inverse of one layout that the other layout maps to 0, 1, 2, ... too."""
    modes: list[tuple[Any, Any]] = []
    current: Int = 1
    reach: Int = 0
    for s, d in zip(flatten_to_tuple(inverse.shape), flatten_to_tuple(inverse.stride), strict=True):
        count = _within(other.size, reach, _continues(other, s, d, current), d)
        longer = [*modes, (count, d)]
        if is_one(count) or not _is_identity(other, from_modes(longer)):
            break
        modes = longer
        current = current * count
        reach = reach + (count - 1) * d
        if count != s:
            break
    return coalesce_modes(from_modes(modes))


def _within(size: Int, reach: Int, count: Int, step: Int) -> Int:
    """Return the number of `count` steps beyond `reach` that provably stay below `size`."""
    if prove_lt(reach + (count - 1) * step, size):
        return count
    if is_static((size, reach, count, step)):
        return (size - 1 - reach) // step + 1
    count = gcd(known_divisor(count), known_divisor(size))
    return count if prove_lt(reach + (count - 1) * step, size) else 1


def _continues(other: Layout, s: Int, d: Int, current: Int) -> Int:
    """Return the number of c below s with other(c * d) == c * current."""
    try:
        steps = coalesce_modes(composition(other, Layout(s, d)))
    except LayoutError:
        shapes, strides = merged(other)
        if not is_static((tuple(shapes), tuple(strides), s, d)):
            return 1
        count = 1
        assert isinstance(s, int)
        assert isinstance(d, int)
        while count < s and exact.at(count * d, shapes, strides) == count * current:
            count += 1
        return count
    first, stride = flatten_to_tuple(steps.shape)[0], flatten_to_tuple(steps.stride)[0]
    return first if stride == current else 1


def _is_identity(layout: Layout, inverse: Layout) -> bool:
    try:
        return bool(coalesce_modes(composition(layout, inverse)) == Layout(inverse.size))
    except LayoutError:
        return False


def max_common_vector(a: Any, b: Any) -> Int:
    """Return the number of elements that are contiguous, and in the same order, in the layouts `a` and `b`.

    >>> max_common_vector(Layout((4, 8)), Layout((4, 8), (1, 16)))
    4
    """
    return max_common_layout(a, b).size


class CopyVector(Frozen):
    """The widest accesses that a copy may make, and the reason why they are not wider.

    elements  the number of elements of an access
    bits      the number of bits of an access
    layout    the first access: position in the access -> index in both layouts
    limit     the reason why an access does not have twice as many elements
    """

    __slots__ = ("elements", "bits", "layout", "limit")  # noqa: RUF023 (what matters most comes first)
    elements: int
    bits: int
    layout: Layout
    limit: str

    def __str__(self) -> str:
        return f"{self.elements} elements, {self.bits} bits: {self.limit}"


def copy_vector(
    src: Any, dst: Any, bits: int, *, src_align: int = 16, dst_align: int = 16, max_bits: int = 128
) -> CopyVector:
    """Return the widest access with which all of `src` can be copied to `dst`, element i to element i.

    src, dst              layouts of one size; they may be swizzled, and over dims: divisibility decides
    bits                  bits of an element
    src_align, dst_align  the known alignment of the address of element 0, in bytes
    max_bits              the most bits of an access

    >>> from cutelite.layout import dims, row_major
    >>> M, K = dims("M K:8")
    >>> print(copy_vector(row_major((M, K)), row_major((M, K)), 16))
    8 elements, 128 bits: wider than 128 bits is not allowed
    >>> print(copy_vector(Layout((8, 64), (68, 1)), row_major((8, 64)), 16))
    4 elements, 64 bits: stride 68 of src is not known to be a multiple of 8
    """
    if src.size != dst.size:
        raise LayoutError(
            "copy_vector", f"{src} has {src.size} elements, {dst} has {dst.size}", sizes=(src.size, dst.size)
        )
    common = max_common_layout(*(x.outer if isinstance(x, ComposedLayout) else x for x in (src, dst)))
    limit, elements, vector = "", 1, raw(1, 0)
    while not limit:
        wider = elements * 2
        candidate, limit = _vector(common, wider)
        for name, layout, align in (("src", src, src_align), ("dst", dst, dst_align)):
            limit = limit or _obstacle(name, layout, candidate, wider, bits, align)
        if wider * bits > max_bits:
            limit = f"wider than {max_bits} bits is not allowed"
        if not limit:
            elements, vector = wider, candidate
    return CopyVector(elements, elements * bits, vector, limit)


def _vector(common: Layout, elements: int) -> tuple[Layout, str]:
    """Return the first `elements` that are contiguous in both, and the reason if there are fewer."""
    first = _first(common, elements)
    if first.size == elements:
        return first, ""
    if isinstance(common.size, int):
        return first, f"only {common.size} elements are contiguous, and in the same order, in both"
    return first, f"{common.size} elements are contiguous in both, which is not known to be a multiple of {elements}"


def _obstacle(name: str, layout: Any, vector: Layout, elements: int, bits: int, align: int) -> str:
    """Return the reason why `layout` cannot be accessed by such vectors throughout; "" when it can."""
    if elements * bits // 8 > align or align % (elements * bits // 8 or 1):
        return f"{name} is aligned to {align} bytes"
    if isinstance(layout, ComposedLayout):
        if elements > _fixed_by_swizzle(layout):
            return f"{layout.inner} of {name} keeps {_fixed_by_swizzle(layout)} elements together"
        if not is_divisible(layout.offset, elements):
            return f"offset {layout.offset} of {name} is not known to be a multiple of {elements}"
        layout = layout.outer
    if not is_divisible(layout.size, elements):
        return f"the size {layout.size} is not known to be a multiple of {elements}"
    try:
        rest = logical_divide(layout, vector)[1]
    except LayoutError as error:
        return f"{name} does not divide into vectors of {elements}: {error.message}"
    for s, d in zip(flatten_to_tuple(rest.shape), flatten_to_tuple(rest.stride), strict=True):
        if not is_one(s) and not is_divisible(d, elements):
            return f"stride {d} of {name} is not known to be a multiple of {elements}"
    return ""
