import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


def check(stages):
    if stages not in (2, 4):
        raise ValueError(f'{stages} stages: there may be 2 or 4')


@cl.kernel
def kernel(a: Tensor[f32, (N,)]) -> None:
    check(3)
    a[0] = 0


kernel.compile(block=128)
