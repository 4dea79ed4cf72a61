"""Events that the simulator tells an observer besides accesses: everything that orders them, a class for each kind.

In    the parts of a CTA, which make an event where it happens and only if somebody observes
Out   `Observer.event`, which matches on the class; the checker of the memory model and the timeline are observers

`lanes` are threads that execute an op; `where`, `lane` and the like are bool masks over them or positions in them.
Addresses are of shared memory, with the rank of the block in its upper bits (`sim.memory.RANK_SHIFT`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from cutelite.ir.op import Op
from cutelite.ir.simulation import Wait
from cutelite.sim.actors import Executing, Work
from cutelite.sim.memory import Observer as MemoryObserver

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


@dataclass(frozen=True, slots=True)
class Together:
    """All lanes of one or more warps have come to an instruction that they execute together."""

    lanes: Executing


@dataclass(frozen=True, slots=True)
class Resume:
    """Threads `tid` go on after `wait`; `positions` are theirs among the lanes that waited."""

    op: Op
    wait: Wait
    tid: Array
    positions: Array


@dataclass(frozen=True, slots=True)
class Exit:
    """Threads leave the kernel."""

    tid: Array


@dataclass(frozen=True, slots=True)
class Retire:
    """The CTA is over: its threads have left, its asynchronous work is done."""


@dataclass(frozen=True, slots=True)
class Fence:
    """A fence, by its PTX name: 'proxy.async', 'mbarrier_init', 'acq_rel.cluster', 'wgmma', 'warp', 'grid'."""

    lanes: Executing
    kind: str


# Execution barriers


@dataclass(frozen=True, slots=True)
class BarrierArrive:
    """Threads arrive at a named barrier."""

    lanes: Executing
    on: BarrierGeneration
    where: Array


@dataclass(frozen=True, slots=True)
class ClusterArrive:
    """Threads arrive at the barrier of the cluster."""

    lanes: Executing
    on: ClusterPhase


# mbarriers


@dataclass(frozen=True, slots=True)
class MbarrierInit:
    """A thread makes an mbarrier of 8 bytes."""

    lanes: Executing
    address: int
    lane: int


@dataclass(frozen=True, slots=True)
class MbarrierInval:
    """A thread ends an mbarrier."""

    lanes: Executing
    address: int
    lane: int


@dataclass(frozen=True, slots=True)
class MbarrierArrive:
    """Threads arrive, and expect `expect` bytes."""

    lanes: Executing
    address: int
    expect: int
    where: Array


@dataclass(frozen=True, slots=True)
class MbarrierExpect:
    """A thread changes the bytes that the current phase expects: more of them, or with `complete` fewer."""

    lanes: Executing
    address: int
    lane: int
    complete: bool


@dataclass(frozen=True, slots=True)
class MbarrierWait:
    """Threads begin to wait, each for the phase of a parity at an address."""

    lanes: Executing
    address: Array
    parity: Array


@dataclass(frozen=True, slots=True)
class MbarrierTest:
    """Threads `tried` have looked whether a phase is complete; it was for those of `where`."""

    lanes: Executing
    address: int
    where: Array
    tried: Array


@dataclass(frozen=True, slots=True)
class MbarrierPhase:
    """A phase completes, by `op`."""

    address: int
    op: Op


# Asynchronous work


@dataclass(frozen=True, slots=True)
class WorkStart:
    """Threads have started work."""

    work: Work


@dataclass(frozen=True, slots=True)
class WorkSplit:
    """Work of several threads ends for some of them: `rest` is that of the others from now on."""

    work: Work
    rest: Work


@dataclass(frozen=True, slots=True)
class WorkArrive:
    """Work arrives on an mbarrier, as cp.async.mbarrier.arrive does."""

    work: Work
    address: int


@dataclass(frozen=True, slots=True)
class WorkComplete:
    """Work counts the bytes that it has moved on an mbarrier."""

    work: Work
    address: int


@dataclass(frozen=True, slots=True)
class WorkDone:
    """Work is done."""

    work: Work


@dataclass(frozen=True, slots=True)
class GroupWait:
    """Threads have waited for all but the latest `pending` groups of a queue, or for everything (None)."""

    lanes: Executing
    queue: str
    pending: int | None
    reads_only: bool


@dataclass(frozen=True, slots=True)
class TmemFree:
    """A warp frees `columns` columns of tensor memory from column `first` on, of the block of that rank."""

    lanes: Executing
    rank: int
    first: int
    columns: int


Event = (
    Together | Resume | Exit | Retire | Fence | BarrierArrive | ClusterArrive | MbarrierInit | MbarrierInval
    | MbarrierArrive | MbarrierExpect | MbarrierWait | MbarrierTest | MbarrierPhase | WorkStart | WorkSplit
    | WorkArrive | WorkComplete | WorkDone | GroupWait | TmemFree
)  # fmt: skip


class Observer(MemoryObserver, Protocol):
    """An observer of a simulation, told of every access and of every event. The checker of the memory model is one.

    An observer that has a method `step(op, lanes)` is also told of every op before it is executed.
    """

    def event(self, machine: Any, event: Event) -> None:
        """An event in the CTA `machine` (`sim.machine.Machine`)."""
