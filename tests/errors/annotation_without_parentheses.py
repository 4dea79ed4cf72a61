import cutelite as cl
from cutelite import Tensor, f32

M, N = cl.dims("M N")


@cl.kernel
def kernel(a: Tensor[f32, M, N]) -> None:
    a[0, 0] = 0.0


kernel.compile(block=128)
