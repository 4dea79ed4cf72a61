"""Loops in a loop: what the inner ones change, the outer one carries; what nobody changes stays a constant."""

import cutelite as cl
from cutelite import Tensor, i32

N = cl.dims("N")


@cl.kernel
def nested_loops(x: Tensor[i32, (N,)], n: i32) -> None:
    total, step = 0, 2
    for i in range(n):
        j = i
        while j > 0:
            total += j
            if total > 1000:
                return
            j -= step
    x[0] = total
