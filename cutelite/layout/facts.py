"""Facts that can be proven about an expression before launch: factors, bounds, order.

Every function is sound and none is complete: True and a number are proofs, False and None mean "not known".
"""

from __future__ import annotations

from itertools import product
from math import gcd, inf

from cutelite.layout.dims import DimExpr, Int, add, bounds, mul, split_multiples
from cutelite.layout.errors import LayoutError


def static_value(x: Int) -> int | None:
    """Return x as an int, None when it is known at launch only.

    >>> from cutelite.layout import Dim
    >>> M = Dim("M")
    >>> static_value(M - M + 2), static_value(M)
    (2, None)
    """
    return None if isinstance(x, DimExpr) else x


def known_divisor(x: Int) -> int:
    """Return the greatest number that provably divides x; 0 divides only 0.

    >>> from cutelite.layout import Dim
    >>> K = Dim("K", divisible_by=8)
    >>> known_divisor(K // 4), known_divisor(K + K), known_divisor(3 * K + 4), known_divisor(12)
    (2, 16, 4, 12)
    """
    if not isinstance(x, DimExpr):
        return abs(x)
    content = gcd(*(c for _, c in x._terms))
    # beyond the coefficients only products have a common factor, as M*(M+1) has 2, and it is at most the degree
    degree = max(sum(power for _, power in mono) for mono, _ in x._terms)
    for factor in (2, 3, 2):
        if degree >= factor and len(x._terms) > 1 and is_divisible(x, content * factor):
            content *= factor
    return content


def is_divisible(x: Int, k: Int) -> bool:
    """Tell whether k provably divides x.

    >>> from cutelite.layout import Dim
    >>> M, K = Dim("M"), Dim("K", divisible_by=8)
    >>> is_divisible(M * K, 8), is_divisible(M * K, M), is_divisible(M + K, 2), is_divisible(M * (M + 1), 2)
    (True, True, False, True)
    """
    if not isinstance(x, DimExpr) and not isinstance(k, DimExpr):
        return x == 0 if k == 0 else x % k == 0
    if exact_div(x, k) is not None:
        return True
    if isinstance(k, DimExpr) or not isinstance(x, DimExpr):
        return False
    atoms = {atom for mono, _ in x._terms for atom, _ in mono}
    k = abs(k)
    if k == 0 or k ** len(atoms) > 4096 or all(len(mono) <= 1 and sum(p for _, p in mono) <= 1 for mono, _ in x._terms):
        return False
    order = list(atoms)
    for residues in product(range(k), repeat=len(order)):  # whatever the atoms are, modulo k
        value = dict(zip(order, residues, strict=True))
        total = 0
        for mono, c in x._terms:
            for atom, power in mono:
                c *= value[atom] ** power
            total += c
        if total % k:
            return False
    return True


def exact_div(x: Int, k: Int) -> Int | None:
    """Return x / k when k provably divides x, else None.

    >>> from cutelite.layout import Dim
    >>> M, K = Dim("M"), Dim("K", divisible_by=8)
    >>> exact_div(M * K, 4), exact_div(M * K, K), exact_div(M, 2)
    ((K{div=8}//4)*M, M, None)
    """
    if type(x) is int and type(k) is int:
        return x // k if k and x % k == 0 else None
    if not isinstance(x, DimExpr) and x == 0:
        return 0
    if not isinstance(k, DimExpr) and k == 0:
        return None
    quotient, rest = split_multiples(x, k)
    return quotient if not isinstance(rest, DimExpr) and rest == 0 else None


def lower_bound(x: Int) -> int | None:
    """Return the greatest number that x is provably never below; None when none is known.

    >>> from cutelite.layout import Dim
    >>> M = Dim("M")
    >>> lower_bound(M - 1), lower_bound(8 * ((M + 7) // 8) - M), lower_bound(-M)
    (0, 0, None)
    """
    low = bounds(x)[0]
    return None if low == -inf else int(low)


def upper_bound(x: Int) -> int | None:
    """Return the least number that x is provably never above; None when none is known.

    >>> from cutelite.layout import Dim
    >>> upper_bound(Dim("M") % 8), upper_bound(Dim("M"))
    (7, None)
    """
    high = bounds(x)[1]
    return None if high == inf else int(high)


def prove_lt(a: Int, b: Int) -> bool:
    """Tell whether a < b provably holds.

    >>> from cutelite.layout import Dim
    >>> M, K = Dim("M"), Dim("K", divisible_by=8)
    >>> prove_lt(7, K), prove_lt(M, 8), prove_lt(M % 8, 8)
    (True, False, True)
    """
    if type(a) is int and type(b) is int:
        return a < b
    return bounds(add(b, mul(a, -1)))[0] >= 1


def prove_le(a: Int, b: Int) -> bool:
    """Tell whether a <= b provably holds.

    >>> from cutelite.layout import Dim
    >>> prove_le(1, Dim("M")), prove_le(0, Dim("M", min=0) - 1)
    (True, False)
    """
    if type(a) is int and type(b) is int:
        return a <= b
    return bounds(add(b, mul(a, -1)))[0] >= 0


def require_static(function: str, x: Int, what: str) -> int:
    """Return x as an int. Errors: a `LayoutError` that names the value that must be known."""
    if isinstance(x, DimExpr):
        raise LayoutError(function, f"{what} is {x}, but must be known at compile time", value=x)
    return x
