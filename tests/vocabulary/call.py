"""Calls of linked functions."""

from cutelite.ir.types import Vec, f32
from cutelite.ops import call
from tests.vocabulary.row import Row, of

ROWS = [
    Row(
        call.Call,
        "cl.extern",
        case="call",
        tested="tests/dispatch/test_linking.py",
        refuses=[
            (of("a b", ()), "'a b' is no name of a function"),
            (of("f", (Vec(f32, 2),)), "a function takes numbers and addresses, not vec<f32,2>"),
            (of("f", (), (f32, f32)), "a function returns a number or nothing, not f32, f32"),
            (of("f", (), (), pure=True), "a pure function without a result has no effect"),
        ],
    )
]
