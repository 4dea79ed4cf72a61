"""XOR strides: vectors of bits, so that a swizzled layout is one layout of shape and stride.

The strides of a layout may come from any semimodule over the integers. In F2 an element is a natural read as a
polynomial over {0, 1}: addition is XOR, and ``n * F2(v)`` the product without carries. A layout whose sizes are powers
of two maps bits of the coordinate to vectors of bits; its inverse and complement are then linear algebra over {0, 1},
done here by elimination.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cutelite.layout.dims import DimExpr
from cutelite.layout.errors import LayoutError
from cutelite.layout.frozen import Frozen


class F2(Frozen):
    """A stride that is added by XOR, written ``^9``.

    >>> F2(9) + F2(1), 3 * F2(5), F2(1) * 6
    (^8, ^15, ^6)
    """

    __slots__ = ("value",)
    value: int

    def __init__(self, value: int) -> None:
        if not isinstance(value, int) or value < 0:
            raise LayoutError("F2", f"{value!r} is no natural")
        self.fill(value)

    def __add__(self, other: Any) -> F2:
        if isinstance(other, F2):
            return F2(self.value ^ other.value)
        return self if isinstance(other, int) and other == 0 else NotImplemented

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Any:
        """Multiply by a natural, or by a run-time value: shift that by each bit of this, and XOR the results."""
        if isinstance(factor, DimExpr) or (isinstance(factor, int) and factor < 0):
            raise LayoutError("F2", f"{self} is added by XOR, which takes the bits of a natural, not {factor}")
        if isinstance(factor, int):
            return F2(carryless(factor, self.value))
        if not hasattr(factor, "__xor__"):
            return NotImplemented
        result: Any = None
        for bit in range(self.value.bit_length()):
            if self.value >> bit & 1:
                term = factor * (1 << bit) if bit else factor
                result = term if result is None else result ^ term
        return result

    __rmul__ = __mul__

    def __str__(self) -> str:
        return f"^{self.value}"


def carryless(a: int, b: int) -> int:
    """Return the product of naturals read as polynomials over {0, 1}."""
    total = 0
    while a:
        if a & 1:
            total ^= b
        a, b = a >> 1, b << 1
    return total


def uniform(strides: Sequence[Any]) -> list[Any]:
    """Return the strides, with integers beside XOR strides made XOR strides; 0 stays 0."""
    if not has_f2(strides):
        return list(strides)
    result: list[Any] = []
    for d in strides:
        if not isinstance(d, (int, F2)):
            raise LayoutError("Layout", f"stride {d} does not go with strides that are added by XOR")
        value = d if isinstance(d, int) else d.value
        result.append(F2(value) if value else 0)
    return result


def has_f2(strides: Sequence[Any]) -> bool:
    """Tell whether a layout of those strides adds by XOR."""
    return F2 in map(type, strides)  # in C, for speed: every composition asks this


def columns(function: str, shapes: Sequence[Any], strides: Sequence[Any], spanned: bool = False) -> list[int]:
    """Return the contribution of each bit of the index; the sizes must be powers of two.

    spanned  round sizes up to powers of two; that keeps the differences of values, and so whether values repeat
    """
    found: list[int] = []
    for s, d in zip(shapes, strides, strict=True):
        if not isinstance(s, int) or (s & (s - 1) and not spanned):
            raise LayoutError(function, f"size {s} of a layout added by XOR is no power of two", extent=s)
        value = d.value if isinstance(d, F2) else d
        if not isinstance(value, int) or value < 0:
            raise LayoutError(function, f"stride {d} of a layout added by XOR is no natural", stride=d)
        found += [value << bit for bit in range((s - 1).bit_length())]
    return found


def right_inverse_columns(matrix: Sequence[int]) -> list[int]:
    """Return, for unit vectors 1, 2, 4, ... as far as they are in the span, the mask of columns that sum to each."""
    reduced = _echelon(matrix)
    result: list[int] = []
    while True:
        mask = _express(reduced, 1 << len(result))
        if mask is None:
            return result
        result.append(mask)


def left_inverse_columns(matrix: Sequence[int]) -> list[int]:
    """Return each value bit's contribution to the index: the map back from the values of independent columns."""
    extra = complement_columns("left_inverse", matrix)
    bits = max((value.bit_length() for value in matrix), default=0)
    reduced = _echelon([*matrix, *extra])
    keep = (1 << len(matrix)) - 1
    found = [_express(reduced, 1 << bit) for bit in range(bits)]
    return [(mask or 0) & keep for mask in found]


def complement_columns(function: str, matrix: Sequence[int], bits: int = 0) -> list[int]:
    """Return the unit vectors that, least first, complete independent columns to all values below 2**bits."""
    reduced = _echelon(matrix)
    if len(reduced) < sum(1 for value in matrix if value):
        raise LayoutError(function, "values of a layout added by XOR repeat")
    bits = max([bits, *(value.bit_length() for value in matrix)])
    result: list[int] = []
    for bit in range(bits):
        if _express(reduced, 1 << bit) is None:
            result.append(1 << bit)
            reduced = _echelon([*matrix, *result])
    return result


def _echelon(matrix: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Return: highest bit -> (a combination of columns with that highest bit, the mask of these columns)."""
    reduced: dict[int, tuple[int, int]] = {}
    for index, value in enumerate(matrix):
        mask = 1 << index
        while value and value.bit_length() in reduced:
            other, chosen = reduced[value.bit_length()]
            value, mask = value ^ other, mask ^ chosen
        if value:
            reduced[value.bit_length()] = value, mask
    return reduced


def _express(reduced: dict[int, tuple[int, int]], target: int) -> int | None:
    """Return the columns whose sum is `target`, as a mask; None when it is not in their span."""
    mask = 0
    while target:
        if target.bit_length() not in reduced:
            return None
        value, chosen = reduced[target.bit_length()]
        target, mask = target ^ value, mask ^ chosen
    return mask
