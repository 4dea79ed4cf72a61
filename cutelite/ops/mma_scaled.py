"""mma.sync on floats of 8, 6 and 4 bits, with a scale for each block of numbers along K or without any (sm_120).

A thread holds words of A and B where it would hold tf32: `operand_a` and `operand_b` of `ops.mma`, for u32 and 8 words
along K. Kinds f8f6f4 and mxf8f6f4 have four numbers in a word, one in each byte: those of 6 bits in its low bits, those
of 4 bits in its middle bits. Kinds mxf4 and mxf4nvf4 have eight, the first one lowest.

A sparse A keeps two of every four bytes along K. A word of metadata in each thread names the bytes that are kept, as in
`mma_sparse` for 8 bits. B then has twice as many words, and a scale is for twice as many numbers.

Scales are bytes in a u32 of some threads. Of the four threads that share rows of A, the two that `thread_a` selects
have the scales of its two rows; `byte_a` is the byte of the first scale in the word. The one that `thread_b` selects
has the scales of the column of B.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from cutelite.ir.contract import Effect, Problem, Ptx, np, numpy_dtype
from cutelite.ir.function import Value
from cutelite.ir.op import op
from cutelite.ir.simulation import Array, Lanes
from cutelite.ir.types import SCALARS, Vec, e4m3, f32, u8, u32
from cutelite.layout import Layout
from cutelite.ops import narrow
from cutelite.ops.mma import Form, Mma, N, accumulator, operand_a, operand_b, registers
from cutelite.ops.mma_sparse import whole_a
from cutelite.tuples import NamedTuple

ROWS, WORDS, QUAD = 16, 8, 4
FLOATS = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")


class Kind(NamedTuple):
    """One kind of mma.sync.

    formats  the formats of A and of B, which may differ
    k        numbers along K of an instruction
    scales   each choice of (scales of a row, their type); empty: the kind has no scales
    """

    formats: tuple[str, ...]
    k: int
    scales: tuple[tuple[int, str], ...] = ()


KINDS: dict[str, Kind] = {
    "f8f6f4": Kind(FLOATS, 32),
    "mxf8f6f4": Kind(FLOATS, 32, ((1, "ue8m0"),)),
    "mxf4": Kind(("e2m1",), 64, ((2, "ue8m0"),)),
    "mxf4nvf4": Kind(("e2m1",), 64, ((2, "ue8m0"), (4, "ue4m3"))),
}
"""The kinds by their names in PTX (PTX ISA, mma, block scaling)."""


@op("mma.sync.block_scale", scope="warp", effects=Effect.CONVERGENT, source="PTX ISA: mma and mma.sp, block scaling")
class MmaBlockScale(Mma):
    """``d = (a * scale_a) @ (b * scale_b).T + c`` of a warp, C and D f32; 16 rows, 8 columns, 32 or 64 along K.

    a, b         this thread's u32 words of A (16, k) and B (8, k)
    kind_of_mma  'f8f6f4', which has no scales, 'mxf8f6f4', 'mxf4' or 'mxf4nvf4'
    format_a     'e4m3', 'e5m2', 'e2m3', 'e3m2' or 'e2m1'; `format_b` likewise
    scale_a      a u32 of each thread with scales of type `scale`, 'ue8m0' or 'ue4m3', `several` for a row; `scale_b`
                 likewise
    byte_a       the byte of a row's first scale in the word; `byte_b` likewise
    thread_a     0 or 1: the pair of every four threads whose words are read; `thread_b`, 0 to 3: the thread
    metadata     for a sparse A, a u32 of each thread: K is then 64 or 128, and A has half of it
    """

    scale_a: Value | None = None
    scale_b: Value | None = None
    kind_of_mma: str = "f8f6f4"
    format_a: str = "e4m3"
    format_b: str = "e4m3"
    several: int = 0
    scale: str = ""
    byte_a: int = 0
    thread_a: int = 0
    byte_b: int = 0
    thread_b: int = 0
    metadata: Value | None = None

    @property
    def feature(self) -> str:  # type: ignore[override]
        return "mma.block_scale"

    @property
    def form(self) -> Form:
        return Form(ROWS, N, (self.depth,), (), ())

    @property
    def sparse(self) -> bool:
        return self.metadata is not None

    @property
    def depth(self) -> int:
        """Numbers along K of an instruction."""
        return KINDS[self.kind_of_mma].k * (2 if self.sparse else 1)

    def verify(self) -> Iterator[Problem]:
        kind = KINDS.get(self.kind_of_mma)
        if kind is None:
            yield Problem("kind_of_mma", f"{self.kind_of_mma!r} is none of {', '.join(KINDS)}")
            return
        for field in ("format_a", "format_b"):
            if self[field] not in kind.formats:
                known = ", ".join(kind.formats)
                yield Problem(field, f"{field} is {self[field]!r}; kind::{self.kind_of_mma} takes {known}")
        if self.k != self.depth or self.saturate:
            sparse = " with a sparse A" if self.sparse else ""
            yield Problem(
                "k", f"k is {self.k}; kind::{self.kind_of_mma}{sparse} takes {self.depth}, and never saturates"
            )
        if self.metadata is not None and self.metadata.type != u32:
            yield Problem("metadata", f"the metadata is a u32 of each thread, not {self.metadata.type}")
        for field, layout in self.layouts().items():
            wanted = Vec(f32 if field == "c" else u32, registers(layout))
            if self[field].type != wanted:
                yield Problem(field, f"`{field}` is {self[field].type}, but must be {wanted}")
        yield from self._scale_problems(kind)

    def _scale_problems(self, kind: Kind) -> Iterator[Problem]:
        given = [field for field in ("scale_a", "scale_b") if self[field] is not None]
        if len(given) != (2 if kind.scales else 0):
            yield Problem("scale_a", f"kind::{self.kind_of_mma} takes {'two words of' if kind.scales else 'no'} scales")
            return
        for field in given:
            if self[field].type != u32:
                yield Problem(field, f"`{field}` is {self[field].type}, but must be u32")
        if kind.scales and (self.several, self.scale) not in kind.scales:
            known = ", ".join(f"{n} of {t}" for n, t in kind.scales)
            yield Problem("scale", f"a row has {self.several} scales of {self.scale!r}; there are {known}")
            return
        for field in ("byte_a", "byte_b"):
            if kind.scales and self[field] not in range(0, 4, self.several):
                yield Problem(field, f"{field} is {self[field]}, but must be 0 to 3 and a multiple of {self.several}")
        for field, most in (("thread_a", 2), ("thread_b", 4)):
            if not 0 <= self[field] < most:
                yield Problem(field, f"{field} is {self[field]}, not 0 to {most - 1}")

    def layouts(self) -> dict[str, Layout]:
        return {
            "a": operand_a(u32, WORDS, ROWS),
            "b": operand_b(u32, WORDS * (2 if self.sparse else 1)),
            "c": accumulator(ROWS),
        }

    def ptx(self) -> Ptx:
        kind = f"kind::{self.kind_of_mma}"
        shape = f"m16n8k{self.k}.row.col.{kind}"
        end, operands = "", ", ".join(f"${field}" for field in ("out", "a", "b", "c"))
        operands += ", $metadata, 0" if self.sparse else ""
        if self.scale:
            shape += f".block_scale.scale_vec::{self.several}X"
            end = f".{self.scale}"
            operands += f", $scale_a, {{{self.byte_a}, {self.thread_a}}}, $scale_b, {{{self.byte_b}, {self.thread_b}}}"
        name = "mma.sp::ordered_metadata.sync" if self.sparse else "mma.sync"
        text = f"{name}.aligned.{shape}.f32.{self.format_a}.{self.format_b}.f32{end} {operands};"
        return Ptx(text, pure=True, memory=False, packed=("a", "b", "c", "out"))

    def _unpacked(self, lanes: Lanes, field: str, tile: Array) -> Array:
        if field == "c":
            return tile
        words = tile.astype(np.int64)  # (warps, words along K, rows)
        octets = (words[:, :, None, :] >> np.arange(0, 32, 8)[:, None] & 255).reshape(len(tile), -1, tile.shape[2])
        if self.metadata is not None and field == "a":
            octets = whole_a(lanes, octets, lanes.get(self.metadata), u8)
        packed = KINDS[self.kind_of_mma].k == 2 * 4 * WORDS
        codes = np.stack([octets & 15, octets >> 4], axis=2) if packed else octets
        codes = codes.reshape(len(tile), -1, tile.shape[2])
        numbers = decoded(codes, self[f"format_{field}"], packed)
        if not self.scale:
            return numbers
        factors = self._factors(lanes, field)  # (warps, rows, scales)
        return numbers * np.repeat(factors, self.k // self.several, axis=2).transpose(0, 2, 1)

    def _factors(self, lanes: Lanes, field: str) -> Array:
        """Return the scales of each row of an operand: (warps, rows, scales)."""
        word = self.scale_a if field == "a" else self.scale_b
        assert word is not None
        words = lanes.warps(lanes.get(word))[:, self._threads[field]]
        first = self.byte_a if field == "a" else self.byte_b
        octets = (words[..., None] >> np.arange(8 * first, 8 * (first + self.several), 8).astype(np.uint32)) & 255
        if self.scale == "ue8m0":
            return np.where(octets == 255, np.nan, np.exp2(octets.astype(np.float64) - 127))
        return (octets & 0x7F).astype(np.uint8).view(numpy_dtype(e4m3)).astype(np.float64)

    @cached_property
    def _threads(self) -> dict[str, Array]:
        """The thread that has the scales of each row of A, and of each column of B."""
        row, column = np.arange(ROWS), np.arange(N)
        return {"a": row % 8 * QUAD + 2 * self.thread_a + row // 8, "b": column * QUAD + self.thread_b}


def decoded(codes: Array, format: str, packed: bool) -> Array:
    """Return the numbers of `codes`. If not `packed`, codes are bytes: 4 bits in the middle of a byte, or its low 6."""
    if format not in narrow.FORMATS:
        return codes.astype(np.uint8).view(numpy_dtype(SCALARS[format])).astype(np.float64)
    if not packed:
        codes = codes >> 2 & 15 if narrow.FORMATS[format][2] == 4 else codes & 63
    return np.asarray(narrow.values(format)[codes])


__all__ = ["MmaBlockScale"]
