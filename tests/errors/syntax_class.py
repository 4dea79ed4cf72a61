import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    class Box:
        x = 1

    a[0] = Box.x


kernel.compile(block=128)
