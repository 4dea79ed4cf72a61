"""Blocked threads: for each the `Wait` that it waits for, which strands share and take along when they split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cutelite.ir.op import Op
from cutelite.ir.simulation import Wait

Array = Any


@dataclass(frozen=True, slots=True)
class Blocked:
    """The waits of a strand.

    which     for each thread, the number of its wait in `waits`; -1 for none
    position  for each thread, its position in the answer of that wait
    alone     there is one wait, and all threads are in it
    """

    op: Op
    waits: tuple[Wait, ...]
    which: Array
    position: Array
    alone: bool = False

    @staticmethod
    def whole(op: Op, wait: Wait, lanes: int) -> Blocked:
        """The whole strand waits for one thing, each of its lanes at its own position."""
        return Blocked(op, (wait,), np.zeros(lanes, np.int64), np.arange(lanes), True)

    def take(self, lanes: Array) -> Blocked:
        return Blocked(self.op, self.waits, self.which[lanes], self.position[lanes], self.alone)

    def poll(self) -> bool | Array:
        """Ask who may go on: True for all, False for none, else a bool for each thread."""
        if self.alone:
            answer = self.waits[0].ready()
            if not isinstance(answer, np.ndarray):
                return bool(answer)
            ready = answer[self.position]
        else:
            ready = self.which < 0
            for i, wait in enumerate(self.waits):
                mine = self.which == i
                answer = wait.ready()
                ready[mine] = answer[self.position[mine]] if isinstance(answer, np.ndarray) else answer
        count = np.count_nonzero(ready)
        return ready if 0 < count < len(ready) else bool(count)

    def reasons(self) -> dict[str, Array]:
        """The lanes that wait, by the reason in words."""
        found: dict[str, Array] = {}
        for i, wait in enumerate(self.waits):
            mine = (self.which == i).nonzero()[0]
            if len(mine):
                why = wait.why if isinstance(wait.why, str) else wait.why()
                found[why] = np.concatenate([found[why], mine]) if why in found else mine
        return found
