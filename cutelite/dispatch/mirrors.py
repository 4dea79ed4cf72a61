"""Host copies of arrays on a GPU, which the simulator works on; afterwards they are written back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import cutelite_rt as rt
from cutelite_rt.arrays import stream as streams
from cutelite_rt.dtype import DTYPES

Array = Any


class Mirrors:
    """Host copies of the memory that some arrays on one GPU span; arrays that overlap share theirs.

    stream  the stream that copies: after the work already in it; default: the arrays' current stream
    """

    def __init__(self, views: Iterable[rt.ArrayView], stream: int | None = None) -> None:
        given = [view for view in views if view.size]
        self.device = rt.device(given[0].device[1]) if given else rt.device()
        self.stream = streams.current(given) if stream is None else stream
        self.spans: list[tuple[int, Array]] = []  # address, bytes
        for first, end in _merged(sorted(view.span for view in given)):
            self.spans.append((first, np.empty(end - first, np.uint8)))
        self._copy("cuMemcpyDtoHAsync")

    def array(self, view: rt.ArrayView) -> Array:
        """Return the copy of an array: integers of its elements' size, with its strides."""
        size = DTYPES[view.dtype].bytes
        if not view.size:
            return np.empty(view.shape, f"u{size}")
        first, memory = next((at, data) for at, data in self.spans if at <= view.pointer < at + len(data))
        strides = tuple(stride * size for stride in view.strides)
        return np.ndarray(view.shape, f"u{size}", memory, view.pointer - first, strides)

    def kept(self) -> list[Array]:
        """Return copies of the mirrors as they are now, for `put`."""
        return [data.copy() for _, data in self.spans]

    def put(self, before: list[Array]) -> None:
        """Restore the mirrors from what `kept` returned."""
        for (_, data), kept in zip(self.spans, before, strict=True):
            data[:] = kept

    def write_back(self) -> None:
        """Copy the mirrors, as the simulator left them, to the GPU."""
        self._copy("cuMemcpyHtoDAsync")

    def _copy(self, call: str) -> None:
        driver = self.device.driver
        with self.device.active():
            for address, data in self.spans:
                here = data.ctypes.data
                ends = (here, address) if call == "cuMemcpyDtoHAsync" else (address, here)
                driver.call(call, *ends, len(data), self.stream)
            driver.call("cuStreamSynchronize", self.stream)


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for first, end in spans:
        if found and first < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((first, end))
    return found
