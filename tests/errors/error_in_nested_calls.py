import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


def inner(t, i):
    return t[i, i]


def outer(t, i):
    return inner(t, i) + inner(t, i + 1)


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    a[0] = outer(a, 1)


kernel.compile(block=128)
