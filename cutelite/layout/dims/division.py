"""``//`` and ``%`` of expressions over dims: rules, each with the identity that makes it right.

In    n and d in normal form, at least one of them an expression
Out   an expression without the operation, where some rule takes it apart; else a `Node` of what is left

The first rule that applies rewrites; what it leaves is divided again, by the same rules. Every identity holds for all
integers that meet its condition: tests/layout/test_division.py tries them by brute force, and each rule against
Python's own division.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import gcd, inf

from cutelite.layout.dims.atoms import DimExpr, Int, Monomial, Node, Terms
from cutelite.layout.dims.bounds import bounds, quotient, sum_bounds
from cutelite.layout.dims.normal_form import (
    accumulate,
    add,
    atom_expr,
    fewest_terms,
    from_terms,
    has_node,
    mul,
    multiplied,
    opened,
    over,
    pairs,
    terms_of,
)


class Rule:
    """One way to take ``n // d`` or ``n % d`` apart.

    identity   the identity it rests on, as Python over ints
    condition  on these ints
    rewrite    the expression for an n and a d, None where the rule does not apply
    """

    __slots__ = ("condition", "identity", "rewrite")

    def __init__(self, identity: str, condition: str, rewrite: Callable[[Int, Int], Int | None]) -> None:
        self.identity, self.condition, self.rewrite = identity, condition, rewrite


@lru_cache(maxsize=4096)  # the same extents are divided by the same tiles over and over
def floordiv(n: Int, d: Int) -> Int:
    """Return n // d, rounding towards minus infinity; exact factors leave the division.

    Errors  ZeroDivisionError for the int 0
    """
    if not isinstance(n, DimExpr) and not isinstance(d, DimExpr):
        return n // d
    for rule in FLOOR_RULES:
        found = rule.rewrite(n, d)
        if found is not None:
            return found
    return atom_expr(Node("//", (n, d)))


@lru_cache(maxsize=4096)
def mod(n: Int, d: Int) -> Int:
    """Return n % d with the sign of d, as in Python.

    Errors  ZeroDivisionError for the int 0
    """
    if not isinstance(n, DimExpr) and not isinstance(d, DimExpr):
        return n % d
    for rule in MOD_RULES:
        found = rule.rewrite(n, d)
        if found is not None:
            return found
    return atom_expr(Node("%", (n, d)))


def ceil_div_dims(n: Int, d: Int) -> Int:
    """Return n / d rounded up."""
    if not isinstance(n, DimExpr) and not isinstance(d, DimExpr):
        return -(-n // d)
    if bounds(d)[0] < 1:
        return mul(floordiv(mul(n, -1), d), -1)
    return floordiv(add(n, add(d, -1)), d)


# ------------------------------------------------------------------------------------------- the rules of n // d


def _floor_by_constant(n: Int, d: Int) -> Int | None:
    if isinstance(d, DimExpr) or d > 1:
        return None
    if d == 0:
        raise ZeroDivisionError(f"{n} // 0")
    return n if d == 1 else floordiv(mul(n, -1), -d)


def _floor_multiples(n: Int, d: Int) -> Int | None:
    whole, rest = split_multiples(n, d)
    if _is_zero(rest):
        return whole
    return None if rest == n else add(whole, floordiv(rest, d))


def _floor_common_factor(n: Int, d: Int) -> Int | None:
    factor = _common_factor(n, d)
    return None if factor == 1 else floordiv(*_over_factor(n, d, factor))


def _floor_common_atoms(n: Int, d: Int) -> Int | None:
    if not isinstance(d, DimExpr) or not isinstance(n, DimExpr):
        return None
    terms = terms_of(n)
    constant = terms.pop((), 0)
    shared = _shared_atoms([*terms, *(mono for mono, _ in pairs(d))])
    least = sum_bounds([(shared, 1)])[0] if shared else 0
    if not -least <= constant < least:
        return None
    left, under = _over_monomial(from_terms(terms), shared), _over_monomial(d, shared)
    if constant and bounds(under)[0] < 1:
        return None
    return floordiv(add(left, -1) if constant < 0 else left, under)


def _floor_by_bounds(n: Int, d: Int) -> Int | None:
    (low, high), (least, most) = bounds(n), bounds(d)
    if least < 1 or abs(low) == inf or abs(high) == inf:
        return None
    corners = {quotient(x, y) for x in (low, high) for y in (least, most)}
    return int(corners.pop()) if len(corners) == 1 else None


def _floor_of_less(n: Int, d: Int) -> Int | None:
    return 0 if _is_less(n, d) else None


def _floor_of_quotient(n: Int, d: Int) -> Int | None:
    terms = terms_of(n)
    shift = terms.pop((), 0)
    if len(terms) != 1 or isinstance(d, DimExpr) or d < 1:
        return None
    ((mono, c),) = terms.items()
    node = _only_node(mono, "//")
    if node is None or c != 1:
        return None
    inner, divisor = node.args
    if isinstance(divisor, DimExpr) or divisor < 1:
        return None
    return floordiv(add(inner, divisor * shift), divisor * d)


FLOOR_RULES = (
    Rule("n // d == -n // -d and n // 1 == n", "d != 0", _floor_by_constant),
    Rule("(q*d + n) // d == q + n // d and 0 // d == 0", "d != 0", _floor_multiples),
    Rule("(k*n + c) // (k*d) == (n + c//k) // d", "k > 0 and (d > 0 or d < 0 and c % k == 0)", _floor_common_factor),
    Rule(
        "(k*n + c) // (k*d) == (n - (c < 0)) // d", "-k <= c < k and (d > 0 or d < 0 and c == 0)", _floor_common_atoms
    ),
    Rule("n // d == a // d == b // d", "d > 0 and a <= n <= b and a // d == b // d", _floor_by_bounds),
    Rule("n // d == 0", "0 <= n < d", _floor_of_less),
    Rule("(n // k + c) // d == (n + k*c) // (k*d)", "k > 0 and d > 0", _floor_of_quotient),
)
"""The rules of ``n // d``, in the order in which they are tried."""


# -------------------------------------------------------------------------------------------- the rules of n % d


def _mod_by_constant(n: Int, d: Int) -> Int | None:
    if isinstance(d, DimExpr) or d > 1:
        return None
    if d == 0:
        raise ZeroDivisionError(f"{n} % 0")
    return 0 if d == 1 else mul(mod(mul(n, -1), -d), -1)


def _mod_multiples(n: Int, d: Int) -> Int | None:
    rest = split_multiples(n, d)[1]
    if _is_zero(rest):
        return 0
    return None if rest == n else mod(rest, d)


def _mod_small_coefficients(n: Int, d: Int) -> Int | None:
    if isinstance(d, DimExpr) or d < 1:
        return None
    small = _small_coefficients(n, d)
    return None if small == n else mod(small, d)


def _mod_common_atoms(n: Int, d: Int) -> Int | None:
    if not isinstance(n, DimExpr) or not isinstance(d, DimExpr):
        return None
    shared = _shared_atoms([mono for mono, _ in (*pairs(n), *pairs(d))])
    if not shared or sum_bounds([(shared, 1)])[0] < 1:
        return None
    return mul(mod(_over_monomial(n, shared), _over_monomial(d, shared)), from_terms({shared: 1}))


def _mod_common_factor(n: Int, d: Int) -> Int | None:
    factor = _common_factor(n, d)
    if factor == 1:
        return None
    return add(mul(mod(*_over_factor(n, d, factor)), factor), terms_of(n).get((), 0) % factor)


def _mod_of_less(n: Int, d: Int) -> Int | None:
    return n if _is_less(n, d) else None


MOD_RULES = (
    Rule("n % d == -(-n % -d) and n % 1 == 0", "d != 0", _mod_by_constant),
    Rule("(q*d + n) % d == n % d and 0 % d == 0", "d != 0", _mod_multiples),
    Rule(
        "c*n % d == (c % d)*n % d and k*(n % q) % d == k*n % d", "d > 0 and q and k*q % d == 0", _mod_small_coefficients
    ),
    Rule("k*n % (k*d) == k * (n % d)", "k > 0 and d != 0", _mod_common_atoms),
    Rule(
        "(k*n + c) % (k*d) == k*((n + c//k) % d) + c % k",
        "k > 0 and (d > 0 or d < 0 and c % k == 0)",
        _mod_common_factor,
    ),
    Rule("n % d == n", "0 <= n < d", _mod_of_less),
)
"""The rules of ``n % d``, in the order in which they are tried."""


# ---------------------------------------------------------------------------------------------- helpers of the rules


def _is_zero(x: Int) -> bool:
    return not isinstance(x, DimExpr) and x == 0


def _is_less(n: Int, d: Int) -> bool:
    """Tell whether 0 <= n < d provably holds."""
    return bounds(n)[0] >= 0 and bounds(add(d, mul(n, -1)))[0] >= 1


def _only_node(mono: Monomial, op: str) -> Node | None:
    """Return the node that a monomial consists of, if it is one of the operation `op`; else None."""
    if len(mono) == 1 and mono[0][1] == 1 and isinstance(node := mono[0][0], Node) and node.op == op:
        return node
    return None


def _common_factor(n: Int, d: Int) -> int:
    """Return the greatest int that divides d and n; of n without its constant if d is positive.

    The constant may then be rounded down: what it loses is less than one, and changes no quotient.
    """
    terms = terms_of(n)
    constant = terms.pop((), 0)
    common = gcd(*terms.values(), *(c for _, c in pairs(d)))
    return gcd(common, constant) if bounds(d)[0] < 1 else common


def _over_factor(n: Int, d: Int, factor: int) -> tuple[Int, Int]:
    """Return n and d divided by an int, the constant of n rounded down."""
    reduced = {mono: c // factor for mono, c in terms_of(n).items()}
    return from_terms(fewest_terms(reduced)), from_terms({mono: c // factor for mono, c in pairs(d)})


def _over_monomial(x: Int, lead: Monomial) -> Int:
    """Return x divided by a monomial that divides all of its terms."""
    return from_terms(fewest_terms({over(mono, lead) or (): c for mono, c in pairs(x)}))


def _shared_atoms(monomials: list[Monomial]) -> Monomial:
    """Return the greatest monomial that divides all of these."""
    powers = [dict(mono) for mono in monomials]
    shared = ((atom, min(mono.get(atom, 0) for mono in powers)) for atom in powers[0])
    return tuple((atom, power) for atom, power in shared if power)


def _small_coefficients(n: Int, d: int) -> Int:
    """Return n modulo d with every coefficient below d in size, and ``c*(x % e)`` opened where d divides c*e."""
    total: Int = 0
    for mono, c in terms_of(n).items():
        node = _only_node(mono, "%")
        if node is not None and not isinstance(node.args[1], DimExpr) and c * node.args[1] % d == 0:
            total = add(total, _small_coefficients(split_multiples(mul(node.args[0], c), d)[1], d))
        else:
            total = add(total, from_terms({mono: c % d if not mono or c > 0 else -(-c % d)}))
    return total


def split_multiples(n: Int, d: Int) -> tuple[Int, Int]:
    """Return (q, r) with n == q*d + r, where q takes the terms of n that are multiples.

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
        return from_terms(fewest_terms(whole)), from_terms(fewest_terms(rest))
    lead, scale = pairs(d)[0]
    multiples: Terms = {}
    simple = not has_node(mono for mono, _ in pairs(d))
    left = opened(terms_of(n)) if simple else terms_of(n)
    reduced = simple or len(pairs(d)) == 1  # a sum with operations in it has no one form to divide by
    while reduced:  # polynomial division: each round lowers the terms that the leading one of d divides
        reduced = False
        for mono, c in list(left.items()):
            factor = over(mono, lead)
            if factor is not None and c // scale:
                step = {factor: c // scale}
                accumulate(multiples, step)
                accumulate(left, multiplied(step, d), -1)
                reduced = True
                break
    return from_terms(fewest_terms(multiples)), from_terms(fewest_terms(left))
