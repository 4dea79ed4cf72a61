"""Numbers as the simulator prints them, beside the C library's own printf: every flag, letter and edge of a type."""

import ctypes
import itertools
import math
import sys
from typing import Any

import pytest

from cutelite.ops.c_format import text_of

INTS = [0, 1, 8, -1, 100, 2**31 - 1, -(2**31)]
LONGS = [*INTS, 2**63 - 1, -(2**63)]
REALS = [
    *(0.0, -0.0, 1.5, -2.25, 0.1, 1e-3, 1e10, 65504.0, 3e38, 0.5, 2.5, 1e300, 5e-324, 9.999999, 99999.95, 123456.789),
    *(math.inf, -math.inf, math.nan, *map(float.fromhex, ("0x1.8p0", "0x1.fffffffffffffp1023", "0x1.28p3"))),
]
NUMBERS: dict[str, tuple[str, Any, list[Any]]] = {  # letters -> size, C's type, numbers
    "diouxX": ("", ctypes.c_int, INTS),
    "oxXdiu": ("ll", ctypes.c_longlong, LONGS),
    "c": ("", ctypes.c_int, [65, 200, 0x141]),
    "p": ("", ctypes.c_void_p, [0, 1, 0x7FFF1234]),
    "eEfFgGaA": ("", ctypes.c_double, REALS),
}
FLAGS = ["".join(chosen) for n in range(6) for chosen in itertools.combinations("-+ #0", n)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="compares with glibc")
@pytest.mark.parametrize("letters", NUMBERS)
def test_numbers_are_written_as_c_writes_them(letters: str) -> None:
    size, c_type, numbers = NUMBERS[letters]
    bits = 8 * ctypes.sizeof(c_type)
    library, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(1000)
    for flags, width, precision, letter in itertools.product(FLAGS, ("", "1", "12"), ("", ".0", ".1", ".14"), letters):
        if letter == "c" and precision:
            continue
        form = f"%{flags}{width}{precision}{size}{letter}"
        for number in numbers:
            taken = number % (1 << bits) if letter in "ouxXp" else number
            ours = text_of(flags, int(width or 0), int(precision[1:]) if precision else None, letter, taken)
            length = library.snprintf(buffer, ctypes.c_size_t(1000), form.encode(), c_type(number))
            assert ours == buffer.raw[:length].decode("latin1"), (form, number)
