import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    r = cl.make_rmem_tensor(f32, (4,))
    r[0] = a[0]
    a[1] = r[0] + r[1]


kernel.compile(block=128)
