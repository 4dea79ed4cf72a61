"""One call being bound: what its arguments have told so far, and how a mismatch is said.

In    arguments, as the parameters (`parameters.py`, `arrays.py`) take them one by one
Out   `Bound`: an `ArgType` for each parameter, a width for each named dim, and the run-time values in order
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from cutelite.front.types import ArgType
from cutelite.ir.types import I32_DIM_LIMIT, SCALARS, Scalar, TensorMap, i32, i64
from cutelite.lang.annotations import DTypeVar
from cutelite.layout import Dim, DimExpr, dims_of, evaluate
from cutelite_rt import ArrayView, UnreadableArray, read
from cutelite_rt import stream as streams
from cutelite_rt.errors import ArgumentError as ArgumentError
from cutelite_rt.memory import is_array
from cutelite_rt.shapes import MOST_IN_32_BITS

KNOWN_LIBRARIES = frozenset(("torch", "numpy", "cupy", "cutelite_rt"))
"""Their arrays are read without naming a stream: they order their work by their own current one."""


class MapRequest(NamedTuple):
    """A TMA descriptor to encode: for the parameter `name`, of this array, for the tile of this type."""

    name: str
    view: ArrayView
    type: TensorMap


class Bound(NamedTuple):
    """What a call comes to.

    types   parameter -> what the kernel is specialised for
    dims    named dim -> i32 or i64
    wide    block indices need 64 bits: a dim does, or an array has more than 2**30 elements
    token   equal for calls with equal types and widths, and quicker to hash than those
    values  run-time values in the kernel's order: numbers, `ArrayView`s, `MapRequest`s, then the dims
    arrays  (parameter, array) of each array
    """

    types: dict[str, ArgType]
    dims: dict[str, Scalar]
    wide: bool
    token: Hashable
    values: list[Any]
    arrays: list[tuple[str, ArrayView]]


class Parameter(Protocol):
    """One parameter of a kernel, or one field of a struct that is."""

    name: str

    def bind(self, call: Call, argument: Any) -> ArgType:
        """Fit an argument: its type, its value left with `call`. Errors: `ArgumentError`."""
        ...

    def ahead(self, call: Call, example: Any) -> ArgType:
        """The type without an argument, or from an example of one; `MISSING` where there is none."""
        ...


MISSING: Any = object()


class Call:
    """What the arguments bound so far have told: named dims and dtype variables, each with who told it."""

    def __init__(self, kernel: str, arguments: Iterable[Any] = (), stream: int | None = None) -> None:
        self.kernel = kernel
        self.dims: dict[str, tuple[int, str]] = {}  # name -> (value, the parameter that told it)
        self.needed: dict[str, None] = {}  # dims that the types bound so far mention, in order
        self.dtypes: dict[str, tuple[Scalar, str]] = {}
        self.values: list[Any] = []
        self.arrays: list[tuple[str, ArrayView]] = []
        self.token: list[Hashable] = []
        self.wide = False  # an array has too many elements for 32-bit indices
        self._facts: dict[str, Dim] = {}
        self._unsure: dict[str, tuple[int, str]] = {}  # strides of modes of one element, which may be anything
        self._later: list[tuple[DimExpr, int, str, str]] = []  # expressions, to check once every dim is bound
        self._arguments = arguments
        self._stream = stream

    def error(self, name: str, text: str) -> ArgumentError:
        return ArgumentError(f"{self.kernel}(): argument `{name}` {text}")

    def done(self, types: dict[str, ArgType]) -> Bound:
        """All parameters are bound."""
        for name in self.needed:
            if name not in self.dims:
                if name not in self._unsure:
                    raise ArgumentError(
                        f"{self.kernel}(): nothing tells {name}: no argument has it as an extent or stride of its own"
                    )
                self.dims[name] = self._unsure[name]
        for expr, value, name, what in self._later:
            expected = evaluate(expr, {dim: bound for dim, (bound, _) in self.dims.items()})
            if expected != value:
                raise self.error(name, f"has {what}, but {expr} is {expected} ({self._sources(expr)})")
        dims = {name: i64 if self.dims[name][0] > I32_DIM_LIMIT else i32 for name in self.needed}
        self.values += (self.dims[name][0] for name in self.needed)
        names = tuple(name for name, t in dims.items() if t is i64)
        wide = self.wide or bool(names)
        return Bound(types, dims, wide, (*self.token, names) if wide else tuple(self.token), self.values, self.arrays)

    def _sources(self, expr: DimExpr) -> str:
        told = sorted((dim.name, self.dims[dim.name]) for dim in dims_of(expr))
        return ", ".join(f"{name} = {value} from `{source}`" for name, (value, source) in told)

    # What arguments tell.

    def read(self, name: str, argument: Any) -> ArrayView:
        """The array that an argument is."""
        known = type(argument).__module__.partition(".")[0] in KNOWN_LIBRARIES
        try:
            return read(argument) if known else read(argument, self.stream)
        except UnreadableArray as error:
            if is_array(argument):
                raise self.error(name, f"cannot be read: {error}") from None
            raise self.error(name, f"must be an array of torch, CuPy, JAX or NumPy, not {argument!r}") from None

    @property
    def stream(self) -> int | None:
        """Where the launch goes: arrays of libraries known by interface alone make pending work visible there."""
        if self._stream is None:
            self._stream = streams.of(_flat(self._arguments))
        return self._stream

    def holds(self, elements: Any) -> None:
        """An array has so many elements; an expression over dims says nothing yet."""
        if isinstance(elements, int) and elements > MOST_IN_32_BITS:
            self.wide = True

    def dtype(self, name: str, wanted: Scalar | DTypeVar, found: Scalar) -> Scalar:
        """The dtype that an array or number of dtype `found` has in the kernel."""
        if isinstance(wanted, Scalar):
            if wanted is not found and found.name != ("f32" if wanted.name == "tf32" else wanted.name):
                raise self.error(name, f"has dtype {found}, but its annotation says {wanted}")
            return wanted
        if wanted.choices and found not in wanted.choices:
            raise self.error(name, f"has dtype {found}; {wanted} is one of {', '.join(map(str, wanted.choices))}")
        bound, source = self.dtypes.setdefault(wanted.name, (found, name))
        if bound != found:
            raise self.error(name, f"has dtype {found}, but {wanted} is {bound}, from `{source}`")
        return bound

    def extent(self, name: str, wanted: Any, found: tuple[int, ...], mode: int, what: str, sure: bool = True) -> None:
        """Extent or stride (`what`) of `mode` of the array `name`; the annotation has an int, a dim or an expression.

        found  what the array has, for all its modes
        sure   whether it means anything, which the stride of a single element does not
        """
        if isinstance(wanted, Dim):
            self._dim(name, wanted, found, mode, what, sure)
        elif not sure:
            return
        elif isinstance(wanted, DimExpr):
            self._later.append((wanted, found[mode], name, _words(what, mode, found)))
        elif wanted != found[mode]:
            raise self.error(name, f"has {_words(what, mode, found)}, but its annotation says {wanted}")

    def _dim(self, name: str, dim: Dim, found: tuple[int, ...], mode: int, what: str, sure: bool) -> None:
        value = found[mode]
        stated = self._facts.setdefault(dim.name, dim)
        if stated is not dim and stated != dim:
            raise self.error(name, f"uses {dim!r}, which another parameter has as {stated!r}: declare each dim once")
        told = self.dims.get(dim.name)
        if not sure:
            self._unsure.setdefault(dim.name, (value, name))
        elif told is None:
            for problem in _problems(dim, value):
                raise self.error(name, f"has {_words(what, mode, found)}, but {problem}")
            self.dims[dim.name] = (value, name)
        elif told[0] != value:
            raise self.error(name, f"has {_words(what, mode, found)}, but {dim.name} is {told[0]}, from `{told[1]}`")


def _words(what: str, mode: int, found: tuple[int, ...]) -> str:
    return f"{what} {found[mode]}" if len(found) == 1 else f"{what} {found[mode]}, the {_ORDINALS[mode]} of {found}"


_ORDINALS = ("first", "second", "third", "fourth", "fifth", *(f"{n}th" for n in range(6, 65)))


def as_declared(dim: Dim | None, value: int) -> int:
    """The value of a dim that has been bound: itself, but for strides of modes of one element alone, which may be
    anything, the least that the dim may be where it may not be that."""
    if dim is None or not any(_problems(dim, value)):
        return value
    return -(-max(dim.min, 1) // dim.divisible_by) * dim.divisible_by


def _problems(dim: Dim, value: int) -> Iterator[str]:
    """Why a dim cannot have this value."""
    if value % dim.divisible_by:
        yield f"{dim.name} is declared divisible by {dim.divisible_by}"
    if value < 0:
        yield "a dim is never negative: pass a copy"
    if value < dim.min:
        yield f"{dim.name} is at least {dim.min}; if it can be {value}, declare it cl.Dim({dim.name!r}, min={value})"
    if dim.max is not None and value > dim.max:
        yield f"{dim.name} is declared at most {dim.max}"


def _flat(arguments: Iterable[Any]) -> Iterator[Any]:
    """Arguments, and the fields of those that are structs."""
    for argument in arguments:
        if hasattr(argument, "__dict__") and hasattr(type(argument), "__dataclass_fields__"):
            yield from _flat(vars(argument).values())
        elif isinstance(argument, tuple):
            yield from _flat(argument)
        else:
            yield argument


def scalar_of(view: ArrayView) -> Scalar:
    """The dtype of an array's elements."""
    return SCALARS[view.dtype]


def described(arguments: dict[str, Any]) -> str:
    """Arguments in words, arrays by where they lie and how: ``a: f32 (4096,) at 0x7f2e00000000, by: 2.0``."""
    return ", ".join(f"{name}: {_in_words(argument)}" for name, argument in arguments.items())


def _in_words(argument: Any) -> str:
    if is_array(argument):
        view = read(argument)
        return f"{view.dtype} {view.shape} with strides {view.strides} at {view.pointer:#x}"
    return repr(argument)
