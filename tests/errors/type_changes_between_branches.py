import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)], n: i32) -> None:
    x = a[0]
    if n > 3:
        y = x
    else:
        y = n
    a[1] = y


kernel.compile(block=128)
