"""The normal form of expressions over dims, and sums and products in it.

    {monomial: coefficient}     a sum of products; a monomial is powers of atoms

An atom is a `Dim`, standing for its unit ``dim // dim.divisible_by``: K{div=8} is 8 units, so K//4 is 2 units exactly
and every question of divisibility is one about coefficients. Or it is a `Node`: ``n // d``, ``n % d``, ``min`` or
``max`` that no rule could take apart. Two expressions are equal exactly when they have the same normal form.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index

from cutelite.layout.dims.atoms import Atom, Dim, DimExpr, Int, Monomial, Node, Terms


def terms_of(x: Int) -> Terms:
    """Return the normal form of x, as a new dict."""
    if isinstance(x, DimExpr):
        return dict(x._terms)
    return {(): index(x)} if x else {}


def from_terms(terms: Terms) -> Int:
    """Return the int or expression with that normal form; zero coefficients are dropped."""
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
    """Return the sort key of a term: high degrees first, the constant last, then by name. Products keep this order."""
    word = [atom.key for atom, power in term[0] for _ in range(power)]
    return -len(word), word


def atom_expr(atom: Atom) -> Int:
    """Return the expression that is just that atom (for a dim: its unit)."""
    return from_terms({((atom, 1),): 1})


def has_node(terms: Iterable[Monomial]) -> bool:
    """Tell whether some atom is an operation."""
    return any(isinstance(atom, Node) for mono in terms for atom, _ in mono)


def add(a: Int, b: Int) -> Int:
    """Return a + b in normal form."""
    if not isinstance(a, DimExpr):
        if not isinstance(b, DimExpr):
            return a + b
        a, b = b, a
    if not isinstance(b, DimExpr) and b == 0:
        return a
    terms = terms_of(a)
    for mono, c in terms_of(b).items():
        terms[mono] = terms.get(mono, 0) + c
    return from_terms(fewest_terms(terms))


def fewest_terms(terms: Terms) -> Terms:
    """Return a sum with ``n % d`` for ``n - d*(n//d)`` wherever that saves terms.

    So ``8*(n//8) + n%8`` is n, ``n - n%8`` is 8*(n//8), and ``n - 8*(n//8)`` is n%8. All remainders are opened first:
    the result depends on the value of the sum and not on how it was written.
    """
    if len(terms) < 2 or not has_node(terms):
        return terms
    shortest = opened(terms)
    while True:
        candidates = [
            joined
            for mono, c in sorted(shortest.items(), key=_term_order)
            for atom, power in mono
            if isinstance(atom, Node) and atom.op == "//" and power == 1
            if (joined := _with_remainder(shortest, mono, c, atom)) is not None
        ]
        best = min(candidates, key=len, default=shortest)
        if len(best) >= len(shortest):
            return shortest
        shortest = best


def opened(terms: Terms) -> Terms:
    """Return the sum with every ``n % d`` opened to ``n - d*(n//d)``."""
    total: Terms = {}
    for mono, c in terms.items():
        accumulate(total, _without_remainder(mono, c) if c else {})
    return total


def accumulate(total: Terms, more: Terms, factor: int = 1) -> None:
    """Add terms to a sum in place; terms that cancel are removed."""
    for mono, c in more.items():
        c = total.get(mono, 0) + factor * c
        if c:
            total[mono] = c
        else:
            total.pop(mono, None)


def _without_remainder(mono: Monomial, c: int) -> Terms:
    """Return c * mono with ``n - d*(n//d)`` in place of a remainder."""
    for atom, power in mono:
        if isinstance(atom, Node) and atom.op == "%" and power == 1:
            n, d = atom.args
            others = from_terms({tuple(item for item in mono if item[0] is not atom): c})
            total = multiplied(n, others)
            accumulate(total, multiplied(multiplied(d, n // d), others), -1)
            return opened(total)
    return {mono: c}


def _with_remainder(terms: Terms, mono: Monomial, c: int, quotient: Node) -> Terms | None:
    """Return the sum with a remainder in place of `quotient`, which is in the term c * mono; None if none fits."""
    n, d = quotient.args
    lead, scale = pairs(d)[0]
    left = over(tuple(item for item in mono if item[0] is not quotient), lead)
    if left is None or c % scale:
        return None
    factor = from_terms({left: c // scale})
    remainder = multiplied(from_terms({((Node("%", (n, d)), 1),): 1}), factor)
    traded = multiplied(n, factor)
    if not any(m in terms for m in traded):
        return None
    joined = dict(terms)
    accumulate(joined, multiplied(multiplied(d, atom_expr(quotient)), factor), -1)
    accumulate(joined, traded)
    accumulate(joined, remainder, -1)
    return joined


def mul(a: Int, b: Int) -> Int:
    """Return a * b in normal form."""
    if not isinstance(a, DimExpr):
        a, b = b, a
    if not isinstance(a, DimExpr):
        return a * b
    if not isinstance(b, DimExpr):
        if b == 1:
            return a
        return from_terms({mono: c * b for mono, c in a._terms})
    terms = multiplied(a, b)
    return from_terms(fewest_terms(terms))


def multiplied(a: Int | Terms, b: Int) -> Terms:
    """Return the terms of a product, without remainders put together."""
    terms: Terms = {}
    for left, c in a.items() if isinstance(a, dict) else pairs(a):
        for right, e in pairs(b):
            mono = times(left, right)
            terms[mono] = terms.get(mono, 0) + c * e
    return terms


def times(left: Monomial, right: Monomial) -> Monomial:
    """Return the product of two monomials."""
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: item[0].key))


def pairs(x: Int) -> tuple[tuple[Monomial, int], ...]:
    """Return the terms of x, in order."""
    return x._terms if isinstance(x, DimExpr) else (((), x),)


def over(mono: Monomial, lead: Monomial) -> Monomial | None:
    """Return mono / lead, None where it is no monomial."""
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
