"""Conflicts between accesses, and the writes of lanes that one instruction executes: from a site to a report.

`access.py` finds which earlier accesses an access is not ordered after. Here these are told apart: both write the same
value, the order is there and a proxy fence is missing, two copies that one phase counts, and so on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.sim.actors import Work
from cutelite.sim.checker.access import Actor, Conflict, Threads, Worker
from cutelite.sim.checker.knowledge import GMEM, SEEN
from cutelite.sim.checker.records import Beside, Block
from cutelite.sim.checker.shadow import READ, STRONG_WRITE, WRITE, Shadow
from cutelite.sim.checker.state import State
from cutelite.sim.memory import Region

Array = Any


class Races:
    """Checks an access against all before it, reports conflicts, and remembers it."""

    def __init__(self, state: State) -> None:
        self.state, self.report = state, state.report
        self.clocks, self.accesses = state.clocks, state.accesses
        self._beside: dict[int, tuple[int, list[Beside]]] = {}  # by agent: the phase, and copies that count in it

    def settle(
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
            self.accesses.sets.collect([shadow for _, shadow in self.state.shadows.values()])
        conflicts = self.accesses.check(shadow, granules, actor, site.kind, number)
        within = self.within(granules, actor, number) if site.kind == WRITE else []
        for one, conflict in (*((False, each) for each in conflicts), *((True, each) for each in within)):
            if one or not site.asynchronous:
                conflict = self._telling(conflict, region, granules, wrote)
            if len(conflict.positions):
                self._race(block, region, shadow, granules, actor, number, conflict, one)
        self.accesses.remember(shadow, granules, actor, site.kind, number)

    def looked(self, shadow: Shadow, granules: Array, actor: Threads, kind: int, site: int) -> bool:
        """Settle a read of one granule by all of its threads, if it is one and nothing is wrong."""
        if granules[0] != granules[-1] or np.count_nonzero(granules == granules[0]) != len(granules):
            return False
        return self.accesses.looked(shadow, granules, actor, kind, site)

    def within(self, granules: Array, actor: Actor, site: int) -> list[Conflict]:
        """Return the conflicts between writes to the same place by one instruction, of several threads or a copy."""
        if np.count_nonzero(granules[1:] > granules[:-1]) == len(granules) - 1:
            return []
        order = granules.argsort(kind="stable")
        ordered = granules[order]
        again = (ordered[1:] == ordered[:-1]).nonzero()[0]
        if not len(again):
            return []
        first, second = order[again], order[again + 1]
        if isinstance(actor, Threads) and self.accesses.sites[site].op.holders is None:  # a thread's own come in order
            differ = actor.who[first] != actor.who[second]
            first, second = first[differ], second[differ]
            if not len(first):
                return []
        return [Conflict(second, site, actor.who[first], actor.when[first])]

    def check_beside(
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
        shadow = self.state.shadow(region, unit)
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

    def must_be_unwritten(
        self, block: Block, op: Any, region: Region, shadow: Shadow, granules: Array, threads: Array
    ) -> None:
        """Report non-coherent loads of what the launch has written."""
        stale = (shadow.w_site[granules] > 0).nonzero()[0]
        if len(stale):
            at = granules[stale]
            old = self.accesses.sites[int(shadow.w_site[at[0]])]
            sides = self.state.threads(threads[stale]), self.state.threads(shadow.w_who[at])
            self.report.stale(block, op, region, shadow.offsets(at), shadow.granule, old, *sides)

    def _telling(
        self, conflict: Conflict, region: Region, granules: Array, wrote: tuple[Array, int, Array] | None
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
        """Report a conflict; `within`: of parts of one instruction."""
        old, new = self.accesses.sites[conflict.site], self.accesses.sites[site]
        at = conflict.positions
        how = "within" if within else ""
        if not within and actor.row >= GMEM and old.kind in (WRITE, STRONG_WRITE):
            how = "fenceless" if np.all(actor.ordered(SEEN, at, conflict.who, conflict.when)) else ""
        if isinstance(actor, Worker) and actor.then.agent in conflict.who:
            how = how or "behind"  # what that thread did before it started the work is ordered
        offsets = shadow.offsets(granules[at])
        self.report.race(
            block, region, offsets, shadow.granule, old, new,
            self.state.threads(conflict.who), self.state.threads(actor.who[at]), how,
        )  # fmt: skip

    def forget(self, cluster: int) -> None:
        """Forget a cluster that is over."""
        self._beside = {agent: held for agent, held in self._beside.items() if self.clocks.cluster[agent] != cluster}


def _later(order: Array, same_place: Array) -> Array:
    """Return a mask of the positions that come after another one at the same place."""
    later = np.zeros(len(order), bool)
    later[order[1:]] = same_place
    return later
