"""The reduction of angles."""

from cutelite.ir.types import Vec, bf16, f32, f64
from cutelite.ops import trig
from tests.vocabulary.row import Row, alike, of

ROWS = [
    Row(
        trig.TrigReduce,
        "cl.math.sin, cl.math.cos, cl.math.tan",
        alike((f32, f64, Vec(f32, 2)), 1),
        shown="f32; f64; vec<f32,3>",
        refuses=[(of(bf16), "trig.reduce does not take bf16")],
        tested="tests/ops/test_ops_math.py",
    )
]
