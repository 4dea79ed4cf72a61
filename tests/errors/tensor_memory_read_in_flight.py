import cutelite as cl
from cutelite import Tensor, TmaTensor, bf16, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: TmaTensor[bf16, (N, 64), (128, 64)], c: Tensor[f32, (N,)]) -> None:
    x, y = cl.tma_shared(a, 1)[0, None, None], cl.tma_shared(a, 1)[0, None, None]
    tmem = cl.TmemAllocator.create(128)
    acc = cl.tcgen05.mma(tmem.tensor(128, 128), x, y)
    part = cl.tcgen05.wait_load(cl.tcgen05.load(acc))
    c[cl.thread_idx.x] = part[0]


kernel.compile(block=128, arch="sm_100a")
