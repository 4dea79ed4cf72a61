import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)], n: i32) -> None:
    total = n
    for i in range(n):
        total = total + i
        total = total * 0.5
    a[0] = total


kernel.compile(block=128)
