import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    a[cl.thread_idx] = 1.0


kernel.compile(block=128)
