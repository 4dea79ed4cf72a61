"""Integer identities, as rows of pattern and result: ``(x + 0, x)``.

`x` and `y` stand for any value, `a` and `b` for constants. Integers wrap, so a row must hold modulo 2**bits; one
that does not has a condition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.ir.function import Value
from cutelite.ir.op import REGISTRY, Op
from cutelite.ir.types import Scalar, boolean
from cutelite.ops.arith import Choose, Cmp, Const, Select
from cutelite.ops.memory import PtrAdd


def operator(name: str) -> Callable[[Pattern, Any], Pattern]:
    return lambda pattern, other: Node(name, pattern, other)


class Pattern:
    """An expression over values; operators make bigger ones."""

    __add__, __sub__, __mul__, __floordiv__, __mod__ = map(operator, ("add", "sub", "mul", "floordiv", "mod"))
    __and__, __or__, __xor__, __lshift__, __rshift__ = map(operator, ("and", "or", "xor", "shl", "shr"))

    def __invert__(self) -> Pattern:
        return Node("not", self)


class Any_(Pattern):
    """Any value; the same one wherever it occurs in a row."""


class Known(Pattern):
    """Any integer constant."""


class Node(Pattern):
    """An op, by name, on patterns or numbers."""

    def __init__(self, op: str, *args: Any) -> None:
        self.op, self.args = op, args


x, y, a, b = Any_(), Any_(), Known(), Known()


def _positive(t: Scalar, a: int, b: int) -> bool:
    """Tell whether both constants and their product are positive numbers of the type."""
    return a > 0 and b > 0 and a * b <= t.range[1]


Condition = Callable[..., bool]
Row = tuple[Pattern, Any] | tuple[Pattern, Any, Condition]

ROWS: tuple[Row, ...] = (
    (x + 0, x),
    (x - 0, x),
    (x - x, 0),
    (x * 1, x),
    (x * 0, 0),
    (x // 1, x),
    (x % 1, 0),
    (x & 0, 0),
    (x & -1, x),
    (x & x, x),
    (x | 0, x),
    (x | x, x),
    (x ^ 0, x),
    (x ^ x, 0),
    (x << 0, x),
    (x >> 0, x),
    (~~x, x),
    ((x + a) + b, x + (a + b)),
    ((x + a) - b, x + (a - b)),
    ((x - a) + b, x + (b - a)),
    ((x - a) - b, x - (a + b)),
    ((x + y) - x, y),
    ((x + y) - y, x),
    ((x - y) + y, x),
    ((x * a) * b, x * (a * b)),
    ((x & a) & b, x & (a & b)),
    (x // a // b, x // (a * b), _positive),
)
"""Rows for integers and, where only bit operations occur, bools. A third entry is a condition on the type and a, b."""

COMMUTATIVE = ("add", "mul", "and", "or", "xor", "min", "max")


def _by_root(rows: tuple[Row, ...]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        assert isinstance(row[0], Node)
        found.setdefault(row[0].op, []).append(row)
    return found


_ROWS = _by_root(ROWS)
Emit = Callable[[Op], Any]


def simplify(op: Op, emit: Emit) -> Value | None:
    """Return a value equal to the result of `op`, which is not emitted yet; None if it cannot be simplified."""
    if isinstance(op, Select):
        return _select(op)
    if isinstance(op, Choose):
        return _choose(op)
    t = op.result.type
    if not isinstance(t, Scalar) or not (t.is_int or t == boolean) or isinstance(op, Cmp):
        return None
    swapped = op.name in COMMUTATIVE and known_integer(op["a"]) is not None and known_integer(op["b"]) is None
    if swapped:  # constants go to the right
        op = type(op)(a=op["b"], b=op["a"])
    for row in _ROWS.get(op.name, ()):
        found: dict[Pattern, Any] = {}
        if _match(row[0], op, t, found):
            known = [found[name] for name in (a, b) if name in found]
            if len(row) == 2 or row[2](t, *known):
                return _built(row[1], t, found, emit)
    return emit(op) if swapped else None


def _select(op: Select) -> Value | None:
    if op.a is op.b:
        return op.a
    cond = op.cond.op.value if isinstance(op.cond.op, Const) else None
    return None if cond is None else op.a if cond else op.b


def _choose(op: Choose) -> Value | None:
    key = known_integer(op.key)
    if key is None:
        return op.items[0] if len({*op.items}) == 1 else None
    return op.items[key if 0 <= key < len(op.items) else 0]


def known_integer(value: Value) -> int | None:
    """Return the integer that `value` is known to be."""
    return value.op.value if isinstance(value.op, Const) and isinstance(value.op.value, int) else None


def without_known(p: Value) -> tuple[Value, int]:
    """Return the address from which `p` is a number of bytes known at compile time away, and that number."""
    known = 0
    while isinstance(p.op, PtrAdd) and (number := known_integer(p.op.bytes)) is not None:
        known += number
        p = p.op.p
    return p, known


def _match(pattern: Any, held: Value | Op, t: Scalar, found: dict[Pattern, Any]) -> bool:
    if isinstance(pattern, Node):
        op = held.op if isinstance(held, Value) else held
        if op is None or op.name != pattern.op:
            return False
        return all(map(lambda p, v: _match(p, v, t, found), pattern.args, op.operands))
    assert isinstance(held, Value)
    if isinstance(pattern, Any_):
        return found.setdefault(pattern, held) is held
    number = known_integer(held)
    if isinstance(pattern, Known):
        return number is not None and found.setdefault(pattern, number) == number
    return number is not None and number == (pattern if t.signed else pattern & t.range[1])


def _built(result: Any, t: Scalar, found: dict[Pattern, Any], emit: Emit) -> Value:
    """Emit the right side of a row, and return its value."""
    if isinstance(result, Any_):
        return found[result]  # type: ignore[no-any-return]
    number = _computed(result, found)
    if number is not None:
        low, high = t.range
        wrapped = bool(number) if t == boolean else (number - low) % (high - low + 1) + low
        return emit(Const(wrapped, t))  # type: ignore[no-any-return]
    return emit(REGISTRY[result.op](*(_built(arg, t, found, emit) for arg in result.args)))  # type: ignore[no-any-return]


def _computed(result: Any, found: dict[Pattern, Any]) -> int | None:
    """Return the number of a right side made of constants only; None for any other."""
    if isinstance(result, int):
        return result
    if isinstance(result, Known):
        return found[result]  # type: ignore[no-any-return]
    if isinstance(result, Any_):
        return None
    args = [_computed(arg, found) for arg in result.args]
    if None in args:
        return None
    compute: dict[str, Callable[[Any, Any], int]] = {
        "add": lambda p, q: p + q,
        "sub": lambda p, q: p - q,
        "mul": lambda p, q: p * q,
        "and": lambda p, q: p & q,
    }
    return compute[result.op](*args)
