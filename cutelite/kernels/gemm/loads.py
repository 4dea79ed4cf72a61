"""Tiles of operands that a warpgroup loads to a ring: rows that begin anywhere, which TMA cannot read.

A thread makes 16 aligned bytes of a tile. They lie in 32 aligned bytes of memory, which it loads as two vectors and
shifts (`pitch.shifted`). What is to come is prefetched into L2, so that these loads have L2's latency and not DRAM's.
"""

# mypy: disable-error-code="valid-type, name-defined, index, attr-defined, misc"

from __future__ import annotations

from typing import Any

import cutelite as cl
from cutelite import i32, i64, u32
from cutelite.kernels.gemm.pitch import UNIT, extent, loaded, shifted, units
from cutelite.records import dataclass

GROUP = 128  # threads that load
LINE = 128  # bytes of a line of L2
AT_ONCE = 6  # units of a thread whose loads are under way together
AHEAD = 6  # steps along K that are prefetched


@dataclass(frozen=True)
class Loaded:
    """An operand, and its part of a stage: `rows` of a tile by `depth` columns along K.

    sizes  (L, R, C, of a batch, of a row): modes and pitches of the operand, (L, R, C), as it lies
    major  along which mode it is contiguous, 'K' or 'MN'
    """

    operand: Any
    sizes: tuple[Any, ...]
    major: str
    rows: int
    depth: int

    @property
    def each(self) -> int:
        """Elements of a unit."""
        return int(UNIT // self.operand.dtype.bytes)

    @property
    def across(self) -> int:
        """Units beside each other, where the operand is contiguous."""
        return (self.depth if self.major == "K" else self.rows) // self.each

    @property
    def high(self) -> int:
        """Rows of units, a pitch apart."""
        return self.rows if self.major == "K" else self.depth

    def start(self, batch: tuple[Any, ...]) -> Any:
        """The number of the batch's first element."""
        return i64(batch[0]) * self.sizes[3] if batch else i64(0)

    def begin(self, row: Any, k: Any) -> tuple[Any, Any]:
        """Row and column of the operand as it lies."""
        return (row, k) if self.major == "K" else (k, row)

    def prefetch(self, batch: Any, row: Any, k: Any) -> None:
        """Bring a step to L2: a thread for each row of it. Who: a warpgroup."""
        _, high, _, of_batch, of_row = self.sizes
        down, right = self.begin(row, k)
        whole, start = extent(self.sizes, of_batch, of_row) // self.each, self.start(batch)  # units of the array
        for i in cl.static_range(-(-self.high // GROUP)):
            mine = down + i * GROUP + cl.thread_idx.x
            unit = (start + i64(mine) * of_row + right) // self.each
            if i * GROUP + cl.thread_idx.x < self.high and mine < high and unit + self.across < whole:
                for j in cl.static_range(0, self.across + 1, LINE // UNIT):
                    cl.prefetch(self.memory, (unit + j, 0))

    @property
    def memory(self) -> Any:
        """The operand's memory as units."""
        return units(self.operand, self.sizes, *self.sizes[3:])

    def bring(self, stage: Any, batch: tuple[Any, ...], row: Any, k: Any) -> None:
        """Load a step to a stage: elements beyond K are 0, others beyond the operand any. Who: a warpgroup."""
        _, high, wide, of_batch, of_row = self.sizes
        down, right = self.begin(row, k)
        start, whole = self.start(batch), extent(self.sizes, of_batch, of_row) // self.each  # units of the array
        last = start + i64(min(down + self.high, high) - 1) * of_row + right + (self.across + 1) * self.each - 1
        if k + self.depth <= (wide if self.major == "K" else high) and last // self.each < whole:
            self.chunks(stage, start, whole, down, right, False)
        else:
            self.chunks(stage, start, whole, down, right, True)

    def chunks(self, stage: Any, start: Any, whole: Any, down: Any, right: Any, ends: bool) -> None:
        """Load units, `AT_ONCE` of a thread at a time. ends: K or the array's memory may end in one of them.

        Loads, shifts and stores of a chunk have no branch between them, or each load would wait for the one before.
        """
        _, high, wide, _, of_row = self.sizes
        count, memory, bytes = self.high * self.across, self.memory, self.operand.dtype.bytes
        for first in cl.static_range(0, -(-count // GROUP), AT_ONCE):
            found = []
            for i in cl.static_range(first, min(first + AT_ONCE, -(-count // GROUP))):
                number = i * GROUP + cl.thread_idx.x
                at_row, along = down + number // self.across, number % self.across * self.each
                column = right + along
                at = start + i64(min(at_row, high - 1)) * of_row + column
                safe = not ends or ((at + self.each - 1) // self.each < whole and column < wide)
                pair = loaded(memory, at if safe is True else cl.where(safe, at, i64(0)), self.each)
                found.append((pair, number, at_row, column, at, safe))
            for pair, number, at_row, column, at, _ in found:
                words = shifted(pair, i32(at % self.each) * bytes, bytes)
                if ends:
                    left = i32(wide - column) * bytes if self.major == "K" else cl.where(at_row < high, UNIT, 0)
                    words = cut(words, left)
                if count % GROUP == 0 or number < count:
                    cl.make_tensor(self.target(stage, number), (1, 4), u32).store(words)
            if ends:
                for _, number, at_row, column, at, safe in found:
                    if not safe and column < wide and at_row < high and number < count:
                        self.put(self.target(stage, number), column, at)

    def target(self, stage: Any, number: Any) -> Any:
        """The address of a unit in the stage."""
        below, along = number // self.across, number % self.across * self.each
        return stage.at(below, along) if self.major == "K" else stage.at(along, below)

    def put(self, target: Any, column: Any, at: Any) -> None:
        """Store a unit whose memory is not whole units of the array, element by element."""
        _, _, wide, *pitches = self.sizes
        elements = cl.make_tensor(target, (self.each,), self.operand.dtype)
        flat = cl.make_tensor(self.operand.ptr, (extent(self.sizes, *pitches),), self.operand.dtype)
        for j in cl.static_range(self.each):
            if column + j < wide:
                elements[j] = flat[at + j]


def cut(words: Any, left: Any) -> Any:
    """Return the four words with zeros behind the first `left` bytes; none if that is negative."""
    made = cl.make_rmem_tensor(u32, (1, 4))
    for i in cl.static_range(4):
        bits = max(0, min(31, left * 8 - 32 * i))
        made[0, i] = cl.where(left >= 4 * i + 4, words[i], words[i] & ((u32(1) << u32(bits)) - u32(1)))
    return made.load()
