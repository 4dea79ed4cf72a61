"""Events that a kernel records: on a GPU by its clocks, in the simulator on its timeline.

Kernels record only while they are profiled (`kernel.profile`, CUTELITE_PROFILE: docs/profiling.md); otherwise these
calls emit no instructions.
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import boolean, i32
from cutelite.lang.emit import builder_here, describe, emit, mistake
from cutelite.lang.promotion import as_value, holds_literal, to_dtype
from cutelite.lang.values import Scalar
from cutelite.layout import DimExpr
from cutelite.ops.debug import MARK_VALUES, ProfileMark

WHOLE = int | DimExpr | None


def mark(name: str, value: Any = None) -> None:
    """Record that the warp has come here: ``cl.profile.mark("full", stage)``.

    name    the name of the event, known at compile time
    value   an integer, of which the lower 20 bits are kept: a stage, a tile; default: none
    Who     any threads; the first of those that come here together records, for its warp
    Source  PTX ISA: %clock
    """
    _record(name, "mark", value)


class range:
    """Record when the warp begins a block of code and when it ends it: ``with cl.profile.range("load", stage):``.

    name, value  as for `mark`
    Who          any threads; the first of those that come here together records, for its warp
    """

    def __init__(self, name: str, value: Any = None) -> None:
        self.name, self.value = name, value

    def __enter__(self) -> None:
        _record(self.name, "begin", self.value)

    def __exit__(self, *left_by: Any) -> None:
        _record(self.name, "end", self.value)


def _record(name: str, phase: str, value: Any) -> None:
    if not isinstance(name, str):
        raise mistake("profile", f"an event has a name known at compile time, not {describe(name)}")
    builder = builder_here("`profile.mark`" if phase == "mark" else "`profile.range`")
    whole = value.dtype.is_int or value.dtype == boolean if isinstance(value, Scalar) else isinstance(value, WHOLE)
    if not whole and not holds_literal(value):
        raise mistake("profile", f"an event's value is an integer, not {describe(value)}")
    if not builder.function.attrs.get("profile"):
        return
    if isinstance(value, Scalar):
        value = to_dtype(value, i32)
    elif isinstance(value, int):
        value %= MARK_VALUES
    emit(ProfileMark(name, phase, () if value is None else (as_value(value, i32),)))
