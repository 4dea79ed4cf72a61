import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    n, = a.shape
    a[n] = a[n - 1]


kernel.compile(block=128)
