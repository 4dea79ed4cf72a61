import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (100,)]) -> None:
    assert a.shape[0] % 32 == 0, f'{a.shape[0]} is no multiple of 32'
    a[0] = 0


kernel.compile(block=128)
