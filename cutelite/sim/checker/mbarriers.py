"""mbarriers: their initialisation, arrivals, phases and waits, and what a thread knows that sees a phase complete.

`phases.py` says which phase a wait or an arrival may be in. Here is what a phase passes on: what arrivals released, and
that the copies which counted their bytes in it are complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cutelite.diag import Note
from cutelite.ir.simulation import RANK_SHIFT
from cutelite.sim.actors import Work
from cutelite.sim.checker.access import Threads
from cutelite.sim.checker.knowledge import (
    CLUSTER,
    CTA,
    GENERIC_ROWS,
    GPU,
    INIT,
    NOT_INIT,
    PAST,
    RAN,
    REACH,
    SEEN,
    TMEM,
    Knowledge,
    join,
)
from cutelite.sim.checker.lifetimes import Lifetimes
from cutelite.sim.checker.meetings import release
from cutelite.sim.checker.phases import WAITING, Phases
from cutelite.sim.checker.races import Races
from cutelite.sim.checker.records import Barrier, Block
from cutelite.sim.checker.shadow import WRITE
from cutelite.sim.checker.state import State
from cutelite.sim.events import (
    MbarrierArrive,
    MbarrierExpect,
    MbarrierInit,
    MbarrierInval,
    MbarrierPhase,
    MbarrierTest,
    MbarrierWait,
    WorkArrive,
    WorkComplete,
)

Array = Any

OfMbarrier = MbarrierWait | MbarrierTest | MbarrierArrive | MbarrierExpect | MbarrierPhase | WorkArrive | WorkComplete


class Mbarriers:
    """The mbarriers of a launch."""

    def __init__(self, state: State, lifetimes: Lifetimes, races: Races) -> None:
        self.state, self.report = state, state.report
        self.clocks, self.accesses = state.clocks, state.accesses
        self.lifetimes, self.races = lifetimes, races
        self._behind: dict[Work, Knowledge] = {}  # what its threads had behind them, of work that counts bytes
        self._waited: dict[tuple[int, int], int] = {}  # how many threads wait on each mbarrier
        self._looked_for: dict[tuple[int, int], bool] = {}  # whether the last test of each found its phase incomplete
        self._handlers: dict[type[Any], Callable[[Block, Barrier, Any], None]] = {
            MbarrierWait: self._wait,
            MbarrierTest: self._test,
            MbarrierArrive: self._arrive,
            MbarrierExpect: self._expect,
            MbarrierPhase: self._turn,
            WorkArrive: self._work_arrives,
            WorkComplete: self._work_completes,
        }

    @property
    def kinds(self) -> tuple[type[Any], ...]:
        """The events of live mbarriers, which `event` handles."""
        return tuple(self._handlers)

    def event(self, block: Block, event: OfMbarrier) -> None:
        """Handle an event, if the mbarrier is a live one."""
        barrier = self.state.barriers.get((block.number, event.address))
        if barrier is not None:
            self._handlers[type(event)](block, barrier, event)

    def resume(self, block: Block, op: Any, threads: Array, address: int) -> None:
        """Let threads go on after a wait."""
        self._observe(block, op, threads, address)
        key = block.number, address
        self._waited[key] = self._waited.get(key, 0) - len(threads)

    def done(self, work: Work) -> None:
        """Forget work that has been executed."""
        self._behind.pop(work, None)

    def init(self, block: Block, event: MbarrierInit) -> None:
        """Begin an mbarrier."""
        lanes, address, lane = event
        agent = block.first + int(lanes.tid[lane])
        name = ("mbarrier", block.number, address, self.clocks.count)
        copies = self.clocks.named(block.number, name)
        place = block.machine.spaces["cluster"].place(address)
        clock, threads = int(self.clocks.clock(SEEN, agent)), self.clocks.threads[block.number]
        named = f"{place.name}[{place.offset // 8}]"
        phases = Phases(self.clocks, copies)
        self.state.barriers[block.number, address] = Barrier(named, agent, clock, lanes.op, phases, threads)
        self._overwrite(block, lanes.op, address, agent)

    def inval(self, block: Block, event: MbarrierInval) -> None:
        """End an mbarrier; nobody may arrive on it or wait for it any more."""
        lanes, address, lane = event
        barrier = self.state.barriers.pop((block.number, address), None)
        if barrier is None:
            return
        agent = block.first + int(lanes.tid[lane])
        users = self.state.threads(self._still_used(block, barrier, agent))
        copies = np.array([barrier.agent], np.int32), np.array([barrier.finished], np.int32)
        bytes_come = barrier.phases.arrivals[barrier.phase] is None
        if bytes_come or (barrier.finished and not self.clocks.known_to(np.array([agent]), PAST, *copies)[0]):
            users.append(self.state.starters.get(barrier.agent, (block.machine, agent - block.first)))
        if users:
            self.report.mbarrier_reused(block, lanes.op, agent - block.first, address, users)
        self._overwrite(block, lanes.op, address, agent)

    def _overwrite(self, block: Block, op: Any, address: int, agent: int) -> None:
        """Treat `init` and `inval` of an mbarrier as a write to its 8 bytes, for other uses of them."""
        region = block.cluster.smem[address >> RANK_SHIFT]
        shadow = self.state.shadow(region, 8)
        granules, each = shadow.indices(np.array([address - region.base]), 8)
        actor = Threads(self.clocks, np.full(each, agent), SEEN)
        site = self.accesses.sites.number(op, WRITE, False, 8, "generic")
        if np.count_nonzero(shadow.w_who[granules]) or np.count_nonzero(shadow.o_who[granules]):
            self.races.settle(block, site, region, shadow, granules, actor, None)
        else:
            self.accesses.remember(shadow, granules, actor, WRITE, site)

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
        self._stray("arrival", block, op, address, barrier.phases.arrive(threads, event.expect))
        barrier.arrived[threads - barrier.phases.first] = barrier.phase + 1
        remote = address >> RANK_SHIFT != block.rank
        scope = CLUSTER if remote else REACH[op.reach]
        relaxed = op.relaxed
        # A strict arrival has been executed: also for who waits with less scope.
        release(self.clocks, barrier.coming, block, threads, scope, relaxed, executed=len(block.cluster.smem) > 1)

    def _expect(self, block: Block, barrier: Barrier, event: MbarrierExpect) -> None:
        lanes, address = event.lanes, event.address
        threads = block.first + lanes.tid[event.lane : event.lane + 1]
        self._use(block, lanes.op, barrier, address, threads)
        self._stray("arrival", block, lanes.op, address, barrier.phases.expect(threads))

    def _work_arrives(self, block: Block, barrier: Barrier, event: WorkArrive) -> None:
        """Handle cp.async.mbarrier.arrive and tcgen05.commit."""
        work, address = event
        thread, of_products = block.first + int(work.tid[0]), work.queue == "tcgen05"
        then = self.state.issued[work]
        ran = join(then.knowledge.rows(RAN), self.clocks.past_of(then))
        if of_products:
            done = self.clocks.of_agent(self.clocks.named(block.number, (thread, "tcgen05")), work.ticket)
            done = done.rows(*(row for row in range(RAN, self.clocks.rows) if row != TMEM))
            barrier.coming.add(GPU, block.number, address >> RANK_SHIFT, join(done, ran))
        else:
            done = self.clocks.of_agent(int(self.clocks.copier(thread)), work.ticket, GENERIC_ROWS)
            barrier.coming.add(CTA, block.number, block.rank, join(done, ran))
        self._finish(block, work, barrier, address)
        if of_products:
            self._must_see_init(block, work, barrier, address)

    def _work_completes(self, block: Block, barrier: Barrier, event: WorkComplete) -> None:
        work, address = event
        self._finish(block, work, barrier, address)
        past = self._behind.get(work)
        if past is None:
            past = self._behind[work] = self.clocks.past_of(self.state.issued[work])
        barrier.coming.add(GPU, block.number, block.rank, past)
        self._must_see_init(block, work, barrier, address)

    def _must_see_init(self, block: Block, work: Work, barrier: Barrier, address: int) -> None:
        """Report asynchronous work that tells an mbarrier of its end whose initialisation it may not see."""
        then = self.state.issued[work]
        if self.clocks.had(then, INIT, *barrier.init):
            return
        seen = self.clocks.had(then, SEEN, *barrier.init)
        if work.proxy == "async" or work.queue == "tcgen05" or not seen:
            threads = [(block.machine, tid) for tid in work.tid.tolist()]
            by = self.state.threads(np.array(barrier.init[:1]))
            self.report.mbarrier_init(block, work.op, threads, address, barrier.op, by, seen)

    def _use(self, block: Block, op: Any, barrier: Barrier, address: int, threads: Array, waits: bool = False) -> None:
        """Check that threads that use an mbarrier know of its initialisation."""
        if address >> RANK_SHIFT != block.rank:
            self.lifetimes.must_have_started(block, op, address >> RANK_SHIFT, threads)
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
            by = self.state.threads(np.array(barrier.init[:1]))
            self.report.mbarrier_init(block, op, users, address, barrier.op, by, False)

    def _turn(self, block: Block, barrier: Barrier, event: MbarrierPhase) -> None:
        """Complete the phase of an mbarrier."""
        address, op = event
        for waits, threads in barrier.phases.turn(barrier.coming):
            self._stray("late", block, waits, address, threads, op)
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
        self._stray("early", block, op, address, barrier.phases.begin(op, threads, event.parity[where]))
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
            self._stray("early", block, op, address, barrier.phases.tested(op, threads))
            self._observe(block, op, threads, address)

    def _observe(self, block: Block, op: Any, threads: Array, address: int) -> None:
        """Record that threads have seen the latest phase complete."""
        barrier = self.state.barriers.get((block.number, address))
        if barrier is None:
            return
        scope = REACH[op.reach]
        knowledge = barrier.done.to(scope, block.number, block.rank)
        if op.relaxed:
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
        if not barrier.phases.finish(self.state.issued[work]):
            self._stray("arrival", block, work.op, address, block.first + work.tid)

    def _stray(self, what: str, block: Block, op: Any, address: int, threads: Array, by: Any = None) -> None:
        """Report threads that may wait for another phase than they did, or be counted in another.

        by  the op that completes the phase
        """
        if len(threads):
            self.report.mbarrier_phase(what, block, op, self.state.threads(threads), address, by)

    def more_about_deadlock(self) -> Iterator[Note]:
        """Tell who arrives on what is waited for."""
        waited = [key for key, threads in self._waited.items() if threads > 0 or self._looked_for.get(key)]
        for key in [key for key in waited if key in self.state.barriers]:
            barrier = self.state.barriers[key]
            place = barrier.place
            yield Note(f"mbarrier {place}: {barrier.phase} phases are complete; initialised here", barrier.op.span)
            for op in barrier.sources:
                yield Note(f"{op.name} arrives on {place}, or counts bytes", op.span)
            if not barrier.sources:
                yield Note(f"nobody has arrived on {place}")

    def forget(self, cluster: int) -> None:
        """Forget a cluster that is over."""
        barriers = self.state.barriers
        self.state.barriers = {key: held for key, held in barriers.items() if key[0] != cluster}
