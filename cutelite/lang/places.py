"""Indices of a fragment's elements: a run-time number plus an offset for each element, known at compile time.

    place = places(first, (0, 1, 8, 9), (2, 2))  # i32: first + 0, first + 1, first + 8, first + 9
    bias = (place - query) * 0.5                 # one conversion, one product, four additions of literals

They are vectors of i32, computed only if needed. In arithmetic with floats, only the run-time number is converted.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, product
from operator import mul
from typing import Any

from cutelite.ir.types import f32, i32
from cutelite.lang.emit import emit
from cutelite.lang.lazy import Lazy
from cutelite.lang.promotion import as_value, dtype_of, or_device, to_dtype
from cutelite.lang.values import RuntimeNumber, Scalar, Vector, maximum, minimum, vector
from cutelite.ops import arith

MOST = 1 << 24
"""The largest literal, and multiple of an offset, by which indices stay numbers that f32 may hold too."""


class Either(Lazy):
    """A vector of i32 that can also be computed in f32, as its use requires.

    whole, real   compute it in i32 and in f32. They agree while all indices are below 2^24; beyond, `real` is rounded
    """

    __slots__ = ("_real", "_whole")
    __hash__ = Vector.__hash__

    def __init__(self, whole: Callable[[], Any], real: Callable[[], Any]) -> None:
        super().__init__()
        self._whole, self._real = whole, real

    def computed(self) -> Any:
        return self._whole()

    @or_device
    def to(self, dtype: Any) -> Any:
        return self._real() if dtype_of(dtype) == f32 else to_dtype(self, dtype)

    def __abs__(self) -> Any:
        return Either(lambda: abs(Vector(self.value)), lambda: abs(self._real()))


class Places(Either):
    """``base + step * offset`` for each element, in i32 or f32.

    base      a run-time scalar
    offsets   Python numbers, one for each element of `extents`, in colexicographic order
    step      1.0, or a run-time scalar of f32
    whole     None, or a function that computes the i32 vector instead, such as one clamped to bounds
    natural   whether all are known to be at least 0
    """

    __slots__ = ("base", "extents", "natural", "offsets", "step", "whole")
    __hash__ = Vector.__hash__

    def __init__(
        self, base: Scalar, offsets: tuple[float, ...], extents: tuple[int, ...], step: Any = 1.0, whole: Any = None
    ) -> None:
        super().__init__(whole or self._vector, lambda: self._over(to_dtype(base, f32), map(float, offsets), step))
        self.base, self.offsets, self.extents, self.step, self.whole = base, offsets, extents, step, whole
        self.natural = False

    @property
    def dtype(self) -> Any:
        return self.base.dtype

    def _vector(self) -> Vector:
        found = vector(*self.offsets, dtype=self.base.dtype)
        base = as_value(self.base, found.value.type)
        if isinstance(self.step, float):
            found = emit(arith.Add(found.value, base))
        else:
            found = emit(arith.Fma(found.value, as_value(self.step, found.value.type), base))
        found.value.shape = self.extents
        return found  # type: ignore[no-any-return]

    def _over(self, base: Any, offsets: Any, step: Any = 1.0, whole: Any = None) -> Places:
        return Places(base, tuple(offsets), self.extents, step, whole)

    def within(self, least: Any, most: Any) -> Places:
        """Return the same indices, clamped to `least` .. `most` where they are used as integers."""
        found = self._over(self.base, self.offsets, self.step, lambda: maximum(minimum(self._vector(), most), least))
        found.natural = isinstance(least, int) and least >= 0
        return found

    def from_zero(self) -> Places:
        """Return the same indices, which are known to be at least 0."""
        found = self._over(self.base, self.offsets, self.step, self.whole)
        found.natural = True
        return found

    def _then(self, function: Callable[[Vector], Any], other: Any = None) -> Any:
        """Return `whole` for a function of these integers, or None if neither they nor the other operand have one."""
        if self.whole is None and getattr(other, "whole", None) is None:
            return None
        return lambda: function(Vector(self.value))

    def __neg__(self) -> Any:
        return self._over(-self.base, (-x for x in self.offsets), self.step, self._then(lambda x: -x))

    def __abs__(self) -> Any:
        return super().__abs__() if self.dtype == i32 else abs(Vector(self.value))

    def plus(self, other: Any) -> Any:
        """Return the sum with a number or indices of the same dtype; None for anything else."""
        if isinstance(other, int | float) or (isinstance(other, Scalar) and other.dtype == self.dtype):
            if isinstance(other, float) and self.dtype != f32:
                return None
            return self._over(self.base + other, self.offsets, self.step, self._then(lambda x: x + other))
        if not isinstance(other, Places) or other.dtype != self.dtype or len(other.extents) != len(self.extents):
            return None
        if self.step is not other.step and self.step != other.step:
            return None
        if any(a != b and 1 not in (a, b) for a, b in zip(self.extents, other.extents, strict=True)):
            return None
        extents = tuple(map(max, self.extents, other.extents))
        offsets = map(sum, zip(self._spread(extents), other._spread(extents), strict=True))
        whole = self._then(lambda x: x + Vector(other.value), other)
        return Places(self.base + other.base, tuple(offsets), extents, self.step, whole)

    def _spread(self, extents: tuple[int, ...]) -> tuple[float, ...]:
        strides = (*accumulate(self.extents, mul, initial=1),)
        coords = (at[::-1] for at in product(*map(range, extents[::-1])))
        return tuple(
            self.offsets[sum(min(c, n - 1) * s for c, n, s in zip(at, self.extents, strides, strict=False))]
            for at in coords
        )

    def apart(self, extents: tuple[int, ...]) -> tuple[Places, tuple[int, ...]]:
        """Return each different element once, and of which of them each element of a vector of `extents` is."""
        offsets = self._spread(extents)
        numbers = {offset: i for i, offset in enumerate(dict.fromkeys(offsets))}
        once = Places(self.base, (*numbers,), (len(numbers),), self.step)
        return once, tuple(numbers[offset] for offset in offsets)

    def onto(self, x: Vector) -> Vector:
        """Return the sum with a vector of f32, without registers for the indices: `x` plus base, plus offsets."""
        offsets = vector(*self._spread(x.shape), dtype=f32).reshape(x.shape)
        found: Vector = x + self.base + (offsets if isinstance(self.step, float) else offsets * self.step)
        return found

    def times(self, other: Any) -> Any:
        """Return the product with a literal, or of floats with a run-time scalar; None for anything else."""
        if isinstance(other, int) or (isinstance(other, float) and self.dtype == f32):
            offsets = tuple(x * other for x in self.offsets)
            if self.dtype == i32 and max(map(abs, (other, *offsets))) > MOST:
                return None  # the product may wrap around
            return self._over(self.base * other, offsets, self.step, self._then(lambda x: x * other))
        if isinstance(other, Scalar) and self.dtype == f32 and (other.dtype == f32 or other.dtype.is_int):
            factor = to_dtype(other, f32)
            return self._over(self.base * factor, self.offsets, self.step * factor)
        return None


def _operator(name: str, kept: Callable[[Any, Any], Any] | None = None) -> Callable[[Any, Any], Any]:
    """Return the operator of `Vector` of this name, in f32 where the other operand is a float.

    kept   for additive operators: computes the result as `Places`, or returns None if it cannot
    """
    general: Callable[[Any, Any], Any] = getattr(Vector, name)

    def operator(self: Either, other: Any) -> Any:
        if isinstance(self, Places) and kept is not None and (found := kept(self, other)) is not None:
            return found
        if self.dtype == i32 and (_is_float(other) or "truediv" in name):
            return getattr(self.to(f32), name)(other)
        if kept is not None and isinstance(other, int) and self.dtype == i32 and abs(other) <= MOST:
            return Either(lambda: general(Vector(self.value), other), lambda: getattr(self.to(f32), name)(float(other)))
        return general(Vector(self.value), other)

    return operator


def _is_float(x: Any) -> bool:
    return isinstance(x, float) or (isinstance(x, RuntimeNumber) and x.dtype == f32)


def _minus(a: Any, b: Any) -> Any:
    return a.plus(-b) if _is_float(b) or isinstance(b, int | Scalar | Places) else None


ADDITIVE: dict[str, Callable[[Any, Any], Any]] = {
    "add": Places.plus, "radd": Places.plus, "sub": _minus, "rsub": lambda a, b: (-a).plus(b),
    "mul": Places.times, "rmul": Places.times,
}  # fmt: skip
for _name, _kept in ADDITIVE.items():
    setattr(Either, f"__{_name}__", _operator(f"__{_name}__", _kept))
for _name in ("truediv", "rtruediv", "lt", "le", "gt", "ge", "eq", "ne", "pow"):
    setattr(Either, f"__{_name}__", _operator(f"__{_name}__"))


def places(base: Scalar, offsets: tuple[int, ...], extents: tuple[int, ...]) -> Vector:
    """Return the i32 vector of ``base + offset``; as floats it costs one conversion, of `base`.

    While all indices are below 2^24 in magnitude, floats differ from converted integers by at most the rounding of
    `base` and of an offset, each times its factor.

    offsets   one for each element of `extents`, in colexicographic order
    """
    return Places(base, offsets, extents)
