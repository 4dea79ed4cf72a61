"""CuTe's words for tuples and layouts in a kernel: of numbers, of run-time values, with functions as arguments."""

import numpy as np

import cutelite as cl
from cutelite.layout import front

TILE = cl.make_layout((4, (2, 4)), stride=(8, (1, 2)))


@cl.kernel
def tuples(out: cl.Tensor[cl.i32, (16, 32)]) -> None:
    t = cl.thread_idx.x
    out[0, t] = cl.find((4, (1, 8)), 8)[1]
    out[1, t] = cl.find_if((3, (4, 8)), lambda value, position: value % 8 == 0)[0]
    out[2, t] = cl.transform_apply((t, (2, 3)), f=lambda x: 2 * x, g=lambda a, b, c: a + b + c)
    out[3, t] = cl.tuple_cat((1, t + 2), 3)[1]
    out[4, t] = cl.get_leaves((t + 4, (6, 7)))[0]
    out[5, t] = front(((t + 1, 2), 3))
    out[6, t] = cl.unwrap(((t,),))
    out[7, t] = len(cl.filter_tuple((1, 2, 3), f=lambda x: (x,) if x % 2 else ()))
    out[8, t] = cl.is_major(1, TILE)
    out[9, t] = cl.size_in_bytes(cl.f16, TILE)
    out[10, t] = cl.rank(cl.append_ones(out, up_to_rank=5))
    out[11, t] = cl.make_layout_image_mask(cl.make_layout((2, 4)), (t % 2, 0), 1)
    out[12, t] = cl.ceil_div((4, 8), 8)[1]
    out[13, t] = cl.with_shape(TILE, (8, 4))(t)
    out[14, t] = cl.prepend_ones(out)[0, 6, t]


def test_tuples_in_a_kernel() -> None:
    out = np.full((16, 32), -1, np.int32)
    tuples[1, 32](out)
    t = np.arange(32)
    rows = [1, 1, 2 * t + 10, t + 2, t + 4, t + 1, t, 2, 1, 64, 5, np.where(t % 2, 170, 85), 4, [TILE(i) for i in t], t]
    assert (out[:15] == np.array([np.broadcast_to(row, 32) for row in rows])).all()
