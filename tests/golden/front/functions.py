"""Functions are inlined, their returns meet behind the call."""

import cutelite as cl
from cutelite import Tensor, f32


def clamp(x, low, high):
    if x < low:
        return low
    return high if x > high else x


@cl.kernel
def functions(x: Tensor[f32, (4,)]) -> None:
    limits = {"low": 0.0, "high": 1.0}
    x[0] = clamp(x[1], **limits) + clamp(high=x[2], x=0.5, low=-1.0)
