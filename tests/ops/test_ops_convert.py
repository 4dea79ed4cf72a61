"""Conversions besides those of `tests/vocabulary`: ways of several steps, bits that are kept, literals."""

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
    elem_of,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    tf32,
    u8,
    u16,
    u32,
)
from cutelite.lang.convert import bitcast, convert
from cutelite.lang.emit import emit as emit_here
from cutelite.lang.promotion import to_dtype
from cutelite.lang.straight import evaluate
from cutelite.ops.arith import VecMake
from cutelite.ops.convert import Convert, modes, steps
from tests.vocabulary.numbers import samples

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NaN and infinities are what is tested
RANDOM = np.random.default_rng(0)


def converted(a: Any, source: Scalar, to: Scalar, rounding: str = "", saturate: bool = False) -> Any:
    return evaluate(lambda x: emit_here(Convert(x.value, to, rounding, saturate)), (source,), a)


def test_tf32_rounds_to_eleven_bits_with_ties_away() -> None:
    a = samples("f32", 2000, RANDOM)
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
