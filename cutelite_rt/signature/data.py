"""A kernel's signature as data: what its parameters take, in values that are frozen, compared, and JSON in files.

In    annotations, written down by `cutelite.dispatch.contract`, or JSON that `plain` made
Out   `Signature`, which `table` lays out for the compiled launcher

Names and words come from annotations; no object of the compiler is held here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, TypeAlias


class Unsupported(Exception):
    """A signature that no launcher is made for: every launch of it is an error, or Python's."""


Tree: TypeAlias = "int | str | tuple[Any, ...]"
"""An int, the name of a dim, or (operation, tree, tree) with operations add sub mul floordiv ceil_div mod min max."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression over dims: in words, and as a tree."""

    text: str
    tree: Tree


Expr: TypeAlias = int | str | Expression
"""An extent or stride: a number, the name of a dim, or an expression over dims."""


@dataclass(frozen=True, slots=True)
class Dim:
    """A named extent, and the values that it may have: multiples of `divisible_by` from `min` to `max`."""

    name: str
    divisible_by: int = 1
    min: int = 1
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """A dtype that arguments decide: one of `choices`, or any where there are none."""

    name: str
    choices: tuple[str, ...] = ()


DType: TypeAlias = str | Variable
"""A code of `dtype.DTYPES`, or a variable."""


@dataclass(frozen=True, slots=True)
class Strided:
    """Modes by extents and strides; without strides they are compact, in 'row' or 'col' major order."""

    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...] | None = None
    order: str = "row"


@dataclass(frozen=True, slots=True)
class Nested:
    """A layout of nested modes, which describes flat, compact memory of at least `cosize` elements."""

    layout: str
    cosize: int


@dataclass(frozen=True, slots=True)
class Array:
    """An array.

    says    its annotation in words
    align   bytes that its address is a multiple of; None: of an element, and 16 is another specialisation
    mapped  it goes as a tensor map, not as an address
    """

    name: str
    says: str
    dtype: DType
    layout: Strided | Nested
    align: int | None = None
    mapped: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Constant:
    """A compile-time constant: each value is another specialisation."""

    name: str


@dataclass(frozen=True, slots=True)
class Struct:
    """An object with fields, which are parameters; `cls` is the name of its class."""

    name: str
    cls: str
    fields: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Optional:
    """A parameter that may be None."""

    name: str
    given: Parameter


Parameter: TypeAlias = Array | Number | Constant | Struct | Optional


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a kernel.

    positional, position_only  how many may, and must, be given by position
    dims                       that extents, strides and the grid mention
    grid                       blocks of a launch that does not say; None where each launch says
    """

    kernel: str
    parameters: tuple[Parameter, ...]
    positional: int
    position_only: int = 0
    dims: tuple[Dim, ...] = ()
    grid: tuple[Expr, ...] | None = None


def dims_of(expr: Expr | Tree) -> Iterator[str]:
    """Names of the dims in an expression, as often as they occur."""
    match expr:
        case Expression():
            yield from dims_of(expr.tree)
        case str():
            yield expr
        case tuple():
            for operand in expr[1:]:
                yield from dims_of(operand)


# JSON.

_KINDS = {
    cls.__name__.lower(): cls
    for cls in (Expression, Dim, Variable, Strided, Nested, Array, Number, Constant, Struct, Optional, Signature)
}


def plain(x: Any) -> Any:
    """A signature, or a part of one, as JSON has it."""
    if isinstance(x, tuple):
        return [plain(item) for item in x]
    kind = type(x).__name__.lower()
    if kind not in _KINDS:
        return x
    return {"kind": kind} | {field.name: plain(getattr(x, field.name)) for field in fields(x)}


def parsed(x: Any) -> Any:
    """What `plain` made JSON of. Errors: KeyError, TypeError for what it did not."""
    if isinstance(x, list):
        return tuple(parsed(item) for item in x)
    if not isinstance(x, dict):
        return x
    return _KINDS[x["kind"]](**{name: parsed(value) for name, value in x.items() if name != "kind"})
