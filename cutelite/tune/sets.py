"""Copies of a call's arrays. Timed calls use them in turn, so that each reads its inputs from memory, not from L2.

A copy has the contents, shape, strides, dtype, alignment and library of the array it was made from.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import cutelite_rt as rt
from cutelite.tune.problem import views_of
from cutelite_rt import ArrayView, CudaError, DeviceArray
from cutelite_rt.gpu.clock import TimedStream

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

MOST_SETS = 256
"""The most sets. If arguments are smaller than L2 / 85, this many do not fill L2 three times, and some stay in it."""
TIMES_L2 = 3
"""All sets together are this many times as large as L2, which does not always replace the oldest line."""

_BASE = 256  # bytes: how device memory is aligned
_OUT_OF_MEMORY = 2


class Sets:
    """The arguments of a call, and copies of them.

    sets     arguments to call with, as (args, kwargs); the first set is the user's own, except for the arrays to
             restore
    views    the arrays among the arguments
    """

    def __init__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], restored: Iterable[Any], stream: TimedStream
    ) -> None:
        self._stream, self._given = stream, (args, kwargs)
        everywhere = views_of(args, kwargs)
        self.views = [view for _, view in everywhere]
        self._arrays = [(array, view) for array, view in everywhere if view.device[0] == "cuda" and view.size]
        self._kept = {id(array) for array in restored}
        self._fresh: list[tuple[Any, ArrayView]] = []  # (copy, view of the original) for each copy to be refreshed
        self.sets: list[Arguments] = [self._copied(only=self._kept)]

    @property
    def movable(self) -> bool:
        """Tell whether every array on the GPU can be copied."""
        return all(_copyable(view) for _, view in self._arrays)

    def grow(self, most: int) -> None:
        """Make enough sets to keep inputs out of L2, at most `most`, and as many as fit into memory."""
        of_each = sum(map(_span, (view for _, view in self._arrays)))
        wanted = min(MOST_SETS, most, -(-TIMES_L2 * self._stream.device.limits.l2_bytes // of_each)) if of_each else 1
        try:
            while len(self.sets) < wanted:
                self.sets.append(self._copied())
        except CudaError as error:
            if error.number != _OUT_OF_MEMORY:
                raise

    def refresh(self) -> None:
        """Restore the original contents of the arrays to restore, in all sets."""
        for copy, view in self._fresh:
            self._fill(copy, view)

    def _copied(self, only: set[int] | None = None) -> Arguments:
        copies = {}
        for array, view in self._arrays:
            if only is None or id(array) in only:
                copies[id(array)] = copy = self._copy(view)
                if id(array) in self._kept:
                    self._fresh.append((copy, view))
        args, kwargs = self._given
        return replaced(args, copies), replaced(kwargs, copies)

    def _copy(self, view: ArrayView) -> Any:
        if not _copyable(view):
            raise TypeError(f"a {view.library} array with strides {view.strides} can be neither copied nor restored")
        copy = _COPIERS[view.library](view, self._stream.device)
        self._fill(copy, view)
        return copy

    def _fill(self, copy: Any, view: ArrayView) -> None:
        self._stream.copy(rt.read(copy).pointer, view.pointer, _span(view))


def _copyable(view: ArrayView) -> bool:
    return view.library in _COPIERS and min(view.strides, default=0) >= 0


def _span(view: ArrayView) -> int:
    """Return the number of bytes from an array's first element to its last, gaps included."""
    first, end = view.span
    return end - first


def replaced(x: Any, copies: Mapping[int, Any]) -> Any:
    """Return an argument with its arrays replaced; `copies` has the new ones by the ids of the old ones."""
    if id(x) in copies:
        return copies[id(x)]
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(replaced(part, copies) for part in x))
    if type(x) in (tuple, list):
        return type(x)(replaced(part, copies) for part in x)
    if type(x) is dict:
        return {name: replaced(part, copies) for name, part in x.items()}
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        parts = {field.name: getattr(x, field.name) for field in dataclasses.fields(x) if field.init}
        changed = {name: replaced(part, copies) for name, part in parts.items()}
        if any(changed[name] is not parts[name] for name in parts):
            return dataclasses.replace(x, **changed)
    return x


# Copies, by the library of the array.


def _own(view: ArrayView, device: rt.Device) -> Any:
    return rt.empty(view.shape, view.dtype, device)


def _memory(view: ArrayView, device: rt.Device) -> tuple[DeviceArray, int]:
    """Return memory for a copy, and the offset at which the copy begins: it is aligned as the array is."""
    offset = view.pointer % _BASE
    return rt.empty((offset + _span(view),), "u8", device), offset


def _torch(view: ArrayView, device: rt.Device) -> Any:
    memory, offset = _memory(view, device)
    array: Any = view.owner
    flat = sys.modules["torch"].utils.dlpack.from_dlpack(memory.__dlpack__(stream=-1))
    return flat[offset:].view(array.dtype).as_strided(array.shape, array.stride())


def _cupy(view: ArrayView, device: rt.Device) -> Any:
    memory, offset = _memory(view, device)
    cupy, array = sys.modules["cupy"], view.owner
    whole = cupy.cuda.UnownedMemory(memory.pointer, memory.nbytes, memory, device.ordinal)
    pointer = cupy.cuda.MemoryPointer(whole, offset)
    return cupy.ndarray(view.shape, array.dtype, pointer, array.strides)  # type: ignore[attr-defined]


_COPIERS: dict[str, Callable[[ArrayView, rt.Device], Any]] = {"cutelite": _own, "torch": _torch, "cupy": _cupy}
