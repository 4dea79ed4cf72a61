"""Arithmetic on packed pairs of f32: one instruction of Blackwell adds, multiplies or does both on two of them."""

from __future__ import annotations

from collections.abc import Iterator

from cutelite.ir.contract import Problem, Ptx, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.simulation import Array, Lanes
from cutelite.ir.types import Vec, f32
from cutelite.ops.address import among
from cutelite.ops.arith import product_and_sum
from cutelite.ops.convert import ALL_MODES, rounded
from cutelite.ops.math import flushed

PAIR = Vec(f32, 2)


class Packed(Op):
    """An operation on vec<f32,2>, each element rounded once.

    ftz       take subnormal operands and results as 0
    rounding  to nearest even (rn), towards zero (rz), down (rm) or up (rp)
    """

    a: Value
    b: Value
    ftz: bool = False
    rounding: str = "rn"
    gives = PAIR
    takes = {"rounding": among(ALL_MODES)}

    @property
    def given(self) -> tuple[Value, ...]:
        return self.a, self.b

    def verify(self) -> Iterator[Problem]:
        for field, value in zip("abc", self.given, strict=False):
            if value.type != PAIR:
                yield Problem(field, f"{self.name} takes vec<f32,2>, not {value.type}")

    def ptx(self) -> Ptx:
        word, kind = self.name.split(".")
        names = "abc"[: len(self.given)]
        moves = " ".join(f"mov.b64 x{name}, ${name};" for name in names)
        registers = ", ".join(f"x{name}" for name in f"d{names}")
        call = f"{word}.{self.rounding}{'.ftz' if self.ftz else ''}.{kind} {registers};"
        return Ptx(f"{{ .reg .b64 {registers}; {moves} {call} mov.b64 $out, xd; }}", pure=True, memory=False)

    def simulate(self, lanes: Lanes) -> None:
        given = (flushed(lanes.get(value), self.ftz) for value in self.given)
        with np.errstate(all="ignore"):
            x, y, z = (v.astype(np.float64) for v in self.terms(*given))
            total = product_and_sum(x, y, z)
            if self.rounding == "rm":  # the sum of opposite numbers is -0 in this mode
                total = np.where((total == 0) & (np.signbit(x * y) != np.signbit(z)), -0.0, total)
            lanes.define(flushed(rounded(total, f32, self.rounding), self.ftz))

    def terms(self, *given: Array) -> tuple[Array, Array, Array]:
        """Return x, y and z such that the exact result is ``x * y + z``."""
        raise NotImplementedError


@op("add.f32x2", feature="f32x2", source="PTX ISA: add")
class AddF32x2(Packed):
    """``a + b`` of two pairs."""

    def terms(self, *given: Array) -> tuple[Array, Array, Array]:
        a, b = given
        return a, np.ones_like(a), b


@op("sub.f32x2", feature="f32x2", source="PTX ISA: sub")
class SubF32x2(Packed):
    """``a - b`` of two pairs."""

    def terms(self, *given: Array) -> tuple[Array, Array, Array]:
        a, b = given
        return a, np.ones_like(a), -b


@op("mul.f32x2", feature="f32x2", source="PTX ISA: mul")
class MulF32x2(Packed):
    """``a * b`` of two pairs."""

    def terms(self, *given: Array) -> tuple[Array, Array, Array]:
        a, b = given
        return a, b, np.copysign(0.0, a) * np.copysign(1.0, b)


@op("fma.f32x2", feature="f32x2", source="PTX ISA: fma")
class FmaF32x2(Packed):
    """``a * b + c`` of three pairs, rounded once."""

    c: Value

    @property
    def given(self) -> tuple[Value, ...]:
        return self.a, self.b, self.c

    def terms(self, *given: Array) -> tuple[Array, Array, Array]:
        a, b, c = given
        return a, b, c
