"""Types as LLVM IR spells them, and the registers that carry their values into inline assembly."""

from __future__ import annotations

from functools import cache

from cutelite.ir.types import InFlight, Ptr, Scalar, Tensor, TensorMap, Type, Vec
from cutelite.tuples import NamedTuple

FLOATS = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double", "tf32": "float"}
SPACES = {"generic": "ptr", "gmem": "ptr addrspace(1)", "smem": "ptr addrspace(3)", "rmem": "ptr addrspace(5)"}
SPACES["const"] = "ptr addrspace(4)"
SPACES["cluster"] = "ptr addrspace(7)"  # NVPTX: shared::cluster; 3 is shared::cta
SPACES["tmem"] = "ptr addrspace(6)"
BITS = {"i8": 8, "i16": 16, "half": 16, "bfloat": 16}
TENSOR_MAP = "ptr byval([128 x i8]) align 64 "


def scalar(elem: Scalar) -> str:
    """Return the LLVM type of one number in a register; an 8-bit float is an i8 with its bits."""
    return FLOATS.get(elem.name) or f"i{elem.bits}"


def memory(elem: Scalar) -> str:
    """Return the LLVM type of one number in memory: a bool is a byte."""
    return "i8" if elem.kind == "bool" else scalar(elem)


def count(t: Type) -> int | None:
    """Return the number of LLVM values that stand for a vector of this type; None if the type is no vector."""
    if isinstance(t, InFlight):  # as 32-bit registers
        if isinstance(t.inner, Tensor):
            return None
        return t.inner.n * min(32, t.inner.elem.bits) // 32
    return t.n if isinstance(t, Vec) else None


@cache
def shares(t: Type) -> tuple[int, ...]:
    """Return how many elements share each register in which a vector, or any value, crosses a merge of paths.

    Each value that depends on the path has a register of its own in LLVM, of 32 bits in machine code. So bytes cross in
    fours, and 16 bits in pairs: ptxas finds many of these by itself, but not all.
    """
    n, whole = count(t) or 1, 32 // BITS.get(leaf(t), 32) if isinstance(t, Vec) else 1
    return (whole,) * (n // whole) + tuple(k for k in (2, 1) if n % whole & k)


def merged(elem: str, n: int) -> str:
    """Return the type of n elements that share a register."""
    return f"i{n * BITS[elem]}" if n > 1 else elem


def leaf(t: Type) -> str:
    """Return the LLVM type of a value, or of each element of a vector."""
    match t:
        case Scalar():
            return scalar(t)
        case Vec():
            return scalar(t.elem)
        case InFlight(inner=Tensor(space=space)):
            return SPACES[space]
        case InFlight():
            return scalar(t.inner.elem) if t.inner.elem.bits >= 32 else "i32"
        case Ptr() | Tensor():
            return SPACES[t.space]
        case TensorMap():
            return "ptr"
    raise TypeError(f"{t} has no LLVM type")


def vector(elem: str, n: int) -> str:
    return f"<{n} x {elem}>" if n > 1 else elem


@cache
def suffix(elem: str, n: int) -> str:
    """Return the end of an intrinsic's name for this type: f32, i64, v2bf16."""
    short = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}.get(elem, elem)
    return f"v{n}{short}" if n > 1 else short


class Register(NamedTuple):
    """The register that hands a value of one LLVM type to inline assembly.

    letter  letter of the constraint
    type    LLVM type of the operand
    to      LLVM opcode that converts the value to the operand; '' if they have one type
    back    LLVM opcode that converts a result to the value
    """

    letter: str
    type: str
    to: str = ""
    back: str = ""


REGISTERS = {
    "i1": Register("b", "i1"),
    "i8": Register("h", "i16", "zext", "trunc"),
    "i16": Register("h", "i16"),
    "half": Register("h", "half"),
    "bfloat": Register("h", "bfloat"),
    "i32": Register("r", "i32"),
    "i64": Register("l", "i64"),
    "float": Register("f", "float"),
    "double": Register("d", "double"),
    SPACES["generic"]: Register("l", SPACES["generic"]),
    SPACES["gmem"]: Register("l", SPACES["gmem"]),
    SPACES["const"]: Register("l", SPACES["const"]),
    # PTX accepts addresses of 32 bits (PTX ISA, operands: addresses as operands), enough for these spaces.
    **{SPACES[space]: Register("r", "i32", "ptrtoint", "inttoptr") for space in ("smem", "cluster", "rmem", "tmem")},
}
"""The registers, by LLVM type of the value. 8-bit numbers travel in 16-bit registers: assembly has no smaller ones."""
