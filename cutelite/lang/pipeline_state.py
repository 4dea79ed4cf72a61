"""The place of a thread in a ring of buffers: ordinary frozen values, written in terms of the rest of the language."""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import i32
from cutelite.records import dataclass


@dataclass(frozen=True)
class PipelineState:
    """The stage that comes next in a ring of `stages`, and the parity to wait for there.

        state = PipelineState.consumer(4)
        for k in range(k_tiles):
            full[state.index].wait(state.phase)
            ...
            empty[state.index].arrive()
            state = state.advance()

    index  0 to stages - 1
    phase  the parity to wait for, which changes with each round. It begins as 0 for a consumer, which waits for the
           buffer to be filled, and as 1 for a producer, which waits for it to be empty, as it is in the first round
    """

    CHANGING = ("index", "phase")  # in a loop: see `front.loops.carried.guesses`

    stages: int
    index: Any = 0
    phase: Any = 0

    @classmethod
    def consumer(cls, stages: int) -> PipelineState:
        """Return the first state of a thread that waits on `full` barriers."""
        return cls(stages, 0, 0)

    @classmethod
    def producer(cls, stages: int) -> PipelineState:
        """Return the first state of a thread that waits on `empty` barriers."""
        return cls(stages, 0, 1)

    @classmethod
    def at(cls, stages: int, number: Any, phase: int) -> PipelineState:
        """Return the state that begins with `phase`, `number` stages on: one u32 is then the place in several rings."""
        from cutelite.lang import promotion  # late: see `advance`

        index, turns = (promotion.to_dtype(x, i32) for x in (number % stages, number // stages & 1))
        return cls(stages, index, turns ^ 1 if phase else turns)

    def advance(self, steps: Any = 1) -> PipelineState:
        """Return the stage after this one; or `steps` stages on, past some that other threads have taken."""
        from cutelite.lang import promotion, values  # late: importing this class must not load the compiler

        if not isinstance(steps, int) or steps != 1:
            far = self.index + promotion.to_dtype(steps, i32)
            return PipelineState(self.stages, far % self.stages, self.phase ^ (far // self.stages & 1))
        following = self.index + 1
        around = following == self.stages
        return PipelineState(
            self.stages, values.where(around, 0, following), values.where(around, self.phase ^ 1, self.phase)
        )
