"""Named run-time extents, and integer expressions over them in one normal form.

In: names and arithmetic (``M * 8 + 3``, ``ceil_div(K, 64)``). Out: an int when the result is known, else a `DimExpr`
that is immutable, hashable, and equal to another exactly when both have the same normal form.

    atoms        Dim, DimExpr, Node: the values       division   // and %, by rules
    normal_form  sums and products                    bounds     bounds, minimum and maximum

Division is Python's (towards minus infinity), so every identity used here holds for all integers.
"""

from cutelite.layout.dims.atoms import Atom, Dim, DimExpr, Int, Monomial, Node, Operators, dims
from cutelite.layout.dims.bounds import bounds, maximum, minimum
from cutelite.layout.dims.division import ceil_div_dims, floordiv, mod, split_multiples
from cutelite.layout.dims.normal_form import add, from_terms, mul

DimExpr.operators = Operators(add, mul, floordiv, mod, from_terms)

__all__ = [
    "Atom", "Dim", "DimExpr", "Int", "Monomial", "Node", "add", "bounds", "ceil_div_dims", "dims", "floordiv",
    "from_terms", "maximum", "minimum", "mod", "mul", "split_multiples",
]  # fmt: skip
