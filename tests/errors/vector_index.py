import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (4,)], n: i32) -> None:
    v = a.load()
    a[0] = v[n]


kernel.compile(block=128)
