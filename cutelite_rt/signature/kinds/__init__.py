"""The kinds of parameters, one class each, and signatures, which consist of them.

base      the protocol of a kind                       array        arrays, by address or for TMA
number    numbers and addresses                        constant     constants, and what may be None
several   structs, tuples, lists

A signature is open or settled. An open one is a live kernel's: arguments decide dtype variables, alignments and
constants. A settled one is of compiled code: all alignments are given, and no `Variable`, `Constant` or `Optional` is
left.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cutelite_rt.signature.data import Count, Dim, Expr, Name, Strided, Unsupported, dims_of, kind
from cutelite_rt.signature.kinds.array import Array
from cutelite_rt.signature.kinds.base import ALWAYS, C, Held, Leaf, Parameter, Rows, left_out
from cutelite_rt.signature.kinds.constant import LEFT_OUT, Absent, Constant, Fixed, Optional
from cutelite_rt.signature.kinds.number import KIND, Number, Pointer
from cutelite_rt.signature.kinds.several import Sequence, Struct, items

__all__ = [
    "ALWAYS", "KIND", "LEFT_OUT", "Absent", "Array", "C", "Constant", "Dim", "Fixed", "Held", "Leaf", "Number",
    "Optional", "Parameter", "Pointer", "Rows", "Sequence", "Signature", "Struct", "declared", "items", "left_out",
    "mentioned",
]  # fmt: skip


@kind
class Signature(NamedTuple):
    """The parameters of a kernel.

    positional, position_only  how many parameters may, and how many must, be given by position
    dims                       the dims in extents and strides
    grid                       the grid of launches that give none; None where each launch must give one
    text                       the parameters in words
    wide_dims, wide            if settled: the dims of 64 bits; whether block indices have 64 bits
    """

    kernel: Name
    parameters: tuple[Parameter, ...]
    positional: Count
    position_only: Count = 0
    dims: tuple[Dim, ...] = ()
    grid: tuple[Expr, ...] | None = None
    text: str = ""
    wide_dims: tuple[Name, ...] = ()
    wide: bool = False

    def leaves(self) -> list[Leaf]:
        """Return the leaves of all parameters, in the kernel's order."""
        return [leaf for parameter in self.parameters for leaf in parameter.leaves()]

    def packs_as(self) -> list[str]:
        """Return the kinds (`gpu.params`) of the kernel's parameters: leaves, then dims. For a settled signature."""
        dims = ("i64" if dim.name in self.wide_dims else "i32" for dim in self.dims)
        return [*(leaf.packs_as for leaf in self.leaves()), *dims]


def mentioned(parameters: Iterable[Parameter]) -> list[tuple[str, Dim]]:
    """Return (array, dim) for each occurrence of a dim in an array's layout."""
    found = []
    for leaf in (leaf for parameter in parameters for leaf in parameter.leaves()):
        layout = leaf.layout if isinstance(leaf, Array) else None
        exprs = (*layout.shape, *(layout.strides or ())) if isinstance(layout, Strided) else ()
        found += [(leaf.name, dim) for expr in exprs for dim in dims_of(expr)]
    return found


def declared(parameters: Iterable[Parameter]) -> tuple[Dim, ...]:
    """Return the dims of all arrays, once each. Errors: `Unsupported` where one is declared in two ways."""
    found: dict[str, Dim] = {}
    for _, dim in mentioned(parameters):
        if found.setdefault(dim.name, dim) != dim:
            raise Unsupported(f"{dim.name} is declared in two ways")
    return tuple(found.values())
