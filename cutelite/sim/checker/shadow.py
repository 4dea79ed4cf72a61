"""The checker's record of memory: for each granule the last write, and the accesses since that may conflict.

A granule has as many bytes as the smallest access so far; all accesses are aligned to their size, so each consists of
whole granules. For each granule these are kept:

    the last write        an epoch, and the site (see `Sites`) that made it
    others since          reads, and strong or atomic accesses, which do not conflict with each other. A single one is
                          stored in the arrays; several are a set, whose number stands for a tuple of `Group`s. An
                          access that is ordered before a later one of its kind is dropped: what is ordered after the
                          later one is after both. So are the updates that an atomic update comes after, and the store
                          before these: it observes them, and what is ordered after it is after them too (PTX ISA:
                          causality order)

The record consists of arrays with an element for each granule; untouched pages of them take no memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from cutelite.ir.contract import Effect
from cutelite.ir.op import Op
from cutelite.sim.checker.knowledge import GPU, REACH
from cutelite.tuples import NamedTuple

Array = Any

READ, STRONG_READ, STRONG_WRITE, WRITE, OBSERVED = range(5)
"""Kinds of accesses. Strong ones (atomic, volatile, relaxed, acquire, release) do not race with each other if they are
of one size, by one proxy, and the scope of each holds the thread of the other (PTX: they are morally strong). Strong
writes become `OBSERVED` by a later update, and may then race with strong accesses only."""
STRONG = (STRONG_READ, STRONG_WRITE)

CONFLICTS = np.zeros((5, 5), bool)
"""For each pair of kinds, whether they conflict."""
for _kind in (READ, STRONG_READ, STRONG_WRITE, WRITE):
    CONFLICTS[WRITE, _kind] = CONFLICTS[_kind, WRITE] = True
CONFLICTS[READ, STRONG_WRITE] = CONFLICTS[STRONG_WRITE, READ] = True


MOST_SETS = 1 << 14


def reach_of(op: Op) -> int:
    """Return the reach of a strong access: its scope."""
    return GPU if op.semantic == "volatile" else REACH[op.scope_of_order]


class Site(NamedTuple):
    """An access in the program: the op, its kind, and whether it happens asynchronously.

    bytes  the bytes of each element that it accesses
    proxy  'generic' or 'async'
    """

    op: Op
    kind: int
    asynchronous: bool
    bytes: int
    proxy: str

    def like(self, other: Site) -> bool:
        """Tell whether two strong accesses have the same size and proxy, as morally strong ones must (PTX)."""
        return self.bytes == other.bytes and self.proxy == other.proxy


class Sites:
    """Numbers for sites, from 1 on.

    unlike   whether some strong accesses differ in size or proxy, and so race if they access the same bytes
    later    by number: 0 for accesses that threads make themselves, 1 for asynchronous ones, 2 for the async proxy's
    updates  by number: whether threads read and write at once
    """

    def __init__(self) -> None:
        self.all: list[Site] = []
        self.unlike = False
        self._strong: Site | None = None
        self._numbers: dict[tuple[int, int, bool, int, str], int] = {}
        self.kinds = np.zeros(64, np.int8)
        self.later = np.zeros(64, np.int8)
        self.reach = np.zeros(64, np.int8)
        self.updates = np.zeros(64, bool)

    def number(self, op: Op, kind: int, asynchronous: bool, bytes: int, proxy: str) -> int:
        key = (id(op), kind, asynchronous, bytes, proxy)
        found = self._numbers.get(key)
        if found is None:
            site = Site(op, STRONG_WRITE if kind == OBSERVED else kind, asynchronous, bytes, proxy)
            self.all.append(site)
            found = self._numbers[key] = len(self.all)
            if kind in STRONG:
                self._strong = self._strong or site
                self.unlike = self.unlike or not site.like(self._strong)
            if found >= len(self.kinds):
                self.kinds = np.concatenate([self.kinds, np.zeros_like(self.kinds)])
                self.later = np.concatenate([self.later, np.zeros_like(self.later)])
                self.reach = np.concatenate([self.reach, np.zeros_like(self.reach)])
                self.updates = np.concatenate([self.updates, np.zeros_like(self.updates)])
            self.kinds[found], self.reach[found] = kind, reach_of(op)
            self.later[found] = asynchronous * (1 + (proxy == "async"))
            self.updates[found] = kind == STRONG_WRITE and not asynchronous and Effect.READS in op.effects
        return found

    def observed(self, number: int) -> int:
        """Return the number of a site for those of its strong writes that a later update has observed."""
        site = self[number]
        return self.number(site.op, OBSERVED, site.asynchronous, site.bytes, site.proxy)

    def __getitem__(self, number: int) -> Site:
        return self.all[number - 1]


class Group(NamedTuple):
    """Accesses of one site to the same granule: the agents and their clocks, both as bytes of int32."""

    who: bytes
    when: bytes
    site: int

    @property
    def agents(self) -> Array:
        return np.frombuffer(self.who, np.int32)

    @property
    def clocks(self) -> Array:
        return np.frombuffer(self.when, np.int32)

    def within(self, agents: frozenset[int]) -> bool:
        """Tell whether all agents of the group are among `agents`."""
        return agents.issuperset(members(self.who))


@lru_cache(maxsize=1 << 14)
def members(who: bytes) -> frozenset[int]:
    """Return the agents of a group."""
    return frozenset(np.frombuffer(who, np.int32).tolist())


class Sets:
    """Numbers for sets of groups, from 1 on. `collect` drops those that no shadow refers to any more.

    clusters  of some sets: the cluster of each group
    """

    def __init__(self) -> None:
        self.clusters: dict[int, Array] = {}
        self.all: list[tuple[Group, ...]] = []
        self._numbers: dict[tuple[Group, ...], int] = {}
        self._most = MOST_SETS

    @property
    def many(self) -> bool:
        """True when sets have become many: `collect` should be called."""
        return len(self.all) > self._most

    def collect(self, shadows: Iterable[Shadow]) -> None:
        """Keep only the sets that these shadows refer to, and give them new numbers."""
        shadows = list(shadows)
        used = np.unique(np.concatenate([np.unique(shadow.o_who) for shadow in shadows] or [np.zeros(0, np.int32)]))
        used = used[used < 0]  # ascending: minus the numbers
        kept = [self.all[-number - 1] for number in used.tolist()]
        self.all, self._numbers, self.clusters = [], {}, {}
        renamed = np.array([-self.number(groups) for groups in kept], np.int32)
        for shadow in shadows:
            held = (shadow.o_who < 0).nonzero()[0]
            shadow.o_who[held] = renamed[np.searchsorted(used, shadow.o_who[held])]
        self._most = max(MOST_SETS, 2 * len(self.all))

    def number(self, groups: tuple[Group, ...]) -> int:
        found = self._numbers.get(groups)
        if found is None:
            self.all.append(groups)
            found = self._numbers[groups] = len(self.all)
        return found

    def __getitem__(self, number: int) -> tuple[Group, ...]:
        return self.all[number - 1]


class Shadow:
    """The record of one region.

    granule                bytes of a granule
    lead                   bytes before the region that belong to its first granule, since granules are aligned
    w_who, w_when, w_site  the last write: agent (0: none), clock, site
    o_who, o_when, o_site  other accesses since: an agent, or minus the number of a set; 0: none
    """

    __slots__ = ("granule", "lead", "o_site", "o_when", "o_who", "size", "w_site", "w_when", "w_who")
    _ARRAYS = ("w_who", "w_when", "w_site", "o_who", "o_when", "o_site")

    w_who: Array
    w_when: Array
    w_site: Array
    o_who: Array
    o_when: Array
    o_site: Array

    def __init__(self, size: int, granule: int, base: int = 0) -> None:
        self.size, self.granule, self.lead = size, granule, base % 16
        for name in self._ARRAYS:
            setattr(self, name, np.zeros(-(-(size + self.lead) // granule), np.int32))

    def offsets(self, granules: Array) -> Array:
        """Return the offsets in the region at which granules begin."""
        return granules.astype(np.int64) * self.granule - self.lead

    def units_of(self, unit: int) -> int:
        """Return the number of granules of a unit; make granules smaller where the unit is."""
        if unit < self.granule:
            self._refine(unit)
        return unit // self.granule

    def span(self, offset: Array, unit: int) -> slice | None:
        """Return the granules of units that lie side by side, each once, in any order; None if they do not."""
        low, high = int(offset.min()), int(offset.max())
        if high - low != (len(offset) - 1) * unit:
            return None
        here = np.zeros(len(offset), bool)
        here[(offset - low) >> (unit.bit_length() - 1)] = True
        if np.count_nonzero(here) < len(here):
            return None
        return slice((low + self.lead) // self.granule, (high + unit + self.lead) // self.granule)

    def indices(self, offset: Array, unit: int) -> tuple[Array, int]:
        """Return the granules of units at these byte offsets, in order, and the number of granules of a unit."""
        each = self.units_of(unit)
        first = (offset + self.lead) // self.granule if self.lead else offset // self.granule
        if each == 1:
            return first, 1
        return (first[:, None] + np.arange(each)).reshape(-1), each

    def _refine(self, granule: int) -> None:
        by = self.granule // granule
        for name in self._ARRAYS:
            setattr(self, name, np.repeat(getattr(self, name), by))
        self.granule = granule
