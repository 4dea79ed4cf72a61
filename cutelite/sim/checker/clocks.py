"""Happens-before as vector clocks, for threads and for asynchronous work.

An *agent* is a sequence of accesses that others see in order: those of a thread; of a thread's cp.async; of its bulk
copies; of the wgmma of a warpgroup; of the copies that count their bytes on one mbarrier. Each has a clock: a thread's
counts its releases, the others' count the tickets of their work or the phases of the mbarrier. An *epoch* is an agent
and its clock at an access. The access is ordered before everything that is done by somebody who knows a clock at least
as high.

`Knowledge` holds a clock of every agent in several rows, for an access may be ordered and still not be visible:

    INIT   an mbarrier.init whose effect the cluster and the async proxy see: a fence.mbarrier_init was on the way
    RAN    has been executed: may be overwritten
    SEEN   can be read by ordinary instructions
    PAST   of a thread: its waits and arrivals are behind it. Of the copies of an mbarrier: this number of its phases
           is complete. Any message that a thread sends tells of these, a relaxed one too: what a thread does depends on
           them, where its loads may still be under way
    GMEM   in global memory, can be read by the async proxy (TMA, wgmma): a fence.proxy.async was on the way
    TMEM   in tensor memory, is before what tcgen05 instructions of this thread do: a tcgen05 wait, or a fence
           after_thread_sync, was on the way. No message passes it on: it is made of SEEN, and SEEN of it, by fences
    SMEM   as GMEM, for the shared memory of the block of rank 0; those of other ranks of the cluster come behind it

Knowledge is immutable and shared: threads that meet at a barrier know the same afterwards. What a thread knows of
itself is not part of it and lies in `Clocks.own`.

Threads that have done and learned the same so far are a *party*: a block begins as one, and each time only some of a
party do something they become one of their own, for good. All that is kept of threads is kept once for each party,
under its first thread, its *head*; and a part of knowledge has a column for each party, not for each thread.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cutelite.sim.program import WARP

Array = Any

INIT, RAN, SEEN, PAST, GMEM, TMEM, SMEM = range(7)
GENERIC_ROWS = slice(RAN, SEEN + 1)
ADVANCED = slice(RAN, PAST + 1)  # rows of a thread's own clocks that a release advances
NOT_INIT = slice(RAN, None)

CTA, CLUSTER, GPU = range(1, 4)
"""Scopes of an order, by how far they reach. The whole system is no more than the GPU here: nobody else takes part."""
SCOPES = (CTA, CLUSTER, GPU)
EVERYBODY = 4
"""Reach of what whoever sees it knows, with a scope of whatever size: that something has been executed."""
REACH = {"cta": CTA, "cluster": CLUSTER, "gpu": GPU, "sys": GPU}

MANY = 1 << 14  # pieces of knowledge kept, before those that no thread has any more are dropped
MANY_SETS = 1 << 10  # of threads, whose parties are remembered
SPARE = 16  # columns
FEW = 4  # parties: one after the other takes less time than all at once


class Columns:
    """The columns that parts of knowledge of one cluster have: one of each party of threads, and asynchronous agent.

    Column 0 is nobody's, and always 0.

    origins  for each column, the one that it was the same as until then; 0 where nothing was known of its agents
    count    the number of columns
    threads  columns of what threads do themselves
    """

    __slots__ = ("_indices", "_spare", "count", "origins", "rows", "threads")

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.origins = [0]
        self.count = 1
        self.threads = np.zeros(0, np.int64)
        self._indices: dict[int, Array] = {}
        self._spare: list[int] = []  # columns that nobody has yet, made ahead because each new one makes parts wider

    def add(self, origin: int = 0) -> int:
        """Return the index of a new column, so far the same as column `origin`; 0: nothing is known of it."""
        if origin or not self._spare:
            self._spare += range(self.count, self.count + (1 if origin else SPARE))
            self.origins += [origin] if origin else [0] * SPARE
            self.count = len(self.origins)
            self._indices.clear()
        return self._spare.pop(-1 if origin else 0)

    def wide(self, part: Array) -> Array:
        """Return a part of knowledge extended to all columns that exist by now."""
        had = part.shape[1]
        if had == self.count:
            return part
        index = self._indices.get(had)
        if index is None:
            found = list(range(had))
            for origin in self.origins[had:]:
                found.append(found[origin])
            index = self._indices[had] = np.array(found)
        return part.take(index, axis=1)

    def writable(self, part: Array | None, own: bool = False) -> Array:
        """Return a part that may be written: a copy, zeros for None, or with `own` the part itself."""
        if part is None:
            return np.zeros((self.rows, self.count), np.int32)
        wide = self.wide(part)
        return wide.copy() if wide is part and not own else wide


class Knowledge:
    """Clocks known. `parts`: columns of a cluster -> int32 (rows, columns); where there is none, all are 0.

    key  under which `Clocks.pool` has it; -1 where it does not
    """

    __slots__ = ("key", "parts")

    def __init__(self, parts: dict[Columns, Array]) -> None:
        self.parts = parts
        self.key = -1

    def part(self, columns: Columns) -> Array | None:
        """Return its part of a cluster, extended to all columns that exist by now; None if nothing is known."""
        part = self.parts.get(columns)
        if part is not None and part.shape[1] != columns.count:
            part = self.parts[columns] = columns.wide(part)
        return part

    def rows(self, *rows: int) -> Knowledge:
        """Return this knowledge with all other rows 0."""
        parts = {}
        for columns in self.parts:
            part = self.part(columns)
            assert part is not None
            parts[columns] = columns.writable(None)
            for row in rows:
                parts[columns][row] = part[row]
        return Knowledge(parts)


NOTHING = Knowledge({})


def join(a: Knowledge, b: Knowledge) -> Knowledge:
    """The union of two pieces of knowledge; the first itself where it holds the other."""
    if a is b or not b.parts:
        return a
    if not a.parts:
        return b
    found = a
    for columns, theirs in b.parts.items():
        mine = a.parts.get(columns)
        if mine is theirs:
            continue
        if theirs.shape[1] != columns.count:
            theirs = b.part(columns)
        if mine is not None and mine.shape[1] != columns.count:
            mine = a.part(columns)
        merged = theirs if mine is None else _maximum(mine, theirs)
        if merged is not mine:
            found = Knowledge(dict(a.parts)) if found is a else found
            found.parts[columns] = merged
    return found


def _maximum(a: Array, b: Array) -> Array:
    """The larger clock of each agent; `a` itself where it is nowhere the smaller."""
    merged = np.maximum(a, b)
    return a if a is b or merged.tobytes() == a.tobytes() else merged  # bytes are compared faster than NumPy compares


class Published:
    """The knowledge released at one place (a barrier's phase, an address), by the scope of the release and by whom.

    by  (scope, cluster, rank in it, whether all acquire that what is known has been executed) -> knowledge
    """

    __slots__ = ("_to", "by")

    def __init__(self) -> None:
        self.by: dict[tuple[int, int, int, bool], Knowledge] = {}
        self._to: dict[tuple[int, int, int], Knowledge] = {}  # by whose question: what they acquire

    def add(self, scope: int, cluster: int, rank: int, knowledge: Knowledge, executed: bool = False) -> None:
        key = (scope, cluster, rank, executed)
        self.by[key] = join(self.by.get(key, NOTHING), knowledge)
        self._to.clear()

    def snapshot(self) -> Published:
        copy = Published()
        copy.by = dict(self.by)
        return copy

    def all(self) -> Knowledge:
        """Return the union of all releases."""
        found = NOTHING
        for knowledge in self.by.values():
            found = join(found, knowledge)
        return found

    def merge(self, other: Published) -> None:
        for (scope, cluster, rank, executed), knowledge in other.by.items():
            self.add(scope, cluster, rank, knowledge, executed)

    def to(self, scope: int, cluster: int, rank: int) -> Knowledge:
        """Return the knowledge that a thread of that block acquires: of releases whose scope excludes it, PAST only."""
        found = self._to.get((scope, cluster, rank))
        if found is None:
            found = NOTHING
            for (reach, of, by, executed), knowledge in self.by.items():
                enough = reach == EVERYBODY or min(reach, scope) >= needed(of, by, cluster, rank)
                found = join(found, knowledge if enough else knowledge.rows(*_AT_LEAST[executed]))
            self._to[scope, cluster, rank] = found
        return found

    def for_fences(self, cluster: int, rank: int, most: int = GPU) -> dict[int, Knowledge]:
        """By scope, the knowledge that a thread of that block acquires by a fence of at least that scope.

        most  the scope in which it has read there
        """
        found: dict[int, Knowledge] = {}
        for (reach, of, by, executed), knowledge in self.by.items():
            scope = needed(of, by, cluster, rank)
            if min(reach, most) >= scope:
                found[scope] = join(knowledge, found.get(scope, NOTHING))
            elif executed and most >= scope:
                found[scope] = join(knowledge.rows(*_AT_LEAST[True]), found.get(scope, NOTHING))
        return found


_AT_LEAST = {False: (PAST,), True: (RAN, PAST)}
"""Rows that are acquired in any scope."""


def needed(cluster: int, rank: int, of: int, by: int) -> int:
    """The least scope that holds two blocks, each by its cluster and its rank in that."""
    return GPU if cluster != of else CTA if rank == by else CLUSTER


class Snapshot(NamedTuple):
    """The knowledge at the start of asynchronous work: of all others, and of the thread that started it."""

    knowledge: Knowledge
    agent: int  # the thread; 0 for several
    own: Array  # (rows,): its own clocks
    copied: Array  # (rows,): tickets of its own cp.async that it has waited for


class Snapshots(NamedTuple):
    """The same for work of several threads that ends for each of them by itself.

    knowledge  different pieces of it, by key; `keys` has the one of each thread
    """

    knowledge: dict[int, Knowledge]
    keys: Array
    agents: Array
    own: Array  # (rows, threads)
    copied: Array


class Clocks:
    """All agents of a launch and what the threads know. Agents are ints from 1 on; a block's threads come in a row.

    cluster, rank   per agent: the number of its cluster, and of its block: for asynchronous ones, of the block that
                    started their latest work
    column          per agent: its column in what is known of its cluster
    head            per thread: the head of its party, under which the following have what the party has
    own             int32 (rows, agents): a thread's own clock (RAN, SEEN), and how much of it a fence has followed
    copied          the same of its own cp.async: the ticket up to which it has waited for them
    knows           keys of `pool`: what it knows of others
    fenced          it has executed a fence that lets it publish by relaxed accesses
    released        for each scope: keys of what fences of at least that scope let it publish so; `released_own` and
                    `released_copied` are its own part of that
    acquired        for each scope: keys of what it has read by relaxed accesses, for a fence of at least that scope
    has_waited      for an mbarrier, since its warp has last executed an instruction together
    copies          whether the threads of the launch have agents for cp.async
    """

    _OF_PARTIES = ("knows", "fenced", "released", "acquired", "has_waited", "own", "copied", "released_own",
                   "released_copied")  # fmt: skip
    _OF_AGENTS = ("cluster", "rank", "column", "head", "_members", *_OF_PARTIES)

    def __init__(self) -> None:
        self.count = 1
        self.rows = SMEM + 1
        self.cluster = np.zeros(1, np.int32)
        self.rank = np.zeros(1, np.int32)
        self.column = np.zeros(1, np.int64)
        self.head = np.zeros(1, np.int64)
        self._members = np.zeros(1, np.int64)  # by head: threads of the party
        self.knows = np.zeros(1, np.int64)
        self.fenced = np.zeros(1, bool)
        self.released = np.zeros((len(SCOPES), 1), np.int64)
        self.acquired = np.zeros((len(SCOPES), 1), np.int64)
        self.has_waited = np.zeros(1, bool)
        self._make_rows()
        self.pool: dict[int, Knowledge] = {0: NOTHING}
        self.any_released = self.any_waited = False
        self.copies = False
        self._next = 1
        self._prune_at = MANY
        self.columns: dict[int, Columns] = {}  # of each cluster
        self.firsts: dict[int, int] = {}  # the first agent of each cluster
        self.threads: dict[int, int] = {}  # threads of each cluster
        self._named: dict[object, int] = {}
        self._splits = 0  # how often parties were made
        # By threads: the heads of the parties they were, their number, and `_splits` when that was last so.
        self._found: dict[bytes, tuple[Array, int, int]] = {}

    def _make_rows(self) -> None:
        self.own = np.zeros((self.rows, self.count), np.int32)
        self.copied = np.zeros_like(self.own)
        self.released_own = np.zeros((len(SCOPES), self.rows, self.count), np.int32)
        self.released_copied = np.zeros_like(self.released_own)

    # Agents

    def begin(self, cluster: int, threads: int, ranks: int, copies: bool) -> int:
        """Make agents for the threads of a cluster, then, if there are `copies`, as many for their cp.async.

        Result  the first one
        """
        if self.count == 1:  # all clusters of a launch are alike
            self.rows, self.copies = SMEM + ranks, copies
            self._make_rows()
        sequences = 2 if copies else 1
        columns = self.columns[cluster] = Columns(self.rows)
        first = self._grow(cluster, sequences * threads)
        self.firsts[cluster], self.threads[cluster] = first, threads
        each = threads // ranks
        self.rank[first : self.count] = np.tile(np.arange(threads) // each, sequences)
        for head in range(first, first + threads, each):
            self._make_party(columns, np.arange(head, head + each), -1)
        self.own[GENERIC_ROWS, first : first + threads] = 1
        self.own[PAST, first : first + threads] = 1
        return first

    def named(self, cluster: int, name: object) -> int:
        """Return the agent of that name; it is made at the first use."""
        found = self._named.get(name)
        if found is None:
            found = self._named[name] = self._grow(cluster, 1)
            self.column[found] = self.columns[cluster].add()
        return found

    def copier(self, agent: Array | int) -> Any:
        """Return the agents of threads' cp.async."""
        return agent + self._threads_of(agent)

    def sequences(self, first: int, cluster: int) -> tuple[int, ...]:
        """Return the first agents of a block's threads and of their cp.async; `first` is its first thread."""
        return (first, first + self.threads[cluster]) if self.copies else (first,)

    def _threads_of(self, agent: Array | int) -> int:
        one = int(agent if isinstance(agent, int) else np.asarray(agent).flat[0])
        return self.threads[int(self.cluster[one])]

    def _grow(self, cluster: int, n: int) -> int:
        first, self.count = self.count, self.count + n
        if self.count > len(self.cluster):
            room = max(2 * len(self.cluster), self.count)
            for name in self._OF_AGENTS:
                old = getattr(self, name)
                more = np.zeros((*old.shape[:-1], room - old.shape[-1]), old.dtype)
                setattr(self, name, np.concatenate([old, more], axis=-1))
        self.cluster[first : self.count] = cluster
        return first

    # Parties

    def _make_party(self, columns: Columns, threads: Array, of: int) -> int:
        """Make a party of threads, which were in that of the head `of` so far (-1: in none); returns its head."""
        head = int(threads[0])
        self._splits += 1
        self.head[threads] = head
        self._members[head] = len(threads)
        if of >= 0:
            self._members[of] -= len(threads)
            for name in self._OF_PARTIES:
                held = getattr(self, name)
                held[..., head] = held[..., of]
        for move in (0, self._threads_of(head)) if self.copies else (0,):  # of what they do, and of their cp.async
            column = self.column[threads + move] = columns.add(int(self.column[of + move]) if of >= 0 else 0)
            if not move:
                columns.threads = np.append(columns.threads, column)
        return head

    def parties(self, threads: Array) -> Array:
        """Return the heads of parties that consist of these threads of one cluster; split parties where needed."""
        if len(threads) == 1:
            one = int(threads[0])
            if self._members[self.head[one]] == 1:
                return threads
        key = threads.tobytes()
        found = self._found.get(key)
        if found is not None:
            held, count, splits = found
            if splits == self._splits:
                return held
            if self._members[held].sum() == count:
                self._found[key] = held, count, self._splits
                return held  # none of them has been split since
        heads = self.head[threads]
        values = _values(heads)
        parts, count = [], 0
        for head in values:
            mine = threads if len(values) == 1 else threads[heads == head]
            if np.count_nonzero(mine[1:] > mine[:-1]) < len(mine) - 1:
                mine = np.unique(mine)
            count += len(mine)
            parts.append(self._part(mine, head) if len(mine) < self._members[head] else head)
        if len(self._found) > MANY_SETS:
            self._found.clear()
        made = np.array(parts, np.int64)
        self._found[key] = made, count, self._splits
        return made

    def _part(self, threads: Array, head: int) -> int:
        """Split some threads from their party, and return their head."""
        columns = self.columns[int(self.cluster[head])]
        if threads[0] != head:
            return self._make_party(columns, threads, head)
        first = self.firsts[int(self.cluster[head])]  # the others get another head
        party = first + (self.head[first : first + self._threads_of(head)] == head).nonzero()[0]
        self._make_party(columns, np.setdiff1d(party, threads, assume_unique=True), head)
        return head

    def keys(self, threads: Array) -> Array:
        """Return the key of each thread's knowledge."""
        return self.knows[self.head[threads]]

    def clock(self, row: int, threads: Array) -> Array:
        """Return the own clocks of threads."""
        return self.own[row][self.head[threads]]

    # Knowing

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

    def unaware(self, threads: Array, row: int, agent: int, clock: int) -> Array:
        """Return the threads that do not know an epoch, which is not one of cp.async."""
        heads = self.head[threads]
        keys = self.knows[heads]
        unknown = [key for key in _values(keys) if not self.has(self.pool[key], row, agent, clock)]
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
            for key in _values(keys):
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
        for key in _values(keys):
            mine = keys == key
            result[mine] |= self.known(then.knowledge[key], row, who[mine], when[mine])
        return result

    # Learning

    def snapshots(self, agents: Array) -> Snapshots:
        heads = self.head[agents]
        keys = self.knows[heads]
        knowledge = {key: self.pool[key] for key in _values(keys)}
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
        found.parts[self._columns_of(heads)][TMEM] = 0
        return found

    def _with_own(self, keys: Array, own: Array, copied: Array, heads: Array) -> Knowledge:
        """Return the knowledge of parties, including what they have done themselves."""
        found = NOTHING
        for key in _values(keys[heads]):
            found = join(found, self.pool[key])
        columns = self._columns_of(heads)
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

    def _columns_of(self, agents: Array) -> Columns:
        return self.columns[int(self.cluster[agents[0]])]

    def of_warps(self, threads: Array) -> Knowledge:
        """Return what all warps of a warpgroup know; a warp knows what any of its threads knows."""
        heads = self.head[threads]
        keys = self.knows[heads]
        if np.count_nonzero(keys == keys[0]) == len(keys):
            return self.pool[int(keys[0])]
        warps = [self.parties(warp) for warp in threads.reshape(-1, 32)]
        return self.common([self._with_own(self.knows, self.own, self.copied, warp) for warp in warps])

    def of_each(self, threads: Array) -> Knowledge:
        """Return the knowledge that all of these threads share."""
        return self.common([self.pool[key] for key in _values(self.keys(threads))])

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
        known = {key: self.pool[key] for key in _values(held)}
        own = self._columns_of(heads)
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
        keys = _values(self.knows[heads])
        if len(keys) == 1:
            return self.pool[keys[0]].rows(*rows)
        return functools.reduce(join, (self.pool[key].rows(*rows) for key in keys))

    def _add_past(self, knowledge: Knowledge, heads: Array, clocks: Array) -> None:
        """Add the own clocks of parties to knowledge that only the caller has."""
        columns = self._columns_of(heads)
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
        for key in _values(held):
            before = self.pool[key]
            after = join(before, knowledge)
            if after is not before:
                keys[heads[held == key]] = self._keep(after)

    def _learn_epoch(self, heads: Array, agent: int, clock: int, rows: slice | list[int]) -> None:
        columns, column, held = self.columns[int(self.cluster[agent])], self.column[agent], self.knows[heads]
        for key in _values(held):
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
                for key in _values(held):
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
        """tcgen05.fence: `before` a synchronisation of threads, or after it, where it acquires what others released."""
        source, target = (TMEM, SEEN) if before else (SEEN, TMEM)
        self._raise(self.parties(threads), source, (target,))

    def _raise(self, heads: Array, source: int, rows: tuple[int, ...]) -> None:
        """Let parties know in these rows all that they know in the row `source`."""
        held = self.knows[heads]
        for key in _values(held):
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

    def names(self) -> Iterable[tuple[Any, int]]:
        """Return the names and agents that `named` has made."""
        return self._named.items()

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


def _values(keys: Array) -> Sequence[int]:
    """Return the distinct keys."""
    first = int(keys[0])
    if len(keys) == 1 or (len(keys) > WARP and np.count_nonzero(keys == first) == len(keys)):
        return (first,)
    found: list[int] = sorted(set(keys.tolist()))
    return found
