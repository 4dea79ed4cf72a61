"""IR text: it round-trips, and text that is no IR is told where."""

import pytest
from hypothesis import HealthCheck, given, settings

import cutelite.ops  # noqa: F401  # registers the ops
from cutelite.ir.function import Block, Function, Value
from cutelite.ir.parser import ParseError, parse_function, parse_type
from cutelite.ir.printer import op_text
from cutelite.ir.types import Type, f32, i32
from cutelite.ir.verifier import verify
from cutelite.ops.arith import Add
from cutelite.ops.control import Ret
from tests.ir.functions import functions, types


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(functions())
def test_text_round_trips(function: Function) -> None:
    verify(function)
    text = str(function)
    again = parse_function(text)
    assert str(again) == text
    verify(again)
    assert [op.name for op in again.ops()] == [op.name for op in function.ops()]
    assert [p.type for p in again.params] == [p.type for p in function.params]


@settings(max_examples=200, deadline=None)
@given(types)
def test_types_print_as_they_parse(t: Type) -> None:
    assert parse_type(str(t)) == t


def test_names_are_the_hints_made_unique() -> None:
    params = [Value(i32, hint="x"), Value(i32, hint="x_1"), Value(i32, hint="x"), Value(i32), Value(i32, hint="7")]
    block = Block(tuple(params))
    block.ops.append(Ret())
    assert str(Function("f", [block], {}, {})).startswith("func @f(%x: i32, %x_1: i32, %x_2: i32, %0: i32, %_7: i32) {")


def test_a_long_type_that_occurs_twice_has_a_name() -> None:
    text = """\
!vec0 = vec<f32,4>
!wide = tensor<f32,gmem,(128,64):(64,1),16>
func @f(%a: !wide, %b: !wide, %v: !vec0) {
  ret
}
"""
    assert str(parse_function(text)) == text.replace("!vec0 = vec<f32,4>\n", "").replace("!vec0", "vec<f32,4>").replace(
        "wide", "tensor0"
    )


def test_result_types_may_be_left_out() -> None:
    function = parse_function("func @f(%a: f32) { %b = add a=%a, b=%a ret }")
    assert function.entry.ops[0].result.type == f32


def test_fields_at_their_defaults_are_left_out() -> None:
    text = "func @f(%p: ptr<gmem,4>) {\n  %x = ld p=%p, type=f32 : f32\n  ret\n}\n"
    assert str(parse_function(text)) == text
    assert parse_function(text).entry.ops[0]["cache"] == ""


def test_ops_lie_where_the_text_has_them() -> None:
    function = parse_function("func @f(%a: f32) {\n  %b = add a=%a, b=%a // twice\n  ret\n}", "a.cir")
    span = function.entry.ops[0].span
    assert (span.filename, span.line, span.col, span.end_col) == ("a.cir", 2, 2, 21)


def test_one_op_prints_without_its_function() -> None:
    a = Value(i32, hint="a")
    op = Add(a, Value(i32))
    assert op_text(op) == repr(op) == "add a=%a, b=%0"


def test_a_marked_op_gets_an_arrow() -> None:
    function = parse_function("func @f(%a: f32) {\n  %b = add a=%a, b=%a\n  ret\n}")
    marked = function.text().whole(function.entry.ops[0])
    assert marked.splitlines()[1] == "  %b = add a=%a, b=%a : f32  // <-- here"
    assert str(parse_function(marked)) == str(function)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("func @f() {\n  flop\n}", (2, 3), "no op is called 'flop'"),
        ("func @f() {\n  br to=^there\n}", (2, 9), "there is no block ^there"),
        ("func @f() {\n  br to=5\n}", (2, 9), "the field 'to' takes a block"),
        ("func @f() {\n  %a = add a=%b, b=%b : f32\n}", (2, 14), "%b is never defined"),
        ("func @f(%a: f32) {\n  %a = add a=%a, b=%a\n}", (2, 3), "%a is defined twice"),
        ("func @f(%a: f32) {\n  %b = add a=%a\n}", (2, 8), "add needs the field 'b'"),
        ("func @f(%a: f32) {\n  %b = add a=%a, c=%a\n}", (2, 18), "add has no field 'c'; its fields are a, b"),
        ("func @f(%a: f32) {\n  %b = add a=%a, a=%a\n}", (2, 18), "the field 'a' twice"),
        ("func @f(%a: f32) {\n  %b = add a=%a, b=1.5\n}", (2, 20), "the field 'b' takes an operand"),
        ("func @f(%a: f32) {\n  %b, %c = add a=%a, b=%a\n}", (2, 3), "2 names for 1 results"),
        ("func @f(%a: f33) {\n}", (1, 13), "'f33' is no type"),
        ("func @f(%a: vec<f32,x>) {\n}", (1, 21), "expected an integer"),
        ("func @f(%a: !t) {\n}", (1, 13), "no type is called !t"),
        ("func @f(%a: tensor<f32,gmem,(4,:1,16>) {\n}", (1, 29), "expected one of ',' further on"),
        ("func @f(%a: tensor<f32,gmem,(4,4):1,16>) {\n}", (1, 29), "nest alike"),
        ("func @f() {\n  ret\n^a:\n  ret\n^a:\n  ret\n}", (5, 1), "a second block ^a"),
        ("func @f() {\n  ret\n} ret", (3, 3), "expected the end of the text"),
        ("func @f() {\n  ret", (2, 6), "expected an op"),
        ("func @f(%a: f32, %b: i32) {\n  %c = add a=%a, b=%b\n}", (2, 8), "add takes two of one type, not f32 and i32"),
        (
            "func @f() {\n  %c = add a=%a, b=%a\n  %a = const value=1, type=i32\n}",
            (2, 8),
            "the result types are needed: %a is defined further down",
        ),
    ],
)
def test_errors_name_line_and_column(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_function(text, "k.cir")
    assert (caught.value.line, caught.value.column) == place, caught.value
    assert message in caught.value.message
    assert str(caught.value).startswith(f"k.cir:{place[0]}:{place[1]}: ")
