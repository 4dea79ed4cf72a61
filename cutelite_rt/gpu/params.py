"""Kernel parameters as bytes, which cuLaunchKernelEx copies into a kernel's parameter space.

In: the kinds of a kernel's parameters and one value for each. Out: a buffer, laid out as PTX lays out `.param` space,
and an array of pointers into it, one for each parameter of the machine code. The compiled launcher writes the same
bytes at the same `ParameterLayout.offsets`.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cutelite_rt.dtype import DTYPES

TENSORMAP_BYTES = 128
# CUDA 12 aligns CUtensorMap to 64 bytes and CUDA 13 to 128 on the host; parameter space needs 64 (PTX ISA, tensormap).
_HOST_ALIGNMENT = 128

CONTINUED = "+"
"""Stands before the kind of a parameter that is one with that before it."""

# kind -> (bytes, alignment, `struct` format)
KINDS = {
    **{code: (row.bytes, row.bytes, row.packs_as) for code, row in DTYPES.items()},
    "ptr": (8, 8, "Q"),
    "tensormap": (TENSORMAP_BYTES, 64, f"{TENSORMAP_BYTES}s"),
}


def float_code(value: float, exponent_bits: int, mantissa_bits: int, infinite: bool = True) -> int:
    """Return the bits of the nearest value (ties to even) in a float format: sign, exponent, mantissa from the top.

    Without `infinite` the format is like e4m3: it has no infinities, and all ones is its only NaN.
    Errors: OverflowError for a value that rounds beyond the largest finite one, and for an infinity in such a format.

    >>> hex(float_code(1.0, 8, 7)), hex(float_code(448.0, 4, 3, infinite=False))
    ('0x3f80', '0x7e')
    """
    bits = exponent_bits + mantissa_bits
    sign = (math.copysign(1.0, value) < 0) << bits
    ones = (1 << bits) - 1
    beyond = (ones >> mantissa_bits) << mantissa_bits if infinite else ones  # first code that is not finite
    if math.isnan(value):
        return sign | (beyond | 1 << (mantissa_bits - 1) if infinite else ones)
    if math.isinf(value) and infinite:
        return sign | beyond
    if math.isinf(value):
        raise OverflowError("has no infinity")
    least = 2 - (1 << (exponent_bits - 1))  # exponent of the smallest normal number
    exponent = max(math.frexp(value)[1] - 1, least) if value else least
    # In units of the last place; a carry out of the mantissa raises the exponent by itself.
    magnitude = round(math.ldexp(abs(value), mantissa_bits - exponent))
    code = ((exponent - least) << mantissa_bits) + magnitude
    if code >= beyond:
        raise OverflowError("is out of range")
    return sign | code


def _truth(value: Any) -> bool:
    if value in (0, 1):
        return bool(value)
    raise ValueError("is neither true nor false")


def _tensormap(value: Any) -> bytes:
    if isinstance(value, bytes) and len(value) == TENSORMAP_BYTES:
        return value
    raise TypeError(f"is not a tensor map of {TENSORMAP_BYTES} bytes")


# The conversion of a value before `struct` packs it.
_ENCODERS: dict[str, Callable[[Any], Any]] = {
    "bool": _truth,
    "bf16": partial(float_code, exponent_bits=8, mantissa_bits=7),
    "e4m3": partial(float_code, exponent_bits=4, mantissa_bits=3, infinite=False),
    "e5m2": partial(float_code, exponent_bits=5, mantissa_bits=2),
    "tf32": lambda value: float_code(value, 8, 10) << 13,
    "tensormap": _tensormap,
}


class ParameterLayout:
    """The offsets of a kernel's parameters.

    kinds      for each parameter a dtype code, 'ptr' (a device address) or 'tensormap' (128 bytes)
    offsets    in bytes; each parameter is aligned to its own size (a tensor map to 64)
    starts     the offsets of those that the machine code has; '+' before a kind says that it has it and the one before
               as one, an array
    size       of all parameters, in bytes
    """

    def __init__(self, given: Sequence[str]) -> None:
        self.kinds = tuple(kind.removeprefix(CONTINUED) for kind in given)
        offsets = []
        layout = "<"
        end = 0
        for kind in self.kinds:
            size, alignment, packs_as = KINDS[kind]
            offset = -(-end // alignment) * alignment
            layout += f"{offset - end}x{packs_as}"
            offsets.append(offset)
            end = offset + size
        self.offsets = tuple(offsets)
        self.starts = tuple(at for at, kind in zip(offsets, given, strict=True) if not kind.startswith(CONTINUED))
        self.size = end
        self._struct = struct.Struct(layout)
        self._encoders = [(i, _ENCODERS[kind]) for i, kind in enumerate(self.kinds) if kind in _ENCODERS]

    def pack(self, values: Sequence[Any]) -> Parameters:
        """Return `values` in a new buffer. Errors: as `Parameters.write`."""
        parameters = Parameters(self)
        parameters.write(values)
        return parameters

    def _write(self, buffer: Any, start: int, values: Sequence[Any]) -> None:
        encoded = values
        try:
            if self._encoders:
                encoded = list(values)
                for i, encode in self._encoders:
                    encoded[i] = encode(encoded[i])
            self._struct.pack_into(buffer, start, *encoded)
        except (struct.error, ValueError, TypeError, OverflowError, IndexError) as problem:
            raise self._explain(values, problem) from problem

    def _explain(self, values: Sequence[Any], problem: Exception) -> Exception:
        """Return an exception that names the parameter which could not be packed."""
        if len(values) != len(self.kinds):
            return TypeError(f"the kernel has {len(self.kinds)} parameters, and {len(values)} values came")
        for i, (kind, value) in enumerate(zip(self.kinds, values, strict=True)):
            try:
                struct.pack("<" + KINDS[kind][2], _ENCODERS.get(kind, lambda same: same)(value))
            except (struct.error, ValueError, TypeError, OverflowError) as reason:
                error = TypeError if isinstance(reason, TypeError) else ValueError
                return error(f"parameter {i} is {kind}, and {value!r} does not fit: {reason}")
        return problem if isinstance(problem, TypeError) else ValueError(str(problem))


class Parameters:
    """The parameters of one launch: a buffer and pointers into it. It is reusable, by one thread at a time.

    places   addresses of the parameters
    address  address of the array of pointers to them
    """

    def __init__(self, layout: ParameterLayout) -> None:
        self.layout = layout
        self._storage = (ctypes.c_char * (layout.size + _HOST_ALIGNMENT))()
        address = ctypes.addressof(self._storage)
        self._start = -address % _HOST_ALIGNMENT
        self._base = base = address + self._start
        self.places = tuple(base + offset for offset in layout.offsets)
        self._pointers = (ctypes.c_void_p * len(layout.starts))(*(base + start for start in layout.starts))
        self.address = ctypes.addressof(self._pointers)

    def write(self, values: Sequence[Any]) -> None:
        """Replace the parameters by `values`.

        Errors: TypeError for a wrong number or kind of values, ValueError for a value out of its type's range; both
        texts have the parameter's number.
        """
        self.layout._write(self._storage, self._start, values)

    def data(self) -> bytes:
        """Return the packed bytes; padding is zero."""
        return ctypes.string_at(self._base, self.layout.size)
