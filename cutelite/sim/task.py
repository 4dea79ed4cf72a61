"""Steps that block half-way: generators, which go on when their `Wait` is ready."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cutelite.ir.op import Op
from cutelite.ir.simulation import Wait
from cutelite.sim.events import Resume
from cutelite.sim.lanes import ThreadLanes
from cutelite.sim.strand import Strand


class Task:
    """A step that blocked half-way: its generator, the lanes that execute it, and the strands that then go on."""

    __slots__ = ("lanes", "op", "steps", "strands", "wait")

    def __init__(self, op: Op, lanes: ThreadLanes, strands: list[Strand], steps: Iterator[Wait]) -> None:
        self.op, self.lanes, self.strands, self.steps = op, lanes, strands, steps
        self.wait: Wait | None = None

    def advance(self) -> bool:
        """Go on as far as possible; return True if the step is done."""
        while True:
            if self.wait is not None:
                if not np.all(self.wait.ready()):
                    return False
                self._tell(self.wait)
            self.wait = next(self.steps, None)
            if self.wait is None:
                return True

    def _tell(self, wait: Wait) -> None:
        """Report to the observer, if there is one, that the threads go on."""
        lanes, tell = self.lanes, self.lanes.machine.tell
        if tell is not None:
            which = lanes.mask.nonzero()[0]
            tell(Resume(self.op, wait, lanes.tid[which], which))

    @property
    def why(self) -> str:
        if self.wait is None:
            return ""
        return self.wait.why if isinstance(self.wait.why, str) else self.wait.why()
