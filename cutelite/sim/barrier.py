"""Execution barriers: the 16 named barriers of a CTA, and the barrier of a cluster (PTX ISA: barrier, barrier.cluster).

A named barrier counts threads. A warp of which all threads that have not exited have arrived counts as 32. Without a
count the barrier completes when all threads of the CTA that have not exited have arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from cutelite.ir.simulation import Wait
from cutelite.sim.program import WARP

if TYPE_CHECKING:
    from cutelite.sim.lanes import ThreadLanes
    from cutelite.sim.machine import Machine

Array = Any

COUNT = 16  # named barriers of a CTA


_COMBINE: dict[str, Callable[[Array, int | None], int]] = {
    "and": lambda mine, before: int(np.all(mine) and before != 0),
    "or": lambda mine, before: int(np.any(mine) or bool(before)),
    "popc": lambda mine, before: int(np.count_nonzero(mine)) + (before or 0),
}
"""barrier.red: from the predicates of some threads, and what the threads before them gave."""


class Barrier:
    """One named barrier.

    generation  how often it has completed
    count       threads that take part in this generation; None: all that have not exited
    here        for each lane of the CTA's warps whether its thread has arrived; exited ones of its warp count too
    value       what barrier.red has combined so far, and `result` of the generation before
    """

    __slots__ = ("count", "generation", "here", "result", "value")

    def __init__(self, lanes: int) -> None:
        self.generation = 0
        self.count: int | None = None
        self.here = np.zeros(lanes, bool)
        self.value: int | None = None
        self.result = 0


class Barriers:
    """The barriers of one CTA; implements `ir.simulation.Barriers`."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.named = [Barrier(machine.warp_count * WARP) for _ in range(COUNT)]

    def sync(self, lanes: ThreadLanes, id: Array | int = 0, count: Array | int | None = None) -> Wait:
        waits = [self._arrive(lanes, *which) for which in _groups(lanes, id, count)]
        if len(waits) == 1:
            return waits[0][1]

        def ready() -> Array:
            through = np.zeros(len(lanes.tid), bool)
            for where, wait in waits:
                through |= where & np.asarray(wait.ready())
            return through | ~lanes.mask

        on = tuple((where, wait.on[0][1]) for where, wait in waits)
        return Wait(ready, lambda: "; ".join(str(wait.why()) for _, wait in waits if callable(wait.why)), on)

    def arrive(self, lanes: ThreadLanes, id: Array | int, count: Array | int) -> None:
        for which in _groups(lanes, id, count):
            self._arrive(lanes, *which)

    def reduce(
        self, lanes: ThreadLanes, id: Array | int, count: Array | int | None, action: str, a: Array
    ) -> Generator[Wait, None, Array]:
        results = np.zeros(len(lanes.tid), np.int64)
        for where, number, expected in _groups(lanes, id, count):
            barrier = self.named[number]
            mine = a[where].astype(bool)
            barrier.value = _COMBINE[action](mine, barrier.value)
            _, wait = self._arrive(lanes, where, number, expected)
            yield wait
            results[where] = barrier.result
        return results

    def check_exits(self) -> None:
        """Threads have left: barriers that wait for all that have not may now be complete."""
        for barrier in self.named:
            if barrier.count is None and barrier.here.any():
                self._complete_if_full(barrier)

    def _arrive(self, lanes: ThreadLanes, where: Array, number: int, count: int | None) -> tuple[Array, Wait]:
        if not 0 <= number < COUNT:
            lanes.fault(where, f"there is no barrier {number}: they are numbered 0 to {COUNT - 1}", "barrier")
        if count is not None and (count <= 0 or count % WARP):
            lanes.fault(where, f"barrier {number} for {count} threads: must be a multiple of {WARP}", "barrier")
        if count is not None and count > -(-self.machine.threads // WARP) * WARP:
            text = f"barrier {number} for {count} threads in a block of {self.machine.threads}"
            lanes.fault(where, text, "barrier", "it can never complete")
        barrier = self.named[number]
        if barrier.count != count and barrier.here.any():
            text = f"barrier {number}: {count or 'all'} threads take part here, but {barrier.count or 'all'} elsewhere"
            lanes.fault(where, text, "barrier", "give all its threads the same count")
        barrier.count = count
        tid = lanes.tid[where]
        again = where.copy()
        again[where] = barrier.here[tid]
        lanes.fault(again, f"barrier {number}: a thread arrives twice before it completes", "barrier")
        barrier.here[tid] = True
        arrived, expected = self._arrived(barrier), self._expected(barrier)
        if arrived > expected:
            text = f"barrier {number}: {arrived} threads arrived, but {expected} take part"
            lanes.fault(where, text, "barrier")
        generation = barrier.generation
        on = ("barrier", number, generation)
        self.machine.event("barrier.arrive", lanes, on=on, where=where)
        self._complete_if_full(barrier)
        return where, Wait(lambda: barrier.generation != generation, lambda: self._why(number), ((where, on),))

    def _arrived(self, barrier: Barrier) -> int:
        """How many threads count as arrived."""
        if barrier.count is None:
            return int(np.count_nonzero(barrier.here))
        here = barrier.here.reshape(-1, WARP)
        live = np.zeros(len(barrier.here), bool)
        live[: self.machine.threads] = self.machine.live
        whole = here.any(axis=1) & ~(live.reshape(-1, WARP) & ~here).any(axis=1)
        return int(np.where(whole, WARP, here.sum(axis=1)).sum())

    def _expected(self, barrier: Barrier) -> int:
        return self.machine.live_count if barrier.count is None else barrier.count

    def _complete_if_full(self, barrier: Barrier) -> None:
        if self._arrived(barrier) >= self._expected(barrier):
            barrier.generation += 1
            barrier.here[:] = False
            barrier.result, barrier.value = barrier.value or 0, None
            self.machine.launch.changed()

    def _why(self, number: int) -> str:
        barrier = self.named[number]
        return f"barrier {number}: {self._arrived(barrier)} of {self._expected(barrier)} threads arrived"

    # The barrier of the cluster

    def cluster_arrive(self, lanes: ThreadLanes) -> None:
        cluster, rank = self.machine.cluster, self.machine.rank
        help = "every arrival at the cluster barrier needs its wait before the next one"
        again = cluster.phase_of_arrival[rank, lanes.tid % self.machine.threads] >= 0
        lanes.fault(again, "a second arrival at the cluster barrier before its wait", "barrier", help)
        mine = lanes.tid[lanes.mask]
        cluster.phase_of_arrival[rank, mine] = cluster.phase
        cluster.arrived[rank, mine] = True
        self.machine.event("cluster.arrive", lanes, phase=cluster.phase)
        cluster.complete_if_full()

    def cluster_wait(self, lanes: ThreadLanes) -> Wait:
        cluster, rank = self.machine.cluster, self.machine.rank
        tid = lanes.tid % self.machine.threads
        phase = cluster.phase_of_arrival[rank, tid]
        lanes.fault(phase < 0, "a wait at the cluster barrier without an arrival", "barrier")
        cluster.phase_of_arrival[rank, lanes.tid[lanes.mask]] = -1
        on = tuple((lanes.mask & (phase == n), ("cluster", n)) for n in np.unique(phase[lanes.mask]).tolist())
        return Wait(lambda: cluster.phase > phase, cluster.why, on)


def _groups(lanes: ThreadLanes, id: Array | int, count: Array | int | None) -> Iterator[tuple[Array, int, int | None]]:
    """The lanes that name the same barrier and count: a mask, the barrier and the count."""
    if isinstance(id, int) and (count is None or isinstance(count, int)):
        yield lanes.mask, id, count
        return
    ids = np.broadcast_to(np.asarray(id, np.int64), lanes.mask.shape)
    counts = np.broadcast_to(np.asarray(-1 if count is None else count, np.int64), lanes.mask.shape)
    for number, threads in np.unique(np.stack([ids, counts], 1)[lanes.mask], axis=0).tolist():
        yield lanes.mask & (ids == number) & (counts == threads), number, None if count is None else threads
