"""Floats in the formats of their types, against NumPy and ml_dtypes."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutelite.ir.types import SCALARS, i32
from cutelite.lang.emit import emit as emit_here
from cutelite.lang.straight import evaluate
from cutelite.lower.constants import constant, float_bits
from cutelite.ops.arith import Const

FORMATS = {
    "f16": (np.float16, np.uint16),
    "bf16": (ml_dtypes.bfloat16, np.uint16),
    "f32": (np.float32, np.uint32),
    "f64": (np.float64, np.uint64),
    "e4m3": (ml_dtypes.float8_e4m3fn, np.uint8),
    "e5m2": (ml_dtypes.float8_e5m2, np.uint8),
}


@pytest.mark.parametrize("name", FORMATS)
@given(value=st.floats(allow_nan=False, width=32) | st.floats(-500, 500))
def test_rounds_to_nearest_even(name: str, value: float) -> None:
    dtype, bits = FORMATS[name]
    with np.errstate(all="ignore"):
        expected = int(np.array([value], np.float64).astype(dtype).view(bits)[0])
    assert float_bits(value, SCALARS[name]) == expected


@pytest.mark.parametrize("name", ["f16", "bf16", "e4m3", "e5m2"])
def test_every_number_of_a_small_format_is_itself(name: str) -> None:
    dtype, bits = FORMATS[name]
    numbers = np.arange(1 << 8 * np.dtype(bits).itemsize).astype(bits)
    with np.errstate(invalid="ignore"):
        values = numbers.view(dtype).astype(np.float64)
    for pattern, value in zip(numbers.tolist(), values.tolist(), strict=True):
        if value == value:
            assert float_bits(value, SCALARS[name]) == pattern


@pytest.mark.parametrize("name", ["f16", "bf16", "f32"])
def test_a_constant_is_the_number_that_the_simulator_has(name: str) -> None:
    """These are not halfway between two numbers of a format, but rounded to f32 first, they are."""
    for value in (1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-11 + 2.0**-40, 2.0**-25 + 2.0**-60, 65519.999999):
        (found,) = evaluate(lambda _, x=value: emit_here(Const(x, SCALARS[name])), (i32,), np.zeros(1, np.int32))
        assert float_bits(value, SCALARS[name]) == int(found.view(FORMATS[name][1]))


def test_as_llvm_writes_them() -> None:
    written = {("f16", 1.0): "0xH3C00", ("bf16", 1.0): "0xR3F80", ("f32", 0.1): "0x3FB99999A0000000"}
    written |= {("f64", 0.1): "0x3FB999999999999A", ("bool", True): "true", ("i8", -1): "-1", ("e4m3", 1.0): "56"}
    for (name, value), text in written.items():
        assert constant(value, SCALARS[name]) == text
