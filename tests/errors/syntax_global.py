import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


count = 0


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    global count
    count = count + 1
    a[0] = count


kernel.compile(block=128)
