"""Products of matrices by a warp."""

from cutelite.ir.types import SCALARS, Vec, f16, f32
from cutelite.ops import mma
from tests.vocabulary.row import Form, Row, of


def product(a: str, b: str, d: str, k: int, saturate: bool, m: int) -> Form:
    elem_a, elem_b, elem_d = SCALARS[a], SCALARS[b], SCALARS[d]
    layouts = mma.operand_a(elem_a, k, m), mma.operand_b(elem_b, k), mma.accumulator(m)
    counts = map(mma.registers, layouts)
    return of(*(Vec(e, n) for e, n in zip((elem_a, elem_b, elem_d), counts, strict=True)), k, saturate)


FORMS = [
    product(a, b, d, k, saturate, form.m)
    for a, form in mma.every_form()
    for b in form.b
    for d in form.d
    for k in form.k
    for saturate in ((False, True) if d == "i32" else (False,))
]

ROWS = [
    Row(
        mma.Mma,
        "cl.mma_sync",
        FORMS,
        case="mma.sync matrices",
        tested="tests/atoms/test_mma_ops.py",
        refuses=[
            (of(Vec(f32, 4), Vec(f32, 2), Vec(f32, 4), 8), "does not multiply f32"),
            (of(Vec(f16, 8), Vec(f16, 4), Vec(f32, 4), 32), "takes 8 or 16"),
            (of(Vec(f16, 4), Vec(f16, 4), Vec(f32, 4), 16), "16 x 16 operand is 8 elements"),
            (of(Vec(f16, 8), Vec(f16, 4), Vec(f32, 4), 16, True), "only integers saturate"),
        ],
    )
]
