"""Keep memory that launches still read, where no interpreter lock orders launches and changes.

In    objects that launches no longer find; the places of launches under way, which machine code counts
Out   they are let go as soon as no launch is under way that may have found them

A launch takes a free place, and makes its number odd; it makes it even, and a higher one, when it has read all that it
reads (`enter` and `leave` in launcher.c). So a launch that was under way when an object was replaced is over as soon as
the number of its place is another one.
"""

from __future__ import annotations

import ctypes

from cutelite_rt import forks
from cutelite_rt.launcher import native

PLACES, PLACE_WORDS = 64, 8
"""At most this many launches are under way; further ones go to Python. A place is a line of the CPU's caches."""


class Readers:
    """The places of launches, and the objects that wait for some of them."""

    def __init__(self) -> None:
        self._lock = forks.lock()
        self._places = (ctypes.c_uint64 * (PLACE_WORDS * (PLACES + 1)))()
        line = 8 * PLACE_WORDS
        self.address = -(-ctypes.addressof(self._places) // line) * line
        self._waiting: list[tuple[object, list[tuple[int, int]]]] = []

    def let_go(self, replaced: object) -> None:
        """Keep an object until all launches are over that are under way now. Call it after the pointer is replaced."""
        if not native.FREE_THREADED:
            return
        numbers = (ctypes.c_uint64 * (PLACE_WORDS * PLACES)).from_address(self.address)[::PLACE_WORDS]
        with self._lock:
            self._waiting.append((replaced, [(i, number) for i, number in enumerate(numbers) if number & 1]))
            self._waiting = [each for each in self._waiting if any(numbers[i] == number for i, number in each[1])]

    def __len__(self) -> int:
        """Return how many objects wait."""
        return len(self._waiting)
