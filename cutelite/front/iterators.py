"""What `for` iterates over: compile-time items, or a run-time range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import i32
from cutelite.lang.values import (
    Scalar,
    adapt,
    common_type,
    describe,
    dim_type,
    literal_type,
    maximum,
    mistake,
    to_dtype,
    where,
)
from cutelite.layout import DimExpr


class StaticIter:
    """The rest of a compile-time sequence. Immutable, so that paths can share it."""

    __slots__ = ("at", "items")

    def __init__(self, items: tuple[Any, ...], at: int = 0) -> None:
        self.items, self.at = items, at

    def advanced(self) -> StaticIter:
        return StaticIter(self.items, self.at + 1)

    @property
    def exhausted(self) -> bool:
        return self.at >= len(self.items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticIter) and self.items is other.items and self.at == other.at

    def __hash__(self) -> int:
        return hash((id(self.items), self.at))


class RangeIter(NamedTuple):
    """A run-time loop counter. The loop ends when `index` equals `end`: exact even where adding `step` wraps."""

    index: Any
    end: Any
    step: Any

    @property
    def type(self) -> DType:
        """The counter's type."""
        parts = [x for x in self if isinstance(x, Scalar | DimExpr)]
        typed = [dim_type(x) if isinstance(x, DimExpr) else x.dtype for x in parts]
        t: DType = typed[0] if typed else i32
        for other in typed[1:]:
            t = common_type(t, other)
        for literal in self:
            if type(literal) is int:
                t = literal_type(literal) if not typed else adapt(literal, t, "arith")
        return t


@dataclass(frozen=True, slots=True)
class Range:
    """`range(start, stop, step)` inside a kernel: always a loop on the GPU. `cl.static_range` unrolls."""

    start: Any
    stop: Any
    step: Any

    def __iter__(self) -> Any:
        raise mistake(
            "runtime-range",
            "the items of a range are known only at run time",
            help="use `cl.static_range` for a compile-time sequence",
        )


def make_range(*args: Any) -> Range:
    if not 1 <= len(args) <= 3:
        raise mistake("range", f"range takes 1 to 3 arguments, not {len(args)}")
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    for x in (start, stop, step):
        if not (type(x) in (int, bool) or isinstance(x, DimExpr) or (isinstance(x, Scalar) and x.dtype.is_int)):
            raise mistake("range", f"range takes integers, not {describe(x)}")
    if isinstance(step, int) and step == 0:
        raise mistake("range", "the step of a range must not be 0")
    return Range(start, stop, step)


def iterate(r: Range) -> RangeIter:
    """The counter of a range at its start."""
    return RangeIter(r.start, _end(r), r.step)


def _end(r: Range) -> Any:
    """start + step * (how many items there are), in the counter's type."""
    start, stop, step = r.start, r.stop, r.step
    if all(type(x) is int for x in (start, stop, step)):
        return start + step * len(range(start, stop, step))
    t = RangeIter(start, stop, step).type
    if isinstance(step, int) and step == 1:
        return maximum(start if isinstance(start, int) else to_dtype(start, t), to_dtype(stop, t))
    start, stop = to_dtype(start, t), to_dtype(stop, t)
    if isinstance(step, int):
        round_up = 1 if step > 0 else -1
        count = maximum((stop - start + (step - round_up)) // step, 0)
    else:
        step = to_dtype(step, t)
        count = maximum((stop - start + (step - where(step > 0, to_dtype(1, t), to_dtype(-1, t)))) // step, 0)
    return start + count * step
