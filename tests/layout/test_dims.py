"""Expressions over dims: a normal form that keeps every value, tight facts, and text that reads back."""

import copy
import operator
import pickle
from typing import Any

import pytest
from hypothesis import assume, example, given

from cutelite.layout import (
    Dim,
    DimExpr,
    LayoutError,
    ceil_div,
    dims,
    dims_of,
    evaluate,
    exact_div,
    fold,
    is_divisible,
    known_divisor,
    lower_bound,
    maximum,
    minimum,
    parse_int_tuple,
    prove_le,
    prove_lt,
    static_value,
    substitute,
    upper_bound,
)
from tests.layout.strategies import THOROUGH, K, M, N, bindings, expressions

OPERATORS: dict[str, Any] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}


def build(tree: Any) -> Any:
    """The expression of a tree, by the package."""
    if not isinstance(tree, tuple):
        return tree
    a, b = build(tree[1]), build(tree[2])
    if tree[0] == "ceil_div":
        assume(not (isinstance(b, int) and b == 0))
        return ceil_div(a, b)
    if tree[0] in ("min", "max"):
        return {"min": minimum, "max": maximum}[tree[0]](a, b)
    assume(tree[0] not in ("//", "%") or not (isinstance(b, int) and b == 0))
    return OPERATORS[tree[0]](a, b)


def compute(tree: Any, values: dict[str, int]) -> int:
    """Its value, by Python."""
    if isinstance(tree, Dim):
        return values[tree.name]
    if not isinstance(tree, tuple):
        return int(tree)
    a, b = compute(tree[1], values), compute(tree[2], values)
    if tree[0] in ("//", "%", "ceil_div"):
        assume(b != 0)
    if tree[0] == "ceil_div":
        return -(-a // b)
    return int({**OPERATORS, "min": min, "max": max}[tree[0]](a, b))


@THOROUGH
@given(expressions(), bindings())
def test_values_and_facts(tree: Any, values: dict[str, int]) -> None:
    expected = compute(tree, values)
    expression = build(tree)
    assert evaluate(expression, values) == expected
    divisor = known_divisor(expression)
    assert expected % divisor == 0 if divisor else expected == 0
    assert (low := lower_bound(expression)) is None or low <= expected
    assert (high := upper_bound(expression)) is None or high >= expected
    assert substitute(expression, {"M": values["M"], N: values["N"], K: values["K"]}) == expected


@THOROUGH
@given(expressions())
@example(("//", ("*", M, ("%", M, N)), M))  # a remainder that division leaves
def test_text_reads_back(tree: Any) -> None:
    expression = build(tree)
    again = parse_int_tuple(str(expression))
    assert again == expression
    assert hash(again) == hash(expression)
    assert pickle.loads(pickle.dumps(expression)) == expression


@THOROUGH
@given(expressions(2), expressions(2), bindings())
def test_equal_means_equal_for_all_values(a: Any, b: Any, values: dict[str, int]) -> None:
    left, right = compute(a, values), compute(b, values)
    x, y = build(a), build(b)
    assert evaluate((x + y - y, x * y), values) == (left, left * right)
    assert x - x == 0
    if x == y:
        assert left == right
    if prove_lt(x, y):
        assert left < right
    if prove_le(x, y):
        assert left <= right
    quotient = exact_div(x, y)
    if quotient is not None:
        assert evaluate(quotient, values) * right == left


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (8 * M, "8*M"),
        (M * N + 3, "M*N{div=2}+3"),
        (3 - M, "3-M"),
        (-M, "-M"),
        (ceil_div(K, 64), "ceil_div(K{div=8},64)"),
        (ceil_div(M, N), "ceil_div(M,N{div=2})"),
        (ceil_div(ceil_div(M, 8), 4), "ceil_div(M,32)"),
        (ceil_div(M * K, 4 * K), "ceil_div(M,4)"),
        ((M // 4) // 8, "M//32"),
        (K // 4, "K{div=8}//4"),
        (K // 3, "K{div=8}//3"),
        (K * N // 4, "(K{div=8}//4)*N{div=2}"),
        ((K + 4) % 64, "K{div=8}%64+4"),
        (M - M % 8, "8*(M//8)"),
        (8 * (M // 8) + M % 8, "M"),
        (M % 24 % 8, "M%8"),
        ((M * N + 5) // N, "M+4//N{div=2}"),
        (M % 8 // 8, "0"),
        (K % 8, "0"),
        (minimum(M, 64) * 2, "2*min(M,64)"),
        (minimum(K, 64, 8 * M), "min(min(K{div=8},8*M),64)"),
        (maximum(K, 8), "K{div=8}"),
        (maximum(M, 1, M - 3), "M"),
        (Dim("b", min=0, max=64) * 2, "2*b{min=0,max=64}"),
        ((M + N) * (M - N), "M*M-N{div=2}*N{div=2}"),
        ((M * M - N * N) // (M + N), "M-N{div=2}"),
    ],
)
def test_normal_form(expression: Any, text: str) -> None:
    assert str(expression) == text


@pytest.mark.parametrize(
    ("expression", "divisor"),
    [
        (K, 8),
        (K // 4, 2),
        (K + K, 16),
        (3 * K + 4, 4),
        (K * N, 16),
        (K * K, 64),
        (ceil_div(K, 4), 2),
        (ceil_div(M, 8) * 8, 8),
        (K % 64, 8),
        (minimum(K, 64), 8),
        (minimum(K, 12), 4),
        (maximum(2 * K, N), 2),
        (K // 64, 1),
        (M - M % 8, 8),
        (M * (M + 1), 2),
        (M * (M + 1) * (M + 2), 6),
        (M * M, 1),
        (K - 8, 8),
        (12, 12),
        (0, 0),
    ],
)
def test_divisors_are_tight(expression: Any, divisor: int) -> None:
    assert known_divisor(expression) == divisor
    assert is_divisible(expression, divisor)


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        (M, 1, None),
        (K, 8, None),
        (M - 1, 0, None),
        (8 * ceil_div(M, 8) - M, 0, 7),
        (M - 8 * (M // 8), 0, 7),
        (M * K - K, 0, None),
        (K - M * K, None, 0),
        (M * M - 2 * M + 1, 0, None),
        (M * M - 3 * M, None, None),
        (Dim("b", min=0, max=64) - 3, -3, 61),
        (minimum(M, 64), 1, 64),
        (5 // M, 0, 5),
        (64 // N, 0, 32),
    ],
)
def test_bounds(expression: Any, low: int | None, high: int | None) -> None:
    assert (lower_bound(expression), upper_bound(expression)) == (low, high)


def test_what_is_unknown_cannot_be_asked_by_accident() -> None:
    for question in (
        lambda: M < 3,
        lambda: M >= N,
        lambda: bool(M),
        lambda: int(M),
        lambda: range(M),
        lambda: float(M),
        lambda: sorted([M, N]),
    ):
        with pytest.raises(TypeError, match="known at launch only"):
            question()
    with pytest.raises(TypeError):
        M + 1.5
    with pytest.raises(ZeroDivisionError):
        M // (N - N)


def test_dims() -> None:
    assert dims("M") == Dim("M")
    assert dims("M, K:8") == (Dim("M"), Dim("K", divisible_by=8))
    assert dims("A B", divisible_by=4) == (Dim("A", 4), Dim("B", 4))
    assert Dim("M") != Dim("M", 2)
    assert Dim("M") != Dim("N")
    assert len({Dim("K", 8), Dim("K", 8) * 1, K // 1}) == 1
    assert isinstance(K * 2 // 2, Dim)
    assert copy.deepcopy(K) == K
    with pytest.raises(AttributeError, match="immutable"):
        M.name = "x"
    with pytest.raises(TypeError):
        DimExpr()
    for bad in (
        lambda: Dim("3x"),
        lambda: Dim("M", 0),
        lambda: Dim("M", min=3, max=2),
        lambda: dims("M:"),
        lambda: dims(""),
        lambda: dims("M", "N"),  # type: ignore[arg-type]
        lambda: dims(["M"]),  # type: ignore[arg-type]
    ):
        with pytest.raises(LayoutError):
            bad()


def test_evaluation_checks_the_facts() -> None:
    expression = (K // 8, Dim("b", min=0, max=4) + 1)
    assert evaluate(expression, {"K": 24, "b": 0}) == (3, 1)
    for values, message in (
        ({"K": 12, "b": 0}, "K is 12, but must be a multiple of 8"),
        ({"K": 0, "b": 0}, "K is 0, but must be at least 1"),
        ({"K": 8, "b": 5}, "b is 5, but must be at most 4"),
        ({"b": 0}, "K has no value"),
    ):
        with pytest.raises(LayoutError, match=message):
            evaluate(expression, values)
    with pytest.raises(LayoutError, match="must be a multiple of 8"):
        substitute(K, {K: 4})


class Instructions:
    """What a compiler would emit."""

    def __init__(self) -> None:
        self.emitted: list[str] = []

    def const(self, value: int) -> str:
        return str(value)

    def dim(self, dim: Dim) -> str:
        return dim.name

    def _emit(self, op: str, a: str, b: str) -> str:
        self.emitted.append(f"{op} {a} {b}")
        return f"%{len(self.emitted)}"

    def add(self, a: str, b: str) -> str:
        return self._emit("add", a, b)

    def sub(self, a: str, b: str) -> str:
        return self._emit("sub", a, b)

    def mul(self, a: str, b: str) -> str:
        return self._emit("mul", a, b)

    def floordiv(self, a: str, b: str) -> str:
        return self._emit("div", a, b)

    def mod(self, a: str, b: str) -> str:
        return self._emit("rem", a, b)

    def min(self, a: str, b: str) -> str:
        return self._emit("min", a, b)

    def max(self, a: str, b: str) -> str:
        return self._emit("max", a, b)


@pytest.mark.parametrize(
    ("expression", "instructions"),
    [
        (M, []),
        (8 * M + 3, ["mul 8 M", "add %1 3"]),
        (ceil_div(K, 64) * M, ["add K 63", "div %1 64", "mul M %2"]),
        (ceil_div(M, N), ["add M N", "sub %1 1", "div %2 N"]),
        (K // 4 + M, ["div K 4", "add %1 M"]),
        (minimum(M, 64) % 5, ["min M 64", "rem %1 5"]),
        (M - K, ["sub M K"]),
    ],
)
def test_fold(expression: Any, instructions: list[str]) -> None:
    ops = Instructions()
    fold(expression, ops)
    assert ops.emitted == instructions


def test_other_questions() -> None:
    assert static_value(M - M + 3) == 3
    assert static_value(M) is None
    assert dims_of((M * 8, (3, K // N))) == {M, N, K}
    assert prove_lt(7, K)
    assert not prove_lt(M, 8)
    assert is_divisible(M * K, M)
    assert not is_divisible(M + 1, 2)
    assert substitute((M, M * N), {M: 4}) == (4, 4 * N)
