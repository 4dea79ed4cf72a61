import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


def double(x):
    return 2 * x


@cl.kernel
def kernel(a: Tensor[f32, (N,)], n: i32) -> None:
    f = abs if n > 3 else double
    a[0] = f(a[0])


kernel.compile(block=128)
