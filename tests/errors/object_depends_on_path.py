import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


class Pair:
    def __init__(self, low, high):
        self.low, self.high = low, high


@cl.kernel
def kernel(a: Tensor[f32, (N,)], n: i32) -> None:
    pair = Pair(a[0], a[1]) if n > 3 else Pair(a[1], a[0])
    a[2] = pair.high


kernel.compile(block=128)
