"""Swizzles: permutations of an index that XOR some of its bits with others."""

from __future__ import annotations

from typing import Any

from cutelite.layout.dims import DimExpr
from cutelite.layout.errors import LayoutError
from cutelite.layout.facts import is_divisible, prove_lt
from cutelite.layout.frozen import Frozen


class Swizzle(Frozen):
    """The XOR of `bits` bits from position ``base + shift`` onto those from position `base`: CuTe's Swizzle<B, M, S>.

    bits   the number of bits (B)
    base   the number of low bits that stay (M)
    shift  distance between source and target bits (S); negative: the source lies below the target

    It is its own inverse.

    >>> Swizzle(3, 4, 3)
    S<3,4,3>
    >>> [Swizzle(2, 0, 2)(i) for i in range(8)]
    [0, 1, 2, 3, 5, 4, 7, 6]
    """

    __slots__ = ("bits", "base", "shift")  # noqa: RUF023 (their order is CuTe's)
    bits: int
    base: int
    shift: int

    def __init__(self, bits: int, base: int, shift: int) -> None:
        self.fill(bits, base, shift)
        if any(not isinstance(n, int) for n in (bits, base, shift)) or bits < 0 or base < 0:
            raise LayoutError("Swizzle", f"{self} needs two naturals and an int")
        if abs(shift) < bits:
            raise LayoutError("Swizzle", f"{self} needs a shift of {bits} or more, up or down", shift=shift)

    @property
    def source_mask(self) -> int:
        """The bits that are read."""
        return ((1 << self.bits) - 1) << (self.base + max(0, self.shift))

    @property
    def fixed(self) -> int:
        """The length of the aligned runs of indices that stay together and in order."""
        return 1 << self.base if self.bits else 1 << 62

    @property
    def size(self) -> int:
        """The number of indices after which its pattern repeats; it maps aligned blocks of as many onto themselves."""
        return 1 << (self.base + self.bits + abs(self.shift)) if self.bits else 1

    @property
    def reach(self) -> int:
        """The length of the smallest aligned blocks of indices that it maps onto themselves."""
        return 1 << (self.base + self.bits + max(0, -self.shift)) if self.bits else 1

    def after(self, other: Swizzle) -> Swizzle:
        """Return the swizzle that does `other` and then this one, if both have the same base and shift.

        >>> Swizzle(3, 4, 3).after(Swizzle(1, 4, 3)), Swizzle(2, 0, 4).after(Swizzle(2, 0, 4)).bits
        (S<2,5,3>, 0)
        """
        if not self.bits or not other.bits:
            return self if self.bits else other
        if (self.base, self.shift) != (other.base, other.shift):
            raise LayoutError("composition", f"{self} after {other} is no swizzle: base or shift differ")
        fewer, more = sorted((self.bits, other.bits))  # the bits that both move are back in place
        return Swizzle(more - fewer, self.base + fewer, self.shift)

    def __call__(self, index: Any) -> Any:
        """Return the index that it maps `index` to: an int, or a run-time value with ``& ^ >> <<``."""
        if not self.bits:
            return index
        if isinstance(index, DimExpr):
            return self._of_expression(index)
        source = index & self.source_mask
        return index ^ (source >> self.shift if self.shift > 0 else source << -self.shift)

    def _of_expression(self, index: DimExpr) -> DimExpr:
        if is_divisible(index, self.size) or prove_lt(index, self.source_mask & -self.source_mask):
            return index  # no source bit is set
        raise LayoutError(
            "Swizzle", f"{self} of {index} is known at launch only, unless it is a multiple of {self.size}", index=index
        )

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"
