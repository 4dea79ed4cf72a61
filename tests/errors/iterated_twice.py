import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    pairs = zip((0, 1), (a[0], a[1]))
    for i, x in pairs:
        a[i] = x
    for i, x in pairs:
        a[i + 2] = x


kernel.compile(block=128)
