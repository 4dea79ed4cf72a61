"""TMA: copies of tiles between a `TmaTensor` (a kernel parameter) and shared memory, each one instruction of a thread.

    tile = cl.tma_shared(a, stages=4)                      # (4, 128, 64): swizzled and aligned as `a` needs it
    ...
    full[s].arrive_expect_tx(a.tile_bytes)
    cl.tma_load(a, tile[s, None, None], at=(row, k), barrier=full[s])

Coordinates are in elements, outermost first. Tiles may reach over the tensor's edges, for loads also before its start:
elements outside are read as 0. The innermost coordinate must be a multiple of 16 bytes. So must the rows of a tensor
that is stored to, unless the bytes behind them are unused.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import prod
from typing import Any, Literal

from cutelite.ir.function import Value
from cutelite.ir.types import Tensor as TensorType
from cutelite.ir.types import TensorMap, position_bits, u16
from cutelite.lang.cp_async import Cache, coordinate, mask_value, policy_value
from cutelite.lang.emit import describe, emit, mistake
from cutelite.lang.mbarrier import Barrier, barrier_value
from cutelite.lang.tensor import Tensor, TmaTensor, row_major
from cutelite.lang.values import Scalar
from cutelite.layout import Layout, is_static, size, static_value
from cutelite.ops import tensor as tensor_ops
from cutelite.ops import tma as ops
from cutelite.ops.swizzles import SWIZZLES

Coord = int | Scalar | tuple[Any, ...]


def tma_shared(like: TmaTensor, stages: int | None = None, halo: int = 0) -> Tensor:
    """Allocate shared memory for tiles of `like`, with the swizzle and alignment that its copies need.

    stages   the number of tiles; the result is (stages, *tile), or just a tile without it
    halo     for `tma_im2col_w`: the number of further pixels in a tile
    """
    box, swizzle = descriptor(like).box, descriptor(like).swizzle
    box = (box[0] + halo * descriptor(like).parts, *box[1:]) if halo else box
    align, bytes = ops.tile_align(swizzle), like.dtype.bytes
    pitch = ops.row_pitch(box[-1] * bytes, swizzle) // bytes
    tile = Layout(box, (*(step // box[-1] * pitch for step in row_major(box).stride[:-1]), 1))
    layout = tile
    if stages is not None:
        step = -(-prod(box[:-1]) * pitch * bytes // align) * align // bytes
        layout = Layout((stages, *tile.shape), (step, *tile.stride))
    t = TensorType(like.dtype, "smem", layout, align, SWIZZLES[swizzle])
    return emit(tensor_ops.SmemAlloc(t))  # type: ignore[no-any-return]


def tma_load(
    src: TmaTensor,
    dst: Tensor,
    *,
    at: Coord,
    barrier: Barrier,
    multicast: int | Scalar | None = None,
    cache: Cache = None,
    pair: bool = False,
) -> None:
    """Start copying a tile from global to shared memory, and return at once.

    src        a TMA tensor; elements of the tile that lie outside of it arrive as 0
    dst        shared memory of the tile's shape, dtype and swizzle (`tma_shared`), or of a whole number of tiles:
               then one copy is started for each
    at         coordinates of the first element, one for each mode of `src`; the last one a multiple of 16 bytes
    barrier    receives `dst.nbytes`, in bytes; `arrive_expect_tx` the same number first
    multicast  a mask of blocks of the cluster: each gets the tile at the same offset of its shared memory, and counts
               the bytes on its barrier at the same offset
    cache      an L2 policy: 'evict_first', 'evict_last', 'evict_normal', or from `createpolicy`
    pair       `barrier` may be that of the other block of a pair, by `remote` (Blackwell)
    Who        one thread; every thread of the block may wait on `barrier`
    Errors     `tile-mismatch` when `dst` is no tile that `src` was made for; `coordinate`
    Source     PTX ISA: cp.async.bulk.tensor
    """
    bar, mask, policy = barrier_value(barrier), mask_value(multicast), policy_value(cache)
    for tile, coord in boxes(src, dst, at):
        emit(ops.TensorG2S(src.value, coord, tile.value, bar, mask, policy, pair))


def tma_store(src: Tensor, dst: TmaTensor, *, at: Coord, cache: Cache = None) -> None:
    """Start copying a tile from shared to global memory, in this thread's open bulk group.

    src      shared memory of the tile's shape, dtype and swizzle, or of a whole number of tiles
    dst      a TMA tensor. Elements outside of it are not written, with one exception: if its innermost extent is no
             multiple of 16 bytes, the rest of each row's last 16 bytes is overwritten, by elements of `src`. To avoid
             that, declare the extent's divisor (`cl.dims("N:8")` for bf16), or store such results without TMA
    at       coordinates of the first element, one for each mode of `dst`, none of them negative
    cache    an L2 policy, as in `tma_load`
    Who      one thread, after those that wrote `src` have called `fence_proxy_async` and met at a barrier; then
             `cp_async_bulk_commit_group`, and `cp_async_bulk_wait_group` before `src` is written again
    Source   PTX ISA: cp.async.bulk.tensor
    """
    policy = policy_value(cache)
    for tile, coord in boxes(dst, src, at, stored=True):
        emit(ops.TensorS2G(dst.value, coord, tile.value, policy))


def tma_reduce(
    src: Tensor,
    dst: TmaTensor,
    kind: Literal["add", "min", "max", "inc", "dec", "and", "or", "xor"] = "add",
    *,
    at: Coord,
    cache: Cache = None,
) -> None:
    """Start combining a tile of shared memory into global memory: like `tma_store`, but ``dst = kind(dst, src)``.

    Each element is combined atomically, in no order between copies. Source: PTX ISA: cp.reduce.async.bulk.tensor
    """
    policy = policy_value(cache)
    for tile, coord in boxes(dst, src, at, stored=True):
        emit(ops.TensorReduce(dst.value, coord, kind, tile.value, policy))


def tma_gather4(
    src: TmaTensor,
    dst: Tensor,
    *,
    rows: tuple[Any, ...],
    column: int | Scalar = 0,
    barrier: Barrier,
    multicast: int | Scalar | None = None,
    cache: Cache = None,
    pair: bool = False,
) -> None:
    """Start copying four rows of a matrix, given by number, to the tile (4, columns) in shared memory (Blackwell).

    src      a TMA tensor (rows, columns) with tiles (1, columns); rows outside of it arrive as 0
    dst      shared memory (4, columns) of its dtype and swizzle
    column   the first one, a multiple of 16 bytes
    barrier  receives the bytes of four rows. Else as in `tma_load`
    Source   PTX ISA: cp.async.bulk.tensor, tile::gather4
    """
    where = _rows_at(src, column, rows)
    bar, mask, policy = barrier_value(barrier), mask_value(multicast), policy_value(cache)
    emit(ops.TensorGather4(src.value, where, dst.value, bar, mask, policy, pair))


def tma_scatter4(
    src: Tensor, dst: TmaTensor, *, rows: tuple[Any, ...], column: int | Scalar = 0, cache: Cache = None
) -> None:
    """Start copying the tile (4, columns) in shared memory to four rows of a matrix, given by number (Blackwell).

    Rows outside of the matrix are not written; else as in `tma_gather4` and `tma_store`. On sm_100, 103 and 110.
    Source   PTX ISA: cp.async.bulk.tensor, tile::scatter4
    """
    emit(ops.TensorScatter4(dst.value, _rows_at(dst, column, rows), src.value, policy_value(cache)))


def tma_gather4_prefetch(
    src: TmaTensor, *, rows: tuple[Any, ...], column: int | Scalar = 0, cache: Cache = None
) -> None:
    """Bring four rows of a matrix into L2: `rows` and `column` as in `tma_gather4`. One thread; on sm_100, 103 and 110.

    Source   PTX ISA: cp.async.bulk.prefetch.tensor, tile::gather4
    """
    emit(ops.TensorGather4Prefetch(src.value, _rows_at(src, column, rows), policy_value(cache)))


def _rows_at(t: TmaTensor, column: Any, rows: tuple[Any, ...]) -> tuple[Value, ...]:
    """Return the coordinates of four rows. Errors: `coordinate` for other numbers of rows, or a misaligned column."""
    if not isinstance(rows, tuple) or len(rows) != 4:
        raise mistake("coordinate", f"four rows are moved at once, a tuple of four numbers, not {describe(rows)}")
    check_innermost(column, t)
    return tuple(map(coordinate, (column, *rows)))


def tma_im2col(
    src: TmaTensor,
    dst: Tensor,
    *,
    at: tuple[Any, ...],
    offsets: tuple[Any, ...],
    barrier: Barrier,
    multicast: int | Scalar | None = None,
    cache: Cache = None,
    pair: bool = False,
) -> None:
    """Start copying a row of pixels of images to the tile (pixels, channels) in shared memory, A of a convolution.

    src      a TMA tensor (images, height, width, channels), of 3 to 5 modes, whose tile is `cl.Im2col`
    dst      shared memory of its tile (`tma_shared`)
    at       (image, y, x, channel) of the first pixel, y and x not below the lower corners, the channel a multiple of
             16 bytes; pixels follow row by row
    offsets  (down, right): the position in the filter, 0 or more, added to that of each pixel. Those outside arrive as
             0. At most 255 with two modes between images and channels, 31 with three
    barrier  receives the bytes of the tile. Else as in `tma_load`
    Source   PTX ISA: cp.async.bulk.tensor, im2col
    """
    images, steps = _images(src), _offsets(src, offsets)
    bar, mask, policy = barrier_value(barrier), mask_value(multicast), policy_value(cache)
    emit(ops.TensorIm2col(images, _position(src, at), steps, dst.value, bar, mask, policy, pair))


def tma_im2col_store(src: Tensor, dst: TmaTensor, *, at: tuple[Any, ...], cache: Cache = None) -> None:
    """Start copying the tile (pixels, channels) in shared memory to a row of pixels: as `tma_im2col` and `tma_store`.

    Source   PTX ISA: cp.async.bulk.tensor, im2col_no_offs
    """
    emit(ops.TensorIm2colStore(_images(dst), _position(dst, at), src.value, policy_value(cache)))


def tma_im2col_reduce(
    src: Tensor,
    dst: TmaTensor,
    kind: Literal["add", "min", "max", "inc", "dec", "and", "or", "xor"] = "add",
    *,
    at: tuple[Any, ...],
    cache: Cache = None,
) -> None:
    """Start combining the tile (pixels, channels) into a row of pixels: as `tma_im2col_store` and `tma_reduce`.

    Source   PTX ISA: cp.reduce.async.bulk.tensor, im2col_no_offs
    """
    emit(ops.TensorIm2colReduce(_images(dst), _position(dst, at), kind, src.value, policy_value(cache)))


def tma_im2col_prefetch(src: TmaTensor, *, at: tuple[Any, ...], offsets: tuple[Any, ...], cache: Cache = None) -> None:
    """Bring a row of pixels into L2: `at` and `offsets` as in `tma_im2col`. One thread.

    Source   PTX ISA: cp.async.bulk.prefetch.tensor, im2col
    """
    images, steps = _images(src), _offsets(src, offsets)
    emit(ops.TensorIm2colPrefetch(images, _position(src, at), steps, policy_value(cache)))


def tma_im2col_w(
    src: TmaTensor,
    dst: Tensor,
    *,
    at: tuple[Any, ...],
    barrier: Barrier,
    halo: int = 0,
    offset: Any = 0,
    multicast: int | Scalar | None = None,
    cache: Cache = None,
    pair: bool = False,
) -> None:
    """Start copying pixels of one row of an image, and of this row of the next images, to a tile in shared memory.

    One tile serves several columns of a filter: for each further column, read it from one pixel further on.

    src      a TMA tensor (images, height, width, channels), of 3 to 5 modes, whose tile is ``cl.Im2col(..., wide=)``
    dst      shared memory of its tile: ``tma_shared(src, halo=halo)``
    at       (image, y, x, channel) of the first pixel. `x` may lie before the lower corner
    halo     the number of following pixels to read too: at the end of the tile, with 'w128' behind each 32 pixels
    offset   0 or more: added to x and to both corners
    barrier  receives the bytes of the tile, with its halo. Else as in `tma_load`. sm_100 and later; 'w128' on
             those with tensor memory
    Source   PTX ISA: cp.async.bulk.tensor, im2col::w and im2col::w::128
    """
    bar, mask, policy = barrier_value(barrier), mask_value(multicast), policy_value(cache)
    start, more = _position(src, at), coordinate(offset, u16)
    emit(ops.TensorIm2colW(_images(src), start, more, halo, dst.value, bar, mask, policy, pair))


def tma_im2col_w_prefetch(
    src: TmaTensor, *, at: tuple[Any, ...], halo: int = 0, offset: Any = 0, cache: Cache = None
) -> None:
    """Bring pixels of one row into L2: `at`, `halo` and `offset` as in `tma_im2col_w`. One thread; with tensor memory.

    Source   PTX ISA: cp.async.bulk.prefetch.tensor, im2col::w and im2col::w::128
    """
    start, more = _position(src, at), coordinate(offset, u16)
    emit(ops.TensorIm2colWPrefetch(_images(src), start, more, halo, policy_value(cache)))


def _images(t: Any) -> Value:
    if not descriptor(t).corners:
        raise mistake("tma", "this TMA tensor has boxes for tiles", help="annotate it with cl.Im2col(...) as its tile")
    return t.value  # type: ignore[no-any-return]


def _position(t: TmaTensor, at: Any) -> tuple[Value, ...]:
    """Return the coordinates of the first pixel as operands. Errors: `coordinate` for a misaligned channel."""
    at = at if isinstance(at, tuple) else (at,)
    check_innermost(at[-1], t)
    return tuple(map(coordinate, at))


def _offsets(src: TmaTensor, offsets: Any) -> tuple[Value, ...]:
    """Return positions in a filter as operands. Errors: `offset` for a known one that is too large."""
    offsets = offsets if isinstance(offsets, tuple) else (offsets,)
    modes = len(src.shape)
    for offset in offsets:
        if isinstance(offset, int) and not 0 <= offset < 1 << position_bits(modes):
            most = (1 << position_bits(modes)) - 1
            raise mistake("offset", f"an offset is {offset}, but from 0 to {most} where a tensor has {modes} modes")
    return tuple(coordinate(offset, u16) for offset in offsets)


def tma_prefetch(src: TmaTensor, *, at: Coord, cache: Cache = None) -> None:
    """Bring a tile of `src` into L2; `at`, `cache` as in `tma_load`. One thread. PTX: cp.async.bulk.prefetch.tensor."""
    descriptor(src)
    start = at if isinstance(at, tuple) else (at,)
    check_start(start, src)
    emit(ops.TensorPrefetch(src.value, tuple(map(coordinate, start)), policy_value(cache)))


def prefetch_tensormap(t: TmaTensor) -> None:
    """Fetch the descriptor of `t` early, at the start of the kernel. One thread. PTX: prefetch.tensormap."""
    descriptor(t)
    emit(ops.PrefetchTensormap(t.value))


def fence_proxy_async(space: Literal["", "global", "shared::cta", "shared::cluster"] = "") -> None:
    """Order ordinary memory accesses of this thread and those of TMA and wgmma.

    After writing shared memory with ordinary stores, and before a `tma_store` or wgmma reads it: each writing thread
    calls this, then all meet at a barrier, then the copy may be started.

    space    '' for all memory, or only 'global', 'shared::cta' or 'shared::cluster'
    Who      each thread that wrote
    Source   PTX ISA: fence.proxy.async
    """
    emit(ops.FenceProxyAsync(space))


def descriptor(t: Any) -> TensorMap:
    """Return the type of a TMA tensor."""
    if isinstance(t, TmaTensor) and isinstance(t.value.type, TensorMap):
        return t.value.type
    raise mistake(
        "tma", f"a TMA tensor is needed here, not {describe(t)}", help="annotate the parameter TmaTensor[...]"
    )


def check_innermost(x: Any, tensor: TmaTensor) -> None:
    """Refuse an innermost coordinate that is known to be no multiple of 16 bytes. Errors: `coordinate`."""
    unit = ops.ROW_UNIT // tensor.dtype.bytes
    if isinstance(x, int) and x % unit:
        text = f"the innermost coordinate is {x}: {tensor.dtype} tiles start at multiples of {unit}"
        raise mistake("coordinate", text, f"TMA moves rows in units of {ops.ROW_UNIT} bytes")


def check_start(start: tuple[Any, ...], tensor: TmaTensor, stored: bool = False) -> None:
    """Check the coordinates of a box: their number, and as far as they are known, whether TMA takes them.

    The innermost one is a multiple of 16 bytes; if the box is stored, none is negative.
    """
    if descriptor(tensor).corners:
        raise mistake(
            "tma", "this TMA tensor is for rows of pixels", help="`tma_im2col` and `tma_im2col_store` move them"
        )
    modes = len(descriptor(tensor).box)
    if len(start) != modes:
        raise mistake("coordinate", f"{len(start)} coordinates into a TMA tensor of {modes} modes")
    check_innermost(start[-1], tensor)
    negative = [x for x in start if isinstance(x, int) and x < 0]
    if stored and negative:
        text = f"a coordinate of a TMA store is {negative[0]}: only loads take negative ones"
        raise mistake("coordinate", text, "an illegal instruction on the hardware")


def boxes(
    tensor: TmaTensor, tile: Tensor, at: Coord, stored: bool = False
) -> Iterator[tuple[Tensor, tuple[Value, ...]]]:
    """Yield the box-sized parts of a tile of shared memory, each with its coordinate as operands."""
    box = descriptor(tensor).box
    start = at if isinstance(at, tuple) else (at,)
    check_start(start, tensor, stored)
    if not isinstance(tile, Tensor) or not is_static(tile.layout):
        raise mistake("tile-mismatch", f"a tile of shared memory is needed here, not {describe(tile)}")
    extents = tuple(static_value(size(mode)) or 0 for mode in tile.layout)
    kept = _kept_modes(box, extents)
    if kept is None or all(extents[i] == box[mode] for i, mode in enumerate(kept)):
        yield tile, tuple(map(coordinate, start))
        return
    if any(extent % box[mode] for extent, mode in zip(extents, kept, strict=True)):
        raise mistake(
            "tile-mismatch",
            f"the tile is {extents}, but the TMA tensor moves boxes of {box}",
            help="make it with `tma_shared`, or give the TmaTensor this tile",
        )
    tiler = tuple(box[mode] for mode in kept)
    for index in product(*(range(extent // b) for extent, b in zip(extents, tiler, strict=True))):
        where = list(start)
        for mode, i in zip(kept, index, strict=True):
            where[mode] = start[mode] + i * box[mode] if i else start[mode]
        yield tile.tile(tiler, index), tuple(map(coordinate, where))


def _kept_modes(box: tuple[int, ...], extents: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the modes of the box that a tile of these extents has; it may lack modes of extent 1, such as a batch.

    If there is a choice, the outermost ones are missing. None if the number of modes does not fit.
    """
    ones = [mode for mode, extent in enumerate(box) if extent == 1]
    ways = []
    for left_out in combinations(ones, max(0, len(box) - len(extents))):
        ways.append(tuple(mode for mode in range(len(box)) if mode not in left_out))
    ways = [kept for kept in ways if len(kept) == len(extents)]
    fitting = (kept for kept in ways if not any(e % box[mode] for e, mode in zip(extents, kept, strict=True)))
    return next(fitting, ways[0] if ways else None)
