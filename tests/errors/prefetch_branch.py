import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(x: Tensor[f32, (N,)], out: Tensor[f32, (N,)]):
    for i in cl.range(N, unroll=4, prefetch=3):
        if x[i] > 0:
            out[i] = x[i]


kernel.compile(block=32)
