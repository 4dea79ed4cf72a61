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
    """The arguments with every NumPy array copied to the GPU, and afterwards back into its place."""
    there = [rt.to_device(x) if isinstance(x, np.ndarray) else x for x in arguments]
    yield there
    for x, copy in zip(arguments, there, strict=True):
        if isinstance(x, np.ndarray):
            x[...] = copy.numpy()


def simulator(launch: Callable[..., Any], *arguments: Any) -> None:
    launch(*arguments)


def gpu(launch: Callable[..., Any], *arguments: Any) -> None:
    with on_device(arguments) as there:
        launch(*there)


def place_of(name: str) -> Place:
    return gpu if name == "gpu" else simulator
