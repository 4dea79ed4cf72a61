"""Division by a number that is the same many times: by a multiplication."""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import i32, i64, u32, u64
from cutelite.lang.bits import clz, mul_hi
from cutelite.lang.debug import assert_
from cutelite.lang.emit import describe, mistake
from cutelite.lang.promotion import holds_literal, literal
from cutelite.lang.values import Scalar, where
from cutelite.layout import DimExpr
from cutelite.records import dataclass


@dataclass(frozen=True, init=False)
class FastDivmod:
    """A divisor, with the numbers that make a division by it a multiplication and a shift.

        rows = cl.FastDivmod(N)               # in a kernel, once: a division; or before the launch, for an argument
        row, column = divmod(i, rows)         # or rows.divmod(i), i // rows, i % rows

    As an argument it is made on the host, and annotated `FastDivmod`. A divisor known at compile time needs none: the
    compiler does the same for ``i // 7``. The dividend is from 0 to 2**31 - 1, which the simulator checks.

    divisor     1 to 2**31 - 1; in a kernel also one known at run time
    multiplier  2**(32 + shift) // divisor, rounded up; 0 for a divisor of 1
    shift       the digits of ``divisor - 1`` in binary, less 1
    Errors      TypeError or ValueError for another divisor that is known at compile time
    Source      Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994
    """

    divisor: i32  # type: ignore[valid-type]  # fields of a kernel's argument
    multiplier: u32  # type: ignore[valid-type]
    shift: i32  # type: ignore[valid-type]

    def __init__(self, divisor: Any) -> None:
        for name, number in zip(("divisor", "multiplier", "shift"), _numbers(divisor), strict=True):
            object.__setattr__(self, name, number)

    @classmethod
    def of(cls, divisor: Any) -> FastDivmod:
        """``FastDivmod(divisor)``."""
        return cls(divisor)

    def div(self, x: Any) -> Any:
        """Return ``x // divisor``."""
        if isinstance(x, Scalar):
            if not x.dtype.is_int:
                raise mistake("dividend", f"FastDivmod divides integers, not {describe(x)}")
            _check(x)
        elif not isinstance(x, DimExpr):
            x = literal(x)
            if not isinstance(x, int):
                raise mistake("dividend", f"FastDivmod divides integers, not {describe(x)}")
            if not 0 <= x < 1 << 31:
                raise mistake("dividend", f"a dividend of FastDivmod is from 0 to 2**31 - 1, not {x}")
            if not isinstance(self.divisor, Scalar):
                return x // self.divisor
        dividend: Any = i32(x)
        quotient = (mul_hi(dividend.to(u32), u32(self.multiplier)) >> u32(self.shift)).to(i32)
        return where(self.divisor == 1, dividend, quotient)

    def divmod(self, x: Any) -> tuple[Any, Any]:
        """Return ``x // divisor`` and ``x % divisor``."""
        quotient = self.div(x)
        return quotient, (i32(x) if isinstance(x, Scalar) else x) - quotient * self.divisor

    def __rfloordiv__(self, x: Any) -> Any:
        return self.div(x)

    def __rmod__(self, x: Any) -> Any:
        return self.divmod(x)[1]

    def __rdivmod__(self, x: Any) -> tuple[Any, Any]:
        return self.divmod(x)


def _check(dividend: Any) -> None:
    """Stop the simulator, and a kernel with assertions, at a dividend that is out of range."""
    words, t = "a dividend of FastDivmod is from 0 to 2**31 - 1", dividend.dtype
    if t.signed:
        assert_(dividend >= 0, words)
    if t in (u32, i64, u64):
        assert_(dividend < 1 << 31, words)


def _numbers(divisor: Any) -> tuple[Any, Any, Any]:
    """Return divisor, multiplier and shift: ints of an int, else run-time numbers."""
    if isinstance(divisor, Scalar) and not divisor.dtype.is_int:
        raise mistake("divisor", f"FastDivmod takes a divisor, a whole number, not {describe(divisor)}")
    if isinstance(divisor, DimExpr | Scalar):
        n: Any = i32(divisor)
        if isinstance(divisor, Scalar):
            assert_(divisor > 0, "a divisor of FastDivmod is at least 1")
            if divisor.dtype in (u32, i64, u64):
                assert_(divisor < 1 << 31, "a divisor of FastDivmod is at most 2**31 - 1")
        shift: Any = i32(max(31 - clz(n - 1), 0))
        power, wide = u64(1) << (shift + 32).to(u64), n.to(u64)
        return n, where(n == 1, u32(0), ((power + wide - 1) // wide).to(u32)), shift
    if holds_literal(divisor):
        divisor = divisor.item()
    if not isinstance(divisor, int) or isinstance(divisor, bool):
        raise TypeError(f"FastDivmod takes a divisor, a whole number, not {divisor!r}")
    if not 0 < divisor < 1 << 31:
        raise ValueError(f"a divisor is from 1 to 2**31 - 1, not {divisor}")
    digits = max((divisor - 1).bit_length() - 1, 0)
    return divisor, 0 if divisor == 1 else -(-(1 << 32 + digits) // divisor), digits
