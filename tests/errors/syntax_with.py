import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    with a[0] > 1:
        a[0] = 1


kernel.compile(block=128)
