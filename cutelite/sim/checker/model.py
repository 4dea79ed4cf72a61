"""The memory model: told of every access and of all that orders accesses, it tracks what each thread knows of others.

In    the events of a simulation (`sim.events`)
Out   `Finding`s, to `found`

The rules, by the PTX ISA (memory consistency model; async proxy; mbarrier; wgmma; cp.async):

- a barrier, an mbarrier's phase, an atomic or strong access, a fence releases what its threads did before and know,
  and gives it to those who acquire; as far as the scopes of both reach
- asynchronous work is after what its thread knew when it started it, and may do its accesses at any time until a wait
  tells of its end: of a group, to the threads that wait; of an mbarrier's phase, to all who see that it is complete
- a relaxed arrival tells only that asynchronous work is complete, and what threads have behind them
- what ordinary instructions wrote, the async proxy sees after a fence.proxy.async that is after the writes. What the
  async proxy wrote needs no fence: its completion brings one. Neither does overwriting what was read
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cutelite.diag import Note
from cutelite.ir.contract import Effect
from cutelite.ops.tcgen05_layouts import CELL_BYTES, LANE_BYTES, LANES
from cutelite.sim.actors import Work
from cutelite.sim.checker.access import Accesses, Actor, Conflict, Copiers, Threads, Worker, runs
from cutelite.sim.checker.clocks import (
    CLUSTER,
    CTA,
    EVERYBODY,
    GENERIC_ROWS,
    GMEM,
    GPU,
    INIT,
    NOT_INIT,
    NOTHING,
    PAST,
    RAN,
    REACH,
    SEEN,
    SMEM,
    TMEM,
    Clocks,
    Knowledge,
    Published,
    Snapshot,
    Snapshots,
    join,
)
from cutelite.sim.checker.lanes import lanes_of
from cutelite.sim.checker.limits import check_length
from cutelite.sim.checker.phases import WAITING, Phases, Rounds
from cutelite.sim.checker.places import Place, Writer
from cutelite.sim.checker.records import Barrier, Beside, Block, Exited, Group
from cutelite.sim.checker.reporter import Reporter
from cutelite.sim.checker.results import Results
from cutelite.sim.checker.shadow import READ, STRONG_READ, STRONG_WRITE, WRITE, Shadow, reach_of
from cutelite.sim.checker.updates import Last, Orders, Update, Updates
from cutelite.sim.error import SimError
from cutelite.sim.events import (
    BarrierArrive,
    BarrierGeneration,
    ClusterArrive,
    ClusterPhase,
    Event,
    Exit,
    Fence,
    GroupWait,
    MbarrierArrive,
    MbarrierAt,
    MbarrierExpect,
    MbarrierInit,
    MbarrierInval,
    MbarrierPhase,
    MbarrierTest,
    MbarrierWait,
    Resume,
    Retire,
    TmemFree,
    Together,
    WorkArrive,
    WorkComplete,
    WorkDone,
    WorkSplit,
    WorkStart,
)
from cutelite.sim.machine import Agent, Machine
from cutelite.sim.memory import RANK_SHIFT, Region

Array = Any


OfMbarrier = MbarrierWait | MbarrierTest | MbarrierArrive | MbarrierExpect | MbarrierPhase | WorkArrive | WorkComplete

TOGETHER = ("wgmma", "tcgen05.ld", "tcgen05.st")
"""Queues of work that a warp or warpgroup starts, and waits for, as one."""

SINGLE_COPIES = ("cp.async", "cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all",
                 "cp.async.mbarrier.arrive")  # fmt: skip
"""Ops with which each thread copies by itself, and waits for what it copied."""

GENERATIONS = 4
"""Generations of a barrier that are kept: nobody waits for one when the one after the next completes."""


class Ahead(NamedTuple):
    """A kernel that may still run when this one starts.

    untouched  the arguments that it leaves alone; None where nobody has said: then threads that read something and wait
               afterwards are taken to know that it is one
    """

    untouched: frozenset[str] | None


class Checker:
    """The checker of the memory model; implements `sim.events.Observer`."""

    def __init__(
        self,
        reporter: Reporter,
        written: set[str],
        ahead: Ahead | None = None,
        orders: Orders | None = None,
        results: Results | None = None,
    ) -> None:
        self.report = reporter
        self.ahead = ahead
        self._after_it: Array = np.zeros(0, bool)  # agents that know it to be complete
        # By thread: its reads before it, each with what reports it and the names of what is read.
        self._early: dict[int, dict[Any, tuple[Callable[[], None], set[str]]]] = {}
        self._grid_waiters: set[int] = set()  # threads that have executed griddepcontrol.wait
        self._grid_meetings: list[Published] = []  # barriers at which some of those were
        self._grid_waits: list[int] = []  # agents that stand for griddepcontrol.wait, in each cluster
        self.clocks = Clocks()
        self.accesses = Accesses(self.clocks)
        self._updates = None if orders is None else Updates(orders, self.accesses)
        self._results = results
        self._strong: set[int] = set()  # regions with strong accesses
        self.written = written  # names of global memory that is written in the launch: only there reads matter
        self.incomplete = False  # some of it was read before that was known
        self._blocks: dict[Any, Block] = {}
        self._numbers = 0
        self._shadows: dict[int, tuple[Region, Shadow]] = {}
        self._barriers: dict[tuple[int, int], Barrier] = {}  # (number of the cluster, address)
        self._meetings: dict[tuple[int, int, object], Published] = {}  # named barriers and the cluster's
        self._rounds: dict[tuple[int, int, int], Rounds] = {}  # of named barriers, by cluster and rank
        self._beside: dict[int, tuple[int, list[Beside]]] = {}  # by agent: the phase, and copies that count in it
        self._issued: dict[Work, Snapshot] = {}
        self._behind: dict[Work, Knowledge] = {}  # what its threads had behind them, of work that counts bytes
        self._copies: dict[Work, Snapshots] = {}  # the same of cp.async of several threads
        self._groups: dict[tuple[int, str], list[Group]] = {}  # by agent and queue
        self._places: dict[int, dict[int, Place]] = {}  # by region and offset: where strong accesses are made
        self._sc = Published()  # by fence.sc
        self._started: dict[int, Array] = {}  # by rank: agents that know the block of that rank to have started
        self._polls = self._orders = False  # whether there are strong loads, releases and acquires at all
        self._copies_singly = False  # whether threads make copies of their own, by cp.async
        self._unread: set[str] = set()
        self._starters: dict[int, tuple[Any, int]] = {}  # who started the latest work of asynchronous agents
        self._retired = 0
        self._exited: list[tuple[int, int, Exited]] = []  # first agent, number of the cluster
        self._block_threads = 0
        self._waited: dict[tuple[int, int], int] = {}  # how many threads wait on each mbarrier
        self._looked_for: dict[tuple[int, int], bool] = {}  # whether the last test of each found its phase incomplete

    # Accesses

    def access(self, who: Any, region: Region, offset: Array, unit: int, kind: str, data: Array | None) -> Array | None:
        if region.period or not len(offset):
            return None  # a thread's own
        holder, lanes = lanes_of(who, len(offset))
        block = self._block(holder.machine)
        if region.state is None:
            if self.ahead is not None:
                self._must_be_after(block, holder, region, offset, lanes, kind)
            if not self._matters(region, kind):
                return None
        shadow = self._shadow(region, unit)
        work = _work_of(holder)
        op = holder.op if work is None else work.op
        if kind != "read" and id(region) in self._places and getattr(op, "semantic", None) is None:
            self._forget_places(region, offset, unit)
        if work is not None:
            each = shadow.units_of(unit)
            actor = self._worker(block, work, region, len(offset) * each, kind, lanes, each)
            if actor is not None:
                number = {"read": READ, "write": WRITE, "atomic": STRONG_WRITE}[kind]
                site = self.accesses.sites.number(work.op, number, True, unit, work.proxy)
                if work.queue == "none" and region.state is not None and isinstance(actor, Worker):
                    self._check_beside(block, work, region, offset, unit, actor, site)
                if not isinstance(actor, Worker) or not self.accesses.passed(shadow, offset, unit, actor, number, site):
                    granules, _ = shadow.indices(offset, unit)
                    wrote = (offset, unit, data) if kind == "write" and data is not None else None
                    self._settle(block, site, region, shadow, granules, actor, wrote)
                if kind == "atomic":
                    self._strong.add(id(region))
                if kind == "atomic" and self._updates is not None and self._updates.holds(region, offset):
                    self._update(block, work.op, Update(region, offset, unit, data), block.first + work.tid[:1], work)
            return None
        granules, each = shadow.indices(offset, unit)
        threads = block.first + holder.tid[lanes]
        if region.state is not None and region.base >> RANK_SHIFT != block.rank:
            self._must_have_started(block, op, region.base >> RANK_SHIFT, threads)
        if kind == "read" and getattr(op, "cache", "") == "nc":
            self._must_be_unwritten(block, op, region, shadow, granules, np.repeat(threads, each))
        semantic = getattr(op, "semantic", None)
        number = {"read": READ, "write": WRITE, "atomic": STRONG_WRITE}[kind]
        if semantic is not None and kind != "atomic":
            number = STRONG_READ if kind == "read" else STRONG_WRITE
        actor = Threads(self.clocks, np.repeat(threads, each) if each > 1 else threads, SEEN)
        wrote = None if data is None or kind != "write" else (offset, unit, data)
        site = self.accesses.sites.number(op, number, False, unit, "generic")
        if number not in (READ, STRONG_READ) or not self._looked(shadow, granules, actor, number, site):
            self._settle(block, site, region, shadow, granules, actor, wrote)
        if kind == "atomic" and self._updates is not None and self._updates.holds(region, offset):
            self._update(block, op, Update(region, offset, unit, data), threads, None)
        if semantic is not None:
            self._strong.add(id(region))
            return self._synchronise(block, op, region, offset, unit, threads, semantic, kind, data)
        return None

    def _check_beside(
        self, block: Block, work: Work, region: Region, offset: Array, unit: int, actor: Worker, site: int
    ) -> None:
        """Check that copies which count on one mbarrier in one phase leave each other's bytes alone.

        They are one epoch of the mbarrier's agent, and may come in any order.
        """
        phase, others = self._beside.get(actor.agent, (-1, []))
        if phase != actor.clock:
            others = []
            self._beside[actor.agent] = actor.clock, others
        mine = Beside(work, block.machine, region, offset, unit, int(offset.min()), int(offset.max()) + unit, site)
        shadow = self._shadow(region, unit)
        for other in others:
            if other.work is work or other.region is not region or other.first >= mine.end or other.end <= mine.first:
                continue
            old, new = self.accesses.sites[other.site], self.accesses.sites[site]
            if {old.kind, new.kind} in ({READ}, {STRONG_WRITE}):
                continue
            both = np.intersect1d(*(shadow.indices(each.offset, each.unit)[0] for each in (mine, other)))
            if len(both):
                by = [(other.machine, tid) for tid in other.work.tid.tolist()]
                too = [(block.machine, tid) for tid in work.tid.tolist()]
                self.report.race(block, region, shadow.offsets(both), shadow.granule, old, new, by, too, "beside")
        others.append(mine)

    def _looked(self, shadow: Shadow, granules: Array, actor: Threads, kind: int, site: int) -> bool:
        """Settle a read of one granule by all of its threads, if it is one and nothing is wrong."""
        if granules[0] != granules[-1] or np.count_nonzero(granules == granules[0]) != len(granules):
            return False
        return self.accesses.looked(shadow, granules, actor, kind, site)

    def _worker(
        self, block: Block, work: Work, region: Region, count: int, kind: str, parts: Array, each: int
    ) -> Actor | None:
        """Return the actor of an access by asynchronous work to `count` granules; None for a prefetch.

        parts  for cp.async, the thread that accesses each unit of `each` granules, a position in the work's threads
        """
        rank = region.base >> RANK_SHIFT
        row = SEEN if work.proxy == "generic" else GMEM if region.state is None else SMEM + rank
        row = TMEM if region.tensor else row
        copies = self._copies.get(work)
        if copies is not None:
            return Copiers(self.clocks, copies, work.part[np.repeat(parts, each)], work.ticket, row)
        if work.queue == "none" and work.barrier is None:
            return None
        if region.state is not None and rank != block.rank:
            self._must_have_started(block, work.op, rank, block.first + work.tid, self._issued[work])
        agent, clock = self._epoch(block, work, region, kind)
        self._starters[agent] = (block.machine, int(work.tid[0]))
        self.clocks.rank[agent] = block.rank
        return Worker(self.clocks, self._issued[work], agent, clock, row, count, work.queue == "tcgen05")

    def _must_be_after(self, block: Block, holder: Any, region: Region, offset: Array, lanes: Array, kind: str) -> None:
        """Report accesses of global memory before griddepcontrol.wait: a kernel ahead may still write it."""
        assert self.ahead is not None
        work = _work_of(holder)
        op = holder.op if work is None else work.op
        if (work is not None and work.queue == "none" and work.barrier is None) or getattr(op, "cache", "") == "nc":
            return  # a prefetch; a promise that nobody writes
        if len(self._after_it) < self.clocks.count:
            self._after_it = np.append(self._after_it, np.zeros(self.clocks.count - len(self._after_it), bool))
        copies = self._copies.get(work) if work is not None else None
        if work is None:
            threads = block.first + holder.tid[lanes]
            if np.all(self._after_it[threads]):
                return
        else:
            threads = block.first + (work.tid if copies is None else work.tid[lanes])
        for thread in sorted(set(threads.tolist())):
            if work is None:
                knowledge = self.clocks.of(thread)
            elif copies is None:
                knowledge = self._issued[work].knowledge
            else:
                knowledge = copies.knowledge[int(copies.keys[copies.agents == thread][0])]
            waits = np.array(self._grid_waits, np.int32)
            if np.any(self.clocks.known(knowledge, RAN, waits, np.ones_like(waits))):
                self._after_it[thread] = self._after_it[thread] or work is None
                continue
            mine = offset[threads == thread] if len(threads) == len(offset) else offset
            names = {region.place("gmem", region.base + int(at)).name for at in (mine.min(), mine.max())}
            if names <= (self.ahead.untouched or set()):
                continue
            who = self._threads(np.array([thread]))
            tell = partial(self.report.too_early, block, op, region, mine, who, kind, work is not None)
            if kind == "read" and self.ahead.untouched is None:
                self._early.setdefault(thread, {}).setdefault(op, (tell, names))
            else:
                tell()

    def _must_be_unwritten(
        self, block: Block, op: Any, region: Region, shadow: Shadow, granules: Array, threads: Array
    ) -> None:
        """Report non-coherent loads of what the launch has written."""
        stale = (shadow.w_site[granules] > 0).nonzero()[0]
        if len(stale):
            at = granules[stale]
            old = self.accesses.sites[int(shadow.w_site[at[0]])]
            sides = self._threads(threads[stale]), self._threads(shadow.w_who[at])
            self.report.stale(block, op, region, shadow.offsets(at), shadow.granule, old, *sides)

    def _must_have_started(
        self, block: Block, op: Any, rank: int, threads: Array, then: Snapshot | None = None
    ) -> None:
        """Report uses of another block's shared memory that nothing orders after the start of that block.

        then  knowledge of asynchronous work, where that makes the access; None for the threads themselves
        """
        aware = self._started.get(rank)
        if aware is None or len(aware) < self.clocks.count:
            grown = np.zeros(self.clocks.count, bool)
            grown[: 0 if aware is None else len(aware)] = aware if aware is not None else False
            aware = self._started[rank] = grown
        left = threads[~aware[threads]]
        if not len(left):
            return
        size = block.machine.threads
        first = self.clocks.firsts[block.number] + rank * size
        theirs = self.clocks.column[first : first + size]
        for thread in sorted(set(left.tolist())):
            knowledge = self.clocks.of(thread) if then is None else then.knowledge
            part = knowledge.part(self.clocks.columns[block.number])
            if part is not None and np.count_nonzero(part[PAST, theirs]):
                aware[thread] = True
            else:
                self.report.not_started(block, op, self._threads(np.array([thread])), rank)

    def _epoch(self, block: Block, work: Work, region: Region, kind: str) -> tuple[int, int]:
        """Return the agent of asynchronous work, and the clock that stands for its end."""
        thread = block.first + int(work.tid[0])
        if work.queue == "none":
            address = work.barrier or 0
            if kind != "read" and region.state is not None and not getattr(work.op, "pair", False):
                address = address & ((1 << RANK_SHIFT) - 1) | region.base
            barrier = self._barriers.get((block.number, address))
            if barrier is None:
                return self.clocks.named(block.number, ("lost", block.number)), 1 << 30
            if work.proxy == "generic":  # st.async, red.async
                barrier.stores = self.clocks.named(block.number, ("stores", barrier.agent))
                return barrier.stores, barrier.phase + 1
            return barrier.agent, barrier.phase + 1
        if work.queue == "cp.async":
            return int(self.clocks.copier(thread)), work.ticket
        queue = "bulk.read" if work.queue == "bulk" and kind == "read" else work.queue
        return self.clocks.named(block.number, (thread, queue)), work.ticket

    def _settle(
        self,
        block: Block,
        number: int,
        region: Region,
        shadow: Shadow,
        granules: Array,
        actor: Actor,
        wrote: tuple[Array, int, Array] | None,
    ) -> None:
        """Check an access of the site of that number, and remember it."""
        site = self.accesses.sites[number]
        if self.accesses.sets.many:
            self.accesses.sets.collect([shadow for _, shadow in self._shadows.values()])
        conflicts = self.accesses.check(shadow, granules, actor, site.kind, number)
        single = site.kind == WRITE and not isinstance(actor, Worker)  # of several threads
        within = self._within(granules, actor, number) if single else []
        for one, conflict in (*((False, each) for each in conflicts), *((True, each) for each in within)):
            if one or not site.asynchronous:
                conflict = self._telling(conflict, region, shadow, granules, wrote)
            if len(conflict.positions):
                self._race(block, region, shadow, granules, actor, number, conflict, one)
        self.accesses.remember(shadow, granules, actor, site.kind, number)

    def _update(self, block: Block, op: Any, update: Update, threads: Array, work: Work | None) -> None:
        """Check that an update of an ordered argument, by these threads or by their work, has its place in an order."""
        if getattr(op, "commutes", False):
            return
        assert self._updates is not None
        shadow, granules, each = self._updates.granules(update)
        proxy = "generic" if work is None else work.proxy
        site = self.accesses.sites.number(op, WRITE, work is not None, update.unit, proxy)
        actor: Actor | None = Threads(self.clocks, np.repeat(threads, each), SEEN) if work is None else None
        if work is not None:
            parts = np.zeros(len(granules), np.int64)
            actor = self._worker(block, work, update.region, len(granules), "atomic", parts, 1)
        assert actor is not None
        last = Last(block, op, int(threads[-1]))
        conflicts = self._updates.add(update, granules, actor, site, last) + self._within(granules, actor, site)
        for conflict in conflicts:
            self.report.unordered_updates(
                block, update.region, shadow.offsets(granules[conflict.positions]), shadow.granule,
                self.accesses.sites[conflict.site], self.accesses.sites[site],
                self._threads(conflict.who), self._threads(actor.who[conflict.positions]),
            )  # fmt: skip

    def finish(self) -> None:
        """Report, at the end of a schedule, what came in another order, or out otherwise, than in the first one."""
        for region, offsets, last in self._updates.differing() if self._updates is not None else ():
            self.report.differing_updates(last.block, region, offsets, last.op, self._threads(np.array([last.agent])))
        for region, shadow, offsets in self._results.differing(self._shadows.values()) if self._results else ():
            if id(region) not in self._strong:
                granules = np.unique((offsets + shadow.lead) // shadow.granule)
                wrote = granules[shadow.w_site[granules] > 0]
                sites = shadow.w_site[wrote[:1]].tolist()
                op = self.accesses.sites[sites[0]].op if sites else None
                ordered = self._updates is not None and self._updates.holds(region, offsets)
                self.report.differing_results(region, offsets, op, self._threads(shadow.w_who[wrote]), ordered)

    def _within(self, granules: Array, actor: Actor, site: int) -> list[Conflict]:
        """Return the conflicts between threads that write to the same place by one instruction."""
        if np.count_nonzero(granules[1:] > granules[:-1]) == len(granules) - 1:
            return []
        order = granules.argsort(kind="stable")
        ordered = granules[order]
        again = (ordered[1:] == ordered[:-1]).nonzero()[0]
        if not len(again):
            return []
        first, second = order[again], order[again + 1]
        differ = actor.who[first] != actor.who[second]
        if not np.count_nonzero(differ):
            return []
        first, second = first[differ], second[differ]
        return [Conflict(second, site, actor.who[first], actor.when[first])]

    def _telling(
        self,
        conflict: Conflict,
        region: Region,
        shadow: Shadow,
        granules: Array,
        wrote: tuple[Array, int, Array] | None,
    ) -> Conflict:
        """Leave out positions where both write the same value: the order makes no difference there."""
        if wrote is None or self.accesses.sites[conflict.site].kind != WRITE:
            return conflict
        offset, unit, data = wrote
        new = np.ascontiguousarray(data).view(np.uint8).reshape(len(offset), unit)
        held = region.bytes[offset[:, None] + np.arange(unit)]
        if self.accesses.sites.all and len(np.unique(offset)) < len(offset):  # of one instruction: with each other
            order = np.argsort(offset, kind="stable")
            same_place = np.diff(offset[order]) == 0
            equal_pairs = (new[order][1:] == new[order][:-1]).all(axis=1)
            clash = np.zeros(len(offset), bool)
            clash[order[1:]] = same_place & ~equal_pairs
            differs = clash | (held != new).any(axis=1) & ~_later(order, same_place)
        else:
            differs = (held != new).any(axis=1)
        each = len(granules) // len(offset)
        keep = differs[conflict.positions // each]
        return Conflict(conflict.positions[keep], conflict.site, conflict.who[keep], conflict.when[keep])

    def _race(
        self, block: Block, region: Region, shadow: Shadow, granules: Array, actor: Actor, site: int,
        conflict: Conflict, within: bool,
    ) -> None:  # fmt: skip
        """Report a conflict; `within`: of threads that execute one instruction."""
        old, new = self.accesses.sites[conflict.site], self.accesses.sites[site]
        at = conflict.positions
        fenceless = False
        if actor.row >= GMEM and old.kind in (WRITE, STRONG_WRITE):
            fenceless = bool(np.all(actor.ordered(SEEN, at, conflict.who, conflict.when)))
        how = "fenceless" if fenceless else "within" if within else ""
        if isinstance(actor, Worker) and actor.then.agent in conflict.who:
            how = how or "behind"  # what that thread did before it started the work is ordered
        offsets = shadow.offsets(granules[at])
        self.report.race(
            block, region, offsets, shadow.granule, old, new, self._threads(conflict.who), self._threads(actor.who[at]),
            how,
        )  # fmt: skip

    def _threads(self, agents: Array) -> list[tuple[Any, int]]:
        """Return the threads of agents, as (machine, tid); for asynchronous agents, those that started the work."""
        found = []
        for agent in dict.fromkeys(np.asarray(agents).tolist()):
            if agent in self._starters:
                found.append(self._starters[agent])
                continue
            resident = [(block.first, block.number, block.machine) for block in self._blocks.values()]
            for first, number, machine in [*resident, *self._exited]:
                for start in self.clocks.sequences(first, number):
                    if start <= agent < start + self._block_threads:
                        found.append((machine, agent - start))
        return found

    def _matters(self, region: Region, kind: str) -> bool:
        """Tell whether accesses of a region of global memory have to be remembered."""
        name = "\n".join(f"{offset} {name}" for offset, name in region.names.items())
        if kind != "read" and name not in self.written:
            self.written.add(name)
            self.incomplete = self.incomplete or name in self._unread
        if name in self.written:
            return True
        self._unread.add(name)
        return False

    def _shadow(self, region: Region, unit: int) -> Shadow:
        found = self._shadows.get(id(region))
        if found is None:
            found = self._shadows[id(region)] = (region, Shadow(region.size, unit, region.base))
        return found[1]

    def tolerates(self, error: SimError) -> bool:
        """Report a read of unwritten memory and go on, so that a race with a later write is found as well."""
        if error.code != "uninitialised" or error.place is None or error.place.space == "rmem":
            return False
        self.report.error(error, self.more_about(error))
        return True

    # Order

    def event(self, machine: Machine, event: Event) -> None:
        _HANDLERS[type(event)](self, self._block(machine), event)

    def _mbarrier(self, block: Block, event: OfMbarrier) -> None:
        """Handle the events of live mbarriers."""
        barrier = self._barriers.get((block.number, event.address))
        if barrier is not None:
            _OF_MBARRIERS[type(event)](self, block, barrier, event)

    def _block(self, machine: Machine) -> Block:
        found = self._blocks.get(machine)
        if found is None:
            self._numbers += 1
            machines = machine.cluster.machines
            if self._numbers == 1:
                self._block_threads = machine.threads
                self._look_at(machine.launch)
            threads = sum(m.threads for m in machines)
            first = self.clocks.begin(self._numbers, threads, len(machines), self._copies_singly)
            for other in machines:
                self._blocks[other] = Block(other, self._numbers, first)
                first += other.threads
            found = self._blocks[machine]
        return found

    def _look_at(self, launch: Any) -> None:
        """Look for strong accesses and cp.async in the kernel: without some kinds of them less has to be kept."""
        self._copies_singly = not launch.program.names.isdisjoint(SINGLE_COPIES)
        for op in launch.program.strong:
            self._polls = self._polls or (Effect.READS in op.effects and Effect.WRITES not in op.effects)
            self._orders = self._orders or op.semantic not in ("relaxed", "volatile")
            self.accesses.narrow = self.accesses.narrow or reach_of(op) < GPU

    def _trust(self, threads: Array) -> None:
        """Drop early reads of these threads: they, or others that they met, have since executed griddepcontrol.wait,
        so they read before it on purpose.
        """
        for thread in self._early.keys() & set(threads.tolist()):
            for op, (_, names) in self._early.pop(thread).items():
                for name in sorted(names):
                    self.report.trusted(op, name)

    def _fence(self, block: Block, event: Fence) -> None:
        lanes, fence = event.lanes, event.kind
        threads = block.first + lanes.tid[lanes.mask]
        if not len(threads):
            return
        if fence == "warp":
            for warp in sorted(set((lanes.tid[lanes.mask] // 32).tolist())):
                mine = threads[(threads - block.first) // 32 == warp]
                self.clocks.learn(mine, self.clocks.publish(mine))
                if self._early and not self._grid_waiters.isdisjoint(mine.tolist()):
                    self._trust(mine)
        elif fence == "grid":
            agent = self.clocks.named(block.number, ("grid", block.number))
            if agent not in self._grid_waits:
                self._grid_waits.append(agent)
            self.clocks.learn_of(threads, agent, 1)
            self._grid_waiters.update(threads.tolist())
            self._trust(threads)
        elif fence == "mbarrier_init":
            self.clocks.fence_init(threads)
        elif fence.startswith("proxy.async"):
            space = fence.removeprefix("proxy.async").lstrip(".")
            shared = (SMEM + block.rank,) if space == "shared::cta" else tuple(range(SMEM, self.clocks.rows))
            rows = (GMEM,) if space == "global" else (INIT, *shared) if space else (INIT, GMEM, *shared)
            self.clocks.fence_proxy(threads, rows)
        elif fence.startswith("tcgen05"):
            self.clocks.fence_tensor(threads, fence.endswith("before_thread_sync"))
        elif not fence.startswith(("proxy.", "wgmma")):
            semantic, _, scope = fence.partition(".")
            if semantic == "sc":  # each is after all before whose scopes agree with its own (PTX: Fence-SC)
                self.clocks.learn(threads, self._sc.to(REACH[scope], block.number, block.rank))
            self.clocks.fence(threads, semantic != "release", semantic != "acquire", REACH[scope])
            if semantic == "sc":
                self._sc.add(REACH[scope], block.number, block.rank, self.clocks.publish(threads))

    def _together(self, block: Block, event: Together) -> None:
        """Record that lanes of a warp execute an instruction together: all of their earlier waits are over."""
        if not self.clocks.any_waited:
            return
        lanes = event.lanes
        tid = lanes.tid[lanes.mask]
        threads = block.first + tid
        if not np.count_nonzero(self.clocks.has_waited[self.clocks.head[threads]]):
            return
        for warp in sorted(set((tid // 32).tolist())):
            self.clocks.share_past(threads[tid // 32 == warp])

    def _arrive_at_barrier(self, block: Block, event: BarrierArrive) -> None:
        lanes, on, where = event
        threads = block.first + lanes.tid[where]
        key = block.number, block.rank, on.number
        rounds = self._rounds.get(key)
        if rounds is None:
            rounds = self._rounds[key] = Rounds(block.first, block.machine.threads)
        astray, other = rounds.arrive(lanes.op, threads, self.clocks, on.generation)
        if len(astray):
            self.report.barrier_phase(on.number, lanes.op, self._threads(astray), other)
        self._meet(block, block.rank, on, threads, CTA)

    def _arrive_at_cluster(self, block: Block, event: ClusterArrive) -> None:
        lanes = event.lanes
        relaxed = getattr(lanes.op, "relaxed", False)
        self._meet(block, -1, event.on, block.first + lanes.tid[lanes.mask], CLUSTER, relaxed)

    def _meet(
        self,
        block: Block,
        rank: int,
        on: BarrierGeneration | ClusterPhase,
        threads: Array,
        scope: int,
        relaxed: bool = False,
    ) -> None:
        """Record that threads arrive at a barrier of their block, or of the cluster (rank -1)."""
        self._meetings.pop((block.number, rank, on.earlier(GENERATIONS)), None)
        place = self._meetings.setdefault((block.number, rank, on), Published())
        if self._early and rank >= 0 and not self._grid_waiters.isdisjoint(threads.tolist()):
            self._grid_meetings.append(place)
        self._release(place, block, threads, scope, relaxed)

    def _release(
        self, place: Published, block: Block, threads: Array, scope: int, relaxed: bool, executed: bool = False
    ) -> None:
        """Release what arriving threads know at a place; by a relaxed arrival, what fences before it released."""
        if not relaxed:
            place.add(scope, block.number, block.rank, self.clocks.publish(threads), executed)
            return
        for reach, known in self.clocks.publish_fenced(threads):
            place.add(min(reach, scope), block.number, block.rank, known)
        place.add(EVERYBODY, block.number, block.rank, self.clocks.told_relaxed(threads))

    def _resume(self, block: Block, event: Resume) -> None:
        """Let threads go on after a wait: they acquire what was released to the barrier they waited for."""
        for where, on in event.wait.on:
            threads = block.first + (event.tid if where is None else event.tid[where[event.positions]])
            if not len(threads):
                continue
            if isinstance(on, MbarrierAt):
                self._observe(block, event.op, threads, on.address)
                key = block.number, on.address
                self._waited[key] = self._waited.get(key, 0) - len(threads)
                continue
            rank, scope = (-1, CLUSTER) if isinstance(on, ClusterPhase) else (block.rank, CTA)
            place = self._meetings.get((block.number, rank, on))
            if isinstance(on, BarrierGeneration):
                self._rounds[block.number, block.rank, on.number].end(threads, on.generation)
            if place is not None:
                self.clocks.learn(threads, place.to(scope, block.number, block.rank))
                if self._early and any(place is met for met in self._grid_meetings):
                    self._trust(threads)

    # mbarriers

    def _init(self, block: Block, event: MbarrierInit) -> None:
        lanes, address, lane = event
        agent = block.first + int(lanes.tid[lane])
        name = ("mbarrier", block.number, address, self.clocks.count)
        copies = self.clocks.named(block.number, name)
        place = block.machine.spaces["cluster"].place(address)
        clock, threads = int(self.clocks.clock(SEEN, agent)), self.clocks.threads[block.number]
        named = f"{place.name}[{place.offset // 8}]"
        phases = Phases(self.clocks, copies)
        self._barriers[block.number, address] = Barrier(named, agent, clock, lanes.op, phases, threads)
        self._overwrite(block, lanes.op, address, agent)

    def _overwrite(self, block: Block, op: Any, address: int, agent: int) -> None:
        """Treat `init` and `inval` of an mbarrier as a write to its 8 bytes, for other uses of them."""
        region = block.cluster.smem[address >> RANK_SHIFT]
        shadow = self._shadow(region, 8)
        granules, each = shadow.indices(np.array([address - region.base]), 8)
        actor = Threads(self.clocks, np.full(each, agent), SEEN)
        site = self.accesses.sites.number(op, WRITE, False, 8, "generic")
        if np.count_nonzero(shadow.w_who[granules]) or np.count_nonzero(shadow.o_who[granules]):
            self._settle(block, site, region, shadow, granules, actor, None)
        else:
            self.accesses.remember(shadow, granules, actor, WRITE, site)

    def _inval(self, block: Block, event: MbarrierInval) -> None:
        lanes, address, lane = event
        barrier = self._barriers.pop((block.number, address), None)
        if barrier is None:
            return
        agent = block.first + int(lanes.tid[lane])
        users = self._threads(self._still_used(block, barrier, agent))
        copies = np.array([barrier.agent], np.int32), np.array([barrier.finished], np.int32)
        bytes_come = barrier.phases.arrivals[barrier.phase] is None
        if bytes_come or (barrier.finished and not self.clocks.known_to(np.array([agent]), PAST, *copies)[0]):
            users.append(self._starters.get(barrier.agent, (block.machine, agent - block.first)))
        if users:
            self.report.mbarrier_reused(block, lanes.op, agent - block.first, address, users)
        self._overwrite(block, lanes.op, address, agent)

    def _still_used(self, block: Block, barrier: Barrier, agent: int) -> Array:
        """Return the threads that may still arrive on a barrier or wait for it, as far as the thread `agent` knows."""
        first = self.clocks.firsts[block.number]
        local = barrier.used.nonzero()[0]
        users, me = first + local, np.full(len(local), agent)
        known = self.clocks.known_to(me, RAN, users, barrier.used[local])
        phases, copies = barrier.arrived[local], np.full(len(users), barrier.agent, np.int32)
        known |= (phases > 0) & self.clocks.known_to(me, PAST, copies, phases)
        waited = barrier.waited.nonzero()[0]
        waiters = first + waited
        over = self.clocks.known_to(np.full(len(waited), agent), PAST, waiters, barrier.waited[waited])
        return np.unique(np.concatenate([users[~known], waiters[~over]]))

    def _arrive(self, block: Block, barrier: Barrier, event: MbarrierArrive) -> None:
        address, op = event.address, event.lanes.op
        threads = block.first + event.lanes.tid[event.where]
        self._use(block, op, barrier, address, threads)
        self._stray("arrival", block, op, barrier, address, barrier.phases.arrive(threads, event.expect))
        barrier.arrived[threads - barrier.phases.first] = barrier.phase + 1
        remote = address >> RANK_SHIFT != block.rank
        scope = CLUSTER if remote else REACH[getattr(op, "reach", "cta")]
        relaxed = getattr(op, "relaxed", False)
        # A strict arrival has been executed: also for who waits with less scope.
        self._release(barrier.coming, block, threads, scope, relaxed, executed=len(block.cluster.smem) > 1)

    def _expect(self, block: Block, barrier: Barrier, event: MbarrierExpect) -> None:
        lanes, address = event.lanes, event.address
        threads = block.first + lanes.tid[event.lane : event.lane + 1]
        self._use(block, lanes.op, barrier, address, threads)
        self._stray("arrival", block, lanes.op, barrier, address, barrier.phases.expect(threads))

    def _work_arrives(self, block: Block, barrier: Barrier, event: WorkArrive) -> None:
        """Handle cp.async.mbarrier.arrive and tcgen05.commit."""
        work, address = event
        thread = block.first + int(work.tid[0])
        if work.queue == "tcgen05":
            done = self.clocks.of_agent(self.clocks.named(block.number, (thread, "tcgen05")), work.ticket)
            done = done.rows(*(row for row in range(RAN, self.clocks.rows) if row != TMEM))
            then = self._issued[work]
            ran = join(then.knowledge.rows(RAN), self.clocks.past_of(then))
            barrier.coming.add(GPU, block.number, address >> RANK_SHIFT, join(done, ran))
            self._finish(block, work, barrier, address)
            self._must_see_init(block, work, barrier, address)
            return
        copies = self.clocks.of_agent(int(self.clocks.copier(thread)), work.ticket, GENERIC_ROWS)
        then = self._issued[work]
        ran = join(then.knowledge.rows(RAN), self.clocks.past_of(then))
        barrier.coming.add(CTA, block.number, block.rank, join(copies, ran))
        self._finish(block, work, barrier, address)

    def _work_completes(self, block: Block, barrier: Barrier, event: WorkComplete) -> None:
        work, address = event
        self._finish(block, work, barrier, address)
        past = self._behind.get(work)
        if past is None:
            past = self._behind[work] = self.clocks.past_of(self._issued[work])
        barrier.coming.add(GPU, block.number, block.rank, past)
        self._must_see_init(block, work, barrier, address)

    def _must_see_init(self, block: Block, work: Work, barrier: Barrier, address: int) -> None:
        """Report asynchronous work that tells an mbarrier of its end whose initialisation it may not see."""
        then = self._issued[work]
        if self.clocks.had(then, INIT, *barrier.init):
            return
        seen = self.clocks.had(then, SEEN, *barrier.init)
        if work.proxy == "async" or work.queue == "tcgen05" or not seen:
            threads = [(block.machine, tid) for tid in work.tid.tolist()]
            by = self._threads(np.array(barrier.init[:1]))
            self.report.mbarrier_init(block, work.op, threads, address, barrier.op, by, seen)

    def _use(self, block: Block, op: Any, barrier: Barrier, address: int, threads: Array, waits: bool = False) -> None:
        """Check that threads that use an mbarrier know of its initialisation."""
        if address >> RANK_SHIFT != block.rank:
            self._must_have_started(block, op, address >> RANK_SHIFT, threads)
        local = threads - barrier.phases.first
        if not waits:
            barrier.sources[op] = None
            barrier.used[local] = np.maximum(barrier.used[local], self.clocks.clock(SEEN, threads))
        aware = barrier.aware[local]
        if np.count_nonzero(aware) == len(local):
            return
        left = self.clocks.unaware(threads[~aware], SEEN, *barrier.init)
        left = self.clocks.unaware(left, INIT, *barrier.init) if len(left) else left
        barrier.aware[local] = True
        if len(left):
            barrier.aware[left - barrier.phases.first] = False
            users = [(block.machine, int(t) - block.first) for t in left]
            by = self._threads(np.array(barrier.init[:1]))
            self.report.mbarrier_init(block, op, users, address, barrier.op, by, False)

    def _turn(self, block: Block, barrier: Barrier, event: MbarrierPhase) -> None:
        """Complete the phase of an mbarrier."""
        address, op = event
        for waits, threads in barrier.phases.turn(barrier.coming):
            self._stray("late", block, waits, barrier, address, threads, op)
        barrier.done = barrier.coming.snapshot()
        copies = self.clocks.of_agent(barrier.agent, barrier.phase, NOT_INIT)
        barrier.done.add(GPU, block.number, address >> RANK_SHIFT, copies)
        if barrier.stores:
            stores = self.clocks.of_agent(barrier.stores, barrier.phase, GENERIC_ROWS)
            barrier.done.add(GPU, block.number, address >> RANK_SHIFT, stores)

    def _wait(self, block: Block, barrier: Barrier, event: MbarrierWait) -> None:
        address, op, where = event.address, event.lanes.op, event.where
        threads = block.first + event.lanes.tid[where]
        self._use(block, op, barrier, address, threads, waits=True)
        self._stray("early", block, op, barrier, address, barrier.phases.begin(op, threads, event.parity[where]))
        barrier.waited[threads - barrier.phases.first] = WAITING
        self._waited[block.number, address] = self._waited.get((block.number, address), 0) + len(threads)

    def _test(self, block: Block, barrier: Barrier, event: MbarrierTest) -> None:
        address, op, tid = event.address, event.lanes.op, event.lanes.tid
        looking = block.first + tid[event.tried]
        self._use(block, op, barrier, address, looking, waits=True)
        barrier.waited[looking - barrier.phases.first] = self.clocks.clock(PAST, looking)
        self._waited.setdefault((block.number, address), 0)
        threads = block.first + tid[event.where]
        self._looked_for[block.number, address] = len(looking) > len(threads)
        if len(threads):
            self._stray("early", block, op, barrier, address, barrier.phases.tested(op, threads))
            self._observe(block, op, threads, address)

    def _observe(self, block: Block, op: Any, threads: Array, address: int) -> None:
        """Record that threads have seen the latest phase complete."""
        barrier = self._barriers.get((block.number, address))
        if barrier is None:
            return
        scope = REACH[getattr(op, "reach", "cta")]
        knowledge = barrier.done.to(scope, block.number, block.rank)
        if getattr(op, "relaxed", False):
            self.clocks.learn(threads, knowledge.rows(PAST))
            self.clocks.learn_later(threads, barrier.done.for_fences(block.number, block.rank, scope))
        else:
            self.clocks.learn(threads, knowledge)
        over = self.clocks.clock(PAST, threads)
        barrier.waited[threads - barrier.phases.first] = over
        barrier.phases.end(threads, over)
        self.clocks.wait(threads)

    def _finish(self, block: Block, work: Work, barrier: Barrier, address: int) -> None:
        """Handle the arrival of asynchronous work, or its count of bytes."""
        barrier.sources[work.op] = None
        barrier.finished = barrier.phase + 1
        if not barrier.phases.finish(self._issued[work]):
            self._stray("arrival", block, work.op, barrier, address, block.first + work.tid)

    def _stray(
        self, what: str, block: Block, op: Any, barrier: Barrier, address: int, threads: Array, by: Any = None
    ) -> None:
        """Report threads that may wait for another phase than they did, or be counted in another.

        by  the op that completes the phase
        """
        if len(threads):
            self.report.mbarrier_phase(what, block, op, self._threads(threads), address, by)

    # Asynchronous work

    def _done(self, block: Block, event: WorkDone) -> None:
        work = event.work
        self._issued.pop(work, None)
        self._behind.pop(work, None)
        self._copies.pop(work, None)

    def _split(self, block: Block, event: WorkSplit) -> None:
        self._copies[event.rest] = self._copies[event.work]

    def _start(self, block: Block, event: WorkStart) -> None:
        """Record that threads have started asynchronous work."""
        work = event.work
        threads = block.first + work.tid
        if len(threads) == 1:
            self._issued[work] = self.clocks.snapshot(int(threads[0]))
        elif work.queue == "cp.async":
            self._copies[work] = self.clocks.snapshots(threads)
        else:
            nobody = np.zeros(0, np.int32)
            known = self.clocks.of_warps(threads) if work.queue == "wgmma" else self.clocks.of_each(threads)
            self._issued[work] = Snapshot(known, 0, nobody, nobody)
        own = work.queue == "cp.async"  # each thread waits for its own part
        together = self.clocks.past(threads) if len(threads) > 1 and not own else NOTHING
        self.clocks.go_on(threads)
        if work.queue == "none":
            return
        leader = int(threads[0])
        if work.queue == "bulk":  # so that a wait finds their agents
            self.clocks.named(block.number, (leader, "bulk.read"))
        if not own:
            self.clocks.named(block.number, (leader, work.queue))
        for thread, number in zip(threads.tolist() if own else (leader,), work.group.tolist(), strict=False):
            groups = self._groups.setdefault((thread, work.queue), [])
            if groups and groups[-1].number == number:
                groups.pop()
            groups.append(Group(number, work.ticket, together))

    def _wait_for_groups(self, block: Block, event: GroupWait) -> None:
        lanes, queue, pending = event.lanes, event.queue, event.pending
        committed = block.machine.engine.committed(queue)
        tids = lanes.tid[lanes.mask]
        if queue in TOGETHER:
            tids = tids[:1]
        copied: dict[int, list[int]] = {}  # by ticket: the threads that have waited for their cp.async up to there
        for tid in tids.tolist():
            agent = block.first + tid
            groups = self._groups.get((agent, queue))
            if not groups:
                continue
            due = int(committed[tid]) + 1 if pending is None else int(committed[tid]) - pending
            done = [group for group in groups if group.number < due]
            if not done:
                continue
            ticket = done[-1].ticket
            if queue == "cp.async":
                copied.setdefault(ticket, []).append(agent)
            else:
                names = [f"{queue}.read"] if queue == "bulk" else []
                names += [] if event.reads_only else [queue]
                threads = block.first + lanes.tid[lanes.mask] if queue in TOGETHER else np.array([agent])
                rows = [RAN, TMEM] if queue.startswith("tcgen05") else NOT_INIT
                for name in names:
                    self.clocks.learn_of(threads, self.clocks.named(block.number, (agent, name)), ticket, rows)
                self.clocks.learn(threads, done[-1].past)
            if not event.reads_only:
                self._groups[agent, queue] = [group for group in groups if group.number >= due]
        for ticket, agents in copied.items():
            self.clocks.learn_copies(np.array(agents), ticket)

    # Atomic and strong accesses as synchronisation

    def _synchronise(
        self, block: Block, op: Any, region: Region, offset: Array, unit: int, threads: Array, semantic: str, kind: str,
        data: Array | None,
    ) -> Array | None:  # fmt: skip
        """Let strong accesses of threads synchronise; returns the values that loads see, None for the latest ones."""
        if not (self._polls or self._orders or self.clocks.any_released):
            return None
        places = self._places.setdefault(id(region), {})
        me = Writer(reach_of(op), block.number, block.rank)
        written: Any = data
        seen: Array | None = None
        for at in sorted(set(offset.tolist())):
            mine = (offset == at).nonzero()[0]
            place = places.get(at)
            if place is not None and place.size != unit:
                self._forget_places(region, np.array([at]), unit)
                place = None
            if kind == "read":
                if place is not None:
                    loads = Effect.WRITES not in op.effects  # else it is a comparison that failed
                    numbers = self._look(block, place, threads[mine], loads)
                    self._acquire(place, me, threads[mine], numbers, semantic)
                    if np.count_nonzero(numbers < place.last):
                        if seen is None:
                            seen = region.view(unit)[1][(offset - (-region.base % unit)) // unit]
                        seen[mine] = [place.value(n).data for n in numbers.tolist()]
                        block.machine.launch.changed()  # at the next time they see a later one
                continue
            now = region.view(unit)[1][(at - (-region.base % unit)) // unit]
            if place is None:
                relaxed = semantic in ("relaxed", "volatile")
                if relaxed and not self._polls and not self.clocks.has_released(threads[mine]):
                    continue  # nothing that anybody could acquire
                place = places[at] = Place(unit, written[mine[0]] if kind == "atomic" else now.copy())
            if kind == "write":
                self._publish(place, me, threads[mine], written[mine[-1]], semantic, kind)
                continue
            serial = len(mine) > 1 and (self._orders or self.clocks.any_released)
            parts = mine[:, None] if serial else mine[None]
            for part, following in zip(parts, [*mine[1:], None] if serial else [None], strict=True):
                self._acquire(place, me, threads[part], np.full(len(part), place.last), semantic)
                value = now.copy() if following is None else written[following].copy()
                self._publish(place, me, threads[part], value, semantic, kind)
        return seen

    def _look(self, block: Block, place: Place, threads: Array, loads: bool) -> Array:
        """Return the numbers of the values that threads see: the latest, or for some loads an older one."""
        policy = block.machine.launch.policy
        if policy.reads == "latest":
            return np.full(len(threads), place.last)
        numbers, met = place.oldest(self.clocks, threads)
        numbers = np.minimum(numbers + met, place.last) if loads else np.full(len(threads), place.last)
        if loads and policy.reads == "any":
            numbers = np.array([policy.random.randint(n, place.last) for n in numbers.tolist()])
        place.see(self.clocks, threads, numbers)
        return numbers

    def _acquire(self, place: Place, me: Writer, threads: Array, numbers: Array, semantic: str) -> None:
        """Acquire what was released with the values that threads see: now, or for relaxed loads by a later fence."""
        for number in sorted(set(numbers.tolist())):
            value = place.value(number)
            if value.writer is None or not value.writer.agrees(me):
                continue
            mine = threads[numbers == number]
            if semantic in ("acquire", "acq_rel"):
                self.clocks.learn(mine, value.published.to(me.reach, me.cluster, me.rank))
            else:
                self.clocks.learn(mine, value.published.all().rows(PAST))
                self.clocks.learn_later(mine, value.published.for_fences(me.cluster, me.rank))

    def _publish(self, place: Place, me: Writer, threads: Array, data: Any, semantic: str, kind: str) -> None:
        """Publish what writing threads release with the value; an atomic update also passes on what came before."""
        published = Published()
        before = place.value(place.last)
        if kind == "atomic" and before.writer is not None and before.writer.agrees(me):
            published.merge(before.published)
        if semantic in ("release", "acq_rel"):
            known = self.clocks.publish(threads)
            published.add(me.reach, me.cluster, me.rank, known)
            for thread in threads.tolist():
                place.by[thread] = [(me.reach, known)]
        else:
            for reach, known in self.clocks.publish_fenced(threads) if self.clocks.any_released else ():
                published.add(reach, me.cluster, me.rank, known)
            for reach, known in (pair for thread in threads.tolist() for pair in place.by.get(thread, ())):
                published.add(reach, me.cluster, me.rank, known)
            if self._barriers or len(self.clocks.own) > SMEM + 1:  # mbarriers, or blocks of a cluster that have started
                published.add(GPU, me.cluster, me.rank, self.clocks.past(threads))
                self.clocks.go_on(threads)
        place.add(self.clocks, threads, data, me, published)

    def _forget_places(self, region: Region, offset: Array, unit: int) -> None:
        """Forget strong accesses where something else is written: a load that sees that acquires nothing."""
        places = self._places.get(id(region))
        if not places:
            return
        low, high = int(offset.min()), int(offset.max()) + unit
        for at in [at for at, place in places.items() if at + place.size > low and at < high]:
            if np.any((offset < at + places[at].size) & (offset + unit > at)):
                del places[at]

    # Tensor memory

    def _free(self, block: Block, event: TmemFree) -> None:
        """Treat a deallocation as a write to all the columns: every access to them has to be over."""
        region = block.machine.tmem.region
        lane, column = np.arange(LANES)[:, None], np.arange(event.first, event.first + event.columns)
        shadow = self._shadow(region, CELL_BYTES)
        granules = shadow.indices((lane * LANE_BYTES + column * CELL_BYTES).reshape(-1), CELL_BYTES)[0]
        thread = block.first + int(event.lanes.tid[event.lanes.mask][0])
        actor = Threads(self.clocks, np.full(len(granules), thread), RAN)
        site = self.accesses.sites.number(event.lanes.op, WRITE, False, CELL_BYTES, "generic")
        self._settle(block, site, region, shadow, granules, actor, None)
        shadow.w_who[granules] = shadow.o_who[granules] = 0  # whoever allocates them next starts anew

    # The end of a block

    def _exit(self, block: Block, event: Exit) -> None:
        """Let threads leave; after the last one, check what may still access the block's shared memory."""
        tid = event.tid
        threads = block.first + tid
        for thread in threads.tolist() if self._early else ():
            for tell, _ in self._early.pop(thread, {}).values():
                tell()
        key = (block.number, block.rank, "exit")
        place = self._meetings.setdefault(key, Published())
        place.add(CTA, block.number, block.rank, self.clocks.publish(threads))
        if block.machine.roster.live_count > len(tid):
            return
        known = self._meetings.pop(key).to(CTA, block.number, block.rank)
        region, others = block.cluster.smem[block.rank], self._others(block)
        if id(region) in self._shadows:
            self._check_exit(block, region, self._shadows[id(region)][1], known, others)
        for (number, address), barrier in self._barriers.items():
            if number == block.number and address >> RANK_SHIFT == block.rank:
                self._check_barrier(block, address, barrier, known, others)

    def _check_exit(self, block: Block, region: Region, shadow: Shadow, known: Knowledge, others: Array) -> None:
        """Report those who may still access the shared memory of a block that has exited."""
        inside: dict[bytes, bool] = {}  # by the agents of a group: whether they all are the block's own
        for who, when, sites in (
            (shadow.w_who, shadow.w_when, shadow.w_site),
            (shadow.o_who, shadow.o_when, shadow.o_site),
        ):
            g = runs(who, when)  # most neighbours belong to the same epoch
            g = g[who[g] > 0]
            g = g[others[who[g]]]
            if np.all(self.clocks.known(known, RAN, who[g], when[g])):
                continue
            g = (who > 0).nonzero()[0]
            g = g[others[who[g]]]
            pending = g[~self.clocks.known(known, RAN, who[g], when[g])]
            for site in sorted(set(sites[pending].tolist())):
                mine = pending[sites[pending] == site]
                self._outlived(block, region, shadow.offsets(mine), shadow.granule, site, who[mine])
        sets = shadow.o_who[runs(shadow.o_who)]
        for number in sorted(set(sets[sets < 0].tolist())):
            for group in self.accesses.sets[-number]:
                if group.who not in inside:
                    inside[group.who] = not np.count_nonzero(others[group.agents])
                if inside[group.who]:
                    continue
                left = others[group.agents]
                left &= ~self.clocks.known(known, RAN, group.agents, group.clocks)
                if np.count_nonzero(left):
                    offsets = shadow.offsets((shadow.o_who == number).nonzero()[0])
                    self._outlived(block, region, offsets, shadow.granule, group.site, group.agents[left])

    def _outlived(self, block: Block, region: Region, offsets: Array, granule: int, site: int, who: Array) -> None:
        self.report.exited(block, region, offsets, granule, self.accesses.sites[site], self._threads(who))

    def _others(self, block: Block) -> Array:
        """Return a mask of all agents but the block's threads, their cp.async, and wgmma, which ends with its block."""
        n = block.machine.threads
        others = np.ones(self.clocks.count, bool)
        for start in self.clocks.sequences(block.first, block.number):
            others[start : start + n] = False
        others[[agent for name, agent in self.clocks.names() if name[-1] == "wgmma"]] = False
        return others

    def _check_barrier(self, block: Block, address: int, barrier: Barrier, known: Knowledge, others: Array) -> None:
        local = barrier.used.nonzero()[0]
        users = self.clocks.firsts[block.number] + local
        users, clocks = users.astype(np.int32), barrier.used[local]
        phases = barrier.arrived[local]
        seen = np.full(len(users), barrier.agent, np.int32)
        left = others[users] & ~self.clocks.known(known, RAN, users, clocks)
        left &= (phases == 0) | ~self.clocks.known(known, RAN, seen, phases)
        if np.count_nonzero(left):
            self.report.barrier_outlived(block, address, barrier.op, list(barrier.sources), self._threads(users[left]))
        word = block.machine.mbarriers.word(address)
        if word is not None and word.tx:
            self.report.bytes_left(block, address, barrier.op, list(barrier.sources), word.tx)

    def _retire(self, block: Block, event: Retire) -> None:
        """Forget a block that is over."""
        launch = block.machine.launch
        self._retired += 1
        check_length(launch.kernel, launch.ops, self._retired, launch.blocks, launch.max_ops)
        del self._blocks[block.machine]
        self._exited.append((block.first, block.number, Exited(block.machine.block, launch)))
        self._shadows.pop(id(block.cluster.smem[block.rank]), None)
        self._places.pop(id(block.cluster.smem[block.rank]), None)
        if any(other.number == block.number for other in self._blocks.values()):
            return
        self._barriers = {key: held for key, held in self._barriers.items() if key[0] != block.number}
        self._meetings = {key: held for key, held in self._meetings.items() if key[0] != block.number}
        self._rounds = {key: held for key, held in self._rounds.items() if key[0] != block.number}
        self._beside = {
            agent: held for agent, held in self._beside.items() if self.clocks.cluster[agent] != block.number
        }

    def more_about(self, error: SimError) -> Iterator[Note]:
        """Further notes for an error that ended a simulation: for a deadlock, who arrives on what is waited for."""
        if error.code == "deadlock":
            waited = [key for key, threads in self._waited.items() if threads > 0 or self._looked_for.get(key)]
            for key in [key for key in waited if key in self._barriers]:
                barrier = self._barriers[key]
                place = barrier.place
                yield Note(f"mbarrier {place}: {barrier.phase} phases are complete; initialised here", barrier.op.span)
                for op in barrier.sources:
                    yield Note(f"{op.name} arrives on {place}, or counts bytes", op.span)
                if not barrier.sources:
                    yield Note(f"nobody has arrived on {place}")
        if error.code == "uninitialised" and error.place is not None:
            told = {note.span for note in error.notes}
            for op in dict.fromkeys(work.op for work in (*self._issued, *self._copies)):
                if op.span not in told:
                    told.add(op.span)
                    yield Note(
                        f"{op.name} was under way at that time: wait for it, if it is what brings the data", op.span
                    )


_OF_MBARRIERS: dict[type[Any], Callable[[Checker, Block, Barrier, Any], None]] = {
    MbarrierWait: Checker._wait,
    MbarrierTest: Checker._test,
    MbarrierArrive: Checker._arrive,
    MbarrierExpect: Checker._expect,
    MbarrierPhase: Checker._turn,
    WorkArrive: Checker._work_arrives,
    WorkComplete: Checker._work_completes,
}

_HANDLERS: dict[type[Any], Callable[[Checker, Block, Any], None]] = {
    Together: Checker._together,
    Resume: Checker._resume,
    Fence: Checker._fence,
    BarrierArrive: Checker._arrive_at_barrier,
    ClusterArrive: Checker._arrive_at_cluster,
    WorkStart: Checker._start,
    WorkDone: Checker._done,
    WorkSplit: Checker._split,
    GroupWait: Checker._wait_for_groups,
    MbarrierInit: Checker._init,
    MbarrierInval: Checker._inval,
    Exit: Checker._exit,
    Retire: Checker._retire,
    TmemFree: Checker._free,
    **dict.fromkeys(_OF_MBARRIERS, Checker._mbarrier),
}


def _work_of(holder: Any) -> Work | None:
    """Return the asynchronous work that makes an access; None for threads."""
    return holder.work if isinstance(holder, Agent) else None


def _later(order: Array, same_place: Array) -> Array:
    """Return a mask of the positions that come after another one at the same place."""
    later = np.zeros(len(order), bool)
    later[order[1:]] = same_place
    return later
