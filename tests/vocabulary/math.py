"""The mathematics of the hardware: exact where it is, within its bounds where it is not."""

import math as python_math
from typing import Any

import numpy as np

from cutelite.ir.types import SCALARS, Scalar, Vec, bf16, f16, f32, f64, i32
from cutelite.ops import math
from tests.vocabulary.numbers import Array, each, greatest, least
from tests.vocabulary.row import FLOATS, Form, Row, alike, floats, of, vectors

MORE = alike(vectors(*FLOATS), 1)
PAIRS = alike(vectors(*FLOATS), 2)
KINDS = {"nan": np.isnan, "inf": np.isinf, "finite": np.isfinite}
LONG = alike((f32, f64, Vec(f32, 2)), 2)
APPROXIMATE = "f32; vec<f32,3>; f32 ftz=True"


def remainder(x: float, y: float) -> float:
    return python_math.remainder(x, y) if np.isfinite(x) and y and y == y else python_math.nan


def with_nan(choose: Any) -> Any:
    """Make a reference that is NaN if one of two operands is NaN."""
    return lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, choose(a, b)).astype(a.dtype)


def plain(op: Any, word: str, function: Any, shown: str = "f16; vec<f32,3>", refuses: Any = ()) -> Row:
    return Row(op, f"cl.math.{word}({{0}})", MORE, floats(function), shown=shown, refuses=refuses)


def pair(op: Any, word: str, function: Any, forms: list[Form] = PAIRS, **more: Any) -> Row:
    return Row(op, f"cl.math.{word}({{0}}, {{1}})", forms, floats(function), **more)


def approximate(op: Any, word: str, function: Any, close: Any, **more: Any) -> Row:
    """Make the row of an instruction within `close` of the exact result in f32; `word` takes `fast=True`."""
    forms = [form for name, spelled in op.forms.items() for form in _forms(SCALARS[name], "{ftz}" in spelled)]
    text = lambda op: f"cl.math.{word}({{0}}, fast=True)"  # noqa: E731
    shown = more.pop("shown", APPROXIMATE)

    def bound(t: str, y: Array) -> Array:
        """Return the greatest error; for f16 that of its precision. Subnormal results may be flushed."""
        return 2.0**-9.9 * np.abs(y) + 2.0**-24 if t == "f16" else np.abs(close(y)) + 2.0**-126

    return Row(op, text, forms, lambda op, x: function(x.astype(np.float64)), close=bound, shown=shown, **more)


def _forms(t: Scalar, flushes: bool) -> list[Form]:
    return [of(kind, ftz=ftz) for kind in vectors(t) for ftz in (False, *([True] if flushes else []))]


ROWS = [
    plain(math.Floor, "floor", np.floor),
    plain(math.Ceil, "ceil", np.ceil),
    plain(math.Trunc, "trunc", np.trunc),
    plain(math.Rint, "rint", np.rint),
    Row(
        math.FpTest,
        lambda op: f"cl.math.is{op.kind}({{0}})",
        [of(t, kind) for kind in KINDS for t in FLOATS],
        lambda op, x: KINDS[op.kind](x),
        shown="f16 kind='nan'; f16 kind='inf'; f16 kind='finite'",
        refuses=[(of(f32, kind="zero"), "`kind` of .* is 'zero', but must")],
    ),
    Row(
        math.CopySign,
        "cl.math.copysign({0}, cl.where({1} == {1}, {1}, {0}))",
        PAIRS,
        floats(lambda x, y: np.copysign(x, np.where(np.isnan(y), x, y))),
        shown="f16 f16; vec<f32,3> vec<f32,3>",
        refuses=[(of(f32, f64), "copysign takes two of one type, not f32 and f64")],
    ),
    pair(math.MinNan, "minimum", with_nan(least), shown="f16 f16; vec<f32,3> vec<f32,3>"),
    pair(math.MaxNan, "maximum", with_nan(greatest), shown="f16 f16; vec<f32,3> vec<f32,3>"),
    plain(
        math.Saturate,
        "saturate",
        lambda x: np.where(np.isnan(x), 0, np.clip(x, 0, 1)).astype(x.dtype) + 0,
        shown="f16; bf16; f32; f64; vec<f32,3>; vec<f16,3>; vec<bf16,4>",
    ),
    plain(math.Sqrt, "sqrt", np.sqrt, refuses=[(of(i32), "sqrt does not take i32")]),
    plain(math.Rcp, "rcp", lambda x: x.dtype.type(1) / x),
    approximate(
        math.Ex2Approx,
        "exp2",
        np.exp2,
        lambda y: 2.0**-22 * y,
        shown="f16; f32; vec<f32,3>; vec<f16,3>; f32 ftz=True",
        refuses=[
            (of(bf16), "ex2.approx does not take bf16"),
            (of(f16, ftz=True), "ex2.approx of f16 has no form that flushes subnormals"),
        ],
    ),
    approximate(math.Lg2Approx, "log2", np.log2, lambda y: 2.0**-22 * np.maximum(1, np.abs(y)), domain=(0.1, 9.0)),
    approximate(math.SinApprox, "sin", np.sin, lambda y: 2.0**-20.4 + 0 * y, domain=(-6.28, 6.28)),
    approximate(math.CosApprox, "cos", np.cos, lambda y: 2.0**-20.4 + 0 * y, domain=(-6.28, 6.28)),
    approximate(math.TanhApprox, "tanh", np.tanh, lambda y: 2.0**-10.98 * y, shown="f16; f32; vec<f32,3>; vec<f16,3>"),
    approximate(math.RcpApprox, "rcp", lambda x: 1 / x, lambda y: 2.0**-23 * y),
    approximate(math.SqrtApprox, "sqrt", np.sqrt, lambda y: 2.0**-23 * y, domain=(0.0, 99.0)),
    approximate(math.RsqrtApprox, "rsqrt", lambda x: 1 / np.sqrt(x), lambda y: 2.0**-22.9 * y, domain=(0.1, 99.0)),
    Row(
        math.DivApprox,
        "cl.math.fdividef({0}, {1})",
        [of(f32, f32, full, ftz) for full in (True, False) for ftz in (False, True)],
        lambda op, x, y: x.astype(np.float64) / y,
        close=lambda t, y: 2 * 2.0**-23 * np.abs(y) + 2.0**-126,
        shown="f32 f32; vec<f32,3> vec<f32,3>; f32 f32 ftz=True; f32 f32 full=False; f32 f32 full=False ftz=True",
    ),
    pair(
        math.Fmod,
        "fmod",
        np.fmod,
        LONG,
        shown="f32 f32; f64 f64; vec<f32,3> vec<f32,3>",
        refuses=[(of(f16, f16), "fmod does not take f16")],
    ),
    pair(
        math.Remainder,
        "remainder",
        lambda x, y: each(remainder, str(x.dtype).replace("float", "f"), x, y),
        LONG,
        shown="f32 f32; f64 f64; vec<f32,3> vec<f32,3>",
    ),
]
