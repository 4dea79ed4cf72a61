"""Find waits and arrivals on an mbarrier that may be for another phase than in this schedule.

A wait distinguishes phases by their parity alone, and an arrival counts in the current phase. So

- a wait must be after the completion of the phase before its own: otherwise it may return for the phase two before
- it must be over before the next phase completes: otherwise it may see the old parity again, and wait for a later phase
- an arrival, and bytes expected or copied, must be after the completion of the phase before: otherwise they may count
  in that

In    the operations on one mbarrier, in the order of the schedule
Out   the threads for which only the schedule gives this order
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.ir.op import Op
from cutelite.sim.checker.clocks import Clocks
from cutelite.sim.checker.knowledge import PAST, Published, Snapshot
from cutelite.tuples import NamedTuple

Array = Any

WAITING = np.iinfo(np.int32).max
KEPT = 3  # phases whose arrivals are remembered


class Arrivals(NamedTuple):
    """Threads that arrived, and their clocks."""

    threads: Array
    clocks: Array


class Phases:
    """The phases of one mbarrier.

    agent     the mbarrier's agent; its clock in PAST is the number of phases known to be complete
    complete  the number of complete phases
    known     for each thread of the cluster, a lower bound of the number of phases that it knows to be complete
    waits     (phase, op) -> for each thread of the cluster the clock when its wait was over; WAITING; 0 for no wait.
              Phase -1 is before the first; a wait for the other parity sees it as complete
    arrivals  phase -> its arrivals; None where bytes or asynchronous arrivals also count in it, so that knowing the
              arrivals is not enough
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
        """Let threads begin to wait; return those whose wait may be satisfied by an earlier phase."""
        latest = (parity & 1) == (self.complete & 1)
        count = np.count_nonzero(latest)
        if count == 0 or count == len(threads):
            return self._begin(op, threads, self.complete - (count == 0))
        earlier = self._begin(op, threads[~latest], self.complete - 1)
        return np.concatenate([earlier, self._begin(op, threads[latest], self.complete)])

    def _begin(self, op: Op, threads: Array, phase: int) -> Array:
        self._wait(phase, op)[threads - self.first] = WAITING
        return self._unordered(threads, phase)

    def end(self, threads: Array, clocks: Array) -> None:
        """Record that threads have seen the phase that they waited for, at these clocks."""
        local = threads - self.first
        for held in self.waits.values():
            over = held[local] == WAITING
            if np.count_nonzero(over):
                held[local[over]] = clocks[over]

    def tested(self, op: Op, threads: Array) -> Array:
        """Record that a test found a phase complete; return the threads that may have seen an earlier phase."""
        phase = self.complete - 1
        self._wait(phase, op)[threads - self.first] = self.clocks.clock(PAST, threads)
        return self._unordered(threads, phase)

    def arrive(self, threads: Array, bytes: int) -> Array:
        """Let threads arrive, expecting `bytes` bytes; return those that may be counted in the phase before."""
        held = self.arrivals[self.complete]
        if bytes:
            self.arrivals[self.complete] = None
        elif held is not None:
            held.append(Arrivals(threads, self.clocks.clock(PAST, threads)))
        return self._unordered(threads, self.complete)

    def expect(self, threads: Array) -> Array:
        """Let threads expect or complete bytes; return those whose bytes may be counted in the phase before."""
        self.arrivals[self.complete] = None
        return self._unordered(threads, self.complete)

    def finish(self, then: Snapshot) -> bool:
        """Let work that was started at `then` arrive or complete bytes; return True if it can only be in this phase."""
        self.arrivals[self.complete] = None
        return not self.complete or self.clocks.had(then, PAST, self.agent, self.complete)

    def turn(self, coming: Published) -> list[tuple[Op, Array]]:
        """Complete the phase, by arrivals that released `coming`; return waits whose threads may be late."""
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
        """Return the threads that do not know that all phases before `phase` are complete."""
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
        """Tell whether a thread knows all arrivals of a phase, and so knows that it is complete."""
        arrivals = self.arrivals.get(phase)
        return arrivals is not None and all(
            np.all(self.clocks.known_to(np.full(len(threads), thread), PAST, threads, clocks))
            for threads, clocks in arrivals
        )


class Rounds:
    """The generations of one named barrier: an arrival must be after the completion of the one before.

    Otherwise it may count in that, in place of a thread that it is meant for. Who waits at the barrier knows that it is
    complete; who only arrives has to learn it elsewhere.

    generation  the one that arrivals count in now
    known       for each thread of the block, how many generations it is known to have seen complete
    here        arrivals of this generation so far, `before` those of the one before; each with its op
    """

    def __init__(self, first: int, threads: int) -> None:
        self.first, self.generation = first, 0
        self.known = np.zeros(threads, np.int32)
        self.here: list[tuple[Op, Arrivals]] = []
        self.before: list[tuple[Op, Arrivals]] = []

    def arrive(self, op: Op, threads: Array, clocks: Clocks, generation: int) -> tuple[Array, Op | None]:
        """Let threads arrive; return those that may count in the generation before, and an op that arrived there."""
        if generation != self.generation:
            self.generation, self.before, self.here = generation, self.here, []
        left = threads[self.known[threads - self.first] < generation]
        astray, other = threads[:0], None
        if len(left):
            self.known[left - self.first] = generation
            for op_before, (there, then) in self.before:
                ahead = [
                    not np.all(clocks.known_to(np.full(len(there), one), PAST, there, then)) for one in left.tolist()
                ]
                if any(ahead) and other is None:
                    astray, other = left[ahead], op_before
        self.here.append((op, Arrivals(threads, clocks.clock(PAST, threads))))
        return astray, other

    def end(self, threads: Array, generation: int) -> None:
        """Record that threads have waited for a generation."""
        self.known[threads - self.first] = generation + 1
