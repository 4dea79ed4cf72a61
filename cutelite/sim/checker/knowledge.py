"""Knowledge of others, as vectors of their clocks.

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
itself is not part of it and lies in `Clocks.own`. A part of knowledge has a column for each party of threads
(`parties.py`), not for each thread.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from cutelite.target.targets import WARP
from cutelite.tuples import NamedTuple

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

SPARE = 16  # columns


class Columns:
    """The columns that parts of knowledge of one cluster have: one of each party of threads, and asynchronous agent.

    Column 0 is nobody's, and always 0.

    origins  for each column, the one that it was the same as until then; 0 where nothing was known of its agents
    count    the number of columns
    threads  columns of what threads do themselves
    """

    __slots__ = ("_indices", "_spare", "cluster", "count", "origins", "rows", "threads")

    def __init__(self, cluster: int, rows: int) -> None:
        self.cluster, self.rows = cluster, rows
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

    def of_ends(self) -> Knowledge:
        """Return what has been executed; by relaxed waits too, which see the end of copies and order nothing."""
        found = self.rows(RAN, PAST)
        for columns, part in found.parts.items():
            part[PAST, columns.threads] = 0
            np.maximum(part[RAN], part[PAST], out=part[RAN])
        return found


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

    far, near  what was released as far as the GPU, and less far:
               (scope, cluster, rank in it, whether all acquire that what is known has been executed) -> knowledge
    """

    __slots__ = ("_to", "_union", "far", "near")

    def __init__(self) -> None:
        self.far: dict[tuple[int, int, int, bool], Knowledge] = {}
        self.near: dict[tuple[int, int, int, bool], Knowledge] = {}
        self._union: Knowledge | None = None  # of `far`, once somebody has asked for it
        self._to: dict[tuple[int, int, int], Knowledge] = {}  # by whose question: what they acquire

    @property
    def by(self) -> dict[tuple[int, int, int, bool], Knowledge]:
        return {**self.near, **self.far}

    def add(self, scope: int, cluster: int, rank: int, knowledge: Knowledge, executed: bool = False) -> None:
        key, held = (scope, cluster, rank, executed), self.far if scope >= GPU else self.near
        held[key] = join(held.get(key, NOTHING), knowledge)
        if held is self.far and self._union is not None:
            self._union = join(self._union, knowledge)
        self._to.clear()

    def snapshot(self) -> Published:
        copy = Published()
        copy.merge(self)
        return copy

    def everywhere(self) -> Knowledge:
        """Return the union of what was released as far as the GPU."""
        if self._union is None:
            self._union = functools.reduce(join, self.far.values(), NOTHING)
        return self._union

    def all(self) -> Knowledge:
        """Return the union of all releases."""
        return functools.reduce(join, self.near.values(), self.everywhere())

    def merge(self, other: Published) -> None:
        if not self.far and not self.near:  # the places of counters have many blocks' releases
            self.far, self.near, self._union = dict(other.far), dict(other.near), other._union
            self._to.clear()
            return
        for (scope, cluster, rank, executed), knowledge in other.by.items():
            self.add(scope, cluster, rank, knowledge, executed)

    def to(self, scope: int, cluster: int, rank: int) -> Knowledge:
        """Return the knowledge that a thread of that block acquires: of releases whose scope excludes it, PAST only."""
        found = self._to.get((scope, cluster, rank))
        if found is None:
            found, held = (self.everywhere(), self.near) if scope >= GPU else (NOTHING, self.by)
            for (reach, of, by, executed), knowledge in held.items():
                enough = reach == EVERYBODY or min(reach, scope) >= needed(of, by, cluster, rank)
                found = join(found, knowledge if enough else knowledge.rows(*_AT_LEAST[executed]))
            self._to[scope, cluster, rank] = found
        return found

    def for_fences(self, cluster: int, rank: int, most: int = GPU) -> dict[int, Knowledge]:
        """By scope, the knowledge that a thread of that block acquires by a fence of at least that scope.

        most  the scope in which it has read there
        """
        found: dict[int, Knowledge] = {}
        held = self.by
        if most >= GPU and len(self.far) > MANY_RELEASES:
            found[GPU] = self.everywhere()
            held = {**self.near, **{key: known for key, known in self.far.items() if key[1] == cluster}}
        for (reach, of, by, executed), knowledge in held.items():
            scope = needed(of, by, cluster, rank)
            if min(reach, most) >= scope:
                found[scope] = join(knowledge, found.get(scope, NOTHING))
            elif executed and most >= scope:
                found[scope] = join(knowledge.rows(*_AT_LEAST[True]), found.get(scope, NOTHING))
        return found


MANY_RELEASES = 8  # fewer are looked at one by one
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


def distinct(keys: Array) -> Sequence[int]:
    """Return the distinct keys, in order."""
    first = int(keys[0])
    if len(keys) == 1 or (len(keys) > WARP and np.count_nonzero(keys == first) == len(keys)):
        return (first,)
    found: list[int] = sorted(set(keys.tolist()))
    return found
