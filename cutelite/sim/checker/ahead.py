"""The kernel ahead, which may still run when this one starts: what is accessed before griddepcontrol.wait.

A thread knows that it is complete once it has executed the wait, or is ordered after a thread that has. What a thread
reads before it waits is taken for something that the kernel ahead leaves alone, unless the caller says what that is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from cutelite.sim.checker.knowledge import RAN, Published
from cutelite.sim.checker.lanes import work_of
from cutelite.sim.checker.records import Block
from cutelite.sim.checker.state import State
from cutelite.sim.memory import Region, is_part
from cutelite.tuples import NamedTuple

Array = Any


class Ahead(NamedTuple):
    """A kernel that may still run when this one starts.

    untouched  the arguments that it leaves alone; None where nobody has said: then threads that read something and wait
               afterwards are taken to know that it is one
    """

    untouched: frozenset[str] | None


class KernelAhead:
    """The kernel ahead, and the threads that know it to be complete."""

    def __init__(self, state: State, ahead: Ahead | None) -> None:
        self.state, self.clocks = state, state.clocks
        self.ahead = ahead
        self._after_it: Array = np.zeros(0, bool)  # agents that know it to be complete
        # By thread: its reads before it, each with what reports it and the names of what is read.
        self._early: dict[int, dict[Any, tuple[Callable[[], None], set[str]]]] = {}
        self._waiters: set[int] = set()  # threads that have executed griddepcontrol.wait
        self._meetings: list[Published] = []  # barriers at which some of those were
        self._waits: list[int] = []  # agents that stand for griddepcontrol.wait, in each cluster

    def wait(self, block: Block, threads: Array) -> None:
        """Record that threads have executed griddepcontrol.wait."""
        agent = self.clocks.named(block.number, ("grid", block.number))
        if agent not in self._waits:
            self._waits.append(agent)
        self.clocks.learn_of(threads, agent, 1)
        self._waiters.update(threads.tolist())
        self._trust(threads)

    def meet(self, threads: Array, place: Published | None = None) -> None:
        """Record that threads meet, in a warp, or on their way to wait at the barrier `place`."""
        if self._early and not self._waiters.isdisjoint(threads.tolist()):
            if place is None:
                self._trust(threads)
            else:
                self._meetings.append(place)

    def go_on(self, threads: Array, place: Published) -> None:
        """Record that threads go on from a barrier."""
        if self._early and any(place is met for met in self._meetings):
            self._trust(threads)

    def leave(self, threads: Array) -> None:
        """Report, as threads end, what they read early and have never waited for."""
        for thread in threads.tolist() if self._early else ():
            for tell, _ in self._early.pop(thread, {}).values():
                tell()

    def check(self, block: Block, holder: Any, region: Region, offset: Array, lanes: Array, kind: str) -> None:
        """Report accesses of global memory before griddepcontrol.wait: a kernel ahead may still write it."""
        assert self.ahead is not None
        work = work_of(holder)
        op = holder.op if work is None else work.op
        if (work is not None and work.queue == "none" and work.barrier is None) or op.cache == "nc":
            return  # a prefetch; a promise that nobody writes
        if len(self._after_it) < self.clocks.count:
            self._after_it = np.append(self._after_it, np.zeros(self.clocks.count - len(self._after_it), bool))
        copies = self.state.copies.get(work) if work is not None else None
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
                knowledge = self.state.issued[work].knowledge
            else:
                knowledge = copies.knowledge[int(copies.keys[copies.agents == thread][0])]
            waits = np.array(self._waits, np.int32)
            if np.any(self.clocks.known(knowledge, RAN, waits, np.ones_like(waits))):
                self._after_it[thread] = self._after_it[thread] or work is None
                continue
            mine = offset[threads == thread] if len(threads) == len(offset) else offset
            names = {region.place("gmem", region.base + int(at)).name for at in (mine.min(), mine.max())}
            if all(is_part(name, self.ahead.untouched or ()) for name in names):
                continue
            who = self.state.threads(np.array([thread]))
            tell = partial(self.state.report.too_early, block, op, region, mine, who, kind, work is not None)
            if kind == "read" and self.ahead.untouched is None:
                now = self.clocks.of(thread)
                if work is not None and np.any(self.clocks.known(now, RAN, waits, np.ones_like(waits))):
                    for name in sorted(names):  # a copy that was started early, and reads after the thread has waited
                        self.state.report.trusted(op, name)
                    continue
                self._early.setdefault(thread, {}).setdefault(op, (tell, names))
            else:
                tell()

    def _trust(self, threads: Array) -> None:
        """Drop early reads of these threads: they, or others that they met, have since executed griddepcontrol.wait,
        so they read before it on purpose.
        """
        for thread in self._early.keys() & set(threads.tolist()):
            for op, (_, names) in self._early.pop(thread).items():
                for name in sorted(names):
                    self.state.report.trusted(op, name)
