import cutelite as cl
from cutelite import Tensor, f32


@cl.kernel
def kernel(x: Tensor[f32, (128,)]) -> None:
    tile = cl.shared(f32, (128,))
    cl.cp_async(x.at(0), tile.at(0), 16)


kernel.compile(block=32)
