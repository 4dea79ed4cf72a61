import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    i = 0
    while i < 4:
        a[i] = 0


kernel.compile(block=128)
