"""Where a thread is in a ring of buffers: ordinary frozen values, written in terms of the rest of the language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WARP, WARPGROUP = 32, 128


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
    phase  0 in the first round for a consumer, who waits for the buffer to be filled; 1 for a producer, who waits for
           it to be emptied, which at first it counts as. It changes with each round
    """

    stages: int
    index: Any = 0
    phase: Any = 0

    @classmethod
    def consumer(cls, stages: int) -> PipelineState:
        """At the start, for those who wait on `full` barriers."""
        return cls(stages, 0, 0)

    @classmethod
    def producer(cls, stages: int) -> PipelineState:
        """At the start, for those who wait on `empty` barriers."""
        return cls(stages, 0, 1)

    def advance(self, steps: Any = 1) -> PipelineState:
        """The stage after this one; or `steps` stages on, which somebody else has taken or filled."""
        from cutelite.ir.types import i32  # importing this class must not cost what compiling does
        from cutelite.lang.values import as_value, to_dtype, where, wrap

        if not isinstance(steps, int) or steps != 1:
            far = self.index + to_dtype(wrap(as_value(steps)), i32)
            return PipelineState(self.stages, far % self.stages, self.phase ^ (far // self.stages & 1))
        following = self.index + 1
        around = following == self.stages
        return PipelineState(self.stages, where(around, 0, following), where(around, self.phase ^ 1, self.phase))


def whole_warps(threads: int) -> int:
    """How many warps so many threads are; an error if they are not whole ones."""
    from cutelite.lang.values import mistake

    if threads < WARP or threads % WARP:
        raise mistake("pipeline", f"the threads of a pipeline come in whole warps of {WARP}, and here are {threads}")
    return threads // WARP


def whole_warpgroups(threads: int) -> int:
    """How many warpgroups so many threads are; an error if they are not whole ones."""
    from cutelite.lang.values import mistake

    if threads < WARPGROUP or threads % WARPGROUP:
        raise mistake("pipeline", f"readers by wgmma come in whole warpgroups of {WARPGROUP}, and here are {threads}")
    return threads // WARPGROUP


def check_stages(stages: Any) -> None:
    """A ring has at least one buffer, and how many is known at compile time."""
    from cutelite.lang.values import describe, mistake

    if not isinstance(stages, int) or stages < 1:
        raise mistake("pipeline", f"a pipeline has 1 stage or more, known at compile time, not {describe(stages)}")
