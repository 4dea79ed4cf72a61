"""Arrays on their way into kernels of rows: as matrices, and results of the same library."""

from __future__ import annotations

import math
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite.kernels.rows.plan import MOST, width

DTYPES = {"bfloat16": cl.bf16, "float16": cl.f16, "float32": cl.f32}


class Rows:
    """An array of rows: `matrix` is a view of shape (m, n), or a copy where its rows are not evenly apart.

    array    torch's, CuPy's or NumPy's, of any number of modes; the last one is a row
    dtype    bf16, f16 or f32
    vector   elements that one access may take
    Errors   `cl.ArgumentError` for other dtypes, and for rows of 0 or more than 262,144 elements
    """

    def __init__(self, array: Any, name: str) -> None:
        found = DTYPES.get(str(array.dtype).rpartition(".")[2])
        if found is None:
            raise rt.ArgumentError(f"{name} has dtype {array.dtype}; rows are of bfloat16, float16 or float32")
        if not array.shape or not 1 <= array.shape[-1] <= MOST:
            raise rt.ArgumentError(f"{name} has shape {tuple(array.shape)}; a row has 1 to {MOST} elements")
        self.dtype = found
        self.n = int(array.shape[-1])
        self.m = math.prod(map(int, array.shape[:-1]))
        self.matrix = array.reshape((self.m, self.n))
        if self.n > 1 and step(self.matrix, 1) != 1:
            self.matrix = contiguous(self.matrix)

    def like(self, other: Rows, name: str) -> Rows:
        """These rows. Errors: `cl.ArgumentError` where they are not as many, as long and of the dtype of `other`."""
        if (self.dtype, self.m, self.n) != (other.dtype, other.m, other.n):
            here, there = (f"{x.dtype} {x.m} x {x.n}" for x in (self, other))
            raise rt.ArgumentError(f"{name} is {here}, and should be {there}")
        return self

    def at_once(self, cluster: int) -> int:
        """How many clusters of so many blocks run at once, a multiprocessor for each block; in the simulator 2."""
        on_gpu = getattr(self.matrix, "is_cuda", hasattr(self.matrix, "__cuda_array_interface__"))
        return rt.max_active_clusters(cluster) if on_gpu else 2

    @property
    def vector(self) -> int:
        """The elements of one access, by pitch and address."""
        pitch = step(self.matrix, 0) if self.m > 1 else 0
        return width(self.dtype.bytes, pitch, address(self.matrix) // self.dtype.bytes)


def step(array: Any, mode: int) -> int:
    """The stride of a mode, in elements."""
    stride = array.stride(mode) if callable(getattr(array, "stride", None)) else array.strides[mode] // array.itemsize
    return int(stride)


def address(array: Any) -> int:
    """Where the first element is."""
    if hasattr(array, "data_ptr"):
        return int(array.data_ptr())
    about = array.__cuda_array_interface__ if hasattr(array, "__cuda_array_interface__") else array.__array_interface__
    return int(about["data"][0])


def contiguous(array: Any) -> Any:
    """A row-major copy."""
    return array.contiguous() if hasattr(array, "contiguous") else array.copy(order="C")


def empty_like(array: Any, shape: tuple[int, ...] | None = None, dtype: str | None = None) -> Any:
    """A row-major array of the library and in the place of `array`, with nothing in it yet."""
    shape = tuple(array.shape) if shape is None else shape
    if hasattr(array, "new_empty"):  # torch
        import torch

        return array.new_empty(shape, dtype=None if dtype is None else getattr(torch, dtype))
    library = __import__(type(array).__module__.partition(".")[0])
    return library.empty(shape, array.dtype if dtype is None else dtype)


def as_vector(array: Any, name: str, n: int) -> tuple[Any, Any] | None:
    """An array of `n` elements side by side, and its dtype; None for None."""
    if array is None:
        return None
    dtype = DTYPES.get(str(array.dtype).rpartition(".")[2])
    if dtype is None or tuple(array.shape) != (n,):
        raise rt.ArgumentError(f"{name} is {array.dtype} of shape {tuple(array.shape)}, and should have {n} elements")
    return (array if n == 1 or step(array, 0) == 1 else contiguous(array)), dtype
