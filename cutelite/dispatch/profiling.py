"""Profiles: the warps of a launch write events to ring buffers in global memory, which are then read and decoded.

`lower/profile.py` describes the rings. Times within a warp are exact cycles. Times of different multiprocessors are put
on one axis by the nanosecond clock that they share.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import cutelite_rt as rt
from cutelite.lower.profile import LANE, RING
from cutelite.ops.debug import MARK_VALUES, PHASES
from cutelite.sim.marks import MARKS, Mark, order, row_names, trace_events
from cutelite.tuples import NamedTuple

Array = Any

MOST_BYTES = 1 << 28
"""A profile takes at most this much memory; events of blocks beyond it are lost."""


class Warp(NamedTuple):
    """A warp that has run: its block, its number in the block, its multiprocessor, its first and last cycle."""

    block: int
    warp: int
    sm: int
    begin: float
    end: float


class Profile:
    """The events of one launch on a GPU.

    events  the events, by time
    warps   the warps of the blocks whose events were kept
    cycles  cycles from the first start of a warp to the last end of one
    clock   cycles per nanosecond, measured by the warps
    """

    def __init__(self, kernel: str, events: list[Mark], warps: list[Warp], clock: float) -> None:
        self.kernel, self.events, self.warps, self.clock = kernel, events, warps, clock
        self.cycles = max((warp.end for warp in warps), default=0.0)

    def order(self, block: int, warp: int) -> list[tuple[str, str, int]]:
        """Return (phase, name, value) of a warp's events, in the order of time: to compare with the simulator's."""
        return order(self.events, block, warp)

    def save(self, path: str | Path) -> None:
        """Write the trace as JSON, for ui.perfetto.dev: blocks are processes, warps are rows (docs/trace.md)."""
        facts = {"kernel": self.kernel, "cycles": round(self.cycles), "source": "GPU", "cycles_a_ns": self.clock}
        shown = [*self._rows(), *trace_events(self.events)]
        document = {"traceEvents": shown, "displayTimeUnit": "ns", "otherData": facts}
        Path(path).write_text(json.dumps(document))

    def _rows(self) -> Iterator[dict[str, Any]]:
        rows = {(warp.block, warp.warp): f"warp {warp.warp}" for warp in self.warps}
        events = {(block, MARKS + row): f"{name}: events" for (block, row), name in rows.items()}
        yield from row_names(self.kernel, rows | events)
        for warp in self.warps:
            yield {"name": f"SM {warp.sm}", "ph": "X", "pid": warp.block, "tid": warp.warp, "ts": warp.begin / 1000,
                   "dur": (warp.end - warp.begin) / 1000, "args": {"sm": warp.sm}}  # fmt: skip

    def __repr__(self) -> str:
        return f"<profile of {self.kernel}: {len(self.events)} events, {self.cycles:.0f} cycles>"


class Rings:
    """The buffer of one launch: made before it, read after it."""

    def __init__(self, function: rt.Function, grid: tuple[int, ...], block: tuple[int, ...]) -> None:
        self.function = function
        self.warps = -(-math.prod(block) // 32)
        self.blocks = min(math.prod(grid), max(1, MOST_BYTES // (self.warps * 2 * RING)))
        room = (self.blocks + 1) * self.warps * 2 * RING  # the last ring is shared by all blocks that have none
        self.memory = rt.to_device(np.zeros(room + RING, np.uint8), function.device)
        self.start = -(-self.memory.pointer // RING) * RING
        rt.write_global(function, "cutelite_profile", self.start, self.blocks)

    def read(self, kernel: str, names: list[str], stream: int = 0) -> Profile:
        """Wait for the launches with this buffer, and return the events they recorded. Later launches record none."""
        data = rt.from_device(self.memory, stream)[self.start - self.memory.pointer :]
        rt.write_global(self.function, "cutelite_profile", 0, 0)
        count = self.blocks * self.warps
        return decoded(kernel, names, data[: count * 2 * RING].reshape(count, 2 * RING), self.warps)


def decoded(kernel: str, names: list[str], data: Array, warps: int) -> Profile:
    """Decode rings: `data` has 2 * RING bytes for each warp, block by block."""
    head = data[:, RING : RING + 40].copy()
    times, facts = head.view(np.uint64), head.view(np.uint32)
    ran = np.flatnonzero(facts[:, 9])
    clock = _clock(times[ran])
    zero = int(times[ran, 1].min()) if len(ran) else 0
    found: list[Warp] = []
    events: list[Mark] = []
    for place in ran.tolist():
        begin_clock, begin_ns, end_clock, _ = (int(x) for x in times[place, :4])
        begin = (begin_ns - zero) * clock
        warp = Warp(place // warps, place % warps, int(facts[place, 8]), begin, begin + max(0, end_clock - begin_clock))
        found.append(warp)
        events += _events(names, data[place], warp, begin_clock)
    return Profile(kernel, sorted(events, key=lambda event: event.cycle), found, clock)


def _clock(times: Array) -> float:
    """Return the cycles per nanosecond, by the warp that ran longest; 1.0 where no warp ran long enough."""
    ends = times[times[:, 3] > times[:, 1]]
    if not len(ends):
        return 1.0
    longest = ends[np.argmax(ends[:, 3] - ends[:, 1])]
    return float(longest[2] - longest[0]) / float(longest[3] - longest[1])


def _events(names: list[str], data: Array, warp: Warp, start: int) -> Iterator[Mark]:
    """Yield the events in the rings of a warp: those of lane 0, then those of the other lanes' own rings."""
    for lane in range(32):
        ring = data[:RING] if lane == 0 else data[RING + lane * LANE : RING + (lane + 1) * LANE]
        pairs = ring.view(np.uint32).reshape(-1, 2)
        for clock, word in pairs[pairs[:, 1] != 0].tolist():
            since = (clock - start) % (1 << 32)
            phase, name = PHASES[(word >> 30) - 1], names[word >> 20 & 1023]
            cycle = warp.begin + since
            yield Mark(warp.block, warp.warp, lane, warp.sm, cycle, phase, name, word & (MARK_VALUES - 1))
