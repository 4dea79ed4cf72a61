"""A kernel's signature as data: what its parameters take, in values that are frozen, compared, and JSON in files.

In    annotations, which `cutelite.dispatch.contract` writes down, or JSON that `plain` made
Out   `Signature`: `bind` checks arguments by it and says what is wrong, `table` lays it out for the compiled launcher

A signature is open or settled. An open one is a live kernel's: dtype variables, alignments and constants are decided by
arguments. A settled one is of code that is compiled: all alignments are given, and there is no `Variable`,
`Constant` or `Optional`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias


class Unsupported(Exception):
    """A signature that no launcher is made for: every launch of it is an error, or Python's."""


class Dim(NamedTuple):
    """A named extent, and the values that it may have: multiples of `divisible_by` from `min` to `max`."""

    name: str
    divisible_by: int = 1
    min: int = 1
    max: int | None = None

    def __str__(self) -> str:
        facts = f"div={self.divisible_by}" * (self.divisible_by != 1), f"min={self.min}" * (self.min != 1)
        said = ",".join(filter(None, (*facts, "" if self.max is None else f"max={self.max}")))
        return f"{self.name}{{{said}}}" if said else self.name


Tree: TypeAlias = int | Dim | tuple[Any, ...]
"""An int, a dim, or (operation, tree, tree) with an operation of `OPERATIONS`."""


class Expression(NamedTuple):
    """An expression over dims: in words, and as a tree."""

    text: str
    tree: Tree


Expr: TypeAlias = int | Dim | Expression
"""An extent or stride: a number, a dim, or an expression over dims."""

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "ceil_div": lambda a, b: -(-a // b),
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
}


class Variable(NamedTuple):
    """A dtype that arguments decide: one of `choices`, or any where there are none."""

    name: str
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


DType: TypeAlias = str | Variable
"""A code of `dtype.DTYPES`, or a variable."""


class Strided(NamedTuple):
    """Modes by extents and strides; without strides they are compact, in 'row' or 'col' major order."""

    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...] | None = None
    order: str = "row"


class Nested(NamedTuple):
    """A layout of nested modes, which describes flat, compact memory of at least `cosize` elements.

    cosize  None for one over dims, which no array fits
    """

    layout: str
    cosize: int | None


class Box(NamedTuple):
    """The tile that a tensor map of an array is for: its extents of a tile, and its swizzle ('auto': by the dtype)."""

    extents: tuple[int, ...]
    swizzle: str


class Array(NamedTuple):
    """An array.

    says   its annotation in words
    align  bytes that its address is a multiple of; None: of an element, and 16 is another specialisation
    box    it goes as a tensor map for this, not as an address
    """

    name: str
    says: str
    dtype: DType
    layout: Strided | Nested
    align: int | None = None
    box: Box | None = None


class Number(NamedTuple):
    """A number."""

    name: str
    dtype: DType


class Pointer(NamedTuple):
    """An address of elements of `dtype`, a multiple of `align` bytes; `says` its annotation in words."""

    name: str
    says: str
    dtype: str
    align: int


class Constant(NamedTuple):
    """A compile-time constant: each value is another specialisation."""

    name: str


class Fixed(NamedTuple):
    """A constant that is compiled in; `opaque` has words for what is no plain data."""

    name: str
    value: Any
    opaque: str | None = None


class Absent(NamedTuple):
    """A parameter that may be None, and is."""

    name: str


class Struct(NamedTuple):
    """An object with fields, which are parameters called 'name.field'; `cls` is the name of its class."""

    name: str
    cls: str
    fields: tuple[Any, ...]


class Sequence(NamedTuple):
    """A tuple or list of that many items, which are parameters called 'name.0', 'name.1'."""

    name: str
    says: str
    items: tuple[Any, ...]


class Optional(NamedTuple):
    """A parameter that may be None."""

    name: str
    given: Any


Parameter: TypeAlias = Array | Number | Pointer | Constant | Fixed | Absent | Struct | Sequence | Optional


class Signature(NamedTuple):
    """The parameters of a kernel.

    positional, position_only  how many may, and must, be given by position
    dims                       that extents and strides mention
    grid                       blocks of a launch that does not say; None where each launch says
    """

    kernel: str
    parameters: tuple[Parameter, ...]
    positional: int
    position_only: int = 0
    dims: tuple[Dim, ...] = ()
    grid: tuple[Expr, ...] | None = None


# Dims.


def dims_of(expr: Expr | Tree) -> Iterator[Dim]:
    """The dims in an expression, as often as they occur."""
    if isinstance(expr, Expression):
        expr = expr.tree
    if isinstance(expr, Dim):
        yield expr
    elif isinstance(expr, tuple):
        for operand in expr[1:]:
            yield from dims_of(operand)


def declared(parameters: Iterable[Parameter]) -> tuple[Dim, ...]:
    """The dims of all arrays, once each. Errors: `Unsupported` where one is declared in two ways."""
    found: dict[str, Dim] = {}
    for array in (leaf for parameter in parameters for leaf in leaves(parameter) if isinstance(leaf, Array)):
        layout = array.layout
        exprs = (*layout.shape, *(layout.strides or ())) if isinstance(layout, Strided) else ()
        for dim in (dim for expr in exprs for dim in dims_of(expr)):
            if found.setdefault(dim.name, dim) != dim:
                raise Unsupported(f"{dim.name} is declared in two ways")
    return tuple(found.values())


def leaves(parameter: Parameter) -> Iterator[Array | Number | Pointer]:
    """The arrays, numbers and pointers within a parameter, in the kernel's order."""
    match parameter:
        case Struct():
            for field in parameter.fields:
                yield from leaves(field)
        case Sequence():
            for item in parameter.items:
                yield from leaves(item)
        case Optional():
            yield from leaves(parameter.given)
        case Array() | Number() | Pointer():
            yield parameter


def evaluate(expr: Expr | Tree, dims: dict[str, int]) -> int:
    """The value of an expression."""
    if isinstance(expr, int):
        return expr
    if isinstance(expr, Dim):
        return dims[expr.name]
    if isinstance(expr, Expression):
        return evaluate(expr.tree, dims)
    operation, *operands = expr
    return OPERATIONS[operation](*(evaluate(operand, dims) for operand in operands))


# JSON.

_KINDS: dict[str, Any] = {
    cls.__name__.lower(): cls
    for cls in (
        *(Dim, Expression, Variable, Strided, Nested, Box),
        *(Array, Number, Pointer, Constant, Fixed, Absent, Struct, Sequence, Optional, Signature),
    )
}


def plain(x: Any) -> Any:
    """A signature, or a part of one, as JSON has it."""
    if not isinstance(x, tuple):
        return x
    kind = type(x).__name__.lower()
    if kind not in _KINDS:
        return [plain(item) for item in x]
    return {"kind": kind} | {name: plain(value) for name, value in zip(x._fields, x, strict=True)}  # type: ignore[attr-defined]


def parsed(x: Any) -> Any:
    """Return what `plain` made JSON of. Errors: KeyError, TypeError for what it did not."""
    if isinstance(x, list):
        return tuple(parsed(item) for item in x)
    if not isinstance(x, dict):
        return x
    return _KINDS[x["kind"]](**{name: parsed(value) for name, value in x.items() if name != "kind"})
