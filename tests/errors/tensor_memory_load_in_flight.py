import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def kernel(c: Tensor[f32, (N,)]) -> None:
    tmem = cl.TmemAllocator.create(32)
    part = cl.tcgen05.load(tmem.tensor(128, 32))
    c[cl.thread_idx.x] = part[0]


kernel.compile(block=128, arch="sm_100a")
