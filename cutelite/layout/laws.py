"""Laws of the algebra: what each function promises, stated once, and checked on demand.

A law takes a function's result and its arguments, and raises `BrokenPromise` when they do not fit. `promises` ties it
to the function; inside ``with checked():`` every call is checked at every point, up to a size. Layouts over dims are
checked with values put in for the dims. The tests use the same laws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar, Token
from functools import wraps
from itertools import islice, pairwise
from typing import Any, ParamSpec, TypeVar

from cutelite.layout import exact
from cutelite.layout.coords import idx2crd, pad_coord
from cutelite.layout.dims import Dim, DimExpr
from cutelite.layout.expr import dims_of, evaluate
from cutelite.layout.f2 import has_f2
from cutelite.layout.inttuple import (
    flatten_to_tuple,
    is_compatible,
    is_congruent,
    is_static,
    product,
    product_each,
    show,
    size,
)
from cutelite.layout.layout import ComposedLayout, Layout, cosize, plus
from cutelite.layout.swizzle import Swizzle

P = ParamSpec("P")
R = TypeVar("R")


class BrokenPromise(AssertionError):
    """A function of the algebra returned something that its law forbids: a bug in this package."""


_cap: ContextVar[int | None] = ContextVar("cutelite.layout.checked", default=None)
"""The greatest size of layouts that are checked; None: no checks."""


class checked:
    """Check, while it is entered, every result of the algebra against its law, point by point.

    cap  layouts of more elements than this are not checked

    >>> from cutelite.layout import composition
    >>> with checked():
    ...     composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1)))
    ((2,2),3):((24,2),8)
    """

    def __init__(self, cap: int = 1 << 12) -> None:
        self.cap = cap
        self.tokens: list[Token[int | None]] = []

    def __enter__(self) -> checked:
        self.tokens.append(_cap.set(self.cap))
        return self

    def __exit__(self, *exception: object) -> None:
        _cap.reset(self.tokens.pop())


def promises(law: Callable[..., None]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Tie a law to a function: ``law(result, *arguments)``."""

    def tie(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def promising(*args: P.args, **kwargs: P.kwargs) -> R:
            result, cap = function(*args, **kwargs), _cap.get()
            if cap is not None:
                token = _cap.set(None)  # what a law calls is not checked in turn
                try:
                    check(law, result, args, kwargs, cap)
                finally:
                    _cap.reset(token)
            return result

        promising.law = law  # type: ignore[attr-defined]
        return promising

    return tie


def check(law: Callable[..., None], result: Any, args: Sequence[Any], kwargs: dict[str, Any], cap: int) -> None:
    """Check a result against a law, for several values of the dims if there are any."""
    for bindings in islice(_bindings(dims_of((result, *args, *kwargs.values()))), 4):
        case = evaluate((result, *args), bindings)
        named = {name: evaluate(value, bindings) for name, value in kwargs.items()}
        if all(_elements(x) <= cap for x in (*case, *named.values())):
            law(*case, **named)


def _bindings(dims: frozenset[Dim]) -> Iterator[dict[str, int]]:
    """Yield a few values for every dim that its facts allow: the least ones, greater ones, and mixtures."""
    if not dims:
        yield {}
        return
    for pick in ((0, 0, 0), (2, 1, 3), (1, 4, 0), (3, 2, 1)):
        values = {}
        for i, dim in enumerate(sorted(dims, key=lambda dim: dim.key)):
            least = -(-max(dim.min, 1) // dim.divisible_by) * dim.divisible_by
            value = least + pick[i % 3] * dim.divisible_by
            values[dim.name] = least if dim.max is not None and value > dim.max else value
        yield values


def _elements(x: Any) -> int:
    """Return the number of elements that a check of an argument visits."""
    if isinstance(x, tuple):
        return max(map(_elements, x), default=0)
    return int(size(x)) if isinstance(x, (Layout, ComposedLayout)) and not isinstance(x, DimExpr) else 0


def need(condition: bool, promise: str, *facts: object) -> None:
    """Raise unless the condition holds."""
    if not condition:
        raise BrokenPromise(f"{promise}: {', '.join(map(str, facts))}")


def image(layout: Any) -> list[Any]:
    """Return a layout's values at 0, 1, ... up to its size."""
    if isinstance(layout, Layout):
        strides = flatten_to_tuple(layout.stride)
        if set(map(type, strides)) == {int}:  # nearly all are: no need to take every index apart
            return exact.values(flatten_to_tuple(layout.shape), strides)
    return [plain(layout(i)) for i in range(int(size(layout)))]


def plain(value: Any) -> Any:
    """Return a coordinate without trailing zeros, so that (1, 0) and (1,) are equal; (0, 0) gives (), not 0."""
    if not isinstance(value, tuple):
        return value
    parts = [plain(part) or 0 for part in value]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def _as_layout(tiler: Any) -> Any:
    return Layout(tiler, 1) if isinstance(tiler, int) else tiler


def at(layout: Any, index: Any) -> Any:
    """Return the value of a layout or swizzle at an index, or at a coordinate that leaves trailing modes out."""
    if isinstance(index, tuple) and not isinstance(layout, Swizzle):
        return layout(pad_coord(index, layout.shape))
    return layout(index)


# ------------------------------------------------------------------------------------------------- the laws


def coalesce_law(result: Any, layout: Any, target_profile: Any = None) -> None:
    """Check size and values; one level of modes (mode by mode under a profile), none of which continues another."""
    need(size(result) == size(layout), "coalesce keeps the size", layout, result)
    need(image(result) == image(layout), "coalesce keeps the values", layout, result)
    if target_profile is None:
        need(result.depth <= 1, "coalesce flattens", layout, result)


def filter_law(result: Any, layout: Any) -> None:
    """Check that the set of values is the same."""
    need(set(image(result)) == set(image(layout)), "filter keeps the set of values", layout, result)


def composition_law(result: Any, lhs: Any, rhs: Any) -> None:
    """Check that result(i) == lhs(rhs(i)), and that the shape of `rhs` is refined."""
    if rhs is None:
        same = result == lhs or (result.shape == lhs.shape and image(result) == image(lhs))
        need(same, "None changes nothing", lhs, result)
    elif isinstance(rhs, tuple):
        for mode, part in enumerate(rhs):
            composition_law(result[mode], lhs[mode], part)
        need(result.rank == lhs.rank, "modes beyond the tiler stay", lhs, result)
    else:
        rhs = _as_layout(rhs)
        if isinstance(rhs, Swizzle):
            return
        need(is_compatible(rhs.shape, result.shape), "composition refines the shape of rhs", lhs, rhs, result)
        values = [plain(at(lhs, index)) for index in image(rhs)]
        need(image(result) == values, "composition(lhs, rhs)(i) == lhs(rhs(i))", lhs, rhs, result)


def complement_law(result: Any, layout: Any, cotarget: Any = 1) -> None:
    """Check that values are in order, and that the sums of values of both all differ (strides of 0 apart)."""
    if any(isinstance(value, tuple) for value in image(result) + image(layout)):
        return  # coordinates: each is complemented by itself, as a layout of offsets
    starts, values = image(result), sorted(set(image(layout)))
    need(all(a < b for a, b in pairwise(starts)), "complement is ordered", layout, result)
    by_xor = any(isinstance(x, Layout) and has_f2(flatten_to_tuple(x.stride)) for x in (result, layout))
    sums = {start ^ value if by_xor else start + value for start in starts for value in values}
    need(len(sums) == len(starts) * len(values), "complement is disjoint", layout, result)


def right_inverse_law(result: Any, layout: Any) -> None:
    """Check that layout(result(i)) == i."""
    if isinstance(result, ComposedLayout) or not any(isinstance(value, tuple) for value in image(layout)):
        need(image_of(layout, result) == list(range(size(result))), "layout(right_inverse(i)) == i", layout, result)


def image_of(layout: Any, indices: Any) -> list[Any]:
    return [plain(layout(index)) for index in image(indices)]


def left_inverse_law(result: Any, layout: Any) -> None:
    """Check that layout(result(layout(i))) == layout(i), so result(layout(i)) == i where layout is injective."""
    for value in image(layout):
        need(plain(layout(at(result, value))) == value, "layout(left_inverse(layout(i))) == layout(i)", layout, result)


def nullspace_law(result: Any, layout: Any) -> None:
    """Check that layout(result(i)) == layout(0)."""
    stays = all(value == plain(layout(0)) for value in image_of(layout, result))
    need(stays, "the nullspace stays put", layout, result)


def max_common_law(result: Any, a: Any, b: Any) -> None:
    """Check that a(result(i)) == i == b(result(i)), within both."""
    for layout in (a, b):
        layout = layout.outer if isinstance(layout, ComposedLayout) else layout
        need(cosize(result) <= size(layout), "the common layout lies within both", a, b, result)
        need(image_of(layout, result) == list(range(size(result))), "contiguous in both", a, b, result)


def divide_law(result: Any, target: Any, tiler: Any) -> None:
    """Check that the first mode is target o tiler, and that all values of the target are there."""
    if tiler is None:
        need(result == target, "None changes nothing", target, result)
    elif isinstance(tiler, tuple):
        for mode, part in enumerate(tiler):
            divide_law(result[mode], target[mode], part)
        need(result.rank == target.rank, "modes beyond the tiler stay", target, result)
    else:
        composition_law(result[0], target, tiler)
        need(set(image(target)) <= set(image(result)), "a divided layout has all its elements", target, tiler, result)


def zipped_divide_law(result: Any, target: Any, tiler: Any) -> None:
    """Check that there are two modes, the tile and its copies, and that the first is target o tiler."""
    regrouped_law(result, target, tiler)
    need(result.rank == 2, "a zipped division has two modes", target, tiler, result)
    if isinstance(tiler, tuple) and None not in tiler:
        for mode, part in enumerate(tiler):
            if not isinstance(part, tuple):
                composition_law(result[0, mode], target[mode], part)


def regrouped_law(result: Any, whole: Any, tiler: Any) -> None:
    """Check that no element is lost."""
    need(set(image(whole)) <= set(image(result)), "all elements are there", whole, tiler, result)


def local_tile_law(result: tuple[Any, Any], layout: Any, tiler: Any, coord: Any, proj: Any = None) -> None:
    """Check that tile(x) + offset == layout(coord * tiler + x), mode by mode, within the grid of tiles."""
    tile, at_tile = _used(tiler, proj), _used(coord, proj)
    if len(tile) == len(at_tile) == layout.rank and _are_ints(tile + at_tile):
        starts = tuple(c * t for c, t in zip(at_tile, tile, strict=True))
        if all(start < size(mode) for start, mode in zip(starts, layout, strict=True)):
            _strided_law("local_tile", result, layout, starts, tile, (1,) * len(tile))


def local_partition_law(result: tuple[Any, Any], layout: Any, tile: Any, index: Any, proj: Any = None) -> None:
    """Check that part(x) + offset == layout(thread + tile * x), mode by mode; thread is the coordinate of `index`."""
    if isinstance(tile, Layout) and isinstance(index, int):
        threads = _used(product_each(tile.shape), proj)
        thread = _used(tile.get_flat_coord(index), proj)
        if len(threads) == layout.rank and _are_ints(threads + thread) and index in image(tile):
            counts = tuple(-(-int(size(mode)) // t) for mode, t in zip(layout, threads, strict=True))
            _strided_law("local_partition", result, layout, thread, counts, threads)


def _used(modes: Any, proj: Any) -> tuple[Any, ...]:
    modes = modes if isinstance(modes, tuple) else (modes,)
    return modes if proj is None else tuple(m for m, p in zip(modes, proj, strict=True) if p is not None)


def _are_ints(values: tuple[Any, ...]) -> bool:
    return all(isinstance(value, int) for value in values)


def _strided_law(
    name: str, result: tuple[Any, Any], layout: Any, starts: Any, counts: tuple[int, ...], steps: tuple[int, ...]
) -> None:
    part, offset = result
    for i in range(product(counts) if isinstance(part, Layout) and isinstance(layout, Layout) else 0):
        x = idx2crd(i, counts)
        there = tuple(start + step * c for start, step, c in zip(starts, steps, x, strict=True))
        need(plain(plus(part(*x), offset)) == plain(layout(*there)), f"{name} picks its elements", layout, x, result)


def identity_law(result: Layout, shape: Any) -> None:
    """Check that every coordinate is its own image."""
    coordinates = [plain(idx2crd(i, result.shape)) for i in range(int(size(result)))]
    need(image(result) == coordinates, "the identity", result)


def product_law(result: Any, block: Any, tiler: Any) -> None:
    """Check that the first mode is the block, and that copies at different values of the tiler share no value."""
    if tiler is None:
        need(result == block, "None changes nothing", block, result)
    elif isinstance(tiler, tuple):
        for mode, part in enumerate(tiler):
            product_law(result[mode], block[mode], part)
    else:
        tiler = _as_layout(tiler)
        same = result[0].shape == block.shape and image(result[0]) == image(block)
        need(same, "the first mode of a product is the block", block, tiler, result)
        need(is_compatible(tiler.shape, result[1].shape), "the second mode has the tiler's shape", tiler, result)
        if not isinstance(block, Layout):
            return  # a swizzle permutes the sums
        if has_f2((*flatten_to_tuple(block.stride), *flatten_to_tuple(result.stride))):
            return  # so do strides added by XOR
        values, starts = set(image(block)), image(result[1])
        places = set(image(tiler))
        sums = {plain(plus(value, start)) for value in values for start in starts}
        need(len(sums) == len(values) * len(places), "copies in a product are disjoint", block, tiler, result)


def ranked_product_law(result: Any, block: Any, tiler: Any) -> None:
    """Check that each mode has the elements of block and tiler together."""
    tiler = Layout(1) if tiler is None else _as_layout(tiler)
    for mode in range(result.rank):
        extents = [size(x, mode) for x in (block, tiler) if mode < x.rank]
        need(size(result, mode) == product(tuple(extents)), "modes multiply", block, tiler, result)


def tile_to_shape_law(result: Any, atom: Any, trg_shape: Any, order: Any = None) -> None:
    """Check that the result has the shape's extents, and the atom in the corner."""
    extents = tuple(map(product, trg_shape)) if isinstance(trg_shape, tuple) else product(trg_shape)
    need(is_compatible(extents, result.shape), "the result fills the shape", atom, show(trg_shape), result)
    grid = Layout(tuple(size(mode) for mode in atom) if isinstance(atom.shape, tuple) else atom.shape)
    corner = [
        plain(result(grid.get_hier_coord(i))) if atom.rank == result.rank else None for i in range(int(size(atom)))
    ]
    need(None in corner or corner == image(atom), "the atom is the corner", atom, result)


def upcast_law(result: Any, layout: Any, n: int) -> None:
    """Check that the values are those of the wide elements in which the old ones lie."""
    if n == 1:
        need(result == layout, "the same width changes nothing", layout, result)
    elif isinstance(layout, Layout):
        need(set(image(result)) == {value // n for value in image(layout)}, "recast to wider", layout, n, result)


def downcast_law(result: Any, layout: Any, n: int) -> None:
    """Check that the values are those of the parts of all old elements."""
    if n == 1:
        need(result == layout, "the same width changes nothing", layout, result)
    elif isinstance(layout, Layout):
        parts = {value * n + part for value in image(layout) for part in range(n)}
        need(set(image(result)) == parts, "recast to narrower", layout, n, result)


def recast_law(result: Any, new_type_bits: int, old_type_bits: int, src_layout: Any) -> None:
    """Check as `upcast_law` or `downcast_law` does, or that equal widths change nothing."""
    if new_type_bits > old_type_bits:
        upcast_law(result, src_layout, new_type_bits // old_type_bits)
    elif new_type_bits < old_type_bits:
        downcast_law(result, src_layout, old_type_bits // new_type_bits)
    else:
        need(result == src_layout, "the same width changes nothing", src_layout, result)


def slice_law(result: tuple[Any, Any], coord: Any, layout: Any) -> None:
    """Check that sublayout(c) + offset == layout(coord with c in place of its Nones)."""
    sub, offset = result
    opened = _openings(coord, layout.shape)
    if isinstance(sub, Layout) and not isinstance(offset, tuple) and isinstance(sub.shape, tuple):
        for i in range(int(size(sub))):
            inner = iter(Layout(tuple(product(s) for s in opened)).get_hier_coord(i)) if opened else iter(())
            need(sub(i) + offset == layout(_filled(coord, inner)), "slice", layout, show(coord), result)


def _openings(coord: Any, shape: Any) -> list[Any]:
    if isinstance(coord, tuple):
        return [s for c, part in zip(coord, shape, strict=True) for s in _openings(c, part)]
    return [shape] if coord is None else []


def _filled(coord: Any, values: Iterator[Any]) -> Any:
    if isinstance(coord, tuple):
        return tuple(_filled(c, values) for c in coord)
    return next(values) if coord is None else coord


def as_f2_law(result: Layout, layout: Any) -> None:
    """Check that the values are the same."""
    need(image(result) == image(layout), "as_f2 keeps the values", layout, result)


def compact_law(result: Layout, *args: Any, **kwargs: Any) -> None:
    """Check that the result is a bijection onto 0 .. size - 1."""
    need(sorted(image(result)) == list(range(size(result))), "compact", result)


def layout_like_law(result: Layout, layout: Any) -> None:
    """Check that the shape is the same, and that the values have no gaps."""
    need(is_congruent(result, layout) and result.shape == layout.shape, "the shape stays", layout, result)
    need(len(set(image(result))) == cosize(result), "no gaps", layout, result)


def tv_law(result: tuple[Any, Layout], thr_layout: Layout, val_layout: Layout) -> None:
    """Check that every element of the tile belongs to one thread and value."""
    tiler, tv = result
    need(is_static(tv) and sorted(image(tv)) == list(range(product(tiler))), "a tile is dealt out", thr_layout, result)
