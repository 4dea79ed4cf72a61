"""The layout algebra on tensors: the functions of `cutelite.layout`, extended to tensors.

A function of layouts is the function of that name in `cutelite.layout`. For a tensor or coordinate tensor it returns
the view with the layout that this function computes. Nothing is copied.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from cutelite import layout as leaf
from cutelite.ir.types import Scalar as DType
from cutelite.lang.coord import CoordTensor
from cutelite.lang.emit import describe, emit, mistake
from cutelite.lang.tensor import Tensor, check_tiler, checked_align, make_rmem_tensor
from cutelite.layout import ComposedLayout, Layout, LayoutError, make_layout, static_value
from cutelite.ops.memory import PtrAdd, PtrRest
from cutelite.ops.tensor import TensorAddress, TensorMake


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor | CoordTensor)


def with_layout(tensor: Any, layout: Any) -> Any:
    """Return the same memory, from the same first element on, through another layout."""
    if not is_tensor(tensor):
        raise mistake("tensor", f"a tensor is needed here, not {describe(tensor)}")
    return tensor.view(layout) if isinstance(layout, ComposedLayout) else tensor._retyped(layout)


def _on_tensors(name: str, cuts: bool = False) -> Callable[..., Any]:
    """Extend a function of `cutelite.layout` to tensors; `cuts`: it makes tiles, which must lie in the tensor."""
    function: Callable[..., Any] = getattr(leaf, name)
    names = plain(function).__code__.co_varnames

    @functools.wraps(function)
    def extended(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(names, args, strict=False)) | kwargs
        target, tiler = given.get(names[0]), given.get(names[1])
        if not is_tensor(target):
            return function(*args, **kwargs)
        if cuts and tiler is not None:
            check_tiler(tiler)
            check_reach(name, target, tiler)
        return with_layout(target, function(*of_layouts(args), **of_layouts(kwargs)))

    return extended


def plain(function: Any) -> Any:
    """Return the function that decorators have wrapped. As `inspect.unwrap`, which is slow to import."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def of_layouts(given: Any) -> Any:
    """Return arguments, a tuple or a dict, with layouts in the place of tensors."""
    if isinstance(given, dict):
        return {name: x.layout if is_tensor(x) else x for name, x in given.items()}
    return tuple(x.layout if is_tensor(x) else x for x in given)


composition = _on_tensors("composition")
coalesce = _on_tensors("coalesce")
filter_zeros = _on_tensors("filter_zeros")
group_modes = _on_tensors("group_modes")
select = _on_tensors("select")
take = _on_tensors("take")
append = _on_tensors("append")
prepend = _on_tensors("prepend")
append_ones = _on_tensors("append_ones")
prepend_ones = _on_tensors("prepend_ones")
logical_divide = _on_tensors("logical_divide", cuts=True)
zipped_divide = _on_tensors("zipped_divide", cuts=True)
tiled_divide = _on_tensors("tiled_divide", cuts=True)
flat_divide = _on_tensors("flat_divide", cuts=True)


def flatten(x: Any) -> Any:
    """Return `x`, a tensor or layout, with every nested mode opened up; a tuple flattened."""
    if is_tensor(x):
        return with_layout(x, leaf.flatten(x.layout))
    return leaf.flatten(x)


def slice_(src: Any, coord: Any) -> Any:
    """Return the part of `src`, a tensor, layout or tuple, where `coord` is None; other coordinates fix their mode."""
    return src[coord] if is_tensor(src) else leaf.slice_(src, coord)


def _question(name: str) -> Callable[..., Any]:
    """Extend to tensors a function that returns a property of a layout."""
    function: Callable[..., Any] = getattr(leaf, name)

    @functools.wraps(function)
    def extended(*args: Any, **kwargs: Any) -> Any:
        return function(*of_layouts(args), **of_layouts(kwargs))

    return extended


cosize = _question("cosize")
rank = _question("rank")
depth = _question("depth")
leading_dim = _question("leading_dim")
max_common_vector = _question("max_common_vector")


def size(x: Any, mode: Any = None) -> Any:
    """Return the number of elements of `x`, a tensor, layout or shape, or of its mode `mode`."""
    x = x.layout if is_tensor(x) else x
    return leaf.size(x) if mode is None else leaf.size(x, mode)


def domain_offset(coord: Any, tensor: Any) -> Any:
    """Return the tensor from the coordinate `coord` on: element c of it is element ``coord + c`` of `tensor`.

    coord   one number for each mode, compile-time or run-time; a single one counts colexicographically
    The extents stay as they are. The caller has to predicate accesses beyond the end.
    """
    if not is_tensor(tensor):
        raise mistake("tensor", f"domain_offset takes a coordinate and a tensor, not {describe(tensor)}")
    at = coord if isinstance(coord, tuple) else (coord,)
    if len(at) == 1:
        return tensor._moved(tensor.layout, [(at[0], tensor.layout)])
    if len(at) != tensor.ndim:
        raise mistake(
            "rank", f"{len(at)} indices into a tensor of {tensor.ndim} modes", f"its layout is {tensor.layout}"
        )
    return tensor._moved(tensor.layout, list(zip(at, tensor.layout, strict=True)))


def aligned_down(tensor: Any, bytes: int) -> tuple[Any, Any]:
    """Return the memory from the multiple of `bytes` at or before a tensor on, and how many elements lie between.

    The first is a tensor of the same layout, whose element ``c + between`` is element c of `tensor`. The caller has to
    predicate accesses to what lies before it.

    bytes   a power of two, at least an element's
    Errors  `alignment`; `swizzle` for a swizzled tensor
    """
    if not is_tensor(tensor) or isinstance(tensor, CoordTensor):
        raise mistake("tensor", f"aligned_down takes a tensor in memory, not {describe(tensor)}")
    size = tensor.dtype.bytes
    if checked_align(bytes) is None or bytes < size:
        raise mistake(
            "alignment", f"elements of {size} bytes may begin at a multiple of {size} bytes or more, not {bytes}"
        )
    if tensor.value.type.swizzle is not None:
        raise mistake("swizzle", "a swizzled tensor has no order of bytes from an aligned address on")
    here = emit(TensorAddress(tensor.value))
    rest = emit(PtrRest(here.value, bytes))
    there = emit(PtrAdd(here.value, (0 - rest).value, bytes))
    return emit(TensorMake(there.value, tensor._retyped_type(tensor.layout, align=bytes))), rest // size


def local_tile(tensor: Any, tiler: Any, coord: Any, proj: Any = None) -> Any:
    """Return the tile of shape `tiler` at tile coordinate `coord`.

    tensor   a tensor, coordinate tensor or layout
    tiler    extents of the tile, one per mode of `tensor` (after `proj`)
    coord    the place, counted in tiles; None keeps that mode, after those of the tile
    proj     per mode of tiler and coord, None to leave it out: one (M, N, K) tiler serves A, B and C
    """
    if not is_tensor(tensor):
        return leaf.local_tile(tensor, tiler, coord, proj)
    tiler, coord = _projected(tiler, coord, proj)
    check_tiler(tiler)
    divided = leaf.zipped_divide(tensor.layout, tiler)
    key = coord if isinstance(coord, tuple) else (coord,)
    grid = list(divided[1]) if isinstance(divided[1].shape, tuple) else [divided[1]]
    if len(key) > len(grid):
        raise mistake("rank", f"{len(key)} tile coordinates into a grid of {len(grid)} modes", f"of {divided}")
    key = key + (None,) * (len(grid) - len(key))
    kept = [mode for index, mode in zip(key, grid, strict=True) if index is None]
    fixed = [(index, mode) for index, mode in zip(key, grid, strict=True) if index is not None]
    tile = list(divided[0]) if isinstance(divided[0].shape, tuple) else [divided[0]]
    layout = make_layout(*tile, *kept)
    check_reach("local_tile", tensor, tiler, (layout, fixed))
    return tensor._moved(layout, fixed)


def _furthest(layout: Any, fixed: list[tuple[Any, Any]]) -> Any:
    """Return the furthest extent, in elements, that a view may reach over all values of the fixed coordinates."""
    starts = [mode(at) if isinstance(at, int) else leaf.cosize(mode) - 1 for at, mode in fixed]
    return leaf.cosize(layout) + sum(starts)


def check_reach(function: str, tensor: Any, tiler: Any, view: Any = None) -> None:
    """Refuse tiles that reach beyond the end of shared memory or registers; in global memory the caller predicates.

    function   the name for the message; `tiler` as the divisions take it
    view       the layout of some tiles, and the coordinates, with their modes, that lead to them; default: all tiles
    """
    if not isinstance(tensor, Tensor) or tensor.space == "gmem":
        return
    cut = static_value(_furthest(*view) if view else leaf.cosize(leaf.zipped_divide(tensor.layout, tiler)))
    have = static_value(leaf.cosize(tensor.layout))
    if cut is None or have is None or cut <= have:
        return
    shape = tensor.shape if isinstance(tensor.shape, tuple) else (tensor.shape,)
    tiles = tiler if isinstance(tiler, tuple) else (tiler,)
    extents = [(static_value(leaf.size(n)) or 0, _extent(tile)) for n, tile in zip(shape, tiles, strict=False)]
    mode = next((i for i, (extent, tile) in enumerate(extents) if extent % tile), 0)
    raise mistake(
        "tile-reach",
        f"{function}: mode {mode} of the {tensor.space} tensor {tensor.layout} is {extents[mode][0]}, no multiple of"
        f" the {extents[mode][1]} of the tile {tiler}",
        f"it would reach {cut} elements, and there are {have}",
    )


def _extent(tile: Any) -> int:
    found = static_value(tile.size if isinstance(tile, Layout) else leaf.size(tile))
    return found or 1


def _projected(tiler: Any, coord: Any, proj: Any) -> tuple[Any, Any]:
    if proj is None:
        return tiler, coord
    if not isinstance(proj, tuple) or not len(tiler) == len(proj) == len(coord):
        raise LayoutError("local_tile", f"proj {proj} does not fit tiler {tiler}")
    kept = [i for i, p in enumerate(proj) if p is not None]
    return tuple(tiler[i] for i in kept), tuple(coord[i] for i in kept)


def local_partition(tensor: Any, threads: Any, index: Any) -> Any:
    """Return the elements of thread `index`: they are dealt out in tiles of the shape of `threads`.

    threads   a Layout of threads, or extents (column-major)
    index     this thread, compile-time or run-time
    """
    if not is_tensor(tensor):
        return leaf.local_partition(tensor, threads, index)
    layout = threads if isinstance(threads, Layout) else Layout(threads)
    extents = leaf.product_each(layout.shape) if isinstance(layout.shape, tuple) else (layout.shape,)
    check_reach("local_partition", tensor, extents)
    divided = leaf.zipped_divide(tensor.layout, extents)
    coord = thread_coordinate(layout, index)
    return tensor._moved(divided[1], list(zip(coord, divided[0], strict=True)))


def thread_coordinate(layout: Layout, index: Any) -> list[Any]:
    """Return the coordinate, an index for each mode, at which a layout of threads has `index`.

    The layout is compact: the index, divided by each stride, counts along that mode.
    """
    modes = list(layout) if isinstance(layout.shape, tuple) else [layout]
    return [_along(mode, index) for mode in modes]


def _along(mode: Layout, index: Any) -> Any:
    """Return the integral coordinate of one mode."""
    shapes, strides = leaf.flatten_to_tuple(mode.shape), leaf.flatten_to_tuple(mode.stride)
    total: Any = 0
    step = 1
    for extent, stride in zip(shapes, strides, strict=True):
        if extent != 1 and stride != 0:
            part = index if stride == 1 else index // stride
            part = part % extent
            total = total + part * step if step != 1 else part if type(total) is int and total == 0 else total + part
        step *= extent
    return total


def make_fragment_like(like: Any, dtype: Any = None) -> Any:
    """Return register storage for a partition: its compact layout, in which one instruction's values are contiguous.

    like    a tensor of static shape, such as a partition; for a layout, see the function of `cutelite.layout`
    dtype   the type of the elements; default: that of `like`
    """
    if not is_tensor(like):
        return leaf.make_fragment_like(like)
    if dtype is None and isinstance(like, CoordTensor):
        raise mistake("dtype", "coordinates have no dtype", help="pass one, say `cl.boolean`")
    return make_rmem_tensor(dtype or like.dtype, leaf.make_fragment_like(Layout(like.shape)))


def recast_tensor(tensor: Tensor, dtype: DType) -> Tensor:
    """Return the same bytes as elements of `dtype`, which may have another width."""
    return tensor.recast(dtype)


def static_size(tensor: Any, what: str) -> int:
    """Return a number of elements that is known at compile time. Errors: `static-layout`, which names who needs it."""
    found = static_value(size(tensor))
    if found is None:
        raise mistake("static-layout", f"{what} needs a layout known at compile time, not {tensor.layout}")
    return found
