"""IR text: it round-trips."""

from hypothesis import HealthCheck, given, settings

from cutelite.ir.function import Block, Function, Value
from cutelite.ir.printer import op_text
from cutelite.ir.types import Type, f32, i32
from cutelite.ir.verifier import verify
from cutelite.ops.arith import Add
from cutelite.ops.control import Ret
from tests.ir.functions import functions, types
from tests.ir.parser import parse_function, parse_type


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
