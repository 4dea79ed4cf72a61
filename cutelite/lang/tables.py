"""Arrays that a caller's functions capture, indexed in the kernel by numbers and vectors like arrays of torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from types import CellType, FunctionType
from typing import Any

from cutelite.lang import fragments
from cutelite.lang.emit import mistake
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import Vector, vector
from cutelite.records import dataclass


class Table:
    """A tensor in global memory. Indices broadcast to each other; each distinct element of a vector is a load."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    @property
    def shape(self) -> Any:
        return self.tensor.shape

    def __getitem__(self, key: Any) -> Any:
        coord = key if isinstance(key, tuple) else (key,)
        if len(coord) != self.tensor.ndim:
            raise mistake("rank", f"{len(coord)} indices into an array of {self.tensor.ndim} modes")
        vectors = [x for x in coord if isinstance(x, Vector)]
        if not vectors:
            return self.tensor[coord if len(coord) > 1 else coord[0]]
        whole = vectors[0].value
        for x in vectors[1:]:
            whole, _ = fragments.together(whole, x.value)
        shape, loaded, items = fragments.shape_of(whole), {}, []
        spread = [_places(x, shape) if isinstance(x, Vector) else None for x in coord]
        for i in range(fragments.count(whole)):
            picks = tuple(None if places is None else places[i] for places in spread)
            if picks not in loaded:
                at = tuple(x if pick is None else x[pick] for x, pick in zip(coord, picks, strict=True))
                loaded[picks] = self.tensor[at if len(at) > 1 else at[0]]
            items.append(loaded[picks])
        found = vector(*items, dtype=self.tensor.dtype)
        found.value.shape = shape
        return found


def _places(x: Vector, shape: tuple[Any, ...]) -> list[int]:
    """Return, for each element of `shape`, the index of the element of `x` that broadcasting puts there."""
    own = fragments.shape_of(x.value)
    own = (*own, *(1,) * (len(shape) - len(own)))
    found, step = [0], 1
    for mine, whole in zip(own, shape, strict=True):
        width = 0 if fragments.extent(mine) == 1 else step
        found = [at + c * width for c in range(fragments.extent(whole)) for at in found]
        step *= fragments.extent(mine)
    return found


@dataclass(frozen=True)
class Captured:
    """A stand-in for an array that a function captured: kernels are compiled for its dtype and rank.

    index   the number of the array among those that the kernel is given
    """

    index: int
    dtype: str
    ndim: int


@dataclass(frozen=True)
class Holder:
    """A dataclass that holds a function, so that `bound` can replace what the function captures."""

    function: Any


def bound(holder: Any, tensors: tuple[Tensor, ...]) -> Any:
    """Return a dataclass whose functions have a `Table` of the tensor in place of each `Captured`."""

    def place(x: Any) -> Any:
        if isinstance(x, FunctionType):
            return replaced(x, place)
        return Table(tensors[x.index]) if isinstance(x, Captured) else x

    held = {field.name: getattr(holder, field.name) for field in fields(holder)}
    return replace(holder, **{name: replaced(x, place) for name, x in held.items() if isinstance(x, FunctionType)})


def replaced(function: Any, place: Callable[[Any], Any]) -> Any:
    """Return a copy of a function whose captured values and globals are what `place` makes of them; itself if equal."""
    if not isinstance(function, FunctionType):
        return function
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    held = [place(x) for x in cells]
    used = {name: function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__}
    values = ((name, x, place(x)) for name, x in used.items() if not isinstance(x, FunctionType))
    known = {name: made for name, x, made in values if made is not x}
    if not known and all(a is b for a, b in zip(cells, held, strict=True)):
        return function
    return copied(function, [CellType(x) for x in held], _space(function.__globals__, known) if known else None)


def _space(names: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Return a module's global variables with some of them replaced.

    Equal arguments give the same dict, with the current values: functions are told apart by their globals.
    """
    if not all(isinstance(x, Captured) for x in known.values()):
        return {**names, **known}
    key = id(names), tuple(known.items())
    _, space = _spaces.setdefault(key, (names, {}))
    space.update(names)
    space.update(known)
    return space


_spaces: dict[Any, tuple[dict[str, Any], dict[str, Any]]] = {}


def copied(function: FunctionType, cells: list[CellType], names: dict[str, Any] | None = None) -> FunctionType:
    """Return a copy of a function with other cells, and other global variables where `names` are given."""
    known = function.__globals__ if names is None else names
    made = FunctionType(function.__code__, known, function.__name__, function.__defaults__, tuple(cells))
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    return made
