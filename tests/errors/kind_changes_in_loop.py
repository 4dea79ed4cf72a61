import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)], n: i32) -> None:
    best = None
    for i in range(n):
        if best is None:
            best = a[i]
    a[0] = best


kernel.compile(block=128)
