import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)], n: i32) -> None:
    table = (1.0, "two", 4.0)
    a[0] = table[n]


kernel.compile(block=128)
