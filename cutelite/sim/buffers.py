"""Arrays as global memory: the bytes of each argument, at addresses far apart, as of separate allocations.

A region has all bytes that an array spans, whatever its strides. The start of a NumPy buffer is aligned like memory
from cudaMalloc, so a view into it has the alignment it would have on the GPU. Arguments that overlap share a region.

A region for TMA reaches up to a multiple of 16 bytes, within the buffer that the array is a view of: TMA stores write
whole units of 16 bytes (sim/tensormap.py).
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from cutelite.ops.tma import ROW_UNIT
from cutelite.sim.memory import GLOBAL_BASE, GUARD, Region

Array = Any

ALIGN = 256  # bytes: the alignment of cudaMalloc
NOWHERE = GLOBAL_BASE - GUARD  # the address of an empty array: any access there is an error


class Buffers:
    """Collects arrays with `add`, then gives them addresses with `place`."""

    def __init__(self) -> None:
        self._arrays: list[tuple[str, Array]] = []
        self._by_tma: set[int] = set()  # ids of arrays
        self._groups: list[tuple[int, int, int]] = []  # (first, end) on the host, and the address in the kernel
        self._regions: list[Region] = []

    def add(self, name: str, array: Array, by_tma: bool = False) -> None:
        """Add an argument; `by_tma`: it is accessed through a TMA descriptor."""
        self._arrays.append((name, array))
        if by_tma:
            self._by_tma.add(id(array))

    def place(self) -> None:
        """Give the arrays addresses in the kernel's address space."""
        views = [(*self._bounds(array), name, array) for name, array in self._arrays if array.size]
        base = GLOBAL_BASE
        position = {id(array): i for i, (_, array) in enumerate(self._arrays)}
        groups = _overlapping(views)
        groups.sort(
            key=lambda group: min(position[id(array)] for _, _, array in group[2])
        )  # by argument, so that host addresses do not matter
        for low, high, named in groups:
            address = base + (low - byte_bounds(_owner(named[0][2]))[0]) % ALIGN
            self._groups.append((low, high, address))
            self._regions.append(self._region(low, high, address, named))
            base += -(-(high - low + GUARD) // GUARD) * GUARD

    def regions(self) -> list[Region]:
        return self._regions

    def address(self, array: Array) -> int:
        """Return the kernel's address of the array's first element."""
        first = array.__array_interface__["data"][0]
        for low, high, address in self._groups:
            if low <= first < high and array.size:
                return int(address + first - low)
        return NOWHERE

    def located(self, addresses: Array) -> Array:
        """Translate host addresses of bytes in the arrays to the kernel's; others become `NOWHERE`."""
        found = np.full(addresses.shape, NOWHERE, np.int64)
        for low, high, address in self._groups:
            inside = (low <= addresses) & (addresses < high)
            found[inside] = addresses[inside] - low + address
        return found

    def _bounds(self, array: Array) -> tuple[int, int]:
        """Return the first host address that accesses may touch, and the end."""
        low, high = byte_bounds(array)
        if id(array) in self._by_tma:  # its first byte is at a multiple of 16
            high = max(high, min(high + (low - high) % ROW_UNIT, byte_bounds(_owner(array))[1]))
        return low, high

    def _region(self, low: int, high: int, address: int, named: list[tuple[int, str, Array]]) -> Region:
        data = np.frombuffer(memoryview((ctypes.c_uint8 * (high - low)).from_address(low)), np.uint8)
        names: dict[int, str] = {}
        for offset, name, _ in named:
            names[offset] = f"{names[offset]}` and `{name}" if offset in names else name
        region = Region(address, data, names)
        region.read_only = not any(array.flags.writeable for _, _, array in named)
        return region


def _owner(array: Array) -> Array:
    """Return the array that owns this one's memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _overlapping(
    views: list[tuple[int, int, str, Array]],
) -> list[tuple[int, int, list[tuple[int, str, Array]]]]:
    """Group views that overlap: (first, end) of each group, and (offset, name, array) of each view in it."""
    groups: list[tuple[int, int, list[tuple[int, str, Array]]]] = []
    for low, high, name, array in sorted(views, key=lambda view: view[:2]):
        if groups and low < groups[-1][1]:
            first, end, named = groups[-1]
            groups[-1] = (first, max(end, high), [*named, (low - first, name, array)])
        else:
            groups.append((low, high, [(0, name, array)]))
    return groups
