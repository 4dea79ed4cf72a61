"""The rules for one access: the earlier accesses in a `Shadow` that nothing orders with it.

In    an access: its maker (`Actor`), granules, kind and site
Out   the earlier accesses that it races with (`Conflict`); the access is recorded in the shadow
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property
from sys import byteorder
from typing import Any, Protocol

import numpy as np

from cutelite.sim.checker.clocks import MANY, Clocks
from cutelite.sim.checker.knowledge import CLUSTER, CTA, GPU, RAN, SEEN, TMEM, Snapshot, Snapshots, distinct
from cutelite.sim.checker.shadow import (
    CONFLICTS,
    READ,
    STRONG,
    STRONG_READ,
    STRONG_WRITE,
    WRITE,
    Group,
    Sets,
    Shadow,
    Sites,
    members,
)
from cutelite.tuples import NamedTuple

Array = Any

BYTES = 4  # of an agent, and of a clock, in a group
MANY_GROUPS = 16  # in a set; of more, those of other clusters are left out at once
MANY_UNITS = 64  # of asynchronous work: fewer are checked granule by granule
MANY_EPOCHS = 16  # of earlier accesses; more are checked granule by granule


class Conflict(NamedTuple):
    """Positions of an access whose granules race with accesses of one earlier site.

    who  the agents of the earlier accesses, one for each position
    """

    positions: Array
    site: int
    who: Array
    when: Array


class Actor(Protocol):
    """The maker of an access: an epoch for each granule, and the knowledge there."""

    row: int  # of the knowledge in which an earlier write must be
    ran: int  # and one that has only to be over

    @property
    def who(self) -> Array: ...

    @property
    def when(self) -> Array: ...

    def ordered(self, row: int, at: Array, who: Array, when: Array) -> Array:
        """Tell, for each of the positions `at` of the access, whether the epoch (`who`, `when`) is known there."""

    def knowing(self, at: Array) -> Array:
        """Return a number for each position; equal numbers mean that the same is known of others."""

    def unknown(self, row: int, at: int, group: Group) -> bool:
        """Tell whether some of a group, other than the actors themselves, is unknown at position `at`."""


class Threads:
    """Threads that access memory by ordinary instructions."""

    ran = RAN

    def __init__(self, clocks: Clocks, threads: Array, row: int) -> None:
        self.clocks, self.who, self.row = clocks, threads, row
        self.when = clocks.clock(SEEN, threads)

    def ordered(self, row: int, at: Array, who: Array, when: Array) -> Array:
        return self.clocks.known_to(self.who[at], row, who, when)

    def knowing(self, at: Array) -> Array:
        return self.clocks.keys(self.who[at])

    def unknown(self, row: int, at: int, group: Group) -> bool:
        knowledge, first = self.clocks.of(int(self.who[at])), int.from_bytes(group.who[:BYTES], byteorder)
        if not self.clocks.knows_of(knowledge, first):
            return True
        if len(group.who) == BYTES:
            return not self.clocks.has(knowledge, row, first, int.from_bytes(group.when, byteorder))
        return not bool(np.all(self.clocks.known(knowledge, row, group.agents, group.clocks)))


class Worker:
    """Asynchronous work: an epoch of its agent, and the knowledge at its start.

    in_order  whether the agent does its work in order
    who,when  the epoch for each granule; made when they are asked for
    """

    def __init__(
        self, clocks: Clocks, then: Snapshot, agent: int, clock: int, row: int, count: int, in_order: bool = False
    ) -> None:
        self.clocks, self.then, self.row, self.in_order = clocks, then, row, in_order
        self.ran = TMEM if row == TMEM else RAN
        self.agent, self.clock, self._count = agent, clock, count

    @cached_property
    def who(self) -> Array:
        return np.full(self._count, self.agent, np.int32)

    @cached_property
    def when(self) -> Array:
        return np.full(self._count, self.clock, np.int32)

    def after(self, row: int, agent: int, clock: int) -> bool:
        """Tell whether an epoch is of this work itself, or known at its start."""
        if agent == self.agent and (clock <= self.clock if self.in_order else clock == self.clock):
            return True
        return self.clocks.had(self.then, row, agent, clock)

    def ordered(self, row: int, at: Array, who: Array, when: Array) -> Array:
        n = len(at)
        agent, clock = int(who[0]), int(when[0])
        if np.count_nonzero(who == agent) == n and np.count_nonzero(when == clock) == n:
            return np.full(n, self.after(row, agent, clock))
        own = who == self.agent  # other parts of the same piece of work
        own &= when <= self.clock if self.in_order else when == self.clock
        return own | self.clocks.known_at(self.then, row, who, when)

    def knowing(self, at: Array) -> Array:
        return np.zeros(len(at), np.int64)

    def unknown(self, row: int, at: int, group: Group) -> bool:
        agents, clocks = group.agents, group.clocks
        return not bool(np.all(self.ordered(row, np.full(len(agents), at), agents, clocks)))


class Copiers:
    """Copies by cp.async: an epoch for each thread's copies, and the thread's knowledge at their start.

    threads  positions in `then`, one for each granule
    """

    ran = RAN

    def __init__(self, clocks: Clocks, then: Snapshots, threads: Array, clock: int, row: int) -> None:
        self.clocks, self.then, self.threads, self.row = clocks, then, threads, row
        self.who = clocks.copier(then.agents[threads]).astype(np.int32)
        self.when = np.full(len(threads), clock, np.int32)

    def ordered(self, row: int, at: Array, who: Array, when: Array) -> Array:
        own = (who == self.who[at]) & (when == self.when[at])
        return own | self.clocks.known_by(self.then, self.threads[at], row, who, when)

    def knowing(self, at: Array) -> Array:
        return self.then.keys[self.threads[at]]

    def unknown(self, row: int, at: int, group: Group) -> bool:
        knowledge = self.then.knowledge[int(self.then.keys[self.threads[at]])]
        return not bool(np.all(self.clocks.known(knowledge, row, group.agents, group.clocks)))


def _least(actor: Actor) -> int:
    """Return the least `Sites.later` of writes that a write may follow once they are executed, even if not visible yet.

    They are asynchronous; and where the async proxy writes, they are its own: those of cp.async lie in another proxy.
    """
    return 1 if actor.row in (SEEN, TMEM) else 2


class Accesses:
    """All accesses of a launch."""

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.sites = Sites()
        self.sets = Sets()
        self._asked: dict[tuple[int, int, bytes, bytes], bool] = {}

    def looked(self, shadow: Shadow, granules: Array, actor: Threads, kind: int, site: int) -> bool:
        """Check and record threads that read one granule together, if nothing is wrong; False if this did nothing.

        It does the same as `check` and `remember` in fewer steps, for a warp that reads one number or a polling thread.
        """
        if self._may_be_apart:
            return False
        g, who, when = int(granules[0]), actor.who.astype(np.int32, copy=False), actor.when
        writer, held = int(shadow.w_who[g]), int(shadow.o_who[g])
        new = Group(who.tobytes(), when.tobytes(), site)
        groups = self._groups_of(held, int(shadow.o_when[g]), int(shadow.o_site[g])) if held else ()
        if new in groups:
            return True  # the same threads, at the same clocks, and nothing was written since
        keys = sorted(set(self.clocks.keys(who).tolist()))
        if len(keys) > 1 or any(CONFLICTS[kind, self.sites.kinds[x.site]] for x in groups):
            return False
        if writer and not self.clocks.has(self.clocks.pool[keys[0]], actor.row, writer, int(shadow.w_when[g])):
            return False
        still = tuple(x for x in groups if self._remains(x, new, keys[0], actor, 0, kind))
        self._any_strong = self._any_strong or kind != READ
        shadow.o_who[g] = -self.sets.number((*still, new)) if still or len(who) > 1 else who[0]
        shadow.o_when[g], shadow.o_site[g] = when[0], site
        return True

    def passed(self, shadow: Shadow, offset: Array, unit: int, actor: Worker, kind: int, site: int) -> bool:
        """Check and record asynchronous work on units side by side, if nothing is wrong; False if this did nothing.

        It does the same as `check` and `remember`, for each earlier epoch instead of each granule.
        """
        if kind not in (READ, WRITE) or len(offset) < MANY_UNITS:
            return False
        span = shadow.span(offset, unit)
        if span is None or not self._passes(shadow, span, actor, kind):
            return False
        if kind == WRITE:
            shadow.w_who[span], shadow.w_when[span], shadow.w_site[span] = actor.agent, actor.clock, site
            shadow.o_who[span] = 0
        elif np.count_nonzero(shadow.o_who[span]):
            self.remember(shadow, np.arange(span.start, span.stop), actor, kind, site)
        else:
            shadow.o_who[span], shadow.o_when[span], shadow.o_site[span] = actor.agent, actor.clock, site
        return True

    def _passes(self, shadow: Shadow, span: slice, actor: Worker, kind: int) -> bool:
        """Tell whether work is ordered after the accesses of a span of granules that it conflicts with."""
        who, when, sites = shadow.w_who[span], shadow.w_when[span], shadow.w_site[span]
        starts = runs(who, when, sites)
        if len(starts) > MANY_EPOCHS:
            return False
        for agent, clock, of in zip(*(held[starts].tolist() for held in (who, when, sites)), strict=True):
            row = actor.ran if kind == WRITE and self.sites.later[of] >= _least(actor) else actor.row
            if agent and not actor.after(row, agent, clock):
                return False
        who, when, sites = shadow.o_who[span], shadow.o_when[span], shadow.o_site[span]
        if (kind == READ and not self._any_strong) or not np.count_nonzero(who):
            return True
        starts = runs(who, when, sites)
        if kind == READ or len(starts) > MANY_EPOCHS:
            return False
        for code, clock, of in zip(*(held[starts].tolist() for held in (who, when, sites)), strict=True):
            for group in self._groups_of(code, clock, of) if code else ():
                row = actor.row if self.sites.kinds[group.site] == STRONG_WRITE else actor.ran
                if actor.unknown(row, 0, group):
                    return False
        return True

    def _remains(self, old: Group, new: Group, knows: int, actor: Actor, position: int, kind: int) -> bool:
        """Tell whether an earlier access must still be kept beside a new one, at that position of it."""
        if self.sites.kinds[old.site] != kind:
            return True
        return not old.within(members(new.who)) and self._unknown(knows, actor, position, old, actor.ran)

    def check(self, shadow: Shadow, granules: Array, actor: Actor, kind: int, site: int) -> list[Conflict]:
        """Find the earlier accesses that an access of that kind races with."""
        found: list[Conflict] = []
        writer = shadow.w_who[granules]
        at = writer.nonzero()[0]
        if len(at):
            parts = [(at, actor.row)]
            if kind == WRITE:
                done = self.sites.later[shadow.w_site[granules[at]]] >= _least(actor)
                parts = [(at[~done], actor.row), (at[done], actor.ran)]
            for chosen, row in parts:
                if len(chosen):
                    found += self._unordered(chosen, row, actor, granules, writer, shadow.w_when, shadow.w_site)
        if self._may_be_apart and kind in STRONG:
            found += self._apart(shadow, granules, actor, site)
        if kind == STRONG_READ:
            return found
        other = shadow.o_who[granules]
        at = (other > 0).nonzero()[0]
        if len(at):
            kinds = self.sites.kinds[shadow.o_site[granules[at]]]
            at = at[CONFLICTS[kind, kinds]]
            found += self._against_singles(shadow, granules, actor, at)
        if kind != READ or self._any_strong:
            found += self._against_sets((other < 0).nonzero()[0], other, actor, kind)
        return found

    _any_strong = False
    narrow = False  # whether some strong accesses have a scope without other blocks

    @property
    def _may_be_apart(self) -> bool:
        """Tell whether there are strong accesses that may race with each other."""
        return self.narrow or self.sites.unlike

    def _apart(self, shadow: Shadow, granules: Array, actor: Actor, site: int) -> Iterator[Conflict]:
        """Find strong accesses of the same granules that race as ordinary ones do (PTX: they are not morally strong).

        Nothing orders them, and they differ in size or proxy, or the scope of one leaves out the thread of the other.
        """
        other = shadow.o_who[granules]
        at = other.nonzero()[0]
        if not len(at):
            return
        g = granules[at]
        if self._agree(np.unique(np.stack([other[at], shadow.o_when[g], shadow.o_site[g]]), axis=1).T, actor, site):
            return
        old = np.stack([other[at], shadow.o_when[g] * (other[at] > 0), shadow.o_site[g] * (other[at] > 0)], axis=1)
        first, inverse = different(*old.T, actor.who[at])
        for n, position in enumerate(at[first].tolist()):
            code, when, of = (int(x) for x in old[first[n]])
            for group in self._groups_of(code, when, of):
                kinds = (int(self.sites.kinds[site]), self.sites[group.site].kind)
                if kinds[1] not in STRONG or STRONG_WRITE not in kinds:
                    continue
                reach = min(int(self.sites.reach[site]), int(self.sites.reach[group.site]))
                agents, me = group.agents, int(actor.who[position])
                wrong = reach < self._needed(agents, me)
                if not self.sites[site].like(self.sites[group.site]):
                    wrong[:] = True
                row = actor.row if kinds[1] == STRONG_WRITE else RAN
                wrong &= ~actor.ordered(row, np.full(len(agents), position), agents, group.clocks)
                if np.count_nonzero(wrong):
                    mine, one = at[inverse == n], int(np.argmax(wrong))
                    yield Conflict(
                        mine, group.site, np.full(len(mine), agents[one]), np.full(len(mine), group.clocks[one])
                    )

    def _agree(self, old: Array, actor: Actor, site: int) -> bool:
        """Tell whether all of these earlier accesses and a new one are alike, and of one block, so within any scope."""
        blocks = {(self.clocks.cluster[one], self.clocks.rank[one]) for one in distinct(actor.who)}
        for code, when, of in old.tolist():
            for group in self._groups_of(code, when, of):
                if not self.sites[site].like(self.sites[group.site]):
                    return False
                blocks.update((self.clocks.cluster[one], self.clocks.rank[one]) for one in members(group.who))
        return len(blocks) == 1

    def _needed(self, agents: Array, me: Any) -> Array:
        """Return the least scope that contains each of some agents and `me`, which may be an array of agents."""
        cluster, rank = self.clocks.cluster, self.clocks.rank
        inside = np.where(rank[agents] == rank[me], CTA, CLUSTER)
        return np.where(cluster[agents] == cluster[me], inside, GPU)

    def _unordered(
        self, at: Array, row: int, actor: Actor, granules: Array, agents: Array, clocks: Array, sites: Array
    ) -> Iterator[Conflict]:
        """Find those of the accesses recorded at positions `at` that are not known there."""
        g = granules[at]
        who, when = agents[at], clocks[g]
        wrong = ~actor.ordered(row, at, who, when)
        if np.count_nonzero(wrong):
            yield from _by_site(at[wrong], sites[g[wrong]], who[wrong], when[wrong])

    def _against_singles(self, shadow: Shadow, granules: Array, actor: Actor, at: Array) -> Iterator[Conflict]:
        writes = self.sites.kinds[shadow.o_site[granules[at]]] == STRONG_WRITE
        for chosen, row in ((at[writes], actor.row), (at[~writes], actor.ran)):
            if len(chosen):
                other = shadow.o_who[granules]
                yield from self._unordered(chosen, row, actor, granules, other, shadow.o_when, shadow.o_site)

    def _against_sets(self, at: Array, other: Array, actor: Actor, kind: int) -> Iterator[Conflict]:
        if not len(at):
            return
        knowing = actor.knowing(at)
        first, inverse = different(other[at], knowing)
        for n, (position, knows) in enumerate(zip(at[first].tolist(), knowing[first].tolist(), strict=True)):
            for group in self.sets[-int(other[position])]:
                held = int(self.sites.kinds[group.site])
                row = actor.row if held == STRONG_WRITE else actor.ran
                if CONFLICTS[kind, held] and self._unknown(knows, actor, position, group, row):
                    yield from self._against_group(at[inverse == n], group, actor, row)

    def _against_group(self, at: Array, group: Group, actor: Actor, row: int) -> Iterator[Conflict]:
        """Find conflicts of positions `at` with a group that accessed all of them and that only its own agents know."""
        agents, clocks = group.agents, group.clocks
        for who in sorted(set(actor.who[at].tolist())):
            mine = at[actor.who[at] == who]
            unknown = ~actor.ordered(row, np.full(len(agents), mine[0]), agents, clocks)
            if np.count_nonzero(unknown):
                one = int(np.argmax(unknown))
                yield Conflict(mine, group.site, np.full(len(mine), agents[one]), np.full(len(mine), clocks[one]))

    def remember(self, shadow: Shadow, granules: Array, actor: Actor, kind: int, site: int) -> None:
        """Record an access, to check later ones against it."""
        if kind == WRITE:
            shadow.w_who[granules] = actor.who
            shadow.w_when[granules] = actor.when
            shadow.w_site[granules] = site
            shadow.o_who[granules] = 0
            return
        self._any_strong = self._any_strong or kind != READ
        at, code = self._grouped(granules, actor, site)
        g = granules[at]
        old = shadow.o_who[g]
        if np.count_nonzero(old):
            code = self._beside(shadow, g, at, code, old, actor, kind, site)
        shadow.o_who[g] = code
        shadow.o_when[g] = actor.when[at]
        shadow.o_site[g] = site

    def _beside(
        self, shadow: Shadow, g: Array, at: Array, code: Array, old: Array, actor: Actor, kind: int, site: int
    ) -> Array:
        """Return `code` combined with those earlier accesses that a new one does not replace."""
        keep = old != 0
        held = (old > 0).nonzero()[0]
        if len(held):
            same = self.sites.kinds[shadow.o_site[g[held]]] == kind
            when = shadow.o_when[g[held]]
            later = same.copy()
            left = (same & (old[held] != code[held])).nonzero()[0]
            if len(left) and self.sites.updates[site]:
                left = left[self.sites.later[shadow.o_site[g[held[left]]]] > 0]  # it observes all others
            if len(left):
                later[left] = actor.ordered(actor.ran, at[held[left]], old[held[left]], when[left])
            if self._may_be_apart and kind in STRONG:  # what a later access does not clash with, this one may
                later &= self._needed(old[held], actor.who[at[held]]) == CTA
                later &= [self.sites[site].like(self.sites[of]) for of in shadow.o_site[g[held]].tolist()]
            keep[held[later]] = False
        return self._with_old(shadow, g, at, code, keep, actor, kind, site) if np.count_nonzero(keep) else code

    def _grouped(self, granules: Array, actor: Actor, site: int) -> tuple[Array, Array]:
        """Return one position for each distinct granule, and its agent, or minus the set of its agents.

        Of a `Worker`, which is one agent, all positions. Of updates the last one, which observes the others.
        """
        if isinstance(actor, Worker):
            return np.arange(len(granules)), actor.who
        if np.count_nonzero(granules[1:] > granules[:-1]) == len(granules) - 1:  # as most are: each once
            return np.arange(len(granules)), actor.who.astype(np.int32, copy=False)
        if self.sites.updates[site]:
            at = len(granules) - 1 - np.unique(granules[::-1], return_index=True)[1]
            return at, actor.who[at].astype(np.int32, copy=False)
        if np.count_nonzero(granules == granules[0]) == len(granules):
            return np.zeros(1, np.int64), np.array([self._together(actor, slice(None), site)], np.int32)
        order = granules.argsort(kind="stable")
        ordered = granules[order]
        starts = np.concatenate([[0], (ordered[1:] != ordered[:-1]).nonzero()[0] + 1])
        if len(starts) == len(granules):
            return np.arange(len(granules)), actor.who.astype(np.int32, copy=False)
        who = actor.who[order].astype(np.int32)
        at, code = order[starts], who[starts]
        ends = np.append(starts[1:], len(ordered))
        several = np.minimum.reduceat(who, starts) != np.maximum.reduceat(who, starts)
        for i in several.nonzero()[0].tolist():
            code[i] = self._together(actor, order[starts[i] : ends[i]], site)
        return at, code

    def _together(self, actor: Actor, which: Array | slice, site: int) -> int:
        """Return the agent of accesses to one granule, or minus the set of agents if there are several."""
        who, when = actor.who[which].astype(np.int32), actor.when[which].astype(np.int32)
        if np.count_nonzero(who == who[0]) == len(who):
            return int(who[0])
        return -self.sets.number((Group(who.tobytes(), when.tobytes(), site),))

    def _with_old(
        self, shadow: Shadow, g: Array, at: Array, code: Array, keep: Array, actor: Actor, kind: int, site: int
    ) -> Array:
        """Combine `code` with earlier accesses that still count; each distinct combination is computed once."""
        where = keep.nonzero()[0]
        old, old_when, old_site = shadow.o_who[g[where]], shadow.o_when[g[where]], shadow.o_site[g[where]]
        single = old > 0
        first, inverse = different(old, old_when * single, old_site * single, code[where], actor.when[at[where]])
        apart = self._may_be_apart and kind in STRONG
        at, code_of = at[where[first]], code[where[first]]
        made: list[int] = []
        for position, knows, when, one, *earlier in zip(
            at.tolist(), actor.knowing(at).tolist(), actor.when[at].tolist(), code_of.tolist(),
            old[first].tolist(), old_when[first].tolist(), old_site[first].tolist(), strict=True,
        ):  # fmt: skip
            groups, new, me = self._groups_of(*earlier), self._groups_of(one, when, site), int(actor.who[position])
            if self.sites.updates[site]:
                groups = self._unobserved(groups, site, me)
                earlier[0] = -self.sets.number(groups)
            elif earlier[0] > 0 and one > 0:  # `_beside` has found that the one does not replace the other
                made.append(-self.sets.number(groups + new))
                continue
            still, looked_at = [], groups
            if len(groups) > MANY_GROUPS and isinstance(actor, Threads):
                clusters, near = self._near(earlier[0], groups, actor, position)
                if not np.count_nonzero(near):  # nothing is known of any of them
                    made.append(-self.sets.number(groups + new))
                    self.sets.clusters[-made[-1]] = np.append(clusters, [self.clocks.cluster[me]] * len(new))
                    continue
                still = list(itertools.compress(groups, ~near))
                looked_at = tuple(itertools.compress(groups, near))
            for x in looked_at:
                if (apart and self._clashes(x, site, me, CTA)) or self._remains(
                    x, new[0], knows, actor, position, kind
                ):
                    still.append(x)
            made.append(-self.sets.number(tuple(dict.fromkeys((*still, *new)))) if still else one)
        code = code.copy()
        code[where] = np.array(made, np.int32)[inverse]
        return code

    def _unobserved(self, groups: tuple[Group, ...], site: int, me: int) -> tuple[Group, ...]:
        """Return earlier accesses, in the order of time, without those that an update observes.

        It reads what the last update wrote, which read what the one before wrote, and so on down to a store. Where
        strong accesses may race with each other, observed ones stay, as such.
        """
        left: list[Group] = []
        for n, group in reversed([*enumerate(groups)]):
            if self.sites.kinds[group.site] != STRONG_WRITE:
                left.append(group)
                continue
            last = not self.sites.updates[group.site]
            reach = min(int(self.sites.reach[site]), int(self.sites.reach[group.site]))
            several = last and len(group.who) > BYTES
            if several or self.sites.later[group.site] or self._clashes(group, site, me, reach):
                return (*groups[: n + 1], *reversed(left))
            left += [group._replace(site=self.sites.observed(group.site))] if self._may_be_apart else []
            if last:
                return (*groups[:n], *reversed(left))
        return tuple(reversed(left))

    def _clashes(self, group: Group, site: int, me: int, reach: int) -> bool:
        """Tell whether strong accesses differ from one of `me` in size or proxy, or `reach` leaves one of them out."""
        return not self.sites[site].like(self.sites[group.site]) or bool(np.any(self._needed(group.agents, me) > reach))

    def _near(self, code: int, groups: tuple[Group, ...], actor: Threads, position: int) -> tuple[Array, Array]:
        """Return the clusters of the groups of a set, and in which the actor is, or knows something of."""
        clusters = self.sets.clusters.get(-code)
        if clusters is None:
            firsts = np.array([int.from_bytes(group.who[:BYTES], byteorder) for group in groups])
            clusters = self.sets.clusters[-code] = self.clocks.cluster[firsts]
        me = int(actor.who[position])
        known = [columns.cluster for columns in self.clocks.of(me).parts]
        return clusters, np.isin(clusters, [int(self.clocks.cluster[me]), *known])

    def _unknown(self, knows: int, actor: Actor, position: int, group: Group, row: int) -> bool:
        """`actor.unknown`, asked once for all threads that know the same."""
        if not knows:  # not a thread, or one that knows nothing
            return actor.unknown(row, position, group)
        asked = (knows, row, group.who, group.when)
        found = self._asked.get(asked)
        if found is None:
            if len(self._asked) > MANY:
                self._asked.clear()
            found = self._asked[asked] = actor.unknown(row, position, group)
        return found

    def _groups_of(self, code: int, when: int, site: int) -> tuple[Group, ...]:
        if code < 0:
            return self.sets[-code]
        return (Group(code.to_bytes(BYTES, byteorder), when.to_bytes(BYTES, byteorder), site),)


def runs(*columns: Array) -> Array:
    """Return the positions at which some column of numbers differs from the previous position; 0 is the first."""
    changes = np.zeros(len(columns[0]), bool)
    changes[0] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    found: Array = changes.nonzero()[0]
    return found


def different(*columns: Array) -> tuple[Array, Array]:
    """Return the first position of each distinct row of some columns, and for each position the index of its row.

    Neighbours are mostly equal (the granules of one thread, of one instruction), so runs are found first.
    """
    starts = runs(*columns)
    numbers: dict[Any, int] = {}
    of_runs = [
        numbers.setdefault(key, len(numbers)) for key in zip(*(c[starts].tolist() for c in columns), strict=True)
    ]
    which = np.array(of_runs)
    first = np.zeros(len(numbers), np.int64)
    first[which[::-1]] = starts[::-1]  # of equal ones the first is written last, and stays
    return first, which if len(starts) == len(columns[0]) else np.repeat(which, np.diff(starts, append=len(columns[0])))


def _by_site(at: Array, sites: Array, who: Array, when: Array) -> Iterator[Conflict]:
    for site in sorted(set(sites.tolist())):
        mine = sites == site
        yield Conflict(at[mine], site, who[mine], when[mine])
