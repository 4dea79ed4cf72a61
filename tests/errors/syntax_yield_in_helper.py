import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


def numbers(t):
    for i in range(3):
        yield t[i]


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    for x in numbers(a):
        a[0] = x


kernel.compile(block=128)
