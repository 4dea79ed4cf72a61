"""The products of tcgen05: dense and sparse, with and without a scale for each block of numbers along K.

    d = a @ b.T + d * 2**-scale_d        one thread starts an instruction for each step along K

Two descriptors describe the operands (`tcgen05_layouts`); a sparse A has metadata in tensor memory
(`metadata_layout`), scaled operands have their scales there (`scales_layout`). Numbers of 4 and 6 bits are stored as 16
numbers in the first of every 16 bytes for the kinds f8f6f4 and mxf8f6f4 (in tensor memory, each in the low bits of a
byte), and as two numbers in a byte for mxf4 and mxf4nvf4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from cutelite.ir.contract import Effect, Problem, Ptx, np, numpy_dtype
from cutelite.ir.function import Value
from cutelite.ir.op import op
from cutelite.ir.simulation import RANK_SHIFT, Agent, Array, Lanes
from cutelite.ir.types import Scalar, Tensor, boolean, e4m3, f32, u8, u32, u64
from cutelite.ops import narrow, wgmma
from cutelite.ops import tcgen05_layouts as layouts
from cutelite.ops.address import address, scalar
from cutelite.ops.swizzles import SWIZZLES
from cutelite.ops.tcgen05 import GROUP, OfTensorMemory, described, load_cells, ranks_of, same_cells, store_cells
from cutelite.ops.wgmma_layouts import read_blocks
from cutelite.ops.wgmma_sparse import expanded, valid

BUFFERS = ("b0", "b1", "b2", "b3")
COLLECTORS = ("", "fill", "use", "lastuse", "discard")
MULTIPLIES = Effect.READS | Effect.WRITES | Effect.ASYNC


class Product(OfTensorMemory):
    """The fields and the meaning that all products share; `Mma` documents the fields."""

    d: Value
    a: Value
    b: Value
    accumulate: Value
    m: int
    n: int
    elem_a: Scalar
    elem_b: Scalar
    elem_d: Scalar = f32
    metadata: Value | None = None
    steps: tuple[tuple[int, int], ...] = ((0, 0),)
    format_a: str = ""
    format_b: str = ""
    a_major: str = "K"
    b_major: str = "K"
    negate_a: bool = False
    negate_b: bool = False
    saturate: bool = False
    collector: str = ""
    cta_group = 1
    takes = GROUP
    scale_d = 0
    shift_a = False
    max_shift = 0
    word_of = "tcgen05.mma"  # the instruction's name without its qualifiers
    ws = False

    @property
    def feature(self) -> str:  # type: ignore[override]
        return "tcgen05.i8" if self.elem_d.name == "i32" else "tcgen05"

    @property
    def name_a(self) -> str:
        return self.format_a or self.elem_a.name

    @property
    def name_b(self) -> str:
        return self.format_b or self.elem_b.name

    @property
    def kind(self) -> str | None:
        return layouts.kind_of(self.name_a, self.name_b, self.elem_d.name)

    @property
    def a_in_tmem(self) -> bool:
        return self.a.type != u64

    @property
    def sparse(self) -> bool:
        return self.metadata is not None

    @property
    def folds(self) -> int:
        return layouts.folds_of(self.m, self.cta_group, self.ws, self.sparse)

    def verify(self) -> Iterator[Problem]:
        if self.kind is None:
            types = f"{self.name_a} times {self.name_b} into {self.elem_d}"
            yield Problem("elem_a", f"tcgen05.mma does not multiply {types}")
            return
        if problem := self.shape_problem(self.kind):
            yield Problem("n" if problem.startswith("N") else "m", problem)
            return
        yield from self._operand_problems()
        yield from self._variant_problems()

    def shape_problem(self, kind: str) -> str:
        """Return the reason why no instruction has this kind and these extents; '' if one has."""
        return layouts.shape_problem(kind, self.m, self.n, self.cta_group, self.b_major)

    def _operand_problems(self) -> Iterator[Problem]:
        t = self.d.type
        wanted = layouts.accumulator_layout(self.m, self.n, self.elem_d, self.cta_group, self.ws, self.sparse)
        if not isinstance(t, Tensor) or t.space != "tmem" or t.elem != self.elem_d or not same_cells(t.layout, wanted):
            yield Problem("d", f"the accumulator is {t}, but must be {self.elem_d} in tensor memory, {wanted}")
        if self.a_in_tmem:
            yield from address("tmem")(self, "a")
            if self.a_major != "K":
                yield Problem("a_major", "A in tensor memory is always K-major")
        if self.b.type != u64:
            yield Problem("b", f"B is {self.b.type}, but must be a descriptor (u64): it is read from shared memory")
        if self.accumulate.type != boolean:
            yield Problem("accumulate", f"accumulate is {self.accumulate.type}, not bool")
        yield from self._narrow_problems()
        if self.metadata is not None:
            yield from address("tmem")(self, "metadata")

    def _narrow_problems(self) -> Iterator[Problem]:
        for field in ("format_a", "format_b"):
            format, elem = self[field], self[f"elem_{field[-1]}"]
            if format and (format not in narrow.FORMATS or elem != u8):
                known = ", ".join(narrow.FORMATS)
                yield Problem(field, f"{field} is {format!r} of {elem}: tiles of u8 hold {known}")

    def _variant_problems(self) -> Iterator[Problem]:
        try:
            self.descriptor  # noqa: B018  # checks its fields
        except ValueError as why:
            yield Problem("", str(why))
        if not self.steps or any(len(step) != 2 or step[1] % 16 for step in self.steps):
            yield Problem("steps", f"{self.steps} are not pairs of distances, in shared memory multiples of 16 bytes")
        elif not self.a_in_tmem and any(step[0] % 16 for step in self.steps):
            yield Problem("steps", f"{self.steps} are not pairs of multiples of 16 bytes")

    @property
    def descriptor(self) -> layouts.InstructionDescriptor:
        return layouts.InstructionDescriptor(
            self.kind or "", self.name_a, self.name_b, self.m, self.n, self.a_major, self.b_major, self.negate_a,
            self.negate_b, self.sparse, d=self.elem_d.name, saturate=self.saturate, max_shift=self.max_shift,
        )  # fmt: skip

    def word_at(self, step: int) -> int:
        """Return the instruction descriptor for a step."""
        return replace(self.descriptor, selector=self.metadata_at(step)[1]).bits

    def words(self) -> str:
        """Return PTX that declares the registers which only some products need."""
        return ""

    def qualifiers(self) -> str:
        """Return the last qualifiers of the instruction's name."""
        return f".collector::a::{self.collector}" if self.collector else ""

    def scales(self, step: int) -> tuple[list[str], str]:
        """Return the PTX before the instruction of a step, and the operands that only block scales have."""
        first = step == 0 or self.word_at(step) != self.word_at(step - 1)
        return [f"mov.b32 word, {self.word_at(step)};"] if first else [], ""

    def masked(self) -> str:
        """Return the operand before `accumulate`, the mask of lanes."""
        return ""

    def last(self, step: int) -> str:
        """Return the operand after `accumulate`."""
        return ""

    def ptx(self) -> Ptx:
        sparse = ".sp" if self.sparse else ""
        call = f"{self.word_of}{sparse}.cta_group::{self.cta_group}.kind::{self.kind}{self.qualifiers()}"
        lines = ["{ .reg .pred again; .reg .b64 da, db; .reg .b32 ta, tm, word; setp.eq.b32 again, 0, 0;"]
        lines.append(self.words())
        for i, (to_a, to_b) in enumerate(self.steps):
            adds = "$accumulate" if i == 0 else "again"
            left = "[$a]" if self.a_in_tmem else "$a"
            on_a, on_b = self.moved(0, to_a), self.moved(1, to_b)
            if to_a and self.a_in_tmem:
                lines.append(f"add.s32 ta, $a, {to_a};")
                left = "[ta]"
            elif on_a and not self.a_in_tmem:
                lines.append(f"add.s64 da, $a, {on_a};")
                left = "da"
            if on_b:
                lines.append(f"add.s64 db, $b, {on_b};")
            kept = ""
            if self.sparse:
                lines.append(f"add.s32 tm, $metadata, {self.metadata_at(i)[0]};")
                kept = "[tm], "
            before, operands = self.scales(i)
            operands += f"{self.masked()}, {adds}{self.last(i)}"
            lines += [*before, f"{call} [$d], {left}, {'db' if on_b else '$b'}, {kept}word{operands};"]
        return Ptx(" ".join(line for line in [*lines, "}"] if line))

    def moved(self, operand: int, to: int) -> int:
        """Return what is added to the descriptor of A (0) or B (1) for a step that lies `to` bytes further on."""
        return to >> 4

    def metadata_at(self, step: int) -> tuple[int, int]:
        """Return the columns from the first metadata to the address that a step is given, and its selector.

        Metadata of 16- and 32-bit elements take a column for a step. An address is for two of them, of which the
        selector names one.
        """
        if not self.sparse or not layouts.interleaved(self.elem_a):
            return step * layouts.METADATA_BYTES[False] // layouts.CELL_BYTES, 0
        return step // 2 * 2, step % 2

    def simulate(self, lanes: Lanes) -> None:
        ranks = ranks_of(self, lanes)
        held = [lanes.get(value) for value in (self.d, self.a, self.b, self.accumulate)]
        if self.metadata is not None and layouts.interleaved(self.elem_a):
            odd = lanes.mask & (lanes.get(self.metadata) & 1 != 0)
            lanes.fault(odd, "metadata of 16- and 32-bit elements must begin at an even column", "tcgen05-metadata")
        for lane in lanes.each():
            self.collect(lanes, *(int(x[lane]) for x in held[1:3]))
            self._start(lanes, ranks, lane, *(int(x[lane]) for x in held))

    def collect(self, lanes: Lanes, a: int, b: int) -> None:
        """Tell the collector buffer how the operand of each step uses it."""
        for to_a, _ in self.steps:
            what = a + (to_a if self.a_in_tmem else to_a >> 4)
            lanes.machine.tmem.collect(lanes, "a", self.collector or "discard", ("A", self.a_in_tmem, what))

    def kept(self, lanes: Lanes, lane: int, places: Array) -> Array | None:
        """Return the mask of the accumulator's elements, at these cells, that are written; None: all."""
        return None

    def columns(self, lanes: Lanes, lane: int) -> tuple[Array | None, int]:
        """Return the mask of columns taken as zeros, or None, and the column of B to begin at."""
        return None, 0

    def factors(self, lanes: Lanes, lane: int) -> Callable[[Agent, int, tuple[int, ...]], Any]:
        """Return the function that reads the scales of A and B for a step, by its number."""
        return lambda agent, step, ranks: (None, None)

    def _start(self, lanes: Lanes, ranks: tuple[int, ...], lane: int, d: int, a: int, b: int, accumulate: int) -> None:
        machine = lanes.machine
        places = layouts.accumulator_cells(self.m, self.n, self.cta_group, self.ws, self.sparse)
        where = machine.tmem.place(lanes, d, places[..., 1], places[..., 2])
        where = where + (np.array(ranks)[places[..., 0]] - machine.rank << RANK_SHIFT)

        factors = self.factors(lanes, lane)
        metadata = None if self.metadata is None else int(lanes.get(self.metadata)[lane])
        written = self.kept(lanes, lane, places)
        zero, before = self.columns(lanes, lane)

        def read(agent: Agent) -> Array:
            total = self._accumulator(agent, where) if accumulate else None
            for step, (to_a, to_b) in enumerate(self.steps):
                rows, n = self.m // self.cta_group, self.n // self.cta_group
                if not self.a_in_tmem:
                    parts = [
                        self._operand(agent, a + self.moved(0, to_a), rows, self.elem_a, self.a_major, r) for r in ranks
                    ]
                twice = 2 if self.sparse else 1
                at = b + self.moved(1, to_b)
                right = [self._operand(agent, at, n + before, self.elem_b, self.b_major, r, twice) for r in ranks]
                wide = self.numbers(np.concatenate(right), self.elem_b, self.format_b, None, self.b_major)[before:]
                wide = wide if zero is None else np.where(zero[:, None], 0, wide)
                of_a, of_b = factors(agent, step, ranks)
                sums, each, of_a_is = [], self.n // self.folds, "tmem" if self.a_in_tmem else self.a_major
                for fold in range(self.folds):
                    if self.a_in_tmem:
                        parts = [self._tmem_a(agent, lanes, a + to_a, rows, rank, fold) for rank in ranks]
                    table = None if metadata is None else self._table(agent, lanes, metadata, step, ranks, fold)
                    left = self.numbers(np.concatenate(parts), self.elem_a, self.format_a, table, of_a_is)
                    columns = slice(fold * each, (fold + 1) * each)
                    add = None if total is None else total[:, columns]
                    sums.append(
                        self._sum(add, left, wide[columns], (of_a, None if of_b is None else of_b[columns]), step)
                    )
                total = np.concatenate(sums, axis=1)
            return total

        def write(agent: Agent, total: Array) -> None:
            data = np.ascontiguousarray(total)
            bits = data.view(f"u{data.itemsize}").astype(np.uint32)
            if written is None:
                store_cells(agent, where, bits)
            else:
                agent.store("tmem", where[written], u32, bits[written][:, None])

        machine.engine.start(lanes, "tcgen05", read, write, lane=lane, in_order=True)

    def _accumulator(self, agent: Agent, where: Array) -> Array:
        bits = load_cells(agent, where)
        return bits.astype(f"u{self.elem_d.bytes}").view(numpy_dtype(self.elem_d))

    def _operand(
        self, agent: Agent, word: int, rows: int, elem: Scalar, major: str, rank: int, steps: int = 1
    ) -> Array:
        found = described(agent, word)
        start = found.address | rank << RANK_SHIFT
        where = rows, elem, major, found.swizzle, found.leading, found.stride, steps * layouts.STEP_BYTES, "cluster"
        return read_blocks(agent, np.array([start]), *where)[0]

    def _tmem_a(self, agent: Agent, lanes: Lanes, address: int, rows: int, rank: int, fold: int) -> Array:
        """Return the rows of A that lie in the lanes of one part of the sums."""
        machine = lanes.machine
        count = layouts.STEP_BYTES * 8 // layouts.CELL_BITS
        if self.folds > 1:
            places = layouts.accumulator_cells(layouts.LANES, count)[fold * rows : (fold + 1) * rows]
        else:
            places = layouts.accumulator_cells(rows, count)
        if self.shift_a:
            places = places[np.maximum(np.arange(rows) - 1, 0)]
        where = machine.tmem.place(lanes, address, places[..., 1], places[..., 2])
        bits = load_cells(agent, where + (rank - machine.rank << RANK_SHIFT))
        return np.ascontiguousarray(bits).view(numpy_dtype(self.elem_a))

    def _table(self, agent: Agent, lanes: Lanes, address: int, step: int, ranks: tuple[int, ...], fold: int) -> Array:
        """Return the four bits of each group of A in a step, for one part of the sums: (rows of the pair, groups)."""
        machine, parts = lanes.machine, []
        cells = layouts.metadata_cells(self.elem_a, self.m // self.cta_group, self.folds, fold)
        column, selector = self.metadata_at(step)
        where = machine.tmem.place(lanes, address + column + selector, cells[..., 0], cells[..., 1])
        for rank in ranks:
            bits = agent.load("tmem", where + (rank - machine.rank << RANK_SHIFT), u32)[..., 0]
            octets = bits >> (cells[..., 2] * 8).astype(np.uint32) & 0xFF
            parts.append(np.stack([octets & 15, octets >> 4], axis=-1).reshape(len(cells), -1).astype(np.int64))
        table = np.concatenate(parts)
        if not np.all(valid(table, self.elem_a)):
            row, group = np.argwhere(~valid(table, self.elem_a))[0]
            agent.fail("tcgen05-metadata", f"the metadata of row {row} has no valid group {group} in a step")
        return table

    def numbers(self, x: Array, elem: Scalar, format: str, table: Array | None, major: str) -> Array:
        """Return the (rows, k) numbers of an operand in one step; with metadata, a sparse A with its zeros.

        major  'K' or 'MN', along which 16 bytes hold 16 numbers of 4 or 6 bits; 'tmem': each number is in the low bits
               of a byte
        """
        if format:
            bits = 4 if narrow.FORMATS[format][2] == 4 else 6
            table_of = narrow.values(format)
            if major == "tmem":
                wide = table_of[x & (1 << bits) - 1]
            else:
                wide = table_of[layouts.widened(x, bits)] if major == "K" else table_of[layouts.widened(x.T, bits).T]
        else:
            wide = wgmma.wide(x, elem)
        return wide if table is None else expanded(wide, table, elem)

    def _sum(self, before: Array | None, a: Array, b: Array, factors: Any, step: int) -> Array:
        """Return ``a @ b.T + before``, rounded once to the accumulator's type."""
        if self.elem_d.name == "i32":
            exact = (a @ b.T).astype(np.int64) + (0 if before is None else before)
            return (np.clip(exact, -(1 << 31), (1 << 31) - 1) if self.saturate else exact).astype(np.int32)
        sign = -1.0 if self.negate_a != self.negate_b else 1.0
        exact = sign * (a @ b.T)
        if before is not None:
            exact = exact + before * (2.0**-self.scale_d if step == 0 else 1.0)
        return exact.astype(numpy_dtype(self.elem_d))


@op("tcgen05.mma", effects=MULTIPLIES, source="PTX ISA: tcgen05.mma, tcgen05.mma.sp")
class Mma(Product):
    """Start ``d = a @ b.T``, plus `d` where `accumulate` holds: one instruction for each of `steps` along K.

    One thread executes it, for the block, or with ``cta_group=2`` for a pair of blocks, in the one of even rank.
    Products of a thread are executed in order.

    d           the accumulator in tensor memory, a tensor of `accumulator_layout`: this block's part
    a, b        descriptors of (m, k) and (n, k) tiles; or A in tensor memory, (m, k) with a lane for each row. In a
                pair, each block has half the rows of both, at the same address
    accumulate  a bool: add to `d`, or overwrite it
    metadata    for a sparse A, which is stored as (m, k / 2): in tensor memory, of layout `metadata_layout`
    steps       for each instruction, the distance of its A and of its B from the first: bytes, or columns if A is in
                tensor memory
    format_a    for u8 operands: 'e2m1', 'e2m3' or 'e3m2'. 16 numbers fill the first bytes of each 16; in tensor memory
                each number is in the low bits of a byte. `format_b` likewise
    a_major     'K', or 'MN' if the tile in shared memory is contiguous along M or N; `b_major` likewise
    negate_a    multiply by -A; `negate_b` likewise
    saturate    integers only: clamp instead of wrapping
    collector   '', 'fill', 'use', 'lastuse' or 'discard': what happens to the collector buffer of A
    scale_d     0 to 15, f16 and tf32 kinds only: divide `d` by 2 to this power before adding
    shift_a     use row r - 1 of A in tensor memory as row r, and row 0 as itself
    mask        4 u32 words, 8 for a pair: lanes whose bit is set are not written

    The simulator rounds the sum of an instruction once, to nearest; f16 accumulators take a column for each element.
    """

    cta_group: int = 1
    scale_d: int = 0
    shift_a: bool = False
    mask: tuple[Value, ...] = ()

    @property
    def feature(self) -> str:  # type: ignore[override]
        return "tcgen05.scale_d" if self.scale_d else super().feature

    def _variant_problems(self) -> Iterator[Problem]:
        yield from super()._variant_problems()
        if self.mask and (
            len(self.mask) != 4 * self.cta_group or any(v.type != u32 for v in self.mask) or isinstance(self, MmaScaled)
        ):
            yield Problem(
                "mask", f"a mask of lanes is {4 * self.cta_group} u32 words, for products without block scales"
            )
        if self.collector not in COLLECTORS:
            yield Problem("collector", f"{self.collector!r} is none of fill, use, lastuse, discard")
        if not 0 <= self.scale_d <= 15 or (self.scale_d and self.kind not in ("f16", "tf32")):
            yield Problem("scale_d", f"scale_d is {self.scale_d}; kinds f16 and tf32 take 0 to 15, others 0")
        if self.shift_a and (not self.a_in_tmem or self.m // self.cta_group != layouts.LANES):
            yield Problem("shift_a", "shift_a needs A in tensor memory, with 128 rows in each block")
        if self.shift_a and self.collector in ("fill", "use"):
            yield Problem("collector", f"a shifted A does not take collector={self.collector!r}")

    def qualifiers(self) -> str:
        return (".ashift" if self.shift_a else "") + super().qualifiers()

    def masked(self) -> str:
        return f", {{{', '.join(f'$mask.{j}' for j in range(len(self.mask)))}}}" if self.mask else ""

    def last(self, step: int) -> str:
        return f", {self.scale_d}" if self.scale_d and step == 0 else ""  # further steps add to the scaled `d`

    def kept(self, lanes: Lanes, lane: int, places: Array) -> Array | None:
        if not self.mask:
            return None
        words = np.array([int(lanes.get(v)[lane]) for v in self.mask], np.uint64)
        number = places[..., 0] * layouts.LANES + places[..., 1]
        return np.asarray(words[number // 32] >> (number % 32).astype(np.uint64) & np.uint64(1) == 0)


@op("tcgen05.mma.ws", effects=MULTIPLIES, source="PTX ISA: tcgen05.mma.ws, tcgen05.mma.ws.sp")
class MmaWs(Product):
    """`tcgen05.mma` for 32, 64 or 128 rows and 64, 128 or 256 columns, with four buffers that can keep B.

    All lanes of tensor memory hold sums: with 64 rows, lanes 64 to 127 hold the second half of the columns; with 32
    rows each 32 lanes hold a quarter of them.

    d, a, b, accumulate, metadata, steps, format_a, a_major, negate_a, saturate  as in `tcgen05.mma`. With 64 or 32
                  rows, A in tensor memory and metadata are in all lanes: each part of the columns is multiplied by
                  those in the lanes of its sums. N is at most 128 with a sparse A
    collector     '', or 'b0::fill', '::use', '::lastuse' or '::discard', b0 to b3: what happens to that buffer of B
    zero_columns  u64, a `ZeroColumnMask`: the columns that are taken as zeros, and how far B is shifted
    max_shift     0, 8, 16 or 32: the largest shift of the B that a buffer keeps
    """

    zero_columns: Value | None = None
    max_shift: int = 0
    word_of = "tcgen05.mma.ws"
    ws = True

    def shape_problem(self, kind: str) -> str:
        if self.m not in (32, 64, 128):
            return f"M is {self.m}; for {self.name} it is 32, 64 or 128"
        columns = (64, 128) if self.sparse else (64, 128, 256)
        if self.n not in columns:
            return f"N is {self.n}; for {self.name} it is one of {', '.join(map(str, columns))}"
        return ""

    def _variant_problems(self) -> Iterator[Problem]:
        yield from super()._variant_problems()
        yield from scalar(u64)(self, "zero_columns")
        if self.max_shift == 32 and self.m == 32:
            yield Problem("max_shift", "products of 32 rows shift by 16 columns at most")
        buffer, _, action = self.collector.partition("::")
        if self.collector and (buffer not in BUFFERS or action not in COLLECTORS[1:]):
            yield Problem(
                "collector", f"{self.collector!r} is not one of b0 to b3 with ::fill, ::use, ::lastuse, ::discard"
            )

    def qualifiers(self) -> str:
        return f".collector::{self.collector}" if self.collector else ""

    def last(self, step: int) -> str:
        return ", $zero_columns" if self.zero_columns is not None else ""

    def collect(self, lanes: Lanes, a: int, b: int) -> None:
        buffer, _, action = (self.collector or "b0::discard").partition("::")
        for _, to_b in self.steps:
            lanes.machine.tmem.collect(lanes, buffer, action, ("B", b + (to_b >> 4), self.n, self.max_shift))

    def columns(self, lanes: Lanes, lane: int) -> tuple[Array | None, int]:
        if self.zero_columns is None:
            return None, 0
        word = int(lanes.get(self.zero_columns)[lane])
        try:
            found = layouts.ZeroColumnMask.parse(word)
            zero = found.columns(self.m, self.n)
        except ValueError as why:
            lanes.fault(lanes.mask, f"the mask of columns is invalid: {why}", "tcgen05-descriptor")
            raise
        if self.collector.endswith("use") and found.shift > self.max_shift:
            text = f"B in a buffer is shifted by {found.shift} columns, and `max_shift` is {self.max_shift}"
            lanes.fault(lanes.mask, text, "tcgen05-collector")
        return zero, found.shift


@op("tcgen05.mma.block_scale", effects=MULTIPLIES, source="PTX ISA: tcgen05.mma, block scaling")
class MmaScaled(Mma):
    """`tcgen05.mma` with a scale for each block of numbers along K: ``d += (a * sa) @ (b * sb).T``.

    M is 128, for a pair of blocks 256; with a dense A a pair may also have 128.

    scale_a  the scales of A in tensor memory, of `scales_layout`, 4 blocks in a column; `scale_b` likewise. In a pair,
             each block holds those of its rows of A, and all of B: with M = 128, in the layout for `halves`
    scaled   'mxf8f6f4', 'mxf4' or 'mxf4nvf4'; tiles of the latter two are u8, each two numbers, the low bits first
    block    numbers in a block: 32, or 16 for mxf4nvf4; with a sparse A, kept numbers
    scale    'ue8m0', or for blocks of 16 'ue4m3'
    deep     an instruction takes 96 numbers along K (mxf4, mxf4nvf4): `a` and `b` are from `tcgen05.deep_descriptor`
    far      with `deep`: bytes from a block of 128 bytes along K to the next one, for A and for B
    """

    scale_a: Value
    scale_b: Value
    scaled: str = "mxf8f6f4"
    block: int = 32
    scale: str = "ue8m0"
    deep: bool = False
    far: tuple[int, int] = (0, 0)

    @property
    def feature(self) -> str:  # type: ignore[override]
        if self.deep:
            return "tcgen05.k96"
        return "tcgen05.specific" if self.sparse and layouts.SCALED_KINDS[self.scaled].packed else "tcgen05"

    @property
    def kind(self) -> str:
        return self.scaled

    @property
    def per_step(self) -> int:
        """Scales of a row for one instruction."""
        return layouts.SCALED_KINDS[self.scaled].blocks[self.block] * (3 if self.deep else 2) // 2

    def moved(self, operand: int, to: int) -> int:
        if not self.deep:
            return super().moved(operand, to)
        far = self.far[operand]
        return to >> 4 | (to // far * far + far if far else 0) >> 4 << 16

    def _operand(
        self, agent: Agent, word: int, rows: int, elem: Scalar, major: str, rank: int, steps: int = 1
    ) -> Array:
        if not self.deep:
            return super()._operand(agent, word, rows, elem, major, rank, steps)
        found = described(agent, word)
        row, chunk = np.arange(rows)[:, None], np.arange(layouts.DEEP_BYTES // 16)
        here = (128 - found.address % 128) // 16  # chunks in the first block
        first = np.where(chunk < here, found.address + 16 * chunk, found.leading + 16 * (chunk - here))
        pattern = SWIZZLES["128B"]
        assert pattern is not None
        where = pattern((first + row % 8 * 128 + row // 8 * found.stride) | rank << RANK_SHIFT)
        return agent.load("cluster", where, elem, 16).reshape(rows, -1)

    def verify(self) -> Iterator[Problem]:
        kind = layouts.SCALED_KINDS.get(self.scaled)
        if kind is None:
            yield Problem("scaled", f"{self.scaled!r} is none of {', '.join(layouts.SCALED_KINDS)}")
            return
        types = ("u8",) if kind.packed else tuple(kind.ab)
        if self.name_a not in types or self.name_b not in types or self.elem_d != f32:
            yield Problem("elem_a", f"kind::{self.scaled} multiplies {' and '.join(types)} into f32")
        elif self.block not in kind.blocks or self.scale not in kind.scales[self.block]:
            known = "; ".join(f"of {block} by {'/'.join(found)}" for block, found in kind.scales.items())
            yield Problem(
                "block", f"blocks of {self.block} scaled by {self.scale}: kind::{self.scaled} has those {known}"
            )
        elif problem := layouts.scaled_rows_problem(self.m, self.cta_group, self.sparse, self.deep):
            yield Problem("m", problem)
        elif problem := layouts.shape_problem(self.scaled, self.m, self.n, self.cta_group, self.b_major):
            yield Problem("n", problem)
        elif self.saturate:
            yield Problem("saturate", "only integers saturate")
        elif self.deep and (not kind.packed or self.sparse or self.a_in_tmem):
            yield Problem("deep", "96 numbers along K are for mxf4 and mxf4nvf4, with a dense A in shared memory")
        else:
            yield from self._operand_problems()
            yield from self._variant_problems()
            yield from address("tmem")(self, "scale_a")
            yield from address("tmem")(self, "scale_b")

    def at(self, step: int) -> tuple[int, int]:
        """Return the byte of a column with the first scale of a step, and the number of that column in a row's."""
        column, byte = divmod(step * self.per_step, layouts.SCALES_OF_CELL)
        return byte, column

    @property
    def descriptor(self) -> layouts.ScaledDescriptor:  # type: ignore[override]
        return self.descriptor_of(0)

    def descriptor_of(self, step: int) -> layouts.ScaledDescriptor:
        packed, byte = layouts.SCALED_KINDS[self.scaled].packed, self.at(step)[0]
        a, b = ("e2m1", "e2m1") if packed else (self.name_a, self.name_b)
        return layouts.ScaledDescriptor(
            self.scaled, a, b, self.m, self.n, self.a_major, self.b_major, self.negate_a, self.negate_b, self.sparse,
            scale=self.scale, scale_a_id=byte, scale_b_id=byte, deep=self.deep,
        )  # fmt: skip

    def words(self) -> str:
        return ".reg .b32 sa, sb;"

    def qualifiers(self) -> str:
        return f".block_scale.block{self.block}{super().qualifiers()}"

    @property
    def rows_scaled(self) -> tuple[int, int]:
        """The rows whose scales share lanes: the block's rows of A; all rows of B, or half of them."""
        return self.m // self.cta_group, self.n // self.folds

    def scales(self, step: int) -> tuple[list[str], str]:
        column = self.at(step)[1]
        before, operands = [f"mov.b32 word, {self.descriptor_of(step).bits};"], ""
        for name, register, rows in zip(("scale_a", "scale_b"), ("sa", "sb"), self.rows_scaled, strict=True):
            distance = column * -(-rows // layouts.WARP_LANES)
            before.append(f"add.s32 {register}, ${name}, {distance};")
            operands += f", [{register}]"
        return before, operands

    def factors(self, lanes: Lanes, lane: int) -> Callable[[Agent, int, tuple[int, ...]], Any]:
        a, b = (int(lanes.get(v)[lane]) for v in (self.scale_a, self.scale_b))
        of_a, of_b = self.rows_scaled

        def read(agent: Agent, step: int, ranks: tuple[int, ...]) -> Any:
            left = [self._factors(agent, lanes, a, of_a, 1, step, rank) for rank in ranks]
            right = [self._factors(agent, lanes, b, of_b, self.folds, step, rank) for rank in ranks]
            if any(not np.array_equal(x, right[0], equal_nan=True) for x in right):
                agent.fail("tcgen05-scales", "scales of B differ between the blocks of a pair, but must be the same")
            return np.concatenate(left), right[0]

        return read

    def _factors(self, agent: Agent, lanes: Lanes, base: int, rows: int, folds: int, step: int, rank: int) -> Array:
        """Return the scales (folds * rows, blocks) of one operand in a step, which all warps' lanes must agree on."""
        byte, column = self.at(step)
        row, copies = np.arange(rows * folds)[:, None, None], 4 // folds
        warp = row // rows * copies + np.arange(copies)[None, :, None]
        further = column + np.arange(-(-(byte + self.per_step) // layouts.SCALES_OF_CELL))
        columns = further * -(-rows // layouts.WARP_LANES) + row % rows // layouts.WARP_LANES + 0 * warp
        lane = row % rows % layouts.WARP_LANES + layouts.WARP_LANES * warp + 0 * further
        where = lanes.machine.tmem.place(lanes, base, lane, columns)
        bits = agent.load("tmem", where + (rank - lanes.machine.rank << RANK_SHIFT), u32)[..., 0]
        if np.count_nonzero(bits != bits[:, :1]):
            agent.fail("tcgen05-scales", "scales differ between the warps' lanes, which must hold the same")
        held = np.ascontiguousarray(bits[:, 0]).view(np.uint8)[:, byte : byte + self.per_step]
        if self.scale == "ue8m0":
            return np.where(held == 255, np.nan, np.exp2(held.astype(np.float64) - 127))
        return (held & 0x7F).view(numpy_dtype(e4m3)).astype(np.float64)

    def numbers(self, x: Array, elem: Scalar, format: str, table: Array | None, major: str) -> Array:
        if not layouts.SCALED_KINDS[self.scaled].packed:
            return super().numbers(x, elem, format, table, major)
        x = x if table is None else expanded(x, table, elem)  # pairs of numbers are kept together
        codes = np.stack([x & 15, x >> 4], axis=-1).reshape(len(x), -1)
        return np.asarray(narrow.values("e2m1")[codes])

    def _sum(self, before: Array | None, a: Array, b: Array, factors: Any, step: int) -> Array:
        sign = -1.0 if self.negate_a != self.negate_b else 1.0
        of_a, of_b = (np.repeat(x, a.shape[1] // x.shape[1], axis=1) for x in factors)
        exact = sign * ((a * of_a) @ (b * of_b).T)
        return (exact if before is None else exact + before).astype(np.float32)


__all__ = ["Mma", "MmaScaled", "MmaWs"]
