"""Arrays of the addresses of arrays: arguments for `Tensor[Pointer[f32], (N,)]`.

In    arrays on one device
Out   an array of their addresses, on the same device, which keeps them alive
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

import cutelite_rt as rt
from cutelite.dispatch.device import host_array
from cutelite.dispatch.mistakes import without_our_frames
from cutelite_rt.errors import ArgumentError, brief
from cutelite_rt.signature.bind import home_of


class HostPointers(np.ndarray[Any, Any]):
    """Addresses of arrays in host memory, for the simulator, with the arrays: `pointees`, and as NumPy's `behind`."""

    pointees: tuple[Any, ...] = ()
    behind: tuple[Any, ...] = ()

    def __array_finalize__(self, of: Any) -> None:
        self.pointees, self.behind = getattr(of, "pointees", ()), getattr(of, "behind", ())


@without_our_frames
def pointers(arrays: Iterable[Any]) -> Any:
    """Return the addresses of `arrays` as an array that keeps them alive: an argument for `Tensor[Pointer[f32], (N,)]`.

    arrays  arrays of any library: in host memory, for the simulator, or on one GPU
    Result  (len(arrays),) of i64 on the same device: a NumPy array, or a `cutelite_rt.DeviceArray` whose copy has ended
    Errors  `ArgumentError` for arrays on several devices, and for objects that are no arrays
    """
    if not isinstance(arrays, Iterable) or isinstance(arrays, Mapping | str | bytes):
        raise ArgumentError(f"pointers() takes a list or tuple of arrays, not {brief(arrays)}")
    arrays = tuple(arrays)
    views = []
    for i, array in enumerate(arrays):
        try:
            views.append((f"arrays[{i}]", rt.read(array)))
        except rt.UnreadableArray as error:
            raise ArgumentError(f"pointers(): arrays[{i}] cannot be read: {error}") from None
    kind, ordinal = home_of("pointers", views) or ("cpu", 0)
    found = np.array([view.pointer for _, view in views], np.int64)
    if kind == "cuda":
        there = rt.to_device(found, rt.device(ordinal))
        there.pointees = arrays
        return there
    here = found.view(HostPointers)
    here.pointees, here.behind = arrays, tuple(host_array(view) for _, view in views)
    return here
