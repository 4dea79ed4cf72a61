"""The memory model: told of every access and of all that orders accesses, it tracks what each thread knows of others.

In    the events of a simulation (`sim.events`)
Out   findings, to the reporter

The rules, by the PTX ISA (memory consistency model; async proxy; mbarrier; wgmma; cp.async):

- a barrier, an mbarrier's phase, an atomic or strong access, a fence releases what its threads did before and know,
  and gives it to those who acquire; as far as the scopes of both reach
- asynchronous work is after what its thread knew when it started it, and may do its accesses at any time until a wait
  tells of its end: of a group, to the threads that wait; of an mbarrier's phase, to all who see that it is complete
- a relaxed arrival tells only that asynchronous work is complete, and what threads have behind them
- what ordinary instructions wrote, the async proxy sees after a fence.proxy.async that is after the writes. What the
  async proxy wrote needs no fence: its completion brings one. Neither does overwriting what was read

Each kind of event has a file:

fences.py     fences, and a warp's instructions       meetings.py   named barriers, and the cluster's
mbarriers.py  mbarriers and their phases              strong.py     atomics, strong loads and stores
works.py      asynchronous work, and groups of it     races.py      accesses that nothing orders
lifetimes.py  the start and the end of blocks         ahead.py      the kernel ahead, griddepcontrol
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cutelite.diag import Note
from cutelite.ir.simulation import RANK_SHIFT
from cutelite.ops.tcgen05_layouts import CELL_BYTES, LANE_BYTES, LANES
from cutelite.ops.tensormap import MAP_BYTES
from cutelite.sim import events
from cutelite.sim.actors import Work
from cutelite.sim.checker.access import Actor, Threads, Worker
from cutelite.sim.checker.ahead import Ahead, KernelAhead
from cutelite.sim.checker.fences import Fences
from cutelite.sim.checker.knowledge import RAN, SEEN
from cutelite.sim.checker.lanes import by_holders, lanes_of, work_of
from cutelite.sim.checker.lifetimes import Lifetimes
from cutelite.sim.checker.mbarriers import Mbarriers
from cutelite.sim.checker.meetings import Meetings
from cutelite.sim.checker.races import Races
from cutelite.sim.checker.records import Block
from cutelite.sim.checker.reporter import Reporter
from cutelite.sim.checker.results import Results
from cutelite.sim.checker.shadow import READ, STRONG_READ, STRONG_WRITE, WRITE
from cutelite.sim.checker.state import State
from cutelite.sim.checker.strong import StrongAccesses
from cutelite.sim.checker.updates import Last, Orders, Update, Updates
from cutelite.sim.checker.works import Works
from cutelite.sim.error import SimError
from cutelite.sim.machine import Machine
from cutelite.sim.memory import Region

Array = Any

KINDS = {"read": READ, "write": WRITE, "atomic": STRONG_WRITE}
"""Kinds of accesses as the simulator tells them, and as they are remembered."""

DESCRIPTOR_UNIT = 8  # bytes of a TMA descriptor that are remembered together


class Checker:
    """The checker of the memory model; implements `sim.events.Observer`."""

    def __init__(
        self,
        reporter: Reporter,
        written: set[str],
        looked_at: set[str],
        ahead: Ahead | None = None,
        orders: Orders | None = None,
        results: Results | None = None,
    ) -> None:
        self.report = reporter
        self.state = state = State(reporter, written, looked_at)
        self.clocks, self.accesses = state.clocks, state.accesses
        self._ahead = KernelAhead(state, ahead)
        self._fences = Fences(state, self._ahead)
        self._meetings = Meetings(state, self._ahead)
        self._lifetimes = Lifetimes(state)
        self._races = Races(state)
        self._works = Works(state, self._lifetimes)
        self._mbarriers = Mbarriers(state, self._lifetimes, self._races)
        self._strong = StrongAccesses(state)
        self._updates = None if orders is None else Updates(orders, self.accesses)
        self._results = results
        self._with_strong: set[int] = set()  # regions with strong accesses
        self._handlers: dict[type[Any], Callable[[Block, Any], None]] = {
            events.Together: self._fences.together,
            events.Resume: self._resume,
            events.Fence: self._fences.fence,
            events.BarrierArrive: self._meetings.arrive,
            events.ClusterArrive: self._meetings.arrive_at_cluster,
            events.WorkStart: self._works.start,
            events.WorkDescribed: self._described,
            events.WorkDone: self._done,
            events.WorkSplit: self._works.split,
            events.GroupWait: self._works.wait_for_groups,
            events.MbarrierInit: self._mbarriers.init,
            events.MbarrierInval: self._mbarriers.inval,
            events.Exit: self._exit,
            events.Retire: self._retire,
            events.TmemFree: self._free,
            **dict.fromkeys(self._mbarriers.kinds, self._mbarriers.event),
        }

    @property
    def incomplete(self) -> bool:
        """True if memory was read before it was known that the launch writes it: then a further run is needed."""
        return self.state.incomplete

    # Accesses

    def access(self, who: Any, region: Region, offset: Array, unit: int, kind: str, data: Array | None) -> Array | None:
        if region.period or not len(offset):
            return None  # a thread's own
        holder, lanes = lanes_of(who, len(offset))
        block = self.state.block(holder.machine)
        if region.state is None:
            if self._ahead.ahead is not None:
                self._ahead.check(block, holder, region, offset, lanes, kind)
            if not self.state.matters(region, kind):
                return None
        work = work_of(holder)
        if work is None:
            return self._by_threads(block, holder, region, *by_holders(holder.op, offset, unit, lanes, data), kind)
        self._by_work(block, work, region, offset, unit, lanes, data, kind)
        return None

    def _by_work(
        self, block: Block, work: Work, region: Region, offset: Array, unit: int, parts: Array, data: Array | None,
        kind: str,
    ) -> None:  # fmt: skip
        """Check an access by asynchronous work; `parts` are of the threads that started it."""
        op, number = work.op, KINDS[kind]
        shadow = self.state.shadow(region, unit)
        if kind != "read":
            self._strong.overwrite(region, offset, unit)
        each = shadow.units_of(unit)
        actor = self._works.worker(block, work, region, len(offset) * each, kind, parts, each)
        if actor is not None:
            site = self.accesses.sites.number(op, number, True, unit, work.proxy)
            if work.queue == "none" and region.state is not None and isinstance(actor, Worker):
                self._races.check_beside(block, work, region, offset, unit, actor, site)
            if not isinstance(actor, Worker) or not self.accesses.passed(shadow, offset, unit, actor, number, site):
                granules, _ = shadow.indices(offset, unit)
                wrote = (offset, unit, data) if kind == "write" and data is not None else None
                self._races.settle(block, site, region, shadow, granules, actor, wrote)
            if kind == "atomic":
                self._with_strong.add(id(region))
                if self._updates is not None and self._updates.holds(region, offset):
                    self._update(block, op, Update(region, offset, unit, data), block.first + work.tid[:1], work)

    def _by_threads(
        self, block: Block, holder: Any, region: Region, offset: Array, unit: int, lanes: Array, data: Array | None,
        kind: str,
    ) -> Array | None:  # fmt: skip
        """Check an access by threads; return the values that loads see, None for the latest ones."""
        op, number, semantic = holder.op, KINDS[kind], holder.op.semantic
        shadow = self.state.shadow(region, unit)
        if kind != "read" and semantic is None:
            self._strong.overwrite(region, offset, unit)
        granules, each = shadow.indices(offset, unit)
        threads = block.first + holder.tid[lanes]
        if region.state is not None and region.base >> RANK_SHIFT != block.rank:
            self._lifetimes.must_have_started(block, op, region.base >> RANK_SHIFT, threads)
        if kind == "read" and op.cache == "nc":
            self._races.must_be_unwritten(block, op, region, shadow, granules, np.repeat(threads, each))
        if semantic is not None and kind != "atomic":
            number = STRONG_READ if kind == "read" else STRONG_WRITE
        actor = Threads(self.clocks, np.repeat(threads, each) if each > 1 else threads, SEEN)
        wrote = None if data is None or kind != "write" else (offset, unit, data)
        site = self.accesses.sites.number(op, number, False, unit, "generic")
        if number not in (READ, STRONG_READ) or not self._races.looked(shadow, granules, actor, number, site):
            self._races.settle(block, site, region, shadow, granules, actor, wrote)
        if kind == "atomic" and self._updates is not None and self._updates.holds(region, offset):
            self._update(block, op, Update(region, offset, unit, data), threads, None)
        if semantic is None:
            return None
        self._with_strong.add(id(region))
        return self._strong.synchronise(block, op, region, offset, unit, threads, semantic, kind, data)

    def _update(self, block: Block, op: Any, update: Update, threads: Array, work: Work | None) -> None:
        """Check that an update of an ordered argument, by these threads or by their work, has its place in an order."""
        if op.commutes:
            return
        assert self._updates is not None
        shadow, granules, each = self._updates.granules(update)
        proxy = "generic" if work is None else work.proxy
        site = self.accesses.sites.number(op, WRITE, work is not None, update.unit, proxy)
        actor: Actor | None = Threads(self.clocks, np.repeat(threads, each), SEEN) if work is None else None
        if work is not None:
            parts = np.zeros(len(granules), np.int64)
            actor = self._works.worker(block, work, update.region, len(granules), "atomic", parts, 1)
        assert actor is not None
        last = Last(block, op, int(threads[-1]))
        conflicts = self._updates.add(update, granules, actor, site, last) + self._races.within(granules, actor, site)
        for conflict in conflicts:
            self.report.unordered_updates(
                block, update.region, shadow.offsets(granules[conflict.positions]), shadow.granule,
                self.accesses.sites[conflict.site], self.accesses.sites[site],
                self.state.threads(conflict.who), self.state.threads(actor.who[conflict.positions]),
            )  # fmt: skip

    def finish(self) -> None:
        """Report, at the end of a schedule, what came in another order, or out otherwise, than in the first one."""
        for region, offsets, last in self._updates.differing() if self._updates is not None else ():
            self.report.differing_updates(
                last.block, region, offsets, last.op, self.state.threads(np.array([last.agent]))
            )
        for region, shadow, offsets in self._results.differing(self.state.shadows.values()) if self._results else ():
            if id(region) not in self._with_strong:
                granules = np.unique((offsets + shadow.lead) // shadow.granule)
                wrote = granules[shadow.w_site[granules] > 0]
                sites = shadow.w_site[wrote[:1]].tolist()
                op = self.accesses.sites[sites[0]].op if sites else None
                ordered = self._updates is not None and self._updates.holds(region, offsets)
                self.report.differing_results(region, offsets, op, self.state.threads(shadow.w_who[wrote]), ordered)

    def tolerates(self, error: SimError) -> bool:
        """Report a read of unwritten memory and go on, so that a race with a later write is found as well."""
        if error.code != "uninitialised" or error.place is None or error.place.space == "rmem":
            return False
        self.report.error(error, self.more_about(error))
        return True

    # Order

    def event(self, machine: Machine, event: events.Event) -> None:
        self._handlers[type(event)](self.state.block(machine), event)

    def _resume(self, block: Block, event: events.Resume) -> None:
        """Let threads go on after a wait: they acquire what was released to the barrier they waited for."""
        for where, on in event.wait.on:
            threads = block.first + (event.tid if where is None else event.tid[where[event.positions]])
            if not len(threads):
                continue
            if isinstance(on, events.MbarrierAt):
                self._mbarriers.resume(block, event.op, threads, on.address)
            else:
                self._meetings.go_on(block, threads, on)

    def _done(self, block: Block, event: events.WorkDone) -> None:
        self._works.done(block, event)
        self._mbarriers.done(event.work)

    def _described(self, block: Block, event: events.WorkDescribed) -> None:
        """Remember that work has read a descriptor: until it is done, another one must not be written there."""
        region = block.machine.spaces["gmem"].region_at(event.address)
        shadow = self.state.shadow(region, DESCRIPTOR_UNIT)
        offset = event.address - region.base + np.arange(0, MAP_BYTES, DESCRIPTOR_UNIT)
        granules, each = shadow.indices(offset, DESCRIPTOR_UNIT)
        nobody = np.zeros(len(granules), np.int64)
        actor = self._works.worker(block, event.work, region, len(granules), "write", nobody, each)
        if actor is not None:
            site = self.accesses.sites.number(event.work.op, READ, True, DESCRIPTOR_UNIT, event.work.proxy)
            self.accesses.remember(shadow, granules, actor, READ, site)

    def _free(self, block: Block, event: events.TmemFree) -> None:
        """Treat a deallocation as a write to all the columns: every access to them has to be over."""
        region = block.machine.tmem.region
        lane, column = np.arange(LANES)[:, None], np.arange(event.first, event.first + event.columns)
        shadow = self.state.shadow(region, CELL_BYTES)
        granules = shadow.indices((lane * LANE_BYTES + column * CELL_BYTES).reshape(-1), CELL_BYTES)[0]
        thread = block.first + int(event.lanes.tid[event.lanes.mask][0])
        actor = Threads(self.clocks, np.full(len(granules), thread), RAN)
        site = self.accesses.sites.number(event.lanes.op, WRITE, False, CELL_BYTES, "generic")
        self._races.settle(block, site, region, shadow, granules, actor, None)
        shadow.w_who[granules] = shadow.o_who[granules] = 0  # whoever allocates them next starts anew

    # The end of a block

    def _exit(self, block: Block, event: events.Exit) -> None:
        self._ahead.leave(block.first + event.tid)
        self._lifetimes.exit(block, event)

    def _retire(self, block: Block, event: events.Retire) -> None:
        """Forget a block that is over."""
        self._strong.retire(block.cluster.smem[block.rank])
        if self._lifetimes.retire(block):
            self._mbarriers.forget(block.number)
            self._meetings.forget(block.number)
            self._races.forget(block.number)

    def more_about(self, error: SimError) -> Iterator[Note]:
        """Further notes for an error that ended a simulation: for a deadlock, who arrives on what is waited for."""
        if error.code == "deadlock":
            yield from self._mbarriers.more_about_deadlock()
        if error.code == "uninitialised" and error.place is not None:
            told = {note.span for note in error.notes}
            for op in dict.fromkeys(work.op for work in (*self.state.issued, *self.state.copies)):
                if op.span not in told:
                    told.add(op.span)
                    text = f"{op.name} was under way at that time: wait for it, if it is what brings the data"
                    yield Note(text, op.span)
