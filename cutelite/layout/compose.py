"""Composition of layouts: the rules, and the exact answer where they give none.

A leaf ``s:d`` of `rhs` visits the indices 0, d, 2d, ... of `lhs`. On the merged modes of `lhs`, in order, it skips a
mode whose extent divides d, or takes every d-th element of a mode whose extent d divides, which it must then leave at
its end; modes that it never reaches do not matter. The leaves together must not carry from one mode of `lhs` into the
next. Where a rule does not apply there may still be a layout with the right values: for static operands they are
computed and factored.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, overload

from cutelite.layout import exact
from cutelite.layout.basis import Basis, E, Path, coordinate
from cutelite.layout.coords import pad_coord
from cutelite.layout.dims import DimExpr, Int
from cutelite.layout.errors import LayoutError
from cutelite.layout.f2 import F2, has_f2
from cutelite.layout.facts import exact_div, prove_le, prove_lt
from cutelite.layout.inttuple import flatten_to_tuple, get, is_static, leaves_with_paths, show, unflatten
from cutelite.layout.layout import AnyLayout, ComposedLayout, L, Layout, has_bases, raw
from cutelite.layout.modes import from_modes, is_one, is_zero, merged, rejoined, through, with_coordinate
from cutelite.layout.swizzle import Swizzle


@overload
def composition(lhs: Layout, rhs: ComposedLayout) -> ComposedLayout: ...
@overload
def composition(lhs: L, rhs: Any) -> L: ...
@overload
def composition(lhs: Swizzle, rhs: AnyLayout) -> ComposedLayout: ...
@overload
def composition(lhs: Swizzle, rhs: Swizzle) -> Swizzle: ...
def composition(lhs: Any, rhs: Any) -> Any:
    """Return the layout R with R(c) == lhs(rhs(c)) for every coordinate of `rhs`, whose shape it refines.

    lhs  a layout, a composed layout, or a swizzle
    rhs  a layout (its strides may be bases: coordinates of `lhs`); an int n for n:1; None for no change; a tuple for
         one of these per mode, further modes staying as they are; a composed layout
    Errors  `LayoutError` naming the mode of `rhs` when no layout has these values, or, with dims, when it cannot be
            proven that one has; for static operands the answer is exact

    >>> composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1)))
    ((2,2),3):((24,2),8)
    >>> composition(Layout((8, 8)), (4, 2))
    (4,2):(1,8)
    """
    if rhs is None:
        return lhs
    if isinstance(rhs, (int, DimExpr)):
        rhs = Layout(rhs, 1)
    if isinstance(rhs, ComposedLayout):
        identity = isinstance(lhs, Layout) and merged(lhs)[1] == [1]
        return rhs if identity else ComposedLayout(lhs, 0, rhs)
    if isinstance(rhs, Swizzle) and not isinstance(lhs, Swizzle):
        raise LayoutError("composition", f"{lhs} o {rhs} would have no shape: give {rhs} a layout to act on")
    if isinstance(lhs, Swizzle):
        return lhs.after(rhs) if isinstance(rhs, Swizzle) else ComposedLayout(lhs, 0, rhs)
    if isinstance(lhs, ComposedLayout):
        return through(lhs, lambda outer: composition(outer, rhs))
    if isinstance(rhs, tuple):
        return _by_mode(lhs, rhs)
    return _compose(lhs, rhs)


def with_shape(layout: L, shape: Any) -> L:
    """Return the layout under another shape of the same size: its composition with the compact layout of that shape.

    Errors  as for `composition`, and if the sizes differ

    >>> with_shape(Layout((4, 6), (6, 1)), (2, 2, 6))
    (2,2,6):(6,12,1)
    """
    other = Layout(shape)
    if other.size != layout.size:
        raise LayoutError("with_shape", f"shape {show(other.shape)} has {other.size} elements, {layout} {layout.size}")
    try:
        return composition(layout, other)
    except LayoutError as error:
        raise error.called("with_shape") from None


def _by_mode(lhs: Layout, tiler: tuple[Any, ...]) -> Layout:
    modes = list(lhs)
    if len(tiler) > len(modes):
        raise LayoutError(
            "composition", f"tiler {show(tiler)} has more modes than {lhs}", mode=len(modes), rank=len(modes)
        )
    done = [composition(mode, part) for mode, part in zip(modes, tiler, strict=False)] + modes[len(tiler) :]
    return rejoined("composition", lhs, done)


class _Misfit(Exception):
    """Raised where the rules give no layout; `numbers` are the values at fault, `mode` the mode of rhs."""

    def __init__(self, reason: str, mode: Path | None = None, **numbers: object) -> None:
        super().__init__(reason)
        self.mode = mode
        self.numbers = numbers


class _Target:
    """The modes that rhs indexes, and the part of each that its leaves have used."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.shapes, self.strides = merged(layout)
        self.used: list[Int] = [0] * len(self.shapes)

    def __str__(self) -> str:
        modes = from_modes(list(zip(self.shapes, self.strides, strict=True)))
        return str(modes) if modes == self.layout else f"{modes} (that is {self.layout})"

    def leaf(self, s: Int, d: Int) -> list[tuple[Any, Any]]:
        """Return the modes of c -> layout(c * d) for c < s."""
        if is_one(s) or is_zero(d):
            return [(s, 0)]
        last = len(self.shapes) - 1
        modes: list[tuple[Any, Any]] = []
        k = 0
        while k < last:
            extent = self.shapes[k]
            if prove_lt(d * (s - 1), extent):
                break  # no index reaches the next mode
            quotient = exact_div(d, extent)
            if quotient is not None:
                d = quotient
            else:
                count, rest = self._share(extent, s, d)
                modes.append((count, d * self.strides[k]))
                self.used[k] = self.used[k] + (count - 1) * d
                s, d = rest, 1
            k += 1
        modes.append((s, d * self.strides[k]))
        if k < last:
            self.used[k] = self.used[k] + (s - 1) * d
        return modes

    def _share(self, extent: Int, s: Int, d: Int) -> tuple[Int, Int]:
        """Return the number of elements that a leaf takes of an extent before it leaves it, and s divided by that."""
        count = exact_div(extent, d)
        if count is None:
            known = "divides" if is_static((extent, d)) else "is known to divide"
            raise _Misfit(f"of its stride {d} and extent {extent} of {self} neither {known} the other",
                          stride=d, extent=extent)  # fmt: skip
        rest = exact_div(s, count)
        if rest is None:
            known = "does not divide" if is_static((count, s)) else "is not known to divide"
            raise _Misfit(f"it leaves extent {extent} of {self} after {count} elements, which {known} its size {s}",
                          size=s, divisor=count, extent=extent)  # fmt: skip
        return count, rest

    def check_carry(self, rhs: Layout) -> None:
        """Raise when sums of leaves may overflow a bounded mode."""
        for used, extent in zip(self.used[:-1], self.shapes, strict=False):
            if not prove_lt(used, extent):
                may = "" if is_static((used, extent)) else "may "
                raise _Misfit(f"the modes of {rhs} together {may}overflow extent {extent} of {self}",
                              reach=used, extent=extent)  # fmt: skip


def _compose(lhs: Layout, rhs: Layout) -> Layout:
    try:
        if has_f2(flatten_to_tuple(lhs.stride)) or has_f2(flatten_to_tuple(rhs.stride)):
            raise _Misfit("the rules are for strides that add up")
        return with_coordinate(lhs, _by_rules(lhs, rhs))
    except _Misfit as misfit:
        static = is_static(rhs) and is_static(flatten_to_tuple(lhs.shape))
        found = _by_values(lhs, rhs) if static and rhs.size <= exact.MAX_POINTS else None
        if found is not None:
            return with_coordinate(lhs, found)
        where = "" if misfit.mode is None else f"mode {'.'.join(map(str, misfit.mode)) or 0} of {rhs}: "
        verdict = f"{lhs} o {rhs} is no layout" if static else f"{lhs} o {rhs} is not known to be a layout"
        mode = misfit.mode if misfit.mode is None or len(misfit.mode) > 1 else (*misfit.mode, 0)[0]
        raise LayoutError("composition", f"{verdict}: {where}{misfit}", mode=mode, **misfit.numbers) from None


def _by_rules(lhs: Layout, rhs: Layout) -> Layout:
    targets: dict[Path, _Target] = {}
    shapes: list[Any] = []
    strides: list[Any] = []
    leaves = list(leaves_with_paths(rhs.shape))
    for (path, s), stride in zip(leaves, flatten_to_tuple(rhs.stride), strict=True):
        parts = []
        try:
            for where, d in stride.terms if isinstance(stride, Basis) else [((), stride)]:
                if not prove_le(0, d):
                    raise _Misfit(f"its stride {d} is not known to be 0 or more", stride=d)
                if where not in targets:
                    targets[where] = _Target(get(lhs, where))
                parts.append(targets[where].leaf(s, d))
            modes = parts[0] if len(parts) == 1 else _added(parts, stride)
        except _Misfit as misfit:
            misfit.mode = path
            raise
        shapes.append(modes[0][0] if len(modes) == 1 else tuple(s for s, _ in modes))
        strides.append(modes[0][1] if len(modes) == 1 else tuple(d for _, d in modes))
    for target in targets.values() if len(leaves) > 1 else ():
        target.check_carry(rhs)
    for a, b in pairwise(sorted(targets)):
        if b[: len(a)] == a:
            raise _Misfit(f"coordinates along {list(a)} and {list(b)} add up across modes of {lhs}")
    return raw(unflatten(shapes, rhs.shape), unflatten(strides, rhs.shape))


def _added(parts: list[list[tuple[Any, Any]]], stride: Basis) -> list[tuple[Any, Any]]:
    """Return the sum of layouts of the same modes."""
    sizes = [s for s, _ in parts[0]]
    if any([s for s, _ in part] != sizes for part in parts):
        raise _Misfit(f"its stride {stride} crosses modes at different places", stride=stride)
    return [(s, sum(part[k][1] for part in parts)) for k, s in enumerate(sizes)]


def _by_values(lhs: Layout, rhs: Layout) -> Layout | None:
    """Return the composition, every leaf of it factored by its values, if all values are right; else None."""
    strides = flatten_to_tuple(rhs.stride)
    if any(isinstance(d, int) and d < 0 for d in strides):
        return None
    value = _evaluator(lhs)
    if has_bases(lhs) or not is_static(lhs):
        return _factored(rhs, value)
    ways = [value, lambda index: F2(value(index))] if has_f2(strides) else [value]
    if has_f2(flatten_to_tuple(lhs.stride)):
        ways = [lambda index: F2(value(index)), value]
    return next((found for way in ways if (found := _factored(rhs, way)) is not None), None)


def _factored(rhs: Layout, value: Callable[[Any], Any]) -> Layout | None:
    shapes, strides = flatten_to_tuple(rhs.shape), flatten_to_tuple(rhs.stride)
    result: list[Layout] = []
    for s, d in zip(shapes, strides, strict=True):
        modes = exact.factor(partial(_along, value, d), s)
        if modes is None:
            return None
        result.append(from_modes(modes))
    found = Layout(
        unflatten([mode.shape for mode in result], rhs.shape), unflatten([mode.stride for mode in result], rhs.shape)
    )
    values = exact.values(flatten_to_tuple(found.shape), flatten_to_tuple(found.stride), value(0))
    return found if values == [value(index) for index in exact.values(shapes, strides)] else None


def _along(value: Callable[[Any], Any], d: Any, c: int) -> Any:
    return value(c * d)


def _evaluator(lhs: Layout) -> Callable[[Any], Any]:
    """Return `lhs` as a function of an index, or of a sum of bases."""
    shapes, strides = merged(lhs)

    def value(index: Any) -> Any:
        if isinstance(index, Basis):
            image = lhs(pad_coord(coordinate(dict(index.terms)), lhs.shape))
            return sum(c * E(*path) for path, c in leaves_with_paths(image))  # E() is 1
        result = exact.at(index.value if isinstance(index, F2) else index, shapes, strides)
        return result.value if isinstance(result, F2) else result

    return value
