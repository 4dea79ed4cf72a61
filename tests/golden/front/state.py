"""A frozen dataclass through a loop: each of its numbers is a parameter, unless it never changes."""

from dataclasses import dataclass

import cutelite as cl
from cutelite import Tensor, i32

N = cl.dims("N")


@dataclass(frozen=True)
class Ring:
    stages: int
    index: i32
    phase: i32

    def advance(self):
        if self.index + 1 == self.stages:
            return Ring(self.stages, 0, self.phase ^ 1)
        return Ring(self.stages, self.index + 1, self.phase)


@cl.kernel
def state(x: Tensor[i32, (N, 2)]) -> None:
    ring = Ring(4, 0, 0)
    for k in range(N):
        x[k, 0], x[k, 1] = ring.index, ring.phase
        ring = ring.advance()
