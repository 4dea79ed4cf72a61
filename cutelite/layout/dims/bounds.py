"""Bounds of expressions over dims, and the least and greatest of several of them.

All of it is sound and none of it complete: a bound is a proof, an infinity means that none is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd, inf

from cutelite.layout.dims.atoms import Atom, Bounds, Dim, DimExpr, Int, Monomial, Node, Terms, key_of
from cutelite.layout.dims.normal_form import add, atom_expr, from_terms, has_node, mul, pairs, terms_of, times
from cutelite.layout.errors import LayoutError


def bounds(x: Int) -> Bounds:
    """Return the least and greatest value of x as far as they can be proven, else infinities."""
    if not isinstance(x, DimExpr):
        return x, x
    if x._bounds is None:
        low, high = sum_bounds(x._terms)
        if len(x._terms) > 1 and has_node(mono for mono, _ in x._terms):
            opened = sum_bounds(pairs(_open_quotients(x)))
            low, high = max(low, opened[0]), min(high, opened[1])
        if len(x._terms) > 1 and (low == -inf or high == inf):
            shifted = _shifted_bounds(x)
            low, high = max(low, shifted[0]), min(high, shifted[1])
        object.__setattr__(x, "_bounds", (low, high))
    assert x._bounds is not None
    return x._bounds


def sum_bounds(terms: Iterable[tuple[Monomial, int]]) -> Bounds:
    """Return bounds of a sum of products, from those of the atoms."""
    low: float = 0
    high: float = 0
    for mono, c in terms:
        term: Bounds = (c, c)
        for atom, power in mono:
            least, most = _atom_bounds(atom)
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
    """Return bounds of a polynomial from its value where all atoms are least: M*K - K is K*(M-1), so 0 or more.

    Every atom is written as its least value plus a natural. If no coefficient is negative then, the constant is the
    least value; if none is positive, it is the greatest.
    """
    total: Terms = {}
    for mono, c in x._terms:
        term: Terms = {(): c}
        for atom, power in mono:
            least = _atom_bounds(atom)[0]
            if least == -inf:
                return -inf, inf
            for _ in range(power):
                grown = {times(m, ((atom, 1),)): e for m, e in term.items()}
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
    """Return x with ``d * (n//d)`` written as ``n - n%d``: the remainder is bounded where the quotient was not.

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


def _atom_bounds(atom: Atom) -> Bounds:
    return atom.unit_bounds() if isinstance(atom, Dim) else _node_bounds(atom)


def _node_bounds(node: Node) -> Bounds:
    """Return the least and greatest value of a node, from those of its operands."""
    low, high = zip(*(bounds(a) for a in node.args), strict=True)
    if node.op == "min":
        return min(low), min(high)
    if node.op == "max":
        return max(low), max(high)
    if low[1] < 1:
        return -inf, inf  # the divisor may be negative
    if node.op == "%":
        return 0, min(high[1] - 1, high[0]) if low[0] >= 0 else high[1] - 1
    return quotient(low[0], high[1] if low[0] >= 0 else low[1]), quotient(high[0], low[1] if high[0] >= 0 else high[1])


def quotient(n: float, d: float) -> float:
    """Return n // d, either of which may be infinite."""
    if abs(n) == inf:
        return n
    if d == inf:
        return 0 if n >= 0 else -1
    return n // d


def minimum(*values: Int) -> Int:
    """Return the least of the values if it is known, else an expression.

    >>> M = Dim("M")
    >>> minimum(M, 1, 3), minimum(M, 64)
    (1, min(M,64))
    """
    return _extreme("min", values)


def maximum(*values: Int) -> Int:
    """Return the greatest of the values if it is known, else an expression.

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
    g = gcd(*(c for k in kept for _, c in pairs(k)))
    kept = [from_terms({mono: c // g for mono, c in pairs(k)}) for k in kept]
    kept.sort(key=lambda x: (not isinstance(x, DimExpr), key_of(x)))  # dims first
    return mul(atom_expr(Node(op, tuple(kept))), g)


def _extreme_of(x: Int, op: str) -> list[Int]:
    """Return the operands of x if it is an `op`, else x: a min of mins is one min, and so is a multiple of a min."""
    if isinstance(x, DimExpr) and len(x._terms) == 1:
        mono, c = x._terms[0]
        if len(mono) == 1 and mono[0][1] == 1 and c > 0 and isinstance(node := mono[0][0], Node) and node.op == op:
            return [mul(arg, c) for arg in node.args]
    return [x]
