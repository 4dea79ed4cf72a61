import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    i = cl.thread_idx.x
    try:
        a[i] = a[i] * 2
    except IndexError:
        pass


kernel.compile(block=128)
