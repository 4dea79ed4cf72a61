"""Kernel parameters as bytes."""

from __future__ import annotations

import ctypes
import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutelite_rt.gpu.params import KINDS, ParameterLayout, Parameters, float_code

if TYPE_CHECKING:
    from tests.rt.conftest import Samples

FORMATS = {"bf16": (8, 7, True), "f16": (5, 10, True), "e5m2": (5, 2, True), "e4m3": (4, 3, False)}


def value_of(code: int, exponent_bits: int, mantissa_bits: int, infinite: bool) -> float:
    """What a code of a small float format stands for, by the definition."""
    exponent = code >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = code & (1 << mantissa_bits) - 1
    sign = -1.0 if code >> (exponent_bits + mantissa_bits) else 1.0
    bias = (1 << exponent_bits - 1) - 1
    if exponent == (1 << exponent_bits) - 1 and (infinite or mantissa == (1 << mantissa_bits) - 1):
        return sign * math.inf if infinite and not mantissa else math.nan
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)


@pytest.mark.parametrize("name", FORMATS)
def test_every_code_comes_back(name: str) -> None:
    exponent_bits, mantissa_bits, infinite = FORMATS[name]
    for code in range(1 << (1 + exponent_bits + mantissa_bits)):
        value = value_of(code, *FORMATS[name])
        back = float_code(value, exponent_bits, mantissa_bits, infinite)
        if math.isnan(value):
            assert math.isnan(value_of(back, *FORMATS[name]))
        else:
            assert back == code


@pytest.mark.parametrize("name", ["e5m2", "e4m3", "bf16", "f16"])
def test_between_two_codes_the_nearer_wins_and_ties_go_to_even(name: str) -> None:
    exponent_bits, mantissa_bits, infinite = FORMATS[name]
    codes = range(0, (1 << (exponent_bits + mantissa_bits)) - 1, 1 if mantissa_bits < 4 else 37)
    for code in codes:
        low, high = value_of(code, *FORMATS[name]), value_of(code + 1, *FORMATS[name])
        if not math.isfinite(high):
            continue
        middle = (low + high) / 2  # exact in f64
        even = code if code % 2 == 0 else code + 1
        around = (math.nextafter(middle, 0), code), (middle, even), (math.nextafter(middle, math.inf), code + 1)
        for value, expected in around:
            assert float_code(value, exponent_bits, mantissa_bits, infinite) == expected


@given(st.floats(width=64))
def test_f16_agrees_with_python(value: float) -> None:
    try:
        expected = struct.unpack("<H", struct.pack("<e", value))[0]
    except OverflowError:
        with pytest.raises(OverflowError):
            float_code(value, 5, 10)
        return
    if not math.isnan(value):
        assert float_code(value, 5, 10) == expected


@pytest.mark.parametrize(("name", "largest"), [("bf16", 3.3895313892515355e38), ("e5m2", 57344.0), ("e4m3", 448.0)])
def test_beyond_the_largest(name: str, largest: float) -> None:
    exponent_bits, mantissa_bits, infinite = FORMATS[name]
    step = largest - value_of(float_code(largest, exponent_bits, mantissa_bits, infinite) - 1, *FORMATS[name])
    just_below = math.nextafter(largest + step / 2, 0)
    assert value_of(float_code(just_below, exponent_bits, mantissa_bits, infinite), *FORMATS[name]) == largest
    with pytest.raises(OverflowError, match="out of range"):
        float_code(math.nextafter(largest + step / 2, math.inf), exponent_bits, mantissa_bits, infinite)


def test_e4m3_has_no_infinity() -> None:
    with pytest.raises(OverflowError, match="no infinity"):
        float_code(-math.inf, 4, 3, infinite=False)


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_of_each_kind(kind: str, samples: Samples) -> None:
    value, expected = samples[kind]
    assert ParameterLayout([kind]).pack([value]).data() == expected


@given(kinds=st.lists(st.sampled_from(sorted(KINDS)), max_size=24))
def test_each_parameter_is_where_its_pointer_says(kinds: list[str], samples: Samples) -> None:
    layout = ParameterLayout(kinds)
    packed = layout.pack([samples[kind][0] for kind in kinds])
    data = packed.data()
    assert len(data) == layout.size
    pointers = (ctypes.c_void_p * len(kinds)).from_address(packed.address)
    end = 0
    for kind, offset, pointer in zip(kinds, layout.offsets, pointers, strict=True):
        size, alignment, _ = KINDS[kind]
        assert offset % alignment == 0
        assert pointer % alignment == 0
        assert offset - end < alignment  # no gap but for alignment
        assert ctypes.string_at(pointer, size) == data[offset : offset + size] == samples[kind][1]
        end = offset + size
    assert end == layout.size


def test_numpy_scalars() -> None:
    layout = ParameterLayout(["i32", "f32", "bool", "bf16", "u8"])
    mixed = layout.pack([np.int64(-7), np.float16(0.5), np.bool_(True), np.float64(2.0), np.uint8(9)])
    assert mixed.data() == layout.pack([-7, 0.5, True, 2.0, 9]).data()


def test_parameters_are_written_again() -> None:
    layout = ParameterLayout(["i32", "f32"])
    parameters = Parameters(layout)
    address = parameters.address
    parameters.write([1, 2.0])
    parameters.write((3, 4.0))
    assert parameters.address == address
    assert parameters.data() == struct.pack("<if", 3, 4.0)


def test_no_parameters() -> None:
    assert ParameterLayout([]).pack([]).data() == b""


@pytest.mark.parametrize(
    ("kind", "value", "error"),
    [
        ("i32", 2**31, ValueError),
        ("u8", -1, ValueError),
        ("i32", 1.5, ValueError),
        ("f32", "1", ValueError),
        ("f32", 1e39, ValueError),
        ("f16", 65520.0, ValueError),
        ("bf16", 1e39, ValueError),
        ("bf16", "x", TypeError),
        ("e4m3", 465.0, ValueError),
        ("e4m3", math.inf, ValueError),
        ("bool", "yes", ValueError),
        ("ptr", None, ValueError),
        ("tensormap", b"short", TypeError),
        ("tensormap", "x" * 128, TypeError),
    ],
)
def test_a_value_that_does_not_fit_is_named(kind: str, value: Any, error: type[Exception]) -> None:
    layout = ParameterLayout(["bf16", "i32", kind, "f32"])
    with pytest.raises(error, match=f"^parameter 2 is {kind}, and .* does not fit: "):
        layout.pack([1.0, 2, value, 3.0])


@pytest.mark.parametrize("values", [[], [1], [1, 2.0, 3]])
def test_a_wrong_number_of_values(values: list[Any]) -> None:
    with pytest.raises(TypeError, match=f"the kernel has 2 parameters, and {len(values)} values came"):
        ParameterLayout(["i32", "bf16"]).pack(values)
