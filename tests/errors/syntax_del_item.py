import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    xs = [1, 2]
    del xs[0]
    a[0] = xs[0]


kernel.compile(block=128)
