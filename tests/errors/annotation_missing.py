import cutelite as cl
from cutelite import Tensor, i32

N = cl.dims("N")


@cl.kernel
def kernel(a, n: i32) -> None:
    a[0] = n


kernel.compile(block=128)
