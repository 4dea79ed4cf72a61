"""Records of the model: of each block, each mbarrier, and each group of asynchronous work."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.sim.actors import Work
from cutelite.sim.checker.knowledge import Knowledge, Published
from cutelite.sim.checker.phases import Phases
from cutelite.sim.launch import SimLaunch
from cutelite.sim.machine import Machine
from cutelite.sim.memory import Region
from cutelite.tuples import NamedTuple

Array = Any


class Group(NamedTuple):
    """Asynchronous work that is waited for together.

    number  the number of the group
    ticket  the ticket of the last work in it
    past    the waits and arrivals that all threads which started it together have behind them
    """

    number: int
    ticket: int
    past: Knowledge


class Beside(NamedTuple):
    """An access to shared memory by a copy that counts its bytes on an mbarrier, for others that count there beside it.

    offset, unit  where it accesses `unit` bytes each
    first, end    of these bytes
    site          the number of the site
    """

    work: Work
    machine: Machine
    region: Region
    offset: Array
    unit: int
    first: int
    end: int
    site: int


class Exited(NamedTuple):
    """A block that has exited, for naming its threads."""

    block: tuple[int, int, int]
    launch: SimLaunch

    def thread(self, tid: int) -> tuple[int, int, int]:
        return self.launch.thread(tid)


class Block:
    """A resident block: the first agent of its threads."""

    __slots__ = ("cluster", "first", "machine", "number", "rank")

    def __init__(self, machine: Machine, number: int, first: int) -> None:
        self.machine, self.number, self.first = machine, number, first
        self.cluster, self.rank = machine.cluster, machine.rank


class Barrier:
    """One live mbarrier.

    place    its name, such as 'full[2]'
    init     agent and clock of its initialisation, and the op
    phases   its phases, and which threads know them to be complete
    coming   the knowledge released to the current phase so far
    done     the knowledge that a thread acquires which sees the latest complete phase
    agent    stands for the copies that count bytes on it; its clock is the phase. `stores` for those that the async
             proxy does not make (st.async), so that it sees them behind a proxy fence; 0 where there are none
    used     latest clock, by threads of the cluster, of arrivals
    waited   likewise, the clock when the latest wait was over; `WAITING` where it is not
    finished latest phase, counted from 1 on, that asynchronous work has arrived in or counted bytes in; 0 for none
    aware    threads of the cluster that know of its initialisation
    arrived  latest phase, likewise, that an arrival was for: who sees that complete knows of the arrival
    sources  ops that arrive
    """

    def __init__(self, place: str, agent: int, clock: int, op: Any, phases: Phases, threads: int) -> None:
        self.place = place
        self.init = (agent, clock)
        self.op = op
        self.phases = phases
        self.coming = Published()
        self.done = Published()
        self.agent = phases.agent
        self.stores = 0
        self.used = np.zeros(threads, np.int32)
        self.waited = np.zeros(threads, np.int32)
        self.finished = 0
        self.aware = np.zeros(threads, bool)
        self.arrived = np.zeros(threads, np.int32)
        self.sources: dict[Any, None] = {}

    @property
    def phase(self) -> int:
        """The number of complete phases."""
        return self.phases.complete
