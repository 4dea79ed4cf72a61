import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


def where_am_i():
    return cl.thread_idx.x


where_am_i()
