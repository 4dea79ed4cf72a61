"""Functions of numbers, computed by a kernel: for tests of functions of other libraries."""

from collections.abc import Callable
from typing import Any

import numpy as np

import cutelite as cl
from cutelite import Tensor, f32

N, M = cl.dims("N M")


def by_kernel(functions: list[Callable[..., Any]], dtype: Any, *given: Any) -> Any:
    """Each function of the elements of one or two arrays of NumPy, as f32 (functions, elements): one a thread."""

    @cl.kernel(block=len(given[0]))
    def kernel(x: Tensor[dtype, (N,)], y: Tensor[dtype, (N,)], out: Tensor[f32, (M, N)]) -> None:
        i = cl.thread_idx.x
        for j, function in enumerate(functions):
            out[j, i] = f32(function(x[i]) if len(given) == 1 else function(x[i], y[i]))

    out = np.zeros((len(functions), len(given[0])), np.float32)
    kernel[1](given[0], given[-1], out)
    return out
