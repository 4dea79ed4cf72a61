"""Copies of whole tiles that one thread starts: TMA and bulk copies as copy atoms."""

from __future__ import annotations

from typing import Any, cast

from cutelite.lang import copy_ops, tma
from cutelite.lang.algebra import static_size
from cutelite.lang.coord import CoordTensor
from cutelite.lang.copy import CopyAtom
from cutelite.lang.cp_async import cp_async_bulk
from cutelite.lang.emit import describe, mistake
from cutelite.lang.tensor import Tensor
from cutelite.layout import E, coalesce, size, static_value


def copy_tile(atom: CopyAtom, src: Any, dst: Any, barrier: Any, multicast: Any) -> None:
    """Start the copy of `src` to `dst`: tensors, or for TMA a tile of `coordinates(tma_tensor)` on the global side."""
    op: Any = atom.op
    cache: Any = getattr(op, "cache", None)
    match op:
        case copy_ops.CopyBulkTensorTileG2SOp():
            _need(barrier, "a TMA load", "barrier")
            if isinstance(op, copy_ops.CopyBulkTensorTileG2SMulticastOp):
                _need(multicast, "a multicast load", "multicast")
            tensor, start = box(src, dst, "source")
            tma.tma_load(tensor, dst, at=start, barrier=barrier, multicast=multicast, cache=cache)
        case copy_ops.CopyBulkTensorTileS2GOp():
            tensor, start = box(dst, src, "target")
            tma.tma_store(src, tensor, at=start, cache=cache)
        case copy_ops.CopyReduceBulkTensorTileS2GOp():
            tensor, start = box(dst, src, "target")
            tma.tma_reduce(src, tensor, cast(Any, op.kind), at=start, cache=cache)
        case copy_ops.CopyBulkG2SOp():
            _need(barrier, "a bulk load", "barrier")
            bytes = contiguous_bytes(src, dst)
            cp_async_bulk(dst, src, bytes, barrier=barrier, multicast=multicast, cache=cache)
        case copy_ops.CopyBulkS2GOp():
            cp_async_bulk(dst, src, contiguous_bytes(src, dst), cache=cache)
        case copy_ops.CopyBulkS2DsmemOp():
            _need(barrier, "a copy to another block", "barrier")
            cp_async_bulk(dst, src, contiguous_bytes(src, src), barrier=barrier)
        case _:
            raise mistake("copy-atom", f"{op} does not copy whole tiles")


def box(coords: Any, tile: Any, side: str) -> tuple[Any, tuple[Any, ...]]:
    """Return the TMA tensor, and the coordinate at which the tile begins."""
    if not isinstance(coords, CoordTensor) or coords.tma is None:
        raise mistake(
            "tma", f"the {side} of a TMA copy is a tile of coordinates, not {describe(coords)}",
            help="`cl.local_tile(cl.coordinates(a), (BM, BK), (i, k))`, where `a` is a TmaTensor",
        )  # fmt: skip
    if not isinstance(tile, Tensor):
        raise mistake("tma", f"TMA copies to and from shared memory, not {describe(tile)}")
    wanted, have = (
        [static_value(size(mode)) for mode in coords.layout],
        [static_value(size(mode)) for mode in tile.layout],
    )
    if [n for n in wanted if n != 1] != [n for n in have if n != 1]:
        raise mistake("copy-sizes", f"the tile of coordinates is {coords.shape}, the one in shared memory {tile.shape}")
    along = [stride for i in range(len(coords.origin)) for stride in (E(i), (E(i),))]
    for i, mode in enumerate(coords.layout):
        if wanted[i] != 1 and coalesce(mode).stride not in along:
            raise mistake("tma", f"mode {i} of the tile, {mode}, does not run along one mode of the tensor")
    return coords.tma, coords.origin


def contiguous_bytes(src: Any, dst: Any) -> int:
    """Return the number of bytes of both tensors, which must be contiguous. Errors: `copy-vector`, `copy-sizes`."""
    for t in (src, dst):
        if not isinstance(t, Tensor):
            raise mistake("copy", f"a bulk copy is between tensors, not {describe(t)}")
        flat = coalesce(t.layout)
        if flat.rank != 1 or flat.stride not in (1, (1,)):
            raise mistake("copy-vector", f"a bulk copy moves contiguous bytes, and this layout is {t.layout}")
    counts = static_size(src, "a bulk copy"), static_size(dst, "a bulk copy")
    if counts[0] != counts[1] or src.dtype != dst.dtype:
        raise mistake("copy-sizes", f"{counts[0]} elements of {src.dtype} cannot become {counts[1]} of {dst.dtype}")
    return counts[0] * int(src.dtype.bytes)


def _need(given: Any, what: str, name: str) -> None:
    if given is None:
        raise mistake("copy-atom", f"{what} needs `{name}=`")
