from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Tensor, i32

N = cl.dims("N")


class Pair(NamedTuple):
    x: int
    y: int


@cl.kernel
def kernel(a: Tensor[i32, (N,)], n: i32) -> None:
    p = Pair(1, 2)
    p.x = n
    a[0] = p.x


kernel.compile(block=128)
