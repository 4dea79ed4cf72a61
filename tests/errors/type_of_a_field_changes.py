from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


class State(NamedTuple):
    index: Any
    total: Any


@cl.kernel
def kernel(a: Tensor[f32, (N,)], n: i32) -> None:
    state = State(0, 0)
    for i in range(n):
        if i > 0:
            state = State(state.index + 1, state.total + a[i])
        else:
            state = State(state.index + 1, n)
    a[0] = state.total


kernel.compile(block=128)
