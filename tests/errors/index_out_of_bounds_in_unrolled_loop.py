import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (4, 4)]) -> None:
    total = 0.0
    for i in cl.static_range(4):
        total += a[i, i + 1]
    a[0, 0] = total


kernel.compile(block=128)
