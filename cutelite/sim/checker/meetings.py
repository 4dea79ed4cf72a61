"""Barriers at which threads meet: named ones of a block, and the cluster's. What arrivals release, waits acquire."""

from __future__ import annotations

from typing import Any

from cutelite.sim.checker.ahead import KernelAhead
from cutelite.sim.checker.clocks import Clocks
from cutelite.sim.checker.knowledge import CLUSTER, CTA, EVERYBODY, Published
from cutelite.sim.checker.phases import Rounds
from cutelite.sim.checker.records import Block
from cutelite.sim.checker.state import State
from cutelite.sim.events import BarrierArrive, BarrierGeneration, ClusterArrive, ClusterPhase

Array = Any

GENERATIONS = 4
"""Generations of a barrier that are kept: nobody waits for one when the one after the next completes."""


def release(
    clocks: Clocks, place: Published, block: Block, threads: Array, scope: int, relaxed: bool, executed: bool = False
) -> None:
    """Release what arriving threads know at a place; by a relaxed arrival, what fences before it released."""
    if not relaxed:
        place.add(scope, block.number, block.rank, clocks.publish(threads), executed)
        return
    for reach, known in clocks.publish_fenced(threads):
        place.add(min(reach, scope), block.number, block.rank, known)
    place.add(EVERYBODY, block.number, block.rank, clocks.told_relaxed(threads))


class Meetings:
    """The barriers of a launch, but mbarriers."""

    def __init__(self, state: State, ahead: KernelAhead) -> None:
        self.state, self.clocks, self.ahead = state, state.clocks, ahead
        self._places: dict[tuple[int, int, object], Published] = {}  # by cluster, rank (-1: the cluster's), generation
        self._rounds: dict[tuple[int, int, int], Rounds] = {}  # by cluster, rank and number

    def arrive(self, block: Block, event: BarrierArrive) -> None:
        """Let threads arrive at a named barrier of their block."""
        lanes, on, where = event
        threads = block.first + lanes.tid[where]
        key = block.number, block.rank, on.number
        rounds = self._rounds.get(key)
        if rounds is None:
            rounds = self._rounds[key] = Rounds(block.first, block.machine.threads)
        astray, other = rounds.arrive(lanes.op, threads, self.clocks, on.generation)
        if len(astray):
            self.state.report.barrier_phase(on.number, lanes.op, self.state.threads(astray), other)
        self._meet(block, block.rank, on, threads, CTA)

    def arrive_at_cluster(self, block: Block, event: ClusterArrive) -> None:
        """Let threads arrive at the barrier of their cluster."""
        lanes = event.lanes
        relaxed = lanes.op.relaxed
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
        self._places.pop((block.number, rank, on.earlier(GENERATIONS)), None)
        place = self._places.setdefault((block.number, rank, on), Published())
        if rank >= 0:
            self.ahead.meet(threads, place)
        release(self.clocks, place, block, threads, scope, relaxed)

    def go_on(self, block: Block, threads: Array, on: object) -> None:
        """Let threads go on after a wait: they acquire what was released to the barrier."""
        rank, scope = (-1, CLUSTER) if isinstance(on, ClusterPhase) else (block.rank, CTA)
        place = self._places.get((block.number, rank, on))
        if isinstance(on, BarrierGeneration):
            self._rounds[block.number, block.rank, on.number].end(threads, on.generation)
        if place is not None:
            self.clocks.learn(threads, place.to(scope, block.number, block.rank))
            self.ahead.go_on(threads, place)

    def forget(self, cluster: int) -> None:
        """Forget a cluster that is over."""
        self._places = {key: held for key, held in self._places.items() if key[0] != cluster}
        self._rounds = {key: held for key, held in self._rounds.items() if key[0] != cluster}
