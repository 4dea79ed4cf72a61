"""Annotations as data: requirements on arguments, without the compiler's objects.

In    specs of annotations (`cutelite.lang.annotations`)
Out   objects of `cutelite_rt.signature.data`, by which arguments are bound. Dtype variables and alignments stay open
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import Scalar
from cutelite.lang.annotations import DTypeVar, TensorSpec
from cutelite.layout import Dim, DimExpr, Layout
from cutelite.layout.expr import text, tree
from cutelite_rt.signature import data


def layout(spec: TensorSpec, layout: Layout) -> data.Strided | data.Nested:
    """Return the layout that an annotation requires of an array."""
    shape, stride = (modes if isinstance(modes, tuple) else (modes,) for modes in (layout.shape, layout.stride))
    if any(isinstance(extent, tuple) for extent in shape):
        cosize = layout.cosize
        return data.Nested(str(layout), None if isinstance(cosize, DimExpr) else cosize)
    strides = None if spec.stride is None else tuple(map(expr, stride))
    return data.Strided(tuple(map(expr, shape)), strides, "row" if spec.order == "row" else "col")


def dtype(wanted: Scalar | DTypeVar) -> data.DType:
    """Return a dtype by its name, or a variable that arguments decide."""
    if isinstance(wanted, Scalar):
        return wanted.name
    return data.Variable(wanted.name, tuple(choice.name for choice in wanted.choices or ()))


def dim(x: Dim) -> data.Dim:
    """Return a named extent, with its bounds and divisor."""
    return data.Dim(x.name, x.divisible_by, x.min, x.max)


def expr(x: Any) -> data.Expr:
    """Return an extent or stride: an int, a dim or an expression over dims."""
    if isinstance(x, Dim):
        return dim(x)
    return data.Expression(text(x), _plain(tree(x))) if isinstance(x, DimExpr) else int(x)


def _plain(node: tuple[Any, ...]) -> data.Tree:
    operation, *operands = node
    if operation == "const":
        return int(operands[0])
    return expr(operands[0]) if operation == "dim" else (operation, *map(_plain, operands))
