"""mma.sync with a sparse A: half of it is left out, and metadata names the half that is kept.

The metadata of 16 rows is laid out as that of a warp of wgmma (`ops.wgmma_sparse`): one word in each thread, 16 groups
of each row. An instruction reads the groups that its selector chooses, so the same words serve every extent along K.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

from cutelite.ir.contract import Effect, Problem, Ptx, np
from cutelite.ir.function import Value
from cutelite.ir.op import op
from cutelite.ir.simulation import Array, Lanes
from cutelite.ir.types import Scalar, elem_of, u32
from cutelite.layout import Layout
from cutelite.ops import wgmma_sparse
from cutelite.ops.mma import WARP, Form, Mma, accumulator, operand_a, operand_b
from cutelite.ops.wgmma_sparse import GROUPS, expanded, group_of, group_table, valid

ROWS = 16

FORMS: dict[str, Form] = {
    "f16": Form(16, 8, (16, 32), ("f16",), ("f32", "f16")),
    "bf16": Form(16, 8, (16, 32), ("bf16",), ("f32",)),
    "tf32": Form(16, 8, (8, 16), ("tf32",), ("f32",)),
    "i8": Form(16, 8, (32, 64), ("i8", "u8"), ("i32",)),
    "u8": Form(16, 8, (32, 64), ("i8", "u8"), ("i32",)),
    "e4m3": Form(16, 8, (64,), ("e4m3", "e5m2"), ("f32",), "fp8"),
    "e5m2": Form(16, 8, (64,), ("e4m3", "e5m2"), ("f32",), "fp8"),
}
"""The forms of mma.sp, by the type of A (PTX ISA, mma.sp)."""


def steps_of_word(elem: Scalar, k: int) -> int:
    """Return the number of instructions along K that a word of metadata covers: their selectors are 0, 1, ..."""
    return GROUPS * group_of(elem) // k


def compress_sparse(a: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the operands of a sparse mma.sync for `a`: the elements that are kept, and the metadata that names them.

    a        a NumPy array (m, k) in the type that NumPy has for `dtype`; m a multiple of 16, k of 32 bytes. Of every 4
             neighbours in a row (2, if they have 32 bits) half are zero
    dtype    f16, bf16, tf32, e4m3, e5m2, i8 or u8
    Result   (m, k / 2) like `a`, and (m / 16, words, 32) u32: a word for each thread, and for each 16 groups of a row.
             The instruction at step s along K reads word ``s // p`` by the selector ``s % p``; a word covers p
             instructions: 64 / k on 8 and 16 bits, 32 / k on tf32
    Errors   ValueError that names the row and the columns where too many are not zero
    """
    return wgmma_sparse.compressed(a, dtype, ROWS, 32 // dtype.bytes)


@op("mma.sp.sync", scope="warp", effects=Effect.CONVERGENT, source="PTX ISA: mma.sp")
class MmaSp(Mma):
    """`mma.sync` with a sparse A: half of every group of elements along K is zero and left out.

    a         this thread's elements of the packed A (16, k / 2)
    k         extent along K of B, and of A with its zeros
    meta      a u32 of each thread: the metadata that names the elements of A (`compress_sparse`)
    selector  the number of this instruction among those that a word covers: chooses the threads whose metadata is read
    """

    meta: Value
    selector: int = 0
    forms: ClassVar[dict[str, Form]] = FORMS

    @property
    def _form(self) -> Form | None:
        return FORMS.get(self.kind("a"))

    def verify(self) -> Iterator[Problem]:
        problems = list(super().verify())
        yield from problems
        if self.meta.type != u32:
            yield Problem("meta", f"the metadata is a u32 of each thread, not {self.meta.type}")
        if problems:
            return
        several = steps_of_word(elem_of(self.a.type), self.k)
        if not 0 <= self.selector < several:
            text = f"a word covers {several} instructions with k {self.k}: there is no selector {self.selector}"
            yield Problem("selector", text)

    def layouts(self) -> dict[str, Layout]:
        a, b = elem_of(self.a.type), elem_of(self.b.type)
        return {"a": operand_a(a, self.k // 2, ROWS), "b": operand_b(b, self.k), "c": accumulator(ROWS)}

    def ptx(self) -> Ptx:
        operands = ", ".join(self._braced(field) for field in ("out", "a", "b", "c"))
        text = f"mma.sp::ordered_metadata.sync.aligned.{self._kinds} {operands}, $meta, {self.selector};"
        return Ptx(text, pure=True, memory=False, packed=("a", "b", "c", "out"))

    @cached_property
    def _columns(self) -> slice:
        """The groups of a word that the instruction reads."""
        columns = self.k // group_of(elem_of(self.a.type))
        return slice(self.selector * columns, (self.selector + 1) * columns)

    def _unpacked(self, lanes: Lanes, field: str, tile: Array) -> Array:
        if field != "a":
            return tile
        return whole_a(lanes, tile, lanes.get(self.meta), elem_of(self.a.type), self._columns)


def whole_a(lanes: Lanes, kept: Array, metadata: Array, elem: Scalar, columns: slice = slice(None)) -> Array:
    """Return a sparse A with the zeros that were left out: (warps, twice as many along K, rows).

    kept      (warps, along K, rows)
    metadata  a word of each thread
    columns   the groups of a row that the instruction reads
    """
    active = lanes.warps(lanes.mask).all(axis=1)
    whole = np.zeros((len(kept), 2 * kept.shape[1], ROWS), kept.dtype)
    for warp, words in enumerate(lanes.warps(metadata)):
        table = group_table(words, elem, ROWS)[:, columns]
        for row, group in np.argwhere(~valid(table, elem))[: int(active[warp])]:
            text = f"the metadata of row {row}, group {group} is {table[row, group]:#06b}"
            at = np.repeat(np.arange(len(kept)) == warp, WARP)
            lanes.fault(at, f"{text}: it names no elements in order", "mma-operand")
        if active[warp]:
            whole[warp] = expanded(kept[warp].T, table, elem).T
    return whole


__all__ = ["MmaSp", "whole_a"]
