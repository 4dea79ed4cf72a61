"""Scores to which a function, a `score_mod`, adds a number: products and addend are kept apart until they are needed.

In    scores as products times a factor
Out   the same with the addend, from which the products may start; or an ordinary vector, if a function does anything
      else with them
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.ir.types import f32
from cutelite.lang.lazy import Lazy
from cutelite.lang.math import rcp
from cutelite.lang.values import RuntimeNumber, Scalar, Vector, full


class Biased(Lazy):
    """``products * factor + bias``, a vector of f32 that is computed when its elements are used.

    products   (2, rows, n), or a shape of that rank
    factor     a float or a run-time scalar
    bias       a float, or a run-time number of f32 that can be broadcast to the products
    asked      not empty once elements were used, of this vector or of one that it was made from
    """

    __slots__ = ("asked", "bias", "factor", "products")
    __hash__ = Vector.__hash__

    def __init__(self, products: Any, factor: Any, bias: Any = 0.0, asked: list[bool] | None = None) -> None:
        super().__init__()
        self.products, self.factor, self.bias = products, factor, bias
        self.asked: list[bool] = [] if asked is None else asked

    def computed(self) -> Any:
        self.asked.append(True)
        found = self.products * self.factor
        return found + self.bias if self.adds else found

    @property
    def dtype(self) -> Any:
        return f32

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.products.shape  # type: ignore[no-any-return]

    def plus(self, other: Any, negative: bool = False) -> Any:
        """Return the sum with a number that is no score, or the difference; None for anything else."""
        if isinstance(other, int | float):
            added: Any = float(other)
        elif isinstance(other, RuntimeNumber) and not isinstance(other, Biased) and _becomes_f32(other.dtype):
            added = other.to(f32)
        else:
            return None
        added = -added if negative else added
        return Biased(self.products, self.factor, self.bias + added if self.adds else added, self.asked)

    def times(self, other: Any) -> Any:
        """Return the product with a float or a run-time scalar of f32; None for anything else."""
        if not isinstance(other, int | float) and not (isinstance(other, Scalar) and other.dtype == f32):
            return None
        factor = float(other) if isinstance(other, int) else other
        bias = self.bias * factor if self.adds else self.bias
        return Biased(self.products, self.factor * factor, bias, self.asked)

    def start(self, unit: Any) -> Any:
        """Return the addend, divided by `unit`, in the shape of the products, which may begin with it."""
        bias = self.bias * rcp(unit, fast=True)
        return bias.broadcast_to(self.shape) if isinstance(bias, Vector) else full(self.shape, bias, f32)

    @property
    def adds(self) -> bool:
        """Tell whether there is an addend. In a kernel a run-time float passes for a float: code there asks this."""
        return not (isinstance(self.bias, float) and self.bias == 0.0)

    @property
    def literal(self) -> bool:
        """Tell whether the factor is a positive literal, safe to divide by, and no elements were used.

        With a positive factor the greatest product gives the greatest score.
        """
        return not self.asked and isinstance(self.factor, float) and 2.0**-60 < self.factor < 2.0**60


def _becomes_f32(dtype: Any) -> bool:
    return bool(dtype == f32 or (dtype.is_int and dtype.bits <= 32))


def _kept(name: str, kept: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the operator of `Vector` of this name, which keeps the addend apart if `kept` can do that."""
    general: Callable[[Any, Any], Any] = getattr(Vector, name)

    def operator(self: Biased, other: Any) -> Any:
        found = None if isinstance(other, bool) else kept(self, other)
        return general(Vector(self.value), other) if found is None else found

    return operator


ADDITIVE: dict[str, Callable[[Any, Any], Any]] = {
    "__add__": Biased.plus,
    "__radd__": Biased.plus,
    "__sub__": lambda a, b: a.plus(b, negative=True),
    "__rsub__": lambda a, b: a.times(-1.0).plus(b),
    "__mul__": Biased.times,
    "__rmul__": Biased.times,
    "__truediv__": lambda a, b: a.times(1.0 / b) if isinstance(b, int | float) and b else None,
}
for _name, _function in ADDITIVE.items():
    setattr(Biased, _name, _kept(_name, _function))


def biased(products: Any, factor: Any) -> Vector:
    """Return ``products * factor`` in the form in which functions of scores get it."""
    return Biased(products, factor)
