"""The actors of a simulation: threads that execute an op, and asynchronous work that threads started.

The parts of a CTA (`engine`, `mbarrier`, `barrier`, `registers`) see threads through the protocol `Executing`, so they
import no module above them. `Strand` and `Crowd` implement it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, NoReturn

import numpy as np

from cutelite.ir.op import Op
from cutelite.ir.simulation import Agent
from cutelite.records import Protocol
from cutelite.sim.error import Place

Array = Any


class Accuser(Protocol):
    """The maker of an access, through which mistakes in it are reported: threads, or asynchronous work."""

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
        """Raise a `SimError`; `element` is the index of the faulty address in the access."""


class Executing(Accuser, Protocol):
    """Threads of one CTA that execute an op together.

    op    the op
    mask  bool (lanes,): which lanes are active
    tid   int64 (lanes,): linear thread index in the CTA
    """

    op: Op
    mask: Array
    tid: Array

    def fault(self, where: Array, message: str, code: str = "fault", help: str = "") -> None:
        """Raise a `SimError` if any active lane of `where` is true."""


class WorkAgent(Agent, Accuser, Protocol):
    """Asynchronous work while it accesses memory; `machine.Agent` implements it."""

    def place(self, space: str, address: int) -> Place:
        """Return the allocation at an address, for reports."""

    def uses_descriptor(self, address: int) -> None:
        """Tell the observer that the work goes by the TMA descriptor at an address of global memory."""


ISSUED, READ, DONE = range(3)
"""Stages of asynchronous work."""


class Work:
    """One piece of asynchronous work.

    tid     the threads that started it
    group   for each of them, the number of groups it had committed in `queue` before: the index of the work's group
    part    for each of them, its position among the threads that started the work, of which `split` removes some
    waited  whether a wait has retired it. Before that a kernel may not rely on it, even if it is done
    """

    __slots__ = (
        "__weakref__", "barrier", "data", "group", "in_order", "op", "part", "proxy", "queue", "read", "stage",
        "ticket", "tid", "waited", "write",
    )  # fmt: skip

    def __init__(
        self,
        ticket: int,
        queue: str,
        op: Op,
        tid: Array,
        group: Array,
        read: Callable[[WorkAgent], Any],
        write: Callable[[WorkAgent, Any], None] | None,
        in_order: bool,
        barrier: int | None = None,
        proxy: str = "async",
    ) -> None:
        self.ticket, self.queue, self.op, self.tid, self.group = ticket, queue, op, tid, group
        self.read, self.write, self.in_order = read, write, in_order
        self.barrier, self.proxy = barrier, proxy
        self.part = np.arange(len(tid))
        self.stage = ISSUED
        self.waited = False
        self.data: Any = None

    def forget(self) -> None:
        """Let go of what only its execution needs, other work among it; keep a result."""
        if self.write is not None:
            self.data = None
        self.read, self.write = _over, None

    def split(self, keep: Array) -> Work:
        """Keep the threads of a mask, and return the same work of the others."""
        rest = copy(self)
        for work, mine in ((self, keep), (rest, ~keep)):
            work.tid, work.group, work.part = work.tid[mine], work.group[mine], work.part[mine]
            if work.stage == READ:
                work.data = work.data[mine]
        return rest


def _over(agent: WorkAgent) -> Any:
    raise AssertionError("asynchronous work is executed once")
