import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)], n: i32) -> None:
    for i in cl.static_range(n):
        a[i] = 0


kernel.compile(block=128)
