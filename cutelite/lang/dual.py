"""Numbers that carry a derivative: forward-mode differentiation of a function by one of its arguments.

`cl.value_and_derivative` wraps the argument in a `Dual` and calls the function. Arithmetic, `cl.where`, `cl.math` and
Python's `abs`, `min` and `max` take a `Dual` like a run-time number, and compute the derivative beside the
value. A derivative that is known while compiling, such as that of ``score + bias``, stays a Python float, and costs
nothing.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import Any

from cutelite.ir.types import f32, f64, with_elem
from cutelite.lang.emit import mistake
from cutelite.lang.promotion import Differentiable, Slope, dtype_of, is_number, literal, or_device, to_dtype
from cutelite.lang.values import RuntimeNumber, Vector, full_like, where
from cutelite.layout import DimExpr
from cutelite.records import dataclass


@dataclass(frozen=True, eq=False)
class Dual(Differentiable):
    """A number and its derivative with respect to the argument of `cl.value_and_derivative`.

    value   a run-time number or vector
    slope   the derivative, of the same shape, or a float if it is known
    """

    value: Any
    slope: Any

    def __post_init__(self) -> None:
        slope = self.slope
        if isinstance(self.value, RuntimeNumber):
            shaped = with_elem(self.value.value.type, real(self.value))
            if isinstance(slope, int | float):
                object.__setattr__(self, "slope", Slope(slope, shaped, self.value.value.shape))
            elif isinstance(self.value, Vector) and not isinstance(slope, Vector):
                object.__setattr__(self, "slope", full_like(self.value, slope, slope.dtype))

    def __add__(self, other: Any) -> Any:
        value, slope = parts(other)
        return Dual(self.value + value, plus(self.slope, slope))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        value, slope = parts(other)
        return Dual(self.value - value, plus(self.slope, times(-1.0, slope)))

    def __rsub__(self, other: Any) -> Any:
        return Dual(literal(other) - self.value, times(-1.0, self.slope))

    def __mul__(self, other: Any) -> Any:
        value, slope = parts(other)
        return Dual(self.value * value, plus(times(self.slope, factor(value, self.value)), times(slope, self.value)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        value, slope = parts(other)
        if not is_number(other):
            result = self.value / value
            return Dual(result, plus(self.slope, times(-1.0, times(slope, result))) / value)
        infinite = known(value, 0.0)
        over = python_math.copysign(python_math.inf, value) if infinite else 1.0 / factor(value, self.value)
        return Dual(self.value / value, times(self.slope, over))

    def __rtruediv__(self, other: Any) -> Any:
        result = literal(other) / self.value
        return Dual(result, times(times(-1.0, self.slope), result / self.value))

    def __floordiv__(self, other: Any) -> Any:
        return Dual(self.value // parts(other)[0], 0.0)

    def __rfloordiv__(self, other: Any) -> Any:
        return Dual(literal(other) // self.value, 0.0)

    def __mod__(self, other: Any) -> Any:
        value, slope = parts(other)
        return Dual(self.value % value, plus(self.slope, times(-1.0, times(slope, self.value // value))))

    def __rmod__(self, other: Any) -> Any:
        value = literal(other)
        return Dual(value % self.value, times(-1.0, times(self.slope, value // self.value)))

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, int) and not isinstance(exponent, bool):
            if exponent == 0:
                return Dual(self.value**0, 0.0)
            return Dual(self.value**exponent, times(self.slope, float(exponent) * self.value ** (exponent - 1)))
        return _math().pow(self, exponent)

    def __rpow__(self, base: Any) -> Any:
        return _math().pow(base, self)

    def __neg__(self) -> Any:
        return Dual(-self.value, times(-1.0, self.slope))

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return Dual(abs(self.value), times(self.slope, sign(self.value)))

    def __lt__(self, other: Any) -> Any:
        return self.value < parts(other)[0]

    def __le__(self, other: Any) -> Any:
        return self.value <= parts(other)[0]

    def __gt__(self, other: Any) -> Any:
        return self.value > parts(other)[0]

    def __ge__(self, other: Any) -> Any:
        return self.value >= parts(other)[0]

    def __eq__(self, other: Any) -> Any:
        return self.value == parts(other)[0]

    def __ne__(self, other: Any) -> Any:
        return self.value != parts(other)[0]

    __hash__ = None  # type: ignore[assignment]

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def shape(self) -> Any:
        return self.value.shape

    @or_device
    def to(self, dtype: Any) -> Any:
        """Convert to another type, the derivative too unless it is known."""
        dtype = dtype_of(dtype)
        if not dtype.is_float:
            return self.value.to(dtype)
        return Dual(self.value.to(dtype), self.slope if isinstance(self.slope, float) else self.slope.to(dtype))

    def choose(self, condition: Any, a: Any, b: Any) -> Dual:
        """Return `cl.where` where one of `a` and `b` is a `Dual`."""
        (x, of_x), (y, of_y) = parts(a), parts(b)
        value = where(condition, x, y)
        return Dual(value, chosen(condition, of_x, of_y, value))

    def extreme(self, pick: Callable[[Any, Any], Any], a: Any, b: Any) -> Dual:
        """Return `min` or `max` where one of `a` and `b` is a `Dual`. At a tie the derivative is that of `a`."""
        (x, of_x), (y, of_y) = parts(a), parts(b)
        value = pick(x, y)
        return Dual(value, chosen(value == x, of_x, of_y, value))

    def apply(self, name: str, function: Callable[..., Any], *xs: Any) -> Any:
        """Return the function `name` of `cl.math` of `xs`, a `Dual` among them; `function` computes it on values."""
        values = [parts(x)[0] for x in xs]
        result = function(*values)
        if name in LOGICAL:
            return result
        if name in FLAT:
            return Dual(result, 0.0)
        rows = SEVERAL.get(name) or (PARTIALS.get(name),)
        if rows == (None,):
            text = f"cl.math.{name} has no derivative here"
            raise mistake("no-derivative", text, help=f"those with one: {', '.join((*PARTIALS, *SEVERAL))}")
        found = []
        for part, partials in zip(result if isinstance(result, tuple) else (result,), rows, strict=True):
            slope: Any = 0.0
            for x, partial in zip(xs, partials or (), strict=False):
                if isinstance(x, Dual):
                    slope = plus(slope, times(x.slope, partial(result, *values)))
            found.append(part if partials is None else Dual(part, slope))
        return tuple(found) if isinstance(result, tuple) else found[0]


def parts(x: Any) -> tuple[Any, Any]:
    """Return the value and the derivative of a `Dual`; any other number has derivative 0."""
    return (x.value, x.slope) if isinstance(x, Dual) else (literal(x), 0.0)


def factor(x: Any, like: Any) -> Any:
    """Return a number as a factor of derivatives beside the number `like`: run-time integers and bools as floats."""
    if isinstance(x, DimExpr) or (isinstance(x, RuntimeNumber) and not x.dtype.is_float):
        return to_dtype(x, real(like))
    return x


def known(x: Any, number: float) -> bool:
    return isinstance(x, int | float) and x == number


def times(a: Any, b: Any) -> Any:
    """Return a product; factors known to be 0, 1 or -1 emit no multiplication."""
    if known(a, 0.0) or known(b, 0.0):
        return 0.0
    return b if known(a, 1.0) else a if known(b, 1.0) else -b if known(a, -1.0) else a * b


def plus(a: Any, b: Any) -> Any:
    """Return a sum; terms known to be 0 emit no addition."""
    return b if known(a, 0.0) else a if known(b, 0.0) else a + b


def chosen(condition: Any, a: Any, b: Any, like: Any) -> Any:
    """Return the derivative `a` if the condition holds, else `b`; `like` has the shape of their values."""
    if isinstance(condition, bool):
        return a if condition else b
    if isinstance(a, float) and isinstance(b, float):
        if a == b:
            return a
        a = full_like(like, a, real(like)) if isinstance(like, Vector) else to_dtype(a, real(like))
    return where(condition, a, b)


def real(x: Any) -> Any:
    """Return the type of derivatives beside the number `x`."""
    return f64 if x.dtype == f64 else f32


def sign(x: Any) -> Any:
    """Return the derivative of a magnitude: at 0 it is 0, as torch's and JAX's."""
    return chosen(x > 0.0, 1.0, chosen(x < 0.0, -1.0, 0.0, x), x)


def over_square(a: Any, x: Any, y: Any) -> Any:
    """Return a / (x * x + y * y), or 0 where that is 0 / 0, as torch's."""
    square = x * x + y * y
    return chosen(square == 0.0, 0.0, a / square, square)


def _math() -> Any:
    from cutelite.lang import math

    return math


Partial = Callable[..., Any]
PARTIALS: dict[str, tuple[Partial, ...]] = {
    "sqrt": (lambda y, x: 0.5 / y,),
    "rsqrt": (lambda y, x: -0.5 * y / x,),
    "rcp": (lambda y, x: -(y * y),),
    "divide": (lambda y, a, b: 1.0 / b, lambda y, a, b: -y / b),
    "fmod": (lambda y, a, b: 1.0, lambda y, a, b: -_math().rint((a - y) / b)),
    "remainder": (lambda y, a, b: 1.0, lambda y, a, b: -_math().rint((a - y) / b)),
    "ldexp": (
        lambda y, x, n: _math().ldexp(full_like(x, 1.0) if isinstance(x, Vector) else to_dtype(1.0, x.dtype), n),
    ),
    "cbrt": (lambda y, x: 1.0 / (3.0 * y * y),),
    "rcbrt": (lambda y, x: -y / (3.0 * x),),
    "hypot": tuple(lambda y, *xs, i=i: xs[i] / y for i in range(8)),
    "rhypot": tuple(lambda y, *xs, i=i: -xs[i] * y * y * y for i in range(8)),
    "exp": (lambda y, x: y,),
    "exp2": (lambda y, x: y * python_math.log(2.0),),
    "exp10": (lambda y, x: y * python_math.log(10.0),),
    "expm1": (lambda y, x: y + 1.0,),
    "log": (lambda y, x: 1.0 / x,),
    "log2": (lambda y, x: 1.0 / python_math.log(2.0) / x,),
    "log10": (lambda y, x: 1.0 / python_math.log(10.0) / x,),
    "log1p": (lambda y, x: 1.0 / (1.0 + x),),
    "pow": (
        lambda y, a, b: 0.0 if known(b, 0.0) else chosen(b == 0.0, 0.0, b * _math().pow(a, b - 1.0), y),
        lambda y, a, b: chosen((a == 0.0) & (b >= 0.0), 0.0, y * _math().log(a), y),
    ),
    "sin": (lambda y, x: _math().cos(x),),
    "cos": (lambda y, x: -_math().sin(x),),
    "sinpi": (lambda y, x: _math().cospi(x) * python_math.pi,),
    "cospi": (lambda y, x: _math().sinpi(x) * -python_math.pi,),
    "tan": (lambda y, x: 1.0 + y * y,),
    "asin": (lambda y, x: _math().rsqrt(1.0 - x * x),),
    "acos": (lambda y, x: -_math().rsqrt(1.0 - x * x),),
    "atan": (lambda y, x: 1.0 / (1.0 + x * x),),
    "atan2": (lambda r, y, x: over_square(x, x, y), lambda r, y, x: over_square(-y, x, y)),
    "sinh": (lambda y, x: _math().cosh(x),),
    "cosh": (lambda y, x: _math().sinh(x),),
    "tanh": (lambda y, x: 1.0 - y * y,),
    "asinh": (lambda y, x: _math().rsqrt(x * x + 1.0),),
    "acosh": (lambda y, x: _math().rsqrt(x * x - 1.0),),
    "atanh": (lambda y, x: 1.0 / (1.0 - x * x),),
    "erf": (lambda y, x: 2.0 / python_math.sqrt(python_math.pi) * _math().exp(-x * x),),
    "erfc": (lambda y, x: -2.0 / python_math.sqrt(python_math.pi) * _math().exp(-x * x),),
    "erfinv": (lambda y, x: python_math.sqrt(python_math.pi) / 2.0 * _math().exp(y * y),),
    "erfcx": (lambda y, x: 2.0 * x * y - 2.0 / python_math.sqrt(python_math.pi),),
    "erfcinv": (lambda y, x: -python_math.sqrt(python_math.pi) / 2.0 * _math().exp(y * y),),
    "normcdf": (lambda y, x: _math().exp(x * x * -0.5) / python_math.sqrt(2.0 * python_math.pi),),
    "normcdfinv": (lambda y, x: _math().exp(y * y * 0.5) * python_math.sqrt(2.0 * python_math.pi),),
    "lgamma": (lambda y, x: _math().digamma(x),),
    "tgamma": (lambda y, x: y * _math().digamma(x),),
    "sigmoid": (lambda y, x: y * (1.0 - y),),  # this and the next are torch's
    "softplus": (lambda y, x: 1.0 / (_math().exp(-x) + 1.0),),
    "fdim": (lambda y, a, b: (a > b).to(real(y)), lambda y, a, b: -(a > b).to(real(y))),
    "fma": (lambda y, a, b, c: b, lambda y, a, b, c: a, lambda y, a, b, c: 1.0),
    "fabs": (lambda y, x: sign(x),),
    "copysign": (lambda y, a, b: sign(a) * sign(y), lambda y, a, b: 0.0),
    "saturate": (lambda y, x: chosen(y == x, 1.0, 0.0, x),),
    "minimum": (lambda y, a, b: (a <= b).to(real(y)), lambda y, a, b: (a > b).to(real(y))),
    "maximum": (lambda y, a, b: (a >= b).to(real(y)), lambda y, a, b: (a < b).to(real(y))),
}
"""Derivatives of functions of `cl.math` by each of their arguments, computed from the result and the arguments."""

SEVERAL: dict[str, tuple[tuple[Partial, ...] | None, ...]] = {
    "sincos": ((lambda y, x: y[1],), (lambda y, x: -y[0],)),
    "sincospi": ((lambda y, x: y[1] * python_math.pi,), (lambda y, x: y[0] * -python_math.pi,)),
    "modf": ((lambda y, x: 1.0,), (lambda y, x: 0.0,)),
    "frexp": ((lambda y, x: where(x == 0.0, 1.0, y[0] / x),), None),
    "remquo": ((lambda y, a, b: 1.0, lambda y, a, b: -_math().rint((a - y[0]) / b)), None),
}
"""The same for each result of functions with several; None for integers."""

FLAT = ("floor", "ceil", "trunc", "rint", "round", "logb")
"""Functions that are constant between jumps: their derivative is 0."""

LOGICAL = ("isnan", "isinf", "isfinite")
