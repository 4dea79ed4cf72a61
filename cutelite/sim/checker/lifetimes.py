"""Blocks start and end: who may use a block's shared memory before it has started, and when it is over.

A block of a cluster may start later than the others, and its memory is gone when it has ended. So a use of another
block's memory must be after the start of that block, and before its end; the end must be after all that copies and
others do there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.ir.simulation import RANK_SHIFT
from cutelite.sim.checker.access import runs
from cutelite.sim.checker.knowledge import CTA, PAST, RAN, Knowledge, Published, Snapshot
from cutelite.sim.checker.limits import check_length
from cutelite.sim.checker.records import Barrier, Block, Exited
from cutelite.sim.checker.shadow import Shadow
from cutelite.sim.checker.state import State
from cutelite.sim.events import Exit
from cutelite.sim.memory import Region

Array = Any


class Lifetimes:
    """The blocks that others know to have started, and the checks at their ends."""

    def __init__(self, state: State) -> None:
        self.state, self.report = state, state.report
        self.clocks, self.accesses = state.clocks, state.accesses
        self._started: dict[int, Array] = {}  # by rank: agents that know the block of that rank to have started
        self._leaving: dict[tuple[int, int], Published] = {}  # by cluster and rank: what threads knew that have left
        self._retired = 0

    def must_have_started(self, block: Block, op: Any, rank: int, threads: Array, then: Snapshot | None = None) -> None:
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
                self.report.not_started(op, self.state.threads(np.array([thread])), rank)

    def exit(self, block: Block, event: Exit) -> None:
        """Let threads leave; after the last one, check what may still access the block's shared memory."""
        tid = event.tid
        threads = block.first + tid
        key = block.number, block.rank
        place = self._leaving.setdefault(key, Published())
        place.add(CTA, block.number, block.rank, self.clocks.publish(threads))
        if block.machine.roster.live_count > len(tid):
            return
        known = self._leaving.pop(key).to(CTA, block.number, block.rank).of_ends()
        region, others = block.cluster.smem[block.rank], self._others(block)
        if id(region) in self.state.shadows:
            self._check_exit(block, region, self.state.shadows[id(region)][1], known, others)
        for (number, address), barrier in self.state.barriers.items():
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
        self.report.exited(block, region, offsets, granule, self.accesses.sites[site], self.state.threads(who))

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
            self.report.barrier_outlived(
                block, address, barrier.op, list(barrier.sources), self.state.threads(users[left])
            )
        word = block.machine.mbarriers.word(address)
        if word is not None and word.tx:
            self.report.bytes_left(block, address, barrier.op, list(barrier.sources), word.tx)

    def retire(self, block: Block) -> bool:
        """Forget a block that is over; return True if its cluster is."""
        launch = block.machine.launch
        self._retired += 1
        check_length(launch.kernel, launch.ops, self._retired, launch.blocks, launch.max_ops)
        del self.state.blocks[block.machine]
        self.state.exited.append((block.first, block.number, Exited(block.machine.block, launch)))
        self.state.shadows.pop(id(block.cluster.smem[block.rank]), None)
        return all(other.number != block.number for other in self.state.blocks.values())
