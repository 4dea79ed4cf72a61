from dataclasses import dataclass

import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@dataclass
class Pair:
    x: f32
    y: f32


@cl.kernel
def kernel(a: Tensor[f32, (N,)], p: Pair) -> None:
    a[0] = p.x


kernel.compile(block=128)
