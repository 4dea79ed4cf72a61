"""An address that changes in a loop is as aligned as the worst that it may be."""

import cutelite as cl
from cutelite import Tensor, f32, i32

N = cl.dims("N")


@cl.kernel(block=32)
def walks(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], n: i32) -> None:
    place = b.at(0)
    for i in range(n):
        place = b.at(i)
    cl.cp_async_bulk_prefetch(place, 16)


walks.compile()
