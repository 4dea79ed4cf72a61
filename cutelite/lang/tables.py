"""Arrays that a caller's functions capture, indexed in the kernel by numbers and vectors like arrays of torch.

An index below 0 counts from the end: a function that masks what it finds there may use one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterator
from dataclasses import fields, replace
from functools import partial
from types import CellType, CodeType, FunctionType
from typing import Any, TypeVar

from cutelite.ir.types import i32, i64, u32, u64
from cutelite.lang import fragments
from cutelite.lang.emit import Runtime, mistake, refuse_iteration
from cutelite.lang.places import Places
from cutelite.lang.promotion import is_number, to_dtype
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import Vector, maximum, minimum, vector, where
from cutelite.records import dataclass

UNSIGNED = {i32: u32, i64: u64}
"""Types in which an index below 0 is larger than one that counts from the start."""

K = TypeVar("K")
V = TypeVar("V")


class Table:
    """A tensor in global memory. Indices broadcast to each other; each distinct element of a vector is a load.

    Fewer indices than there are modes give a table of the other modes.

    given   the indices of the first modes
    ends    vectors of indices may be of no element, and then are those of some element
    """

    __slots__ = ("ends", "given", "tensor")

    def __init__(self, tensor: Tensor, given: tuple[Any, ...] = (), ends: bool = False) -> None:
        self.tensor, self.given, self.ends = tensor, given, ends

    @property
    def shape(self) -> Any:
        return self.tensor.shape[len(self.given) :]

    @property
    def dtype(self) -> Any:
        return self.tensor.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def dim(self) -> int:
        return self.ndim

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    @property
    def extent(self) -> Any:
        """The extent of the first mode, which is len()."""
        return self.shape[0]

    def described(self) -> str:
        modes = self.tensor.ndim - len(self.given)
        return f"a whole array of {modes} mode{'s' * (modes != 1)} (take an element of it)"

    __iter__ = refuse_iteration

    def __getitem__(self, key: Any) -> Any:
        more = key if isinstance(key, tuple) else (key,)
        coord = (*self.given, *more)
        if len(coord) > self.tensor.ndim:
            raise mistake("rank", f"{len(coord)} indices into an array of {self.tensor.ndim} modes")
        if len(coord) < self.tensor.ndim:
            return self.part(coord)
        coord = tuple(
            x if isinstance(x, Vector) else _from_end(x, x, extent)
            for x, extent in zip(coord, self.tensor.shape, strict=True)
        )
        vectors = [x for x in coord if isinstance(x, Vector)]
        if not vectors:
            return self.read(coord, None)
        whole = vectors[0].value
        for x in vectors[1:]:
            whole, _ = fragments.together(whole, x.value)
        return self.read(coord, fragments.shape_of(whole))

    def part(self, coord: tuple[Any, ...]) -> Table:
        """Return the table of the modes behind those of some indices."""
        return Table(self.tensor, coord, self.ends)

    def read(self, coord: tuple[Any, ...], shape: tuple[Any, ...] | None) -> Any:
        """Return the elements at indices that broadcast to `shape`; with None, where no index is a vector, the one."""
        if shape is None:
            return self.tensor[self.at(coord, (None,) * len(coord))]
        loaded, items = {}, []
        for picks in spread(coord, shape):
            if picks not in loaded:
                loaded[picks] = self.tensor[self.at(coord, picks)]
            items.append(loaded[picks])
        found = vector(*items, dtype=self.tensor.dtype)
        found.value.shape = shape
        return found

    def at(self, coord: tuple[Any, ...], picks: tuple[int | None, ...]) -> Any:
        """Return the index of one element, for whose vectors of indices `picks` says which elements these are."""
        found = tuple(
            x if pick is None else self._place(x, x[pick], extent)
            for x, pick, extent in zip(coord, picks, self.tensor.shape, strict=True)
        )
        return found if len(found) > 1 else found[0]

    def _place(self, x: Vector, index: Any, extent: Any) -> Any:
        """Return an element of the vector `x` as an index from the start, with `ends` of an element that is there."""
        found = _from_end(x, index, extent)
        if not self.ends:
            return found
        wide = UNSIGNED.get(found.dtype)
        if wide is None:
            return maximum(minimum(found, extent - 1), 0)
        return to_dtype(minimum(to_dtype(found, wide), to_dtype(extent - 1, wide)), found.dtype)  # also those below 0


def _from_end(x: Any, index: Any, extent: Any) -> Any:
    """Return an index, `x` or an element of the vector `x`, plus the extent where it is below 0."""
    if isinstance(index, int):
        return index + extent if index < 0 else index
    if not is_number(x) or (isinstance(x, Vector) and getattr(x, "natural", False)):
        return index
    wide = UNSIGNED.get(index.dtype)
    if wide is None:
        return where(index < 0, index + extent, index)
    return to_dtype(minimum(to_dtype(index, wide), to_dtype(index + extent, wide)), index.dtype)  # one instruction


def spread(coord: tuple[Any, ...], shape: tuple[Any, ...]) -> list[tuple[int | None, ...]]:
    """Return, for each element of `shape`, which element of each vector of indices is its own; None for a number."""
    places = [_places(x, shape) if isinstance(x, Vector) else None for x in coord]
    return [tuple(None if x is None else x[i] for x in places) for i in range(fragments.extent(shape))]


def _places(x: Vector, shape: tuple[Any, ...]) -> list[int]:
    """Return, for each element of `shape`, the index of the element of `x` that broadcasting puts there.

    Of elements that are known to be equal it is the first one's.
    """
    own = fragments.shape_of(x.value)
    own = (*own, *(1,) * (len(shape) - len(own)))
    found, step = [0], 1
    for mine, whole in zip(own, shape, strict=True):
        width = 0 if fragments.extent(mine) == 1 else step
        found = [at + c * width for c in range(fragments.extent(whole)) for at in found]
        step *= fragments.extent(mine)
    return [x.offsets.index(x.offsets[at]) for at in found] if isinstance(x, Places) and x.whole is None else found


@dataclass(frozen=True)
class Captured:
    """A stand-in for an array that a function captured: kernels are compiled for its dtype and rank.

    index    the number of the array among those that the kernel is given
    ndim     0: a number, given as an array of one element
    learned  functions are differentiated by its elements (`lang.learned`)
    """

    index: int
    dtype: str
    ndim: int
    learned: bool = False


@dataclass(frozen=True)
class Holder:
    """A dataclass that holds a function, so that `bound` can replace what the function captures."""

    function: Any


def bound(
    holder: Any, tensors: tuple[Tensor, ...], ends: bool = False, table: Callable[[Captured], Table] | None = None
) -> Any:  # fmt: skip
    """Return a dataclass whose functions have a `Table` of the tensor in place of each `Captured`, or its number.

    table   makes another one than `Table`
    """

    def place(x: Any) -> Any:
        if not isinstance(x, Captured):
            return x
        made = Table(tensors[x.index], ends=ends) if table is None else table(x)
        return made if x.ndim else made[0]

    held = {field.name: getattr(holder, field.name) for field in fields(holder)}
    return replace(holder, **{name: replaced(x, place) for name, x in held.items() if callable(x)})


def replaced(x: Any, place: Callable[[Any], Any], within: tuple[FunctionType, ...] = (), variables: bool = True) -> Any:
    """Return a function whose captured values and globals are what `place` makes of them; itself if they are equal.

    So are its parameters' defaults, functions that it captured, also in tuples and lists, those of its module that it
    calls, and what a `functools.partial` holds. Anything else is what `place` makes of it.

    within     functions that are being replaced: one that calls itself is left as it is
    variables  globals too
    """
    if isinstance(x, partial):
        whole = x.func, x.args, tuple(x.keywords.items())
        made = replaced(whole, place, within, variables)
        return x if made is whole else partial(made[0], *made[1], **dict(made[2]))
    if type(x) in (tuple, list):
        parts = type(x)(replaced(item, place, within, variables) for item in x)
        return x if all(map(operator.is_, x, parts)) else parts
    if not isinstance(x, FunctionType):
        return place(x)
    if any(x is function for function in within):
        return x
    within, held = (*within, x), held_by(x)
    made, known = replaced(held, place, within, variables), {}
    for name, value in globals_of(x) if variables else ():
        if (other := replaced(value, place, within)) is not value:
            known[name] = other
    if not known and made is held:
        return x
    return copied(x, made, _space(x.__globals__, known) if known else None)


def held_by(x: FunctionType) -> tuple[tuple[Any, ...], ...]:
    """Return what a function holds: the contents of its cells, its defaults, and those of named parameters as pairs."""
    return tuple(map(_content, x.__closure__ or ())), x.__defaults__ or (), tuple((x.__kwdefaults__ or {}).items())


class _Unbound:
    """The content of a cell whose variable is not bound, or not yet."""


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _Unbound


def globals_of(x: FunctionType) -> list[tuple[str, Any]]:
    """Return the global variables that a function, or one within it, names, but for functions of other modules."""
    found, module = x.__globals__, x.__module__
    values = [(name, found[name]) for name in dict.fromkeys(names_of(x.__code__)) if name in found]
    return [each for each in values if not isinstance(each[1], FunctionType) or each[1].__module__ == module]


def names_of(code: CodeType) -> Iterator[str]:
    """Yield the names that code has, and that of lambdas, comprehensions and functions within it."""
    yield from code.co_names
    for held in code.co_consts:
        if isinstance(held, CodeType):
            yield from names_of(held)


class _Space(dict[str, Any]):
    """A module's global variables with some of them replaced, which are `known`; `shared`: by functions alike."""

    __slots__ = ("known", "module", "shared")

    def __init__(self, module: dict[str, Any], known: dict[str, Any], shared: bool) -> None:
        super().__init__(module | known)
        self.module, self.known, self.shared = module, known, shared


def _space(names: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Return a module's global variables with some of them replaced.

    Equal arguments give the same dict, with the current values: functions are told apart by their globals. So does one
    replacement after the other what both do at once.
    """
    module, known = (names.module, names.known | known) if isinstance(names, _Space) else (names, known)
    key = key_of(tuple(known.items()))
    space = _Space(module, known, key is not None)
    if key is not None:
        space = first(_spaces, (id(module), key), space)
        space.update(module | space.known)  # the same objects each time: others would be a change of a kernel's source
    return space


def key_of(x: Any) -> Any:
    """Return what tells one replacement from others: of functions what they are made of; None where nothing does."""
    parts: tuple[Any, ...]
    if isinstance(x, FunctionType):
        if isinstance(x.__globals__, _Space) and not x.__globals__.shared:
            return None
        parts = x.__code__, id(x.__globals__), *held_by(x)
    elif isinstance(x, partial):
        parts = x.func, x.args, tuple(x.keywords.items())
    elif isinstance(x, tuple | list):
        parts = tuple(x)
    elif isinstance(x, float):
        return float, repr(x)  # zeros have signs, and a NaN is the same as another
    else:
        apart = isinstance(x, Runtime | Table) or not isinstance(x, Hashable) or hasattr(type(x), "__dlpack__")
        return None if apart else (type(x), x)
    keys = tuple(map(key_of, parts))
    return None if None in keys else (type(x), *keys)


_spaces: dict[Any, _Space] = {}

MOST = 1024
"""What `first` keeps. Behind that the oldest goes, and with it whatever was kept for it."""


def first(known: dict[K, V], key: K, made: V) -> V:
    """Return what was made first for `key`, which is `made` if nothing was, or no longer is known."""
    found = known.setdefault(key, made)
    while len(known) > MOST:
        known.pop(next(iter(known.copy())), None)  # a copy: other threads add to it
    return found


def copied(
    function: FunctionType, held: tuple[tuple[Any, ...], ...], names: dict[str, Any] | None = None
) -> FunctionType:
    """Return a copy of a function that holds something else (`held_by`), in cells of its own.

    names   its global variables, where they are others too
    """
    contents, defaults, named = held
    cells = tuple(CellType() if each is _Unbound else CellType(each) for each in contents)
    known = function.__globals__ if names is None else names
    made = FunctionType(function.__code__, known, function.__name__, defaults or None, cells)
    made.__kwdefaults__ = dict(named) or None
    made.__dict__.update(function.__dict__)
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    return made
