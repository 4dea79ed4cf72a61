"""Basis strides, with which a layout maps to coordinates rather than offsets.

``E(0)`` is the unit of coordinate 0, ``E(0, 1)`` that of coordinate 1 within coordinate 0. A `Basis` is a sum of
scaled units; a layout whose strides are bases maps a coordinate to a coordinate: TMA and predication need that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from cutelite.layout.dims import DimExpr, Int
from cutelite.layout.errors import LayoutError
from cutelite.layout.expr import text as expr_text
from cutelite.layout.frozen import Frozen

Path: TypeAlias = "tuple[int, ...]"


class Basis(Frozen):
    """A sum of scaled coordinate units, written as CuTe does: ``2@0``, and ``1@1@0`` for E(0, 1).

    Adds to bases, multiplies with ints and dims. Immutable, equal by value.

    >>> E(0) * 2 + E(1), 3 * E(0, 1), E(0) * 0
    (2@0+1@1, 3@1@0, 0)
    """

    __slots__ = ("terms",)
    terms: tuple[tuple[Path, Int], ...]

    def __init__(self, terms: Iterable[tuple[Path, Int]]) -> None:
        self.fill(tuple(sorted(terms, key=lambda term: term[0])))

    def __add__(self, other: Basis | Int) -> Basis | Int:
        if isinstance(other, Basis):
            return _basis([*self.terms, *other.terms])
        if isinstance(other, int) and other == 0:
            return self
        if isinstance(other, (int, DimExpr)):
            raise LayoutError("Basis", f"{self} is a coordinate, {other} an offset: they do not add")
        return NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Basis | Int) -> Basis | Int:
        return self + other * -1

    def __neg__(self) -> Basis | Int:
        return self * -1

    def __mul__(self, factor: Int) -> Basis | Int:
        if isinstance(factor, (int, DimExpr)):
            return _basis([(path, value * factor) for path, value in self.terms])
        return NotImplemented

    __rmul__ = __mul__

    def __str__(self) -> str:
        return "+".join(f"{_factor(value)}@{'@'.join(map(str, reversed(path)))}" for path, value in self.terms)

    def map_leaves(self, function: Callable[[Any], Any]) -> Basis | Int:
        """Return it with `function` applied to the factor of each basis."""
        return _basis([(path, function(value)) for path, value in self.terms])

    def along(self, path: Path) -> Int:
        """Return its component along E(*path)."""
        return dict(self.terms).get(path, 0)


def _factor(value: Int) -> str:
    text = expr_text(value)
    return text if text.isidentifier() or text.lstrip("-").isdigit() else f"({text})"


def _basis(terms: Iterable[tuple[Path, Int]]) -> Basis | Int:
    """Return the sum of these terms; 0 if all cancel."""
    total: dict[Path, Int] = {}
    for path, value in terms:
        total[path] = total.get(path, 0) + value
    kept = [(path, value) for path, value in total.items() if isinstance(value, DimExpr) or value != 0]
    return Basis(kept) if kept else 0


def E(*mode: int | list[int] | tuple[int, ...]) -> Any:
    """Return the unit of the coordinate at the path of modes `mode`; E() is the integer 1.

    >>> E(1), E(0, 1), E([0, 1]) == E(0, 1), E()
    (1@1, 1@1@0, True, 1)
    """
    path: list[int] = []
    for item in mode:
        path += [item] if isinstance(item, int) else item
    if any(not isinstance(m, int) or m < 0 for m in path):
        raise LayoutError("E", f"modes are naturals, not {mode}")
    return Basis([(tuple(path), 1)]) if path else 1


def _single(function: str, e: Basis | Int) -> tuple[Path, Int]:
    if not isinstance(e, Basis):
        return (), e
    if len(e.terms) != 1:
        raise LayoutError(function, f"{e} has {len(e.terms)} terms, but one is needed")
    return e.terms[0]


def basis_value(e: Basis | Int) -> Int:
    """Return the factor of a scaled unit.

    >>> basis_value(3 * E(1)), basis_value(7)
    (3, 7)
    """
    return _single("basis_value", e)[1]


def basis_get(e: Basis | Int, t: Any) -> Any:
    """Return the element of the tuple (or layout) t that the unit points at.

    >>> basis_get(E(1, 0), (3, (4, 5)))
    4
    """
    for mode in _single("basis_get", e)[0]:
        if not mode < (len(t) if isinstance(t, tuple) else getattr(t, "rank", 0)):
            raise LayoutError("basis_get", f"{t} has no mode {mode}, where {e} leads", mode=mode)
        t = t[mode]
    return t


def paths(strides: Iterable[Any]) -> list[Path]:
    """Return every path along which some stride has a component, in order; () stands for plain integers."""
    found: set[Path] = set()
    for stride in strides:
        if isinstance(stride, Basis):
            found.update(path for path, _ in stride.terms)
        elif isinstance(stride, DimExpr) or stride != 0:
            found.add(())
    return sorted(found)


def along(stride: Any, path: Path) -> Any:
    """Return the component of a stride (leaf or tuple) along a path; () selects the plain integers."""
    if isinstance(stride, tuple):
        return tuple(along(d, path) for d in stride)
    if isinstance(stride, Basis):
        return stride.along(path)
    return stride if path == () else 0


def coordinate(components: dict[Path, Any]) -> Any:
    """Return the nested tuple with the value of each path at its place, and 0 elsewhere.

    >>> coordinate({(0,): 3, (1, 1): 5})
    (3, (0, 5))
    """
    if () in components:
        if len(components) > 1:
            raise LayoutError("Layout", "offsets and coordinates do not add up: some strides are plain, some are bases")
        return components[()]
    width = max(path[0] for path in components) + 1
    result = []
    for mode in range(width):
        below = {path[1:]: value for path, value in components.items() if path[0] == mode}
        if () in below and len(below) > 1:
            raise LayoutError("Layout", f"a coordinate along mode {mode} is both a number and a tuple", mode=mode)
        result.append(coordinate(below) if below else 0)
    return tuple(result)
