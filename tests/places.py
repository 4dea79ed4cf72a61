"""The places where a test's kernels run: the simulator, or a GPU, with results brought back.

def test_it(place: Place) -> None:
    place(kernel[grid, block], source, out)     # `out` is written in place, wherever it ran
"""

import ctypes
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.array_utils import byte_bounds

import cutelite_rt as rt
from cutelite.dispatch.divert import diverted
from cutelite_rt.dtype import BY_NUMPY

Place = Callable[..., None]
GPU = pytest.param("gpu", marks=pytest.mark.sm(90))
PLACES = ["sim", GPU]


def simulator(launch: Callable[..., Any], *arguments: Any) -> None:
    launch(*arguments)


def gpu(launch: Callable[..., Any], *arguments: Any) -> None:
    staged = Staged()
    launch(*map(staged.there, arguments))
    staged.bring()


class Staged:
    """Copies on a GPU of the memory that NumPy arrays lie in: views of one array are views of one copy there."""

    def __init__(self) -> None:
        self.copies: dict[int, tuple[np.ndarray[Any, Any], rt.DeviceArray]] = {}
        self.kept: list[Any] = []  # what the memory belongs to: others must not get its address

    def there(self, x: Any) -> Any:
        """Return an argument of a launch with its arrays on the GPU, of however deep a structure."""
        if isinstance(x, np.ndarray):
            return self.array(x)
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return type(x)(*map(self.there, x))
        if isinstance(x, tuple | list):
            return type(x)(map(self.there, x))
        if isinstance(x, dict):
            return {name: self.there(value) for name, value in x.items()}
        if dataclasses.is_dataclass(x) and not isinstance(x, type):
            found = {each.name: getattr(x, each.name) for each in dataclasses.fields(x) if each.init}
            made = {name: self.there(value) for name, value in found.items()}
            return x if all(made[name] is found[name] for name in made) else dataclasses.replace(x, **made)
        return x

    def array(self, x: np.ndarray[Any, Any]) -> rt.DeviceArray:
        """Return an array as `x` is, strides and all."""
        base, outer = x, x.base
        while outer is not None:
            base, outer = (outer if isinstance(outer, np.ndarray) else base), getattr(outer, "base", None)
        low, high = byte_bounds(base)
        if low not in self.copies:
            memory = np.frombuffer((ctypes.c_char * (high - low)).from_address(low), np.uint8)
            self.copies[low] = memory, rt.to_device(memory)
            self.kept.append(base)
        copy = self.copies[low][1]
        found = rt.DeviceArray(x.shape, BY_NUMPY[str(x.dtype)], copy.device, copy.pointer + x.ctypes.data - low, copy)
        found.strides = tuple(step // x.itemsize for step in x.strides)
        return found

    def bring(self) -> None:
        """Copy all memory back to where it was."""
        for memory, copy in self.copies.values():
            memory[...] = copy.numpy()


def through_gpu(kernel: Any, launch: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Launch a kernel on a GPU, on copies of the NumPy arrays that it is given."""
    with diverted(None):
        gpu(lambda args, kwargs: kernel[launch](*args, **kwargs), args, kwargs)


def place_of(name: str) -> Place:
    return gpu if name == "gpu" else simulator
