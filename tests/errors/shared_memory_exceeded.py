import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    big = cl.shared(f32, (256, 256))
    big[0, 0] = a[0]
    a[1] = big[0, 0]


kernel.compile(block=128)
