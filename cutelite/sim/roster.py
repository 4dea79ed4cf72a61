"""The threads of one CTA: which of them have not exited, in all and by warp or warpgroup."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


class Roster:
    """The threads of one CTA.

    live        bool (threads,): the threads that have not exited
    live_count  their number
    exits       the number of times that threads have exited
    """

    def __init__(self, live: Array) -> None:
        self.live = live
        self.threads = len(live)
        self.live_count = len(live)
        self.exits = 0
        self._live_by: dict[int, tuple[int, Array]] = {}

    def leave(self, tid: Array) -> None:
        """Note that these threads exit."""
        self.live[tid] = False
        self.live_count -= len(tid)
        self.exits += 1

    def live_by(self, unit: int) -> Array:
        """Return, for each warp (or warpgroup: `unit` threads), how many of its threads have not exited."""
        found = self._live_by.get(unit)
        if found is None or found[0] != self.exits:
            counts = np.bincount(self.live.nonzero()[0] // unit, minlength=-(-self.threads // unit))
            found = self._live_by[unit] = (self.exits, counts)
        return found[1]
