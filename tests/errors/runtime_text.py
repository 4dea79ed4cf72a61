import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)], n: i32) -> None:
    name = str(n)
    a[0] = len('n' + name)


kernel.compile(block=128)
