import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    index = cl.thread_idx.x
    a[index] = a[idnex]


kernel.compile(block=128)
