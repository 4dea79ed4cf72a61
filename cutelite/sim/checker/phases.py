"""Waits and arrivals on an mbarrier that may mean another phase than they meant in this schedule.

A wait tells phases apart by their parity alone, and an arrival counts in whichever phase is current. So

- a wait is after the completion of the phase before the one it is for: else it may take the one two before for it
- it is over before the next phase completes: else it may find the parity turned back, and wait for a later phase
- an arrival, and bytes expected or copied, are after the completion of the phase before: else they may count in that

In    what happens to one mbarrier, in the order of the schedule
Out   the threads for which nothing but the schedule orders it
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cutelite.ir.op import Op
from cutelite.sim.checker.clocks import PAST, Clocks, Published, Snapshot

Array = Any

WAITING = np.iinfo(np.int32).max
KEPT = 3  # phases whose arrivals are remembered


class Arrivals(NamedTuple):
    """Threads that arrived, and their clocks."""

    threads: Array
    clocks: Array


class Phases:
    """The phases of one mbarrier.

    agent     its clock in PAST is the number of phases known to be complete
    complete  the number of complete phases
    known     for each thread of the cluster: a lower bound of the number of phases that it knows to be complete
    waits     (phase, op) -> by threads of the cluster: the clock when the wait was over; WAITING; 0 for no wait.
              Phase -1 is the one before the first, which a wait for the other parity takes for complete
    arrivals  of a phase; None where bytes or asynchronous arrivals count in it: then to know them is not enough
    """

    def __init__(self, clocks: Clocks, agent: int) -> None:
        self.clocks, self.agent = clocks, agent
        cluster = int(clocks.cluster[agent])
        self.first, self._threads = clocks.firsts[cluster], clocks.threads[cluster]  # of the cluster
        self.complete = 0
        self.known = np.zeros(self._threads, np.int32)
        self.waits: dict[tuple[int, Op], Array] = {}
        self.arrivals: dict[int, list[Arrivals] | None] = {0: []}

    def begin(self, op: Op, threads: Array, parity: Array) -> Array:
        """Let threads begin to wait; returns those that may take an earlier phase for theirs."""
        astray = []
        for p in sorted(set((parity & 1).tolist())):
            mine = threads[parity & 1 == p]
            phase = self.complete - (p != self.complete & 1)
            self._wait(phase, op)[mine - self.first] = WAITING
            astray.append(self._unordered(mine, phase))
        return np.concatenate(astray)

    def end(self, threads: Array) -> None:
        """Note that threads have seen what they waited for."""
        local = threads - self.first
        for held in self.waits.values():
            over = held[local] == WAITING
            held[local[over]] = self.clocks.clock(PAST, threads[over])

    def tested(self, op: Op, threads: Array) -> Array:
        """Note that threads have seen a phase complete by a test; returns those that may have seen an earlier one."""
        phase = self.complete - 1
        self._wait(phase, op)[threads - self.first] = self.clocks.clock(PAST, threads)
        return self._unordered(threads, phase)

    def arrive(self, threads: Array, bytes: int) -> Array:
        """Let threads arrive, expecting `bytes` bytes; returns those that may be counted in the phase before."""
        held = self.arrivals[self.complete]
        if bytes:
            self.arrivals[self.complete] = None
        elif held is not None:
            held.append(Arrivals(threads, self.clocks.clock(PAST, threads)))
        return self._unordered(threads, self.complete)

    def expect(self, threads: Array) -> Array:
        """Let threads expect or count bytes; returns those whose bytes may be counted in the phase before."""
        self.arrivals[self.complete] = None
        return self._unordered(threads, self.complete)

    def finish(self, then: Snapshot) -> bool:
        """Let work that was started at `then` arrive or count its bytes; True if it can only be in this phase."""
        self.arrivals[self.complete] = None
        return not self.complete or self.clocks.had(then, PAST, self.agent, self.complete)

    def turn(self, coming: Published) -> list[tuple[Op, Array]]:
        """Complete the phase, by arrivals that know of `coming`; returns waits and threads that may be too late."""
        late = []
        for (phase, op), held in self.waits.items():
            if phase == self.complete - 1:
                threads = self.first + held.nonzero()[0]
                clocks = held[held != 0]
                known = np.zeros(len(threads), bool)
                for knowledge in coming.by.values():
                    known |= self.clocks.known(knowledge, PAST, threads, clocks)
                if not np.all(known):
                    late.append((op, threads[~known]))
        self.waits = {key: held for key, held in self.waits.items() if key[0] >= self.complete}
        self.arrivals.pop(self.complete - KEPT, None)
        self.complete += 1
        self.arrivals[self.complete] = []
        return late

    def _wait(self, phase: int, op: Op) -> Array:
        held = self.waits.get((phase, op))
        if held is None:
            held = self.waits[phase, op] = np.zeros(self._threads, np.int32)
        return held

    def _unordered(self, threads: Array, phase: int) -> Array:
        """Find the threads that do not know that all before `phase` is complete."""
        if phase < 1 or not len(threads):
            return threads[:0]
        left = threads[self.known[threads - self.first] < phase]
        if not len(left):
            return left
        self.known[left - self.first] = phase
        left = self.clocks.unaware(left, PAST, self.agent, phase)
        if not len(left):
            return left
        self.known[left - self.first] = 0
        return left[[not self._knows_arrivals(thread, phase - 1) for thread in left.tolist()]]

    def _knows_arrivals(self, thread: int, phase: int) -> bool:
        """Tell whether a thread knows of all arrivals of a phase, which then is complete."""
        arrivals = self.arrivals.get(phase)
        return arrivals is not None and all(
            np.all(self.clocks.known_to(np.full(len(threads), thread), PAST, threads, clocks))
            for threads, clocks in arrivals
        )
