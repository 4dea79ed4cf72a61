import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    x = (1, 2, 3)[5]
    a[0] = x


kernel.compile(block=128)
