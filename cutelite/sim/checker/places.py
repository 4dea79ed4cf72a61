"""Addresses of strong accesses: their latest values, and the knowledge released with each of them.

A strong load may see an older value than the last one: any value that the thread does not know to be overwritten. It
knows this for values older than those that it, or a thread it is ordered after, has written or read. So a polling
thread goes on as early as the memory model allows, and acquires only what was released with the value that it saw.

In    strong accesses to an address, in the order of the schedule
Out   the value that a load sees, and the knowledge that its reader acquires
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.sim.checker.clocks import MANY, Clocks
from cutelite.sim.checker.knowledge import SEEN, Knowledge, Published, needed
from cutelite.tuples import NamedTuple

Array = Any

KEPT = 8  # values that are kept for an address


class Writer(NamedTuple):
    """The writing block, and the scope of its access."""

    reach: int
    cluster: int
    rank: int

    def agrees(self, other: Writer) -> bool:
        """Tell whether the scope of each of two accesses contains the other (PTX: they are morally strong)."""
        return min(self.reach, other.reach) >= needed(self.cluster, self.rank, other.cluster, other.rank)


class Value(NamedTuple):
    """One value of an address.

    agents, clocks  the agents that wrote it; none for the initial value
    published       the knowledge released to its readers, by this write and by those that it updated atomically
    """

    data: Any
    agents: Array
    clocks: Array
    writer: Writer | None
    published: Published


class Seen(NamedTuple):
    """Threads that have seen the value with that number, and their clocks at that time; records are numbered."""

    serial: int
    number: int
    threads: Array
    clocks: Array


class Place:
    """An address.

    size     bytes of the accesses
    first    the number of the oldest value kept, counted from 0 on
    lowest   for each agent, the number of the oldest value that it may still see; `met`: whether it has seen that
    seen     the threads that have seen a value first
    wrote    for each agent, the number of its latest value
    by       for each thread, the knowledge that it has released here by a release operation, and its scope; its later
             strong writes publish that too
    """

    def __init__(self, size: int, before: Any) -> None:
        self.size = size
        self.first = 0
        nobody = np.zeros(0, np.int32)
        self.values = [Value(before, nobody, nobody, None, Published())]
        self.lowest, self.met = np.zeros(0, np.int32), np.zeros(0, bool)
        self.seen: list[Seen] = []
        self.wrote: dict[int, int] = {}
        self._serial = 0  # of the latest record of `seen`
        self._looked: dict[int, tuple[int, int, int]] = {}  # by key of knowledge: see `_known`
        self.by: dict[int, list[tuple[int, Knowledge]]] = {}

    @property
    def last(self) -> int:
        return self.first + len(self.values) - 1

    def value(self, number: int) -> Value:
        return self.values[number - self.first]

    def add(self, clocks: Clocks, threads: Array, data: Any, writer: Writer, published: Published) -> None:
        """Record that threads have written `data`, and released `published` with it."""
        self.values.append(Value(data, threads, clocks.clock(SEEN, threads), writer, published))
        self.wrote.update(dict.fromkeys(threads.tolist(), self.last))
        if len(self.values) > KEPT:
            del self.values[0]
            self.first += 1
            self.seen = [seen for seen in self.seen if seen.number > self.first]

    def oldest(self, clocks: Clocks, threads: Array) -> tuple[Array, Array]:
        """Return the number of the oldest value that each thread may see, and whether it has seen that before."""
        if len(self.lowest) < clocks.count:
            more = clocks.count - len(self.lowest)
            self.lowest = np.concatenate([self.lowest, np.zeros(more, np.int32)])
            self.met = np.concatenate([self.met, np.zeros(more, bool)])
        numbers = np.maximum(self.lowest[threads], self.first)
        behind = (numbers < self.last).nonzero()[0]
        keys = clocks.keys(threads[behind])
        for key in sorted(set(keys.tolist())):
            mine = behind[keys == key]
            numbers[mine] = np.maximum(numbers[mine], self._known(clocks, key))
        for at, thread in zip(behind.tolist(), threads[behind].tolist(), strict=True) if self.wrote else ():
            numbers[at] = max(numbers[at], self.wrote.get(thread, 0))
        return numbers, self.met[threads] & (self.lowest[threads] == numbers)

    def _known(self, clocks: Clocks, key: int) -> int:
        """Return the number of the latest value whose write, or a read of it, is in a piece of knowledge.

        Who polls asks again and again: only what came since is looked at.
        """
        knowledge = clocks.pool[key]
        number, values, serial = self._looked.get(key, (0, 0, 0))
        for n in range(max(values, self.first) + 1, self.last + 1):
            value = self.value(n)
            if clocks.has_any(knowledge, SEEN, value.agents, value.clocks):
                number = n
        for seen in reversed(self.seen):
            if seen.serial <= serial:
                break
            if seen.number > number and clocks.has_any(knowledge, SEEN, seen.threads, seen.clocks):
                number = seen.number
        if len(self._looked) > MANY:
            self._looked.clear()
        self._looked[key] = number, self.last, self._serial
        return max(number, self.first)

    def see(self, clocks: Clocks, threads: Array, numbers: Array) -> None:
        """Record that threads have seen the values with these numbers."""
        newly = ~self.met[threads] | (self.lowest[threads] != numbers)
        for number in sorted(set(numbers[newly].tolist())):
            if number > self.first:
                mine = threads[newly & (numbers == number)]
                self._serial += 1
                self.seen.append(Seen(self._serial, number, mine, clocks.clock(SEEN, mine)))
        self.lowest[threads] = numbers
        self.met[threads] = True
