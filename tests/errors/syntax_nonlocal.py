import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    total = 0.0

    def add(x):
        nonlocal total
        total = total + x

    add(a[0])
    a[0] = total


kernel.compile(block=128)
