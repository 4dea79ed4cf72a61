"""Agents, and parties of threads: those that have done and learned the same so far.

A block begins as one party, and each time only some of a party do something they become one of their own, for good. All
that is kept of threads is kept once for each party, under its first thread, its *head*; and a part of knowledge has a
column for each party, not for each thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cutelite.sim.checker.knowledge import SMEM, Columns, distinct

Array = Any

MANY_SETS = 1 << 10  # of threads, whose parties are remembered


class Parties:
    """The agents of a launch. They are ints from 1 on; a block's threads come in a row.

    cluster, rank   per agent: the number of its cluster, and of its block: for asynchronous ones, of the block that
                    started their latest work
    column          per agent: its column in what is known of its cluster
    head            per thread: the head of its party
    copies          whether the threads of the launch have agents for cp.async
    OF_PARTIES      names of arrays of a subclass whose last axis has what a party has, under its head
    """

    OF_PARTIES: tuple[str, ...] = ()
    _OF_AGENTS = ("cluster", "rank", "column", "head", "_members")

    def __init__(self) -> None:
        self.count = 1
        self.rows = SMEM + 1
        self.cluster = np.zeros(1, np.int32)
        self.rank = np.zeros(1, np.int32)
        self.column = np.zeros(1, np.int64)
        self.head = np.zeros(1, np.int64)
        self._members = np.zeros(1, np.int64)  # by head: threads of the party
        self.copies = False
        self.columns: dict[int, Columns] = {}  # of each cluster
        self.firsts: dict[int, int] = {}  # the first agent of each cluster
        self.threads: dict[int, int] = {}  # threads of each cluster
        self._named: dict[object, int] = {}
        self._splits = 0  # how often parties were made
        # By threads: the heads of the parties they were, their number, and `_splits` when that was last so.
        self._found: dict[bytes, tuple[Array, int, int]] = {}

    def begin(self, cluster: int, threads: int, ranks: int, copies: bool) -> int:
        """Make agents for the threads of a cluster, then, if there are `copies`, as many for their cp.async.

        Result  the first one
        """
        if self.count == 1:  # all clusters of a launch are alike
            self.rows, self.copies = SMEM + ranks, copies
        sequences = 2 if copies else 1
        columns = self.columns[cluster] = Columns(cluster, self.rows)
        first = self._grow(cluster, sequences * threads)
        self.firsts[cluster], self.threads[cluster] = first, threads
        each = threads // ranks
        self.rank[first : self.count] = np.tile(np.arange(threads) // each, sequences)
        for head in range(first, first + threads, each):
            self._make_party(columns, np.arange(head, head + each), -1)
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
            for name in (*self._OF_AGENTS, *self.OF_PARTIES):
                old = getattr(self, name)
                more = np.zeros((*old.shape[:-1], room - old.shape[-1]), old.dtype)
                setattr(self, name, np.concatenate([old, more], axis=-1))
        self.cluster[first : self.count] = cluster
        return first

    def names(self) -> Iterable[tuple[Any, int]]:
        """Return the names and agents that `named` has made."""
        return self._named.items()

    # Parties

    def _make_party(self, columns: Columns, threads: Array, of: int) -> int:
        """Make a party of threads, which were in that of the head `of` so far (-1: in none); returns its head."""
        head = int(threads[0])
        self._splits += 1
        self.head[threads] = head
        self._members[head] = len(threads)
        if of >= 0:
            self._members[of] -= len(threads)
            for name in self.OF_PARTIES:
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
        values = distinct(heads)
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

    def columns_of(self, agents: Array) -> Columns:
        return self.columns[int(self.cluster[agents[0]])]
