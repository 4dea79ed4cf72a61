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
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

Array = Any

INIT, RAN, SEEN, PAST, GMEM, TMEM, SMEM = range(7)
GENERIC_ROWS = slice(RAN, SEEN + 1)
NOT_INIT = slice(RAN, None)

CTA, CLUSTER, GPU = range(1, 4)
"""Scopes of an order, by how far they reach. The whole system is no more than the GPU here: nobody else takes part."""
SCOPES = (CTA, CLUSTER, GPU)
EVERYBODY = 4
"""Reach of what whoever sees it knows, with a scope of whatever size: that something has been executed."""
REACH = {"cta": CTA, "cluster": CLUSTER, "gpu": GPU, "sys": GPU}

MANY = 1 << 14  # pieces of knowledge kept, before those that no thread has any more are dropped


class Knowledge:
    """Clocks known. `parts`: number of a cluster -> int32 (rows, agents of the cluster), missing ones being 0.

    key  under which `Clocks.pool` has it; -1 where it does not
    """

    __slots__ = ("key", "parts")

    def __init__(self, parts: dict[int, Array]) -> None:
        self.parts = parts
        self.key = -1

    def rows(self, *rows: int) -> Knowledge:
        """Only these rows of it."""
        parts = {}
        for cluster, part in self.parts.items():
            parts[cluster] = np.zeros_like(part)
            for row in rows:
                parts[cluster][row] = part[row]
        return Knowledge(parts)


NOTHING = Knowledge({})


def join(a: Knowledge, b: Knowledge) -> Knowledge:
    """The union of two pieces of knowledge; one of them itself where it holds the other."""
    if a is b or not b.parts:
        return a
    if not a.parts:
        return b
    parts = dict(a.parts)
    of_a = of_b = True
    for cluster, theirs in b.parts.items():
        mine = parts.get(cluster)
        if mine is None:
            parts[cluster], of_a = theirs, False
            continue
        merged = _maximum(mine, theirs)
        of_a = of_a and merged is mine
        of_b = of_b and merged is theirs
        parts[cluster] = merged
    if of_a:
        return a
    return b if of_b and len(parts) == len(b.parts) else Knowledge(parts)


def _maximum(a: Array, b: Array) -> Array:
    """The larger clock of each agent; one of the two arrays itself where it is nowhere the smaller."""
    if a is b:
        return a
    n = min(a.shape[1], b.shape[1])
    if a.shape[1] >= b.shape[1] and not np.count_nonzero(a[:, :n] < b[:, :n]):
        return a
    if b.shape[1] >= a.shape[1] and not np.count_nonzero(b[:, :n] < a[:, :n]):
        return b
    longer, shorter = (a, b) if a.shape[1] >= b.shape[1] else (b, a)
    merged = longer.copy()
    np.maximum(merged[:, :n], shorter[:, :n], out=merged[:, :n])
    return merged


class Published:
    """The knowledge released at one place (a barrier's phase, an address), by the scope of the release and by whom."""

    __slots__ = ("by",)

    def __init__(self) -> None:
        self.by: dict[tuple[int, int, int], Knowledge] = {}  # (scope, cluster, rank in it) -> knowledge

    def add(self, scope: int, cluster: int, rank: int, knowledge: Knowledge) -> None:
        key = (scope, cluster, rank)
        self.by[key] = join(knowledge, self.by.get(key, NOTHING))

    def snapshot(self) -> Published:
        copy = Published()
        copy.by = dict(self.by)
        return copy

    def all(self) -> Knowledge:
        """All of it."""
        found = NOTHING
        for knowledge in self.by.values():
            found = join(found, knowledge)
        return found

    def merge(self, other: Published) -> None:
        for key, knowledge in other.by.items():
            self.add(*key, knowledge)

    def to(self, scope: int, cluster: int, rank: int) -> Knowledge:
        """The knowledge that a thread of that block acquires; of releases whose scope leaves it out, PAST alone."""
        found = NOTHING
        for (reach, of, by), knowledge in self.by.items():
            enough = reach == EVERYBODY or min(reach, scope) >= needed(of, by, cluster, rank)
            found = join(found, knowledge if enough else knowledge.rows(PAST))
        return found

    def for_fences(self, cluster: int, rank: int, most: int = GPU) -> dict[int, Knowledge]:
        """By scope, the knowledge that a thread of that block acquires by a fence of at least that scope.

        most  the scope in which it has read there
        """
        found: dict[int, Knowledge] = {}
        for (reach, of, by), knowledge in self.by.items():
            scope = needed(of, by, cluster, rank)
            if min(reach, most) >= scope:
                found[scope] = join(knowledge, found.get(scope, NOTHING))
        return found


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

    cluster, local  per agent: the number of its cluster, and its position in that cluster's parts of knowledge
    rank            per agent: that of its block; of asynchronous ones, of the block that started their latest work
    own             int32 (rows, agents): a thread's own clock (RAN, SEEN), and how much of it a fence has followed
    copied          the same of its own cp.async: the ticket up to which it has waited for them
    released        for each scope: keys of what fences of at least that scope let a thread publish by relaxed accesses;
                    `released_own` and `released_copied` are its own part of that
    acquired        for each scope: keys of what it has read by relaxed accesses, for a fence of at least that scope
    copies          whether the threads of the launch have agents for cp.async
    has_waited      per thread: for an mbarrier, since its warp has last executed an instruction together
    """

    def __init__(self) -> None:
        self.count = 1
        self.rows = SMEM + 1
        self.cluster = np.zeros(1, np.int32)
        self.local = np.zeros(1, np.int32)
        self.rank = np.zeros(1, np.int32)
        self.knows = np.zeros(1, np.int64)  # keys of `pool`: what each thread knows
        self.released = np.zeros((len(SCOPES), 1), np.int64)
        self.acquired = np.zeros((len(SCOPES), 1), np.int64)
        self.has_waited = np.zeros(1, bool)
        self._make_rows()
        self.pool: dict[int, Knowledge] = {0: NOTHING}
        self.any_released = False
        self.copies = False
        self._next = 1
        self._prune_at = MANY
        self.sizes: dict[int, int] = {}  # agents of each cluster
        self.firsts: dict[int, int] = {}  # the first agent of each cluster
        self.threads: dict[int, int] = {}  # threads of each cluster
        self._named: dict[object, int] = {}

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
        first = self._grow(cluster, sequences * threads)
        self.firsts[cluster], self.threads[cluster] = first, threads
        self.rank[first : self.count] = np.tile(np.arange(threads) // (threads // ranks), sequences)
        self.own[GENERIC_ROWS, first : first + threads] = 1
        self.own[PAST, first : first + threads] = 1
        return first

    def named(self, cluster: int, name: object) -> int:
        """The agent of that name, made at the first use."""
        found = self._named.get(name)
        if found is None:
            found = self._named[name] = self._grow(cluster, 1)
        return found

    def copier(self, agent: Array | int) -> Any:
        """The agents of threads' cp.async."""
        return agent + self._threads_of(agent)

    def sequences(self, first: int, cluster: int) -> tuple[int, ...]:
        """The first agents of a block, of which `first` is its first thread: of its threads, and of their cp.async."""
        return (first, first + self.threads[cluster]) if self.copies else (first,)

    def _threads_of(self, agent: Array | int) -> int:
        one = int(agent if isinstance(agent, int) else np.asarray(agent).flat[0])
        return self.threads[int(self.cluster[one])]

    def _grow(self, cluster: int, n: int) -> int:
        first, self.count = self.count, self.count + n
        if self.count > len(self.local):
            room = max(2 * len(self.local), self.count)
            for name in ("cluster", "local", "rank", "knows", "released", "acquired", "has_waited", "own", "copied",
                         "released_own", "released_copied"):  # fmt: skip
                old = getattr(self, name)
                more = np.zeros((*old.shape[:-1], room - old.shape[-1]), old.dtype)
                setattr(self, name, np.concatenate([old, more], axis=-1))
        size = self.sizes.get(cluster, 0)
        self.cluster[first : self.count] = cluster
        self.local[first : self.count] = np.arange(size, size + n)
        self.sizes[cluster] = size + n
        return first

    # Knowing

    def of(self, agent: int) -> Knowledge:
        return self.pool[int(self.knows[agent])]

    def known(self, knowledge: Knowledge, row: int, who: Array, when: Array) -> Array:
        """Tell whether each epoch is known."""
        clusters = self.cluster[who]
        local = self.local[who]
        one = int(clusters[0]) if len(clusters) else 0
        if np.count_nonzero(clusters == one) == len(clusters):
            return self._known(knowledge.parts.get(one), row, local, when)
        result = np.zeros(len(who), bool)
        for cluster in sorted(set(clusters.tolist())):
            mine = clusters == cluster
            result[mine] = self._known(knowledge.parts.get(cluster), row, local[mine], when[mine])
        return result

    def _known(self, part: Array | None, row: int, local: Array, when: Array) -> Array:
        if part is None:
            return np.zeros(len(local), bool)
        size = part.shape[1]
        held = part[row][np.minimum(local, size - 1)]
        result: Array = (held >= when) & (local < size)
        return result

    def known_to(self, threads: Array, row: int, who: Array, when: Array) -> Array:
        """Tell whether each thread knows the epoch beside it; it knows its own."""
        if not len(threads):
            return np.zeros(0, bool)
        own = who == threads
        result = own & (self.own[row][threads] >= when)
        if np.count_nonzero(own) == len(own):
            return result
        if self.copies:
            copies = who == threads + self._threads_of(threads)
            if np.count_nonzero(copies):
                result |= copies & (self.copied[row][threads] >= when)
        left = (~result & ~own).nonzero()[0]
        if len(left):
            keys = self.knows[threads[left]]
            for key in _distinct(keys):
                mine = left if key is None else left[keys == key]
                result[mine] = self.known(self.pool[int(self.knows[threads[mine[0]]])], row, who[mine], when[mine])
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
        for key in _distinct(keys):
            mine = slice(None) if key is None else keys == key
            result[mine] |= self.known(then.knowledge[int(keys[mine][0])], row, who[mine], when[mine])
        return result

    # Learning

    def snapshots(self, agents: Array) -> Snapshots:
        keys = self.knows[agents]
        knowledge = {key: self.pool[key] for key in _values(keys)}
        return Snapshots(knowledge, keys, agents, self.own[:, agents], self.copied[:, agents])

    def snapshot(self, agent: int) -> Snapshot:
        return Snapshot(self.of(agent), agent, self.own[:, agent].copy(), self.copied[:, agent].copy())

    def publish(self, threads: Array) -> Knowledge:
        """Release: return what these threads of one cluster know, and advance their clocks."""
        found = self._together(self.knows, self.own, self.copied, threads)
        self.own[GENERIC_ROWS, threads] += 1
        self.go_on(threads)
        return found

    def publish_fenced(self, threads: Array) -> list[tuple[int, Knowledge]]:
        """The knowledge that these threads publish by relaxed accesses behind their fences: scopes and knowledge."""
        found: list[tuple[int, Knowledge]] = []
        for reach in reversed(SCOPES):
            keys, own, copied = (held[reach - 1] for held in (self.released, self.released_own, self.released_copied))
            if not np.count_nonzero(keys[threads]) and not np.count_nonzero(own[:, threads]):
                continue
            if found and self._as_far(threads, reach):
                continue  # a fence of the next scope has released all of it
            found.append((reach, self._together(keys, own, copied, threads)))
        return found

    def _as_far(self, threads: Array, reach: int) -> bool:
        """Tell whether all that may be published in this scope may be in the next larger one as well."""
        return all(
            np.array_equal(held[reach - 1][..., threads], held[reach][..., threads])
            for held in (self.released, self.released_own)
        )

    def _together(self, keys: Array, own: Array, copied: Array, threads: Array) -> Knowledge:
        found = NOTHING
        for key in _values(keys[threads]):
            found = join(found, self.pool[key])
        cluster = int(self.cluster[threads[0]])
        part = self.writable(found.parts.get(cluster), cluster)
        local = self.local[threads]
        part[:, local] = np.maximum(part[:, local], own[:, threads])
        if np.count_nonzero(copied[RAN, threads]):
            at = local + self.threads[cluster]
            part[:, at] = np.maximum(part[:, at], copied[:, threads])
        part[TMEM] = 0
        return Knowledge({**found.parts, cluster: part})

    def told_relaxed(self, threads: Array) -> Knowledge:
        """The knowledge that a relaxed arrival passes on without any fence.

        It says that asynchronous work has been executed which these threads know to be complete (wgmma that they waited
        for, say), and what they have behind them. It does not say that ordinary loads have been executed, even if a
        barrier came between: only a release waits for those.
        """
        found = self.past(threads)
        self.go_on(threads)
        for key in _values(self.knows[threads]):
            complete = self.pool[key].rows(RAN)
            for cluster, part in complete.parts.items():
                part[RAN, : self.threads[cluster]] = 0
            found = join(found, complete)
        return found

    def past(self, threads: Array) -> Knowledge:
        """The waits and arrivals that these threads of one cluster have behind them, or know that others have."""
        found = NOTHING
        for key in _values(self.knows[threads]):
            found = join(found, self.pool[key].rows(PAST))
        return self._with_past(found, threads, self.own[PAST, threads])

    def past_of(self, then: Snapshot) -> Knowledge:
        """The same of a thread when it started asynchronous work."""
        return self._with_past(then.knowledge.rows(PAST), np.array([then.agent]), then.own[PAST : PAST + 1])

    def go_on(self, threads: Array) -> None:
        """Advance the clocks in PAST: what these threads have told does not cover what they wait for from now on."""
        self.own[PAST, threads] += 1

    def _with_past(self, knowledge: Knowledge, threads: Array, clocks: Array) -> Knowledge:
        cluster = int(self.cluster[threads[0]])
        part = self.writable(knowledge.parts.get(cluster), cluster)
        local = self.local[threads]
        part[PAST, local] = np.maximum(part[PAST, local], clocks)
        return Knowledge({**knowledge.parts, cluster: part})

    def learn(self, threads: Array, knowledge: Knowledge) -> None:
        """Add knowledge to that of these threads."""
        if knowledge.parts:
            self._learn(self.knows, threads, knowledge)

    def learn_later(self, threads: Array, by_scope: dict[int, Knowledge]) -> None:
        """Add knowledge to that of these threads once they execute an acquire fence of at least each scope."""
        for reach, knowledge in by_scope.items():
            if knowledge.parts:
                self._learn(self.acquired[reach - 1], threads, knowledge)

    def _learn(self, keys: Array, threads: Array, knowledge: Knowledge) -> None:
        held = keys[threads]
        for key in _values(held):
            before = self.pool[key]
            after = join(before, knowledge)
            if after is not before:
                keys[threads[held == key]] = self._keep(after)

    def of_agent(self, agent: int, clock: int, rows: slice | list[int] = NOT_INIT) -> Knowledge:
        """The knowledge of one epoch."""
        cluster = int(self.cluster[agent])
        part = self.writable(None, cluster)
        part[rows, self.local[agent]] = clock
        return Knowledge({cluster: part})

    # Fences

    def fence(self, threads: Array, acquire: bool, release: bool, reach: int) -> None:
        """Execute a fence: acquire what relaxed accesses have read, release by relaxed accesses that will write."""
        if acquire:
            for acquired in self.acquired[:reach]:
                held = acquired[threads]
                for key in _values(held):
                    self.learn(threads[held == key], self.pool[key])
        if release:
            self.any_released = True
            self.released[:reach, threads] = self.knows[threads]
            self.released_own[:reach, :, threads] = self.own[:, threads]
            self.released_copied[:reach, :, threads] = self.copied[:, threads]
            self.own[GENERIC_ROWS, threads] += 1
            self.go_on(threads)

    def fence_proxy(self, threads: Array, rows: tuple[int, ...]) -> None:
        """Make visible to the async proxy what these threads see, in work that they start or release from now on."""
        held = self.knows[threads]
        for key in _values(held):
            parts = {}
            for cluster, part in self.pool[key].parts.items():
                parts[cluster] = part.copy()
                for row in rows:
                    np.maximum(part[row], part[SEEN], out=parts[cluster][row])
            if parts:
                self.knows[threads[held == key]] = self._keep(Knowledge(parts))
        for row in rows:
            self.own[row, threads] = self.own[SEEN, threads]
            self.copied[row, threads] = self.copied[SEEN, threads]
        self.own[GENERIC_ROWS, threads] += 1

    def fence_tensor(self, threads: Array, before: bool) -> None:
        """tcgen05.fence: `before` a synchronisation of threads, or after it, where it acquires what others released."""
        source, target = (TMEM, SEEN) if before else (SEEN, TMEM)
        held = self.knows[threads]
        for key in _values(held):
            parts = {}
            for cluster, part in self.pool[key].parts.items():
                parts[cluster] = part.copy()
                np.maximum(part[target], part[source], out=parts[cluster][target])
            if parts:
                self.knows[threads[held == key]] = self._keep(Knowledge(parts))

    def fence_init(self, threads: Array) -> None:
        """fence.mbarrier_init: a release of nothing but these threads' own inits."""
        self.own[INIT, threads] = self.own[SEEN, threads]
        self.released_own[:CLUSTER, INIT, threads] = self.own[SEEN, threads]
        self.own[GENERIC_ROWS, threads] += 1

    # Several

    def names(self) -> Iterable[tuple[Any, int]]:
        """Names and agents of those that `named` made."""
        return self._named.items()

    def common(self, several: list[Knowledge]) -> Knowledge:
        """The knowledge that is in all of them."""
        parts = {}
        for cluster in set.intersection(*(set(knowledge.parts) for knowledge in several)):
            size = min(knowledge.parts[cluster].shape[1] for knowledge in several)
            parts[cluster] = np.stack([knowledge.parts[cluster][:, :size] for knowledge in several]).min(axis=0)
        return Knowledge(parts)

    # Keeping

    def writable(self, part: Array | None, cluster: int) -> Array:
        """A copy with room for all agents of the cluster."""
        size = self.sizes[cluster]
        if part is not None and part.shape[1] == size:
            return part.copy()
        grown = np.zeros((self.rows, size), np.int32)
        if part is not None:
            grown[:, : part.shape[1]] = part
        return grown

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


def _values(keys: Array) -> Iterable[int]:
    """The different ones."""
    first = int(keys[0])
    if np.count_nonzero(keys == first) == len(keys):
        return (first,)
    found: list[int] = sorted(set(keys.tolist()))
    return found


def _distinct(keys: Array) -> Iterable[int | None]:
    """The different ones; None alone where all are the same."""
    found = tuple(_values(keys))
    return (None,) if len(found) == 1 else found
