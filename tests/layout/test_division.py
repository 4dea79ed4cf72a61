"""The rules of division: their identities hold for all ints, and each rule divides as Python does."""

from itertools import product
from typing import Any

import pytest
from hypothesis import assume, example, given

from cutelite.layout import Dim, DimExpr, evaluate, minimum
from cutelite.layout.dims.division import FLOOR_RULES, MOD_RULES, Rule, floordiv, mod
from tests.layout.strategies import THOROUGH, K, M, N, bindings, expressions
from tests.layout.test_dims import build, compute

RULES = (*FLOOR_RULES, *MOD_RULES)
INTS = range(-5, 6)
B, P, Q = Dim("b", min=0, max=6), Dim("P", min=2), Dim("Q")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.rewrite.__name__)
def test_the_identity_holds_wherever_its_condition_does(rule: Rule) -> None:
    condition, identity = (compile(text, text, "eval") for text in (rule.condition, rule.identity))
    names = sorted({*condition.co_names, *identity.co_names})
    tried = 0
    for values in product(INTS, repeat=len(names)):
        of = dict(zip(names, values, strict=True))
        if eval(condition, of):
            assert eval(identity, of), of
            tried += 1
    assert tried > 10


@THOROUGH
@given(expressions(2), expressions(2), bindings())
@example(("//", M, 2), -1, {"M": 1})
@example(("%", M, 2), -2, {"M": 1})
def test_every_rule_divides_as_python_does(a: Any, b: Any, values: dict[str, int]) -> None:
    n, d = build(a), build(b)
    assume(isinstance(n, DimExpr) or isinstance(d, DimExpr))
    dividend, divisor = compute(a, values), compute(b, values)
    assume(d != 0 and divisor != 0)
    for rules, expected in ((FLOOR_RULES, dividend // divisor), (MOD_RULES, dividend % divisor)):
        for rule in rules:
            rewritten = rule.rewrite(n, d)
            if rewritten is not None:
                assert evaluate(rewritten, values) == expected, (rule.identity, rewritten)


@pytest.mark.parametrize(
    ("rule", "n", "d", "text"),
    [
        ("_floor_by_constant", M, -3, "(-M)//3"),
        ("_floor_by_constant", M * N, 1, "M*N{div=2}"),
        ("_floor_multiples", 8 * M + N, 8, "M+N{div=2}//8"),
        ("_floor_multiples", M * N + 3 * N + 1, N, "M+3"),
        ("_floor_common_factor", 6 * M + 3, 4, "ceil_div(3*M,2)"),
        ("_floor_common_atoms", M * N + M - 1, M * K, "N{div=2}//K{div=8}"),
        ("_floor_common_atoms", M * P - 1, M * Q, "(P{min=2}-1)//Q"),
        ("_floor_by_bounds", B + 8, 16, "0"),
        ("_floor_of_less", M, M * P + 1, "0"),
        ("_floor_of_quotient", M // 4 + 3, 8, "(M+12)//32"),
        ("_mod_by_constant", M, -3, "-((-M)%3)"),
        ("_mod_by_constant", M, 1, "0"),
        ("_mod_multiples", 8 * M + N, 8, "N{div=2}%8"),
        ("_mod_small_coefficients", 11 * M, 8, "3*M%8"),
        ("_mod_small_coefficients", M % 24, 8, "M%8"),
        ("_mod_common_atoms", M * N, M * K, "M*(N{div=2}%K{div=8})"),
        ("_mod_common_factor", 6 * M + 5, 8, "2*((3*M+2)%4)+1"),
        ("_mod_of_less", minimum(M, 3), 7, "min(M,3)"),
    ],
)
def test_what_each_rule_is_for(rule: str, n: Any, d: Any, text: str) -> None:
    rules, divide = (FLOOR_RULES, floordiv) if rule.startswith("_floor") else (MOD_RULES, mod)
    assert next(r.rewrite.__name__ for r in rules if r.rewrite(n, d) is not None) == rule
    assert str(divide(n, d)) == text


def test_a_remainder_stays_where_the_divisor_may_be_negative() -> None:
    quotient = (P * M + 1) // (-(P * Q))
    assert evaluate(quotient, {"P": 2, "M": 4, "Q": 4}) == 9 // -8
    assert str(P * M // (-(P * Q))) == "M//(-Q)"


def test_what_no_rule_takes_apart_stays() -> None:
    assert str(floordiv(M, N)) == "M//N{div=2}"
    assert str(mod(M, 7)) == "M%7"
    for rules in (FLOOR_RULES, MOD_RULES):
        assert all(rule.rewrite(M, 7) is None for rule in rules)


def test_every_rule_has_its_case() -> None:
    cases = test_what_each_rule_is_for.pytestmark[0].args[1]
    assert {case[0] for case in cases} == {rule.rewrite.__name__ for rule in RULES}
