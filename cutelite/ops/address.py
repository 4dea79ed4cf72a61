"""Operands that are addresses: a pointer, or a tensor, which stands for the address of its offset 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cutelite.ir.contract import Problem, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op
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


def address_problems(op: Op, field: str, spaces: tuple[str, ...], align: int) -> Iterator[Problem]:
    """Find problems of `field` of `op` as an address in one of `spaces` that is a multiple of `align` bytes."""
    value: Value = op[field]
    if not isinstance(value.type, Ptr | Tensor):
        yield Problem(field, f"{op.name} takes an address for `{field}`, not {value.type}")
    elif value.type.space not in spaces:
        wanted = " or ".join(WHERE[space] for space in spaces)
        other = getattr(op, {"dst": "src", "src": "dst"}.get(field, ""), None)
        swapped = isinstance(other, Value) and space_of(other) in spaces
        help = "the destination comes first, then the source" if swapped else ""
        yield Problem(field, f"`{field}` of {op.name} is in {WHERE[value.type.space]}, but must be in {wanted}", help)
    elif value.type.align % align:
        known = value.type.align
        yield Problem(
            field,
            f"`{field}` of {op.name} must be a multiple of {align} bytes, but is only known to be one of {known}",
            _ALIGNING.get(value.type.space, "").format(align=align),
        )


def check_aligned(lanes: Lanes, op: Op, align: int, *fields: str) -> None:
    """Fault where an address is not a multiple of `align` bytes, which run-time indices may decide."""
    for field in fields:
        text = f"`{field}` of {op.name} is at an address that is no multiple of {align}"
        lanes.fault(lanes.get(op[field]).astype(np.int64) % align != 0, text, "misaligned")


def barrier_problems(op: Op, field: str = "bar", spaces: tuple[str, ...] = ("smem",)) -> Iterator[Problem]:
    """Find problems of `field` of `op` as the address of one mbarrier object (8 bytes, aligned to 8)."""
    yield from address_problems(op, field, spaces, 8)
    t = op[field].type
    if isinstance(t, Tensor) and t.elem != mbarrier:
        yield Problem(field, f"`{field}` of {op.name} is a tensor of {t.elem}, but must be one of mbarrier")


def scalar_problems(op: Op, field: str, *types: Scalar) -> Iterator[Problem]:
    """Find problems of `field` of `op` as a scalar of one of `types`. An optional operand may be absent."""
    value: Value | None = op[field]
    if value is not None and value.type not in types:
        yield Problem(field, f"`{field}` of {op.name} is {value.type}, but must be {' or '.join(map(str, types))}")
