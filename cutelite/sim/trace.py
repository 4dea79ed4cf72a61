"""A timeline of a simulated kernel: warps, copies, tensor core and barriers, in the trace-event format of Perfetto.

In    a launch, executed under one schedule with a `Timeline` watching
Out   ``timeline.save("out.json")``: a file for ui.perfetto.dev or chrome://tracing

The simulator knows what waits for what, but has no time. Times are computed here: every warp has a clock, which each op
advances by its cost in the model; a thread that waits goes on at the time at which what it waits for is complete. So
times depend on causes, not on the order in which the simulator executed the ops. See docs/trace.md.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import count
from math import inf
from pathlib import Path
from typing import Any, TextIO
from weakref import WeakKeyDictionary

import numpy as np

from cutelite.diag import Span
from cutelite.ir.contract import Effect
from cutelite.ir.function import Function
from cutelite.ir.op import Op
from cutelite.ir.types import Vec
from cutelite.sim import events
from cutelite.sim.actors import Executing, Work
from cutelite.sim.checker.lanes import lanes_of
from cutelite.sim.error import SimError
from cutelite.sim.launch import Extent
from cutelite.sim.machine import Agent, Machine
from cutelite.sim.marks import CYCLES_IN_A_MICROSECOND, MARKS, Mark, order, row_names, trace_events
from cutelite.sim.run import run
from cutelite.target.targets import WARP

Array = Any

BARRIERS, CORE, COPIES = 1000, 2000, 3000
"""First rows, in a block, of its mbarriers, its tensor core, and its copies in flight; warps come before."""


@dataclass(frozen=True)
class Costs:
    """Costs in cycles on one SM of Hopper, in round numbers; docs/trace.md has their sources.

    op        from one instruction of a warp to the next one that needs its result
    element   for each further element of a vector
    shared    latency of a load from shared memory; `far`: from global memory
    barrier   from the last arrival until waiting threads go on
    copy      from the issue of an asynchronous copy until its first bytes arrive
    bytes     bytes (not cycles): moved per cycle by all copies of an SM together
    column    of a wgmma: for each of its N columns, in each step along K
    drain     from the end of a wgmma until its results can be read
    """

    op: int = 4
    element: int = 1
    shared: int = 30
    far: int = 600
    barrier: int = 20
    copy: int = 700
    bytes: int = 46
    column: float = 0.5
    drain: int = 30


@dataclass
class _Block:
    """The state of one CTA: a clock for each warp, and when its units are busy."""

    machine: Machine
    clock: Array
    copying: list[tuple[float, float]] = field(default_factory=list)  # when the unit that copies is busy, in order
    multiplying: list[tuple[float, float]] = field(default_factory=list)
    parity: dict[int, int] = field(default_factory=dict)  # of each warp's wait for an mbarrier
    rows: dict[int, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))  # copies, as shown
    doing: dict[int, tuple[Span | None, str, float]] = field(default_factory=dict)
    flying: dict[str, list[Work]] = field(default_factory=lambda: defaultdict(list))  # not waited for, by queue


class Timeline:
    """An observer of `sim.run` that records a timeline.

    events  the events in the trace-event format, after the simulation; `save` writes these
    cycles  cycles until the last thread has exited and the last copy is done
    marks   the events of `cl.profile`, warp by warp
    """

    def __init__(self, name: str, costs: Costs = Costs()) -> None:
        self.name, self.costs = name, costs
        self.events: list[dict[str, Any]] = []
        self.cycles = 0.0
        self.marks: list[Mark] = []
        self._blocks: dict[Machine, _Block] = {}
        self._finish: WeakKeyDictionary[Work, float] = WeakKeyDictionary()  # of each piece of asynchronous work
        self._issue: WeakKeyDictionary[Work, float] = WeakKeyDictionary()
        self._moved: WeakKeyDictionary[Work, int] = WeakKeyDictionary()
        self._arrived: dict[tuple[Any, int], float] = {}  # the latest arrival of each mbarrier's phase
        self._phases: dict[tuple[Any, int], list[float]] = defaultdict(list)
        self._met: dict[object, float] = defaultdict(float)  # the latest arrival at each barrier
        self._named: dict[tuple[int, int], str] = {}  # rows of mbarriers, by block

    def __repr__(self) -> str:
        return f"<timeline of {self.name}: {len(self.events)} events, {self.cycles:.0f} cycles>"

    def save(self, path: str | Path) -> None:
        """Write the trace as JSON."""
        facts = {"kernel": self.name, "cycles": round(self.cycles), "source": "cutelite simulator"}
        document = {"traceEvents": self.events, "displayTimeUnit": "ns", "otherData": facts}
        Path(path).write_text(json.dumps(document))

    def of_warps(self) -> list[dict[str, Any]]:
        """Return the events of all warps that have a duration: what a warp does at a line, and what it waits for."""
        return [event for event in self.events if event["ph"] == "X" and event["tid"] < BARRIERS]

    # Calls by the simulator.

    def access(self, who: Any, region: Any, offset: Array, unit: int, kind: str, data: Array | None) -> None:
        maker = lanes_of(who, len(offset))[0]
        if isinstance(maker, Agent):
            work = maker.work
            if kind != "read" or work.write is None:
                self._moved[work] = self._moved.get(work, 0) + len(offset) * unit

    def tolerates(self, error: SimError) -> bool:
        return False

    def step(self, op: Op, lanes: Any) -> None:
        """Advance the clocks of the warps that are about to execute `op`."""
        block = self._block(lanes.machine)
        warps = np.unique(lanes.tid[lanes.mask] // WARP)
        if op.scope in ("warpgroup", "cta"):
            block.clock[warps] = block.clock[warps].max()
        if op.name == "profile.mark":
            self._mark(block, op, lanes)
            return
        for warp in warps.tolist():
            self._at_line(block, warp, op.span)
        block.clock[warps] += self._cost(op)

    def event(self, machine: Machine, event: events.Event) -> None:
        block = self._block(machine)
        match event:
            case events.Resume():
                self._resume(block, event)
            case events.BarrierArrive(lanes, on, where):
                self._meet((machine, on), self._time_of(block, lanes, where))
            case events.ClusterArrive(lanes, on):
                self._meet((machine.cluster, on), self._time_of(block, lanes))
            case events.MbarrierWait(lanes, _, where, parity):
                for lane in np.flatnonzero(where).tolist():
                    block.parity[int(lanes.tid[lane]) // WARP] = int(parity[lane])
            case events.MbarrierArrive(lanes, address, _, where):
                self._count(block, address, self._time_of(block, lanes, where))
            case events.MbarrierExpect(lanes, address, _, complete=True):
                self._count(block, address, self._time_of(block, lanes))
            case events.WorkArrive(work, address) | events.WorkComplete(work, address):
                self._count(block, address, self._finished(block, work))
            case events.MbarrierPhase(address):
                self._phase(block, address)
            case events.WorkStart(work):
                self._issue[work] = float(block.clock[np.unique(work.tid // WARP)].max())
                block.flying[work.queue].append(work)
            case events.WorkSplit(work, rest):
                self._issue[rest] = self._issue[work]
                block.flying[work.queue].append(rest)
            case events.WorkDone(work):
                self._finished(block, work)
            case events.GroupWait():
                self._wait_for_groups(block, event)

    def done(self) -> None:
        """Complete `events` after the simulation: close open slices, sort, add the names of rows."""
        for block in self._blocks.values():
            for warp in list(block.doing):
                self._at_line(block, warp, None)
        last = [event["ts"] + event["dur"] for event in self.events if event["ph"] == "X"]
        self.cycles = max(last, default=0.0) * CYCLES_IN_A_MICROSECOND
        self.events += trace_events(self.marks)
        self.events.sort(key=lambda event: event["ts"])
        self.events = [*self._names(), *self.events]

    # Warps.

    def _mark(self, block: _Block, op: Any, lanes: Any) -> None:
        """Record an event for each warp, with the value of its first active thread. It takes no time."""
        values = lanes.get(op.value[0]) if op.value else None
        seen: set[int] = set()
        for lane in np.flatnonzero(lanes.mask).tolist():
            thread = int(lanes.tid[lane])
            if thread // WARP not in seen:
                seen.add(thread // WARP)
                value = None if values is None else int(values[lane])
                now = float(block.clock[thread // WARP])
                where = (block.machine.index, thread // WARP, thread % WARP, -1)
                self.marks.append(Mark(*where, now, op.phase, op.label, value))

    def order(self, block: int, warp: int) -> list[tuple[str, str, int]]:
        """Return (phase, name, value) of a warp's events, in the order of time: to compare with a GPU's."""
        return order(self.marks, block, warp)

    def _cost(self, op: Op) -> float:
        vector = max((v.type.n for v in op.results if isinstance(v.type, Vec)), default=1)
        if Effect.ASYNC in op.effects or op.effects & Effect.ORDERS or not op.results:
            return self.costs.op
        if Effect.READS in op.effects:
            far = any(getattr(value.type, "space", "") == "gmem" for value in op.operands)
            return self.costs.far if far else self.costs.shared
        return self.costs.op + self.costs.element * (vector - 1)

    def _at_line(self, block: _Block, warp: int, span: Span | None, what: str = "") -> None:
        """End the slice of the previous line, when a warp comes to another line or begins to wait."""
        before = block.doing.get(warp)
        now = float(block.clock[warp])
        if before is not None and before[0] is not None:
            if span is not None and _line(before[0]) == _line(span) and before[1] == what:
                return
            self._slice(block, warp, before[1] or _line(before[0]), before[2], now, {"line": _line(before[0])})
        block.doing[warp] = (span, what, now)

    def _waits_until(self, block: _Block, warp: int, time: float, op: Op, what: str) -> None:
        if time > block.clock[warp]:
            self._at_line(block, warp, op.span, f"wait: {what}")
            block.clock[warp] = time
            self._at_line(block, warp, op.span)

    def _warps(self, lanes: Executing, where: Array | None = None) -> list[int]:
        found: list[int] = np.unique(lanes.tid[lanes.mask if where is None else where] // WARP).tolist()
        return found

    def _time_of(self, block: _Block, lanes: Executing, where: Array | None = None) -> float:
        """Return the present time of these threads: the latest clock of their warps."""
        warps = self._warps(lanes, where)
        return float(block.clock[warps].max()) if warps else 0.0

    def _resume(self, block: _Block, event: events.Resume) -> None:
        """Let threads go on, not before what they waited for is complete."""
        for where, on in event.wait.on:
            assert isinstance(on, events.Awaited)
            for position, thread in zip(event.positions.tolist(), event.tid.tolist(), strict=True):
                if where is not None and not where[position]:
                    continue
                warp = thread // WARP
                time, what = self._completion(block, warp, on)
                self._waits_until(block, warp, time, event.op, what)

    def _completion(self, block: _Block, warp: int, on: events.Awaited) -> tuple[float, str]:
        """Return the time at which what a warp waits for is complete, and its name."""
        match on:
            case events.MbarrierAt(address):
                phases = self._phases[block.machine.cluster, address]
                parity = block.parity.get(warp, 0)
                last = [time for number, time in enumerate(phases) if number % 2 == parity]
                return (last[-1] + self.costs.barrier if last else 0.0), _barrier_name(block.machine, address)
            case events.BarrierGeneration(number):
                return self._met[block.machine, on] + self.costs.barrier, f"barrier {number}"
            case events.ClusterPhase(phase):
                return self._met[block.machine.cluster, on] + self.costs.barrier, f"cluster {phase}"

    # Barriers.

    def _meet(self, barrier: tuple[object, events.BarrierGeneration | events.ClusterPhase], time: float) -> None:
        """Note that threads arrive at a barrier."""
        self._met[barrier] = max(self._met[barrier], time)

    def _count(self, block: _Block, address: int, time: float) -> None:
        """Note that threads or work arrive on an mbarrier, or complete bytes."""
        key = (block.machine.cluster, address)
        self._arrived[key] = max(self._arrived.get(key, 0.0), time)

    def _phase(self, block: _Block, address: int) -> None:
        """Add a slice for a phase of an mbarrier that completes."""
        key = (block.machine.cluster, address)
        end = self._arrived.pop(key, 0.0)
        phases = self._phases[key]
        begin = phases[-1] if phases else 0.0
        name = f"phase {len(phases)}"
        owner = self._block(block.machine.cluster.machines[address >> 24])
        self._slice(owner, self._barrier_row(block.machine, address), name, begin, max(begin, end), {})
        phases.append(max(begin, end))

    # Asynchronous work.

    def _wait_for_groups(self, block: _Block, event: events.GroupWait) -> None:
        """Let the threads go on at the end of the groups that this wait retires."""
        machine, lanes, queue, pending = block.machine, event.lanes, event.queue, event.pending
        due = np.zeros(machine.threads, np.int64)  # as in `Engine.wait`
        mine = lanes.tid[lanes.mask]
        due[mine] = machine.engine.committed(queue)[mine] + (1 if pending is None else -pending)
        retired = [work for work in block.flying[queue] if np.count_nonzero(work.group < due[work.tid])]
        for work in retired:
            end = self._finished(block, work)
            for warp in np.intersect1d(work.tid // WARP, self._warps(lanes)).tolist():
                self._waits_until(block, warp, end, lanes.op, f"{queue} groups")
        gone = set(map(id, retired))
        block.flying[queue] = [work for work in block.flying[queue] if id(work) not in gone]

    def _finished(self, block: _Block, work: Work) -> float:
        """Return the time at which work is done; the first call reserves time on the unit that does it."""
        end = self._finish.get(work)
        if end is None:
            end = self._multiply(block, work) if work.queue == "wgmma" else self._copy(block, work)
            self._finish[work] = end
        return end

    def _multiply(self, block: _Block, work: Work) -> float:
        op: Any = work.op
        if Effect.ASYNC not in op.effects:  # a `wgmma.fence`, whose work only passes registers on
            return self._issue[work]
        length: float = self.costs.column * op.n * max(1, len(op.steps))
        begin = _reserved(block.multiplying, self._issue[work], length)
        self._slice(block, CORE, f"{op.name} n={op.n}", begin, begin + length, {"line": _line(op.span)})
        return begin + length + self.costs.drain

    def _copy(self, block: _Block, work: Work) -> float:
        moved = self._moved.pop(work, 0)
        if not moved:
            return self._issue[work]
        begin = _reserved(block.copying, self._issue[work], moved / self.costs.bytes)
        end = begin + moved / self.costs.bytes + self.costs.copy
        row = next(i for i in count() if not any(first < end and begin < last for first, last in block.rows[i]))
        block.rows[row].append((begin, end))
        self._slice(block, COPIES + row, work.op.name, begin, end, {"bytes": moved, "line": _line(work.op.span)})
        return end

    # The file.

    def _block(self, machine: Machine) -> _Block:
        found = self._blocks.get(machine)
        if found is None:
            found = self._blocks[machine] = _Block(machine, np.zeros(machine.warp_count))
        return found

    def _slice(self, block: _Block, row: int, name: str, begin: float, end: float, facts: Mapping[str, Any]) -> None:
        if end <= begin:
            return
        scale = CYCLES_IN_A_MICROSECOND
        self.events.append({"name": name, "ph": "X", "pid": block.machine.index, "tid": row, "ts": begin / scale,
                            "dur": (end - begin) / scale, "args": dict(facts)})  # fmt: skip

    def _barrier_row(self, machine: Machine, address: int) -> int:
        """Return the row of an mbarrier, in the order of addresses, and note its name."""
        row = BARRIERS + (address & 0xFFFFFF) // 8 % (CORE - BARRIERS)
        self._named[machine.cluster.machines[address >> 24].index, row] = _barrier_name(machine, address)
        return row

    def _names(self) -> Iterator[dict[str, Any]]:
        """Yield the names of blocks and rows, and the order of rows."""
        rows: dict[tuple[int, int], str] = {}
        for event in self.events:
            pid, tid = event["pid"], event["tid"]
            if tid >= COPIES:
                name = f"copies {tid - COPIES}"
            elif tid >= CORE:
                name = "tensor core"
            elif MARKS <= tid < BARRIERS:
                name = f"warp {tid - MARKS}: events"
            else:
                name = self._named.get((pid, tid), f"warp {tid}")
            rows[pid, tid] = name
        return row_names(self.name, rows)


def trace(
    function: Function,
    grid: Extent,
    args: Sequence[object],
    *,
    seed: int = 0,
    costs: Costs = Costs(),
    stdout: TextIO | None = None,
    **facts: Any,
) -> Timeline:
    """Simulate a kernel, as `sim.run` does, and return its timeline.

    seed    seed of the schedule; times hardly depend on it, unless the kernel's path does
    facts   as for `sim.run`
    Errors  as `sim.run`
    """
    timeline = Timeline(function.name, costs)
    run(function, grid, args, seed=seed, observer=timeline, stdout=stdout or StringIO(), **facts)
    timeline.done()
    return timeline


def _reserved(busy: list[tuple[float, float]], earliest: float, length: float) -> float:
    """Reserve the first `length` of time from `earliest` on in which a unit is free; return its begin."""
    begin = earliest
    at = bisect_right(busy, (earliest, inf))
    if at and busy[at - 1][1] > begin:
        begin = busy[at - 1][1]
    while at < len(busy) and busy[at][0] < begin + length:
        begin = max(begin, busy[at][1])
        at += 1
    busy.insert(at, (begin, begin + length))
    return begin


def _line(span: Span | None) -> str:
    """Return a line of the kernel as 'gemm.py:74'."""
    return "" if span is None else f"{Path(span.filename).name}:{span.line}"


def _barrier_name(machine: Machine, address: int) -> str:
    place = machine.spaces["cluster"].place(address)
    return f"{place.name}[{place.offset // 8}]"
