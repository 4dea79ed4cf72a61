"""A TMA descriptor that a warp rewrites for one tensor after another: for groups whose sizes only the device knows.

@cl.kernel(block=128)
def k(a: cl.TmaTensor[cl.bf16, (M, K), (64, 64)], maps: cl.Tensor[cl.u64, (B, 16), cl.align(128)], ...):
    own = cl.DeviceTensorMap.create(a, maps[cl.block_idx.x, None])
    for group in range(groups):
        tensor = own.update(pointers[group], (rows[group], K))
        cl.tma_load(tensor, ...)
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import i64
from cutelite.lang.emit import describe, mistake
from cutelite.lang.loops import static_range
from cutelite.lang.registers import elect_one
from cutelite.lang.tensor import TmaTensor
from cutelite.lang.tensormap import (
    tensormap_acquire,
    tensormap_at,
    tensormap_copy,
    tensormap_publish,
    tensormap_replace,
    tensormap_shared,
)
from cutelite.lang.values import Scalar
from cutelite.lang.warp import syncwarp
from cutelite.layout import DimExpr
from cutelite.records import dataclass


@dataclass(frozen=True)
class DeviceTensorMap:
    """A TMA descriptor in global memory that one warp rewrites.

    like  the parameter, a TMA tensor, whose tile shape and dtype it has
    room  shared memory in which the warp changes it
    slot  global memory from which TMA reads it
    """

    like: Any
    room: Any
    slot: Any

    @classmethod
    def create(cls, like: Any, slot: Any) -> DeviceTensorMap:
        """Return a descriptor for tensors with the tile shape and dtype of `like`.

        like  a TMA tensor, a parameter of the kernel
        slot  16 u64 in global memory, aligned to 128 bytes, that this warp alone uses: part of a workspace
        """
        if not isinstance(like, TmaTensor):
            raise mistake("tma", f"`like` is a TMA tensor, a parameter TmaTensor[...], not {describe(like)}")
        return DeviceTensorMap(like, tensormap_shared(), slot)

    @property
    def tensor(self) -> Any:
        """The tensor that `update` returned last; for threads of the warp that called it."""
        return tensormap_at(self.slot, self.like)

    def update(self, data: Any, shape: tuple[Any, ...], strides: tuple[Any, ...] | None = None) -> Any:
        """Rewrite the descriptor for a tensor, and return that as a TMA tensor.

        data     a pointer or tensor: the address of the first element, a multiple of 16 bytes
        shape    the extents, at least 1 each
        strides  a stride for each mode, in elements; the last one is 1, the others are multiples of 16 bytes. The
                 default is row-major
        Who      the whole warp, converged, after all copies that it started with the old descriptor are complete. Any
                 of its threads may start copies with the result
        Errors   `tensormap` for a wrong number of modes, or a last stride other than 1
        """
        modes, bytes = len(self.like.shape), self.like.dtype.bytes
        if not isinstance(shape, tuple) or len(shape) != modes or (strides is not None and len(strides) != modes):
            raise mistake("tensormap", f"the TMA tensor has {modes} modes: give as many extents and strides")
        if strides is None:
            steps: list[Any] = [1]
            for extent in reversed(shape[1:]):
                steps.insert(0, wide(extent) * steps[0])
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
                tensormap_replace(self.room, self.like, "global_stride", wide(strides[mode]) * bytes, mode)
        syncwarp()
        tensormap_publish(self.room, self.slot)
        return tensormap_acquire(self.slot, self.like)


def wide(x: Any) -> Any:
    """Return a run-time number as an i64, and any other as it is."""
    return i64(x) if isinstance(x, Scalar | DimExpr) else x
