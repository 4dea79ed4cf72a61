import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (4, N)]) -> None:
    b = a[None, 0:4]
    b[0, 0] = 1


kernel.compile(block=128)
