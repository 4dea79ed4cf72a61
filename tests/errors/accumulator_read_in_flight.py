import cutelite as cl
from cutelite import Tensor, TmaTensor, bf16, f32

N = cl.dims("N")


@cl.kernel
def kernel(a: TmaTensor[bf16, (N, 64), (64, 64)], c: Tensor[f32, (N,)]) -> None:
    x, y = cl.tma_shared(a, 1)[0, None, None], cl.tma_shared(a, 1)[0, None, None]
    acc = cl.wgmma.zeros_accumulator(64)
    acc = cl.wgmma.mma_async(x, y, acc)
    cl.wgmma.commit_group()
    c[cl.thread_idx.x] = acc[0]


kernel.compile(block=128)
