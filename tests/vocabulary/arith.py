"""Arithmetic, comparison and selection of numbers of one type, and the composition of vectors."""

from typing import Any

import numpy as np

from cutelite.ir.types import Vec, boolean, f16, f32, i32
from cutelite.ops import arith
from tests.vocabulary.numbers import Array, each, fused, greatest, least, rounded
from tests.vocabulary.row import FLOATS, INTEGERS, Row, alike, arrays, floats, ints, numbers, of, result_of, vectors

NUMBERS = (*INTEGERS, *FLOATS)
VECTORS = (Vec(f32, 3), Vec(f16, 3), Vec(i32, 2))
BOTH = "i8 i8; f16 f16; vec<f32,3> vec<f32,3>; vec<f16,3> vec<f16,3>; vec<i32,2> vec<i32,2>"
WHOLE = "i8 i8; u8 u8; vec<i32,2> vec<i32,2>; vec<u8,4> vec<u8,4>"
BITS = "i8 i8; vec<i32,2> vec<i32,2>"
EXTREMES = f"i8 i8; u8 u8; {BOTH[7:]}; vec<u8,4> vec<u8,4>"
SHIFTS = "i8 i8; {}vec<i32,2> vec<i32,2>; vec<u8,4> vec<u8,4>"
SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
COMPARED = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater}
COMPARED["ge"] = np.greater_equal


def same(function: Any) -> Any:
    """Make a reference of `function` of integers, which NumPy wraps, and of floats, rounded."""
    return numbers(arrays(function), floats(function))


def fused_once(op: Any, *given: Array) -> Array:
    t = result_of(op)
    return each(lambda x, y, z: rounded(fused(x, y, z, t), t), t, *given)


def fusible(op: Any, sign: str, function: Any) -> Row:
    forms = [*alike((*NUMBERS, *VECTORS), 2), of(f32, f32, rounded=True), of(Vec(f16, 3), Vec(f16, 3), rounded=True)]
    return Row(op, f"({{0}} {sign} {{1}})", forms, same(function), shown=BOTH)


def division(op: Any, sign: str, function: Any) -> Row:
    """Make the row of a division of integers, by divisors other than 0."""
    forms = [*alike((*INTEGERS, Vec(i32, 2)), 2), of(i32, i32, natural=True)]
    reference = ints(lambda op, a, b: function(a, b & 7 | 1))
    return Row(op, f"({{0}} {sign} ({{1}} & 7 | 1))", forms, reference, shown=WHOLE)


def bitwise(op: Any, sign: str, function: Any) -> Row:
    return Row(op, f"({{0}} {sign} {{1}})", alike((*INTEGERS, boolean, Vec(i32, 2)), 2), arrays(function), shown=BITS)


def shift(op: Any, sign: str, function: Any, shown: str) -> Row:
    forms = alike((*INTEGERS, Vec(i32, 2)), 2)
    return Row(op, f"({{0}} {sign} {{1}})", forms, ints(function), amounts=(1,), shown=shown)


def extreme(op: Any, word: str, integer: Any, real: Any) -> Row:
    forms = alike((*NUMBERS, *VECTORS), 2)
    return Row(op, f"{word}({{0}}, {{1}})", forms, numbers(arrays(integer), floats(real)), shown=EXTREMES)


ROWS = [
    Row(arith.Const, "a literal", case="const", tested="tests/lower/test_constants.py"),
    fusible(arith.Add, "+", np.add),
    fusible(arith.Sub, "-", np.subtract),
    fusible(arith.Mul, "*", np.multiply),
    Row(
        arith.Div,
        "({0} / {1})",
        alike(vectors(*FLOATS), 2),
        floats(np.true_divide),
        shown="f16 f16; vec<f32,3> vec<f32,3>; vec<f16,3> vec<f16,3>",
        refuses=[(of(i32, i32), "div does not take i32")],
    ),
    division(arith.FloorDiv, "//", lambda a, b: a // b),
    division(arith.Mod, "%", lambda a, b: a % b),
    Row(
        arith.Neg,
        "(-{0})",
        alike((*NUMBERS, *VECTORS), 1),
        same(np.negative),
        shown="i8; f16; vec<f32,3>; vec<f16,3>; vec<i32,2>",
    ),
    Row(
        arith.Abs,
        "abs({0})",
        alike((*NUMBERS, *VECTORS), 1),
        same(np.abs),
        shown="i8; u8; f16; vec<f32,3>; vec<f16,3>; vec<i32,2>; vec<u8,4>",
    ),
    Row(
        arith.Not,
        lambda op: "(not {0})" if op.a.type == boolean else "(~{0})",
        alike((*INTEGERS, boolean, Vec(i32, 2)), 1),
        arrays(np.invert),
        shown="i8; vec<i32,2>",
        refuses=[(of(f32), "not does not take f32")],
    ),
    bitwise(arith.And, "&", np.bitwise_and),
    bitwise(arith.Or, "|", np.bitwise_or),
    bitwise(arith.Xor, "^", np.bitwise_xor),
    shift(
        arith.Shl,
        "<<",
        lambda op, x, n: x << n,
        SHIFTS.format("i16 i16; i32 i32; i64 i64; ") + "; vec<u16,2> vec<u16,2>",
    ),
    shift(arith.Shr, ">>", lambda op, x, n: x >> n, SHIFTS.format("u8 u8; i16 i16; i32 i32; u32 u32; i64 i64; ")),
    extreme(arith.Min, "min", np.minimum, least),
    extreme(arith.Max, "max", np.maximum, greatest),
    Row(
        arith.Fma,
        "cl.math.fma({0}, {1}, {2})",
        alike(vectors(*FLOATS), 3),
        fused_once,
        shown="f16 f16 f16; vec<f32,3> vec<f32,3> vec<f32,3>; vec<f16,3> vec<f16,3> vec<f16,3>",
        refuses=[
            (of(i32, i32, i32), "fma takes floats, not i32"),
            (of(f32, f32, f16), "fma takes three of one type, not f32, f32 and f16"),
        ],
    ),
    Row(
        arith.Cmp,
        lambda op: f"({{0}} {SIGNS[op.predicate]} {{1}})",
        [of(p, t, t) for p in SIGNS for t in (*NUMBERS, Vec(f32, 3))],
        lambda op, a, b: COMPARED[op.predicate](a, b),
        shown="; ".join(
            [f"{pair} predicate='eq'" for pair in f"i8 i8; {BOTH[7:]}".split("; ") if "f16,3" not in pair]
            + ["i8 i8 predicate='lt'"]
        ),
    ),
    Row(
        arith.Select,
        "cl.where({0}, {1}, {2})",
        [of(boolean, t, t) for t in (*NUMBERS, boolean, Vec(f32, 3))],
        arrays(np.where),
        shown="bool i8 i8; bool vec<f32,3> vec<f32,3>",
    ),
    Row(arith.Choose, "an item of a tuple, numbered at run time", case="choose", tested="tests/ops/test_choose.py"),
    Row(arith.VecMake, "vectors of several numbers", case="vec", tested="tests/ops/test_ops_together.py"),
    Row(arith.VecSplat, "cl.full", case="vec", tested="tests/atoms/test_fragments.py"),
    Row(arith.VecUndefined, "cl.wgmma.undefined", case="vec", tested="tests/hopper/test_wgmma.py"),
    Row(arith.VecGather, "v[i]", case="vec", tested="tests/atoms/test_fragments.py"),
    Row(arith.VecPut, "an element of a register tensor assigned", case="vec", tested="tests/run/test_wide.py"),
]
