"""Conversions to formats of 8 and 16 bits against all their numbers; ways of several steps; bits kept."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import (
    SCALARS,
    Scalar,
    Type,
    Vec,
    bf16,
    e4m3,
    e5m2,
    elem_of,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    tf32,
    u8,
    u16,
    u32,
    u64,
)
from cutelite.lang.convert import bitcast, convert
from cutelite.lang.promotion import to_dtype
from cutelite.ops.arith import VecMake
from cutelite.ops.convert import Convert, modes, steps
from tests.ops.straight import emit_here, evaluate

INTS = (i8, i16, i32, i64, u8, u16, u32, u64)
SMALL = (f16, bf16, e4m3, e5m2)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NaN and infinities are what is tested
RANDOM = np.random.default_rng(0)


def converted(a: Any, source: Scalar, to: Scalar, rounding: str = "", saturate: bool = False) -> Any:
    return evaluate(lambda x: emit_here(Convert(x.value, to, rounding, saturate)), (source,), a)


def floats(t: Scalar) -> Any:
    """Special numbers, any bits, halfway cases of narrower formats, and integers with fractions."""
    dtype = numpy_dtype(t)
    special = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999, np.inf, -np.inf, np.nan, 448, 464, 465, 57344]
    special += [61440, 65504, 65519.9, 65520, 1e-45, 2.0**-24, 3e-8, 3.4e38, 2.0**31, 2.0**63, -(2.0**31), 255.5, 127.5]
    bits = f"u{dtype.itemsize}"
    random = RANDOM.integers(0, np.iinfo(bits).max, 2000, bits, endpoint=True).view(dtype)
    halves = (RANDOM.integers(0, 2**12, 500) * 2.0 ** RANDOM.integers(-30, 20, 500)).astype(dtype)
    return np.concatenate([np.array(special).astype(dtype), random, halves, (random % dtype.type(300)).astype(dtype)])


def values_of(t: Scalar) -> tuple[Any, Any]:
    """All finite numbers of an 8- or 16-bit format in order, as f64, and their bits; zero once."""
    bits = np.arange(1 << t.bits, dtype=f"u{t.bits // 8}")
    values = bits.view(numpy_dtype(t)).astype(np.float64)
    keep = np.isfinite(values) & ~((values == 0) & np.signbit(values))
    order = np.argsort(values[keep])
    return values[keep][order], bits[keep][order]


def nearest(x: Any, t: Scalar, mode: str) -> Any:
    """`x` (f64) rounded to the small format by looking at all its numbers. Beyond the last one it is infinite."""
    values, bits = values_of(t)
    below = np.clip(np.searchsorted(values, x, side="right") - 1, 0, len(values) - 1)
    above = np.clip(np.searchsorted(values, x, side="left"), 0, len(values) - 1)
    down, up = np.abs(x - values[below]), np.abs(values[above] - x)
    even = bits[below] % 2 == 0
    closest = np.where((down < up) | ((down == up) & even), below, above)
    toward_zero = np.where(x > 0, below, above)
    return values[{"rn": closest, "rz": toward_zero, "rm": below, "rp": above}[mode]]


@pytest.mark.parametrize("to", SMALL, ids=str)
@pytest.mark.parametrize("source", [f16, f32, f64], ids=str)
def test_floats_become_the_nearest_number_of_a_small_format(source: Scalar, to: Scalar) -> None:
    allowed = modes(source, to)
    if not allowed:
        return
    a = floats(source)
    x = a.astype(np.float64)
    top = values_of(to)[0][-1]
    half_step = top - (values_of(to)[0][-2] + top) / 2
    for mode in allowed:
        got = converted(a, source, to, mode).astype(np.float64)
        inside = np.abs(x) <= top
        assert np.array_equal(got[inside], nearest(x[inside], to, mode))
        assert np.array_equal(np.isnan(got), np.isnan(x))
        assert np.array_equal(np.signbit(got[~np.isnan(x)]), np.signbit(x[~np.isnan(x)]))
        beyond = np.abs(x) > top
        if to.name in ("e4m3", "e5m2"):
            assert (np.abs(got[beyond]) == top).all()
        elif mode == "rn":
            assert np.array_equal(np.isinf(got[beyond]), np.abs(x[beyond]) >= top + half_step)
        elif mode == "rz":
            assert np.array_equal(np.isinf(got[beyond]), np.isinf(x[beyond]))


def test_tf32_rounds_to_eleven_bits_with_ties_away() -> None:
    a = floats(f32)
    a = a[np.isfinite(a)]
    got = converted(a, f32, tf32).view(np.uint32)
    assert np.array_equal(got, (a.view(np.uint32) + 0x1000) & ~np.uint32(0x1FFF))
    assert np.array_equal(converted(a, f32, tf32, "rz").view(np.uint32), a.view(np.uint32) & ~np.uint32(0x1FFF))


def test_every_pair_of_types_has_a_way_whose_steps_are_instructions() -> None:
    every = [s for s in SCALARS.values() if s.kind != "barrier"]
    for source in every:
        for to in every:
            way = steps(source, to)
            assert (way[-1] if way else source) == to and len(way) <= 3
            for a, b in zip((source, *way), way, strict=False):
                assert modes(a, b) is not None, (source, to, way)


@pytest.mark.parametrize(
    ("source", "to"), [(bf16, e4m3), (e5m2, bf16), (i32, tf32), (e4m3, e5m2), (u8, e4m3), (e4m3, i32)], ids=str
)
def test_ways_of_several_steps_lose_nothing_that_the_last_would_keep(source: Scalar, to: Scalar) -> None:
    a = (
        values_of(source)[0].astype(numpy_dtype(source))
        if source in (*SMALL, u8)
        else np.arange(-99, 99, dtype=np.int32)
    )
    got = evaluate(lambda x: x.to(to), (source,), a).astype(np.float64)
    exact = a.astype(np.float64)
    if to.is_int:
        assert np.array_equal(got, np.trunc(exact))
    else:
        inside = np.abs(exact) <= (values_of(to)[0][-1] if to in SMALL else np.inf)
        assert np.array_equal(got[inside], nearest(exact[inside], to, "rn") if to in SMALL else exact[inside])


PAIRS = [(f32, u32), (Vec(bf16, 2), u32), (Vec(f16, 4), Vec(i32, 2)), (Vec(u8, 8), f64), (Vec(e4m3, 4), Vec(u16, 2))]


@pytest.mark.parametrize(("source", "to"), [pair for a, b in PAIRS for pair in ((a, b), (b, a))], ids=str)
def test_bitcast_keeps_the_bits(source: Type, to: Type) -> None:
    elem, n = elem_of(source), source.n if isinstance(source, Vec) else 1
    octets = RANDOM.integers(0, 255, (50, n * elem.bytes), np.uint8, endpoint=True)
    values = octets.view(numpy_dtype(elem))
    got = evaluate(lambda x: bitcast(x, elem_of(to)), (source,), values if n > 1 else values[:, 0])
    assert np.array_equal(np.ascontiguousarray(got).reshape(50, -1).view(np.uint8), octets)


def test_convert_says_how() -> None:
    a = np.array([1.9, -1.9, 300.5], np.float32)
    assert evaluate(lambda x: convert(x, i32, rounding="rp"), (f32,), a).tolist() == [2, -1, 301]
    assert evaluate(lambda x: convert(x, u8), (f32,), a).tolist() == [1, 0, 255]
    assert evaluate(lambda x: convert(x, i8, saturate=True), (i32,), np.array([200, -200])).tolist() == [127, -128]
    assert evaluate(lambda x: convert(x, f32), (f32,), a).tolist() == a.tolist()
    pair = evaluate(lambda x, y: emit_here(VecMake((x.value, y.value))).to(bf16), (f32, f32), a, a[::-1])
    assert pair.astype(np.float32).tolist() == [[1.8984375, 300], [-1.8984375, -1.8984375], [300, 1.8984375]]


LITERALS = [0, 255, -129, 1 << 31, -(1 << 63), 3.7, -3.7, -0.0, 300.0, -1e10, 1e30, 0.1, 65519.9]
LITERALS += [1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-24 + 2.0**-50]  # not halfway, but nearly
LITERALS += [sign * ((1 << 60) + (1 << n) + 1) for n in (36, 49, 52) for sign in (1, -1)]


@pytest.mark.parametrize("to", [t for t in SCALARS.values() if t.kind != "barrier"], ids=str)
def test_a_literal_is_converted_as_a_number_of_run_time_is(to: Scalar) -> None:
    for number in LITERALS:
        source = f64 if isinstance(number, float) else i64
        a = np.array([number], numpy_dtype(source))
        fixed, made = evaluate(lambda x, n=number: (to_dtype(n, to), to_dtype(x, to)), (source,), a)
        assert fixed.tobytes() == made.tobytes(), (number, fixed, made)


def test_vectors_of_8_bits_are_made_and_stored_as_words() -> None:
    @cl.kernel(block=32)
    def narrowed(x: Tensor[cl.f32, (8, 32), (1, 8)], y: Tensor[cl.e4m3, (8, 32), (1, 8)]) -> None:
        y[None, cl.thread_idx.x].store(x[None, cl.thread_idx.x].load().to(cl.e4m3))

    text = narrowed.compile(arch="sm_90a").ptx
    assert text.count("cvt.rn.satfinite.e4m3x2.f32") == 4
    assert "st.global.v2.b32" in text
    assert not {"prmt", "shr"} & set(text.replace(".", " ").split())


@pytest.mark.parametrize(
    "x", ["cl.f32(a) * cl.f32(b)", "cl.f32(a) * 3.0", "a + c", "cl.f64(a) / cl.f64(b)", "cl.f32(c) - cl.f32(b)"]
)
def test_bf16_is_not_rounded_to_f16_before_it_is_computed_with(x: str) -> None:
    """LLVM takes f16, which has more digits, to hold all numbers of bf16, which have larger exponents."""
    space: dict[str, Any] = {"cl": cl}
    source = f"def kernel(x, y, z, out):\n    a, b, c = x[0], y[0], z[0]\n    out[0] = cl.f16({x})\n"
    exec(source, space)
    kinds = {"x": cl.bf16, "y": cl.bf16, "z": cl.f16, "out": cl.f16}
    space["kernel"].__annotations__ = {name: cl.Tensor[t, (1,)] for name, t in kinds.items()}
    ptx = cl.kernel(space["kernel"]).compile(block=32).ptx
    assert not re.search(r"\b(add|sub|mul|div|fma)[.\w]*\.f16\s", ptx)
