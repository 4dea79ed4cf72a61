"""Where a test's kernels run: on the simulator, or the same kernel on a GPU, its results brought back.

def test_it(place: Place) -> None:
    place(kernel[grid, block], source, out)     # `out` is written in place, wherever it ran
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import cutelite_rt as rt

Place = Callable[..., None]
GPU = pytest.param("gpu", marks=pytest.mark.sm(90))
PLACES = ["sim", GPU]


@contextmanager
def on_device(arguments: Sequence[Any]) -> Iterator[list[Any]]:
    """The arguments with every NumPy array copied to the GPU, and afterwards back into its place.

    Columns of a wider array come with all of that, and stay as far apart.
    """
    whole = [x.base if is_slice(x) else x for x in arguments]
    copies = [rt.to_device(x) if isinstance(x, np.ndarray) else x for x in whole]
    yield [copy if x is w else slice_of(copy, x) for x, w, copy in zip(arguments, whole, copies, strict=True)]
    for w, copy in zip(whole, copies, strict=True):
        if isinstance(w, np.ndarray):
            w[...] = copy.numpy()


def is_slice(x: Any) -> bool:
    """Whether an argument is some columns of a wider array."""
    if not isinstance(x, np.ndarray) or not isinstance(x.base, np.ndarray) or x.flags.c_contiguous:
        return False
    return bool(x.base.dtype == x.dtype and x.base.flags.c_contiguous and x.strides[-1] == x.itemsize)


def slice_of(copy: rt.DeviceArray, x: Any) -> rt.DeviceArray:
    """Of a copy of the array that `x` is some columns of, the same columns."""
    assert x.ctypes.data == x.base.ctypes.data, "columns are taken from the first one on"
    found = rt.over(copy, x.shape, copy.dtype)
    found.strides = tuple(step // x.itemsize for step in x.strides)
    return found


def simulator(launch: Callable[..., Any], *arguments: Any) -> None:
    launch(*arguments)


def gpu(launch: Callable[..., Any], *arguments: Any) -> None:
    with on_device(arguments) as there:
        launch(*there)


def place_of(name: str) -> Place:
    return gpu if name == "gpu" else simulator
