"""PTX in a kernel, for what has no intrinsic."""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import Type
from cutelite.lang.address import address
from cutelite.lang.emit import emit
from cutelite.lang.promotion import as_value
from cutelite.lang.tensor import Tensor
from cutelite.ops import asm as ops


def inline_ptx(
    template: str, out: Type | tuple[Type, ...] = (), *, pure: bool = False, memory: bool = True, **inputs: Any
) -> Any:
    """Execute PTX: ``cl.inline_ptx("prmt.b32 $out, $a, $b, 0x5410;", cl.u32, a=x, b=y, pure=True)``.

    template   `$name` is the register of the input of that name; of a vector, all its registers in braces, and
               `$name.2` its third. `$out` is the result, `$out0` and so on are several; `$$` is a dollar sign.
               Registers and labels of its own go in a scope of their own: ``{ .reg .b32 t; ... }``
    out        the type of the result, or a tuple of types
    pure       it only computes: equal ones may become one, and it may go if the result is not used
    memory     it reads or writes memory: other accesses keep their side of it
    inputs     numbers, vectors, pointers, and tensors (the address of the first element). 8-bit numbers come in 16-bit
               registers
    Result     that of `out`: a number, a tuple, or None
    Errors     `asm` where template, inputs and results do not fit together; ptxas finds what is wrong with the PTX.
               The simulator cannot execute it
    """
    outs = out if isinstance(out, tuple) else (out,)
    values = tuple(address(x) if isinstance(x, Tensor) else as_value(x) for x in inputs.values())
    return emit(ops.InlinePtx(template, tuple(inputs), values, outs, pure, memory))
