import cutelite as cl
from cutelite import Tensor, i32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[i32, (N,)], n: i32) -> None:
    found = {}
    for i in range(n):
        found[0] = i
    a[0] = found[0]


kernel.compile(block=128)
