"""Laws of the algebra: what each function promises of its result, at every point of the layouts.

A law takes the result and the arguments, layouts over dims with numbers for the dims.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import prod
from typing import Any

import cutelite.layout as algebra
from cutelite.layout import ComposedLayout, Layout, Swizzle, evaluate, flatten_to_tuple, is_compatible, size
from cutelite.layout.coords import idx2crd, pad_coord
from cutelite.layout.f2 import has_f2
from cutelite.layout.layout import cosize, plus
from tests.layout import oracle


def check(law: Callable[..., None], case: tuple[Any, ...], values: dict[str, int], most: int = 128) -> None:
    """Check a result and its arguments with these values of dims, unless a layout has more than `most` elements."""
    case = evaluate(case, values)
    if all(_elements(x) <= most for x in case):
        law(*case)


def _elements(x: Any) -> int:
    if isinstance(x, tuple):
        return max(map(_elements, x), default=0)
    return int(size(x)) if isinstance(x, Layout | ComposedLayout) else 0


def image(layout: Any) -> list[Any]:
    """Return a layout's values at 0, 1, ... up to its size."""
    return [plain(layout(i)) for i in range(size(layout))]


def plain(value: Any) -> Any:
    """Return a coordinate without trailing zeros, so that (1, 0) and (1,) are equal; (0, 0) gives (), not 0."""
    if not isinstance(value, tuple):
        return value
    parts = [plain(part) or 0 for part in value]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def at(layout: Any, index: Any) -> Any:
    """Return the value of a layout or swizzle at an index, or at a coordinate that leaves trailing modes out."""
    if isinstance(index, tuple) and not isinstance(layout, Swizzle):
        return plain(layout(pad_coord(index, layout.shape)))
    return plain(layout(index))


def composed(layout: Any, indices: Any) -> list[Any]:
    return [at(layout, index) for index in image(indices)]


def counted(layout: Any) -> list[int]:
    return list(range(size(layout)))


def _as_layout(tiler: Any) -> Any:
    return Layout(tiler, 1) if isinstance(tiler, int) else tiler


def by_xor(*layouts: Any) -> bool:
    return any(isinstance(x, Layout) and has_f2(flatten_to_tuple(x.stride)) for x in layouts)


def coalesce(result: Any, layout: Any, profile: Any = None) -> None:
    assert image(result) == image(layout)
    assert profile is not None or result.depth <= 1


def same_values(result: Any, layout: Any) -> None:
    assert image(result) == image(layout)


def same_set(result: Any, layout: Any) -> None:
    assert set(image(result)) == set(image(layout))


def composition(result: Any, lhs: Any, rhs: Any) -> None:
    """The values are lhs(rhs(i)), and the shape of `rhs` is refined; mode by mode for tilers."""
    if rhs is None:
        assert result == lhs or (result.shape == lhs.shape and image(result) == image(lhs))
    elif isinstance(rhs, tuple):
        assert result.rank == lhs.rank
        for mode, part in enumerate(rhs):
            composition(result[mode], lhs[mode], part)
    elif not isinstance(rhs, Swizzle):
        rhs = _as_layout(rhs)
        assert is_compatible(rhs.shape, result.shape)
        assert image(result) == composed(lhs, rhs)


def complement(result: Any, layout: Any, cotarget: Any = 1) -> None:
    """Values are in order, and the sums of values of both all differ (strides of 0 apart)."""
    starts, values = image(result), set(image(layout))
    if any(isinstance(value, tuple) for value in {*starts, *values}):
        return  # coordinates: each is complemented by itself, as a layout of offsets
    assert all(a < b for a, b in pairwise(starts))
    xor = by_xor(result, layout)
    assert len({a ^ b if xor else a + b for a in starts for b in values}) == len(starts) * len(values)


def right_inverse(result: Any, layout: Any) -> None:
    if isinstance(result, ComposedLayout) or not any(isinstance(value, tuple) for value in image(layout)):
        assert composed(layout, result) == counted(result)


def left_inverse(result: Any, layout: Any) -> None:
    """layout(result(layout(i))) is layout(i), so result(layout(i)) is i where `layout` is injective."""
    assert [at(layout, at(result, value)) for value in image(layout)] == image(layout)


def nullspace(result: Any, layout: Any) -> None:
    assert set(composed(layout, result)) == {at(layout, 0)}


def max_common_layout(result: Any, a: Any, b: Any) -> None:
    """The values of both are 0, 1, ... there, within both."""
    for layout in (a, b):
        layout = layout.outer if isinstance(layout, ComposedLayout) else layout
        assert cosize(result) <= size(layout)
        assert composed(layout, result) == counted(result)


def logical_divide(result: Any, target: Any, tiler: Any) -> None:
    """The first mode is target o tiler, and all values of the target are there."""
    if tiler is None:
        assert result == target
    elif isinstance(tiler, tuple):
        assert result.rank == target.rank
        for mode, part in enumerate(tiler):
            logical_divide(result[mode], target[mode], part)
    else:
        composition(result[0], target, tiler)
        assert set(image(target)) <= set(image(result))


def zipped_divide(result: Any, target: Any, tiler: Any) -> None:
    """There are two modes, the tile and its copies, and the first is target o tiler."""
    regrouped(result, target, tiler)
    assert result.rank == 2
    if isinstance(tiler, tuple) and None not in tiler:
        for mode, part in enumerate(tiler):
            if not isinstance(part, tuple):
                composition(result[0, mode], target[mode], part)


def regrouped(result: Any, whole: Any, tiler: Any) -> None:
    assert set(image(whole)) <= set(image(result))


def local_tile(result: tuple[Any, Any], layout: Any, tiler: Any, coord: Any) -> None:
    """tile(x) + offset is layout(coord * tiler + x), mode by mode, within the grid of tiles."""
    tile, coord = algebra.wrap(tiler), algebra.wrap(coord)
    if len(tile) == len(coord) == layout.rank and _are_ints(tile + coord):
        starts = tuple(c * t for c, t in zip(coord, tile, strict=True))
        if all(start < size(mode) for start, mode in zip(starts, layout, strict=True)):
            _strided(result, layout, starts, tile, (1,) * len(tile))


def local_partition(result: tuple[Any, Any], layout: Any, tile: Any, index: Any) -> None:
    """part(x) + offset is layout(thread + tile * x), mode by mode; thread is the coordinate of `index`."""
    threads = algebra.wrap(algebra.product_each(tile.shape))
    thread = algebra.wrap(tile.get_flat_coord(index))
    if len(threads) == layout.rank and _are_ints(threads + thread) and index in image(tile):
        counts = tuple(-(-size(mode) // t) for mode, t in zip(layout, threads, strict=True))
        _strided(result, layout, thread, counts, threads)


def _are_ints(values: tuple[Any, ...]) -> bool:
    return all(isinstance(value, int) for value in values)


def _strided(result: tuple[Any, Any], layout: Any, starts: Any, counts: Any, steps: Any) -> None:
    part, offset = result
    for i in range(prod(counts) if isinstance(part, Layout) and isinstance(layout, Layout) else 0):
        x = idx2crd(i, counts)
        there = tuple(start + step * c for start, step, c in zip(starts, steps, x, strict=True))
        assert plain(plus(part(*x), offset)) == plain(layout(*there))


def identity(result: Layout, shape: Any) -> None:
    assert image(result) == [plain(idx2crd(i, shape)) for i in counted(result)]


def logical_product(result: Any, block: Any, tiler: Any) -> None:
    """The first mode is the block, and copies at different values of the tiler share no value."""
    if tiler is None:
        assert result == block
    elif isinstance(tiler, tuple):
        for mode, part in enumerate(tiler):
            logical_product(result[mode], block[mode], part)
    else:
        tiler = _as_layout(tiler)
        assert result[0].shape == block.shape and image(result[0]) == image(block)
        assert is_compatible(tiler.shape, result[1].shape)
        if not isinstance(block, Layout) or by_xor(block, result):
            return  # sums are permuted
        values = set(image(block))
        sums = {plain(plus(value, start)) for value in values for start in image(result[1])}
        assert len(sums) == len(values) * len(set(image(tiler)))


def ranked_product(result: Any, block: Any, tiler: Any) -> None:
    """Each mode has the elements of block and tiler together."""
    tiler = Layout(1) if tiler is None else _as_layout(tiler)
    for mode in range(result.rank):
        assert size(result, mode) == prod(size(x, mode) for x in (block, tiler) if mode < x.rank)


def tile_to_shape(result: Any, atom: Any, shape: Any) -> None:
    """The result has the shape's extents, and the atom in the corner."""
    extents = tuple(map(algebra.product, shape)) if isinstance(shape, tuple) else algebra.product(shape)
    assert is_compatible(extents, result.shape)
    if atom.rank == result.rank:
        grid = Layout(tuple(size(mode) for mode in atom) if isinstance(atom.shape, tuple) else atom.shape)
        assert [plain(result(grid.get_hier_coord(i))) for i in counted(atom)] == image(atom)


def upcast(result: Any, layout: Any, n: int) -> None:
    """The values are those of the wide elements in which the old ones lie."""
    if isinstance(layout, Layout):
        assert set(image(result)) == {value // n if n > 1 else value for value in image(layout)}


def downcast(result: Any, layout: Any, n: int) -> None:
    """The values are those of the parts of all old elements."""
    if isinstance(layout, Layout):
        parts = {value * n + part if n > 1 else value for value in image(layout) for part in range(n)}
        assert set(image(result)) == parts


def recast_layout(result: Any, new_bits: int, old_bits: int, layout: Any) -> None:
    if new_bits >= old_bits:
        upcast(result, layout, new_bits // old_bits)
    else:
        downcast(result, layout, old_bits // new_bits)


def slice_and_offset(result: tuple[Any, Any], coord: Any, layout: Any) -> None:
    """sublayout(c) + offset is layout(coord with c in place of its Nones)."""
    sub, offset = result
    opened = _openings(coord, layout.shape)
    if isinstance(sub, Layout) and not isinstance(offset, tuple) and isinstance(sub.shape, tuple):
        for i in counted(sub):
            inner = iter(Layout(tuple(algebra.product(s) for s in opened)).get_hier_coord(i)) if opened else iter(())
            assert sub(i) + offset == layout(_filled(coord, inner))


def _openings(coord: Any, shape: Any) -> list[Any]:
    if isinstance(coord, tuple):
        return [s for c, part in zip(coord, shape, strict=True) for s in _openings(c, part)]
    return [shape] if coord is None else []


def _filled(coord: Any, values: Iterator[Any]) -> Any:
    if isinstance(coord, tuple):
        return tuple(_filled(c, values) for c in coord)
    return next(values) if coord is None else coord


def compact(result: Layout, *args: Any) -> None:
    assert sorted(image(result)) == counted(result)


def like(result: Layout, layout: Any) -> None:
    """The shape is the same, and the values have no gaps."""
    assert result.shape == layout.shape
    assert len(set(image(result))) == cosize(result)


def thread_value(result: tuple[Any, Layout], threads: Layout, values: Layout) -> None:
    """Every element of the tile belongs to one thread and value."""
    tiler, tv = result
    assert sorted(image(tv)) == list(range(prod(oracle.leaves(tiler))))
