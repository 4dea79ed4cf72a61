"""Check the order of atomic updates that do not commute: float sums are reproducible if each address has one order.

In    updates of the arguments that are `ordered`, in each schedule
Out   pairs of updates of an element that nothing orders; elements whose updates came in another order than before

Updates that are ordered in one schedule, by a lock for example, may have another order in the next one. So the values
that the updates of an element found are compared too: equal updates in the same order find the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.ir.op import Op
from cutelite.sim.checker.access import Accesses, Conflict
from cutelite.sim.checker.shadow import WRITE, Shadow
from cutelite.sim.memory import Region, is_part
from cutelite.tuples import NamedTuple

Array = Any
MIX = np.uint64(0x9E3779B97F4A7C15)


class Last(NamedTuple):
    """The latest update of a region, for the line in a report of different orders."""

    block: Any
    op: Op
    agent: int


class Update(NamedTuple):
    """An update of elements of `unit` bytes at `offset` in a region, and the bits that it found there."""

    region: Region
    offset: Array
    unit: int
    found: Array


class Orders:
    """The orders of updates that the schedules of a check have shown so far.

    names  of the arguments
    """

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self._earlier: dict[str, Array] = {}  # marks of the first schedule that completed

    def differing(self, name: str, marks: Array) -> Array:
        """Return the elements whose marks differ from those of the first schedule."""
        earlier = self._earlier.setdefault(name, marks)
        found: Array = (earlier != marks).nonzero()[0]
        return found


class Updates:
    """The updates of ordered arguments in one schedule."""

    def __init__(self, orders: Orders, accesses: Accesses) -> None:
        self.orders, self.accesses = orders, accesses
        self._shadows: dict[int, tuple[Region, Shadow]] = {}
        self._marks: dict[int, Array] = {}
        self._last: dict[int, Last] = {}

    def holds(self, region: Region, offset: Array) -> bool:
        """Tell whether an access is to an ordered argument."""
        ends = {region.place("gmem", region.base + int(at)).name for at in (offset.min(), offset.max())}
        return any(is_part(name, self.orders.names) for name in ends)

    def granules(self, update: Update) -> tuple[Shadow, Array, int]:
        """Return the shadow of the region, the granules of an update, and how many granules an element has."""
        held = self._shadows.setdefault(
            id(update.region), (update.region, Shadow(update.region.size, update.unit, update.region.base))
        )
        return held[1], *held[1].indices(update.offset, update.unit)

    def add(self, update: Update, granules: Array, actor: Any, site: int, last: Last) -> list[Conflict]:
        """Record an update; return the earlier ones that nothing orders before it."""
        region, shadow = self._shadows[id(update.region)]
        conflicts = self.accesses.check(shadow, granules, actor, WRITE, site)
        self.accesses.remember(shadow, granules, actor, WRITE, site)
        marks = self._marks.setdefault(id(region), np.zeros(region.size, np.uint64))
        bits = update.found.view(f"V{update.unit}").view(np.uint8).reshape(-1, update.unit)
        mark = np.zeros(len(bits), np.uint64)
        for column in bits.T:
            mark = (mark + column + np.uint64(1)) * MIX
        marks[update.offset] = (marks[update.offset] ^ mark) * MIX + np.uint64(1)
        self._last[id(region)] = last
        return conflicts

    def differing(self) -> list[tuple[Region, Array, Last]]:
        """Return, at the end of a schedule, the offsets of elements whose updates came in another order than before."""
        found = []
        for key, (region, _) in self._shadows.items():
            name = "\n".join(region.names.values())
            offsets = self.orders.differing(name, self._marks[key])
            if len(offsets):
                found.append((region, offsets, self._last[key]))
        return found
