import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    a[0] = sum(x for x in (a[0], a[1]) if x > 0)


kernel.compile(block=128)
