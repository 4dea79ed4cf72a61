"""mma.sync on numbers of 4 bits and on single bits, several to a 32-bit word.

A thread holds words of A and B where it would hold tf32: `operand_a` and `operand_b` of `ops.mma`, for u32 and the
extent along K in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import ClassVar

from cutelite.ir.contract import Effect, Problem, np
from cutelite.ir.op import op
from cutelite.ir.simulation import Array, Lanes
from cutelite.ir.types import Vec, u32
from cutelite.layout import Layout
from cutelite.ops.mma import WARP, Form, Mma, accumulator, form_of, operand_a, operand_b

PER_WORD = {"i4": 8, "u4": 8, "b1": 32}
"""The numbers of each format in a word, the first one lowest."""

COMBINES = ("xor", "and")

FORMS: dict[str, Form] = {
    "i4": Form(16, 8, (32, 64), ("i4", "u4"), ("i32",)),
    "u4": Form(16, 8, (32, 64), ("i4", "u4"), ("i32",)),
    "b1": Form(16, 8, (128, 256), ("b1",), ("i32",)),
}
"""The forms with 16 rows, by the format of A (PTX ISA, mma)."""

SMALL: dict[str, Form] = {name: form._replace(m=8, k=form.k[:1]) for name, form in FORMS.items()}
"""The forms with 8 rows, which the length of the accumulator tells apart."""


def every_form() -> Iterator[tuple[str, Form]]:
    """Yield all forms, each with the format of A."""
    return chain(FORMS.items(), SMALL.items())


@op("mma.sync.packed", scope="warp", effects=Effect.CONVERGENT, source="PTX ISA: mma")
class MmaPacked(Mma):
    """``d = a @ b.T + c`` on numbers of 4 bits or single bits, spread over the 32 threads of a warp; C and D are i32.

    a, b      this thread's u32 words of A (m, k) and B (8, k): neighbours along K, the first one in the lowest bits
    kind_a    'i4', 'u4' or 'b1'; `kind_b` likewise
    k         extent along K, in numbers; m follows from the length of C
    combine   for bits: a product is ``a ^ b`` ('xor') or ``a & b`` ('and'), so that sums count bits
    saturate  4 bits only: clamp instead of wrapping
    """

    kind_a: str
    kind_b: str
    combine: str = ""
    forms: ClassVar[dict[str, Form]] = FORMS

    def kind(self, field: str) -> str:
        return {"a": self.kind_a, "b": self.kind_b}.get(field) or super().kind(field)

    @property
    def _form(self) -> Form | None:
        if not isinstance(self.c.type, Vec):
            return None
        return form_of(self.kind_a, self.c.type.n * WARP // 8, every_form())

    def verify(self) -> Iterator[Problem]:
        problems = list(super().verify())
        yield from problems
        if problems:
            return
        for field in ("a", "b"):
            if self[field].type.elem != u32:
                text = f"`{field}` holds words of {self.kind(field)}, which are u32, not {self[field].type.elem}"
                yield Problem(field, text)
        if (self.combine in COMBINES) != (self.kind_a == "b1"):
            yield Problem(
                "combine", f"{self.combine!r} combines no {self.kind_a}: bits take 'xor' or 'and', numbers ''"
            )
        if self.saturate and self.kind_a == "b1":
            yield Problem("saturate", "sums of bits do not saturate")

    def layouts(self) -> dict[str, Layout]:
        words, m = self.k // PER_WORD[self.kind_a], self.form.m
        return {"a": operand_a(u32, words, m), "b": operand_b(u32, words), "c": accumulator(m)}

    @property
    def _kinds(self) -> str:
        return super()._kinds + (f".{self.combine}.popc" if self.combine else "")

    def _unpacked(self, lanes: Lanes, field: str, tile: Array) -> Array:
        if field == "c":
            return tile
        kind = self.kind(field)
        per, bits = PER_WORD[kind], 32 // PER_WORD[kind]
        held = tile[:, :, None, :] >> np.arange(0, 32, bits)[:, None] & (1 << bits) - 1
        whole = held.reshape(len(tile), tile.shape[1] * per, -1)
        return (whole ^ 8) - 8 if kind == "i4" else whole

    def _product(self, a: Array, b: Array) -> Array:
        both = super()._product(a, b)
        return a.sum(axis=1)[:, :, None] + b.sum(axis=1)[:, None, :] - 2 * both if self.combine == "xor" else both


__all__ = ["MmaPacked"]
