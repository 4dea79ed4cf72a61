"""Conversions between scalar types, on scalars and, element by element, on vectors.

One `cvt` is one hardware conversion and rounds once. Types without a direct one (bf16 to e4m3, i32 to tf32, ...)
go through the types that `steps` names; only conversions from an integer or an f64 by way of f32 can round twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cutelite.ir.contract import Llvm, Problem, Ptx, np, numpy_dtype
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import Scalar, Type, Vec, bf16, elem_of, f16, f32, with_elem

if TYPE_CHECKING:
    from cutelite.ir.simulation import Array, Lanes

PLAIN_FLOATS = ("f16", "bf16", "f32", "f64")
FP8 = ("e4m3", "e5m2")

FORMATS: dict[str, tuple[int, int, float]] = {
    "e4m3": (4, -6, 448.0),
    "e5m2": (3, -14, 57344.0),
    "f16": (11, -14, 65504.0),
    "bf16": (8, -126, (2 - 2**-7) * 2.0**127),
    "tf32": (11, -126, (2 - 2**-10) * 2.0**127),
    "f32": (24, -126, (2 - 2**-23) * 2.0**127),
}
"""Of floats narrower than f64: significand bits with the hidden one, least normal exponent, largest number."""

ALL_MODES = ("rn", "rz", "rm", "rp")
WIDENING = (("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64"), ("tf32", "f32"))
NARROWING = {
    ("f32", "f16"): ALL_MODES,
    ("f32", "bf16"): ("rn", "rz"),
    ("f64", "f16"): ALL_MODES,
    ("f64", "bf16"): ("rn",),
    ("f64", "f32"): ALL_MODES,
    ("f32", "tf32"): ("rna", "rn", "rz"),
    **{(source, fp8): ("rn",) for source in ("f32", "f16") for fp8 in FP8},
}

FROM_INT = {"bf16": ("rn",), "f16": ALL_MODES, "f32": ALL_MODES, "f64": ALL_MODES}
"""The roundings of a conversion from an integer, by float."""


def modes(source: Scalar, to: Scalar) -> tuple[str, ...] | None:
    """Return the roundings of the conversion, the default first; () if it is exact, None if no `cvt` does it."""
    if source == to:
        return None
    if "bool" in (source.kind, to.kind):
        return () if all(t.kind == "bool" or t.is_int or t.name in PLAIN_FLOATS for t in (source, to)) else None
    if source.is_int:
        return () if to.is_int else FROM_INT.get(to.name)
    if to.is_int:
        return ("rz", "rn", "rm", "rp") if source.name in ("f16", "f32", "f64") else None
    pair = (source.name, to.name)
    return () if pair in WIDENING or (pair[0] in FP8 and to == f16) else NARROWING.get(pair)


def steps(source: Scalar, to: Scalar) -> tuple[Scalar, ...]:
    """Return the types that a conversion goes through, one `cvt` each, `to` being the last; () if they are the same."""
    if source == to:
        return ()
    if modes(source, to) is not None or "barrier" in (source.kind, to.kind):
        return (to,)
    if source.name in FP8:
        return (f16, *steps(f16, to))
    return (f32, *steps(f32, to))


@op("cvt", elementwise=True, source="PTX ISA: cvt")
class Convert(Op):
    """`a` converted to `type`.

    Integers are extended by their own sign, or cut to the low bits; floats round as `rounding` says: to nearest
    even (rn), towards zero (rz), down (rm), up (rp), to nearest away from zero (rna). The default is rn; rz from
    float to int, as Python's int(); rna to tf32. Float to int saturates, and NaN becomes 0. A bool becomes 0 or 1, and
    a number becomes true unless it is 0.

    saturate  integers are clamped to the range of `type`; floats that overflow become its largest number
              (to e4m3 and e5m2 they always do)
    """

    a: Value
    type: Scalar
    rounding: str = ""
    saturate: bool = False

    @property
    def feature(self) -> str | None:  # type: ignore[override]
        names = {elem_of(self.a.type).name, self.type.name}
        if names & set(FP8):
            return "fp8"
        if "tf32" in names:
            return "tf32.rounding" if self.rounding in ("rn", "rz") else "tf32"
        if self.ptx() is not None and self.type.bits == 16 and self.type.is_float:
            if isinstance(self.a.type, Vec) and elem_of(self.a.type) == f32:
                return "cvt.x2"
            return "bf16" if self.type == bf16 else None
        return None

    def result_types(self) -> tuple[Type, ...]:
        return (with_elem(self.a.type, self.type),)

    def verify(self) -> Iterator[Problem]:
        for field, t in (("a", self.a.type), ("type", self.type)):
            if not isinstance(t, (Scalar, Vec)) or elem_of(t).kind == "barrier":
                yield Problem(field, f"cvt takes numbers, not {t}")
                return
        source, to = elem_of(self.a.type), self.type
        allowed = modes(source, to)
        if allowed is None:
            way = " and ".join(map(str, steps(source, to)[:-1]))
            yield Problem("type", f"no instruction converts {source} to {to}", f"convert to {way} first" if way else "")
        elif self.rounding and self.rounding not in allowed:
            text = f"rounds as {', '.join(allowed)}" if allowed else "is exact: it takes no rounding"
            yield Problem("rounding", f"{source} to {to} {text}, not {self.rounding!r}")
        elif self.saturate and not (source.is_int and to.is_int) and not self._can_saturate(source, to):
            rounding = f" that rounds as {self.rounding}" if self.rounding else ""
            yield Problem("saturate", f"{source} to {to} has no saturating form{rounding}")

    def _can_saturate(self, source: Scalar, to: Scalar) -> bool:
        if source.is_float and (to.is_int or to.name in FP8):
            return True
        modes = {"f16": ("rn", "rz"), "bf16": ("rn", "rz"), "tf32": ("rna",)}
        return source == f32 and self.mode in modes.get(to.name, ())

    @property
    def mode(self) -> str:
        """The rounding that applies; '' if the conversion is exact."""
        return self.rounding or next(iter(modes(elem_of(self.a.type), self.type) or ("",)))

    def llvm(self) -> Llvm | None:
        source, to = elem_of(self.a.type), self.type
        if to.kind == "bool":
            word = "fcmp une" if source.is_float else "icmp ne"
            return Llvm(f"$out = {word} $a:type $a, {'0.0' if source.is_float else '0'}")
        if source.is_int and to.is_int:
            return Llvm(self._int_to_int(source, to))
        if to.is_int:
            return Llvm("$out = zext $a:type $a to $out:type") if source.kind == "bool" else None
        if source.name in PLAIN_FLOATS and to.name in PLAIN_FLOATS and source.bits < to.bits:
            return Llvm("$out = fpext $a:type $a to $out:type")
        if self.mode not in ("", "rn") or self.saturate or to.name not in PLAIN_FLOATS or source.name in FP8:
            return None
        if source == f32 and to.bits == 16 and isinstance(self.a.type, Vec):
            return None  # in pairs
        if to == f16 and source.is_float:
            return None  # LLVM would round bf16 to f16 before it multiplies: it takes f16 to hold all numbers of bf16
        if source.name == "tf32":
            return None
        word = {"bool": "uitofp", "uint": "uitofp", "int": "sitofp", "float": "fptrunc"}[source.kind]
        return Llvm(f"$out = {word} $a:type $a to $out:type")

    def _int_to_int(self, source: Scalar, to: Scalar) -> str:
        """Return LLVM that converts one integer type to another, clamped to the range of `to` if `saturate` is set."""
        lines, last = [], "$a"
        word = "s" if source.kind == "int" else "u"
        low, high = (max(source.range[0], to.range[0]), min(source.range[1], to.range[1]))
        if self.saturate and low > source.range[0]:
            lines += [f"$.under = icmp {word}lt $a:type {last}, {low}"]
            lines += [f"$.raised = select i1 $.under, $a:type {low}, $a:type {last}"]
            last = "$.raised"
        if self.saturate and high < source.range[1]:
            lines += [f"$.over = icmp {word}gt $a:type {last}, {high}"]
            lines += [f"$.lowered = select i1 $.over, $a:type {high}, $a:type {last}"]
            last = "$.lowered"
        if source.bits == to.bits and not lines:
            return "$out = $a"
        return "\n".join([*lines, f"$out = {_int_cast(source, to)} $a:type {last} to $out:type"])

    def ptx(self) -> Ptx | None:
        if self.llvm() is not None:
            return None
        source, to, mode = elem_of(self.a.type), self.type, self.mode
        satfinite = ".satfinite" if self.saturate else ""
        if source.name in FP8:
            return _computes(f"cvt.rn.f16x2.{source}x2 $out, $a;", packed=("a", "out"))
        if to.name in FP8:
            if source == f32 and isinstance(self.a.type, Vec) and self.a.type.n % 4 == 0:
                return _four(f"cvt.rn.satfinite.{to}x2.f32")
            values = "$a.1, $a.0" if source == f32 else "$a"
            packed = ("out",) if source == f32 else ("a", "out")
            return _computes(f"cvt.rn.satfinite.{to}x2.{source if source == f32 else 'f16x2'} $out, {values};", packed)
        if source.name == "tf32":
            return Ptx("mov.b32 $out, $a;", pure=True, memory=False)
        if to.name == "tf32":
            rounded = f"cvt.{mode}{satfinite}.tf32.f32 bits, $a;"
            return Ptx(f"{{ .reg .b32 bits; {rounded} mov.b32 $out, bits; }}", pure=True, memory=False)
        if to.is_int:
            return self._float_to_int(source, to)
        if source == f32 and to.bits == 16 and mode in ("rn", "rz") and isinstance(self.a.type, Vec):
            return _computes(f"cvt.{mode}{satfinite}.{to}x2.f32 $out, $a.1, $a.0;", packed=("out",))
        return Ptx(f"cvt.{mode}{satfinite}.{to}.{ptx_type(source)} $out, $a;", pure=True, memory=False)

    def _float_to_int(self, source: Scalar, to: Scalar) -> Ptx:
        convert = f"cvt.{self.mode}i.{ptx_type(to)}.{source} $out, $a;"
        if source.bits < 64 and to.bits < 64:
            return Ptx(convert, pure=True, memory=False)
        # From f64 or to 64 bits NaN becomes the integer with only the top bit set (PTX ISA, cvt), not 0.
        fix = f"setp.nan.{source} nan, $a, $a; @nan mov.b{max(16, to.bits)} $out, 0;"
        return Ptx(f"{{ .reg .pred nan; {convert} {fix} }}", pure=True, memory=False)

    def simulate(self, lanes: Lanes) -> None:
        source, to, a = elem_of(self.a.type), self.type, lanes.get(self.a)
        if to.kind == "bool":
            lanes.define(a != 0)
        elif source.is_int and to.is_int:
            low, high = (max(source.range[0], to.range[0]), min(source.range[1], to.range[1]))
            lanes.define((np.clip(a, low, high) if self.saturate else a).astype(numpy_dtype(to)))
        elif to.is_int:
            lanes.define(a.astype(numpy_dtype(to)) if source.kind == "bool" else to_integer(a, to, self.mode))
        elif source.is_float and self.mode == "":
            lanes.define(a.astype(numpy_dtype(to)))
        else:
            lanes.define(rounded(a, to, self.mode, self.saturate))


def _computes(template: str, packed: tuple[str, ...]) -> Ptx:
    """Return PTX that converts two elements at a time."""
    return Ptx(template, pure=True, memory=False, group=2, packed=packed)


def _four(convert: str) -> Ptx:
    """Return PTX that converts four elements to a word: LLVM takes pairs of bytes apart before it packs them."""
    pairs = f"{convert} low, $a.1, $a.0; {convert} high, $a.3, $a.2;"
    text = f"{{ .reg .b16 low, high; {pairs} mov.b32 $out, {{low, high}}; }}"
    return Ptx(text, pure=True, memory=False, group=4, packed=("out",))


def _int_cast(source: Scalar, to: Scalar) -> str:
    if source.bits == to.bits:
        return "bitcast"
    return "trunc" if to.bits < source.bits else ("sext" if source.kind == "int" else "zext")


def ptx_type(elem: Scalar) -> str:
    """Return PTX's name of a type for arithmetic: s32, u8, f16, bf16, f64."""
    return f"s{elem.bits}" if elem.kind == "int" else str(elem)


# The conversions in NumPy: exact results, rounded once.


def rounded(a: Array, to: Scalar, mode: str, saturate: bool = False) -> Array:
    """Return integers or floats `a` in the float type `to`, rounded once as `mode` says ('' is rn)."""
    dtype = numpy_dtype(to)
    if to.name == "f64":
        return _wide_int_to_f64(a, mode)
    if mode in ("", "rn") and not saturate and (to.name in ("f32", "f16") or (a.dtype.char == "f" and to == bf16)):
        return (a if a.dtype.char == "f" else _to_f64(a)).astype(dtype)
    x = _to_f64(a)
    precision, least, largest = FORMATS[to.name]
    finite = np.isfinite(x)
    exponent = np.frexp(np.where(finite, x, 1.0))[1]
    unit = np.maximum(exponent, least + 1) - precision  # exponent of the last place
    value = np.ldexp(to_whole(np.ldexp(np.where(finite, x, 0.0), -unit), mode), unit)
    over = np.abs(value) > largest
    clamped = saturate or to.name in FP8
    stops = {"rz": over, "rm": over & (value > 0), "rp": over & (value < 0)}.get(mode, np.zeros_like(over))
    limit = np.where(stops | clamped, largest, np.inf)
    value = np.where(over, np.copysign(limit, value), value)
    beyond = np.copysign(largest, x) if clamped else x
    return np.where(finite, value, np.where(np.isnan(x), x, beyond)).astype(dtype)


def to_whole(x: Array, mode: str) -> Array:
    """Return floats rounded to whole numbers."""
    if mode == "rna":
        low = np.trunc(x)
        return np.where(np.abs(x - low) >= 0.5, low + np.copysign(1.0, x), low)
    return {"rz": np.trunc, "rm": np.floor, "rp": np.ceil}.get(mode, np.rint)(x)


def to_integer(a: Array, to: Scalar, mode: str) -> Array:
    """Return floats as integers of type `to`: rounded, saturated, NaN as 0."""
    x = to_whole(a.astype(np.float64), mode)
    low, high = to.range
    inside = (x > float(low)) & (x < float(high))  # float(high) may be rounded up to high + 1: not inside either
    whole = np.where(inside, x, 0.0).astype(numpy_dtype(to))
    ends = np.array([low, high], numpy_dtype(to))
    return np.where(x >= float(high), ends[1], np.where(x <= float(low), ends[0], whole))


def _to_f64(a: Array) -> Array:
    """Return `a` as f64. 64-bit integers that do not fit are rounded to odd: rounding again is then rounding once."""
    if a.dtype.kind not in "iu" or a.dtype.itemsize < 8:
        return a.astype(np.float64)
    total, error = _split_int(a)
    bits = total.view(np.int64)
    towards = np.where((error > 0) == (total > 0), 1, -1)
    return np.where((error != 0) & (bits & 1 == 0), (bits + towards).view(np.float64), total)


def _split_int(a: Array) -> tuple[Array, Array]:
    """Return the f64 nearest to each 64-bit integer, and the difference, also an f64; both are exact."""
    high = (a >> 32).astype(np.float64) * 2.0**32
    low = (a & 0xFFFFFFFF).astype(np.float64)
    total = high + low
    return total, low - (total - high)


def _wide_int_to_f64(a: Array, mode: str) -> Array:
    if a.dtype.itemsize < 8 or mode in ("", "rn"):
        return a.astype(np.float64)
    total, error = _split_int(a)
    up = (error > 0) & ((mode == "rp") | ((mode == "rz") & (total < 0)))
    down = (error < 0) & ((mode == "rm") | ((mode == "rz") & (total > 0)))
    return np.where(up, np.nextafter(total, np.inf), np.where(down, np.nextafter(total, -np.inf), total))


@op("bitcast", source="LLVM LangRef: bitcast")
class Bitcast(Op):
    """The bits of `a` as a value of `type`, which has as many bits; the first element of a vector is the lowest.

    A u32 and a vec<bf16,2> are one register seen in two ways.
    """

    a: Value
    type: Type
    gives = "type"

    def verify(self) -> Iterator[Problem]:
        for field, t in (("a", self.a.type), ("type", self.type)):
            if not isinstance(t, (Scalar, Vec)) or elem_of(t).kind in ("bool", "barrier"):
                yield Problem(field, f"bitcast takes numbers, not {t}")
                return
        if _bits(self.a.type) != _bits(self.type):
            text = f"bitcast from {self.a.type} ({_bits(self.a.type)} bits) to {self.type} ({_bits(self.type)} bits)"
            yield Problem("type", text, "both must have the same number of bits")
        elif _bits(self.a.type) % max(elem_of(self.a.type).bits, elem_of(self.type).bits):
            yield Problem("type", f"bitcast from {self.a.type} to {self.type} would cut an element in two")

    def llvm(self) -> Llvm:
        group = max(1, elem_of(self.type).bits // elem_of(self.a.type).bits)
        return Llvm("$out = bitcast $a:type $a to $out:type", group=group)

    def simulate(self, lanes: Lanes) -> None:
        a = np.ascontiguousarray(lanes.get(self.a))
        flat = a.reshape(a.shape[0], -1).view(numpy_dtype(elem_of(self.type)))
        lanes.define(flat if isinstance(self.type, Vec) else flat[:, 0])


def _bits(t: Type) -> int:
    return elem_of(t).bits * (t.n if isinstance(t, Vec) else 1)
