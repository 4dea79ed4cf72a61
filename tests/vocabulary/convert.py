"""Conversions between types of numbers, and between names for the same bits."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from cutelite.ir.types import (
    SCALARS,
    Ptr,
    Scalar,
    Vec,
    bf16,
    boolean,
    e4m3,
    e5m2,
    elem_of,
    f16,
    f32,
    f64,
    i32,
    mbarrier,
    tf32,
    u8,
    u32,
    u64,
)  # fmt: skip
from cutelite.ops import convert
from tests.vocabulary.numbers import HELD, INTS, Array, each, from_float, limits, to_int
from tests.vocabulary.row import Form, Operation, Row, of

EVERY = [s for s in SCALARS.values() if s.kind != "barrier"]
SAME_BITS = ((u32, Vec(bf16, 2)), (Vec(f16, 4), Vec(f32, 2)), (f32, i32), (f64, Vec(u8, 8)), (Vec(e4m3, 4), u32))


def forms() -> Iterator[Form]:
    for source in EVERY:
        for to in EVERY:
            modes = convert.modes(source, to)
            for rounding in modes or ([""] if modes == () else []):
                yield from (of(t, to, rounding) for t in wide(source))
            if source.is_int and to.is_int and source != to:
                yield of(source, to, "", True)
    for to in (f16, bf16, tf32, e4m3, e5m2):
        for rounding in ("", "rz") if to in (f16, bf16) else ("",):
            yield from (of(t, to, rounding, True) for t in wide(f32))


def wide(source: Scalar) -> list[Any]:
    return [source, Vec(source, 2), Vec(source, 3)] if source.is_float else [source]


def word(op: Any) -> str:
    """Return the expression of a conversion, with rounding and saturation named; from and to bool there is neither."""
    to = "boolean" if op.type == boolean else op.type
    more = f", rounding={op.rounding!r}" if op.rounding else ""
    more += ", saturate=True" if op.saturate else ""
    return f"cl.convert({{0}}, cl.{to}{more})" if boolean not in (op.type, op.a.type) else f"{{0}}.to(cl.{to})"


def converted(op: Any, x: Array) -> Array:
    source, to = str(elem_of(op.a.type)), str(op.type)
    if op.saturate and to in INTS:
        low, high = limits(to)
        return each(lambda v: min(max(v, low), high), to, x)
    if to == "bool":
        return x != 0
    if source == "bool" or (source in INTS and to in INTS):
        return x.astype(HELD[to])
    return to_int(x, to, op.rounding or "rz") if to in INTS else from_float(x, to, op.rounding or "rn", op.saturate)


def through() -> Iterator[Operation]:
    """Yield conversions to storage formats and back."""
    rounded = lambda x: from_float(x, "tf32", "rna")  # noqa: E731  # other roundings need a newer GPU
    yield Operation('cl.convert({0}, cl.tf32, rounding="rna").to(cl.f32)', ("f32",), "f32", rounded)
    for small in ("e4m3", "e5m2"):
        alike = [(a, a) for a in ("f16", "bf16", "f32", "f64")]
        for a, back in (*alike, ("f32", "bf16"), ("i32", "f32"), ("u8", "f16")):
            meaning = lambda x, s=small, b=back: from_float(from_float(x, s), b)  # noqa: E731
            yield Operation(f"{{0}}.to(cl.{small}).to(cl.{back})", (a,), back, meaning)
        whole = lambda x, s=small: to_int(from_float(x, s), "i32")  # noqa: E731
        yield Operation(f"{{0}}.to(cl.{small}).to(cl.i32)", ("f32",), "i32", whole)
    twice = lambda x: from_float(from_float(x, "e4m3"), "e5m2")  # noqa: E731
    yield Operation("{0}.to(cl.e4m3).to(cl.e5m2).to(cl.f32)", ("f32",), "f32", twice)
    yield Operation("{0}.to(cl.tf32).to(cl.f32)", ("i8",), "f32", lambda x: from_float(x, "f32"))
    for to in ("f16", "bf16", "e4m3", "e5m2"):
        for i in (0, 1):
            both = lambda x, y, t=to, i=i: from_float((x, y)[i], t).astype(np.float32)  # noqa: E731
            yield Operation(f"packed({{0}}, {{1}}, cl.{to})[{i}].to(cl.f32)", ("f32", "f32"), "f32", both)


def same_bits() -> Iterator[Operation]:
    for a, b in (("i32", "u32"), ("u64", "i64"), ("u16", "i16"), ("u8", "i8")):
        yield Operation(f"cl.bitcast({{0}}, cl.{b})", (a,), b, lambda x, b=b: x.view(HELD[b]))
    for a, b in (("f32", "u32"), ("f64", "i64"), ("f16", "u16")):
        text = f"cl.bitcast(cl.where({{0}} == {{0}}, {{0}}, 0), cl.{b})"  # a NaN has many
        yield Operation(text, (a,), b, lambda x, b=b: np.where(np.isnan(x), 0, x).astype(x.dtype).view(HELD[b]))
        yield Operation(f"cl.bitcast({{0}}, cl.{a})", (b,), a, lambda x, a=a: x.view(HELD[a]))


ROWS = [
    Row(
        convert.Convert,
        word,
        list(forms()),
        converted,
        more=list(through()),
        shown="u8 type=i8; f16 type=i8; bool type=i8; vec<i32,2> type=i8; u8 type=i8 saturate=True; "
        "i8 type=u16 saturate=True; f32 type=bf16 saturate=True; f16 type=e4m3",
        refuses=[
            (of(bf16, e4m3), "no instruction converts bf16 to e4m3"),
            (of(mbarrier, f32), "cvt takes numbers, not mbarrier"),
            (of(Ptr("gmem", 16), f32), "cvt takes numbers, not ptr"),
            (of(f16, f32, "rz"), "f16 to f32 is exact: it takes no rounding, not 'rz'"),
            (of(f32, bf16, "rm"), "f32 to bf16 rounds as rn, rz, not 'rm'"),
            (of(i32, f32, "", True), "i32 to f32 has no saturating form"),
            (of(f32, f16, "rp", True), "f32 to f16 has no saturating form that rounds as rp"),
        ],
    ),
    Row(
        convert.Bitcast,
        "cl.bitcast",
        [of(*pair) for a, b in SAME_BITS for pair in ((a, b), (b, a))],
        more=list(same_bits()),
        shown="i8 type=i8; vec<bf16,8> type=vec<f32,4>; vec<bf16,8> type=vec<bf16,8>; vec<bf16,8> type=vec<f64,2>",
        refuses=[
            (of(f64, u32), r"\(64 bits\) to u32 \(32 bits\)"),
            (of(boolean, u8), "bitcast takes numbers, not bool"),
            (of(Vec(u64, 1), Vec(u32, 3)), "64 bits.*96 bits"),
        ],
    ),
]
