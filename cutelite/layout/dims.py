"""Named run-time extents, and integer expressions over them in one normal form.

In: names and arithmetic (``M * 8 + 3``, ``ceil_div(K, 64)``). Out: an int when the result is known, else a `DimExpr`
that is immutable, hashable, and equal to another exactly when both have the same normal form.

The normal form is a sum of products: ``{monomial: coefficient}``, a monomial being powers of atoms. An atom is

    a Dim           standing for `dim // dim.divisible_by`, its *unit*: K{div=8} is 8 units, so that K//4 is 2 units
                    exactly and every question of divisibility is one about coefficients
    a Node          ``n // d``, ``n % d``, ``min`` or ``max`` that no rule below could take apart

Division is Python's (towards minus infinity), so every identity used here holds for all integers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from math import gcd, inf
from typing import Any, NoReturn, TypeAlias

from cutelite.layout.errors import LayoutError

Int: TypeAlias = "int | DimExpr"
"""An integer known now or at launch."""

Atom: TypeAlias = "Dim | Node"
Monomial: TypeAlias = "tuple[tuple[Atom, int], ...]"
Terms: TypeAlias = "dict[Monomial, int]"
Bounds: TypeAlias = "tuple[float, float]"
"""Least and greatest value; an int, or an infinity where none is known."""


class DimExpr:
    """An integer expression over dims: what a shape or a stride is when it is known at launch only.

    ``+ - * // %`` with ints and other expressions give expressions, or ints where the dims cancel. ``==`` compares
    normal forms, so it means "equal for all values"; ordering and truth are unknown before launch, and raise. Ask
    `prove_lt`, `is_divisible`, `lower_bound`, `static_value` instead.

    >>> M, K = Dim("M"), Dim("K", divisible_by=8)
    >>> print((M + 2) * 3 - 6, 4 * (K // 4) == K, K % 4)
    3*M True 0
    """

    __slots__ = ("_bounds", "_hash", "_terms")
    _terms: tuple[tuple[Monomial, int], ...]
    _hash: int
    _bounds: Bounds | None

    def __init__(self) -> None:
        raise TypeError("a DimExpr comes from arithmetic on dims: start from Dim(name)")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __add__(self, other: Int) -> Int:
        return add(self, other) if isinstance(other, (int, DimExpr)) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Int) -> Int:
        return add(self, mul(other, -1)) if isinstance(other, (int, DimExpr)) else NotImplemented

    def __rsub__(self, other: Int) -> Int:
        return add(other, mul(self, -1)) if isinstance(other, (int, DimExpr)) else NotImplemented

    def __neg__(self) -> Int:
        return mul(self, -1)

    def __pos__(self) -> Int:
        return self

    def __mul__(self, other: Int) -> Int:
        return mul(self, other) if isinstance(other, (int, DimExpr)) else NotImplemented

    __rmul__ = __mul__

    def __floordiv__(self, other: Int) -> Int:
        return floordiv(self, other) if isinstance(other, (int, DimExpr)) else NotImplemented

    def __rfloordiv__(self, other: Int) -> Int:
        return floordiv(other, self) if isinstance(other, (int, DimExpr)) else NotImplemented

    def __mod__(self, other: Int) -> Int:
        return mod(self, other) if isinstance(other, (int, DimExpr)) else NotImplemented

    def __rmod__(self, other: Int) -> Int:
        return mod(other, self) if isinstance(other, (int, DimExpr)) else NotImplemented

    def __divmod__(self, other: Int) -> tuple[Int, Int]:
        return floordiv(self, other), mod(self, other)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, DimExpr) and self._hash == other._hash and self._terms == other._terms

    def __hash__(self) -> int:
        return self._hash

    def _unknown(self, question: str) -> NoReturn:
        from cutelite.layout.expr import text  # it folds over what is defined here

        raise TypeError(f"{question} {text(self)} is known at launch only; ask prove_lt, is_divisible, static_value")

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
        from cutelite.layout.expr import text

        return text(self)

    __repr__ = __str__

    def __reduce__(self) -> tuple[object, ...]:
        return from_terms, (dict(self._terms),)


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
    """Orders atoms; distinct for distinct ones."""

    def __init__(self, name: str, divisible_by: int = 1, *, min: int = 1, max: int | None = None) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise LayoutError("Dim", f"{name!r} is no identifier", name=name)
        if not isinstance(divisible_by, int) or divisible_by < 1:
            raise LayoutError("Dim", f"{name}: divisible_by is {divisible_by!r}, must be 1 or more", name=name)
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

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Dim) and self._facts() == other._facts())

    __hash__ = DimExpr.__hash__

    def _facts(self) -> tuple[object, ...]:
        return self.name, self.divisible_by, self.min, self.max

    def unit_bounds(self) -> Bounds:
        """Bounds of `self // divisible_by`."""
        return -(-self.min // self.divisible_by), inf if self.max is None else self.max // self.divisible_by

    def __reduce__(self) -> tuple[object, ...]:
        return _dim, (self.name, self.divisible_by, self.min, self.max)


def _dim(name: str, divisible_by: int, least: int, greatest: int | None) -> Dim:
    return Dim(name, divisible_by, min=least, max=greatest)


class Node:
    """An operation that stays: ``//``, ``%``, ``min`` or ``max`` of canonical operands."""

    __slots__ = ("_hash", "args", "key", "op")

    def __init__(self, op: str, args: tuple[Int, ...]) -> None:
        self.op = op
        self.args = args
        self.key = f"~{op}({','.join(_key(a) for a in args)})"  # ~ sorts behind every dim
        self._hash = hash((op, args))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Node) and self._hash == other._hash and (self.op, self.args) == (other.op, other.args)

    def __hash__(self) -> int:
        return self._hash

    def bounds(self) -> Bounds:
        """Least and greatest value, from those of the operands."""
        low, high = zip(*(bounds(a) for a in self.args), strict=True)
        if self.op == "min":
            return min(low), min(high)
        if self.op == "max":
            return max(low), max(high)
        if low[1] < 1:
            return -inf, inf  # the divisor may be negative
        if self.op == "%":
            return 0, min(high[1] - 1, high[0]) if low[0] >= 0 else high[1] - 1
        return _quotient(low[0], high[1] if low[0] >= 0 else low[1]), _quotient(
            high[0], low[1] if high[0] >= 0 else high[1]
        )


def _quotient(n: float, d: float) -> float:
    if abs(n) == inf:
        return n
    if d == inf:
        return 0 if n >= 0 else -1
    return n // d


def _key(x: Int) -> str:
    if not isinstance(x, DimExpr):
        return str(x)
    return "+".join("*".join([str(c), *(f"{atom.key}^{power}" for atom, power in mono)]) for mono, c in x._terms)


# ----------------------------------------------------------------------------------------------------- terms


def terms_of(x: Int) -> Terms:
    """Its normal form, as a dict of its own."""
    if isinstance(x, DimExpr):
        return dict(x._terms)
    return {(): int(x)} if x else {}


def from_terms(terms: Terms) -> Int:
    """The int or expression with that normal form; zero coefficients are dropped."""
    kept = [(mono, c) for mono, c in terms.items() if c]
    if not kept:
        return 0
    if len(kept) == 1:
        mono, c = kept[0]
        if not mono:
            return c
        atom, power = mono[0]
        if len(mono) == 1 and power == 1 and isinstance(atom, Dim) and atom.divisible_by == c:
            return atom
    else:
        kept.sort(key=_term_order)
    self = object.__new__(DimExpr)
    put = object.__setattr__
    put(self, "_terms", tuple(kept))
    put(self, "_hash", hash(self._terms))
    put(self, "_bounds", None)
    return self


def _term_order(term: tuple[Monomial, int]) -> tuple[int, list[str]]:
    """High degree first, the constant last, then by name: an order that products keep, as division by terms needs."""
    word = [atom.key for atom, power in term[0] for _ in range(power)]
    return -len(word), word


def atom_expr(atom: Atom) -> Int:
    """The expression that is just that atom (for a dim: its unit)."""
    return from_terms({((atom, 1),): 1})


def has_node(terms: Iterable[Monomial]) -> bool:
    """Whether some atom is an operation."""
    return any(isinstance(atom, Node) for mono in terms for atom, _ in mono)


# ------------------------------------------------------------------------------------------------ arithmetic


def add(a: Int, b: Int) -> Int:
    """a + b in normal form."""
    if not isinstance(a, DimExpr):
        if not isinstance(b, DimExpr):
            return a + b
        a, b = b, a
    if not isinstance(b, DimExpr) and b == 0:
        return a
    terms = terms_of(a)
    for mono, c in terms_of(b).items():
        terms[mono] = terms.get(mono, 0) + c
    return from_terms(_fewest_terms(terms))


def _fewest_terms(terms: Terms) -> Terms:
    """A sum with ``n % d`` for ``n - d*(n//d)`` wherever that saves terms.

    So ``8*(n//8) + n%8`` is n, ``n - n%8`` is 8*(n//8), and ``n - 8*(n//8)`` is n%8. All remainders are opened first:
    the result depends on the value of the sum and not on how it was written.
    """
    if len(terms) < 2 or not has_node(terms):
        return terms
    opened = _opened(terms)
    while True:
        candidates = [
            joined
            for mono, c in sorted(opened.items(), key=_term_order)
            for atom, power in mono
            if isinstance(atom, Node) and atom.op == "//" and power == 1
            if (joined := _with_remainder(opened, mono, c, atom)) is not None
        ]
        best = min(candidates, key=len, default=opened)
        if len(best) >= len(opened):
            return opened
        opened = best


def _opened(terms: Terms) -> Terms:
    """A sum without remainders."""
    total: Terms = {}
    for mono, c in terms.items():
        _accumulate(total, _without_remainder(mono, c) if c else {})
    return total


def _accumulate(total: Terms, more: Terms, factor: int = 1) -> None:
    """Add terms to a sum in place; what cancels is gone."""
    for mono, c in more.items():
        c = total.get(mono, 0) + factor * c
        if c:
            total[mono] = c
        else:
            total.pop(mono, None)


def _without_remainder(mono: Monomial, c: int) -> Terms:
    """c * mono with ``n - d*(n//d)`` in place of a remainder."""
    for atom, power in mono:
        if isinstance(atom, Node) and atom.op == "%" and power == 1:
            n, d = atom.args
            others = from_terms({tuple(item for item in mono if item[0] is not atom): c})
            total = _multiplied(n, others)
            _accumulate(total, _multiplied(_multiplied(d, floordiv(n, d)), others), -1)
            return _opened(total)
    return {mono: c}


def _with_remainder(terms: Terms, mono: Monomial, c: int, quotient: Node) -> Terms | None:
    """The sum with a remainder traded for that quotient, which occurs in the term c * mono."""
    n, d = quotient.args
    lead, scale = _pairs(d)[0]
    over = _over(tuple(item for item in mono if item[0] is not quotient), lead)
    if over is None or c % scale:
        return None
    factor = from_terms({over: c // scale})
    remainder = _multiplied(from_terms({((Node("%", (n, d)), 1),): 1}), factor)
    traded = _multiplied(n, factor)
    if not any(m in terms for m in traded):
        return None
    joined = dict(terms)
    _accumulate(joined, _multiplied(_multiplied(d, atom_expr(quotient)), factor), -1)
    _accumulate(joined, traded)
    _accumulate(joined, remainder, -1)
    return joined


def mul(a: Int, b: Int) -> Int:
    """a * b in normal form."""
    if not isinstance(a, DimExpr):
        a, b = b, a
    if not isinstance(a, DimExpr):
        return a * b
    if not isinstance(b, DimExpr):
        if b == 1:
            return a
        return from_terms({mono: c * b for mono, c in a._terms})
    terms = _multiplied(a, b)
    return from_terms(_fewest_terms(terms))


def _multiplied(a: Int | Terms, b: Int) -> Terms:
    """The terms of a product, as they come."""
    terms: Terms = {}
    for left, c in a.items() if isinstance(a, dict) else _pairs(a):
        for right, e in _pairs(b):
            mono = _times(left, right)
            terms[mono] = terms.get(mono, 0) + c * e
    return terms


def _times(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: item[0].key))


@lru_cache(maxsize=4096)  # the same extents are divided by the same tiles over and over
def floordiv(n: Int, d: Int) -> Int:
    """n // d, rounding towards minus infinity; exact factors leave the division."""
    if not isinstance(d, DimExpr):
        if not isinstance(n, DimExpr):
            return n // d
        if d == 0:
            raise ZeroDivisionError(f"{n} // 0")
        if d < 0:
            return floordiv(mul(n, -1), -d)
        if d == 1:
            return n
    whole, rest = split_multiples(n, d)
    if not isinstance(rest, DimExpr) and rest == 0:
        return whole
    rest, d, _, _ = _reduce(rest, d)
    if isinstance(d, DimExpr):
        over, under = _cancel(rest, d)
        if under != d:
            return add(whole, floordiv(over, under))
    elif not isinstance(rest, DimExpr):
        return add(whole, rest // d)
    low, high = bounds(rest)
    least, most = bounds(d)
    if least >= 1 and abs(low) != inf and abs(high) != inf:
        quotients = {_quotient(n, m) for n in (low, high) for m in (least, most)}
        if len(quotients) == 1:
            return add(whole, int(quotients.pop()))
    if low >= 0 and bounds(add(d, mul(rest, -1)))[0] >= 1:
        return whole
    return add(whole, _floor_node(rest, d))


def _floor_node(n: Int, d: Int) -> Int:
    """What is left of n // d; ``(x//a + c) // d`` becomes ``(x + a*c) // (a*d)``."""
    terms = terms_of(n)
    shift = terms.pop((), 0)
    if len(terms) == 1 and not isinstance(d, DimExpr):
        ((mono, c),) = terms.items()
        atom, power = mono[0]
        if len(mono) == 1 and (c, power) == (1, 1) and isinstance(atom, Node) and atom.op == "//":
            inner, a = atom.args
            if not isinstance(a, DimExpr):
                return floordiv(add(inner, a * shift), a * d)
    return atom_expr(Node("//", (n, d)))


@lru_cache(maxsize=4096)
def mod(n: Int, d: Int) -> Int:
    """n % d with the sign of d, as in Python."""
    if not isinstance(d, DimExpr):
        if not isinstance(n, DimExpr):
            return n % d
        if d == 0:
            raise ZeroDivisionError(f"{n} % 0")
        if d < 0:
            return mul(mod(mul(n, -1), -d), -1)
    _, rest = split_multiples(n, d)
    if not isinstance(d, DimExpr):
        rest = _small_coefficients(rest, d)
    if not isinstance(rest, DimExpr) and (rest == 0 or not isinstance(d, DimExpr)):
        return 0 if rest == 0 else rest % d
    if isinstance(rest, DimExpr) and isinstance(d, DimExpr):
        shared = _shared_atoms([mono for mono, _ in (*rest._terms, *d._terms)])
        if shared and _sum_bounds([(shared, 1)])[0] >= 1:
            over = [from_terms({_over(mono, shared) or (): c for mono, c in x._terms}) for x in (rest, d)]
            return mul(mod(*over), from_terms({shared: 1}))
    rest, d, factor, odd = _reduce(rest, d)
    if not (bounds(rest)[0] >= 0 and bounds(add(d, mul(rest, -1)))[0] >= 1):
        rest = mod(rest, d) if factor > 1 else atom_expr(Node("%", (rest, d)))
    return add(mul(rest, factor), odd)  # (8*a + 3) % (8*b) is 8 * (a%b) + 3


def _small_coefficients(n: Int, d: int) -> Int:
    """n modulo d with every coefficient below d in size, and ``c*(x % e)`` opened where d divides c*e."""
    total: Int = 0
    for mono, c in terms_of(n).items():
        if len(mono) == 1 and isinstance(node := mono[0][0], Node) and node.op == "%" and mono[0][1] == 1:
            inner, e = node.args
            if not isinstance(e, DimExpr) and c * e % d == 0:
                total = add(total, _small_coefficients(split_multiples(mul(inner, c), d)[1], d))
                continue
        total = add(total, from_terms({mono: c % d if not mono or c > 0 else -(-c % d)}))
    return total


def _reduce(n: Int, d: Int) -> tuple[Int, Int, int, int]:
    """(n, d) over the integer factor that d and all of n but its constant share, that factor, and what n leaves.

    The constant is rounded down: what it loses is less than one, and changes no quotient by a positive d.
    """
    terms = terms_of(n)
    constant = terms.pop((), 0)
    g = gcd(*terms.values(), *(c for _, c in _pairs(d)))
    if bounds(d)[0] < 1:
        g = gcd(g, constant)
    if g <= 1:
        return n, d, 1, 0
    reduced = {mono: c // g for mono, c in terms.items()}
    reduced[()] = constant // g
    return from_terms(_fewest_terms(reduced)), from_terms({mono: c // g for mono, c in _pairs(d)}), g, constant % g


def _cancel(n: Int, d: Int) -> tuple[Int, Int]:
    """n and d over the atoms they share.

    ``(M*N + r) // (M*K)`` is N//K for 0 <= r < M, and (N-1)//K for -M <= r < 0.
    """
    if not isinstance(d, DimExpr) or not isinstance(n, DimExpr):
        return n, d
    terms = terms_of(n)
    constant = terms.pop((), 0)
    shared = _shared_atoms([*terms, *(mono for mono, _ in d._terms)])
    least = _sum_bounds([(shared, 1)])[0] if shared else 0
    if not -least <= constant < least:
        return n, d
    over = {_over(mono, shared) or (): c for mono, c in terms.items()}
    over[()] = over.get((), 0) - (constant < 0)
    return from_terms(_fewest_terms(over)), from_terms({_over(mono, shared) or (): c for mono, c in d._terms})


def _shared_atoms(monomials: list[Monomial]) -> Monomial:
    """The greatest monomial that divides all of those."""
    powers = [dict(mono) for mono in monomials]
    shared = ((atom, min(mono.get(atom, 0) for mono in powers)) for atom in powers[0])
    return tuple((atom, power) for atom, power in shared if power)


def _pairs(x: Int) -> tuple[tuple[Monomial, int], ...]:
    return x._terms if isinstance(x, DimExpr) else (((), x),)


def split_multiples(n: Int, d: Int) -> tuple[Int, Int]:
    """(q, r) with n == q*d + r, where q takes the terms of n that are multiples.

    For an int d the constant of r lies in [0, d).
    """
    if not isinstance(d, DimExpr):
        whole: Terms = {}
        rest: Terms = {}
        for mono, c in terms_of(n).items():
            if not mono:
                whole[mono], rest[mono] = divmod(c, d)
            elif c % d:
                rest[mono] = c
            else:
                whole[mono] = c // d
        return from_terms(_fewest_terms(whole)), from_terms(_fewest_terms(rest))
    lead, scale = d._terms[0]
    quotient: Terms = {}
    simple = not has_node(mono for mono, _ in d._terms)
    left = _opened(terms_of(n)) if simple else terms_of(n)
    reduced = simple or len(d._terms) == 1  # a sum with operations in it has no one form to divide by
    while reduced:  # polynomial division: each round lowers the terms that the leading one of d divides
        reduced = False
        for mono, c in list(left.items()):
            over = _over(mono, lead)
            if over is not None and c // scale:
                step = {over: c // scale}
                _accumulate(quotient, step)
                _accumulate(left, _multiplied(step, d), -1)
                reduced = True
                break
    return from_terms(_fewest_terms(quotient)), from_terms(_fewest_terms(left))


def _over(mono: Monomial, lead: Monomial) -> Monomial | None:
    """mono / lead, None where it is no monomial."""
    powers = dict(mono)
    for atom, power in lead:
        left = powers.get(atom, 0) - power
        if left < 0:
            return None
        if left:
            powers[atom] = left
        else:
            del powers[atom]
    return tuple(powers.items())


def ceil_div_dims(n: Int, d: Int) -> Int:
    """n / d rounded up."""
    if not isinstance(n, DimExpr) and not isinstance(d, DimExpr):
        return -(-n // d)
    if bounds(d)[0] < 1:
        return mul(floordiv(mul(n, -1), d), -1)
    return floordiv(add(n, add(d, -1)), d)


def minimum(*values: Int) -> Int:
    """The least of them, where it is known; else an expression.

    >>> M = Dim("M")
    >>> minimum(M, 1, 3), minimum(M, 64)
    (1, min(M,64))
    """
    return _extreme("min", values)


def maximum(*values: Int) -> Int:
    """The greatest of them, where it is known; else an expression.

    >>> maximum(Dim("M"), 1, 0)
    M
    """
    return _extreme("max", values)


def _extreme(op: str, values: tuple[Int, ...]) -> Int:
    if not values:
        raise LayoutError(op, "needs at least one value")
    flat: list[Int] = []
    for value in values:
        flat += _extreme_of(value, op)
    sign = 1 if op == "min" else -1
    kept: list[Int] = []
    for value in flat:
        if any(bounds(mul(add(value, mul(other, -1)), sign))[0] >= 0 for other in kept):
            continue  # never beyond one we have
        kept = [k for k in kept if bounds(mul(add(k, mul(value, -1)), sign))[0] < 0]
        kept.append(value)
    if len(kept) == 1:
        return kept[0]
    g = gcd(*(c for k in kept for _, c in _pairs(k)))
    kept = sorted((from_terms({mono: c // g for mono, c in _pairs(k)}) for k in kept), key=_dims_first)
    return mul(atom_expr(Node(op, tuple(kept))), g)


def _dims_first(x: Int) -> tuple[bool, str]:
    return not isinstance(x, DimExpr), _key(x)


def _extreme_of(x: Int, op: str) -> list[Int]:
    """What x is the `op` of: a min of mins is one min, and so is a multiple of a min."""
    if isinstance(x, DimExpr) and len(x._terms) == 1:
        mono, c = x._terms[0]
        if len(mono) == 1 and mono[0][1] == 1 and c > 0 and isinstance(node := mono[0][0], Node) and node.op == op:
            return [mul(arg, c) for arg in node.args]
    return [x]


# ---------------------------------------------------------------------------------------------------- bounds


def bounds(x: Int) -> Bounds:
    """Least and greatest value of x as far as they can be proven; infinite where not."""
    if not isinstance(x, DimExpr):
        return x, x
    if x._bounds is None:
        low, high = _sum_bounds(x._terms)
        if len(x._terms) > 1 and has_node(mono for mono, _ in x._terms):
            opened = _sum_bounds(_pairs(_open_quotients(x)))
            low, high = max(low, opened[0]), min(high, opened[1])
        if len(x._terms) > 1 and (low == -inf or high == inf):
            shifted = _shifted_bounds(x)
            low, high = max(low, shifted[0]), min(high, shifted[1])
        object.__setattr__(x, "_bounds", (low, high))
    assert x._bounds is not None
    return x._bounds


def _sum_bounds(terms: Iterable[tuple[Monomial, int]]) -> Bounds:
    low: float = 0
    high: float = 0
    for mono, c in terms:
        term: Bounds = (c, c)
        for atom, power in mono:
            least, most = atom.unit_bounds() if isinstance(atom, Dim) else atom.bounds()
            if power % 2 == 0 and least < 0:
                least, most = 0, max(-least, most)  # of the even power, by its absolute value
            for _ in range(power):
                term = _product(term, (least, most))
        low, high = low + term[0], high + term[1]
    return low, high


def _product(a: Bounds, b: Bounds) -> Bounds:
    corners = [x * y if x and y else 0 for x in a for y in b]
    return min(corners), max(corners)


def _shifted_bounds(x: DimExpr) -> Bounds:
    """Bounds of a polynomial that go by its value where all atoms are least: M*K - K is K*(M-1), from 0 on.

    Every atom is written as its least value plus a natural. If no coefficient is negative then, the constant is the
    least value; if none is positive, the greatest.
    """
    total: Terms = {}
    for mono, c in x._terms:
        term: Terms = {(): c}
        for atom, power in mono:
            least = (atom.unit_bounds() if isinstance(atom, Dim) else atom.bounds())[0]
            if least == -inf:
                return -inf, inf
            for _ in range(power):
                grown = {_times(m, ((atom, 1),)): e for m, e in term.items()}
                for m, e in term.items():
                    grown[m] = grown.get(m, 0) + e * int(least)
                term = grown
        for m, e in term.items():
            total[m] = total.get(m, 0) + e
    constant = total.pop((), 0)
    return (
        constant if all(c >= 0 for c in total.values()) else -inf,
        constant if all(c <= 0 for c in total.values()) else inf,
    )


def _open_quotients(x: DimExpr) -> Int:
    """x with ``d * (n//d)`` written as ``n - n%d``: the remainder is bounded where the quotient was not.

    It adds terms itself: `add` would put the quotients back together.
    """
    total: Terms = {}
    for mono, c in x._terms:
        opened: Terms = {mono: c}
        if len(mono) == 1 and isinstance(node := mono[0][0], Node) and node.op == "//" and mono[0][1] == 1:
            n, d = node.args
            if not isinstance(d, DimExpr) and c % d == 0:
                opened = terms_of(mul(n, c // d))
                opened[((Node("%", (n, d)), 1),)] = -(c // d)
        for other, e in opened.items():
            total[other] = total.get(other, 0) + e
    return from_terms(total)


_DIM_WORD = re.compile(r"([^\W\d]\w*)(?::(\d+))?\Z")


def dims(names: str, divisible_by: int = 1) -> Any:
    """A tuple of Dims from a text of names; a single name gives the Dim itself. ``K:8``: K is a multiple of 8.

    >>> M, N, K = dims("M N K:8")
    >>> M, K
    (M, K{div=8})
    >>> dims("L")
    L
    """
    made = []
    for word in names.replace(",", " ").split():
        match = _DIM_WORD.match(word)
        if match is None:
            raise LayoutError("dims", f"{word!r} is neither a name nor name:divisor", word=word)
        made.append(Dim(match[1], int(match[2]) if match[2] else divisible_by))
    if not made:
        raise LayoutError("dims", "no name given")
    return made[0] if len(made) == 1 else tuple(made)
