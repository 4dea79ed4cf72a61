"""Atomic and strong accesses as synchronisation: which value a load sees, what it acquires, what a write releases.

`places.py` has the values of one address.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.ir.contract import Effect
from cutelite.sim.checker.knowledge import GPU, PAST, SMEM, Published
from cutelite.sim.checker.places import Place, Writer
from cutelite.sim.checker.records import Block
from cutelite.sim.checker.shadow import reach_of
from cutelite.sim.checker.state import State
from cutelite.sim.memory import Region

Array = Any


class StrongAccesses:
    """The addresses of strong accesses of a launch."""

    def __init__(self, state: State) -> None:
        self.state, self.clocks = state, state.clocks
        self._places: dict[int, dict[int, Place]] = {}  # by region and offset

    def synchronise(
        self, block: Block, op: Any, region: Region, offset: Array, unit: int, threads: Array, semantic: str, kind: str,
        data: Array | None,
    ) -> Array | None:  # fmt: skip
        """Let strong accesses of threads synchronise; returns the values that loads see, None for the latest ones."""
        if not (self.state.polls or self.state.orders or self.clocks.any_released):
            return None
        if not self.state.tells(region, op):
            return None
        places = self._places.setdefault(id(region), {})
        me = Writer(reach_of(op), block.number, block.rank)
        written: Any = data
        seen: Array | None = None
        for at in sorted(set(offset.tolist())):
            mine = (offset == at).nonzero()[0]
            place = places.get(at)
            if place is not None and place.size != unit:
                self.overwrite(region, np.array([at]), unit)
                place = None
            if kind == "read":
                if place is not None:
                    loads = Effect.WRITES not in op.effects  # else it is a comparison that failed
                    numbers = self._look(block, place, threads[mine], loads)
                    self._acquire(place, me, threads[mine], numbers, semantic)
                    if np.count_nonzero(numbers < place.last):
                        if seen is None:
                            seen = _held(region, offset, unit)
                        seen[mine] = [place.value(n).data for n in numbers.tolist()]
                        block.machine.launch.changed()  # at the next time they see a later one
                continue
            now = _held(region, at, unit)
            if place is None:
                relaxed = semantic in ("relaxed", "volatile")
                if relaxed and not self.state.polls and not self.clocks.has_released(threads[mine]):
                    continue  # nothing that anybody could acquire
                place = places[at] = Place(unit, written[mine[0]] if kind == "atomic" else now.copy())
            if kind == "write":
                self._publish(place, me, threads[mine], written[mine[-1]], semantic, kind)
                continue
            serial = len(mine) > 1 and (self.state.orders or self.clocks.any_released)
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
            if (
                self.state.barriers or len(self.clocks.own) > SMEM + 1
            ):  # mbarriers, or blocks of a cluster that have started
                published.add(GPU, me.cluster, me.rank, self.clocks.past(threads))
                self.clocks.go_on(threads)
        place.add(self.clocks, threads, data, me, published)

    def overwrite(self, region: Region, offset: Array, unit: int) -> None:
        """Forget strong accesses where something else is written: a load that sees that acquires nothing."""
        places = self._places.get(id(region))
        if not places:
            return
        low, high = int(offset.min()), int(offset.max()) + unit
        for at in [at for at, place in places.items() if at + place.size > low and at < high]:
            if np.any((offset < at + places[at].size) & (offset + unit > at)):
                del places[at]

    def retire(self, region: Region) -> None:
        """Forget a region that is no more."""
        self._places.pop(id(region), None)


def _held(region: Region, offset: Any, unit: int) -> Any:
    """Return the numbers of `unit` bytes that a region holds at one or several offsets."""
    return region.view(unit)[1][(offset - (-region.base % unit)) // unit]
