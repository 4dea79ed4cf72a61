import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    i = cl.thread_idx.x
    found = []
    if a[i] > 0:
        found.append(i)
    a[0] = len(found)


kernel.compile(block=128)
