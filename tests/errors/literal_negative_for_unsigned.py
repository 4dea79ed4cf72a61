import cutelite as cl
from cutelite import Tensor, u32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[u32, (N,)]) -> None:
    a[0] = a[0] * -1


kernel.compile(block=128)
