"""The verifier accepts what holds together, and names what does not with the op at fault."""

import pytest

import cutelite.ops  # noqa: F401  # registers the ops
from cutelite.diag import InternalError
from cutelite.ir.function import Block, Function, Jump, Value
from cutelite.ir.types import i32
from cutelite.ir.verifier import verify
from cutelite.ops.control import Br, Ret
from tests.ir.parser import parse_function


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%b = add a=%a, b=%a : i32", "has no terminator"),
        ("ret ret", "a terminator in the middle of a block"),
        ("%b = add a=%a, b=%a : f32 ret", "its results are (f32,), not (i32,)"),
        ("%b = add a=%a, b=%f : i32 ret", "takes two of one type"),
        ("br to=^x(%a) ^x(%y: f32): ret", "a jump passes [i32] to a block that takes [f32]"),
        ("br to=^x ^x(%y: f32): ret", "a jump passes [] to a block that takes [f32]"),
        ("%c = add a=%b, b=%b : i32 %b = add a=%a, b=%a : i32 ret", "where it is not defined"),
        (
            "cond_br cond=%p, then=^l, other=^r ^l: %b = add a=%a, b=%a br to=^r ^r: %c = add a=%b, b=%b ret",
            "where it is not defined",
        ),
    ],
)
def test_what_is_wrong(body: str, message: str) -> None:
    function = parse_function(f"func @f(%a: i32, %f: f32, %p: bool) {{ {body} }}")
    with pytest.raises(InternalError) as caught:
        verify(function, "a test")
    assert message in caught.value.message
    assert caught.value.stage == "a test"


def test_a_loop_and_a_join_are_fine() -> None:
    verify(
        parse_function(
            """func @f(%n: i32, %p: bool) {
              br to=^head(%n)
            ^head(%i: i32):
              %j = add a=%i, b=%n
              cond_br cond=%p, then=^head(%j), other=^end
            ^end:
              %k = add a=%j, b=%i
              ret
            }"""
        )
    )


def test_no_jump_leaves_the_function_or_enters_it_again() -> None:
    inside, outside = Block(), Block()
    for block in (inside, outside):
        end = Br(Jump(outside))
        block.ops.append(end)
    with pytest.raises(InternalError, match="leaves the function"):
        verify(Function("f", [inside], {}, {}))
    with pytest.raises(InternalError, match="entry block"):
        verify(Function("f", [outside], {}, {}))


def test_the_op_at_fault_is_shown_among_its_neighbours() -> None:
    function = parse_function("func @f(%a: i32) {\n  %b = add a=%a, b=%a : f32\n  ret\n}")
    with pytest.raises(InternalError) as caught:
        verify(function)
    assert ">   %b = add a=%a, b=%a : f32" in str(caught.value)


def test_values_of_another_function_are_foreign() -> None:
    block = Block((Value(i32),))
    other = parse_function("func @g(%a: i32) { %b = add a=%a, b=%a ret }")
    block.ops += [other.entry.ops[0], Ret()]
    with pytest.raises(InternalError, match="not defined"):
        verify(Function("f", [block], {}, {}))
