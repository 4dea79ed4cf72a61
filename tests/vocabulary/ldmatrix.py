"""Matrices between shared memory and the registers of a warp."""

from functools import partial

from cutelite.ir.types import Ptr, Vec, bf16, f16, f32, i8, tf32
from cutelite.ops import ldmatrix
from tests.vocabulary import row
from tests.vocabulary.row import of

Row = partial(row.Row, tested="tests/atoms/test_mma_ops.py")
SMEM = Ptr("smem", 16)
MOVED = [
    (elem, count, transpose)
    for elem in (f16, bf16, i8, f32, tf32)
    for count in ldmatrix.COUNTS
    for transpose in (False, True)
    if not transpose or elem in (f16, bf16)
]

ROWS = [
    Row(
        ldmatrix.LoadMatrix,
        "cl.ldmatrix",
        [of(SMEM, *form) for form in MOVED],
        case="ldmatrix",
        refuses=[
            (of(Ptr("smem", 8), f16, 4), "multiple of 16 bytes"),
            (of(SMEM, f16, 3), "1, 2 or 4 matrices"),
            (of(SMEM, i8, 4, True), "transposes elements of 16"),
        ],
    ),
    Row(
        ldmatrix.StoreMatrix,
        "cl.stmatrix",
        [of(SMEM, Vec(elem, 4 // elem.bytes * count), count, transpose) for elem, count, transpose in MOVED],
        case="stmatrix",
        refuses=[(of(SMEM, Vec(f16, 4), 4), "4 matrices are 8")],
    ),
    Row(ldmatrix.MoveMatrix, "cl.movmatrix", [of(Vec(bf16, 2))], case="movmatrix"),
]
