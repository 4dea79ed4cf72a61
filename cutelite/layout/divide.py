"""Dividing layouts into tiles, multiplying tiles into layouts, and the regroupings of both."""

from __future__ import annotations

from typing import Any

from cutelite.layout.basis import Basis, E, Path, paths
from cutelite.layout.complements import complement_cover, component, copies
from cutelite.layout.compose import composition
from cutelite.layout.dims import DimExpr, Int, ceil_div_dims
from cutelite.layout.errors import LayoutError
from cutelite.layout.f2 import F2
from cutelite.layout.facts import exact_div, prove_le
from cutelite.layout.inttuple import flatten_to_tuple, product, show, unflatten
from cutelite.layout.layout import L, Layout, concat, cosize, has_bases, raw
from cutelite.layout.make import make_identity_layout, make_ordered_layout
from cutelite.layout.modes import is_one, rejoined, through, with_coordinate


def _layout(tiler: Any) -> Layout:
    return Layout(tiler, 1) if isinstance(tiler, (int, DimExpr)) else tiler


def _modes(function: str, layout: Any, tiler: tuple[Any, ...]) -> list[Any]:
    modes = list(layout)
    if len(tiler) > len(modes):
        raise LayoutError(
            function, f"tiler {show(tiler)} has more modes than {layout}", mode=len(modes), rank=len(modes)
        )
    return modes


def logical_divide(target: L, tiler: Any) -> L:
    """Split `target` into (tile, rest): the elements that `tiler` selects, and the starts of its further copies.

    tiler  a layout; an int n for n:1; None to leave a mode whole; a tuple for one of these per mode, each mode of the
           result then being its own (tile, rest)
    A tile that does not divide its mode rounds the rest up: the last tile reaches beyond the end.

    >>> logical_divide(Layout(12), Layout(3, 2))
    (3,(2,2)):(2,(1,6))
    >>> logical_divide(Layout((10, 8)), (4, None))
    ((4,3),8):((1,4),10)
    """
    return through(target, lambda outer: _logical_divide(outer, tiler))


def _logical_divide(target: Layout, tiler: Any) -> Layout:
    if tiler is None:
        return target
    if isinstance(tiler, tuple):
        modes = _modes("logical_divide", target, tiler)
        done = [_logical_divide(mode, part) for mode, part in zip(modes, tiler, strict=False)]
        return rejoined("logical_divide", target, done + modes[len(tiler) :])
    if isinstance(tiler, (int, DimExpr)) and not isinstance(target.shape, tuple) and not isinstance(target.stride, F2):
        return _cut(target, Layout(tiler, 1).shape)
    tiler = _layout(tiler)
    try:
        reach = target.shape if isinstance(tiler, Layout) and has_bases(tiler) else target.size
        rest, covered = complement_cover(tiler, reach)
        if covered is not None and not prove_le(target.size, covered):
            message = f"copies of the tiler cover only the first {covered} elements"
            raise LayoutError("logical_divide", message, covered=covered)
        both: Layout = composition(target, concat([tiler, rest]))
        return concat([with_coordinate(target, both[0]), both[1]]) if has_bases(target) else both
    except LayoutError as error:
        raise error.within("logical_divide", f"{target} by {tiler}") from None


def _cut(mode: Layout, n: Int) -> Layout:
    """Return a single, linear mode cut into pieces of n: the case that most divisions come down to."""
    count = ceil_div_dims(mode.shape, n)
    first = 0 if is_one(n) and not isinstance(mode.stride, Basis) else mode.stride
    return raw((n, count), (first, 0 if is_one(count) else mode.stride * n))


def _unzip(layout: Any, tiler: Any) -> Layout:
    """Return ((tile, rest), ...) as (tiles, rests), nested like the tiler."""
    if tiler is None:
        return concat([raw(1, 0), layout])
    if not isinstance(tiler, tuple):
        return layout if layout.rank == 2 and isinstance(layout.shape, tuple) else concat([layout, raw(1, 0)])
    parts = [_unzip(mode, part) for mode, part in zip(layout, tiler, strict=False)]
    tiles = concat([part[0] for part in parts])
    rests = concat([part[1] for part in parts] + list(layout)[len(tiler) :])
    return concat([tiles, rests])


def zipped_divide(target: L, tiler: Any) -> L:
    """Return `logical_divide` with all tile modes in the first mode and all rest modes in the second.

    >>> zipped_divide(Layout((8, 6)), (4, 2))
    ((4,2),(2,3)):((1,8),(4,16))
    """
    return through(target, lambda outer: _unzip(_logical_divide(outer, tiler), tiler))


def tiled_divide(target: L, tiler: Any) -> L:
    """Return `zipped_divide` with the rest modes side by side: ((tile, ...), rest, ...).

    >>> tiled_divide(Layout((8, 6)), (4, 2))
    ((4,2),2,3):((1,8),4,16)
    """
    return through(zipped_divide(target, tiler), _spread_second)


def flat_divide(target: L, tiler: Any) -> L:
    """Return `zipped_divide` with all modes side by side: (tile, ..., rest, ...).

    >>> flat_divide(Layout((8, 6)), (4, 2))
    (4,2,2,3):(1,8,4,16)
    """
    return through(zipped_divide(target, tiler), _spread_both)


def _spread_second(layout: Layout) -> Layout:
    return concat([layout[0], *layout[1]])


def _spread_both(layout: Layout) -> Layout:
    return concat([*layout[0], *layout[1]])


# --------------------------------------------------------------------------------------------------- products


def logical_product(block: L, tiler: Any) -> L:
    """Return (block, copies): `tiler` arranges as many copies of `block` as it has coordinates, each beside the others.

    tiler  a layout; an int n for n:1; None for one copy; a tuple for one of these per mode
    If the block gives coordinates and the tiler numbers, the numbers count through a grid of copies with the extents of
    the tiler, provided that it has a mode for each coordinate and fills the grid; else they count along the last
    coordinate. If only the tiler gives coordinates, they are counted in the same way.

    >>> logical_product(Layout((2, 2), (4, 1)), Layout(6))
    ((2,2),(2,3)):((4,1),(2,8))
    >>> logical_product(Layout((2, 2), (E(0), E(1))), Layout((3, 4)))
    ((2,2),(3,4)):((1@0,1@1),(2@0,2@1))
    """
    return through(block, lambda outer: _logical_product(outer, tiler))


def _logical_product(block: Layout, tiler: Any) -> Layout:
    if tiler is None:
        return block
    if isinstance(tiler, tuple):
        modes = _modes("logical_product", block, tiler)
        done = [_logical_product(mode, part) for mode, part in zip(modes, tiler, strict=False)]
        return concat(done + modes[len(tiler) :])
    tiler = _layout(tiler)
    try:
        return rejoined("logical_product", block, [block, _places(block, tiler)])
    except LayoutError as error:
        raise error.within("logical_product", f"{block} by {tiler}") from None


def _places(block: Layout, tiler: Any) -> Layout:
    """Return the places of copies: in a grid with a mode for each coordinate, if block or tiler gives coordinates."""
    grid = copies(block)
    if isinstance(tiler, Layout) and has_bases(tiler):
        own = [path for path in paths(flatten_to_tuple(block.stride)) if path]
        tiler = _counted(tiler, own or [()])
        wanted = paths(flatten_to_tuple(tiler.stride))
        grid = copies(block, [path for path in wanted if path and all(p[: len(path)] != path for p in own)])
    elif isinstance(tiler, Layout) and has_bases(block) and grid.rank == tiler.rank > 1:
        counts = [mode.size for mode in sorted(tiler, key=_least_stride)][:-1]  # the last coordinate has no end
        try:
            return composition(composition(grid, (*counts, None)), tiler)
        except LayoutError:
            pass  # the tiler leaves gaps, or its strides are known at launch: all along the last coordinate
    result: Layout = composition(grid, tiler)
    return result


def _least_stride(mode: Layout) -> int:
    """Return the sort key of a mode of a tiler: its least stride that is a number, else 1."""
    return min((d for d in flatten_to_tuple(mode.stride) if isinstance(d, int) and d), default=1)


def _counted(tiler: Layout, own: list[Path]) -> Layout:
    """Return a tiler with its coordinates below each path of `own` as one number, which counts through their box."""
    strides: list[Any] = [0] * len(flatten_to_tuple(tiler.stride))
    steps: dict[Path, Int] = {}
    for path in paths(flatten_to_tuple(tiler.stride)):
        owner = next((p for p in own if path[: len(p)] == p), path)
        along_it = component(tiler, path)
        step = steps.setdefault(owner, 1)
        strides = [d + step * c * E(*owner) for d, c in zip(strides, flatten_to_tuple(along_it.stride), strict=True)]
        steps[owner] = step * cosize(along_it) if owner != path else step
    return raw(tiler.shape, unflatten(strides, tiler.shape))


def zipped_product(block: L, tiler: Any) -> L:
    """Return `logical_product` with the modes of the blocks in the first mode and of the copies in the second.

    >>> zipped_product(Layout((2, 2), (1, 6)), (3, 4))
    ((2,2),(3,4)):((1,6),(2,1))
    """
    return through(block, lambda outer: _unzip(_logical_product(outer, tiler), tiler))


def tiled_product(block: L, tiler: Any) -> L:
    """Return `zipped_product` with the modes of the copies side by side.

    >>> tiled_product(Layout((2, 2)), Layout((3, 5)))
    ((2,2),3,5):((1,2),4,12)
    """
    return through(zipped_product(block, tiler), _spread_second)


def flat_product(block: L, tiler: Any) -> L:
    """Return `zipped_product` with all modes side by side.

    >>> flat_product(Layout((2, 2)), Layout((3, 5)))
    (2,2,3,5):(1,2,4,12)
    """
    return through(zipped_product(block, tiler), _spread_both)


def blocked_product(block: L, tiler: Any) -> L:
    """Return `logical_product` joined rank by rank, elements of a block together: mode k is (block k, copies k).

    >>> blocked_product(Layout((2, 5), (5, 1)), Layout((3, 4)))
    ((2,3),(5,4)):((5,10),(1,30))
    """
    return through(block, lambda outer: _ranked_product("blocked_product", outer, tiler, block_first=True))


def raked_product(block: L, tiler: Any) -> L:
    """Return `logical_product` joined rank by rank, elements of a block apart: mode k is (copies k, block k).

    >>> raked_product(Layout((2, 5), (5, 1)), Layout((3, 4)))
    ((3,2),(4,5)):((10,5),(30,1))
    """
    return through(block, lambda outer: _ranked_product("raked_product", outer, tiler, block_first=False))


def _ranked_product(function: str, block: Layout, tiler: Any, block_first: bool) -> Layout:
    tiler = Layout(1) if tiler is None else _layout(tiler)
    if not isinstance(tiler, Layout):
        kind = "no layout" if isinstance(tiler, tuple) else "composed"
        raise LayoutError(function, f"tiler {show(tiler)} is {kind}, must be a layout of shape and stride")
    rank = max(block.rank, tiler.rank)
    both = _logical_product(_of_rank(block, rank), _of_rank(tiler, rank))
    first, second = (0, 1) if block_first else (1, 0)
    return both.on_modes(lambda t: tuple(zip(t[first], t[second], strict=True)))


def _of_rank(layout: Layout, rank: int) -> Layout:
    """Return the layout with modes 1:0 appended up to the rank `rank`."""
    missing = rank - layout.rank
    if not missing and isinstance(layout.shape, tuple):
        return layout
    return layout.extended([raw(1, 0)] * missing, behind=True)


def tile_to_shape(atom: L, trg_shape: Any, order: Any = None) -> L:
    """Return `atom` repeated to fill `trg_shape`, with copies in `order` (column-major by default), modes joined.

    Errors  when an extent of the shape is no multiple of the atom's

    >>> tile_to_shape(Layout((8, 4), (4, 1)), (16, 8))
    ((8,2),(4,2)):((4,32),(1,64))
    >>> tile_to_shape(Layout((8, 4), (4, 1)), (16, 8), order=(1, 0))
    ((8,2),(4,2)):((4,64),(1,32))
    """
    return through(atom, lambda outer: _tile_to_shape(outer, trg_shape, order))


def _tile_to_shape(atom: Layout, shape: Any, order: Any) -> Layout:
    extents = [product(item) for item in shape] if isinstance(shape, tuple) else [product(shape)]
    if atom.rank > len(extents):
        raise LayoutError("tile_to_shape", f"{atom} has more modes than {show(shape)}", rank=atom.rank)
    block = _of_rank(atom, len(extents))
    counts = []
    for mode, extent in enumerate(extents):
        have = block[mode].size
        count = exact_div(extent, have)
        if count is None:
            message = f"mode {mode}: {have} of {atom} is not known to divide {extent}"
            raise LayoutError("tile_to_shape", message, mode=mode, extent=extent)
        counts.append(count)
    grid = make_ordered_layout(tuple(counts), tuple(range(len(counts))) if order is None else order)
    if has_bases(block):
        grid = make_identity_layout(tuple(counts))  # each copy at its own coordinates, in whatever order
    result = _ranked_product("tile_to_shape", block, grid, block_first=True)
    return result if isinstance(shape, tuple) else result[0]
