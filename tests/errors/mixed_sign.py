import cutelite as cl
from cutelite import Tensor, f32, i64, u64

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)], n: u64, m: i64) -> None:
    a[0] = f32(m + n)


kernel.compile(block=128)
