"""Blocked threads, each with its `Wait`; when a strand splits, each part keeps the waits of its threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.ir.op import Op
from cutelite.ir.simulation import Wait
from cutelite.records import dataclass

Array = Any


@dataclass(frozen=True, slots=True)
class Blocked:
    """The waits of a strand.

    which     for each thread, the index of its wait in `waits`; -1 for none
    position  for each thread, its index in what the wait's `ready` returns
    alone     there is one wait, of all threads
    """

    op: Op
    waits: tuple[Wait, ...]
    which: Array
    position: Array
    alone: bool = False

    @staticmethod
    def whole(op: Op, wait: Wait, lanes: int) -> Blocked:
        """Return the state of a strand all of whose lanes wait for `wait`."""
        return Blocked(op, (wait,), np.zeros(lanes, np.int64), np.arange(lanes), True)

    def take(self, lanes: Array) -> Blocked:
        return Blocked(self.op, self.waits, self.which[lanes], self.position[lanes], self.alone)

    def poll(self) -> bool | Array:
        """Return which threads may go on: True for all, False for none, else a bool for each thread."""
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

    def advice(self) -> str:
        """Return what to do if they wait for ever; '' where that is not known."""
        return next(filter(None, (wait.advice() for i, wait in enumerate(self.waits) if (self.which == i).any())), "")

    def reasons(self) -> dict[str, Array]:
        """Return the lanes that wait, by the reason in words."""
        found: dict[str, Array] = {}
        for i, wait in enumerate(self.waits):
            mine = (self.which == i).nonzero()[0]
            if len(mine):
                why = wait.why if isinstance(wait.why, str) else wait.why()
                found[why] = np.concatenate([found[why], mine]) if why in found else mine
        return found
