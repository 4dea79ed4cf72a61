"""A TMA descriptor of a warp's own, set to one tensor after another: for groups whose sizes only the device knows.

@cl.kernel(block=128)
def k(a: cl.TmaTensor[cl.bf16, (M, K), (64, 64)], maps: cl.Tensor[cl.u64, (B, 16), cl.align(128)], ...):
    own = cl.DeviceTensorMap.create(a, maps[cl.block_idx.x, None])
    for group in range(groups):
        tensor = own.update(pointers[group], (rows[group], K))
        cl.tma_load(tensor, ...)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutelite.ir.types import i64
from cutelite.lang.emit import mistake
from cutelite.lang.loops import static_range
from cutelite.lang.registers import elect_one
from cutelite.lang.tensormap import (
    tensormap_acquire,
    tensormap_at,
    tensormap_copy,
    tensormap_publish,
    tensormap_replace,
    tensormap_shared,
)
from cutelite.lang.warp import syncwarp


@dataclass(frozen=True)
class DeviceTensorMap:
    """A place for a TMA descriptor, of one warp.

    like  the parameter whose tiles it moves
    room  shared memory in which it is changed
    slot  global memory from which TMA reads it
    """

    like: Any
    room: Any
    slot: Any

    @classmethod
    def create(cls, like: Any, slot: Any) -> DeviceTensorMap:
        """A place for descriptors of tensors with the tiles of `like`.

        like  a TMA tensor, a parameter
        slot  16 of u64 in global memory, at a multiple of 128 bytes, of this warp alone: part of a workspace
        """
        return DeviceTensorMap(like, tensormap_shared(), slot)

    @property
    def tensor(self) -> Any:
        """The tensor that was described last, as `update` has returned it: for threads of the warp that called it."""
        return tensormap_at(self.slot, self.like)

    def update(self, data: Any, shape: tuple[Any, ...], strides: tuple[Any, ...] | None = None) -> Any:
        """Describe a tensor, and return it as a TMA tensor.

        data     its first element: a pointer or tensor, at a multiple of 16 bytes
        shape    its extents, at least 1 each
        strides  of all modes, in elements, the last one 1 and the others multiples of 16 bytes; row-major by default
        Who      the whole warp, converged, when the copies that it started with the descriptor before are complete.
                 Each thread of it may start copies with the result
        """
        modes, bytes = len(self.like.tile_shape), self.like.dtype.bytes
        if len(shape) != modes or (strides is not None and len(strides) != modes):
            raise mistake("tensormap", f"the TMA tensor has {modes} modes: give as many extents and strides")
        if strides is None:
            steps: list[Any] = [1]
            for extent in reversed(shape[1:]):
                steps.insert(0, i64(extent) * steps[0])
            strides = tuple(steps)
        if not (isinstance(strides[-1], int) and strides[-1] == 1):
            raise mistake("tensormap", "the last mode of a TMA tensor has stride 1")
        syncwarp()
        if elect_one():
            tensormap_copy(self.like, self.room)
            tensormap_replace(self.room, self.like, "global_address", data)
            for mode in static_range(modes):
                tensormap_replace(self.room, self.like, "global_dim", shape[mode], mode)
            for mode in static_range(modes - 1):
                tensormap_replace(self.room, self.like, "global_stride", i64(strides[mode]) * bytes, mode)
        syncwarp()
        tensormap_publish(self.room, self.slot)
        return tensormap_acquire(self.slot, self.like)
