import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


def clamp(x, low, high):
    return min(max(x, low), high)


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    a[0] = clamp(a[0], 0.0)


kernel.compile(block=128)
