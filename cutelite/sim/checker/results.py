"""Compare what arguments hold after each schedule: an argument that depends on the schedule depends on who came first.

In    the memory of a launch at the end of a schedule, with the record of its accesses
Out   regions of global memory that hold other bytes than after the first schedule

Nothing need be unordered for that. Two blocks of a cluster that each take the next tile of a counter, and share what
they load, are right as long as they take turns; under another schedule, or among more clusters, they do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from cutelite.sim.checker.shadow import Shadow
from cutelite.sim.memory import Region

Array = Any


class Results:
    """The contents of arguments after the first schedule that completed, by name."""

    def __init__(self) -> None:
        self._first: dict[str, Array] = {}

    def differing(self, shadows: Iterable[tuple[Region, Shadow]]) -> Iterator[tuple[Region, Shadow, Array]]:
        """Yield the written regions of global memory that differ, with the offsets of the bytes."""
        for region, shadow in shadows:
            if region.state is None and not region.tensor:
                first = self._first.setdefault("\n".join(region.names.values()), region.bytes.copy())
                offsets = (first != region.bytes).nonzero()[0]
                if len(offsets):
                    yield region, shadow, offsets
