import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    if any((hit := a[i]) > 0 for i in range(4)):
        a[0] = hit


kernel.compile(block=128)
