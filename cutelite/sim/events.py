"""Events that the simulator reports to an observer, besides accesses: everything that orders these, a class each.

In    the parts of a CTA, which make an event where it happens, and only if there is an observer
Out   `Observer.event`, which matches on the class; the checker of the memory model and the timeline are observers

`lanes` are the threads that execute an op; `where` and `tried` are bool masks over them, `lane` is an index in them.
Addresses are of shared memory, with the rank of the block in its upper bits (`sim.memory.RANK_SHIFT`).
"""

from __future__ import annotations

from typing import Any, Protocol

from cutelite.ir.op import Op
from cutelite.ir.simulation import Wait
from cutelite.records import dataclass
from cutelite.sim.actors import Executing, Work
from cutelite.sim.memory import Observer as MemoryObserver
from cutelite.tuples import NamedTuple

Array = Any

# What threads wait for: `Wait.on` has these.


@dataclass(frozen=True, slots=True)
class BarrierGeneration:
    """A named barrier, and the number of times it had completed before."""

    number: int
    generation: int

    def earlier(self, by: int) -> BarrierGeneration:
        return BarrierGeneration(self.number, self.generation - by)


@dataclass(frozen=True, slots=True)
class ClusterPhase:
    """The barrier of the cluster, and the number of times it had completed before."""

    phase: int

    def earlier(self, by: int) -> ClusterPhase:
        return ClusterPhase(self.phase - by)


@dataclass(frozen=True, slots=True)
class MbarrierAt:
    """The mbarrier at an address."""

    address: int


Awaited = BarrierGeneration | ClusterPhase | MbarrierAt


# Threads


class Together(NamedTuple):
    """All lanes of one or more warps execute an instruction together."""

    lanes: Executing


class Resume(NamedTuple):
    """Threads `tid` go on after `wait`; `positions` are their indices among the lanes that waited."""

    op: Op
    wait: Wait
    tid: Array
    positions: Array


class Exit(NamedTuple):
    """Threads leave the kernel."""

    tid: Array


@dataclass(frozen=True, slots=True)
class Retire:
    """The CTA has ended: its threads have exited, its asynchronous work is done."""


class Fence(NamedTuple):
    """A fence, by its PTX name: 'proxy.async', 'mbarrier_init', 'acq_rel.cluster', 'wgmma', 'warp', 'grid'."""

    lanes: Executing
    kind: str


# Execution barriers


class BarrierArrive(NamedTuple):
    """Threads arrive at a named barrier."""

    lanes: Executing
    on: BarrierGeneration
    where: Array


class ClusterArrive(NamedTuple):
    """Threads arrive at the barrier of the cluster."""

    lanes: Executing
    on: ClusterPhase


# mbarriers


class MbarrierInit(NamedTuple):
    """A thread initialises an mbarrier."""

    lanes: Executing
    address: int
    lane: int


class MbarrierInval(NamedTuple):
    """A thread invalidates an mbarrier."""

    lanes: Executing
    address: int
    lane: int


class MbarrierArrive(NamedTuple):
    """Threads arrive on an mbarrier, and expect `expect` more bytes."""

    lanes: Executing
    address: int
    expect: int
    where: Array


class MbarrierExpect(NamedTuple):
    """A thread changes the bytes that the current phase expects: more of them, or with `complete` fewer."""

    lanes: Executing
    address: int
    lane: int
    complete: bool


class MbarrierWait(NamedTuple):
    """Threads `where` begin to wait, each for the phase of its `parity` of the mbarrier at `address`."""

    lanes: Executing
    address: int
    where: Array
    parity: Array


class MbarrierTest(NamedTuple):
    """Threads `tried` have tested whether a phase is complete; for those of `where` it was."""

    lanes: Executing
    address: int
    where: Array
    tried: Array


class MbarrierPhase(NamedTuple):
    """A phase completes, by `op`."""

    address: int
    op: Op


# Asynchronous work


class WorkStart(NamedTuple):
    """Threads have started work."""

    work: Work


class WorkSplit(NamedTuple):
    """Work of several threads ends for some of them; from now on `rest` is the work of the others."""

    work: Work
    rest: Work


class WorkArrive(NamedTuple):
    """Work arrives on an mbarrier, as cp.async.mbarrier.arrive does."""

    work: Work
    address: int


class WorkComplete(NamedTuple):
    """Work counts the bytes that it has moved on an mbarrier."""

    work: Work
    address: int


class WorkDescribed(NamedTuple):
    """Work has used the TMA descriptor at an address of global memory, which must stay until the work is done."""

    work: Work
    address: int


class WorkDone(NamedTuple):
    """Work is done."""

    work: Work


class GroupWait(NamedTuple):
    """Threads have waited for all but the latest `pending` groups of a queue, or for everything (None)."""

    lanes: Executing
    queue: str
    pending: int | None
    reads_only: bool


class TmemFree(NamedTuple):
    """A warp frees `columns` columns of tensor memory from column `first` on, of the block of that rank."""

    lanes: Executing
    rank: int
    first: int
    columns: int


Event = (
    Together | Resume | Exit | Retire | Fence | BarrierArrive | ClusterArrive | MbarrierInit | MbarrierInval
    | MbarrierArrive | MbarrierExpect | MbarrierWait | MbarrierTest | MbarrierPhase | WorkStart | WorkSplit
    | WorkArrive | WorkComplete | WorkDescribed | WorkDone | GroupWait | TmemFree
)  # fmt: skip


class Observer(MemoryObserver, Protocol):
    """An observer of a simulation, called for every access and every event. The checker of the memory model is one.

    If it has a method `step(op, lanes)`, that is called before each op is executed.
    """

    def event(self, machine: Any, event: Event) -> None:
        """Handle an event in the CTA `machine` (`sim.machine.Machine`)."""
