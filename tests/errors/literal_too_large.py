import cutelite as cl
from cutelite import Tensor, i8

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[i8, (N,)]) -> None:
    a[0] = a[0] + 300


kernel.compile(block=128)
