"""Rules of fields: addresses (a pointer, or a tensor, which stands for the address of its offset 0) and others."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from cutelite.ir.contract import Problem, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op, Rule
from cutelite.ir.types import Ptr, Scalar, Tensor, mbarrier

if TYPE_CHECKING:
    from cutelite.ir.simulation import Lanes

WHERE = {
    "gmem": "global memory",
    "smem": "this block's shared memory",
    "cluster": "the cluster's shared memory",
    "rmem": "registers",
    "const": "constant memory",
    "tmem": "tensor memory",
}


def space_of(value: Value) -> str:
    """Return the address space of a pointer or tensor; '' for anything else."""
    return value.type.space if isinstance(value.type, Ptr | Tensor) else ""


_ALIGNING = {
    "smem": "`cl.shared(..., align={align})`, and `cl.tma_shared` for tiles of TMA, place the start of a tensor",
    "gmem": "`cl.align({align})` in its annotation promises it of a parameter; extents and strides are known to be "
    'multiples where dims say so: `cl.dims("N:8")`',
}


def address(*spaces: str, align: int = 1) -> Rule:
    """Return the rule of an operand that is an address in one of `spaces`, a multiple of `align` bytes."""

    def problems(op: Op, field: str) -> tuple[Problem, ...]:
        value: Value = getattr(op, field)
        if not isinstance(value.type, Ptr | Tensor):
            return (Problem(field, f"{op.name} takes an address for `{field}`, not {value.type}"),)
        if value.type.space not in spaces:
            wanted = " or ".join(WHERE[space] for space in spaces)
            other = getattr(op, {"dst": "src", "src": "dst"}.get(field, ""), None)
            swapped = isinstance(other, Value) and space_of(other) in spaces
            help = "the destination comes first, then the source" if swapped else ""
            text = f"`{field}` of {op.name} is in {WHERE[value.type.space]}, but must be in {wanted}"
            return (Problem(field, text, help),)
        if (known := value.type.align) % align:
            text = f"`{field}` of {op.name} must be a multiple of {align} bytes, but is only known to be one of {known}"
            return (Problem(field, text, _ALIGNING.get(value.type.space, "").format(align=align)),)
        return ()

    return problems


def barrier(*spaces: str) -> Rule:
    """Return the rule of an operand that is the address of one mbarrier object (8 bytes, aligned to 8) in `spaces`."""
    placed = address(*(spaces or ("smem",)), align=8)

    def problems(op: Op, field: str) -> tuple[Problem, ...]:
        t = getattr(op, field).type
        if isinstance(t, Tensor) and t.elem != mbarrier:
            return (Problem(field, f"`{field}` of {op.name} is a tensor of {t.elem}, but must be one of mbarrier"),)
        return placed(op, field)

    return problems


def scalar(*types: Scalar) -> Rule:
    """Return the rule of an operand that is a scalar of one of `types`. An optional operand may be absent."""

    def problems(op: Op, field: str) -> tuple[Problem, ...]:
        value: Value | None = getattr(op, field)
        if value is None or value.type in types:
            return ()
        return (Problem(field, f"`{field}` of {op.name} is {value.type}, but must be {' or '.join(map(str, types))}"),)

    return problems


def among(values: Collection[object], name: str = "") -> Rule:
    """Return the rule of a constant that is one of `values`; users know it as `name`, if not as its field."""

    def problems(op: Op, field: str) -> tuple[Problem, ...]:
        if (held := getattr(op, field)) in values:
            return ()
        *first, last = (repr(value) if isinstance(value, str) else str(value) for value in values)
        known = f"{first[0]} to {last}" if isinstance(values, range) else f"{', '.join(first)} or {last}"
        shown = repr(held) if isinstance(held, str) else str(held)
        return (Problem(field, f"`{name or field}` of {op.name} is {shown}, but must be {known}"),)

    return problems


def check_aligned(lanes: Lanes, op: Op, align: int, *fields: str) -> None:
    """Fault where an address is not a multiple of `align` bytes, which run-time indices may decide."""
    for field in fields:
        text = f"`{field}` of {op.name} is at an address that is no multiple of {align}"
        lanes.fault(lanes.get(op[field]).astype(np.int64) % align != 0, text, "misaligned")
