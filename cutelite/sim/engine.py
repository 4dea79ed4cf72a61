"""Asynchronous work: what TMA, bulk copies, cp.async and wgmma do between their issue and the wait that retires them.

Each piece of work has two moments: it reads its sources, and later writes its destination. When they happen is for
the schedule to choose: at once, as late as a wait allows, or somewhere in between, work of different instructions
in any order. A wait executes what it waits for; work that ends on an mbarrier is executed at the latest when no
thread can go on without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cutelite.diag import Mistake
from cutelite.ir.op import Op
from cutelite.ir.types import Scalar
from cutelite.sim.atomics import atomic
from cutelite.sim.error import Place, SimError

if TYPE_CHECKING:
    from cutelite.sim.lanes import ThreadLanes
    from cutelite.sim.machine import Machine

Array = Any

ISSUED, READ, DONE = range(3)
RESULTS_KEPT = 256  # of retired work that writes registers: a wait asks for them a few instructions later


class Work:
    """One piece of work.

    tid    the threads that started it
    group  for each of them, how many groups it had committed in `queue` before: the group it belongs to
    waited a wait has retired it: being done is luck, until then
    """

    __slots__ = (
        "barrier", "data", "group", "in_order", "op", "proxy", "queue", "read", "stage", "ticket", "tid", "waited",
        "write",
    )  # fmt: skip

    def __init__(
        self,
        ticket: int,
        queue: str,
        op: Op,
        tid: Array,
        group: Array,
        read: Callable[[Agent], Any],
        write: Callable[[Agent, Any], None] | None,
        in_order: bool,
        barrier: int | None = None,
        proxy: str = "async",
    ) -> None:
        self.ticket, self.queue, self.op, self.tid, self.group = ticket, queue, op, tid, group
        self.read, self.write, self.in_order = read, write, in_order
        self.barrier, self.proxy = barrier, proxy
        self.stage = ISSUED
        self.waited = False
        self.data: Any = None


class Engine:
    """The asynchronous work of one CTA; implements `ir.simulation.Engine`."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.pending: list[Work] = []
        self.retired: dict[int, Work] = {}
        self._committed: dict[str, Array] = {}
        self._next_ticket = 1

    def start(
        self,
        lanes: ThreadLanes,
        queue: str,
        read: Callable[[Agent], Any],
        write: Callable[[Agent, Any], None] | None = None,
        *,
        lane: int | None = None,
        in_order: bool = False,
        barrier: int | None = None,
        proxy: str = "async",
    ) -> int:
        tid = lanes.tid[lanes.mask] if lane is None else lanes.tid[lane : lane + 1]
        group = self._groups(queue)[tid]
        work = Work(self._next_ticket, queue, lanes.op, tid, group, read, write, in_order, barrier, proxy)
        self._next_ticket += 1
        self.pending.append(work)
        self.machine.event("async.start", lanes, work=work)
        if self.machine.launch.policy.eager():
            self._finish(work)
        return work.ticket

    def commit(self, lanes: ThreadLanes, queue: str) -> None:
        self._groups(queue)[lanes.tid[lanes.mask]] += 1

    def wait(self, lanes: ThreadLanes, queue: str, pending: int | None = 0, *, reads_only: bool = False) -> None:
        due = np.zeros(self.machine.threads, np.int64)  # for each thread, the first group that need not be complete
        tid = lanes.tid[lanes.mask]
        due[tid] = self._groups(queue)[tid] + 1 if pending is None else self._groups(queue)[tid] - pending
        for work in self.retired.values():
            if work.queue == queue and not work.waited:
                work.waited = bool(np.count_nonzero(work.group < due[work.tid]))
        for work in [w for w in self.pending if w.queue == queue and np.count_nonzero(w.group < due[w.tid])]:
            work.waited = work.waited or not reads_only
            if reads_only:
                self._read(work)
            else:
                self._finish(work)
        self.machine.event("async.wait", lanes, queue=queue, pending=pending, reads_only=reads_only)

    def after(
        self, lanes: ThreadLanes, queue: str, action: Callable[[Agent], None], *, lane: int | None = None
    ) -> None:
        threads = set((lanes.tid[lanes.mask] if lane is None else lanes.tid[lane : lane + 1]).tolist())
        before = [w for w in self.pending if w.queue == queue and not threads.isdisjoint(w.tid.tolist())]

        def read(agent: Agent) -> None:
            for work in before:
                self._finish(work)

        self.start(lanes, queue, read, lambda agent, _: action(agent), lane=lane, proxy="generic")

    def result(self, ticket: int, of_work: bool = False) -> Any:
        done = self.retired.get(ticket)
        if done is not None and (done.waited or of_work):
            return done.data
        for work in [done] if done is not None else self.pending:
            if work.ticket == ticket:
                help = "commit its group, and wait for that group before the result is used"
                Agent(self.machine, work).fail(
                    "in-flight", f"a result of {work.op.name} that no wait retired", help=help
                )
        raise LookupError(f"there is no asynchronous work {ticket}, or its result was asked for too late")

    def in_flight(self, lanes: ThreadLanes, queue: str) -> bool:
        threads = set(lanes.tid[lanes.mask].tolist())
        return any(w.queue == queue and not threads.isdisjoint(w.tid.tolist()) for w in self.pending)

    def committed(self, queue: str) -> Array:
        """For each thread, how many groups it has committed."""
        return self._groups(queue)

    # For the scheduler

    def progress(self, choose: Callable[[int], int]) -> bool:
        """Execute one moment of one piece of work that can be; `choose(n)` picks one of n. Whether there was any."""
        able = [work for work in self.pending if self._is_first(work)]
        if not able:
            return False
        work = able[choose(len(able))]
        if work.stage == ISSUED and work.write is not None:
            self._read(work)
        else:
            self._finish(work)
        return True

    def drain(self, queues: tuple[str, ...] | None = None) -> None:
        """Execute all that is pending, or all in these queues."""
        for work in list(self.pending):
            if queues is None or work.queue in queues:
                self._finish(work)

    def take_result(self, ticket: int) -> Any:
        """What `read` of this work gave; executes the work if it is pending."""
        for work in self.pending:
            if work.ticket == ticket:
                self._finish(work)
                break
        return self.result(ticket, of_work=True)

    def _groups(self, queue: str) -> Array:
        """For each thread, how many groups it has committed in `queue`."""
        found = self._committed.get(queue)
        if found is None:
            found = self._committed[queue] = np.zeros(self.machine.threads, np.int64)
        return found

    def _is_first(self, work: Work) -> bool:
        return not work.in_order or not any(self._precedes(other, work) for other in self.pending)

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
        work.data = work.read(Agent(self.machine, work))
        self.machine.launch.changed()

    def _finish(self, work: Work) -> None:
        self._read(work)
        if work.stage == DONE:
            return
        work.stage = DONE
        self.pending.remove(work)
        if work.write is not None:
            work.write(Agent(self.machine, work), work.data)
        else:
            self.retired[work.ticket] = work
            if len(self.retired) > RESULTS_KEPT:
                del self.retired[next(iter(self.retired))]
        self.machine.event("async.done", None, work=work)
        self.machine.launch.changed()


class Agent:
    """The hand of the engine in one piece of work; implements `ir.simulation.Agent`."""

    __slots__ = ("machine", "work")

    def __init__(self, machine: Machine, work: Work) -> None:
        self.machine, self.work = machine, work

    def load(self, space: str, address: Array, elem: Scalar, n: int = 1) -> Array:
        return self.machine.spaces[space].load(address, elem, n, self)

    def store(self, space: str, address: Array, elem: Scalar, data: Array) -> None:
        self.machine.spaces[space].store(address, elem, data, self)

    def atomic(self, space: str, address: Array, action: str, elem: Scalar, operand: Array) -> None:
        atomic(self.machine.spaces[space], address.reshape(-1), action, elem, operand.reshape(-1), None, self)

    def complete_tx(self, address: int, bytes: int) -> None:
        self.machine.mbarriers.complete_tx(self, np.array([address]), bytes)

    def arrive(self, address: int, count: int = 1) -> None:
        self.machine.mbarriers.arrive_later(self, address, count)

    def result(self, ticket: int) -> Any:
        return self.machine.engine.take_result(ticket)

    def fail(
        self,
        code: str,
        title: str,
        *,
        element: int | None = None,
        place: Place | None = None,
        label: str = "",
        help: str = "",
    ) -> NoReturn:
        machine = self.machine
        raise SimError(
            Mistake(code, title, label or "by this asynchronous operation", help),
            kernel=machine.launch.kernel,
            seed=machine.launch.seed,
            op=self.work.op,
            block=machine.block,
            threads=[machine.thread(tid) for tid in self.work.tid.tolist()],
            place=place,
        )
