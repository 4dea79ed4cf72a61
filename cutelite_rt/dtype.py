"""Element types as the runtime knows them: one row each, with the name every producer of arrays gives it."""

from __future__ import annotations

from typing import NamedTuple


class DType(NamedTuple):
    """One element type.

    code        how this package spells it: 'f32', 'bf16', 'e4m3', ...
    bytes       size of one element in memory
    numpy       `numpy.dtype(...).name`; the low-precision ones come from ml_dtypes
    torch       attribute of `torch`
    dlpack      (type code, bits) of a DLPack `DLDataType` with one lane
    tensormap   member of `CUtensorMapDataType`, without its prefix
    packs_as    `struct` format of a kernel parameter of this type
    """

    code: str
    bytes: int
    numpy: str | None
    torch: str | None
    dlpack: tuple[int, int] | None
    tensormap: str
    packs_as: str

    @property
    def kind(self) -> str:
        """'bool', 'int', 'uint' or 'float'."""
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
        DType("bool", 1, "bool", "bool", (6, 8), "UINT8", "?"),
        DType("i8", 1, "int8", "int8", (0, 8), "UINT8", "b"),
        DType("i16", 2, "int16", "int16", (0, 16), "UINT16", "h"),
        DType("i32", 4, "int32", "int32", (0, 32), "INT32", "i"),
        DType("i64", 8, "int64", "int64", (0, 64), "INT64", "q"),
        DType("u8", 1, "uint8", "uint8", (1, 8), "UINT8", "B"),
        DType("u16", 2, "uint16", "uint16", (1, 16), "UINT16", "H"),
        DType("u32", 4, "uint32", "uint32", (1, 32), "UINT32", "I"),
        DType("u64", 8, "uint64", "uint64", (1, 64), "UINT64", "Q"),
        DType("f16", 2, "float16", "float16", (2, 16), "FLOAT16", "e"),
        DType("bf16", 2, "bfloat16", "bfloat16", (4, 16), "BFLOAT16", "H"),
        DType("f32", 4, "float32", "float32", (2, 32), "FLOAT32", "f"),
        DType("f64", 8, "float64", "float64", (2, 64), "FLOAT64", "d"),
        # No producer has arrays of tf32: it is how a kernel reads f32.
        DType("tf32", 4, None, None, None, "TFLOAT32", "I"),
        DType("e4m3", 1, "float8_e4m3fn", "float8_e4m3fn", (10, 8), "UINT8", "B"),
        DType("e5m2", 1, "float8_e5m2", "float8_e5m2", (12, 8), "UINT8", "B"),
    )
}

BY_NUMPY = {row.numpy: row.code for row in DTYPES.values() if row.numpy}
BY_DLPACK = {row.dlpack: row.code for row in DTYPES.values() if row.dlpack}


def compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides of `shape` with no gaps, in elements.

    >>> compact_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))
