"""State that the parts of the model share: blocks, threads, mbarriers, work under way, what is kept of memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.ir.contract import Effect
from cutelite.sim.actors import Work
from cutelite.sim.checker.access import Accesses
from cutelite.sim.checker.clocks import Clocks
from cutelite.sim.checker.knowledge import GPU, Snapshot, Snapshots
from cutelite.sim.checker.records import Barrier, Block, Exited
from cutelite.sim.checker.reporter import Reporter
from cutelite.sim.checker.shadow import Shadow, reach_of
from cutelite.sim.machine import Machine
from cutelite.sim.memory import Region

Array = Any

SINGLE_COPIES = ("cp.async", "cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all",
                 "cp.async.mbarrier.arrive")  # fmt: skip
"""Ops with which each thread copies by itself, and waits for what it copied."""


class State:
    """The state of a launch.

    blocks        resident blocks, by their machines
    shadows       of regions of memory, by id
    barriers      live mbarriers, by the number of the cluster and the address
    issued        by work under way: what its thread knew when it started it
    copies        the same of cp.async of several threads
    starters      by asynchronous agent: who started its latest work
    exited        blocks that are over: first agent, number of the cluster
    written       names of global memory that is written in the launch: only there reads matter
    looked_at     names of memory of which strong accesses get values: only there relaxed updates may tell of something
    incomplete    some of it was read, or updated, before that was known
    polls, orders whether there are strong loads, releases and acquires at all: without them less has to be kept
    """

    def __init__(self, reporter: Reporter, written: set[str], looked_at: set[str]) -> None:
        self.report = reporter
        self.clocks = Clocks()
        self.accesses = Accesses(self.clocks)
        self.blocks: dict[Any, Block] = {}
        self.shadows: dict[int, tuple[Region, Shadow]] = {}
        self.barriers: dict[tuple[int, int], Barrier] = {}
        self.issued: dict[Work, Snapshot] = {}
        self.copies: dict[Work, Snapshots] = {}
        self.starters: dict[int, tuple[Any, int]] = {}
        self.exited: list[tuple[int, int, Exited]] = []
        self.written, self.looked_at = written, looked_at
        self.incomplete = False
        self.polls = self.orders = False
        self._unread: set[str] = set()
        self._unseen: set[str] = set()
        self._numbers = self._block_threads = 0
        self._copies_singly = False

    def block(self, machine: Machine) -> Block:
        """Return the record of a block; its cluster gets agents when the first of its blocks is seen."""
        found = self.blocks.get(machine)
        if found is None:
            self._numbers += 1
            machines = machine.cluster.machines
            if self._numbers == 1:
                self._block_threads = machine.threads
                self._look_at(machine.launch)
            threads = sum(m.threads for m in machines)
            first = self.clocks.begin(self._numbers, threads, len(machines), self._copies_singly)
            for other in machines:
                self.blocks[other] = Block(other, self._numbers, first)
                first += other.threads
            found = self.blocks[machine]
        return found

    def _look_at(self, launch: Any) -> None:
        """Look for strong accesses and cp.async in the kernel: without some kinds of them less has to be kept."""
        self._copies_singly = not launch.program.names.isdisjoint(SINGLE_COPIES)
        for op in launch.program.strong:
            self.polls = self.polls or (Effect.READS in op.effects and Effect.WRITES not in op.effects)
            self.orders = self.orders or op.semantic not in ("relaxed", "volatile")
            self.accesses.narrow = self.accesses.narrow or reach_of(op) < GPU

    def threads(self, agents: Array) -> list[tuple[Any, int]]:
        """Return the threads of agents, as (machine, tid); for asynchronous agents, those that started the work."""
        found = []
        for agent in dict.fromkeys(np.asarray(agents).tolist()):
            if agent in self.starters:
                found.append(self.starters[agent])
                continue
            resident = [(block.first, block.number, block.machine) for block in self.blocks.values()]
            for first, number, machine in [*resident, *self.exited]:
                for start in self.clocks.sequences(first, number):
                    if start <= agent < start + self._block_threads:
                        found.append((machine, agent - start))
        return found

    def matters(self, region: Region, kind: str) -> bool:
        """Tell whether accesses of a region of global memory have to be remembered."""
        name = _names(region)
        if kind != "read" and name not in self.written:
            self.written.add(name)
            self.incomplete = self.incomplete or name in self._unread
        if name in self.written:
            return True
        self._unread.add(name)
        return False

    def tells(self, region: Region, op: Any) -> bool:
        """Tell whether a strong access of a region has to be remembered: it gets a value, or others may get its."""
        name = _names(region)
        if op.results and name not in self.looked_at:
            self.looked_at.add(name)
            self.incomplete = self.incomplete or name in self._unseen
        if name in self.looked_at or op.semantic not in ("relaxed", "volatile"):
            return True
        self._unseen.add(name)
        return False

    def shadow(self, region: Region, unit: int) -> Shadow:
        """Return what is kept of a region; by granules of `unit` bytes at first."""
        found = self.shadows.get(id(region))
        if found is None:
            found = self.shadows[id(region)] = (region, Shadow(region.size, unit, region.base))
        return found[1]


def _names(region: Region) -> str:
    """Return the names of what lies in a region, and where."""
    return "\n".join(f"{offset} {name}" for offset, name in region.names.items())
