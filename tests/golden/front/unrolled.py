"""All that is known when the kernel is compiled is gone: loops, branches, lists, functions."""

import cutelite as cl
from cutelite import Constexpr, Tensor, f32


@cl.kernel
def unrolled(x: Tensor[f32, (16,)], taps: Constexpr[int] = 3) -> None:
    weights = [1 / (k + 1) for k in range(taps)]
    weights.append(0.5)

    def tap(k):
        return x[k] * weights[k]

    i = 0
    while weights[i] > 0.4:
        i += 1
    x[i] = sum(tap(k) for k in cl.static_range(taps)) if taps > 2 else 0.0
