"""The places where a test's kernels run: the simulator, or a GPU, with results brought back.

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
    """Give the arguments with every NumPy array copied to the GPU; copy them back into their places afterwards.

    Of columns of a wider array the whole array is copied, so that strides stay as they are.
    """
    whole = [x.base if is_slice(x) else x for x in arguments]
    copies = [rt.to_device(x) if isinstance(x, np.ndarray) else x for x in whole]
    yield [copy if x is w else slice_of(copy, x) for x, w, copy in zip(arguments, whole, copies, strict=True)]
    for w, copy in zip(whole, copies, strict=True):
        if isinstance(w, np.ndarray):
            w[...] = copy.numpy()


def is_slice(x: Any) -> bool:
    """Tell whether an argument is some columns of a wider array."""
    if not isinstance(x, np.ndarray) or not isinstance(x.base, np.ndarray) or x.flags.c_contiguous:
        return False
    return bool(x.base.dtype == x.dtype and x.base.flags.c_contiguous and x.strides[-1] == x.itemsize)


def slice_of(copy: rt.DeviceArray, x: Any) -> rt.DeviceArray:
    """Return the columns of `copy` that `x` is of the array that was copied."""
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
