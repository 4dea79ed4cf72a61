"""The order of atomic updates that do not commute: float sums are the same each time if each address has one order.

In    updates of arguments that a check was told are `ordered`, by each schedule
Out   pairs of updates of the same number that nothing orders; numbers whose updates came in another order than before

What one schedule orders, by a lock for example, another may order otherwise. So the values that the updates of a number
found are compared as well: of equal updates in equal order they are the same, bit for bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cutelite.ir.op import Op
from cutelite.sim.checker.access import Accesses, Conflict
from cutelite.sim.checker.shadow import WRITE, Shadow
from cutelite.sim.memory import Region

Array = Any
MIX = np.uint64(0x9E3779B97F4A7C15)


class Last(NamedTuple):
    """The latest update of a region: to name a line where orders differ."""

    block: Any
    op: Op
    agent: int


class Update(NamedTuple):
    """Numbers of `unit` bytes at `offset` of a region, and the bits that were found there, one after the other."""

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
        self._earlier: dict[str, Array] = {}  # of the first schedule that came to its end

    def differing(self, name: str, marks: Array) -> Array:
        """The numbers whose marks are others than those of the first schedule."""
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
        """Tell whether an access is of an ordered argument."""
        ends = {region.place("gmem", region.base + int(at)).name for at in (offset.min(), offset.max())}
        return not ends.isdisjoint(self.orders.names)

    def granules(self, update: Update) -> tuple[Shadow, Array, int]:
        """The record of the region, with the granules of an update, and how many of them each number has."""
        held = self._shadows.setdefault(
            id(update.region), (update.region, Shadow(update.region.size, update.unit, update.region.base))
        )
        return held[1], *held[1].indices(update.offset, update.unit)

    def add(self, update: Update, granules: Array, actor: Any, site: int, last: Last) -> list[Conflict]:
        """Remember an update; returns the earlier ones that nothing orders before it."""
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
        """At the end of a schedule: the offsets of numbers whose updates came in another order than before."""
        found = []
        for key, (region, _) in self._shadows.items():
            name = "\n".join(region.names.values())
            offsets = self.orders.differing(name, self._marks[key])
            if len(offsets):
                found.append((region, offsets, self._last[key]))
        return found
