"""Tensor memory, the kinds of products that tcgen05.mma computes, and the two descriptors that it takes.

Tensor memory is 128 lanes of 512 columns of 32 bits for each block. An address is ``lane << 16 | column``. `KINDS` is
the table of types; `InstructionDescriptor` and `SmemDescriptor` are the 32- and 64-bit words that describe the operands
to the tensor core, with each field checked; `accumulator_cells` and `SHAPES` say which lane and column holds what.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import Any

from cutelite.ir.contract import np
from cutelite.ir.simulation import Array
from cutelite.ir.types import Scalar, Tensor, f32
from cutelite.layout import Layout, cosize, flatten_to_tuple, is_static, static_value
from cutelite.ops.wgmma_sparse import kept_of
from cutelite.records import dataclass
from cutelite.target.targets import WARP
from cutelite.tuples import NamedTuple

LANES, COLUMNS = 128, 512
"""Extents of a block's tensor memory (PTX ISA, tensor memory)."""
CELL_BITS = 32
LANE_SHIFT = 16  # an address is lane << 16 | column (PTX ISA, tensor memory addressing)
CELL_BYTES = CELL_BITS // 8
LANE_BYTES = CELL_BYTES * COLUMNS  # of one lane, as the simulator lays tensor memory out
WARP_LANES = WARP  # warp w of a warpgroup reaches lanes 32 w to 32 w + 31 (PTX ISA, tcgen05.ld, access restrictions)
STEP_BYTES = 32  # along K, of one instruction
DEEP_BYTES = 48  # of an instruction with 96 numbers of 4 bits along K


class Kind(NamedTuple):
    """The types that one kind of tcgen05.mma multiplies.

    ab        the code of each type of A and B in the instruction descriptor
    d         types of the accumulator
    mixed     A and B may differ in type
    negate    A and B can be negated at no cost
    """

    ab: dict[str, int]
    d: tuple[str, ...]
    mixed: bool = True
    negate: bool = True


KINDS: dict[str, Kind] = {
    "f16": Kind({"f16": 0, "bf16": 1}, ("f32", "f16"), mixed=False),
    "tf32": Kind({"tf32": 2}, ("f32",)),
    "f8f6f4": Kind({"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}, ("f32", "f16")),
    "i8": Kind({"u8": 0, "i8": 1}, ("i32",), negate=False),
}
"""The kinds of products, by the name in PTX (PTX ISA, tcgen05.mma, kinds and instruction descriptor)."""

D_CODES = {"f16": 0, "f32": 1, "i32": 2}
"""Codes of the accumulator's type in the instruction descriptor."""


def kind_of(a: str, b: str, d: str) -> str | None:
    """Return the kind that multiplies types of these names into an accumulator of `d`; None if there is none."""
    for name, kind in KINDS.items():
        fits = a in kind.ab and b in kind.ab and d in kind.d
        if fits and (kind.mixed or a == b) and not (a == "bf16" and d == "f16"):
            return name
    return None


def shape_problem(kind: str, m: int, n: int, cta_group: int, b_major: str = "K") -> str:
    """Say why an instruction of this kind cannot be (m, n); '' if it can.

    Source  PTX ISA: tcgen05.mma, kinds and shapes; N of 8-bit types whose B is transposed
    """
    sizes = (64, 128) if cta_group == 1 else (128, 256)
    if m not in sizes:
        return f"M is {m}; with cta_group::{cta_group} it is {sizes[0]} or {sizes[1]}"
    step = 8 * cta_group
    of_bytes = b_major == "MN" and kind in ("i8", "f8f6f4", "mxf8f6f4")
    if of_bytes or (kind == "i8" and (cta_group == 2 or n > 32)):
        step *= 2
    if not 0 < n <= 256 or n % step:
        return f"N is {n}; kind::{kind} with cta_group::{cta_group} takes multiples of {step} up to 256"
    return ""


def _put(bits: int, at: int, width: int, value: int, name: str) -> int:
    if not 0 <= value < 1 << width:
        raise ValueError(f"`{name}` is {value}, but its field has {width} bits")
    return bits | value << at


@dataclass(frozen=True)
class OperandFields:
    """The fields that both kinds of instruction descriptor share: `InstructionDescriptor` and `ScaledDescriptor`.

    kind              name of a row of `KINDS`, or of `SCALED_KINDS`
    a, b              names of the types
    m, n              extents of the product
    a_major, b_major  'K' or 'MN'
    sparse            A is sparse: half of its elements are stored
    """

    kind: str
    a: str
    b: str
    m: int
    n: int
    a_major: str = "K"
    b_major: str = "K"
    negate_a: bool = False
    negate_b: bool = False
    sparse: bool = False

    @property
    def types(self) -> dict[str, int]:
        """The codes of the types that the kind multiplies."""
        raise NotImplementedError

    def check(self, kinds: dict[str, Any], majors: tuple[str, ...], rows: tuple[int, ...]) -> None:
        """Raise ValueError for an unknown kind, and for fields that no instruction of the kind has."""
        if self.kind not in kinds:
            raise ValueError(f"no kind is called {self.kind!r}; there are {', '.join(kinds)}")
        for name in ("a", "b"):
            if getattr(self, name) not in self.types:
                raise ValueError(f"`{name}` is {getattr(self, name)}; kind::{self.kind} takes {', '.join(self.types)}")
            if (major := getattr(self, f"{name}_major")) not in majors:
                raise ValueError(f"`{name}_major` is {major!r}; kind::{self.kind} takes {' and '.join(majors)}")
        if self.n % 8 or not 8 <= self.n <= 256:
            raise ValueError(f"`n` is {self.n}, no multiple of 8 from 8 to 256")
        if self.m not in rows:
            raise ValueError(f"`m` is {self.m}, none of {', '.join(map(str, rows))}")

    @property
    def common_bits(self) -> int:
        word = _put(0, 2, 1, self.sparse, "sparse")
        word = _put(word, 7, 3, self.types[self.a], "a")
        word = _put(word, 10, 3, self.types[self.b], "b")
        word = _put(word, 13, 1, self.negate_a, "negate_a")
        word = _put(word, 14, 1, self.negate_b, "negate_b")
        word = _put(word, 15, 1, self.a_major == "MN", "a_major")
        word = _put(word, 16, 1, self.b_major == "MN", "b_major")
        word = _put(word, 17, 6, self.n >> 3, "n")
        return _put(word, 24, 5, self.m >> 4, "m")


@dataclass(frozen=True)
class InstructionDescriptor(OperandFields):
    """The 32-bit word that tells tcgen05.mma the types, shape and signs, for kinds without block scales.

    >>> word = InstructionDescriptor("f16", "bf16", "bf16", 128, 256, d="f32")
    >>> hex(word.bits), InstructionDescriptor.parse("f16", word.bits) == word
    ('0x8400490', True)

    d                 name of the accumulator's type
    selector          for a sparse A: the part of the metadata's columns that this instruction reads, 0 to 3
    max_shift         0, 8, 16 or 32: the most columns by which .ws instructions shift B
    Source            PTX ISA: tcgen05.mma, instruction descriptor
    """

    d: str = field(kw_only=True)
    saturate: bool = False
    selector: int = 0
    max_shift: int = 0

    def __post_init__(self) -> None:
        self.check(KINDS, ("K", "MN"), ROWS)
        kind = KINDS[self.kind]
        for name in ("a", "b"):
            if getattr(self, f"negate_{name}") and not kind.negate:
                raise ValueError(f"`negate_{name}`: kind::{self.kind} does not negate")
        if self.d not in kind.d:
            raise ValueError(f"`d` is {self.d}; kind::{self.kind} has accumulators of {', '.join(kind.d)}")
        if self.saturate and self.d != "i32":
            raise ValueError("`saturate` is for integers")
        if self.max_shift not in SHIFTS:
            raise ValueError(f"`max_shift` is {self.max_shift}, none of {', '.join(map(str, SHIFTS))}")
        if self.selector and not self.sparse:
            raise ValueError("`selector` is for a sparse A")
        if self.selector and self.kind not in ("f16", "tf32"):
            raise ValueError(f"`selector` is {self.selector}; kind::{self.kind} has none but 0")
        _put(0, 0, 2, self.selector, "selector")

    @property
    def types(self) -> dict[str, int]:
        return KINDS[self.kind].ab

    @property
    def bits(self) -> int:
        word = _put(self.common_bits, 0, 2, self.selector, "selector")
        word = _put(word, 3, 1, self.saturate, "saturate")
        word = _put(word, 4, 2, D_CODES[self.d], "d")
        return _put(word, 30, 2, SHIFTS.index(self.max_shift), "max_shift")

    @classmethod
    def parse(cls, kind: str, bits: int) -> InstructionDescriptor:
        """Return the descriptor with these bits. Errors: ValueError for bits that are no descriptor."""
        types = {code: name for name, code in KINDS[kind].ab.items()}
        d = {code: name for name, code in D_CODES.items()}
        codes = (bits >> 7 & 7, bits >> 10 & 7, bits >> 4 & 3)
        if codes[0] not in types or codes[1] not in types or codes[2] not in d:
            raise ValueError(f"{bits:#010x} has codes {codes} of A, B and D that kind::{kind} does not have")
        found = cls(
            kind, types[codes[0]], types[codes[1]], (bits >> 24 & 31) << 4, (bits >> 17 & 63) << 3,
            "MN" if bits >> 15 & 1 else "K", "MN" if bits >> 16 & 1 else "K", bool(bits >> 13 & 1),
            bool(bits >> 14 & 1), bool(bits >> 2 & 1), d=d[codes[2]], saturate=bool(bits >> 3 & 1), selector=bits & 3,
            max_shift=SHIFTS[bits >> 30 & 3],
        )  # fmt: skip
        if found.bits != bits:
            raise ValueError(f"{bits:#010x} has bits where a descriptor has none")
        return found


ROWS = tuple(range(32, 257, 16))


@dataclass(frozen=True)
class ZeroColumnMask:
    """The 64-bit word that tells tcgen05.mma.ws which columns of B to take as zeros, and how far to shift B.

    Runs of `use` columns that are used and `skip` columns that are taken as zeros alternate. The columns are in one
    part for 128 rows, two for 64, four for 32, and each part begins where `starts` and `first` say.

    >>> word = ZeroColumnMask(skip=3, use=4, first=(True, False))
    >>> "".join("01"[int(x)] for x in word.columns(64, 32)), ZeroColumnMask.parse(word.bits) == word
    ('11100001110000110000111000011100', True)

    use, skip  1 to 256: the lengths of the runs
    starts     for each part, the number of columns of its runs that are left out at its start, 0 to 255
    first      for each part, whether its first run is one of skipped columns
    shift      0 to 32 (0 to 16 for 32 rows): the column of B to begin at
    Source     PTX ISA: tcgen05.mma.ws, the examples of zero-column masks; their table swaps `use` and `skip`
    """

    use: int
    skip: int
    starts: tuple[int, ...] = (0,)
    first: tuple[bool, ...] = (False,)
    shift: int = 0

    def __post_init__(self) -> None:
        for name in ("use", "skip"):
            if not 1 <= getattr(self, name) <= 256:
                raise ValueError(f"`{name}` is {getattr(self, name)}, not 1 to 256")
        if not 1 <= len(self.starts) <= 4 or not 1 <= len(self.first) <= 4:
            raise ValueError("`starts` and `first` have 1 to 4 entries, one for each part of the columns")
        object.__setattr__(self, "starts", (*self.starts, *(0,) * (4 - len(self.starts))))
        object.__setattr__(self, "first", (*map(bool, self.first), *(False,) * (4 - len(self.first))))
        for i, start in enumerate(self.starts):
            _put(0, 8 * i, 8, start, "starts")
        if not 0 <= self.shift <= 32:
            raise ValueError(f"`shift` is {self.shift}, not 0 to 32")

    @property
    def bits(self) -> int:
        word = 1 << 39
        for i, (start, first) in enumerate(zip(self.starts, self.first, strict=True)):
            word = _put(word, 8 * i, 8, start, "starts")
            word = _put(word, 32 + i, 1, first, "first")
        word = _put(word, 40, 8, self.skip - 1, "skip")
        word = _put(word, 48, 8, self.use - 1, "use")
        return _put(word, 56, 6, self.shift, "shift")

    @classmethod
    def parse(cls, bits: int) -> ZeroColumnMask:
        """Return the mask with these bits. Errors: ValueError for bits that are no mask, or that mask nothing."""
        found = cls(
            (bits >> 48 & 255) + 1, (bits >> 40 & 255) + 1, tuple(bits >> 8 * i & 255 for i in range(4)),
            tuple(bool(bits >> 32 + i & 1) for i in range(4)), bits >> 56 & 63,
        )  # fmt: skip
        if found.bits != bits:
            raise ValueError(f"{bits:#018x} has bits where a mask of columns has none, or not bit 39")
        return found

    def columns(self, m: int, n: int) -> Array:
        """Return which of `n` columns of a product of `m` rows are taken as zeros. Errors: ValueError for `shift`."""
        if self.shift > min(m // 2, 32):
            raise ValueError(f"`shift` is {self.shift}; a product of {m} rows takes {min(m // 2, 32)} at most")
        parts = LANES // m
        found = []
        for i in range(parts):
            at = np.arange(n // parts) + self.starts[i] + (self.use if self.first[i] else 0)
            found.append(at % (self.use + self.skip) >= self.use)
        return np.concatenate(found)


SHIFTS = (0, 8, 16, 32)


def transfer_layout(shape: str, repeats: int) -> Layout:
    """Return the layout from (thread, register) to ``lane + lanes * column`` for one tcgen05.ld or .st of a warp."""
    if shape == "32x32b":
        return Layout((32, repeats), (1, 32))
    if shape == "16x64b":
        return Layout(((2, 2, 8), repeats), ((8, 16, 1), 32))
    if shape == "16x128b":
        return Layout(((4, 8), (2, repeats)), ((16, 1), (8, 64)))
    if shape == "16x256b":
        return Layout(((4, 8), (2, 2, repeats)), ((32, 1), (16, 8, 128)))
    raise ValueError(f"no layout of one tile is that of {shape}")


class ScaledKind(NamedTuple):
    """One kind of tcgen05.mma with a scale for each block of numbers along K.

    ab      the code of each type of A and B in the instruction descriptor
    blocks  by the numbers in a block: the scales of a row for one instruction, 32 bytes along K
    scales  by the numbers in a block: the types of scales
    packed  two numbers of 4 bits in a byte
    """

    ab: dict[str, int]
    blocks: dict[int, int]
    scales: dict[int, tuple[str, ...]]
    packed: bool = False


SCALED_KINDS: dict[str, ScaledKind] = {
    "mxf8f6f4": ScaledKind(KINDS["f8f6f4"].ab, {32: 1}, {32: ("ue8m0",)}),
    "mxf4": ScaledKind({"e2m1": 1}, {32: 2}, {32: ("ue8m0",)}, packed=True),
    "mxf4nvf4": ScaledKind({"e2m1": 1}, {32: 2, 16: 4}, {32: ("ue8m0",), 16: ("ue4m3",)}, packed=True),
}
"""The kinds by their names in PTX (PTX ISA, tcgen05.mma, block scaling)."""

SCALE_CODES = {"ue4m3": 0, "ue8m0": 1}
SCALES_OF_CELL = 4  # bytes of a column of tensor memory


@dataclass(frozen=True)
class ScaledDescriptor(OperandFields):
    """The 32-bit word that tells tcgen05.mma the types, shape and signs, for kinds with block scales.

    >>> hex(ScaledDescriptor("mxf8f6f4", "e4m3", "e5m2", 128, 64, scale="ue8m0").bits)
    '0x8900400'

    scale             the type of the scales
    scale_a_id        the byte of a column with the first scale of A for the instruction, 0 to 3; `scale_b_id` likewise
    deep              96 numbers along K instead of 64: for dense products of 4-bit numbers
    Source            PTX ISA: tcgen05.mma, instruction descriptor of kinds with block scales
    """

    scale: str = field(kw_only=True)
    scale_a_id: int = 0
    scale_b_id: int = 0
    deep: bool = False

    def __post_init__(self) -> None:
        packed = self.kind in SCALED_KINDS and SCALED_KINDS[self.kind].packed
        self.check(SCALED_KINDS, ("K",) if packed else ("K", "MN"), (128, 256))
        if self.scale not in SCALE_CODES:
            raise ValueError(f"`scale` is {self.scale}, none of {', '.join(SCALE_CODES)}")
        if self.deep and (not packed or self.sparse):
            raise ValueError("`deep` is for dense products of numbers of 4 bits, two to a byte")
        _put(0, 0, 2, self.scale_a_id, "scale_a_id")
        _put(0, 0, 2, self.scale_b_id, "scale_b_id")

    @property
    def types(self) -> dict[str, int]:
        return SCALED_KINDS[self.kind].ab

    @property
    def bits(self) -> int:
        word = _put(self.common_bits, 4, 2, self.scale_b_id, "scale_b_id")
        word = _put(word, 23, 1, SCALE_CODES[self.scale], "scale")
        word = _put(word, 29, 2, self.scale_a_id, "scale_a_id")
        return _put(word, 31, 1, self.deep, "deep")


def scaled_rows_problem(m: int, cta_group: int, sparse: bool, deep: bool) -> str:
    """Say why an instruction with block scales cannot have `m` rows; '' if it can (PTX ISA: kinds and shapes)."""
    if m == LANES * cta_group or (m == LANES and not sparse and not deep):
        return ""
    return f"M is {m}; with block scales it is 128, for a pair 256, or 128 with a dense A and K = 64"


def scales_layout(rows: int, blocks: int, halves: bool = False) -> Layout:
    """Return the layout (rows, blocks) of scales in tensor memory, one byte each.

    32 rows lie in 32 lanes, and are repeated in the lanes of the other three warps; the next 32 rows follow a column
    further on. A column has the scales of four blocks along K (PTX ISA, tcgen05.mma, scale factor layouts).

    halves  for a B whose second half of rows has its sums in lanes 64 to 127: the scales of these rows lie in lanes 64
            to 95, repeated in 96 to 127, those of the first half in lanes 0 to 31, repeated in 32 to 63

    Source  for halves: CUTLASS, scale factors of the 2 x 2 data path
    """
    groups = rows // WARP_LANES // (2 if halves else 1)
    lane = SCALES_OF_CELL << LANE_SHIFT
    row: Any = ((WARP_LANES, groups), (lane, SCALES_OF_CELL))
    if halves:
        row = ((*row[0], 2), (*row[1], lane * LANES // 2))
    return Layout((row[0], (SCALES_OF_CELL, blocks // SCALES_OF_CELL)), (row[1], (1, groups * SCALES_OF_CELL)))


def scales_in_smem(rows: int, blocks: int, halves: bool = False) -> Layout:
    """Return the layout (rows, blocks) of scales in shared memory, one byte each, as `tcgen05.cp` reads them.

    Scales of 128 rows and 4 blocks are 512 contiguous bytes: 32 times 16 bytes, each of 4 rows that are 32 apart.
    cuBLAS uses this order too. With 64 rows, 512 bytes hold 8 blocks, with 32 rows 16. With `halves`, 512 bytes hold
    scales of the first half of the rows, and the next 512 those of the second half.

    rows  32, 64 or a multiple of 128; with `halves` 64, 128 or 256
    """
    groups, chunk = rows // WARP_LANES // (2 if halves else 1), 1024 if halves else 512
    columns, count = min(groups, 4), blocks // SCALES_OF_CELL
    row: Any = ((WARP_LANES, columns), (16, SCALES_OF_CELL))
    step: Any = ((SCALES_OF_CELL, count), (1, chunk * groups // 4))
    if columns < 4:
        step = (SCALES_OF_CELL, 4 // columns, count * columns // 4), (1, SCALES_OF_CELL * columns, chunk)
    elif not halves:
        row = (*row[0], groups // 4), (*row[1], chunk)
    if halves:
        row = (*row[0], 2), (*row[1], 512)
    return Layout((row[0], step[0]), (row[1], step[1]))


def copied_blocks(rows: int, halves: bool) -> int:
    """Return the number of blocks along K whose scales one copy of up to 128 rows brings; 0 if no copy can."""
    fits = rows in ((64, 128, 256) if halves else (32, 64)) or (not halves and rows > 0 and rows % LANES == 0)
    return 4 * SCALES_OF_CELL // min(rows // WARP_LANES // (2 if halves else 1), 4) if fits else 0


# Metadata of a sparse A.

METADATA_BYTES = {True: 4, False: 8}
"""Bytes of a row's metadata for one instruction, by whether rows are interleaved."""


def interleaved(elem: Scalar) -> bool:
    """Tell whether a column holds metadata of two rows, as for elements of 16 and 32 bits."""
    return elem.bits > 8


def metadata_layout(
    elem: Scalar, steps: int, lane: int = SCALES_OF_CELL << LANE_SHIFT, rows: int = LANES, folds: int = 1
) -> Layout:
    """Return the layout (rows, bytes) of the metadata of a sparse A for `steps` instructions, in bytes.

    lane   bytes from one lane to the next: those of tensor memory, or 16 for rows of 16 bytes in shared memory
    rows   128, or 64: then 16 rows lie in the first half of each warp's lanes, like those of the accumulator
    folds  the result of `folds_of`; if it is above 1, the rows lie in consecutive lanes, as those of 128 do

    A row of 4- and 8-bit elements has 8 bytes for an instruction, in its lane. A row of 16- and 32-bit elements has 4
    bytes, two in each of two lanes: of 16 rows, r and r + 8 share a column of lane r for the first half of K, and a
    column of lane r + 8 for the second half.

    Source  CUTLASS, sparse configurations of sm_100 (metadata atoms); the ISA has only figures, and says that 64 rows
            have the lanes of the accumulator (tcgen05.mma.sp, alignment restriction)
    """
    dense = rows == LANES or folds > 1
    far = lane * (16 if dense else WARP_LANES)
    if interleaved(elem):
        return Layout(((8, 2, rows // 16), (2, 2, steps)), ((lane, 2, far), (1, 8 * lane, 4)))
    return Layout((rows, 8 * steps), (lane, 1)) if dense else Layout(((16, 4), 8 * steps), ((lane, far), 1))


@lru_cache
def metadata_cells(elem: Scalar, rows: int = LANES, folds: int = 1, fold: int = 0) -> Array:
    """Return the (lane, column, byte) of the metadata of one instruction: an array (rows, bytes of a row, 3).

    fold  the part of the accumulator's columns: each part has a copy of the metadata
    """
    layout = metadata_layout(elem, 1, rows=rows, folds=folds)
    at = layout(np.arange(rows)[:, None], np.arange(METADATA_BYTES[interleaved(elem)]))
    cell, byte = np.divmod(at, SCALES_OF_CELL)
    return np.stack([(cell >> LANE_SHIFT) + fold * rows, cell & (1 << LANE_SHIFT) - 1, byte], axis=-1)


def compressed_rows(a: Any, elem: Scalar) -> tuple[Array, Array]:
    """Return the kept elements of a sparse A (rows, k), and its metadata, u8 (rows, bytes): a row's groups in order.

    Errors  ValueError that names the row and the columns where too many are not zero
    """
    a = np.ascontiguousarray(a)
    step = 2 * STEP_BYTES // elem.bytes
    if a.ndim != 2 or a.shape[1] % step or a.dtype.itemsize != elem.bytes:
        raise ValueError(f"compress takes (rows, {step} k) elements of {elem}, not {a.shape} of {a.dtype}")
    values, table = kept_of(a, elem)
    octets = table[:, ::2] | table[:, 1::2] << 4
    return values, octets.astype(np.uint8)


class CopyShape(NamedTuple):
    """A shape of tcgen05.cp: the rows in shared memory, the bytes of each, and the lanes that each row goes to."""

    rows: int
    bytes: int
    to: tuple[tuple[int, ...], ...]  # for each 32 rows, the warps whose lanes get them


COPIES: dict[str, CopyShape] = {
    "128x256b": CopyShape(128, 32, ((0,), (1,), (2,), (3,))),
    "128x128b": CopyShape(128, 16, ((0,), (1,), (2,), (3,))),
    "64x128b.warpx2::02_13": CopyShape(64, 16, ((0, 2), (1, 3))),
    "64x128b.warpx2::01_23": CopyShape(64, 16, ((0, 1), (2, 3))),
    "32x128b.warpx4": CopyShape(32, 16, ((0, 1, 2, 3),)),
    "4x256b": CopyShape(4, 32, ((0,),)),
}
"""The shapes by their names in PTX (PTX ISA, tcgen05.cp)."""

UNPACKED = {"": 8, "b4x16_p64": 4, "b6x16_p32": 6}
"""Bits of a number in shared memory: every 16 bytes begin with 16 numbers, which become a byte each (tcgen05.cp)."""


def widened(octets: Array, bits: int) -> Array:
    """Return the codes, a byte each, of numbers of `bits` bits: every 16 bytes begin with 16 of them."""
    stream = np.unpackbits(octets.reshape(len(octets), -1, 16), axis=-1, bitorder="little")[..., : 16 * bits]
    codes = stream.reshape(len(octets), -1, bits) @ (1 << np.arange(bits))
    return np.asarray(codes.astype(np.uint8))


SWIZZLE_CODES = {"none": 0, "128B_ATOM_32B": 1, "128B": 2, "64B": 4, "32B": 6}
"""Bits 61 to 63 of a shared-memory descriptor, by swizzle."""
VERSION = 1  # bits 46 to 48 (PTX ISA, tcgen05 shared memory descriptor: fixed constant)


@dataclass(frozen=True)
class SmemDescriptor:
    """The 64-bit word that tells tcgen05 where a matrix lies in shared memory.

    >>> word = SmemDescriptor(0x400, 16, 1024, "128B")
    >>> hex(word.bits), SmemDescriptor.parse(word.bits) == word
    ('0x4000404000010040', True)

    address          in bytes: a multiple of 16 below 256 KiB
    leading, stride  distances of blocks in bytes: multiples of 16 below 256 KiB (`wgmma_layouts.smem_matrix`)
    swizzle          'none', '32B', '64B', '128B' or '128B_ATOM_32B'
    base             the matrix base offset, 0 to 7: for swizzled matrices that begin within a repeat of the pattern
    absolute         `leading` is an address, not a distance
    Source           PTX ISA: tcgen05, shared memory descriptor
    """

    address: int
    leading: int
    stride: int
    swizzle: str = "none"
    base: int = 0
    absolute: bool = False

    def __post_init__(self) -> None:
        for name in ("address", "leading", "stride"):
            value = getattr(self, name)
            if value % 16 or not 0 <= value < 1 << 18:
                raise ValueError(f"`{name}` is {value}, no multiple of 16 below 256 KiB")
        if self.swizzle not in SWIZZLE_CODES:
            raise ValueError(f"`swizzle` is {self.swizzle!r}, none of {', '.join(SWIZZLE_CODES)}")
        _put(0, 49, 3, self.base, "base")

    @property
    def bits(self) -> int:
        word = _put(0, 0, 14, self.address >> 4, "address")
        word = _put(word, 16, 14, self.leading >> 4, "leading")
        word = _put(word, 32, 14, self.stride >> 4, "stride")
        word = _put(word, 46, 3, VERSION, "version")
        word = _put(word, 49, 3, self.base, "base")
        word = _put(word, 52, 1, self.absolute, "absolute")
        return _put(word, 61, 3, SWIZZLE_CODES[self.swizzle], "swizzle")

    @classmethod
    def parse(cls, bits: int) -> SmemDescriptor:
        """Return the descriptor with these bits. Errors: ValueError for bits that are no descriptor."""
        names = {code: name for name, code in SWIZZLE_CODES.items()}
        if bits >> 61 not in names:
            raise ValueError(f"{bits:#018x} has the swizzle code {bits >> 61}, which does not exist")
        found = cls(
            (bits & 0x3FFF) << 4, (bits >> 16 & 0x3FFF) << 4, (bits >> 32 & 0x3FFF) << 4, names[bits >> 61],
            bits >> 49 & 7, bool(bits >> 52 & 1),
        )  # fmt: skip
        if found.bits != bits:
            raise ValueError(f"{bits:#018x} has bits where a descriptor has none")
        return found


# Tensor memory as tensors.


def per_cell(elem: Scalar) -> int:
    """Return the number of elements of this type that a column of one lane holds."""
    return max(1, CELL_BITS // elem.bits)


def tmem_layout(lanes: int, extent: int, elem: Scalar) -> Layout:
    """Return the layout (lanes, extent) of neighbours along the columns: strides in elements, as CuTe has them."""
    return Layout((lanes, extent), (per_cell(elem) << LANE_SHIFT, 1))


def columns_of_layout(layout: Layout, elem: Scalar) -> int:
    """Return the number of columns that a tensor in tensor memory reaches over, in the last of its lanes."""
    per = per_cell(elem)
    reach = static_value(cosize(layout))
    assert reach is not None
    return -(-((reach - 1) % (per << LANE_SHIFT) + 1) // per)


def cells_of_layout(layout: Layout, elem: Scalar, column: int) -> Array:
    """Return the cells of a tensor that begins at a column: an array of bool (lanes, columns)."""
    at, per = np.zeros(1, np.int64), per_cell(elem)
    for extent, stride in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        if stride:
            at = (at[:, None] + np.arange(extent) * stride).reshape(-1)
    found = np.zeros((LANES, COLUMNS), np.bool_)
    found[at // (per << LANE_SHIFT), column + at % (per << LANE_SHIFT) // per] = True
    return found


def tmem_problem(t: Tensor) -> str:
    """Say why `t` cannot be a tensor in tensor memory; '' if it can: a static layout that lies in 128 lanes."""
    if t.space != "tmem":
        return f"{t} is not in tensor memory"
    if not is_static(t.layout):
        return f"tensor memory needs a layout known at compile time, not {t.layout}"
    per = per_cell(t.elem)
    reach = static_value(cosize(t.layout))
    assert reach is not None
    last_lane = (reach - 1) // (per << LANE_SHIFT)
    if last_lane >= LANES:
        return (
            f"{t.layout} reaches lane {last_lane}; tensor memory has {LANES} (a lane is {per << LANE_SHIFT} elements)"
        )
    if columns_of_layout(t.layout, t.elem) > COLUMNS:
        return f"{t.layout} reaches over {columns_of_layout(t.layout, t.elem)} columns; tensor memory has {COLUMNS}"
    return ""


def folds_of(m: int, cta_group: int = 1, ws: bool = False, sparse: bool = False) -> int:
    """Return the number of parts into which an accumulator's columns are split, each in lanes of its own.

    2 and 4 for `ws` with 64 and 32 rows; 2 for a pair of blocks with 64 rows each and a dense A; else 1. Each part is
    multiplied by the A, and the metadata, in the lanes of tensor memory that hold its sums.

    Source  PTX ISA: tcgen05.mma, data path layouts B, E and G; CUTLASS, duplicated A and metadata of tensor memory
    """
    if ws:
        return max(1, LANES // m)
    return 2 if cta_group == 2 and m == LANES and not sparse else 1


@lru_cache
def accumulator_cells(m: int, n: int, cta_group: int = 1, ws: bool = False, sparse: bool = False) -> Array:
    """Return the (rank in the pair, lane, column) of each element of an (m, n) accumulator: an array (m, n, 3).

    In a pair, each block has half of the rows, as `accumulator_layout` says.
    """
    rank, row = np.divmod(np.arange(m)[:, None], m // cta_group)
    at = accumulator_layout(m, n, f32, cta_group, ws, sparse)(row, np.arange(n))
    return np.stack(np.broadcast_arrays(rank, at >> LANE_SHIFT, at & (1 << LANE_SHIFT) - 1), axis=-1)


def accumulator_layout(
    m: int, n: int, elem: Scalar, cta_group: int = 1, ws: bool = False, sparse: bool = False
) -> Layout:
    """Return the layout of one block's part of an (m, n) accumulator: strides in elements, an element in a column.

    128 rows of a block lie in its 128 lanes, 64 rows in the first half of each warp's 32. In a pair with 64 rows each
    and a dense A, they lie in lanes 0 to 63 and the second half of the columns in lanes 64 to 127; with a sparse A, as
    in a single block. With `ws`, 64 rows have half of the columns, and 32 rows a quarter, in each group of lanes, one
    group below the other.

    Source  PTX ISA: tcgen05.mma, data path layouts A to G
    """
    per = per_cell(elem)
    lane = per << LANE_SHIFT
    rows, folds = m // cta_group, folds_of(m, cta_group, ws, sparse)
    if folds > 1:
        return Layout((rows, (n // folds, folds)), (lane, (per, lane * rows)))
    if rows < LANES:
        return Layout(((16, rows // 16), n), ((lane, lane * WARP_LANES), per))
    return Layout((rows, n), (lane, per))


class LoadShape(NamedTuple):
    """A shape of tcgen05.ld and .st: the cells that one repeat moves.

    registers  registers of one thread in one repeat
    columns    columns that one repeat advances by
    most       the largest number of repeats
    lanes      lanes that one instruction reaches
    """

    registers: int
    columns: int
    most: int
    lanes: int = 16


SHAPES: dict[str, LoadShape] = {
    "32x32b": LoadShape(1, 1, 128, 32),
    "16x64b": LoadShape(1, 2, 128),
    "16x128b": LoadShape(2, 4, 64),
    "16x256b": LoadShape(4, 8, 32),
    "16x32bx2": LoadShape(1, 1, 128),
}
"""The shapes by their names in PTX (PTX ISA, tcgen05.ld, shapes)."""


@lru_cache
def cells(shape: str, repeats: int) -> Array:
    """Return the (lane, column) of each register: an array (32 threads, registers, 2).

    In 16x32bx2, the second half of the threads has its columns further on, by a number in the instruction.

    Source  PTX ISA: tcgen05.ld, figures of the shapes
    """
    one = SHAPES[shape]
    t, r = np.arange(32)[:, None], np.arange(one.registers * repeats)
    column, lane = (
        (r, t % one.lanes) if shape == "16x32bx2" else np.divmod(transfer_layout(shape, repeats)(t, r), one.lanes)
    )
    return np.stack(np.broadcast_arrays(lane, column), axis=-1)
