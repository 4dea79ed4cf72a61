"""Floats of 4 and 6 bits, two at a time, by the instructions of the GPUs that have them."""

from __future__ import annotations

from cutelite.ir.contract import Ptx, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.simulation import Array, Lanes
from cutelite.ir.types import Vec, f16, f32, u16
from cutelite.ops.address import among, scalar

FORMATS: dict[str, tuple[int, int, int]] = {"e2m1": (2, 1, 4), "e2m3": (2, 3, 8), "e3m2": (3, 2, 8)}
"""Bits of the exponent, of the stored significand, and of the place of a number: 6-bit ones lie low in a byte."""


def values(name: str) -> Array:
    """Return the number that each code of the format stands for, by code; no infinity, no NaN. Source: OCP MX, 5.3."""
    exponents, stored, _ = FORMATS[name]
    bias = (1 << exponents - 1) - 1
    code = np.arange(1 << exponents + stored)
    exponent, rest = code >> stored, code & (1 << stored) - 1
    hidden = np.where(exponent > 0, 1 << stored, 0)
    size = (hidden + rest) * 2.0 ** (np.maximum(exponent, 1) - bias - stored)
    return np.concatenate([size, -size])


def codes(x: Array, name: str) -> Array:
    """Return the codes of numbers: rounded to nearest even, clamped to the largest; NaN is the largest."""
    sizes = values(name)[: len(values(name)) // 2]
    a = np.where(np.isnan(x), sizes[-1], np.minimum(np.abs(x.astype(np.float64)), sizes[-1]))
    above = np.clip(np.searchsorted(sizes, a), 1, len(sizes) - 1)
    low, high = a - sizes[above - 1], sizes[above] - a
    up = (high < low) | ((high == low) & (above % 2 == 0))
    code = np.where(up, above, above - 1)
    return np.where(np.signbit(x) & ~np.isnan(x), code + len(sizes), code)


@op("cvt.unpack", feature="fp4", source="PTX ISA: cvt, .e2m1x2, .e2m3x2, .e3m2x2")
class CvtUnpack(Op):
    """The two numbers of `format` in the low 8 (e2m1) or 16 bits of the u16 `a`, the lower first, as a vec<f16,2>."""

    a: Value
    format: str
    gives = Vec(f16, 2)
    takes = {"a": scalar(u16), "format": among(FORMATS)}

    def ptx(self) -> Ptx:
        convert = f"cvt.rn.f16x2.{self.format}x2 $out"
        if FORMATS[self.format][2] == 4:
            return Ptx(
                f"{{ .reg .b8 pair, none; mov.b16 {{pair, none}}, $a; {convert}, pair; }}",
                pure=True, memory=False, packed=("out",),
            )  # fmt: skip
        return Ptx(f"{convert}, $a;", pure=True, memory=False, packed=("out",))

    def simulate(self, lanes: Lanes) -> None:
        place = FORMATS[self.format][2]
        table, a = values(self.format), lanes.get(self.a).astype(np.int64)
        mask = len(table) - 1
        lanes.define(np.stack([table[a & mask], table[a >> place & mask]], axis=-1).astype(np.float16))


@op("cvt.pack", feature="fp4", source="PTX ISA: cvt, .satfinite, .e2m1x2, .e2m3x2, .e3m2x2")
class CvtPack(Op):
    """Two f32, `low` and `high`, as numbers of `format` in the low 8 (e2m1) or 16 bits of a u16.

    They are rounded to nearest even, and clamped to the largest number, which NaN becomes too.
    """

    low: Value
    high: Value
    format: str
    gives = u16
    takes = {"low": scalar(f32), "high": scalar(f32), "format": among(FORMATS)}

    def ptx(self) -> Ptx:
        convert = f"cvt.rn.satfinite.{self.format}x2.f32"
        if FORMATS[self.format][2] == 4:
            text = f"{{ .reg .b8 pair, none; mov.b16 {{none, pair}}, 0; {convert} pair, $high, $low; "
            return Ptx(f"{text}mov.b16 $out, {{pair, none}}; }}", pure=True, memory=False)
        return Ptx(f"{convert} $out, $high, $low;", pure=True, memory=False)

    def simulate(self, lanes: Lanes) -> None:
        low, high = (codes(lanes.get(x), self.format) for x in (self.low, self.high))
        lanes.define((low | high << FORMATS[self.format][2]).astype(np.uint16))


__all__ = ["CvtPack", "CvtUnpack"]
