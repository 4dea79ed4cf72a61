"""The mathematics of the hardware: rounding, square roots, reciprocals and its approximate functions.

Accurate exp, log, sin and so on are written in the language itself, in `lang.libm`, from these and `fma`.

Errors are bounds from the PTX ISA: 'ulp' are units in the last place of the result, 2^-x is a relative error where
not called absolute. The simulator computes approximate functions in f64 and rounds, which is closer than the bound; the
hardware may be anywhere within it. The payload of a NaN is not modelled.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import ClassVar

from cutelite.ir.contract import Llvm, Problem, Ptx, np
from cutelite.ir.op import op
from cutelite.ir.simulation import Array, Lanes
from cutelite.ir.types import Scalar, Type, boolean, elem_of, with_elem
from cutelite.ops.address import among
from cutelite.ops.arith import Binary, Unary, pairs


class Whole(Unary):
    """A float rounded to a whole number, of the same type."""

    word: ClassVar[str]
    as_llvm = Llvm("$out = call $a:type @llvm.${word}.$a:suffix($a:type $a)")

    def accepts(self, elem: Scalar) -> bool:
        return elem.arithmetic and elem.is_float

    def compute(self, a: Array) -> Array:
        return getattr(np, self.word)(a)


@op("floor", elementwise=True, source="PTX ISA: cvt.rmi")
class Floor(Whole):
    """The largest whole number not above `a`."""

    word = "floor"


@op("ceil", elementwise=True, source="PTX ISA: cvt.rpi")
class Ceil(Whole):
    """The smallest whole number not below `a`."""

    word = "ceil"


@op("trunc", elementwise=True, source="PTX ISA: cvt.rzi")
class Trunc(Whole):
    """`a` without its fraction."""

    word = "trunc"


@op("rint", elementwise=True, source="PTX ISA: cvt.rni")
class Rint(Whole):
    """The nearest whole number; of two, the even one."""

    word = "rint"


INFINITY = {"f16": "0xH7C00", "bf16": "0xR7F80", "f32": "0x7FF0000000000000", "f64": "0x7FF0000000000000"}


@op("fp.test", elementwise=True, source="PTX ISA: testp")
class FpTest(Unary):
    """Test whether the float `a` is `kind`: 'nan', 'inf' or 'finite'."""

    kind: str
    takes = {"kind": among(("nan", "inf", "finite"))}

    def result_types(self) -> tuple[Type, ...]:
        return (with_elem(self.a.type, boolean),)

    def accepts(self, elem: Scalar) -> bool:
        return elem.arithmetic and elem.is_float

    def llvm(self) -> Llvm:
        if self.kind == "nan":
            return Llvm("$out = fcmp uno $a:type $a, 0.0")
        compare = "oeq" if self.kind == "inf" else "one"  # "one" is ordered: false for NaN
        infinity = INFINITY[elem_of(self.a.type).name]
        return Llvm(
            f"$.size = call $a:type @llvm.fabs.$a:suffix($a:type $a)\n$out = fcmp {compare} $a:type $.size, {infinity}"
        )

    def simulate(self, lanes: Lanes) -> None:
        test = {"nan": np.isnan, "inf": np.isinf, "finite": np.isfinite}[self.kind]
        lanes.define(test(lanes.get(self.a)))


class FloatBinary(Binary):
    """Two floats of one type."""

    word: ClassVar[str]

    def accepts(self, elem: Scalar) -> bool:
        return elem.arithmetic and elem.is_float

    def llvm(self) -> Llvm:
        body = f"$out = call $a:type @llvm.{self.word}.$a:suffix($a:type $a, $a:type $b)"
        return Llvm(body, group=pairs(self.a.type))


@op("copysign", elementwise=True, source="PTX ISA: copysign")
class CopySign(FloatBinary):
    """The magnitude of `a` with the sign of `b`."""

    word = "copysign"
    ufunc = "copysign"


@op("min.nan", elementwise=True, source="PTX ISA: min.NaN")
class MinNan(FloatBinary):
    """The smaller of `a` and `b`; NaN if one of them is. -0 is below +0."""

    word = "minimum"

    def compute(self, a: Array, b: Array) -> Array:
        return np.where(a == b, np.where(np.signbit(a), a, b), np.minimum(a, b))


@op("max.nan", elementwise=True, source="PTX ISA: max.NaN")
class MaxNan(FloatBinary):
    """The larger of `a` and `b`; NaN if one of them is. -0 is below +0."""

    word = "maximum"

    def compute(self, a: Array, b: Array) -> Array:
        return np.where(a == b, np.where(np.signbit(a), b, a), np.maximum(a, b))


@op("saturate", elementwise=True, source="PTX ISA: cvt.sat")
class Saturate(Unary):
    """The float `a` clamped to 0..1; NaN becomes 0."""

    def accepts(self, elem: Scalar) -> bool:
        return elem.arithmetic and elem.is_float

    def llvm(self) -> Llvm | None:
        if elem_of(self.a.type).name != "bf16":
            return None
        return Llvm(
            "$.low = call $a:type @llvm.maxnum.$a:suffix($a:type $a, $a:type 0.0)\n"
            "$out = call $a:type @llvm.minnum.$a:suffix($a:type $.low, $a:type 1.0)"
        )

    def ptx(self) -> Ptx | None:
        elem = elem_of(self.a.type)
        return None if elem.name == "bf16" else Ptx(f"cvt.sat.{elem}.{elem} $out, $a;", pure=True, memory=False)

    def compute(self, a: Array) -> Array:
        return np.where(a > 0, np.minimum(a, np.asarray(1, a.dtype)), np.asarray(0, a.dtype))


class Root(Unary):
    """A root or reciprocal, correctly rounded: f32 and f64 in hardware, f16 and bf16 through f32 (rounds the same)."""

    def accepts(self, elem: Scalar) -> bool:
        return elem.arithmetic and elem.is_float


@op("sqrt", elementwise=True, source="PTX ISA: sqrt.rn")
class Sqrt(Root):
    """The square root of `a`, correctly rounded."""

    as_llvm = Llvm("$out = call $a:type @llvm.sqrt.$a:suffix($a:type $a)")
    ufunc = "sqrt"


@op("rcp", elementwise=True, source="PTX ISA: rcp.rn")
class Rcp(Root):
    """``1 / a``, correctly rounded."""

    as_llvm = Llvm("$out = fdiv $a:type 1.0, $a")

    def compute(self, a: Array) -> Array:
        return np.asarray(1, a.dtype) / a


class Approx(Unary):
    """One instruction of the hardware's function units, near the exact result.

    forms  by element type: the PTX name, with `{ftz}` where subnormals can be flushed
    ftz    take subnormal operands and results as 0 (f32 only): without it, f32 takes a few instructions more
    """

    forms: ClassVar[dict[str, str]]

    ftz: bool = False

    def verify(self) -> Iterator[Problem]:
        yield from super().verify()
        if self.ftz and "{ftz}" not in self.forms.get(elem_of(self.a.type).name, "{ftz}"):
            yield Problem("ftz", f"{self.name} of {elem_of(self.a.type)} has no form that flushes subnormals")

    def accepts(self, elem: Scalar) -> bool:
        return elem.name in self.forms

    def ptx(self) -> Ptx:
        name = self.forms[elem_of(self.a.type).name].format(ftz=".ftz" if self.ftz else "")
        paired = name.endswith("x2")
        group, packed = (2, ("a", "out")) if paired else (1, ())
        return Ptx(f"{name} $out, $a;", pure=True, memory=False, group=group, packed=packed)

    def simulate(self, lanes: Lanes) -> None:
        a = lanes.get(self.a)
        exact = np.asarray(self.compute(flushed(a, self.ftz).astype(np.float64)))
        lanes.define(flushed(exact.astype(a.dtype), self.ftz))


def flushed(a: Array, ftz: bool) -> Array:
    """Return f32 numbers with subnormal ones made 0, if `ftz`; the sign stays."""
    return np.where(np.abs(a) < 2.0**-126, np.copysign(np.float32(0), a), a) if ftz else a


@op("ex2.approx", elementwise=True, source="PTX ISA: ex2")
class Ex2Approx(Approx):
    """2 to the power `a`. f32: within 2 ulp (2^-22); f16: within 2^-9.9."""

    forms = {"f32": "ex2.approx{ftz}.f32", "f16": "ex2.approx.f16x2"}
    ufunc = "exp2"


@op("lg2.approx", elementwise=True, source="PTX ISA: lg2")
class Lg2Approx(Approx):
    """Logarithm of `a` to base 2. Absolute error 2^-22 for `a` in 0.5..2, else within 2 ulp."""

    forms = {"f32": "lg2.approx{ftz}.f32"}
    ufunc = "log2"


@op("sin.approx", elementwise=True, source="PTX ISA: sin")
class SinApprox(Approx):
    """Sine of `a` radians. Absolute error 2^-20.4 for `a` in -2 pi..2 pi, growing with `a` beyond."""

    forms = {"f32": "sin.approx{ftz}.f32"}
    ufunc = "sin"


@op("cos.approx", elementwise=True, source="PTX ISA: cos")
class CosApprox(Approx):
    """Cosine of `a` radians. Absolute error 2^-20.4 for `a` in -2 pi..2 pi, growing with `a` beyond."""

    forms = {"f32": "cos.approx{ftz}.f32"}
    ufunc = "cos"


@op("tanh.approx", elementwise=True, source="PTX ISA: tanh")
class TanhApprox(Approx):
    """Hyperbolic tangent of `a`. f32: within 2^-11; f16: absolute error 2^-10.987."""

    forms = {"f32": "tanh.approx.f32", "f16": "tanh.approx.f16x2"}
    ufunc = "tanh"


@op("rcp.approx", elementwise=True, source="PTX ISA: rcp")
class RcpApprox(Approx):
    """``1 / a``, within 1 ulp."""

    forms = {"f32": "rcp.approx{ftz}.f32"}

    def compute(self, a: Array) -> Array:
        return 1 / a


@op("sqrt.approx", elementwise=True, source="PTX ISA: sqrt")
class SqrtApprox(Approx):
    """The square root of `a`, within 2^-23."""

    forms = {"f32": "sqrt.approx{ftz}.f32"}
    ufunc = "sqrt"


@op("rsqrt.approx", elementwise=True, source="PTX ISA: rsqrt")
class RsqrtApprox(Approx):
    """One over the square root of `a`, within 2^-22.9."""

    forms = {"f32": "rsqrt.approx{ftz}.f32"}

    def compute(self, a: Array) -> Array:
        return 1 / np.sqrt(a)


@op("div.approx", elementwise=True, source="PTX ISA: div.full, div.approx")
class DivApprox(Binary):
    """``a / b`` of f32, within 2 ulp.

    full  div.full, which scales and takes every `b`; else div.approx, for |b| in 2^-126..2^126: 0 for larger finite `b`
    ftz   take subnormal operands and results as 0
    """

    full: bool = True
    ftz: bool = False

    def accepts(self, elem: Scalar) -> bool:
        return elem.name == "f32"

    def llvm(self) -> None:  # type: ignore[override]
        return None

    def ptx(self) -> Ptx:
        kind = "full" if self.full else "approx"
        return Ptx(f"div.{kind}{'.ftz' if self.ftz else ''}.f32 $out, $a, $b;", pure=True, memory=False)

    def simulate(self, lanes: Lanes) -> None:
        a, b = (flushed(lanes.get(v), self.ftz) for v in (self.a, self.b))
        quotient = flushed((a.astype(np.float64) / b.astype(np.float64)).astype(np.float32), self.ftz)
        vanishing = (np.abs(b) > 2.0**126) & np.isfinite(b) & (not self.full)
        infinite = vanishing & np.isinf(a)
        lanes.define(np.where(infinite, np.float32("nan"), np.where(vanishing, np.float32(0), quotient)))


class Division(Binary):
    """A remainder, exact however large the quotient is: a loop computes it bit by bit."""

    nearest: ClassVar[bool]  # the quotient is rounded to nearest even, not towards zero

    def accepts(self, elem: Scalar) -> bool:
        return elem.name in ("f32", "f64")

    def llvm(self) -> None:  # type: ignore[override]
        return None

    def ptx(self) -> Ptx:
        f = elem_of(self.a.type).name
        zero, one, half, inf, nan = (_literal(x, f) for x in (0.0, 1.0, 0.5, float("inf"), float("nan")))
        nearest = (
            f"sub.{f} twice, b, rest; setp.gt.{f} more, rest, twice; setp.eq.and.{f} odd, rest, twice, odd; "
            f"or.pred more, more, odd; @more sub.{f} rest, rest, b;"
        )
        return Ptx(
            f"{{ .reg .pred go, more, odd; .reg .{f} rest, b, step, twice, sign; "
            f"copysign.{f} rest, {zero}, $a; abs.{f} b, $b; mov.{f} step, b; "  # ptxas drops the `abs` of some -0.0
            f"setp.gt.{f} go, b, {zero}; setp.lt.and.{f} go, rest, {inf}, go; @!go mov.{f} rest, {nan}; "
            f"setp.lt.and.{f} go, b, {inf}, go; @!go bra DONE; "
            f"UP: add.{f} twice, step, step; setp.le.{f} more, twice, rest; @more mov.{f} step, twice; @more bra UP; "
            f"DOWN: setp.ge.{f} odd, rest, step; @odd sub.{f} rest, rest, step; "
            f"setp.gt.{f} more, step, b; mul.{f} step, step, {half}; @more bra DOWN; "
            f"{nearest if self.nearest else ''} "
            f"DONE: copysign.{f} sign, $a, {one}; mul.{f} $out, rest, sign; }}",
            pure=True,
            memory=False,
        )


def _literal(x: float, f: str) -> str:
    """Return a float as PTX writes it: 0f3F800000."""
    return "0f" + struct.pack(">f", x).hex().upper() if f == "f32" else "0d" + struct.pack(">d", x).hex().upper()


@op("fmod", elementwise=True, source="C23: fmod")
class Fmod(Division):
    """The remainder of `a` divided by `b`, the quotient rounded towards zero: exact, with the sign of `a`.

    NaN if `b` is 0 or `a` is infinite.
    """

    nearest = False
    ufunc = "fmod"


@op("remainder", elementwise=True, source="IEEE 754: remainder")
class Remainder(Division):
    """`a` minus the multiple of `b` that is nearest to it (of two, the even one): exact, in ``-|b|/2 .. |b|/2``.

    NaN if `b` is 0 or `a` is infinite.
    """

    nearest = True

    def compute(self, a: Array, b: Array) -> Array:
        valid = np.isfinite(a) & (b != 0) & ~np.isnan(b)
        rest = np.frompyfunc(math.remainder, 2, 1)(np.where(valid, a, 0).astype(float), np.where(valid, b, 1))
        return np.where(valid, np.asarray(rest, a.dtype), np.asarray("nan", a.dtype))
