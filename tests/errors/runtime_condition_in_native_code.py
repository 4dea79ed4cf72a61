import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    first, second = sorted((a[0], a[1]))
    a[0] = first


kernel.compile(block=128)
