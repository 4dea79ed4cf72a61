"""Coalescing, filtering and composing layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from cutelite.layout import exact, laws
from cutelite.layout.basis import Basis, Path
from cutelite.layout.coords import merge_modes
from cutelite.layout.dims import DimExpr, Int
from cutelite.layout.errors import LayoutError
from cutelite.layout.facts import exact_div, prove_le, prove_lt
from cutelite.layout.inttuple import flatten_to_tuple, get, is_static, leaves_with_paths, show, unflatten
from cutelite.layout.layout import ComposedLayout, Layout, concat, raw
from cutelite.layout.swizzle import Swizzle


def through(layout: Any, function: Callable[[Layout], Layout]) -> Any:
    """`function` of a layout, or of the outer layout of a composed one."""
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.inner, layout.offset, through(layout.outer, function))
    return function(layout)


def is_zero(d: Any) -> bool:
    """Whether a stride is the constant 0."""
    return isinstance(d, int) and d == 0


def is_one(s: Any) -> bool:
    """Whether an extent is the constant 1."""
    return isinstance(s, int) and s == 1


def from_modes(modes: Sequence[tuple[Any, Any]]) -> Layout:
    """A flat layout of (size, stride) pairs: a single mode as a leaf, none as 1:0."""
    if len(modes) == 1:
        return raw(*modes[0])
    if not modes:
        return raw(1, 0)
    return raw(tuple(s for s, _ in modes), tuple(d for _, d in modes))


def merged(layout: Layout) -> tuple[list[Any], list[Any]]:
    """Sizes and strides of the fewest flat modes that agree on all naturals."""
    if not isinstance(layout.shape, tuple):
        return [layout.shape], [layout.stride]
    return merge_modes(list(flatten_to_tuple(layout.shape)), list(flatten_to_tuple(layout.stride)))


@laws.promises(laws.coalesce_law)
def coalesce(layout: Any, target_profile: Any = None) -> Any:
    """The layout of the fewest flat modes with the same values within its size.

    target_profile  a tuple: coalesce mode by mode where it nests, and leave modes beyond it alone

    >>> coalesce(Layout((2, (1, 6)), (1, (6, 2))))
    12:1
    >>> coalesce(Layout((2, (1, 6)), (1, (6, 2))), (1, 1))
    (2,6):(1,2)
    """
    return through(layout, lambda outer: coalesce_modes(outer, target_profile))


def coalesce_modes(layout: Layout, profile: Any = None) -> Layout:
    """`coalesce` of a layout that is not composed."""
    if isinstance(profile, tuple):
        modes = list(layout)
        if len(profile) > len(modes):
            raise LayoutError("coalesce", f"{layout} has fewer modes than profile {show(profile)}", rank=len(modes))
        return concat([coalesce_modes(m, p) for m, p in zip(modes, profile, strict=False)] + modes[len(profile) :])
    shapes, strides = merged(layout)
    if isinstance(shapes[-1], int) and shapes[-1] == 1:
        shapes.pop()
        strides.pop()
    return from_modes(list(zip(shapes, strides, strict=True)))


def filter_zeros(layout: Any) -> Any:
    """The layout with every mode of stride 0 cut to size 1.

    >>> filter_zeros(Layout((2, 3), (0, 1)))
    (1,3):(0,1)
    """
    return through(layout, lambda outer: raw(_without_zeros(outer.shape, outer.stride), outer.stride))


def _without_zeros(shape: Any, stride: Any) -> Any:
    if isinstance(shape, tuple):
        return tuple(map(_without_zeros, shape, stride))
    return 1 if isinstance(stride, int) and stride == 0 else shape


@laws.promises(laws.filter_law)
def filter(layout: Any) -> Any:  # CuTe's name
    """The coalesced layout of the modes that are neither of stride 0 nor of size 1: one element per offset.

    >>> filter(Layout((2, 3, 4), (0, 1, 3)))
    12:1
    """
    return through(layout, lambda outer: coalesce_modes(filter_zeros(outer)))


# ------------------------------------------------------------------------------------------------ composition


@laws.promises(laws.composition_law)
def composition(lhs: Any, rhs: Any) -> Any:
    """The layout R with R(c) == lhs(rhs(c)) for every coordinate of `rhs`, whose shape it refines.

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
        return ComposedLayout(_after(lhs, rhs.inner), rhs.offset, rhs.outer)
    if isinstance(lhs, Swizzle):
        return lhs if isinstance(rhs, Swizzle) else ComposedLayout(lhs, 0, rhs)
    if isinstance(lhs, ComposedLayout):
        return through(lhs, lambda outer: composition(outer, rhs))
    if isinstance(rhs, tuple):
        return _by_mode(lhs, rhs)
    return _compose(lhs, rhs)


def _after(lhs: Any, inner: Any) -> Any:
    """lhs after the innermost function of a composed layout."""
    if isinstance(inner, Swizzle):
        if isinstance(lhs, Layout) and merged(lhs)[1] == [1]:
            return inner
        raise LayoutError("composition", f"{lhs} after {inner} is no layout")
    return composition(lhs, inner)


def _by_mode(lhs: Layout, tiler: tuple[Any, ...]) -> Layout:
    modes = list(lhs)
    if len(tiler) > len(modes):
        raise LayoutError(
            "composition", f"tiler {show(tiler)} has more modes than {lhs}", mode=len(modes), rank=len(modes)
        )
    done = [composition(mode, part) for mode, part in zip(modes, tiler, strict=False)]
    return concat(done + modes[len(tiler) :])


class _Target:
    """The modes that rhs indexes, and how far its leaves have gone into each."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.shapes, self.strides = merged(layout)
        self.used: list[Int] = [0] * len(self.shapes)

    def leaf(self, s: Int, d: Int) -> list[tuple[Any, Any]] | str:
        """The modes of c -> layout(c * d) for c < s, or why the rules give none."""
        if (type(s) is int and s == 1) or (type(d) is int and d == 0):
            return [(s, 0)]
        shapes, last = self.shapes, len(self.shapes) - 1
        modes: list[tuple[Any, Any]] = []
        k = 0
        while k < last:
            extent = shapes[k]
            if prove_lt(d * (s - 1), extent):
                break  # no index reaches the next mode
            quotient = exact_div(d, extent)
            if quotient is not None:
                d = quotient
            else:
                count = exact_div(extent, d)
                if count is None:
                    return f"of its stride {d} and extent {extent} of {self} neither {_divides(d, extent)} the other"
                rest = exact_div(s, count)
                if rest is None:
                    return f"it leaves extent {extent} of {self} after {count} elements; {_not_divide(count, s)} {s}"
                modes.append((count, d * self.strides[k]))
                self.used[k] = self.used[k] + (count - 1) * d
                s, d = rest, 1
            k += 1
        modes.append((s, d * self.strides[k]))
        self.used[k] = self.used[k] + (s - 1) * d
        return modes

    def __str__(self) -> str:
        modes = from_modes(list(zip(self.shapes, self.strides, strict=True)))
        return str(modes) if modes == self.layout else f"{modes} (which is {self.layout})"

    def carries(self) -> int | None:
        """The first bounded mode that sums of leaves may overflow."""
        for k in range(len(self.shapes) - 1):
            if not prove_lt(self.used[k], self.shapes[k]):
                return k
        return None


def _compose(lhs: Layout, rhs: Layout) -> Layout:
    targets: dict[Path, _Target] = {}
    result: list[tuple[Any, Any]] = []
    why = ""
    mode: Path | int | None = None
    leaves = list(leaves_with_paths(rhs.shape))
    strides = flatten_to_tuple(rhs.stride)
    for (path, s), stride in zip(leaves, strides, strict=True):
        if isinstance(stride, Basis) and len(stride.terms) == 1:
            where, d = stride.terms[0]
        elif isinstance(stride, Basis):
            why, mode = f"stride {stride} moves along several modes at once", path or 0
            break
        else:
            where, d = (), stride
        if not prove_le(0, d):
            raise LayoutError("composition", f"mode {_at(path)} of {rhs} has stride {d}, not known to be 0 or more",
                              mode=path, stride=d)  # fmt: skip
        if where not in targets:
            targets[where] = _Target(get(lhs, where))
        modes = targets[where].leaf(s, d)
        if isinstance(modes, str):
            why, mode = f"mode {_at(path)} of {rhs}: {modes}", path or 0
            break
        result.append(_nested(modes))
    if not why and len(leaves) > 1:
        for target in targets.values():
            k = target.carries()
            if k is not None:
                may = "" if is_static((target.used[k], target.shapes[k])) else "may "
                why = f"the modes of {rhs} together {may}overflow extent {target.shapes[k]} of {target}"
                break
    if not why and len(targets) > 1:
        why = _overlap(targets)
    if why:
        return _exactly(lhs, rhs, why, mode)
    return raw(unflatten([s for s, _ in result], rhs.shape), unflatten([d for _, d in result], rhs.shape))


def _divides(a: Int, b: Int) -> str:
    return "divides" if is_static((a, b)) else "is known to divide"


def _not_divide(a: Int, b: Int) -> str:
    return f"{a} does not divide" if is_static((a, b)) else f"{a} is not known to divide"


def _at(path: Path) -> str:
    return ".".join(map(str, path)) or "0"


def _nested(modes: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    if len(modes) == 1:
        return modes[0]
    return tuple(s for s, _ in modes), tuple(d for _, d in modes)


def _overlap(targets: dict[Path, _Target]) -> str:
    """Whether one path leads into another: then their coordinates would add up across modes."""
    for a, b in pairwise(sorted(targets)):
        if b[: len(a)] == a:
            return f"coordinates along {list(a)} and {list(b)} mix"
    return ""


def _scaled(d: int, of: tuple[list[Any], list[Any]], index: int) -> Any:
    return exact.at(index * d, *of)


def _exactly(lhs: Layout, rhs: Layout, why: str, mode: Path | int | None) -> Layout:
    """The composition by its values, where the rules found none; or the error."""
    shapes, strides = flatten_to_tuple(rhs.shape), flatten_to_tuple(rhs.stride)
    static = is_static(rhs) and is_static(flatten_to_tuple(lhs.shape))
    if static and not any(isinstance(d, Basis) for d in strides) and rhs.size <= exact.MAX_POINTS:
        of = merged(lhs)
        result: list[tuple[Any, Any]] = []
        for s, d in zip(shapes, strides, strict=True):
            modes = exact.factor(partial(_scaled, d, of), s)
            if modes is None:
                break
            result.append(_nested(modes or [(1, 0)]))
        else:
            layout = raw(unflatten([s for s, _ in result], rhs.shape), unflatten([d for _, d in result], rhs.shape))
            found = exact.values(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride))
            if found == [exact.at(i, *of) for i in exact.values(shapes, strides)]:
                return layout
    raise LayoutError("composition", f"{lhs} o {rhs} is no layout: {why}" if static else f"{lhs} o {rhs}: {why}",
                      mode=mode, lhs=lhs, rhs=rhs)  # fmt: skip
