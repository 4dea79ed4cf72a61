import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


def helper():
    import math
    with math:
        return 1


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    a[0] = helper()


kernel.compile(block=128)
