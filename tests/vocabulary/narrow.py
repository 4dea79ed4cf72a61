"""Floats of 4 and 6 bits."""

from cutelite.ir.types import f32, i32, u16
from cutelite.ops import narrow
from tests.vocabulary.row import Row, of

TESTED = "tests/lib/test_packed.py"

ROWS = [
    Row(
        narrow.CvtUnpack,
        "cl.unpack",
        [of(u16, name) for name in narrow.FORMATS],
        tested=TESTED,
        alone=True,
        refuses=[
            (of(i32, "e2m1"), "`a` of cvt.unpack"),
            (of(u16, "e4m3"), "`format` of .* is 'e4m3', but must"),
        ],
    ),
    Row(
        narrow.CvtPack,
        "cl.pack",
        [of(f32, f32, name) for name in narrow.FORMATS],
        tested=TESTED,
        alone=True,
        refuses=[(of(f32, i32, "e2m1"), "`high` of cvt.pack")],
    ),
]
