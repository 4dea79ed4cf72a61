"""Happens-before as vector clocks: what the threads of a launch know, how they learn and what they pass on.

In    accesses that wait, releases, fences: of threads of a block
Out   the knowledge that others acquire; and whether an epoch is known

`knowledge.py` says what is known, `parties.py` of whom.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from cutelite.sim.checker.knowledge import (
    ADVANCED,
    CLUSTER,
    GENERIC_ROWS,
    INIT,
    NOT_INIT,
    NOTHING,
    PAST,
    RAN,
    SCOPES,
    SEEN,
    SMEM,
    TMEM,
    Columns,
    Knowledge,
    Snapshot,
    Snapshots,
    distinct,
    join,
)
from cutelite.sim.checker.parties import Parties
from cutelite.target.targets import WARP

Array = Any

MANY = 1 << 14  # pieces of knowledge kept, before those that no thread has any more are dropped
FEW = 4  # parties: one after the other takes less time than all at once


class Clocks(Parties):
    """The knowledge of the threads of a launch, and their own clocks. All of it is kept by party.

    own             int32 (rows, agents): a thread's own clock (RAN, SEEN), and how much of it a fence has followed
    copied          the same of its own cp.async: the ticket up to which it has waited for them
    knows           keys of `pool`: what it knows of others
    fenced          it has executed a fence that lets it publish by relaxed accesses
    released        for each scope: keys of what fences of at least that scope let it publish so; `released_own` and
                    `released_copied` are its own part of that
    acquired        for each scope: keys of what it has read by relaxed accesses, for a fence of at least that scope
    has_waited      for an mbarrier, since its warp has last executed an instruction together
    """

    OF_PARTIES = ("knows", "fenced", "released", "acquired", "has_waited", "own", "copied", "released_own",
                  "released_copied")  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.knows = np.zeros(1, np.int64)
        self.fenced = np.zeros(1, bool)
        self.released = np.zeros((len(SCOPES), 1), np.int64)
        self.acquired = np.zeros((len(SCOPES), 1), np.int64)
        self.has_waited = np.zeros(1, bool)
        self._make_rows()
        self.pool: dict[int, Knowledge] = {0: NOTHING}
        self.any_released = self.any_waited = False
        self._next = 1
        self._prune_at = MANY

    def _make_rows(self) -> None:
        self.own = np.zeros((self.rows, self.count), np.int32)
        self.copied = np.zeros_like(self.own)
        self.released_own = np.zeros((len(SCOPES), self.rows, self.count), np.int32)
        self.released_copied = np.zeros_like(self.released_own)

    def begin(self, cluster: int, threads: int, ranks: int, copies: bool) -> int:
        """Make agents for the threads of a cluster, which have done nothing yet; see `Parties.begin`."""
        if self.count == 1:
            self.rows = SMEM + ranks
            self._make_rows()
        first = super().begin(cluster, threads, ranks, copies)
        self.own[GENERIC_ROWS, first : first + threads] = 1
        self.own[PAST, first : first + threads] = 1
        return first

    # Knowing

    def keys(self, threads: Array) -> Array:
        """Return the key of each thread's knowledge."""
        return self.knows[self.head[threads]]

    def clock(self, row: int, threads: Array) -> Array:
        """Return the own clocks of threads."""
        return self.own[row][self.head[threads]]

    def of(self, agent: int) -> Knowledge:
        return self.pool[int(self.knows[self.head[agent]])]

    def known(self, knowledge: Knowledge, row: int, who: Array, when: Array) -> Array:
        """Tell whether each epoch is known."""
        column = self.column[who]
        if len(self.columns) == 1:
            return self._known(knowledge, 1, row, column, when)
        clusters = self.cluster[who]
        one = int(clusters[0]) if len(clusters) else 1
        if np.count_nonzero(clusters == one) == len(clusters):
            return self._known(knowledge, one, row, column, when)
        result = np.zeros(len(who), bool)
        for cluster in sorted(set(clusters.tolist())):
            mine = clusters == cluster
            result[mine] = self._known(knowledge, cluster, row, column[mine], when[mine])
        return result

    def _known(self, knowledge: Knowledge, cluster: int, row: int, column: Array, when: Array) -> Array:
        part = knowledge.part(self.columns[cluster])
        if part is None:
            return np.zeros(len(column), bool)
        result: Array = part[row][column] >= when
        return result

    def has(self, knowledge: Knowledge, row: int, agent: int, clock: int) -> bool:
        """Tell whether one epoch is known."""
        part = knowledge.part(self.columns[int(self.cluster[agent])])
        return part is not None and bool(part[row, self.column[agent]] >= clock)

    def had(self, then: Snapshot, row: int, agent: int, clock: int) -> bool:
        """Tell whether an epoch was known when work was started."""
        if self.has(then.knowledge, row, agent, clock):
            return True
        if then.agent == agent:
            return bool(then.own[row] >= clock)
        copied = self.copies and then.agent and agent == self.copier(then.agent)
        return bool(copied and then.copied[row] >= clock)

    def knows_of(self, knowledge: Knowledge, agent: int) -> bool:
        """Tell whether something is known of the cluster of an agent."""
        return self.columns[int(self.cluster[agent])] in knowledge.parts

    def has_any(self, knowledge: Knowledge, row: int, who: Array, when: Array) -> bool:
        """Tell whether some of these epochs is known."""
        if len(who) == 1:
            return self.has(knowledge, row, int(who[0]), int(when[0]))
        return bool(np.count_nonzero(self.known(knowledge, row, who, when)))

    def unaware(self, threads: Array, row: int, agent: int, clock: int) -> Array:
        """Return the threads that do not know an epoch, which is not one of cp.async."""
        heads = self.head[threads]
        keys = self.knows[heads]
        unknown = [key for key in distinct(keys) if not self.has(self.pool[key], row, agent, clock)]
        if not unknown:
            return threads[:0]
        left = keys == unknown[0]
        for key in unknown[1:]:
            left |= keys == key
        left &= (threads != agent) | (self.own[row][heads] < clock)
        return threads[left]

    def known_to(self, threads: Array, row: int, who: Array, when: Array) -> Array:
        """Tell whether each thread knows the epoch beside it; it knows its own."""
        if not len(threads):
            return np.zeros(0, bool)
        own = who == threads
        result = own & (self.clock(row, threads) >= when)
        if np.count_nonzero(own) == len(own):
            return result
        if self.copies:
            copies = who == threads + self._threads_of(threads)
            if np.count_nonzero(copies):
                result |= copies & (self.copied[row][self.head[threads]] >= when)
        left = (~result & ~own).nonzero()[0]
        if len(left):
            keys = self.keys(threads[left])
            for key in distinct(keys):
                mine = left[keys == key]
                result[mine] = self.known(self.pool[key], row, who[mine], when[mine])
        return result

    def known_at(self, then: Snapshot, row: int, who: Array, when: Array) -> Array:
        """Tell whether each epoch was known when work was started."""
        result = self.known(then.knowledge, row, who, when)
        if then.agent:
            result |= (who == then.agent) & (then.own[row] >= when)
            if self.copies:
                result |= (who == self.copier(then.agent)) & (then.copied[row] >= when)
        return result

    def known_by(self, then: Snapshots, threads: Array, row: int, who: Array, when: Array) -> Array:
        """Tell whether each epoch was known to the thread beside it (a position in `then`) when work was started."""
        agents = then.agents[threads]
        result: Array = (who == agents) & (then.own[row][threads] >= when)
        result |= (who == self.copier(agents)) & (then.copied[row][threads] >= when)
        keys = then.keys[threads]
        for key in distinct(keys):
            mine = keys == key
            result[mine] |= self.known(then.knowledge[key], row, who[mine], when[mine])
        return result

    # Learning

    def snapshots(self, agents: Array) -> Snapshots:
        heads = self.head[agents]
        keys = self.knows[heads]
        knowledge = {key: self.pool[key] for key in distinct(keys)}
        return Snapshots(knowledge, keys, agents, self.own[:, heads], self.copied[:, heads])

    def snapshot(self, agent: int) -> Snapshot:
        head = self.head[agent]
        return Snapshot(self.of(agent), agent, self.own[:, head].copy(), self.copied[:, head].copy())

    def publish(self, threads: Array) -> Knowledge:
        """Release: return what these threads of one cluster know, and advance their clocks."""
        heads = self.parties(threads)
        found = self._together(self.knows, self.own, self.copied, heads)
        self._advance(heads)
        return found

    def _advance(self, heads: Array) -> None:
        """Advance the clocks of parties that have released what they know."""
        if len(heads) == 1:
            self.own[ADVANCED, int(heads[0])] += 1
        else:
            self.own[ADVANCED, heads] += 1

    def publish_fenced(self, threads: Array) -> list[tuple[int, Knowledge]]:
        """Return what these threads publish by relaxed accesses after their fences: scopes and knowledge."""
        heads = self.parties(threads)
        found: list[tuple[int, Knowledge]] = []
        if not np.count_nonzero(self.fenced[heads]):
            return found
        for reach in reversed(SCOPES):
            keys, own, copied = (held[reach - 1] for held in (self.released, self.released_own, self.released_copied))
            if not np.count_nonzero(keys[heads]) and not np.count_nonzero(own[:, heads]):
                continue
            if found and self._as_far(heads, reach):
                continue  # a fence of the next scope has released all of it
            found.append((reach, self._together(keys, own, copied, heads)))
        return found

    def has_released(self, threads: Array) -> bool:
        """Tell whether some of these threads have executed a fence that lets relaxed accesses publish."""
        return bool(np.count_nonzero(self.fenced[self.head[threads]]))

    def _as_far(self, heads: Array, reach: int) -> bool:
        """Tell whether all that may be published in this scope may be in the next larger one as well."""
        return all(
            np.array_equal(held[reach - 1][..., heads], held[reach][..., heads])
            for held in (self.released, self.released_own)
        )

    def _together(self, keys: Array, own: Array, copied: Array, heads: Array) -> Knowledge:
        found = self._with_own(keys, own, copied, heads)
        found.parts[self.columns_of(heads)][TMEM] = 0
        return found

    def _with_own(self, keys: Array, own: Array, copied: Array, heads: Array) -> Knowledge:
        """Return the knowledge of parties, including what they have done themselves."""
        found = NOTHING
        for key in distinct(keys[heads]):
            found = join(found, self.pool[key])
        columns = self.columns_of(heads)
        part = columns.writable(found.parts.get(columns))
        if len(heads) <= FEW and not self.copies:
            for head, column in zip(heads.tolist(), self.column[heads].tolist(), strict=True):
                mine = part[:, column]
                np.maximum(mine, own[:, head], out=mine)
            return Knowledge({**found.parts, columns: part})
        at = self.column[heads]
        part[:, at] = np.maximum(part[:, at], own[:, heads])
        if self.copies:
            at = self.column[self.copier(heads)]
            part[:, at] = np.maximum(part[:, at], copied[:, heads])
        return Knowledge({**found.parts, columns: part})

    def of_warps(self, threads: Array) -> Knowledge:
        """Return what all warps of a warpgroup know; a warp knows what any of its threads knows."""
        heads = self.head[threads]
        keys = self.knows[heads]
        if np.count_nonzero(keys == keys[0]) == len(keys):
            return self.pool[int(keys[0])]
        warps = [self.parties(warp) for warp in threads.reshape(-1, WARP)]
        return self.common([self._with_own(self.knows, self.own, self.copied, warp) for warp in warps])

    def of_each(self, threads: Array) -> Knowledge:
        """Return the knowledge that all of these threads share."""
        return self.common([self.pool[key] for key in distinct(self.keys(threads))])

    def told_relaxed(self, threads: Array) -> Knowledge:
        """Return the knowledge that a relaxed arrival passes on without any fence.

        It says that asynchronous work has been executed which these threads know to be complete (wgmma that they waited
        for, say), and what they have behind them. It does not say that ordinary loads have been executed, even if a
        barrier came between: only a release waits for those.
        """
        heads = self.parties(threads)
        found = self._rows_of(heads, RAN, PAST)
        for columns, part in found.parts.items():
            part[RAN, columns.threads] = 0
        self._add_past(found, heads, self.own[PAST, heads])
        self.own[PAST, heads] += 1
        return found

    def past(self, threads: Array) -> Knowledge:
        """Return the waits and arrivals behind these threads of one cluster, and those known to be behind others."""
        return self._past(self.parties(threads))

    def past_of(self, then: Snapshot) -> Knowledge:
        """Return the same for a thread at the time when it started asynchronous work."""
        found = then.knowledge.rows(PAST)
        self._add_past(found, self.parties(np.array([then.agent])), then.own[PAST : PAST + 1])
        return found

    def go_on(self, threads: Array) -> None:
        """Advance the clocks in PAST: what these threads have told does not cover what they wait for from now on."""
        self.own[PAST, self.parties(threads)] += 1

    def advance(self, threads: Array) -> None:
        """Advance the clocks of these threads, as a release does."""
        self._advance(self.parties(threads))

    def share_past(self, threads: Array) -> None:
        """Share what each of these threads knows among all of them, as they meet; advance their clocks in PAST."""
        heads = self.parties(threads)
        if len(heads) == 1:
            self._learn_epoch(heads, int(heads[0]), int(self.own[PAST, heads[0]]), [PAST])
        else:
            self._share_past(heads)
        self.own[PAST, heads] += 1
        self.has_waited[heads] = False
        self.any_waited = bool(np.count_nonzero(self.has_waited))

    def _share_past(self, heads: Array) -> None:
        """Let each of some parties know of PAST what any of them knows, and their own clocks."""
        held = self.knows[heads]
        known = {key: self.pool[key] for key in distinct(held)}
        own = self.columns_of(heads)
        past: dict[Columns, Array] = {own: np.zeros(own.count, np.int32)}
        for knowledge in known.values():
            for columns in knowledge.parts:
                part = knowledge.part(columns)
                assert part is not None
                past[columns] = np.maximum(past[columns], part[PAST]) if columns in past else part[PAST]
        at = self.column[heads]
        past[own][at] = np.maximum(past[own][at], self.own[PAST, heads])
        for key, knowledge in known.items():
            parts = {}
            for columns, row in past.items():
                part = knowledge.part(columns)
                if part is None or part[PAST].tobytes() != row.tobytes():
                    parts[columns] = part = columns.writable(part)
                    part[PAST] = row
            if parts:
                self.knows[heads[held == key]] = self._keep(Knowledge({**knowledge.parts, **parts}))

    def _past(self, heads: Array) -> Knowledge:
        found = self._rows_of(heads, PAST)
        self._add_past(found, heads, self.own[PAST, heads])
        return found

    def _rows_of(self, heads: Array, *rows: int) -> Knowledge:
        """Return these rows of the knowledge of parties, as parts that only the caller has."""
        keys = distinct(self.knows[heads])
        if len(keys) == 1:
            return self.pool[keys[0]].rows(*rows)
        return functools.reduce(join, (self.pool[key].rows(*rows) for key in keys))

    def _add_past(self, knowledge: Knowledge, heads: Array, clocks: Array) -> None:
        """Add the own clocks of parties to knowledge that only the caller has."""
        columns = self.columns_of(heads)
        part = knowledge.parts[columns] = columns.writable(knowledge.part(columns), own=True)
        at = self.column[heads]
        if len(heads) == 1:
            part[PAST, at[0]] = max(part[PAST, at[0]], clocks[0])
        else:
            part[PAST, at] = np.maximum(part[PAST, at], clocks)

    def learn(self, threads: Array, knowledge: Knowledge) -> None:
        """Add knowledge to that of these threads."""
        if knowledge.parts:
            self._learn(self.knows, self.parties(threads), knowledge)

    def learn_of(self, threads: Array, agent: int, clock: int, rows: slice | list[int] = NOT_INIT) -> None:
        """Add one epoch, which is not one of cp.async, to the knowledge of these threads."""
        self._learn_epoch(self.parties(threads), agent, clock, rows)

    def learn_later(self, threads: Array, by_scope: dict[int, Knowledge]) -> None:
        """Add knowledge to that of these threads once they execute an acquire fence of at least each scope."""
        for reach, knowledge in by_scope.items():
            if knowledge.parts:
                self._learn(self.acquired[reach - 1], self.parties(threads), knowledge)

    def _learn(self, keys: Array, heads: Array, knowledge: Knowledge) -> None:
        held = keys[heads]
        for key in distinct(held):
            before = self.pool[key]
            after = join(before, knowledge)
            if after is not before:
                keys[heads[held == key]] = self._keep(after)

    def _learn_epoch(self, heads: Array, agent: int, clock: int, rows: slice | list[int]) -> None:
        columns, column, held = self.columns[int(self.cluster[agent])], self.column[agent], self.knows[heads]
        for key in distinct(held):
            before = self.pool[key]
            part = before.part(columns)
            if part is None or int(part[rows, column].min()) < clock:
                part = columns.writable(part)
                part[rows, column] = np.maximum(part[rows, column], clock)
                self.knows[heads[held == key]] = self._keep(Knowledge({**before.parts, columns: part}))

    def learn_copies(self, threads: Array, ticket: int) -> None:
        """Record that threads have waited for their own cp.async, up to that ticket."""
        heads = self.parties(threads)
        self.copied[GENERIC_ROWS, heads] = np.maximum(self.copied[GENERIC_ROWS, heads], ticket)

    def wait(self, threads: Array) -> None:
        """Mark threads as having waited since their warp last executed an instruction together."""
        self.has_waited[self.parties(threads)] = self.any_waited = True

    def of_agent(self, agent: int, clock: int, rows: slice | list[int] = NOT_INIT) -> Knowledge:
        """Return knowledge that consists of one epoch."""
        cluster = int(self.cluster[agent])
        thread = agent - self.threads[cluster]
        if self.copies and 0 <= thread - self.firsts[cluster] < self.threads[cluster]:
            self.parties(np.array([thread]))  # of cp.async: its column has to be of this thread alone
        columns = self.columns[cluster]
        part = columns.writable(None)
        part[rows, self.column[agent]] = clock
        return Knowledge({columns: part})

    # Fences

    def fence(self, threads: Array, acquire: bool, release: bool, reach: int) -> None:
        """Execute a fence: acquire what relaxed accesses have read, release by relaxed accesses that will write."""
        heads = self.parties(threads)
        if acquire:
            for acquired in self.acquired[:reach]:
                held = acquired[heads]
                for key in distinct(held):
                    self._learn(self.knows, heads[held == key], self.pool[key])
        if release:
            self.any_released = True
            self.fenced[heads] = True
            self.released[:reach, heads] = self.knows[heads]
            self.released_own[:reach, :, heads] = self.own[:, heads]
            self.released_copied[:reach, :, heads] = self.copied[:, heads]
            self._advance(heads)

    def fence_proxy(self, threads: Array, rows: tuple[int, ...]) -> None:
        """Make visible to the async proxy what these threads see, in work that they start or release from now on."""
        heads = self.parties(threads)
        self._raise(heads, SEEN, rows)
        for row in rows:
            self.own[row, heads] = self.own[SEEN, heads]
            self.copied[row, heads] = self.copied[SEEN, heads]
        self.own[GENERIC_ROWS, heads] += 1

    def fence_tensor(self, threads: Array, before: bool) -> None:
        """Apply a tcgen05.fence: `before` threads synchronise, or after that, when it acquires what others released."""
        source, target = (TMEM, SEEN) if before else (SEEN, TMEM)
        self._raise(self.parties(threads), source, (target,))

    def _raise(self, heads: Array, source: int, rows: tuple[int, ...]) -> None:
        """Let parties know in these rows all that they know in the row `source`."""
        held = self.knows[heads]
        for key in distinct(held):
            parts = {}
            for columns, part in self.pool[key].parts.items():
                parts[columns] = part.copy()
                for row in rows:
                    np.maximum(part[row], part[source], out=parts[columns][row])
            if parts:
                self.knows[heads[held == key]] = self._keep(Knowledge(parts))

    def fence_init(self, threads: Array) -> None:
        """fence.mbarrier_init: a release of nothing but these threads' own inits."""
        heads = self.parties(threads)
        self.fenced[heads] = True
        self.own[INIT, heads] = self.own[SEEN, heads]
        self.released_own[:CLUSTER, INIT, heads] = self.own[SEEN, heads]
        self.own[GENERIC_ROWS, heads] += 1

    # Several

    def common(self, several: list[Knowledge]) -> Knowledge:
        """Return the knowledge that is in all of these."""
        parts = {}
        for columns in set.intersection(*(set(knowledge.parts) for knowledge in several)):
            held = [knowledge.part(columns) for knowledge in several]
            parts[columns] = functools.reduce(np.minimum, held)
        return Knowledge(parts)

    # Keeping

    def _keep(self, knowledge: Knowledge) -> int:
        if self.pool.get(knowledge.key) is knowledge:
            return knowledge.key  # other threads know the same
        if len(self.pool) > self._prune_at:
            used = {
                0,
                *sorted(set((np.concatenate([self.knows, self.released.ravel(), self.acquired.ravel()])).tolist())),
            }
            self.pool = {key: held for key, held in self.pool.items() if key in used}
            self._prune_at = 2 * len(self.pool) + MANY
        key = self._next
        self._next += 1
        self.pool[key] = knowledge
        knowledge.key = key
        return key
