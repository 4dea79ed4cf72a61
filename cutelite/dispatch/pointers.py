"""Arrays of the addresses of arrays: arguments for `Tensor[Pointer[f32], (N,)]`.

In    arrays of one place
Out   an array of their addresses, in the same place, which keeps them alive
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import cutelite_rt as rt
from cutelite_rt.signature.bind import home_of


class HostPointers(np.ndarray[Any, Any]):
    """Addresses of NumPy arrays, by which the simulator finds the arrays."""

    pointees: tuple[Any, ...] = ()

    def __array_finalize__(self, of: Any) -> None:
        self.pointees = getattr(of, "pointees", ())


def pointers(arrays: Sequence[Any]) -> Any:
    """The addresses of `arrays` as an array, which keeps them alive: an argument for `Tensor[Pointer[f32], (N,)]`.

    arrays  of NumPy, for the simulator; or of torch, CuPy, JAX and cutelite_rt on one GPU
    Result  (len(arrays),) of i64, where they are: of NumPy, or a `cutelite_rt.DeviceArray`, complete when this returns
    Errors  `ArgumentError` for arrays in different places and for what is no array
    """
    views = [(f"arrays[{i}]", rt.read(array)) for i, array in enumerate(arrays)]
    kind, ordinal = home_of("pointers", views) or ("cpu", 0)
    found = np.array([view.pointer for _, view in views], np.int64)
    if kind == "cuda":
        there = rt.to_device(found, rt.device(ordinal))
        there.pointees = tuple(arrays)
        return there
    here = found.view(HostPointers)
    here.pointees = tuple(arrays)
    return here
