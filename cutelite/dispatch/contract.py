"""A kernel's signature as data: what its annotations say, without the compiler's objects.

In    `Signature`, whose parameters annotations made
Out   `cutelite_rt.signature.data.Signature`; dtype variables and alignments are left open in it
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cutelite.dispatch.arguments import Parameter
from cutelite.dispatch.arrays import TensorParameter, TmaParameter
from cutelite.dispatch.parameters import ConstantParameter, OptionalParameter, ScalarParameter, StructParameter
from cutelite.dispatch.signature import Signature
from cutelite.ir.types import Scalar
from cutelite.lang.annotations import DTypeVar
from cutelite.layout import Dim, DimExpr, dims_of
from cutelite.layout.expr import text, tree
from cutelite_rt.signature import data
from cutelite_rt.signature.data import Unsupported


def of(signature: Signature, skip: int = 0, grid: Sequence[Any] | None = None) -> data.Signature:
    """A signature as data.

    skip    parameters to leave out at the front
    grid    blocks of a launch that does not say: ints and expressions over dims
    Errors  `Unsupported` where a parameter has no annotation, or says what no launcher can check
    """
    writer = _Writer()
    parameters = tuple(writer.parameter(parameter) for parameter in signature.parameters[skip:])
    return data.Signature(
        signature.kernel,
        parameters,
        len(signature.positional) - skip,
        max(0, len(signature.position_only) - skip),
        tuple(data.Dim(d.name, d.divisible_by, d.min, d.max) for d in writer.dims.values()),
        None if grid is None else tuple(map(expr, grid)),
    )


def classes(signature: Signature) -> dict[str, type]:
    """Classes of the structs among the parameters and their fields, by name: 'a', 'a.b'."""
    return dict(pair for parameter in signature.parameters for pair in _classes(parameter))


def _classes(parameter: Parameter) -> Iterator[tuple[str, type]]:
    match parameter:
        case OptionalParameter():
            yield from _classes(parameter.given)
        case StructParameter():
            yield parameter.name, parameter.cls
            for of in parameter.fields.values():
                yield from _classes(of)


class _Writer:
    """Writes parameters down, and remembers the dims that they mention."""

    def __init__(self) -> None:
        self.dims: dict[str, Dim] = {}

    def parameter(self, parameter: Parameter) -> data.Parameter:
        name = parameter.name
        match parameter:
            case TensorParameter():
                spec = parameter.spec
                return data.Array(name, repr(spec), _dtype(spec.dtype), self.layout(parameter), spec.align)
            case TmaParameter():
                dtype = _dtype(parameter.spec.tensor.dtype)
                return data.Array(name, repr(parameter.spec), dtype, self.layout(parameter), mapped=True)
            case ScalarParameter():
                return data.Number(name, _dtype(parameter.wanted))
            case ConstantParameter():
                return data.Constant(name)
            case StructParameter():
                fields = tuple(map(self.parameter, parameter.fields.values()))
                return data.Struct(name, parameter.cls.__name__, fields)
            case OptionalParameter():
                return data.Optional(name, self.parameter(parameter.given))
        raise Unsupported(f"`{name}` has no annotation")

    def layout(self, parameter: TensorParameter | TmaParameter) -> data.Strided | data.Nested:
        wanted = parameter._extents
        if wanted.nested:
            cosize = wanted.layout.cosize
            if isinstance(cosize, DimExpr):
                raise Unsupported(f"`{wanted.name}` has nested modes of extents that are not known")
            return data.Nested(str(wanted.layout), cosize)
        strides = None if wanted.spec.stride is None else tuple(map(self.expr, wanted.stride))
        return data.Strided(tuple(map(self.expr, wanted.shape)), strides, wanted.spec.order)

    def expr(self, x: Any) -> data.Expr:
        """An extent or stride; the dims in it are declared."""
        for dim in sorted(dims_of(x), key=lambda dim: dim.name):
            if self.dims.setdefault(dim.name, dim) != dim:
                raise Unsupported(f"{dim.name} is declared in two ways")
        return expr(x)


def _dtype(wanted: Scalar | DTypeVar) -> data.DType:
    if isinstance(wanted, Scalar):
        return wanted.name
    return data.Variable(wanted.name, tuple(choice.name for choice in wanted.choices or ()))


def expr(x: Any) -> data.Expr:
    """An int, or an expression over dims, as data."""
    if isinstance(x, Dim):
        return x.name
    return data.Expression(text(x), _plain(tree(x))) if isinstance(x, DimExpr) else int(x)


def _plain(node: tuple[Any, ...]) -> data.Tree:
    operation, *operands = node
    if operation == "const":
        return int(operands[0])
    return str(operands[0].name) if operation == "dim" else (operation, *map(_plain, operands))
