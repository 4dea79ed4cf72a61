"""TMA descriptors changed by a kernel, for tensors whose address and extents only the GPU knows.

    room = cl.tensormap_shared()                            # 128 bytes of shared memory; a warp does all this together
    if cl.elect_one():
        cl.tensormap_copy(a, room)                          # from the parameter `a`, a TMA tensor
        cl.tensormap_replace(room, a, "global_address", p)
        cl.tensormap_replace(room, a, "global_dim", rows, mode=0)
    cl.syncwarp()
    cl.tensormap_publish(room, slot)                        # to 128 bytes of global memory
    own = cl.tensormap_acquire(slot, a)                     # a TMA tensor: `tma_load(own, ...)`, `cl.coordinates(own)`

`cl.DeviceTensorMap` does all this in one call. Tiles, their types and swizzles are those of `a`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from cutelite.ir.types import Ptr, i32, i64, u64
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Tensor as TensorType
from cutelite.lang.address import address, place_of
from cutelite.lang.emit import Runtime, emit, mistake
from cutelite.lang.promotion import as_integer
from cutelite.lang.tensor import Tensor, TmaTensor
from cutelite.lang.tma import descriptor
from cutelite.layout import Layout
from cutelite.ops import tensor as tensor_ops
from cutelite.ops import tensormap as ops
from cutelite.ops import tma
from cutelite.ops.sync import Scope


def tensormap_shared() -> Tensor:
    """Allocate shared memory for a TMA descriptor: 128 bytes, as 16 u64. Every thread of the block gets the same."""
    t = TensorType(u64, "smem", Layout(ops.MAP_BYTES // 8, 1), ops.MAP_ALIGN)
    return emit(tensor_ops.SmemAlloc(t))  # type: ignore[no-any-return]


def tensormap_copy(src: TmaTensor, dst: Tensor) -> None:
    """Copy the descriptor of a parameter to shared memory, to change it there.

    src      the parameter, a TMA tensor
    dst      from `tensormap_shared`
    Who      one thread
    Errors   for a descriptor that is in memory already
    Source   PTX ISA: tensormap.replace, which needs sm_90a
    """
    descriptor(src)
    emit(ops.TensormapCopy(src.value, address(dst, ops.MAP_ALIGN, ops.MAP_BYTES)))


def tensormap_replace(
    dst: Tensor,
    like: TmaTensor,
    field: Literal["global_address", "global_dim", "global_stride"],
    value: Any,
    mode: int = 0,
) -> None:
    """Change a field of the descriptor in shared memory that was copied from that of `like`.

    dst      the descriptor, from `tensormap_shared`
    field    what `value` is: 'global_address', a pointer or tensor at a multiple of 16 bytes; 'global_dim', the extent
             of a mode, at least 1; 'global_stride', the stride of a mode in bytes, a multiple of 16
    mode     the mode, outermost first as in the shape of `like`; the last one has no stride to change
    Who      one thread
    Source   PTX ISA: tensormap.replace (sm_90a, sm_100a and above)
    """
    if isinstance(value, int) and field == "global_dim" and value < 1:
        raise mistake("tensormap", f"the extent of a mode is {value}, but must be 1 or more")
    if isinstance(value, int) and field == "global_stride" and (value < 0 or value % 16):
        raise mistake("tensormap", f"a stride of {value} bytes is no multiple of 16")
    if descriptor(like).corners:
        title = "a descriptor of rows of pixels cannot be changed: PTX's tensormap.replace is for tiles"
        raise mistake("tensormap", title, help="declare a parameter for each tensor")
    of: DType = i32 if field == "global_dim" else i64
    if isinstance(value, Runtime) and isinstance(value.value.type, Ptr | TensorType):
        held = place_of(value)
    else:
        held = as_integer(value, of, *ops.FIELDS.get(field, ()))
    emit(ops.TensormapReplace(field, address(dst, ops.MAP_ALIGN, ops.MAP_BYTES), held, mode, descriptor(like).modes))


def tensormap_publish(src: Tensor, dst: Tensor, scope: Scope = "gpu") -> None:
    """Copy a descriptor from shared memory to global memory, and release it to TMA.

    src      the descriptor, from `tensormap_shared`
    dst      16 u64 in global memory, at a multiple of 128 bytes. No copy under way may use the descriptor that was
             there
    scope    the threads that may acquire it
    Who      a whole warp, converged; `syncwarp` before it, after the thread that changed the descriptor
    Source   PTX ISA: tensormap.cp_fenceproxy
    """
    places = (address(x, ops.MAP_ALIGN, ops.MAP_BYTES) for x in (dst, src))
    emit(ops.TensormapPublish(*places, scope))


def tensormap_acquire(src: Tensor, like: TmaTensor, scope: Scope = "gpu") -> TmaTensor:
    """Acquire a descriptor in global memory, and return it as a TMA tensor with the tiles of `like`.

    To the compiler its shape is that of `like`; copies leave out elements outside of the extents in the descriptor.

    src      128 bytes, `dst` of `tensormap_publish`
    scope    as in `tensormap_publish`
    Who      each thread that starts copies with it, each time after it was published. Threads of the warp that
             published it need no other synchronisation; all others must synchronise with that warp first
    Source   PTX ISA: fence.proxy.tensormap
    """
    place = address(src, ops.MAP_ALIGN, ops.MAP_BYTES)
    emit(tma.FenceProxyTensormap(place, scope))
    return tensormap_at(src, like)


def tensormap_at(src: Tensor, like: TmaTensor) -> TmaTensor:
    """Return a descriptor in global memory like `tensormap_acquire`, by which this thread has acquired it before."""
    place = address(src, ops.MAP_ALIGN, ops.MAP_BYTES)
    return emit(ops.TensormapAt(place, replace(descriptor(like), stored=True)))  # type: ignore[no-any-return]
