import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


@cl.kernel
def kernel(a: Tensor[f32, (N,)], n: i32) -> None:
    a[0] = f32(factorial(n))


kernel.compile(block=128)
