"""Asynchronous work: which agent makes its accesses, what its threads knew at its start, and who has waited for it.

An agent is a sequence of work that ends in order: the copies of one thread that it waits for by groups, the wgmma of a
warpgroup. Copies that an mbarrier counts are the mbarrier's agent, whose clock is the phase that they complete.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.ir.simulation import RANK_SHIFT
from cutelite.sim.actors import Work
from cutelite.sim.checker.access import Actor, Copiers, Worker
from cutelite.sim.checker.knowledge import GMEM, NOT_INIT, NOTHING, RAN, SEEN, SMEM, TMEM, Snapshot
from cutelite.sim.checker.lifetimes import Lifetimes
from cutelite.sim.checker.records import Block, Group
from cutelite.sim.checker.state import State
from cutelite.sim.events import GroupWait, WorkDone, WorkSplit, WorkStart
from cutelite.sim.memory import Region

Array = Any

TOGETHER = ("wgmma", "tcgen05.ld", "tcgen05.st")
"""Queues of work that a warp or warpgroup starts, and waits for, as one."""


class Works:
    """The asynchronous work of a launch."""

    def __init__(self, state: State, lifetimes: Lifetimes) -> None:
        self.state, self.clocks, self.lifetimes = state, state.clocks, lifetimes
        self._groups: dict[tuple[int, str], list[Group]] = {}  # by agent and queue

    def start(self, block: Block, event: WorkStart) -> None:
        """Record that threads have started asynchronous work."""
        work = event.work
        threads = block.first + work.tid
        if len(threads) == 1:
            self.state.issued[work] = self.clocks.snapshot(int(threads[0]))
        elif work.queue == "cp.async":
            self.state.copies[work] = self.clocks.snapshots(threads)
        else:
            nobody = np.zeros(0, np.int32)
            known = self.clocks.of_warps(threads) if work.queue == "wgmma" else self.clocks.of_each(threads)
            self.state.issued[work] = Snapshot(known, 0, nobody, nobody)
        own = work.queue == "cp.async"  # each thread waits for its own part
        together = self.clocks.past(threads) if len(threads) > 1 and not own else NOTHING
        self.clocks.advance(threads)  # what they do from now on is not ordered before the work
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

    def split(self, block: Block, event: WorkSplit) -> None:
        """Record that a part of cp.async goes on as work of its own."""
        self.state.copies[event.rest] = self.state.copies[event.work]

    def done(self, block: Block, event: WorkDone) -> None:
        """Forget work that has been executed."""
        work = event.work
        self.state.issued.pop(work, None)
        self.state.copies.pop(work, None)

    def wait_for_groups(self, block: Block, event: GroupWait) -> None:
        """Let threads know that groups of their work are complete, or have read what they read."""
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

    def worker(
        self, block: Block, work: Work, region: Region, count: int, kind: str, parts: Array, each: int
    ) -> Actor | None:
        """Return the actor of an access by asynchronous work to `count` granules; None for a prefetch.

        parts  for cp.async, the thread that accesses each unit of `each` granules, a position in the work's threads
        """
        rank = region.base >> RANK_SHIFT
        row = SEEN if work.proxy == "generic" else GMEM if region.state is None else SMEM + rank
        row = TMEM if region.tensor else row
        copies = self.state.copies.get(work)
        if copies is not None:
            return Copiers(self.clocks, copies, work.part[np.repeat(parts, each)], work.ticket, row)
        if work.queue == "none" and work.barrier is None:
            return None
        if region.state is not None and rank != block.rank:
            self.lifetimes.must_have_started(block, work.op, rank, block.first + work.tid, self.state.issued[work])
        agent, clock = self._epoch(block, work, region, kind)
        self.state.starters[agent] = (block.machine, int(work.tid[0]))
        self.clocks.rank[agent] = block.rank
        return Worker(self.clocks, self.state.issued[work], agent, clock, row, count, work.queue == "tcgen05")

    def _epoch(self, block: Block, work: Work, region: Region, kind: str) -> tuple[int, int]:
        """Return the agent of asynchronous work, and the clock that stands for its end."""
        thread = block.first + int(work.tid[0])
        if work.queue == "none":
            address = work.barrier or 0
            if kind != "read" and region.state is not None and not work.op.pair:
                address = address & ((1 << RANK_SHIFT) - 1) | region.base
            barrier = self.state.barriers.get((block.number, address))
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
