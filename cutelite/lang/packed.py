"""Formats of which a word holds several numbers: names for `cl.pack` and `cl.unpack`, and the instructions on pairs."""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import f32, u16
from cutelite.lang.emit import emit
from cutelite.lang.promotion import as_value
from cutelite.ops import narrow
from cutelite.records import dataclass


@dataclass(frozen=True)
class Packed:
    """A format of which a 32-bit word holds several numbers, the first one lowest. Tensors have elements of u32.

    place      bits that each number takes in a word: 1, 4 or 8
    exponents  bits of the exponent; 0 for integers
    stored     bits of the significand, or of the integer
    signed     whether there is a sign
    """

    name: str
    place: int
    exponents: int
    stored: int
    signed: bool = True

    def described(self) -> str:
        return f"the packed format {self.name}"

    @property
    def per_word(self) -> int:
        """The numbers in a 32-bit word."""
        return 32 // self.place

    @property
    def bias(self) -> int:
        """The bias of the exponent."""
        return (1 << self.exponents - 1) - 1

    @property
    def largest(self) -> float:
        """The largest number."""
        top = (1 << self.exponents) - 1 - self.bias
        if self.exponents == 4:  # whose largest significand is NaN
            return float((2 - 2.0 ** (1 - self.stored)) * 2.0**top)
        return float((2 - 2.0**-self.stored) * 2.0**top)

    def __repr__(self) -> str:
        return self.name


i4 = Packed("i4", 4, 0, 4)
u4 = Packed("u4", 4, 0, 4, signed=False)
b1 = Packed("b1", 1, 0, 1, signed=False)
e2m1 = Packed("e2m1", 4, 2, 1)
e2m3 = Packed("e2m3", 8, 2, 3)
e3m2 = Packed("e3m2", 8, 3, 2)
e8m0 = Packed("e8m0", 8, 8, 0, signed=False)
ue4m3 = Packed("ue4m3", 8, 4, 3, signed=False)


def unpack_pair(a: Any, kind: Packed) -> Any:
    """Return the two numbers in a u16 as a vector of f16, by the instruction (`cvt.rn.f16x2.e2m1x2` and its like)."""
    return emit(narrow.CvtUnpack(as_value(a, u16), kind.name))


def pack_pair(low: Any, high: Any, kind: Packed) -> Any:
    """Return two f32 as numbers of the format in a u16, by the instruction (`cvt.rn.satfinite.e2m1x2.f32`)."""
    return emit(narrow.CvtPack(as_value(low, f32), as_value(high, f32), kind.name))
