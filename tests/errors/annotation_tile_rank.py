import cutelite as cl
from cutelite import TmaTensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: TmaTensor[f32, (N, 64), (64,)]) -> None:
    pass


kernel.compile(block=128)
