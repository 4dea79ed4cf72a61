"""Products of a sparse matrix by a warp."""

from cutelite.ir.types import SCALARS, Vec, f32, u32
from cutelite.ops import mma, mma_sparse
from tests.vocabulary.row import Form, Row, of


def product(a: str, b: str, d: str, k: int, selector: int = 0, saturate: bool = False) -> Form:
    elems = SCALARS[a], SCALARS[b], SCALARS[d]
    layouts = mma.operand_a(elems[0], k // 2, 16), mma.operand_b(elems[1], k), mma.accumulator(16)
    types = (Vec(t, mma.registers(layout)) for t, layout in zip(elems, layouts, strict=True))
    return of(*types, k, saturate, u32, selector)


ROWS = [
    Row(
        mma_sparse.MmaSp,
        "cl.compress_sparse",
        [
            product(a, b, d, k, mma_sparse.steps_of_word(SCALARS[a], k) - 1, saturate)
            for a, form in mma_sparse.FORMS.items()
            for b in form.b
            for d in form.d
            for k in form.k
            for saturate in ((False, True) if d == "i32" else (False,))
        ],
        tested="tests/atoms/test_mma_narrow.py",
        refuses=[
            (product("f16", "bf16", "f32", 16), "does not multiply f16 by bf16"),
            (product("bf16", "bf16", "f32", 64), "takes 16 or 32"),
            (product("bf16", "bf16", "f32", 32, 2), "a word covers 2 instructions"),
            (of(*(Vec(SCALARS["bf16"], n) for n in (4, 4)), Vec(f32, 4), 16, False, f32), "the metadata is a u32"),
        ],
    )
]
