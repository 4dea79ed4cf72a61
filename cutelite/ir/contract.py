"""The parts of an op's declaration besides its types: effects, problems, its PTX or LLVM spelling, and NumPy.

All of it is plain data, so ops do not know LLVM, and `lower` need not know any op.
"""

from __future__ import annotations

import importlib
from enum import Flag, auto
from functools import cache
from typing import TYPE_CHECKING, Any

from cutelite.ir.types import Scalar, Type
from cutelite.tuples import NamedTuple

if TYPE_CHECKING:
    import numpy

    np = numpy
else:

    class _Lazy:
        """NumPy, imported when a simulator step first needs it: compiling alone does not load it."""

        def __getattr__(self, name: str) -> Any:
            value = getattr(importlib.import_module("numpy"), name)
            setattr(self, name, value)  # the next use finds it at once
            return value

    np = _Lazy()


class Effect(Flag):
    """The effects of executing an op besides its results. An op without effects may be dropped, merged and moved."""

    PURE = 0
    READS = auto()  # reads memory through an address or tensor operand (generic proxy)
    WRITES = auto()  # writes memory through one
    ASYNC = auto()  # starts work that goes on after the op (async proxy or cp.async)
    ORDERS = auto()  # barrier, fence or wait: no memory access moves across it
    CONVERGENT = auto()  # its threads execute it together: it must not move under other control flow
    HOST_VISIBLE = auto()  # printf, trap
    UNMERGEABLE = auto()  # reads something that changes by itself (clock), or allocates


class Problem(NamedTuple):
    """A problem of an op: the field at fault ('' if none), what is wrong, and what would be right."""

    field: str
    message: str
    help: str = ""


class Ptx(NamedTuple):
    """Inline assembly, as plain data; `lower` numbers the registers and writes the constraints.

    template  PTX with `$field` for an operand's register (a braced list of registers for a vector), `$field.2`
              for its third register, `$out`, `$out0`... for results, `${field}` for a compile-time constant; the
              registers of a `tuple[Value, ...]` are numbered through. 8-bit numbers travel in 16-bit registers
    tied      operands whose registers become the results, in the order of the results
    pure      no side effect that the types do not show: the compiler may merge or drop it
    memory    it reads or writes memory, so LLVM must not move memory accesses across it
    group     for an elementwise op: elements of each vector operand that one copy of the template takes; `lower`
              repeats it, filling up the last copy with zeros (a scalar is a vector of one)
    packed    operands, and 'out', whose 8- or 16-bit elements come several to a register, the first one lowest:
              those of a group, else of the whole vector, in registers of at most 32 bits
    held      operands that registers hold until here, though the template does not name them
    """

    template: str
    tied: tuple[str, ...] = ()
    pure: bool = False
    memory: bool = True
    group: int = 1
    packed: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


class Llvm(NamedTuple):
    """LLVM instructions, as plain text, written for one scalar; `lower` repeats them for each element of vectors.

    body      lines with `$field` (an operand's value), `$field:type` (its LLVM type), `$field:suffix` (as it ends the
              name of an intrinsic), `$out`, `$out:type`, `$.name` (a fresh temporary), `${field}` for a constant,
              `$contract` where a multiply and an add may fuse. ``$out = $a`` alone makes the result another name
    declares  the external functions that it calls, as LLVM declarations
    group     elements of each vector operand that one copy of the body takes; more than one come as an LLVM vector
              `<group x T>`, and the results take their share of the elements. 0: all of them at once, in the form
              that memory holds (a bool is a byte)
    """

    body: str
    declares: tuple[str, ...] = ()
    group: int = 1


@cache
def numpy_dtype(elem: Scalar) -> Any:
    """Return the NumPy dtype that holds `elem` (bf16 and fp8 through ml_dtypes; tf32 as float32)."""
    special = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
    if elem.name in special:
        return np.dtype(getattr(importlib.import_module("ml_dtypes"), special[elem.name]))
    plain = {"bool": "bool", "tf32": "float32", "mbarrier": "uint64"}
    letters = {"int": "int", "uint": "uint", "float": "float"}
    return np.dtype(plain.get(elem.name) or f"{letters[elem.kind]}{elem.bits}")


def describe(types: tuple[Type, ...]) -> str:
    return ", ".join(map(str, types))
