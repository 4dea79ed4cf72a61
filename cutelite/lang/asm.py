"""Inline PTX, for instructions that have no intrinsic: `lib/extern.py` has the public function."""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import Type
from cutelite.lang.address import address
from cutelite.lang.emit import builder_here, describe, mistake
from cutelite.lang.promotion import as_value
from cutelite.lang.tensor import Tensor
from cutelite.ops import asm as ops


def inline_ptx_op(
    template: str, out: Type | tuple[Type, ...], pure: bool, memory: bool, inputs: dict[str, Any]
) -> ops.InlinePtx:
    """Return the op of `cl.inline_ptx`, checked."""
    outs = out if isinstance(out, tuple) else (out,)
    for one in outs:
        if not isinstance(one, Type):
            help = "`out` is the type of the result; inputs are named, as in `a=x`"
            raise mistake("asm", f"inline PTX gives numbers and vectors, not {describe(one)}", help=help)
    values = tuple(address(x) if isinstance(x, Tensor) else as_value(x) for x in inputs.values())
    made = ops.InlinePtx(template, tuple(inputs), values, outs, pure, memory)
    builder_here("`inline_ptx`").check(made)
    return made
