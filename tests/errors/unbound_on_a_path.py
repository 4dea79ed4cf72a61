import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    i = cl.thread_idx.x
    if a[i] > 0:
        scale = 2.0
    a[i] = a[i] * scale


kernel.compile(block=128)
