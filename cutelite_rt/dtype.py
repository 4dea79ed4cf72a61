"""Element types: one row for each, with its name or number in NumPy, torch, DLPack and the driver."""

from __future__ import annotations

import math
from typing import NamedTuple


class DType(NamedTuple):
    """One element type.

    code        the name in this package: 'f32', 'bf16', 'e4m3', ...
    bytes       size of one element in memory
    numpy       `numpy.dtype(...).name`, for low-precision types that of ml_dtypes; also the attribute of `torch`
    torch       torch's number (c10/core/ScalarType.h), which its stable C functions use too
    dlpack      (type code, bits) of a DLPack `DLDataType` with one lane
    tensormap   value of `CUtensorMapDataType` (cuda.h)
    packs_as    `struct` format of a kernel parameter of this type
    """

    code: str
    bytes: int
    numpy: str | None
    torch: int | None
    dlpack: tuple[int, int] | None
    tensormap: int
    packs_as: str

    @property
    def kind(self) -> str:
        """One of 'bool', 'int', 'uint', 'float'."""
        if self.code == "bool":
            return "bool"
        return {"i": "int", "u": "uint"}.get(self.code[0], "float")

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and largest integer of an integer type."""
        bits = 8 * self.bytes
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if self.kind == "int" else (0, (1 << bits) - 1)


DTYPES = {
    row.code: row
    for row in (
        DType("bool", 1, "bool", 11, (6, 8), 0, "?"),
        DType("i8", 1, "int8", 1, (0, 8), 0, "b"),
        DType("i16", 2, "int16", 2, (0, 16), 1, "h"),
        DType("i32", 4, "int32", 3, (0, 32), 3, "i"),
        DType("i64", 8, "int64", 4, (0, 64), 5, "q"),
        DType("u8", 1, "uint8", 0, (1, 8), 0, "B"),
        DType("u16", 2, "uint16", 27, (1, 16), 1, "H"),
        DType("u32", 4, "uint32", 28, (1, 32), 2, "I"),
        DType("u64", 8, "uint64", 29, (1, 64), 4, "Q"),
        DType("f16", 2, "float16", 5, (2, 16), 6, "e"),
        DType("bf16", 2, "bfloat16", 15, (4, 16), 9, "H"),
        DType("f32", 4, "float32", 6, (2, 32), 7, "f"),
        DType("f64", 8, "float64", 7, (2, 64), 8, "d"),
        # No library has arrays of tf32: a kernel reads f32 arrays as tf32.
        DType("tf32", 4, None, None, None, 11, "I"),
        DType("e4m3", 1, "float8_e4m3fn", 24, (10, 8), 0, "B"),
        DType("e5m2", 1, "float8_e5m2", 23, (12, 8), 0, "B"),
    )
}

BY_NUMPY = {row.numpy: row.code for row in DTYPES.values() if row.numpy}
BY_DLPACK = {row.dlpack: row.code for row in DTYPES.values() if row.dlpack}


def compact_strides(shape: tuple[int, ...], order: str = "row") -> tuple[int, ...]:
    """Return the strides of `shape` without gaps, in elements, in 'row' or 'col' major order.

    >>> compact_strides((2, 3, 4))
    (12, 4, 1)
    """
    if order == "col":
        return compact_strides(shape[::-1])[::-1]
    return tuple(math.prod(shape[i:]) for i in range(1, len(shape) + 1))
