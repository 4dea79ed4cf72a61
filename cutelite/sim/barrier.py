"""Execution barriers: the 16 named barriers of a CTA, and the barrier of a cluster (PTX ISA: barrier, barrier.cluster).

A named barrier counts threads. A warp counts as 32 once all its threads that have not exited have arrived. Without a
count the barrier completes when all threads of the CTA that have not exited have arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np

from cutelite.ir.simulation import Wait
from cutelite.ops.sync import BARRIERS
from cutelite.sim.actors import Executing
from cutelite.sim.events import BarrierArrive, BarrierGeneration, ClusterArrive, ClusterPhase, Event
from cutelite.sim.roster import Roster
from cutelite.target.targets import WARP

Array = Any


_COMBINE: dict[str, Callable[[Array, int | None], int]] = {
    "and": lambda mine, before: int(np.all(mine) and before != 0),
    "or": lambda mine, before: int(np.any(mine) or bool(before)),
    "popc": lambda mine, before: int(np.count_nonzero(mine)) + (before or 0),
}
"""For barrier.red: combine the predicates of some threads with the value combined before, None at first."""


class Barrier:
    """One named barrier.

    generation  the number of times it has completed
    count       threads that take part in this generation; None: all that have not exited
    here        bool (lanes of the CTA's warps,): the thread has arrived; exited threads of its warp count too
    action      the reduction of those that have arrived; '' of barrier.sync and barrier.arrive
    value       the value of barrier.red combined so far; `result`: the value of the previous generation
    """

    __slots__ = ("action", "count", "generation", "here", "result", "value")

    def __init__(self, lanes: int) -> None:
        self.generation = 0
        self.count: int | None = None
        self.action = ""
        self.here = np.zeros(lanes, bool)
        self.value: int | None = None
        self.result = 0


class ClusterBarrier:
    """The barrier of a cluster.

    live              bool (ranks, threads): which threads have not exited
    arrived           the same shape: those that have arrived in the current `phase`
    phase_of_arrival  the same shape: for threads that have arrived and not waited yet, the phase; -1 for others
    """

    def __init__(self, live: Array, changed: Callable[[], None]) -> None:
        self.live, self._changed = live, changed
        self.arrived = np.zeros_like(live)
        self.phase_of_arrival = np.full(live.shape, -1, np.int64)
        self.phase = 0

    def complete_if_full(self) -> None:
        """Complete the phase if all threads that have not exited have arrived."""
        if self.arrived.any() and not np.count_nonzero(self.live & ~self.arrived):
            self.phase += 1
            self.arrived[:] = False
            self._changed()

    def why(self) -> str:
        """Return the reason to wait, for reports."""
        return f"cluster barrier: {np.count_nonzero(self.arrived)} of {np.count_nonzero(self.live)} threads arrived"


class Barriers:
    """The named barriers of one CTA, and its use of the cluster's; implements `ir.simulation.Barriers`.

    changed  called when a barrier completes
    tell     tells the observer, if there is one
    """

    def __init__(
        self,
        roster: Roster,
        cluster: ClusterBarrier,
        rank: int,
        changed: Callable[[], None],
        tell: Callable[[Event], None] | None,
    ) -> None:
        self.roster, self.cluster, self.rank, self._changed, self._tell = roster, cluster, rank, changed, tell
        self._warps = -(-roster.threads // WARP)
        self.named = [Barrier(self._warps * WARP) for _ in range(BARRIERS)]

    def sync(self, lanes: Executing, id: Array | int = 0, count: Array | int | None = None) -> Wait:
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

    def arrive(self, lanes: Executing, id: Array | int, count: Array | int) -> None:
        for which in _groups(lanes, id, count):
            self._arrive(lanes, *which)

    def reduce(
        self, lanes: Executing, id: Array | int, count: Array | int | None, action: str, a: Array
    ) -> Generator[Wait, None, Array]:
        results = np.zeros(len(lanes.tid), np.int64)
        for where, number, expected in _groups(lanes, id, count):
            barrier = self.named[number]
            mine = a[where].astype(bool)
            barrier.value = _COMBINE[action](mine, barrier.value)
            _, wait = self._arrive(lanes, where, number, expected, action)
            yield wait
            results[where] = barrier.result
        return results

    def check_exits(self) -> None:
        """Complete barriers that waited only for threads that have now exited."""
        for barrier in self.named:
            if barrier.count is None and barrier.here.any():
                self._complete_if_full(barrier)

    def _arrive(
        self, lanes: Executing, where: Array, number: int, count: int | None, action: str = ""
    ) -> tuple[Array, Wait]:
        whole = self._warps * WARP
        if not 0 <= number < BARRIERS:
            lanes.fault(where, f"there is no barrier {number}: they are numbered 0 to {BARRIERS - 1}", "barrier")
        if count is not None and (count <= 0 or count % WARP):
            lanes.fault(where, f"barrier {number} for {count} threads: must be a multiple of {WARP}", "barrier")
        if count is not None and count > whole:
            text = f"barrier {number} for {count} threads in a block of {self.roster.threads}"
            lanes.fault(where, text, "barrier", "it can never complete")
        barrier = self.named[number]
        begun = barrier.here.any()
        if begun and {barrier.count, count} == {None, whole}:
            barrier.count = count = whole  # without a count, all threads of the CTA take part: the same number
        if begun and barrier.count != count:
            text = f"barrier {number}: {count or 'all'} threads take part here, but {barrier.count or 'all'} elsewhere"
            lanes.fault(where, text, "barrier", "give all its threads the same count")
        if begun and barrier.action != action:
            both = " and ".join(f"barrier.red.{a}" if a else "barrier.sync" for a in sorted({barrier.action, action}))
            text = f"barrier {number}: threads come to it by {both} at once"
            lanes.fault(where, text, "barrier", "let all execute the same, or give one of them another number")
        barrier.count, barrier.action = count, action
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
        on = BarrierGeneration(number, generation)
        if self._tell is not None:
            self._tell(BarrierArrive(lanes, on, where))
        self._complete_if_full(barrier)
        return where, Wait(
            lambda: barrier.generation != generation, lambda: self._why(number), ((where, on),),
            lambda: self._advice(number),
        )  # fmt: skip

    def _arrived(self, barrier: Barrier) -> int:
        """Return the number of threads that count as arrived."""
        if barrier.count is None:
            return int(np.count_nonzero(barrier.here))
        here = barrier.here.reshape(-1, WARP)
        live = np.zeros(len(barrier.here), bool)
        live[: self.roster.threads] = self.roster.live
        whole = here.any(axis=1) & ~(live.reshape(-1, WARP) & ~here).any(axis=1)
        return int(np.where(whole, WARP, here.sum(axis=1)).sum())

    def _expected(self, barrier: Barrier) -> int:
        return self.roster.live_count if barrier.count is None else barrier.count

    def _complete_if_full(self, barrier: Barrier) -> None:
        if self._arrived(barrier) >= self._expected(barrier):
            barrier.generation += 1
            barrier.here[:] = False
            barrier.result, barrier.value = barrier.value or 0, None
            self._changed()

    def _why(self, number: int) -> str:
        barrier = self.named[number]
        return f"barrier {number}: {self._arrived(barrier)} of {self._expected(barrier)} threads arrived"

    def _advice(self, number: int) -> str:
        barrier = self.named[number]
        if barrier.count is None:
            return ""
        return (
            f"give all that come to barrier {number} the number of threads that do, which is {self._arrived(barrier)} "
            "here, or let the others come"
        )

    # The barrier of the cluster

    def cluster_arrive(self, lanes: Executing) -> None:
        cluster, rank = self.cluster, self.rank
        help = "every arrival at the cluster barrier needs its wait before the next one"
        again = cluster.phase_of_arrival[rank, lanes.tid % self.roster.threads] >= 0
        lanes.fault(again, "a second arrival at the cluster barrier before its wait", "barrier", help)
        mine = lanes.tid[lanes.mask]
        cluster.phase_of_arrival[rank, mine] = cluster.phase
        cluster.arrived[rank, mine] = True
        if self._tell is not None:
            self._tell(ClusterArrive(lanes, ClusterPhase(cluster.phase)))
        cluster.complete_if_full()

    def cluster_wait(self, lanes: Executing) -> Wait:
        cluster, rank = self.cluster, self.rank
        tid = lanes.tid % self.roster.threads
        phase = cluster.phase_of_arrival[rank, tid]
        lanes.fault(phase < 0, "a wait at the cluster barrier without an arrival", "barrier")
        cluster.phase_of_arrival[rank, lanes.tid[lanes.mask]] = -1
        on = tuple((lanes.mask & (phase == n), ClusterPhase(n)) for n in sorted(set(phase[lanes.mask].tolist())))
        return Wait(lambda: cluster.phase > phase, cluster.why, on)


def _groups(lanes: Executing, id: Array | int, count: Array | int | None) -> Iterator[tuple[Array, int, int | None]]:
    """Yield a mask of the lanes that name the same barrier and count, the barrier, and the count."""
    if isinstance(id, int) and (count is None or isinstance(count, int)):
        yield lanes.mask, id, count
        return
    ids = np.broadcast_to(np.asarray(id, np.int64), lanes.mask.shape)
    counts = np.broadcast_to(np.asarray(-1 if count is None else count, np.int64), lanes.mask.shape)
    for number, threads in sorted(set(zip(ids[lanes.mask].tolist(), counts[lanes.mask].tolist(), strict=True))):
        yield lanes.mask & (ids == number) & (counts == threads), number, None if count is None else threads
