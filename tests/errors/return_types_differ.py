import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


def pick(n, x):
    if n > 0:
        return n
    return x


@cl.kernel
def kernel(a: Tensor[f32, (N,)], n: i32) -> None:
    a[0] = pick(n, a[0])


kernel.compile(block=128)
