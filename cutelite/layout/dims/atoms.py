"""Dims, expressions and nodes: the values that expressions over dims are made of.

A `DimExpr` is a sum of products of atoms; `normal_form` says in which form. Its operators come from `normal_form` and
`division`, which build on this module, and are set once in `cutelite.layout.dims`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any, ClassVar, NoReturn, TypeAlias

from cutelite.layout.errors import LayoutError

Int: TypeAlias = "int | DimExpr"
"""An integer known now or at launch."""

Atom: TypeAlias = "Dim | Node"
Monomial: TypeAlias = "tuple[tuple[Atom, int], ...]"
Terms: TypeAlias = "dict[Monomial, int]"
Bounds: TypeAlias = "tuple[float, float]"
"""Least and greatest value; an int, or an infinity where none is known."""


Operator: TypeAlias = "Callable[[Int, Int], Int]"


class Operators:
    """The arithmetic of expressions, and `from_terms`, which makes an expression from its normal form."""

    __slots__ = ("add", "floordiv", "from_terms", "mod", "mul")

    def __init__(
        self, add: Operator, mul: Operator, floordiv: Operator, mod: Operator, from_terms: Callable[[Terms], Int]
    ) -> None:
        self.add, self.mul, self.floordiv, self.mod, self.from_terms = add, mul, floordiv, mod, from_terms


class DimExpr:
    """An integer expression over dims: a shape or a stride that is known only at launch.

    ``+ - * // %`` with ints and other expressions give expressions, or ints where the dims cancel. ``==`` compares
    normal forms, so it means "equal for all values"; ordering and truth are unknown before launch, and raise. Ask
    `prove_lt`, `is_divisible`, `lower_bound`, `static_value` instead.

    >>> M, K = Dim("M"), Dim("K", divisible_by=8)
    >>> print((M + 2) * 3 - 6, 4 * (K // 4) == K, K % 4)
    3*M True 0
    """

    operators: ClassVar[Operators]
    """Set in `cutelite.layout.dims`: they make expressions, and so build on this class."""

    __slots__ = ("_bounds", "_hash", "_terms")
    _terms: tuple[tuple[Monomial, int], ...]
    _hash: int
    _bounds: Bounds | None

    def __init__(self) -> None:
        raise TypeError("a DimExpr comes from arithmetic on dims: start from Dim(name)")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __add__(self, other: Int) -> Int:
        return self.operators.add(self, other) if isinstance(other, (int, DimExpr)) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Int) -> Int:
        return self.operators.add(self, -other) if isinstance(other, (int, DimExpr)) else NotImplemented

    def __rsub__(self, other: Int) -> Int:
        return self.operators.add(other, -self) if isinstance(other, (int, DimExpr)) else NotImplemented

    def __neg__(self) -> Int:
        return self.operators.mul(self, -1)

    def __pos__(self) -> Int:
        return self

    def __mul__(self, other: Int) -> Int:
        return self.operators.mul(self, other) if isinstance(other, (int, DimExpr)) else NotImplemented

    __rmul__ = __mul__

    def __floordiv__(self, other: Int) -> Int:
        return self.operators.floordiv(self, other) if isinstance(other, (int, DimExpr)) else NotImplemented

    def __rfloordiv__(self, other: Int) -> Int:
        return self.operators.floordiv(other, self) if isinstance(other, (int, DimExpr)) else NotImplemented

    def __mod__(self, other: Int) -> Int:
        return self.operators.mod(self, other) if isinstance(other, (int, DimExpr)) else NotImplemented

    def __rmod__(self, other: Int) -> Int:
        return self.operators.mod(other, self) if isinstance(other, (int, DimExpr)) else NotImplemented

    def __divmod__(self, other: Int) -> tuple[Int, Int]:
        return self.operators.floordiv(self, other), self.operators.mod(self, other)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, DimExpr) and self._hash == other._hash and self._terms == other._terms

    def __hash__(self) -> int:
        return self._hash

    def _unknown(self, question: str) -> NoReturn:
        raise TypeError(f"{question} {self} is known at launch only; ask prove_lt, is_divisible, static_value")

    def __lt__(self, other: object) -> bool:
        if isinstance(other, (int, DimExpr)):
            self._unknown("how it compares:")
        return NotImplemented  # a run-time value compares itself

    __le__ = __gt__ = __ge__ = __lt__

    def __bool__(self) -> bool:
        self._unknown("the truth of")

    def __index__(self) -> int:
        self._unknown("the value of")

    __int__ = __index__

    def __float__(self) -> float:
        self._unknown("the value of")

    def __str__(self) -> str:
        from cutelite.layout.expr import text  # which folds over expressions

        return text(self)

    __repr__ = __str__

    def __reduce__(self) -> tuple[object, ...]:
        return self.operators.from_terms, (dict(self._terms),)


class Dim(DimExpr):
    """A named run-time extent, bound to a kernel argument at launch, with the facts that are checked there.

    name          an identifier
    divisible_by  a factor that its value is known to have
    min, max      inclusive bounds of its value; None for no upper bound

    Two dims are equal when name and facts are.

    >>> Dim("K", divisible_by=8), Dim("batch", min=0, max=64)
    (K{div=8}, batch{min=0,max=64})
    """

    __slots__ = ("divisible_by", "key", "max", "min", "name")
    name: str
    divisible_by: int
    min: int
    max: int | None
    key: str
    """The key by which atoms are ordered; different for different atoms."""

    def __init__(self, name: str, divisible_by: int = 1, *, min: int = 1, max: int | None = None) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise LayoutError("Dim", f"{name!r} is no identifier", name=name)
        if not isinstance(divisible_by, int) or divisible_by < 1:
            raise LayoutError("Dim", f"{name}: divisible_by is {divisible_by!r}, must be 1 or more", name=name)
        for said, bound in (("min", min), ("max", max)):
            if not isinstance(bound, int) and not (said == "max" and bound is None):
                raise LayoutError("Dim", f"{name}: {said} is {bound!r}, must be a whole number", name=name)
        if max is not None and max < min:
            raise LayoutError("Dim", f"{name}: max {max} is below min {min}", name=name, min=min, max=max)
        put = object.__setattr__
        put(self, "name", name)
        put(self, "divisible_by", int(divisible_by))
        put(self, "min", min)
        put(self, "max", max)
        put(self, "key", f"{name}{{{divisible_by},{min},{max}}}")
        put(self, "_hash", hash((name, divisible_by, min, max)))
        put(self, "_terms", ((((self, 1),), int(divisible_by)),))
        least, most = self.unit_bounds()  # multiples of the divisor lie between the bounds' own multiples
        put(self, "_bounds", (least * divisible_by, most * divisible_by))

    def promise(self) -> str:
        """Return in words what is known of the value."""
        must = [f"a multiple of {self.divisible_by}"] * (self.divisible_by > 1) + [f"{self.min} or more"]
        return " and ".join(must + [f"{self.max} or less"] * (self.max is not None))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Dim) and self._facts() == other._facts())

    __hash__ = DimExpr.__hash__

    def _facts(self) -> tuple[object, ...]:
        return self.name, self.divisible_by, self.min, self.max

    def unit_bounds(self) -> Bounds:
        """Bounds of `self // divisible_by`."""
        return -(-self.min // self.divisible_by), inf if self.max is None else self.max // self.divisible_by

    def __reduce__(self) -> tuple[object, ...]:
        return partial(Dim, min=self.min, max=self.max), (self.name, self.divisible_by)


class Node:
    """An operation that stays: ``//``, ``%``, ``min`` or ``max`` of canonical operands."""

    __slots__ = ("_hash", "args", "key", "op")

    def __init__(self, op: str, args: tuple[Int, ...]) -> None:
        self.op = op
        self.args = args
        self.key = f"~{op}({','.join(key_of(a) for a in args)})"  # ~ sorts behind every dim
        self._hash = hash((op, args))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Node) and self._hash == other._hash and (self.op, self.args) == (other.op, other.args)

    def __hash__(self) -> int:
        return self._hash


def key_of(x: Int) -> str:
    """Return a text by which expressions are ordered; different for different ones."""
    if not isinstance(x, DimExpr):
        return str(x)
    return "+".join("*".join([str(c), *(f"{atom.key}^{power}" for atom, power in mono)]) for mono, c in x._terms)


_DIM_WORD = re.compile(r"([^\W\d]\w*)(?::(\d+))?\Z")


def dims(names: str, divisible_by: int = 1) -> Any:
    """Return a tuple of Dims from a text of names; a single name gives the Dim itself. ``K:8``: K is a multiple of 8.

    divisible_by  the divisor of dims without a number of their own

    >>> M, N, K = dims("M N K:8")
    >>> M, K
    (M, K{div=8})
    >>> dims("L")
    L
    """
    if not isinstance(names, str) or not isinstance(divisible_by, int):
        raise LayoutError("dims", 'all names are in one text, as "M N K:8"', names=names, divisible_by=divisible_by)
    made = []
    for word in names.replace(",", " ").split():
        match = _DIM_WORD.match(word)
        if match is None:
            raise LayoutError("dims", f"{word!r} is neither a name nor name:divisor", word=word)
        made.append(Dim(match[1], int(match[2]) if match[2] else divisible_by))
    if not made:
        raise LayoutError("dims", "no name given")
    return made[0] if len(made) == 1 else tuple(made)
