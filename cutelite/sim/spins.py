"""Detect threads that spin: they repeat the same ops until another agent changes memory that they read.

In    the strands that take turns, and a count of all changes that threads can see
Out   whether all of them spin: each is back at a place with the same values, and nothing has changed in between, so
      nothing ever will. A thread whose values differ (it counts, or reads the clock) counts as spinning after very
      many reads of the same address that decide whether it goes on
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from cutelite.ir.contract import Effect
from cutelite.ir.op import Op
from cutelite.sim.machine import Machine
from cutelite.sim.strand import Strand

Array = Any

CALM = 1 << 11  # ops without a change before strands are checked, every `PAUSE` ops
PAUSE = 1 << 6
LONG = 1 << 17  # ops without a change before reads of one address count as spinning, whatever the values
LOOKS = 64  # turns with a read of the same address
CYCLE = 1 << 9  # a spinning thread reads something within this many ops


class Spins:
    """The states of strands since the last change."""

    def __init__(self) -> None:
        self.changes = -1
        self.since = 0
        self._passed: set[Any] = set()
        self._states: set[Any] = set()
        self._looks: Counter[Any] = Counter()
        self._spinning: dict[Machine, Array] = {}

    def calm(self, changes: int, ops: int) -> int:
        """Return the number of ops since the last change; forget all states after a change."""
        if changes != self.changes:
            self.changes, self.since = changes, ops
            if self._passed or self._looks:
                self._passed, self._states, self._looks, self._spinning = set(), set(), Counter(), {}
        return ops - self.since

    def state(self, strand: Strand) -> bool:
        """Tell whether a strand whose turn comes has been in this state before, and so spins."""
        at = (strand.machine, strand.tid.tobytes(), strand.code, strand.pc)
        if at not in self._passed:  # values are compared from the second visit of this place on
            self._passed.add(at)
            return False
        local = strand.machine.spaces["rmem"].regions[0].bytes.tobytes() if strand.machine.local_bytes else b""
        held = frozenset((key, _bytes(strand.regs[key])) for key in list(strand.regs.every()) if strand.needs(key))
        state = (*at, hash(held), hash(local))
        if state in self._states:
            self._mark(strand)
            return True
        self._states.add(state)
        return False

    def look(self, strand: Strand) -> None:
        """Note that a strand has read memory or a barrier. It spins if it does so for very long."""
        where = tuple(_bytes(strand.regs[value]) for value in strand.op.operands)
        key = (strand.machine, strand.tid.tobytes(), strand.op, where)
        self._looks[key] += 1
        if self._looks[key] >= LOOKS:
            self._mark(strand)

    def _mark(self, strand: Strand) -> None:
        marks = self._spinning.setdefault(strand.machine, np.zeros(strand.machine.threads, bool))
        marks[strand.tid] = True

    def all(self, strands: Iterable[Strand]) -> bool:
        """Tell whether all of these strands spin."""
        for strand in strands:
            marks = self._spinning.get(strand.machine)
            if marks is None or not np.all(marks[strand.tid]):
                return False
        return True

    def lacks(self, strand: Strand) -> bool:
        """Tell whether others are known to spin, and this one is not: turns in a rhythm must not leave it out."""
        return bool(self._spinning) and not self.all((strand,))


def looks(op: Op) -> bool:
    """Tell whether an op reads memory or barriers that other threads may change."""
    return Effect.READS in op.effects and Effect.ASYNC not in op.effects


def _bytes(value: Any) -> Any:
    return value.tobytes() if isinstance(value, np.ndarray) else value
