"""Arithmetic on packed pairs of f32."""

from functools import partial

from cutelite.ir.types import Vec, f16, f32
from cutelite.ops import f32x2
from cutelite.ops.convert import ALL_MODES
from tests.vocabulary import row
from tests.vocabulary.row import of

PAIR = Vec(f32, 2)
Row = partial(row.Row, alone=True, tested="tests/blackwell/test_f32x2.py")

ROWS = [
    Row(
        f32x2.AddF32x2,
        "cl.add_packed_f32x2",
        [of(PAIR, PAIR, ftz, rounding) for ftz in (False, True) for rounding in ALL_MODES],
        refuses=[
            (of(PAIR, Vec(f16, 2)), "takes vec<f32,2>, not vec<f16,2>"),
            (of(PAIR, PAIR, False, "rna"), "`rounding` of .* is 'rna', but must"),
        ],
    ),
    Row(f32x2.SubF32x2, "cl.sub_packed_f32x2", [of(PAIR, PAIR), of(PAIR, PAIR, True, "rp")]),
    Row(f32x2.MulF32x2, "cl.mul_packed_f32x2", [of(PAIR, PAIR, False, r) for r in ALL_MODES] + [of(PAIR, PAIR, True)]),
    Row(
        f32x2.FmaF32x2,
        "cl.fma_packed_f32x2",
        [of(PAIR, PAIR, ftz, r, PAIR) for ftz in (False, True) for r in ALL_MODES],
    ),
]
