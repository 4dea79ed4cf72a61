"""The data that signatures consist of: dims, expressions over them, dtypes, layouts. Frozen; stored in files as JSON.

In    annotations, converted by `cutelite.dispatch.contract`; or JSON that `plain` made
Out   the values that kinds of parameters (`kinds`) consist of

The annotation of a field says which values a file may have there (`export.format`): a `Name`, a `Code`, a `Count`.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar

Name: TypeAlias = Annotated[str, "name"]
"""A Python name; items of tuples and lists are called 'x.0', fields of structs 'x.field'."""

Code: TypeAlias = Annotated[str, "dtype"]
"""A code of `dtype.DTYPES`."""

Count: TypeAlias = Annotated[int, range(1 << 63)]
Positive: TypeAlias = Annotated[int, range(1, 1 << 63)]


class Unsupported(Exception):
    """Raised for a signature without a compiled launcher: Python launches, or raises an error."""


KINDS: dict[str, Any] = {}
"""Name in JSON -> class of the values that signatures consist of."""

Class = TypeVar("Class", bound=type)


def kind(cls: Class) -> Class:
    """Decorator: allow values of this NamedTuple in files, under its name in lower case."""
    KINDS[cls.__name__.lower()] = cls
    return cls


@kind
class Dim(NamedTuple):
    """A named extent, and the values that it may have: multiples of `divisible_by` from `min` to `max`."""

    name: Name
    divisible_by: Positive = 1
    min: Count = 1
    max: Count | None = None

    def __str__(self) -> str:
        facts = f"div={self.divisible_by}" * (self.divisible_by != 1), f"min={self.min}" * (self.min != 1)
        said = ",".join(filter(None, (*facts, "" if self.max is None else f"max={self.max}")))
        return f"{self.name}{{{said}}}" if said else self.name


Tree: TypeAlias = int | Dim | tuple[Any, ...]
"""An int, a dim, or (operation, tree, tree) with an operation of `OPERATIONS`."""


@kind
class Expression(NamedTuple):
    """An expression over dims: as text, and as a tree."""

    text: str
    tree: Tree

    def misfits(self) -> Iterator[tuple[str, str]]:
        """See `kinds.Parameter`."""
        if not _is_tree(self.tree, 0):
            yield "tree", "an expression over dims"


MOST_DEPTH = 100
"""The most levels of operations, and of structs, in a file."""

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


def _is_tree(tree: Any, depth: int) -> bool:
    if isinstance(tree, Dim) or (type(tree) is int and -(1 << 63) <= tree < 1 << 63):
        return True
    if type(tree) is not tuple or len(tree) != 3 or not isinstance(tree[0], str) or depth == MOST_DEPTH:
        return False
    operation, a, b = tree
    divides = operation in ("floordiv", "ceil_div", "mod")
    if operation not in OPERATIONS or (divides and not (type(b) is int and 1 <= b < 1 << 63)):
        return False
    return _is_tree(a, depth + 1) and _is_tree(b, depth + 1)


@kind
class Variable(NamedTuple):
    """A dtype that arguments decide: one of `choices`, or any where there are none."""

    name: Name
    choices: tuple[Code, ...] = ()

    def __str__(self) -> str:
        return self.name


DType: TypeAlias = Code | Variable


@kind
class Strided(NamedTuple):
    """A layout by extents and strides; without strides it is compact, in 'row' or 'col' major order."""

    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...] | None = None
    order: Literal["row", "col"] = "row"

    def misfits(self) -> Iterator[tuple[str, str]]:
        """See `kinds.Parameter`."""
        if len(self.shape) > MOST_MODES:
            yield "shape", f"up to {MOST_MODES} modes"
        if self.strides is not None and len(self.strides) != len(self.shape):
            yield "strides", f"one stride for each of {len(self.shape)} modes"


MOST_MODES = 64


@kind
class Nested(NamedTuple):
    """A layout of nested modes, which describes flat, compact memory of at least `cosize` elements.

    cosize  None for a layout with dims, which no array fits
    """

    layout: str
    cosize: Count | None

    def misfits(self) -> Iterator[tuple[str, str]]:
        """See `kinds.Parameter`."""
        if self.cosize is None:
            yield "cosize", "a number"


@kind
class Box(NamedTuple):
    """The box of a tensor map: its extents, and its swizzle ('auto': by the dtype).

    corners  for an im2col map, whose extents are pixels and channels, as in `gpu.tensormap.Tiling`; else ()
    """

    extents: tuple[Annotated[int, range(1, 1025)], ...]
    swizzle: str
    corners: tuple[Annotated[int, range(-(1 << 15), 1 << 15)], ...] = ()


# Dims.


def dims_of(expr: Expr | Tree) -> Iterator[Dim]:
    """Yield the dims in an expression, as often as they occur."""
    if isinstance(expr, Expression):
        expr = expr.tree
    if isinstance(expr, Dim):
        yield expr
    elif isinstance(expr, tuple):
        for operand in expr[1:]:
            yield from dims_of(operand)


def evaluate(expr: Expr | Tree, dims: dict[str, int]) -> int:
    """Return the value of an expression."""
    if isinstance(expr, int):
        return expr
    if isinstance(expr, Dim):
        return dims[expr.name]
    if isinstance(expr, Expression):
        return evaluate(expr.tree, dims)
    operation, *operands = expr
    return OPERATIONS[operation](*(evaluate(operand, dims) for operand in operands))


# JSON.


def plain(x: Any) -> Any:
    """Return a signature, or a part of one, as data for JSON."""
    if not isinstance(x, tuple):
        return x
    name = type(x).__name__.lower()
    if name not in KINDS:
        return [plain(item) for item in x]
    return {"kind": name} | {field: plain(value) for field, value in zip(x._fields, x, strict=True)}  # type: ignore[attr-defined]


def parsed(x: Any) -> Any:
    """Return the signature from which `plain` made this data. Errors: ValueError for other data."""
    if isinstance(x, list):
        return tuple(parsed(item) for item in x)
    if not isinstance(x, dict):
        return x
    cls = KINDS.get(str(x.get("kind")))
    if cls is None:
        raise ValueError(f"there is no kind {x.get('kind')!r}")
    fields = {name: parsed(value) for name, value in x.items() if name != "kind"}
    missing = [name for name in cls._fields if name not in fields and name not in cls._field_defaults]
    unknown = [name for name in fields if name not in cls._fields]
    if missing or unknown:
        raise ValueError(f"{x['kind']} {'lacks' if missing else 'has no'} {(missing or unknown)[0]!r}")
    return cls(**fields)
