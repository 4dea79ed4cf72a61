"""Arrays as global memory: the bytes behind each argument, at addresses as far apart as allocations of their own.

An array is taken with the bytes it spans, whatever its strides. Two arguments that are views of one NumPy buffer
keep their distance in it, so a misaligned view is misaligned in the kernel too; where they overlap, they are one
region.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from cutelite.sim.memory import GLOBAL_BASE, GUARD, Region

Array = Any


class Buffers:
    """Collects arrays with `add`, then gives them addresses with `place`."""

    def __init__(self) -> None:
        self._arrays: list[tuple[str, Array]] = []
        self._base: dict[int, int] = {}  # first byte of a buffer on the host -> its address
        self._regions: list[Region] = []

    def add(self, name: str, array: Array) -> None:
        self._arrays.append((name, array))

    def place(self) -> None:
        """Lay the buffers out in the kernel's address space."""
        spans: dict[int, tuple[int, list[tuple[int, int, str, Array]]]] = {}
        for name, array in self._arrays:
            if array.size == 0:
                continue
            start, end = byte_bounds(_owner(array))
            low, high = byte_bounds(array)
            spans.setdefault(start, (end, []))[1].append((low, high, name, array))
        address = GLOBAL_BASE
        for start, (end, views) in sorted(spans.items()):
            self._base[start] = address
            for low, high, named in _overlapping(views):
                self._regions.append(self._region(low, high, address + low - start, named))
            address += -(-(end - start + GUARD) // GUARD) * GUARD

    def regions(self) -> list[Region]:
        return self._regions

    def address(self, array: Array) -> int:
        """The address of the array's first element."""
        if array.size == 0:
            return GLOBAL_BASE - GUARD  # nobody's: any access is an error
        start, _ = byte_bounds(_owner(array))
        return int(self._base[start] + array.__array_interface__["data"][0] - start)

    def _region(self, low: int, high: int, address: int, named: list[tuple[int, str, Array]]) -> Region:
        data = np.frombuffer((ctypes.c_uint8 * (high - low)).from_address(low), np.uint8)
        names: dict[int, str] = {}
        for offset, name, _ in named:
            names[offset] = f"{names[offset]}` and `{name}" if offset in names else name
        region = Region(address, data, names)
        region.read_only = not any(array.flags.writeable for _, _, array in named)
        return region


def _owner(array: Array) -> Array:
    """The array whose memory this one is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _overlapping(
    views: list[tuple[int, int, str, Array]],
) -> list[tuple[int, int, list[tuple[int, str, Array]]]]:
    """Views as groups without overlap between them: low, high, and offset, name and array of each in it."""
    groups: list[tuple[int, int, list[tuple[int, str, Array]]]] = []
    for low, high, name, array in sorted(views, key=lambda view: view[:2]):
        if groups and low < groups[-1][1]:
            first, end, named = groups[-1]
            groups[-1] = (first, max(end, high), [*named, (low - first, name, array)])
        else:
            groups.append((low, high, [(0, name, array)]))
    return groups
