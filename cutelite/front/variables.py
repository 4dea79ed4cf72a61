"""Variables of the user's functions, kept where a debugger on a GPU finds them: what the option `debug` asks for.

In    an assignment, or the parameters of a function that is being called
Out   an op `variable` with the numbers, pointers and tensors that the variable holds, alone or within a tuple or object

Not kept: variables of cutelite's own library and of comprehensions, functions, texts, and what is in flight, which must
not be read before its wait.
"""

from __future__ import annotations

from typing import Any

from cutelite.diag import Span
from cutelite.diag.span import LIBRARY
from cutelite.front import tree
from cutelite.front.closure import Closure
from cutelite.front.instructions import Bytecode
from cutelite.ir.builder import Builder
from cutelite.ir.function import Value
from cutelite.lang.emit import Runtime
from cutelite.lang.promotion import as_value
from cutelite.layout import DimExpr
from cutelite.ops.debug import Variable, shown

MOST = 64
"""Parts of a variable that are kept; larger containers, mostly tables known at compile time, are not."""


def keep(builder: Builder, code: Bytecode, name: str, held: Any) -> None:
    """Keep what `name`, a local of `code`, holds from here on."""
    if "." in name or code.pycode.co_filename.startswith(LIBRARY) or isinstance(held, Closure):
        return
    leaves: list[Any] = []
    structure = tree.flatten(held, leaves)
    if len(leaves) > MOST:
        return
    values = {number: value for number, leaf in enumerate(leaves) if (value := _value(leaf)) is not None}
    if values:
        parts = tuple(tree.leaf_name(structure, number) for number in values)
        builder.emit(Variable(name, parts, tuple(values.values())))


def keep_parameters(builder: Builder, code: Bytecode, bound: dict[str, Any], call: Span | None) -> None:
    """Keep the parameters of a function that begins, as it was called at `call`."""
    before = builder.span
    builder.span = code.span.first_line().inlined_at(call)
    for name, held in bound.items():
        keep(builder, code, name, held)
    builder.span = before


def _value(leaf: Any) -> Value | None:
    """Return the value of a leaf; None for one that a debugger cannot show."""
    if isinstance(leaf, Runtime):
        return leaf.value if shown(leaf.value.type) else None
    if isinstance(leaf, int) and not -(1 << 63) <= leaf < 1 << 63:
        return None
    return as_value(leaf) if isinstance(leaf, int | float | DimExpr) else None
