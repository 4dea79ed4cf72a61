"""Asynchronous work: TMA, bulk copies, cp.async and wgmma, from their issue to the wait that retires them.

Each piece of work is executed in two steps: it reads its sources, and later writes its destination. The schedule
decides when: at once, as late as waits allow, or in between, with work of different instructions in any order. A wait
executes the work that it waits for. Work that arrives on an mbarrier is executed at the latest when no thread can go on
without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import numpy as np

from cutelite.sim.actors import DONE, ISSUED, READ, Executing, Work, WorkAgent
from cutelite.sim.events import Event, GroupWait, WorkDone, WorkSplit, WorkStart
from cutelite.sim.launch import SimLaunch

Array = Any


class Engine:
    """The asynchronous work of one CTA; implements `ir.simulation.Engine`.

    A ticket is the work itself. So a result is kept as long as a register, or work that has not begun, has its ticket.

    agent  makes the agent by which a piece of work accesses memory
    tell   tells the observer, if there is one
    """

    def __init__(
        self,
        launch: SimLaunch,
        agent: Callable[[Work], WorkAgent],
        tell: Callable[[Event], None] | None,
    ) -> None:
        self.launch, self._agent, self._tell = launch, agent, tell
        self.pending: list[Work] = []
        self._unwaited: WeakSet[Work] = WeakSet()  # done, with results, and no wait has retired it
        self._committed: dict[str, Array] = {}
        self._next_ticket = 1

    def start(
        self,
        lanes: Executing,
        queue: str,
        read: Callable[[WorkAgent], Any],
        write: Callable[[WorkAgent, Any], None] | None = None,
        *,
        lane: int | Array | None = None,
        in_order: bool = False,
        barrier: int | None = None,
        proxy: str = "async",
    ) -> Work:
        tid = lanes.tid[lanes.mask] if lane is None else lanes.tid[np.atleast_1d(lane)]
        group = self.committed(queue)[tid]
        work = Work(self._next_ticket, queue, lanes.op, tid, group, read, write, in_order, barrier, proxy)
        self._next_ticket += 1
        self.pending.append(work)
        if self._tell is not None:
            self._tell(WorkStart(work))
        if self.launch.policy.eager():
            self._finish(work)
        return work

    def held(self, lanes: Executing, queue: str, data: Any) -> Work:
        tid = lanes.tid[lanes.mask]
        work = Work(self._next_ticket, queue, lanes.op, tid, self.committed(queue)[tid], lambda _: data, None, True)
        self._next_ticket += 1
        work.stage, work.data, work.waited = DONE, data, True
        return work

    def commit(self, lanes: Executing, queue: str) -> None:
        self.committed(queue)[lanes.tid[lanes.mask]] += 1

    def wait(self, lanes: Executing, queue: str, pending: int | None = 0, *, reads_only: bool = False) -> None:
        due = np.zeros(self.launch.threads, np.int64)  # for each thread, the first group that need not be complete
        tid = lanes.tid[lanes.mask]
        due[tid] = self.committed(queue)[tid] + 1 if pending is None else self.committed(queue)[tid] - pending
        for work in [w for w in self._unwaited if w.queue == queue and np.count_nonzero(w.group < due[w.tid])]:
            work.waited = True
            self._unwaited.remove(work)
        for work in [w for w in self.pending if w.queue == queue and np.count_nonzero(w.group < due[w.tid])]:
            work.waited = work.waited or not reads_only
            if reads_only:
                self._read(work)
            else:
                self._finish(work if work.in_order else self._only(work, work.group < due[work.tid]))
        if self._tell is not None:
            self._tell(GroupWait(lanes, queue, pending, reads_only))

    def after(
        self, lanes: Executing, queue: str, action: Callable[[WorkAgent], None], *, lane: int | None = None
    ) -> None:
        threads = lanes.tid[lanes.mask] if lane is None else lanes.tid[lane : lane + 1]
        last = self._next_ticket

        def read(agent: WorkAgent) -> None:
            for work in [w for w in self.pending if w.queue == queue and w.ticket < last]:
                mine = np.isin(work.tid, threads)
                if np.count_nonzero(mine):
                    self._finish(self._only(work, mine))

        self.start(lanes, queue, read, lambda agent, _: action(agent), lane=lane, proxy="generic")

    def result(self, ticket: Work) -> Any:
        if ticket.stage != DONE or not ticket.waited:
            help = "commit its group, and wait for that group before the result is used"
            self._agent(ticket).fail("in-flight", f"a result of {ticket.op.name} that no wait retired", help=help)
        return ticket.data

    def committed(self, queue: str) -> Array:
        """Return, for each thread, the number of groups that it has committed in `queue`."""
        found = self._committed.get(queue)
        if found is None:
            found = self._committed[queue] = np.zeros(self.launch.threads, np.int64)
        return found

    # For the scheduler

    def progress(self, choose: Callable[[int], int]) -> bool:
        """Execute one step of one piece of work, which `choose(n)` picks among n; return False if there is none."""
        pending = self.pending
        able = [x for x in pending if not x.in_order or not any(self._precedes(other, x) for other in pending)]
        if not able:
            return False
        work = able[choose(len(able))]
        if work.stage == ISSUED and work.write is not None:
            self._read(work)
        else:
            self._finish(work)
        return True

    def drain(self, queues: tuple[str, ...] | None = None) -> None:
        """Execute all pending work, or all in these queues."""
        for work in list(self.pending):
            if queues is None or work.queue in queues:
                self._finish(work)

    def take_result(self, ticket: Work) -> Any:
        """Return the result of this work's `read`; execute the work first if it is pending."""
        self._finish(ticket)
        return ticket.data

    def _only(self, work: Work, threads: Array) -> Work:
        """Restrict work to those of its threads that are in a mask; the part of the others stays pending."""
        if np.count_nonzero(threads) < len(threads):
            rest = work.split(threads)
            self.pending.insert(self.pending.index(work) + 1, rest)
            if self._tell is not None:
                self._tell(WorkSplit(work, rest))
        return work

    def _precedes(self, other: Work, work: Work) -> bool:
        return (
            other.in_order and other.queue == work.queue and other.ticket < work.ticket and other.tid[0] == work.tid[0]
        )

    def _read(self, work: Work) -> None:
        if work.stage != ISSUED:
            return
        if work.in_order:
            for other in [w for w in self.pending if self._precedes(w, work)]:
                self._finish(other)
        work.stage = READ
        work.data = work.read(self._agent(work))
        self.launch.stirred()

    def _finish(self, work: Work) -> None:
        self._read(work)
        if work.stage == DONE:
            return
        work.stage = DONE
        self.pending.remove(work)
        if work.write is not None:
            work.write(self._agent(work), work.data)
        elif not work.waited:
            self._unwaited.add(work)
        if self._tell is not None:
            self._tell(WorkDone(work))
        work.forget()
        self.launch.stirred()
