"""Conversions with a rounding or saturation, and bits seen as another type. Plain conversions are `x.to(dtype)`."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Vec, elem_of, with_elem
from cutelite.lang.emit import builder_here, describe, emit, mistake, wrap
from cutelite.lang.promotion import as_value
from cutelite.lang.values import RuntimeNumber, Scalar, Vector
from cutelite.ops import convert as ops

N = TypeVar("N", Scalar, Vector)


def convert(
    x: N, dtype: DType, *, rounding: Literal["", "rn", "rz", "rm", "rp", "rna"] = "", saturate: bool = False
) -> N:
    """Convert `x` to `dtype`, rounded and saturated as asked. Vectors of f32 go to f16, bf16, e4m3 and e5m2 in pairs.

    rounding  to nearest even (rn), towards zero (rz), down (rm), up (rp), to nearest away from zero (rna), as far as
              the instruction has it; '' is rn, but rz from float to int, and rna to tf32
    saturate  clamp integers to the range of `dtype`, and floats that overflow to its largest number. Conversions from
              float to int, where NaN gives 0, and to e4m3 and e5m2 always saturate
    Errors    `cvt` where the pair of types has no such rounding or saturation
    Source    PTX ISA: cvt
    """
    value = as_value(x)
    if not isinstance(value.type, DType | Vec):
        raise mistake("not-a-number", f"{value.type} cannot be converted to {dtype}")
    builder = builder_here("a conversion")
    way = ops.steps(elem_of(value.type), dtype)
    if not way:
        return x
    for step in way[:-1]:  # exact conversions, or to f32 before a narrower format
        value = builder.emit(ops.Convert(value, step))
    return wrap(builder.emit(ops.Convert(value, way[-1], rounding, saturate)))  # type: ignore[no-any-return]


def bitcast(x: Any, dtype: DType) -> Any:
    """Return the bits of `x` as `dtype`: a scalar if they are one number of it, else a vector, the lowest bits first.

    A vector of two bf16 is a u32, and a u32 can become two bf16 or four u8.

    Errors   `bitcast` where the bits are not a whole number of `dtype`
    Source   LLVM LangRef: bitcast; it takes no instruction
    """
    if not isinstance(x, RuntimeNumber):
        text = f"bitcast takes a run-time number, not {describe(x)}"
        raise mistake("bitcast", text, help="give a literal a type: cl.f32(x)")
    t = x.value.type
    n = t.n if isinstance(t, Vec) else 1
    total = x.dtype.bits * n
    if total % dtype.bits or dtype.kind == "bool":
        raise mistake("bitcast", f"the {total} bits of {t} are not a whole number of {dtype}")
    count = total // dtype.bits
    to = with_elem(t, dtype) if count == n else Vec(dtype, count) if count > 1 else dtype
    return emit(ops.Bitcast(x.value, to))
