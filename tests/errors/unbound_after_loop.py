import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)], n: i32) -> None:
    for i in range(n):
        last = a[i]
    a[0] = last


kernel.compile(block=128)
