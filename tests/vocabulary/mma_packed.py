"""Products of matrices of 4-bit numbers and of bits by a warp."""

from cutelite.ir.types import Vec, f32, i32, u32
from cutelite.ops import mma, mma_packed
from tests.vocabulary.row import Form, Row, of


def product(a: str, b: str, k: int, m: int, combine: str, saturate: bool) -> Form:
    words = k // mma_packed.PER_WORD[a]
    layouts = mma.operand_a(u32, words, m), mma.operand_b(u32, words), mma.accumulator(m)
    types = (Vec(t, mma.registers(layout)) for t, layout in zip((u32, u32, i32), layouts, strict=True))
    return of(*types, k, saturate, a, b, combine)


ROWS = [
    Row(
        mma_packed.MmaPacked,
        "cl.mma_sync",
        [
            product(a, b, k, form.m, combine, saturate)
            for a, form in mma_packed.every_form()
            for b in form.b
            for k in form.k
            for combine in (mma_packed.COMBINES if a == "b1" else ("",))
            for saturate in ((False,) if a == "b1" else (False, True))
        ],
        tested="tests/atoms/test_mma_narrow.py",
        refuses=[
            (product("i4", "b1", 32, 16, "", False), "does not multiply i4 by b1"),
            (product("i4", "i4", 128, 16, "", False), "takes 32 or 64"),
            (product("b1", "b1", 256, 8, "and", False), "takes 128"),
            (product("b1", "b1", 128, 16, "", False), "take 'xor' or 'and'"),
            (product("u4", "u4", 32, 16, "and", False), "combines no u4"),
            (product("b1", "b1", 128, 16, "xor", True), "do not saturate"),
            (of(Vec(f32, 2), Vec(u32, 1), Vec(i32, 4), 32, False, "i4", "i4"), "words of i4, which are u32, not f32"),
        ],
    )
]
