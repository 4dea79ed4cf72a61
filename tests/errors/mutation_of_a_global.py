import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


seen = []


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    seen.append(a[0])


kernel.compile(block=128)
