"""Walking expressions over dims: into text, numbers, other expressions, or a compiler's instructions.

In: an int or a `DimExpr`. The normal form of `dims` is first turned into a tree of the operations a reader would
write (``ceil_div(K,64)``, not sums of units); everything here folds over that tree.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from math import gcd, lcm
from typing import Any, Protocol, TypeAlias, TypeVar

from cutelite.layout.dims import Atom, Dim, DimExpr, Int, Monomial, Node, add, bounds, from_terms, maximum, minimum, mul
from cutelite.layout.errors import LayoutError

T = TypeVar("T")

Tree: TypeAlias = "tuple[Any, ...]"
"""("const", int) | ("dim", Dim) | (op, tree, tree) with op one of add sub mul floordiv ceil_div mod min max."""


class Ops(Protocol[T]):
    """The operations that `fold` computes with; `floordiv` and `mod` are Python's."""

    def const(self, value: int, /) -> T: ...
    def dim(self, dim: Dim, /) -> T: ...
    def add(self, a: T, b: T, /) -> T: ...
    def sub(self, a: T, b: T, /) -> T: ...
    def mul(self, a: T, b: T, /) -> T: ...
    def floordiv(self, a: T, b: T, /) -> T: ...
    def mod(self, a: T, b: T, /) -> T: ...
    def min(self, a: T, b: T, /) -> T: ...
    def max(self, a: T, b: T, /) -> T: ...


def fold(x: Int, ops: Ops[T]) -> T:
    """Compute x with the operations of `ops`, operands first: how an expression becomes instructions.

    A ceiling division arrives as ``floordiv(add(n, d - 1), d)``. Equal subexpressions arrive as often as they occur.

    >>> class Count:
    ...     const = dim = lambda self, leaf: 0
    ...     add = sub = mul = floordiv = mod = min = max = lambda self, a, b: a + b + 1
    >>> fold(Dim("M") * 8 + 3, Count())
    2
    """
    return _fold(tree(x), ops)


def _fold(node: Tree, ops: Ops[T]) -> T:
    op = node[0]
    if op == "const" or op == "dim":
        leaf: T = getattr(ops, op)(node[1])
        return leaf
    if op == "ceil_div":
        return ops.floordiv(_fold(_plus(node[1], node[2]), ops), _fold(node[2], ops))
    result: T = getattr(ops, op)(_fold(node[1], ops), _fold(node[2], ops))
    return result


def _plus(n: Tree, d: Tree) -> Tree:
    """Return the tree of n + d - 1."""
    if d[0] == "const":
        return ("add", n, ("const", d[1] - 1))
    return ("sub", ("add", n, d), ("const", 1))


# ------------------------------------------------------------------------------------------------------ tree


def tree(x: Int) -> Tree:
    """Return the operations that compute x, as a reader would write them."""
    if not isinstance(x, DimExpr):
        return ("const", x)
    if isinstance(x, Dim):
        return ("dim", x)
    terms = dict(x._terms)
    parts: list[tuple[bool, Tree]] = []  # (is it subtracted, its tree)
    for mono, c in x._terms:
        if terms.get((), 0) >= 1 and c == 1 and (node := _rounds_up(mono)):
            parts.append((False, _quotient(node, up=True)))
            terms[()] -= 1
        elif mono:
            parts.append((c < 0, _product(mono, abs(c))))
    if constant := terms.get((), 0):
        parts.append((constant < 0, ("const", abs(constant))))
    parts.sort(key=lambda part: part[0])  # start with what is added, if anything is
    negative, result = parts[0]
    if negative:
        result = ("sub", ("const", 0), result)
    for negative, part in parts[1:]:
        result = ("sub" if negative else "add", result, part)
    return result


def _rounds_up(mono: Monomial) -> Node | None:
    """Return the node of ``(n-1) // d``, which together with 1 is a ceil_div over dims."""
    if len(mono) != 1 or mono[0][1] != 1:
        return None
    node = mono[0][0]
    if not isinstance(node, Node) or node.op != "//" or not isinstance(node.args[1], DimExpr):
        return None
    n, d = node.args
    minus_one = isinstance(n, DimExpr) and dict(n._terms).get((), 0) == -1
    return node if minus_one and bounds(d)[0] >= 1 else None


def _product(mono: Monomial, c: int) -> Tree:
    """Return c * mono, each dim taking as much of c as makes it whole: 8 units of K{div=8} are K, 2 are K//4."""
    atoms = [atom for atom, power in mono for _ in range(power)]
    shares = [1] * len(atoms)
    for whole in (True, False):  # as many dims whole as can be, small units first
        for i in sorted(range(len(atoms)), key=lambda i: _unit(atoms[i])):
            share = gcd(c, _unit(atoms[i]))
            if shares[i] == 1 and (not whole or share == _unit(atoms[i])):
                shares[i] = share
                c //= share
    factors = [_scaled(atom, share, _unit(atom)) for atom, share in zip(atoms, shares, strict=True)]
    if c != 1 or not factors:
        factors.insert(0, ("const", c))
    result = factors[0]
    for factor in factors[1:]:
        result = ("mul", result, factor)
    return result


def _unit(atom: Atom) -> int:
    """Return the factor that lets `atom` be written without dividing its dims."""
    if isinstance(atom, Dim):
        return atom.divisible_by
    if atom.op == "//":
        return 1  # the factor goes into numerator and divisor both
    return lcm(*(_whole(a) for a in atom.args))


def _whole(x: Int) -> int:
    """Return the least factor that makes every term of x whole."""
    if not isinstance(x, DimExpr):
        return 1
    needed = 1
    for mono, c in x._terms:
        units = 1
        for atom, power in mono:
            units *= _unit(atom) ** power
        needed = lcm(needed, units // gcd(units, c))
    return needed


def _scaled(atom: Atom, share: int, unit: int) -> Tree:
    """share * atom, where share divides unit."""
    if isinstance(atom, Dim):
        whole: Tree = ("dim", atom)
        return whole if share == unit else ("floordiv", whole, ("const", unit // share))
    if atom.op == "//":
        return _quotient(atom)
    if atom.op == "%":
        n, d = atom.args
        return ("mod", tree(mul(n, share)), tree(mul(d, share)))
    result = tree(mul(atom.args[0], share))
    for value in atom.args[1:]:
        result = (atom.op, result, tree(mul(value, share)))
    return result


def _quotient(atom: Node, up: bool = False) -> Tree:
    """Return the quotient of whole dims; plus 1 if `up`, for one that `_rounds_up`."""
    n, d = atom.args
    scale = lcm(_whole(n), _whole(d))
    if up:
        return ("ceil_div", tree(mul(add(n, 1), scale)), tree(mul(d, scale)))
    if not isinstance(d, DimExpr) and isinstance(n, DimExpr):
        terms = dict(n._terms)
        if d > 1 and terms.get((), 0) == d - 1:
            del terms[()]
            return ("ceil_div", tree(mul(from_terms(terms), scale)), ("const", d * scale))
    return ("floordiv", tree(mul(n, scale)), tree(mul(d, scale)))


# ------------------------------------------------------------------------------------------------------ text

_SIGN = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}
_LOOSE = ("add", "sub")


def text(x: Int) -> str:
    """Return x in infix, as `parse_int_tuple` reads it back.

    >>> M, K = Dim("M"), Dim("K", divisible_by=8)
    >>> from cutelite.layout import ceil_div
    >>> text(8 * M + 3), text(ceil_div(K, 64) * M), text(M - K // 4)
    ('8*M+3', 'M*ceil_div(K{div=8},64)', 'M-K{div=8}//4')
    """
    return _text(tree(x))


def _text(node: Tree) -> str:
    op = node[0]
    if op == "const":
        return str(node[1])
    if op == "dim":
        return dim_text(node[1])
    if op in ("min", "max", "ceil_div"):
        return f"{op}({_text(node[1])},{_text(node[2])})"
    if op == "sub" and node[1] == ("const", 0):
        return "-" + _operand(node[2], tight=True, of="mul")
    tight = op not in _LOOSE
    left = _operand(node[1], tight, of=op)
    return left + _SIGN[op] + _operand(node[2], tight=tight or op == "sub", right=tight, of=op)


def _operand(node: Tree, tight: bool, right: bool = False, of: str = "") -> str:
    """Return the text of an operand, in parentheses where precedence or reading asks for them."""
    inner = _text(node)
    op = node[0]
    loose = op in _LOOSE
    dividing = op in ("floordiv", "mod")
    mixed = op == "mul" and (right or of in ("floordiv", "mod"))
    if (tight and loose) or (of in ("mul", "floordiv", "mod") and dividing) or (right and mixed):
        return f"({inner})"
    return inner


def dim_text(dim: Dim) -> str:
    """Return ``K``, or with its facts ``K{div=8,min=0,max=64}``."""
    facts = []
    if dim.divisible_by != 1:
        facts.append(f"div={dim.divisible_by}")
    if dim.min != 1:
        facts.append(f"min={dim.min}")
    if dim.max is not None:
        facts.append(f"max={dim.max}")
    return dim.name + ("{" + ",".join(facts) + "}" if facts else "")


# ------------------------------------------------------------------------------------------------ evaluation


class Arithmetic:
    """Ops that compute by Python's operators; a subclass says what dims are."""

    add, sub, mul, floordiv, mod = map(
        staticmethod, (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod)
    )
    min: Any = staticmethod(min)
    max: Any = staticmethod(max)

    def const(self, value: int) -> Any:
        return value


class _Numbers(Arithmetic):
    """Ops that compute numbers; `bindings` gives every dim its value, checked against its facts."""

    def __init__(self, bindings: Mapping[str, int]) -> None:
        self.bindings = bindings

    def dim(self, dim: Dim) -> int:
        if dim.name not in self.bindings:
            raise LayoutError("evaluate", f"{dim.name} has no value", dim=dim)
        value = self.bindings[dim.name]
        check_facts("evaluate", dim, value)
        return value


def check_facts(function: str, dim: Dim, value: int) -> None:
    """Raise unless `value` is one that `dim` may take."""
    if not hasattr(value, "__index__"):
        needed = "a whole number"
    elif value % dim.divisible_by:
        needed = f"a multiple of {dim.divisible_by}"
    elif value < dim.min:
        needed = f"at least {dim.min}"
    elif dim.max is not None and value > dim.max:
        needed = f"at most {dim.max}"
    else:
        return
    raise LayoutError(function, f"{dim.name} is {value}, but must be {needed}", dim=dim, value=value)


def map_leaves(x: Any, function: Any) -> Any:
    """Return x with `function` applied to its ints and expressions: through tuples, and objects with a `map_leaves`."""
    if isinstance(x, tuple):
        return tuple(map_leaves(item, function) for item in x)
    if hasattr(x, "map_leaves"):
        return x.map_leaves(function)
    return function(x)


def evaluate(x: Any, bindings: Mapping[str, int]) -> Any:
    """Return x with every dim replaced by its value: expression to int, and tuples and layouts leaf by leaf.

    Errors  `LayoutError` for a dim without a value, and for a value that contradicts a dim's facts

    >>> from cutelite.layout import ceil_div
    >>> evaluate(ceil_div(Dim("K"), 64), {"K": 100})
    2
    """
    ops = _Numbers(bindings)
    return map_leaves(x, lambda leaf: fold(leaf, ops) if isinstance(leaf, DimExpr) else leaf)


class _Replace(Arithmetic):
    """Ops that rebuild an expression with some dims replaced."""

    min, max = staticmethod(minimum), staticmethod(maximum)

    def __init__(self, mapping: Mapping[Any, Int]) -> None:
        self.mapping = mapping

    def dim(self, dim: Dim) -> Int:
        new = self.mapping.get(dim, self.mapping.get(dim.name, dim))
        if not isinstance(new, DimExpr):
            check_facts("substitute", dim, new)
        return new


def substitute(x: Any, mapping: Mapping[Any, Int]) -> Any:
    """Return x, which may be a tuple or layout, with dims replaced by ints or expressions.

    mapping  keyed by Dim or by name

    >>> M, N = Dim("M"), Dim("N")
    >>> substitute((M * N, M % 8), {M: 8 * N})
    (8*N*N, 0)
    """
    ops = _Replace(mapping)
    return map_leaves(x, lambda leaf: fold(leaf, ops) if isinstance(leaf, DimExpr) else leaf)


def _atoms(x: Int) -> Iterator[Atom]:
    if isinstance(x, DimExpr):
        for mono, _ in x._terms:
            for atom, _ in mono:
                yield atom
                if isinstance(atom, Node):
                    for arg in atom.args:
                        yield from _atoms(arg)


def dims_of(x: Any) -> frozenset[Dim]:
    """Return the dims in an expression, a tuple or a layout.

    >>> sorted(map(str, dims_of((Dim("M") // 8, 3, Dim("N") + 1))))
    ['M', 'N']
    """
    found: set[Dim] = set()

    def collect(leaf: Any) -> Any:
        found.update(atom for atom in _atoms(leaf) if isinstance(atom, Dim))
        return leaf

    map_leaves(x, collect)
    return frozenset(found)
