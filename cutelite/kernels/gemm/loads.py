"""Tiles of operands that a warpgroup loads to a ring: rows that begin anywhere, which TMA cannot read.

A step of a tile has lines, along the mode in which the operand is contiguous. The aligned units of 16 bytes in which a
line lies are copied to shared memory as they are, by cp.async, several steps ahead. From these, threads make the units
of the stage: each lies in two of the copied ones, by an offset that is the line's own.
"""

from __future__ import annotations

from typing import Any

import cutelite as cl
from cutelite import i32, i64, u32
from cutelite.kernels.gemm.fits import lines_of, units_copied
from cutelite.kernels.gemm.pitch import UNIT, shifted, units
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

GROUP = 128  # threads that load
WORDS = UNIT // 4  # of a unit
AT_ONCE = 6  # units of a thread that are made together


@dataclass(frozen=True)
class Loaded:
    """An operand of 16 bits, and its part of a stage, a step: `rows` of a tile by 64 along K.

    sizes  (L, R, C, of a batch, of a row): modes and pitches of the operand, (L, R, C), as it lies
    major  along which mode it is contiguous, 'K' or 'MN'
    """

    operand: Any
    sizes: tuple[Any, ...]
    major: str
    rows: int

    @property
    def bytes(self) -> int:
        """The bytes of an element."""
        return int(self.operand.dtype.bytes)

    @property
    def each(self) -> int:
        """Elements of a unit."""
        return UNIT // self.bytes

    @property
    def across(self) -> int:
        """Units of a line in the stage; one more is copied."""
        return lines_of(self.rows, self.major)[1]

    @property
    def high(self) -> int:
        """Lines."""
        return lines_of(self.rows, self.major)[0]

    @property
    def copied(self) -> int:
        """Units that are copied for a step."""
        return units_copied(self.rows, self.major)

    @property
    def apart(self) -> int:
        """Lines from one of a thread to its next one: a multiple of 8, so that all have the same offset in a unit."""
        return GROUP // self.across // 8 * 8

    def lines(self, batch: tuple[Any, ...], row: Any) -> Lines:
        """Return what this thread copies and makes of a tile, from K = 0 on."""
        thread, start = cl.thread_idx.x % GROUP, i64(batch[0]) * self.sizes[3] if batch else i64(0)
        down, right = (row, 0) if self.major == "K" else (0, row)
        places = (thread // self.across, thread % self.across), (thread, self.across)
        found = []
        for line, unit in places:
            first = start + i64(down + line) * self.sizes[4] + right
            skew = i32(first % self.each)
            found.append(Unit(line, unit, i32(first // self.each) + unit, skew, skew - right - unit * self.each))
        return Lines(self, down, *found)


class Unit(NamedTuple):
    """A unit of a tile: its line, its place in it, its number in memory, and in elements the offset at which the line
    begins in its first unit, and how far the operand reaches behind the unit's begin, less the operand's width."""

    line: Any
    place: Any
    number: Any
    skew: Any
    reach: Any


@dataclass(frozen=True)
class Lines:
    """A thread's units of a tile. From step to step they advance by whole units, so that offsets stay.

    down   row of the first line, where lines are rows of the tile
    first  the thread's unit of its first line; of others, `Loaded.apart` lines from each other, it has the same one
    last   the unit behind those that fill a line of the stage, of another line, and of those `GROUP` lines further on
    """

    of: Loaded
    down: Any
    first: Unit
    last: Unit

    def ask(self, copied: Any, k: Any) -> None:
        """Start copying the step at `k`; what is beyond the operand becomes 0. Who: a warpgroup.

        copied  (words, units) of shared memory, a line's units behind those of the one before
        """
        of, (_, _, wide, _, of_row) = self.of, self.of.sizes
        by_k = of.major == "K"
        begin, on, left = (self.down, k // of.each, wide - k) if by_k else (k, k // of.each * i32(of_row), wide)
        memory = units(of.operand, of.sizes, *of.sizes[3:])
        step = copied, memory, begin, on, left
        if self.all_make or self.first.line < of.apart:
            for i in cl.static_range(0, of.high, of.apart):
                if i + of.apart <= of.high or self.first.line < of.high - i:
                    self.copy(step, self.first, i)
        for i in cl.static_range(0, of.high, GROUP):
            if self.last.line < of.high - i:
                self.copy(step, self.last, i)

    @property
    def all_make(self) -> bool:
        """Tell whether no thread is left over, where the units of some lines are dealt out."""
        return self.of.apart * self.of.across == GROUP

    def copy(self, step: tuple[Any, ...], unit: Unit, i: int) -> None:
        """Start copying a unit, `i` lines further on: in a step at row `begin`, `on` units further in memory."""
        of, (copied, memory, begin, on, left), line = self.of, step, unit.line + i
        there = cl.where(begin + line < of.sizes[1], max(0, min(UNIT, (left + unit.reach) * of.bytes)), 0)
        number = cl.where(there > 0, unit.number + on + i // 8 * i32(of.sizes[4]), 0)
        cl.cp_async(copied.at(0, line * (of.across + 1) + unit.place), memory.at(number, 0), src_bytes=there)

    def bring(self, copied: Any, stage: Any) -> None:
        """Make a stage of what was copied. Who: a warpgroup."""
        of, line = self.of, self.first.line
        whole = of.high // of.apart * of.apart
        if self.all_make or line < of.apart:
            for begin in cl.static_range(0, whole, of.apart * AT_ONCE):
                self.make(copied, stage, range(begin, min(begin + of.apart * AT_ONCE, whole), of.apart))
            if whole < of.high and line < of.high - whole:
                self.make(copied, stage, (whole,))

    def make(self, copied: Any, stage: Any, lines: Any) -> None:
        """Make units of some of the thread's lines: without a branch between them, or each would wait for another."""
        of, found = self.of, []
        for i in cl.static_range(len(lines)):
            line = self.first.line + lines[i]
            at = line * (of.across + 1) + self.first.place
            found.append((copied[None, at].load(), copied[None, at + 1].load(), line))
        for low, high, line in found:
            words = shifted((low, high), self.first.skew * of.bytes, of.bytes)
            along = self.first.place * of.each
            target = stage.at(line, along) if of.major == "K" else stage.at(along, line)
            cl.make_tensor(target, (1, WORDS), u32).store(words)
