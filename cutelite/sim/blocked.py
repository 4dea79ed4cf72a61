"""What blocked threads wait for: a `Wait` for each, which strands can share and take along when they split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cutelite.ir.op import Op
from cutelite.ir.simulation import Wait

if TYPE_CHECKING:
    from cutelite.sim.lanes import ThreadLanes
    from cutelite.sim.strand import Strand

Array = Any


@dataclass(frozen=True, slots=True)
class Blocked:
    """For each thread of a strand: which of `waits` it waits for (-1: none), and its position in what that answers."""

    op: Op
    waits: tuple[Wait, ...]
    which: Array
    position: Array

    @staticmethod
    def whole(op: Op, wait: Wait, lanes: int) -> Blocked:
        """The whole strand waits for one thing, each of its lanes at its own position."""
        return Blocked(op, (wait,), np.zeros(lanes, np.int64), np.arange(lanes))

    def take(self, lanes: Array) -> Blocked:
        return Blocked(self.op, self.waits, self.which[lanes], self.position[lanes])

    def poll(self) -> bool | Array:
        """True if all may go on, False if none, else a bool for each."""
        if len(self.waits) == 1 and not np.count_nonzero(self.which):
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
        """Why, in words, and which lanes."""
        found: dict[str, Array] = {}
        for i, wait in enumerate(self.waits):
            mine = np.flatnonzero(self.which == i)
            if len(mine):
                why = wait.why if isinstance(wait.why, str) else wait.why()
                found[why] = np.concatenate([found[why], mine]) if why in found else mine
        return found


class Task:
    """A step that blocked half-way: its generator, who executes it, and the strands that go on when it is done."""

    __slots__ = ("lanes", "op", "steps", "strands", "wait")

    def __init__(self, op: Op, lanes: ThreadLanes, strands: list[Strand], steps: Iterator[Wait]) -> None:
        self.op, self.lanes, self.strands, self.steps = op, lanes, strands, steps
        self.wait: Wait | None = None

    def advance(self) -> bool:
        """Go on as far as possible; whether it is done."""
        while True:
            if self.wait is not None:
                if not np.all(self.wait.ready()):
                    return False
                self._tell(self.wait)
            self.wait = next(self.steps, None)
            if self.wait is None:
                return True

    def _tell(self, wait: Wait) -> None:
        """Tell the observer, if there is one, that the threads go on."""
        lanes, machine = self.lanes, self.lanes.machine
        if machine.launch.observer is not None:
            which = np.flatnonzero(lanes.mask)
            machine.event("resume", lanes, wait=wait, op=self.op, tid=lanes.tid[which], lanes=which)

    @property
    def why(self) -> str:
        if self.wait is None:
            return ""
        return self.wait.why if isinstance(self.wait.why, str) else self.wait.why()
